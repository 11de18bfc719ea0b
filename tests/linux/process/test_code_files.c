/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the guest as images: read once, read again while incomplete, replaced, shared, bounded. */
#include "config.h"

#include <stdlib.h>

#include "tests/linux/process/code_fixture.h"

static void test_whole(struct code_fixture *fixture)
{
	struct code_file *file, *again;
	uint64_t address, other;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address =
		made_file(fixture->made, "/usr/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	file = get(fixture, address, 0);
	check(file && file->state == CODE_FILE_WHOLE, "a complete file is whole");
	check_string(file ? file->image->name : NULL, "server",
		     "a file has the last component of its path as name");
	check_string(function_of(file), "serve", "the file's function has its name");
	check(file && file->loads.n == 2, "the file's segments are read");
	check(file && file->image->build_id.size_bytes == 8 && file->image->build_id.bytes[7] == 1,
	      "the file's build-id is read");
	/* Another struct file of the same inode. */
	other = made_file_at(fixture->made, fixture->made->root_mount, fixture->made->root_dentry,
			     made_inode_of(fixture->made, address));
	again = get(fixture, other, 100 * S);
	check(again == file && code_files_counts(fixture->files).reads == 1,
	      "two struct files of one inode are read once");
	code_file_close(again);
	code_file_close(file);
	again = get(fixture, address, 200 * S);
	check(again == file && code_files_counts(fixture->files).reads == 1,
	      "a closed file is kept, and not read again");
	code_file_close(again);
	made_set(fixture->made, made_inode_of(fixture->made, address), INODE_MTIME_SEC, 1800000000);
	again = get(fixture, address, 201 * S);
	check(again && again != file && code_files_counts(fixture->files).reads == 2,
	      "a file that was written to is another file");
	code_file_close(again);
	end(fixture);
}

static void test_retry(struct code_fixture *fixture)
{
	struct code_file *file;
	const struct image *before;
	uint64_t address, inode, folio, memory, wait = S, now = 0;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/late", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, address);
	made_cache_entry(fixture->made, inode, 2, 0);
	file = get(fixture, address, now);
	check(file && file->state == CODE_FILE_INCOMPLETE,
	      "a file without the page with the symbols is incomplete");
	check(file && file->loads.n == 2, "an incomplete file has its segments");
	check_string(function_of(file), "", "an incomplete file has no function names");
	check(code_files_counts(fixture->files).absent_pages > 0, "the absent page is counted");
	code_file_close(file);
	for (int i = 0; i < 8; i++) {
		uint64_t reads = code_files_counts(fixture->files).reads;

		touch(fixture, address, now + wait - 1);
		check_u64(code_files_counts(fixture->files).reads, reads,
			  "an incomplete file is not read a nanosecond before its time");
		now += wait;
		touch(fixture, address, now);
		check_u64(code_files_counts(fixture->files).reads, reads + 1,
			  "an incomplete file is read again at its time");
		wait = wait * 2 > CODE_FILE_MAX_RETRY_NS ? CODE_FILE_MAX_RETRY_NS : wait * 2;
		check_u64(file->due_ns - now, wait, "the delay doubles up to its limit");
	}
	check_u64(code_files_changes(fixture->files), 0,
		  "no image is replaced while nothing was gained");
	folio = made_folio(fixture->made, 2, 1, &memory);
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->program.bytes + 0x2000, 0x1000);
	made_cache_entry(fixture->made, inode, 2, folio);
	before = file->image;
	image_ref(file->image);
	touch(fixture, address, now + CODE_FILE_MAX_RETRY_NS);
	check(file->state == CODE_FILE_WHOLE && file->image != before,
	      "a file that became whole has another image");
	check_string(function_of(file), "serve", "the new image has the function's name");
	check_u64(code_files_changes(fixture->files), 1, "a new image is counted as a change");
	check(!before->symtab, "the old image, which others hold, does not change");
	image_unref((struct image *)before);
	touch(fixture, address, now + 1000 * S);
	check_u64(code_files_counts(fixture->files).retries, 9, "a whole file is never read again");
	end(fixture);
}

static void test_less(struct code_fixture *fixture)
{
	struct code_file *file;
	uint64_t address, inode;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	address = made_file(fixture->made, "/bin/shrinks", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, address);
	made_cache_entry(fixture->made, inode, 2, 0);
	file = get(fixture, address, 0);
	made_cache_entry(fixture->made, inode, 0, 0x10 << 1 | 1);
	touch(fixture, address, 2 * S);
	check(file && file->loads.n == 2,
	      "what was read from a page stays when the page is evicted");
	check(code_files_counts(fixture->files).evicted_pages > 0, "the evicted page is counted");
	code_file_close(file);
	end(fixture);
}

static void test_no_elf(struct code_fixture *fixture)
{
	static const char script[] =
		"#!/bin/sh\nexit 0 # and more bytes than an ELF header has: 64\n";
	struct code_file *file;
	uint64_t address;

	begin(fixture, NULL);
	address = made_file(fixture->made, "/bin/script", script, sizeof(script));
	file = get(fixture, address, 0);
	check(file && file->state == CODE_FILE_NO_ELF && file->due_ns == UINT64_MAX,
	      "a script is no program and is never read again");
	check_string(file ? file->image->name : NULL, "script", "a script has its name");
	code_file_close(file);
	program_make(&fixture->program, 0, NULL, 2);
	address = made_file(fixture->made, "/bin/stripped", fixture->program.bytes, PROGRAM_BYTES);
	file = get(fixture, address, 0);
	check(file && !file->image->symtab, "a stripped program has no symbols");
	code_file_close(file);
	address = made_file_at(fixture->made, fixture->made->root_mount, 0x1000,
			       made_inode_of(fixture->made, address));
	made_set(fixture->made, made_inode_of(fixture->made, address), INODE_GENERATION, 5);
	made_set(fixture->made, made_inode_of(fixture->made, address), INODE_DENTRIES, 0);
	file = get(fixture, address, 0);
	check(file && file->no_path && strcmp(file->image->name, "[file]") == 0,
	      "a file without a path has a made-up name");
	code_file_close(file);
	check(!get(fixture, 0xffffffffc0000000, 0),
	      "a struct file that cannot be read is not opened");
	end(fixture);
}

/*
 * The process ends from whose areas FILE was taken, and its struct file becomes that of OTHER before
 * the file is read.
 */
static struct code_file *get_late(struct code_fixture *fixture, uint64_t file, uint64_t other,
				  uint64_t now_ns)
{
	struct made_linux *made = fixture->made;
	uint64_t path = made_offset(made, FILE_PATH),
		 dentry = path + made_offset(made, PATH_DENTRY);
	struct guest_file source = { 0 };

	if (!guest_file_find_inode(&made->guest, file, &source))
		return NULL;
	made_write(made, file + dentry, made_get(made, other + dentry));
	made_set(made, file, FILE_INODE, made_inode_of(made, other));
	return code_files_open(fixture->files, &source, now_ns);
}

static void test_ended_process(struct code_fixture *fixture)
{
	struct made_linux *made;
	struct code_file *file;
	uint64_t address, other, inode, dentry, folio, memory;

	begin(fixture, NULL);
	made = fixture->made;
	program_make(&fixture->program, 0, "serve", 1);
	other = made_file(made, "/lib/other.so", "none", 4);
	address = made_file(made, "/lib/first.so", fixture->program.bytes, PROGRAM_BYTES);
	file = get_late(fixture, address, other, 0);
	check_string(file ? file->image->name : NULL, "[file]",
		     "a file whose struct file is another's by now has not that one's name");
	code_file_close(file);
	address = made_file(made, "/lib/late.so", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	made_cache_entry(made, inode, 2, 0);
	touch(fixture, address, 0);
	folio = made_folio(made, 2, 1, &memory);
	made_put(made->memory, made->guest.root, memory,
		 fixture->program.bytes + 2 * GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	made_cache_entry(made, inode, 2, folio);
	file = get_late(fixture, address, other, 100 * S);
	check_string(file ? file->image->name : NULL, "late.so",
		     "such a file that is read again keeps its name");
	check_string(function_of(file), "serve", "such a file gets its functions");
	code_file_close(file);
	address = made_file(made, "/lib/listed.so", fixture->program.bytes, PROGRAM_BYTES);
	dentry = made_get(made,
			  address + made_offset(made, FILE_PATH) + made_offset(made, PATH_DENTRY));
	made_set(made, made_inode_of(made, address), INODE_DENTRIES,
		 dentry + made_offset(made, DENTRY_ALIAS));
	file = get_late(fixture, address, other, 0);
	check_string(file ? file->image->name : NULL, "listed.so",
		     "such a file has the name of its inode");
	code_file_close(file);
	end(fixture);
}

static void test_limit(struct code_fixture *fixture)
{
	struct code_file *kept[CODE_FILES_MAX], *file;
	uint64_t address[CODE_FILES_MAX + 2], reads;
	size_t n = 0;

	begin(fixture, NULL);
	for (size_t i = 0; i < CODE_FILES_MAX + 2; i++) {
		uint64_t inode = made_inode(fixture->made, 4);

		made_cache(fixture->made, inode, "none", 4);
		address[i] = made_file_at(fixture->made, fixture->made->root_mount,
					  fixture->made->root_dentry, inode);
	}
	for (size_t i = 0; i < CODE_FILES_MAX; i++) {
		kept[i] = get(fixture, address[i], 0);
		n += kept[i] != NULL;
	}
	check_u64(n, CODE_FILES_MAX, "number of open files at the limit");
	check(!get(fixture, address[CODE_FILES_MAX], 0) &&
		      code_files_counts(fixture->files).no_room == 1,
	      "a file beyond the limit is refused and counted");
	code_file_close(kept[7]);
	code_file_close(kept[9]);
	touch(fixture, address[7], 0); /* used later than file 9 */
	file = get(fixture, address[CODE_FILES_MAX], 0);
	check(file == kept[9], "the least recently used file makes room");
	reads = code_files_counts(fixture->files).reads;
	touch(fixture, address[7], 0);
	check_u64(code_files_counts(fixture->files).reads, reads,
		  "the other unused file is not dropped");
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (i != 7 && i != 9)
			code_file_close(kept[i]);
	code_file_close(file);
	end(fixture);
}

/* The budget is full: unused files make way for new ones, open files do not. */
static void test_budget(struct code_fixture *fixture)
{
	struct code_file *a, *b;
	uint64_t first, second, inode;
	size_t whole_bytes;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	first = made_file(fixture->made, "/a", fixture->program.bytes, PROGRAM_BYTES);
	second = made_file(fixture->made, "/b", fixture->program.bytes, PROGRAM_BYTES);
	a = get(fixture, first, 0);
	check_u64(fixture->budget.used_bytes, a ? image_memory_bytes(a->image) : 0,
		  "the tables of one file are charged");
	fixture->budget.max_bytes = whole_bytes = fixture->budget.used_bytes;
	b = get(fixture, second, 0);
	check(!b && code_files_counts(fixture->files).no_room == 1 &&
		      code_files_counts(fixture->files).reads == 1,
	      "a file without budget is not even read");
	code_file_close(a);
	b = get(fixture, second, 0);
	check_string(function_of(b), "serve", "a closed file gives its budget to another one");
	check(code_files_counts(fixture->files).kept == 1 &&
		      fixture->budget.used_bytes <= whole_bytes,
	      "the closed file is dropped");
	code_file_close(b);
	end(fixture);

	begin(fixture, NULL);
	first = made_file(fixture->made, "/a", fixture->program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(fixture->made, first);
	made_cache_entry(fixture->made, inode, 2, 0);
	a = get(fixture, first, 0);
	fixture->budget.max_bytes = fixture->budget.used_bytes;
	b = get(fixture, first, 1 * S);
	check(a && a == b && code_files_counts(fixture->files).reads == 1 &&
		      code_files_counts(fixture->files).no_room == 1,
	      "an incomplete file is not read again without budget");
	fixture->budget.max_bytes++;
	touch(fixture, first, 4 * S);
	check_u64(code_files_counts(fixture->files).reads, 2,
		  "an incomplete file is read again with budget");
	code_file_close(a);
	code_file_close(b);
	end(fixture);
}

/* A symbol of a section that does not exist: the symbols before it are kept. */
static void test_cut(struct code_fixture *fixture)
{
	struct code_file *file;
	Elf64_Sym *symbols;

	begin(fixture, NULL);
	program_make(&fixture->program, 0, "serve", 1);
	symbols = (Elf64_Sym *)(fixture->program.bytes + 0x2000);
	symbols[2] = symbols[1];
	symbols[2].st_shndx = 77;
	((Elf64_Shdr *)(fixture->program.bytes + 0x2800))[2].sh_size = 3 * sizeof(Elf64_Sym);
	file = get(fixture, made_file(fixture->made, "/a", fixture->program.bytes, PROGRAM_BYTES),
		   0);
	check_string(function_of(file), "serve", "the symbol before the damaged one has its name");
	check_u64(code_files_counts(fixture->files).cut, 1,
		  "a file with a damaged symbol is counted as cut");
	code_file_close(file);
	end(fixture);
}

int main(void)
{
	struct code_fixture fixture = { 0 };

	test_budget(&fixture);
	test_cut(&fixture);
	test_whole(&fixture);
	test_retry(&fixture);
	test_less(&fixture);
	test_no_elf(&fixture);
	test_ended_process(&fixture);
	test_limit(&fixture);
	return tap_done();
}
