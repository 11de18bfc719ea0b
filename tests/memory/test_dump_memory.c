/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's memory that a file has: dump_memory.c of tests/support. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/support/dump_memory.h"
#include "tests/support/tap.h"

#define LAST_PAGE   (UINT64_MAX - GUEST_PAGE_SIZE + 1)
#define PTE_PRESENT (1ULL << 0)

/*
 * Frame 1 is a top table whose last entry points to itself, so the last address is in frame 1, too.
 */
static void test_dump(void)
{
	char path[] = "/tmp/test_dump_memory.XXXXXX";
	struct memory_root top = { .cr3 = 0x1000 };
	struct memory *dump = NULL;
	struct xtop_error *error;
	uint64_t tables[1024] = { [1023] = 0x1000 | PTE_PRESENT,
				  [512 + 3] = 0x123456000 | PTE_PRESENT };
	uint64_t value = 0;
	int fd = mkstemp(path);

	check(write(fd, tables, sizeof(tables)) == sizeof(tables), "a file is written");
	close(fd);
	error = dump_open(path, &dump);
	check(!error && dump, "the file is opened");
	check(memory_read_u64(dump, top, LAST_PAGE + 0xff8, &value) && value == tables[1023],
	      "a word of the file");
	check(!memory_read_u64(dump, top, 3ULL << 39, &value), "a frame after the file's end");
	memory_destroy(dump);
	unlink(path);
	error = dump_open(path, &dump);
	check(error != NULL, "no file: %s", error ? error_message(error) : "");
	error_destroy(error);
}

int main(void)
{
	test_dump();
	return tap_done();
}
