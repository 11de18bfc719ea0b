/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a vCPU as text, by their architecture; see registers_text.h. */
#include "config.h"

#include "profile/registers_text.h"

bool registers_put_line(const struct registers *regs, unsigned i, char text[REGISTERS_TEXT_BYTES])
{
	return regs->arch == ARCH_ARM64 ? registers_put_line_arm64(regs, i, text)
					: registers_put_line_x86(regs, i, text);
}
