/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter: which stacks count; see filter.h. A stack counts when one of its frames matches.
 * So the whole subtree of a node with a matching frame counts. Frames never change, so each frame
 * is matched against the regex only once.
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/query/filter.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Whether a frame matches, if it was matched before. */
enum filter_verdict { FILTER_NOT_ASKED, FILTER_YES, FILTER_NO };

/* The verdicts so far. They change although the filter itself does not. */
struct filter_memory {
	const struct frames *frames;
	size_t n, capacity;
	uint8_t *verdicts; /* enum filter_verdict by frame id, N of them */
};

struct filter {
	char *text;
	regex_t regex;
	struct filter_memory *memory;
};

static bool filter_has_capital(const char *text)
{
	while (*text && !isupper((unsigned char)*text))
		text++;
	return *text;
}

/* --- how much the regex repeats --------------------------------------------------------------- */

/*
 * regcomp() of glibc copies what is repeated, with one level of recursion for each copy:
 * "a{1,255}{1,255}{1,255}" becomes 16 million copies and crashes the process. Users may type any
 * text into a search, so such a regex is refused first.
 */
#define FILTER_MAX_COPIES 1000
#define FILTER_MAX_DEPTH  100

/* Moves *AT after the bracket expression that *AT is in. */
static void filter_skip_bracket(const char **at)
{
	const char *end;

	*at += **at == '^';
	end = **at == ']' ? strchr(*at + 1, ']') : strchr(*at, ']');
	while (end && end[-1] == ':') /* the end of a class, [[:alpha:]] */
		end = strchr(end + 1, ']');
	*at = end ? end + 1 : *at + strlen(*at);
}

/* The largest number in "3}", "3,}" or "3,5}", at least 1. Moves *AT after it. */
static double filter_parse_repeats(const char **at)
{
	double most = 1;

	while (**at && **at != '}') {
		char *end;
		double number = strtod(*at, &end);

		most = number > most ? number : most;
		*at = end > *at ? end : *at + 1;
	}
	*at += **at == '}';
	return most;
}

/*
 * How many atoms the group at *AT has when its repetitions are written out. Moves *AT to the
 * group's end. INFINITY: groups are nested too deep.
 */
static double filter_count_atoms(const char **at, unsigned depth)
{
	double all = 0, last = 0;

	if (depth == FILTER_MAX_DEPTH)
		return INFINITY;
	while (**at && **at != ')') {
		char character = *(*at)++;

		if (strchr("*+?|^$", character))
			continue;
		if (character == '{') {
			double repeats = filter_parse_repeats(at);

			all += last * (repeats - 1);
			last *= repeats;
			continue;
		}
		last = 1;
		if (character == '(') {
			last += filter_count_atoms(at, depth + 1);
			*at += **at == ')';
		} else if (character == '[') {
			filter_skip_bracket(at);
		} else if (character == '\\' && **at) {
			++*at;
		}
		all += last;
	}
	return all;
}

/* Whether regcomp() can compile REGEX safely. */
static bool filter_is_modest(const char *regex)
{
	const char *at = regex;
	double all = 0;

	while (*at) {
		all += filter_count_atoms(&at, 0);
		at += *at == ')'; /* it closes no group: regcomp() reports that */
	}
	return all <= FILTER_MAX_COPIES + (double)strlen(regex);
}

/* --- the filter ------------------------------------------------------------------------------- */

struct xtop_error *filter_create(const char *regex, struct filter **filterp)
{
	_cleanup_free_ struct filter *filter = calloc(1, sizeof(*filter));
	_cleanup_free_ struct filter_memory *memory = calloc(1, sizeof(*memory));
	_cleanup_free_ char *text = strdup(regex);
	char reason[128];
	int failure;

	if (!filter || !memory || !text)
		return error_create("no memory for the filter");
	if (!filter_is_modest(regex))
		return error_create("filter \"%.60s\": it repeats too much, or is nested too deep",
				    regex);
	failure = regcomp(&filter->regex, regex,
			  REG_EXTENDED | REG_NOSUB | (filter_has_capital(regex) ? 0 : REG_ICASE));
	if (failure) {
		regerror(failure, &filter->regex, reason, sizeof(reason));
		return error_create("filter \"%s\": %s (it is a POSIX extended regular expression)",
				    regex, reason);
	}
	filter->text = no_cleanup_ptr(text);
	filter->memory = no_cleanup_ptr(memory);
	*filterp = no_cleanup_ptr(filter);
	return NULL;
}

void filter_destroy(struct filter *filter)
{
	if (!filter)
		return;
	regfree(&filter->regex);
	free(filter->memory->verdicts);
	free(filter->memory);
	free(filter->text);
	free(filter);
}

void filter_invalidate(struct filter *filter)
{
	if (filter)
		filter->memory->frames = NULL;
}

const char *filter_text(const struct filter *filter)
{
	return filter->text;
}

/* The verdict on FRAME. NULL: out of memory, so FRAME is matched each time. */
static uint8_t *filter_recall(struct filter_memory *memory, const struct frames *frames,
			      uint32_t frame)
{
	if (memory->frames != frames) {
		memory->frames = frames;
		memory->n = 0;
	}
	if (frame >= memory->n) {
		if (!vector_reserve(memory->verdicts, memory->capacity, (size_t)frame + 1))
			return NULL;
		memset(memory->verdicts + memory->n, FILTER_NOT_ASKED,
		       memory->capacity - memory->n);
		memory->n = memory->capacity;
	}
	return &memory->verdicts[frame];
}

bool filter_matches_text(const struct filter *filter, const char *text)
{
	return regexec(&filter->regex, text, 0, NULL, 0) == 0;
}

bool filter_matches(const struct filter *filter, const struct frames *frames, uint32_t frame)
{
	uint8_t *verdict = filter_recall(filter->memory, frames, frame);
	const struct frame *f = frames_get(frames, frame);
	bool matches;

	if (verdict && *verdict != FILTER_NOT_ASKED)
		return *verdict == FILTER_YES;
	matches = f->kind != FRAME_KIND_ROOT &&
		  (filter_matches_text(filter, f->name) ||
		   filter_matches_text(filter, frames_get_home(frames, f)) ||
		   (f->raw_name != f->name && filter_matches_text(filter, f->raw_name)));
	if (verdict)
		*verdict = matches ? FILTER_YES : FILTER_NO;
	return matches;
}

struct xtop_error *filter_nodes(const struct filter *filter, const struct snapshot *snapshot,
				struct snapshot_node **copyp, const struct snapshot_node **nodesp)
{
	const struct snapshot_node *from = snapshot->nodes;
	struct snapshot_node *to;
	uint32_t open_until = 0; /* nodes before this index match, or have a match above them */

	*copyp = NULL;
	*nodesp = from;
	if (!filter)
		return NULL;
	to = snapshot_nodes_create(snapshot->n_nodes);
	if (!to)
		return error_create("no memory to filter %zu nodes", snapshot->n_nodes);
	for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
		to[i] = from[i];
		if (i >= open_until && filter_matches(filter, snapshot->frames, from[i].frame))
			open_until = from[i].end;
		if (i >= open_until) {
			to[i].self_live = 0;
			to[i].self_ticks = 0;
			to[i].self_total = 0;
		}
		to[i].children_live = to[i].self_live;
		to[i].children_ticks = to[i].self_ticks;
		to[i].children_total = to[i].self_total;
	}
	snapshot_nodes_sum(to, snapshot->n_nodes);
	*nodesp = *copyp = to;
	return NULL;
}

struct weights filter_weights(const struct filter *filter, const struct snapshot *snapshot)
{
	struct weights sum = { 0 };

	for (uint32_t i = 0; i < snapshot->n_nodes;) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (!filter_matches(filter, snapshot->frames, node->frame)) {
			i++;
			continue;
		}
		weights_add_children(&sum, node);
		i = node->end;
	}
	return sum;
}
