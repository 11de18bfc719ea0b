// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of text for the Xen console (`xl console`, or xenconsoled's log). They go through the
 * domain's console ring: this file writes at out_prod, xenconsoled reads at out_cons, and an event
 * wakes xenconsoled. Without Xen the text goes to the first serial port. Used by vCPU 0 only.
 *
 * Source: Xen 4.17 public/io/console.h.
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/io/console.h>

#include "tiny.h"

static struct xencons_interface *ring;	/* NULL: serial port */
static XENCONS_RING_IDX produced;	/* the value of out_prod after the next flush */

void console_init(void)
{
	if (!xen_present())
		return;
	ring = xen_console_ring();
	produced = ring->out_prod;
}

static void console_char(char c)
{
	if (!ring)
		xen_serial(c);
	else if (produced - *(volatile XENCONS_RING_IDX *)&ring->out_cons < sizeof(ring->out))
		ring->out[MASK_XENCONS_IDX(produced++, ring->out)] = c;
}

void console_text(const char *text)
{
	while (*text)
		console_char(*text++);
}

void console_number(uint64_t number)
{
	char digits[21], *first = &digits[20];

	*first = '\0';
	do
		*--first = '0' + number % 10;
	while (number /= 10);
	console_text(first);
}

void console_flush(void)
{
	if (!ring)
		return;
	/* The text must be in memory before out_prod covers it. */
	__atomic_store_n(&ring->out_prod, produced, __ATOMIC_RELEASE);
	xen_console_kick();
}
