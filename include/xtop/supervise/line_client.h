/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions, out of DWARF, in the background. A process of its own, which
 * has no rights, reads debug files (supervise/line_server.h). This process asks, and goes on: an
 * answer is there when line_client_find() is called later.
 *
 *   image (symbol/) ─► line_client_add_file() ─► a number
 *   frame (profile/) ─► a place: that number, and an address of the file
 *   snapshot (query/) ─► line_client_find() ─► functions with file and line, innermost first
 *
 * The functions may be called by any thread; none but line_client_wait() waits. Names of files and
 * functions are a debug file's, and not clean.
 */
#ifndef XTOP_LINE_CLIENT_H
#define XTOP_LINE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"

#define LINE_MAX_FILES      256              /* that one run reads; descriptors of them stay open */
#define LINE_MAX_PLACES     LIMIT(65536, 64) /* addresses whose answers are kept */
#define LINE_MAX_TEXT_BYTES (32U << 20)      /* all answers together */
#define LINE_MAX_DEPTH      32               /* inlined functions, and the function around them */
#define LINE_TEXT_BYTES     256              /* a longer name of a function or file is cut */
#define LINE_SYMBOL_BYTES   112              /* a longer symbol is not looked for */

/*
 * An address in a debug file. With SYMBOL it is counted from that symbol: so a kernel module, and a
 * kernel that was moved, need no other address. SIZE_BYTES of the symbol tells one of several of
 * that name; 0: not known.
 */
struct line_place {
	uint64_t address, size_bytes;
	char symbol[LINE_SYMBOL_BYTES]; /* "": ADDRESS is the file's own */
};

/* FUNCTION "": not known. LINE 0: FILE and LINE are not known. */
struct line_frame {
	const char *function, *file;
	uint32_t line, column;
};

/* Innermost first: frames[0] is at the address; each other one has the one before it inlined. */
struct line_answer {
	unsigned n; /* 0: the file says nothing of the address */
	struct line_frame frames[LINE_MAX_DEPTH];
};

enum line_state {
	LINE_OFF,     /* nobody looks, the file is bad, or there are too many places */
	LINE_WAITING, /* asked for, and not there yet */
	LINE_KNOWN,
};

/* Since the start. */
struct line_client_progress {
	unsigned n_files, n_bad; /* BAD: nothing can be read of them (any more) */
	uint32_t n_places, n_waiting;
	uint64_t refused;    /* places that there was no room for */
	uint64_t most_bytes; /* of memory that the reader had at once */
	char message[160];   /* what is wrong with the last bad file; not clean; "" */
};

/* --- the reader: elf/elf_lines.c -------------------------------------------------------------- */

/* In the process without rights. What is wrong with a file is no error of xtop, but a message. */
struct line_reader {
	/* ALT_FD: of the file that dwz put common parts into; -1: none. NULL: *WHY says why. */
	void *(*open)(int fd, int alt_fd, const char **why);
	/* The strings live until the next call. */
	void (*find)(void *file, const struct line_place *place, struct line_answer *answer);
	/* Lets go of what a later find() would read again. */
	void (*trim)(void *file);
	void (*close)(void *file);
};

/* --- supervise/line_client.c ------------------------------------------------------------------ */

/*
 * Starts the process. Call it before other threads, and before files are opened that it must not
 * have. READER is static.
 */
struct xtop_error *line_client_start(const struct line_reader *reader);
void line_client_stop(void); /* without a start, nothing */
bool line_client_is_on(void);

/*
 * Adds a debug file, which FD (and ALT_FD; -1: none) stays open for; both are copied. NAME is for
 * messages. ANCHOR NULL: places have the file's own addresses. LINE_BY_SYMBOL: each place names
 * the symbol that it is counted from. Otherwise the file's symbol ANCHOR is at ANCHOR_ADDRESS where
 * the places are counted. Returns its number; 0: there is no room.
 */
#define LINE_BY_SYMBOL "" /* a kernel module: the guest has put its sections anywhere */
uint32_t line_client_add_file(int fd, int alt_fd, const char *name, const char *anchor,
			      uint64_t anchor_address);
/* The same file with another anchor: for a kernel that was moved. 0: there is no room. */
uint32_t line_client_add_moved(uint32_t file, const char *anchor, uint64_t anchor_address);
bool line_client_is_by_symbol(uint32_t file);
/* The file that was added last as NAME. 0: there is none. */
uint32_t line_client_find_named(const char *name);
/*
 * What is known of PLACE in FILE. Asks if ASK is set and nobody has asked yet. *ANSWER's strings
 * live until line_client_stop(), and *ANSWER is set after LINE_KNOWN alone.
 */
enum line_state line_client_find(uint32_t file, const struct line_place *place, bool ask,
				 struct line_answer *answer);
/* Takes up answers, and asks for more. True: there are new ones. */
bool line_client_poll(void);
/* Waits until all places have answers, or for SECONDS. False: some have none. */
bool line_client_wait(double seconds);
void line_client_get_progress(struct line_client_progress *progress);

#endif
