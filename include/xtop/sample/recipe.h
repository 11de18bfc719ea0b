/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to find and copy a thread's second stack: the frames of an interpreter, which lie in the
 * process's memory. The resolver knows the language and writes a recipe for each process; the
 * sampler follows the recipe in the stop and knows no language.
 *
 *   base ──► load ──► ... load ──► node ──► node ──► ...
 *                                  words    words
 *
 *   RECIPE_LIST     each node has a pointer to the next one, at `next`; the last one has 0
 *   RECIPE_ARRAY    `next` is the distance from a node to the next one. The last load reads from a
 *                   structure. This structure has, at `array_start` and `array_size`, the address
 *                   and the size, in words, of a block of memory. The array ends where the block
 *                   ends
 *   RECIPE_STACKS   a list of structures, each with an array at `array_start`; its last element,
 *                   whose number is the 32-bit integer at `array_size`, is its first node. The
 *                   elements are `element` apart. Words of 0 separate the arrays
 *
 * The words of the nodes become one piece of the sample, STACK_LIST. The last words of a node may
 * be far words: these lie before or after an address that the node has. All pointers come from the
 * guest; the limits bound what is read.
 */
#ifndef XTOP_RECIPE_H
#define XTOP_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECIPE_MAX_LOADS  4
#define RECIPE_MAX_WORDS  6
#define RECIPE_MAX_NODES  1024
#define RECIPE_MAX_PAGES  64 /* times that a node lies in another page than the node before */
#define RECIPE_MAX_FAR    256 /* nodes whose far words are read: the innermost ones */
#define RECIPE_MAX_STACKS 16

enum recipe_shape { RECIPE_LIST, RECIPE_ARRAY, RECIPE_STACKS };
#define N_RECIPE_SHAPES 3

struct recipe {
	uint64_t base; /* address of the first pointer, or its distance from the thread pointer */
	uint8_t by_thread; /* 1: `base` is a distance from the thread pointer */
	uint8_t n_loads;   /* pointers that are followed to reach the first node; at least 1 */
	uint8_t n_words;   /* words that are copied of each node */
	uint8_t shape;     /* enum recipe_shape */
	/*
	 * Offset of the pointer to the next node or structure; RECIPE_ARRAY: distance to the next
	 * node. All offsets are multiples of 8.
	 */
	uint16_t next;
	/* Each offset is added to `base` or to the pointer before; the next pointer lies there. */
	uint16_t loads[RECIPE_MAX_LOADS];
	uint16_t words[RECIPE_MAX_WORDS];          /* offsets of the words that are copied */
	uint16_t array_start, array_size, element; /* RECIPE_ARRAY and RECIPE_STACKS have these */
	/*
	 * The last n_far words of a node are far words. The node has an address at `far`, whose low
	 * bits may be flags. `words` tells how far before this address each far word lies; see
	 * recipe_after() for words after the address. If `deep` is not 0, the last far word is a
	 * pointer, and the word `deep` bytes after its target is copied instead. A far word that
	 * cannot be read is 0.
	 */
	uint16_t far, n_far, deep;
	/*
	 * Offset, in the structure that the last load reads from, of a word that stands before all
	 * nodes, in a node of its own: as the last word before the far words. The last far word is
	 * 1 if the list has all nodes; the other words are 0. Needs far words. 0: there is no such
	 * node.
	 */
	uint16_t current;
	uint16_t unused[2];
};

/* The entry in `words` of a far word that lies OFFSET bytes after the address. */
static inline uint16_t recipe_after(uint16_t offset)
{
	return (uint16_t)-offset;
}

/* Whether RECIPE may be followed. */
bool recipe_check(const struct recipe *recipe);

/* Reads the word at ADDRESS of the process. Returns false if the word cannot be read. */
typedef bool recipe_read_fn(void *context, uint64_t address, uint64_t *word);

/*
 * Follows RECIPE, which recipe_check() has accepted, for the thread with THREAD_POINTER, and copies
 * to WORDS at most MAX_WORDS. WORDS NULL: only reads. Returns the number of words of all nodes that
 * could be read. Sampler's thread in the stop; any thread that has READ.
 */
size_t recipe_follow(const struct recipe *recipe, uint64_t thread_pointer, recipe_read_fn *read,
		     void *context, uint64_t *words, size_t max_words);

#endif
