/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in the code that a Linux kernel names when it prints an oops or a call trace:
 *
 *   [   12.3] RIP: 0010:tcp_sendmsg_locked+0x64/0xd40        symbol, offset, size of the symbol
 *    ? nft_do_chain+0x1a3/0x570 [nf_tables]                  the module behind it, if it is in one
 *    [<ffffffff8181a2b4>] tcp_sendmsg+0x24/0x40              before Linux 4.10: the address, too
 *   Code: ... R10: ffffffff8181a2b4                          addresses alone
 *   Kernel Offset: 0x1c000000 from 0xffffffff81000000 ...    by how much the kernel was moved
 *
 * The text may be a guest's: whatever is in it is taken as it is, or left alone. Any thread.
 */
#ifndef XTOP_OOPS_H
#define XTOP_OOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOPS_NAME_BYTES  112
#define OOPS_MAX_PLACES  16 /* of one line */

struct oops_place {
	char symbol[OOPS_NAME_BYTES]; /* "": ADDRESS alone is known */
	char module[64];              /* "nf_tables"; "": the kernel itself */
	uint64_t address;             /* of the guest, or the offset in SYMBOL */
	uint64_t size_bytes;          /* of SYMBOL */
	size_t end;                   /* of what was read, in the line */
	/* It is the instruction that was to run next. Otherwise it may be one behind a call. */
	bool exact;
};

/* The places in LINE, from the left: how many. */
size_t oops_find_places(const char *line, struct oops_place places[OOPS_MAX_PLACES]);
/* Whether LINE tells by how much the kernel was moved. */
bool oops_find_offset(const char *line, uint64_t *offset);

#endif
