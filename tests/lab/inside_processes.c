/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of the kernel, tasks, processes and their areas, as xtop reads them; see inside.c. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "linux/kernel/arch.h"
#include "linux/process/path.h"
#include "linux/process/vmas.h"
#include "xtop/base/clock.h"

#define MAX_TASKS    65536
#define VMA_MAYSHARE 0x80 /* Linux include/linux/mm.h: "s" */
#define TASK_LEADER  true
#define EVERY_PAGES  8 /* not every page, because each takes a while */

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
		inside_add(context, "%s 0x%016" PRIx64, mapping->image->name, mapping->start);
	return false;
}

static bool add_code(void *context, const struct mapping *mapping)
{
	const char *of = mapping->image->name;
	struct symtab_entry entry;

	if ((strcmp(of, "[bpf]") == 0 || strcmp(of, "[ftrace]") == 0) &&
	    symtab_find(mapping->image->symtab, mapping->start - mapping->bias, &entry))
		inside_add(context, "%016" PRIx64 " %016" PRIx64 " %s %s", mapping->start,
			   mapping->end, entry.name, of);
	return false;
}

static void add_build_id(struct inside *inside, const char *what, const struct build_id *id)
{
	char hex[2 * BUILD_ID_MAX_BYTES + 1] = "";

	for (size_t i = 0; i < id->size_bytes; i++)
		sprintf(hex + 2 * i, "%02x", id->bytes[i]);
	if (id->size_bytes)
		inside_add(inside, "%s %s", what, hex);
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
			inside_die("inside: the list of tasks cannot be read");
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
	inside_add(inside, "%u %u %.*s", task->tgid, task->pid, TASK_NAME_BYTES, task->comm);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool add_area(void *context, const struct vma *vma)
{
	struct inside *inside = context;
	struct path_name name = { .path = "" };

	if (vma->file && !path_read(&inside->kernel.guest, vma->file, &name))
		strcpy(name.path, "?");
	inside_add(inside, "%u %08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 "%s%s%s",
		   inside->pid, vma->start, vma->end, vma->flags & VMA_READ ? 'r' : '-',
		   vma->flags & VMA_WRITE ? 'w' : '-', vma->flags & VMA_EXEC ? 'x' : '-',
		   vma->flags & VMA_MAYSHARE ? 's' : 'p',
		   vma->file ? vma->page_offset << arch_page_shift(inside->kernel.guest.root) : 0,
		   vma->file ? " " : "", name.path, name.deleted ? " (deleted)" : "");
	return true;
}

static void add_areas(struct inside *inside, const struct task *task)
{
	if (!task->mm)
		return;
	inside->pid = task->tgid;
	if (vmas_walk(&inside->kernel.guest, task->mm, add_area, inside) != VMAS_DONE)
		inside_add(inside, "%u unreadable", task->tgid);
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
	inside_add(inside, "%u used %u told %u wrong %u", pid, by_frame.used, by_frame.told,
		   by_frame.wrong);
}

/* Several processes may map one file. Its line is printed once. */
static void drop_doubles(struct lines *lines)
{
	size_t kept = 0;

	if (!lines->n)
		return;
	qsort(lines->line, lines->n, sizeof(*lines->line), inside_compare_lines);
	for (size_t i = 1; i < lines->n; i++) {
		if (strcmp(lines->line[kept], lines->line[i]) != 0)
			lines->line[++kept] = lines->line[i];
		else
			free(lines->line[i]);
	}
	lines->n = kept + 1;
}

void inside_add_build_ids(struct inside *inside)
{
	add_build_id(inside, "kernel", &inside->kernel.image->build_id);
	space_remove_if(inside->space, add_module_build_id, inside);
	each_task(inside, TASK_LEADER, add_file_build_ids);
	drop_doubles(&inside->lines);
}

void inside_add_modules(struct inside *inside)
{
	space_remove_if(inside->space, add_module, inside);
}

void inside_add_code(struct inside *inside)
{
	space_remove_if(inside->space, add_code, inside);
}

void inside_add_tasks(struct inside *inside)
{
	each_task(inside, !TASK_LEADER, add_task);
}

void inside_add_areas(struct inside *inside)
{
	each_task(inside, TASK_LEADER, add_areas);
}

void inside_add_frames(struct inside *inside)
{
	each_task(inside, TASK_LEADER, add_frames);
}
