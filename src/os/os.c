/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides what runs inside the guest; see os.h. Knows the table of systems, when to look for a
 * system, when to look again, and what to report. How to recognise and read a system is that
 * system's own task (os_ops.h).
 *
 *   nothing seen ─► a vCPU ran ─► known system ─► still there? ─┐
 *                       │              ▲                        │ no: reboot, kexec
 *                       └► other ──────┴────────────────────────┘ looked at again, ever less often
 *
 * Resolver's thread.
 */
#include "config.h"

#include "xtop/os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/heap.h"
#include "xtop/base/work.h"

#define OS_POLL_NS      800000000ULL   /* the user sees within a second what came or went */
#define OS_RETRY_NS     1000000000ULL  /* time until an unknown system is looked at again */
#define OS_RETRY_MAX_NS 60000000000ULL /* longest time between two looks at an unknown system */
/* longest time between two looks at an unknown system with the same page tables */
#define OS_SAME_MAX_NS 600000000000ULL
/* time between checks whether the same kernel is still there */
#define OS_CHECK_NS 5000000000ULL
/* time between checks of the kernel while a vCPU seems to run another kernel */
#define OS_STRAY_NS   200000000ULL
#define OS_MAX_STRAYS 3 /* so many strays in a row mean that another kernel runs */

/* The systems that xtop can look inside, in the order in which they are tried. */
static const struct os_ops *const os_systems[] = { &linux_os, &windows_os, &elf_kernel_os };
#define N_OS_SYSTEMS (sizeof(os_systems) / sizeof(os_systems[0]))

struct os {
	struct os_guest guest;
	struct os_folders debug_folders; /* guest.debug.folders */
	struct control *control;
	struct work *work; /* tells when to stop reading the guest; NULL: never */
	const struct os_ops *ops; /* the known system's functions; NULL if no system is known */
	void *system;             /* the known system's state */
	bool looked;              /* a vCPU ran: if OPS is NULL, the system is an unknown one */
	bool was_known; /* a system was known before the reboot: most likely the same one boots */
	uint64_t next_ns;         /* time to look for a system, or to check the known one */
	uint64_t looked_space;    /* address space of the last look */
	uint64_t same_ns;         /* next_ns for looked_space, if the system is unknown */
	uint64_t retry_ns;        /* time from the last look to same_ns */
	unsigned strays; /* consecutive checks in which a vCPU seemed to run another kernel */
	uint64_t next_poll_ns;
	/*
	 * When the sampler learned the stack layout: older samples lack their task. 0 if it has
	 * not.
	 */
	uint64_t since_ns;
};

/* OPTION names PATH, a folder. *FDP is -1 after an error. */
static struct xtop_error *os_open_folder(const struct inputs *inputs, const char *option,
					 const char *path, int *fdp)
{
	struct stat status;

	*fdp = inputs_open(inputs, path);
	if (*fdp >= 0 && (fstat(*fdp, &status) || !S_ISDIR(status.st_mode))) {
		close(*fdp);
		*fdp = -1;
		errno = ENOTDIR;
	}
	return *fdp < 0 ? error_create_errno(errno, "cannot open %s %s", option, path) : NULL;
}

static struct xtop_error *os_open_debug_dirs(struct os *os, const struct os_settings *settings)
{
	struct os_folders *folders = &os->debug_folders;

	for (size_t i = 0; i < settings->n_debug_dirs && folders->n < OS_MAX_FOLDERS; i++) {
		struct xtop_error *error =
			os_open_folder(settings->files.inputs, "--debug-dir",
				       settings->debug_dirs[i], &folders->fds[folders->n]);

		if (error && settings->debug_dirs_given)
			return error;
		folders->n += !error;
		error_destroy(error);
	}
	return NULL;
}

static struct xtop_error *os_open_folders(struct os *os, const struct os_settings *settings)
{
	struct xtop_error *error = NULL;

	if (settings->root)
		error = os_open_folder(settings->files.inputs, "--root", settings->root,
				       &os->guest.debug.root_fd);
	return error ? error : os_open_debug_dirs(os, settings);
}

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp)
{
	struct os *os = calloc(1, sizeof(*os));
	struct xtop_error *error;

	if (!os)
		return error_create("out of memory");
	os->control = settings->control;
	os->work = settings->work;
	memory_set_work(settings->memory, settings->work);
	os->guest = (struct os_guest){
		.memory = settings->memory,
		.type = settings->type,
		.kernel_cache = settings->kernel_cache,
		.symbols = settings->symbols,
		.debug = { .folders = &os->debug_folders,
			   .root_fd = -1,
			   .lines = settings->files.lines,
			   .fetch = settings->files.fetch },
		.at_once = settings->at_once,
	};
	memcpy(os->guest.uuid, settings->uuid, sizeof(os->guest.uuid));
	error = os_open_folders(os, settings);
	if (!error)
		error = space_create(&os->guest.kernel);
	if (error) {
		os_destroy(os);
		return error;
	}
	*osp = os;
	return NULL;
}

static void os_detach(struct os *os)
{
	if (os->ops)
		os->ops->destroy(os->system);
	os->ops = NULL;
	os->system = NULL;
}

void os_destroy(struct os *os)
{
	if (!os)
		return;
	os_detach(os);
	space_destroy(os->guest.kernel);
	if (os->guest.debug.root_fd >= 0)
		close(os->guest.debug.root_fd);
	for (unsigned i = 0; i < os->debug_folders.n; i++)
		close(os->debug_folders.fds[i]);
	free(os);
}

/* --- looking for a system --------------------------------------------------------------------- */

static void os_poll_now(struct os *os, uint64_t now_ns)
{
	os->next_poll_ns = now_ns + OS_POLL_NS;
	if (os->ops->poll)
		os->ops->poll(os->system, now_ns);
}

static void os_attach(struct os *os, const struct os_ops *ops, const struct linux_stacks *stacks,
		      uint64_t now_ns)
{
	bool has_stacks = stacks->current_per_cpu;

	os->ops = ops;
	os->guest.looks = 0;
	control_set_linux_stacks(os->control, has_stacks ? stacks : NULL);
	os->since_ns = has_stacks ? memory_now_ns(os->guest.memory) : 0;
	os->retry_ns = 0;
	os->next_ns = now_ns + OS_CHECK_NS;
	os_poll_now(os, now_ns);
	heap_return_holes();
}

/*
 * A guest that has just rebooted is looked at more often. Page tables that have led to no system
 * before will hardly lead to one soon: a unikernel keeps its page tables all its life. A look takes
 * eight million instructions in the lab, if its pages are not mapped (numbers.test).
 */
static void os_put_off(struct os *os, uint64_t space, uint64_t now_ns)
{
	bool same = os->retry_ns && space == os->looked_space;
	uint64_t other_max_ns = os->was_known ? OS_CHECK_NS : OS_RETRY_MAX_NS;
	uint64_t max_ns = same && !os->was_known ? OS_SAME_MAX_NS : other_max_ns;

	os->retry_ns = os->retry_ns ? os->retry_ns * (same ? 4 : 2) : OS_RETRY_NS;
	if (os->retry_ns > max_ns)
		os->retry_ns = max_ns;
	os->looked_space = space;
	os->same_ns = now_ns + os->retry_ns;
	os->next_ns = now_ns + (os->retry_ns < other_max_ns ? os->retry_ns : other_max_ns);
}

/* Finds the system that the vCPU runs, whose page tables are SPACE. */
static void os_find(struct os *os, const struct sample_vcpu *vcpu, uint64_t space, uint64_t now_ns)
{
	os->looked = true;
	memory_refresh(os->guest.memory);
	for (size_t i = 0; i < N_OS_SYSTEMS; i++) {
		struct linux_stacks stacks = { 0 };

		if (!(os_systems[i]->archs >> vcpu->regs.arch & 1))
			continue;
		work_begin(os->work, "the guest's kernel");
		os->system = os_systems[i]->find(&os->guest, &vcpu->regs, &stacks);
		work_end(os->work);
		if (os->system) {
			os_attach(os, os_systems[i], &stacks, now_ns);
			return;
		}
	}
	os->guest.looks++;
	os_put_off(os, space, now_ns);
}

/* Drops everything that depends on the kernel that was there. */
static void os_forget(struct os *os)
{
	control_set_linux_stacks(os->control, NULL);
	os->was_known |= os->ops != NULL;
	os_detach(os);
	os->looked = false;
	os->next_ns = os->same_ns = 0;
	os->strays = 0;
}

void os_switch(struct os *os, struct memory *memory, enum guest_type type, const char *uuid)
{
	os_forget(os);
	os->guest.memory = memory;
	memory_set_work(memory, os->work);
	os->guest.type = type;
	if (strcmp(os->guest.uuid, uuid) != 0)
		os->guest.kernel_cache = NULL; /* the cache belongs to the other domain */
	snprintf(os->guest.uuid, sizeof(os->guest.uuid), "%s", uuid);
	os->retry_ns = os->since_ns = 0;
	os->guest.looks = 0;
	control_set_guest_known(os->control, false);
}

void os_update_pages(struct os *os, uint64_t guest_pages)
{
	if (os->guest.memory)
		memory_update_pages(os->guest.memory, guest_pages);
}

/* Checks whether another kernel has been booted. */
static void os_check(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	enum os_runs runs;

	os->next_ns = now_ns + OS_CHECK_NS;
	memory_refresh(os->guest.memory);
	runs = os->ops->runs_on ? os->ops->runs_on(os->system, vcpu) : OS_RUNS_UNKNOWN;
	if (runs != OS_RUNS_UNKNOWN)
		os->strays = runs == OS_RUNS_NOT ? os->strays + 1 : 0;
	if (os->strays)
		os->next_ns = now_ns + OS_STRAY_NS;
	if ((os->strays == OS_MAX_STRAYS || !os->ops->is_there(os->system)) &&
	    !work_is_over(os->work))
		os_forget(os);
}

/* Whether no system was found lately where the page tables are SPACE. */
static bool os_has_looked(const struct os *os, uint64_t space, uint64_t now_ns)
{
	return !os->ops && now_ns < os->same_ns && space == os->looked_space;
}

void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	uint64_t space;

	if (!os->guest.memory || now_ns < os->next_ns || !sample_has_registers(vcpu))
		return;
	space = registers_space(&vcpu->regs);
	if (os_has_looked(os, space, now_ns))
		return;
	if (os->ops)
		os_check(os, vcpu, now_ns);
	if (!os->ops && vcpu->stack_cut != CUT_NO_PAGING)
		os_find(os, vcpu, space, now_ns);
	control_set_guest_known(os->control, true);
}

bool os_poll(struct os *os, uint64_t now_ns)
{
	if (!os->ops || now_ns < os->next_poll_ns)
		return false;
	memory_refresh(os->guest.memory);
	os_poll_now(os, now_ns);
	return true;
}

/* --- answers about the system ----------------------------------------------------------------- */

bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	return os->ops && !vcpu->task && now_ns < os->since_ns;
}

bool os_is_known(const struct os *os)
{
	return os->ops;
}

bool os_is_other(const struct os *os)
{
	return !os->ops && os->looked;
}

const struct space *os_get_kernel(const struct os *os)
{
	return os->guest.kernel;
}

struct memory *os_get_memory(const struct os *os)
{
	return os->guest.memory;
}

bool os_get_kernel_root(const struct os *os, struct memory_root *root)
{
	if (!os->ops || !os->ops->get_kernel_root)
		return false;
	os->ops->get_kernel_root(os->system, root);
	return true;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	*task = (struct os_task){ 0 };
	if (os->ops && os->ops->find_task)
		os->ops->find_task(os->system, vcpu, now_ns, task);
}

enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink)
{
	if (!os->ops || !os->ops->read_waits)
		return OS_WAITS_NONE;
	return os->ops->read_waits(os->system, now_ns, period_ns, sink);
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	return os->ops && os->ops->read_tasks && os->ops->read_tasks(os->system, now_ns, sink);
}

void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts)
{
	*counts = (struct os_waits_counts){ 0 };
	if (os->ops && os->ops->get_waits_counts)
		os->ops->get_waits_counts(os->system, counts);
}

/* "Linux", or "Linux or FreeBSD". */
static void os_list_systems(char *list, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < N_OS_SYSTEMS && used < capacity; i++)
		if (os_systems[i]->name)
			used += (size_t)snprintf(list + used, capacity - used, "%s%s",
						 used ? " or " : "", os_systems[i]->name);
}

static void os_describe_unknown(struct os_description *description)
{
	char systems[40];

	os_list_systems(systems, sizeof(systems));
	snprintf(description->system, sizeof(description->system), "not %s", systems);
	snprintf(description->notes[0], sizeof(description->notes[0]),
		 "no %s kernel found in the guest: -k FILE gives names", systems);
}

void os_describe(const struct os *os, struct os_description *description)
{
	const struct symbols *symbols = os->guest.symbols;

	*description = (struct os_description){ 0 };
	if (os->ops)
		os->ops->describe(os->system, description);
	else if (symbols_count(symbols))
		snprintf(description->system, sizeof(description->system), "%s",
			 symbols_module(symbols, 0));
	else if (os->looked)
		os_describe_unknown(description);
}

void os_get_counts(const struct os *os, struct os_counts *counts)
{
	*counts = (struct os_counts){ 0 };
	if (os->ops && os->ops->get_counts)
		os->ops->get_counts(os->system, counts);
}

void os_read_log(const struct os *os, struct os_log *log)
{
	if (os->ops && os->ops->read_log)
		os->ops->read_log(os->system, log);
	else
		log->lack = "the guest runs no system whose log is known";
}

bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock)
{
	return os->ops && os->ops->read_clock && os->ops->read_clock(os->system, xen_ns, clock);
}

bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns)
{
	return os->ops && os->ops->read_timer && os->ops->read_timer(os->system, vcpu, timer_ns);
}

bool os_read_events(struct os *os, struct os_events *events, unsigned n)
{
	if (os->ops && os->ops->read_events)
		return os->ops->read_events(os->system, events, n);
	memset(events, 0, n * sizeof(*events));
	return false;
}

size_t os_read_file(struct os *os, uint32_t tgid, const char *path, void *buffer, size_t size_bytes)
{
	if (!os->ops || !os->ops->read_file)
		return 0;
	return os->ops->read_file(os->system, tgid, path, buffer, size_bytes);
}
