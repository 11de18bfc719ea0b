/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: finds the rule of one address in the code that follows,
 * without the bounds of its function. A way is a sequence of instructions that may run from the
 * address on. The ways to a return say how far the stack pointer is from the caller's, and which
 * stack words get back into preserved registers:
 *
 *   address ─► test ─► jne ─► add $0x18,%rsp ─► pop %rbx ─► pop %rbp ─► ret
 *                       └───► call ─► ...                      CFA = rsp + 0x18 + 8 + 8 + 8
 *
 * Only the pages of these ways have to be in the guest's memory. x86-64 only. Resolver's thread;
 * bounded in time and memory.
 */
#ifndef XTOP_UNWIND_WAY_OUT_H
#define XTOP_UNWIND_WAY_OUT_H

#include "unwind/cfi_table.h"
#include "xtop/unwind/code.h"

struct way_out;

struct way_out *way_out_create(const struct code_source *source); /* NULL: out of memory */
void way_out_destroy(struct way_out *way_out);                    /* NULL allowed */
size_t way_out_memory_bytes(void);

/*
 * Finds the rule before the instruction at ADDRESS. CALLED: ADDRESS is a return address.
 * AFTER_JUMPS: if no other way leads to a return, follows the code after jumps to unknown
 * addresses, too. That code is another case of the switch, and has the switch's frame. Returns
 * false if no way leads to a return, or if two ways contradict each other. *MISSING: code was
 * missing, so a later try may find a rule. *MISSING may also be set with a rule found after such a
 * jump: the missing code may lead to a return without a jump.
 */
bool way_out_find(struct way_out *way_out, uint64_t address, bool called, bool after_jumps,
		  struct cfi_rule *rule, bool *missing);
/*
 * As way_out_find(), in functions whose bounds are known: only in stubs of a PLT, which belong to
 * no function, and in the code that signals' handlers return to.
 */
bool way_out_find_stub(struct way_out *way_out, uint64_t address, bool called,
		       struct cfi_rule *rule);
/*
 * Whether the thread ends at ADDRESS, to which its first function returns: by hlt at the end of a
 * function, or by Linux's exit or exit_group. Contexts of makecontext() count as threads.
 */
bool way_out_ends_thread(struct way_out *way_out, uint64_t address);

#endif
