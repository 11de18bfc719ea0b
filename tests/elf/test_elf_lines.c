/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines out of DWARF, by the process without rights: of a program whose lines are known, of
 * damaged copies of it, and of files that are none. tests/lines/compare holds many more addresses
 * against eu-addr2line and addr2line.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

#define WAIT_S    60
#define N_DAMAGED 100 /* damaged files that are tried; at most LINE_MAX_FILES can be added */

static char source_path[4096];

/* The line of tests/lines/inlined.c that has WORD in its comment. */
static unsigned line_of(const char *word)
{
	FILE *file = fopen(source_path, "re");
	char text[256];
	unsigned line = 0, found = 0;

	while (file && fgets(text, sizeof(text), file)) {
		line++;
		if (strstr(text, word))
			found = line;
	}
	if (file)
		fclose(file);
	return found;
}

static struct line_place place_in(const char *symbol, uint64_t offset)
{
	struct line_place place = { .address = offset };

	snprintf(place.symbol, sizeof(place.symbol), "%s", symbol);
	return place;
}

static enum line_state find(uint32_t file, const struct line_place *place,
			     struct line_answer *answer)
{
	answer->n = 0;
	line_client_find(lines, file, place, true, answer);
	line_client_wait(lines, WAIT_S);
	return line_client_find(lines, file, place, true, answer);
}

/* An answer somewhere in outer() with all three functions. */
static bool find_chain(uint32_t file, struct line_answer *answer)
{
	for (uint64_t offset = 0; offset < 200; offset++) {
		struct line_place place = place_in("outer", offset);

		if (find(file, &place, answer) == LINE_KNOWN && answer->n == 3 &&
		    answer->frames[0].line == line_of("/* INNER */"))
			return true;
	}
	return false;
}

static void check_frame(const struct line_frame *frame, const char *function, const char *word)
{
	const char *slash = strrchr(frame->file, '/');

	check_string(frame->function, function, "function of an inlined frame");
	check_string(slash ? slash + 1 : frame->file, "inlined.c", "file of an inlined frame");
	check_u64(frame->line, line_of(word), "line of an inlined frame");
}

static void test_chain(uint32_t file)
{
	struct line_answer answer = { 0 };
	struct line_place place;

	check(find_chain(file, &answer), "outer() has inner() inlined");
	if (answer.n == 3) {
		check_frame(&answer.frames[0], "inner", "/* INNER */");
		check_frame(&answer.frames[1], "middle", "/* MIDDLE */");
		check_frame(&answer.frames[2], "outer", "/* OUTER */");
	}
	place = place_in("no_such_function", 0);
	check(find(file, &place, &answer) == LINE_KNOWN && !answer.n,
	      "a symbol that does not exist has no lines");
	place = place_in("outer", 0);
	place.size_bytes = 1 << 20;
	check(find(file, &place, &answer) == LINE_KNOWN && !answer.n,
	      "a symbol of another size, of another build, has no lines");
	place = place_in("", 16);
	check(find(file, &place, &answer) == LINE_KNOWN && !answer.n,
	      "an address without code has no lines");
}

/* Makes the file PATH, a template, for what COMPILER makes. False: there is no such compiler here. */
static bool begin_program(char *path, const char *compiler)
{
	char command[64];
	int fd = mkstemp(path);

	if (fd < 0)
		exit(99);
	close(fd);
	snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", compiler);
	if (!system(command))
		return true;
	printf("ok %u - # SKIP no %s here\n", ++tap_points, compiler);
	unlink(path);
	return false;
}

/* A lambda's operator() is a function in a function. Compiled here, because the tree builds no C++. */
static void test_lambda(void)
{
	char path[] = "/tmp/xtop-lambda-XXXXXX";
	struct line_place place = place_in("_ZZ6aroundENKUljE_clEj", 0);
	struct line_answer answer = { 0 };
	int fd;

	if (!begin_program(path, "c++"))
		return;
	shell("c++ -g -O0 -o %s %.*s/lambda.cc", path, (int)(strrchr(source_path, '/') - source_path),
	      source_path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(find(line_client_add_file(lines, fd, -1, "lambda", NULL, 0), &place, &answer) ==
			      LINE_KNOWN &&
		      answer.n == 1,
	      "a lambda has a function");
	check(answer.n && (strcmp(answer.frames[0].function, "operator()") == 0 ||
			   strcmp(answer.frames[0].function, place.symbol) == 0),
	      "the lambda's function has the lambda's name: %s",
	      answer.n ? answer.frames[0].function : "");
	close(fd);
	unlink(path);
}

static bool has_lines(uint32_t file, const char *symbol, uint64_t size_bytes)
{
	struct line_place place = place_in(symbol, 0);
	struct line_answer answer = { 0 };

	place.size_bytes = size_bytes;
	return find(file, &place, &answer) == LINE_KNOWN && answer.n;
}

/* Kernels say of a module's last function that it ends with the page. */
static void test_module(void)
{
	char path[] = "/tmp/xtop-module-XXXXXX";
	uint32_t file;
	int fd;

	if (!begin_program(path, "cc"))
		return;
	shell("echo 'int first(void) { return 1; } int last(void) { return 2; }' |"
	      "cc -x c -g -O0 -c -o %s -",
	      path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	file = line_client_add_file(lines, fd, -1, "[module]", NULL, 0);
	check(has_lines(file, "first", 0) && has_lines(file, "first", 64),
	      "a module's function has lines");
	check(!has_lines(file, "first", 4032),
	      "a module's first function does not end with the page");
	check(has_lines(file, "last", 4032), "a module's last function ends with the page");
	check(!has_lines(file, "last", 1 << 20) && !has_lines(file, "last", 1),
	      "a module's last function has no other size");
	close(fd);
	unlink(path);
}

/* Counted from an anchor, and from the other end of the address space. */
static void test_anchor(int fd)
{
	const uint64_t at = 0xffffffff9c000000;
	uint32_t moved = line_client_add_file(lines, fd, -1, "moved", "outer", at);
	struct line_place place = { .address = at };
	struct line_answer answer = { 0 };

	check(find(moved, &place, &answer) == LINE_KNOWN && answer.n,
	      "a file with an anchor has lines");
	if (answer.n)
		check_string(answer.frames[answer.n - 1].function, "outer",
			     "function at the anchor's address");
}

/* --- files that are damaged ------------------------------------------------------------------- */

static uint64_t random_state = 14;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((random_state >> 33) % limit);
}

static int make_file(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		must(error_create("no file in memory"));
	return fd;
}

/* Some bytes of it are others, or it ends early. */
static int damage(const uint8_t *bytes, size_t n)
{
	uint8_t *copy = malloc(n);
	size_t left = random_below(4) ? n : 1 + random_below((uint32_t)n);
	int fd;

	memcpy(copy, bytes, n);
	for (uint32_t i = 1U << random_below(12); i > 0; i--)
		copy[random_below((uint32_t)n)] = (uint8_t)random_below(256);
	memcpy(copy, bytes, 16); /* mostly still ELF */
	fd = make_file(copy, left);
	free(copy);
	return fd;
}

static void test_damaged(int fd)
{
	struct line_client_progress before, after;
	unsigned answered = 0, n = N_DAMAGED;
	struct stat status;
	uint8_t *bytes;

	fstat(fd, &status);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	line_client_get_progress(lines, &before);
	for (unsigned i = 0; i < n; i++) {
		int damaged = damage(bytes, (size_t)status.st_size);
		uint32_t file = line_client_add_file(lines, damaged, -1, "damaged", NULL, 0);
		struct line_answer answer = { 0 };

		for (uint64_t offset = 0; offset < 64; offset += 8) {
			struct line_place by_symbol = place_in("outer", offset),
					  by_address = { .address = 0x1000 + 16 * offset };

			line_client_find(lines, file, &by_symbol, true, &answer);
			line_client_find(lines, file, &by_address, true, &answer);
		}
		answered += line_client_wait(lines, WAIT_S);
		close(damaged);
	}
	line_client_get_progress(lines, &after);
	check(answered == n,
	      "%u of %u damaged files: all questions are answered; %u are known to be bad",
	      answered, n, after.n_bad - before.n_bad);
	check(after.n_bad > before.n_bad, "the message about the last damaged file: %s",
	      after.message);
	munmap(bytes, (size_t)status.st_size);
}

static void test_others(void)
{
	static const uint8_t text[] = "this is no ELF file, but some text";
	struct line_place place = place_in("outer", 0);
	struct line_client_progress progress;
	struct line_answer answer;
	struct elf_image image;
	int no_elf = make_file(text, sizeof(text)), empty = make_file(text, 0), module;

	check(find(line_client_add_file(lines, no_elf, -1, "text", NULL, 0), &place, &answer) ==
		      LINE_OFF,
	      "a text file has no lines");
	check(find(line_client_add_file(lines, empty, -1, "empty", NULL, 0), &place, &answer) ==
		      LINE_OFF,
	      "an empty file has no lines");
	elf_image_init(&image);
	image.header.e_type = ET_REL;
	module = elf_image_fd(&image);
	check(find(line_client_add_file(lines, module, -1, "module", NULL, 0), &place, &answer) ==
		      LINE_OFF,
	      "a module without DWARF has no lines");
	line_client_get_progress(lines, &progress);
	check(strstr(progress.message, "found"), "the message says why: %s", progress.message);
	close(module);
	close(no_elf);
	close(empty);
}

int main(void)
{
	const char *source = getenv("top_srcdir"), *build = getenv("top_builddir");
	const char *more = getenv("XTOP_DAMAGED"); /* rounds of damaged files */
	struct line_answer answer;
	char program[4096];
	uint32_t file;
	int fd;

	snprintf(program, sizeof(program), "%s/tests/lines/inlined", build ? build : ".");
	snprintf(source_path, sizeof(source_path), "%s/tests/lines/inlined.c",
		 source ? source : "..");
	must(line_client_start(&elf_lines_reader, &lines));
	fd = open(program, O_RDONLY | O_CLOEXEC);
	file = line_client_add_file(lines, fd, -1, "inlined", NULL, 0);
	check(file, "%s is added", program);
	check_u64(line_client_add_file(lines, fd, -1, "inlined", NULL, 0), file,
		  "a file that is added twice keeps its number");
	test_chain(file);
	test_anchor(fd);
	test_lambda();
	test_module();
	test_others();
	for (unsigned rounds = more ? (unsigned)atoi(more) : 0; rounds > 0; rounds--) {
		test_damaged(fd);
		line_client_stop(lines);
		must(line_client_start(&elf_lines_reader, &lines));
		file = line_client_add_file(lines, fd, -1, "inlined", NULL, 0);
	}
	test_damaged(fd);
	check(find_chain(file, &answer), "the good file still has lines after the damaged ones");
	line_client_stop(lines);
	return tap_done();
}
