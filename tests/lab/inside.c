/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what xtop sees inside a Linux guest, so that tests can compare it with what the guest says
 * about itself (tests/guests/workload/tell.c). Works as the resolver does: registers,
 * linux_attach(), modules, tasks, processes.
 *
 *   inside DOMAIN WHAT...
 *   inside --dump MEMORY REGISTERS WHAT...   guest-physical memory, QEMU's "info registers -a"
 *
 * Every line begins with its WHAT. Lines of one WHAT are sorted by strcmp().
 *
 *   kernel     ADDRESS NAME            the kernel's symbols: all of its tables, also data
 *   text       ADDRESS NAME            of these, types t T w W
 *   modules    ADDRESS NAME [MODULE]   symbols of modules, read by this program, not by modules.c
 *   misnamed   ADDRESS NAME SEEN       functions of the two above that xtop names differently
 *   functions  COUNT                   how many functions "misnamed" has tried
 *   module     NAME START              modules and generated code that xtop has mapped
 *   code       START END NAME [OF]     BPF programs and ftrace's trampolines
 *   build-id   WHAT HEX                kernel, a module in [ ], files that are executed
 *   task       TGID PID COMM           every thread on the kernel's lists
 *   maps       PID LINE                a line of /proc/PID/maps without device and inode
 *   frames     PID used N told N wrong N   every eighth page of code, found by its frame
 *   waits      see inside_waits.h: tasks that wait, locks and their holders
 *   search     NAME FOUND TOLD         addresses that search_symbols() finds without names of data
 *   runstate   STATE NS                arm64: how long vCPU 0 was in each state, as Xen told Linux
 *   wait       for a line on stdin; prints nothing
 *   members    NAME OFFSET             in structs of i386; CPU 0's task and its name
 *   chain      CHAIN                   of a dump's CPU 0, as a folded file has it: inside_chain.h
 *   cost       of attaching, and of all: pages, batches, CPU, memory
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "inside_chain.h"
#include "inside_waits.h"
#include "linux/kernel/arch.h"
#include "linux/kernel/generated_code.h"
#include "linux/kernel/kernel_image.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/linux_attach.h"
#include "linux/kernel/member.h"
#include "linux/kernel/module_layout_i386.h"
#include "linux/kernel/modules.h"
#include "linux/kernel/search.h"
#include "linux/process/path.h"
#include "linux/process/process_layout.h"
#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "linux/process/vmas.h"
#include "tests/support/dump_memory.h"
#include "tests/support/must.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/os/os.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define MAX_TASKS    65536
#define VMA_MAYSHARE 0x80 /* Linux include/linux/mm.h: "s" */
#define ATTACH_TRIES 100
#define TASK_LEADER  true
#define EVERY_PAGES  8 /* not every page, because each takes a while */

struct lines {
	char **line;
	size_t n, capacity;
};

/* Members that xtop itself does not need. */
enum own_member { OWN_TASKS, OWN_THREAD_NODE, OWN_SIGNAL, OWN_THREAD_HEAD, OWN_TYPETAB, N_OWN };

static const char *const own_structs[] = { "task_struct", "signal_struct", "mod_kallsyms" };
#define N_OWN_STRUCTS (sizeof(own_structs) / sizeof(own_structs[0]))

static const struct {
	unsigned type; /* a type of own_structs */
	const char *name;
} own_members[N_OWN] = {
	[OWN_TASKS] = { 0, "tasks" },
	[OWN_THREAD_NODE] = { 0, "thread_node" },
	[OWN_SIGNAL] = { 0, "signal" },
	[OWN_THREAD_HEAD] = { 1, "thread_head" },
	[OWN_TYPETAB] = { 2, "typetab" }, /* from 5.2 on */
};

struct inside {
	struct memory *memory;
	enum guest_type type;
	struct registers regs;
	bool user;        /* in a dump: the vCPU runs user code */
	const char *dump; /* the file; NULL: a domain */
	struct linux_kernel kernel;
	struct kallsyms *kallsyms;
	struct space *space;
	struct modules *modules;
	struct generated_code *generated;
	struct tasks *tasks;
	struct processes *processes;
	struct lines lines; /* the lines of one WHAT */
	uint32_t pid;       /* the process whose areas are visited */
	struct memory_counts attached;
	double attached_s;
	uint64_t offsets[N_OWN]; /* in bytes */
	bool has_typetab;
};

static __attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	fputs("\n", stderr);
	exit(1);
}

static __attribute__((format(printf, 2, 3))) void add(struct inside *inside, const char *format,
						      ...)
{
	struct lines *lines = &inside->lines;
	va_list arguments;

	if (lines->n == lines->capacity) {
		lines->capacity = lines->capacity ? 2 * lines->capacity : 1024;
		lines->line = realloc(lines->line, lines->capacity * sizeof(*lines->line));
		if (!lines->line)
			die("inside: out of memory");
	}
	va_start(arguments, format);
	if (vasprintf(&lines->line[lines->n++], format, arguments) < 0)
		die("inside: out of memory");
	va_end(arguments);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put(struct inside *inside, const char *what)
{
	struct lines *lines = &inside->lines;

	if (lines->n)
		qsort(lines->line, lines->n, sizeof(*lines->line), compare_lines);
	for (size_t i = 0; i < lines->n; i++) {
		printf("%s %s\n", what, lines->line[i]);
		free(lines->line[i]);
	}
	lines->n = 0;
}

/* --- kernel symbols --------------------------------------------------------------------------- */

static bool is_text(char type)
{
	return strchr("tTwW", type);
}

static void add_kernel(struct inside *inside, bool text_only)
{
	struct kallsyms_cursor *at = malloc(sizeof(*at));

	kallsyms_first(at);
	while (kallsyms_next(inside->kallsyms, at))
		if (!text_only || is_text(at->type))
			add(inside, "%016" PRIx64 " %.*s", at->address, (int)at->name_bytes,
			    at->name);
	free(at);
}

/* --- symbols of modules, read in another way than modules.c does ------------------------------ */

/* Elf64_Sym (System V gABI, chapter 4). */
struct symbol_words {
	uint32_t name;
	uint8_t info, other;
	uint16_t section;
	uint64_t value, size_bytes;
};

typedef void module_symbol_fn(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name);

static void each_symbol_of(struct inside *inside, uint64_t module, module_symbol_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t kallsyms, symtab, strtab, typetab = 0;
	struct symbol_words symbol;
	char name[KALLSYMS_MAX_NAME_BYTES], of[64], type = 't';
	uint32_t n;

	if (!member_read_pointer(guest, module, MODULE_KALLSYMS, &kallsyms) ||
	    !member_read_pointer(guest, kallsyms, MOD_KALLSYMS_SYMTAB, &symtab) ||
	    !member_read_u32(guest, kallsyms, MOD_KALLSYMS_SYMTAB_COUNT, &n) ||
	    !member_read_pointer(guest, kallsyms, MOD_KALLSYMS_STRTAB, &strtab))
		die("inside: module %" PRIx64 " has no symbols", module);
	if (inside->has_typetab)
		linux_read_u64(guest, kallsyms + inside->offsets[OWN_TYPETAB], &typetab);
	memory_read_string(guest->memory, guest->root,
			   module + layout_offset(&guest->layout, MODULE_NAME), of, sizeof(of));
	for (uint32_t i = 0; i < n; i++) {
		if (memory_read(guest->memory, guest->root, symtab + i * sizeof(symbol), &symbol,
				sizeof(symbol)) != sizeof(symbol) ||
		    !memory_read_string(guest->memory, guest->root, strtab + symbol.name, name,
					sizeof(name)))
			die("inside: symbol %u of %s cannot be read", i, of);
		if (typetab)
			memory_read(guest->memory, guest->root, typetab + i, &type, 1);
		if (name[0])
			found(inside, of, symbol.value, type, name);
	}
}

static void each_module_symbol(struct inside *inside, module_symbol_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t head = guest->symbols[LINUX_MODULES], at = head;

	for (unsigned i = 0; i < MODULES_MAX; i++) {
		if (!linux_read_u64(guest, at, &at))
			die("inside: the list of modules cannot be read");
		if (at == head)
			return;
		each_symbol_of(inside, at - layout_offset(&guest->layout, MODULE_LIST), found);
	}
}

static void add_module_symbol(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name)
{
	(void)type;
	add(inside, "%016" PRIx64 " %s [%s]", address, name, module);
}

/* --- the names that xtop gives ---------------------------------------------------------------- */

/* Symbols of kernel and modules, as "ADDRESS NAME", sorted. */
static struct lines known;
static size_t n_functions;

static bool is_known(uint64_t address, const char *name)
{
	char line[KALLSYMS_MAX_NAME_BYTES + 32], *key = line;

	snprintf(line, sizeof(line), "%016" PRIx64 " %s", address, name);
	return bsearch(&key, known.line, known.n, sizeof(*known.line), compare_lines);
}

/* xtop may give the symbol's name, or another name that the guest has for the same address. */
static void try_name(struct inside *inside, uint64_t address, const char *name)
{
	const struct mapping *mapping;
	struct symtab_entry entry = { 0 };

	n_functions++;
	if (space_find_symbol(inside->space, address, &entry, &mapping) &&
	    entry.start + mapping->bias == address &&
	    (strcmp(entry.name, name) == 0 || is_known(address, entry.name)))
		return;
	add(inside, "%016" PRIx64 " %s %s", address, name, entry.name ? entry.name : "-");
}

static void try_module_symbol(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name)
{
	const struct mapping *mapping = space_find(inside->space, address);
	char image[72];

	snprintf(image, sizeof(image), "[%s]", module);
	if (is_text(type) && mapping && strcmp(mapping->image->name, image) == 0)
		try_name(inside, address, name);
}

static void learn_module_symbol(struct inside *inside, const char *module, uint64_t address,
				char type, const char *name)
{
	(void)module, (void)type;
	add(inside, "%016" PRIx64 " %s", address, name);
}

/* From _text to _etext, or in the code of init. */
static bool is_kernel_text(const struct inside *inside, uint64_t address)
{
	const uint64_t *marks = inside->kallsyms->marks;

	return (address >= inside->kernel.guest.symbols[LINUX_TEXT] &&
		address < marks[KALLSYMS_ETEXT]) ||
	       (address >= marks[KALLSYMS_SINITTEXT] && address < marks[KALLSYMS_EINITTEXT]);
}

/* Functions of the kernel's and of modules' text. */
static void add_misnamed(struct inside *inside)
{
	struct kallsyms_cursor *at = malloc(sizeof(*at));
	char name[KALLSYMS_MAX_NAME_BYTES + 1];

	add_kernel(inside, true);
	each_module_symbol(inside, learn_module_symbol);
	known = inside->lines;
	inside->lines = (struct lines){ 0 };
	qsort(known.line, known.n, sizeof(*known.line), compare_lines);
	kallsyms_first(at);
	while (kallsyms_next(inside->kallsyms, at)) {
		if (!is_text(at->type) || !is_kernel_text(inside, at->address))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)at->name_bytes, at->name);
		try_name(inside, at->address, name);
	}
	each_module_symbol(inside, try_module_symbol);
	free(at);
}

static void add_functions(struct inside *inside)
{
	add(inside, "%zu", n_functions);
}

/* --- modules and build-ids -------------------------------------------------------------------- */

/* Modules begin a page, and are not within the kernel. */
static bool is_module(const struct inside *inside, const struct mapping *mapping)
{
	const struct linux_guest *guest = &inside->kernel.guest;

	return !(mapping->start & GUEST_PAGE_MASK) &&
	       (mapping->start < guest->text_start || mapping->start >= guest->text_end);
}

/*
 * These are for space_remove_if(), which visits all mappings, wherever the kernel has its modules.
 */
static bool add_module(void *context, const struct mapping *mapping)
{
	if (is_module(context, mapping))
		add(context, "%s 0x%016" PRIx64, mapping->image->name, mapping->start);
	return false;
}

static bool add_code(void *context, const struct mapping *mapping)
{
	const char *of = mapping->image->name;
	struct symtab_entry entry;

	if ((strcmp(of, "[bpf]") == 0 || strcmp(of, "[ftrace]") == 0) &&
	    symtab_find(mapping->image->symtab, mapping->start - mapping->bias, &entry))
		add(context, "%016" PRIx64 " %016" PRIx64 " %s %s", mapping->start, mapping->end,
		    entry.name, of);
	return false;
}

static void add_build_id(struct inside *inside, const char *what, const struct build_id *id)
{
	char hex[2 * BUILD_ID_MAX_BYTES + 1] = "";

	for (size_t i = 0; i < id->size_bytes; i++)
		sprintf(hex + 2 * i, "%02x", id->bytes[i]);
	if (id->size_bytes)
		add(inside, "%s %s", what, hex);
}

static bool add_module_build_id(void *context, const struct mapping *mapping)
{
	if (is_module(context, mapping))
		add_build_id(context, mapping->image->name, &mapping->image->build_id);
	return false;
}

/* --- tasks ------------------------------------------------------------------------------------ */

typedef void task_fn(struct inside *inside, const struct task *task);

static void visit_task(struct inside *inside, uint64_t address, task_fn *found)
{
	const struct task *task = tasks_find(inside->tasks, address, clock_now_ns());

	if (task && !task->idle)
		found(inside, task);
}

/* The list's head is in another struct. Goes from member to member until the head comes again. */
static void each_thread(struct inside *inside, uint64_t leader, task_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t signal, head, at;

	if (!linux_read_u64(guest, leader + inside->offsets[OWN_SIGNAL], &signal) ||
	    !linux_is_kernel(signal))
		return;
	head = signal + inside->offsets[OWN_THREAD_HEAD];
	at = head;
	for (unsigned i = 0; i < MAX_TASKS && linux_read_u64(guest, at, &at) && at != head; i++)
		visit_task(inside, at - inside->offsets[OWN_THREAD_NODE], found);
}

static void each_task(struct inside *inside, bool leaders, task_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t init = guest->symbols[LINUX_INIT_TASK], at;

	at = init;
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		if (!linux_read_u64(guest, at + inside->offsets[OWN_TASKS], &at) ||
		    !linux_is_kernel(at))
			die("inside: the list of tasks cannot be read");
		at -= inside->offsets[OWN_TASKS];
		if (at == init)
			return;
		if (leaders)
			visit_task(inside, at, found);
		else
			each_thread(inside, at, found);
	}
}

static void add_task(struct inside *inside, const struct task *task)
{
	add(inside, "%u %u %.*s", task->tgid, task->pid, TASK_NAME_BYTES, task->comm);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool add_area(void *context, const struct vma *vma)
{
	struct inside *inside = context;
	struct path_name name = { .path = "" };

	if (vma->file && !path_read(&inside->kernel.guest, vma->file, &name))
		strcpy(name.path, "?");
	add(inside, "%u %08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 "%s%s%s", inside->pid,
	    vma->start, vma->end, vma->flags & VMA_READ ? 'r' : '-',
	    vma->flags & VMA_WRITE ? 'w' : '-', vma->flags & VMA_EXEC ? 'x' : '-',
	    vma->flags & VMA_MAYSHARE ? 's' : 'p',
	    vma->file ? vma->page_offset << arch_page_shift(inside->kernel.guest.root) : 0,
	    vma->file ? " " : "", name.path,
	    name.deleted ? " (deleted)" : "");
	return true;
}

static void add_areas(struct inside *inside, const struct task *task)
{
	if (!task->mm)
		return;
	inside->pid = task->tgid;
	if (vmas_walk(&inside->kernel.guest, task->mm, add_area, inside) != VMAS_DONE)
		add(inside, "%u unreadable", task->tgid);
}

static const struct space *user_space;

static bool add_file_build_id(void *context, const struct vma *vma)
{
	struct inside *inside = context;
	const struct mapping *mapping = space_find(user_space, vma->start);
	struct path_name name;

	if (vma->file && vma->flags & VMA_EXEC && mapping && mapping->image &&
	    path_read(&inside->kernel.guest, vma->file, &name))
		add_build_id(inside, name.path, &mapping->image->build_id);
	return true;
}

static void add_file_build_ids(struct inside *inside, const struct task *task)
{
	uint64_t mm = task->mm;

	user_space = mm ? processes_find_space(inside->processes, task, clock_now_ns()) : NULL;
	if (user_space)
		vmas_walk(&inside->kernel.guest, mm, add_file_build_id, inside);
}

/* Pages of code of one process: in use, found by their frames, found but not as its areas say. */
static struct {
	struct memory_root root;
	unsigned used, told, wrong;
} by_frame;

static void count_page(struct inside *inside, uint64_t address)
{
	const struct mapping *area = space_find(user_space, address), *page;
	const struct space *space;
	frame_t frame;

	if (!area || !memory_translate(inside->memory, by_frame.root, address, &frame))
		return;
	by_frame.used++;
	space = processes_find_by_frame(inside->processes, address, frame,
					memory_now_ns(inside->memory));
	page = space ? space_find(space, address) : NULL;
	by_frame.told += page != NULL;
	by_frame.wrong += page && (page->image != area->image || page->bias != area->bias);
}

static bool count_pages(void *context, const struct vma *vma)
{
	for (uint64_t at = vma->start; at < vma->end; at += EVERY_PAGES * GUEST_PAGE_SIZE)
		if (vma->file && vma->flags & VMA_EXEC)
			count_page(context, at);
	return true;
}

static void add_frames(struct inside *inside, const struct task *task)
{
	uint64_t mm = task->mm;
	uint32_t pid = task->pid;

	memset(&by_frame, 0, sizeof(by_frame));
	user_space = mm ? processes_find_space(inside->processes, task, clock_now_ns()) : NULL;
	if (!user_space || !processes_get_root(inside->processes, mm, &by_frame.root))
		return;
	vmas_walk(&inside->kernel.guest, mm, count_pages, inside);
	add(inside, "%u used %u told %u wrong %u", pid, by_frame.used, by_frame.told,
	    by_frame.wrong);
}

/* Several processes may map one file. Its line is printed once. */
static void drop_doubles(struct lines *lines)
{
	size_t kept = 0;

	if (!lines->n)
		return;
	qsort(lines->line, lines->n, sizeof(*lines->line), compare_lines);
	for (size_t i = 1; i < lines->n; i++) {
		if (strcmp(lines->line[kept], lines->line[i]) != 0)
			lines->line[++kept] = lines->line[i];
		else
			free(lines->line[i]);
	}
	lines->n = kept + 1;
}

static void add_build_ids(struct inside *inside)
{
	add_build_id(inside, "kernel", &inside->kernel.image->build_id);
	space_remove_if(inside->space, add_module_build_id, inside);
	each_task(inside, TASK_LEADER, add_file_build_ids);
	drop_doubles(&inside->lines);
}

/* --- linux_search(), as for a kernel without CONFIG_KALLSYMS_ALL ------------------------------ */

static const struct {
	enum linux_symbol symbol;
	const char *name;
} searched[] = {
	{ LINUX_END, "_end" },
	{ LINUX_BANNER, "linux_banner" },
	{ LINUX_PAGE_TABLES, "init_top_pgt" },
	{ LINUX_NOTES_START, "__start_notes" },
	{ LINUX_NOTES_STOP, "__stop_notes" },
	{ LINUX_BTF_START, "__start_BTF" },
	{ LINUX_BTF_STOP, "__stop_BTF" },
	{ LINUX_ORC_IP_START, "__start_orc_unwind_ip" },
	{ LINUX_ORC_IP_STOP, "__stop_orc_unwind_ip" },
	{ LINUX_ORC_START, "__start_orc_unwind" },
	{ LINUX_ORC_STOP, "__stop_orc_unwind" },
	{ LINUX_CURRENT_TASK, "current_task" },
	{ LINUX_TOP_OF_STACK, "cpu_current_top_of_stack" },
	{ LINUX_HARDIRQ_STACK, "hardirq_stack_ptr" },
	{ LINUX_PAGE_OFFSET, "page_offset_base" },
	{ LINUX_VMEMMAP, "vmemmap_base" },
	{ LINUX_MODULES, "modules" },
	{ LINUX_BPF_KALLSYMS, "bpf_kallsyms" },
};

/* The address by the symbols, and by BTF for those that are members of pcpu_hot. */
static uint64_t searched_told(const struct linux_guest *guest, enum linux_symbol symbol)
{
	enum layout_member hot = symbol == LINUX_CURRENT_TASK    ? PCPU_HOT_CURRENT
				 : symbol == LINUX_TOP_OF_STACK  ? PCPU_HOT_TOP_OF_STACK
				 : symbol == LINUX_HARDIRQ_STACK ? PCPU_HOT_HARDIRQ_STACK
								 : LAYOUT_MEMBERS;

	return guest->symbols[LINUX_PCPU_HOT] && hot != LAYOUT_MEMBERS
		       ? guest->symbols[LINUX_PCPU_HOT] + layout_offset(&guest->layout, hot)
		       : guest->symbols[symbol];
}

static void add_searched(struct inside *inside)
{
	struct kernel_image *image = kernel_image_find(inside->memory, &inside->regs);
	const struct linux_guest *told = &inside->kernel.guest;
	struct linux_guest found = *told;
	const struct memory_range *ranges;
	size_t n;

	if (!image)
		return;
	ranges = kernel_image_ranges(image, &n);
	memset(found.symbols, 0, sizeof(found.symbols));
	found.symbols[LINUX_TEXT] = told->symbols[LINUX_TEXT];
	for (int i = LINUX_FIRST_FUNCTION; i < N_LINUX_SYMBOLS; i++)
		found.symbols[i] = told->symbols[i];
	found.root = kernel_image_root(image);
	search_symbols(&found, ranges, n);
	for (size_t i = 0; i < sizeof(searched) / sizeof(searched[0]); i++)
		add(inside, "%s %" PRIx64 " %" PRIx64, searched[i].name,
		    found.symbols[searched[i].symbol], searched_told(told, searched[i].symbol));
	kernel_image_destroy(image);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* struct vcpu_runstate_info (Xen 4.17 public/vcpu.h): 16 bytes, and the time in each state. */
static void add_runstate(struct inside *inside)
{
	static const char *const states[] = { "running", "runnable", "blocked", "offline" };
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t distance, ns;

	if (!linux_read_u64(guest, guest->symbols[LINUX_PER_CPU_OFFSET], &distance))
		return;
	for (unsigned i = 0; i < 4; i++)
		if (linux_read_u64(guest, guest->symbols[LINUX_RUNSTATE] + distance + 16 + 8 * i,
				   &ns))
			add(inside, "%s %" PRIu64, states[i], ns);
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add_cost(struct inside *inside)
{
	struct memory_counts counts = memory_counts(inside->memory);
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	add(inside, "attach pages %" PRIu64 " batches %" PRIu64 " refused %" PRIu64 " cpu_s %.3f",
	    inside->attached.pages, inside->attached.batches, inside->attached.refused,
	    inside->attached_s);
	add(inside,
	    "total pages %" PRIu64 " batches %" PRIu64 " refused %" PRIu64
	    " cpu_s %.3f max_rss_kib %ld",
	    counts.pages, counts.batches, counts.refused, cpu_s(), usage.ru_maxrss);
}

static void add_line(void *inside, const char *line)
{
	add(inside, "%s", line);
}

/* What is found in a kernel of i386 without BTF, and the names that it leads to. */
static void add_members(struct inside *inside)
{
	static const struct {
		enum layout_member member;
		const char *name;
	} members[] = {
		{ TASK_COMM, "comm" },
		{ TASK_PID, "pid" },
		{ TASK_TGID, "tgid" },
		{ TASK_GROUP_LEADER, "group_leader" },
		{ TASK_STACK, "stack" },
		{ TASK_FLAGS, "flags" },
		{ TASK_MM, "mm" },
		{ TASK_START_TIME, "start_time" },
		{ MM_MT, "mm_mt" },
		{ MM_PGD, "pgd" },
		{ MM_MAP_COUNT, "map_count" },
		{ MM_TOTAL_VM, "total_vm" },
		{ MM_VDSO, "vdso" },
		{ VMA_FLAGS, "vm_flags" },
		{ VMA_PGOFF, "vm_pgoff" },
		{ VMA_FILE, "vm_file" },
		{ FILE_PATH, "f_path" },
		{ FILE_INODE, "f_inode" },
		{ INODE_SB, "i_sb" },
		{ INODE_MAPPING, "i_mapping" },
		{ INODE_INO, "i_ino" },
		{ INODE_SIZE, "i_size" },
		{ INODE_MTIME_SEC, "i_mtime" },
		{ PAGE_SIZEOF, "sizeof_page" },
	};
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t task = layout_32_read_current(guest);
	char name[16] = "";

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (layout_has(&guest->layout, members[i].member))
			add(inside, "members %s %u", members[i].name,
			    layout_offset(&guest->layout, members[i].member));
	if (task && layout_has(&guest->layout, TASK_COMM) &&
	    memory_read(guest->memory, guest->root,
			task + layout_offset(&guest->layout, TASK_COMM), name,
			sizeof(name)) == sizeof(name))
		add(inside, "members current %" PRIx64 " %.15s", task, name);
}

/* --- a domain, or a dump ---------------------------------------------------------------------- */

static void open_domain(struct inside *inside, const char *domain, struct guest_info *info)
{
	must_or_die(guest_find(domain, info));
	inside->type = info->type;
	must_or_die(guest_open_memory(info->domid, &inside->memory));
}

static void open_dump(struct inside *inside, const char *memory, const char *registers)
{
	must_or_die(dump_read_registers(registers, &inside->regs, &inside->user));
	inside->type = GUEST_HVM;
	inside->dump = memory;
	must_or_die(dump_open(memory, &inside->memory));
}

/* Tries again and again, because a vCPU of INFO may be at a place that does not show the kernel. */
static bool attach(struct inside *inside, const struct guest_info *info)
{
	const struct os_guest guest = { .memory = inside->memory, .type = inside->type };

	for (int i = 0; i < (info ? ATTACH_TRIES : 1); i++) {
		memory_refresh(inside->memory);
		if (info && !guest_get_registers(info, (unsigned)i % info->n_vcpus, &inside->regs))
			continue;
		if (linux_attach(&guest, &inside->regs, &inside->kernel))
			return true;
	}
	return false;
}

/* Reads all of kallsyms again; linux_attach() does not keep it. */
static void read_kallsyms(struct inside *inside)
{
	struct kernel_image *image = kernel_image_find(inside->memory, &inside->regs);

	if (!image || !kernel_image_find_kallsyms(image, &inside->kallsyms))
		die("inside: no kallsyms");
	kernel_image_destroy(image);
}

static bool find_own_member(struct btf *btf, const struct btf_want *want, const char *name,
			    uint64_t *offset)
{
	struct btf_member member;

	for (unsigned i = 0; i < want->found; i++)
		if (btf_find_member(btf, want->ids[i], name, strlen(name), &member)) {
			*offset = member.offset_bits / 8;
			return true;
		}
	return false;
}

static void read_own_members(struct inside *inside)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t start = guest->symbols[LINUX_BTF_START];
	size_t bytes = guest->symbols[LINUX_BTF_STOP] - start;
	_cleanup_free_ uint8_t *blob = malloc(bytes);
	struct btf_want wants[N_OWN_STRUCTS];
	struct btf btf;

	for (size_t i = 0; i < N_OWN_STRUCTS; i++)
		wants[i] = (struct btf_want){ .name = own_structs[i] };
	if (!blob ||
	    memory_read_bulk(guest->memory, guest->root, start, blob, bytes) != bytes ||
	    btf_init(&btf, blob, bytes, wants, N_OWN_STRUCTS, NULL) != BTF_OK)
		die("inside: the kernel's BTF cannot be read");
	for (int i = 0; i < N_OWN; i++) {
		bool found = find_own_member(&btf, &wants[own_members[i].type],
					     own_members[i].name, &inside->offsets[i]);

		if (i == OWN_TYPETAB)
			inside->has_typetab = found;
		else if (!found)
			die("inside: no member %s", own_members[i].name);
	}
	btf_deinit(&btf);
}

static void read_guest(struct inside *inside)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	static const struct processes_settings settings;

	must_or_die(space_create(&inside->space));
	must_or_die(space_add(inside->space, &(struct mapping){ .start = guest->text_start,
								.end = guest->text_end,
								.image = inside->kernel.image }));
	must_or_die(modules_create(guest, inside->space, &inside->modules));
	if (linux_is_i386(guest))
		module_layout_i386_find(&inside->kernel.guest);
	modules_poll(inside->modules);
	must_or_die(generated_code_create(guest, inside->space, &inside->generated));
	generated_code_poll(inside->generated);
	inside->attached = memory_counts(inside->memory);
	inside->attached_s = cpu_s();
	if (!guest->has_layout)
		return;
	if (linux_is_short(guest)) {
		process_layout_32_find(&inside->kernel.guest);
		return;
	}
	read_own_members(inside);
	must_or_die(tasks_create(guest, &inside->tasks));
	must_or_die(processes_create(guest, &settings, &inside->processes));
}

static void wait_for_line(void)
{
	int byte;

	fflush(stdout);
	do
		byte = getchar();
	while (byte != '\n' && byte != EOF);
}

static void put_what(struct inside *inside, const char *what)
{
	static const char without[] = " kernel text functions misnamed search runstate wait members "
				      "chain build-id cost waits ";
	char word[32];

	snprintf(word, sizeof(word), " %s ", what);
	if (!inside->tasks && !strstr(without, word))
		die("inside: the kernel has no BTF");
	memory_refresh(inside->memory);
	if (strcmp(what, "kernel") == 0)
		add_kernel(inside, false);
	else if (strcmp(what, "text") == 0)
		add_kernel(inside, true);
	else if (strcmp(what, "modules") == 0)
		each_module_symbol(inside, add_module_symbol);
	else if (strcmp(what, "misnamed") == 0)
		add_misnamed(inside);
	else if (strcmp(what, "functions") == 0)
		add_functions(inside);
	else if (strcmp(what, "module") == 0)
		space_remove_if(inside->space, add_module, inside);
	else if (strcmp(what, "code") == 0)
		space_remove_if(inside->space, add_code, inside);
	else if (strcmp(what, "search") == 0)
		add_searched(inside);
	else if (strcmp(what, "runstate") == 0)
		add_runstate(inside);
	else if (strcmp(what, "wait") == 0)
		wait_for_line();
	else if (strcmp(what, "members") == 0)
		add_members(inside);
	else if (strcmp(what, "chain") == 0 && inside->dump)
		inside_read_chain(inside->dump, &inside->kernel, inside->space, &inside->regs,
				  inside->user, add_line, inside);
	else if (strcmp(what, "build-id") == 0)
		add_build_ids(inside);
	else if (strcmp(what, "task") == 0)
		each_task(inside, !TASK_LEADER, add_task);
	else if (strcmp(what, "maps") == 0)
		each_task(inside, TASK_LEADER, add_areas);
	else if (strcmp(what, "frames") == 0)
		each_task(inside, TASK_LEADER, add_frames);
	else if (strcmp(what, "waits") == 0)
		inside_read_waits(inside->memory, inside->type, &inside->regs, add_line, inside);
	else if (strcmp(what, "cost") == 0)
		add_cost(inside);
	else
		die("inside: unknown WHAT '%s'", what);
	put(inside, what);
}

static void close_inside(struct inside *inside)
{
	processes_destroy(inside->processes);
	tasks_destroy(inside->tasks);
	generated_code_destroy(inside->generated);
	modules_destroy(inside->modules);
	space_destroy(inside->space);
	kallsyms_destroy(inside->kallsyms);
	linux_detach(&inside->kernel);
	memory_destroy(inside->memory);
}

int main(int argc, char **argv)
{
	struct inside inside = { .memory = NULL };
	struct guest_info info;
	bool dump = argc > 4 && strcmp(argv[1], "--dump") == 0;

	if (argc < 3)
		die("usage: inside DOMAIN WHAT... | inside --dump MEMORY REGISTERS WHAT...");
	if (dump)
		open_dump(&inside, argv[2], argv[3]);
	else
		open_domain(&inside, argv[1], &info);
	if (!attach(&inside, dump ? NULL : &info))
		die("inside: no Linux there");
	read_guest(&inside);
	printf("release %s\n", inside.kernel.release);
	read_kallsyms(&inside);
	for (int i = dump ? 4 : 2; i < argc; i++)
		put_what(&inside, argv[i]);
	close_inside(&inside);
	return 0;
}
