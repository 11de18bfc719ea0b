/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of the profile: one entry for each function, process or unnamed address in a stack.
 * Only the resolver adds entries. An entry is never changed or moved, and lives until the table is
 * destroyed, so any thread may read the entries that a snapshot names. No lock is needed: an entry
 * is written before the snapshot that names it is published, and publishing (xtop/snapshot.h)
 * orders the two for the thread that takes the snapshot.
 *
 * Names become clean here and nowhere else. Whatever a guest or a symbol file calls a thing, behind
 * this table its name is valid UTF-8 without control bytes, bidi overrides or stacked combining
 * marks, and without the characters that would forge a folded line.
 */
#ifndef XTOP_FRAMES_H
#define XTOP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"

#define FRAMES_MAX (1U << 18)
#define FRAMES_MAX_TEXT_BYTES (24U << 20) /* all names together: a guest can have long names */
#define FRAME_NAME_BYTES 4096              /* one name with its NUL; as SYMTAB_MAX_NAME_BYTES */
#define FRAME_MODULE_BYTES 256             /* Linux: NAME_MAX and the NUL */

enum frame_kind {
	FRAME_KIND_ROOT,     /* the whole guest */
	FRAME_KIND_PROCESS,  /* name: comm */
	/* Below its process, if the thread has another name. Name: comm; module: the process. */
	FRAME_KIND_THREAD,
	FRAME_KIND_KERNEL,   /* "[k]" */
	FRAME_KIND_USERLAND, /* "[.]" */
	FRAME_KIND_MARK,     /* ours: those in enum frame_id */
};

/* Ids that are the same in every table. */
enum frame_id {
	FRAME_ROOT,
	FRAME_EVICTED,   /* "[evicted]": what the profile had no room for */
	FRAME_TRUNCATED, /* "[truncated]": frames further out were not reached */
	FRAME_UNKNOWN,   /* "[unknown]": what this table had no room for */
	N_FRAME_IDS,
};
#define FRAME_NONE UINT32_MAX /* no frame; never an id */

struct frame {
	const char *name;     /* demangled, clean; "[unknown]" if nobody can name it */
	const char *raw_name; /* clean, not demangled; often the same pointer as name */
	const char *module;   /* "[kernel]", a file's name; "" if none */
	uint64_t address;     /* start of the function; if unknown, the address itself */
	enum frame_kind kind;
	/*
	 * Where addresses are not shown, one frame stands for all unnamed frames of its kind and
	 * module: this is its id. A named frame has its own id here.
	 */
	uint32_t group;
	bool unknown;         /* nobody can name it */
};

struct frames;

/* DEMANGLE (symbol_demangle(), or NULL) returns malloc()ed text, or NULL if NAME is not mangled. */
struct xtop_error *frames_create(char *(*demangle)(const char *name), struct frames **framesp);
void frames_destroy(struct frames *frames); /* NULL allowed */

/*
 * The id of the frame with that kind, raw name, module and address; added if new. NAME NULL or
 * empty: unknown. MODULE NULL: none. Raw strings need not be clean. Never fails: when the table is
 * full or memory is out, which is counted, a name becomes FRAME_UNKNOWN, and an unnamed address
 * becomes the group of its kind and module. Unnamed addresses get at most half of the table.
 */
uint32_t frames_intern(struct frames *frames, enum frame_kind kind, const char *name,
		       const char *module, uint64_t address);
uint32_t frames_count(const struct frames *frames);         /* resolver */
uint64_t frames_refused(const struct frames *frames);       /* resolver: times the table was full */
size_t frames_memory_bytes(const struct frames *frames);    /* resolver */

/* Any thread, for ids below the n_frames of a snapshot that it took. */
const struct frame *frames_get(const struct frames *frames, uint32_t id);

/* The text for FRAME. With ADDRESSES an unknown frame is 0xADDR, written into BUFFER. */
#define FRAME_TEXT_BYTES 20
const char *frame_text(const struct frame *frame, bool addresses, char buffer[FRAME_TEXT_BYTES]);

#endif
