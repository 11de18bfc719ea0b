/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the sampler finds and copies a thread's second stack: the frames of an interpreter, which are
 * a list in the process's memory. The resolver knows the language and writes a recipe for each
 * process; the sampler follows the recipe in the stop and knows no language.
 *
 *   base ──► load ──► ... load ──► node ──next──► node ──next──► ... ──► 0
 *                                   words          words
 *
 * In an array, `next` is the distance from a node to the next one. The structure that the last load
 * is from also tells where the array's memory begins and how many words it has.
 *
 * The words of the nodes become one piece of the sample, STACK_LIST. All pointers come from the
 * guest: RECIPE_MAX_NODES and RECIPE_MAX_PAGES bound what the sampler reads.
 */
#ifndef XTOP_RECIPE_H
#define XTOP_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#define RECIPE_MAX_LOADS 4
#define RECIPE_MAX_WORDS 6
#define RECIPE_MAX_NODES 1024
#define RECIPE_MAX_PAGES 64 /* times that a node lies in another page than the node before */

struct recipe {
	uint64_t base; /* address of the first pointer, or its distance from the thread pointer */
	uint8_t by_thread; /* 1: `base` is a distance from the thread pointer */
	uint8_t n_loads;   /* pointers that are followed to reach the first node; at least 1 */
	uint8_t n_words;   /* words that are copied of each node */
	uint8_t is_array;  /* 1: the nodes are an array */
	/* Offset of the pointer to the next node. All offsets are multiples of 8. */
	uint16_t next;
	/* Each offset is added to `base` or to the pointer before; the next pointer lies there. */
	uint16_t loads[RECIPE_MAX_LOADS];
	uint16_t words[RECIPE_MAX_WORDS]; /* offsets of the words that are copied */
	/* offsets of the address and the size, in words, of the memory that ends with an array */
	uint16_t array_start, array_words;
	uint16_t unused;
};

/* Whether the sampler may follow RECIPE. */
bool recipe_check(const struct recipe *recipe);

#endif
