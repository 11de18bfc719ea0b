/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in code that a Linux kernel prints in an oops or a call trace:
 *
 *   [   12.3] RIP: 0010:tcp_sendmsg_locked+0x64/0xd40        symbol, offset, size of the symbol
 *    ? nft_do_chain+0x1a3/0x570 [nf_tables]                  the module after it, if it is in one
 *    [<ffffffff8181a2b4>] tcp_sendmsg+0x24/0x40              before Linux 4.10: the address, too
 *   Code: ... R10: ffffffff8181a2b4                          addresses alone
 *   Kernel Offset: 0x1c000000 from 0xffffffff81000000 ...    by how much the kernel was moved
 *
 * The text may come from a guest: any bytes may occur in it. Any thread.
 */
#ifndef XTOP_OOPS_H
#define XTOP_OOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOPS_NAME_BYTES 112
#define OOPS_MAX_PLACES 16 /* limit for one line */

struct oops_place {
	char symbol[OOPS_NAME_BYTES]; /* "" if only ADDRESS is known */
	char module[64];              /* "nf_tables"; "" for the kernel itself */
	uint64_t address;    /* guest address if SYMBOL is ""; otherwise the offset in SYMBOL */
	uint64_t size_bytes; /* size of SYMBOL */
	size_t end;          /* position in the line after this place */
	/* The place is the next instruction to run. Otherwise it may be a return address. */
	bool exact;
};

/* Finds the places in LINE, from the left. Returns how many. */
size_t oops_find_places(const char *line, struct oops_place places[OOPS_MAX_PLACES]);
/* Whether LINE tells by how much the kernel was moved. */
bool oops_find_offset(const char *line, uint64_t *offset);

#endif
