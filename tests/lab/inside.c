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
 *   cost       what attaching costs, and all together: pages, batches, CPU, memory
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "inside.h"
#include "inside_chain.h"
#include "inside_waits.h"
#include "linux/kernel/kernel_image.h"
#include "linux/kernel/kernel_types.h"
#include "linux/kernel/module_layout_i386.h"
#include "linux/process/process_layout.h"
#include "tests/support/dump_memory.h"
#include "tests/support/must.h"
#include "xtop/base/cleanup.h"
#include "xtop/os/os.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define ATTACH_TRIES 100

static const char *const own_structs[] = { "task_struct", "signal_struct", "mod_kallsyms" };
#define N_OWN_STRUCTS (sizeof(own_structs) / sizeof(own_structs[0]))

static const struct {
	unsigned type; /* a type of own_structs */
	const char *name;
} own_members[N_OWN] = {
	[OWN_TASKS] = { 0, "tasks" },     [OWN_THREAD_NODE] = { 0, "thread_node" },
	[OWN_SIGNAL] = { 0, "signal" },   [OWN_THREAD_HEAD] = { 1, "thread_head" },
	[OWN_TYPETAB] = { 2, "typetab" }, /* Linux 5.2 and later */
};

void inside_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	fputs("\n", stderr);
	exit(1);
}

void inside_add(struct inside *inside, const char *format, ...)
{
	struct lines *lines = &inside->lines;
	va_list arguments;

	if (lines->n == lines->capacity) {
		lines->capacity = lines->capacity ? 2 * lines->capacity : 1024;
		lines->line = realloc(lines->line, lines->capacity * sizeof(*lines->line));
		if (!lines->line)
			inside_die("inside: out of memory");
	}
	va_start(arguments, format);
	if (vasprintf(&lines->line[lines->n++], format, arguments) < 0)
		inside_die("inside: out of memory");
	va_end(arguments);
}

int inside_compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put(struct inside *inside, const char *what)
{
	struct lines *lines = &inside->lines;

	if (lines->n)
		qsort(lines->line, lines->n, sizeof(*lines->line), inside_compare_lines);
	for (size_t i = 0; i < lines->n; i++) {
		printf("%s %s\n", what, lines->line[i]);
		free(lines->line[i]);
	}
	lines->n = 0;
}

/* --- cost ------------------------------------------------------------------------------------- */

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
	inside_add(inside,
		   "attach pages %" PRIu64 " batches %" PRIu64 " refused %" PRIu64 " cpu_s %.3f",
		   inside->attached.pages, inside->attached.batches, inside->attached.refused,
		   inside->attached_s);
	inside_add(inside,
		   "total pages %" PRIu64 " batches %" PRIu64 " refused %" PRIu64
		   " cpu_s %.3f max_rss_kib %ld",
		   counts.pages, counts.batches, counts.refused, cpu_s(), usage.ru_maxrss);
}

static void add_line(void *inside, const char *line)
{
	inside_add(inside, "%s", line);
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
		if (linux_attach(&guest, &inside->regs, &inside->kernel)) {
			kernel_types_end(&inside->kernel.guest);
			return true;
		}
	}
	return false;
}

/* Reads all of kallsyms again; linux_attach() does not keep it. */
static void read_kallsyms(struct inside *inside)
{
	struct kernel_image *image = kernel_image_find(inside->memory, &inside->regs);

	if (!image || !kernel_image_find_kallsyms(image, &inside->kallsyms))
		inside_die("inside: no kallsyms");
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
	if (!blob || memory_read_bulk(guest->memory, guest->root, start, blob, bytes) != bytes ||
	    btf_init(&btf, blob, bytes, wants, N_OWN_STRUCTS, NULL) != BTF_OK)
		inside_die("inside: the kernel's BTF cannot be read");
	for (int i = 0; i < N_OWN; i++) {
		bool found = find_own_member(&btf, &wants[own_members[i].type], own_members[i].name,
					     &inside->offsets[i]);

		if (i == OWN_TYPETAB)
			inside->has_typetab = found;
		else if (!found)
			inside_die("inside: no member %s", own_members[i].name);
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
	static const char without[] =
		" kernel text functions misnamed search runstate wait members "
		"chain build-id cost waits ";
	char word[32];

	snprintf(word, sizeof(word), " %s ", what);
	if (!inside->tasks && !strstr(without, word))
		inside_die("inside: the kernel has no BTF");
	memory_refresh(inside->memory);
	if (strcmp(what, "kernel") == 0)
		inside_add_kernel(inside, false);
	else if (strcmp(what, "text") == 0)
		inside_add_kernel(inside, true);
	else if (strcmp(what, "modules") == 0)
		inside_add_module_symbols(inside);
	else if (strcmp(what, "misnamed") == 0)
		inside_add_misnamed(inside);
	else if (strcmp(what, "functions") == 0)
		inside_add_functions(inside);
	else if (strcmp(what, "module") == 0)
		inside_add_modules(inside);
	else if (strcmp(what, "code") == 0)
		inside_add_code(inside);
	else if (strcmp(what, "search") == 0)
		inside_add_searched(inside);
	else if (strcmp(what, "runstate") == 0)
		inside_add_runstate(inside);
	else if (strcmp(what, "wait") == 0)
		wait_for_line();
	else if (strcmp(what, "members") == 0)
		inside_add_members(inside);
	else if (strcmp(what, "chain") == 0 && inside->dump)
		inside_read_chain(&(struct inside_vcpu){ inside->dump, &inside->kernel,
							 inside->space, &inside->regs,
							 inside->user },
				  add_line, inside);
	else if (strcmp(what, "build-id") == 0)
		inside_add_build_ids(inside);
	else if (strcmp(what, "task") == 0)
		inside_add_tasks(inside);
	else if (strcmp(what, "maps") == 0)
		inside_add_areas(inside);
	else if (strcmp(what, "frames") == 0)
		inside_add_frames(inside);
	else if (strcmp(what, "waits") == 0)
		inside_read_waits(inside->memory, inside->type, &inside->regs, add_line, inside);
	else if (strcmp(what, "cost") == 0)
		add_cost(inside);
	else
		inside_die("inside: unknown WHAT '%s'", what);
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
		inside_die("usage: inside DOMAIN WHAT... | inside --dump MEMORY REGISTERS WHAT...");
	if (dump)
		open_dump(&inside, argv[2], argv[3]);
	else
		open_domain(&inside, argv[1], &info);
	if (!attach(&inside, dump ? NULL : &info))
		inside_die("inside: no Linux there");
	read_guest(&inside);
	printf("release %s\n", inside.kernel.release);
	read_kallsyms(&inside);
	for (int i = dump ? 4 : 2; i < argc; i++)
		put_what(&inside, argv[i]);
	close_inside(&inside);
	return 0;
}
