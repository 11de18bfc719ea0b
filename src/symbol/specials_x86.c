/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of a Linux kernel that its ORC tables are silent or wrong about (orc.h, enum
 * orc_special), by the names of its symbols. Resolver's thread.
 */
#include "config.h"

#include <string.h>

#include "xtop/symbol/symbol.h"
#include "xtop/unwind/orc.h"

static const struct special_name {
	const char *prefix;
	enum orc_special kind;
} special_names[] = {
	{ "__x86_indirect_thunk_", ORC_RETPOLINES },
	{ "__x86_indirect_its_thunk_", ORC_LEAVES },
	{ "return_to_handler", ORC_TRAMPOLINES },
	{ "arch_rethook_trampoline", ORC_TRAMPOLINES },
	{ "__kretprobe_trampoline", ORC_TRAMPOLINES },
	{ "kretprobe_trampoline", ORC_TRAMPOLINES },
	{ "__switch_to_asm", ORC_SWITCH },
};

/* The special code with NAME; NULL for nearly all of a kernel's 49,000 functions. */
static const struct special_name *special_find(const char *name)
{
	for (size_t i = 0; i < sizeof(special_names) / sizeof(special_names[0]); i++) {
		const char *prefix = special_names[i].prefix;

		if (*name == *prefix && strncmp(name, prefix, strlen(prefix)) == 0)
			return &special_names[i];
	}
	return NULL;
}

void symtab_add_specials(const struct symtab *symtab, struct orc *orc)
{
	for (size_t i = 0; i < symtab_count(symtab); i++) {
		struct symtab_entry entry = symtab_at(symtab, i);
		const struct special_name *special = special_find(entry.name);

		if (special)
			orc_add_special(orc, special->kind, entry.start, entry.end);
	}
}
