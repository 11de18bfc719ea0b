/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that a signal's handler returns to; see signal_return.h. */
#include "config.h"

#include "unwind/signal_return.h"

#include <string.h>

#define SIGNAL_REGISTERS 40 /* bytes from struct ucontext to its registers */
#define SIGNAL_CALL      2  /* length of syscall */

/* The registers in the order of struct ucontext. */
static const uint8_t signal_registers[] = {
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RDI,
	REG_RSI, REG_RBP, REG_RBX, REG_RDX, REG_RAX, REG_RCX, REG_RSP, REG_RIP,
};

static const struct {
	uint8_t n, bytes[SIGNAL_RETURN_BYTES];
} signal_forms[] = {
	{ 7, { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 } },
	{ 9, { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 } },
};

bool signal_return_begins(const uint8_t *code, size_t n)
{
	for (unsigned i = 0; i < sizeof(signal_forms) / sizeof(signal_forms[0]); i++)
		if (n >= signal_forms[i].n &&
		    memcmp(code, signal_forms[i].bytes, signal_forms[i].n) == 0)
			return true;
	return false;
}

bool signal_return_ends(const uint8_t *code, size_t n, const uint8_t *before, size_t n_before)
{
	for (unsigned i = 0; i < sizeof(signal_forms) / sizeof(signal_forms[0]); i++) {
		size_t first = signal_forms[i].n - SIGNAL_CALL;

		if (n >= SIGNAL_CALL && n_before >= first &&
		    memcmp(code, signal_forms[i].bytes + first, SIGNAL_CALL) == 0 &&
		    memcmp(before + n_before - first, signal_forms[i].bytes, first) == 0)
			return true;
	}
	return false;
}

enum unwind_step signal_return_step(struct cursor *cursor)
{
	uint64_t saved[sizeof(signal_registers)];

	if (!cursor_read(cursor, cursor->regs[REG_RSP] + SIGNAL_REGISTERS, saved,
			 sizeof(signal_registers)))
		return STEP_CUT;
	for (size_t i = 0; i < sizeof(signal_registers); i++)
		cursor->regs[signal_registers[i]] = saved[i];
	cursor->known = CURSOR_KNOWS_ALL;
	cursor->interrupted = true;
	return STEP_CALLER;
}
