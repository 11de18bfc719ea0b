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
 * compiled by a JIT. A count may have a fraction. Empty lines, and lines that begin with "#", are
 * skipped.
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

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/import/import.h"

#define FOLDED_MAX_TOKENS 65536   /* names in the cache */
#define FOLDED_MAX_COUNT  (1ULL << 53)
#define FOLDED_MAX_DEPTH  (SNAPSHOT_MAX_DEPTH + 1) /* one more detects deeper stacks */

struct folded_token {
	uint64_t hash; /* the name's hash; 0: the entry is empty */
	uint32_t frame;
};

/* The names of one line. The next line may begin with them, too. */
struct folded_stack {
	char *text; /* without the count */
	size_t bytes;
	uint32_t frames[FOLDED_MAX_DEPTH];
	size_t ends[FOLDED_MAX_DEPTH]; /* where each name ends in the text */
	size_t n;
};

struct folded_reader {
	struct builder *builder;
	struct folded_stack stack;
	struct folded_token *tokens;
	uint64_t seed;
	uint64_t line;
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

/* Parses TEXT, a line without its count. The result replaces the last line's. */
static void folded_parse_stack(struct folded_reader *reader, char *text, size_t bytes)
{
	struct folded_stack *stack = &reader->stack;
	size_t n = folded_shared(stack, text, bytes), at = n ? stack->ends[n - 1] + 1 : 0;

	memcpy(stack->text, text, bytes);
	stack->bytes = bytes;
	for (; at <= bytes && n < FOLDED_MAX_DEPTH; n++) {
		const char *found = memchr(text + at, ';', bytes - at);
		size_t end = found ? (size_t)(found - text) : bytes;

		stack->frames[n] = folded_find_frame(reader, text + at, end - at, !n && found);
		stack->ends[n] = end;
		at = end + 1;
	}
	stack->n = n;
}

/* Parses "412" or "412.5". The number must fill all of the N bytes. */
static bool folded_parse_count(const char *text, size_t n, double *countp)
{
	double count = 0, unit = 1;
	bool fraction = false;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '.' && !fraction && i) {
			fraction = true;
		} else if (text[i] < '0' || text[i] > '9') {
			return false;
		} else if (fraction) {
			unit /= 10;
			count += unit * (text[i] - '0');
		} else {
			count = 10 * count + (text[i] - '0');
		}
	}
	*countp = count;
	return n && count < (double)FOLDED_MAX_COUNT;
}

static bool folded_is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\r';
}

static struct xtop_error *folded_refuse(const struct folded_reader *reader, const char *what)
{
	return error_create("damaged in line %" PRIu64 ": %s", reader->line, what);
}

/* Parses the line of BYTES bytes at TEXT. The byte after the line must be writable. */
static struct xtop_error *folded_parse_line(struct folded_reader *reader, char *text, size_t bytes)
{
	size_t stack, count;
	uint64_t samples;
	double ticks;

	reader->line++;
	while (bytes && folded_is_blank(text[bytes - 1]))
		bytes--;
	if (!bytes || text[0] == '#')
		return NULL;
	for (count = bytes; count && !folded_is_blank(text[count - 1]);)
		count--;
	for (stack = count; stack && folded_is_blank(text[stack - 1]);)
		stack--;
	if (!stack || !folded_parse_count(text + count, bytes - count, &ticks))
		return reader->builder->counts.samples
			       ? folded_refuse(reader, "no count at its end")
			       : error_create("neither a recording nor a profile: line %" PRIu64
					      " has no count at its end; xtop reads recordings, "
					      "folded stacks and pprof",
					      reader->line);
	if (memchr(text, '\0', stack))
		return folded_refuse(reader, "a NUL in a name");
	if (!(ticks > 0))
		return NULL;
	folded_parse_stack(reader, text, stack);
	samples = ticks < 1 ? 1 : (uint64_t)(ticks + 0.5);
	if (!builder_add(reader->builder, reader->stack.frames, reader->stack.n, samples, ticks))
		return folded_refuse(reader, "too many samples");
	return NULL;
}

/* --- all lines -------------------------------------------------------------------------------- */

/* Parses the complete lines in the N bytes at TEXT. *DONEP: the bytes of these lines. */
static struct xtop_error *folded_parse_lines(struct folded_reader *reader, char *text, size_t n,
					     size_t *donep)
{
	struct xtop_error *error = NULL;
	char *end;

	*donep = 0;
	while (!error && (end = memchr(text + *donep, '\n', n - *donep))) {
		error = folded_parse_line(reader, text + *donep, (size_t)(end - text) - *donep);
		*donep = (size_t)(end - text) + 1;
	}
	return error;
}

static struct xtop_error *folded_read_lines(struct folded_reader *reader,
					    struct import_source *source, char *text, size_t n)
{
	struct xtop_error *error;
	size_t done, more;

	for (;;) {
		error = folded_parse_lines(reader, text, n, &done);
		if (error)
			return error;
		if (n - done == FOLDED_MAX_LINE_BYTES)
			return error_create("damaged in line %" PRIu64 ": longer than %u bytes",
					    reader->line + 1, FOLDED_MAX_LINE_BYTES);
		memmove(text, text + done, n - done);
		n -= done;
		error = source_read(source, text + n, FOLDED_MAX_LINE_BYTES - n, &more);
		if (error)
			return error;
		n += more;
		if (!more) /* the last line may lack its newline */
			return n ? folded_parse_line(reader, text, n) : NULL;
	}
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

struct xtop_error *folded_read(struct import_source *source, const char *start, size_t n,
			       struct builder *builder)
{
	_cleanup_free_ struct folded_reader *reader = calloc(1, sizeof(*reader));
	_cleanup_free_ char *text = malloc(FOLDED_MAX_LINE_BYTES + 1),
			    *before = malloc(FOLDED_MAX_LINE_BYTES);
	_cleanup_free_ struct folded_token *tokens = calloc(FOLDED_MAX_TOKENS, sizeof(*tokens));
	struct xtop_error *error;

	if (!reader || !text || !before || !tokens)
		return error_create("out of memory");
	reader->builder = builder;
	reader->stack.text = before;
	reader->tokens = tokens;
	if (getrandom(&reader->seed, sizeof(reader->seed), GRND_NONBLOCK) < 0)
		reader->seed = (uintptr_t)reader;
	memcpy(text, start, n);
	error = folded_read_lines(reader, source, text, n);
	return error ? error : folded_guess_processes(builder);
}
