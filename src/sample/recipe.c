/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows a recipe; see recipe.h. Every pointer and number may be anything. */
#include "config.h"

#include "xtop/sample/recipe.h"

#include <string.h>

#include "xtop/base/types.h"

static bool recipe_check_offset(uint16_t offset)
{
	return offset % sizeof(uint64_t) == 0;
}

bool recipe_check(const struct recipe *recipe)
{
	if (!recipe->n_loads || recipe->n_loads > RECIPE_MAX_LOADS || !recipe->n_words ||
	    recipe->n_words > RECIPE_MAX_WORDS || recipe->shape >= N_RECIPE_SHAPES ||
	    !recipe_check_offset(recipe->next) || !recipe_check_offset(recipe->array_start) ||
	    !recipe_check_offset(recipe->array_size) || !recipe_check_offset(recipe->element) ||
	    !recipe_check_offset(recipe->far) || !recipe_check_offset(recipe->deep) ||
	    !recipe_check_offset(recipe->current) || recipe->n_far >= recipe->n_words ||
	    (recipe->current && !recipe->n_far))
		return false;
	for (unsigned i = 0; i < recipe->n_loads; i++)
		if (!recipe_check_offset(recipe->loads[i]))
			return false;
	for (unsigned i = 0; i < recipe->n_words; i++)
		if (!recipe_check_offset(recipe->words[i]))
			return false;
	return (recipe->shape != RECIPE_ARRAY || recipe->next) &&
	       (recipe->shape != RECIPE_STACKS || recipe->element);
}

/* How far a recipe has been followed. */
struct recipe_walk {
	const struct recipe *recipe;
	recipe_read_fn *read;
	void *context;
	uint64_t node;       /* address of the present node; 0: there is no node */
	uint64_t owner;      /* address of the structure that has the array */
	uint64_t start, end; /* first byte of the array, and first byte after the array */
	uint64_t current;    /* address of the word that stands before the first node */
	unsigned n_stacks;   /* structures with an array that were visited so far */
};

/* The word at ADDRESS; 0: it cannot be read. */
static uint64_t recipe_read(const struct recipe_walk *walk, uint64_t address)
{
	uint64_t word;

	return walk->read(walk->context, address, &word) ? word : 0;
}

static void recipe_begin_array(struct recipe_walk *walk)
{
	walk->start = recipe_read(walk, walk->owner + walk->recipe->array_start);
	walk->end = walk->start +
		    sizeof(uint64_t) * recipe_read(walk, walk->owner + walk->recipe->array_size);
	if (walk->node >= walk->end)
		walk->node = 0;
}

/* Begins with the array of the structure at OWNER, or with the next array that is not empty. */
static void recipe_begin_stack(struct recipe_walk *walk, uint64_t owner)
{
	const struct recipe *recipe = walk->recipe;

	for (walk->node = 0; owner && !walk->node && walk->n_stacks < RECIPE_MAX_STACKS;
	     walk->n_stacks++) {
		int32_t last = (int32_t)recipe_read(walk, owner + recipe->array_size);

		walk->owner = owner;
		walk->start = recipe_read(walk, owner + recipe->array_start);
		if (walk->start && last >= 0)
			walk->node = walk->start + (uint64_t)last * recipe->element;
		owner = recipe_read(walk, owner + recipe->next);
	}
}

/* Finds the first node. */
static void recipe_begin(struct recipe_walk *walk, uint64_t thread_pointer)
{
	const struct recipe *recipe = walk->recipe;

	walk->node = recipe->base + (recipe->by_thread ? thread_pointer : 0);
	for (unsigned i = 0; i < recipe->n_loads && walk->node; i++) {
		walk->owner = walk->node;
		walk->node = recipe_read(walk, walk->owner + recipe->loads[i]);
	}
	walk->current = walk->owner + recipe->current;
	if (walk->node && recipe->shape == RECIPE_ARRAY)
		recipe_begin_array(walk);
	else if (recipe->shape == RECIPE_STACKS)
		recipe_begin_stack(walk, walk->node);
}

/* Goes to the next node. Returns true if that node is in another array. */
static bool recipe_step(struct recipe_walk *walk)
{
	const struct recipe *recipe = walk->recipe;

	switch ((enum recipe_shape)recipe->shape) {
	case RECIPE_LIST:
		walk->node = recipe_read(walk, walk->node + recipe->next);
		break;
	case RECIPE_ARRAY:
		walk->node = walk->end - walk->node > recipe->next ? walk->node + recipe->next : 0;
		break;
	case RECIPE_STACKS:
		if (walk->node > walk->start) {
			walk->node -= recipe->element;
			break;
		}
		recipe_begin_stack(walk, recipe_read(walk, walk->owner + recipe->next));
		return walk->node;
	}
	return false;
}

/* Copies the far words of the present node to WORDS. */
static void recipe_copy_far(const struct recipe_walk *walk, uint64_t *words)
{
	const struct recipe *recipe = walk->recipe;
	unsigned last = recipe->n_words - 1U;
	uint64_t far = recipe_read(walk, walk->node + recipe->far) & ~7ULL;

	for (unsigned i = recipe->n_words - recipe->n_far; i <= last; i++)
		words[i] = far ? recipe_read(walk, far - (uint64_t)(int16_t)recipe->words[i]) : 0;
	if (recipe->deep && words[last])
		words[last] = recipe_read(walk, words[last] + recipe->deep);
}

/* Copies the words of the present node, which is number NUMBER, to WORDS. */
static bool recipe_copy_node(const struct recipe_walk *walk, unsigned number, uint64_t *words)
{
	const struct recipe *recipe = walk->recipe;
	unsigned n_near = recipe->n_words - recipe->n_far;

	for (unsigned i = 0; i < n_near; i++)
		if (!walk->read(walk->context, walk->node + recipe->words[i], &words[i]))
			return false;
	if (recipe->n_far && number < RECIPE_MAX_FAR)
		recipe_copy_far(walk, words);
	else
		for (unsigned i = n_near; i < recipe->n_words; i++)
			words[i] = 0;
	return true;
}

/* Begins WORDS, which may be NULL, with the node of the recipe's `current`. Returns its words. */
static size_t recipe_copy_current(const struct recipe_walk *walk, uint64_t *words)
{
	const struct recipe *recipe = walk->recipe;
	uint64_t word;

	if (!recipe->current || !walk->node)
		return 0;
	word = recipe_read(walk, walk->current);
	if (words) {
		memset(words, 0, recipe->n_words * sizeof(*words));
		words[recipe->n_words - recipe->n_far - 1] = word;
	}
	return recipe->n_words;
}

size_t recipe_follow(const struct recipe *recipe, uint64_t thread_pointer, recipe_read_fn *read,
		     void *context, uint64_t *words, size_t max_words)
{
	struct recipe_walk walk = { .recipe = recipe, .read = read, .context = context };
	uint64_t unused[RECIPE_MAX_WORDS];
	unsigned n_pages = 0;
	size_t n, n_before;

	if ((recipe->by_thread && !thread_pointer) || max_words < recipe->n_words)
		return 0;
	recipe_begin(&walk, thread_pointer);
	n = n_before = recipe_copy_current(&walk, words);
	for (unsigned i = 0; walk.node && i < RECIPE_MAX_NODES && n_pages < RECIPE_MAX_PAGES; i++) {
		uint64_t node = walk.node;

		if (n + 2 * recipe->n_words > max_words ||
		    !recipe_copy_node(&walk, i, words ? words + n : unused))
			break;
		n += recipe->n_words;
		if (recipe_step(&walk)) {
			if (words)
				memset(words + n, 0, recipe->n_words * sizeof(*words));
			n += recipe->n_words;
		}
		n_pages += (node ^ walk.node) > GUEST_PAGE_MASK;
	}
	if (n == n_before)
		return 0;
	if (n_before && words)
		words[recipe->n_words - 1] = !walk.node;
	return n;
}
