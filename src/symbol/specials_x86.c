/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of a Linux kernel that its ORC tables are silent or wrong about (xtop/orc.h, enum
 * orc_special), by the names of its symbols. Resolver's thread.
 */
#include "config.h"

#include <string.h>

#include "xtop/orc.h"
#include "xtop/symbol.h"

void symtab_add_specials(const struct symtab *symtab, struct orc *orc)
{
	static const struct {
		const char *prefix;
		enum orc_special kind;
	} names[] = {
		{ "__x86_indirect_thunk_", ORC_RETPOLINES },
		{ "__x86_indirect_its_thunk_", ORC_LEAVES },
		{ "return_to_handler", ORC_TRAMPOLINES },
		{ "arch_rethook_trampoline", ORC_TRAMPOLINES },
		{ "__kretprobe_trampoline", ORC_TRAMPOLINES },
		{ "kretprobe_trampoline", ORC_TRAMPOLINES },
		{ "__switch_to_asm", ORC_SWITCH },
	};

	for (size_t i = 0; i < symtab_count(symtab); i++) {
		struct symtab_entry entry = symtab_at(symtab, i);

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			if (strncmp(entry.name, names[j].prefix, strlen(names[j].prefix)) == 0)
				orc_add_special(orc, names[j].kind, entry.start, entry.end);
	}
}
