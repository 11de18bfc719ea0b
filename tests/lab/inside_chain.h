/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chain that a vCPU of a dumped guest is in; see inside.c. */
#ifndef TESTS_LAB_INSIDE_CHAIN_H
#define TESTS_LAB_INSIDE_CHAIN_H

#include "linux/kernel/linux_attach.h"
#include "xtop/memory/memory.h"

/* A vCPU, and what is known of its guest. */
struct inside_vcpu {
	const char *memory; /* file with the guest's memory */
	struct linux_kernel *kernel;
	struct space *space;
	const struct registers *regs;
	bool user;
};

/*
 * Copies the stacks of a vCPU as the sampler does, and unwinds them as the resolver does. PUT gets one line: "PROCESS;outermost;...;innermost", as a folded file has
 * it. What has no name is its address. A part that is not whole begins with "[truncated]".
 */
void inside_read_chain(const struct inside_vcpu *vcpu, void (*put)(void *context, const char *line),
		       void *context);

#endif
