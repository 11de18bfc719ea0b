// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What xen.c does, for a guest of 32 bits: PVH alone, and one vCPU. Besides that the divisions of 64
 * bits, for which a compiler without libgcc calls these functions.
 *
 * Sources: Xen 4.17 public headers, docs/guest-guide/x86/hypercall-abi.rst.
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/errno.h>
#include <xen/event_channel.h>
#include <xen/memory.h>
#include <xen/sched.h>
#include <xen/arch-x86/cpuid.h>
#include <xen/arch-x86/hvm/start_info.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/params.h>
#include <xen/io/console.h>

#include "long_division.h"
#include "tiny.h"

#define COM1 0x3f8

static enum { CALL_NONE, CALL_VMCALL, CALL_VMMCALL } call_kind;
static const struct hvm_start_info *pvh_info;
static evtchn_port_t console_port;

/* Number in eax, arguments in ebx, ecx, edx, result in eax (hypercall-abi.rst). */
__attribute__((noinline)) long hypercall(unsigned long number, unsigned long a, unsigned long b,
					unsigned long c)
{
	long result = -XEN_ENOSYS;

#define ISSUE(instruction)							\
	asm volatile(instruction						\
		     : "=a" (result), "+b" (a), "+c" (b), "+d" (c),		\
		       "+r" (stack_pointer)					\
		     : "0" (number) : "memory", "cc")
	if (call_kind == CALL_VMCALL)
		ISSUE("vmcall");
	else if (call_kind == CALL_VMMCALL)
		ISSUE("vmmcall");
#undef ISSUE
	return result;
}

static void cpuid(uint32_t leaf, uint32_t regs[4])
{
	asm volatile("cpuid"
		     : "=a" (regs[0]), "=b" (regs[1]), "=c" (regs[2]), "=d" (regs[3])
		     : "0" (leaf), "2" (0));
}

static bool cpuid_says_xen(void)
{
	uint32_t regs[4];

	cpuid(XEN_CPUID_FIRST_LEAF, regs);
	return regs[1] == XEN_CPUID_SIGNATURE_EBX && regs[2] == XEN_CPUID_SIGNATURE_ECX &&
	       regs[3] == XEN_CPUID_SIGNATURE_EDX;
}

static bool cpuid_says_amd(void)
{
	uint32_t regs[4];

	cpuid(0, regs);
	return regs[1] == 0x68747541 /* "Auth"enticAMD */ ||
	       regs[1] == 0x6f677948 /* "Hygo"nGenuine */;
}

static void *phys_to_virt(uint32_t phys)
{
	return (void *)(TINY_VIRT_BASE + phys);
}

void xen_init(int flavour, const void *start_info)
{
	struct xen_add_to_physmap map = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = ((unsigned long)shared_info_page - TINY_VIRT_BASE) >> 12,
	};

	(void)flavour;
	pvh_info = phys_to_virt((uint32_t)start_info);
#ifdef TINY_ALONE
	return;
#endif
	if (!cpuid_says_xen())
		return;
	call_kind = cpuid_says_amd() ? CALL_VMMCALL : CALL_VMCALL;
	hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, (unsigned long)&map, 0);
}

bool xen_present(void)
{
	return call_kind != CALL_NONE;
}

const char *xen_cmdline(void)
{
	return pvh_info->cmdline_paddr ? phys_to_virt((uint32_t)pvh_info->cmdline_paddr) : "";
}

static uint64_t hvm_param(uint32_t index)
{
	struct xen_hvm_param param = { .domid = DOMID_SELF, .index = index };

	hypercall(__HYPERVISOR_hvm_op, HVMOP_get_param, (unsigned long)&param, 0);
	return param.value;
}

struct xencons_interface *xen_console_ring(void)
{
	console_port = (evtchn_port_t)hvm_param(HVM_PARAM_CONSOLE_EVTCHN);
	fix_table[TINY_FIX_CONSOLE] = (tiny_entry)(hvm_param(HVM_PARAM_CONSOLE_PFN) << 12 | 3);
	return (void *)(TINY_FIX_BASE + TINY_FIX_CONSOLE * 4096UL);
}

void xen_serial(char c)
{
	asm volatile("outb %0, %1" : : "a" (c), "Nd" ((uint16_t)COM1));
}

void xen_console_kick(void)
{
	struct evtchn_send send = { .port = console_port };

	hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_send, (unsigned long)&send, 0);
}

/* This guest has one vCPU. */
bool xen_start_vcpu(unsigned int vcpu)
{
	(void)vcpu;
	return false;
}

/* As in xen.c. The product of 64 and 32 bits is built of two. */
uint64_t xen_time_ns(unsigned int vcpu)
{
	const volatile struct vcpu_time_info *time =
		&((struct shared_info *)shared_info_page)->vcpu_info[vcpu].time;
	uint32_t version, low, high;
	uint64_t delta, now;

	do {
		version = time->version;
		asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
		delta = ((uint64_t)high << 32 | low) - time->tsc_timestamp;
		delta = time->tsc_shift < 0 ? delta >> -time->tsc_shift
					    : delta << time->tsc_shift;
		now = time->system_time + (delta >> 32) * time->tsc_to_system_mul +
		      ((delta & 0xffffffff) * time->tsc_to_system_mul >> 32);
	} while (version & 1 || version != time->version);
	return now;
}

void xen_sleep_until_ns(uint64_t when)
{
	struct sched_poll poll = { .nr_ports = 0, .timeout = when };

	hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, (unsigned long)&poll, 0);
}

void xen_poweroff(void)
{
	struct sched_shutdown shutdown = { .reason = SHUTDOWN_poweroff };

	for (;;)
		hypercall(__HYPERVISOR_sched_op, SCHEDOP_shutdown, (unsigned long)&shutdown, 0);
}

/* ---- Division, which the compiler calls ------------------------------------------------- */

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor);
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor);
uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *rest);

uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *rest)
{
	uint64_t left, quotient = long_division(dividend, divisor, &left);

	if (rest)
		*rest = left;
	return quotient;
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
	return __udivmoddi4(dividend, divisor, 0);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
	uint64_t rest;

	__udivmoddi4(dividend, divisor, &rest);
	return rest;
}
