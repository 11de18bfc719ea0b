/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to profile/: the registers of a vCPU as text. registers_text.c calls the function for the
 * registers' architecture.
 */
#ifndef PROFILE_REGISTERS_TEXT_H
#define PROFILE_REGISTERS_TEXT_H

#include <stddef.h>

#include "xtop/base/types.h"

#define REGISTERS_TEXT_BYTES 96

/* Puts line I of the registers to TEXT. False: there is no such line. */
bool registers_put_line(const struct registers *regs, unsigned i, char text[REGISTERS_TEXT_BYTES]);
bool registers_put_line_x86(const struct registers *regs, unsigned i,
			    char text[REGISTERS_TEXT_BYTES]);
bool registers_put_line_arm64(const struct registers *regs, unsigned i,
			      char text[REGISTERS_TEXT_BYTES]);

#endif
