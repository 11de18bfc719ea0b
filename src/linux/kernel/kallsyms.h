/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of a Linux kernel, out of the tables every kernel with CONFIG_KALLSYMS carries in its
 * read-only data. kallsyms_find.c finds the tables by nothing but their own consistency, whatever
 * the version, with kallsyms_addresses.c; kallsyms_probe.c saves it most of what is before them;
 * kallsyms.c decodes them. Pure: bytes in, symbols out. Resolver's thread.
 *
 * All bytes are a guest's: what kallsyms_find() returns has been checked in whole and is a copy.
 */
#ifndef OS_KALLSYMS_H
#define OS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/symbol.h"

#define KALLSYMS_MAX_SYMBOLS    (2U << 20)
#define KALLSYMS_MAX_NAME_BYTES 512         /* type and name: Linux 6.1 KSYM_NAME_LEN */
#define KALLSYMS_MAX_EXPANDED_BYTES (64U << 20) /* all types and names */
#define KALLSYMS_MAX_TOKEN_TABLE_BYTES (64U << 10) /* token_index has 16 bits */

/*
 * Checks made besides the one word compared every 8 bytes: what bounds the search in bytes that
 * were made to look like tables. Linux 6.18 with 187,000 symbols needs 3.2 million.
 */
#define KALLSYMS_MAX_STEPS (16U << 20)

/* The kernel's read-only data, copied from its front as far as was needed. */
struct kallsyms_input {
	uint64_t address; /* guest-virtual, of bytes[0]; page-aligned */
	const uint8_t *bytes;
	size_t size_bytes;    /* of the whole range */
	size_t present_bytes; /* copied so far */
	/*
	 * Copies more: at least UP_TO bytes are present then, absent pages as zeros. May move
	 * bytes. False: no more. NULL: everything is present.
	 */
	bool (*more)(struct kallsyms_input *input, size_t up_to);
	/*
	 * The first of these are zeros, and not searched: kallsyms_probe() saw no names there.
	 * front() copies those from FROM on, and lowers the number; tables that stand before the
	 * names are read by it. 0, NULL: nothing is left out.
	 */
	size_t absent_bytes;
	bool (*front)(struct kallsyms_input *input, size_t from);
	void *context;
	uint64_t text_start, text_end; /* the executable range below; 0: not known */
	uint64_t steps;                /* out: checks made; up to a table's more than KALLSYMS_MAX_STEPS */
};

/* How addresses are stored; kallsyms_find.c has the layouts. */
enum kallsyms_encoding {
	KALLSYMS_ABSOLUTE,       /* u64 each */
	KALLSYMS_PERCPU,         /* s32: not negative, a per-cpu value; else base - 1 - it */
	KALLSYMS_RELATIVE,       /* u32 from base */
	KALLSYMS_PLACE_RELATIVE, /* s32 from its own place */
};

/* Symbols the search itself looks up: they tell code from data. */
enum kallsyms_mark {
	KALLSYMS_TEXT,
	KALLSYMS_STEXT,
	KALLSYMS_ETEXT,
	KALLSYMS_SINITTEXT,
	KALLSYMS_EINITTEXT,
	KALLSYMS_N_MARKS,
};

/* Tables found and checked. Written by the search alone. */
struct kallsyms {
	uint32_t n;
	enum kallsyms_encoding encoding;
	bool tables_before; /* addresses before the names, up to 6.3 */
	bool long_lengths;  /* name lengths are ULEB128, not one byte */

	uint64_t *addresses; /* n, ascending */
	uint8_t *names;      /* n compressed names */
	size_t names_bytes;

	char *tokens; /* the strings, and KALLSYMS_TOKEN_PADDING bytes */
	uint16_t token_offsets[256];
	uint16_t token_bytes[256];

	uint64_t marks[KALLSYMS_N_MARKS]; /* addresses; 0: no such symbol */
	uint64_t text_end;                /* of the executable range, as it was given; 0: not known */
};

#define KALLSYMS_TOKEN_PADDING 16 /* a token is copied 16 bytes at once */

/*
 * Finds the tables, reading no more of INPUT than up to their end. *KALLSYMSP is NULL when there
 * are none, which is no error; errors are lack of memory alone.
 */
struct xtop_error *kallsyms_find(struct kallsyms_input *input, struct kallsyms **kallsymsp);
void kallsyms_destroy(struct kallsyms *kallsyms); /* NULL allowed */

/* Single pages of a range, for a look beforehand. */
struct kallsyms_probe {
	size_t size_bytes; /* of the range, from an address that is page-aligned */
	bool (*read)(void *context, size_t at, uint8_t *page); /* the page at AT; false: not there */
	void *context;
};

/*
 * *BEFOREP bytes at the front, whole pages, in which no names begin; a guess. False: no names are
 * seen.
 */
bool kallsyms_probe(const struct kallsyms_probe *probe, size_t *beforep);

/* Address of _text, as it is in the guest: what a cached table is relative to. Never 0. */
uint64_t kallsyms_text(const struct kallsyms *kallsyms);

/* --- one symbol after the other ------------------------------------------------------------- */

struct kallsyms_cursor {
	uint32_t next;
	size_t at;
	uint64_t address;
	char type;        /* as nm has it */
	const char *name; /* in buffer */
	size_t name_bytes;
	char buffer[8 + KALLSYMS_MAX_NAME_BYTES + KALLSYMS_TOKEN_PADDING];
};

void kallsyms_first(struct kallsyms_cursor *cursor);
/* False behind the last one. Every symbol of the tables, data and per-cpu values too. */
bool kallsyms_next(const struct kallsyms *kallsyms, struct kallsyms_cursor *cursor);

/* --- all of them ---------------------------------------------------------------------------- */

struct kallsyms_wanted {
	const char *name;
	/* Out. Of several of that name a global one, else the first. */
	uint64_t address; /* or a per-cpu value, which may be 0 */
	char type;        /* '\0': no such symbol */
};

/*
 * Functions to TAB, which is not sealed yet; addresses of the N_WANTED names, of data too.
 * Functions lie in [_text, _etext), or up to the end of the executable range; those of [_sinittext,
 * _einittext), which Linux frees, and absolute and per-cpu values never are.
 */
struct xtop_error *kallsyms_decode(const struct kallsyms *kallsyms, struct symtab *tab,
				   struct kallsyms_wanted *wanted, size_t n_wanted);

#endif
