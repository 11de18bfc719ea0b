/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of an interpreted program. A runtime is an interpreter that one file has, such as
 * CPython in libpython3.11.so. For a process that runs it, its language gives the sampler a recipe
 * to copy the interpreter's frames (recipe.h), and turns the copied words into functions.
 *
 *   runtime_find()            a file's symbols ─► struct runtime, kept with the file's image
 *   runtime_find_recipe()     a process and a thread of it ─► recipe, for the next samples
 *   runtime_read_frames()     a sample with STACK_LIST ─► code objects, innermost first
 *   runtime_read_name()       a code object in the process's memory ─► function, file, line
 *
 * Some languages keep their functions on the thread's own stack, and have no recipe:
 *
 *   runtime_prepare()         a process ─► its state, which is found once
 *   runtime_read_native()     a frame of the stack ─► code objects, innermost first
 *   runtime_find_caller()     a frame without unwind tables ─► where its caller's registers are
 *
 * Each language is a table of functions (language/language_ops.h), in a file of its own. All bytes
 * come from the guest. Resolver's thread.
 */
#ifndef XTOP_LANGUAGE_H
#define XTOP_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/memory/memory.h"
#include "xtop/sample/recipe.h"
#include "xtop/sample/sample.h"

#define RUNTIME_MAX_FRAMES 512 /* frames of one sample that get names: the innermost ones */
#define RUNTIME_NAME_BYTES 256 /* room for a function's name and its NUL; a longer one is cut */
#define RUNTIME_FILE_BYTES 256 /* room for the name of a file of source text */
#define RUNTIME_WITNESSES  3   /* words that tell whether a name is still the one that was read */

struct elf_file;
struct runtime;

/* The runtime that FILE, whose last path component is NAME, has; NULL: none, or no memory. */
struct runtime *runtime_find(struct elf_file *file, const char *name);
/* Returns RUNTIME with another reference, which runtime_destroy() gives back. */
struct runtime *runtime_ref(struct runtime *runtime);
void runtime_destroy(struct runtime *runtime); /* NULL allowed */

/* What an instruction does, for languages that follow jumps. */
struct runtime_step {
	uint64_t jump;      /* target of the jump; 0: the instruction does not jump */
	uint8_t size_bytes; /* 0: there is no instruction */
	bool call;          /* it calls a function; `jump` is then 0 */
	bool ends;          /* a return, or a jump that is always taken, to a fixed place */
};

typedef struct runtime_step runtime_decode_fn(const uint8_t *bytes, size_t n, uint64_t address);

/* A process that runs a runtime. */
struct runtime_process {
	const struct runtime *runtime;
	uint64_t bias; /* an address in memory minus the address in the runtime's file */
	struct memory *memory;
	struct memory_root root;
	void *state; /* what runtime_prepare() has found, from malloc(); NULL: nothing yet */
	runtime_decode_fn *decode; /* reads an instruction; NULL: nobody can */
};

/*
 * Finds how to copy the frames of the thread whose thread pointer is THREAD_POINTER. The recipe is
 * right for all threads of the process. False: the thread runs no code of the language, or
 * nothing is known of it.
 */
bool runtime_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			 struct recipe *recipe);

/* A frame of the interpreter. */
struct runtime_frame {
	uint64_t code; /* address of what describes the function; identifies it in the process */
	uint64_t position; /* place in the function, as its language counts places */
	uint64_t caller;   /* place in the calling function, if that one's frame does not have it */
	uint64_t owner; /* the class that has the method, if a method of Ruby runs; otherwise 0 */
	uint64_t seen;  /* a word at `code` that the sample's stop copied; 0: not known */
	/*
	 * A hash of the function's name that the sample's stop copied; 0: not known. The name is
	 * read later, and another function may lie at `code` by then.
	 */
	uint64_t name_hash;
	bool outermost;    /* the outermost frame that one call of the interpreter's loop runs */
};

/* The frames in VCPU's STACK_LIST, innermost first, at most RUNTIME_MAX_FRAMES. */
size_t runtime_read_frames(const struct runtime_process *process, const struct sample_vcpu *vcpu,
			   struct runtime_frame *frames);

/* A frame of a thread's own stack. */
struct runtime_native {
	const struct sample_vcpu *vcpu; /* has the copied stack */
	uint64_t address;               /* the next instruction, or a return address */
	uint64_t stack_pointer;         /* runtime_find_caller() needs it */
	uint64_t frame_pointer;         /* 0: not known */
	bool interrupted;               /* `address` is the next instruction */
	bool compiled;                  /* the code is in no file */
	bool linked; /* the frame has a frame pointer of its own; for runtime_read_native() */
};

/* Where a frame's caller and its registers are. */
struct runtime_caller {
	uint64_t return_at;        /* address of the return address */
	uint64_t frame_pointer_at; /* address of the frame pointer; 0: the register still has it */
	uint64_t stack_pointer;    /* the caller's, after the return */
};

/* Whether the functions of the runtime's programs are on the threads' own stacks. */
bool runtime_is_native(const struct runtime *runtime);
/* Finds process->state, once for each process. False: it cannot be found now. */
bool runtime_prepare(struct runtime_process *process);
/*
 * The functions that run in the frame NATIVE, innermost first, at most CAPACITY; 0: the frame's
 * code is not the program's.
 */
size_t runtime_read_native(const struct runtime_process *process,
			   const struct runtime_native *native, struct runtime_frame *frames,
			   size_t capacity);
/* False: nothing is known of the caller of NATIVE, or frame pointers lead to it. */
bool runtime_find_caller(const struct runtime_process *process, const struct runtime_native *native,
			 struct runtime_caller *caller);

/*
 * Follows RECIPE now, for a thread that is not running and has THREAD_POINTER. Gives its frames as
 * runtime_read_frames() does.
 */
size_t runtime_follow_frames(const struct runtime_process *process, const struct recipe *recipe,
			     uint64_t thread_pointer, struct runtime_frame *frames);

/* What a code object says of its function. Strings are raw. */
struct runtime_name {
	/*
	 * Addresses of words that check_code() does not read, and that differ if the name is
	 * another one; 0: there is no such word.
	 */
	uint64_t witnesses[RUNTIME_WITNESSES];
	char function[RUNTIME_NAME_BYTES + 8]; /* "[py] Shop.total" */
	char file[RUNTIME_FILE_BYTES];         /* the last component of its path */
	uint32_t line;                         /* the function's first line */
};

/*
 * Reads words of the code object of FRAME that tell it from another one at the same address. *CHECK
 * becomes a hash of them. False: there is no code object any more.
 */
bool runtime_check_code(const struct runtime_process *process, const struct runtime_frame *frame,
			uint64_t *check);
/* False: the name cannot be read now. */
bool runtime_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
		       struct runtime_name *name);

/*
 * A number that the process changes before it frees what describes functions. Read anew at each
 * call. 0: the language has none, because names are checked with what the sample's stop copied.
 */
uint64_t runtime_read_epoch(const struct runtime_process *process);

/* The path of FRAME's file, as the program has it; "": not known. */
void runtime_read_path(const struct runtime_process *process, const struct runtime_frame *frame,
		       char path[RUNTIME_FILE_BYTES]);

/* The line that FRAME executes; 0: not known. */
uint32_t runtime_read_line(const struct runtime_process *process,
			   const struct runtime_frame *frame);

/*
 * An address in the interpreter's loop that runs FRAME's function, for files whose symbols do not
 * name the loop; 0: not known.
 */
uint64_t runtime_find_loop(const struct runtime_process *process,
			   const struct runtime_frame *frame);
/* Whether NAME is a program's function, as runtime_read_name() names it: "[py] Shop.total". */
bool runtime_names_program(const char *name);
/*
 * Whether NAME is a runtime's function that runs a program's functions in a loop. Frames of this
 * loop give way to those of the program.
 */
bool runtime_is_loop(const char *name);

#endif
