/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to language/: layouts of CPython's structures, for what reads its frames and lines. */
#ifndef PYTHON_H
#define PYTHON_H

#include "language/language_ops.h"

/* Which frame is the outermost one that one call of the interpreter's loop runs. */
enum python_entry {
	ENTRY_EACH,    /* each frame */
	ENTRY_FLAGGED, /* a frame whose byte `owner` is not 0 */
	ENTRY_C_FRAME, /* a frame whose caller is no function: the C stack owns it */
};
#define FRAME_OWNED_BY_CSTACK 3

/* Offsets in the structures of one version. */
struct python_layout {
	uint16_t version; /* 0x030b for 3.11 */
	/*
	 * In PyThreadState. `current` leads to the innermost frame, or to a structure that has the
	 * frame's address at `current_in`.
	 */
	struct {
		uint16_t id, current, current_in;
	} thread;
	struct {
		enum python_entry entry;
		uint16_t previous, code, position, owner;
	} frame;
	/*
	 * In a code object. `name` is co_qualname where it exists. The check covers 32 bytes.
	 * `instructions` is 0 where frames have no pointer to their instruction.
	 */
	struct {
		uint16_t name, filename, first_line, check, lines, instructions;
	} code;
	struct {
		uint16_t length, state, ascii_text, wide_text; /* the characters' come last */
	} string;
};
#define NOT_THERE 0xffff

static inline const struct python_layout *python_layout_of(const struct runtime_process *process)
{
	return process->runtime->layout;
}

/* The line that FRAME executes; 0: not known. */
uint32_t python_read_line(const struct runtime_process *process, const struct runtime_frame *frame);

#endif
