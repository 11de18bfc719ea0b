/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several symbols at one address: which of them is shown. Pure functions of the names.
 *
 * The first line that distinguishes two aliases decides:
 *
 *   1. a known size        `static work()` (sized) before `_stext` (a label of the linker script)
 *   2. no mark of a        `srso_alias_untrain_ret` before `_stext`, `_text` and `__pi__text`, also
 *      linker script       in text without sizes; `f` before `__pfx_f`
 *   3. rank                global, weak, local: `__memcpy` (T) before its weak alias `memcpy`, as
 *                          the kernel's own kallsyms and its stack traces have it
 *   4. fewer leading `_`   `ksys_read` before `__do_sys_read`
 *   5. the shorter name    `f` before `f.isra.0`
 *   6. strcmp()            so that the order in the file does not matter
 *
 * After Linux 6.1 scripts/kallsyms.c compare_symbols() (weak, then
 * may_be_linker_script_provide_symbol(), then underscores) and tools/perf/util/symbol.c
 * choose_best_symbol() (size, weak, global, underscores).
 */
#ifndef SYMBOL_ALIAS_H
#define SYMBOL_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/symbol/symbol.h"

struct symbol_alias {
	const char *name;
	bool sized; /* the size is known */
	enum symbol_rank rank;
};

bool symbol_has_suffix(const char *name, const char *suffix);
/* Whether A is shown, not B. */
bool symbol_alias_better(const struct symbol_alias *a, const struct symbol_alias *b);
/*
 * The length of a name of N bytes without the default version that ld puts into tables of
 * libraries: `malloc@@GLIBC_2.2.5` is malloc. Another version stays: `memcpy@GLIBC_2.2.5` is not
 * memcpy.
 */
size_t symbol_name_bytes(const char *name, size_t n);
/* A name that only says that code ends here: `_etext`, `__entry_text_end`. */
bool symbol_is_end_mark(const char *name);

#endif
