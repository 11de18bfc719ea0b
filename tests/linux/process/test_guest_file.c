/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file out of page cache and mappings, page by page; and no more of it than is allowed. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/guest_file.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE
#define USER 0x7f0000000000ULL

static unsigned char content[8 * PAGE], buffer[8 * PAGE];

static size_t read_at(struct guest_file *file, uint64_t offset, size_t n)
{
	struct bytes bytes = guest_file_bytes(file, sizeof(content));
	size_t got;

	memset(buffer, 0xee, sizeof(buffer));
	got = bytes.read(bytes.context, offset, buffer, n);
	if (memcmp(buffer, content + offset, got) != 0)
		check(false, "bytes at %#" PRIx64, offset);
	return got;
}

int main(void)
{
	struct made_linux *made = made_linux_create(MADE_TREE);
	struct page_cache cache;
	struct guest_file file = { .linux_guest = &made->guest,
				   .root = made_root(made->memory),
				   .left_bytes = UINT64_MAX };
	uint64_t inode = made_inode(made, sizeof(content));

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (unsigned char)(i * 13 + (i >> 12) + 1);
	check_u64(read_at(&file, 0, 1), 0, "nothing anywhere");
	made_cache(made, inode, content, sizeof(content));
	made_cache_entry(made, inode, 2, 0);
	made_cache_entry(made, inode, 5, 0);
	if (!page_cache_init(&cache, &made->guest, inode))
		return 99;
	file.cache = &cache;
	check_u64(read_at(&file, 0, 8 * PAGE), 2 * PAGE, "up to the first hole");

	/* pages 1 to 4 are mapped, 2 and 3 are in the process's tables; 5 can be written to */
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
	check_u64(file.n_pieces, 1, "what the program may have changed is not used");
	check_u64(read_at(&file, 0, 8 * PAGE), 5 * PAGE, "over the first hole, to the second");
	check_u64(read_at(&file, 2 * PAGE + 7, PAGE), PAGE, "from the one into the other");
	check_u64(read_at(&file, 6 * PAGE, 8 * PAGE), 2 * PAGE, "behind the second, to the end");
	file.cache = NULL;
	check_u64(read_at(&file, 2 * PAGE, 4 * PAGE), 2 * PAGE, "from the mapping alone");
	check_u64(read_at(&file, 0, 1), 0, "before it");
	check_u64(read_at(&file, 5 * PAGE, 1), 0, "behind it");

	for (int i = 0; i < 100; i++)
		guest_file_add_mapping(&file, &(struct vma){ .start = USER, .end = USER + PAGE });
	check_u64(file.n_pieces, GUEST_FILE_MAX_PIECES, "mappings up to the limit");
	file.n_pieces = 1;
	file.pieces[0] = (struct guest_file_piece){ UINT64_MAX - 5, USER, UINT64_MAX };
	check_u64(read_at(&file, 0, 1), 0, "a piece around the end of all numbers");

	file.cache = &cache;
	file.got_bytes = 0;
	file.left_bytes = 3 * PAGE;
	check_u64(read_at(&file, 0, 2 * PAGE), 2 * PAGE, "within what is allowed");
	check_u64(read_at(&file, 0, 2 * PAGE), 0, "beyond it");
	check(file.exhausted && file.got_bytes == 2 * PAGE && file.left_bytes == PAGE, "counted");
	made_linux_destroy(made);
	return tap_done();
}
