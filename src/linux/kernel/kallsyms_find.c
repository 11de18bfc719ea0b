/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the tables of a Linux kernel's symbols: the input is its read-only data, the output checked
 * tables. The kernel's version is not used, because stable kernels have layouts of later versions.
 * Each table is found from the contents of the others, and accepted if all of them agree.
 * Resolver's thread.
 *
 * Linux scripts/kallsyms.c writes the tables one after the other. Each table is aligned to 8, or to
 * 4 in kernels whose tables have no pointers any more (seen in 7.2 and 7.3):
 *
 *   up to 6.3    addresses | offsets base    num names markers [seqs] token_table token_index
 *   from 6.4                                 num names markers token_table token_index
 *                                                          addresses | offsets [base] [seqs]
 *
 *   num          u32 n; u64 up to 4.19 (with tables aligned to 8, padding makes both equal)
 *   names        n times: a length, then that many tokens of one byte. The first character that
 *                the tokens stand for is the type. The length is one byte, or from 6.1
 *                (73bbb94466fd) ULEB128 of up to two bytes, which differs from 128 on
 *   markers      u32: offset in names of each 256th name; u64 up to 4.19 (80ffbaa5b1bd)
 *   seqs         n times 3 bytes, for a while 4: indices by name. From 6.2, and in stable kernels
 *                of 6.1. This search does not use them
 *   token_table  256 strings with their NULs. Characters that occur in names stand for
 *                themselves; digits always do
 *   token_index  256 u16: offset in token_table of each string
 *   addresses    as enum kallsyms_encoding has them: absolute (gone in 6.11, 64e166099b69), per-cpu
 *                (gone in 6.15, 01157ddc58dc), relative to base, relative to their own places
 *                (7.0, a081b5789255: then there is no base)
 *
 * The order changed with Linux commit 404bad70fcf7 ("kallsyms: change the output order") (in v6.4).
 *
 * The search:
 *
 *   1. token_index: the entries of digits differ by 2, so two neighbouring words differ by a
 *      constant. This comparison is all that most of the range costs.
 *   2. token_table must end right before token_index; all 256 strings must be where the index has
 *      them.
 *   3. markers: the nearest run before the table that begins with 0 and ascends in steps that names
 *      may have.
 *   4. names: n is before them, and fits the number of markers. A walk over all n names must
 *      meet every marker and end where the markers begin.
 *   5. addresses: for one of the places and encodings, all of them must ascend, and _text must lie
 *      where the code does.
 *
 * A guest may forge all of this. Every step but the first is counted, and at KALLSYMS_MAX_STEPS the
 * search ends without symbols: such a guest hides only its own names.
 */
#include "config.h"

#include "linux/kernel/kallsyms_finder.h"

#include <assert.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"

#define GROUP           256         /* names for each marker */
#define MIN_MARKERS     LIMIT(8, 2) /* the smallest kernels have 5,000 symbols */
#define MAX_MARKERS     (KALLSYMS_MAX_SYMBOLS / GROUP)
#define MIN_GROUP_BYTES (GROUP * 2) /* a length and a token for each name */
#define MAX_GROUP_BYTES (GROUP * (2 + KALLSYMS_MAX_NAME_BYTES))
#define MAX_SEQ_BYTES   4
#define READ_BYTES      (256U << 10) /* bytes that are copied at once */

/* --- tokens ----------------------------------------------------------------------------------- */

static bool finder_check_token(const struct kallsyms_finder *finder, unsigned token)
{
	const struct kallsyms *out = finder->out;
	const uint8_t *string =
		finder->input->bytes + finder->token_table + out->token_offsets[token];
	unsigned bytes = out->token_bytes[token];

	for (unsigned i = 0; i < bytes; i++)
		if (string[i] < 0x21 || string[i] > 0x7e)
			return false;
	if (string[bytes])
		return false;
	return token < '0' || token > '9' || (bytes == 1 && string[0] == token);
}

/*
 * Reads the tokens' offsets, which must ascend; no string may be empty. The index does not tell the
 * length of the last string.
 */
static bool finder_read_token_index(struct kallsyms_finder *finder)
{
	struct kallsyms *out = finder->out;

	if (!finder_spend(finder, 1) || finder_load(finder, finder->token_index, 2))
		return false;
	for (unsigned i = 0; i < N_TOKENS; i++) {
		out->token_offsets[i] = finder_load(finder, finder->token_index + 2 * i, 2);
		if (!i)
			continue;
		if (out->token_offsets[i] < out->token_offsets[i - 1] + 2 ||
		    out->token_offsets[i] > out->token_offsets[i - 1] + KALLSYMS_MAX_NAME_BYTES + 1)
			return finder_spend(finder, i) && false;
		out->token_bytes[i - 1] = out->token_offsets[i] - out->token_offsets[i - 1] - 1;
	}
	return finder_spend(finder, N_TOKENS);
}

/* Checks the token table, which must end where the index begins, except for padding. */
static bool finder_check_token_table(struct kallsyms_finder *finder)
{
	const uint8_t *bytes = finder->input->bytes;
	struct kallsyms *out = finder->out;
	size_t last = finder->token_index, end;
	unsigned last_bytes = 0;

	while (last && finder->token_index - last <= finder->align && !bytes[last - 1])
		last--;
	end = last;
	if (finder_align(finder, end + 1) != finder->token_index)
		return false;
	while (last && last_bytes <= KALLSYMS_MAX_NAME_BYTES && bytes[last - 1])
		last--, last_bytes++;
	if (!finder_spend(finder, last_bytes) || last_bytes > KALLSYMS_MAX_NAME_BYTES ||
	    last < out->token_offsets[N_TOKENS - 1])
		return false;
	finder->token_table = last - out->token_offsets[N_TOKENS - 1];
	out->token_bytes[N_TOKENS - 1] = last_bytes;
	if (finder->token_table % finder->align)
		return false;
	for (unsigned i = 0; i < N_TOKENS; i++)
		if (!finder_spend(finder, out->token_bytes[i] + 1) ||
		    !finder_check_token(finder, i))
			return false;
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * Sets the mark of the symbol with INDEX, if the symbol is one of the marks. With their types the
 * names of marks have 6, 7 or 11 characters.
 */
static void finder_update_marks(struct kallsyms_finder *finder, uint32_t index,
				const uint8_t *tokens, unsigned n_tokens)
{
	static const char *const names[KALLSYMS_N_MARKS] = {
		[KALLSYMS_TEXT] = "_text",           [KALLSYMS_STEXT] = "_stext",
		[KALLSYMS_ETEXT] = "_etext",         [KALLSYMS_SINITTEXT] = "_sinittext",
		[KALLSYMS_EINITTEXT] = "_einittext",
	};
	const struct kallsyms *out = finder->out;
	char name[16];
	size_t used = 0;

	for (unsigned i = 0; i < n_tokens; i++) {
		memcpy(name + used,
		       finder->input->bytes + finder->token_table + out->token_offsets[tokens[i]],
		       out->token_bytes[tokens[i]]);
		used += out->token_bytes[tokens[i]];
	}
	name[used] = '\0';
	for (unsigned mark = 0; mark < KALLSYMS_N_MARKS; mark++)
		if (strcmp(name + 1, names[mark]) == 0 && finder->mark_indices[mark] == finder->n)
			finder->mark_indices[mark] = index;
}

/*
 * Reads the length at *ATP, and moves *ATP past the length. Returns 0 if no name can begin there.
 */
static unsigned finder_name_length(const struct kallsyms_finder *finder, size_t *atp)
{
	const uint8_t *bytes = finder->input->bytes;
	unsigned length = bytes[(*atp)++];

	if (finder->out->long_lengths && length & 0x80) {
		if (*atp >= finder->markers)
			return 0;
		length = (length & 0x7f) | bytes[(*atp)++] << 7;
	}
	return length > KALLSYMS_MAX_NAME_BYTES || length > finder->markers - *atp ? 0 : length;
}

/* Walks all names. Returns false if the names miss a marker or do not end at the markers. */
static bool finder_walk_names(struct kallsyms_finder *finder)
{
	const uint8_t *bytes = finder->input->bytes;
	size_t at = finder->names, expanded_total = 0;

	for (unsigned mark = 0; mark < KALLSYMS_N_MARKS; mark++)
		finder->mark_indices[mark] = finder->n;
	for (uint32_t i = 0; i < finder->n; i++) {
		unsigned length, expanded = 0;

		if (i % GROUP == 0 &&
		    (finder_is_over(finder) ||
		     at - finder->names !=
			     finder_load(finder, finder->markers + i / GROUP * finder->marker_bytes,
					 finder->marker_bytes)))
			return false;
		if (at >= finder->markers)
			return false;
		length = finder_name_length(finder, &at);
		if (!length || !finder_spend(finder, 1 + length))
			return false;
		for (unsigned token = 0; token < length; token++)
			expanded += finder->out->token_bytes[bytes[at + token]];
		if (expanded < 2 || expanded > KALLSYMS_MAX_NAME_BYTES)
			return false;
		if (expanded == 6 || expanded == 7 || expanded == 11)
			finder_update_marks(finder, i, bytes + at, length);
		expanded_total += expanded;
		at += length;
	}
	finder->names_bytes = at - finder->names;
	return finder_align(finder, at) == finder->markers &&
	       expanded_total <= KALLSYMS_MAX_EXPANDED_BYTES;
}

/* --- combining the tables --------------------------------------------------------------------- */

static struct xtop_error *finder_read_all_addresses(struct kallsyms_finder *finder, bool *foundp)
{
	struct kallsyms *out = finder->out;

	free(out->addresses);
	out->addresses = malloc(finder->n * sizeof(*out->addresses));
	if (!out->addresses)
		return error_create("out of memory for %u kernel symbols", finder->n);
	*foundp = finder_find_addresses(finder);
	return NULL;
}

/* Tries each place for names that end at the markers and have a fitting n before them. */
static struct xtop_error *finder_try_names(struct kallsyms_finder *finder, bool *foundp)
{
	uint64_t last = finder_load(
		finder, finder->markers + (finder->n_markers - 1) * (size_t)finder->marker_bytes,
		finder->marker_bytes);
	struct xtop_error *error = NULL;

	for (size_t bytes = finder_align(finder, last + 2);
	     !*foundp && !error && bytes <= last + MAX_GROUP_BYTES && bytes + 8 <= finder->markers;
	     bytes += finder->align) {
		uint64_t n =
			finder_load(finder, finder->markers - bytes - finder->align, finder->align);

		if (!finder_spend(finder, 1))
			return NULL;
		if (n > KALLSYMS_MAX_SYMBOLS || (n + GROUP - 1) / GROUP != finder->n_markers)
			continue;
		finder->n = n;
		finder->names = finder->markers - bytes;
		for (unsigned raw = 0; raw < 2 && !*foundp && !error; raw++) {
			finder->out->long_lengths = !raw;
			if (finder_walk_names(finder))
				error = finder_read_all_addresses(finder, foundp);
		}
	}
	return error;
}

/* Counts the markers from AT on, which end before LIMIT. */
static unsigned finder_count_markers(struct kallsyms_finder *finder, size_t at, unsigned bytes,
				     size_t limit)
{
	uint64_t last = 0;
	unsigned n = 1;

	for (at += bytes; n < MAX_MARKERS && at + bytes <= limit; at += bytes, n++) {
		uint64_t marker = finder_load(finder, at, bytes);

		if (marker < last + MIN_GROUP_BYTES || marker > last + MAX_GROUP_BYTES)
			break;
		last = marker;
	}
	finder_spend(finder, n);
	return n;
}

/*
 * Moves *ATP down to the next aligned 0, which may be the first marker. Returns false if there is
 * no aligned 0 down to LOWEST.
 */
static bool finder_next_zero(struct kallsyms_finder *finder, size_t *atp, size_t lowest)
{
	const uint8_t *bytes = finder->input->bytes;
	size_t at = *atp;
	uint32_t word = 1;

	while (at >= lowest + finder->align && word) {
		at -= finder->align;
		memcpy(&word, bytes + at, 4);
	}
	finder_spend(finder, (*atp - at) / finder->align);
	*atp = at;
	return !word && !finder_spent(finder);
}

/* Tries markers from the token table downwards; seqs may lie between markers and token table. */
static struct xtop_error *finder_try_markers(struct kallsyms_finder *finder, bool *foundp)
{
	size_t most = KALLSYMS_MAX_SYMBOLS * (size_t)MAX_SEQ_BYTES + MAX_MARKERS * 8 + 8;
	size_t table = finder->token_table, lowest = table > most ? table - most : 0, at = table;
	struct xtop_error *error = NULL;

	while (!*foundp && !error && !finder_is_over(finder) &&
	       finder_next_zero(finder, &at, lowest)) {
		finder->marker_bytes = finder_load(finder, at + 4, 4) ? 4 : 8;
		finder->n_markers = finder_count_markers(finder, at, finder->marker_bytes, table);
		finder->markers = at;
		if (finder->n_markers >= MIN_MARKERS)
			error = finder_try_names(finder, foundp);
	}
	return error;
}

static struct xtop_error *finder_try_token_index(struct kallsyms_finder *finder, size_t at,
						 bool *foundp)
{
	struct xtop_error *error = NULL;

	finder->token_index = at;
	if (!finder_read_token_index(finder))
		return NULL;
	for (finder->align = 8; finder->align >= 4 && !*foundp && !error; finder->align /= 2)
		if (at % finder->align == 0 && finder_check_token_table(finder))
			error = finder_try_markers(finder, foundp);
	return error;
}

/*
 * Moves *ATP to the next place where a token_index may begin. In a token_index the offset of '4' is
 * by 8 larger than the offset of '0', and so on to '7' and '3': each digit has a string of 2 bytes.
 * Returns false if no such place is present, or if the work is over. The search asks the work in
 * between, because searching the rest of a table of 16 MiB would take up to 100 ms.
 */
static bool finder_next_token_index(const struct kallsyms_finder *finder, size_t *atp)
{
	const uint8_t *bytes = finder->input->bytes;
	size_t present = finder->input->present_bytes, at = *atp, last, end;
	uint64_t word, before;

	if (present < TOKEN_INDEX_BYTES)
		return false;
	last = present - TOKEN_INDEX_BYTES;
	while (at <= last && !finder_is_over(finder)) {
		end = last - at > READ_BYTES ? at + READ_BYTES : last;
		for (; at <= end; at += 4) {
			memcpy(&before, bytes + at + 2 * '0', 8);
			memcpy(&word, bytes + at + 2 * '4', 8);
			if (word - before == 0x0008000800080008ULL) {
				*atp = at;
				return true;
			}
		}
	}
	*atp = at;
	return false;
}

static bool finder_read_on(struct kallsyms_finder *finder)
{
	size_t present = finder->input->present_bytes, size = finder->input->size_bytes;

	return present < size &&
	       finder_need(finder, size - present > READ_BYTES ? present + READ_BYTES : size);
}

static struct xtop_error *finder_search(struct kallsyms_finder *finder, bool *foundp)
{
	struct xtop_error *error = NULL;
	size_t at = finder->input->absent_bytes;

	do {
		while (!*foundp && !error && !finder_spent(finder) &&
		       at + TOKEN_INDEX_BYTES <= finder->input->present_bytes &&
		       finder_next_token_index(finder, &at)) {
			error = finder_try_token_index(finder, at, foundp);
			at += 4;
		}
	} while (!*foundp && !error && !finder_spent(finder) && !finder_is_over(finder) &&
		 finder_read_on(finder));
	return error;
}

/* Copies the tables that the decoder needs. */
static struct xtop_error *finder_copy(const struct kallsyms_finder *finder)
{
	const struct kallsyms_input *input = finder->input;
	struct kallsyms *out = finder->out;
	size_t tokens_bytes = finder->token_index - finder->token_table;

	out->n = finder->n;
	out->text_end = input->text_end;
	out->names_bytes = finder->names_bytes;
	out->names = malloc(out->names_bytes);
	out->tokens = calloc(1, tokens_bytes + KALLSYMS_TOKEN_PADDING);
	if (!out->names || !out->tokens)
		return error_create("out of memory for the names of %u kernel symbols", out->n);
	memcpy(out->names, input->bytes + finder->names, out->names_bytes);
	memcpy(out->tokens, input->bytes + finder->token_table, tokens_bytes);
	for (unsigned mark = 0; mark < KALLSYMS_N_MARKS; mark++)
		if (finder->mark_indices[mark] < out->n)
			out->marks[mark] = out->addresses[finder->mark_indices[mark]];
	if (!out->marks[KALLSYMS_TEXT])
		out->marks[KALLSYMS_TEXT] = out->marks[KALLSYMS_STEXT];
	return NULL;
}

struct xtop_error *kallsyms_find(struct kallsyms_input *input, struct kallsyms **kallsymsp)
{
	struct kallsyms_finder finder = { .input = input };
	struct xtop_error *error;
	bool found = false;

	assert(input->address % 8 == 0 && input->absent_bytes % 8 == 0);
	input->steps = 0;
	finder.out = calloc(1, sizeof(*finder.out));
	if (!finder.out)
		return error_create("out of memory for kernel symbols");
	finder.out->work = input->work;
	error = finder_search(&finder, &found);
	if (!error && found)
		error = finder_copy(&finder);
	if (error || !found) {
		kallsyms_destroy(finder.out);
		finder.out = NULL;
	}
	if (!error)
		*kallsymsp = finder.out;
	return error;
}
