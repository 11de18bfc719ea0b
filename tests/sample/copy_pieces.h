/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of copies on arm64 and from kernels of 32 bits share: a record with the pieces. */
#ifndef XTOP_TESTS_COPY_PIECES_H
#define XTOP_TESTS_COPY_PIECES_H

#include "copy_guest.h"

static struct {
	struct sample_vcpu vcpu;
	unsigned char bytes[SAMPLE_STACK_LIMIT_BYTES + 1024];
} record;

static void copy(bool user)
{
	copier.now_ns = 1;
	copy_prepare(&copier, regs, user);
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, user, (char *)record.bytes, &copied);
	copy_head(&copied, regs, user, copier.vcpu, VCPU_RUNNING, &record.vcpu);
	check(!copied.missed, "all pages had been mapped");
}

#endif
