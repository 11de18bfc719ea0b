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
 * The functions may be called by any thread; none but line_client_wait() waits. A client may be
 * NULL: nobody reads lines. Names of files and functions are a debug file's, and not clean.
 */
#ifndef XTOP_LINE_CLIENT_H
#define XTOP_LINE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"

struct line_client;

#define LINE_MAX_FILES      256              /* debug files of one run, which all stay open */
#define LINE_MAX_PLACES     LIMIT(65536, 64) /* addresses whose answers are kept */
#define LINE_MAX_TEXT_BYTES (32U << 20)      /* size of all answers and symbols together */
#define LINE_MAX_DEPTH      32               /* inlined functions, and the function around them */
#define LINE_TEXT_BYTES     256              /* longer names of functions and files are cut */
/* Linux's limit (KSYM_NAME_LEN). A longer symbol is not looked for. */
#define LINE_SYMBOL_BYTES 512

/*
 * An address in a debug file. If there is a symbol, the address is counted from the symbol. So a
 * kernel module, and a kernel that was moved, need no other address. SIZE_BYTES is the symbol's
 * size, which tells symbols of one name apart; 0: unknown.
 */
struct line_place {
	uint64_t address, size_bytes;
	/*
	 * "": ADDRESS is an address of the file. "traps.c#do_trap": a static function of that
	 * source file.
	 */
	char symbol[LINE_SYMBOL_BYTES];
};

/*
 * One line of an answer. FUNCTION is "" if it is unknown; LINE is 0 if file and line are unknown.
 */
struct line_frame {
	const char *function, *file;
	uint32_t line, column;
};

/*
 * The functions at an address, innermost first. frames[0] has the address; each further frame is
 * the function into which the frame before it was inlined.
 */
struct line_answer {
	unsigned n; /* 0: the file says nothing of the address */
	struct line_frame frames[LINE_MAX_DEPTH];
};

enum line_state {
	LINE_OFF,     /* there is no process, the file is bad, or there are too many places */
	LINE_WAITING, /* the place was asked for, and has no answer yet */
	LINE_KNOWN,   /* there is an answer */
};

/* Counts since line_client_start(). */
struct line_client_progress {
	unsigned n_files, n_bad; /* files added; files among them that cannot be read */
	uint32_t n_places, n_waiting;
	uint64_t refused;    /* places that there was no room for */
	uint64_t most_bytes; /* most memory that the reader had at once */
	char message[160];   /* what is wrong with the last bad file; not clean; "" if none is */
};

/* --- the reader: elf/elf_lines.c -------------------------------------------------------------- */

/*
 * Functions of the process without rights. A file that cannot be read is no error of xtop, but a
 * message.
 */
struct line_reader {
	/*
	 * Opens a debug file. ALT_FD is the file into which dwz has put common parts; -1: there is
	 * none. Returns NULL after a failure, which *WHY explains.
	 */
	void *(*open)(int fd, int alt_fd, const char **why);
	/* Finds the functions at PLACE. The strings in *ANSWER live until the next call. */
	void (*find)(void *file, const struct line_place *place, struct line_answer *answer);
	/* Frees memory whose content a later find() reads again. */
	void (*trim)(void *file);
	void (*close)(void *file);
};

/* --- supervise/line_client.c ------------------------------------------------------------------ */

/*
 * Starts the process. Call this function before other threads start, and before files are opened
 * that the process must not have. READER is static.
 */
struct xtop_error *line_client_start(const struct line_reader *reader, struct line_client **linesp);
void line_client_stop(struct line_client *lines);

/*
 * Adds the debug file FD, with its alternative file ALT_FD (-1: none). Both descriptors are
 * duplicated. NAME is for messages. ANCHOR says how places of this file are counted: NULL means by
 * the file's own addresses, LINE_BY_SYMBOL means from the symbol that each place names, and another
 * name is a symbol of the file that lies at ANCHOR_ADDRESS. Returns the file's number; 0: no room.
 */
#define LINE_BY_SYMBOL "" /* a kernel module: the guest has put its sections anywhere */
uint32_t line_client_add_file(struct line_client *lines, int fd, int alt_fd, const char *name,
			      const char *anchor, uint64_t anchor_address);
/* Adds FILE again with another anchor, for a kernel that was moved. 0: there is no room. */
uint32_t line_client_add_moved(struct line_client *lines, uint32_t file, const char *anchor,
			       uint64_t anchor_address);
bool line_client_is_by_symbol(struct line_client *lines, uint32_t file);
/* Returns the file that was added last as NAME. 0: there is none. */
uint32_t line_client_find_named(struct line_client *lines, const char *name);
/*
 * Finds the answer for PLACE in FILE. Asks if ASK is set and nobody has asked yet. *ANSWER is set
 * only if the result is LINE_KNOWN; its strings live until line_client_stop().
 */
enum line_state line_client_find(struct line_client *lines, uint32_t file,
				 const struct line_place *place, bool ask,
				 struct line_answer *answer);
/* Takes answers that have come, and asks for more. Returns whether there are new answers. */
bool line_client_poll(struct line_client *lines);
/* Waits until all places have answers, but at most SECONDS. False: some have none. */
bool line_client_wait(struct line_client *lines, double seconds);
void line_client_get_progress(struct line_client *lines, struct line_client_progress *progress);

#endif
