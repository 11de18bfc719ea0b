/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profile files: what becomes of their stacks, and what is said of damaged ones. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/must.h"
#include "tests/support/read_profile.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/export/export.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

static struct read read_bytes(const void *bytes, size_t n)
{
	return read_profile(bytes, n, 8, (struct import_settings){ .strict = true });
}

static struct read read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static void check_again(const char *text, const char *expected, const char *what)
{
	struct read read = read_text(text);
	_cleanup_free_ char *again = read.snapshot ? folded_text(read.snapshot, false) : NULL;

	check_string(again, expected, what);
	if (read.error)
		printf("# %s\n", error_message(read.error));
	read_close(&read);
}

static void check_refused(const char *text, const char *words)
{
	struct read read = read_text(text);

	check(read.error && strstr(error_message(read.error), words), "refused: %s (said: %s)",
	      words, read.error ? error_message(read.error) : "nothing");
	read_close(&read);
}

/* The kind of the frame with NAME; -1: there is none. */
static int kind_of(const struct read *read, const char *name)
{
	for (uint32_t i = 0; i < read->snapshot->n_nodes; i++) {
		const struct frame *frame =
			frames_get(read->frames, read->snapshot->nodes[i].frame);

		if (!strcmp(frame->name, name))
			return (int)frame->kind;
	}
	return -1;
}

static void test_written_again(void)
{
	static const char ours[] = "[evicted] 3\ngzip;[truncated];crc32 7\ngzip;main;[unknown] 2\n"
				   "gzip;main;deflate 5\nhttpd;main 1\nhttpd;main;read 412\n";

	check_again(ours, ours, "what xtop wrote is read and written as it was");
	check_again("b;c 1\r\na;x 2\n\n# a comment\nb;c 3", "a;x 2\nb;c 4\n",
		    "any order, line ends of DOS, comments, no end of the last line");
	check_again("p;f_[k];g_[i];h_[j] 1\nq;f 1\n", "p;f;g;h 1\nq;f 1\n", "marks of functions");
	check_again("p;f 0\nq;g 0.5\nq;h 1.5\n", "q;g 5\nq;h 15\n", "no count, and fractions");
	check_again("a b;operator new (x) 4\nc;d 1\n", "a b;operator new (x) 4\nc;d 1\n",
		    "blanks in names");
	check_again("p;_ZN4disk5Queue4pushEv 1\nq;x 1\n", "p;disk::Queue::push 1\nq;x 1\n",
		    "names are demangled");
}

/* Prefixes of the line before must not be taken for names. */
static void test_shared(void)
{
	static const char text[] = "p 1\np;a 2\np;a;b 3\np;a;bc 4\np;a;bc;d 5\np;ab 6\nq 7\nq;b 8\n";

	check_again(text, text, "lines that share their beginning");
}

static void test_kinds(void)
{
	struct read read = read_text("httpd;main;vfs_read_[k] 3\ngzip;main;f_[j] 2\nswapper 5\n");

	check(kind_of(&read, "httpd") == FRAME_KIND_OWNER, "the first name is the process");
	check(kind_of(&read, "main") == FRAME_KIND_FUNCTION, "main is a function");
	check(kind_of(&read, "vfs_read") == FRAME_KIND_KERNEL, "vfs_read_[k] is the kernel's");
	check(kind_of(&read, "f") == FRAME_KIND_USERLAND, "f_[j] is a program's");
	check(kind_of(&read, "swapper") == FRAME_KIND_FUNCTION, "the only name: a function");
	check_u64(read.snapshot->resolver.samples, 10, "sum of the samples of folded stacks");
	check(!read.snapshot->run && read.snapshot->at_end,
	      "an imported profile has no run and is at its end");
	check_string(import_get_format(read.import), "folded",
		     "name of the format of folded stacks");
	read_close(&read);
	read = read_text("_start;main;a 3\n_start;b 2\n");
	check(kind_of(&read, "_start") == FRAME_KIND_FUNCTION,
	      "the same first name in all stacks: a function");
	read_close(&read);
	read = read_text("_start;main;a 3\nstart_kernel;b 2\nstart_kernel;c 2\n");
	check(kind_of(&read, "_start") == FRAME_KIND_FUNCTION &&
		      kind_of(&read, "start_kernel") == FRAME_KIND_FUNCTION,
	      "first names with nothing in common: functions");
	read_close(&read);
	read = read_text("a;f;x 3\nb;f;y 2\nc;g 2\n");
	check(kind_of(&read, "c") == FRAME_KIND_OWNER, "two of three share f: processes");
	read_close(&read);
	read = read_text("a;f;x 3\nb;f;y 2\nc;g 2\nd;h 1\ne;i 1\n");
	check(kind_of(&read, "a") == FRAME_KIND_FUNCTION, "two of five share f: functions");
	read_close(&read);
	read = read_text("p;[truncated];a 3\nq;[unknown] 2\n");
	check(read.snapshot->resolver.weight_truncated == 3,
	      "weight below [truncated] counts as truncated");
	check(read.snapshot->resolver.weight_unknown == 2, "weight in [unknown] counts as unknown");
	read_close(&read);
}

static void test_damaged(void)
{
	char *line = malloc(3 << 20);

	check_refused("", "is empty");
	check_refused("\n\n", "has no samples");
	check_refused("Dear reader, this is a letter.", "damaged in line 1: no count");
	check_refused("a;b 1\nc;d 2\ne;f\n", "damaged in line 3: no count");
	check_refused("a;b 1\n;\n", "damaged in line 2: no count");
	check_refused("a;b 1\na;b -2\n", "damaged in line 2: no count");
	check_refused("a;b 1\na;b 1e400\n", "damaged in line 2: a count of 2^53 or more");
	check_refused("a;b 1\n 12\n", "damaged in line 2: a count without a stack");
	check_refused("a;b 99999999999999999999999999\n", "line 1: a count of 2^53");
	check_refused("\001\002\003\004", "neither a recording nor a profile");
	memset(line, 'x', 3 << 20);
	memcpy(line, "a;b 1\n", 6);
	line[(3 << 20) - 1] = '\0';
	check_refused(line, "damaged in line 2: longer than");
	free(line);
}

static size_t compressed(const char *text, unsigned char *to, size_t capacity)
{
	z_stream stream = { .next_in = (Bytef *)text,
			    .avail_in = (uInt)strlen(text),
			    .next_out = to,
			    .avail_out = (uInt)capacity };

	if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&stream);
	return capacity - stream.avail_out;
}

static void test_gzip(void)
{
	unsigned char bytes[1024];
	size_t first = compressed("a;b 1\nc;d 2\n", bytes, sizeof(bytes));
	size_t n = first + compressed("e;f 3\n", bytes + first, sizeof(bytes) - first);
	_cleanup_free_ char *again = NULL;
	struct read read = read_bytes(bytes, n);

	again = read.snapshot ? folded_text(read.snapshot, false) : NULL;
	check_string(again, "a;b 1\nc;d 2\ne;f 3\n", "gzip, of two members");
	read_close(&read);
	read = read_bytes(bytes, n - 3);
	check(read.error && strstr(error_message(read.error), "cut short"), "cut gzip: %s",
	      read.error ? error_message(read.error) : "read");
	read_close(&read);
	bytes[first - 20] ^= 0x55;
	read = read_bytes(bytes, n);
	check(read.error && strstr(error_message(read.error), "damaged"), "damaged gzip: %s",
	      read.error ? error_message(read.error) : "read");
	read_close(&read);
}

/* --- pprof ------------------------------------------------------------------------------------ */

/* Writes STRINGS as a pprof file's table of strings. Returns how many bytes that takes. */
static size_t put_strings(unsigned char *to, const char *const *strings, size_t n_strings)
{
	size_t n = 0;

	for (size_t i = 0; i < n_strings; i++) {
		size_t length = strlen(strings[i]);

		to[n++] = 0x32;
		to[n++] = (unsigned char)length;
		memcpy(to + n, strings[i], length);
		n += length;
	}
	return n;
}

/*
 * A profile by hand. Values: samples/count, cpu/nanoseconds with a period of 1000 ns. Location 1 is
 * vfs_read in the kernel, 2 is main with inner inlined in it, 3 has no line. A sample of httpd with
 * 7 ticks, and one of 3 samples and 2.5 ticks whose numbers are not packed. Strings stand at the
 * end, as Go writes them.
 */
static size_t make_pprof(unsigned char *to)
{
	static const unsigned char bytes[] = {
		0x0a, 4,    0x08, 1, 0x10, 2,    /* sample_type: strings 1, 2 */
		0x0a, 4,    0x08, 3, 0x10, 4,
		0x12, 15,   0x0a, 2, 1, 2,       /* sample: locations 1, 2 */
		0x12, 3,    7, 0xd8, 0x36,       /*   values 7, 7000 */
		0x1a, 4,    0x08, 9, 0x10, 10,   /*   label */
		0x1a, 4,    0x08, 1, 0x28, 5,    /* mapping 1: "[kernel]" */
		0x1a, 4,    0x08, 2, 0x28, 6,    /* mapping 2: "/bin/prog" */
		0x22, 8,    0x08, 1, 0x10, 1, 0x22, 2, 0x08, 1,
		0x22, 12,   0x08, 2, 0x10, 2, 0x22, 2, 0x08, 3, 0x22, 2, 0x08, 2,
		0x22, 4,    0x08, 3, 0x10, 2,
		0x2a, 4,    0x08, 1, 0x10, 7,    /* functions */
		0x2a, 4,    0x08, 2, 0x10, 8,
		0x2a, 4,    0x08, 3, 0x10, 11,
		0x60, 0xe8, 0x07,                /* period 1000 */
		0x12, 9,    0x08, 3, 0x08, 2, 0x10, 3, 0x10, 0xc4, 0x13,
	};
	static const char *const strings[] = { "",         "samples",   "count",    "cpu",
					       "nanoseconds", "[kernel]",  "/bin/prog", "vfs_read",
					       "main",     "process",   "httpd",    "inner" };
	size_t n = sizeof(bytes);

	memcpy(to, bytes, n);
	return n + put_strings(to + n, strings, sizeof(strings) / sizeof(strings[0]));
}

static void test_pprof(void)
{
	unsigned char bytes[512];
	size_t n = make_pprof(bytes);
	struct read read = read_bytes(bytes, n);
	_cleanup_free_ char *again = read.snapshot ? folded_text(read.snapshot, false) : NULL;

	check_string(again, "httpd;main;inner;vfs_read 70\nmain;inner;[unknown] 25\n",
		     "stacks of the pprof profile");
	if (read.error) {
		printf("# %s\n", error_message(read.error));
	} else {
		check_string(import_get_format(read.import), "pprof", "name of pprof's format");
		check(kind_of(&read, "vfs_read") == FRAME_KIND_KERNEL, "vfs_read is the kernel's");
		check(kind_of(&read, "inner") == FRAME_KIND_USERLAND, "inner is a program's");
		check(kind_of(&read, "httpd") == FRAME_KIND_OWNER, "the label is the process");
		check(read.snapshot->total_weight == 9.5, "ticks: %g",
		      read.snapshot->total_weight);
		check_u64(read.snapshot->resolver.samples, 10, "samples of the pprof profile");
	}
	read_close(&read);
	for (size_t cut = 9; cut < n; cut++) {
		read = read_bytes(bytes, cut);
		if (read.error && !strstr(error_message(read.error), "damaged") &&
		    !strstr(error_message(read.error), "no samples"))
			check(false, "cut at %zu: %s", cut, error_message(read.error));
		read_close(&read);
	}
	bytes[15] = 9; /* a location that is not there */
	bytes[16] = 9;
	read = read_bytes(bytes, n);
	check(read.error && strstr(error_message(read.error), "damaged at byte"), "refused: %s",
	      read.error ? error_message(read.error) : "read");
	read_close(&read);
}

/*
 * Like a heap profile of Go: four values, alloc_objects/count, alloc_space/bytes,
 * inuse_objects/count, inuse_space/bytes. The last one is shown, with its own objects.
 * DEFAULT_TYPE: a string's number; 0: none.
 */
static size_t make_heap(unsigned char *to, unsigned char default_type)
{
	static const unsigned char bytes[] = {
		0x0a, 4,  0x08, 1, 0x10, 2, 0x0a, 4, 0x08, 3, 0x10, 4, /* sample_type */
		0x0a, 4,  0x08, 5, 0x10, 2, 0x0a, 4, 0x08, 6, 0x10, 4,
		0x12, 9,  0x0a, 1, 1, 0x12, 4, 10, 100, 2, 30,         /* samples */
		0x12, 9,  0x0a, 1, 2, 0x12, 4, 5, 60, 0, 0,            /*   nothing of it is in use */
		0x22, 6,  0x08, 1, 0x22, 2, 0x08, 1, 0x22, 6, 0x08, 2, 0x22, 2, 0x08, 2,
		0x2a, 4,  0x08, 1, 0x10, 7, 0x2a, 4, 0x08, 2, 0x10, 8,
	};
	static const char *const strings[] = { "",      "alloc_objects", "count",
					       "alloc_space", "bytes",   "inuse_objects",
					       "inuse_space", "keep",    "drop" };
	size_t n = sizeof(bytes);

	memcpy(to, bytes, n);
	n += put_strings(to + n, strings, sizeof(strings) / sizeof(strings[0]));
	if (default_type) {
		to[n++] = 0x70;
		to[n++] = default_type;
	}
	return n;
}

static void check_heap(unsigned char default_type, const char *expected, uint64_t samples,
		       const char *what)
{
	unsigned char bytes[512];
	struct read read = read_bytes(bytes, make_heap(bytes, default_type));
	_cleanup_free_ char *again = read.snapshot ? folded_text(read.snapshot, false) : NULL;

	check_string(again, expected, what);
	if (read.snapshot)
		check_u64(read.snapshot->resolver.samples, samples, what);
	read_close(&read);
}

/* The difference of two profiles, as pprof -proto -diff_base writes it: what shrank is negative. */
static void test_negative(void)
{
	static const unsigned char fields[] = {
		0x0a, 4,  0x08, 1,    0x10, 2,                  /* sample_type */
		0x12, 6,  0x0a, 1,    1,    0x12, 1,    7,      /* samples */
		0x12, 15, 0x0a, 1,    2,    0x12, 10,           /*   -3 */
		0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
		0x22, 6,  0x08, 1, 0x22, 2, 0x08, 1, 0x22, 6, 0x08, 2, 0x22, 2, 0x08, 2,
		0x2a, 4,  0x08, 1, 0x10, 3, 0x2a, 4, 0x08, 2, 0x10, 4,
	};
	static const char *const strings[] = { "", "objects", "count", "grew", "shrank" };
	unsigned char bytes[512];
	_cleanup_free_ char *again = NULL;
	const char *said;
	struct read read;

	memcpy(bytes, fields, sizeof(fields));
	read = read_bytes(bytes, sizeof(fields) + put_strings(bytes + sizeof(fields), strings,
							      sizeof(strings) / sizeof(strings[0])));
	again = read.snapshot ? folded_text(read.snapshot, false) : NULL;
	check_string(again, "grew 7\n", "what grew is there");
	said = read.import ? import_get_complaint(read.import) : NULL;
	check_string(said ? said : "", "samples with a negative value are left out: 1",
		     "what shrank is counted");
	read_close(&read);
}

/* A period of 5 in the value's own unit tells how many samples 15 and 5 are, if it is a time. */
static void check_unit(const char *unit, const char *expected)
{
	static const unsigned char fields[] = {
		0x0a, 4, 0x08, 1, 0x10, 2, 0x5a, 4,    0x08, 1, 0x10, 2, /* sample_type, period_type */
		0x60, 5, 0x12, 6, 0x0a, 1, 1,    0x12, 1,    15,         /* period, samples */
		0x12, 6, 0x0a, 1, 2,    0x12, 1, 5,
		0x22, 6, 0x08, 1, 0x22, 2, 0x08, 1, 0x22, 6, 0x08, 2, 0x22, 2, 0x08, 2,
		0x2a, 4, 0x08, 1, 0x10, 3, 0x2a, 4, 0x08, 2, 0x10, 4,
	};
	const char *const strings[] = { "", "wall", unit, "a", "b" };
	unsigned char bytes[512];
	_cleanup_free_ char *again = NULL;
	struct read read;

	memcpy(bytes, fields, sizeof(fields));
	read = read_bytes(bytes, sizeof(fields) + put_strings(bytes + sizeof(fields), strings,
							      sizeof(strings) / sizeof(strings[0])));
	again = read.snapshot ? folded_text(read.snapshot, false) : NULL;
	check(again && !strcmp(again, expected), "samples are counted by a period in %s", unit);
	read_close(&read);
}

static void test_units(void)
{
	check_unit("nanoseconds", "a 3\nb 1\n");
	check_unit("microseconds", "a 3\nb 1\n");
	check_unit("milliseconds", "a 3\nb 1\n");
	check_unit("seconds", "a 3\nb 1\n");
	check_unit("bytes", "a 15\nb 5\n");
}

/* Go's CPU profiles begin with the time, its heap profiles with the period's kind. */
static void test_first_field(void)
{
	static const struct {
		unsigned char bytes[8];
		size_t n;
		bool is;
	} heads[] = {
		{ { 0x48, 0x80, 0x10 }, 3, true }, { { 0x5a, 4, 0x08, 9, 0x10, 10 }, 6, true },
		{ { 0x50, 'K', 3, 0 }, 4, false }, /* there is no field 0 */
		{ { 0x58, 1 }, 2, false },         /* period_type is no number */
		{ { 0x4a, 1, 0 }, 3, false },      /* time_nanos is no message */
		{ { 0x80, 0x01, 0 }, 3, false },   /* there is no field 16 */
	};
	unsigned char bytes[512];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct read read;
		size_t n = heads[i].n;

		memcpy(bytes, heads[i].bytes, n);
		read = read_bytes(bytes, n + make_heap(bytes + n, 0));
		check(heads[i].is ? !read.error
				  : read.error && strstr(error_message(read.error), "neither"),
		      "begins with %#x: %s", bytes[0],
		      read.error ? error_message(read.error) : "read");
		read_close(&read);
	}
}

static void test_several_values(void)
{
	check_heap(0, "keep 30\n", 2, "the last value, bytes in use, and their objects");
	check_heap(3, "drop 60\nkeep 100\n", 15, "the default value, all bytes, and their objects");
	check_heap(1, "drop 5\nkeep 10\n", 15, "the default value is a count itself");
}

/* More different stacks than there is room for: the lightest go, and their weight stays. */
static void test_bounded(void)
{
	char *text = malloc(64 << 20), *at = text;
	struct read read;

	for (unsigned i = 0; i < IMPORT_MAX_NODES + 1000; i++)
		at += sprintf(at, "p;f%u;g%u 1\n", i % 1000, i / 1000);
	at += sprintf(at, "q;heavy 100000\n");
	read = read_bytes(text, (size_t)(at - text));
	check(!read.error, "%zu MB are read", (size_t)(at - text) >> 20);
	check_u64(read.snapshot->resolver.samples, IMPORT_MAX_NODES + 1000 + 100000,
		  "samples, among them those whose stacks had no room");
	check(read.snapshot->total_weight == IMPORT_MAX_NODES + 1000 + 100000,
	      "all weight is read");
	check(read.snapshot->n_nodes <= IMPORT_MAX_NODES, "nodes are bounded");
	check(read.snapshot->resolver.evicted_nodes > 0, "what was left out is counted");
	check(kind_of(&read, "heavy") == FRAME_KIND_FUNCTION, "the heaviest stack is there");
	read_close(&read);
	free(text);
}

int main(void)
{
	test_written_again();
	test_shared();
	test_kinds();
	test_damaged();
	test_gzip();
	test_pprof();
	test_several_values();
	test_negative();
	test_units();
	test_first_field();
	test_bounded();
	return tap_done();
}
