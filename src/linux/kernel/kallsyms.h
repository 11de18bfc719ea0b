/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of a Linux kernel, from the tables that every kernel with CONFIG_KALLSYMS has in its
 * read-only data. Bytes in, symbols out. Resolver's thread.
 *
 *   kallsyms_probe.c       a guess where names begin, so that less has to be read
 *   kallsyms_find.c        finds the tables of any version, by their own consistency alone
 *   kallsyms_addresses.c   finds the addresses
 *   kallsyms.c             decodes the tables
 *
 * All bytes are a guest's. What kallsyms_find() returns is a copy and has been checked as a whole.
 */
#ifndef XTOP_LINUX_KERNEL_KALLSYMS_H
#define XTOP_LINUX_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/symbol/symbol.h"

#define KALLSYMS_MAX_SYMBOLS    (2U << 20)
#define KALLSYMS_MAX_NAME_BYTES 512         /* type and name: Linux 6.1 KSYM_NAME_LEN */
#define KALLSYMS_MAX_EXPANDED_BYTES (64U << 20) /* all types and names */

/*
 * Checks that a search may make besides the comparison of one word every 8 bytes. This bounds the
 * search in bytes that were crafted to look like tables. Linux 6.18 with 187,000 symbols needs 3.2
 * million.
 */
#define KALLSYMS_MAX_STEPS (16U << 20)

/* The kernel's read-only data, copied from the front as far as it was needed. */
struct kallsyms_input {
	uint64_t address; /* guest-virtual, of bytes[0]; page-aligned */
	const uint8_t *bytes;
	size_t size_bytes;    /* of the whole range */
	size_t present_bytes; /* copied so far */
	/*
	 * Copies more. Then at least the first UP_TO bytes are present, with zeros for missing
	 * pages; BYTES may have moved. False: there is no more. NULL: everything is present.
	 */
	bool (*more)(struct kallsyms_input *input, size_t up_to);
	/*
	 * So many bytes at the front were not copied, are zeros, and are not searched, since
	 * kallsyms_probe() saw no names there. Tables may stand there, before the names: front()
	 * copies the bytes from FROM on and lowers the number. 0 and NULL: nothing was left out.
	 */
	size_t absent_bytes;
	bool (*front)(struct kallsyms_input *input, size_t from);
	void *context;
	uint64_t text_start, text_end; /* the executable range below; 0: not known */
	uint64_t head_bytes;  /* _text may lie so far before the executable range */
	uint64_t image_start; /* no symbol's address is below */
	bool is_short;        /* of a 32-bit kernel: a pointer has 4 bytes */
	/* Out: checks made. May exceed KALLSYMS_MAX_STEPS by the checks of one table. */
	uint64_t steps;
};

/* How addresses are stored; kallsyms_find.c has the layouts. */
enum kallsyms_encoding {
	KALLSYMS_ABSOLUTE,       /* a pointer each */
	KALLSYMS_PERCPU,         /* s32: a per-cpu value, or if negative, base - 1 - s32 */
	KALLSYMS_RELATIVE,       /* u32 from base */
	KALLSYMS_PLACE_RELATIVE, /* s32 from its own place */
};

/* Symbols that the search itself needs, to tell code from data. */
enum kallsyms_mark {
	KALLSYMS_TEXT,
	KALLSYMS_STEXT,
	KALLSYMS_ETEXT,
	KALLSYMS_SINITTEXT,
	KALLSYMS_EINITTEXT,
	KALLSYMS_N_MARKS,
};

/* Tables that were found and checked. Only the search writes them. */
struct kallsyms {
	uint32_t n;
	enum kallsyms_encoding encoding;
	bool tables_before; /* addresses before the names, up to 6.3 */
	bool long_lengths;  /* lengths of names are ULEB128, not one byte */

	uint64_t *addresses; /* n, ascending */
	uint8_t *names;      /* n compressed names */
	size_t names_bytes;

	char *tokens; /* the strings, and KALLSYMS_TOKEN_PADDING bytes behind */
	uint16_t token_offsets[256];
	uint16_t token_bytes[256];

	uint64_t marks[KALLSYMS_N_MARKS]; /* addresses; 0: no such symbol */
	uint64_t text_end;                /* as in struct kallsyms_input */
};

#define KALLSYMS_TOKEN_PADDING 16 /* tokens are copied in pieces of 16 bytes */

/*
 * Finds the tables, and reads INPUT no further than up to their end. *KALLSYMSP becomes NULL when
 * there are none, which is no error. Error: out of memory.
 */
struct xtop_error *kallsyms_find(struct kallsyms_input *input, struct kallsyms **kallsymsp);
void kallsyms_destroy(struct kallsyms *kallsyms); /* NULL allowed */

/* Reads single pages of a range, before the range is copied. */
struct kallsyms_probe {
	size_t size_bytes; /* of the range, from an address that is page-aligned */
	/* Reads the page at offset AT. False: the page is missing. */
	bool (*read)(void *context, size_t at, uint8_t *page);
	void *context;
};

/*
 * *BEFOREP: bytes at the front, in whole pages, where no names begin. This is a guess. False: no
 * names were seen.
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
	char type;        /* as nm has it */
	const char *name; /* in buffer */
	size_t name_bytes;
	char buffer[8 + KALLSYMS_MAX_NAME_BYTES + KALLSYMS_TOKEN_PADDING];
};

void kallsyms_first(struct kallsyms_cursor *cursor);
/* Steps to the next symbol: functions, data and per-cpu values. False: there are no more. */
bool kallsyms_next(const struct kallsyms *kallsyms, struct kallsyms_cursor *cursor);

/* --- all of them ------------------------------------------------------------------------------ */

struct kallsyms_wanted {
	const char *name;
	/* Out: of the global symbol of that name, else of the first one. */
	uint64_t address; /* or a per-cpu value, which may be 0 */
	char type;        /* '\0': no such symbol */
};

/*
 * Adds functions to TAB, which is not sealed yet, and finds the addresses of the N_WANTED names, of
 * data, too. Functions lie in [_text, _etext), or up to the end of the executable range, and in
 * [_sinittext, _einittext). Absolute and per-cpu values are no functions.
 */
struct xtop_error *kallsyms_decode(const struct kallsyms *kallsyms, struct symtab *tab,
				   struct kallsyms_wanted *wanted, size_t n_wanted);
/*
 * Adds the data between START and END, the ends of the kernel's image, to TAB, which is not sealed
 * yet. Kernels without CONFIG_KALLSYMS_ALL name none.
 */
struct xtop_error *kallsyms_decode_data(const struct kallsyms *kallsyms, uint64_t start,
					uint64_t end, struct symtab *tab);

#endif
