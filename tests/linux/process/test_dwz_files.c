/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files as Debian's packages have them: dwz has moved what several files have in common to one
 * of its own, in .dwz/, and .gnu_debugaltlink leads there. Made here by dwz -m out of programs of the
 * build: names, lines and inlined functions are those of the program that dwz did not see. And one of
 * a package of Debian's, as installed: tests/lines/programs compares it with other tools.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/process/debug_files.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

#define ALT    "/.dwz/x86_64-linux-gnu/xtop.debug" /* a file below /usr/lib/debug */
#define WAIT_S 60

struct fixture {
	char top[sizeof("/tmp/xtop-dwz-XXXXXX")];
	struct os_folders folders;
	struct debug_places places;
	uint32_t whole; /* lines of the program that has all of its DWARF */
	uint64_t outer_start, outer_end;
};

static int open_file(struct fixture *fixture, const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fixture->top, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		exit(99);
	return fd;
}

/*
 * "prog" becomes a stripped program, whose debug file shares DWARF with those of "twin" and "other".
 * "whole" stays. False: dwz is not here, or does not take what this compiler writes.
 */
static bool make_files(struct fixture *fixture, const char *build)
{
	shell("cp %s/tests/lines/inlined %s/whole && cp %s/tests/lines/lines_of %s/other", build,
	      fixture->top, build, fixture->top);
	shell("cd %s && mkdir -p debug/.dwz/x86_64-linux-gnu empty && cp whole prog && cp whole twin && "
	      "for file in prog twin other; do objcopy --only-keep-debug $file $file.debug; done && "
	      "strip prog && { dwz -m debug" ALT " -M /usr/lib/debug" ALT
	      " prog.debug twin.debug other.debug >said 2>&1 || :; }",
	      fixture->top);
	shell("cd %s && id=$(readelf -n prog | sed -n 's/.*Build ID: //p') && "
	      "folder=debug/.build-id/${id%%${id#??}} && mkdir -p $folder && "
	      "cp prog.debug $folder/${id#??}.debug && readelf -W --debug-dump=abbrev prog.debug | "
	      "grep -o 'DW_FORM_GNU_[a-z_]*' | sort -u >forms",
	      fixture->top);
	shell("cd %s && printf 'DW_FORM_GNU_ref_alt\\nDW_FORM_GNU_strp_alt\\n' | cmp -s - forms && "
	      "touch shared || :",
	      fixture->top);
	fixture->folders =
		(struct os_folders){ .n = 1,
				     .fds = { open_file(fixture, "debug", O_PATH | O_DIRECTORY) } };
	return faccessat(fixture->folders.fds[0], "../shared", F_OK, 0) == 0;
}

static struct image *read_program(struct fixture *fixture)
{
	struct loads loads = { .n = 0 };
	struct image *image;
	int fd = open_file(fixture, "prog", O_RDONLY);

	must(image_create("prog", &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

/* --- names ------------------------------------------------------------------------------------ */

static size_t count_names_but_stubs(const struct image *image)
{
	size_t n = image->symtab ? symtab_count(image->symtab) : 0, stubs = 0;

	for (size_t i = 0; i < n; i++)
		stubs += strstr(symtab_at(image->symtab, i).name, "@plt") != NULL;
	return n - stubs;
}

static struct image *test_names(struct fixture *fixture)
{
	struct image *image = read_program(fixture);

	check_u64(count_names_but_stubs(image), 0, "names of a stripped program, but for stubs");
	check(debug_files_read(&fixture->places, image, NULL),
	      "the program's debug file is found by build-id");
	for (size_t i = 0; i < symtab_count(image->symtab); i++) {
		struct symtab_entry entry = symtab_at(image->symtab, i);

		if (strcmp(entry.name, "outer") == 0) {
			fixture->outer_start = entry.start;
			fixture->outer_end = entry.end;
		}
	}
	check(fixture->outer_end > fixture->outer_start,
	      "outer() has its name, which stays in the debug file");
	return image;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A new reader, which knows no files but the whole program's. */
static void start_lines(struct fixture *fixture)
{
	int fd = open_file(fixture, "whole", O_RDONLY);

	line_client_stop(lines);
	must(line_client_start(&elf_lines_reader, &lines));
	fixture->places.lines = lines;
	fixture->whole = line_client_add_file(lines, fd, -1, "whole", NULL, 0);
	close(fd);
}

static void find(uint32_t file, uint64_t address, struct line_answer *answer)
{
	const struct line_place place = { .address = address };

	answer->n = 0;
	line_client_find(lines, file, &place, true, answer);
	line_client_wait(lines, WAIT_S);
	line_client_find(lines, file, &place, true, answer);
}

static bool is_same(const struct line_answer *a, const struct line_answer *b)
{
	bool same = a->n == b->n;

	for (unsigned i = 0; same && i < a->n; i++)
		same = strcmp(a->frames[i].function, b->frames[i].function) == 0 &&
		       strcmp(a->frames[i].file, b->frames[i].file) == 0 &&
		       a->frames[i].line == b->frames[i].line &&
		       a->frames[i].column == b->frames[i].column;
	return same;
}

static bool is_chain(const struct line_answer *answer)
{
	return answer->n == 3 && strcmp(answer->frames[0].function, "inner") == 0 &&
	       strcmp(answer->frames[1].function, "middle") == 0 &&
	       strcmp(answer->frames[2].function, "outer") == 0;
}

/* Places of outer() where FILE says what the whole program says; *N_CHAINSP: with all three functions. */
static unsigned count_same(struct fixture *fixture, uint32_t file, unsigned *n_chainsp)
{
	unsigned n = 0, n_chains = 0;

	for (uint64_t address = fixture->outer_start; address < fixture->outer_end; address++) {
		struct line_answer by_whole, by_file;

		find(fixture->whole, address, &by_whole);
		find(file, address, &by_file);
		n += by_whole.n && is_same(&by_whole, &by_file);
		n_chains += is_chain(&by_file);
	}
	*n_chainsp = n_chains;
	return n;
}

static void test_lines(struct fixture *fixture, struct image *image)
{
	unsigned n_chains, n;

	start_lines(fixture);
	debug_files_find_lines(&fixture->places, image, NULL, NULL, 0);
	check(image->lines, "the program's debug file has lines");
	n = count_same(fixture, image->lines, &n_chains);
	check_u64(n, fixture->outer_end - fixture->outer_start,
		  "number of places with the same functions, files and lines as without dwz");
	check(n_chains > 0, "inner() in middle() in outer(), at %u places", n_chains);
}

/* Where the shared file should be lies one of another build. */
static void test_without(struct fixture *fixture)
{
	struct image *image = read_program(fixture);
	struct line_answer answer;
	unsigned n_chains;

	shell("mv %s/debug%s %s/alt && cp %s/twin %s/debug%s", fixture->top, ALT, fixture->top,
	      fixture->top, fixture->top, ALT);
	start_lines(fixture);
	debug_files_find_lines(&fixture->places, image, NULL, NULL, 0);
	check(image->lines, "a file of another build is not used as the shared one");
	count_same(fixture, image->lines, &n_chains);
	check_u64(n_chains, 0, "number of chains without the shared file");
	find(image->lines, fixture->outer_start, &answer);
	check(answer.n == 1 && answer.frames[0].line && !answer.frames[0].function[0],
	      "without the shared file the line is known, and the function has its symbol's name");
	image_unref(image);
}

/* As other packages have it: by its own build-id, wherever .gnu_debugaltlink leads. */
static void test_by_id(struct fixture *fixture)
{
	struct image *image = read_program(fixture);
	unsigned n_chains;

	shell("cd %s && rm debug" ALT " && id=$(readelf -n alt | sed -n 's/.*Build ID: //p') && "
	      "folder=debug/.build-id/${id%%${id#??}} && mkdir -p $folder && "
	      "cp alt $folder/${id#??}.debug",
	      fixture->top);
	start_lines(fixture);
	debug_files_find_lines(&fixture->places, image, NULL, NULL, 0);
	check_u64(count_same(fixture, image->lines, &n_chains),
		  fixture->outer_end - fixture->outer_start,
		  "number of equal places with the shared file found by build-id");
	image_unref(image);
}

/* --- a package -------------------------------------------------------------------------------- */

/* Debian 12 has this library in libkrb5-3; its debug file, in libkrb5-dbg, shares DWARF with others. */
#define PACKAGED     "/usr/lib/x86_64-linux-gnu/krb5/plugins/preauth/spake.so"
#define PACKAGED_ALT "/.dwz/x86_64-linux-gnu/libkrb5-3.debug" /* a file below /usr/lib/debug */

#ifdef SANITIZED
#define STEP_BYTES 32 /* a place takes 30 times as long */
#else
#define STEP_BYTES 8
#endif

/* The functions of every place STEP_BYTES on, inlined ones too; *N_NAMEDP: those with a name. */
static size_t count_functions(const struct image *image, size_t *n_namedp)
{
	size_t n = 0;

	*n_namedp = 0;
	for (size_t i = 0; i < symtab_count(image->symtab); i++) {
		struct symtab_entry entry = symtab_at(image->symtab, i);

		for (uint64_t at = entry.start; at < entry.end; at += STEP_BYTES) {
			struct line_answer answer;

			find(image->lines, at, &answer);
			n += answer.n;
			for (unsigned j = 0; j < answer.n; j++)
				*n_namedp += answer.frames[j].function[0] != '\0';
		}
	}
	return n;
}

/* Copies of the package's debug file, and if ALT of the shared one, as the only ones there are. */
static struct image *read_packaged(struct fixture *fixture, bool alt)
{
	struct loads loads = { .n = 0 };
	struct image *image;
	int fd = open(PACKAGED, O_RDONLY | O_CLOEXEC);

	shell("cd %s && rm -rf package && id=$(readelf -n " PACKAGED
	      " 2>said | sed -n 's/.*Build ID: //p') && folder=.build-id/${id%%${id#??}} && "
	      "mkdir -p package/$folder && "
	      "cp /usr/lib/debug/$folder/${id#??}.debug package/$folder",
	      fixture->top);
	if (alt)
		shell("cd %s/package && mkdir -p .dwz/x86_64-linux-gnu && "
		      "cp /usr/lib/debug" PACKAGED_ALT " ." PACKAGED_ALT,
		      fixture->top);
	close(fixture->folders.fds[0]);
	fixture->folders.fds[0] = open_file(fixture, "package", O_PATH | O_DIRECTORY);
	must(image_create("spake.so", &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

/* How many functions IMAGE has; *N_STUBSP: stubs besides. */
static size_t count_symbols(const struct image *image, size_t *n_stubsp)
{
	size_t n = image->symtab ? symtab_count(image->symtab) : 0;

	*n_stubsp = 0;
	for (size_t i = 0; i < n; i++) {
		struct symtab_entry entry = symtab_at(image->symtab, i);

		*n_stubsp += symtab_entry_is_stub(&entry);
	}
	return n - *n_stubsp;
}

static void test_package(struct fixture *fixture)
{
	struct image *image = read_packaged(fixture, true);
	size_t n_stubs, n_exported = count_symbols(image, &n_stubs), n_kept, n, n_named;

	start_lines(fixture);
	check(debug_files_read(&fixture->places, image, NULL), "a package's debug file is found");
	n = count_symbols(image, &n_kept);
	check(n > n_exported + 50, "%zu functions, of which it exports %zu", n, n_exported);
	check(n_stubs > 10 && n_kept == n_stubs, "%zu stubs, and %zu in the file", n_kept, n_stubs);
	debug_files_find_lines(&fixture->places, image, NULL, NULL, 0);
	n = count_functions(image, &n_named);
	check(n > 1000 && n_named == n, "%zu of %zu functions have a name", n_named, n);
	image_unref(image);

	image = read_packaged(fixture, false);
	start_lines(fixture);
	check(debug_files_read(&fixture->places, image, NULL),
	      "a package's debug file is found without the shared file");
	debug_files_find_lines(&fixture->places, image, NULL, NULL, 0);
#ifndef SANITIZED /* outside the sandbox libdw opens the installed file itself, and searches it each time */
	size_t n_without;

	count_functions(image, &n_without);
	if (!emulator_lacks("walls"))
		check(n_without < n_named, "%zu names: the others are in the shared file", n_without);
#endif
	image_unref(image);
}

int main(void)
{
	static struct fixture fixture = { .top = "/tmp/xtop-dwz-XXXXXX",
					  .places = { .folders = &fixture.folders,
						      .root_fd = -1 } };
	const char *build = getenv("top_builddir");
	struct image *image;

	if (!mkdtemp(fixture.top))
		exit(99);
	if (!make_files(&fixture, build ? build : ".")) {
		printf("ok 1 - # SKIP no dwz here, or it leaves the DWARF of this compiler as it is\n1..1\n");
		shell("rm -r %s", fixture.top);
		return 0;
	}
	image = test_names(&fixture);
	test_lines(&fixture, image);
	test_without(&fixture);
	test_by_id(&fixture);
	image_unref(image);
	if (access(PACKAGED, R_OK) == 0 && access("/usr/lib/debug" PACKAGED_ALT, R_OK) == 0)
		test_package(&fixture);
	else
		printf("# no " PACKAGED ", or no debug files of it\n");
	line_client_stop(lines);
	shell("rm -r %s", fixture.top);
	return tap_done();
}
