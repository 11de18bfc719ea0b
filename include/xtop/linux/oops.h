/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in code that a Linux kernel or Xen prints in an oops, a panic or a call trace:
 *
 *   [   12.3] RIP: 0010:tcp_sendmsg_locked+0x64/0xd40        symbol, offset, size of the symbol
 *    ? nft_do_chain+0x1a3/0x570 [nf_tables]                  a symbol of a module, and the module
 *    [<ffffffff8181a2b4>] tcp_sendmsg+0x24/0x40              before Linux 4.10: address and symbol
 *   Code: ... R10: ffffffff8181a2b4  EAX: c0105a2b           addresses alone, of 64 and 32 bits
 *   [<ffff82d040249345>] R common/a.c#panic+0/0xf0           Xen; R is the instruction itself
 *   Kernel Offset: 0x1c000000 from 0xffffffff81000000 ...    by how much the kernel was moved
 *
 * The text may come from a guest: any bytes may occur in it. Any thread.
 */
#ifndef XTOP_OOPS_H
#define XTOP_OOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOPS_NAME_BYTES 512 /* Linux's limit (KSYM_NAME_LEN) */
#define OOPS_MAX_PLACES 16 /* limit for one line */

struct oops_place {
	char symbol[OOPS_NAME_BYTES]; /* "name" or "file.c#name"; "" if only ADDRESS is known */
	char module[64];              /* "nf_tables"; "" for the kernel itself */
	uint64_t address;    /* guest address if SYMBOL is ""; otherwise the offset in SYMBOL */
	uint64_t size_bytes; /* size of SYMBOL */
	size_t end;          /* position in the line after this place */
	/* The place is the next instruction to run. If false, it may be a return address. */
	bool exact;
};

/*
 * Finds the places in LINE, from the left. Returns the number of places. Adds to *N_REFUSED the
 * number of places that are left out: the name is too long, a number is damaged, or LINE has
 * OOPS_MAX_PLACES places before this one.
 */
size_t oops_find_places(const char *line, struct oops_place places[OOPS_MAX_PLACES],
			size_t *n_refused);
/* Whether LINE tells by how much the kernel was moved; *OFFSET is the distance. */
bool oops_find_offset(const char *line, uint64_t *offset);

#endif
