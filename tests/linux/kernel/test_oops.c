/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in the text of an oops. */
#include "config.h"

#include "tests/support/tap.h"
#include "xtop/linux/oops.h"

static void check_one(const char *line, const char *symbol, uint64_t address, uint64_t size_bytes,
		      const char *module, bool exact)
{
	struct oops_place places[OOPS_MAX_PLACES];
	size_t refused = 0, n = oops_find_places(line, places, &refused);

	check(n == 1 && !refused, "%zu places in \"%s\"", n, line);
	if (n != 1)
		return;
	check_string(places[0].symbol, symbol, "symbol of the place");
	check_string(places[0].module, module, "module of the place");
	check_u64(places[0].address, address, "address of the place");
	check_u64(places[0].size_bytes, size_bytes, "size of the symbol");
	check(places[0].exact == exact, "the place is exact: %d", exact);
}

/* LINE has no places, and REFUSED that are not understood. */
static void check_none(const char *line, size_t refused)
{
	struct oops_place places[OOPS_MAX_PLACES];
	size_t n_refused = 0;

	check_u64(oops_find_places(line, places, &n_refused), 0, line);
	check_u64(n_refused, refused, "places that are not understood");
}

/* What Xen prints: xen/arch/x86/traps.c, xen/arch/arm/traps.c, show_trace() and show_registers(). */
static void test_xen(void)
{
	check_one("(XEN) RIP:    e008:[<ffff82d04022ecf5>] common/sched/core.c#vcpu_wake+0/0xf0",
		  "common/sched/core.c#vcpu_wake", 0, 0xf0, "", true);
	check_one("(XEN)    [<ffff82d040249345>] R arch/x86/traps.c#do_trap+0x12/0x34",
		  "arch/x86/traps.c#do_trap", 0x12, 0x34, "", true);
	check_one("(XEN)    [<ffff82d040249345>] F panic+0x12/0x34", "panic", 0x12, 0x34, "",
		  false);
	check_one("(XEN)    [<ffff82d040249345>] S x86_64/entry.S#lstar_enter+0xa/0",
		  "x86_64/entry.S#lstar_enter", 0xa, 0, "", false);
	check_one("(XEN)    [<ffff82d040249345>] R do_fix+0x12/0x34 [livepatch-1]", "do_fix", 0x12,
		  0x34, "livepatch-1", true);
	check_one("(XEN)    [<00000a0000236e18>] do_trap+0x8/0x30 (PC)", "do_trap", 8, 0x30, "",
		  true);
	check_one("(XEN)    [<00000a0000236e18>] do_trap+0x8/0x30 (LR)", "do_trap", 8, 0x30, "",
		  false);
	check_one("(XEN) PC:     00000a0000236e18 time.c#get_s_time+0x8/0x30", "time.c#get_s_time",
		  8, 0x30, "", true);
	check_one("(XEN) LR:     00000a0000236e18 time.c#get_s_time+0x8/0x30", "time.c#get_s_time",
		  8, 0x30, "", false);
	check_one("#f+0x1/0x2", "f", 1, 2, "", false);
	check_one("(XEN)    [<ffff82d040249345>] S ffff82d040249345", "", 0xffff82d040249345, 0, "",
		  false);
	check_one("(XEN)    [<ffff82d040249345>] R ffff82d040249345", "", 0xffff82d040249345, 0, "",
		  true);
}

/* Addresses of 8 digits, and how kernels of 32 bits print places. */
static void test_short(void)
{
	struct oops_place places[OOPS_MAX_PLACES];
	size_t refused = 0;

	check_one("EIP is at sysfs_open_file+0x5b/0x222", "sysfs_open_file", 0x5b, 0x222, "", true);
	check_one(" [<c0105a2b>] no more", "", 0xc0105a2b, 0, "", false);
	check_one("EAX: 00000000 EBX: 0xc0105a2b", "", 0xc0105a2b, 0, "", false);
	check_one("[<80108664>] (kernel_init) from more", "", 0x80108664, 0, "", false);
	check_none("EAX: 7fffffff C0105A2B c0105a2 c0105a2b1", 0);
	check_u64(oops_find_places("pc : [<c0105a2b>]    lr : [<c0105a30>]    psr: 60000013",
				   places, &refused),
		  2, "places of a line with pc and lr");
	check(places[0].exact && !places[1].exact, "pc is the instruction, lr a return address");
	check_u64(oops_find_places("EIP: [<c0105a2b>] f+0x5b/0x222 SS:ESP 0068:f6cefec0", places,
				   &refused),
		  2, "places of a line with EIP and the stack pointer");
	check(places[0].exact && places[0].address == 0x5b, "EIP is the instruction");
}

/* Names of up to 511 bytes, as Rust makes them; damaged places are counted. */
static void test_limits(void)
{
	struct oops_place places[OOPS_MAX_PLACES];
	char many[2000] = "";
	size_t refused = 0;

	memset(many, 'a', OOPS_NAME_BYTES - 1);
	strcpy(many + OOPS_NAME_BYTES - 1, "+0x1/0x20 [mmmm");
	check_u64(oops_find_places(many, places, &refused), 1, "a name of 511 bytes is a place");
	check_u64(strlen(places[0].symbol), OOPS_NAME_BYTES - 1,
		  "length of the longest symbol's name");
	memset(many, 'a', OOPS_NAME_BYTES);
	strcpy(many + OOPS_NAME_BYTES, "+0x1/0x20 [mmmm");
	check_none(many, 1);
	many[0] = '\0';
	for (unsigned i = 0; i < 60; i++)
		strcat(many, "f+0x1/0x2 ");
	check_u64(oops_find_places(many, places, &refused), OOPS_MAX_PLACES,
		  "places beyond the limit are left out");
	check_u64(refused, 60 - OOPS_MAX_PLACES, "places that are left out");
	many[0] = '\0';
	refused = 0;
	for (unsigned i = 0; i < 30; i++)
		strcat(many, "c0105a2b c0105a3c ");
	check_u64(oops_find_places(many, places, &refused), OOPS_MAX_PLACES,
		  "addresses beyond the limit are left out");
	check_u64(refused, 60 - OOPS_MAX_PLACES, "addresses that are left out");
	check_none("f+0x12 g+0x/0x10 h+12/0x30 1f+0x1/0x2 +0x1/0x2", 2);
	check_none("f+0x11111111111111111/0x20", 1);
}

int main(void)
{
	struct oops_place places[OOPS_MAX_PLACES];
	uint64_t offset = 0;
	size_t refused = 0;

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
	check_none("", 0);
	check_none("CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1", 0);
	check_none("RAX: 00007fffffffe000 RBX: fffffffff RCX: FFFFFFFF8181A2B4", 0);
	test_xen();
	test_short();
	test_limits();
	check_u64(oops_find_places("a+0x1/0x2 b+0x3/0x4 [m] c+0x5/0x6", places, &refused), 3,
		  "number of places in a line of three");
	check_string(places[1].module, "m", "the second place's module");
	check_string(places[2].symbol, "c", "the third place's symbol");
	check(oops_find_offset("[ 1.0] Kernel Offset: 0x1c000000 from 0xffffffff81000000 (",
			       &offset) &&
		      offset == 0x1c000000,
	      "the line tells by how much the kernel was moved");
	check(!oops_find_offset("Kernel Offset: disabled", &offset),
	      "a line without an offset tells nothing");
	return tap_done();
}
