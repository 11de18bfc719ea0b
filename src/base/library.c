/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries are found by the dynamic linker; see library.h. */
#include "config.h"

#include "xtop/base/library.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>

bool library_set_utf8(void)
{
	return setlocale(LC_CTYPE, "C.UTF-8");
}

void library_find_example(const char *file, char **pathp)
{
	if (asprintf(pathp, XTOP_DATA_FOLDER "/example/%s", file) < 0)
		*pathp = NULL;
}

const char library_parts[] = "";

bool library_load(const char *name, const struct library_function *functions, size_t n)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function) {
			dlclose(library);
			return false;
		}
		*(void **)functions[i].pointer = function;
	}
	return true;
}
