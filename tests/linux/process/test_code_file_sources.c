/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of dom0 that complete a file of the guest: --root, --debug-dir, debuginfod and -k. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "supervise/fetcher.h"
#include "tests/linux/process/code_fixture.h"
#include "tests/support/fetched_file.h"
#include "tests/support/shell.h"
#include "xtop/supervise/fetch.h"

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
/* A file of the guest, and one below --root. */
struct root_case {
	const char *what;
	int missing; /* page of the guest's file that is not in its memory; -1: all are */
	bool deleted;
	unsigned char id, root_id; /* build-ids; 0: none */
	const char *want;          /* the function that is found */
};

static void check_root(struct code_fixture *fixture, const struct root_case *root)
{
	struct code_files_settings settings = { .debug.root_fd =
							open(directory, O_PATH | O_CLOEXEC) };
	struct program other;
	struct code_file *file;
	uint64_t address;

	begin(fixture, &settings);
	program_make(&other, 0, "from_root", root->root_id);
	write_root("prog", &other);
	program_make(&fixture->program, 0, "from_guest", root->id);
	address = made_file(fixture->made, "/prog", fixture->program.bytes, PROGRAM_BYTES);
	if (root->missing >= 0)
		made_cache_entry(fixture->made, made_inode_of(fixture->made, address),
				 root->missing, 0);
	if (root->deleted) {
		uint64_t dentry;

		linux_read_u64(&fixture->made->guest,
			       address + made_offset(fixture->made, FILE_PATH) + 8, &dentry);
		made_set(fixture->made, dentry, DENTRY_HASH_PPREV, 0);
	}
	file = get(fixture, address, 0);
	check_string(function_of(file), root->want, root->what);
	code_file_close(file);
	end(fixture);
	close(settings.debug.root_fd);
}

/* A stripped program, whose functions are in a file of dom0 that has the same build-id. */
static void test_debug_dir(struct code_fixture *fixture)
{
	struct os_folders folders = { .n = 1 };
	struct code_files_settings settings = { .debug = { &folders, -1, NULL, NULL } };
	char command[128];
	struct code_file *file;

	snprintf(command, sizeof(command), "mkdir -p %s/.build-id/05", directory);
	if (system(command))
		exit(99);
	program_make(&fixture->program, 0, "from_debug", 5);
	write_root(".build-id/05/05050505050505.debug", &fixture->program);
	folders.fds[0] = open(directory, O_PATH | O_CLOEXEC);
	begin(fixture, &settings);
	program_make(&fixture->program, 0, NULL, 5);
	file = get(fixture,
		   made_file(fixture->made, "/stripped", fixture->program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "from_debug",
		     "a stripped program has the names of its debug file");
	check(file && file->state == CODE_FILE_WHOLE && file->loads.n == 2,
	      "a stripped program has the segments of the guest's file");
	check_u64(file->charged_bytes, image_memory_bytes(file->image),
		  "the names of a debug file are charged");
	code_file_close(file);
	program_make(&fixture->program, 0, "own", 5);
	file = get(fixture,
		   made_file(fixture->made, "/whole", fixture->program.bytes, PROGRAM_BYTES), 0);
	check_string(function_of(file), "own", "a program with symbols needs no debug file");
	code_file_close(file);
	end(fixture);
	close(folders.fds[0]);
}

static int find_debug_file(const uint8_t *build_id, size_t size_bytes, const char *source,
			   char message[96])
{
	struct program debug;
	(void)message;
	if (*source || build_id[0] != 6 || size_bytes != 8)
		return -1;
	program_make(&debug, 0, "fetched", 6);
	return fetched_file_make(debug.bytes, sizeof(debug.bytes));
}

static void poll_names(struct code_fixture *fixture, const struct code_file *file)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < 20000 && file->image->awaits_names; i++) {
		code_files_poll(fixture->files, 0);
		nanosleep(&ms, NULL);
	}
}

/* Names that come later: the image stays, and whoever has it hears of it. */
static void test_fetched(struct code_fixture *fixture)
{
	char cache[] = "/tmp/xtop-code-files-XXXXXX";
	const struct fetcher_settings settings = { .find = find_debug_file, .cache = cache };
	struct code_files_settings files = { .debug.root_fd = -1 };
	struct code_file *file, *other;
	const struct image *image;
	uint64_t names;

	if (!mkdtemp(cache))
		abort();
	must(fetch_start_with(&settings, &files.debug.fetch));
	begin(fixture, &files);
	program_make(&fixture->program, 0, NULL, 6);
	file = get(fixture, made_file(fixture->made, "/a", fixture->program.bytes, PROGRAM_BYTES),
		   0);
	image = file->image;
	code_files_poll(fixture->files, 0);
	check(image->awaits_names && !code_files_names(fixture->files),
	      "nothing is fetched before a function without a symbol is met");
	file->image->wants_names = true;
	names = code_files_changes(fixture->files);
	poll_names(fixture, file);
	check_string(function_of(file), "fetched", "a fetched debug file gives names");
	check(file->image == image && code_files_names(fixture->files) == 1 &&
		      code_files_changes(fixture->files) > names,
	      "an image that got names stays, and the change is counted");
	check_u64(file->charged_bytes, image_memory_bytes(image),
		  "the names of a fetched file are charged");
	program_make(&fixture->program, 0, NULL, 9);
	other = get(fixture, made_file(fixture->made, "/b", fixture->program.bytes, PROGRAM_BYTES),
		    0);
	other->image->wants_names = true;
	poll_names(fixture, other);
	check(!other->image->awaits_names && !other->image->symtab &&
		      code_files_names(fixture->files) == 1,
	      "no file is fetched that no server has");
	program_make(&fixture->program, 0, NULL, 6);
	code_file_close(other);
	other = get(fixture, made_file(fixture->made, "/c", fixture->program.bytes, PROGRAM_BYTES),
		    0);
	check_string(function_of(other), "fetched",
		     "a file that was fetched before gives names at once");
	code_file_close(other);
	code_file_close(file);
	check_u64(code_files_counts(fixture->files).fetched, 2,
		  "both images with fetched names are counted");
	end(fixture);
	fetch_stop(files.debug.fetch);
	shell("rm -r %s", cache);
}

static void test_root(struct code_fixture *fixture)
{
	static const struct root_case roots[] = {
		{ "the guest has the whole file", -1, false, 1, 1, "from_guest" },
		{ "the page with the symbols is missing", 2, false, 1, 1, "from_root" },
		{ "the file below --root has another build-id", 2, false, 1, 2, "" },
		{ "the header is missing: sizes are compared", 0, false, 1, 2, "from_root" },
		{ "the guest's file has no build-id: sizes are compared", 2, false, 0, 2,
		  "from_root" },
		{ "a deleted file without a build-id", 0, true, 1, 1, "" },
		{ "a deleted file with the same build-id", 2, true, 1, 1, "from_root" },
	};
	char command[64];

	if (!mkdtemp(directory))
		exit(99);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		check_root(fixture, &roots[i]);
	test_debug_dir(fixture);
	test_fetched(fixture);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		exit(99);
}

static void test_given(struct code_fixture *fixture)
{
	struct code_files_settings settings = { .debug.root_fd = -1 };
	struct symbols *symbols;
	struct symtab *tab;
	struct build_id id = { .size_bytes = 8, .bytes = { 3, 3, 3, 3, 3, 3, 3, 3 } };
	struct code_file *file;

	if (symbols_create(&symbols) || symtab_create(&tab) ||
	    symtab_add(tab, &(struct symbol_definition){ .start = PROGRAM_FUNCTION,
							 .size_bytes = 0x80,
							 .rank = SYMBOL_GLOBAL,
							 .name = "given",
							 .name_bytes = 5 }) ||
	    symtab_seal(tab) || symbols_add_table(symbols, tab, "debug", &id))
		exit(99);
	settings.symbols = symbols;
	begin(fixture, &settings);
	program_make(&fixture->program, 0, NULL, 3);
	file = get(fixture, made_file(fixture->made, "/a", fixture->program.bytes, PROGRAM_BYTES),
		   0);
	check_string(function_of(file), "given",
		     "-k's names are used for a file with their build-id");
	check(file && file->loads.n == 2,
	      "a file with names of -k has the segments of the guest's file");
	code_file_close(file);
	program_make(&fixture->program, 0, "own", 4);
	file = get(fixture, made_file(fixture->made, "/b", fixture->program.bytes, PROGRAM_BYTES),
		   0);
	check_string(function_of(file), "own",
		     "-k's names are not used for a file with another build-id");
	code_file_close(file);
	end(fixture);
	symbols_destroy(symbols);
}

int main(void)
{
	struct code_fixture fixture = { 0 };

	test_root(&fixture);
	test_given(&fixture);
	return tap_done();
}
