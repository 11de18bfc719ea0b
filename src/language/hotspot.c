/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java methods in processes that run HotSpot 8 to 25. All frames are on the thread's own stack
 * (openjdk cpu/x86/frame_x86.hpp):
 *
 *   interpreted    fp - 64   the place in its bytecode when it called; up to 8 at fp - 56. While a
 *                            method runs, the place is in r13
 *                  fp - 24   the Method
 *                  fp - 8    the caller's sp, in front of the arguments that were copied
 *                  fp        the caller's fp, and the return address after it
 *   compiled       a frame of fixed size: at its end are the caller's fp, and the return address
 *
 * Compiled code sets up its frame in its first instructions, and gives it up in its last ones.
 */
#include "config.h"

#include "language/hotspot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

#define WORD          sizeof(uint64_t)
#define FRAME_METHOD  (3 * WORD)
#define FRAME_PLACE   (8 * WORD)
#define FRAME_SENDER  WORD
#define MAX_ARGUMENTS (256 * WORD) /* a method has at most 255 */
#define MAX_METHOD_BYTES                                                                           \
	80 /* room for a method's name; the class's has the rest of RUNTIME_NAME_BYTES */
#define STUB_TAG         1ULL /* mark in runtime_frame.code: a blob that is no method */

enum { EXPORT_STRUCTS, EXPORT_TYPES };

static uint64_t hotspot_at(const struct runtime_process *process, uint64_t address,
			   enum hotspot_field field)
{
	return address + (uint64_t)hotspot_layout_of(process)->fields[field];
}

static uint64_t hotspot_pointer(const struct runtime_process *process, uint64_t address,
				enum hotspot_field field)
{
	uint64_t word = runtime_read_word(process, hotspot_at(process, address, field));

	return runtime_is_pointer(word) ? word : 0;
}

static uint16_t hotspot_half(const struct runtime_process *process, uint64_t address)
{
	uint16_t half = 0;

	memory_read(process->memory, process->root, address, &half, sizeof(half));
	return half;
}

static bool hotspot_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	(void)file, (void)name;
	runtime->layout = calloc(1, sizeof(struct hotspot_layout));
	return runtime->layout;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The place in METHOD's bytecode that an interpreted frame executes, or HOTSPOT_NO_PLACE. */
static uint64_t hotspot_find_frame_place(const struct runtime_process *process,
					 const struct runtime_native *native, uint64_t method)
{
	uint64_t words[3] = { native->interrupted ? native->vcpu->regs.r13 : 0 }, place;
	uint64_t description = hotspot_pointer(process, method, METHOD_CONST);

	runtime_read_stack(native->vcpu, native->frame_pointer - FRAME_PLACE, words + 1, 2);
	for (unsigned i = 0; i < 3 && description; i++)
		if (hotspot_find_place(process, description, words[i], &place))
			return place;
	return HOTSPOT_NO_PLACE;
}

static size_t hotspot_read_native(const struct runtime_process *process,
				  const struct runtime_native *native, struct runtime_frame *frames,
				  size_t capacity)
{
	struct hotspot_blob blob;
	uint64_t address = native->address - !native->interrupted, method;

	if (!native->compiled || !capacity)
		return 0;
	if (hotspot_is_interpreter(process, address)) {
		if (!runtime_read_stack(native->vcpu, native->frame_pointer - FRAME_METHOD, &method,
					1))
			return 0;
		frames[0] = (struct runtime_frame){
			.code = method,
			.position = hotspot_find_frame_place(process, native, method),
		};
		return 1;
	}
	if (!hotspot_find_blob(process, address, &blob))
		return 0;
	if (blob.method)
		return hotspot_read_scopes(process, &blob, native->address, native->interrupted,
					   frames, capacity);
	frames[0] = (struct runtime_frame){ .code = blob.address | STUB_TAG };
	return 1;
}

/* What is there of a frame while its method's first or last instructions run. */
struct hotspot_edge {
	uint64_t words; /* words of the frame from sp on, with the return address */
	bool saved;     /* the caller's fp is in front of the return address */
};

/*
 * Whether CODE is the end of a method: only `pop rbp` and a test whether the thread has to stop
 * (openjdk macroAssembler_x86.cpp, safepoint_poll()) come before `ret`. EDGE becomes what is left
 * of the frame.
 */
static bool hotspot_find_exit(const uint8_t *code, size_t n, struct hotspot_edge *edge)
{
	static const struct {
		uint8_t size, n_bytes, bytes[4];
	} passed[] = {
		{ 1, 1, { 0x5d } },             /* pop rbp */
		{ 7, 3, { 0x49, 0x3b, 0xa7 } }, /* cmp rsp, [r15 + disp32] */
		{ 6, 2, { 0x0f, 0x87 } },       /* ja */
		{ 6, 2, { 0x85, 0x05 } },       /* test eax, [rip + disp32] */
		{ 7, 3, { 0x4d, 0x8b, 0x97 } }, /* mov r10, [r15 + disp32] */
		{ 4, 3, { 0x4d, 0x8b, 0x57 } }, /* mov r10, [r15 + disp8] */
		{ 3, 3, { 0x41, 0x85, 0x02 } }, /* test eax, [r10] */
	};
	size_t at = 0, i = 0;

	*edge = (struct hotspot_edge){ .words = 1 };
	while (at < n && i < sizeof(passed) / sizeof(passed[0]) && code[at] != 0xc3) {
		for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
			if (at + passed[i].n_bytes <= n &&
			    memcmp(code + at, passed[i].bytes, passed[i].n_bytes) == 0)
				break;
		if (i == 0)
			*edge = (struct hotspot_edge){ .words = 2, .saved = true };
		if (i < sizeof(passed) / sizeof(passed[0]))
			at += passed[i].size;
	}
	return at < n && code[at] == 0xc3;
}

/* Sets EDGE if BLOB's code, interrupted at ADDRESS, has only a part of its frame there. */
static bool hotspot_find_edge(const struct runtime_process *process,
			      const struct hotspot_blob *blob, uint64_t address,
			      struct hotspot_edge *edge)
{
	uint8_t code[7 + 32];
	size_t n = memory_read(process->memory, process->root, address - 7, code, sizeof(code));

	if (n <= 7)
		return false;
	if (hotspot_find_exit(code + 7, n - 7, edge))
		return true;
	if (blob->complete < 0 || address - blob->code >= (uint64_t)blob->complete)
		return false;
	*edge = (struct hotspot_edge){ .words = 1 };
	if (code[6] == 0x55) /* push rbp */
		edge->words = 2;
	else if ((code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec) || /* sub rsp, imm32 */
		 (code[3] == 0x48 && code[4] == 0x83 && code[5] == 0xec))   /* sub rsp, imm8 */
		edge->words = (uint64_t)blob->frame_bytes / WORD;
	return true;
}

static void hotspot_set_caller(uint64_t stack_pointer, const struct hotspot_edge *edge,
			       struct runtime_caller *caller)
{
	uint64_t end = stack_pointer + edge->words * WORD;

	*caller = (struct runtime_caller){ .return_at = end - WORD,
					   .frame_pointer_at = edge->saved ? end - 2 * WORD : 0,
					   .stack_pointer = end };
}

/* A frame of the interpreter, or of another piece of code that keeps frame pointers. */
static bool hotspot_follow_pointer(const struct runtime_native *native, bool interpreter,
				   struct runtime_caller *caller)
{
	uint64_t fp = native->frame_pointer, end = fp + 2 * WORD, sender;

	if (fp < native->stack_pointer)
		return false;
	*caller = (struct runtime_caller){ .return_at = fp + WORD,
					   .frame_pointer_at = fp,
					   .stack_pointer = end };
	if (interpreter && runtime_read_stack(native->vcpu, fp - FRAME_SENDER, &sender, 1) &&
	    sender >= end && sender - end <= MAX_ARGUMENTS)
		caller->stack_pointer = sender;
	return true;
}

static bool hotspot_find_caller(const struct runtime_process *process,
				const struct runtime_native *native, struct runtime_caller *caller)
{
	uint64_t address = native->address - !native->interrupted;
	struct hotspot_edge edge;
	struct hotspot_blob blob;

	if (hotspot_is_interpreter(process, address))
		return hotspot_follow_pointer(native, true, caller);
	if (!hotspot_find_blob(process, address, &blob))
		return false;
	if (!native->interrupted || !hotspot_find_edge(process, &blob, address, &edge)) {
		if (!blob.frame_bytes)
			return hotspot_follow_pointer(native, false, caller);
		edge = (struct hotspot_edge){ (uint64_t)blob.frame_bytes / WORD, true };
	}
	hotspot_set_caller(native->stack_pointer, &edge, caller);
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Reads the last characters of a Symbol, as many as fit. */
static bool hotspot_read_symbol(const struct runtime_process *process, uint64_t symbol, char *text,
				size_t capacity)
{
	size_t length = hotspot_half(process, hotspot_at(process, symbol, SYMBOL_LENGTH));
	uint64_t body = hotspot_at(process, symbol, SYMBOL_BODY);
	size_t skipped = length >= capacity ? length - (capacity - 1) : 0;

	if (!symbol || !length ||
	    memory_read(process->memory, process->root, body + skipped, text, length - skipped) !=
		    length - skipped)
		return false;
	text[length - skipped] = '\0';
	return true;
}

/* Reads the symbol with the number INDEX in the constant pool. */
static bool hotspot_read_constant(const struct runtime_process *process, uint64_t pool,
				  uint16_t index, char *text, size_t capacity)
{
	uint64_t entries = pool + hotspot_layout_of(process)->sizes[TYPE_POOL];
	uint64_t symbol = runtime_read_word(process, entries + index * WORD);

	return index && runtime_is_pointer(symbol) &&
	       hotspot_read_symbol(process, symbol, text, capacity);
}

/* A method's description, its constant pool, and its class. */
struct hotspot_method {
	uint64_t description, pool, class;
};

static bool hotspot_read_method(const struct runtime_process *process, uint64_t address,
				struct hotspot_method *method)
{
	*method = (struct hotspot_method){ 0 };
	if (!runtime_is_pointer(address))
		return false;
	method->description = hotspot_pointer(process, address, METHOD_CONST);
	if (method->description)
		method->pool = hotspot_pointer(process, method->description, CONST_POOL);
	if (method->pool)
		method->class = hotspot_pointer(process, method->pool, POOL_CLASS);
	return method->class;
}

static bool hotspot_check_code(const struct runtime_process *process,
			       const struct runtime_frame *frame, uint64_t *check)
{
	struct hotspot_method method;
	struct hotspot_blob blob;
	uint64_t words[5];

	if (frame->code & STUB_TAG) {
		if (!hotspot_read_blob(process, frame->code - STUB_TAG, &blob))
			return false;
		*check = blob.check;
		return true;
	}
	if (!hotspot_read_method(process, frame->code, &method))
		return false;
	words[0] = method.description;
	words[1] = method.pool;
	words[2] = method.class;
	words[3] = hotspot_pointer(process, method.class, CLASS_NAME);
	/* the method's code size, and its name's and signature's numbers in the pool */
	words[4] = runtime_read_word(process,
				     hotspot_at(process, method.description, CONST_CODE_SIZE));
	*check = hash_bytes(frame->code, words, sizeof(words));
	return true;
}

/* Makes NAME, a class's, what Java calls the class. A hidden class loses its address. */
static void hotspot_clean_class(char *name)
{
	char *address = strstr(name, "+0x");

	if (!address)
		address = strstr(name, "/0x");
	if (address)
		*address = '\0';
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '.';
}

static void hotspot_read_file(const struct runtime_process *process,
			      const struct hotspot_method *method, struct runtime_name *name)
{
	bool in_pool = hotspot_layout_of(process)->fields[POOL_FILE] >= 0;
	uint16_t index =
		hotspot_half(process, in_pool ? hotspot_at(process, method->pool, POOL_FILE)
					      : hotspot_at(process, method->class, CLASS_FILE));

	hotspot_read_constant(process, method->pool, index, name->file, sizeof(name->file));
}

static bool hotspot_read_stub_name(const struct runtime_process *process, uint64_t address,
				   struct runtime_name *name)
{
	char text[RUNTIME_NAME_BYTES];
	struct hotspot_blob blob;

	if (!hotspot_read_blob(process, address, &blob) ||
	    !memory_read_string(process->memory, process->root, blob.name, text, sizeof(text)))
		return false;
	snprintf(name->function, sizeof(name->function), "%s", text);
	return true;
}

/*
 * A class may be loaded where another one was unloaded, with all structures and even its name at
 * the old addresses. A Symbol begins with its length and a random hash, and the last letters of a
 * name tell most.
 */
static void hotspot_set_witnesses(const struct runtime_process *process,
				  const struct hotspot_method *method, struct runtime_name *name)
{
	uint64_t symbol = hotspot_pointer(process, method->class, CLASS_NAME);
	uint64_t body = hotspot_at(process, symbol, SYMBOL_BODY);
	uint16_t length = hotspot_half(process, hotspot_at(process, symbol, SYMBOL_LENGTH));
	uint16_t index =
		hotspot_half(process, hotspot_at(process, method->description, CONST_NAME));

	name->witnesses[0] = symbol;
	name->witnesses[1] = length > WORD ? body + length - WORD : body;
	name->witnesses[2] =
		method->pool + hotspot_layout_of(process)->sizes[TYPE_POOL] + index * WORD;
}

static bool hotspot_read_name(const struct runtime_process *process,
			      const struct runtime_frame *frame, struct runtime_name *name)
{
	char class[RUNTIME_NAME_BYTES - MAX_METHOD_BYTES], function[MAX_METHOD_BYTES];
	struct hotspot_method method;

	if (frame->code & STUB_TAG)
		return hotspot_read_stub_name(process, frame->code - STUB_TAG, name);
	if (!hotspot_read_method(process, frame->code, &method) ||
	    !hotspot_read_symbol(process, hotspot_pointer(process, method.class, CLASS_NAME), class,
				 sizeof(class)) ||
	    !hotspot_read_constant(
		    process, method.pool,
		    hotspot_half(process, hotspot_at(process, method.description, CONST_NAME)),
		    function, sizeof(function)))
		return false;
	hotspot_clean_class(class);
	snprintf(name->function, sizeof(name->function), "%s.%s", class, function);
	hotspot_set_witnesses(process, &method, name);
	hotspot_read_file(process, &method, name);
	name->line = hotspot_find_line(process, method.description, 0);
	return true;
}

/*
 * 1 + the number of garbage collections, because these free classes, methods and their names. G1
 * may free them between collections, too, which is not seen.
 */
static uint64_t hotspot_read_epoch(const struct runtime_process *process)
{
	const struct hotspot_layout *layout = hotspot_layout_of(process);
	uint32_t collections = 0;
	uint64_t heap = 0;

	if (layout->fields[COLLECTED_HEAP] >= 0 && layout->fields[COLLECTIONS] >= 0)
		heap = hotspot_pointer(process, process->bias, COLLECTED_HEAP);
	if (heap)
		memory_read_again(process->memory, process->root,
				  hotspot_at(process, heap, COLLECTIONS), &collections,
				  sizeof(collections));
	return 1 + (uint64_t)collections;
}

static uint32_t hotspot_read_line(const struct runtime_process *process,
				  const struct runtime_frame *frame)
{
	struct hotspot_method method;
	uint64_t place = frame->position;

	if (frame->code & STUB_TAG || !hotspot_read_method(process, frame->code, &method))
		return 0;
	if (place > HOTSPOT_NO_PLACE)
		place = hotspot_is_in_loop(process, place)
				? hotspot_find_only_loop(process, method.description)
				: HOTSPOT_NO_PLACE;
	return place == HOTSPOT_NO_PLACE ? 0
					 : hotspot_find_line(process, method.description, place);
}

static const char *const hotspot_loops[] = { NULL };

const struct language_ops hotspot_language = {
	.exports = { [EXPORT_STRUCTS] = "gHotSpotVMStructs", [EXPORT_TYPES] = "gHotSpotVMTypes" },
	.prefix = "[java] ",
	.loops = hotspot_loops,
	.find_layout = hotspot_find_layout,
	.prepare = hotspot_prepare,
	.read_native = hotspot_read_native,
	.find_caller = hotspot_find_caller,
	.check_code = hotspot_check_code,
	.read_name = hotspot_read_name,
	.read_epoch = hotspot_read_epoch,
	.read_line = hotspot_read_line,
};
