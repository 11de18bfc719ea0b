/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profile files as other programs and other systems write them: encodings, fractions, damage. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "tests/support/read_profile.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/export/export.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

static struct read read_bytes(const void *bytes, size_t n)
{
	return read_profile(bytes, n, 0, (struct import_settings){ .strict = false });
}

/* Checks what becomes of the N bytes at BYTES, and what is said of them; COMPLAINT NULL: nothing. */
static void check_bytes(const void *bytes, size_t n, const char *expected, const char *complaint,
			const char *what)
{
	struct read read = read_bytes(bytes, n);
	_cleanup_free_ char *again = read.snapshot ? folded_text(read.snapshot, false) : NULL;
	const char *said = read.import ? import_get_complaint(read.import) : NULL;

	check_string(again, expected, what);
	if (read.error)
		printf("# %s\n", error_message(read.error));
	check_string(said ? said : "", complaint ? complaint : "", what);
	read_close(&read);
}

static void check_text(const char *text, const char *expected, const char *complaint,
		       const char *what)
{
	check_bytes(text, strlen(text), expected, complaint, what);
}

static void check_refused_bytes(const void *bytes, size_t n, const char *words)
{
	struct read read = read_bytes(bytes, n);

	check(read.error && strstr(error_message(read.error), words), "refused: %s (said: %s)",
	      words, read.error ? error_message(read.error) : "nothing");
	read_close(&read);
}

static void check_refused(const char *text, const char *words)
{
	check_refused_bytes(text, strlen(text), words);
}

static void test_encodings(void)
{
	static const char little[] = "\xff\xfe"
				     "a\0;\0\xe9\0 \0"
				     "7\0\r\0\n\0b\0 \0"
				     "2\0",
			  big[] = "\xfe\xff\0a\0;\xd8\x3d\xde\x00\0 \0003\0\n\0b\0 \0001",
			  unmarked[] = "a\0;\0b\0 \0"
				       "7\0\n\0c\0 \0"
				       "2\0\n\0";

	check_text("\xef\xbb\xbf"
		   "a;b 1\nc 2\n",
		   "a;b 1\nc 2\n", NULL, "a byte order mark");
	check_bytes(little, sizeof(little) - 1, "a;\xc3\xa9 7\nb 2\n", NULL,
		    "UTF-16, as Windows has it");
	check_bytes(big, sizeof(big) - 1, "a;\xf0\x9f\x98\x80 3\nb 1\n", NULL,
		    "UTF-16, the high byte first, and a pair");
	check_bytes(unmarked, sizeof(unmarked) - 1, "a;b 7\nc 2\n", NULL, "UTF-16 without a mark");
}

static void test_counts(void)
{
	check_text("a;b 0.0002\na;c 0.0001\na;d 0.00005\n", "a;b 20\na;c 10\na;d 5\n", NULL,
		   "small counts are multiplied, not lost");
	check_text("a;b 2e-05\na;c 1e-05\n", "a;b 2\na;c 1\n", NULL, "exponents");
	check_text("a;b 1000000\na;c 0.000001\n", "a;b 1000000000000\na;c 1\n", NULL,
		   "a large count beside a small one");
	check_text("#<Class:A>#b;c 3\n# taken; today 4\n#note\nmain 1\n",
		   "#<Class:A>#b;c 3\nmain 1\n", NULL, "names that begin with #, and comments");
	check_refused("a;b 8 10\na;c 2 2\n", "two counts");
	check_text("a;loop 8 10\na;c 2\n", "a;c 2\na;loop 8 10\n", NULL,
		   "a name that ends in a number");
}

static void test_skipped(void)
{
	check_text(
		"a;b 3\n 5\na;c 9007199254740993\na;d 1\nx\na;e 1\n", "a;b 3\na;d 1\na;e 1\n",
		"3 of 6 lines of the profile were skipped, first line 2: a count without a stack",
		"lines that cannot be read");
	check_refused("a;b 9007199254740993\n", "line 1: a count of 2^53 or more");
	check_refused("a;b 1\ra;c 2\r", "line 1: a carriage return within the line");
	check_refused("Dear reader,\nthis is\na letter of 3\n",
		      "neither a recording nor a profile");
}

/* Files of other tools are refused by what they are. Stacks that resemble them are read. */
static void test_foreign(void)
{
	check_refused("PERFILE2 and more", "perf script");
	check_refused("PK\003\004\n", "a ZIP archive");
	check_refused("# callgrind format\nevents: Ir\nfn=a\n16 400\n", "callgrind's");
	check_refused("version: 1\ncreator: c\nevents: Ir\nfn=a\n16 400\n", "callgrind's");
	check_refused("Analysis of sampling rg (pid 6) every 1 millisecond\n", "sample.awk");
	check_refused("\xef\xbb\xbfLevel,Function Name,Number of Calls\n", "vsprof.pl");
	check_refused("\tSun Aug 6 Time and Allocation Profiling Report  (Final)\n", "GHC's");
	check_refused("\n [ {\"ph\": \"B\", \"ts\": 1}]\n", "a list in JSON");
	check_refused("{\"traceEvents\": [{\"ts\": 18446744073709551616}]}\n", "Chrome's");
	check_refused("goroutine profile: total 7\n4 @ 0x10 0x20\n", "debug=1");
	check_refused("--- contentionz 1 ---\nformat = java\n 14 1 @ 0x3\n", "Java's");
	check_refused("PeriodType: cpu nanoseconds\n 1 10: 1 2\n 2 20: 1 2\n", "pprof -proto");
	check_refused("Weight\tSelf Weight\t\tSymbol Name\n4 s  100.0%\t-\t \tstart\n",
		      "Instruments'");
	check_refused("Bytes Used\tCount\t\tSymbol Name\n 4 MB 9.9%\t8\t \tmain\n", "Instruments'");
	check_refused("Attaching 1 probe...\n\n@[\n    do_idle+5\n]: 3\n",
		      "stackcollapse-bpftrace.pl");
	check_refused("@[\n    do_idle+5\n]: 3\n", "stackcollapse-bpftrace.pl");
	check_refused("Sampling at 49 Hertz of all threads... Hit Ctrl-C to end.\n", "option -f");
	check_refused("heap_v2/524288\n  t*: 3: 768 [0: 0]\n@ 0x10 0x20\n  t*: 3: 768 [0: 0]\n",
		      "jeprof --collapsed");
	check_refused("sample_type {\n  type: 1\n  unit: 2\n}\nsample {\n  location_id: 1\n",
		      "protoc --encode");
	check_refused("SIMPLEPERF\1", "simpleperf");
	check_refused("BZh91AY&SY", "bzip2");
	check_refused("Stack_31 log opened (PC)\n50002:START:31\n", "Papyrus");
	check_refused("\177ELF and more", "no profile: -k");
	check_refused_bytes("\0\0\0\0\3\0\0\0\1\0\0\0\x10\x27\0\0\0\0\0\0\1\0\0\0", 24, "Java's");
	check_text("FLR;f 1\n<module>;f 2\n[jit];PK 3\nCPU 4\n@ File: 5\n",
		   "<module>;f 2\n@ File: 5\nCPU 4\nFLR;f 1\n[jit];PK 3\n", NULL,
		   "names like marks");
}

/* A stack of N functions, f0 outermost. */
static char *deep_line(unsigned n)
{
	char *line = malloc(16UL * n), *at = line;

	for (unsigned i = 0; i < n; i++)
		at += sprintf(at, "%sf%u", i ? ";" : "", i);
	sprintf(at, " 7\n");
	return line;
}

static void test_deep(void)
{
	_cleanup_free_ char *line = deep_line(5000), *deeper = deep_line(20000);
	struct read read;

	check_text(line, line, NULL, "5,000 functions are kept");
	read = read_bytes(deeper, strlen(deeper));
	check_u64(read.snapshot->nodes[1].self_total + read.snapshot->nodes[1].children_total, 7,
		  "the outermost of 20,000");
	check_string(frames_get(read.frames, read.snapshot->nodes[1].frame)->name, "f0",
		     "the outermost is the file's");
	check_string(frames_get(read.frames, read.snapshot->nodes[read.snapshot->n_nodes - 1].frame)
			     ->name,
		     "f19999", "the innermost, too");
	check_u64(read.snapshot->resolver.stops[UNWIND_TOO_DEEP], 7, "the stack is counted");
	read_close(&read);
}

/* Names that differ in the middle and at the end, after the part that is kept. */
static void test_long_names(void)
{
	static char text[80000];
	char *at = text;
	struct read read;
	unsigned n = 0;

	for (unsigned i = 0; i < 6; i++) {
		char name[9001];

		memset(name, 'x', 9000);
		name[i < 3 ? 4500 + i : 8990 + i] = 'y';
		name[9000] = '\0';
		at += sprintf(at, "a;%s 1\n", name);
	}
	read = read_bytes(text, strlen(text));
	for (uint32_t i = 0; read.snapshot && i < read.snapshot->n_nodes; i++)
		n += read.snapshot->nodes[i].self_total == 1;
	check_u64(n, 6, "six long names are six functions");
	read_close(&read);
}

int main(void)
{
	test_encodings();
	test_counts();
	test_skipped();
	test_foreign();
	test_deep();
	test_long_names();
	return tap_done();
}
