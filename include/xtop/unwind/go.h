/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions in every Go program (.gopclntab): which functions there are, and how far
 * the stack pointer has moved at each instruction. Go's runtime unwinds with it, so stripping
 * leaves it in. The bytes are hostile. Resolver's thread.
 */
#ifndef XTOP_GO_H
#define XTOP_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/bytes.h"
#include "xtop/sample/go_stacks.h"

#define GO_MAX_FUNCTIONS  (1U << 20) /* kubelet, a large program, has some 100,000 */
#define GO_MAX_NAME_BYTES 4096       /* names of instantiated generic functions are long */
#define GO_HEAD_BYTES     8          /* what go_is_head() looks at */

struct go_table {
	/* set by the caller */
	const uint8_t *bytes;
	size_t size_bytes;
	const struct bytes_gap *gaps; /* ascending */
	size_t n_gaps;
	uint64_t entry; /* of the ELF header; finds `text` where the table does not tell it */
	struct go_stacks stacks; /* by go_stacks_decode() */
	/* set by go_table_init() */
	uint32_t magic;     /* which layout it is */
	bool is_arm64;      /* by the size of the smallest instruction; else x86-64 */
	uint64_t text;      /* functions are relative to this address of the image */
	size_t n_functions;
	uint64_t names, depths, functions; /* offsets in `bytes` */
};

struct go_function {
	uint64_t start, end; /* in the image; start < end */
	const char *name;    /* not NUL-terminated */
	size_t name_bytes;   /* at least 1 */
	uint64_t depths;     /* offset in table->bytes, for go_depths_next() */
	unsigned flags;      /* GO_* */
};

#define GO_TOP      1U /* the outermost function of a goroutine or thread */
#define GO_SP_WRITE 2U /* it sets the stack pointer: the depths do not hold in all of it */
#define GO_ASSEMBLY 4U
#define GO_UNMARKED 256U /* before Go 1.18: only the names of functions tell the above */

/* Whether the GO_HEAD_BYTES at HEAD begin a table of x86-64 or arm64. */
bool go_is_head(const uint8_t *head);
/* False: it is no such table, or it is damaged. */
bool go_table_init(struct go_table *table);
/* False: the function cannot be read. INDEX < table->n_functions. */
bool go_table_read(const struct go_table *table, size_t index, struct go_function *function);

/*
 * Where threads keep their stacks, by the code of runtime.systemstack(): the BYTES, some
 * GO_STACKS_CODE_BYTES. False: the code is of a kind that is not known; *STACKS is as it was.
 */
bool go_stacks_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks);
bool go_stacks_arm64_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks);
#define GO_STACKS_FUNCTION   "runtime.systemstack"
#define GO_STACKS_CODE_BYTES 128
#define GO_MAX_M_OFFSET      1024 /* it was 192 up to Go 1.24 */

/* The depths of one function: go_depths_next() goes from one stretch of code to the next. */
struct go_depths {
	const struct go_table *table;
	uint64_t at;     /* the next byte */
	uint64_t end;    /* of the function */
	uint64_t row_start, row_end; /* code; row_start < row_end <= end */
	int64_t depth;   /* the stack has grown by so much since the function was called */
	bool started;
};

void go_depths_start(struct go_depths *depths, const struct go_table *table,
		     const struct go_function *function);
/* False: there are no more, or they cannot be read. */
bool go_depths_next(struct go_depths *depths);

#endif
