// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that counts how often each of its timer interrupts is delivered. It is PVH and has one
 * vCPU. Its files besides this one are the tiny guest's.
 *
 * Xen's timer sends an event, which arrives as an interrupt with the vector VECTOR. The handler
 * keeps interrupts off for 1 ms, then asks for the next event. A processor delivers nothing during
 * this time. QEMU 7.2 sometimes delivers the same interrupt again (tests/lab/README), and a Linux
 * guest then dies if the interrupt comes between the first instruction of an entry and its swapgs.
 *
 * Sources: Xen 4.17 public/vcpu.h, public/event_channel.h, public/hvm/params.h; Intel SDM vol. 3A
 * §6.14.1 (gates in 64-bit mode).
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/event_channel.h>
#include <xen/vcpu.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/params.h>

#include "../tiny/tiny.h"

#define VECTOR		0x40
#define CODE_SELECTOR	8		/* of start.S */
#define GATE_INTERRUPT	0x8e		/* present, interrupts are off in the handler */
#define BUSY_NS		1000000		/* in the handler, and again until the next event */
#define REPORT_NS	500000000

struct interrupt_frame;

struct gate {
	uint16_t offset_low, selector;
	uint8_t stack, type;
	uint16_t offset_middle;
	uint32_t offset_high, reserved;
};

static struct gate idt[VECTOR + 1];

static evtchn_port_t timer_port;
static volatile bool in_handler;
static volatile uint64_t nr_delivered, nr_while_off;

static void busy_until_ns(uint64_t when)
{
	while (xen_time_ns(0) < when)
		;
}

/* Xen delivers the interrupt only if it has set these flags. */
static void clear_pending(void)
{
	struct shared_info *shared = (struct shared_info *)shared_info_page;

	shared->vcpu_info[0].evtchn_upcall_pending = 0;
	shared->vcpu_info[0].evtchn_pending_sel = 0;
	shared->evtchn_pending[timer_port / 64] = 0;
}

static void set_timer(void)
{
	struct vcpu_set_singleshot_timer timer = {
		.timeout_abs_ns = xen_time_ns(0) + BUSY_NS,
	};

	hypercall(__HYPERVISOR_vcpu_op, VCPUOP_set_singleshot_timer, 0, (unsigned long)&timer);
}

static __attribute__((interrupt)) void handler(struct interrupt_frame *frame)
{
	(void)frame;
	nr_delivered++;
	if (in_handler) {
		nr_while_off++;
		return;
	}
	in_handler = true;
	clear_pending();
	busy_until_ns(xen_time_ns(0) + BUSY_NS);
	set_timer();
	in_handler = false;
}

static void load_idt(void)
{
	uint64_t offset = (uint64_t)handler;
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = { sizeof(idt) - 1, (uint64_t)idt };

	idt[VECTOR] = (struct gate){
		.offset_low = offset, .selector = CODE_SELECTOR, .type = GATE_INTERRUPT,
		.offset_middle = offset >> 16, .offset_high = offset >> 32,
	};
	asm volatile("lidt %0" : : "m" (pointer));
}

static void receive_timer(void)
{
	struct xen_hvm_param callback = {
		.domid = DOMID_SELF,
		.index = HVM_PARAM_CALLBACK_IRQ,
		.value = (uint64_t)HVM_PARAM_CALLBACK_TYPE_VECTOR << 56 | VECTOR,
	};
	struct evtchn_bind_virq bind = { .virq = VIRQ_TIMER };

	hypercall(__HYPERVISOR_hvm_op, HVMOP_set_param, (unsigned long)&callback, 0);
	hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_virq, (unsigned long)&bind, 0);
	timer_port = bind.port;
}

static void report(void)
{
	console_text("upcall: ");
	console_number(nr_delivered);
	console_text(" interrupts, while interrupts were off: ");
	console_number(nr_while_off);
	console_text("\n");
	console_flush();
}

void main(unsigned int vcpu)
{
	(void)vcpu;
	load_idt();
	receive_timer();
	set_timer();
	asm volatile("sti");
	for (;;) {
		busy_until_ns(xen_time_ns(0) + REPORT_NS);
		report();
	}
}
