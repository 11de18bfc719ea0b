/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file whose code lies in a frame of the guest. */
#include "config.h"

#include "tests/linux/process/code_fixture.h"

static uint64_t now(struct code_fixture *fixture)
{
	return memory_now_ns(fixture->made->guest.memory);
}

static bool is_by_frame(struct code_fixture *fixture, frame_t frame, uint64_t time_ns,
			const struct code_file *file)
{
	uint64_t offset = 1;

	return code_files_find_by_frame(fixture->files, frame, time_ns, &offset) == file &&
	       offset == (file ? PROGRAM_TEXT_OFFSET : 1);
}

static void test_by_frame(struct code_fixture *fixture)
{
	struct code_file *file, *other;
	uint64_t address, inode, before, folio, memory, swapped;
	frame_t frame, headers;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, address);
	frame = made_cache_frame(fixture->made, inode, 1);
	headers = made_cache_frame(fixture->made, inode, 0);
	before = now(fixture);
	check(is_by_frame(fixture, frame, before, NULL),
	      "a frame of a file that was never opened is unknown");
	file = get(fixture, address, 0);
	check(is_by_frame(fixture, frame, now(fixture), file),
	      "a frame with code of an open file is found");
	check_u64(code_files_counts(fixture->files).by_frame, 1, "a hit by frame is counted");
	check(is_by_frame(fixture, headers, now(fixture), NULL),
	      "a frame of the file without code is unknown");
	check(is_by_frame(fixture, FRAME(0), now(fixture), NULL), "frame 0 is unknown");
	check(is_by_frame(fixture, FRAME(frame.value + 1), now(fixture), NULL),
	      "a frame of no file is unknown");
	check(is_by_frame(fixture, frame, before, NULL),
	      "a sample from before the page was seen in the frame has no file");
	code_file_close(file);
	check(is_by_frame(fixture, frame, now(fixture), file), "a frame of a closed file is found");

	/* The page is evicted, and read again into another frame. */
	made_cache_entry(fixture->made, inode, 1, 0);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame of an evicted page is unknown");
	folio = made_folio(fixture->made, 1, 1, &memory);
	made_cache_entry(fixture->made, inode, 1, folio);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame whose page moved to another frame is unknown");
	check(is_by_frame(fixture, made_cache_frame(fixture->made, inode, 1), now(fixture), NULL),
	      "a page's new frame is unknown before the next scan");
	file = get(fixture, address, 2 * S);
	check(is_by_frame(fixture, made_cache_frame(fixture->made, inode, 1), now(fixture), file),
	      "a page's new frame is known after the next scan");
	check(is_by_frame(fixture, frame, now(fixture), NULL), "a page's old frame stays unknown");

	/* Another file gets the frame. */
	frame = made_cache_frame(fixture->made, inode, 1);
	made_cache_entry(fixture->made, inode, 1, 0);
	program_make(&fixture->program, 0, "steal", 2);
	swapped = made_file(fixture->made, "/bin/other", fixture->program.bytes, PROGRAM_BYTES);
	made_cache_entry(fixture->made, made_inode_of(fixture->made, swapped), 1, folio);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame with a page of a file that was never opened is unknown");
	other = get(fixture, swapped, 2 * S);
	check(is_by_frame(fixture, frame, now(fixture), other),
	      "a frame with a page of a newly opened file is found");
	code_file_close(other);
	code_file_close(file);
	end(fixture);
}

/* The inode belongs to another file. */
static void test_by_frame_identity(struct code_fixture *fixture)
{
	struct code_file *file;
	uint64_t address, inode;
	frame_t frame;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, address);
	frame = made_cache_frame(fixture->made, inode, 1);
	file = get(fixture, address, 0);
	check(is_by_frame(fixture, frame, now(fixture), file),
	      "a frame with code of the file is found");
	made_set(fixture->made, inode, INODE_MTIME_SEC, 1800000000);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame of a file that was written to is unknown");
	made_set(fixture->made, inode, INODE_MTIME_SEC, 1700000000);
	made_set(fixture->made, inode, INODE_INO, 77);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame of a replaced inode is unknown");
	made_unmap(fixture->made->memory, fixture->made->guest.root, inode, 8);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame of an unreadable inode is unknown");
	code_file_close(file);
	check(code_files_drop_unused(fixture->files), "an unused file is dropped");
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "a frame of a dropped file is unknown");
	end(fixture);
}

/* The guest reads a page of code after the file was opened. */
static void test_by_frame_late(struct code_fixture *fixture)
{
	struct code_file *file;
	uint64_t address, inode, folio, memory;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/late", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, address);
	made_cache_entry(fixture->made, inode, 1, 0);
	file = get(fixture, address, 0);
	check(file && file->state == CODE_FILE_WHOLE, "a file without its code page is whole");
	folio = made_folio(fixture->made, 1, 1, &memory);
	made_cache_entry(fixture->made, inode, 1, folio);
	touch(fixture, address, S - 1);
	check(is_by_frame(fixture, made_cache_frame(fixture->made, inode, 1), now(fixture), NULL),
	      "a page that came later is unknown before the next scan");
	touch(fixture, address, S);
	check(is_by_frame(fixture, made_cache_frame(fixture->made, inode, 1), now(fixture), file),
	      "a page that came later is known after a second");
	code_file_close(file);
	end(fixture);
}

/* Segments as large as a number can be: the first file takes all page look-ups of the walk. */
static void test_by_frame_hostile(struct code_fixture *fixture)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(fixture->program.bytes + sizeof(Elf64_Ehdr));
	struct code_file *liar, *file;
	uint64_t address;
	frame_t frame;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	frame = made_cache_frame(fixture->made, made_inode_of(fixture->made, address), 1);
	segments[0].p_flags = segments[1].p_flags = PF_R | PF_X;
	segments[0].p_offset = UINT64_MAX - 0xfff;
	segments[0].p_filesz = segments[1].p_filesz = UINT64_MAX / 2;
	code_files_begin_walk(fixture->files);
	liar = get(fixture,
		   made_file(fixture->made, "/bin/liar", fixture->program.bytes, PROGRAM_BYTES), 0);
	check(liar && liar->loads.n == 2, "a file with huge segments is opened");
	file = get(fixture, address, 0);
	check(is_by_frame(fixture, frame, now(fixture), NULL),
	      "the file after it is not scanned in the same walk");
	code_files_begin_walk(fixture->files);
	touch(fixture, address, 0);
	check(is_by_frame(fixture, frame, now(fixture), file),
	      "the file after it is scanned in the next walk");
	code_file_close(liar);
	code_file_close(file);
	end(fixture);
}

int main(void)
{
	struct code_fixture fixture = { 0 };

	test_by_frame(&fixture);
	test_by_frame_identity(&fixture);
	test_by_frame_late(&fixture);
	test_by_frame_hostile(&fixture);
	return tap_done();
}
