/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: copies an interpreter's frames, which are no stack of the processor
 * (recipe.h). Sampler's thread, also while the guest is stopped.
 */
#ifndef SAMPLE_STACKS_RECIPE_H
#define SAMPLE_STACKS_RECIPE_H

#include "sample/stacks.h"
#include "xtop/sample/recipe.h"

/*
 * Adds the frames of the interpreter that the user code runs, if the process of copy->own has a
 * recipe. READ_POINTER returns the user's thread pointer, or 0 if it is not known.
 */
static inline void stacks_copy_by_recipe(struct copy *copy,
					 uint64_t (*read_pointer)(struct copy *copy))
{
	struct recipe recipe;

	if (control_get_recipe(copy->copier->control, root_space(copy->own), &recipe))
		piece_writer_add_list(&copy->writer, copy->own,
				      recipe.by_thread ? read_pointer(copy) : 0, &recipe);
}

#endif
