/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of calls that a test expects, innermost first, ended by 0; and the functions in them. */
#ifndef TESTS_UNWIND_CHAIN_H
#define TESTS_UNWIND_CHAIN_H

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

#define CHAIN(...) ((const uint64_t[]){ __VA_ARGS__, 0 })

#define CHAIN_FUNCTION_BYTES 0x100

static inline unsigned chain_length(const uint64_t *expected)
{
	unsigned n = 0;

	while (expected[n])
		n++;
	return n;
}

/* All addresses but the first are return addresses. */
static inline bool chain_is(const struct unwind_stack *stack, const uint64_t *expected)
{
	bool same = stack->n_frames == chain_length(expected);

	for (unsigned i = 0; same && i < stack->n_frames; i++)
		same = stack->frames[i].address == expected[i] &&
		       (stack->frames[i].flags & FRAME_RETURN) == (i ? FRAME_RETURN : 0);
	return same;
}

/* Unwinds a vCPU of a kernel into STACK. SYMBOLS may be NULL. */
static inline void chain_check(const struct sample_vcpu *vcpu, const struct symbols *symbols,
			       struct unwind_stack *stack, enum unwind_stop stop,
			       const uint64_t *expected, const char *what)
{
	const struct unwind_spaces spaces = {
		.kernel = space_for_unwind(symbols ? symbols_space(symbols) : NULL),
	};

	unwind_stack(vcpu, &spaces, UNWIND_AUTO, stack);
	check(chain_is(stack, expected) && stack->stop == stop,
	      "%s: %u frames, stop %d (expected %u, %d)", what, stack->n_frames, stack->stop,
	      chain_length(expected), stop);
}

/* Checks a STACK that was unwound by its addresses alone: flags may be any. */
static inline void chain_check_addresses(const struct unwind_stack *stack, enum unwind_stop stop,
					 const uint64_t *expected, const char *what)
{
	unsigned n = 0;
	bool same;

	while (n < stack->n_frames && stack->frames[n].address == expected[n] && expected[n])
		n++;
	same = n == stack->n_frames && !expected[n] && stack->stop == stop;
	check(same, "%s: %u frames, stop %d", what, stack->n_frames, stack->stop);
	for (unsigned i = 0; !same && i < stack->n_frames; i++)
		printf("# %llx flags %x\n", (unsigned long long)stack->frames[i].address,
		       stack->frames[i].flags);
}

/* main(), f(), g() and h(), one after the other from address CODE on. */
static inline struct symbols *chain_symbols(uint64_t code)
{
	static const char *const names[] = { "main", "f", "g", "h" };
	struct symbols *symbols;
	struct symtab *tab;

	must(symbols_create(&symbols));
	must(symtab_create(&tab));
	for (unsigned i = 0; i < 4; i++)
		must(symtab_add(
			tab, &(struct symbol_definition){ .start = code + i * CHAIN_FUNCTION_BYTES,
							  .size_bytes = CHAIN_FUNCTION_BYTES,
							  .rank = SYMBOL_GLOBAL,
							  .name = names[i],
							  .name_bytes = strlen(names[i]) }));
	must(symtab_seal(tab));
	must(symbols_add_table(symbols, tab, "[kernel]", NULL));
	return symbols;
}

#endif
