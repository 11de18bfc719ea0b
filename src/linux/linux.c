/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux as one of the operating systems in os_ops.h: finds the kernel, keeps up with its modules,
 * tasks and processes, and describes what could not be found. kernel/ reads the kernel itself,
 * process/ the processes on it.
 *
 *   registers ─► kernel/linux_attach.c ─► kernel's code, types ─┬► modules, generated code
 *                                                               ├► stack layout of samples
 *                                                               └► tasks and processes of samples
 *
 * Resolver's thread.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "linux/event_channels.h"
#include "linux/kernel/generated_code.h"
#include "linux/kernel/guest_clock.h"
#include "linux/kernel/kernel_log.h"
#include "linux/kernel/kernel_types.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/linux_attach.h"
#include "linux/kernel/member.h"
#include "linux/kernel/module_layout_i386.h"
#include "linux/kernel/modules.h"
#include "linux/kernel/stack_layout.h"
#include "linux/kernel_debug_files.h"
#include "linux/next_timer.h"
#include "linux/process/backoff.h"
#include "linux/process/process_layout.h"
#include "linux/sleepers.h"
#include "linux/task_finder.h"
#include "xtop/base/work.h"
#include "xtop/os/os_ops.h"
#include "xtop/supervise/fetch.h"
#include "xtop/supervise/line_client.h"

/* the time that each task of linux_read_tasks() represents */
#define LINUX_TASKS_PERIOD_NS 1000000000
#define LINUX_RETRY_NS        100000000ULL /* delay of the first retry of linux_find_processes() */
#define LINUX_MAX_RETRY_NS    10000000000ULL /* longest delay between two retries */

struct linux_system {
	struct space *space; /* the kernel's code; borrowed from the caller */
	struct linux_kernel kernel;
	bool has_stacks; /* the sampler can be told where a task's stacks are */
	struct modules *modules;
	struct kernel_debug_files *debug_files; /* NULL if source lines are not wanted */
	struct generated_code *generated;
	struct task_finder finder; /* owns tasks and processes; NULL if types are missing */
	struct sleepers *sleepers; /* NULL before the first request */
	struct processes_settings processes_settings;
	bool polled; /* linux_poll() was called */
	uint64_t retry_ns, retry_delay_ns; /* the next try to find processes; the delay after it */
};

/* --- finding ---------------------------------------------------------------------------------- */

static void linux_destroy(void *context)
{
	struct linux_system *system = context;

	sleepers_destroy(system->sleepers);
	processes_destroy(system->finder.processes);
	tasks_destroy(system->finder.tasks);
	generated_code_destroy(system->generated);
	modules_destroy(system->modules);
	kernel_debug_files_destroy(system->debug_files);
	linux_detach(&system->kernel);
	free(system);
}

static void linux_add_module_lines(void *context, struct image *image)
{
	const struct linux_system *system = context;

	kernel_debug_files_find_module(system->debug_files, image);
}

static struct xtop_error *linux_create_walkers(struct linux_system *system,
					       const struct os_guest *os_guest)
{
	struct linux_guest *guest = &system->kernel.guest;
	struct xtop_error *error;

	system->processes_settings = (struct processes_settings){
		.debug = os_guest->debug,
		.symbols = os_guest->symbols,
		.at_once = os_guest->at_once,
	};
	error = modules_create(guest, os_guest->kernel, &system->modules);
	if (!error && system->debug_files)
		modules_set_new(system->modules, linux_add_module_lines, system);
	if (!error)
		error = generated_code_create(guest, os_guest->kernel, &system->generated);
	if (error || !guest->has_layout)
		return error;
	system->finder.guest = system->finder.stacks.guest = guest;
	if (linux_is_short(guest))
		process_layout_32_find(guest);
	/* Without the members that tasks need, the kernel's names and stacks still work. */
	error_destroy(tasks_create(guest, &system->finder.tasks));
	return system->finder.tasks && layout_has(&guest->layout, TASK_MM)
		       ? processes_create(guest, &system->processes_settings,
					  &system->finder.processes)
		       : NULL;
}

/*
 * A kernel of 32 bits reveals the layout of its processes only through a running process. If there
 * was none at first, or all were changing, this function tries again.
 */
static void linux_find_processes(struct linux_system *system, uint64_t now_ns)
{
	struct linux_guest *guest = &system->kernel.guest;
	struct tasks *tasks = NULL;

	if (system->finder.processes || !system->finder.tasks || !linux_is_short(guest) ||
	    now_ns < system->retry_ns)
		return;
	system->retry_delay_ns =
		backoff_next_ns(system->retry_delay_ns, LINUX_RETRY_NS, LINUX_MAX_RETRY_NS);
	system->retry_ns = now_ns + system->retry_delay_ns;
	memory_refresh(guest->memory);
	if (!process_layout_32_find(guest))
		return;
	/* The tasks read so far lack their mm_struct. If memory is out, there is another retry. */
	error_destroy(tasks_create(guest, &tasks));
	if (!tasks)
		return;
	tasks_destroy(system->finder.tasks);
	system->finder.tasks = tasks;
	error_destroy(processes_create(guest, &system->processes_settings,
				       &system->finder.processes));
}

/*
 * The symbol at the start of the kernel's code is _text (arch/x86/kernel/vmlinux.lds.S, arch/arm64/
 * kernel/vmlinux.lds.S). On arm64 and Arm _text is before the code, and only CONFIG_KALLSYMS_ALL
 * names it; otherwise the symbol is _stext.
 */
static void linux_find_lines(struct linux_system *system)
{
	const struct linux_guest *guest = &system->kernel.guest;
	bool is_stext = root_is_arm(guest->root) && linux_names_no_data(guest);
	const struct kernel_start start = { is_stext ? "_stext" : "_text", guest->text_start };

	if (system->debug_files)
		kernel_debug_files_find_kernel(system->debug_files, system->kernel.image, &start);
}

static void *linux_find(const struct os_guest *guest, const struct registers *regs,
			struct linux_stacks *stacks)
{
	struct linux_system *system;
	struct xtop_error *error;

	system = calloc(1, sizeof(*system));
	if (!system)
		return NULL;
	if (!linux_attach(guest, regs, &system->kernel)) {
		free(system);
		return NULL;
	}
	if (guest->at_once)
		kernel_types_end(&system->kernel.guest);
	system->space = guest->kernel;
	system->debug_files = guest->debug.lines
				      ? kernel_debug_files_create(guest, system->kernel.release)
				      : NULL;
	linux_find_lines(system);
	space_clear(guest->kernel);
	error = space_add(guest->kernel,
			  &(struct mapping){ .start = system->kernel.guest.text_start,
					     .end = system->kernel.guest.text_end,
					     .image = system->kernel.image });
	if (!error)
		error = linux_create_walkers(system, guest);
	if (error) { /* out of memory: treated as if Linux were not there */
		error_destroy(error);
		linux_destroy(system);
		return NULL;
	}
	*stacks = stack_layout_build(&system->kernel.guest, regs);
	system->has_stacks = stacks->current_per_cpu;
	if (system->finder.guest)
		task_finder_learn(&system->finder, regs);
	return system;
}

static bool linux_system_is_there(void *context)
{
	const struct linux_system *system = context;

	return linux_is_there(&system->kernel);
}

static enum os_runs linux_system_runs_on(void *context, const struct sample_vcpu *vcpu)
{
	const struct linux_system *system = context;

	return linux_runs_on(&system->kernel, vcpu);
}

/* --- updates ---------------------------------------------------------------------------------- */

static void linux_poll(void *context, uint64_t now_ns)
{
	struct linux_system *system = context;
	struct linux_guest *guest = &system->kernel.guest;

	/* The first call comes before the first sample has its names. */
	if (system->polled) {
		kernel_types_end(guest);
		/* A kernel without unwind tables is whole now, though nobody asks for them. */
		if (!guest->symbols[LINUX_ORC_IP_START])
			image_build_tables(system->kernel.image);
	}
	system->polled = true;
	/* As long as no module is loaded, there is nothing to find. */
	if (linux_is_i386(guest) && !layout_has(&guest->layout, MODULE_LIST))
		module_layout_i386_find(guest);
	modules_poll(system->modules);
	generated_code_poll(system->generated);
	if (system->debug_files && kernel_debug_files_poll(system->debug_files))
		space_invalidate(system->space);
	linux_find_processes(system, now_ns);
	if (system->finder.processes)
		processes_poll(system->finder.processes, now_ns);
}

static void linux_find_task(void *context, const struct sample_vcpu *vcpu, uint64_t now_ns,
			    struct os_task *task)
{
	struct linux_system *system = context;

	if (system->finder.tasks)
		task_finder_find(&system->finder, vcpu, now_ns, task);
}

static void linux_get_kernel_root(const void *context, struct memory_root *root)
{
	*root = ((const struct linux_system *)context)->kernel.guest.root;
}

/*
 * Finds the list of tasks. A kernel without CONFIG_KALLSYMS_ALL does not name the list, but any
 * task leads to it. Returns false if waits cannot be read.
 */
static bool linux_prepare_waits(struct linux_system *system)
{
	struct linux_guest *guest = &system->kernel.guest;

	if (!system->finder.processes)
		return false;
	if (linux_is_i386(guest) && !sleepers_can_read(guest))
		task_layout_i386_find_waits(guest, layout_32_read_current(guest));
	guest->symbols[LINUX_INIT_PID_NS] = task_stacks_find_namespace(&system->finder.stacks);
	return sleepers_can_read(guest);
}

static enum os_waits_turn linux_read_waits(void *context, uint64_t now_ns, uint64_t period_ns,
					   const struct os_waits_sink *sink)
{
	struct linux_system *system = context;
	const struct linux_guest *guest = &system->kernel.guest;

	if (!linux_prepare_waits(system))
		return OS_WAITS_NONE;
	if (!system->sleepers) { /* if memory is out, there are no waits this time */
		error_destroy(sleepers_create(guest, system->finder.tasks,
					      system->finder.processes, &system->sleepers));
		if (system->sleepers)
			sleepers_set_modules(system->sleepers, system->modules);
	}
	return system->sleepers ? sleepers_read(system->sleepers, now_ns, period_ns, sink)
				: OS_WAITS_NONE;
}

/* Uses sleepers of its own, because a pass of --waits may be half done. */
static bool linux_read_tasks(void *context, uint64_t now_ns, const struct os_waits_sink *sink)
{
	struct linux_system *system = context;
	const struct linux_guest *guest = &system->kernel.guest;
	struct sleepers *sleepers = NULL;
	bool created;

	if (!linux_prepare_waits(system))
		return false;
	error_destroy(sleepers_create(guest, system->finder.tasks, system->finder.processes,
				      &sleepers));
	created = sleepers;
	while (created && !work_is_over(memory_work(guest->memory)) &&
	       sleepers_read(sleepers, now_ns, LINUX_TASKS_PERIOD_NS, sink) == OS_WAITS_MORE)
		;
	sleepers_destroy(sleepers);
	return created;
}

static void linux_get_waits_counts(const void *context, struct os_waits_counts *counts)
{
	const struct linux_system *system = context;

	if (system->sleepers)
		*counts = sleepers_counts(system->sleepers);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void linux_add_note(struct os_description *description, const char *note)
{
	for (unsigned i = 0; i < OS_NOTES; i++)
		if (!description->notes[i][0]) {
			snprintf(description->notes[i], OS_NOTE_BYTES, "%s", note);
			return;
		}
}

/* Why samples have no processes; NULL if they have. */
static const char *linux_no_processes(const struct linux_system *system)
{
	if (!system->kernel.guest.has_layout)
		return "no processes, no modules: the guest's kernel has no BTF "
		       "(CONFIG_DEBUG_INFO_BTF)";
	if (!system->finder.tasks)
		return "no processes: the guest's BTF lacks members of task_struct";
	if (system->has_stacks && !system->finder.processes)
		return "user code without names: no process shows where the guest's kernel of 32 "
		       "bits keeps it";
	if (!system->has_stacks)
		return "no processes: how the guest's kernel keeps its current task is not known";
	return NULL;
}

static bool linux_is_fetching(struct fetch *fetch)
{
	struct fetch_progress progress;

	fetch_get_progress(fetch, &progress);
	return progress.n_waiting;
}

/* The progress of fetching comes first, because it will be gone soon. */
static void linux_describe(const void *context, struct os_description *description)
{
	const struct linux_system *system = context;
	const struct linux_guest *guest = &system->kernel.guest;
	struct processes *processes = system->finder.processes;
	const char *note = linux_no_processes(system), *progress = NULL;

	description->fetching =
		processes && linux_is_fetching(system->processes_settings.debug.fetch);
	if (description->fetching && (progress = processes_next_note(processes, NULL)))
		linux_add_note(description, progress);
	snprintf(description->system, sizeof(description->system), "Linux %s",
		 system->kernel.release);
	if (note)
		linux_add_note(description, note);
	if (linux_names_no_data(guest) && !guest->symbols[LINUX_MODULES])
		linux_add_note(description, "no modules: the guest's kernel names no data "
					    "(CONFIG_KALLSYMS_ALL)");
	if (!system->kernel.image->tables.orc && !system->kernel.image->late.tables &&
	    guest->root.width == WIDTH_64)
		linux_add_note(description,
			       "short kernel stacks: the guest's kernel has no ORC tables");
	if (processes)
		for (note = progress; (note = processes_next_note(processes, note));)
			linux_add_note(description, note);
}

static void linux_get_counts(const void *context, struct os_counts *counts)
{
	const struct linux_system *system = context;

	counts->modules_cut = modules_counts(system->modules).cut;
	if (system->finder.tasks) {
		struct tasks_counts tasks = tasks_counts(system->finder.tasks);

		counts->tasks_evicted = tasks.evicted;
		counts->tasks_refused = tasks.refused;
		counts->cgroups_unreadable = tasks.cgroups_unreadable;
	}
	if (system->finder.processes) {
		struct processes_counts processes = processes_counts(system->finder.processes);

		counts->areas_left_out = processes.left_out;
		counts->files_no_room = processes.files.no_room;
		counts->files_cut = processes.files.cut;
		counts->files_too_large = processes.files.too_large;
		counts->jit_no_room = processes.no_room;
		counts->processes_evicted = processes.evicted;
		counts->code_by_frame = processes.files.by_frame;
		counts->room_bytes = processes.room_bytes;
	}
}

static void linux_read_log(const void *context, struct os_log *log)
{
	kernel_log_read(&((const struct linux_system *)context)->kernel.guest, log);
}

static bool linux_read_clock(void *context, uint64_t xen_ns, struct os_clock *clock)
{
	const struct linux_system *system = context;

	return guest_clock_read(&system->kernel.guest, xen_ns, clock);
}

static size_t linux_read_file(void *context, uint32_t tgid, const char *path, void *buffer,
			      size_t size_bytes)
{
	struct linux_system *system = context;
	const struct linux_guest *guest = &system->kernel.guest;
	const struct tasks *tasks = system->finder.tasks;
	uint64_t task, fs;
	uint32_t found;
	size_t slot = 0;

	memory_refresh(guest->memory);
	while (tasks && (task = tasks_find_of_process(tasks, tgid, &slot)))
		/* A thread that has ended has no fs_struct, and its task may be another one's. */
		if (member_read_u32(guest, task, TASK_TGID, &found) && found == tgid &&
		    member_read_pointer(guest, task, TASK_FS, &fs))
			return guest_file_read_path(guest, task, path, buffer, size_bytes);
	return 0;
}

static bool linux_read_timer(void *context, unsigned vcpu, uint64_t *timer_ns)
{
	const struct linux_system *system = context;

	return next_timer_read(&system->kernel.guest, vcpu, timer_ns);
}

static bool linux_read_events(void *context, struct os_events *events, unsigned n)
{
	struct linux_system *system = context;

	kernel_types_end(&system->kernel.guest);
	return event_channels_read(&system->kernel.guest, events, n);
}

const struct os_ops linux_os = {
	.name = "Linux",
	.archs = 1U << ARCH_X86 | 1U << ARCH_ARM64,
	.find = linux_find,
	.destroy = linux_destroy,
	.is_there = linux_system_is_there,
	.runs_on = linux_system_runs_on,
	.poll = linux_poll,
	.find_task = linux_find_task,
	.get_kernel_root = linux_get_kernel_root,
	.read_waits = linux_read_waits,
	.read_tasks = linux_read_tasks,
	.get_waits_counts = linux_get_waits_counts,
	.describe = linux_describe,
	.get_counts = linux_get_counts,
	.read_log = linux_read_log,
	.read_clock = linux_read_clock,
	.read_timer = linux_read_timer,
	.read_events = linux_read_events,
	.read_file = linux_read_file,
};
