/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the code of a guest's program; see guest_code.h. Resolver's thread.
 *
 *   address in the image ─► offset in the file ─► page cache of the inode ─► bytes
 *   (PT_LOAD, loads.h)                            (page_cache.c)      └─► the file below --root
 *
 * The reads go through memory.c, like the reads for names and tables. So a recording has these
 * reads before the sample for which they were made. The clock is memory_now_ns(), which gives a
 * replay the times of the run. So a replay reads the same code at the same samples.
 *
 * An inode may belong to another file by now. Its identity is compared before each read, and all
 * copies of pages are dropped once a turn.
 */
#include "config.h"

#include "linux/process/guest_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "xtop/unwind/code.h"

/* Smaller reads look for a call before a return address. They are free of charge. */
#define GUEST_CODE_SMALL_READ 16

struct guest_code {
	struct guest_inode inode;
	struct guest_code_turns *turns;
	struct image *image; /* owns this struct */
	struct loads loads;
	uint64_t code_bytes; /* distance between the first byte of code and the last */
	uint64_t first_turn; /* the turn in which a search first asked; 0: none has */
	int root_fd; /* -1 if there is none */
};

static uint64_t guest_code_turn(void *context)
{
	const struct guest_code *code = context;
	struct guest_code_turns *turns = code->turns;
	uint64_t number = 1 + memory_now_ns(code->inode.guest->memory) / GUEST_CODE_TURN_NS;

	if (turns->at_once) {
		turns->left_bytes = turns->total_bytes;
		turns->number++;
		return turns->left_bytes && !memory_budget_is_full(turns->budget) ? turns->number
										  : 0;
	}
	if (number != turns->number) {
		turns->number = number;
		turns->left_bytes = GUEST_CODE_TURN_BYTES;
		memory_refresh(code->inode.guest->memory);
	}
	return turns->left_bytes && !memory_budget_is_full(turns->budget) ? number : 0;
}

/*
 * Searches may use half of a turn; the rest is for the code at the addresses of chains. A program
 * that is too large for half a turn is not searched in its first turn, as the search would find no
 * bounds yet: its first names do not wait for that.
 */
static bool guest_code_may_search(void *context)
{
	struct guest_code *code = context;
	uint64_t turn = guest_code_turn(context);

	if (!code->first_turn)
		code->first_turn = turn;
	if (turn == code->first_turn && !code->turns->at_once &&
	    code->code_bytes > GUEST_CODE_TURN_BYTES / 2)
		return false;
	return turn && code->turns->left_bytes > GUEST_CODE_TURN_BYTES / 2;
}

/*
 * Finds the file offset of the byte at ADDRESS, and the number of bytes from there to the end of
 * the segment. What the file has before a segment in its first page belongs to it.
 */
static bool guest_code_find_offset(const struct guest_code *code, uint64_t address,
				   uint64_t *offset, uint64_t *left_bytes)
{
	for (unsigned i = 0; i < code->loads.n; i++) {
		const struct load *load = &code->loads.loads[i];
		uint64_t before = load_bytes_before(load->offset, load->address);
		uint64_t distance = address - (load->address - before);

		if (!load->executable || distance >= load->file_bytes + before ||
		    load->offset > INT64_MAX - distance)
			continue;
		*offset = load->offset - before + distance;
		*left_bytes = load->file_bytes + before - distance;
		return true;
	}
	return false;
}

static size_t guest_code_read_root(const struct guest_code *code, uint64_t offset, void *buffer,
				   size_t size_bytes)
{
	ssize_t got;

	if (code->root_fd < 0)
		return 0;
	do
		got = pread(code->root_fd, buffer, size_bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

/*
 * Charges what was read, and at least a page, so that no turn searches for missing pages without
 * end.
 */
static void guest_code_charge(struct guest_code_turns *turns, size_t bytes)
{
	if (bytes < GUEST_PAGE_SIZE)
		bytes = GUEST_PAGE_SIZE;
	turns->left_bytes -= bytes < turns->left_bytes ? bytes : turns->left_bytes;
	if (turns->at_once)
		turns->total_bytes = turns->left_bytes;
}

static size_t guest_code_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct guest_code *code = context;
	struct page_cache cache;
	uint64_t offset, left_bytes;
	size_t got;

	if (!guest_code_find_offset(code, address, &offset, &left_bytes))
		return 0;
	if (size_bytes > left_bytes)
		size_bytes = (size_t)left_bytes;
	if (size_bytes > GUEST_CODE_SMALL_READ && !guest_code_turn(context))
		return 0;
	got = guest_inode_read(&code->inode, &cache, offset, buffer, size_bytes);
	if (got < size_bytes)
		got += guest_code_read_root(code, offset + got, (char *)buffer + got,
					    size_bytes - got);
	if (size_bytes > GUEST_CODE_SMALL_READ)
		guest_code_charge(code->turns, got);
	return got;
}

static bool guest_code_find_function(void *context, uint64_t address, uint64_t *start,
				     uint64_t *end)
{
	const struct guest_code *code = context;

	return image_find_code(code->image, address, start, end);
}

static void guest_code_close(void *context)
{
	struct guest_code *code = context;

	if (code->root_fd >= 0) {
		close(code->root_fd);
		code->turns->n_root_files--;
	}
	free(code);
}

/* Finds start and end of the segments with code. Returns false if there are none. */
static bool guest_code_find_range(const struct loads *loads, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (unsigned i = 0; i < loads->n; i++) {
		const struct load *load = &loads->loads[i];

		if (!load->executable || load->file_bytes > UINT64_MAX - load->address)
			continue;
		*start = load->address < *start ? load->address : *start;
		if (load->address + load->file_bytes > *end)
			*end = load->address + load->file_bytes;
	}
	return *start < *end;
}

struct xtop_error *guest_code_attach(struct image *image, const struct guest_file *file,
				     const struct loads *loads, int root_fd,
				     struct guest_code_turns *turns)
{
	struct code_source source = { .read = guest_code_read,
				      .find_function = guest_code_find_function,
				      .close = guest_code_close,
				      .turn = guest_code_turn,
				      .may_search = guest_code_may_search,
				      .entries.elf = loads->entry };
	struct guest_code *code;
	uint64_t start, end;

	/* Instructions of 32-bit programs are not read. */
	if (!file->inode || loads->words_of_4 || !guest_code_find_range(loads, &start, &end))
		return NULL;
	if (file->guest->root.width == ROOT_ARM64)
		source.arch = ARCH_ARM64;
	code = calloc(1, sizeof(*code));
	if (!code)
		return error_create("out of memory for unwinding without tables");
	*code = (struct guest_code){ .inode = { file->guest, file->identity, file->inode },
				     .turns = turns,
				     .image = image,
				     .loads = *loads,
				     .code_bytes = end - start,
				     .root_fd = -1 };
	if (root_fd >= 0 && turns->n_root_files < GUEST_CODE_MAX_ROOT_FILES)
		code->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	turns->n_root_files += code->root_fd >= 0;
	source.context = code;
	source.work = image->work;
	return unwind_tables_build_computed(&image->tables, &source, start, end);
}
