/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of copies share: a made guest, and the copier of one vCPU's stacks. */
#ifndef XTOP_TESTS_COPY_GUEST_H
#define XTOP_TESTS_COPY_GUEST_H

#include "sample/copy.h"
#include "tests/support/memory_guest.h"
#include "tests/support/tap.h"
#include "xtop/memory/frame_cache.h"

static struct memory_guest *memory;
static struct control *control;
static struct copier copier;
static struct registers *regs; /* the vCPU's registers */
static struct copied copied;

/* VCPU: the one that is copied, the guest's last. */
static void begin_guest(unsigned vcpu)
{
	memory = memory_guest_create(vcpu + 1);
	regs = &memory->regs[vcpu];
	error_destroy(control_create(&control));
	copier = (struct copier){ .guest = &memory->guest.info, .control = control, .vcpu = vcpu };
	error_destroy(frame_cache_create(&memory->guest.mapper, 256, FRAME_CACHE_ROUND_NS,
					 &copier.cache));
}

static void end(void)
{
	frame_cache_destroy(copier.cache);
	check(memory->maps == memory->unmaps && !memory->misuses,
	      "%u mapped, %u unmapped, %u misuses", memory->maps, memory->unmaps, memory->misuses);
	control_destroy(control);
	memory_guest_destroy(memory);
}

#endif
