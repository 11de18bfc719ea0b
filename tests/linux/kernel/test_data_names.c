/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which variable of the kernel an address belongs to, in every layout of its tables of names. */
#include "config.h"

#include "linux/kernel/data_names.h"

#include <string.h>

#include "tests/support/made_memory.h"
#include "tests/support/make_kallsyms.h"
#include "tests/support/tap.h"

#define FRONT_BYTES (2U << 20) /* rodata in front of the tables */
#define BACK_BYTES  (16U << 20)
#define INIT_TASK   (MADE_RODATA + 0xa00040) /* make_kallsyms.c */
#define FEW         5000

static void test_layout(const struct made_layout *layout)
{
	struct made_layout larger = *layout;
	struct made_kallsyms tables;
	struct made_memory *made = made_create();
	struct memory_root root = made_root(made);
	struct linux_guest guest = { .memory = made_memory(made),
				     .root = root,
				     .text_start = MADE_TEXT,
				     .text_end = MADE_RODATA + BACK_BYTES };
	struct data_names names = { .guest = &guest };
	struct symtab_entry entry = { .name = "" };
	uint64_t pages;
	bool found;

	larger.n_functions = FEW;
	make_kallsyms(&larger, &tables);
	made_map(made, root, MADE_TEXT, MADE_TEXT_BYTES - FRONT_BYTES,
		 MADE_EXECUTE | MADE_PAGE_2M);
	made_map(made, root, MADE_RODATA - FRONT_BYTES,
		 FRONT_BYTES + tables.size_bytes + (2U << 20), MADE_READ);
	made_put(made, root, MADE_RODATA, tables.bytes, tables.size_bytes);
	check(!data_names_find(&names, MADE_TEXT - 8, &entry) && !names.is_read,
	      "%s: an address outside of the image costs nothing", layout->what);
	found = data_names_find(&names, INIT_TASK + 16, &entry);
	if (layout->text_only)
		check(!found, "%s: a kernel that names no data", layout->what);
	else
		check(found && entry.start == INIT_TASK && !strcmp(entry.name, "init_task"),
		      "%s: a variable", layout->what);
	check(!data_names_find(&names, MADE_TEXT + 0x100, &entry), "%s: code is no variable",
	      layout->what);
	pages = memory_counts(guest.memory).pages;
	memory_refresh(guest.memory);
	data_names_find(&names, INIT_TASK, &entry);
	check(memory_counts(guest.memory).pages == pages, "%s: the tables are read once",
	      layout->what);
	data_names_deinit(&names);
	made_kallsyms_deinit(&tables);
	made_destroy(made);
}

int main(void)
{
	for (unsigned i = 0; i < n_made_layouts; i++)
		if (!made_layouts[i].left_out)
			test_layout(&made_layouts[i]);
	return tap_done();
}
