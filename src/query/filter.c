/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter: which stacks count; see filter.h. A part of the filter holds for a stack when one of
 * the stack's frames matches, so it holds for the whole subtree of a node with a matching frame.
 * Frames never change, so each frame is matched against the parts only once.
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

/* The verdicts so far. They change although the filter itself does not. */
struct filter_memory {
	const struct frames *frames;
	size_t n, capacity;
	uint16_t *verdicts; /* one per frame id, N of them: filter_ask() and FILTER_ASKED, or 0 */
};
#define FILTER_ASKED 0x100U

struct filter_part {
	regex_t regex;
	bool excludes;
};

struct filter {
	char *text;
	struct filter_part parts[FILTER_MAX_PARTS];
	unsigned n_parts;
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

/* Adds the part REGEX; an empty one is left out, as it is while the user types. */
static struct xtop_error *filter_add_part(struct filter *filter, const char *regex, bool excludes)
{
	struct filter_part *part = &filter->parts[filter->n_parts];
	char reason[128];
	int failure;

	if (!*regex)
		return NULL;
	if (filter->n_parts == FILTER_MAX_PARTS)
		return error_create("a filter has at most %d parts", FILTER_MAX_PARTS);
	if (!filter_is_modest(regex))
		return error_create("filter \"%.60s\": it repeats too much, or is nested too deep",
				    regex);
	failure = regcomp(&part->regex, regex,
			  REG_EXTENDED | REG_NOSUB | (filter_has_capital(regex) ? 0 : REG_ICASE));
	if (failure) {
		regerror(failure, &part->regex, reason, sizeof(reason));
		return error_create("filter \"%s\": %s (it is a POSIX extended regular expression)",
				    regex, reason);
	}
	part->excludes = excludes;
	filter->n_parts++;
	return NULL;
}

/* Adds the parts of TEXT, which it changes. */
static struct xtop_error *filter_add_parts(struct filter *filter, char *text)
{
	struct xtop_error *error = NULL;
	size_t and_bytes = strlen(FILTER_AND);

	for (char *next; text && !error; text = next) {
		next = strstr(text, FILTER_AND);
		if (next) {
			*next = '\0';
			next += and_bytes;
		}
		error = filter_add_part(filter, text + (*text == '!'), *text == '!');
	}
	return error;
}

static struct xtop_error *filter_new(const char *text, bool in_parts, struct filter **filterp)
{
	_cleanup_free_ char *parts = strdup(text);
	struct filter *filter = calloc(1, sizeof(*filter));
	struct xtop_error *error = NULL;

	if (filter) {
		filter->memory = calloc(1, sizeof(*filter->memory));
		filter->text = strdup(text);
	}
	if (!parts || !filter || !filter->memory || !filter->text)
		error = error_create("no memory for the filter");
	else if (in_parts)
		error = filter_add_parts(filter, parts);
	else
		error = filter_add_part(filter, text, false);
	if (error) {
		filter_destroy(filter);
		return error;
	}
	*filterp = filter;
	return NULL;
}

struct xtop_error *filter_create(const char *text, struct filter **filterp)
{
	return filter_new(text, true, filterp);
}

struct xtop_error *filter_create_search(const char *regex, struct filter **filterp)
{
	return filter_new(regex, false, filterp);
}

char *filter_join(const char *const *texts, size_t n)
{
	size_t size_bytes = 1;
	char *joined;

	for (size_t i = 0; i < n; i++)
		size_bytes += strlen(texts[i]) + strlen(FILTER_AND);
	joined = n ? calloc(1, size_bytes) : NULL;
	for (size_t i = 0; joined && i < n; i++)
		snprintf(joined + strlen(joined), size_bytes - strlen(joined), "%s%s",
			 i ? FILTER_AND : "", texts[i]);
	return joined;
}

void filter_destroy(struct filter *filter)
{
	if (!filter)
		return;
	for (unsigned i = 0; i < filter->n_parts; i++)
		regfree(&filter->parts[i].regex);
	if (filter->memory)
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
static uint16_t *filter_recall(struct filter_memory *memory, const struct frames *frames,
			       uint32_t frame)
{
	if (memory->frames != frames) {
		memory->frames = frames;
		memory->n = 0;
	}
	if (frame >= memory->n) {
		if (!vector_reserve(memory->verdicts, memory->capacity, (size_t)frame + 1))
			return NULL;
		memset(memory->verdicts + memory->n, 0,
		       (memory->capacity - memory->n) * sizeof(*memory->verdicts));
		memory->n = memory->capacity;
	}
	return &memory->verdicts[frame];
}

static bool filter_part_matches(const struct filter_part *part, const char *text)
{
	return regexec(&part->regex, text, 0, NULL, 0) == 0;
}

static bool filter_part_has_frame(const struct filter_part *part, const struct frames *frames,
				  const struct frame *frame)
{
	return frame->kind != FRAME_KIND_ROOT &&
	       (filter_part_matches(part, frame->name) ||
		filter_part_matches(part, frames_get_home(frames, frame)) ||
		(frame->raw_name != frame->name && filter_part_matches(part, frame->raw_name)));
}

uint8_t filter_ask(const struct filter *filter, const struct frames *frames, uint32_t frame)
{
	uint16_t *verdict = filter_recall(filter->memory, frames, frame);
	const struct frame *asked = frames_get(frames, frame);
	uint8_t met = 0;

	if (verdict && *verdict)
		return (uint8_t)*verdict;
	for (unsigned i = 0; i < filter->n_parts; i++)
		if (filter_part_has_frame(&filter->parts[i], frames, asked))
			met |= (uint8_t)(1U << i);
	if (verdict)
		*verdict = FILTER_ASKED | met;
	return met;
}

bool filter_passes(const struct filter *filter, uint8_t met)
{
	for (unsigned i = 0; i < filter->n_parts; i++)
		if ((met >> i & 1) == filter->parts[i].excludes)
			return false;
	return true;
}

bool filter_matches_text(const struct filter *filter, const char *text)
{
	return !filter->n_parts || filter_part_matches(&filter->parts[0], text);
}

bool filter_matches(const struct filter *filter, const struct frames *frames, uint32_t frame)
{
	return !filter->n_parts || filter_ask(filter, frames, frame) & 1;
}

bool filter_walk_passes(const struct filter *filter, const struct snapshot *snapshot,
			struct filter_walk *walk, uint32_t index)
{
	const struct snapshot_node *node = &snapshot->nodes[index];
	uint8_t asked = filter_ask(filter, snapshot->frames, node->frame), met = 0;

	for (unsigned i = 0; i < filter->n_parts; i++) {
		if (asked >> i & 1 && index >= walk->open[i])
			walk->open[i] = node->end;
		met |= (uint8_t)((index < walk->open[i]) << i);
	}
	return filter_passes(filter, met);
}

struct xtop_error *filter_nodes(const struct filter *filter, const struct snapshot *snapshot,
				struct snapshot_node **copyp, const struct snapshot_node **nodesp)
{
	const struct snapshot_node *from = snapshot->nodes;
	struct filter_walk walk = { 0 };
	struct snapshot_node *to;

	*copyp = NULL;
	*nodesp = from;
	if (!filter)
		return NULL;
	to = snapshot_nodes_create(snapshot->n_nodes);
	if (!to)
		return error_create("no memory to filter %zu nodes", snapshot->n_nodes);
	for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
		to[i] = from[i];
		if (!filter_walk_passes(filter, snapshot, &walk, i)) {
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
	struct filter_walk walk = { 0 };
	struct weights sum = { 0 };

	for (uint32_t i = 0; i < snapshot->n_nodes; i++)
		if (filter_walk_passes(filter, snapshot, &walk, i))
			weights_add_self(&sum, &snapshot->nodes[i]);
	return (struct weights){ .children_live = sum.self_live,
				 .children_ticks = sum.self_ticks,
				 .children_total = sum.self_total };
}
