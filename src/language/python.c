/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Python functions in processes that run CPython 3.6 to 3.14. Each thread of the interpreter has a
 * PyThreadState, which leads to the innermost frame:
 *
 *   up to 3.10   PyThreadState.frame ─► PyFrameObject, f_back ...     a call of the loop runs one
 *   3.11, 3.12   PyThreadState.cframe ─► _PyCFrame.current_frame      a call of the loop runs
 *   3.13, 3.14   PyThreadState.current_frame                          several: up to one that is
 *                    ─► _PyInterpreterFrame, previous ...             an entry, or the C stack's
 *
 * glibc keeps the address of a thread's PyThreadState among the values of its pthread keys
 * (CPython Python/pystate.c, gilstate), also while the thread has given up the interpreter's lock.
 *
 * Offsets come from CPython's Include/ in the release of each version: cpython/pystate.h,
 * cpython/frameobject.h, internal/pycore_frame.h, cpython/code.h, cpython/unicodeobject.h. From
 * 3.13 on _PyRuntime begins with its offsets (internal/pycore_runtime.h, struct _Py_DebugOffsets).
 */
#include "config.h"

#include "language/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/base/utf8.h"
#include "xtop/elf/elf.h"

enum { EXPORT_CODE_TYPE, EXPORT_RUNTIME, EXPORT_VERSION };

/* Words of a frame in STACK_LIST. */
enum { WORD_CODE, WORD_POSITION, WORD_OWNER, WORD_NAME_HASH, N_PYTHON_WORDS };

/* clang-format off */
static const struct python_layout python_layouts[] = {
	{ 0x0306, { 152, 24, NOT_THERE },
	  { ENTRY_EACH,    24, 32, 120, 120 },
	  { 104,  96, 36,  88, 112, 0 }, { 16, 32, 48, 72 } },
	{ 0x0307, { 176, 24, NOT_THERE },
	  { ENTRY_EACH,    24, 32, 104, 104 },
	  { 104,  96, 36,  88, 112, 0 }, { 16, 32, 48, 72 } },
	{ 0x0308, { 176, 24, NOT_THERE },
	  { ENTRY_EACH,    24, 32, 104, 104 },
	  { 112, 104, 40,  96, 120, 0 }, { 16, 32, 48, 72 } },
	{ 0x0309, { 176, 24, NOT_THERE },
	  { ENTRY_EACH,    24, 32, 104, 104 },
	  { 112, 104, 40,  96, 120, 0 }, { 16, 32, 48, 72 } },
	{ 0x030a, { 176, 24, NOT_THERE },
	  { ENTRY_EACH,    24, 32,  96,  96 },
	  { 112, 104, 40,  96, 120, 0 }, { 16, 32, 48, 72 } },
	{ 0x030b, { 152, 56, 8 },         { ENTRY_FLAGGED, 48, 32,  56,  68 },
	  { 128, 112, 72, 112, 136, 184 }, { 16, 32, 48, 72 } },
	{ 0x030c, { 136, 56, 0 },         { ENTRY_C_FRAME,  8,  0,  56,  70 },
	  { 128, 112, 68, 112, 136, 192 }, { 16, 32, 40, 56 } },
};
/* clang-format on */

/* --- the version ------------------------------------------------------------------------------ */

/* Which word of a version's struct _Py_DebugOffsets has each offset. */
static const struct python_debug {
	uint16_t version;
	uint8_t current_frame, thread_id, previous, executable, instr_ptr, owner;
	uint8_t filename, qualname, lines, first_line, instructions;
	uint8_t state, length, ascii_bytes;
} python_debugs[] = {
	{ 0x030d, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 68, 69, 70 },
	{ 0x030e, 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 78, 79, 80 },
};
enum { DEBUG_COOKIE, DEBUG_VERSION, DEBUG_FREE_THREADED, N_DEBUG_WORDS = 81 };
#define DEBUG_MAX_OFFSET 4096 /* larger offsets are refused */
#define COMPACT_BYTES    16   /* PyCompactUnicodeObject is larger than PyASCIIObject by so much */

static const struct python_debug *python_find_debug(uint64_t version)
{
	for (size_t i = 0; i < sizeof(python_debugs) / sizeof(python_debugs[0]); i++)
		if (python_debugs[i].version == version >> 16)
			return &python_debugs[i];
	return NULL;
}

/*
 * Reads the layout that _PyRuntime describes. Returns false if there is no description, or if
 * Python was built without a global lock: its objects begin otherwise.
 */
static bool python_read_debug_offsets(struct elf_file *file, uint64_t address,
				      struct python_layout *layout)
{
	uint64_t words[N_DEBUG_WORDS];
	const struct python_debug *at;

	if (!address || !runtime_read_file(file, address, words, sizeof(words)) ||
	    memcmp(&words[DEBUG_COOKIE], "xdebugpy", 8) != 0 || words[DEBUG_FREE_THREADED])
		return false;
	at = python_find_debug(words[DEBUG_VERSION]);
	if (!at)
		return false;
	*layout = (struct python_layout){
		.version = at->version,
		.thread.id = (uint16_t)words[at->thread_id],
		.thread.current = (uint16_t)words[at->current_frame],
		.thread.current_in = NOT_THERE,
		.frame.entry = ENTRY_C_FRAME,
		.frame.previous = (uint16_t)words[at->previous],
		.frame.code = (uint16_t)words[at->executable],
		.frame.position = (uint16_t)words[at->instr_ptr],
		.frame.owner = (uint16_t)words[at->owner],
		.code.name = (uint16_t)words[at->qualname],
		.code.filename = (uint16_t)words[at->filename],
		.code.first_line = (uint16_t)words[at->first_line],
		.code.check = (uint16_t)words[at->filename],
		.code.lines = (uint16_t)words[at->lines],
		.code.instructions = (uint16_t)words[at->instructions],
		.string.length = (uint16_t)words[at->length],
		.string.state = (uint16_t)words[at->state],
		.string.ascii_text = (uint16_t)words[at->ascii_bytes],
		.string.wide_text = (uint16_t)(words[at->ascii_bytes] + COMPACT_BYTES),
	};
	if (words[at->current_frame] > DEBUG_MAX_OFFSET ||
	    words[at->thread_id] > DEBUG_MAX_OFFSET || words[at->owner] > DEBUG_MAX_OFFSET ||
	    words[at->instructions] > DEBUG_MAX_OFFSET || words[at->ascii_bytes] > DEBUG_MAX_OFFSET)
		layout->version = 0;
	return layout->version;
}

/* 3.11 and later export their version as PY_VERSION_HEX. Before, it is in the file's name. */
static unsigned python_find_version(struct elf_file *file, const char *name, uint64_t address)
{
	const char *digits = strstr(name, "python3.");
	uint64_t version;

	if (runtime_read_file(file, address, &version, sizeof(version)) && version >> 24 == 3)
		return (unsigned)(version >> 16);
	return digits ? 0x0300 | (unsigned)strtoul(digits + strlen("python3."), NULL, 10) : 0;
}

static bool python_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	unsigned version = python_find_version(file, name, runtime->exports[EXPORT_VERSION]);
	struct python_layout layout = { .version = 0 };

	if (!python_read_debug_offsets(file, runtime->exports[EXPORT_RUNTIME], &layout))
		for (size_t i = 0; i < sizeof(python_layouts) / sizeof(python_layouts[0]); i++)
			if (python_layouts[i].version == version)
				layout = python_layouts[i];
	if (!layout.version)
		return false;
	runtime->layout = malloc(sizeof(layout));
	if (runtime->layout)
		memcpy(runtime->layout, &layout, sizeof(layout));
	return runtime->layout;
}

/* --- frames ----------------------------------------------------------------------------------- */

#define PYTHON_MAX_SHIMS 4 /* frames without a function, inside the innermost function's */
#define OB_TYPE          8
#define PYTHON_PTHREAD_BYTES 4096 /* glibc's struct pthread has about half of this */
#define STRING_HASH      8 /* PyASCIIObject.hash, from its length on; interned strings have it */
/* In 3.14 the low bits of a code object's address are flags (internal/pycore_stackref.h). */
#define CODE_ADDRESS(word) ((word) & ~7ULL)

/* Whether CODE is the address of a code object. */
static bool python_is_code(const struct runtime_process *process, uint64_t code)
{
	return code && runtime_read_word(process, code + OB_TYPE) ==
			       process->runtime->exports[EXPORT_CODE_TYPE] + process->bias;
}

/* The innermost frame of the thread whose PyThreadState lies at THREAD; 0: there is none. */
static uint64_t python_current_frame(const struct runtime_process *process, uint64_t thread)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t frame = runtime_read_word(process, thread + layout->thread.current);

	if (frame && layout->thread.current_in != NOT_THERE)
		frame = runtime_read_word(process, frame + layout->thread.current_in);
	return frame;
}

/*
 * Whether POINTER leads to the PyThreadState of the thread, which runs a function. The thread's id
 * is pthread_self(): the thread pointer, or on arm64 the structure that ends there.
 */
static unsigned python_is_thread(const struct runtime_process *process, uint64_t thread_pointer,
				 uint64_t pointer)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t frame;

	if (thread_pointer - runtime_read_word(process, pointer + layout->thread.id) >=
	    PYTHON_PTHREAD_BYTES)
		return false;
	frame = python_current_frame(process, pointer);
	for (unsigned i = 0; frame && i < PYTHON_MAX_SHIMS; i++) {
		if (python_is_code(process, CODE_ADDRESS(runtime_read_word(
						    process, frame + layout->frame.code))))
			return true;
		frame = runtime_read_word(process, frame + layout->frame.previous);
	}
	return false;
}

static bool python_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			       struct recipe *recipe)
{
	const struct python_layout *layout = python_layout_of(process);
	struct runtime_search search = { thread_pointer, .is_right = python_is_thread };

	if (!runtime_search_thread(process, &search))
		return false;
	*recipe = (struct recipe){ .base = (uint64_t)search.distance,
				   .by_thread = 1,
				   .n_loads = 2,
				   .loads = { 0, layout->thread.current },
				   .n_words = N_PYTHON_WORDS,
				   .far = layout->frame.code,
				   .n_far = 1,
				   .deep = (uint16_t)(layout->string.length + STRING_HASH),
				   .words = { [WORD_CODE] = layout->frame.code,
					      [WORD_POSITION] = layout->frame.position,
					      [WORD_OWNER] = layout->frame.owner & ~7U,
					      [WORD_NAME_HASH] = recipe_after(layout->code.name) },
				   .next = layout->frame.previous };
	if (layout->thread.current_in != NOT_THERE)
		recipe->loads[recipe->n_loads++] = layout->thread.current_in;
	return true;
}

static bool python_read_frame(const struct runtime_process *process, const uint64_t *words,
			      size_t n_outer, struct runtime_frame *frame)
{
	const struct python_layout *layout = python_layout_of(process);
	uint8_t owner = (uint8_t)(words[WORD_OWNER] >> 8 * (layout->frame.owner % 8));

	(void)n_outer;
	frame->code = CODE_ADDRESS(words[WORD_CODE]);
	frame->position = words[WORD_POSITION];
	frame->name_hash = words[WORD_NAME_HASH];
	switch (layout->frame.entry) {
	case ENTRY_EACH:
		frame->outermost = true;
		return true;
	case ENTRY_FLAGGED:
		frame->outermost = owner;
		return true;
	case ENTRY_C_FRAME:
		frame->outermost = owner == FRAME_OWNED_BY_CSTACK;
		return !frame->outermost;
	}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Bits of a string's state, up to 3.13: interned:2, kind:3, compact:1, ascii:1. */
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT     (1U << 5)
#define STATE_ASCII       (1U << 6)

static uint32_t python_character(const char *text, unsigned kind, size_t i)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return (unsigned char)text[i];
	if (kind == 2) {
		memcpy(&two, text + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, text + 4 * i, sizeof(four));
	return four <= 0x10ffff ? four : '?';
}

/*
 * Reads the last characters of the string at ADDRESS, as many as fit. The text is UTF-8. Returns
 * false if this is no string.
 */
static bool python_read_string(const struct runtime_process *process, uint64_t address, char *text,
			       size_t capacity)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t length = runtime_read_word(process, address + layout->string.length);
	char bytes[4 * RUNTIME_NAME_BYTES], encoded[4];
	uint64_t most = RUNTIME_NAME_BYTES / 4, skipped;
	uint32_t state;
	unsigned kind;
	size_t n = 0;

	if (!memory_read_u32(process->memory, process->root, address + layout->string.state,
			     &state) ||
	    !(state & STATE_COMPACT) || !length || length >> 32)
		return false;
	kind = STATE_KIND(state);
	if (kind != 1 && kind != 2 && kind != 4)
		return false;
	most = state & STATE_ASCII ? capacity - 1 : capacity / 4;
	skipped = length > most ? length - most : 0;
	address += (state & STATE_ASCII ? layout->string.ascii_text : layout->string.wide_text) +
		   skipped * kind;
	length -= skipped;
	if (memory_read(process->memory, process->root, address, bytes, length * kind) !=
	    length * kind)
		return false;
	for (size_t i = 0; i < length; i++) {
		uint32_t character = python_character(bytes, kind, i);
		size_t size = character ? utf8_encode(character, encoded) : 0;

		if (n + size >= capacity)
			break;
		memcpy(text + n, encoded, size);
		n += size;
	}
	text[n] = '\0';
	return n > 0;
}

static bool python_check_code(const struct runtime_process *process,
			      const struct runtime_frame *frame, uint64_t *check)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t words[4];

	if (!python_is_code(process, frame->code) ||
	    memory_read(process->memory, process->root, frame->code + layout->code.check, words,
			sizeof(words)) != sizeof(words))
		return false;
	*check = hash_bytes(frame->code, words, sizeof(words));
	return true;
}

static bool python_read_name(const struct runtime_process *process,
			     const struct runtime_frame *frame, struct runtime_name *name)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t called = runtime_read_word(process, frame->code + layout->code.name);
	uint64_t path = runtime_read_word(process, frame->code + layout->code.filename);

	return python_is_code(process, frame->code) &&
	       runtime_is_same_name(process, frame, called + layout->string.length + STRING_HASH) &&
	       python_read_string(process, called, name->function, sizeof(name->function)) &&
	       python_read_string(process, path, name->file, sizeof(name->file)) &&
	       memory_read_u32(process->memory, process->root,
			       frame->code + layout->code.first_line, &name->line);
}

static const char *const python_loops[] = { "_PyEval_EvalFrameDefault",
					    "_PyEval_EvalFrameDefault.cold", NULL };

const struct language_ops python_language = {
	.prefix = "[py] ",
	.exports = { [EXPORT_CODE_TYPE] = "PyCode_Type",
		     [EXPORT_RUNTIME] = "_PyRuntime",
		     [EXPORT_VERSION] = "Py_Version" },
	.loops = python_loops,
	.find_layout = python_find_layout,
	.find_recipe = python_find_recipe,
	.read_frame = python_read_frame,
	.check_code = python_check_code,
	.read_name = python_read_name,
	.read_line = python_read_line,
	.n_words = N_PYTHON_WORDS,
	.n_words_before = WORD_NAME_HASH,
};
