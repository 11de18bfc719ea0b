// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that counts how often each of its timer interrupts is delivered, and on which GS base its
 * kernel runs. It is PVH and has one vCPU. Its files besides this folder's are the tiny guest's.
 *
 * The guest computes in user mode, where the GS base is 0. Its kernel's is a variable's address.
 * Xen's timer sends an event, which arrives as an interrupt (tiny/timer.h). entry.S waits before
 * swapgs, and the kernel waits after it, with interrupts off, for 1 ms together. Then the kernel
 * asks for the next event. A processor delivers nothing during this time. QEMU 7.2 sometimes
 * delivers the same interrupt again (tests/lab/README). The CPU is in kernel mode already, so the
 * second entry does no swapgs. If it comes before the first entry's swapgs, the kernel runs on the
 * user's GS base. Linux then dies. This guest counts it and goes on: nothing in it uses GS.
 *
 * Source: Intel SDM vol. 3A §3.4.5 (descriptors), §7.7 (task state in 64-bit mode).
 */
#include "../tiny/timer.h"
#include "../tiny/tiny.h"
#include "upcall.h"

#define BUSY_NS		500000		/* in the handler, after what entry.S waits */
#define PERIOD_NS	1000000		/* from the handler's end to the next event */
#define REPORT_NS	500000000
#define STACK_BYTES	16384

#define MSR_GS_BASE		0xc0000101
#define MSR_KERNEL_GS_BASE	0xc0000102	/* what swapgs loads */

#define PTE_USER	0x04
#define PTE_FRAME	0x000ffffffffff000

/* entry.S */
void interrupt_entry(void);
_Noreturn void enter_user(void (*code)(void), char *stack_top);

void interrupt(uint64_t cs);

/* Null, code as in start.S, then those of upcall.h: data and code of user mode, task state. */
static uint64_t gdt[] = { 0, 0x00209b0000000000, 0x0000f30000000000, 0x0020fb0000000000, 0, 0 };

static struct {
	uint32_t reserved;
	uint64_t rsp[3];		/* 0: the stack of an interrupt in user mode */
	uint64_t rest[9];
	uint16_t reserved_end, io_map;
} __attribute__((packed)) task_state;

static char kernel_stack[STACK_BYTES], user_stack[STACK_BYTES];

static uint64_t nr_delivered, nr_while_off, nr_user_gs, next_report_ns;

static uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;

	asm volatile("rdmsr" : "=a" (low), "=d" (high) : "c" (msr));
	return (uint64_t)high << 32 | low;
}

static void write_msr(uint32_t msr, uint64_t value)
{
	asm volatile("wrmsr" : : "c" (msr), "a" ((uint32_t)value), "d" ((uint32_t)(value >> 32)));
}

static void busy_until_ns(uint64_t when)
{
	while (xen_time_ns(0) < when)
		;
}

static void report(void)
{
	console_text("upcall: ");
	console_number(nr_delivered);
	console_text(" interrupts, while interrupts were off: ");
	console_number(nr_while_off);
	console_text(", on the user's GS base: ");
	console_number(nr_user_gs);
	console_text("\n");
	console_flush();
}

/* CS is the interrupted code's. The kernel never turns interrupts on, so none comes from there. */
void interrupt(uint64_t cs)
{
	nr_delivered++;
	if (read_msr(MSR_GS_BASE) == 0)
		nr_user_gs++;
	if (!(cs & USER_RPL)) {
		nr_while_off++;
		return;
	}
	timer_clear();
	busy_until_ns(xen_time_ns(0) + BUSY_NS);
	if (xen_time_ns(0) >= next_report_ns) {
		next_report_ns = xen_time_ns(0) + REPORT_NS;
		report();
	}
	timer_set(PERIOD_NS);
}

/* The kernel's code segment stays the one of start.S. */
static void load_gdt(void)
{
	uint64_t base = (uint64_t)&task_state;
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = { sizeof(gdt) - 1, (uint64_t)gdt };

	task_state.rsp[0] = (uint64_t)(kernel_stack + STACK_BYTES);
	task_state.io_map = sizeof(task_state);
	gdt[TASK_STATE / 8] = (sizeof(task_state) - 1) | (base & 0xffffff) << 16 |
		0x0000890000000000 /* present, task state */ | (base >> 24 & 0xff) << 56;
	gdt[TASK_STATE / 8 + 1] = base >> 32;
	asm volatile("lgdt %0" : : "m" (pointer));
	asm volatile("ltr %w0" : : "r" (TASK_STATE));
}

/* User mode may use all of the image's pages: start.S maps them by three tables. */
static void open_pages(void)
{
	uint64_t *entry = (uint64_t *)root_table + 511;

	*entry |= PTE_USER;
	entry = (uint64_t *)(TINY_VIRT_BASE + (*entry & PTE_FRAME)) + 510;
	*entry |= PTE_USER;
	entry = (uint64_t *)(TINY_VIRT_BASE + (*entry & PTE_FRAME));
	for (unsigned i = 0; i < 8; i++) /* 16 MiB: all of the guest's memory */
		entry[i] |= PTE_USER;
	asm volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" : : : "rax", "memory");
}

static void compute(void)
{
	for (volatile uint64_t turns = 0;; turns++)
		;
}

void main(unsigned int vcpu)
{
	(void)vcpu;
	load_gdt();
	open_pages();
	write_msr(MSR_GS_BASE, (uint64_t)&nr_delivered);
	write_msr(MSR_KERNEL_GS_BASE, 0);
	timer_receive(interrupt_entry);
	timer_set(PERIOD_NS);
	enter_user(compute, user_stack + STACK_BYTES);
}
