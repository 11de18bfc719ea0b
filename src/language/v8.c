/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JavaScript functions in processes that run V8 7.8 to 13.6, as Node.js 12 to 24 do. They run on
 * the thread's own stack, linked by rbp (v8 src/execution/frame-constants.h):
 *
 *   rbp - 8    the context; in a frame of V8's own a small number, the frame's kind
 *   rbp - 16   JSFunction ─► SharedFunctionInfo ─► name, file, bytecode
 *   rbp - 32   BytecodeArray, if the function is interpreted or was compiled by Sparkplug. Up to
 *              V8 8.8 it is at rbp - 24
 *
 * V8's library describes itself to debuggers by exported numbers, v8dbg_* (v8
 * tools/gen-postmortem-metadata.py): the types of objects, and where they have their members.
 *
 * The stack is that of the stop, but the heap is read later, and the collector may have moved the
 * function. So the function is believed only if it has the BytecodeArray of the frame, or of the
 * code that runs. Code of Maglev and TurboFan tells its function itself (v8_code.c).
 */
#include "config.h"

#include "language/v8.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/elf/elf.h"

enum { EXPORT_FUNCTION_TYPE };

/* --- the version ------------------------------------------------------------------------------ */

#define V8_MAX_NAMES 3

/* A number that V8's library exports. Versions give the number different names. */
struct v8_number {
	size_t place;  /* offset in struct v8_layout */
	int otherwise; /* the value in versions that do not export it; 0: all versions do */
	const char *names[V8_MAX_NAMES];
};

/* clang-format off */
#define NUMBER(member, ...) { offsetof(struct v8_layout, member), 0, { __VA_ARGS__ } }
#define NUMBER_OR(otherwise, member, ...) \
	{ offsetof(struct v8_layout, member), otherwise, { __VA_ARGS__ } }
static const struct v8_number v8_numbers[] = {
	NUMBER(first_function, "v8dbg_type_JSFunction__JS_FUNCTION_TYPE"),
	NUMBER(shared, "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
	NUMBER(scope, "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"),
	NUMBER(script, "v8dbg_type_Script__SCRIPT_TYPE"),
	NUMBER(bytecode, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"),
	NUMBER(first_other, "v8dbg_FirstNonstringType"),
	NUMBER(function_shared, "v8dbg_class_JSFunction__shared__SharedFunctionInfo"),
	NUMBER(shared_name, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
	       "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	       "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"),
	NUMBER(shared_script, "v8dbg_class_SharedFunctionInfo__script_or_debug_info__Object",
	       "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	       "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_"),
	NUMBER(scope_variables, "v8dbg_scopeinfo_idx_first_vars"),
	NUMBER(scope_n_variables, "v8dbg_scopeinfo_idx_ncontextlocals"),
	NUMBER(code, "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE",
	       "v8dbg_type_Code__CODE_TYPE"),
	NUMBER(code_header, "v8dbg_class_InstructionStream__instruction_start__uintptr_t",
	       "v8dbg_class_Code__instruction_start__uintptr_t"),
	NUMBER_OR(40, code_start, "v8dbg_class_Code__instruction_start__Address"),
	NUMBER_OR(56, code_size, "v8dbg_class_Code__instruction_size__int"),
	/* 16 bytes before the wrapper; versions without a wrapper have the data at 32 - 16 */
	NUMBER_OR(32, code_data, "v8dbg_class_Code__wrapper__Tagged_CodeWrapper_"),
	NUMBER_OR(6, deopt_shared, "v8dbg_DeoptimizationDataSharedFunctionInfoIndex",
		  "v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex"),
	NUMBER_OR(2, deopt_literals, "v8dbg_DeoptimizationDataLiteralArrayIndex"),
};
/* clang-format on */
#define N_NUMBERS (sizeof(v8_numbers) / sizeof(v8_numbers[0]))

#define V8_MAX_NUMBER     4096
#define V8_FUNCTION_TYPES 16 /* types after the plain function's: classes, arrays, ... */

static bool v8_read_number(struct elf_file *file, const struct v8_number *number,
			   struct v8_layout *layout)
{
	uint64_t addresses[V8_MAX_NAMES];
	int *found = (int *)(void *)((char *)layout + number->place);
	unsigned n = 0;
	int32_t value;

	while (n < V8_MAX_NAMES && number->names[n])
		n++;
	elf_find_exports(file, number->names, n, addresses);
	for (unsigned i = 0; i < n; i++)
		if (runtime_read_file(file, addresses[i], &value, sizeof(value)) && value > 0 &&
		    value < V8_MAX_NUMBER) {
			*found = value;
			return true;
		}
	*found = number->otherwise;
	return number->otherwise;
}

static bool v8_exports(struct elf_file *file, const char *name)
{
	uint64_t address;

	elf_find_exports(file, &name, 1, &address);
	return address;
}

/* Up to V8 8, a ScopeInfo is an array, whose length is before the first word. */
static void v8_place_scope(struct elf_file *file, struct v8_layout *layout)
{
	int header = sizeof(uint64_t);

	if (v8_exports(file, "v8dbg_parent_ScopeInfo__FixedArray"))
		header += sizeof(uint64_t);
	layout->scope_variables = header + layout->scope_variables * (int)sizeof(uint64_t);
	layout->scope_n_variables = header + layout->scope_n_variables * (int)sizeof(uint64_t);
}

static bool v8_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	struct v8_layout layout = { .shared = 0 };

	(void)name;
	for (size_t i = 0; i < N_NUMBERS; i++)
		if (!v8_read_number(file, &v8_numbers[i], &layout))
			return false;
	v8_place_scope(file, &layout);
	layout.code_apart =
		v8_exports(file, "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE");
	layout.code_data -= 2 * (int)sizeof(uint64_t);
	layout.last_function = layout.first_function + V8_FUNCTION_TYPES;
	runtime->layout = malloc(sizeof(layout));
	if (runtime->layout)
		memcpy(runtime->layout, &layout, sizeof(layout));
	return runtime->layout;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The words of a frame up to its frame pointer. */
enum { FRAME_BYTECODE, FRAME_EARLY_BYTECODE, FRAME_FUNCTION, FRAME_CONTEXT, N_FRAME_WORDS };

#define V8_DATA_WORDS 8 /* words of an object, in which a BytecodeArray is searched for */

/* Whether DATA, which SharedFunctionInfo has, is BYTECODE, or code that was made from it. */
static bool v8_has_bytecode(const struct runtime_process *process, uint64_t data, uint64_t bytecode)
{
	uint64_t words[V8_DATA_WORDS];

	if (data == bytecode)
		return true;
	if (!v8_is_object(data) || memory_read(process->memory, process->root, data - V8_TAG, words,
					       sizeof(words)) != sizeof(words))
		return false;
	for (unsigned i = 1; i < V8_DATA_WORDS; i++)
		if (words[i] == bytecode)
			return true;
	return false;
}

/* Finds the BytecodeArray among the WORDS of a frame; 0: there is none. */
static uint64_t v8_find_bytecode(const struct runtime_process *process, const uint64_t *words)
{
	int type = v8_layout_of(process)->bytecode;

	if (v8_read_type(process, words[FRAME_BYTECODE]) == type)
		return words[FRAME_BYTECODE];
	if (v8_read_type(process, words[FRAME_EARLY_BYTECODE]) == type)
		return words[FRAME_EARLY_BYTECODE];
	return 0;
}

/* The SharedFunctionInfo of the JSFunction WORD; 0: WORD is none. */
static uint64_t v8_find_shared(const struct runtime_process *process, uint64_t word)
{
	const struct v8_layout *layout = v8_layout_of(process);
	int type = v8_read_type(process, word);
	uint64_t shared;

	if (type < layout->first_function || type > layout->last_function)
		return 0;
	shared = v8_read(process, word, layout->function_shared);
	return v8_read_type(process, shared) == layout->shared ? shared : 0;
}

/*
 * Returns SHARED if its function is built in, or if the frame's WORDS have its BytecodeArray;
 * otherwise 0. The first test needs no types, and most frames pass it.
 */
static uint64_t v8_match_frame(const struct runtime_process *process, const uint64_t *words,
			       uint64_t shared)
{
	uint64_t data = shared ? v8_read(process, shared, V8_SHARED_DATA) : 0, bytecode;

	if (v8_is_object(data) &&
	    (data == words[FRAME_BYTECODE] || data == words[FRAME_EARLY_BYTECODE]))
		return shared;
	bytecode = v8_find_bytecode(process, words);
	if (bytecode)
		return v8_has_bytecode(process, data, bytecode) ? shared : 0;
	return v8_is_small(data) ? shared : 0; /* a built-in function */
}

/* The SharedFunctionInfo of the JSFunction WORD, if it has BYTECODE; 0: it does not. */
static uint64_t v8_match_shared(const struct runtime_process *process, uint64_t word,
				uint64_t bytecode)
{
	uint64_t shared = v8_find_shared(process, word);
	uint64_t data = shared ? v8_read(process, shared, V8_SHARED_DATA) : 0;

	return v8_has_bytecode(process, data, bytecode) ? shared : 0;
}

/* Reads the words of a JavaScript function's frame. */
static bool v8_read_words(const struct runtime_native *native, uint64_t words[N_FRAME_WORDS])
{
	size_t bytes = N_FRAME_WORDS * sizeof(*words);

	return native->linked && native->frame_pointer &&
	       runtime_read_stack(native->vcpu, native->frame_pointer - bytes, words,
				  N_FRAME_WORDS) &&
	       v8_is_object(words[FRAME_CONTEXT]) && v8_is_object(words[FRAME_FUNCTION]);
}

/* A frame in V8's own code: the interpreter runs a function, or the code is a built-in function. */
static size_t v8_read_builtin(const struct runtime_process *process,
			      const struct runtime_native *native, struct runtime_frame *frames)
{
	uint64_t words[N_FRAME_WORDS], shared;

	if (!v8_read_words(native, words))
		return 0;
	shared = v8_match_frame(process, words, v8_find_shared(process, words[FRAME_FUNCTION]));
	frames[0] = (struct runtime_frame){ .code = shared, .outermost = true };
	return 1;
}

/*
 * A frame in the code of Sparkplug. In the function's first instructions there is no frame yet, and
 * the function is in a register.
 */
static size_t v8_read_baseline(const struct runtime_process *process,
			       const struct runtime_native *native, uint64_t bytecode,
			       struct runtime_frame *frames)
{
	uint64_t words[N_FRAME_WORDS], shared = 0;

	if (v8_read_words(native, words))
		shared = v8_match_shared(process, words[FRAME_FUNCTION], bytecode);
	if (!shared && native->interrupted)
		shared = v8_match_shared(process, native->vcpu->regs.rdi, bytecode);
	frames[0] = (struct runtime_frame){ .code = shared, .outermost = true };
	return 1;
}

static size_t v8_read_native(const struct runtime_process *process,
			     const struct runtime_native *native, struct runtime_frame *frames,
			     size_t capacity)
{
	uint64_t words[N_FRAME_WORDS], bytecode;
	struct v8_code code;
	size_t n;

	if (!capacity)
		return 0;
	if (!native->compiled)
		return v8_read_builtin(process, native, frames);
	/* V8 may have a copy of its own code there, so that calls are short. */
	if (!v8_find_code(process, native->address - !native->interrupted, &code))
		return v8_read_builtin(process, native, frames) && frames[0].code;
	/* The call in front of a return address counts, or the instruction that is next. */
	n = v8_read_code_frames(process, &code, native->address + native->interrupted, frames,
				capacity);
	if (n)
		return n;
	bytecode = v8_find_code_bytecode(process, &code);
	if (!bytecode && v8_read_words(native, words))
		bytecode = v8_find_bytecode(process, words); /* V8 9 has it only in the frame */
	return bytecode ? v8_read_baseline(process, native, bytecode, frames) : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* v8_read_native() has checked that frame->code is a SharedFunctionInfo. */
static bool v8_check_code(const struct runtime_process *process, const struct runtime_frame *frame,
			  uint64_t *check)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t words[] = { v8_read(process, frame->code, layout->shared_name),
			     v8_read(process, frame->code, layout->shared_script) };

	if (!frame->code || !words[0])
		return false;
	*check = hash_bytes(frame->code, words, sizeof(words));
	return true;
}

static bool v8_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
			 struct runtime_name *name)
{
	return v8_read_type(process, frame->code) == v8_layout_of(process)->shared &&
	       v8_read_shared_name(process, frame->code, name);
}

static uint32_t v8_read_line(const struct runtime_process *process,
			     const struct runtime_frame *frame)
{
	if (!frame->position || v8_read_type(process, frame->code) != v8_layout_of(process)->shared)
		return 0;
	return v8_read_shared_line(process, frame->code, (uint32_t)frame->position - 1);
}

static const char *const v8_loops[] = { "Builtins_*Handler", NULL };

const struct language_ops v8_language = {
	.prefix = "[js] ",
	.exports = { [EXPORT_FUNCTION_TYPE] = "v8dbg_type_JSFunction__JS_FUNCTION_TYPE" },
	.loops = v8_loops,
	.find_layout = v8_find_layout,
	.prepare = v8_prepare,
	.read_native = v8_read_native,
	.check_code = v8_check_code,
	.read_name = v8_read_name,
	.read_line = v8_read_line,
};
