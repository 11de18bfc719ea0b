/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to hotspot*.c: Java programs in the HotSpot virtual machine.
 *
 *   hotspot_layout.c   where the machine says that its structures' members are
 *   hotspot_code.c     an address ─► the code that the machine has made there, and its methods
 *   hotspot.c          frames of the stack, and names of methods
 *   hotspot_lines.c    a place in a method's bytecode ─► its line
 *   hotspot_bytecode.c a method's bytecode ─► its loop
 */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "language/language_ops.h"

/* Members, and static variables. See the table in hotspot_layout.c. */
enum hotspot_field {
	CODE_CACHE_HEAP,
	CODE_CACHE_HEAPS,
	ARRAY_LENGTH,
	ARRAY_DATA,
	HEAP_MEMORY,
	HEAP_MAP,
	HEAP_SHIFT,
	SPACE_LOW,
	SPACE_HIGH,
	BLOCK_USED,
	INTERPRETER_CODE,
	QUEUE_BUFFER,
	QUEUE_LIMIT,
	BLOB_NAME,
	BLOB_SIZE,
	BLOB_CODE,
	BLOB_CODE_OFFSET,
	BLOB_COMPLETE,
	BLOB_FRAME,
	BLOB_MUTABLE,
	BLOB_RELOCATIONS,
	COMPILED_METHOD,
	COMPILED_SCOPES,
	NMETHOD_METHOD,
	NMETHOD_ID,
	NMETHOD_METADATA,
	NMETHOD_SCOPES,
	NMETHOD_PCS,
	NMETHOD_DEPENDENCIES,
	NMETHOD_IMMUTABLE,
	METHOD_CONST,
	CONST_POOL,
	CONST_CODE_SIZE,
	CONST_FLAGS,
	CONST_NAME,
	POOL_CLASS,
	POOL_FILE,
	CLASS_NAME,
	CLASS_FILE,
	SYMBOL_LENGTH,
	SYMBOL_BODY,
	COLLECTED_HEAP,
	COLLECTIONS,
	VERSION_MAJOR,
	N_HOTSPOT_FIELDS
};

enum hotspot_type { TYPE_BLOCK, TYPE_CONST_METHOD, TYPE_POOL, N_HOTSPOT_TYPES };

struct hotspot_layout {
	bool known; /* the members below have been read in a process */
	/* offset of a member, or address of a variable in the machine's file; -1: it has none */
	int64_t fields[N_HOTSPOT_FIELDS];
	uint32_t sizes[N_HOTSPOT_TYPES];
	uint8_t excluded; /* 1: no byte of a compressed number is 0 (from JDK 20 on); otherwise 0 */
};

/* Fills LAYOUT in. False: not all can be read now. */
bool hotspot_read_layout(const struct runtime_process *process, struct hotspot_layout *layout);

static inline const struct hotspot_layout *hotspot_layout_of(const struct runtime_process *process)
{
	return process->runtime->layout;
}

/* --- hotspot_code.c --------------------------------------------------------------------------- */

#define HOTSPOT_MAX_INLINED                                                                        \
	64 /* methods in one frame; compilers inline 15 levels, and a few more */

/* A piece of code: a compiled method, or code that the machine needs. */
struct hotspot_blob {
	uint64_t address, code, end;
	uint64_t name;       /* address of its C string */
	uint64_t method;     /* the compiled method; 0: the code is no method's */
	uint64_t check;      /* hash of words that tell it from another one at the same address */
	int32_t complete;    /* code from this offset on has a frame; negative: not known */
	int32_t frame_bytes; /* 0: not known */
};

/* Finds the code heaps and the interpreter, for process->state. */
bool hotspot_prepare(struct runtime_process *process);
bool hotspot_is_interpreter(const struct runtime_process *process, uint64_t address);
/* Finds the code at ADDRESS. False: there is none. */
bool hotspot_find_blob(const struct runtime_process *process, uint64_t address,
		       struct hotspot_blob *blob);
/* Reads the blob at ADDRESS. */
bool hotspot_read_blob(const struct runtime_process *process, uint64_t address,
		       struct hotspot_blob *blob);
/*
 * runtime_frame.position is a place in the bytecode; HOTSPOT_NO_PLACE; or the address of the next
 * instruction, in compiled code after which the method has no place. An address is greater.
 */
#define HOTSPOT_NO_PLACE UINT32_MAX

/*
 * The methods of BLOB that run at ADDRESS, innermost first. ADDRESS is the next instruction if
 * INTERRUPTED, otherwise a return address.
 */
size_t hotspot_read_scopes(const struct runtime_process *process, const struct hotspot_blob *blob,
			   uint64_t address, bool interrupted, struct runtime_frame *frames,
			   size_t capacity);
/* Whether the compiled code at ADDRESS is in a loop. */
bool hotspot_is_in_loop(const struct runtime_process *process, uint64_t address);
/* Reads a number of 1 to 5 bytes. *AT becomes the offset after it. */
uint32_t hotspot_read_number(const struct hotspot_layout *layout, const uint8_t *bytes, size_t n,
			     size_t *at);

/* --- hotspot_lines.c -------------------------------------------------------------------------- */

/* The place of ADDRESS in the bytecode of DESCRIPTION. False: it is not in there. */
bool hotspot_find_place(const struct runtime_process *process, uint64_t description,
			uint64_t address, uint64_t *place);
/* Copies the bytecode of DESCRIPTION. Returns its size; 0: it is not there, or has no room. */
size_t hotspot_read_bytecode(const struct runtime_process *process, uint64_t description,
			     uint8_t *bytes, size_t capacity);
/* The line that has PLACE in the bytecode of DESCRIPTION; 0: not known. */
uint32_t hotspot_find_line(const struct runtime_process *process, uint64_t description,
			   uint64_t place);

/* --- hotspot_bytecode.c ----------------------------------------------------------------------- */

/*
 * The place of the jump back to the loop's beginning, in a method that has one loop and calls
 * nothing; otherwise HOTSPOT_NO_PLACE.
 */
uint64_t hotspot_find_only_loop(const struct runtime_process *process, uint64_t description);

#endif
