/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the guest as images: read once, again while incomplete, replaced, shared, bounded. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/process/code_files.h"
#include "tests/support/made_linux.h"
#include "tests/support/program.h"
#include "tests/support/needs.h"
#include "tests/support/tap.h"

#define S 1000000000ULL

static struct made_linux *made;
static struct code_files *files;
static struct program program;
static struct memory_budget budget;

static void begin(const struct code_files_settings *given)
{
	struct code_files_settings settings = given ? *given : (struct code_files_settings){ .root_fd = -1 };

	budget = (struct memory_budget){ .max_bytes = MEMORY_BUDGET_BYTES };
	settings.budget = &budget;
	made = made_linux_create(MADE_TREE);
	if (code_files_create(&made->guest, &settings, &files))
		exit(99);
}

static void end(void)
{
	code_files_destroy(files);
	check_u64(budget.used_bytes, 0, "all room is given back");
	made_linux_destroy(made);
}

static struct code_file *get(uint64_t file, uint64_t now_ns)
{
	struct guest_file source = { 0 };

	if (!guest_file_find_inode(&made->guest, file, &source))
		return NULL;
	return code_files_open(files, &source, now_ns);
}

static const char *function_of(const struct code_file *file)
{
	struct symtab_entry entry;

	return file && file->image->symtab &&
			       symtab_lookup(file->image->symtab, PROGRAM_FUNCTION + 4, &entry)
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
	check(file && file->state == CODE_FILE_WHOLE, "whole");
	check_string(file ? file->image->name : NULL, "server", "its name");
	check_string(function_of(file), "serve", "its symbol");
	check(file && file->loads.n == 2, "its segments");
	check(file && file->image->build_id.size_bytes == 8 && file->image->build_id.bytes[7] == 1,
	      "its build-id");
	/* another struct file of the same inode */
	other = made_file_at(made, made->root_mount, made->root_dentry,
			     made_inode_of(made, address));
	again = get(other, 100 * S);
	check(again == file && code_files_counts(files).reads == 1, "opened twice, read once");
	code_file_close(again);
	code_file_close(file);
	again = get(address, 200 * S);
	check(again == file && code_files_counts(files).reads == 1, "kept for the next process");
	code_file_close(again);
	made_set(made, made_inode_of(made, address), INODE_MTIME_SEC, 1800000000);
	again = get(address, 201 * S);
	check(again && again != file && code_files_counts(files).reads == 2, "written to: another file");
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
	check(file && file->state == CODE_FILE_INCOMPLETE, "the page with symbols is not there");
	check(file && file->loads.n == 2, "the segments are");
	check_string(function_of(file), "", "no symbol");
	check(code_files_counts(files).absent_pages > 0, "counted");
	code_file_close(file);
	for (int i = 0; i < 8; i++) {
		uint64_t reads = code_files_counts(files).reads;

		code_file_close(get(address, now + wait - 1));
		check_u64(code_files_counts(files).reads, reads, "not before its time");
		now += wait;
		code_file_close(get(address, now));
		check_u64(code_files_counts(files).reads, reads + 1, "then again");
		wait = wait * 2 > FILE_MAX_RETRY_NS ? FILE_MAX_RETRY_NS : wait * 2;
		check_u64(file->due_ns - now, wait, "later and later");
	}
	check_u64(code_files_changes(files), 0, "nothing changed by it");
	folio = made_folio(made, 2, 1, &memory);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x2000, 0x1000);
	made_cache_entry(made, inode, 2, folio);
	before = file->image;
	image_ref(file->image);
	code_file_close(get(address, now + FILE_MAX_RETRY_NS));
	check(file->state == CODE_FILE_WHOLE && file->image != before, "whole: another image");
	check_string(function_of(file), "serve", "its symbol");
	check_u64(code_files_changes(files), 1, "said so");
	check(!before->symtab, "the image that others hold is as it was");
	image_unref((struct image *)before);
	code_file_close(get(address, now + 1000 * S));
	check_u64(code_files_counts(files).retries, 9, "and never read again");
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
	code_file_close(get(address, 2 * S));
	check(file && file->loads.n == 2, "what was there and is evicted now is kept");
	check(code_files_counts(files).evicted_pages > 0, "counted");
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
	      "no program: not read again");
	check_string(file ? file->image->name : NULL, "script", "but named");
	code_file_close(file);
	program_make(&program, 0, NULL, 2);
	address = made_file(made, "/bin/stripped", program.bytes, PROGRAM_BYTES);
	file = get(address, 0);
	check(file && !file->image->symtab, "stripped");
	code_file_close(file);
	address = made_file_at(made, made->root_mount, 0x1000, made_inode_of(made, address));
	made_set(made, made_inode_of(made, address), INODE_GENERATION, 5);
	file = get(address, 0);
	check(file && file->no_path && strcmp(file->image->name, "[file]") == 0,
	      "a file without path");
	code_file_close(file);
	check(!get(0xffffffffc0000000, 0), "a file that is not there");
	end();
}

/* --- other places ----------------------------------------------------------------------------- */

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

/* What the guest has of PATH lacks page MISSING (-1: none); below --root is CONTENT. */
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

static void test_root(void)
{
	char command[64];

	if (!needs_call(SYS_openat2)) {
		printf("ok %u - --root # SKIP no openat2() here\n", ++tap_points);
		return;
	}
	if (!mkdtemp(directory))
		exit(99);
	check_root("the guest has it whole", -1, false, 1, 1, "from_guest");
	check_root("a page is missing", 2, false, 1, 1, "from_root");
	check_root("another build-id", 2, false, 1, 2, "");
	check_root("no header: the same size", 0, false, 1, 2, "from_root");
	check_root("no build-id here: the same size", 2, false, 0, 2, "from_root");
	check_root("deleted, and not known to be the same", 0, true, 1, 1, "");
	check_root("deleted, the same build-id", 2, true, 1, 1, "from_root");
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
	check_string(function_of(file), "given", "-k of the same build-id");
	check(file && file->loads.n == 2, "the segments are the guest's");
	code_file_close(file);
	program_make(&program, 0, "own", 4);
	file = get(made_file(made, "/b", program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "own", "of another build-id");
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
	check_u64(n, CODE_FILES_MAX, "as many files as are allowed, all in use");
	check(!get(address[CODE_FILES_MAX], 0) && code_files_counts(files).no_room == 1, "no room for more");
	code_file_close(kept[7]);
	code_file_close(kept[9]);
	code_file_close(get(address[7], 0)); /* used later than 9 */
	file = get(address[CODE_FILES_MAX], 0);
	check(file == kept[9], "the one unused for longest makes room");
	reads = code_files_counts(files).reads;
	code_file_close(get(address[7], 0));
	check_u64(code_files_counts(files).reads, reads, "the other is still there");
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (i != 7 && i != 9)
			code_file_close(kept[i]);
	code_file_close(file);
	end();
}

/* Room for what is there, and no more: unused files make way, used ones do not. */
static void test_room(void)
{
	struct code_file *a, *b;
	uint64_t first, second, inode;
	size_t whole_bytes;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	first = made_file(made, "/a", program.bytes, PROGRAM_BYTES);
	second = made_file(made, "/b", program.bytes, PROGRAM_BYTES);
	a = get(first, 0);
	check_u64(budget.used_bytes, a ? image_memory_bytes(a->image) : 0, "the tables of one");
	budget.max_bytes = whole_bytes = budget.used_bytes;
	b = get(second, 0);
	check(!b && code_files_counts(files).no_room == 1 && code_files_counts(files).reads == 1,
	      "no room for another: it is not even read");
	code_file_close(a);
	b = get(second, 0);
	check_string(function_of(b), "serve", "the first is not used any more: room");
	check(code_files_counts(files).kept == 1 && budget.used_bytes <= whole_bytes, "it is gone");
	code_file_close(b);
	end();

	begin(NULL);
	first = made_file(made, "/a", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, first);
	made_cache_entry(made, inode, 2, 0);
	a = get(first, 0);
	budget.max_bytes = budget.used_bytes;
	b = get(first, 1 * S);
	check(a && a == b && code_files_counts(files).reads == 1 && code_files_counts(files).no_room == 1,
	      "no room to read it again");
	budget.max_bytes++;
	code_file_close(get(first, 4 * S));
	check_u64(code_files_counts(files).reads, 2, "later there is");
	code_file_close(a);
	code_file_close(b);
	end();
}

/* A symbol in a section that there is not: those before it are kept, and the file is counted. */
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
	check_string(function_of(file), "serve", "before the damage");
	check_u64(code_files_counts(files).cut, 1, "counted");
	code_file_close(file);
	end();
}

/* --- code by its frame ------------------------------------------------------------------------ */

static frame_t frame_of(uint64_t inode, uint64_t page)
{
	struct page_cache cache;
	frame_t frame = FRAME(0);

	memory_refresh(made->guest.memory);
	if (!page_cache_init(&cache, &made->guest, inode) ||
	    !page_cache_frame(&cache, page, &frame))
		check(false, "page %" PRIu64 " has a frame", page);
	return frame;
}

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
	frame = frame_of(inode, 1);
	headers = frame_of(inode, 0);
	before = now();
	check(is_by_frame(frame, before, NULL), "of a file that was not met");
	file = get(address, 0);
	check(is_by_frame(frame, now(), file), "its code");
	check_u64(code_files_counts(files).by_frame, 1, "counted");
	check(is_by_frame(headers, now(), NULL), "what is no code");
	check(is_by_frame(FRAME(0), now(), NULL), "no frame");
	check(is_by_frame(FRAME(frame.value + 1), now(), NULL), "another frame");
	check(is_by_frame(frame, before, NULL),
	      "before it was seen there it may have been another's");
	code_file_close(file);
	check(is_by_frame(frame, now(), file), "when nobody maps it any more");

	/* The page goes: evicted, and read again into another frame. */
	made_cache_entry(made, inode, 1, 0);
	check(is_by_frame(frame, now(), NULL), "evicted since");
	folio = made_folio(made, 1, 1, &memory);
	made_cache_entry(made, inode, 1, folio);
	check(is_by_frame(frame, now(), NULL), "and read into another frame");
	check(is_by_frame(frame_of(inode, 1), now(), NULL), "which was not seen before");
	file = get(address, 2 * S);
	check(is_by_frame(frame_of(inode, 1), now(), file), "until it is looked for again");
	check(is_by_frame(frame, now(), NULL), "the old one stays nobody's");

	/* Its frame is another file's now. */
	frame = frame_of(inode, 1);
	made_cache_entry(made, inode, 1, 0);
	program_make(&program, 0, "steal", 2);
	swapped = made_file(made, "/bin/other", program.bytes, PROGRAM_BYTES);
	made_cache_entry(made, made_inode_of(made, swapped), 1, folio);
	check(is_by_frame(frame, now(), NULL), "another file's page that nobody has met");
	other = get(swapped, 2 * S);
	check(is_by_frame(frame, now(), other), "and when it is met that one's");
	code_file_close(other);
	code_file_close(file);
	end();
}

/* The inode is not what it was. */
static void test_by_frame_identity(void)
{
	struct code_file *file;
	uint64_t address, inode;
	frame_t frame;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, address);
	frame = frame_of(inode, 1);
	file = get(address, 0);
	check(is_by_frame(frame, now(), file), "its code");
	made_set(made, inode, INODE_MTIME_SEC, 1800000000);
	check(is_by_frame(frame, now(), NULL), "written to");
	made_set(made, inode, INODE_MTIME_SEC, 1700000000);
	made_set(made, inode, INODE_INO, 77);
	check(is_by_frame(frame, now(), NULL), "another inode in its place");
	made_unmap(made->memory, made->guest.root, inode, 8);
	check(is_by_frame(frame, now(), NULL), "nothing in its place");
	code_file_close(file);
	check(code_files_drop_unused(files), "no longer known");
	check(is_by_frame(frame, now(), NULL), "nor is what lay in its frames");
	end();
}

/* Pages that come one by one. */
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
	check(file && file->state == CODE_FILE_WHOLE, "what tells names is there");
	folio = made_folio(made, 1, 1, &memory);
	made_cache_entry(made, inode, 1, folio);
	code_file_close(get(address, S - 1));
	check(is_by_frame(frame_of(inode, 1), now(), NULL), "not looked for yet");
	code_file_close(get(address, S));
	check(is_by_frame(frame_of(inode, 1), now(), file), "a second later it is");
	code_file_close(file);
	end();
}

/* Segments as large as a number can be: all of a walk's looks are spent on the first file. */
static void test_by_frame_hostile(void)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(program.bytes + sizeof(Elf64_Ehdr));
	struct code_file *liar, *file;
	uint64_t address;
	frame_t frame;

	begin(NULL);
	program_make(&program, 0, "serve", 1);
	address = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	frame = frame_of(made_inode_of(made, address), 1);
	segments[0].p_flags = segments[1].p_flags = PF_R | PF_X;
	segments[0].p_offset = UINT64_MAX - 0xfff;
	segments[0].p_filesz = segments[1].p_filesz = UINT64_MAX / 2;
	code_files_begin_walk(files);
	liar = get(made_file(made, "/bin/liar", program.bytes, PROGRAM_BYTES), 0);
	check(liar && liar->loads.n == 2, "taken as it says");
	file = get(address, 0);
	check(is_by_frame(frame, now(), NULL), "another's is not looked for in that walk");
	code_files_begin_walk(files);
	code_file_close(get(address, 0));
	check(is_by_frame(frame, now(), file), "but in the next");
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
	test_room();
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
