/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile tells beside stacks: the labels of pprof's samples, several values, and addresses
 * that the files of -k name.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/own_program.h"
#include "tests/support/read_profile.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/export/export.h"
#include "xtop/import/code_names.h"
#include "xtop/import/import.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/symbol.h"

static struct read read_file(const void *bytes, size_t n, struct import_settings settings)
{
	struct read read = read_profile(bytes, n, 0, settings);

	must(read.error);
	return read;
}

/* --- pprof ------------------------------------------------------------------------------------ */

/* Protocol Buffers: FIELD with the N bytes at BYTES; all lengths are below 128. */
static void put_bytes(FILE *file, unsigned field, const void *bytes, size_t n)
{
	fputc((int)(field << 3 | 2), file);
	fputc((int)n, file);
	fwrite(bytes, 1, n, file);
}

static void put_text(FILE *file, const char *text)
{
	put_bytes(file, 6, text, strlen(text));
}

/* Adds a sample at location 1 with two values and a label, or two: numbers of strings. */
static void put_sample(FILE *file, uint8_t count, uint8_t bytes, const uint8_t *labels, size_t n)
{
	uint8_t message[64] = { 0x0a, 1, 1, 0x12, 2, count, bytes };
	size_t at = 7;

	for (size_t i = 0; i < n; i += 2) {
		const uint8_t label[] = { 0x1a, 4, 0x08, labels[i], 0x10, labels[i + 1] };

		memcpy(message + at, label, sizeof(label));
		at += sizeof(label);
	}
	put_bytes(file, 2, message, at);
}

static char *make_labelled(size_t *np)
{
	static const uint8_t types[] = { 0x08, 1, 0x10, 2 }, bytes[] = { 0x08, 3, 0x10, 4 };
	static const uint8_t location[] = { 0x08, 1, 0x22, 2, 0x08, 1 };
	static const uint8_t function[] = { 0x08, 1, 0x10, 5 };
	static const char *const strings[] = { "",       "objects", "count", "space",  "bytes",
					       "main",   "tenant",  "a",     "b",      "url",
					       "/login", "process", "httpd", "thread", "worker" };
	char *text;
	FILE *file = open_memstream(&text, np);

	put_bytes(file, 1, types, sizeof(types));
	put_bytes(file, 1, bytes, sizeof(bytes));
	put_bytes(file, 4, location, sizeof(location));
	put_bytes(file, 5, function, sizeof(function));
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_text(file, strings[i]);
	put_sample(file, 1, 10, (const uint8_t[]){ 9, 10, 6, 7 }, 4);
	put_sample(file, 2, 20, (const uint8_t[]){ 6, 7, 9, 10 }, 4);
	put_sample(file, 3, 30, (const uint8_t[]){ 6, 8 }, 2);
	put_sample(file, 4, 40, (const uint8_t[]){ 11, 12, 6, 8, 13, 14 }, 6);
	put_sample(file, 5, 50, (const uint8_t[]){ 13, 14 }, 2);
	put_sample(file, 6, 60, NULL, 0);
	fclose(file);
	return text;
}

static void test_labels(void)
{
	size_t n;
	_cleanup_free_ char *bytes = make_labelled(&n);
	struct read read = read_file(bytes, n, (struct import_settings){ .value = NULL });
	_cleanup_free_ char *text = folded_text(read.snapshot, true);
	bool found = false;

	check_string(text,
		     "httpd;worker;main 40\n"
		     "main 60\n"
		     "tenant=a url=/login;main 30\n"
		     "tenant=b;main 30\n"
		     "thread=worker;main 50\n",
		     "labels are groups, in any order");
	for (uint32_t i = 0; i < frames_count(read.frames); i++) {
		const struct frame *frame = frames_get(read.frames, i);

		found |= !strcmp(frame->name, "httpd") &&
			 !strcmp(frames_get_home(read.frames, frame), "tenant=b");
	}
	check(found, "a process's labels are its group");
	read_close(&read);
}

/* Sizes of objects are no groups: heap profiles of Go have one in each sample. */
static void test_number_labels(void)
{
	static const uint8_t types[] = { 0x08, 1, 0x10, 2 };
	static const uint8_t location[] = { 0x08, 1, 0x22, 2, 0x08, 1 };
	static const uint8_t function[] = { 0x08, 1, 0x10, 6 };
	static const uint8_t samples[][15] = {
		{ 0x0a, 1, 1, 0x12, 1, 1, 0x1a, 6, 0x08, 3, 0x18, 7, 0x20, 4 }, /* shard: 7 ms */
		{ 0x0a, 1, 1, 0x12, 1, 2, 0x1a, 4, 0x08, 3, 0x18, 9 },          /* shard: 9 */
		{ 0x0a, 1, 1, 0x12, 1, 4, 0x1a, 4, 0x08, 5, 0x18, 64 },         /* bytes: 64 */
		{ 0x0a, 1, 1, 0x12, 1, 8, 0x1a, 5, 0x08, 3, 0x18, 0x80, 1 },    /* shard: 128 */
	};
	static const uint8_t n_bytes[] = { 14, 12, 12, 13 };
	static const char *const strings[] = { "", "n", "count", "shard", "ms", "bytes", "f" };
	_cleanup_free_ char *bytes = NULL, *text = NULL;
	size_t n;
	FILE *file = open_memstream(&bytes, &n);
	struct read read;

	put_bytes(file, 1, types, sizeof(types));
	put_bytes(file, 4, location, sizeof(location));
	put_bytes(file, 5, function, sizeof(function));
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_text(file, strings[i]);
	for (size_t i = 0; i < sizeof(n_bytes); i++)
		put_bytes(file, 2, samples[i], n_bytes[i]);
	fclose(file);
	read = read_file(bytes, n, (struct import_settings){ .value = NULL });
	text = folded_text(read.snapshot, true);
	check_string(text, "f 4\nshard=128;f 8\nshard=7ms;f 1\nshard=9;f 2\n",
		     "labels with numbers are groups");
	read_close(&read);
}

/* Google's tools name C++ functions without parameters, and keep the mangled names beside. */
static void test_overloads(void)
{
	static const uint8_t types[] = { 0x08, 1, 0x10, 2 };
	static const char *const strings[] = { "",      "n",          "count",     "f",
					       "_Z1fi", "_Z1fd",      "g",         "_Z1hi",
					       "t.f",   "_D1t1fFiZv", "_D1t1fFdZv" };
	static const uint8_t names[][2] = { { 3, 4 }, { 3, 5 }, { 6, 7 },
					    { 3, 4 }, { 8, 9 }, { 8, 10 } };
	_cleanup_free_ char *bytes = NULL, *text = NULL;
	size_t n;
	FILE *file = open_memstream(&bytes, &n);
	struct read read;

	put_bytes(file, 1, types, sizeof(types));
	for (uint8_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const uint8_t id = i + 1;
		const uint8_t location[] = { 0x08, id, 0x22, 2, 0x08, id };
		const uint8_t function[] = { 0x08, id, 0x10, names[i][0], 0x18, names[i][1] };
		const uint8_t sample[] = { 0x0a, 1, id, 0x12, 1, (uint8_t)(1 << i) };

		put_bytes(file, 4, location, sizeof(location));
		put_bytes(file, 5, function, sizeof(function));
		put_bytes(file, 2, sample, sizeof(sample));
	}
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_text(file, strings[i]);
	fclose(file);
	read = read_file(bytes, n, (struct import_settings){ .value = NULL });
	text = folded_text(read.snapshot, false);
	check_string(text, "f 9\nf(double) 2\ng 4\nt.f(double) 32\nt.f(int) 16\n",
		     "overloads are two functions; a name that is not the mangled one's stays");
	read_close(&read);
}

static void test_next_value(void)
{
	size_t n;
	_cleanup_free_ char *bytes = make_labelled(&n);
	struct read read = read_file(bytes, n, (struct import_settings){ .value = NULL });
	_cleanup_free_ char *next = strdup(import_next_value(read.import)), *text = NULL;

	check_string(next, "objects", "the first value follows the last one");
	read_close(&read);
	read = read_file(bytes, n, (struct import_settings){ .value = next });
	text = folded_text(read.snapshot, true);
	check(strstr(text, "tenant=a url=/login;main 3\n") != NULL, "its values are read: %s",
	      text);
	check_string(import_get_value(read.import), "objects", "the file's chosen value is told");
	check_string(import_next_value(read.import), "space", "the other value comes next");
	read_close(&read);
	read = read_file("a;b 1\n", 6, (struct import_settings){ .value = NULL });
	check(!import_next_value(read.import), "a folded file has one value");
	read_close(&read);
}

static void test_many_labels(void)
{
	static const uint8_t types[] = { 0x08, 1, 0x10, 2 };
	size_t n = 0;
	char *bytes, *other;
	FILE *file = open_memstream(&bytes, &n);
	struct read read;
	_cleanup_free_ char *text = NULL;

	put_bytes(file, 1, types, sizeof(types));
	put_bytes(file, 4, (const uint8_t[]){ 0x08, 1 }, 2);
	put_text(file, "");
	put_text(file, "samples");
	put_text(file, "count");
	put_text(file, "span");
	for (unsigned i = 0; i < 600; i++) {
		const uint8_t message[] = { 0x0a,
					    1,
					    1,
					    0x10,
					    1,
					    0x1a,
					    5,
					    0x08,
					    3,
					    0x10,
					    (uint8_t)(0x80 | ((4 + i) & 0x7f)),
					    (uint8_t)((4 + i) >> 7) };
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		put_text(file, name);
		put_bytes(file, 2, message, sizeof(message));
	}
	fclose(file);
	read = read_file(bytes, n, (struct import_settings){ .value = NULL });
	text = folded_text(read.snapshot, true);
	other = strstr(text, "[other labels];");
	check(other && strstr(other, " 88\n"), "after 512 groups all others are one");
	read_close(&read);
	free(bytes);
}

/* --- files of -k ------------------------------------------------------------------------------ */

/* Two functions that keep their names. */
__attribute__((noinline, used)) static int first_place(volatile int *x)
{
	return *x + 1;
}

__attribute__((noinline, used)) static int second_place(volatile int *x)
{
	return *x + 2;
}

/* A heap profile with two calls in this program, and one that nobody knows. */
static char *make_heap(size_t *np)
{
	FILE *maps = fopen("/proc/self/maps", "r"), *file;
	char *text, line[PATH_MAX + 128];

	file = open_memstream(&text, np);
	fprintf(file, "heap profile: 1: 10 [ 1: 10] @ heapprofile\n");
	fprintf(file, " 1: 10 [ 1: 10] @ 0x%" PRIxPTR " 0x%" PRIxPTR " 0x12\nMAPPED_LIBRARIES:\n",
		(uintptr_t)first_place + 2, (uintptr_t)second_place + 2);
	while (maps && fgets(line, sizeof(line), maps))
		fputs(line, file);
	if (maps)
		fclose(maps);
	fclose(file);
	return text;
}

static void test_names(void)
{
	size_t n;
	_cleanup_free_ char *bytes = make_heap(&n), *text = NULL;
	struct code_names *names;
	struct read read;

	must(code_names_create(&names));
	must(code_names_add_file(names, &(struct host_files){ 0 }, own_program()));
	read = read_file(bytes, n, (struct import_settings){ .names = names });
	text = folded_text(read.snapshot, true);
	check_string(text, "0x11;second_place;first_place 10\n", "-k names a program's addresses");
	check(strstr(import_get_complaint(read.import), "name 2 of the 3") != NULL,
	      "addresses without a name are counted: %s", import_get_complaint(read.import));
	read_close(&read);
	code_names_destroy(names);
}

/* Finds PLACE in the text of nm with SYMBOL at ADDRESS. */
static const char *find_text(struct code_names *names, struct code_place place)
{
	const char *name = code_names_find(names, &place);

	return name ? name : "none";
}

static void test_kernel_names(void)
{
	char path[] = "/tmp/xtop-names-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct code_names *names;

	fputs("ffffffff81000000 T startup_64\nffffffff81001000 T start_kernel\n"
	      "ffffffff81002000 T x86_64_start_kernel\nffffffff81003000 T _etext\n"
	      "ffffffffc0001000 t nf_hook\t[nf_tables]\nffffffffc0002000 t nf_end\t[nf_tables]\n",
	      file);
	fclose(file);
	must(code_names_create(&names));
	must(code_names_add_file(names, &(struct host_files){ 0 }, path));
	unlink(path);
	check_string(find_text(names, (struct code_place){ .address = 0xffffffff81001010,
							   .file = "[kernel.kallsyms]",
							   .is_kernel = true }),
		     "start_kernel", "function of the kernel at an address");
	check_string(find_text(names, (struct code_place){ .address = 0xffffffffc0001010,
							   .file = "[nf_tables]",
							   .is_kernel = true }),
		     "nf_hook", "function of a kernel's module at an address");
	check_string(find_text(names, (struct code_place){ .address = 0xffffffff81001010,
							   .file = "/bin/prog" }),
		     "none", "function of another file at the kernel's address");
	check_string(find_text(names, (struct code_place){ .address = 0xffffffff81001010 }),
		     "start_kernel", "an address without a file");
	code_names_destroy(names);
}

int main(void)
{
	test_labels();
	test_number_labels();
	test_overloads();
	test_next_value();
	test_many_labels();
	test_names();
	test_kernel_names();
	return tap_done();
}
