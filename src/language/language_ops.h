/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to language/: what each language implements. A language has one table, and a line in
 * language.c. Resolver's thread.
 */
#ifndef LANGUAGE_OPS_H
#define LANGUAGE_OPS_H

#include "xtop/language/language.h"

#define RUNTIME_MAX_EXPORTS 5

struct runtime {
	const struct language_ops *ops;
	void *layout; /* offsets of this version's structures, from malloc(); the language's */
	/* addresses of the language's exports in the runtime's file; 0: not there */
	uint64_t exports[RUNTIME_MAX_EXPORTS];
	unsigned n_shared; /* references besides the one of its file's image */
};

struct language_ops {
	const char *prefix;                       /* the beginning of all names: "[py] " */
	const char *exports[RUNTIME_MAX_EXPORTS]; /* symbols; the first must be there */
	/* names of the interpreter's loops: patterns for fnmatch(); ends with NULL */
	const char *const *loops;
	/*
	 * Sets runtime->layout, or leaves it NULL. FILE is the runtime's, NAME its name. Returns
	 * false if the version is not known.
	 */
	bool (*find_layout)(struct elf_file *file, const char *name, struct runtime *runtime);
	/* The functions from here on implement those of language.h with like names. */
	/* NULL: functions are not on the thread's own stack. Otherwise, read_frame is NULL. */
	size_t (*read_native)(const struct runtime_process *process,
			      const struct runtime_native *native, struct runtime_frame *frames,
			      size_t capacity);
	bool (*prepare)(struct runtime_process *process); /* NULL: a process has no state */
	/* NULL: frame pointers lead to all callers. */
	bool (*find_caller)(const struct runtime_process *process,
			    const struct runtime_native *native, struct runtime_caller *caller);
	bool (*find_recipe)(const struct runtime_process *process, uint64_t thread_pointer,
			    struct recipe *recipe);
	/*
	 * Decodes WORDS, the copy of a node. The words of N_OUTER nodes further out follow. In an
	 * old recording the words from n_words_before on are 0. Returns false if the node is no
	 * function. On entry, FRAME's position and caller are the caller that the node before set.
	 */
	bool (*read_frame)(const struct runtime_process *process, const uint64_t *words,
			   size_t n_outer, struct runtime_frame *frame);
	bool (*check_code)(const struct runtime_process *process, const struct runtime_frame *frame,
			   uint64_t *check);
	/* Sets name->function without PREFIX, name->file to the path, and name->line. */
	bool (*read_name)(const struct runtime_process *process, const struct runtime_frame *frame,
			  struct runtime_name *name);
	/* NULL: what the sample's stop copied tells whether a name is still the function's. */
	uint64_t (*read_epoch)(const struct runtime_process *process);
	/* NULL: lines are not known. */
	uint32_t (*read_line)(const struct runtime_process *process,
			      const struct runtime_frame *frame);
	/* NULL: the symbols always name the loop. */
	uint64_t (*find_loop)(const struct runtime_process *process,
			      const struct runtime_frame *frame);
	unsigned n_words; /* words of each node that are copied */
	unsigned n_words_before; /* the first words of a node, in old recordings; 0: all words */
	unsigned n_outer; /* outermost nodes that are no functions */
	/* runtime_frame.code of the program's main part; 0: a node has the main part */
	uint64_t main_code;
};

extern const struct language_ops python_language, php_language, ruby_language, perl_language,
	v8_language, hotspot_language;

/* The word at ADDRESS of the process; 0: it cannot be read. */
static inline uint64_t runtime_read_word(const struct runtime_process *process, uint64_t address)
{
	uint64_t word = 0;

	memory_read_u64(process->memory, process->root, address, &word);
	return word;
}

/* Whether WORD may be the address of a structure in user memory. */
static inline bool runtime_is_pointer(uint64_t word)
{
	return word && word % sizeof(word) == 0 && !(word >> 48);
}

/* Whether the hash at ADDRESS is still the one that the sample's stop copied for FRAME. */
static inline bool runtime_is_same_name(const struct runtime_process *process,
					const struct runtime_frame *frame, uint64_t address)
{
	return !frame->name_hash || runtime_read_word(process, address) == frame->name_hash;
}

/* --- runtime_memory.c ------------------------------------------------------------------------- */

/* Copies N bytes of the file from ADDRESS on. Returns false if not all are there. */
bool runtime_read_file(struct elf_file *file, uint64_t address, void *bytes, size_t n);

/* Copies N words of VCPU's copied stack, from ADDRESS on. False: the copy has not all. */
bool runtime_read_stack(const struct sample_vcpu *vcpu, uint64_t address, uint64_t *words,
			size_t n);

/*
 * Whether STRUCTURE, to which a pointer of the thread leads, is what is searched for: returns 0, or
 * what the language has found in it and puts into its recipe.
 */
typedef unsigned runtime_is_right_fn(const struct runtime_process *process, uint64_t thread_pointer,
				     uint64_t structure);

struct runtime_search {
	uint64_t thread_pointer;
	uint64_t offset; /* distance of the structure from what the pointer leads to */
	runtime_is_right_fn *is_right;
	/* Set if one is right: */
	int64_t distance;   /* distance from the thread pointer to where the pointer is */
	uint64_t structure; /* the first one that is_right() accepts */
	unsigned found;     /* what is_right() returned */
};

/*
 * Tries each pointer that the thread keeps in its thread-local variables, and in the values of its
 * first pthread keys. False: none is right.
 */
bool runtime_search_thread(const struct runtime_process *process, struct runtime_search *search);

#endif
