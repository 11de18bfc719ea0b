/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of the profile: one entry for each function, process or unnamed address that a stack
 * went through. Entries are added by the resolver only, never changed and never moved, and live
 * until the table is destroyed: a snapshot may name them from any thread. No lock is needed for
 * that: an entry is written before the snapshot that names it is published, and publishing
 * (xtop/snapshot.h) orders the two for who takes the snapshot.
 *
 * This is the one place where names become clean: whatever a guest or a symbol file called a thing,
 * past here it is valid UTF-8 without control bytes, bidi overrides or overlong width, and without
 * the characters that would forge a folded line.
 */
#ifndef XTOP_FRAMES_H
#define XTOP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"

#define FRAMES_MAX (1U << 18)
#define FRAMES_MAX_TEXT_BYTES (24U << 20) /* all names together: a guest can have long ones */
#define FRAME_NAME_BYTES 4096              /* of one name with its NUL; as SYMTAB_MAX_NAME_BYTES */
#define FRAME_MODULE_BYTES 256             /* Linux: NAME_MAX and the NUL */

enum frame_kind {
	FRAME_KIND_ROOT,     /* all of the guest */
	FRAME_KIND_PROCESS,  /* name: comm */
	FRAME_KIND_THREAD,   /* below its process, when it is called otherwise; name: comm, module: the process */
	FRAME_KIND_KERNEL,   /* "[k]" */
	FRAME_KIND_USERLAND, /* "[.]" */
	FRAME_KIND_MARK,     /* ours: those of enum frame_id */
};

/* Ids that every table has. */
enum frame_id {
	FRAME_ROOT,
	FRAME_EVICTED,   /* "[evicted]": what the profile had no room for */
	FRAME_TRUNCATED, /* "[truncated]": outermost in a stack whose walk did not get there */
	FRAME_UNKNOWN,   /* "[unknown]": what this table had no room for */
	N_FRAME_IDS,
};
#define FRAME_NONE UINT32_MAX /* no frame; never an id */

struct frame {
	const char *name;     /* demangled, clean; "[unknown]" if nobody can name it */
	const char *raw_name; /* clean, but not demangled; often == name */
	const char *module;   /* "[kernel]", a file's name; "" if none */
	uint64_t address;     /* start of the function; of an unnamed frame the address itself */
	enum frame_kind kind;
	uint32_t group;       /* stands for all unnamed ones of its kind and module where addresses
	                       * are not shown; of a named frame its own id */
	bool unknown;         /* nobody can name it */
};

struct frames;

/* DEMANGLE (symbol_demangle(), or NULL): malloc()ed text, NULL when NAME is not a mangled one. */
struct xtop_error *frames_create(char *(*demangle)(const char *name), struct frames **framesp);
void frames_destroy(struct frames *frames); /* NULL allowed */

/*
 * The id of the frame of that kind, raw name, module and address; added if new. NAME NULL or empty:
 * unknown; MODULE NULL: none. Raw strings need not be clean. Never fails: when the table is full or
 * memory is out (counted) a name is FRAME_UNKNOWN, an unnamed address the one that stands for its
 * kind and module. Unnamed addresses get at most half of the table.
 */
uint32_t frames_intern(struct frames *frames, enum frame_kind kind, const char *name,
		       const char *module, uint64_t address);
uint32_t frames_count(const struct frames *frames);         /* resolver */
uint64_t frames_refused(const struct frames *frames);       /* resolver: times the table was full */
size_t frames_memory_bytes(const struct frames *frames);    /* resolver */

/* Any thread, for ids below the n_frames of a snapshot it took. */
const struct frame *frames_get(const struct frames *frames, uint32_t id);

/* What to call FRAME: with ADDRESSES an unknown one is 0xADDR, written into BUFFER. */
#define FRAME_TEXT_BYTES 20
const char *frame_text(const struct frame *frame, bool addresses, char buffer[FRAME_TEXT_BYTES]);

#endif
