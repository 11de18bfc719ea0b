/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in the text of an oops. */
#include "config.h"

#include "tests/support/tap.h"
#include "xtop/linux/oops.h"

static void check_one(const char *line, const char *symbol, uint64_t address, uint64_t size_bytes,
		      const char *module, bool exact)
{
	struct oops_place places[OOPS_MAX_PLACES];
	size_t n = oops_find_places(line, places);

	check(n == 1, "%zu places in \"%s\"", n, line);
	if (n != 1)
		return;
	check_string(places[0].symbol, symbol, "symbol of the place");
	check_string(places[0].module, module, "module of the place");
	check_u64(places[0].address, address, "address of the place");
	check_u64(places[0].size_bytes, size_bytes, "size of the symbol");
	check(places[0].exact == exact, "the place is exact: %d", exact);
}

static void check_none(const char *line)
{
	struct oops_place places[OOPS_MAX_PLACES];

	check_u64(oops_find_places(line, places), 0, line);
}

int main(void)
{
	struct oops_place places[OOPS_MAX_PLACES];
	uint64_t offset = 0;
	char many[2000] = "";

	check_one("[   12.3] RIP: 0010:tcp_sendmsg_locked+0x64/0xd40", "tcp_sendmsg_locked", 0x64,
		  0xd40, "", true);
	check_one("[   12.3] WARNING: CPU: 0 PID: 1 at net/core/dev.c:10 dev_close+0x18/0x20 [dev]",
		  "dev_close", 0x18, 0x20, "dev", true);
	check_one("NMI backtrace for cpu 1 skipped: idling at pv_native_safe_halt+0xb/0x10",
		  "pv_native_safe_halt", 0xb, 0x10, "", true);
	check_one("[   12.3]  ? nft_do_chain+0x1a3/0x570 [nf_tables]", "nft_do_chain", 0x1a3, 0x570,
		  "nf_tables", false);
	check_one(" f.constprop.0+0x0/0x10 [a-b 0123abcd] <more>", "f.constprop.0", 0, 0x10, "a-b",
		  false);
	check_one(" [<ffffffff8181a2b4>] tcp_sendmsg+0x24/0x40", "tcp_sendmsg", 0x24, 0x40, "",
		  false);
	check_one("RIP: e030:[<ffffffff8181a2b4>]  [<ffffffff8181a2b4>] tcp_sendmsg+0x24/0x40",
		  "tcp_sendmsg", 0x24, 0x40, "", true);
	check_one(" [<ffffffff8181a2b4>] no more", "", 0xffffffff8181a2b4, 0, "", false);
	check_one("R10: 0000000000000000 R11: ffffffff8181a2b4", "", 0xffffffff8181a2b4, 0, "",
		  false);
	check_one("pc : 0xffff800010081000", "", 0xffff800010081000, 0, "", true);
	check_none("");
	check_none("CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1");
	check_none("f+0x12 g+0x/0x10 h+12/0x30 1f+0x1/0x2 +0x1/0x2");
	check_none("f+0x11111111111111111/0x20");
	check_none("RAX: 00007fffffffe000 RBX: fffffffff RCX: FFFFFFFF8181A2B4");
	check_u64(oops_find_places("a+0x1/0x2 b+0x3/0x4 [m] c+0x5/0x6", places), 3,
		  "number of places in a line of three");
	check_string(places[1].module, "m", "the second place's module");
	check_string(places[2].symbol, "c", "the third place's symbol");
	for (unsigned i = 0; i < 60; i++)
		strcat(many, "f+0x1/0x2 ");
	check_u64(oops_find_places(many, places), OOPS_MAX_PLACES,
		  "places beyond the limit are left out");
	memset(many, 'a', 300);
	strcpy(many + 300, "+0x1/0x20 [mmmm");
	check_none(many); /* a name that is too long */
	check(oops_find_offset("[ 1.0] Kernel Offset: 0x1c000000 from 0xffffffff81000000 (",
			       &offset) &&
		      offset == 0x1c000000,
	      "the line tells by how much the kernel was moved");
	check(!oops_find_offset("Kernel Offset: disabled", &offset),
	      "a line without an offset tells nothing");
	return tap_done();
}
