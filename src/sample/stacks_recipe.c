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
	return true;
}

void stacks_copy_by_recipe(struct copy *copy, uint64_t thread_pointer)
{
	struct recipe recipe;
	uint64_t pointer;

	if (!control_get_recipe(copy->copier->control, root_space(copy->own), &recipe) ||
	    (recipe.by_thread && !thread_pointer))
		return;
	pointer = recipe.base + (recipe.by_thread ? thread_pointer : 0);
	for (unsigned i = 0; i < recipe.n_loads && pointer; i++)
		if (piece_writer_read(&copy->writer, copy->own, pointer + recipe.loads[i],
				      &pointer) != CUT_NONE)
			return;
	if (pointer)
		piece_writer_add_list(&copy->writer, copy->own, pointer, &recipe);
}
