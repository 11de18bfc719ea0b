/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a crashed guest; see crash.h. Resolver's thread, once.
 *
 *   os_read_log()    ─► lines, with the kernel's times in front as dmesg has them
 *   vCPUs of the sample ─► registers, functions
 *   os_read_tasks()  ─► functions of each task that is on no CPU
 *
 * A function is written as in a kernel's own call trace, "symbol+0x12/0x80 [module]", so that
 * --addr2line reads the report, too. All names become clean here.
 */
#include "config.h"

#include "xtop/profile/crash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/registers_text.h"
#include "profile/runtimes.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/base/vector.h"
#include "xtop/os/os.h"
#include "xtop/profile/frames.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define CRASH_LINE_BYTES 4096 /* a longer line is cut */
#define CRASH_TIME_BYTES 32
#define CRASH_NAME_BYTES 64   /* room for the name of a task */

struct crash_work {
	const struct crash_settings *settings;
	struct crash_report *crash;
	struct unwind_stack stack;
	struct runtimes_sample running; /* the user code of the stack, for its program */
	struct resolver_counts counts;  /* counts that nobody reads */
};

/* --- lines ------------------------------------------------------------------------------------ */

/* Appends TEXT, which is clean. */
static void crash_add(struct crash_report *crash, enum crash_kind kind, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (crash->is_full || crash->text_bytes + bytes > CRASH_MAX_TEXT ||
	    !vector_reserve(crash->text, crash->text_capacity, crash->text_bytes + bytes) ||
	    !vector_reserve(crash->lines, crash->lines_capacity, crash->n_lines + 1)) {
		crash->is_full = true;
		return;
	}
	crash->lines[crash->n_lines++] = (struct crash_line){ .at = (uint32_t)crash->text_bytes,
							      .kind = (uint8_t)kind };
	memcpy(crash->text + crash->text_bytes, text, bytes);
	crash->text_bytes += bytes;
}

static void crash_put(struct crash_report *crash, enum crash_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void crash_put(struct crash_report *crash, enum crash_kind kind, const char *format, ...)
{
	char text[CRASH_LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	crash_add(crash, kind, text);
}

static void crash_begin_part(struct crash_report *crash, enum crash_part part, const char *heading)
{
	crash->parts[part] = crash->n_lines;
	crash_add(crash, CRASH_HEADING, heading);
}

/* --- the log ---------------------------------------------------------------------------------- */

/* Prints times as dmesg does: seconds, and microseconds that are cut, not rounded. */
static void crash_add_log_line(struct crash_report *crash, const struct os_log *log,
			       const struct os_log_line *line)
{
	char text[CRASH_LINE_BYTES];
	int used = snprintf(text, CRASH_TIME_BYTES, "[%5llu.%06llu] ",
			    (unsigned long long)(line->time_ns / 1000000000),
			    (unsigned long long)(line->time_ns % 1000000000 / 1000));

	text_clean_line(text + used, sizeof(text) - (size_t)used, log->text + line->at,
			line->bytes);
	crash_add(crash, CRASH_LINE, text);
}

static void crash_add_log(struct crash_report *crash, const struct os *os)
{
	_cleanup_(os_log_deinit) struct os_log log = { 0 };
	char heading[160];
	int used;

	if (os)
		os_read_log(os, &log);
	else
		log.lack = "nobody looks inside this guest";
	used = snprintf(heading, sizeof(heading), "Kernel log: ");
	if (log.lack)
		used += snprintf(heading + used, sizeof(heading) - (size_t)used, "none, %s",
				 log.lack);
	else
		used += snprintf(heading + used, sizeof(heading) - (size_t)used, "%zu lines",
				 log.n_lines);
	if (log.unreadable)
		used += snprintf(heading + used, sizeof(heading) - (size_t)used,
				 ", %llu messages unreadable", (unsigned long long)log.unreadable);
	if (log.left_out)
		snprintf(heading + used, sizeof(heading) - (size_t)used,
			 ", %llu older ones left out", (unsigned long long)log.left_out);
	crash_begin_part(crash, CRASH_LOG, heading);
	for (size_t i = 0; i < log.n_lines && !crash->is_full; i++)
		crash_add_log_line(crash, &log, &log.lines[i]);
}

/* --- functions -------------------------------------------------------------------------------- */

static void crash_put_name(const char *raw, char *text, size_t capacity)
{
	_cleanup_free_ char *demangled = symbol_demangle(raw);
	const char *name = demangled ? demangled : raw;

	text_clean(text, capacity, name, strlen(name));
}

/* " [module]" or " [libc.so.6]"; "" for the kernel's own functions. */
static void crash_put_module(const struct mapping *mapping, char *text, size_t capacity)
{
	const char *name = mapping && mapping->image ? mapping->image->name : "";
	char clean[FRAME_MODULE_BYTES];

	text_clean(clean, sizeof(clean), name, strlen(name));
	text[0] = '\0';
	if (clean[0] && strcmp(clean, "[kernel]") != 0)
		snprintf(text, capacity, clean[0] == '[' ? " %s" : " [%s]", clean);
}

static void crash_add_frame(struct crash_report *crash, const struct space *space,
			    const struct unwind_frame *frame)
{
	uint64_t address = unwind_frame_code(frame);
	char name[FRAME_NAME_BYTES / 2], module[FRAME_MODULE_BYTES + 4];
	const struct mapping *mapping = NULL;
	struct symtab_entry entry;
	bool named = space && space_find_symbol(space, address, &entry, &mapping);

	crash_put_module(mapping, module, sizeof(module));
	if (!named) {
		crash_put(crash, CRASH_DETAIL, "  0x%llx%s", (unsigned long long)frame->address,
			  module);
		return;
	}
	crash_put_name(entry.name, name, sizeof(name));
	crash_put(crash, CRASH_DETAIL, "  %s+0x%llx/0x%llx%s", name,
		  (unsigned long long)(frame->address - entry.start),
		  (unsigned long long)(entry.end - entry.start), module);
}

/* Whether TASK, whose registers and stacks VCPU has, runs an interpreted program. */
static bool crash_begin_program(struct crash_work *work, const struct sample_vcpu *vcpu,
				const struct os_task *task)
{
	const struct crash_settings *settings = work->settings;
	bool known = settings->runtimes && settings->os && os_is_known(settings->os) && task->user;
	struct memory *memory = known ? os_get_memory(settings->os) : NULL;

	work->running = (struct runtimes_sample){ .vcpu = vcpu,
						  .stack = &work->stack,
						  .space = task->user,
						  .memory = memory,
						  .root = sample_get_user_root(vcpu),
						  .tgid = task->tgid,
						  .thread_pointer = task->thread_pointer,
						  .asleep = true, /* nothing was copied */
						  .counts = &work->counts };
	return memory && runtimes_begin(settings->runtimes, &work->running);
}

/* Adds the functions that the stack's interpreter runs, innermost first: "  [py] f (a.py:12)". */
static void crash_add_program(struct crash_work *work)
{
	const struct crash_settings *settings = work->settings;
	struct program_stack program;

	runtimes_find(settings->runtimes, &program);
	if (program.n)
		crash_add(work->crash, CRASH_DETAIL, "  the program that the interpreter runs:");
	for (size_t i = 0; i < program.n; i++) {
		uint32_t id = program.frames[i].frame;
		const struct frame *frame = frames_get(settings->frames, id);

		frame = frames_get(settings->frames, frame_get_function(frame, id));
		crash_put(work->crash, CRASH_DETAIL, "  %s (%s:%llu)", frame->name, frame->module,
			  (unsigned long long)frame->address);
	}
}

/* Adds the functions on VCPU's stacks, innermost first. TASK runs there or has run there. */
static void crash_add_stack(struct crash_work *work, const struct sample_vcpu *vcpu,
			    const struct os_task *task)
{
	const struct crash_settings *settings = work->settings;
	const struct space *kernel = symbols_space(settings->symbols), *user = kernel;
	struct unwind_stack *stack = &work->stack;
	struct unwind_spaces spaces = { .user_whole = false };
	bool has_program = crash_begin_program(work, vcpu, task);

	if (settings->os && os_is_known(settings->os)) {
		kernel = os_get_kernel(settings->os);
		user = task->user;
		spaces.user_whole = task->user;
		spaces.user_ended = task->ended;
		spaces.program = has_program ? runtimes_for_unwind(settings->runtimes) : NULL;
	}
	spaces.kernel = space_for_unwind(kernel);
	spaces.user = space_for_unwind(user);
	unwind_stack(vcpu, &spaces, settings->how, stack);
	for (unsigned i = 0; i < stack->n_frames; i++) {
		const struct unwind_frame *frame = &stack->frames[i];

		if (frame->flags & FRAME_BROKEN)
			crash_add(work->crash, CRASH_DETAIL, "  [truncated]");
		crash_add_frame(work->crash, frame->flags & FRAME_USER ? user : kernel, frame);
	}
	if (!unwind_is_rooted(stack))
		crash_add(work->crash, CRASH_DETAIL, "  [truncated]");
	if (has_program && stack->parts[UNWIND_USER].walked)
		crash_add_program(work);
}

/* --- vCPUs and tasks -------------------------------------------------------------------------- */

/* "bash", or "java/gc" for a thread with a name of its own. */
static void crash_put_task(const struct os_task *task, char text[2 * CRASH_NAME_BYTES])
{
	const char *process = task->process ? task->process : "";
	char name[CRASH_NAME_BYTES], thread[CRASH_NAME_BYTES];

	text_clean(name, sizeof(name), process, strlen(process));
	snprintf(text, 2 * CRASH_NAME_BYTES, "%s", name);
	if (!task->thread || strcmp(task->thread, process) == 0)
		return;
	text_clean(thread, sizeof(thread), task->thread, strlen(task->thread));
	snprintf(text, 2 * CRASH_NAME_BYTES, "%s/%s", name, thread);
}

static void crash_add_vcpu(struct crash_work *work, const struct sample_vcpu *vcpu,
			   uint64_t time_ns)
{
	char name[2 * CRASH_NAME_BYTES], text[REGISTERS_TEXT_BYTES];
	struct os *os = work->settings->os;
	struct os_task task = { 0 };

	if (os)
		os_find_task(os, vcpu, time_ns, &task);
	crash_put_task(&task, name);
	if (name[0])
		crash_put(work->crash, CRASH_OWNER, "vCPU %u: pid %u  %s", vcpu->vcpu, task.pid,
			  name);
	else
		crash_put(work->crash, CRASH_OWNER, "vCPU %u", vcpu->vcpu);
	for (unsigned i = 0; registers_put_line(&vcpu->regs, i, text); i++)
		crash_put(work->crash, CRASH_DETAIL, "  %s", text);
	crash_add_stack(work, vcpu, &task);
}

static void crash_add_vcpus(struct crash_work *work, const struct sample *sample, uint64_t time_ns)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	char heading[64];

	snprintf(heading, sizeof(heading), "vCPUs with registers: %u", sample->n_vcpus);
	crash_begin_part(work->crash, CRASH_VCPUS, heading);
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		crash_add_vcpu(work, vcpu, time_ns);
}

/* Adds a task. Nothing is stored with a wait (os_waits.h), so each task comes with its stack. */
static void crash_add_task(void *context, const struct os_wait *wait)
{
	char name[2 * CRASH_NAME_BYTES];
	struct crash_work *work = context;

	if (!wait->vcpu || work->crash->is_full)
		return;
	crash_put_task(wait->task, name);
	crash_put(work->crash, CRASH_OWNER, "pid %u  %c  %s", wait->task->pid,
		  os_wait_letter(wait->state), name);
	crash_add_stack(work, wait->vcpu, wait->task);
}

static void crash_add_tasks(struct crash_work *work, uint64_t time_ns)
{
	const struct os_waits_sink sink = { .add = crash_add_task, .context = work };
	struct os *os = work->settings->os;

	crash_begin_part(work->crash, CRASH_TASKS, "Tasks on no CPU");
	if (!os || !os_read_tasks(os, time_ns, &sink))
		crash_add(work->crash, CRASH_OWNER,
			  "none: the guest runs no system whose tasks are known");
}

/* --- all of it -------------------------------------------------------------------------------- */

struct xtop_error *crash_create(const struct crash_settings *settings, const struct sample *sample,
				uint64_t time_ns, struct crash_report **crashp)
{
	struct crash_work *work = calloc(1, sizeof(*work));
	struct crash_report *crash = calloc(1, sizeof(*crash));

	if (!work || !crash) {
		free(work);
		free(crash);
		return error_create("out of memory");
	}
	work->settings = settings;
	work->crash = crash;
	crash_add_log(crash, settings->os);
	crash_add_vcpus(work, sample, time_ns);
	crash_add_tasks(work, time_ns);
	free(work);
	*crashp = crash;
	return NULL;
}

const char *crash_get_state(const struct sampler_counts *counts)
{
	switch (control_get_ending(counts)) {
	case GUEST_END_CRASH:
		return "crashed";
	case GUEST_END_POWEROFF:
	case GUEST_END_REBOOT:
		return "shut down";
	case GUEST_END_SUSPEND:
		return "suspended";
	case GUEST_END_UNKNOWN:
		break;
	}
	return "runs";
}

void crash_destroy(struct crash_report *crash)
{
	if (!crash)
		return;
	free(crash->text);
	free(crash->lines);
	free(crash);
}
