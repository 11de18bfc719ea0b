/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions in every Go program (.gopclntab): which functions there are, and how far
 * the stack pointer has moved at each instruction. Go's runtime unwinds with this table, so
 * stripping leaves the table in. The bytes are hostile. Resolver's thread.
 */
#ifndef XTOP_GO_H
#define XTOP_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xtop/base/bytes.h"
#include "xtop/sample/go_stacks.h"

#define GO_MAX_FUNCTIONS  (1U << 20) /* kubelet, a large program, has some 100,000 */
#define GO_MAX_NAME_BYTES 4096       /* names of instantiated generic functions are long */
#define GO_ALIGNMENT      8          /* a word; tables up to Go 1.25 are aligned to 32 */
#define GO_HEAD_BYTES     8          /* bytes of a table that go_is_head() reads */

struct go_table {
	/* set by the caller */
	const uint8_t *bytes;
	size_t size_bytes;
	const struct bytes_gap *gaps; /* missing bytes, ascending */
	size_t n_gaps;
	/*
	 * Reads bytes that were not read yet. Returns false if some of them are missing. NULL: all
	 * bytes have been read. A table that is built then does not need the bytes later.
	 */
	bool (*need)(void *context, size_t offset, size_t size_bytes);
	void *need_context;
	uint64_t entry; /* e_entry of the ELF header; gives `text` where the table does not */
	struct work *work; /* tells when to stop building tables; NULL: never */
	struct go_stacks stacks; /* result of go_stacks_decode() */
	/* set by go_table_init() */
	uint32_t magic;     /* tells the layout of the table */
	bool is_arm64;      /* the smallest instruction has 4 bytes; false: x86-64 */
	/* The image's address that functions are relative to; see go_table_lacks_text(). */
	uint64_t text;
	size_t n_functions;
	uint64_t names, depths, functions; /* offsets of these parts in `bytes` */
};

struct go_function {
	uint64_t start, end; /* addresses in the image; start < end */
	const char *name;    /* the name's bytes; no NUL follows */
	size_t name_bytes;   /* length of the name, 1 or more */
	uint64_t depths;     /* offset in table->bytes, for go_depths_start() */
	unsigned flags;      /* GO_* */
};

#define GO_TOP      1U /* the outermost function of a goroutine or thread */
#define GO_SP_WRITE 2U /* the function sets the stack pointer: its depths do not hold everywhere */
#define GO_ASSEMBLY 4U /* the function is written in assembly */
#define GO_UNMARKED 256U /* table from before Go 1.18: only names tell the three flags above */

static inline bool go_has_name(const struct go_function *function, const char *name)
{
	return strlen(name) == function->name_bytes &&
	       memcmp(name, function->name, function->name_bytes) == 0;
}

/* Whether the GO_HEAD_BYTES at HEAD begin a table of x86-64 or arm64. */
bool go_is_head(const uint8_t *head);
/* Returns false if the bytes are no such table, or are damaged. */
bool go_table_init(struct go_table *table);
/*
 * Whether functions are relative to `text`, and neither the table nor `entry` tells it. Then the
 * caller sets `text`.
 */
bool go_table_lacks_text(const struct go_table *table);
/* Finds where the first function begins and the last one ends. False: bytes are missing. */
bool go_table_get_bounds(const struct go_table *table, uint64_t *start, uint64_t *end);
/* Finds where function INDEX begins and ends. Returns false if it is empty, or cannot be read. */
bool go_table_get_range(const struct go_table *table, size_t index, uint64_t *start, uint64_t *end);
/* The last function that begins at ADDRESS or before it; n_functions if none is known. */
size_t go_table_find(const struct go_table *table, uint64_t address);
/* Returns false if the function cannot be read. INDEX < table->n_functions. */
bool go_table_read(const struct go_table *table, size_t index, struct go_function *function);

/*
 * Finds where threads keep their stacks, by the code of runtime.systemstack(): N bytes at BYTES,
 * usually GO_STACKS_CODE_BYTES. Returns false and leaves *STACKS alone if the code has no known
 * form.
 */
bool go_stacks_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks);
bool go_stacks_arm64_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks);
#define GO_STACKS_FUNCTION   "runtime.systemstack"
#define GO_STACKS_CODE_BYTES 128
#define GO_MAX_M_OFFSET      1024 /* largest offset of g.m; up to Go 1.24 the offset is below 192 */

/* Iterator over one function's code: in each stretch of code, the stack has one depth. */
struct go_depths {
	const struct go_table *table;
	uint64_t at;     /* offset in table->bytes of the next byte to read */
	uint64_t end;    /* the function's end, an address in the image */
	uint64_t row_start, row_end; /* the stretch of code; row_start < row_end <= end */
	int64_t depth;   /* bytes by which the stack has grown since the function was called */
	bool started;    /* a row has been read */
};

void go_depths_start(struct go_depths *depths, const struct go_table *table,
		     const struct go_function *function);
/* Goes to the next stretch. Returns false at the end, or if the bytes cannot be read. */
bool go_depths_next(struct go_depths *depths);

#endif
