/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises files of formats that xtop does not read; see foreign_formats.h. Main's thread. */
#include "config.h"

#include "import/foreign_formats.h"

#include <stdio.h>
#include <string.h>

#define FOREIGN_LOOK_BYTES 256
#define SPEEDSCOPE_EXPORTS "speedscope opens it and exports a file that xtop reads"

#define BPFTRACE "stackcollapse-bpftrace.pl makes folded stacks of it"

/* How a format's text begins. */
struct foreign_mark {
	const char *start;
	const char *inside; /* what the first FOREIGN_LOOK_BYTES have as well; NULL: nothing */
	const char *is;     /* completes "FILE: is" */
};

/* N bytes at the start of a file that is no text, or whose mark is a comment. */
#define FOREIGN_BYTES(start, is)                                                                   \
	{                                                                                          \
		start, sizeof(start) - 1, is                                                       \
	}

static const struct {
	const char *start;
	size_t n;
	const char *is;
} foreign_bytes[] = {
	FOREIGN_BYTES("PERFILE2",
		      "perf's own file: `perf script` makes text of it, which xtop reads"),
	FOREIGN_BYTES("FLR\0", "a recording of Java's Flight Recorder: async-profiler's jfrconv "
			       "makes folded stacks of it"),
	FOREIGN_BYTES("JAVA PROFILE 1.", "a dump of Java's heap, no profile"),
	FOREIGN_BYTES("PK\003\004", "a ZIP archive: unpack it"),
	FOREIGN_BYTES("\177ELF", "a program or a library, no profile: -k reads its names"),
	FOREIGN_BYTES("\0\0\0\0\3\0\0\0\1\0\0\0",
		      "a profile of Java's: pprof -proto writes what xtop reads"),
	FOREIGN_BYTES("BZh", "packed by bzip2: unpack it"),
	FOREIGN_BYTES("SIMPLEPERF", "simpleperf's protobuf: its report_sample.py makes text of "
				    "perf.data, which xtop reads"),
	FOREIGN_BYTES("SQLite format 3\0", "a database of SQLite, no profile"),
	FOREIGN_BYTES("# callgrind format", "callgrind's: " SPEEDSCOPE_EXPORTS),
};

/* A text is compared with these from its first line that is no comment. */
static const struct foreign_mark foreign_texts[] = {
	{ "<?xml", "<svg", "a picture, no profile" },
	{ "<svg", NULL, "a picture, no profile" },
	{ "<?xml", NULL,
	  "XML, no profile: inferno-collapse-xctrace makes folded stacks of xctrace's" },
	{ "<!DOCTYPE", NULL, "a page of HTML, no profile" },
	{ "Analysis of sampling ", NULL,
	  "macOS's sample: stackcollapse-sample.awk makes folded stacks of it" },
	{ "CPU ", " FUNCTION:NAME", "DTrace's text: stackcollapse.pl makes folded stacks of it" },
	{ "Function Stack,", NULL,
	  "VTune's table: stackcollapse-vtune.pl makes folded stacks of it" },
	{ "Level,Function Name,", NULL,
	  "Visual Studio's table: stackcollapse-vsprof.pl makes folded stacks of it" },
	{ "v8-version,", NULL,
	  "V8's log: node --prof-process --preprocess makes JSON of it, and speedscope exports "
	  "that as a file that xtop reads" },
	{ "Running Time\t", NULL, "a copy of Instruments' table: " SPEEDSCOPE_EXPORTS },
	{ "Weight\t", "\tSymbol Name", "a copy of Instruments' table: " SPEEDSCOPE_EXPORTS },
	{ "Bytes Used\t", NULL, "a copy of Instruments' table: " SPEEDSCOPE_EXPORTS },
	{ "", " log opened (PC)\n", "a log of Papyrus scripts: " SPEEDSCOPE_EXPORTS },
	{ "Attaching ", " probe", "bpftrace's text: " BPFTRACE },
	{ "@[\n", "\n]: ", "bpftrace's text: " BPFTRACE },
	{ "Sampling at ", " Hertz of ",
	  "text of bcc's profile: its option -f writes folded stacks" },
	{ "@ ", " samples]\n", "pmcstat's text: stackcollapse-pmc.pl makes folded stacks of it" },
	{ "", " Time and Allocation Profiling Report ",
	  "GHC's report: inferno-collapse-ghcprof makes folded stacks of it" },
	{ "", "\nevents:", "callgrind's: " SPEEDSCOPE_EXPORTS },
	{ "{", "\"traceEvents\"", "a trace of Chrome's: " SPEEDSCOPE_EXPORTS },
	{ "PeriodType: ", NULL, "pprof's text: pprof -proto writes what xtop reads" },
	{ "File: ", "\nType: ", "a report of pprof's: pprof -proto writes what xtop reads" },
	{ "sample_type {", NULL, "a pprof file's fields as text: protoc --encode makes the file" },
	{ "heap_v2/", NULL, "jemalloc's: jeprof --collapsed makes folded stacks of it" },
	{ "goroutine profile: ", NULL, "text of Go's: fetch it without debug=1" },
	{ "threadcreate profile: ", NULL, "text of Go's: fetch it without debug=1" },
	{ "--- threadz", NULL, "a list of threads, no profile" },
	{ "--- heapz", NULL, "a profile of Java's in text: pprof -proto writes what xtop reads" },
	{ "--- contention", "\nformat = java",
	  "a profile of Java's in text: pprof -proto writes what xtop reads" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *foreign_find_text(const char *text)
{
	char look[FOREIGN_LOOK_BYTES];

	snprintf(look, sizeof(look), "%s", text);
	for (size_t i = 0; i < COUNT(foreign_texts); i++) {
		const struct foreign_mark *mark = &foreign_texts[i];

		if (!strncmp(look, mark->start, strlen(mark->start)) &&
		    (!mark->inside || strstr(look, mark->inside)))
			return mark->is;
	}
	return NULL;
}

static const char *foreign_find_bytes(const char *bytes, size_t n)
{
	for (size_t i = 0; i < COUNT(foreign_bytes); i++)
		if (n >= foreign_bytes[i].n &&
		    !memcmp(bytes, foreign_bytes[i].start, foreign_bytes[i].n))
			return foreign_bytes[i].is;
	return NULL;
}

/* "[{" with or without blanks. No function's name begins so. */
static bool foreign_is_list(const char *text)
{
	text += strspn(text, " \t\r\n");
	return *text == '[' && text[1 + strspn(text + 1, " \t\r\n")] == '{';
}

const char *foreign_find(const struct import_head *head)
{
	const char *is = foreign_find_bytes(head->bytes, head->n);

	if (is || !head->is_text)
		return is;
	return foreign_is_list(head->text)
		       ? "a list in JSON, as Chrome writes traces: " SPEEDSCOPE_EXPORTS
		       : foreign_find_text(head->text);
}
