/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to language/: the objects of V8's heap. Resolver's thread. */
#ifndef LANGUAGE_V8_H
#define LANGUAGE_V8_H

#include "language/language_ops.h"

/*
 * What V8's library tells of its version. A tagged word is an address plus 1, or a small number in
 * its upper half. Node.js has no pointer compression.
 */
struct v8_layout {
	int first_function, last_function;   /* types of a JSFunction */
	int shared, scope, script, bytecode; /* types of other objects */
	int first_other;                     /* the first type that is no string */
	int function_shared;                 /* members of JSFunction and SharedFunctionInfo */
	int shared_name, shared_script;
	int scope_variables, scope_n_variables; /* members of ScopeInfo */
	/* Code: the type of the object before the instructions, and its size */
	int code, code_header;
	int code_apart; /* 1: that object has the address of the one with the members below */
	int code_start, code_size, code_data; /* members */
	int deopt_shared, deopt_literals;     /* elements of DeoptimizationData */
};

#define V8_TAG 1 /* added to the address of an object */

#define V8_SHARED_DATA 8 /* offset of a member of SharedFunctionInfo in all these versions */

static inline const struct v8_layout *v8_layout_of(const struct runtime_process *process)
{
	return process->runtime->layout;
}

static inline bool v8_is_small(uint64_t word)
{
	return !(word & V8_TAG);
}

static inline bool v8_is_object(uint64_t word)
{
	return runtime_is_pointer(word - V8_TAG);
}

/* The word at OFFSET in OBJECT, a tagged word; 0: it cannot be read. */
static inline uint64_t v8_read(const struct runtime_process *process, uint64_t object, int offset)
{
	return runtime_read_word(process, object - V8_TAG + (uint64_t)offset);
}

/* The type of the object WORD; -1: it is no object. */
int v8_read_type(const struct runtime_process *process, uint64_t word);

/* A string whose characters lie one after another. */
struct v8_text {
	uint64_t address;
	uint32_t length;
	unsigned width; /* bytes of a character */
};

/* Finds the characters of the string WORD. False: it is none, or has them in several places. */
bool v8_find_text(const struct runtime_process *process, uint64_t word, struct v8_text *text);

/* --- v8_lines.c ------------------------------------------------------------------------------- */

bool v8_prepare(struct runtime_process *process);
/* The number of the line that has the character POSITION of the script's text; 0: not known. */
uint32_t v8_find_line(const struct runtime_process *process, uint64_t script, uint32_t position);

/* --- v8_code.c -------------------------------------------------------------------------------- */

/* Compiled code. */
struct v8_code {
	uint64_t object; /* tagged */
	uint64_t start;  /* the first instruction */
	uint32_t size_bytes;
};

/* Finds the code that has the instruction at ADDRESS. */
bool v8_find_code(const struct runtime_process *process, uint64_t address, struct v8_code *code);
/* The BytecodeArray that CODE was compiled from by Sparkplug; 0: it was not. */
uint64_t v8_find_code_bytecode(const struct runtime_process *process, const struct v8_code *code);
/*
 * The functions that run the instruction in front of END in CODE, which Maglev or TurboFan has
 * compiled, innermost first. 0: it is no such code.
 */
size_t v8_read_code_frames(const struct runtime_process *process, const struct v8_code *code,
			   uint64_t end, struct runtime_frame *frames, size_t capacity);

/* --- v8_names.c ------------------------------------------------------------------------------- */

/* Reads name, file and line of SHARED, a SharedFunctionInfo. */
bool v8_read_shared_name(const struct runtime_process *process, uint64_t shared,
			 struct runtime_name *name);
/* The line of the character POSITION of the text of SHARED's script; 0: not known. */
uint32_t v8_read_shared_line(const struct runtime_process *process, uint64_t shared,
			     uint32_t position);

#endif
