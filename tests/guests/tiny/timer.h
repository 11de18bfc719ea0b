/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's timer as an interrupt, for a PVH guest of x86-64 with one vCPU, whose main() is not
 * graph.c's.
 *
 * Sources: Xen 4.17 public/vcpu.h, public/event_channel.h, public/hvm/params.h; Intel SDM vol. 3A
 * §6.14.1 (gates in 64-bit mode).
 */
#ifndef TINY_TIMER_H
#define TINY_TIMER_H

#include <stdint.h>

/* From now on an event of the timer is an interrupt, which enters ENTRY. */
void timer_receive(void (*entry)(void));
/* Sets the timer to an event AFTER_NS from now. */
void timer_set(uint64_t after_ns);
/* Clears the flags of an event that has come. Xen delivers the next one only after that. */
void timer_clear(void);

#endif
