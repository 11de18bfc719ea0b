// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A main() for the tiny guest (graph.c has the other): it exits to Xen beat=HZ times a second, by
 * Xen's clock, each time from a known function. A hundred exits are 39 CPUID, 30 writes of an MSR,
 * 20 reads of a port, ten hypercalls and one HLT. In between it works, and counts how much. Once in
 * a second the console tells all numbers since the start:
 *
 *   tiny: exits 1000 ms 1001 cpuid 390 msr 300 port 200 call 100 work 20113 halt 10
 *
 * What the work loses while Xen traces is what tracing costs the guest. If exits take longer than
 * their period, the guest makes as many as it can.
 *
 * HLT ends with an event of Xen's timer, which arrives as an interrupt. Interrupts are on during
 * HLT alone. So the timer is one more hypercall for each HLT, and the interrupt may be an exit, too.
 *
 * Source: Intel SDM vol. 3A §6.14.2 (an interrupt that does not change the level keeps its stack).
 */
#include <stddef.h>
#include <stdint.h> /* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/version.h>

#include "timer.h"
#include "tiny.h"

#define CPUID_LEAF 0x80000002 /* the processor's name */
#define EFER       0xc0000080
#define PORT       0x3f8
#define SPIN       20 /* iterations of one unit of work */
#define HALT_NS    20000

#define WORK static __attribute__((noipa))

volatile uint64_t heartbeat[TINY_MAX_VCPUS];

static struct {
	uint64_t cpuid, msr, port, call, work, halt;
} done;
static uint32_t efer;

/*
 * Without this Xen would deliver the event again. evtchn_upcall_pending of vCPU 0 is the first byte
 * of the page.
 */
void timer_entry(void);
asm(".pushsection .text\n"
    "timer_entry:\n"
    "	movb $0, shared_info_page(%rip)\n"
    "	iretq\n"
    ".popsection");
_Static_assert(offsetof(struct shared_info, vcpu_info[0].evtchn_upcall_pending) == 0, "");

WORK void ask_cpuid(void)
{
	uint32_t a = CPUID_LEAF, b, c = 0, d;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d), "+r"(stack_pointer));
	done.cpuid++;
}

WORK void write_msr(void)
{
	asm volatile("wrmsr" : "+r"(stack_pointer) : "c"(EFER), "a"(efer), "d"(0) : "memory");
	done.msr++;
}

WORK void read_port(void)
{
	uint8_t byte;

	asm volatile("inb %w2, %0" : "=a"(byte), "+r"(stack_pointer) : "d"(PORT));
	done.port++;
}

WORK void call_xen(void)
{
	hypercall(__HYPERVISOR_xen_version, XENVER_version, 0, 0);
	done.call++;
}

WORK void halt(void)
{
	timer_clear();
	timer_set(HALT_NS);
	asm volatile("sti; hlt; cli" : "+r"(stack_pointer) : : "memory");
	done.halt++;
}

WORK void work_until(unsigned int vcpu, uint64_t until_ns)
{
	while (xen_time_ns(vcpu) < until_ns) {
		for (unsigned int i = 0; i < SPIN; i++)
			asm volatile("" : "+r"(stack_pointer));
		done.work++;
	}
}

WORK void exit_once(uint64_t number)
{
	static void (*const exits[])(void) = {
		ask_cpuid, write_msr, read_port, ask_cpuid, write_msr,
		call_xen,  ask_cpuid, write_msr, read_port, ask_cpuid,
	};

	if (number % 100 == 99)
		halt();
	else
		exits[number % 10]();
}

static void put(const char *name, uint64_t number)
{
	console_text(name);
	console_number(number);
}

WORK void report(uint64_t n, uint64_t ms)
{
	put("tiny: exits ", n);
	put(" ms ", ms);
	put(" cpuid ", done.cpuid);
	put(" msr ", done.msr);
	put(" port ", done.port);
	put(" call ", done.call);
	put(" work ", done.work);
	put(" halt ", done.halt);
	console_text("\n");
	console_flush();
}

void main(unsigned int vcpu)
{
	uint64_t period_ns = 1000000000 / (options.beat_hz ? options.beat_hz : 1000);
	uint64_t next_ns = xen_time_ns(vcpu), second_ns = next_ns, begin_ns = next_ns, now_ns;
	uint32_t high;

	timer_receive(timer_entry);
	asm volatile("rdmsr" : "=a"(efer), "=d"(high) : "c"(EFER));
	for (uint64_t n = 0;; n++) {
		heartbeat[vcpu]++;
		exit_once(n);
		next_ns += period_ns;
		work_until(vcpu, next_ns);
		now_ns = xen_time_ns(vcpu);
		if (now_ns > next_ns + 100000000)
			next_ns = now_ns; /* the guest was paused, or cannot do as much */
		if (now_ns < second_ns + 1000000000)
			continue;
		second_ns = now_ns;
		report(n + 1, (now_ns - begin_ns) / 1000000);
	}
}
