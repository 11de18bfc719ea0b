/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the tables that kallsyms_find() has found, copied and checked: functions go to the symbol
 * table, and names that other readers of the guest need are resolved to addresses. kallsyms_find.c
 * describes the format, and has checked every length and index. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/kallsyms.h"

#include <ctype.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/work.h"

void kallsyms_destroy(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	free(kallsyms->addresses);
	free(kallsyms->names);
	free(kallsyms->tokens);
	free(kallsyms);
}

uint64_t kallsyms_text(const struct kallsyms *kallsyms)
{
	return kallsyms->marks[KALLSYMS_TEXT];
}

/* --- one symbol after the other --------------------------------------------------------------- */

void kallsyms_first(struct kallsyms_cursor *cursor)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->name = cursor->buffer + 9;
}

/*
 * Copies tokens in blocks of 16 bytes. Most tokens are shorter: the next token overwrites the rest.
 * The tokens' text and the buffer have room for the excess bytes.
 */
static size_t kallsyms_expand(const struct kallsyms *kallsyms, const uint8_t *tokens,
			      unsigned n_tokens, char *text)
{
	char *end = text;

	for (unsigned i = 0; i < n_tokens; i++) {
		const char *token = kallsyms->tokens + kallsyms->token_offsets[tokens[i]];
		size_t bytes = kallsyms->token_bytes[tokens[i]];

		memcpy(end, token, KALLSYMS_TOKEN_PADDING);
		if (bytes > KALLSYMS_TOKEN_PADDING)
			memcpy(end + KALLSYMS_TOKEN_PADDING, token + KALLSYMS_TOKEN_PADDING,
			       bytes - KALLSYMS_TOKEN_PADDING);
		end += bytes;
	}
	*end = '\0';
	return end - text;
}

/* The buffer begins with 8 unused bytes, so that 8 bytes before a name's end can always be read. */
bool kallsyms_next(const struct kallsyms *kallsyms, struct kallsyms_cursor *cursor)
{
	const uint8_t *names = kallsyms->names;
	unsigned length;

	if (cursor->next == kallsyms->n)
		return false;
	length = names[cursor->at++];
	if (kallsyms->long_lengths && length & 0x80)
		length = (length & 0x7f) | names[cursor->at++] << 7;
	cursor->name_bytes =
		kallsyms_expand(kallsyms, names + cursor->at, length, cursor->buffer + 8) - 1;
	cursor->at += length;
	cursor->type = cursor->buffer[8];
	cursor->address = kallsyms->addresses[cursor->next++];
	return true;
}

/* --- wanted names ----------------------------------------------------------------------------- */

/*
 * A bitmap of hashes: only about one percent of the other symbols is compared with the wanted
 * names. The hash covers both ends and the length, because many names of a kernel begin alike.
 * hash.h is not used: the hash is computed for each of 150,000 symbols, and reads only two words,
 * whatever the length.
 */
#define FILTER_BITS 12

struct kallsyms_filter {
	struct kallsyms_wanted *wanted;
	size_t n_wanted;
	uint64_t bits[(1 << FILTER_BITS) / 64];
};

/* NAME is readable from 8 bytes before its end to KALLSYMS_TOKEN_PADDING bytes after its end. */
static unsigned filter_hash(const char *name, size_t bytes)
{
	uint64_t front, back;

	memcpy(&front, name, 8);
	memcpy(&back, name + bytes - 8, 8);
	if (bytes < 8) {
		front &= (1ULL << 8 * bytes) - 1;
		back = 0;
	}
	return ((front * 3 ^ back) + bytes) * HASH_ODD >> (64 - FILTER_BITS);
}

static void filter_init(struct kallsyms_filter *filter, struct kallsyms_wanted *wanted,
			size_t n_wanted)
{
	memset(filter, 0, sizeof(*filter));
	filter->wanted = wanted;
	filter->n_wanted = n_wanted;
	for (size_t i = 0; i < n_wanted; i++) {
		char buffer[8 + KALLSYMS_MAX_NAME_BYTES + KALLSYMS_TOKEN_PADDING] = "";
		size_t bytes = strnlen(wanted[i].name, KALLSYMS_MAX_NAME_BYTES);
		unsigned hash;

		memcpy(buffer + 8, wanted[i].name, bytes);
		hash = filter_hash(buffer + 8, bytes);
		filter->bits[hash / 64] |= 1ULL << hash % 64;
		wanted[i].address = 0;
		wanted[i].type = '\0';
	}
}

static void filter_update(struct kallsyms_filter *filter, const struct kallsyms_cursor *cursor)
{
	unsigned hash = filter_hash(cursor->name, cursor->name_bytes);

	if (!(filter->bits[hash / 64] >> hash % 64 & 1))
		return;
	for (size_t i = 0; i < filter->n_wanted; i++) {
		struct kallsyms_wanted *wanted = &filter->wanted[i];

		if (strcmp(wanted->name, cursor->name) != 0)
			continue;
		if (!wanted->type || (islower((unsigned char)wanted->type) &&
				      isupper((unsigned char)cursor->type))) {
			wanted->address = cursor->address;
			wanted->type = cursor->type;
		}
	}
}

/* --- functions -------------------------------------------------------------------------------- */

/*
 * The tables have no sizes: a function extends to the next symbol. But a function does not extend
 * over the padding of up to 2 MiB between sections. The largest function of Debian's 6.12 has 14
 * KiB.
 */
#define MAX_FUNCTION_BYTES (256U << 10)

/*
 * The address ranges of a kernel's code. Linux frees the code of init after the boot. But
 * start_kernel() never returns: it becomes CPU 0's idle task, and the outermost frames of this task
 * are in the freed code. The names of these frames stay right: Linux uses the freed memory only at
 * other addresses, and maps nothing else at the old addresses (arch/x86/mm/init.c,
 * free_kernel_image_pages()).
 */
struct kallsyms_code {
	uint64_t start, end;           /* end is 0 if unknown */
	uint64_t init_start, init_end; /* equal if there is no init code */
};

static struct kallsyms_code kallsyms_code(const struct kallsyms *kallsyms)
{
	const uint64_t *marks = kallsyms->marks;
	struct kallsyms_code code = { .start = marks[KALLSYMS_TEXT], .end = kallsyms->text_end };

	if (marks[KALLSYMS_ETEXT] > code.start)
		code.end = marks[KALLSYMS_ETEXT];
	if (marks[KALLSYMS_SINITTEXT] && marks[KALLSYMS_EINITTEXT] > marks[KALLSYMS_SINITTEXT]) {
		code.init_start = marks[KALLSYMS_SINITTEXT];
		code.init_end = marks[KALLSYMS_EINITTEXT];
	}
	return code;
}

/* The highest possible end of a function at ADDRESS; 0 if no function begins there. */
static uint64_t kallsyms_limit(const struct kallsyms_code *code, uint64_t address)
{
	bool init = address - code->init_start < code->init_end - code->init_start;
	uint64_t limit = init ? code->init_end : code->end;

	if (!init && (address < code->start || (code->end && address >= code->end)))
		return 0;
	if (!limit || limit - address > MAX_FUNCTION_BYTES)
		limit = address + MAX_FUNCTION_BYTES;
	return limit;
}

/* Adds a function. Data is not added, but ends the function before it. */
static struct xtop_error *kallsyms_add(struct symtab *tab, uint64_t limit,
				       const struct kallsyms_cursor *cursor)
{
	enum symbol_rank rank;

	switch (symbol_nm_kind(cursor->type, &rank)) {
	case SYMBOL_NUMBER:
		return NULL;
	case SYMBOL_BOUND:
		return symtab_add_bound(tab, cursor->address);
	case SYMBOL_CODE:
		break;
	}
	return symtab_add(tab, &(struct symbol_definition){ .start = cursor->address,
							    .limit = limit,
							    .rank = rank,
							    .name = cursor->name,
							    .name_bytes = cursor->name_bytes });
}

struct xtop_error *kallsyms_decode(const struct kallsyms *kallsyms, struct symtab *tab,
				   struct kallsyms_wanted *wanted, size_t n_wanted)
{
	struct kallsyms_code code = kallsyms_code(kallsyms);
	struct kallsyms_filter filter;
	struct kallsyms_cursor cursor;
	struct xtop_error *error = NULL;

	filter_init(&filter, wanted, n_wanted);
	kallsyms_first(&cursor);
	while (!error && !work_step(kallsyms->work, "symbols", cursor.next, kallsyms->n) &&
	       kallsyms_next(kallsyms, &cursor)) {
		uint64_t limit = kallsyms_limit(&code, cursor.address);

		filter_update(&filter, &cursor);
		if (limit)
			error = kallsyms_add(tab, limit, &cursor);
	}
	return error;
}

/* --- data ------------------------------------------------------------------------------------- */

struct xtop_error *kallsyms_decode_data(const struct kallsyms *kallsyms, uint64_t start,
					uint64_t end, struct symtab *tab)
{
	struct kallsyms_cursor cursor;
	struct xtop_error *error = NULL;

	kallsyms_first(&cursor);
	while (!error && !work_step(kallsyms->work, "symbols", cursor.next, kallsyms->n) &&
	       kallsyms_next(kallsyms, &cursor)) {
		enum symbol_rank rank = isupper((unsigned char)cursor.type) ? SYMBOL_GLOBAL
									    : SYMBOL_LOCAL;

		if (cursor.address < start || cursor.address >= end)
			continue;
		switch (symbol_nm_kind(cursor.type, &rank)) {
		case SYMBOL_NUMBER:
			break;
		case SYMBOL_BOUND:
			error = symtab_add(tab, &(struct symbol_definition){
							.start = cursor.address,
							.limit = end,
							.rank = rank,
							.name = cursor.name,
							.name_bytes = cursor.name_bytes });
			break;
		case SYMBOL_CODE:
			error = symtab_add_bound(tab, cursor.address);
			break;
		}
	}
	return error;
}
