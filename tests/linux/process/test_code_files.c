/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the guest as images: read once, read again while incomplete, replaced, shared, bounded;
 * and which file has its code in a frame.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "linux/process/code_files.h"
#include "supervise/fetcher.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "xtop/supervise/fetch.h"

#define S 1000000000ULL

static struct made_linux *made;
static struct code_files *files;
static struct program program;
static struct memory_budget budget;

static void begin(const struct code_files_settings *given)
{
	struct code_files_settings settings = { .root_fd = -1 };

	if (given)
		settings = *given;
	budget = (struct memory_budget){ .max_bytes = MEMORY_BUDGET_BYTES };
	settings.budget = &budget;
	made = made_linux_create(MADE_TREE);
	must(code_files_create(&made->guest, &settings, &files));
}

static void end(void)
{
	code_files_destroy(files);
	check_u64(budget.used_bytes, 0, "the whole budget is given back");
	made_linux_destroy(made);
}

static struct code_file *get(uint64_t file, uint64_t now_ns)
{
	struct guest_file source = { 0 };

	if (!guest_file_find_inode(&made->guest, file, &source))
		return NULL;
	return code_files_open(files, &source, now_ns);
}

/* Opens and closes the file, as a walk of a process's areas does. */
static void touch(uint64_t file, uint64_t now_ns)
{
	struct code_file *opened = get(file, now_ns);

	check(opened, "a file that can be opened");
	if (opened)
		code_file_close(opened);
}

static const char *function_of(const struct code_file *file)
{
	struct symtab_entry entry;

	return file && file->image->symtab &&
			       symtab_find(file->image->symtab, PROGRAM_FUNCTION + 4, &entry)
		       ? entry.name
		       : "";
}

static void test_whole(void)
{
	struct code_file *file, *again;
	uint64_t address, other;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/usr/bin/server", program.bytes, PROGRAM_BYTES);
	file = get(address, 0);
	check(file && file->state == CODE_FILE_WHOLE, "the file is whole");
	check_string(file ? file->image->name : NULL, "server", "the name of the file");
	check_string(function_of(file), "serve", "the function of the file");
	check(file && file->loads.n == 2, "the segments of the file");
	check(file && file->image->build_id.size_bytes == 8 && file->image->build_id.bytes[7] == 1,
	      "the build-id of the file");
	/* Another struct file of the same inode. */
	other = made_file_at(made, made->root_mount, made->root_dentry,
			     made_inode_of(made, address));
	again = get(other, 100 * S);
	check(again == file && code_files_counts(files).reads == 1,
	      "two struct files of one inode: read once");
	code_file_close(again);
	code_file_close(file);
	again = get(address, 200 * S);
	check(again == file && code_files_counts(files).reads == 1,
	      "kept for the next process, and not read again");
	code_file_close(again);
	made_set(made, made_inode_of(made, address), INODE_MTIME_SEC, 1800000000);
	again = get(address, 201 * S);
	check(again && again != file && code_files_counts(files).reads == 2,
	      "a file that was written to is another file");
	code_file_close(again);
	end();
}

static void test_retry(void)
{
	struct code_file *file;
	const struct image *before;
	uint64_t address, inode, folio, memory, wait = S, now = 0;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/late", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	made_cache_entry(made, inode, 2, 0);
	file = get(address, now);
	check(file && file->state == CODE_FILE_INCOMPLETE,
	      "the page with the symbols is missing: incomplete");
	check(file && file->loads.n == 2, "the segments are known");
	check_string(function_of(file), "", "no function has a name");
	check(code_files_counts(files).absent_pages > 0, "the absent page is counted");
	code_file_close(file);
	for (int i = 0; i < 8; i++) {
		uint64_t reads = code_files_counts(files).reads;

		touch(address, now + wait - 1);
		check_u64(code_files_counts(files).reads, reads,
			  "a nanosecond before its time: not read");
		now += wait;
		touch(address, now);
		check_u64(code_files_counts(files).reads, reads + 1, "at its time: read again");
		wait = wait * 2 > CODE_FILE_MAX_RETRY_NS ? CODE_FILE_MAX_RETRY_NS : wait * 2;
		check_u64(file->due_ns - now, wait, "the delay doubles up to its limit");
	}
	check_u64(code_files_changes(files), 0, "no image was replaced");
	folio = made_folio(made, 2, 1, &memory);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x2000, 0x1000);
	made_cache_entry(made, inode, 2, folio);
	before = file->image;
	image_ref(file->image);
	touch(address, now + CODE_FILE_MAX_RETRY_NS);
	check(file->state == CODE_FILE_WHOLE && file->image != before,
	      "now whole: the file has another image");
	check_string(function_of(file), "serve", "the other image has the function");
	check_u64(code_files_changes(files), 1, "the change is counted");
	check(!before->symtab, "the image that others hold did not change");
	image_unref((struct image *)before);
	touch(address, now + 1000 * S);
	check_u64(code_files_counts(files).retries, 9, "a whole file is never read again");
	end();
}

static void test_less(void)
{
	struct code_file *file;
	uint64_t address, inode;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/shrinks", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	made_cache_entry(made, inode, 2, 0);
	file = get(address, 0);
	made_cache_entry(made, inode, 0, 0x10 << 1 | 1);
	touch(address, 2 * S);
	check(file && file->loads.n == 2,
	      "a page was evicted since: what was read from it is kept");
	check(code_files_counts(files).evicted_pages > 0, "the evicted page is counted");
	code_file_close(file);
	end();
}

static void test_no_elf(void)
{
	static const char script[] =
		"#!/bin/sh\nexit 0 # and more bytes than an ELF header has: 64\n";
	struct code_file *file;
	uint64_t address;

	begin(NULL);
	address = made_file(made, "/bin/script", script, sizeof(script));
	file = get(address, 0);
	check(file && file->state == CODE_FILE_NO_ELF && file->due_ns == UINT64_MAX,
	      "a script is no program: never read again");
	check_string(file ? file->image->name : NULL, "script", "a script has a name");
	code_file_close(file);
	program_make(&program, 0, NULL, 2);
	address = made_file(made, "/bin/stripped", program.bytes, PROGRAM_BYTES);
	file = get(address, 0);
	check(file && !file->image->symtab, "a stripped program has no symbols");
	code_file_close(file);
	address = made_file_at(made, made->root_mount, 0x1000, made_inode_of(made, address));
	made_set(made, made_inode_of(made, address), INODE_GENERATION, 5);
	file = get(address, 0);
	check(file && file->no_path && strcmp(file->image->name, "[file]") == 0,
	      "a file without a path has a made-up name");
	code_file_close(file);
	check(!get(0xffffffffc0000000, 0), "a struct file that cannot be read");
	end();
}

/* --- files of dom0 ---------------------------------------------------------------------------- */

static char directory[] = "/tmp/xtop-files-XXXXXX";

static void write_root(const char *name, const struct program *content)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file || fwrite(content->bytes, PROGRAM_BYTES, 1, file) != 1 || fclose(file))
		exit(99);
}

/*
 * The guest's /prog has build-id ID (0: none) and lacks page MISSING (-1: none). The file below
 * --root has build-id ROOT_ID. WANT: the name of the function that is found.
 */
static void check_root(const char *what, int missing, bool deleted, unsigned char id,
		       unsigned char root_id, const char *want)
{
	struct code_files_settings settings = { .root_fd = open(directory, O_PATH | O_CLOEXEC) };
	struct program other;
	struct code_file *file;
	uint64_t address;

	begin(&settings);
	program_make(&other, 0, "from_root", root_id);
	write_root("prog", &other);
	program_make(&program, 0, "from_guest", id);
	address = made_file(made, "/prog", program.bytes, PROGRAM_BYTES);
	if (missing >= 0)
		made_cache_entry(made, made_inode_of(made, address), missing, 0);
	if (deleted) {
		uint64_t dentry;

		linux_read_u64(&made->guest, address + made_offset(made, FILE_PATH) + 8, &dentry);
		made_set(made, dentry, DENTRY_HASH_PPREV, 0);
	}
	file = get(address, 0);
	check_string(function_of(file), want, what);
	code_file_close(file);
	end();
	close(settings.root_fd);
}

/* A stripped program, whose functions are in a file of dom0 that has the same build-id. */
static void test_debug_dir(void)
{
	struct os_folders folders = { .n = 1 };
	struct code_files_settings settings = { .root_fd = -1, .debug_folders = &folders };
	char command[128];
	struct code_file *file;

	snprintf(command, sizeof(command), "mkdir -p %s/.build-id/05", directory);
	if (system(command))
		exit(99);
	program_make(&program, 0, "from_debug", 5);
	write_root(".build-id/05/05050505050505.debug", &program);
	folders.fds[0] = open(directory, O_PATH | O_CLOEXEC);
	begin(&settings);
	program_make(&program, 0, NULL, 5);
	file = get(made_file(made, "/stripped", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "from_debug", "a debug file of the same build");
	check(file && file->state == CODE_FILE_WHOLE && file->loads.n == 2,
	      "the segments come from the guest's file");
	check_u64(file->charged_bytes, image_memory_bytes(file->image), "its names are charged");
	code_file_close(file);
	program_make(&program, 0, "own", 5);
	file = get(made_file(made, "/whole", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "own", "a program with symbols needs no debug file");
	code_file_close(file);
	end();
	close(folders.fds[0]);
}

static int find_debug_file(const uint8_t *build_id, size_t size_bytes, const char *source,
			   char message[96])
{
	struct program debug;
	int fd;

	(void)message;
	if (*source || build_id[0] != 6 || size_bytes != 8)
		return -1;
	program_make(&debug, 0, "fetched", 6);
	fd = memfd_create("debug", MFD_CLOEXEC);
	return write(fd, debug.bytes, sizeof(debug.bytes)) > 0 ? fd : -1;
}

static void poll_names(const struct code_file *file)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < 20000 && file->image->awaits_names; i++) {
		code_files_poll(files);
		nanosleep(&ms, NULL);
	}
}

/* Names that come later: the image stays, and whoever has it hears of it. */
static void test_fetched(void)
{
	const struct fetcher_settings settings = { .find = find_debug_file };
	struct code_file *file, *other;
	const struct image *image;
	uint64_t names;

	must(fetch_start_with(&settings));
	begin(NULL);
	program_make(&program, 0, NULL, 6);
	file = get(made_file(made, "/a", program.bytes, PROGRAM_BYTES), 0);
	image = file->image;
	code_files_poll(files);
	check(image->awaits_names && !code_files_names(files),
	      "nothing is fetched before a function without a symbol is met");
	file->image->wants_names = true;
	names = code_files_changes(files);
	poll_names(file);
	check_string(function_of(file), "fetched", "the debug file has come");
	check(file->image == image && code_files_names(files) == 1 &&
		      code_files_changes(files) > names,
	      "the image got names, and spaces are to be filled anew");
	check_u64(file->charged_bytes, image_memory_bytes(image), "its names are charged");
	program_make(&program, 0, NULL, 9);
	other = get(made_file(made, "/b", program.bytes, PROGRAM_BYTES), 0);
	other->image->wants_names = true;
	poll_names(other);
	check(!other->image->awaits_names && !other->image->symtab && code_files_names(files) == 1,
	      "no server has that of another file");
	program_make(&program, 0, NULL, 6);
	code_file_close(other);
	other = get(made_file(made, "/c", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(other), "fetched", "it was fetched before: names at once");
	code_file_close(other);
	code_file_close(file);
	check_u64(code_files_counts(files).fetched, 2, "both are counted");
	end();
	fetch_stop();
}

static void test_root(void)
{
	char command[64];

	if (!mkdtemp(directory))
		exit(99);
	check_root("the guest has the whole file", -1, false, 1, 1, "from_guest");
	check_root("the page with the symbols is missing", 2, false, 1, 1, "from_root");
	check_root("the file below --root has another build-id", 2, false, 1, 2, "");
	check_root("the header is missing: sizes are compared", 0, false, 1, 2, "from_root");
	check_root("the guest's file has no build-id: sizes are compared", 2, false, 0, 2,
		   "from_root");
	check_root("a deleted file without a build-id", 0, true, 1, 1, "");
	check_root("a deleted file with the same build-id", 2, true, 1, 1, "from_root");
	test_debug_dir();
	test_fetched();
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		exit(99);
}

static void test_given(void)
{
	struct code_files_settings settings = { .root_fd = -1 };
	struct symbols *symbols;
	struct symtab *tab;
	struct build_id id = { .size_bytes = 8, .bytes = { 3, 3, 3, 3, 3, 3, 3, 3 } };
	struct code_file *file;

	if (symbols_create(&symbols) || symtab_create(&tab) ||
	    symtab_add(tab, PROGRAM_FUNCTION, 0x80, 0, SYMBOL_GLOBAL, "given", 5) ||
	    symtab_seal(tab) || symbols_add_table(symbols, tab, "debug", &id))
		exit(99);
	settings.symbols = symbols;
	begin(&settings);
	program_make(&program, 0, NULL, 3);
	file = get(made_file(made, "/a", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "given", "-k has the build-id of the file");
	check(file && file->loads.n == 2, "the segments come from the guest's file");
	code_file_close(file);
	program_make(&program, 0, "own", 4);
	file = get(made_file(made, "/b", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "own", "-k does not have the build-id of the file");
	code_file_close(file);
	end();
	symbols_destroy(symbols);
}

static void test_limit(void)
{
	struct code_file *kept[CODE_FILES_MAX], *file;
	uint64_t address[CODE_FILES_MAX + 2], reads;
	size_t n = 0;

	begin(NULL);
	for (size_t i = 0; i < CODE_FILES_MAX + 2; i++) {
		uint64_t inode = made_inode(made, 4);

		made_cache(made, inode, "none", 4);
		address[i] = made_file_at(made, made->root_mount, made->root_dentry, inode);
	}
	for (size_t i = 0; i < CODE_FILES_MAX; i++) {
		kept[i] = get(address[i], 0);
		n += kept[i] != NULL;
	}
	check_u64(n, CODE_FILES_MAX, "as many open files as there are places");
	check(!get(address[CODE_FILES_MAX], 0) && code_files_counts(files).no_room == 1,
	      "no place for one more, and that is counted");
	code_file_close(kept[7]);
	code_file_close(kept[9]);
	touch(address[7], 0); /* used later than file 9 */
	file = get(address[CODE_FILES_MAX], 0);
	check(file == kept[9], "the least recently used file makes room");
	reads = code_files_counts(files).reads;
	touch(address[7], 0);
	check_u64(code_files_counts(files).reads, reads, "the other unused file is still there");
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (i != 7 && i != 9)
			code_file_close(kept[i]);
	code_file_close(file);
	end();
}

/* The budget is full: unused files make way for new ones, open files do not. */
static void test_budget(void)
{
	struct code_file *a, *b;
	uint64_t first, second, inode;
	size_t whole_bytes;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	first = made_file(made, "/a", program.bytes, PROGRAM_BYTES);
	second = made_file(made, "/b", program.bytes, PROGRAM_BYTES);
	a = get(first, 0);
	check_u64(budget.used_bytes, a ? image_memory_bytes(a->image) : 0,
		  "the tables of one file are charged");
	budget.max_bytes = whole_bytes = budget.used_bytes;
	b = get(second, 0);
	check(!b && code_files_counts(files).no_room == 1 && code_files_counts(files).reads == 1,
	      "no budget for another file: it is not even read");
	code_file_close(a);
	b = get(second, 0);
	check_string(function_of(b), "serve", "the first file is closed: its budget is free");
	check(code_files_counts(files).kept == 1 && budget.used_bytes <= whole_bytes,
	      "the first file was dropped");
	code_file_close(b);
	end();

	begin(NULL);
	first = made_file(made, "/a", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, first);
	made_cache_entry(made, inode, 2, 0);
	a = get(first, 0);
	budget.max_bytes = budget.used_bytes;
	b = get(first, 1 * S);
	check(a && a == b && code_files_counts(files).reads == 1 &&
		      code_files_counts(files).no_room == 1,
	      "no budget to read an incomplete file again");
	budget.max_bytes++;
	touch(first, 4 * S);
	check_u64(code_files_counts(files).reads, 2, "with budget the file is read again");
	code_file_close(a);
	code_file_close(b);
	end();
}

/* A symbol of a section that does not exist: the symbols before it are kept. */
static void test_cut(void)
{
	struct code_file *file;
	Elf64_Sym *symbols;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	symbols = (Elf64_Sym *)(program.bytes + 0x2000);
	symbols[2] = symbols[1];
	symbols[2].st_shndx = 77;
	((Elf64_Shdr *)(program.bytes + 0x2800))[2].sh_size = 3 * sizeof(Elf64_Sym);
	file = get(made_file(made, "/a", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "serve", "the symbol before the damaged one");
	check_u64(code_files_counts(files).cut, 1, "the damaged file is counted");
	code_file_close(file);
	end();
}

/* --- code by its frame ------------------------------------------------------------------------ */

static uint64_t now(void)
{
	return memory_now_ns(made->guest.memory);
}

static bool is_by_frame(frame_t frame, uint64_t time_ns, const struct code_file *file)
{
	uint64_t offset = 1;

	return code_files_find_by_frame(files, frame, time_ns, &offset) == file &&
	       offset == (file ? PROGRAM_TEXT_OFFSET : 1);
}

static void test_by_frame(void)
{
	struct code_file *file, *other;
	uint64_t address, inode, before, folio, memory, swapped;
	frame_t frame, headers;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	frame = made_cache_frame(made, inode, 1);
	headers = made_cache_frame(made, inode, 0);
	before = now();
	check(is_by_frame(frame, before, NULL), "a frame of a file that was never opened");
	file = get(address, 0);
	check(is_by_frame(frame, now(), file), "a frame with code of an open file");
	check_u64(code_files_counts(files).by_frame, 1, "the hit is counted");
	check(is_by_frame(headers, now(), NULL), "a frame of the file without code");
	check(is_by_frame(FRAME(0), now(), NULL), "frame 0 is none");
	check(is_by_frame(FRAME(frame.value + 1), now(), NULL), "a frame of no file");
	check(is_by_frame(frame, before, NULL),
	      "a sample from before the page was seen in the frame");
	code_file_close(file);
	check(is_by_frame(frame, now(), file), "a file that is closed is still known");

	/* The page is evicted, and read again into another frame. */
	made_cache_entry(made, inode, 1, 0);
	check(is_by_frame(frame, now(), NULL), "the page is evicted");
	folio = made_folio(made, 1, 1, &memory);
	made_cache_entry(made, inode, 1, folio);
	check(is_by_frame(frame, now(), NULL), "the page is in another frame now");
	check(is_by_frame(made_cache_frame(made, inode, 1), now(), NULL),
	      "the new frame was not seen yet");
	file = get(address, 2 * S);
	check(is_by_frame(made_cache_frame(made, inode, 1), now(), file),
	      "the next scan sees the new frame");
	check(is_by_frame(frame, now(), NULL), "the old frame has no page of the file");

	/* Another file gets the frame. */
	frame = made_cache_frame(made, inode, 1);
	made_cache_entry(made, inode, 1, 0);
	program_make(&program, 0, "steal", 2);
	swapped = made_file(made, "/bin/other", program.bytes, PROGRAM_BYTES);
	made_cache_entry(made, made_inode_of(made, swapped), 1, folio);
	check(is_by_frame(frame, now(), NULL),
	      "the frame has a page of a file that was never opened");
	other = get(swapped, 2 * S);
	check(is_by_frame(frame, now(), other), "that file is opened: the frame has its page");
	code_file_close(other);
	code_file_close(file);
	end();
}

/* The inode belongs to another file. */
static void test_by_frame_identity(void)
{
	struct code_file *file;
	uint64_t address, inode;
	frame_t frame;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	frame = made_cache_frame(made, inode, 1);
	file = get(address, 0);
	check(is_by_frame(frame, now(), file), "a frame with code of the file");
	made_set(made, inode, INODE_MTIME_SEC, 1800000000);
	check(is_by_frame(frame, now(), NULL), "the file was written to");
	made_set(made, inode, INODE_MTIME_SEC, 1700000000);
	made_set(made, inode, INODE_INO, 77);
	check(is_by_frame(frame, now(), NULL), "another inode has its place");
	made_unmap(made->memory, made->guest.root, inode, 8);
	check(is_by_frame(frame, now(), NULL), "the memory of the inode is gone");
	code_file_close(file);
	check(code_files_drop_unused(files), "the file is dropped");
	check(is_by_frame(frame, now(), NULL), "a dropped file has no frames");
	end();
}

/* The guest reads a page of code after the file was opened. */
static void test_by_frame_late(void)
{
	struct code_file *file;
	uint64_t address, inode, folio, memory;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/late", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	made_cache_entry(made, inode, 1, 0);
	file = get(address, 0);
	check(file && file->state == CODE_FILE_WHOLE, "the pages with names are there");
	folio = made_folio(made, 1, 1, &memory);
	made_cache_entry(made, inode, 1, folio);
	touch(address, S - 1);
	check(is_by_frame(made_cache_frame(made, inode, 1), now(), NULL), "not scanned again yet");
	touch(address, S);
	check(is_by_frame(made_cache_frame(made, inode, 1), now(), file),
	      "the scan after a second sees the page");
	code_file_close(file);
	end();
}

/* Segments as large as a number can be: the first file takes all page look-ups of the walk. */
static void test_by_frame_hostile(void)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(program.bytes + sizeof(Elf64_Ehdr));
	struct code_file *liar, *file;
	uint64_t address;
	frame_t frame;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	frame = made_cache_frame(made, made_inode_of(made, address), 1);
	segments[0].p_flags = segments[1].p_flags = PF_R | PF_X;
	segments[0].p_offset = UINT64_MAX - 0xfff;
	segments[0].p_filesz = segments[1].p_filesz = UINT64_MAX / 2;
	code_files_begin_walk(files);
	liar = get(made_file(made, "/bin/liar", program.bytes, PROGRAM_BYTES), 0);
	check(liar && liar->loads.n == 2, "such a file is opened");
	file = get(address, 0);
	check(is_by_frame(frame, now(), NULL), "the next file of the walk is not scanned");
	code_files_begin_walk(files);
	touch(address, 0);
	check(is_by_frame(frame, now(), file), "it is scanned in the next walk");
	code_file_close(liar);
	code_file_close(file);
	end();
}

int main(void)
{
	test_by_frame();
	test_by_frame_identity();
	test_by_frame_late();
	test_by_frame_hostile();
	test_budget();
	test_cut();
	test_whole();
	test_retry();
	test_less();
	test_no_elf();
	test_root();
	test_given();
	test_limit();
	return tap_done();
}
