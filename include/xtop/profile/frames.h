/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stacks are made of: one entry for each function, unnamed address, process or thread. What
 * tells processes and threads apart is in the table of owners (owners.h), which the frames have.
 * Only the resolver adds entries. An entry is never changed or moved, and lives until the table is
 * destroyed, so any thread may read the entries that a snapshot names. No lock is needed: an entry
 * is written before the snapshot that names it is published, and publishing (snapshot.h)
 * orders the two for the thread that takes the snapshot.
 *
 * Names of frames become clean here and nowhere else. Whatever a guest or a symbol file calls a
 * thing, in this table its name is valid UTF-8 without control bytes, bidi overrides or stacked
 * combining marks, and without the characters that would forge a folded line.
 */
#ifndef XTOP_FRAMES_H
#define XTOP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/profile/owners.h"

#define FRAMES_MAX (1U << 18)
#define FRAMES_MAX_TEXT_BYTES (24U << 20) /* room for all names: a guest can have long ones */
#define FRAME_NAME_BYTES 4096              /* a name and its NUL; symbol tables have this limit */
#define FRAME_MODULE_BYTES 256             /* Linux: NAME_MAX and the NUL */
#define FRAMES_MAX_BUILDS 4096             /* build-ids that are kept: the first ones */

enum frame_kind {
	FRAME_KIND_ROOT,     /* the whole guest */
	FRAME_KIND_OWNER,    /* a process, or a thread: see frames_get_owner() */
	FRAME_KIND_KERNEL,   /* "[k]" */
	FRAME_KIND_USERLAND, /* "[.]" */
	FRAME_KIND_FUNCTION, /* a function of a profile file that does not say whose code it is */
	FRAME_KIND_MARK,     /* xtop's own entry: "[truncated]" and others */
};

/* Ids that every table of frames has. */
enum frame_id {
	FRAME_ROOT,
	FRAME_EVICTED,   /* "[evicted]": stacks that the profile had no room for */
	FRAME_TRUNCATED, /* "[truncated]": frames further out are missing */
	FRAME_UNKNOWN,   /* "[unknown]": a name that this table had no room for */
	N_FRAME_IDS,
};
#define FRAME_NONE UINT32_MAX /* no frame; never an id */

/* The file that a function without a symbol lies in. Strings are clean, and "" if not known. */
struct frame_file {
	const char *path;     /* the file's path in the guest */
	const char *build_id; /* the file's build-id in hexadecimal */
	const char *package;  /* "systemd 252.38-1 (deb)" */
	bool incomplete;      /* part of the file was not in the guest's memory */
};
#define FRAMES_MAX_FILES 1024

#define FRAME_LINE_KNOWN 0xffff /* no number of a file */

/* Small: a table may have 262,144 frames. */
struct frame {
	const char *name;     /* demangled, clean; "[unknown]" if nobody can name it */
	const char *raw_name; /* clean, not demangled; often the same pointer as name */
	const char *module;   /* a function's file, or "[kernel]"; "" if none is known */
	uint64_t address;     /* start of the function; if unknown, the address itself */
	const struct frame_file *file; /* NULL: the frame has a name, or no file is known */
	/*
	 * For a place in a function (frames_intern_line()): LINE_ADDRESS, which is canonical, in
	 * the file LINE_FILE (line_client.h); in a file that is addressed by symbols it is counted
	 * from the function's start. The group of this frame is the function. LINE_FILE 0: the
	 * frame is all of the function. FRAME_LINE_KNOWN: LINE_ADDRESS is the line, and the file
	 * is MODULE.
	 */
	int64_t line_address : 48;
	uint64_t line_file : 16;
	/*
	 * Where addresses are not shown, one frame stands for all unnamed frames of its kind and
	 * module. This is the id of that frame. A named frame has its own id here.
	 */
	uint32_t group;
	/* The function that is named without parameters and has this one's name; 0: none. */
	uint32_t overloads;
	uint16_t build; /* number of the module's build-id, for frames_get_build(); 0: none */
	enum frame_kind kind : 8;
	bool unknown;   /* nobody can name it */
	bool hypercall; /* a stub that calls Xen, such as "xen_hypercall_sched_op" */
	bool loop;      /* an interpreter's loop: runtime_is_loop() */
	/* a function of an interpreted program: MODULE is its source file, ADDRESS its line */
	bool program;
	uint32_t owner; /* the owner's id; OWNER_NONE: this is no process or thread */
};

/* Whether the frame is code, not an owner or a mark. */
static inline bool frame_is_function(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_KERNEL || frame->kind == FRAME_KIND_USERLAND ||
	       frame->kind == FRAME_KIND_FUNCTION;
}

/* Whether all hypercalls share the stub FRAME, so that only its caller tells which one it is. */
bool frame_is_any_hypercall(const struct frame *frame);

/* The function that the frame ID lies in: ID, unless ID is a place in a function. */
static inline uint32_t frame_get_function(const struct frame *frame, uint32_t id)
{
	return frame->line_file ? frame->group : id;
}

struct build_id;
struct frames;

/* DEMANGLE (symbol_demangle(), or NULL) returns malloc()ed text, or NULL if NAME is not mangled. */
struct xtop_error *frames_create(char *(*demangle)(const char *name), struct frames **framesp);
void frames_destroy(struct frames *frames); /* NULL allowed */
/*
 * What tells named functions apart. Set it before the first function is interned. A function has
 * other addresses in another run, and a profile file may have no modules. Unnamed functions always
 * differ by their addresses.
 */
enum frames_identity {
	FRAMES_BY_ADDRESS, /* kind, name, module and address: the default */
	FRAMES_BY_MODULE,  /* kind, name and module */
	FRAMES_BY_NAME,    /* the name alone; the first function gives kind and module */
};
void frames_set_identity(struct frames *frames, enum frames_identity identity);

/*
 * A function, or an address that nobody can name, as its guest or its file describes it. No string
 * need be clean. KIND, NAME, MODULE and ADDRESS tell one function from another. A frame keeps the
 * build-id and the file with which it was added.
 */
struct frame_function {
	enum frame_kind kind;
	const char *name;   /* NULL or "": unknown */
	const char *module; /* NULL: none */
	uint64_t address;
	/* the module's build-id; NULL or without bytes if not known */
	const struct build_id *build;
	const struct frame_file *file; /* NULL: not known */
};

/*
 * The id of the frame of FUNCTION. A new frame is added. Never fails: when the table is full or
 * memory is out, a name becomes FRAME_UNKNOWN, an unnamed address becomes the group of its kind and
 * module, and frames_refused() counts that. Unnamed addresses get at most half of the table.
 */
uint32_t frames_intern_function(struct frames *frames, const struct frame_function *function);
/* The id of a function or mark that has neither build-id nor file. */
uint32_t frames_intern(struct frames *frames, enum frame_kind kind, const char *name,
		       const char *module, uint64_t address);
/* The id of a process's frame. CGROUP NULL: not known. Strings need not be clean. Never fails. */
uint32_t frames_intern_process(struct frames *frames, const char *name, const char *cgroup);
/* The id of the frame of a thread of the process frame PROCESS; FRAME_NONE: not known. */
uint32_t frames_intern_thread(struct frames *frames, const char *name, uint32_t process);
/*
 * The id of a place in FUNCTION, the id of a function: ADDRESS in FILE, which is not 0
 * (line_client.h). When the table is full, returns FUNCTION.
 */
uint32_t frames_intern_line(struct frames *frames, uint32_t function, uint32_t file,
			    uint64_t address);
uint32_t frames_count(const struct frames *frames);         /* resolver */
uint64_t frames_refused(const struct frames *frames);       /* resolver: times the table was full */
size_t frames_memory_bytes(const struct frames *frames);    /* resolver */

/* Any thread, for ids below the n_frames of a snapshot that it took. */
const struct frame *frames_get(const struct frames *frames, uint32_t id);

/* The process or thread that FRAME stands for; NULL: none. Lives as long as FRAMES. */
const struct owner *frames_get_owner(const struct frames *frames, const struct frame *frame);
/* Whether the frame ID is one of a process, or one of a thread. */
bool frames_is_process(const struct frames *frames, uint32_t id);
bool frames_is_thread(const struct frames *frames, uint32_t id);
/*
 * Where FRAME belongs: a function's file, a process's control group, or the name of a thread's
 * process; "": not known.
 */
const char *frames_get_home(const struct frames *frames, const struct frame *frame);
/* The frame of TO for the frame ID of FROM. A place in a function becomes its function. */
uint32_t frames_translate(const struct frames *from, uint32_t id, struct frames *to);

/* The build-id of the file that FRAME's code lies in; NULL: not known. Lives as long as FRAMES. */
const struct build_id *frames_get_build(const struct frames *frames, const struct frame *frame);

/*
 * The text for FRAME. ADDRESSES: an unknown frame becomes "0x" and its address, which is written
 * into BUFFER.
 */
#define FRAME_TEXT_BYTES 20
const char *frame_text(const struct frame *frame, bool addresses, char buffer[FRAME_TEXT_BYTES]);
/* The name of FRAME with what tells it from overloads, its parameters; may be in BUFFER. */
const char *frame_whole_name(const struct frame *frame, char buffer[FRAME_NAME_BYTES]);

#endif
