/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of sampled tasks, by their mm_structs; see processes.h. Resolver's thread.
 *
 * The data about a process is valid while its key is unchanged (vmas.h). The key is a few words of
 * the mm_struct and is checked at most once in PROCESSES_FRESH_NS. A program that has just started
 * still maps its libraries: it is checked when a tenth of its age has passed since the last check.
 * A changed key means mmap(), or exec() and exit(), after which another process may have the
 * mm_struct. Then the areas are read again. If the result is the same, the space stays as it was.
 * Kernels without mm_lock_seq do not show every change in the key; there the areas are read once a
 * second. A process with another tgid, or one that has called exec(), is checked at once: mm_struct
 * and page tables of a process that has ended are soon used by another process.
 *
 * memory.c keeps copies of pages until memory_refresh(). The page of an area may have been copied
 * before the page of the key. So all copies are dropped before areas are read for a new key.
 *
 * processes_poll() retries missing data, with delays that double: for each file (code_files.c), and
 * for each process whose areas changed while they were read.
 */
#include "config.h"

#include "linux/process/processes.h"

#include <stdlib.h>

#include "linux/kernel/arch.h"
#include "linux/process/backoff.h"
#include "linux/process/process.h"
#include "linux/process/process_arch.h"
#include "linux/process/process_notes.h"
#include "xtop/base/hash.h"
#include "xtop/supervise/fetch.h"

#define PROCESSES_HINTS     256
#define PROCESSES_AGE_PARTS 10 /* a young program is checked when this part of its age has passed */

struct processes {
	struct process_reader reader;
	struct memory_budget budget;
	uint64_t mms[PROCESSES_MAX];     /* processes[i].mm: a search reads only this array */
	uint16_t hints[PROCESSES_HINTS]; /* index of the process found last, by a hash of the mm */
	struct process processes[PROCESSES_MAX];
	struct space *page; /* result of processes_find_by_frame() */
	uint64_t changes;   /* code_files_changes() when all spaces were last filled */
	struct processes_counts counts;
	struct process_notes notes;
	struct fetch *fetch; /* tells the notes its progress; NULL: nobody fetches */
	bool may_isolate; /* no vCPU has shown that there is no page-table isolation */
};

struct xtop_error *processes_create(const struct linux_guest *guest,
				    const struct processes_settings *settings,
				    struct processes **processesp)
{
	struct code_files_settings files_settings = { .symbols = settings->symbols,
						      .walk_bytes = settings->walk_bytes,
						      .at_once = settings->at_once,
						      .debug = settings->debug };
	struct processes *processes = calloc(1, sizeof(*processes));
	struct xtop_error *error;

	if (!processes)
		return error_create("out of memory for the guest's processes");
	memory_budget_join(&processes->budget, settings->budget_bytes);
	processes->reader.budget = files_settings.budget = &processes->budget;
	processes->reader.guest = guest;
	processes->fetch = settings->debug.fetch;
	processes->may_isolate = true;
	processes->reader.vmas = calloc(PROCESS_MAX_AREAS, sizeof(struct vma));
	error = processes->reader.vmas
			? code_files_create(guest, &files_settings, &processes->reader.files)
			: error_create("out of memory for the guest's processes");
	if (!error)
		error = space_create(&processes->page);
	if (!error)
		error = process_arch_create_fixed(&processes->reader.fixed);
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
	image_unref(processes->reader.fixed.image);
	code_files_destroy(processes->reader.files);
	free(processes->reader.vmas);
	memory_budget_leave(&processes->budget);
	free(processes);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* MM is not 0. A hint helps, because the samples of a moment come from a few processes. */
static struct process *processes_find(struct processes *processes, uint64_t mm)
{
	uint16_t *hint = &processes->hints[hash_slot(mm >> 6, PROCESSES_HINTS)];

	if (processes->mms[*hint] == mm)
		return &processes->processes[*hint];
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] == mm) {
			*hint = (uint16_t)i;
			return &processes->processes[i];
		}
	return NULL;
}

bool processes_get_root(struct processes *processes, uint64_t mm, struct memory_root *root)
{
	const struct process *process = mm ? processes_find(processes, mm) : NULL;

	if (process)
		*root = process->root;
	return process;
}

static bool processes_is_of_root(const struct processes *processes, const struct process *process,
				 struct memory_root root)
{
	return arch_is_same_process(process->root, root, processes->may_isolate);
}

/*
 * Whether ROOT belongs to the process with MM. With page-table isolation no mm->pgd looks like a
 * table of user mode. Without isolation about every second one does: a vCPU that uses such an
 * mm->pgd proves that there is no isolation. An mm_struct alone proves nothing: it may be another
 * object's memory by now.
 */
bool processes_has_mm_root(struct processes *processes, uint64_t mm, struct memory_root root)
{
	const struct process *process = mm ? processes_find(processes, mm) : NULL;

	if (!process)
		return false;
	if (arch_is_user_tables(root) && arch_is_same_process(process->root, root, false))
		processes->may_isolate = false;
	return processes_is_of_root(processes, process, root);
}

bool processes_has_root(const struct processes *processes, struct memory_root root)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] &&
		    processes_is_of_root(processes, &processes->processes[i], root))
			return true;
	return false;
}

const struct space *processes_find_past(struct processes *processes, struct memory_root root,
					uint32_t tgid)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] && processes->processes[i].tgid == tgid &&
		    processes_is_of_root(processes, &processes->processes[i], root))
			return processes->processes[i].space;
	return NULL;
}

/*
 * Widens MAPPING, one page of a file, to the executable segment that has the page: the kernel and
 * ld.so map segments whole. So the callers in the same segment are known, too.
 */
static void processes_map_segment(const struct loads *loads, struct mapping *mapping)
{
	for (unsigned i = 0; i < loads->n; i++) {
		const struct load *load = &loads->loads[i];
		uint64_t start = (load->address + mapping->bias) & ~GUEST_PAGE_MASK,
			 bytes = (load->offset & GUEST_PAGE_MASK) + load->file_bytes,
			 end = (start + bytes + GUEST_PAGE_MASK) & ~GUEST_PAGE_MASK,
			 in_segment = mapping->start - start;

		if (!load->executable || in_segment >= bytes || end <= start ||
		    in_segment > mapping->file_offset)
			continue;
		mapping->start = start;
		mapping->end = end;
		mapping->file_offset -= in_segment;
		return;
	}
}

/* The space has only this segment: the process's other mappings are unknown. */
const struct space *processes_find_by_frame(struct processes *processes, uint64_t address,
					    frame_t frame, uint64_t time_ns)
{
	struct mapping mapping = { .start = address & ~GUEST_PAGE_MASK, .kind = MAPPING_CODE };
	const struct code_file *file;
	struct xtop_error *error;

	file = code_files_find_by_frame(processes->reader.files, frame, time_ns,
					&mapping.file_offset);
	if (!file || !loads_bias(&file->loads, mapping.start, mapping.file_offset, &mapping.bias))
		return NULL;
	mapping.end = mapping.start + GUEST_PAGE_SIZE;
	mapping.image = file->image;
	processes_map_segment(&file->loads, &mapping);
	space_clear(processes->page);
	error = space_add(processes->page, &mapping);
	if (!error)
		return processes->page;
	error_destroy(error);
	return NULL;
}

/* --- places and memory ------------------------------------------------------------------------ */

/* A free place, or else the place of the least recently used process. Never NULL. */
static struct process *processes_find_place(struct processes *processes)
{
	struct process *oldest = processes->processes;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &processes->processes[i];

		if (!processes->mms[i])
			return process;
		if (process->used_ns < oldest->used_ns)
			oldest = process;
	}
	return oldest;
}

/* An empty process in a place of its own; NULL if memory is out. */
static struct process *processes_add(struct processes *processes)
{
	struct process *place = processes_find_place(processes);
	struct xtop_error *error;

	if (place->mm) {
		processes->counts.evicted++;
		processes_drop(processes, place);
	}
	error = process_init(place);
	error_destroy(error);
	return error ? NULL : place;
}

/* The least recently used idle process other than KEPT; NULL if there is none. */
static struct process *processes_find_idle(struct processes *processes, const struct process *kept,
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
 * Drops first files that nobody maps, then idle processes. Processes in use are never dropped: if
 * two do not fit together, they would evict each other, and all their files would be read each
 * time.
 */
static void processes_make_room(struct processes *processes, const struct process *kept,
				uint64_t now_ns)
{
	while (memory_budget_is_full(&processes->budget)) {
		struct process *idle;

		if (code_files_drop_unused(processes->reader.files))
			continue;
		idle = processes_find_idle(processes, kept, now_ns);
		if (!idle)
			return;
		processes->counts.evicted++;
		processes->counts.made_room++;
		processes_drop(processes, idle);
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Schedules the time at which the areas are worth another try. */
static void processes_schedule(struct process *process, uint64_t now_ns)
{
	uint64_t delay_ns = process->retry_delay_ns;

	delay_ns = backoff_next_ns(delay_ns, PROCESSES_RETRY_NS, CODE_FILE_MAX_RETRY_NS);
	process->retry_delay_ns = process->torn ? delay_ns : 0;
	process->due_ns = process->torn ? now_ns + delay_ns : UINT64_MAX;
}

/* Returns false if memory is out. */
static bool processes_walk(struct processes *processes, struct process *process, uint64_t now_ns)
{
	processes->counts.walks++;
	processes_make_room(processes, process, now_ns);
	if (!process_read_areas(&processes->reader, process, now_ns))
		return false;
	process->walked_ns = now_ns;
	processes_schedule(process, now_ns);
	return true;
}

/*
 * Whether another program runs in the mm_struct, or another process has it now. In both cases only
 * the place is kept.
 */
static bool processes_is_other(const struct vmas_key *a, const struct vmas_key *b)
{
	return a->pgd != b->pgd || a->start_brk != b->start_brk ||
	       a->start_stack != b->start_stack || a->vdso != b->vdso;
}

/* Whether the areas have to be read again although the key is unchanged. */
static bool processes_is_walk_due(const struct processes *processes, const struct process *process,
				  uint64_t now_ns)
{
	return !layout_has(&processes->reader.guest->layout, MM_LOCK_SEQ) &&
	       now_ns - process->walked_ns >= PROCESSES_WALK_NS;
}

/*
 * Updates PROCESS from the mm_struct at MM. A new process has no key yet and is read at once,
 * because it may be gone in a moment. Returns false if the mm_struct is gone, or if memory is out.
 */
static bool processes_update(struct processes *processes, struct process *process, uint64_t mm,
			     uint64_t now_ns)
{
	const struct linux_guest *guest = processes->reader.guest;
	struct vmas_key key;

	if (process->mm && !vmas_read_key(guest, mm, &key))
		return false;
	process->checked_ns = now_ns;
	if (process->mm && vmas_key_equal(&key, &process->key) &&
	    !processes_is_walk_due(processes, process, now_ns))
		return true;
	memory_refresh(guest->memory);
	if (!vmas_read_key(guest, mm, &key))
		return false;
	if (processes_is_other(&key, &process->key)) {
		jit_names_deinit(&process->jit, processes->reader.budget);
		process->retry_delay_ns = 0;
		process->since_ns = now_ns;
	}
	process->mm = mm;
	process->key = key;
	return processes_walk(processes, process, now_ns);
}

/*
 * Whether the last request came from TASK, or from another thread of its process in the same
 * program.
 */
static bool processes_is_of(const struct process *process, const struct task *task)
{
	return process->tgid == task->tgid && process->exec_id == task->exec_id;
}

static bool processes_is_fresh(const struct process *process, uint64_t now_ns)
{
	uint64_t age_ns = process->checked_ns - process->since_ns;
	uint64_t fresh_ns = age_ns / PROCESSES_AGE_PARTS;

	return now_ns - process->checked_ns <
	       (fresh_ns < PROCESSES_FRESH_NS ? fresh_ns : PROCESSES_FRESH_NS);
}

/*
 * Fills the space if it may be out of date. JIT is the process's image of compiled code when the
 * space was last filled; the space may still have it.
 */
static void processes_update_space(struct processes *processes, struct process *process,
				   const struct image *jit)
{
	if (process->jit.image != jit ||
	    process->changes != code_files_changes(processes->reader.files) ||
	    process->walked_ns == process->checked_ns)
		process_fill_space(&processes->reader, process);
}

const struct space *processes_find_space(struct processes *processes, const struct task *task,
					 uint64_t now_ns)
{
	struct process *process;
	const struct image *jit;

	if (!task->mm)
		return NULL;
	process = processes_find(processes, task->mm);
	if (process && processes_is_of(process, task) && processes_is_fresh(process, now_ns)) {
		process->used_ns = now_ns;
		return process->space;
	}
	if (!process)
		process = processes_add(processes);
	if (!process)
		return NULL;
	if (now_ns - process->checked_ns < PROCESSES_FRESH_NS)
		memory_refresh(processes->reader.guest->memory);
	jit = process->jit.image;
	process->used_ns = now_ns;
	if (!processes_update(processes, process, task->mm, now_ns)) {
		processes->counts.unreadable++;
		processes_drop(processes, process);
		return NULL;
	}
	processes->mms[process - processes->processes] = task->mm;
	process->tgid = task->tgid;
	process->exec_id = task->exec_id;
	process_poll_jit(&processes->reader, process, task, now_ns);
	processes_update_space(processes, process, jit);
	return process->space;
}

/* --- trying again ----------------------------------------------------------------------------- */

/* Reads the areas whether the key has changed or not. */
static void processes_retry(struct processes *processes, struct process *process, uint64_t now_ns)
{
	const struct image *jit = process->jit.image;

	processes->counts.retries++;
	process->walked_ns = 0;
	memory_refresh(processes->reader.guest->memory);
	if (!processes_update(processes, process, process->mm, now_ns) ||
	    (process->walked_ns != now_ns && !processes_walk(processes, process, now_ns))) {
		processes_drop(processes, process); /* the process has ended */
		return;
	}
	processes_update_space(processes, process, jit);
}

/* When PROCESS is worth another try. A file may have turned out to be incomplete since. */
static uint64_t processes_due_ns(const struct process *process)
{
	uint64_t due_ns = process->due_ns;

	for (size_t i = 0; i < process->n_areas; i++) {
		const struct code_file *file = process->areas[i].file;

		if (file && file->due_ns < due_ns)
			due_ns = file->due_ns;
	}
	return due_ns;
}

void processes_poll(struct processes *processes, uint64_t now_ns)
{
	uint64_t changes;
	unsigned n_reads = 0;

	for (size_t i = 0; i < PROCESSES_MAX && n_reads < PROCESSES_POLL_READS; i++) {
		struct process *process = &processes->processes[i];

		if (!processes->mms[i] || now_ns < processes_due_ns(process) ||
		    now_ns - process->used_ns > PROCESSES_IDLE_NS)
			continue;
		processes_retry(processes, process, now_ns);
		n_reads++;
	}
	code_files_poll(processes->reader.files, now_ns);
	changes = code_files_changes(processes->reader.files);
	if (processes->changes == changes)
		return;
	processes->changes = changes;
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (processes->mms[i] && processes->processes[i].changes != changes)
			process_fill_space(&processes->reader, &processes->processes[i]);
}

/* --- reports ---------------------------------------------------------------------------------- */

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
	counts.room_bytes = processes->budget.used_bytes;
	counts.files = code_files_counts(processes->reader.files);
	return counts;
}

const char *processes_next_note(struct processes *processes, const char *previous)
{
	struct process_notes *notes = &processes->notes;
	unsigned next = 0;

	if (previous) {
		next = (unsigned)((size_t)(previous - notes->text[0]) / PROCESS_NOTE_BYTES) + 1;
	} else {
		struct processes_counts counts = processes_counts(processes);
		struct fetch_progress progress;

		fetch_get_progress(processes->fetch, &progress);
		process_notes_build(notes, &counts.files, counts.jit - counts.named_jit, &progress);
	}
	return next < notes->n ? notes->text[next] : NULL;
}
