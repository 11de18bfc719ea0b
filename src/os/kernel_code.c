/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "xtop/os/kernel_code.h"

#include <stdlib.h>

struct kernel_code {
	struct memory *memory;
	struct memory_root root;
	struct image *image;
};

static size_t kernel_code_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct kernel_code *code = context;

	return memory_read(code->memory, code->root, address, buffer, size_bytes);
}

static bool kernel_code_find(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct kernel_code *code = context;

	return image_find_code(code->image, address, start, end);
}

bool kernel_code_open(struct memory *memory, struct memory_root root, struct image *image,
		      struct code_source *source)
{
	struct kernel_code *code = malloc(sizeof(*code));

	if (!code)
		return false;
	*code = (struct kernel_code){ memory, root, image };
	*source = (struct code_source){ .read = kernel_code_read,
					.find_function = kernel_code_find,
					.close = free,
					.context = code };
	return true;
}
