// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xen.c for arm64, also of 32 bits: hypercalls, the device tree, the console ring, secondary vCPUs,
 * time. Interrupts stay masked. A vCPU cannot sleep: it would need an interrupt controller to be woken. So a sleep
 * spins, and no config says idle.
 *
 * Sources: Xen 4.17 public/arch-arm.h (hypercalls, what a device tree has), public headers (named
 * where used); Devicetree Specification v0.3 §5 (the blob); Arm PSCI, DEN0022D §5.1.4 (CPU_ON).
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/event_channel.h>
#include <xen/sched.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/params.h>
#include <xen/io/console.h>

#include "long_division.h"
#include "tiny.h"

#ifdef __arm__
#define REGISTER(number)	"r" #number
#define HYPERCALL_NUMBER	"r12"
#define PTE_PAGE		0x47e
#define PSCI_CPU_ON		0x84000003UL
#define READ_COUNTER		"isb; mrrc p15, 1, %Q0, %R0, c14"
#define READ_FREQUENCY		"mrc p15, 0, %0, c14, c0, 0"
#else
#define REGISTER(number)	"x" #number
#define HYPERCALL_NUMBER	"x16"
#define PTE_PAGE		0x703
#define PSCI_CPU_ON		0xc4000003UL
#define READ_COUNTER		"isb; mrs %0, cntvct_el0"
#define READ_FREQUENCY		"mrs %0, cntfrq_el0"
#endif

#define TINY_RAM_BASE	0x40000000UL
#define SERIAL		0x09000000UL	/* QEMU's machine virt: PL011, mapped by root_table[0] */

#define FDT_MAGIC	0xd00dfeed
#define FDT_BEGIN_NODE	1
#define FDT_PROP	3
#define FDT_END		9

extern const char secondary_entry[];

static bool has_xen;
static const char *cmdline = "";
static evtchn_port_t console_port;

/* Number in x16 or r12, arguments in x0 and up, result in x0. */
__attribute__((noinline)) long hypercall(unsigned long number, unsigned long a, unsigned long b,
					unsigned long c)
{
	register unsigned long which asm(HYPERCALL_NUMBER) = number;
	register unsigned long x0 asm(REGISTER(0)) = a;
	register unsigned long x1 asm(REGISTER(1)) = b;
	register unsigned long x2 asm(REGISTER(2)) = c;

	asm volatile("hvc #0xea1"
		     : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (which), "+r" (stack_pointer)
		     : : REGISTER(3), REGISTER(4), "memory");
	return (long)x0;
}

static void *phys_to_virt(uintptr_t phys)
{
	return (void *)(TINY_VIRT_BASE + phys - TINY_RAM_BASE);
}

static uintptr_t virt_to_phys(const void *virt)
{
	return (uintptr_t)virt - TINY_VIRT_BASE + TINY_RAM_BASE;
}

/* ---- The device tree: the command line, and whether this is Xen ------------------------ */

static uint32_t big_endian(const uint32_t *word)
{
	return __builtin_bswap32(*word);
}

static bool is_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* `compatible` has several strings in `bytes` bytes. */
static bool has_text(const char *texts, uint32_t bytes, const char *wanted)
{
	const char *end = texts + bytes;

	while (texts < end) {
		if (is_text(texts, wanted))
			return true;
		while (texts < end && *texts++)
			;
	}
	return false;
}

static void take_property(const char *name, const void *value, uint32_t bytes)
{
	if (is_text(name, "bootargs"))
		cmdline = value;
	else if (is_text(name, "compatible") && has_text(value, bytes, "xen,xen"))
		has_xen = true;
}

static void read_device_tree(const uint32_t *header)
{
	const char *blob = (const char *)header;
	const uint32_t *at = (const uint32_t *)(blob + big_endian(&header[2]));
	const char *names = blob + big_endian(&header[3]);

	if (big_endian(header) != FDT_MAGIC)
		return;
	for (uint32_t token; (token = big_endian(at++)) != FDT_END;) {
		if (token == FDT_PROP) {
			uint32_t bytes = big_endian(&at[0]);

			take_property(names + big_endian(&at[1]), &at[2], bytes);
			at += 2 + (bytes + 3) / 4;
		} else if (token == FDT_BEGIN_NODE) {
			const char *name = (const char *)at;

			while (*name)
				name++;
			at += (name - (const char *)at) / 4 + 1;
		}
	}
}

void xen_init(int flavour, const void *start_info)
{
	(void)flavour;
	read_device_tree(phys_to_virt((uintptr_t)start_info));
}

bool xen_present(void)
{
	return has_xen;
}

const char *xen_cmdline(void)
{
	return cmdline;
}

/* ---- Console ring (public/io/console.h) ----------------------------------------------- */

static uint64_t hvm_param(uint32_t index)
{
	struct xen_hvm_param param = { .domid = DOMID_SELF, .index = index };

	hypercall(__HYPERVISOR_hvm_op, HVMOP_get_param, (unsigned long)&param, 0);
	return param.value;
}

/* The ring's frame is below RAM. */
struct xencons_interface *xen_console_ring(void)
{
	console_port = hvm_param(HVM_PARAM_CONSOLE_EVTCHN);
	fix_table[TINY_FIX_CONSOLE] = hvm_param(HVM_PARAM_CONSOLE_PFN) << 12 | PTE_PAGE;
	asm volatile("dsb ishst; isb" : : : "memory");
	return (void *)(TINY_FIX_BASE + TINY_FIX_CONSOLE * 4096UL);
}

void xen_console_kick(void)
{
	struct evtchn_send send = { .port = console_port };

	hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_send, (unsigned long)&send, 0);
}

void xen_serial(char c)
{
	*(volatile uint32_t *)SERIAL = (uint8_t)c;
}

/* ---- vCPUs ---------------------------------------------------------------------------- */

char *xen_stack_top(unsigned int vcpu)
{
	return (char *)(TINY_FIX_BASE + (vcpu + 1UL) * TINY_STACK_PAGES * 4096);
}

/* Sixteen vCPUs share the first level of affinity (Xen 4.17, vcpuid_to_vaffinity()). */
bool xen_start_vcpu(unsigned int vcpu)
{
	register unsigned long x0 asm(REGISTER(0)) = PSCI_CPU_ON;
	register unsigned long x1 asm(REGISTER(1)) = (vcpu >> 4) << 8 | (vcpu & 15);
	register unsigned long x2 asm(REGISTER(2)) = virt_to_phys(secondary_entry);
	register unsigned long x3 asm(REGISTER(3)) = vcpu;

	asm volatile("hvc #0" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x3) : : "memory");
	return x0 == 0;
}

/* ---- Time ----------------------------------------------------------------------------- */

/* The virtual counter began when Xen created the guest. */
uint64_t xen_time_ns(unsigned int vcpu)
{
	unsigned long hz;
	uint64_t ticks;

	(void)vcpu;
	asm volatile(READ_COUNTER : "=r" (ticks));
	asm volatile(READ_FREQUENCY : "=r" (hz));
	return ticks / hz * 1000000000 + ticks % hz * 1000000000 / hz;
}

void xen_sleep_until_ns(uint64_t when)
{
	while (xen_time_ns(0) < when)
		hypercall(__HYPERVISOR_sched_op, SCHEDOP_yield, 0, 0);
}

void xen_poweroff(void)
{
	struct sched_shutdown shutdown = { .reason = SHUTDOWN_poweroff };

	for (;;)
		hypercall(__HYPERVISOR_sched_op, SCHEDOP_shutdown, (unsigned long)&shutdown, 0);
}

#ifdef __arm__
/* ---- Division, for start_arm32.S -------------------------------------------------------- */

uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *rest);

uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *rest)
{
	return long_division(dividend, divisor, rest);
}
#endif
