/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies an interpreter's frames; see stacks_recipe.h. Every pointer may be anything. */
#include "config.h"

#include "sample/stacks_recipe.h"

#include "xtop/sample/recipe.h"

static bool recipe_check_offset(uint16_t offset)
{
	return offset % sizeof(uint64_t) == 0;
}

bool recipe_check(const struct recipe *recipe)
{
	if (!recipe->n_loads || recipe->n_loads > RECIPE_MAX_LOADS || !recipe->n_words ||
	    recipe->n_words > RECIPE_MAX_WORDS || !recipe_check_offset(recipe->next))
		return false;
	for (unsigned i = 0; i < recipe->n_loads; i++)
		if (!recipe_check_offset(recipe->loads[i]))
			return false;
	for (unsigned i = 0; i < recipe->n_words; i++)
		if (!recipe_check_offset(recipe->words[i]))
			return false;
	return recipe_check_offset(recipe->array_start) &&
	       recipe_check_offset(recipe->array_words) && (!recipe->is_array || recipe->next);
}

/* The first address after the array of RECIPE, which the structure at OWNER has; 0: not known. */
static uint64_t stacks_read_array_end(struct copy *copy, const struct recipe *recipe,
				      uint64_t owner)
{
	uint64_t start, n_words;

	if (piece_writer_read(&copy->writer, copy->own, owner + recipe->array_start, &start) !=
		    CUT_NONE ||
	    piece_writer_read(&copy->writer, copy->own, owner + recipe->array_words, &n_words) !=
		    CUT_NONE)
		return 0;
	return start + n_words * sizeof(uint64_t);
}

void stacks_copy_by_recipe(struct copy *copy, uint64_t thread_pointer)
{
	struct recipe recipe;
	uint64_t pointer, owner = 0, end = 0;

	if (!control_get_recipe(copy->copier->control, root_space(copy->own), &recipe) ||
	    (recipe.by_thread && !thread_pointer))
		return;
	pointer = recipe.base + (recipe.by_thread ? thread_pointer : 0);
	for (unsigned i = 0; i < recipe.n_loads && pointer; i++) {
		owner = pointer;
		if (piece_writer_read(&copy->writer, copy->own, owner + recipe.loads[i],
				      &pointer) != CUT_NONE)
			return;
	}
	if (recipe.is_array)
		end = stacks_read_array_end(copy, &recipe, owner);
	if (pointer && !recipe.is_array == !end)
		piece_writer_add_list(&copy->writer, copy->own, pointer, end, &recipe);
}
