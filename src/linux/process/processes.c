/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that samples came from, by mm_struct. Resolver's thread.
 *
 * What is kept of a process is good while its key is the same (vmas.h): checked by a few words of
 * the mm_struct, at most once in PROCESSES_FRESH_NS. A changed key is mmap(), or exec() and exit(),
 * after which the mm_struct may be another process's: areas are read anew, and what comes out the
 * same leaves the space as it was. Kernels without mm_lock_seq do not tell all changes; there the
 * areas are read once a second.
 *
 * Memory is copied when it is first read after memory_refresh(): an area's page may have been copied
 * before the key's, so all is forgotten before areas are read for a new key.
 *
 * What was missing is tried again by processes_poll(), with a delay that doubles for each file
 * (files.c); for areas that changed while they were read, for each process.
 */
#include "config.h"

#include "linux/process/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/process/process.h"

#define PROCESSES_HINTS      256
#define PROCESSES_NOTES      5
#define PROCESSES_NOTE_BYTES 96

struct processes {
	struct process_reader reader;
	struct room room;
	char notes[PROCESSES_NOTES][PROCESSES_NOTE_BYTES];
	unsigned n_notes;
	uint64_t mms[PROCESSES_MAX];     /* processes[i].mm: what is searched lies side by side */
	uint16_t hints[PROCESSES_HINTS]; /* by a hash of the mm, where it was found last */
	struct process processes[PROCESSES_MAX];
	struct space *page; /* processes_by_frame() */
	uint64_t changes;   /* files_changes() when all were looked through */
	struct processes_counts counts;
};

struct xtop_error *processes_create(const struct linux_guest *linux_guest,
				    const struct processes_settings *settings,
				    struct processes **processesp)
{
	struct files_settings files_settings = { .symbols = settings->symbols,
						 .walk_bytes = settings->walk_bytes };
	struct processes *processes = calloc(1, sizeof(*processes));
	struct xtop_error *error;

	if (!processes)
		return error_create("out of memory for the guest's processes");
	processes->room.max_bytes = settings->room_bytes ? settings->room_bytes : ROOM_MAX_BYTES;
	processes->reader.room = files_settings.room = &processes->room;
	files_settings.root_fd = settings->root_fd;
	processes->reader.linux_guest = linux_guest;
	processes->reader.vmas = calloc(PROCESS_MAX_AREAS, sizeof(struct vma));
	error = processes->reader.vmas
			? files_create(linux_guest, &files_settings, &processes->reader.files)
			: error_create("out of memory for the guest's processes");
	if (!error)
		error = space_create(&processes->page);
	if (error) {
		processes_destroy(processes);
		return error;
	}
	*processesp = processes;
	return NULL;
}

static void processes_drop(struct processes *processes, struct process *process)
{
	process_deinit(&processes->reader, process);
	processes->mms[process - processes->processes] = 0;
}

void processes_destroy(struct processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i])
			processes_drop(processes, &processes->processes[i]);
	space_destroy(processes->page);
	files_destroy(processes->reader.files);
	free(processes->reader.vmas);
	free(processes);
}

struct processes_counts processes_counts(const struct processes *processes)
{
	struct processes_counts counts = processes->counts;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		const struct process *process = &processes->processes[i];

		if (!processes->mms[i])
			continue;
		counts.kept++;
		counts.torn += process->torn;
		counts.jit += process->has_jit;
		counts.named_jit += process->has_jit && process->jit.image;
	}
	counts.left_out = processes->reader.left_out;
	counts.no_room = processes->reader.no_room;
	counts.room_bytes = processes->room.used_bytes;
	counts.files = files_counts(processes->reader.files);
	return counts;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* MM is not 0. Each sample asks for the process of some few. */
static struct process *processes_find(struct processes *processes, uint64_t mm)
{
	size_t hash = ((mm >> 6) * 0x9e3779b97f4a7c15ULL >> 32) % PROCESSES_HINTS; /* Fibonacci */
	uint16_t *hint = &processes->hints[hash];

	if (processes->mms[*hint] == mm)
		return &processes->processes[*hint];
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] == mm) {
			*hint = (uint16_t)i;
			return &processes->processes[i];
		}
	return NULL;
}

#define PROCESSES_CR3_ADDRESS 0x000fffffffffe000

bool processes_is_root(struct memory_root root, uint64_t cr3)
{
	return !((root.cr3 ^ cr3) & PROCESSES_CR3_ADDRESS);
}

const struct space *processes_former(struct processes *processes, uint64_t cr3, uint32_t tgid)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] && processes->processes[i].tgid == tgid &&
		    processes_is_root(processes->processes[i].root, cr3))
			return processes->processes[i].space;
	return NULL;
}

/* Of the page alone: what else its process had mapped nobody knows. */
const struct space *processes_by_frame(struct processes *processes, uint64_t address, frame_t frame,
				       uint64_t time_ns)
{
	struct mapping mapping = { .start = address & ~GUEST_PAGE_MASK, .kind = MAPPING_CODE };
	const struct code_file *file;
	struct xtop_error *error;

	file = files_by_frame(processes->reader.files, frame, time_ns, &mapping.file_offset);
	if (!file || !loads_bias(&file->loads, mapping.start, mapping.file_offset, &mapping.bias))
		return NULL;
	mapping.end = mapping.start + GUEST_PAGE_SIZE;
	mapping.image = file->image;
	space_clear(processes->page);
	error = space_add(processes->page, &mapping);
	if (!error)
		return processes->page;
	error_destroy(error);
	return NULL;
}

bool processes_have_root(const struct processes *processes, uint64_t cr3)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] && processes_is_root(processes->processes[i].root, cr3))
			return true;
	return false;
}

bool processes_root(struct processes *processes, uint64_t mm, struct memory_root *root)
{
	const struct process *process = mm ? processes_find(processes, mm) : NULL;

	if (process)
		*root = process->root;
	return process;
}

/* A place for one more. NULL: out of memory. */
static struct process *processes_place(struct processes *processes)
{
	struct process *place = NULL;
	struct xtop_error *error;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &processes->processes[i];

		if (!processes->mms[i]) {
			place = process;
			break;
		}
		if (!place || process->used_ns < place->used_ns)
			place = process;
	}
	if (place->mm) {
		processes->counts.evicted++;
		processes_drop(processes, place);
	}
	error = process_init(place);
	error_destroy(error);
	return error ? NULL : place;
}

/* The one not asked for longest, but for KEPT and those asked for lately. NULL: there is none. */
static struct process *processes_idle(struct processes *processes, const struct process *kept,
				      uint64_t now_ns)
{
	struct process *oldest = NULL;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &processes->processes[i];

		if (processes->mms[i] && process != kept &&
		    now_ns - process->used_ns > PROCESSES_IDLE_NS &&
		    (!oldest || process->used_ns < oldest->used_ns))
			oldest = process;
	}
	return oldest;
}

/*
 * Files that nobody maps go first. Processes in use never do: two that do not fit together would
 * take turns, and all of their files be read each time.
 */
static void processes_make_room(struct processes *processes, const struct process *kept,
				uint64_t now_ns)
{
	while (room_is_full(&processes->room)) {
		struct process *idle;

		if (files_drop_unused(processes->reader.files))
			continue;
		idle = processes_idle(processes, kept, now_ns);
		if (!idle)
			return;
		processes->counts.evicted++;
		processes->counts.made_room++;
		processes_drop(processes, idle);
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The earliest time at which something that is missing is worth another try. */
static uint64_t processes_due(struct process *process, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	if (process->torn) {
		process->retry_ns = process->retry_ns ? 2 * process->retry_ns : PROCESSES_RETRY_NS;
		if (process->retry_ns > FILE_MAX_RETRY_NS)
			process->retry_ns = FILE_MAX_RETRY_NS;
		due = now_ns + process->retry_ns;
	} else {
		process->retry_ns = 0;
	}
	for (size_t i = 0; i < process->n_areas; i++) {
		const struct code_file *file = process->areas[i].file;

		if (file && file->due_ns < due)
			due = file->due_ns;
	}
	return due;
}

/* False: out of memory. */
static bool processes_walk(struct processes *processes, struct process *process, uint64_t now_ns)
{
	processes->counts.walks++;
	processes_make_room(processes, process, now_ns);
	if (!process_read_areas(&processes->reader, process, now_ns))
		return false;
	process->walked_ns = now_ns;
	process->due_ns = processes_due(process, now_ns);
	return true;
}

/* Another program runs in it, or another process has the mm_struct now: nothing stays but the place. */
static bool processes_is_other(const struct vmas_key *a, const struct vmas_key *b)
{
	return a->pgd != b->pgd || a->start_brk != b->start_brk ||
	       a->start_stack != b->start_stack || a->vdso != b->vdso;
}

static void processes_forget_program(struct processes *processes, struct process *process)
{
	process_forget_jit(&processes->reader, process);
	process->retry_ns = 0;
}

/* Whether all changes show in the key. */
static bool processes_sees_changes(const struct processes *processes)
{
	return layout_has(&processes->reader.linux_guest->layout, MM_LOCK_SEQ);
}

/* False: there is no such mm_struct any more, or no memory for its areas. */
static bool processes_check(struct processes *processes, struct process *process, uint64_t mm,
			    uint64_t now_ns)
{
	const struct linux_guest *linux_guest = processes->reader.linux_guest;
	struct vmas_key key;

	processes->counts.checks++;
	/* One that is new is read at once: it may be gone in a moment. */
	if (process->mm && !vmas_read_key(linux_guest, mm, &key))
		return false;
	process->checked_ns = now_ns;
	if (process->mm && vmas_same(&key, &process->key) &&
	    (processes_sees_changes(processes) || now_ns - process->walked_ns < PROCESSES_WALK_NS))
		return true;
	memory_refresh(linux_guest->memory);
	if (!vmas_read_key(linux_guest, mm, &key))
		return false;
	if (processes_is_other(&key, &process->key))
		processes_forget_program(processes, process);
	process->mm = mm;
	process->key = key;
	return processes_walk(processes, process, now_ns);
}

static void processes_settle(struct processes *processes, struct process *process,
			     const struct image *jit)
{
	/* an image of before may still be in the space */
	if (process->jit.image != jit ||
	    process->changes != files_changes(processes->reader.files) ||
	    process->walked_ns == process->checked_ns)
		process_fill_space(&processes->reader, process);
}

const struct space *processes_space(struct processes *processes, const struct task *task,
				    uint64_t now_ns)
{
	struct process *process;
	const struct image *jit;

	if (!task->mm)
		return NULL;
	processes->counts.asked++;
	process = processes_find(processes, task->mm);
	if (process && now_ns - process->checked_ns < PROCESSES_FRESH_NS) {
		process->used_ns = now_ns;
		return process->space;
	}
	if (!process)
		process = processes_place(processes);
	if (!process)
		return NULL;
	jit = process->jit.image;
	process->used_ns = now_ns;
	if (!processes_check(processes, process, task->mm, now_ns)) {
		processes->counts.unreadable++;
		processes_drop(processes, process);
		return NULL;
	}
	processes->mms[process - processes->processes] = task->mm;
	process->tgid = task->tgid;
	memcpy(process->comm, task->comm, sizeof(process->comm));
	process_read_jit(&processes->reader, process, task, now_ns);
	processes_settle(processes, process, jit);
	return process->space;
}

/* --- trying again ----------------------------------------------------------------------------- */

static void processes_retry(struct processes *processes, struct process *process, uint64_t now_ns)
{
	const struct image *jit = process->jit.image;

	processes->counts.retries++;
	process->walked_ns = 0; /* to be read whether the key is the same or not */
	memory_refresh(processes->reader.linux_guest->memory);
	if (!processes_check(processes, process, process->mm, now_ns) ||
	    (process->walked_ns != now_ns && !processes_walk(processes, process, now_ns))) {
		processes_drop(processes, process); /* it has ended */
		return;
	}
	processes_settle(processes, process, jit);
}

void processes_poll(struct processes *processes, uint64_t now_ns)
{
	struct files *files = processes->reader.files;
	unsigned n_reads = 0;

	for (size_t i = 0; i < PROCESSES_MAX && n_reads < PROCESSES_POLL_READS; i++) {
		struct process *process = &processes->processes[i];

		if (!processes->mms[i] || now_ns < process->due_ns ||
		    now_ns - process->used_ns > PROCESSES_IDLE_NS)
			continue;
		processes_retry(processes, process, now_ns);
		n_reads++;
	}
	if (processes->changes == files_changes(files))
		return;
	processes->changes = files_changes(files);
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] && processes->processes[i].changes != processes->changes)
			process_fill_space(&processes->reader, &processes->processes[i]);
}

/* --- what to tell ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void processes_add_note(struct processes *processes,
								     const char *format, ...)
{
	va_list arguments;

	if (processes->n_notes == PROCESSES_NOTES)
		return;
	va_start(arguments, format);
	vsnprintf(processes->notes[processes->n_notes++], PROCESSES_NOTE_BYTES, format, arguments);
	va_end(arguments);
}

static void processes_write_notes(struct processes *processes)
{
	struct processes_counts counts = processes_counts(processes);

	processes->n_notes = 0;
	if (counts.files.incomplete)
		processes_add_note(
			processes,
			counts.files.incomplete == 1
				? "%u program file is not in the guest's memory in whole: --root "
				  "DIR has it"
				: "%u program files are not in the guest's memory in whole: --root "
				  "DIR has them",
			counts.files.incomplete);
	if (counts.files.no_symbols)
		processes_add_note(
			processes,
			counts.files.no_symbols == 1
				? "%u program file has no symbols (stripped): -k FILE, by build-id"
				: "%u program files have no symbols (stripped): -k FILE, by build-id",
			counts.files.no_symbols);
	if (counts.files.elf32)
		processes_add_note(
			processes,
			counts.files.elf32 == 1
				? "%u program file is of a 32-bit program: it is neither named nor unwound"
				: "%u program files are of 32-bit programs: these are neither named nor unwound",
			counts.files.elf32);
	if (counts.jit > counts.named_jit)
		processes_add_note(
			processes,
			"compiled code of %u processes has no names: no /tmp/perf-PID.map",
			counts.jit - counts.named_jit);
}

const char *processes_note(struct processes *processes, const char *previous)
{
	unsigned next = 0;

	if (!previous)
		processes_write_notes(processes);
	else
		next = (unsigned)((size_t)(previous - processes->notes[0]) / PROCESSES_NOTE_BYTES) +
		       1;
	return next < processes->n_notes ? processes->notes[next] : NULL;
}
