/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several names at one address is shown: each rule alone, and pairs of real kernels. */
#include "config.h"

#include "symbol/alias.h"

#include "tests/support/tap.h"

static const struct {
	const char *why;
	struct symbol_alias better, worse;
} pairs[] = {
	{ "a size before rank", { "work", true, SYMBOL_LOCAL }, { "label", false, SYMBOL_GLOBAL } },
	{ "a size before a mark",
	  { "__start_x", true, SYMBOL_LOCAL },
	  { "label", false, SYMBOL_GLOBAL } },
	{ "no mark before rank",
	  { "entry", false, SYMBOL_LOCAL },
	  { "_stext", false, SYMBOL_GLOBAL } },
	{ "Linux 6.6, first address",
	  { "srso_alias_untrain_ret", false, SYMBOL_GLOBAL },
	  { "__pi__text", false, SYMBOL_GLOBAL } },
	{ "a module's own name",
	  { "ext4_exit_fs", false, SYMBOL_LOCAL },
	  { "cleanup_module", false, SYMBOL_GLOBAL } },
	{ "padding",
	  { "do_read", false, SYMBOL_LOCAL },
	  { "__pfx_do_read", false, SYMBOL_GLOBAL } },
	{ "start of a section",
	  { "__x", false, SYMBOL_LOCAL },
	  { "__start_x", false, SYMBOL_GLOBAL } },
	{ "start of a text section",
	  { "do_irq", false, SYMBOL_LOCAL },
	  { "__irqentry_text_start", false, SYMBOL_GLOBAL } },
	{ "end of a text section",
	  { "do_irq", false, SYMBOL_LOCAL },
	  { "__entry_text_end", false, SYMBOL_GLOBAL } },
	{ "rank before underscores",
	  { "__memcpy", true, SYMBOL_GLOBAL },
	  { "memcpy", true, SYMBOL_WEAK } },
	{ "weak before local",
	  { "write", true, SYMBOL_WEAK },
	  { "__GI_write", true, SYMBOL_LOCAL } },
	{ "fewer underscores",
	  { "ksys_read", true, SYMBOL_LOCAL },
	  { "__do_sys_read", true, SYMBOL_LOCAL } },
	{ "fewer underscores before shorter",
	  { "long_name", true, SYMBOL_LOCAL },
	  { "_f", true, SYMBOL_LOCAL } },
	{ "shorter", { "f", true, SYMBOL_LOCAL }, { "f.isra.0", true, SYMBOL_LOCAL } },
	{ "alphabet", { "fa", true, SYMBOL_LOCAL }, { "fb", true, SYMBOL_LOCAL } },
};

int main(void)
{
	static const char *const ends[] = { "_etext", "etext", "_einittext", "__entry_text_end" };
	static const char *const functions[] = { "end",    "__blk_end", "text_end", "__stop_tty",
						 "etext2", "e",         "_",        "" };

	static const char *const versions[] = { "malloc@@GLIBC_2.2.5", "memcpy", "memcpy@@" };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		check(symbol_alias_better(&pairs[i].better, &pairs[i].worse), "%s: %s before %s",
		      pairs[i].why, pairs[i].better.name, pairs[i].worse.name);
		check(!symbol_alias_better(&pairs[i].worse, &pairs[i].better),
		      "%s: the worse symbol is not better", pairs[i].why);
	}
	check(!symbol_alias_better(&pairs[0].better, &pairs[0].better),
	      "a symbol is not better than itself");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		check(symbol_is_end_mark(ends[i]), "\"%s\" ends code", ends[i]);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		check(!symbol_is_end_mark(functions[i]), "\"%s\" may be a function", functions[i]);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check_u64(symbol_name_bytes(versions[i], strlen(versions[i])), 6, versions[i]);
	check_u64(symbol_name_bytes("memcpy@GLIBC_2.2.5", 18), 18,
		  "a version after one @ stays in the name");
	check_u64(symbol_name_bytes("@@x", 3), 3, "a name that begins with @@ stays");
	return tap_done();
}
