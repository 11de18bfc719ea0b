/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file out of the page cache and of mappings, page by page, up to the limit of bytes. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/guest_file.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE
#define USER 0x7f0000000000ULL

static unsigned char content[8 * PAGE], buffer[8 * PAGE];

static size_t read_at(struct guest_file *read, uint64_t offset, size_t n)
{
	struct bytes bytes = guest_file_bytes(read, sizeof(content));
	size_t got;

	memset(buffer, 0xee, sizeof(buffer));
	got = bytes.read(bytes.context, offset, buffer, n);
	if (memcmp(buffer, content + offset, got) != 0)
		check(false, "wrong bytes at %#" PRIx64, offset);
	return got;
}

static struct made_linux *made;
static struct page_cache cache;
static struct guest_file file;

/* A file without pages 2 and 5 in the page cache. */
static void begin(void)
{
	uint64_t inode;

	made = made_linux_create(MADE_TREE);
	inode = made_inode(made, sizeof(content));
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (unsigned char)(i * 13 + (i >> 12) + 1);
	made_cache(made, inode, content, sizeof(content));
	made_cache_entry(made, inode, 2, 0);
	made_cache_entry(made, inode, 5, 0);
	if (!page_cache_init(&cache, &made->guest, inode))
		exit(99);
	file = (struct guest_file){ .guest = &made->guest,
				    .root = made_root(made->memory),
				    .cache = &cache,
				    .max_bytes = UINT64_MAX };
}

/*
 * The process maps pages 1 to 4, and its page tables have pages 2 and 3. The mapping of page 5 can
 * be written to.
 */
static void add_mappings(void)
{
	made_put(made->memory, file.root, USER + PAGE, content + 2 * PAGE, 2 * PAGE);
	made_put(made->memory, file.root, USER + 0x10000, buffer, PAGE);
	guest_file_add_mapping(&file, &(struct vma){ .start = USER,
						     .end = USER + 4 * PAGE,
						     .flags = VMA_READ | VMA_EXEC,
						     .page_offset = 1 });
	guest_file_add_mapping(&file, &(struct vma){ .start = USER + 0x10000,
						     .end = USER + 0x11000,
						     .flags = VMA_READ | VMA_WRITE,
						     .page_offset = 5 });
}

static void test_places(void)
{
	begin();
	check_u64(read_at(&file, 0, 8 * PAGE), 2 * PAGE,
		  "the page cache is read up to the first hole");
	add_mappings();
	check_u64(file.n_pieces, 1, "a mapping that the program may have changed is not used");
	check_u64(read_at(&file, 0, 8 * PAGE), 5 * PAGE,
		  "a mapping fills the first hole; the second ends the read");
	check_u64(read_at(&file, 2 * PAGE + 7, PAGE), PAGE,
		  "a read goes on from the mapping into the page cache");
	check_u64(read_at(&file, 6 * PAGE, 8 * PAGE), 2 * PAGE,
		  "a read from the second hole reaches the end");
	file.cache = NULL;
	check_u64(read_at(&file, 2 * PAGE, 4 * PAGE), 2 * PAGE, "the mapping alone is read");
	check_u64(read_at(&file, 0, 1), 0, "nothing is read before the mapping");
	check_u64(read_at(&file, 5 * PAGE, 1), 0, "nothing is read behind the mapping");
	made_linux_destroy(made);
}

static void test_limits(void)
{
	begin();
	for (int i = 0; i < 100; i++)
		guest_file_add_mapping(&file, &(struct vma){ .start = USER, .end = USER + PAGE });
	check_u64(file.n_pieces, GUEST_FILE_MAX_PIECES, "number of mappings that are kept");
	file.max_bytes = 3 * PAGE;
	check_u64(read_at(&file, 0, 2 * PAGE), 2 * PAGE,
		  "a read within the limit of bytes succeeds");
	check_u64(read_at(&file, 0, 2 * PAGE), 0,
		  "a read beyond the limit of bytes yields nothing");
	check(file.exhausted && file.got_bytes == 2 * PAGE && !file.wasted_bytes,
	      "the bytes that were read are counted");
	file.exhausted = false;
	file.got_bytes = 0;
	file.n_pieces = 0;
	for (int i = 0; i < 100; i++)
		read_at(&file, 2 * PAGE, 1);
	check(!file.got_bytes && file.wasted_bytes >= 3 * PAGE && file.wasted_bytes <= 5 * PAGE &&
		      !file.exhausted,
	      "what was looked for in vain counts up to the limit: %" PRIu64, file.wasted_bytes);
	file.max_bytes = UINT64_MAX;
	file.cache = NULL;
	file.n_pieces = 0;
	check_u64(read_at(&file, 0, 1), 0, "a file without page cache and mapping yields nothing");
	file.n_pieces = 1;
	file.pieces[0] = (struct guest_file_piece){ UINT64_MAX - 5, USER, UINT64_MAX };
	check_u64(read_at(&file, 0, 1), 0,
		  "a piece that wraps around the largest number is left out");
	made_linux_destroy(made);
}

int main(void)
{
	test_places();
	test_limits();
	return tap_done();
}
