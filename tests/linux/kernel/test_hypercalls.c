/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hypercall page of a kernel: what Xen wrote there tells how the stubs use the stack. A page that
 * Xen did not write, or that is not there, tells nothing.
 */
#include "config.h"

#include "linux/kernel/hypercalls.h"

#include <stdlib.h>

#include "tests/support/made_memory.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "tests/unwind/orc_rows.h"

#define TEXT       UINT64_C(0xffffffff81000000)
#define TEXT_BYTES 0x10000
#define PAGE       (TEXT + 0x2000)

static const uint8_t pv[] = { 0x51, 0x41, 0x53, 0xb8, 0, 0, 0, 0, 0x0f, 0x05,
			      0x41, 0x5b, 0x59, 0xc3 };
static const uint8_t intel[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x01, 0xc1, 0xc3 };
static const uint8_t amd[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x01, 0xd9, 0xc3 };
static const uint8_t unwritten[] = { 0xc3, 0xcc, 0xcc, 0xcc };

#define NONE  (-1) /* no byte of the page is special code */
#define OTHER (-2) /* not the whole page is of one kind, or more than the page is */

/* What is known of the page at SYMBOL after Xen wrote CODE at PAGE: enum orc_special, or above. */
static int kind_of(const uint8_t *code, size_t n, uint64_t symbol)
{
	static const struct orc_entry entry = {
		TEXT, { .sp_offset = 8, .sp_reg = ORC_SP, .type = ORC_CALL }
	};
	struct made_memory *made = made_create();
	struct linux_guest guest = { .memory = made_memory(made), .root = made_root(made) };
	enum orc_special kind, first = N_ORC_SPECIALS;
	unsigned inside = 0, outside = 0;
	struct orc *orc = NULL;
	uint64_t start;

	must(orc_create_rows(&entry, 1, TEXT, TEXT + TEXT_BYTES, &orc));
	guest.symbols[LINUX_HYPERCALLS] = symbol;
	if (n)
		made_put(made, guest.root, PAGE, code, n);
	hypercalls_add(&guest, orc);
	orc_find_special(orc, PAGE, &first, &start);
	for (uint64_t at = TEXT; at < TEXT + TEXT_BYTES; at++) {
		if (!orc_find_special(orc, at, &kind, &start))
			continue;
		if (at - PAGE < GUEST_PAGE_SIZE && kind == first && start == PAGE)
			inside++;
		else
			outside++;
	}
	orc_destroy(orc);
	made_destroy(made);
	if (outside || (inside && inside < GUEST_PAGE_SIZE))
		return OTHER;
	return inside ? (int)first : NONE;
}

int main(void)
{
	check_u64(kind_of(pv, sizeof(pv), PAGE), ORC_HYPERCALLS, "stubs of PV are recognised");
	check_u64(kind_of(intel, sizeof(intel), PAGE), ORC_LEAVES,
		  "stubs of PVH on Intel are recognised");
	check_u64(kind_of(amd, sizeof(amd), PAGE), ORC_LEAVES,
		  "stubs of PVH on AMD are recognised");
	check(kind_of(unwritten, sizeof(unwritten), PAGE) == NONE,
	      "a page without Xen's stubs is left out");
	check(kind_of(NULL, 0, PAGE) == NONE, "a page that cannot be read is left out");
	check(kind_of(pv, sizeof(pv), 0) == NONE, "a kernel without the page has no stubs");
	check(kind_of(pv, sizeof(pv), PAGE + 1) == NONE, "an address within a page is left out");
	return tap_done();
}
