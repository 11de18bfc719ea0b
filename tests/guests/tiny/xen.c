// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hypercalls, and the few Xen services that the tiny guest uses, for both flavours: the
 * start-of-day structures, the console ring, secondary vCPUs, time and sleep. Events stay masked
 * (PV starts this way, PVH keeps interrupts off), so nothing ever interrupts the work.
 *
 * Sources: Xen 4.17 public headers (named where used), docs/guest-guide/x86/hypercall-abi.rst.
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/errno.h>
#include <xen/event_channel.h>
#include <xen/memory.h>
#include <xen/sched.h>
#include <xen/vcpu.h>
#include <xen/arch-x86/cpuid.h>
#include <xen/arch-x86/hvm/start_info.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/hvm_vcpu.h>
#include <xen/hvm/params.h>
#include <xen/io/console.h>

#include "tiny.h"

#define COM1 0x3f8

/* The instruction of a hypercall. PV guests run in user mode and use syscall; PVH guests use the
   instruction of the processor's vendor. */
static enum { CALL_NONE, CALL_SYSCALL, CALL_VMCALL, CALL_VMMCALL } call_kind;

static int boot_flavour;
static const struct start_info *pv_info;		/* PV only */
static const struct hvm_start_info *pvh_info;		/* PVH only */
static evtchn_port_t console_port;

/* Number in rax, arguments in rdi, rsi, rdx, result in rax. syscall itself overwrites rcx and r11
   (hypercall-abi.rst). Not inlined, so that a sleeping vCPU is always in this function. */
__attribute__((noinline)) long hypercall(unsigned long number, unsigned long a, unsigned long b,
					unsigned long c)
{
	long result = -XEN_ENOSYS;

#define ISSUE(instruction)							\
	asm volatile(instruction						\
		     : "=a" (result), "+D" (a), "+S" (b), "+d" (c),		\
		       "+r" (stack_pointer)					\
		     : "0" (number)						\
		     : "rcx", "r8", "r9", "r10", "r11", "memory", "cc")
#ifdef TINY_HYPERCALL_PAGE
	number = (unsigned long)hypercall_page + 32 * number;
	if (call_kind != CALL_NONE)
		ISSUE("call *%%rax");
#else
	switch (call_kind) {
	case CALL_NONE:
		break;
	case CALL_SYSCALL:
		ISSUE("syscall");
		break;
	case CALL_VMCALL:
		ISSUE("vmcall");
		break;
	case CALL_VMMCALL:
		ISSUE("vmmcall");
		break;
	}
#endif
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

/* ---- Addresses: pseudo-physical <-> virtual, and PV's machine frames ------------------ */

static void *phys_to_virt(uint64_t phys)
{
	return (void *)(TINY_VIRT_BASE + phys);
}

static uint64_t virt_to_pfn(const void *virt)
{
	return ((uint64_t)virt - TINY_VIRT_BASE) >> 12;
}

static uint64_t pv_virt_to_mfn(const void *virt)
{
	return ((const uint64_t *)pv_info->mfn_list)[virt_to_pfn(virt)];
}

/* ---- Start of day -------------------------------------------------------------------- */

/* Maps Xen's shared_info, which contains the clock, in place of shared_info_page. */
static void map_shared_info(void)
{
	struct xen_add_to_physmap map = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = virt_to_pfn(shared_info_page),
	};

	if (boot_flavour == TINY_PV)
		hypercall(__HYPERVISOR_update_va_mapping, (unsigned long)shared_info_page,
			  pv_info->shared_info | 3 /* present, writable */, UVMF_INVLPG);
	else
		hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, (unsigned long)&map, 0);
}

/* Xen writes the page whose physical address a PVH guest writes to this MSR (hypercall-abi.rst). */
#ifdef TINY_HYPERCALL_PAGE
static void fill_hypercall_page(void)
{
	uint64_t page = virt_to_pfn(hypercall_page) << 12;
	uint32_t regs[4];

	cpuid(XEN_CPUID_LEAF(2), regs);
	asm volatile("wrmsr"
		     : : "c" (regs[1]), "a" ((uint32_t)page), "d" ((uint32_t)(page >> 32))
		     : "memory");
}
#endif

void xen_init(int flavour, const void *start_info)
{
	boot_flavour = flavour;
	if (flavour == TINY_PV) {
		pv_info = start_info;
		call_kind = CALL_SYSCALL;
	} else {
		pvh_info = phys_to_virt((uint64_t)start_info);
		if (cpuid_says_xen())
			call_kind = cpuid_says_amd() ? CALL_VMMCALL : CALL_VMCALL;
#ifdef TINY_HYPERCALL_PAGE
		if (xen_present())
			fill_hypercall_page();
#endif
	}
	if (xen_present())
		map_shared_info();
}

bool xen_present(void)
{
	return call_kind != CALL_NONE;
}

const char *xen_cmdline(void)
{
	if (boot_flavour == TINY_PV)
		return (const char *)pv_info->cmd_line;
	return pvh_info->cmdline_paddr ? phys_to_virt(pvh_info->cmdline_paddr) : "";
}

/* ---- Console ring (public/io/console.h) ----------------------------------------------- */

static uint64_t hvm_param(uint32_t index)
{
	struct xen_hvm_param param = { .domid = DOMID_SELF, .index = index };

	hypercall(__HYPERVISOR_hvm_op, HVMOP_get_param, (unsigned long)&param, 0);
	return param.value;
}

struct xencons_interface *xen_console_ring(void)
{
	if (boot_flavour == TINY_PV) {
		/* A machine frame, in the memory that the builder mapped. */
		uint64_t pfn = machine_to_phys_mapping[pv_info->console.domU.mfn];

		console_port = pv_info->console.domU.evtchn;
		return phys_to_virt(pfn << 12);
	}
	/* A guest frame near 4 GiB, beyond the direct map. */
	console_port = hvm_param(HVM_PARAM_CONSOLE_EVTCHN);
	fix_table[TINY_FIX_CONSOLE] = hvm_param(HVM_PARAM_CONSOLE_PFN) << 12 | 3;
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

/* ---- vCPUs (public/vcpu.h) ------------------------------------------------------------ */

char *xen_stack_top(unsigned int vcpu)
{
	uint64_t base = boot_flavour == TINY_PV ? (uint64_t)stacks : TINY_FIX_BASE;

	return (char *)(base + (vcpu + 1UL) * TINY_STACK_PAGES * 4096);
}

/* PV: public/arch-x86/xen.h. Xen's flat segments are enough; there is no GDT, LDT or trap table. */
static long initialise_pv(unsigned int vcpu)
{
	/* Too large for a stack; other members stay zero. */
	static struct vcpu_guest_context context;
	uint64_t root_mfn = pv_virt_to_mfn((void *)pv_info->pt_base);

	context.flags = VGCF_in_kernel;
	context.user_regs.rip = (unsigned long)secondary_start;
	context.user_regs.rsp = (unsigned long)xen_stack_top(vcpu);
	context.user_regs.rdi = vcpu;
	context.user_regs.cs = FLAT_KERNEL_CS;
	context.user_regs.ss = FLAT_KERNEL_SS;
	context.kernel_ss = FLAT_KERNEL_SS;
	context.kernel_sp = (unsigned long)xen_stack_top(vcpu);
	context.ctrlreg[3] = xen_pfn_to_cr3(root_mfn);
	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, vcpu,
			 (unsigned long)&context);
}

/* PVH: public/hvm/hvm_vcpu.h. Xen can start a vCPU in long mode. */
static long initialise_pvh(unsigned int vcpu)
{
	struct vcpu_hvm_context context = {
		.mode = VCPU_HVM_MODE_64B,
		.cpu_regs.x86_64 = {
			.rip = (unsigned long)secondary_start,
			.rsp = (unsigned long)xen_stack_top(vcpu),
			.rdi = vcpu,
			.rflags = 2,			/* bit 1 is always set */
			.cr0 = 0x80000001,		/* PG, PE */
			.cr3 = virt_to_pfn(root_table) << 12,
			.cr4 = 0x20,			/* PAE */
			.efer = 0x500,			/* LMA, LME */
		},
	};

	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, vcpu,
			 (unsigned long)&context);
}

bool xen_start_vcpu(unsigned int vcpu)
{
	/* Xen returns ENOENT for a number beyond the domain's vcpus=. */
	if (hypercall(__HYPERVISOR_vcpu_op, VCPUOP_is_up, vcpu, 0) < 0)
		return false;
	if ((boot_flavour == TINY_PV ? initialise_pv(vcpu) : initialise_pvh(vcpu)) < 0)
		return false;
	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_up, vcpu, 0) == 0;
}

/* ---- Time and sleep ------------------------------------------------------------------- */

/* System time, by the formula at struct vcpu_time_info in public/xen.h. Xen sets version to an odd
   number before it writes, and to an even one afterwards. */
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
		now = time->system_time +
		      (uint64_t)((unsigned __int128)delta * time->tsc_to_system_mul >> 32);
	} while (version & 1 || version != time->version);
	return now;
}

/* SCHEDOP_poll without any port blocks until this time. Unlike SCHEDOP_block it needs neither an
   event channel nor enabled upcalls. */
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
