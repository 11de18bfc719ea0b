/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stubs of a hypercall page; see stubs.h. Xen writes them according to the type of the guest:
 *
 *   PV, but iret               PV, iret                   PVH, HVM
 *    0  push %rcx               0  push %rcx               0  mov $n, %eax
 *    1  push %r11               1  push %r11               5  vmcall (AMD: vmmcall)
 *    3  mov $n, %eax            3  push %rax               8  ret
 *    8  syscall                 4  mov $23, %eax
 *   10  pop %r11                9  syscall
 *   12  pop %rcx
 *   13  ret
 *
 * (Xen 4.17 arch/x86/pv/hypercall.c, arch/x86/hvm/vmx/vmx.c, arch/x86/hvm/svm/svm.c). A PV guest's
 * vCPU is at 10 when its hypercall has ended, and at 8 while Xen will continue the hypercall. The
 * stub of iret never returns: above the pushed words are a word of flags and the words that iret
 * restores (Xen 4.17 public/arch-x86/xen-x86_64.h, struct iret_context).
 */
#include "config.h"

#include "unwind/stubs.h"

#include <stdlib.h>

#include "unwind/cursor_x86.h"

#define STUB_BYTES    32
#define STUB_IRET     23
#define STUB_PUSH_R11 1
#define STUB_PUSHED   3
#define STUB_IRET_RAX 4
#define STUB_POP_R11  10
#define STUB_POP_RCX  12

void stubs_destroy(struct stubs *stubs)
{
	free(stubs);
}

size_t stubs_memory_bytes(const struct stubs *stubs)
{
	return sizeof(*stubs);
}

bool stubs_find_function(const struct stubs *stubs, uint64_t address, uint64_t *start,
			 uint64_t *end)
{
	uint64_t offset = address - stubs->page;

	if (offset >= GUEST_PAGE_SIZE)
		return false;
	*start = address - offset % STUB_BYTES;
	*end = *start + STUB_BYTES;
	return true;
}

/* How many words a PV guest's stub has pushed, OFFSET bytes after the stub's start. */
static unsigned stubs_pushed_words(unsigned offset, bool iret)
{
	if (offset < STUB_PUSH_R11)
		return 0;
	if (offset < STUB_PUSHED)
		return 1;
	if (iret)
		return offset < STUB_IRET_RAX ? 2 : 3;
	if (offset <= STUB_POP_R11)
		return 2;
	return offset <= STUB_POP_RCX ? 1 : 0;
}

enum unwind_step stubs_step_pv(struct cursor *cursor, uint64_t offset)
{
	bool iret = offset / STUB_BYTES == STUB_IRET;
	unsigned words = stubs_pushed_words(offset % STUB_BYTES, iret);

	if (!iret)
		return cursor_step_leaf(cursor, words);
	return cursor_step_partial(cursor, cursor->regs[REG_RSP] + 8 * (words + 1),
				   cursor->regs[REG_RBP]);
}

enum unwind_step stubs_step(const struct stubs *stubs, uint64_t bias, struct cursor *cursor)
{
	uint64_t offset = cursor->regs[REG_RIP] - bias - stubs->page;
	bool is_pv = cursor->vcpu->regs.cs & CS_PRIVILEGE; /* a PV kernel runs in user mode */

	if (offset >= GUEST_PAGE_SIZE || !cursor->interrupted || cursor->user)
		return STEP_NOT_COVERED;
	return is_pv ? stubs_step_pv(cursor, offset) : cursor_step_leaf(cursor, 0);
}
