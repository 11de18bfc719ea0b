/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbol tables of a made-up kernel; see make_kallsyms.h and, for the format, kallsyms_find.c. */
#include "config.h"

#include "make_kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILLER_BYTES 70000
#define MAX_BYTES    (8U << 20)

/* The layouts of Linux's versions, by scripts/kallsyms.c of each. */
const struct made_layout made_layouts[] = {
	{ "4.14, absolute", true, true, KALLSYMS_ABSOLUTE, false, 0, false, 5000, NULL, false, false },
	{ "4.14, one CPU", true, true, KALLSYMS_RELATIVE, false, 0, false, 5001, NULL, false, false },
	{ "4.19", true, true, KALLSYMS_PERCPU, false, 0, false, 5002, NULL, false, false },
	{ "4.19, text only", true, true, KALLSYMS_PERCPU, false, 0, true, 5003, NULL, false, false },
	{ "4.20, absolute", false, true, KALLSYMS_ABSOLUTE, false, 0, false, 5004, NULL, false, false },
	{ "5.10", false, true, KALLSYMS_PERCPU, false, 0, false, 5005, NULL, false, false },
	{ "5.10, one CPU", false, true, KALLSYMS_RELATIVE, false, 0, false, 5006, NULL, false, false },
	{ "6.1", false, true, KALLSYMS_PERCPU, true, 0, false, 5007, NULL, false, false },
	{ "6.2-rc, u32 seqs", false, true, KALLSYMS_PERCPU, true, 4, false, 5008, NULL, false, false },
	{ "6.2, and 6.1 stable", false, true, KALLSYMS_PERCPU, true, 3, false, 5009, NULL, false, false },
	{ "6.2, one CPU", false, true, KALLSYMS_RELATIVE, true, 3, false, 5010, NULL, false, false },
	{ "6.2, absolute", false, true, KALLSYMS_ABSOLUTE, true, 3, false, 5011, NULL, false, false },
	{ "6.4", false, false, KALLSYMS_PERCPU, true, 3, false, 5012, NULL, false, false },
	{ "6.4, one CPU", false, false, KALLSYMS_RELATIVE, true, 3, false, 5013, NULL, false, false },
	{ "6.4, absolute", false, false, KALLSYMS_ABSOLUTE, true, 3, false, 5014, NULL, false, false },
	{ "6.12, text only", false, false, KALLSYMS_PERCPU, true, 3, true, 5015, NULL, false, false },
	{ "6.15", false, false, KALLSYMS_RELATIVE, true, 3, false, 5016, NULL, false, false },
	{ "6.15, text only", false, false, KALLSYMS_RELATIVE, true, 3, true, 5017, NULL, false, false },
	{ "7.0", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, false, 5018, NULL, false, false },
	{ "7.0, text only", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, true, 5019, NULL,
	  false, false },
	{ "7.0, a full last group", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, false, 5096,
	  NULL, false, false },
	{ "7.2", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, false, 5020, NULL, true, false },
	{ "7.2, text only", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, true, 5021, NULL,
	  true, false },
	{ "7.2, a full last group", false, false, KALLSYMS_PLACE_RELATIVE, true, 3, false, 5096,
	  NULL, true, false },
	{ "6.12, larger", false, false, KALLSYMS_PERCPU, true, 3, false, 30000, NULL, false, false },
};
const unsigned n_made_layouts = sizeof(made_layouts) / sizeof(made_layouts[0]);

/* xorshift64* */
static uint64_t make_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* --- symbols -------------------------------------------------------------------------------- */

static void make_symbol(struct made_kallsyms *made, uint64_t address, char type, const char *name)
{
	struct made_symbol *symbol = &made->symbols[made->n];

	if (made->left_out && strcmp(name, made->left_out) == 0)
		return;
	made->n++;
	symbol->address = address;
	symbol->type = type;
	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
}

/*
 * Most names are short. The others have up to 245 tokens: from 128 on they show how lengths are
 * written. Kernels that write lengths in one byte have no such names (Linux up to 6.0,
 * KSYM_NAME_LEN).
 */
static void make_function_name(const struct made_layout *layout, uint64_t *state, unsigned index,
			       char *name, size_t capacity)
{
	static const char *const words[] = { "read", "write", "tcp", "page", "alloc", "get",
					     "xen",  "queue", "do",  "irq",  "sched", "free" };
	int used = snprintf(name, capacity, "%s_%s_%x", words[make_random(state) % 12],
			    words[make_random(state) % 12], index);

	if (index % 100 == 7)
		for (unsigned i = 0; i < 30 + index % (layout->long_lengths ? 200 : 60); i++)
			used += snprintf(name + used, capacity - used, "Q");
}

static void make_functions(const struct made_layout *layout, struct made_kallsyms *made,
			   uint64_t *state)
{
	uint64_t address = MADE_TEXT + 0x1000;
	char name[MADE_NAME_BYTES];

	make_symbol(made, MADE_TEXT, 'T', "startup_64");
	make_symbol(made, MADE_TEXT, 'T', "_stext");
	make_symbol(made, MADE_TEXT, 'T', "_text");
	make_symbol(made, MADE_TEXT + 0x40, 't', "__do_sys_getpid");
	make_symbol(made, MADE_TEXT + 0x40, 'T', "__ia32_sys_getpid");
	make_symbol(made, MADE_TEXT + 0x40, 'T', "__x64_sys_getpid");
	make_symbol(made, MADE_TEXT + 0x80, 'T', "__memcpy");
	make_symbol(made, MADE_TEXT + 0x80, 'W', "memcpy");
	for (unsigned i = 0; i < layout->n_functions;
	     i++, address += 16 + make_random(state) % 200 / 16 * 16) {
		make_function_name(layout, state, i, name, sizeof(name));
		make_symbol(made, address, "tTtW"[make_random(state) % 4], name);
	}
	make_symbol(made, address, 'T', "_etext");
}

static void make_symbols(const struct made_layout *layout, struct made_kallsyms *made,
			 uint64_t *state)
{
	made->symbols = calloc(layout->n_functions + 64, sizeof(*made->symbols));
	if (!made->symbols)
		abort();
	if (layout->encoding != KALLSYMS_RELATIVE && layout->encoding != KALLSYMS_PLACE_RELATIVE &&
	    !layout->text_only) {
		make_symbol(made, 0, 'A', "__per_cpu_start");
		make_symbol(made, 0, 'A', "fixed_percpu_data");
		make_symbol(made, 0x1fb40, 'A', "current_task");
		make_symbol(made, 0x1fc00, 't', "code_of_a_cpu");
	}
	make_functions(layout, made, state);
	if (!layout->text_only) {
		make_symbol(made, MADE_RODATA, 'R', "__start_rodata");
		make_symbol(made, MADE_RODATA + 0x100, 'R', "linux_banner");
		make_symbol(made, MADE_RODATA + 0x900000, 'd', "modules");
		make_symbol(made, MADE_RODATA + 0xa00000, 'D', "modules");
		make_symbol(made, MADE_RODATA + 0xa00040, 'D', "init_task");
		make_symbol(made, MADE_RODATA + 0xb00000, 'T', "copied_code");
	}
	make_symbol(made, MADE_INIT, 'T', "_sinittext");
	make_symbol(made, MADE_INIT, 't', "start_it");
	make_symbol(made, MADE_INIT + 0x100, 'T', "start_kernel");
	make_symbol(made, MADE_INIT + 0x200, 'T', "_einittext");
}

/* --- tokens --------------------------------------------------------------------------------- */

static bool make_is_literal(unsigned character)
{
	return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
	       (character >= 'A' && character <= 'Z') || character == '_' || character == '.';
}

/* The code of a character of names stands for itself; other codes stand for pieces of names. */
static void make_tokens(char tokens[256][20])
{
	static const char *const pieces[] = { "read_",        "write_",           "alloc_",
					      "page",         "Tqueue",           "t",
					      "tsched_sched", "xen_do_irq_queue_" };
	static const char letters[] = "etaoinrsqw_013579";
	unsigned next = 0;

	for (unsigned i = 0; i < 256; i++) {
		if (make_is_literal(i))
			snprintf(tokens[i], 20, "%c", i);
		else if (next < 8)
			snprintf(tokens[i], 20, "%s", pieces[next++]);
		else
			snprintf(tokens[i], 20, "%c%c", letters[next / 16 % 16],
				 letters[next % 16]),
				next++;
	}
}

static unsigned make_best_token(char tokens[256][20], const char *text)
{
	unsigned best = 0;
	size_t best_bytes = 0;

	for (unsigned i = 0; i < 256; i++) {
		size_t bytes;

		if (tokens[i][0] != text[0])
			continue;
		bytes = strlen(tokens[i]);
		if (bytes > best_bytes && strncmp(tokens[i], text, bytes) == 0)
			best = i, best_bytes = bytes;
	}
	return best;
}

/* --- tables --------------------------------------------------------------------------------- */

static void make_put(struct made_kallsyms *made, uint64_t value, unsigned bytes)
{
	memcpy(made->bytes + made->size_bytes, &value, bytes);
	made->size_bytes += bytes;
}

static size_t make_label(struct made_kallsyms *made)
{
	made->size_bytes = (made->size_bytes + made->align - 1) & ~(made->align - 1);
	return made->size_bytes;
}

static uint64_t make_offset(const struct made_layout *layout, const struct made_kallsyms *made,
			    uint64_t address)
{
	switch (layout->encoding) {
	case KALLSYMS_ABSOLUTE:
		return address;
	case KALLSYMS_PERCPU:
		return address < 0x80000000 ? address : MADE_TEXT - 1 - address;
	case KALLSYMS_RELATIVE:
		return address - MADE_TEXT;
	case KALLSYMS_PLACE_RELATIVE:
		return address - (MADE_RODATA + made->size_bytes);
	}
	return 0;
}

static void make_addresses(const struct made_layout *layout, struct made_kallsyms *made)
{
	unsigned word = layout->is_short ? 4 : 8;

	made->addresses = make_label(made);
	for (unsigned i = 0; i < made->n; i++)
		make_put(made, make_offset(layout, made, made->symbols[i].address),
			 layout->encoding == KALLSYMS_ABSOLUTE ? word : 4);
	if (layout->encoding != KALLSYMS_PERCPU && layout->encoding != KALLSYMS_RELATIVE)
		return;
	made->base = make_label(made);
	make_put(made, MADE_TEXT, word);
}

static void make_name(const struct made_layout *layout, struct made_kallsyms *made,
		      char tokens[256][20], const struct made_symbol *symbol)
{
	char text[MADE_NAME_BYTES + 1];
	uint8_t codes[MADE_NAME_BYTES + 1];
	unsigned n = 0;

	snprintf(text, sizeof(text), "%c%s", symbol->type, symbol->name);
	for (const char *at = text; *at; at += strlen(tokens[codes[n++]]))
		codes[n] = make_best_token(tokens, at);
	if (layout->long_lengths && n > 127) {
		make_put(made, (n & 0x7f) | 0x80, 1);
		make_put(made, n >> 7, 1);
	} else if (n < 256) {
		make_put(made, n, 1);
	} else {
		abort();
	}
	memcpy(made->bytes + made->size_bytes, codes, n);
	made->size_bytes += n;
}

static void make_names(const struct made_layout *layout, struct made_kallsyms *made,
		       char tokens[256][20])
{
	uint64_t markers[256];

	made->marker_bytes = layout->wide ? 8 : 4;
	made->num = make_label(made);
	make_put(made, made->n, made->marker_bytes);
	made->names = make_label(made);
	for (unsigned i = 0; i < made->n; i++) {
		if (i % 256 == 0)
			markers[made->n_markers++] = made->size_bytes - made->names;
		make_name(layout, made, tokens, &made->symbols[i]);
	}
	made->names_end = made->size_bytes;
	made->markers = make_label(made);
	for (unsigned i = 0; i < made->n_markers; i++)
		make_put(made, markers[i], made->marker_bytes);
}

/* xtop does not read kallsyms_seqs_of_names, so any numbers do that look like the real ones. */
static void make_seqs(const struct made_layout *layout, struct made_kallsyms *made, uint64_t *state)
{
	if (!layout->seq_bytes)
		return;
	made->seqs = make_label(made);
	for (unsigned i = 0; i < made->n; i++) {
		uint32_t seq = make_random(state) % made->n;

		make_put(made, layout->seq_bytes == 3 ? __builtin_bswap32(seq) >> 8 : seq,
			 layout->seq_bytes);
	}
}

static void make_token_tables(struct made_kallsyms *made, char tokens[256][20])
{
	uint16_t index[256];

	made->token_table = make_label(made);
	for (unsigned i = 0; i < 256; i++) {
		size_t bytes = strlen(tokens[i]) + 1;

		index[i] = made->size_bytes - made->token_table;
		memcpy(made->bytes + made->size_bytes, tokens[i], bytes);
		made->size_bytes += bytes;
	}
	made->token_index = make_label(made);
	memcpy(made->bytes + made->size_bytes, index, sizeof(index));
	made->size_bytes += sizeof(index);
}

/*
 * Other constants of a kernel, with things that look a little like the tables: digits of a hexdump,
 * ascending tables of 16 and of 32 bits that begin with 0.
 */
static void make_filler(struct made_kallsyms *made, uint64_t *state)
{
	size_t end = made->size_bytes + FILLER_BYTES;

	make_label(made);
	for (unsigned i = 0; i < 10; i++)
		make_put(made, '0' + i, 2);
	make_label(made);
	for (unsigned i = 0; i < 256; i++)
		make_put(made, 2 * i, 2);
	make_label(made);
	for (unsigned i = 0; i < 64; i++)
		make_put(made, 3000 * i, 4);
	while (made->size_bytes < end)
		make_put(made, make_random(state) >> make_random(state) % 64, 8);
}

void make_kallsyms(const struct made_layout *layout, struct made_kallsyms *made)
{
	uint64_t state = 0x9e3779b97f4a7c15ULL + layout->n_functions;
	char tokens[256][20];

	*made = (struct made_kallsyms){ .bytes = calloc(1, MAX_BYTES),
					.left_out = layout->left_out,
					.align = layout->aligned_4 ? 4 : 8 };
	if (!made->bytes)
		abort();
	make_symbols(layout, made, &state);
	make_tokens(tokens);
	make_filler(made, &state);
	if (layout->aligned_4)
		make_put(made, 1, 4); /* the tables shall not begin at a multiple of 8 */
	if (layout->before)
		make_addresses(layout, made);
	make_names(layout, made, tokens);
	if (layout->before)
		make_seqs(layout, made, &state);
	make_token_tables(made, tokens);
	if (!layout->before) {
		make_addresses(layout, made);
		made->end = made->size_bytes;
		make_seqs(layout, made, &state);
	} else {
		made->end = made->size_bytes;
	}
	make_filler(made, &state);
}

void made_kallsyms_deinit(struct made_kallsyms *made)
{
	free(made->bytes);
	free(made->symbols);
}
