/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs inside the guest; see xtop/os.h. Knows when to look and when to look again; what it is
 * looked at by lies in the other files.
 *
 *   unseen ─► a vCPU ran ─► Linux ─► still there? ─┐
 *                │            ▲                    │ no: rebooted, kexec
 *                └► other ────┴────────────────────┘ looked at again, less and less often
 *
 * Resolver's thread.
 */
#include "config.h"

#include "xtop/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/process/past_task.h"
#include "linux/kernel/generated_code.h"
#include "linux/kernel/linux_attach.h"
#include "linux/kernel/modules.h"
#include "linux/kernel/recipe.h"
#include "linux/process/tasks.h"
#include "linux/process/processes.h"
#include "xtop/inputs.h"
#include "xtop/os_counts.h"

#define OS_POLL_NS      800000000ULL   /* what came or went is seen within a second */
#define OS_RETRY_NS     1000000000ULL  /* to the next look at what was not Linux */
#define OS_CHECK_NS     5000000000ULL  /* between looks whether the same kernel is there */
#define OS_STRAY_NS     200000000ULL   /* the same, when a vCPU seems to run on another */
#define OS_MAX_STRAYS   3              /* then it is another */
#define OS_RETRY_MAX_NS 60000000000ULL /* between looks at what was not Linux */
#define OS_REFRESH_NS   50000000ULL /* copies of guest memory older than that are not looked at */

struct os {
	struct os_settings settings;
	int root_fd; /* of --root; -1: none */
	enum os_kind kind;
	uint64_t next_ns;  /* not Linux: to be looked at again; Linux: to be checked */
	uint64_t retry_ns; /* what next_ns was put off by last */
	unsigned strays;   /* vCPUs in a row that ran on another kernel, it seems */
	bool was_linux;    /* and will be again, most likely: it boots */
	uint64_t next_poll_ns, next_refresh_ns;
	uint64_t
		since_ns; /* the sampler knows the recipe: samples before lack their task; 0: none */
	struct space *kernel;
	struct linux_kernel linux_kernel;
	struct modules *modules;
	struct generated_code *generated;
	struct tasks *tasks;
	struct processes *processes;
	struct former_clock clock;
};

static struct xtop_error *os_open_root(struct os *os)
{
	struct stat status;

	os->root_fd = -1;
	if (!os->settings.root)
		return NULL;
	os->root_fd = inputs_take(os->settings.root);
	if (os->root_fd >= 0 && (fstat(os->root_fd, &status) || !S_ISDIR(status.st_mode))) {
		close(os->root_fd);
		os->root_fd = -1;
		errno = ENOTDIR;
	}
	return os->root_fd < 0
		       ? error_create_errno(errno, "cannot open --root %s", os->settings.root)
		       : NULL;
}

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp)
{
	struct os *os = calloc(1, sizeof(*os));
	struct xtop_error *error;

	if (!os)
		return error_create("out of memory");
	os->settings = *settings;
	error = os_open_root(os);
	if (!error)
		error = space_create(&os->kernel);
	if (error) {
		os_destroy(os);
		return error;
	}
	*osp = os;
	return NULL;
}

static void os_detach(struct os *os)
{
	processes_destroy(os->processes);
	tasks_destroy(os->tasks);
	generated_code_destroy(os->generated);
	modules_destroy(os->modules);
	linux_detach(&os->linux_kernel);
	os->processes = NULL;
	os->clock = (struct former_clock){ 0 };
	os->tasks = NULL;
	os->generated = NULL;
	os->modules = NULL;
}

void os_destroy(struct os *os)
{
	if (!os)
		return;
	os_detach(os);
	space_destroy(os->kernel);
	if (os->root_fd >= 0)
		close(os->root_fd);
	free(os);
}

/* --- Linux ------------------------------------------------------------------------------------ */

static struct xtop_error *os_create_walkers(struct os *os)
{
	struct linux_guest *guest = &os->linux_kernel.guest;
	const struct processes_settings settings = {
		.root_fd = os->root_fd,
		.symbols = os->settings.symbols,
	};
	struct xtop_error *error;

	error = modules_create(guest, os->kernel, &os->modules);
	if (!error)
		error = generated_code_create(guest, os->kernel, &os->generated);
	if (error || !guest->has_layout)
		return error;
	/* Types may lack what tasks need: kernel names and stacks are there without. */
	error_destroy(tasks_create(guest, &os->tasks));
	return os->tasks ? processes_create(guest, &settings, &os->processes) : NULL;
}

static struct xtop_error *os_map_kernel(struct os *os)
{
	const struct linux_guest *guest = &os->linux_kernel.guest;

	space_clear(os->kernel);
	return space_add(os->kernel, &(struct mapping){ .start = guest->text_start,
							.end = guest->text_end,
							.image = os->linux_kernel.image });
}

static void os_poll_now(struct os *os, uint64_t now_ns)
{
	os->next_poll_ns = now_ns + OS_POLL_NS;
	modules_poll(os->modules);
	generated_code_poll(os->generated);
	if (os->processes)
		processes_poll(os->processes, now_ns);
}

static bool os_attach(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	struct stack_recipe recipe;
	struct xtop_error *error;

	if (!linux_attach(os->settings.memory, os->settings.type, &vcpu->regs, &os->settings.shelf,
			  &os->linux_kernel))
		return false;
	error = os_map_kernel(os);
	if (!error)
		error = os_create_walkers(os);
	if (error) { /* out of memory: as if it were not there */
		error_destroy(error);
		os_detach(os);
		return false;
	}
	recipe = recipe_make(&os->linux_kernel.guest, &vcpu->regs);
	control_set_recipe(os->settings.control, recipe.current_per_cpu ? &recipe : NULL);
	os->since_ns = recipe.current_per_cpu ? memory_now_ns(os->settings.memory) : 0;
	os_poll_now(os, now_ns);
	return true;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* What booted a moment ago is looked at again soon. */
static void os_put_off(struct os *os, uint64_t now_ns)
{
	uint64_t max_ns = os->was_linux ? OS_CHECK_NS : OS_RETRY_MAX_NS;

	os->retry_ns = os->retry_ns ? os->retry_ns * 2 : OS_RETRY_NS;
	if (os->retry_ns > max_ns)
		os->retry_ns = max_ns;
	os->next_ns = now_ns + os->retry_ns;
}

static void os_find_out(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	memory_refresh(os->settings.memory);
	if (os_attach(os, vcpu, now_ns)) {
		os->kind = OS_LINUX;
		os->retry_ns = 0;
		os->next_ns = now_ns + OS_CHECK_NS;
	} else {
		os->kind = OS_OTHER;
		os_put_off(os, now_ns);
	}
}

/* All that hangs on the kernel that was there. */
static void os_forget(struct os *os)
{
	control_set_recipe(os->settings.control, NULL);
	os_detach(os);
	os->was_linux |= os->kind == OS_LINUX;
	os->kind = OS_UNSEEN;
	os->next_ns = 0;
	os->strays = 0;
}

void os_follow(struct os *os, struct memory *memory, enum guest_type type, const char *uuid)
{
	os_forget(os);
	os->settings.memory = memory;
	os->settings.type = type;
	snprintf(os->settings.shelf.uuid, sizeof(os->settings.shelf.uuid), "%s", uuid);
	os->retry_ns = os->since_ns = 0;
	control_wait(os->settings.control);
}

void os_follow_pages(struct os *os, uint64_t guest_pages)
{
	if (os->settings.memory)
		memory_follow(os->settings.memory, guest_pages);
}

/* Another kernel may have been booted meanwhile. */
static void os_check(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	enum linux_runs runs;

	os->next_ns = now_ns + OS_CHECK_NS;
	memory_refresh(os->settings.memory);
	runs = linux_runs_on(&os->linux_kernel, vcpu);
	if (runs != LINUX_NOT_KNOWN)
		os->strays = runs == LINUX_RUNS_NOT ? os->strays + 1 : 0;
	if (os->strays)
		os->next_ns = now_ns + OS_STRAY_NS;
	if (os->strays == OS_MAX_STRAYS || !linux_is_there(&os->linux_kernel))
		os_forget(os);
}

void os_see(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	if (!os->settings.memory || now_ns < os->next_ns)
		return;
	if (os->kind == OS_LINUX)
		os_check(os, vcpu, now_ns);
	if (os->kind != OS_LINUX && vcpu->cut != CUT_NO_PAGING)
		os_find_out(os, vcpu, now_ns);
	control_go(os->settings.control);
}

bool os_poll(struct os *os, uint64_t now_ns)
{
	if (os->kind != OS_LINUX || now_ns < os->next_poll_ns)
		return false;
	memory_refresh(os->settings.memory);
	os_poll_now(os, now_ns);
	return true;
}

bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	return os->kind == OS_LINUX && !vcpu->task && now_ns < os->since_ns;
}

bool os_is_linux(const struct os *os)
{
	return os->kind == OS_LINUX;
}

const struct space *os_kernel(const struct os *os)
{
	return os->kernel;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void os_refresh(struct os *os, uint64_t now_ns)
{
	if (now_ns < os->next_refresh_ns)
		return;
	os->next_refresh_ns = now_ns + OS_REFRESH_NS;
	memory_refresh(os->settings.memory);
}

/* Whether the sample was taken under the page tables of the process that MM is now. */
static bool os_is_process(const struct os *os, const struct sample_vcpu *vcpu, uint64_t mm)
{
	struct memory_root root;

	return processes_root(os->processes, mm, &root) && processes_is_root(root, vcpu->regs.cr3);
}

/* The user code of *TASKP, which is read anew when it has changed; NULL: none, or not known any more. */
static const struct space *os_find_user(struct os *os, const struct sample_vcpu *vcpu,
					const struct task **taskp, uint64_t now_ns)
{
	uint64_t address = *taskp ? (*taskp)->address : 0;

	for (int tries = 0; tries < 2 && *taskp && (*taskp)->mm; tries++) {
		const struct space *space = processes_space(os->processes, *taskp, now_ns);

		if (os_is_process(os, vcpu, (*taskp)->mm))
			return space;
		/* It called exec(), or its memory is another task's now: once more. */
		memory_refresh(os->settings.memory);
		tasks_forget(os->tasks, address);
		*taskp = tasks_find(os->tasks, address, now_ns);
	}
	if (!*taskp || (*taskp)->kernel_thread)
		return NULL;
	return processes_former(os->processes, vcpu->regs.cr3, (*taskp)->tgid);
}

/* On which of its stacks the kernel has not been interrupted: the task's. 0: it has none in the sample. */
static uint64_t os_task_rsp(const struct sample_vcpu *vcpu)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	uint64_t rsp = 0;

	for (unsigned i = 0; !vcpu->user && i < vcpu->n_stacks;
	     i++, piece = sample_next_stack(piece))
		if (piece->kind != STACK_USER && piece->address >> 63)
			rsp = piece->address;
	return rsp;
}

/*
 * Whose the sample is: current, unless the kernel is just switching to another task and on that one's
 * stack already (copy.c).
 */
static uint64_t os_task_address(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	const struct task *task = tasks_find(os->tasks, vcpu->task, now_ns);
	uint64_t rsp = os_task_rsp(vcpu), next;

	if (!rsp || !task || !task->stack || tasks_is_on_stack(os->tasks, task, rsp))
		return vcpu->task;
	next = tasks_on_stack(os->tasks, rsp);
	task = next ? tasks_find(os->tasks, next, now_ns) : NULL;
	return task && tasks_is_on_stack(os->tasks, task, rsp) ? next : vcpu->task;
}

/*
 * *TASKP and the user code of one that has ended since, or runs another program. False: nobody can
 * say whose the sample is.
 */
static bool os_find_former(struct os *os, const struct sample_vcpu *vcpu, uint64_t time_ns,
			   const struct task **taskp, const struct space **user)
{
	const struct task *task = *taskp, *parent;
	uint64_t rsp = os_task_rsp(vcpu);

	if (!former_was_there(&os->clock, task, time_ns) ||
	    (rsp && !tasks_is_on_stack(os->tasks, task, rsp)))
		return false;
	if (!former_is_copy(&os->linux_kernel.guest, os->tasks, task, time_ns, &parent))
		return true;
	*user = processes_space(os->processes, parent, time_ns);
	if (!os_is_process(os, vcpu, parent->mm) &&
	    processes_have_root(os->processes, vcpu->regs.cr3)) {
		*user = NULL; /* it is about to switch to that process */
		return true;
	}
	*taskp = parent;
	return true;
}

static void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
			 struct os_task *task)
{
	const struct task *found, *named;
	const struct space *user;

	task->process = "[unknown]";
	if (!vcpu->task)
		return;
	os_refresh(os, now_ns);
	found = tasks_find(os->tasks, os_task_address(os, vcpu, now_ns), now_ns);
	user = os_find_user(os, vcpu, &found, now_ns);
	if (!found)
		return;
	named = found;
	/* In its own memory when it was sampled, it had started by then; else, by now. */
	former_see(&os->clock, found,
		   user && os_is_process(os, vcpu, found->mm) ? now_ns
							      : memory_now_ns(os->settings.memory));
	if (!user && !found->kernel_thread && !os_find_former(os, vcpu, now_ns, &named, &user))
		return;
	*task = (struct os_task){
		.process = named->process,
		.thread = named->comm,
		.pid = found->pid,
		.tgid = found->tgid,
		.kernel_thread = found->kernel_thread,
		.idle = found->idle,
		.user = user,
	};
}

/*
 * User code of which no area is known, of a process that was gone too soon, mostly: by the frame it lay
 * in, which the sampler took in the stop.
 */
static void os_find_code(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
			 struct os_task *task)
{
	const struct space *page;

	if (!vcpu->user || (task->user && space_find(task->user, vcpu->regs.rip)))
		return;
	page = processes_by_frame(os->processes, vcpu->regs.rip, sample_code_frame(vcpu), now_ns);
	if (page)
		task->user = page;
}

void os_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns, struct os_task *task)
{
	*task = (struct os_task){ 0 };
	if (os->kind != OS_LINUX || !os->tasks)
		return;
	os_find_task(os, vcpu, now_ns, task);
	os_find_code(os, vcpu, now_ns, task);
}

/* --- what to tell ----------------------------------------------------------------------------- */

static void os_note(struct os_description *description, unsigned *n, const char *note)
{
	if (*n < OS_NOTES)
		snprintf(description->notes[(*n)++], OS_NOTE_BYTES, "%s", note);
}

static void os_describe_linux(const struct os *os, struct os_description *description)
{
	unsigned n = 0;

	snprintf(description->system, sizeof(description->system), "Linux %s",
		 os->linux_kernel.release);
	if (!os->linux_kernel.guest.has_layout)
		os_note(description, &n,
			"no processes, no modules: the guest's kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else if (!os->tasks)
		os_note(description, &n,
			"no processes: the guest's BTF lacks members of task_struct");
	else if (!os->since_ns)
		os_note(description, &n,
			"no processes: how the guest's kernel keeps its current task is not known");
	if (linux_names_no_data(&os->linux_kernel.guest) &&
	    !os->linux_kernel.guest.symbols[LINUX_MODULES])
		os_note(description, &n,
			"no modules: the guest's kernel names no data (CONFIG_KALLSYMS_ALL)");
	if (!os->linux_kernel.image->orc)
		os_note(description, &n,
			"short kernel stacks: the guest's kernel has no ORC tables");
	if (os->processes)
		for (const char *note = NULL; (note = processes_note(os->processes, note));)
			os_note(description, &n, note);
}

static void os_describe_other(struct os_description *description)
{
	unsigned n = 0;

	snprintf(description->system, sizeof(description->system), "not Linux");
	os_note(description, &n, "no Linux kernel found in the guest: -k FILE gives names");
}

void os_describe(const struct os *os, struct os_description *description)
{
	*description = (struct os_description){ .kind = os->kind };
	if (os->kind == OS_LINUX)
		os_describe_linux(os, description);
	else if (symbols_count(os->settings.symbols))
		snprintf(description->system, sizeof(description->system), "%s",
			 symbols_module(os->settings.symbols, 0));
	else if (os->kind == OS_OTHER)
		os_describe_other(description);
}

void os_get_counts(const struct os *os, struct os_counts *counts)
{
	*counts = (struct os_counts){ 0 };
	if (os->modules)
		counts->modules_cut = modules_cut(os->modules);
	if (os->tasks) {
		struct tasks_counts tasks = tasks_counts(os->tasks);

		counts->tasks_evicted = tasks.evicted;
		counts->tasks_refused = tasks.refused;
	}
	if (os->processes) {
		struct processes_counts processes = processes_counts(os->processes);

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
