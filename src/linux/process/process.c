/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a process's areas to its space. Resolver's thread; the guest runs meanwhile.
 *
 *   area with VM_EXEC, of a file        the file's image, relocated by its PT_LOADs
 *                      at mm's vdso     the vDSO's: an ELF file in memory, shared by all processes
 *                      else             code that the process compiled itself: "[jit]"
 *
 * Names of the last come from /tmp/perf-PID.map, where compilers write them when asked to; the file
 * is looked up in the directory entries the kernel has in memory, below the process's own root
 * directory, as the tools that know this file do.
 */
#include "config.h"

#include "linux/process/process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/path.h"
#include "linux/process/perf_map.h"

#define JIT_RETRY_NS           1000000000ULL /* while there are names, and first while there are none */
#define JIT_MAX_RETRY_NS       (16 * JIT_RETRY_NS)
#define PROCESS_MAX_VDSO_BYTES (64U << 10) /* 8 KiB to 6.18 */
#define PID_MAX_LEVEL          32          /* Linux MAX_PID_NS_LEVEL */

struct xtop_error *process_init(struct process *process)
{
	*process = (struct process){ 0 };
	return space_create(&process->space);
}

static void process_put_areas(struct process_reader *reader, struct process_area *areas, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (areas[i].file)
			files_put(reader->files, areas[i].file);
	free(areas);
}

void process_forget_jit(struct process_reader *reader, struct process *process)
{
	image_unref(process->jit.image);
	room_take(reader->room, &process->jit.kept_bytes, 0);
	process->jit = (struct process_jit){ 0 };
}

void process_deinit(struct process_reader *reader, struct process *process)
{
	space_destroy(process->space);
	process_put_areas(reader, process->areas, process->n_areas);
	process_forget_jit(reader, process);
	room_take(reader->room, &process->kept_bytes, 0);
	free(process->mappings);
	*process = (struct process){ 0 };
}

/* --- areas ------------------------------------------------------------------------------------ */

/* Keeps what has code, and what else of files cannot be written to: there may be parts of theirs. */
static bool process_visit(void *context, const struct vma *vma)
{
	struct process_reader *reader = context;

	reader->n_visited++;
	if (!(vma->flags & VMA_EXEC) && (!vma->file || vma->flags & VMA_WRITE))
		return true;
	if (reader->n_vmas == PROCESS_MAX_AREAS)
		reader->left_out++;
	else
		reader->vmas[reader->n_vmas++] = *vma;
	return true;
}

static bool process_root(const struct linux_guest *linux_guest, uint64_t pgd,
			 struct memory_root *root)
{
	frame_t frame;

	if (!memory_translate(linux_guest->memory, linux_guest->root, pgd, &frame))
		return false;
	*root = (struct memory_root){ .cr3 = frame.value << GUEST_PAGE_SHIFT,
				      .la57 = linux_guest->root.la57 };
	return true;
}

/*
 * The kernel's own copy of the vDSO that this process has, which is there in whole: struct vdso_image,
 * of which mm_context_t has the address (Linux arch/x86/include/asm/vdso.h, from v3.17).
 */
static bool process_vdso_image(const struct process_reader *reader, const struct process *process,
			       struct file_source *source)
{
	const struct linux_guest *linux_guest = reader->linux_guest;
	uint64_t image, data, size;

	if (!member_read_pointer(linux_guest, process->mm, MM_VDSO_IMAGE, &image) ||
	    !member_read_pointer(linux_guest, image, VDSO_IMAGE_DATA, &data) ||
	    !member_read_u64(linux_guest, image, VDSO_IMAGE_SIZE, &size) ||
	    size > PROCESS_MAX_VDSO_BYTES)
		return false;
	source->identity = (struct file_identity){ .inode_number = data, .size_bytes = size };
	source->bytes.root = linux_guest->root;
	source->bytes.pieces[0] = (struct file_piece){ .address = data, .size_bytes = size };
	source->bytes.n_pieces = 1;
	return true;
}

/* As the process has it, as far as it used it. The same memory in all: its first frame says which. */
static bool process_vdso_source(const struct process_reader *reader, const struct process *process,
				const struct vma *vma, struct file_source *source)
{
	frame_t frame;

	if (process_vdso_image(reader, process, source))
		return true;
	if (!memory_translate(reader->linux_guest->memory, process->root, vma->start, &frame))
		return false;
	source->identity = (struct file_identity){ .inode_number = frame.value,
						   .size_bytes = vma->end - vma->start };
	source->bytes.pieces[0] =
		(struct file_piece){ .address = vma->start, .size_bytes = vma->end - vma->start };
	source->bytes.n_pieces = 1;
	return true;
}

static bool process_file_source(const struct process_reader *reader, const struct vma *vma,
				struct file_source *source)
{
	if (!files_identify(reader->linux_guest, vma->file, source))
		return false;
	for (size_t i = 0; i < reader->n_vmas; i++)
		if (reader->vmas[i].file == vma->file)
			file_bytes_add(&source->bytes, &reader->vmas[i]);
	return true;
}

/* The file of VMA, if it has one that can be read. */
static void process_find_file(struct process_reader *reader, struct process *process,
			      const struct vma *vma, uint64_t now_ns, struct process_area *area)
{
	struct file_source source = { .bytes.root = process->root };
	bool vdso = !vma->file && vma->start == process->key.vdso;
	bool found;

	*area = (struct process_area){ .vma = *vma, .code = vma->file || vdso };
	if (!area->code) {
		process->has_jit = true;
		return;
	}
	if (vdso) {
		area->vma.page_offset = 0;
		found = process_vdso_source(reader, process, vma, &source);
	} else {
		found = process_file_source(reader, vma, &source);
	}
	if (!found) {
		process->torn = true;
		return;
	}
	area->file = files_get(reader->files, &source, now_ns);
	process->torn |= !area->file; /* put off, or no room: to be tried again */
	if (area->file && area->file->state == CODE_FILE_NO_ELF && vma->file)
		process->has_jit = true; /* compilers use files of memory too: memfd_create() */
}

static size_t process_count_code(const struct process_reader *reader)
{
	size_t n = 0;

	for (size_t i = 0; i < reader->n_vmas; i++)
		n += (reader->vmas[i].flags & VMA_EXEC) != 0;
	return n;
}

/* Those of the process before count as room: they make way for the new ones. */
static void process_limit_areas(struct process_reader *reader, struct process *process)
{
	size_t n = process_count_code(reader);

	room_take(reader->room, &process->kept_bytes, 0);
	if (n && room_is_full(reader->room)) {
		reader->left_out += n;
		reader->n_vmas = 0;
		process->torn = true; /* to be tried again */
		n = 0;
	}
	room_take(reader->room, &process->kept_bytes, n * PROCESS_AREA_BYTES);
}

bool process_read_areas(struct process_reader *reader, struct process *process, uint64_t now_ns)
{
	const struct linux_guest *linux_guest = reader->linux_guest;
	struct process_area *areas, *area;
	enum vmas_result result;

	reader->n_vmas = reader->n_visited = 0;
	files_begin_walk(reader->files);
	result = vmas_walk(linux_guest, process->mm, process_visit, reader);
	areas = calloc(process_count_code(reader) + 1, sizeof(*areas));
	if (!areas)
		return false;
	process->torn = result != VMAS_DONE || reader->n_visited != process->key.map_count;
	process->has_jit = false;
	process_limit_areas(reader, process);
	if (!process_root(linux_guest, process->key.pgd, &process->root)) {
		process->torn = true;
		reader->n_vmas = 0;
	}
	area = areas;
	for (size_t i = 0; i < reader->n_vmas; i++)
		if (reader->vmas[i].flags & VMA_EXEC)
			process_find_file(reader, process, &reader->vmas[i], now_ns, area++);
	process_put_areas(reader, process->areas, process->n_areas);
	process->areas = areas;
	process->n_areas = (size_t)(area - areas);
	return true;
}

/* --- names of compiled code ------------------------------------------------------------------- */

/* What the process calls itself, in its pid namespace: the compiler knows no other. */
static uint32_t process_own_pid(const struct linux_guest *linux_guest, const struct task *task)
{
	const struct layout *layout = &linux_guest->layout;
	uint64_t leader, pid;
	uint32_t level, number;

	if (!layout_has(layout, PID_NUMBERS) || !layout_has(layout, UPID_NR) ||
	    !layout_has(layout, UPID_SIZEOF) ||
	    !member_read_pointer(linux_guest, task->address, TASK_GROUP_LEADER, &leader) ||
	    !member_read_pointer(linux_guest, leader, TASK_THREAD_PID, &pid) ||
	    !member_read_u32(linux_guest, pid, PID_LEVEL, &level) || level > PID_MAX_LEVEL ||
	    !memory_read_u32(linux_guest->memory, linux_guest->root,
			     pid + layout_offset(layout, PID_NUMBERS) +
				     level * layout_offset(layout, UPID_SIZEOF) +
				     layout_offset(layout, UPID_NR),
			     &number))
		return task->tgid;
	return number;
}

/* The file may have grown, or be another one. */
static bool process_find_jit(const struct linux_guest *linux_guest, const struct task *task,
			     struct page_cache *cache, struct file_identity *identity)
{
	struct file_identity found = { 0 };
	char name[32];
	uint64_t inode;

	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", process_own_pid(linux_guest, task));
	if (!path_find_file(linux_guest, task->address, "tmp", name, &inode) ||
	    !page_cache_init(cache, linux_guest, inode) ||
	    !member_read_u64(linux_guest, inode, INODE_INO, &found.inode_number))
		return false;
	found.size_bytes = cache->size_bytes;
	member_read_u64(linux_guest, inode, INODE_MTIME_SEC, &found.mtime_sec);
	member_read_u32(linux_guest, inode, INODE_MTIME_NSEC, &found.mtime_nsec);
	*identity = found;
	return true;
}

static struct xtop_error *process_load_jit(struct page_cache *cache, struct image **imagep)
{
	struct bytes bytes = page_cache_bytes(cache);
	struct symtab *tab = NULL;
	struct xtop_error *error = perf_map_read(&bytes, &tab);

	if (error || !tab)
		return error;
	error = image_create("[jit]", imagep);
	if (error)
		symtab_destroy(tab);
	else
		(*imagep)->symtab = tab;
	return error;
}

void process_read_jit(struct process_reader *reader, struct process *process,
		      const struct task *task, uint64_t now_ns)
{
	struct process_jit *jit = &process->jit;
	struct file_identity identity;
	struct image *image = NULL;
	struct page_cache cache;

	if (!process->has_jit || now_ns < jit->due_ns)
		return;
	if (process_find_jit(reader->linux_guest, task, &cache, &identity)) {
		jit->retry_ns = JIT_RETRY_NS;
		if (memcmp(&identity, &jit->identity, sizeof(identity)) != 0) {
			if (room_is_full(reader->room))
				reader->no_room++;
			else
				error_destroy(process_load_jit(&cache, &image));
			jit->identity = identity;
		}
	} else {
		jit->retry_ns = jit->retry_ns ? 2 * jit->retry_ns : JIT_RETRY_NS;
		if (jit->retry_ns > JIT_MAX_RETRY_NS)
			jit->retry_ns = JIT_MAX_RETRY_NS;
	}
	jit->due_ns = now_ns + jit->retry_ns;
	if (image) {
		image_unref(jit->image);
		jit->image = image;
		room_take(reader->room, &jit->kept_bytes, image_memory_bytes(image));
	}
}

/* --- space ------------------------------------------------------------------------------------ */

static struct mapping process_compiled(const struct process *process, struct mapping mapping)
{
	mapping.kind = MAPPING_ANONYMOUS;
	mapping.image = process->jit.image; /* its addresses are the process's own */
	return mapping;
}

/* False: of a file of which nothing is known. */
static bool process_mapping(const struct process *process, const struct process_area *area,
			    struct mapping *mappingp)
{
	const struct vma *vma = &area->vma;
	const struct code_file *file = area->file;
	struct mapping mapping = { .start = vma->start,
				   .end = vma->end,
				   .file_offset = vma->page_offset << GUEST_PAGE_SHIFT,
				   .kind = MAPPING_CODE };

	if (area->code && !file)
		return false;
	if (!area->code || (file->state == CODE_FILE_NO_ELF && process->jit.image)) {
		*mappingp = process_compiled(process, mapping);
		return true;
	}
	mapping.image = file->image;
	if (!file->loads.n)
		mapping.bias = mapping.start - mapping.file_offset; /* no addresses are known */
	else if (!loads_bias(&file->loads, mapping.start, mapping.file_offset, &mapping.bias)) {
		mapping.image = NULL; /* bytes of the file that are no segment: not its code */
		mapping.kind = MAPPING_ANONYMOUS;
	}
	*mappingp = mapping;
	return true;
}

static bool process_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->file_offset == b->file_offset && a->image == b->image && a->kind == b->kind;
}

static bool process_same_mappings(const struct process *process, const struct mapping *mappings,
				  size_t n)
{
	if (n != process->n_mappings)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!process_same_mapping(&process->mappings[i], &mappings[i]))
			return false;
	return true;
}

/* While it has mappings, their images are referenced by the space: pointers of old do not return. */
void process_fill_space(struct process_reader *reader, struct process *process)
{
	struct mapping *mappings = calloc(process->n_areas + 1, sizeof(*mappings));
	struct xtop_error *error = NULL;
	size_t n = 0;

	if (!mappings)
		return;
	for (size_t i = 0; i < process->n_areas; i++)
		n += process_mapping(process, &process->areas[i], &mappings[n]);
	process->changes = files_changes(reader->files);
	if (process_same_mappings(process, mappings, n)) {
		free(mappings);
		return;
	}
	free(process->mappings);
	process->mappings = mappings;
	process->n_mappings = n;
	space_clear(process->space);
	for (size_t i = 0; !error && i < n; i++)
		error = space_add(process->space, &mappings[i]);
	error_destroy(error); /* out of memory: the space has the first of them */
}
