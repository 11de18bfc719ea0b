/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of a Linux kernel, from the tables that every kernel with CONFIG_KALLSYMS has in its
 * read-only data. The input is bytes, the output symbols. Resolver's thread.
 *
 *   kallsyms_probe.c       guesses where names begin, so that less has to be read
 *   kallsyms_find.c        finds the tables of any version, by checking them against each other
 *   kallsyms_addresses.c   finds the addresses
 *   kallsyms.c             decodes the tables
 *
 * All bytes are hostile. kallsyms_find() returns a copy, which has been checked as a whole.
 */
#ifndef XTOP_LINUX_KERNEL_KALLSYMS_H
#define XTOP_LINUX_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/symbol/symbol.h"

#define KALLSYMS_MAX_SYMBOLS    (2U << 20)
#define KALLSYMS_MAX_NAME_BYTES 512         /* type and name: Linux 6.1 KSYM_NAME_LEN */
#define KALLSYMS_MAX_EXPANDED_BYTES (64U << 20) /* sum of all types and names */

/*
 * Limit for the checks of a search, besides the comparison at every 4 bytes that looks for a
 * token_index. The limit bounds the search in bytes that were crafted to look like tables. Linux
 * 6.18 with 187,000 symbols needs 3.2 million.
 */
#define KALLSYMS_MAX_STEPS LIMIT(16U << 20, 1U << 17)

/* The kernel's read-only data, copied from the front as far as needed. */
struct kallsyms_input {
	uint64_t address; /* guest-virtual address of bytes[0]; page-aligned */
	const uint8_t *bytes;
	size_t size_bytes;    /* size of the whole range */
	size_t present_bytes; /* number of bytes from the front that were copied so far */
	/*
	 * Copies more bytes. Afterwards at least the first UP_TO bytes are present, with zeros for
	 * missing pages; BYTES may have moved. Returns false if the range has no more bytes. The
	 * member is NULL if everything is present.
	 */
	bool (*more)(struct kallsyms_input *input, size_t up_to);
	struct work *work; /* tells when to stop searching; NULL: never */
	/*
	 * The first absent_bytes were not copied, are zeros, and are not searched, because
	 * kallsyms_probe() saw no names there. Tables may lie there, before the names: front()
	 * copies the bytes from FROM on and lowers absent_bytes. 0 and NULL if nothing was left
	 * out.
	 */
	size_t absent_bytes;
	bool (*front)(struct kallsyms_input *input, size_t from);
	void *context;
	uint64_t text_start, text_end; /* the executable range below the data; 0 if unknown */
	uint64_t head_bytes;           /* most bytes between _text and the executable range */
	uint64_t image_start;          /* no symbol's address is below this */
	bool is_short;                 /* a 32-bit kernel: a pointer has 4 bytes */
	/* Output: number of checks, at most KALLSYMS_MAX_STEPS plus the checks of one table. */
	uint64_t steps;
};

/* Encodings of addresses; kallsyms_find.c has the layouts. */
enum kallsyms_encoding {
	KALLSYMS_ABSOLUTE,       /* a pointer for each symbol */
	KALLSYMS_PERCPU,         /* s32: a per-cpu value, or if negative, base - 1 - s32 */
	KALLSYMS_RELATIVE,       /* u32, relative to base */
	KALLSYMS_PLACE_RELATIVE, /* s32, relative to its own place */
};

/* Symbols that the search needs to tell code from data. */
enum kallsyms_mark {
	KALLSYMS_TEXT,
	KALLSYMS_STEXT,
	KALLSYMS_ETEXT,
	KALLSYMS_SINITTEXT,
	KALLSYMS_EINITTEXT,
	KALLSYMS_N_MARKS,
};

/* Tables that were found and checked. Only the search writes this struct. */
struct kallsyms {
	uint32_t n;
	enum kallsyms_encoding encoding;
	bool tables_before; /* addresses lie before the names, up to 6.3 */
	bool long_lengths;  /* lengths of names are ULEB128, not one byte */

	uint64_t *addresses; /* addresses of the n symbols, ascending */
	uint8_t *names;      /* compressed names of the n symbols */
	size_t names_bytes;

	char *tokens; /* the tokens' strings, followed by KALLSYMS_TOKEN_PADDING bytes */
	uint16_t token_offsets[256];
	uint16_t token_bytes[256];

	uint64_t marks[KALLSYMS_N_MARKS]; /* addresses of the marks; 0 if there is no such symbol */
	uint64_t text_end;                /* end of code, as in struct kallsyms_input */
	struct work *work;                /* tells when to stop decoding; NULL: never */
};

#define KALLSYMS_TOKEN_PADDING 16 /* tokens are copied in blocks of 16 bytes */

/*
 * Finds the tables, and reads INPUT no further than up to their end. *KALLSYMSP becomes NULL if
 * there are no tables, which is no error. Error: out of memory.
 */
struct xtop_error *kallsyms_find(struct kallsyms_input *input, struct kallsyms **kallsymsp);
void kallsyms_destroy(struct kallsyms *kallsyms); /* NULL allowed */

/* Reads single pages of a range, before the range is copied. */
struct kallsyms_probe {
	size_t size_bytes; /* size of the range; its start is page-aligned */
	/* Reads the page at offset AT. Returns false if the page is missing. */
	bool (*read)(void *context, size_t at, uint8_t *page);
	void *context;
};

/*
 * Sets *BEFOREP to the number of bytes at the front, in whole pages, where no names begin. The
 * result is a guess. Returns false if no names were seen.
 */
bool kallsyms_probe(const struct kallsyms_probe *probe, size_t *beforep);

/* The address of _text in the guest. Never 0. */
uint64_t kallsyms_text(const struct kallsyms *kallsyms);

/* The highest address of a symbol. */
static inline uint64_t kallsyms_last(const struct kallsyms *kallsyms)
{
	return kallsyms->addresses[kallsyms->n - 1];
}

/* --- one symbol after the other --------------------------------------------------------------- */

struct kallsyms_cursor {
	uint32_t next;
	size_t at;
	uint64_t address;
	char type;        /* the letter that nm uses */
	const char *name; /* name without the type; points into buffer */
	size_t name_bytes;
	char buffer[8 + KALLSYMS_MAX_NAME_BYTES + KALLSYMS_TOKEN_PADDING];
};

void kallsyms_first(struct kallsyms_cursor *cursor);
/* Steps to the next symbol: a function, data or a per-cpu value. Returns false at the end. */
bool kallsyms_next(const struct kallsyms *kallsyms, struct kallsyms_cursor *cursor);

/* --- all symbols ------------------------------------------------------------------------------ */

struct kallsyms_wanted {
	const char *name;
	/* Output: the global symbol with that name, or else the first symbol with that name. */
	uint64_t address; /* address, or per-cpu value, which may be 0 */
	char type;        /* letter that nm uses; '\0' if there is no such symbol */
};

/*
 * Adds functions to TAB, which is not sealed yet, and finds the addresses of the N_WANTED names,
 * which may also be data. Functions lie in [_text, _etext), or up to the end of the executable
 * range, and in [_sinittext, _einittext). Absolute and per-cpu values are no functions.
 */
struct xtop_error *kallsyms_decode(const struct kallsyms *kallsyms, struct symtab *tab,
				   struct kallsyms_wanted *wanted, size_t n_wanted);
/*
 * Adds the data between START and END, the bounds of the kernel's image, to TAB, which is not
 * sealed yet. Kernels without CONFIG_KALLSYMS_ALL name no data.
 */
struct xtop_error *kallsyms_decode_data(const struct kallsyms *kallsyms, uint64_t start,
					uint64_t end, struct symtab *tab);

#endif
