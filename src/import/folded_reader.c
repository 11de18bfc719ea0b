/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks (doc/FORMATS §1), as xtop writes them, and as the stackcollapse scripts of
 * FlameGraph and inferno do:
 *
 *	httpd;entry_SYSCALL_64_[k];do_syscall_64_[k];vfs_read_[k] 412
 *
 *	line = function *( ";" function ) " " count
 *
 * The scripts may mark a function: "_[k]" belongs to the kernel, "_[i]" was inlined, "_[j]" was
 * compiled by a JIT. A count may have a fraction. Empty lines and comments are
 * skipped. A comment begins with "# ", or with "#" and is no stack: names of Ruby's classes begin
 * with "#<".
 *
 * The first name of a stack may be the process: perf's scripts write it so, and so does xtop for
 * guests that have processes. The file does not tell, so the reader guesses. Processes run the same
 * code, such as "_start" or the kernel's entry. The first names count as processes if at least half
 * of them share a second name with another first name. The outermost functions of a program, or of
 * a unikernel, hardly ever share one.
 *
 * Speed: files are mostly sorted, so most lines begin with the same names as the last line. These
 * names are not parsed again. Other names are found in a cache by a hash of 64 bits. The hash has a
 * random seed, so that a file cannot force collisions.
 */
#include "config.h"

#include "import/readers.h"
#include "import/text_lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"

#define FOLDED_MAX_TOKENS 65536   /* names in the cache */
#define FOLDED_MAX_COUNT  0x1p53
#define FOLDED_MAX_NUMBER 64 /* bytes of a count, with a NUL */

struct folded_token {
	uint64_t hash; /* the name's hash; 0: the entry is empty */
	uint32_t frame;
};

/* The names of one line. The next line may begin with them, too. */
struct folded_stack {
	char *text; /* the line's names, without the count */
	size_t bytes;
	uint32_t frames[BUILDER_MAX_STACK];
	size_t ends[BUILDER_MAX_STACK]; /* end of each name in the text */
	size_t n;
};

struct folded_reader {
	struct builder *builder;
	struct folded_stack stack;
	struct folded_token *tokens;
	uint64_t seed;
	uint64_t line;
	uint64_t n_two_counts; /* lines that end in two numbers */
};

/* --- names ------------------------------------------------------------------------------------ */

/* The frame of NAME, which may end in a mark such as "_[k]". Overwrites a byte for a moment. */
static uint32_t folded_intern(struct folded_reader *reader, char *name, size_t bytes, bool process)
{
	enum frame_kind kind = process ? FRAME_KIND_OWNER : FRAME_KIND_FUNCTION;
	char after = name[bytes];
	uint32_t frame;

	if (!process && bytes > 4 && !memcmp(name + bytes - 4, "_[", 2) && name[bytes - 1] == ']' &&
	    strchr("kij", name[bytes - 2])) {
		kind = name[bytes - 2] == 'k' ? FRAME_KIND_KERNEL : FRAME_KIND_USERLAND;
		bytes -= 4;
		after = name[bytes];
	}
	name[bytes] = '\0';
	frame = builder_intern(reader->builder, kind, name, NULL);
	name[bytes] = after;
	return frame;
}

/* The frame of NAME, from the cache if it is there. The byte after NAME must be writable. */
static uint32_t folded_find_frame(struct folded_reader *reader, char *name, size_t bytes,
				  bool process)
{
	uint64_t hash = hash_bytes(hash_word(reader->seed, process), name, bytes) | 1;
	struct folded_token *token = &reader->tokens[(hash >> 32) % FOLDED_MAX_TOKENS];

	if (token->hash != hash) {
		token->frame = folded_intern(reader, name, bytes, process);
		token->hash = hash;
	}
	return token->frame;
}

/* --- one line --------------------------------------------------------------------------------- */

/* How many bytes A and B have in common, from the front. Both have at least N. */
static size_t folded_same_bytes(const char *a, const char *b, size_t n)
{
	size_t same = 0;
	uint64_t words[2];

	for (; n - same >= sizeof(words[0]); same += sizeof(words[0])) {
		memcpy(&words[0], a + same, sizeof(words[0]));
		memcpy(&words[1], b + same, sizeof(words[1]));
		if (words[0] != words[1])
			break;
	}
	while (same < n && a[same] == b[same])
		same++;
	return same;
}

/*
 * Counts the names at the start of TEXT that equal the last line's names. If the last line had only
 * one name the result is 0, because that name was not interned as a process.
 */
static size_t folded_shared(const struct folded_stack *stack, const char *text, size_t bytes)
{
	size_t same = folded_same_bytes(text, stack->text,
					bytes < stack->bytes ? bytes : stack->bytes);
	size_t n = 0;

	while (n < stack->n && stack->ends[n] <= same && stack->ends[n] < bytes &&
	       text[stack->ends[n]] == ';' && stack->ends[0] < stack->bytes)
		n++;
	return n;
}

/*
 * Parses TEXT, a line without its count. The result replaces the last line's. False: the stack is
 * too deep.
 */
static bool folded_parse_stack(struct folded_reader *reader, char *text, size_t bytes)
{
	struct folded_stack *stack = &reader->stack;
	size_t n = folded_shared(stack, text, bytes), at = n ? stack->ends[n - 1] + 1 : 0;

	memcpy(stack->text, text, bytes);
	stack->bytes = bytes;
	for (; at <= bytes && n < BUILDER_MAX_STACK; n++) {
		const char *found = memchr(text + at, ';', bytes - at);
		size_t end = found ? (size_t)(found - text) : bytes;

		stack->frames[n] = folded_find_frame(reader, text + at, end - at, !n && found);
		stack->ends[n] = end;
		at = end + 1;
	}
	stack->n = n;
	return at > bytes;
}

/* Parses "412", "412.5" or "4e-05". The number must fill all of the N bytes. */
static bool folded_parse_count(const char *text, size_t n, double *countp)
{
	char number[FOLDED_MAX_NUMBER], *end;

	/* Neither a sign, nor what strtod() reads besides decimal numbers. */
	if (!n || n >= sizeof(number) || text[0] < '0' || text[0] > '9')
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	if (number[strspn(number, "0123456789.eE+-")])
		return false;
	*countp = strtod(number, &end);
	return end == number + n;
}

static bool folded_is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\r';
}

/* Where the last word of the N bytes at TEXT begins. *BEFOREP: the bytes before its blanks. */
static size_t folded_last_word(const char *text, size_t n, size_t *beforep)
{
	size_t word = n;

	while (word && !folded_is_blank(text[word - 1]))
		word--;
	for (*beforep = word; *beforep && folded_is_blank(text[*beforep - 1]);)
		--*beforep;
	return word;
}

/* The parts of a line. */
struct folded_line {
	char *text;
	size_t stack_bytes;
	double ticks;
};

/* What is wrong with the BYTES bytes of the line at TEXT; NULL: nothing, and *LINE is filled. */
static const char *folded_split(char *text, size_t bytes, struct folded_line *line)
{
	size_t count = folded_last_word(text, bytes, &line->stack_bytes);

	line->text = text;
	if (!folded_parse_count(text + count, bytes - count, &line->ticks))
		return "no count at its end";
	if (!line->stack_bytes)
		return "a count without a stack";
	if (line->ticks >= FOLDED_MAX_COUNT)
		return "a count of 2^53 or more";
	if (memchr(text, '\0', line->stack_bytes))
		return "a NUL in a name";
	if (memchr(text, '\r', line->stack_bytes))
		return "a carriage return within the line: lines end with line feeds";
	return NULL;
}

/* Whether the line at TEXT, which has the form of a stack or not, is a comment. */
static bool folded_is_comment(const char *text, size_t bytes, bool is_stack)
{
	return text[0] == '#' && (!is_stack || bytes < 2 || folded_is_blank(text[1]));
}

static void folded_count_numbers(struct folded_reader *reader, const struct folded_line *line)
{
	size_t before, word = folded_last_word(line->text, line->stack_bytes, &before);
	double other;

	reader->n_two_counts +=
		before && folded_parse_count(line->text + word, line->stack_bytes - word, &other);
}

/* Adds the stack of LINE. Returns what is wrong with it; NULL: nothing. */
static const char *folded_add(struct folded_reader *reader, const struct folded_line *line)
{
	struct builder *builder = reader->builder;
	uint64_t samples = line->ticks < 1 ? 1 : (uint64_t)(line->ticks + 0.5);

	if (!(line->ticks > 0))
		return NULL;
	if (!folded_parse_stack(reader, line->text, line->stack_bytes))
		return "more functions than xtop reads";
	if (!builder_add(builder, reader->stack.frames, reader->stack.n, samples, line->ticks))
		return "too many samples";
	return NULL;
}

static struct xtop_error *folded_parse_line(struct folded_reader *reader,
					    const struct text_line *line)
{
	size_t bytes = line->bytes;
	struct folded_line parts;
	const char *wrong;

	while (bytes && folded_is_blank(line->text[bytes - 1]))
		bytes--;
	if (!bytes)
		return NULL;
	wrong = line->cut ? "longer than xtop reads" : folded_split(line->text, bytes, &parts);
	if (folded_is_comment(line->text, bytes, !wrong))
		return NULL;
	if (!wrong)
		wrong = folded_add(reader, &parts);
	if (wrong)
		return builder_skip(reader->builder, reader->line, wrong);
	folded_count_numbers(reader, &parts);
	reader->builder->n_read++;
	return NULL;
}

/* --- all lines -------------------------------------------------------------------------------- */

static struct xtop_error *folded_read_lines(struct folded_reader *reader, struct text_lines *lines)
{
	struct xtop_error *error;
	struct text_line line;
	bool more;

	for (;;) {
		error = text_lines_next(lines, &line, &more);
		if (error || !more)
			return error;
		reader->line = lines->number;
		error = folded_parse_line(reader, &line);
		if (error)
			return error;
	}
}

/*
 * Every stack of difffolded.pl has two counts: one of each run. They are not taken for a name that
 * ends in a number.
 */
static struct xtop_error *folded_check_counts(const struct folded_reader *reader)
{
	if (!reader->n_two_counts || reader->n_two_counts < reader->builder->n_read)
		return NULL;
	return error_create("each line has two counts, as difffolded.pl writes them: compare the "
			    "two profiles that it was made of, xtop --diff OLD NEW");
}

/* --- processes or functions ------------------------------------------------------------------- */

static bool folded_is_process(const struct snapshot *snapshot, uint32_t node)
{
	return frames_is_process(snapshot->frames, snapshot->nodes[node].frame);
}

/*
 * Compares the names directly below node AT with those below earlier nodes. SEEN has, for each
 * frame, 1 + the first node that it was found below. Two nodes that share a name are marked in
 * COMMON.
 */
static void folded_compare_names(const struct snapshot *snapshot, uint32_t at, uint32_t *seen,
				 uint8_t *common)
{
	const struct snapshot_node *nodes = snapshot->nodes;

	for (uint32_t i = at + 1; i < nodes[at].end; i = nodes[i].end) {
		uint32_t *first = &seen[nodes[i].frame];

		if (*first)
			common[*first - 1] = common[at] = 1;
		else
			*first = at + 1;
	}
}

static struct xtop_error *folded_has_processes(const struct snapshot *snapshot, bool *hasp)
{
	_cleanup_free_ uint32_t *seen = calloc(snapshot->n_frames, sizeof(*seen));
	_cleanup_free_ uint8_t *common = calloc(snapshot->n_nodes, sizeof(*common));
	size_t n = 0, n_common = 0;

	if (!seen || !common)
		return error_create("out of memory");
	for (uint32_t i = 1; i < snapshot->n_nodes; i = snapshot->nodes[i].end)
		if (folded_is_process(snapshot, i))
			folded_compare_names(snapshot, i, seen, common);
	for (uint32_t i = 1; i < snapshot->n_nodes; i = snapshot->nodes[i].end) {
		n += folded_is_process(snapshot, i);
		n_common += common[i];
	}
	*hasp = 2 * n_common >= n;
	return NULL;
}

static uint32_t folded_to_function(void *context, uint32_t id)
{
	struct builder *builder = context;
	const struct frame *frame = frames_get(builder->frames, id);

	return frame->kind == FRAME_KIND_OWNER
		       ? builder_intern(builder, FRAME_KIND_FUNCTION, frame->raw_name, NULL)
		       : id;
}

/* Decides whether the first names are processes. If not, they become functions. */
static struct xtop_error *folded_guess_processes(struct builder *builder)
{
	struct snapshot *snapshot;
	struct xtop_error *error = profile_copy(builder->profile, 1, &snapshot);
	bool has_processes = true;

	if (error)
		return error;
	error = folded_has_processes(snapshot, &has_processes);
	snapshot_destroy(snapshot);
	if (!has_processes)
		profile_rename(builder->profile, folded_to_function, builder);
	return error;
}

reader_knows_fn folded_knows;
reader_read_fn folded_read;

bool folded_knows(const struct import_head *head)
{
	return head->is_text;
}

static struct xtop_error *folded_run(struct folded_reader *reader, struct import_source *source,
				     const struct import_head *head)
{
	struct text_lines lines;
	struct xtop_error *error = text_lines_init(&lines, source, head->bytes, head->n);

	if (error)
		return error;
	error = folded_read_lines(reader, &lines);
	text_lines_deinit(&lines);
	if (!error)
		error = folded_check_counts(reader);
	return error ? error : folded_guess_processes(reader->builder);
}

struct xtop_error *folded_read(struct import_source *source, const struct import_head *head,
			       struct builder *builder)
{
	_cleanup_free_ struct folded_reader *reader = calloc(1, sizeof(*reader));
	_cleanup_free_ char *before = malloc(TEXT_LINES_MAX_BYTES);
	_cleanup_free_ struct folded_token *tokens = calloc(FOLDED_MAX_TOKENS, sizeof(*tokens));

	if (!reader || !before || !tokens)
		return error_create("out of memory");
	reader->builder = builder;
	reader->stack.text = before;
	reader->tokens = tokens;
	if (getrandom(&reader->seed, sizeof(reader->seed), GRND_NONBLOCK) < 0)
		reader->seed = (uintptr_t)reader;
	return folded_run(reader, source, head);
}
