/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Eight hours of a guest that changes all the time, played as fast as possible: 100 samples a
 * second through the resolver and onto the screen. Each sample has a new stack, every 8th one a new
 * process, every 128th one a new program whose functions have new names. Every fourth program has
 * neither tables nor frame pointers, and is unwound by its instructions; the last 16 programs are
 * kept, as if they ran still. Memory must stay below 128 MiB. At the end every sample must be in
 * the profile, and what was evicted or lost its name must be counted.
 *
 *	test_soak              a quarter of an hour in which names change eight times as fast (make
 *	                       check), so that all tables are full
 *	test_soak HOURS        tests/check --long: 8; prints the memory of each quarter of an hour
 *
 * This file makes up what runs in the guest: it stands in for src/os/os.c.
 */
#include "config.h"

#include <locale.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "profile/addresses.h"
#include "profile/resolver_state.h"
#include "profile/seen_code.h"
#include "scene.h"
#include "tests/recordings/guest.h"
#include "tests/support/emulated.h"
#include "xtop/base/heap.h"
#include "xtop/profile/resolver.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"

#define HZ               100
#define HOUR             (3600 * HZ) /* samples */
#ifdef SANITIZED
#define SHORT (HOUR / 6) /* each sample takes several times as long */
#else
#define SHORT (HOUR / 4)
#endif
#define LIMIT_MIB        128
#define REFRESH          (2 * HZ) /* samples in two seconds, the screen's usual interval */
#define FUNCTIONS        128      /* functions of a program */
#define FUNCTION_BYTES   0x100
#define PROGRAM          0x401000ULL
#define PROGRAM_BYTES    ((FUNCTIONS + 16) * FUNCTION_BYTES) /* the end has no names */
#define BARE_STEP        16 /* a call in so many bytes of a program without frame pointers */
#define N_PROGRAMS       16
#define KERNEL_FUNCTIONS 4096
#define MAX_DEPTH        24

/* --- the guest -------------------------------------------------------------------------------- */

struct os {
	uint64_t random;
	unsigned long samples, new_process, new_program; /* new: one in so many samples */
	struct space *kernel, *programs[N_PROGRAMS];
	struct space *program; /* the newest */
	unsigned n_programs;
	bool bare; /* the newest is unwound by its instructions */
	char comm[16], thread[16];
};

static struct os the_os;

static uint64_t draw(struct os *os) /* xorshift64* */
{
	os->random ^= os->random >> 12;
	os->random ^= os->random << 25;
	os->random ^= os->random >> 27;
	return os->random * 2685821657736338717ULL;
}

/* Names are as long as in C++, every 16th as long as with templates. */
static void add_functions(struct os *os, struct symtab *tab, uint64_t start, unsigned n)
{
	char name[600];

	for (unsigned i = 0; i < n; i++) {
		int length = snprintf(name, sizeof(name), "function_%016llx",
				      (unsigned long long)draw(os));
		unsigned more = (unsigned)(draw(os) % (i % 16 ? 48 : 500));

		memset(name + length, 'x', more);
		guest_must(symtab_add(
			tab, &(struct symbol_definition){ .start = start + i * FUNCTION_BYTES,
							  .size_bytes = FUNCTION_BYTES,
							  .rank = SYMBOL_GLOBAL,
							  .name = name,
							  .name_bytes = (size_t)length + more }));
	}
	guest_must(symtab_seal(tab));
}

/* --- code without frame pointers -------------------------------------------------------------- */

/*
 * A function takes 0x28 bytes for locals, as guest_add_addresses() has them, and calls another one
 * every 16 bytes. A push and a pop before each call give rows.
 */
static uint8_t code_byte(uint64_t address)
{
	static const uint8_t cell[BARE_STEP] = {
		0x53, 0x5b, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, /* push, pop rbx */
		0xe8, 0x00, 0x00, 0xf0, 0xff, /* call a function of another file */
	};
	static const uint8_t enter[] = { 0x48, 0x83, 0xec, 0x28 };       /* sub $0x28,%rsp */
	static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x28, 0xc3 }; /* add $0x28,%rsp; ret */
	uint64_t at = (address - PROGRAM) % FUNCTION_BYTES;

	if (at < sizeof(enter))
		return enter[at];
	if (at >= FUNCTION_BYTES - BARE_STEP)
		return at - (FUNCTION_BYTES - BARE_STEP) < sizeof(leave)
			       ? leave[at - (FUNCTION_BYTES - BARE_STEP)]
			       : 0x90;
	return at < 11 ? 0x90 : cell[at % BARE_STEP];
}

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	for (size_t i = 0; i < size_bytes; i++)
		((uint8_t *)buffer)[i] = code_byte(address + i);
	return size_bytes;
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = address - (address - PROGRAM) % FUNCTION_BYTES;
	*end = *start + FUNCTION_BYTES;
	return address - PROGRAM < PROGRAM_BYTES;
}

/* --- programs --------------------------------------------------------------------------------- */

static void make_space(struct os *os, const char *name, struct mapping mapping, unsigned n,
		       struct space **spacep)
{
	static const struct code_source code = { .read = read_code,
						 .find_function = find_function };

	guest_must(image_create(name, &mapping.image));
	mapping.image->incomplete = mapping.start == PROGRAM; /* more may come of it */
	guest_must(symtab_create(&mapping.image->symtab));
	add_functions(os, mapping.image->symtab, mapping.start, n);
	if (mapping.start == PROGRAM && os->bare)
		guest_must(unwind_tables_build_computed(&mapping.image->tables, &code,
							mapping.start, mapping.end));
	guest_must(space_create(spacep));
	guest_must(space_add(*spacep, &mapping));
	image_unref(mapping.image);
}

static void start_program(struct os *os)
{
	struct space **slot = &os->programs[os->n_programs % N_PROGRAMS];
	char name[64];

	space_destroy(*slot);
	os->bare = os->n_programs++ % 4 == 0;
	snprintf(name, sizeof(name), "program-%016llx", (unsigned long long)draw(os));
	make_space(os, name, (struct mapping){ .start = PROGRAM, .end = PROGRAM + PROGRAM_BYTES },
		   FUNCTIONS, slot);
	os->program = *slot;
}

static void start_process(struct os *os)
{
	snprintf(os->comm, sizeof(os->comm), "p%llx", (unsigned long long)(draw(os) >> 8));
	snprintf(os->thread, sizeof(os->thread), "t%llx", (unsigned long long)(draw(os) >> 8));
}

/* These functions stand in for those of os.c. */

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp)
{
	(void)settings;
	(void)osp;
	return error_create("not here");
}

void os_destroy(struct os *os)
{
	space_destroy(os->kernel);
	for (unsigned i = 0; i < N_PROGRAMS; i++)
		space_destroy(os->programs[i]);
}

void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)vcpu;
	(void)now_ns;
	if (os->samples % os->new_program == 0)
		start_program(os);
	if (os->samples % os->new_process == 0)
		start_process(os);
	os->samples++;
}

bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
	return false;
}

bool os_is_known(const struct os *os)
{
	(void)os;
	return true;
}

const struct space *os_get_kernel(const struct os *os)
{
	return os->kernel;
}

/* Each page is full of page-table entries that lead to page 1: so every address has code. */
static void read_pages(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context;
	(void)frames;
	for (size_t i = 0; i < n * GUEST_PAGE_SIZE / sizeof(uint64_t); i++)
		((uint64_t *)pages)[i] = 0x1003;
	for (size_t i = 0; i < n; i++)
		ok[i] = true;
}

static void close_pages(void *context)
{
	(void)context;
}

struct memory *os_get_memory(const struct os *os)
{
	static const struct memory_ops ops = { .read = read_pages, .close = close_pages };
	static struct memory *memory;

	(void)os;
	if (!memory && memory_create(&ops, NULL, &memory))
		abort();
	return memory;
}

bool os_get_kernel_root(const struct os *os, struct memory_root *root)
{
	(void)os;
	*root = (struct memory_root){ .cr3 = 0x1000 };
	return true;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	(void)vcpu;
	(void)now_ns;
	*task = (struct os_task){ .process = os->comm,
				  .thread = os->samples % 3 ? os->comm : os->thread,
				  .pid = (uint32_t)os->samples,
				  .tgid = (uint32_t)os->samples,
				  .user = os->program };
}

bool os_poll(struct os *os, uint64_t now_ns)
{
	(void)os;
	(void)now_ns;
	return false;
}

void os_update_pages(struct os *unused, uint64_t guest_pages)
{
	(void)unused;
	(void)guest_pages;
}

void os_switch(struct os *os, struct memory *memory, enum guest_type type, const char *uuid)
{
	(void)os;
	(void)memory;
	(void)type;
	(void)uuid;
}

bool os_is_other(const struct os *os)
{
	(void)os;
	return false;
}

enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink)
{
	(void)os;
	(void)now_ns;
	(void)period_ns;
	(void)sink;
	return OS_WAITS_NONE;
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	(void)os;
	(void)now_ns;
	(void)sink;
	return false;
}

void os_read_log(const struct os *os, struct os_log *log)
{
	(void)os;
	(void)log;
}

void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts)
{
	(void)os;
	*counts = (struct os_waits_counts){ 0 };
}

void os_get_counts(const struct os *os, struct os_counts *counts)
{
	(void)os;
	*counts = (struct os_counts){ 0 };
}

bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock)
{
	(void)os;
	*clock = (struct os_clock){ .monotonic_ns = xen_ns, .real_ns = xen_ns };
	return true;
}

size_t os_read_file(struct os *os, uint32_t tgid, const char *path, void *buffer, size_t size_bytes)
{
	(void)os;
	(void)tgid;
	(void)path;
	(void)buffer;
	(void)size_bytes;
	return 0;
}

bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns)
{
	(void)os;
	(void)vcpu;
	(void)timer_ns;
	return false;
}

bool os_read_events(struct os *os, struct os_events *events, unsigned n)
{
	(void)os;
	memset(events, 0, n * sizeof(*events));
	return false;
}

void os_describe(const struct os *os, struct os_description *description)
{
	(void)os;
	*description = (struct os_description){ .system = "Linux of the soak" };
}

/* --- samples ---------------------------------------------------------------------------------- */

/* In a program without frame pointers it is after a call, and frames have their locals. */
static uint64_t draw_user_address(struct os *os)
{
	uint64_t function = PROGRAM + draw(os) % (PROGRAM_BYTES / FUNCTION_BYTES) * FUNCTION_BYTES;

	if (!os->bare)
		return PROGRAM + 16 + draw(os) % (PROGRAM_BYTES - 32);
	return function + BARE_STEP * (1 + draw(os) % (FUNCTION_BYTES / BARE_STEP - 1));
}

static void make_sample(struct os *os, struct guest_record *record, uint64_t time_ns)
{
	unsigned n = 3 + (unsigned)(draw(os) % (MAX_DEPTH - 3));
	bool user = draw(os) & 1;
	uint64_t addresses[MAX_DEPTH];

	for (unsigned i = 0; i < n; i++)
		addresses[i] = user ? draw_user_address(os)
				    : GUEST_KERNEL + 16 +
					       draw(os) % (KERNEL_FUNCTIONS * FUNCTION_BYTES - 32);
	if (draw(os) % 64 == 0)
		addresses[0] = 0xffffffffc0000000 + draw(os) % 0x1000000; /* belongs to nothing */
	guest_begin(record, time_ns, 10000);
	guest_add_addresses(record, 0, addresses, n);
}

static size_t rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		abort();
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* --- what became of them ---------------------------------------------------------------------- */

static void check_account(const struct snapshot *snapshot, uint64_t samples)
{
	const struct resolver_counts *counts = &snapshot->resolver;
	uint64_t in_nodes = 0, evicted = 0, nameless = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		in_nodes += node->self_total;
		if (node->frame == FRAME_EVICTED)
			evicted += node->self_total;
		if (node->frame == FRAME_UNKNOWN)
			nameless += node->self_total;
	}
	printf("# %zu nodes, %" PRIu32 " names; evicted %" PRIu64 " nodes with %" PRIu64
	       " samples; refused %" PRIu64 " names\n",
	       snapshot->n_nodes, snapshot->n_frames, counts->evicted_nodes, evicted,
	       counts->frames_refused);
	check_u64(counts->samples, samples, "all samples are counted");
	check_u64(counts->bad_records, 0, "no record is wrong");
	check(counts->frames_by[UNWIND_BY_COMPUTED] > samples / 8 * 5,
	      "an eighth of the samples is unwound by instructions: %" PRIu64 " frames",
	      counts->frames_by[UNWIND_BY_COMPUTED]);
	check_u64(in_nodes, samples, "all samples are in the profile");
	check_u64(snapshot->nodes[0].children_total, samples,
		  "the root has the weight of all samples");
	check(counts->evicted_nodes > 0 && evicted > 0,
	      "evicted nodes are counted, and their samples shown");
	check(counts->frames_refused > 0, "names that had no room are counted");
	check(nameless <= counts->frames_refused, "every lost name is counted");
}

/* The counts by address, and the code, of the functions that samples ended in. Both are full. */
static void check_insides(const struct resolver *resolver)
{
	size_t counts = addresses_memory_bytes(resolver->addresses),
	       code = seen_code_memory_bytes(resolver->code);

	printf("# counts by address %.2f MiB, code of sampled functions %.2f MiB\n",
	       (double)counts / (1 << 20), (double)code / (1 << 20));
	check(counts > 1U << 20 && counts <= 2U << 20, "counts by address take at most 2 MiB");
	check(code > 1U << 19 && code <= SEEN_CODE_MAX_BYTES + (1U << 20),
	      "the code of sampled functions takes no more than its limit, and a table");
}

struct soak {
	struct scene scene;
	struct canvas *canvas;
	struct resolver_settings settings;
	struct resolver *resolver;
	size_t most_bytes;
};

static void soak_open(struct soak *soak, struct os *os)
{
	soak->settings = (struct resolver_settings){
		.os = os,
		.n_vcpus = 1,
		.half_life_ns = 10000000000,
		.max_nodes = RESOLVER_MAX_NODES,
	};
	guest_must(control_create(&soak->settings.control));
	guest_must(ring_create(1 << 16, &soak->settings.ring));
	guest_must(symbols_create((struct symbols **)&soak->settings.symbols));
	guest_must(resolver_create(&soak->settings, &soak->resolver));
	scene_open(&soak->scene);
	soak->canvas = canvas_create(50, 160, CHARSET_FULL);
	make_space(os, "[kernel]",
		   (struct mapping){ .start = GUEST_KERNEL,
				     .end = GUEST_KERNEL + KERNEL_FUNCTIONS * FUNCTION_BYTES },
		   KERNEL_FUNCTIONS, &os->kernel);
}

static void soak_close(struct soak *soak, struct os *os)
{
	scene_close(&soak->scene);
	canvas_destroy(soak->canvas);
	resolver_destroy(soak->resolver);
	os_destroy(os);
	symbols_destroy((struct symbols *)soak->settings.symbols);
	ring_destroy(soak->settings.ring);
	control_destroy(soak->settings.control);
}

/* A new picture; every 50th in another view. */
static void soak_refresh(struct soak *soak, unsigned long refresh)
{
	static const char *const views[] = { "t", "E", "<Down><Down>", "f", "v", "o", "p", "C" };
	struct snapshot *snapshot;
	size_t now;

	guest_must(resolver_snapshot(soak->resolver, &snapshot));
	soak->scene.ui->now_ns += REFRESH / HZ * SECOND;
	ui_show(soak->scene.ui, snapshot);
	if (refresh % 50 == 0)
		scene_keys(&soak->scene, 160, 50, views[refresh / 50 % 8]);
	ui_draw(soak->scene.ui, soak->canvas);
	now = rss_bytes();
	soak->most_bytes = now > soak->most_bytes ? now : soak->most_bytes;
}

int main(int argc, char **argv)
{
	unsigned long hours = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long n = hours ? hours * HOUR : SHORT, each = hours ? 1 : 8;
	struct guest_record *record = malloc(sizeof(*record));
	static struct soak soak;
	struct os *os = &the_os;
	struct snapshot *last;

	heap_return_large();
	if (!setlocale(LC_CTYPE, "C.UTF-8") || !record)
		abort();
	*os = (struct os){ .random = 0x9e3779b97f4a7c15,
			   .new_process = 8 / each,
			   .new_program = 128 / each };
	soak_open(&soak, os);
	for (unsigned long i = 1; i <= n; i++) {
		make_sample(os, record, i * (SECOND / HZ));
		resolver_add(soak.resolver, record->words, record->size_bytes);
		if (i % (REFRESH * each) == 0)
			soak_refresh(&soak, i / REFRESH / each);
		if (i % (HOUR / 4) == 0)
			printf("# after %3lu minutes: %6.1f MiB, at most %.1f\n", i / (HOUR / 60),
			       (double)rss_bytes() / (1 << 20),
			       (double)soak.most_bytes / (1 << 20));
	}
	guest_must(resolver_snapshot(soak.resolver, &last));
	check_account(last, n);
	snapshot_destroy(last);
	check_insides(soak.resolver);
#ifndef SANITIZED
	if (!emulator_lacks("memory of its own"))
		check(soak.most_bytes < (size_t)LIMIT_MIB << 20, "%.1f MiB at most, of %d",
		      (double)soak.most_bytes / (1 << 20), LIMIT_MIB);
#endif
	soak_close(&soak, os);
	free(record);
	return tap_done();
}
