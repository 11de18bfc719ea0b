/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles call-frame information: runs the FDEs of an image in the order of their code, and makes
 * a rule of each row.
 *
 * When two FDEs cover an address, the FDE that begins nearer to the address wins. No rule can
 * express a row with an unusual expression, or with a register saved in another register. Such a
 * row is left to libunwind if the row is safe for libunwind. Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_builder.h"
#include "unwind/cfi_program.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"

/* --- a row's rule ----------------------------------------------------------------------------- */

/*
 * Longest expression "breg OFFSET deref": OFFSET, a LEB128 number of 64 bits, has up to 10 bytes.
 */
#define CFI_MAX_DEREF_BYTES 12

static bool cfi_match_deref(const struct cfi_machine *machine, const uint8_t *expression,
			    int64_t size_bytes, struct cfi_rule *rule)
{
	struct cfi_reader reader = { .at = expression, .end = expression + size_bytes };
	uint64_t number;
	int64_t offset;

	if (size_bytes > CFI_MAX_DEREF_BYTES)
		return false;
	number = cfi_read(&reader, 1) - 0x70;
	offset = cfi_read_sleb(&reader);
	if (cfi_read(&reader, 1) != 0x06 || reader.bad || reader.at != reader.end ||
	    number >= machine->n_numbers || machine->registers[number] >= CURSOR_REGISTERS ||
	    offset != (int32_t)offset)
		return false;
	rule->kind = machine->rule_deref;
	rule->reg = machine->registers[number];
	rule->offset = offset;
	return true;
}

static bool cfi_rule_of_cfa(const struct cfi_machine *machine, const struct cfi_state *state,
			    struct cfi_rule *rule)
{
	switch (state->cfa) {
	case CFA_REGISTER:
		rule->kind = machine->rule_cfa;
		rule->reg = machine->registers[state->cfa_register];
		rule->offset = state->cfa_offset;
		return rule->offset == state->cfa_offset && rule->reg < CURSOR_REGISTERS;
	case CFA_EXPRESSION:
		if (machine == &cfi_machine_64 &&
		    cfi_match_plt(state->cfa_expression, state->cfa_offset, &rule->offset)) {
			rule->kind = RULE_CFA_PLT;
			rule->reg = REG_SP;
			return true;
		}
		return cfi_match_deref(machine, state->cfa_expression, state->cfa_offset, rule);
	case CFA_UNSAID:
		break;
	}
	return false;
}

/* Returns false unless all saved registers lie within a range of CFI_RULE_WORDS words. */
static bool cfi_rule_of_words(const struct cfi_machine *machine, const struct cfi_state *state,
			      struct cfi_rule *rule)
{
	int64_t bytes = machine->word_bytes;
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (unsigned i = 0; i < machine->n_preserved; i++) {
		const struct cfi_place *place = &state->registers[machine->preserved_numbers[i]];

		if (place->where != WHERE_OFFSET)
			continue;
		if (place->value % bytes || place->value / bytes != (int16_t)(place->value / bytes))
			return false;
		low = place->value / bytes < low ? place->value / bytes : low;
		high = place->value / bytes > high ? place->value / bytes : high;
	}
	if (high < low) /* none is saved */
		return machine->keeps_return;
	rule->low = low;
	rule->n_words = high - low + 1;
	return high - low < CFI_RULE_WORDS;
}

static bool cfi_is_preserved(const struct cfi_machine *machine, unsigned number)
{
	return memchr(machine->preserved_numbers, (int)number, machine->n_preserved);
}

/*
 * Whether the registers that a function does not preserve need no rule. The caller's stack pointer
 * is the CFA by default.
 */
static bool cfi_others_are_plain(const struct cfi_machine *machine, const struct cfi_state *state,
				 bool signal)
{
	const struct cfi_place *sp = &state->registers[machine->sp_number];

	if (sp->where != WHERE_UNSAID && !(sp->where == WHERE_VAL_OFFSET && !sp->value))
		return false;
	for (unsigned i = 0; signal && i < machine->return_number; i++)
		if (!cfi_is_preserved(machine, i) && state->registers[i].where != WHERE_UNSAID)
			return false;
	return true;
}

static bool cfi_return_is_plain(const struct cfi_machine *machine, const struct cfi_state *state)
{
	enum cfi_where where = state->registers[machine->return_number].where;

	return where == WHERE_OFFSET ||
	       (machine->keeps_return && (where == WHERE_UNSAID || where == WHERE_SAME));
}

/*
 * Whether x86-64 code saves the registers in which values are passed to code that catches an
 * exception. The last rows of such a function, whose CFA is not computed from rbp, lead to the code
 * that catches.
 */
static bool cfi_is_eh_return(const struct cfi_state *state)
{
	return state->cfa_register == CFI_DWARF_RBP &&
	       state->registers[CFI_DWARF_RAX].where == WHERE_OFFSET &&
	       state->registers[CFI_DWARF_RDX].where == WHERE_OFFSET;
}

/* Returns false if no rule can express the row. */
static bool cfi_rule_of_state(const struct cfi_machine *machine, const struct cfi_state *state,
			      bool signal, struct cfi_rule *rule)
{
	if (!cfi_return_is_plain(machine, state) || !cfi_others_are_plain(machine, state, signal) ||
	    !cfi_rule_of_cfa(machine, state, rule) || !cfi_rule_of_words(machine, state, rule))
		return false;
	rule->signal = signal;
	if (rule->kind == RULE_CFA && cfi_is_eh_return(state))
		rule->kind = RULE_CFA_EH_RETURN;
	rule->unchanged = machine->preserved_mask;
	memset(rule->slot, CFI_RULE_WORDS, sizeof(rule->slot));
	for (unsigned i = 0; i < machine->n_preserved; i++) {
		const struct cfi_place *place = &state->registers[machine->preserved_numbers[i]];
		uint32_t bit = 1U << machine->preserved_registers[i];

		switch (place->where) {
		case WHERE_UNSAID:
		case WHERE_SAME:
			break;
		case WHERE_UNDEFINED:
			rule->unchanged &= ~bit;
			break;
		case WHERE_OFFSET:
			rule->slot[i] = place->value / machine->word_bytes - rule->low;
			rule->saved |= bit;
			break;
		case WHERE_EXPRESSION:
			/*
			 * gcc for i386 realigns the stack in each main(), and saves registers
			 * relative to ebp. These registers are lost: main()'s callers are found
			 * without them.
			 */
			if (machine != &cfi_machine_32)
				return false;
			rule->unchanged &= ~bit;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* libunwind is built for the registers of dom0 only, so other machines have no RULE_ASK. */
static struct cfi_rule cfi_make_rule(const struct cfi_state *state, const struct cfi_cie *cie)
{
	const struct cfi_machine *machine = cfi_machine(cie->is_short, cie->is_arm64);
	struct cfi_rule rule = { 0 };

	if (state->registers[machine->return_number].where == WHERE_UNDEFINED)
		return (struct cfi_rule){ .kind = RULE_OUTERMOST };
	if (state->cfa == CFA_UNSAID)
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (cfi_rule_of_state(machine, state, cie->signal, &rule))
		return rule;
	if (machine != &cfi_machine_64 || !cfi_state_is_safe(state))
		return (struct cfi_rule){ .kind = RULE_NONE };
	return (struct cfi_rule){ .kind = RULE_ASK };
}

/* --- the table -------------------------------------------------------------------------------- */

#define CFI_MAX_ENTRY_CODE_BYTES 256 /* longest first function of a program, if it has no FDE */

struct cfi_compiler {
	struct cfi_builder rows;
	struct cfi_program *program;
	size_t left_bytes; /* program bytes that may still be run */
};

static void cfi_compiler_deinit(struct cfi_compiler *compiler)
{
	cfi_builder_deinit(&compiler->rows);
	free(compiler->program);
}

/*
 * Whether FDE describes a program's entry point, and says that one of its instructions has no
 * caller. Then the others have none either: _start may say so only after its first instructions.
 * An entry point alone proves nothing, because in old shared libraries it is where the code begins.
 */
static bool cfi_begins_chain(struct cfi_compiler *compiler, const struct entry_points *entries,
			     const struct cfi_fde *fde)
{
	if (fde->start != entries->elf && fde->start != entries->pvh)
		return false;
	cfi_program_start(compiler->program, fde);
	while (cfi_program_next(compiler->program))
		if (cfi_make_rule(&compiler->program->state, &fde->cie).kind == RULE_OUTERMOST)
			return true;
	return false;
}

/*
 * Whether the row tells where a jump leads, not who has called. glibc's __longjmp says in which
 * registers it has the new stack pointer and the new place (sysdeps/x86_64/__longjmp.S), or where
 * it reads the new place, above a CFA that an argument tells (sysdeps/aarch64/__longjmp.S). Such a
 * CFA is not the new stack pointer.
 */
static bool cfi_is_jump(const struct cfi_machine *machine, const struct cfi_state *state)
{
	const struct cfi_place *place = &state->registers[machine->return_number];
	enum cfi_where sp = state->registers[machine->sp_number].where;

	if (place->where == WHERE_REGISTER)
		return sp == WHERE_REGISTER;
	return place->where == WHERE_OFFSET && place->value >= 0 && sp == WHERE_UNSAID &&
	       state->cfa == CFA_REGISTER && state->cfa_register != machine->sp_number &&
	       !cfi_is_preserved(machine, state->cfa_register);
}

/* The rule of a row that tells where a jump leads, if it has the three registers of x86-64. */
static struct cfi_rule cfi_rule_of_jump(const struct cfi_machine *machine,
					const struct cfi_state *state)
{
	static const uint8_t numbers[] = { CFI_DWARF_RSP, CFI_DWARF_RETURN, CFI_DWARF_RBP };
	uint8_t found[sizeof(numbers)];

	for (unsigned i = 0; i < sizeof(numbers); i++) {
		const struct cfi_place *place = &state->registers[numbers[i]];

		if (machine != &cfi_machine_64 || place->where != WHERE_REGISTER ||
		    (uint64_t)place->value >= machine->n_numbers)
			return cfi_rule_none;
		found[i] = machine->registers[place->value];
	}
	return (struct cfi_rule){ .kind = RULE_JUMP,
				  .reg = found[0],
				  .slot = { found[1], found[2] } };
}

/*
 * Adds the rows of FDE below END, and a row with RULE_NONE after them. Once a row tells where a
 * jump leads, the rest are left to the function's instructions until the stack pointer is the new
 * one: its callers may still be on the stack. OUTERMOST: none of the function's instructions has a
 * caller.
 */
static void cfi_add_fde(struct cfi_compiler *compiler, const struct cfi_fde *fde, uint64_t end,
			bool outermost)
{
	const struct cfi_machine *machine =
		cfi_machine(fde->cie.is_short, fde->cie.is_arm64);
	struct cfi_program *program = compiler->program;
	struct cfi_builder *rows = &compiler->rows;
	uint64_t reached = fde->start;
	bool jumps = false;

	cfi_program_start(program, fde);
	while (cfi_program_next(program) && program->row_start < end) {
		struct cfi_rule rule =
			outermost ? cfi_rule_outermost : cfi_make_rule(&program->state, &fde->cie);

		jumps |= cfi_is_jump(machine, &program->state);
		if (jumps && rule.kind != RULE_OUTERMOST)
			rule = cfi_rule_of_jump(machine, &program->state);
		cfi_builder_add(rows, program->row_start, &rule);
		reached = program->row_end;
	}
	if (program->bad)
		rows->cfi->n_refused++;
	cfi_builder_add_function(rows, fde->start, end);
	cfi_builder_add(rows, reached < end ? reached : end, &cfi_rule_none);
	rows->cfi->n_fdes++;
}

/*
 * The function at the entry point of a program has no caller, so its chain ends there, even if it
 * has no FDE: the _start of glibc's ld.so is assembly without an FDE. We assume that this function
 * ends at NEXT, where the next FDE begins, or after CFI_MAX_ENTRY_CODE_BYTES.
 */
static void cfi_add_entry(struct cfi_builder *rows, uint64_t entry, uint64_t next)
{
	uint64_t end = next - entry < CFI_MAX_ENTRY_CODE_BYTES ? next
							      : entry + CFI_MAX_ENTRY_CODE_BYTES;

	if (end - rows->cfi->base >= UINT32_MAX)
		return;
	cfi_builder_add(rows, entry, &cfi_rule_outermost);
	cfi_builder_add_function(rows, entry, end);
	cfi_builder_add(rows, end, &cfi_rule_none);
}

/* Adds the entry points that lie between the end of an FDE and the next FDE. */
static void cfi_add_entries(struct cfi_compiler *compiler, const struct entry_points *entries,
			    uint64_t fde_end, uint64_t next)
{
	uint64_t low = entries->elf < entries->pvh ? entries->elf : entries->pvh;
	uint64_t high = entries->elf < entries->pvh ? entries->pvh : entries->elf;

	if (fde_end <= low && low < high && low < next)
		cfi_add_entry(&compiler->rows, low, high < next ? high : next);
	if (fde_end <= high && high < next)
		cfi_add_entry(&compiler->rows, high, next);
}

/*
 * Counts the programs of FDE. Returns false, and counts nothing, if there is no room for its rows.
 */
static bool cfi_count_fde(struct cfi_compiler *compiler, const struct cfi_fde *fde)
{
	size_t bytes = fde->program_bytes + fde->cie.program_bytes;
	const struct cfi *cfi = compiler->rows.cfi;

	if (fde->end - cfi->base >= UINT32_MAX || bytes > compiler->left_bytes ||
	    cfi->n_rows + bytes + 2 > CFI_MAX_ROWS)
		return false;
	compiler->left_bytes -= bytes;
	return true;
}

static void cfi_add_list(struct cfi_compiler *compiler, const struct cfi_sections *sections,
			 const struct cfi_list *list)
{
	struct cfi *cfi = compiler->rows.cfi;

	cfi->n_refused = list->refused;
	for (size_t i = 0;
	     i < list->n && !compiler->rows.no_memory &&
	     !work_step(sections->work, "unwind tables", i, list->n);
	     i++) {
		uint64_t next = i + 1 < list->n ? list->places[i + 1].start : UINT64_MAX;
		uint64_t end;
		struct cfi_fde fde;
		bool outermost;

		if (!cfi_read_fde(sections, &list->places[i], &fde) ||
		    !cfi_count_fde(compiler, &fde)) {
			cfi->n_refused++;
			continue;
		}
		end = fde.end < next ? fde.end : next;
		outermost = cfi_begins_chain(compiler, &sections->entries, &fde);
		if (outermost)
			entry_points_cut(&sections->entries, fde.start, &fde.start, &end);
		cfi_add_fde(compiler, &fde, end, outermost);
		cfi_add_entries(compiler, &sections->entries, fde.end, next);
	}
}

struct xtop_error *cfi_compile(const struct cfi_sections *sections, struct cfi **cfip)
{
	_cleanup_(cfi_compiler_deinit) struct cfi_compiler compiler = {
		.left_bytes = CFI_MAX_PROGRAM_BYTES
	};
	_cleanup_(cfi_list_deinit) struct cfi_list list = { 0 };
	struct xtop_error *error = cfi_list_init(sections, &list);
	struct cfi *cfi = NULL;
	bool made, none;

	if (error)
		return error;
	if (!list.n) {
		*cfip = NULL;
		return NULL;
	}
	compiler.program = malloc(sizeof(*compiler.program));
	made = compiler.program && cfi_builder_init(&compiler.rows, list.places[0].start);
	if (made)
		cfi_add_list(&compiler, sections, &list);
	none = made && !compiler.rows.no_memory && !compiler.rows.cfi->n_fdes;
	if (made && !none)
		cfi = cfi_builder_finish(&compiler.rows);
	if (!cfi && !none)
		return error_create("out of memory for an unwind table of %zu functions", list.n);
	*cfip = cfi;
	return NULL;
}
