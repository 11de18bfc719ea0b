/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a walk's other stack; see go_switch.h. Resolver's thread.
 */
#include "config.h"

#include "unwind/go_switch.h"

#define GO_MAX_STACK_CHANGES 32 /* limit for one walk; Go and C may call each other several times */

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
	const struct cfi_rule *rule = go_rows_find(leave->rows, word - leave->bias - 1);

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
	const struct go_switch *one = go_rows_find_switch(leave->rows, word - leave->bias - 1);
	uint64_t pc = cursor_pc(leave->cursor) - leave->bias;

	return one && (one->kind == GO_CROSSCALL ||
		       (one->kind == GO_CALLBACK && pc - one->start >= one->end - one->start));
}
