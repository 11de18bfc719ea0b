/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Getting to know a Linux guest, as a whole: from the registers of a vCPU over the kernel's image,
 * names, types and page tables to modules, the task of a sample and tasks that wait. The guest is a
 * right one, whose kernel names no data (so it is searched), and the input changes words of it. The
 * parts have fuzzers of their own.
 */
#include "config.h"

#include "fuzz.h"
#include "linux/kernel/linux_guest.h"
#include "tests/fuzz/change.h"
#include "tests/support/made_memory.h"
#include "tests/support/make_btf.h"
#include "tests/support/make_kallsyms.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define FUNCTIONS   420 /* their names fill the page that they begin (kallsyms_probe.c) */
#define DATA        (MADE_RODATA + 0x400000)
#define DATA_BYTES  0x8000
#define TABLES      (DATA + 0x0000) /* the top of the page tables */
#define CURRENT     (DATA + 0x1000) /* a task, its parent and its memory */
#define PARENT      (DATA + 0x2000)
#define MM          (DATA + 0x3000)
#define STACK       (DATA + 0x4000)
#define PIDS        (DATA + 0x5000) /* two struct pid, a namespace and a node of its tree */
#define NAMESPACE   (DATA + 0x5400)
#define NODE        (DATA + 0x5800)
#define MAX_CHANGES 32
#define N_KINDS     3

static const char types[] =
	"struct list_head 16 { ptr next @0; ptr prev @8; }"
	"struct module_layout 80 { ptr base @0; u32 size @8; u32 text_size @12; }"
	"struct thread_struct 8 { u64 sp @0; }"
	"struct task_struct 4096 { u32 flags @8; ptr stack @16; ptr mm @24; u32 pid @32;"
	"  u32 tgid @36; ptr group_leader @40; ptr real_parent @48; u64 start_time @56;"
	"  u32 self_exec_id @64; u8 comm[16] @72; ptr fs @88; u32 __state @96;"
	"  u32 exit_state @100; u32 on_cpu @104; u64 nvcsw @112; u64 nivcsw @120;"
	"  thread_struct thread @128; ptr thread_pid @136; u64 pid_links[8] @144; }"
	"struct mm_struct 1096 { ptr mmap @0; ptr pgd @80; u32 map_count @100; u64 start_stack @104; }"
	"struct vm_area_struct 200 { u64 vm_start @0; u64 vm_end @8; ptr vm_next @16;"
	"  u64 vm_flags @80; u64 vm_pgoff @88; ptr vm_file @96; }"
	"struct module 900 { u32 state @0; list_head list @8; u8 name[56] @24;"
	"  module_layout core_layout @320; }"
	"struct orc_entry 6 { u16 sp_offset @0; u16 bp_offset @2; u32 sp_reg @4.0:4;"
	"  u32 bp_reg @4.4:4; u32 type @4.8:2; u32 end @4.10:1; }"
	"struct page 64 { u64 flags @0; u64 index @32; }"
	"struct xarray 16 { ptr xa_head @8; }"
	"struct xa_node 576 { u8 shift @0; ptr slots[64] @40; }"
	"struct idr 24 { xarray idr_rt @0; }"
	"struct pid_namespace 136 { idr idr @0; }"
	"struct upid 16 { u32 nr @0; ptr ns @8; }"
	"struct pid 112 { u32 level @4; u64 tasks[4] @16; upid numbers[1] @96; }"
	"struct pt_regs 168 { u64 ip @128; u64 cs @136; }";

static struct world {
	struct made_memory *made;
	struct memory_root root;
	struct made_kallsyms names;
	uint64_t symbols, extras, end; /* read-only data: tables of names, then others */
} worlds[N_KINDS];

/* --- a right guest ---------------------------------------------------------------------------- */

/* A kernel without names of data, of an early, a later and the latest layout. */
static void make_names(struct world *world, unsigned kind)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n_made_layouts; i++) {
		struct made_layout layout = made_layouts[i];

		if (!layout.text_only || found++ != 2 * kind)
			continue;
		layout.n_functions = FUNCTIONS;
		make_kallsyms(&layout, &world->names);
	}
}

static void put_extras(struct world *world)
{
	static const uint32_t note[] = { 4, 20, 3, 0x00554e47, 1, 2, 3, 4, 5 };
	struct make_btf *make = make_btf_create();
	uint64_t at = world->extras;
	uint8_t *blob;
	size_t bytes;

	made_put_string(world->made, world->root, at, "Linux version 6.1.0-fuzz (d) #1\n");
	made_put(world->made, world->root, at + 0x100, note, sizeof(note));
	make_btf_text(make, types);
	blob = make_btf_blob(make, &bytes);
	made_put(world->made, world->root, at + 0x200, blob, bytes);
	free(blob);
	make_btf_destroy(make);
	world->end = at + 0x200 + bytes;
}

static void put_task(struct world *world, uint64_t task, uint32_t pid, uint64_t parent, uint64_t mm)
{
	made_put_u64(world->made, world->root, task + 16, STACK);
	made_put_u64(world->made, world->root, task + 24, mm);
	made_put_u32(world->made, world->root, task + 32, pid);
	made_put_u32(world->made, world->root, task + 36, pid);
	made_put_u64(world->made, world->root, task + 40, task);
	made_put_u64(world->made, world->root, task + 48, parent);
	made_put_u64(world->made, world->root, task + 56, 1000000 * pid);
	made_put_string(world->made, world->root, task + 72, "task");
	made_put_u64(world->made, world->root, task + 128, STACK + 0x3e00);
	made_put_u64(world->made, world->root, task + 136, PIDS + 0x80 * pid);
}

/* The task's struct pid, in the first namespace. */
static void put_pid(struct world *world, uint64_t task, uint32_t pid)
{
	uint64_t at = PIDS + 0x80 * pid;

	made_put_u64(world->made, world->root, at + 16, task + 144);
	made_put_u32(world->made, world->root, at + 96, pid);
	made_put_u64(world->made, world->root, at + 104, NAMESPACE);
	made_put_u64(world->made, world->root, NAMESPACE + 8, NODE + 2);
	made_put_u64(world->made, world->root, NODE + 40 + 8 * pid, at);
}

static void put_data(struct world *world)
{
	/* __x64_sys_getpid(): mov %gs:CURRENT_TASK(%rip),%rdi */
	made_put(world->made, world->root, MADE_TEXT + 0x40, "\x65\x48\x8b\x3d\0\0\1", 8);
	put_task(world, PARENT, 1, PARENT, MM);
	put_task(world, CURRENT, 2, PARENT, 0);
	put_pid(world, PARENT, 1);
	put_pid(world, CURRENT, 2);
	made_put_u64(world->made, world->root, MM + 80, TABLES);
	made_put(world->made, world->root, TABLES, made_entry(world->made, world->root, 0, 4),
		 GUEST_PAGE_SIZE);
}

static struct world *world_of(unsigned kind)
{
	struct world *world = &worlds[kind % N_KINDS];

	if (world->made)
		return world;
	make_names(world, kind % N_KINDS);
	world->made = made_create();
	world->root = made_root(world->made);
	world->symbols = MADE_RODATA + (-world->names.names & GUEST_PAGE_MASK);
	world->extras = (world->symbols + world->names.size_bytes + GUEST_PAGE_MASK) &
			~GUEST_PAGE_MASK;
	made_map(world->made, world->root, MADE_TEXT, MADE_LARGE, MADE_EXECUTE | MADE_PAGE_2M);
	made_map(world->made, world->root, MADE_RODATA,
		 world->extras - MADE_RODATA + 2 * GUEST_PAGE_SIZE, MADE_READ);
	made_map(world->made, world->root, DATA, DATA_BYTES, MADE_WRITE);
	made_put(world->made, world->root, world->symbols, world->names.bytes,
		 world->names.size_bytes);
	put_extras(world);
	put_data(world);
	return world;
}

/* --- changes ---------------------------------------------------------------------------------- */

struct change {
	uint64_t address, was;
};

static uint64_t take_address(struct fuzz *fuzz, const struct world *world)
{
	uint64_t at = fuzz_u16(fuzz) * 8ULL;

	switch (fuzz_u8(fuzz) % 4) {
	case 0:
		return world->symbols + world->names.num / 8 * 8 +
		       at % (world->names.end - world->names.num);
	case 1:
		return world->extras + at % (world->end - world->extras);
	case 2:
		return MADE_TEXT + at % 0x100;
	default:
		return DATA + at % DATA_BYTES;
	}
}

static bool change_one(struct fuzz *fuzz, const struct world *world, struct change *change)
{
	enum change_kind kind;
	uint64_t word;

	change->address = take_address(fuzz, world) & ~7ULL;
	if (!memory_read_u64(made_memory(world->made), world->root, change->address, &change->was))
		return false;
	kind = fuzz_change_kind(fuzz);
	word = kind == CHANGE_ADDRESS ? take_address(fuzz, world)
				      : fuzz_change(fuzz, kind, change->was);
	made_put_u64(world->made, world->root, change->address, word);
	return true;
}

static void put_back(const struct world *world, const struct change *changes, unsigned n)
{
	while (n-- > 0)
		made_put_u64(world->made, world->root, changes[n].address, changes[n].was);
	memory_refresh(made_memory(world->made));
}

/* --- what xtop does --------------------------------------------------------------------------- */

/* A sample in user mode, or in the kernel with a stack of two words. */
static const struct sample_vcpu *make_sample(const struct world *world, struct fuzz *fuzz)
{
	static struct {
		struct sample_vcpu head;
		struct sample_stack stack;
		uint64_t words[2];
	} sample;
	uint8_t how = fuzz_u8(fuzz);

	sample.head = (struct sample_vcpu){
		.size_bytes = sizeof(sample),
		.user = how & 1,
		.frame = { how >> 1 }, /* another task of the kernel than the one that is told */
		.n_stacks = 1,
		.task = CURRENT + (fuzz_u8(fuzz) & 3) * 0x800,
		.regs = { .rip = 0x400000, .cr0 = 1U << 31, .cr3 = world->root.cr3, .cr4 = 0x20 },
	};
	sample.stack = (struct sample_stack){ .address = STACK + fuzz_u16(fuzz), .size_bytes = 16 };
	return &sample.head;
}

static void add_wait(void *context, const struct os_wait *wait)
{
	(void)context;
	fuzz_must(wait->state < N_OS_WAIT_STATES, "a state");
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context, (void)kept, (void)waited_ns;
}

static void use_waits(void *system)
{
	static const struct os_waits_sink sink = { add_wait, end_wait, NULL, NULL };
	struct os_waits_counts counts = { 0 };

	for (unsigned i = 4; i < 7; i++)
		linux_os.read_waits(system, i * 1000000000ULL, 1000000000, &sink);
	linux_os.read_tasks(system, 7000000000, &sink);
	linux_os.get_waits_counts(system, &counts);
}

static void use(void *system, const struct world *world, struct fuzz *fuzz)
{
	struct os_description description = { 0 };
	struct os_counts counts = { 0 };
	struct os_clock clock;
	struct os_events events[4];
	struct os_task task;
	struct os_log log = { 0 };
	struct memory_root root;
	uint64_t timer_ns;

	for (unsigned i = 1; i < 4; i++) {
		const struct sample_vcpu *vcpu = make_sample(world, fuzz);

		linux_os.poll(system, i * 1000000000ULL);
		linux_os.runs_on(system, vcpu);
		task = (struct os_task){ 0 };
		linux_os.find_task(system, vcpu, i * 1000000000ULL, &task);
		fuzz_must(!task.process || strnlen(task.process, 64) < 64, "a name ends");
	}
	use_waits(system);
	linux_os.is_there(system);
	linux_os.get_kernel_root(system, &root);
	linux_os.read_log(system, &log);
	os_log_deinit(&log);
	linux_os.read_clock(system, fuzz_u64(fuzz), &clock);
	linux_os.read_timer(system, fuzz_u8(fuzz) % 4, &timer_ns);
	linux_os.read_events(system, events, 4);
	for (unsigned i = 0; i < 4; i++)
		fuzz_must(strnlen(events[i].names, sizeof(events[i].names)) <
				  sizeof(events[i].names), "names of devices end");
	linux_os.describe(system, &description);
	linux_os.get_counts(system, &counts);
	fuzz_must(strncmp(description.system, "Linux ", 6) == 0, "it is Linux");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct world *world = world_of(fuzz_u8(&fuzz));
	struct registers regs = { .cr0 = 1U << 31, .cr3 = world->root.cr3, .cr4 = 0x20 };
	struct os_guest guest = { .memory = made_memory(world->made),
				  .type = GUEST_PVH,
				  .debug.root_fd = -1 };
	unsigned wanted = fuzz_u8(&fuzz) % MAX_CHANGES, n = 0;
	struct change changes[MAX_CHANGES];
	struct linux_stacks stacks = { 0 };
	struct symbols *symbols;
	void *system;

	for (unsigned i = 0; i < wanted && fuzz.left_bytes; i++)
		n += change_one(&fuzz, world, &changes[n]);
	memory_refresh(guest.memory);
	fuzz_succeed(symbols_create(&symbols));
	fuzz_succeed(space_create(&guest.kernel));
	guest.symbols = symbols;
	system = linux_os.find(&guest, &regs, &stacks);
	fuzz_must(system || n, "a right guest is found");
	if (system) {
		use(system, world, &fuzz);
		linux_os.destroy(system);
	}
	space_destroy(guest.kernel);
	symbols_destroy(symbols);
	put_back(world, changes, n);
	return 0;
}
