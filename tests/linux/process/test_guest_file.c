/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file out of the page cache and of mappings, page by page, up to the limit of bytes. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/guest_file.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE
#define USER 0x7f0000000000ULL

struct fixture {
	unsigned char content[8 * PAGE];
	unsigned char buffer[8 * PAGE];
	struct made_linux *made;
	struct page_cache cache;
	struct guest_file file;
};

static size_t read_at(struct fixture *fixture, struct guest_file *read, uint64_t offset, size_t n)
{
	struct bytes bytes = guest_file_bytes(read, sizeof(fixture->content));
	size_t got;

	memset(fixture->buffer, 0xee, sizeof(fixture->buffer));
	got = bytes.read(bytes.context, offset, fixture->buffer, n);
	if (memcmp(fixture->buffer, fixture->content + offset, got) != 0)
		check(false, "wrong bytes at %#" PRIx64, offset);
	return got;
}

/* A file without pages 2 and 5 in the page cache. */
static void begin(struct fixture *fixture)
{
	uint64_t inode;

	fixture->made = made_linux_create(MADE_TREE);
	inode = made_inode(fixture->made, sizeof(fixture->content));
	for (size_t i = 0; i < sizeof(fixture->content); i++)
		fixture->content[i] = (unsigned char)(i * 13 + (i >> 12) + 1);
	made_cache(fixture->made, inode, fixture->content, sizeof(fixture->content));
	made_cache_entry(fixture->made, inode, 2, 0);
	made_cache_entry(fixture->made, inode, 5, 0);
	if (!page_cache_init(&fixture->cache, &fixture->made->guest, inode))
		exit(99);
	fixture->file = (struct guest_file){ .guest = &fixture->made->guest,
					     .root = made_root(fixture->made->memory),
					     .cache = &fixture->cache,
					     .max_bytes = UINT64_MAX };
}

/*
 * The process maps pages 1 to 4, and its page tables have pages 2 and 3. The mapping of page 5 can
 * be written to.
 */
static void add_mappings(struct fixture *fixture)
{
	made_put(fixture->made->memory, fixture->file.root, USER + PAGE,
		 fixture->content + 2 * PAGE, 2 * PAGE);
	made_put(fixture->made->memory, fixture->file.root, USER + 0x10000, fixture->buffer, PAGE);
	guest_file_add_mapping(&fixture->file, &(struct vma){ .start = USER,
							      .end = USER + 4 * PAGE,
							      .flags = VMA_READ | VMA_EXEC,
							      .page_offset = 1 });
	guest_file_add_mapping(&fixture->file, &(struct vma){ .start = USER + 0x10000,
							      .end = USER + 0x11000,
							      .flags = VMA_READ | VMA_WRITE,
							      .page_offset = 5 });
}

static void test_places(struct fixture *fixture)
{
	begin(fixture);
	check_u64(read_at(fixture, &fixture->file, 0, 8 * PAGE), 2 * PAGE,
		  "the page cache is read up to the first hole");
	add_mappings(fixture);
	check_u64(fixture->file.n_pieces, 1,
		  "a mapping that the program may have changed is not used");
	check_u64(read_at(fixture, &fixture->file, 0, 8 * PAGE), 5 * PAGE,
		  "a mapping fills the first hole; the second ends the read");
	check_u64(read_at(fixture, &fixture->file, 2 * PAGE + 7, PAGE), PAGE,
		  "a read goes on from the mapping into the page cache");
	check_u64(read_at(fixture, &fixture->file, 6 * PAGE, 8 * PAGE), 2 * PAGE,
		  "a read from the second hole reaches the end");
	fixture->file.cache = NULL;
	check_u64(read_at(fixture, &fixture->file, 2 * PAGE, 4 * PAGE), 2 * PAGE,
		  "the mapping alone is read");
	check_u64(read_at(fixture, &fixture->file, 0, 1), 0, "nothing is read before the mapping");
	check_u64(read_at(fixture, &fixture->file, 5 * PAGE, 1), 0,
		  "nothing is read after the mapping");
	made_linux_destroy(fixture->made);
}

static void test_limits(struct fixture *fixture)
{
	begin(fixture);
	for (int i = 0; i < 100; i++)
		guest_file_add_mapping(&fixture->file,
				       &(struct vma){ .start = USER, .end = USER + PAGE });
	check_u64(fixture->file.n_pieces, GUEST_FILE_MAX_PIECES,
		  "number of mappings that are kept");
	fixture->file.max_bytes = 3 * PAGE;
	check_u64(read_at(fixture, &fixture->file, 0, 2 * PAGE), 2 * PAGE,
		  "a read within the limit of bytes succeeds");
	check_u64(read_at(fixture, &fixture->file, 0, 2 * PAGE), 0,
		  "a read beyond the limit of bytes yields nothing");
	check(fixture->file.exhausted && fixture->file.got_bytes == 2 * PAGE &&
		      !fixture->file.wasted_bytes,
	      "the bytes that were read are counted");
	fixture->file.exhausted = false;
	fixture->file.got_bytes = 0;
	fixture->file.n_pieces = 0;
	for (int i = 0; i < 100; i++)
		read_at(fixture, &fixture->file, 2 * PAGE, 1);
	check(!fixture->file.got_bytes && fixture->file.wasted_bytes >= 3 * PAGE &&
		      fixture->file.wasted_bytes <= 5 * PAGE && !fixture->file.exhausted,
	      "what was looked for in vain counts up to the limit: %" PRIu64,
	      fixture->file.wasted_bytes);
	fixture->file.max_bytes = UINT64_MAX;
	fixture->file.cache = NULL;
	fixture->file.n_pieces = 0;
	check_u64(read_at(fixture, &fixture->file, 0, 1), 0,
		  "a file without page cache and mapping yields nothing");
	fixture->file.n_pieces = 1;
	fixture->file.pieces[0] = (struct guest_file_piece){ UINT64_MAX - 5, USER, UINT64_MAX };
	check_u64(read_at(fixture, &fixture->file, 0, 1), 0,
		  "a piece that wraps around the largest number is left out");
	made_linux_destroy(fixture->made);
}

/* A file by the path that a process knows. */
static void test_path(struct fixture *fixture)
{
	struct made_linux *made = made_linux_create(MADE_TREE);
	const struct linux_guest *guest = &made->guest;
	uint64_t task = made_task(made, 7, 7, "python3", MADE_OBJECTS + 0x100000, 0);
	uint64_t file;

	file = made_file(made, "/srv/work.py", fixture->content, 2 * PAGE + 5);
	check_u64(guest_file_read_path(guest, task, "/srv/work.py", fixture->buffer, 8 * PAGE),
		  2 * PAGE + 5, "a file is read up to its end");
	check(memcmp(fixture->buffer, fixture->content, 2 * PAGE + 5) == 0, "a file has its bytes");
	check_u64(guest_file_read_path(guest, task, "/srv/work.py", fixture->buffer, PAGE + 1),
		  PAGE + 1, "no more is read than was asked for");
	made_cache_entry(made, made_inode_of(made, file), 1, 0);
	check_u64(guest_file_read_path(guest, task, "/srv/work.py", fixture->buffer, 8 * PAGE),
		  PAGE, "it is read up to a page that is not in memory");
	check_u64(guest_file_read_path(guest, task, "/srv/work.p", fixture->buffer, 8 * PAGE), 0,
		  "a file that does not exist yields nothing");
	made_linux_destroy(made);
}

int main(void)
{
	static struct fixture fixture;

	test_places(&fixture);
	test_path(&fixture);
	test_limits(&fixture);
	return tap_done();
}
