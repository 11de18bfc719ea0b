/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds functions of Go's runtime that change stacks, and a walk's other stack; see go_switch.h.
 * Resolver's thread.
 */
#include "config.h"

#include "unwind/go_switch.h"

#include <string.h>

#define GO_MAX_STACK_CHANGES 32 /* in one walk; Go and C may call each other several times */

static bool go_switch_kind_of(const struct go_function *function, enum go_switch_kind *kind)
{
	static const struct {
		const char *name;
		enum go_switch_kind kind;
	} known[] = {
		{ "runtime.systemstack", GO_SYSTEMSTACK },
		{ "runtime.mcall", GO_MCALL },
		{ "runtime.morestack", GO_MORESTACK },
		{ "runtime.asmcgocall", GO_ASMCGOCALL },
		{ "runtime.cgocallback", GO_CALLBACK },
		{ "runtime.cgocallback_gofunc", GO_CALLBACK }, /* up to 1.15, in cgocallback */
		{ "runtime.systemstack_switch", GO_MARK },
		{ "crosscall2", GO_CROSSCALL },
		{ "runtime.nanotime1", GO_VDSO },
		{ "runtime.walltime", GO_VDSO },
		{ "runtime.walltime1", GO_VDSO },
		{ "time.now", GO_VDSO },
		{ "runtime.sigreturn", GO_SIGRETURN },
		{ "runtime.sigreturn__sigaction", GO_SIGRETURN },
	};

	/* Go code calls assembly through wrappers of the same name. */
	if (!(function->flags & (GO_ASSEMBLY | GO_UNMARKED)))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (go_has_name(function, known[i].name)) {
			*kind = known[i].kind;
			return true;
		}
	return false;
}

bool go_switches_add(struct go_switches *switches, const struct go_function *function)
{
	struct go_switch *one = &switches->all[switches->n];

	if (switches->n == GO_MAX_SWITCHES || !go_switch_kind_of(function, &one->kind))
		return false;
	one->start = function->start;
	one->end = function->end;
	if (!switches->n || one->start < switches->start)
		switches->start = one->start;
	if (one->end > switches->end)
		switches->end = one->end;
	switches->n++;
	return true;
}

const struct go_switch *go_switches_find(const struct go_switches *switches, uint64_t address)
{
	if (address - switches->start >= switches->end - switches->start)
		return NULL;
	for (size_t i = 0; i < switches->n; i++) {
		const struct go_switch *one = &switches->all[i];

		if (address >= one->start && address < one->end)
			return one;
	}
	return NULL;
}

void go_switches_find_other(struct cursor *cursor)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);
	struct go_cursor *go = &cursor->go;

	if (go->pieces_checked)
		return;
	go->pieces_checked = true;
	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		if (piece->kind != STACK_GOROUTINE && piece->kind != STACK_G0)
			continue;
		go->side = piece->kind == STACK_GOROUTINE ? GO_SIDE_G0 : GO_SIDE_GOROUTINE;
		go->other_sp = piece->address + sizeof(uint64_t);
	}
}

const struct cfi_rule *go_rule_before(const struct go_leave *leave, uint64_t word)
{
	const struct cfi_rule *rule = cfi_find(leave->rows, word - leave->bias - 1);

	return rule && rule->kind != RULE_NONE ? rule : NULL;
}

bool go_switches_change(struct cursor *cursor)
{
	struct go_cursor *go = &cursor->go;

	if (++go->n_switches > GO_MAX_STACK_CHANGES)
		return false;
	go->other_sp = cursor->regs[REG_SP];
	go->side = go->side == GO_SIDE_G0 ? GO_SIDE_GOROUTINE : GO_SIDE_G0;
	return true;
}

bool go_is_crosscall(const struct go_leave *leave, uint64_t word)
{
	const struct go_switch *one = go_switches_find(leave->switches, word - leave->bias - 1);
	uint64_t pc = cursor_pc(leave->cursor) - leave->bias;

	return one && (one->kind == GO_CROSSCALL ||
		       (one->kind == GO_CALLBACK && pc - one->start >= one->end - one->start));
}
