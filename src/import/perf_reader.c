/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of `perf script` (perf-script(1), tools/perf/builtin-script.c), as perf, xtop and others
 * write it. A sample has a line, then its frames, innermost first, and an empty line:
 *
 *	nginx worker 812/815 [001] 86401.203000:   10101010 cpu-clock:pppH:
 *		ffffffff8123abc0 vfs_read+0x1c ([kernel.kallsyms])
 *		ffffffff8123abc0 get_user (inlined)
 *	  uaccess.h:120
 *		            1139 [unknown] (/usr/sbin/nginx)
 *
 * The line has the thread's name, which may have blanks, its numbers, the CPU, the time, how much
 * of the event the sample stands for, and the event. All but the name and a number may be missing.
 * If no call chains were recorded, the line is indented, and one frame follows the event. Some
 * tools remove the blanks before frames.
 *
 * A file may have samples of several events. Only one event's samples are read: those of the first
 * event, or of the event that is asked for.
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/readers.h"
#include "import/text_lines.h"
#include "xtop/base/cleanup.h"
#include "xtop/import/import.h"

#define PERF_MIN_DIGITS    8   /* digits of an address that begins a line */
#define PERF_EVENT_BYTES   128 /* longer names of events are cut */
#define PERF_MAX_PERIOD    0x1p53
#define PERF_COUNT_SAMPLES "samples" /* --value: each sample counts 1, whatever its period */

reader_knows_fn perf_knows;
reader_read_fn perf_read;

struct perf_reader {
	struct builder *builder;
	struct text_lines lines;
	char event[PERF_EVENT_BYTES]; /* the event that is read; "" before the first sample */
	uint64_t n_other_events;      /* samples of other events */
	bool counts_samples;          /* each sample counts 1 */
	/* The current sample. */
	bool inside, wanted;
	double period;
	uint32_t process;
	uint64_t line;
	uint32_t
		frames[BUILDER_MAX_STACK]; /* FIRST and later, outermost first; filled backwards */
	size_t first;
	bool too_deep;
};

/* --- a sample's line -------------------------------------------------------------------------- */

struct perf_word {
	const char *text;
	size_t bytes;
};

/* The next word of TEXT. It has no bytes at the end of the line. */
static struct perf_word perf_next_word(const char *text)
{
	text += strspn(text, " \t\r");
	return (struct perf_word){ text, strcspn(text, " \t\r\n") };
}

/* Whether WORD has digits, and then perhaps SEPARATOR and more digits; both if IS_PAIR. */
static bool perf_is_number(struct perf_word word, char separator, bool is_pair)
{
	size_t digits = strspn(word.text, "0123456789"), more;

	if (!digits || digits > word.bytes)
		return false;
	if (digits == word.bytes)
		return !is_pair;
	if (word.text[digits] != separator)
		return false;
	more = strspn(word.text + digits + 1, "0123456789");
	return more > 0 && digits + 1 + more == word.bytes;
}

/* What a sample's line says. */
struct perf_sample_head {
	struct perf_word name, event;
	double period;
	bool has_time;
	const char *rest; /* follows the event */
};

/* "86401.203000:" */
static bool perf_is_time(struct perf_word word)
{
	if (word.bytes < 2 || word.text[word.bytes - 1] != ':')
		return false;
	word.bytes--;
	return perf_is_number(word, '.', true);
}

/* Parses what follows the thread's numbers. */
static void perf_parse_event(const char *text, struct perf_sample_head *head)
{
	struct perf_word word = perf_next_word(text), period = { NULL, 0 };

	for (; word.bytes; word = perf_next_word(word.text + word.bytes)) {
		if (perf_is_time(word)) {
			head->has_time = true;
		} else if (perf_is_number(word, '\0', false)) {
			period = word;
		} else if (word.text[word.bytes - 1] == ':') {
			head->event = word;
			head->event.bytes--;
			break;
		}
	}
	head->period = period.bytes ? strtod(period.text, NULL) : 1;
	head->rest = word.text + word.bytes;
}

/* Parses the line at TEXT, which ends in a NUL or a line's end. False: it is no sample's line. */
static bool perf_parse_head(const char *text, struct perf_sample_head *head)
{
	struct perf_word word = perf_next_word(text), last = word;

	text = word.text;
	*head = (struct perf_sample_head){ .name.text = text };
	if (!word.bytes)
		return false;
	for (word = perf_next_word(word.text + word.bytes); word.bytes;
	     word = perf_next_word(word.text + word.bytes)) {
		if (perf_is_number(word, '/', false)) {
			head->name.bytes = (size_t)(last.text + last.bytes - text);
			perf_parse_event(word.text + word.bytes, head);
			return true;
		}
		last = word;
	}
	return false;
}

/* Whether the line at TEXT begins with an address, of at least MIN_DIGITS digits, and a blank. */
static bool perf_is_frame(const char *text, size_t min_digits)
{
	size_t digits;

	text += strspn(text, " \t");
	digits = strspn(text, "0123456789abcdef");
	return digits >= min_digits && (text[digits] == ' ' || text[digits] == '\t');
}

/* The first line decides, and what follows it: folded stacks end in a number. */
bool perf_knows(const struct import_head *head)
{
	struct perf_sample_head parsed;
	const char *next;

	if (!head->is_text || !perf_parse_head(head->text, &parsed))
		return false;
	next = strchr(head->text, '\n');
	if (parsed.has_time && parsed.event.bytes)
		return true;
	return next && (perf_is_frame(next + 1, PERF_MIN_DIGITS) ||
			(next[1] == '\t' && perf_is_frame(next + 1, 1)));
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Ends NAME before "+0x1c". */
static void perf_drop_offset(char *name)
{
	char *plus = strrchr(name, '+');

	if (plus && !strncmp(plus, "+0x", 3) && plus[3] &&
	    strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3))
		*plus = '\0';
}

/* The "(" before the file's name at the end of the N bytes at TEXT; NULL: there is none. */
static char *perf_find_file(char *text, size_t n)
{
	unsigned depth = 0;

	for (size_t i = n; i-- > 0;) {
		if (i == n - 1 && text[i] != ')')
			return NULL;
		depth += text[i] == ')';
		depth -= text[i] == '(';
		if (!depth)
			return !i || text[i - 1] == ' ' ? text + i : NULL;
	}
	return NULL;
}

/*
 * Ends TEXT, "vfs_read+0x1c ([kernel.kallsyms])", after the function's name, and returns the name
 * of the file, which may have brackets of its own. NULL: there is none.
 */
static char *perf_split_frame(char *text)
{
	size_t n = strlen(text);
	char *file;

	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	file = perf_find_file(text, n);
	if (file) {
		text[n - 1] = '\0';
		*file++ = '\0';
		n = strlen(text);
		if (n && text[n - 1] == ' ')
			text[n - 1] = '\0';
		if (!strcmp(file, "[unknown]") || !strcmp(file, "inlined"))
			file = NULL;
	}
	perf_drop_offset(text);
	return file;
}

/*
 * The "->" before the innermost function, if NAME has functions that a JIT inlined. So
 * perf-map-agent names compiled code of Java: "Ljava/io/PrintStream;::print->...;::write". NULL: it
 * is one function's name. Names of C++ have "operator->"; types have blanks and brackets.
 */
static char *perf_find_inlined(char *name)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;
	char *found = NULL;

	if (!strstr(name, "::") || strpbrk(name, " ("))
		return NULL;
	for (char *at = name; (at = strstr(at, "->")); at += 2)
		if ((size_t)(at - name) < n || strncmp(at - n, word, n) != 0)
			found = at;
	return found;
}

static void perf_push(struct perf_reader *reader, const char *name, const char *file,
		      uint64_t address)
{
	if (reader->first == 1) /* room for the process */
		reader->too_deep = true;
	else
		reader->frames[--reader->first] =
			builder_intern_code(reader->builder, *name ? name : NULL, file, address);
}

static void perf_add_frame(struct perf_reader *reader, char *text)
{
	uint64_t address = strtoull(text, &text, 16);
	char *file, *inlined;

	if (!reader->wanted)
		return;
	text += strspn(text, " \t");
	file = perf_split_frame(text);
	while ((inlined = perf_find_inlined(text))) {
		*inlined = '\0';
		perf_push(reader, inlined + 2, file, address);
	}
	perf_push(reader, text, file, address);
}

/* --- samples ---------------------------------------------------------------------------------- */

static struct xtop_error *perf_end_sample(struct perf_reader *reader)
{
	struct builder *builder = reader->builder;

	if (!reader->inside)
		return NULL;
	reader->inside = false;
	builder->n_read++;
	if (!reader->wanted)
		return NULL;
	if (reader->too_deep)
		return builder_skip(builder, reader->line, "more functions than xtop reads");
	reader->frames[--reader->first] = reader->process;
	if (!builder_add(builder, reader->frames + reader->first, BUILDER_MAX_STACK - reader->first,
			 1, reader->period))
		return builder_skip(builder, reader->line, "too many samples");
	return NULL;
}

/* perf's clocks count nanoseconds, and so do xtop's waits. */
static bool perf_is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10) ||
	       !strcmp(event, "wait");
}

/* Chooses the event that is read, at the first sample of a wanted event. */
static void perf_choose_event(struct perf_reader *reader, const char *event)
{
	struct builder *builder = reader->builder;
	const char *wanted = builder->wanted;
	bool is_clock = perf_is_clock(event);

	reader->counts_samples = wanted && !strcmp(wanted, PERF_COUNT_SAMPLES);
	if (wanted && !reader->counts_samples && strcmp(wanted, event) != 0)
		return;
	snprintf(reader->event, sizeof(reader->event), "%s", event);
	builder_offer_value(builder, event, !reader->counts_samples);
	if (reader->counts_samples)
		builder_set_value(builder, PERF_COUNT_SAMPLES, "count", 1);
	else
		builder_set_value(builder, is_clock && strcmp(event, "wait") ? "cpu" : event,
				  is_clock ? "nanoseconds" : "count", 1);
}

static void perf_begin_sample(struct perf_reader *reader, const struct perf_sample_head *head)
{
	char event[PERF_EVENT_BYTES], *name = strndup(head->name.text, head->name.bytes);

	reader->inside = true;
	reader->too_deep = false;
	reader->first = BUILDER_MAX_STACK;
	reader->line = reader->lines.number;
	snprintf(event, sizeof(event), "%.*s", (int)head->event.bytes,
		 head->event.bytes ? head->event.text : "");
	if (!*reader->event)
		perf_choose_event(reader, *event ? event : "event");
	reader->wanted = !strcmp(reader->event, *event ? event : "event");
	reader->n_other_events += !reader->wanted;
	if (!reader->wanted)
		builder_offer_value(reader->builder, *event ? event : "event", false);
	reader->period = reader->counts_samples ? 1 : head->period;
	if (reader->wanted)
		reader->process = frames_intern_process(reader->builder->frames, name, NULL);
	free(name);
}

/* One frame may follow the event on the sample's line. */
static void perf_add_same_line(struct perf_reader *reader, const char *rest)
{
	_cleanup_free_ char *text = strdup(rest);

	if (text && perf_is_frame(text, 1))
		perf_add_frame(reader, text);
}

static struct xtop_error *perf_add_head(struct perf_reader *reader, const char *text)
{
	struct xtop_error *error = perf_end_sample(reader);
	struct perf_sample_head head;

	if (error)
		return error;
	if (!perf_parse_head(text, &head))
		return builder_skip(reader->builder, reader->lines.number, "no sample of perf");
	if (!(head.period < PERF_MAX_PERIOD))
		return builder_skip(reader->builder, reader->lines.number,
				    "a period of 2^53 or more");
	if (!(head.period > 0)) /* a group's other events may have counted nothing */
		return NULL;
	perf_begin_sample(reader, &head);
	perf_add_same_line(reader, head.rest);
	return NULL;
}

/* Whether the line at TEXT belongs to the current sample: a frame, or its source line. */
static bool perf_is_inside(const struct perf_reader *reader, const char *text)
{
	bool indented = text[0] == ' ' || text[0] == '\t';
	struct perf_sample_head head;

	if (!reader->inside)
		return false;
	if (strchr(text, ':') && perf_parse_head(text, &head) && head.has_time && head.event.bytes)
		return false;
	return indented || perf_is_frame(text, PERF_MIN_DIGITS);
}

static struct xtop_error *perf_add_line(struct perf_reader *reader, struct text_line *line)
{
	line->text[line->bytes] = '\0';
	if (line->cut)
		return builder_skip(reader->builder, reader->lines.number,
				    "longer than xtop reads");
	if (line->text[0] == '#')
		return NULL;
	if (!line->text[strspn(line->text, " \t\r")])
		return perf_end_sample(reader);
	if (!perf_is_inside(reader, line->text))
		return perf_add_head(reader, line->text);
	if (perf_is_frame(line->text, 1))
		perf_add_frame(reader, line->text);
	return NULL;
}

static struct xtop_error *perf_read_lines(struct perf_reader *reader)
{
	struct xtop_error *error = NULL;
	struct text_line line;
	bool more = true;

	while (!error) {
		error = text_lines_next(&reader->lines, &line, &more);
		if (error || !more)
			break;
		error = perf_add_line(reader, &line);
	}
	return error ? error : perf_end_sample(reader);
}

static struct xtop_error *perf_judge(const struct perf_reader *reader)
{
	struct builder *builder = reader->builder;

	if (builder->wanted && !*reader->event)
		return error_create("has no event '%s'", builder->wanted);
	builder->several_values = reader->n_other_events > 0;
	builder_offer_value(builder, PERF_COUNT_SAMPLES, reader->counts_samples);
	if (reader->n_other_events)
		builder_note(builder, "%" PRIu64 " samples of other events than %s are left out",
			     reader->n_other_events, reader->event);
	return NULL;
}

struct xtop_error *perf_read(struct import_source *source, const struct import_head *head,
			     struct builder *builder)
{
	struct perf_reader *reader = calloc(1, sizeof(*reader));
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	reader->builder = builder;
	error = text_lines_init(&reader->lines, source, head->bytes, head->n);
	if (!error)
		error = perf_read_lines(reader);
	if (!error)
		error = perf_judge(reader);
	text_lines_deinit(&reader->lines);
	free(reader);
	return error;
}
