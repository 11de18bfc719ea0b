// SPDX-License-Identifier: GPL-2.0-or-later
/* Xen's timer as an interrupt; see timer.h. */
#include "timer.h"

#include <xen/xen.h>
#include <xen/event_channel.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/params.h>
#include <xen/vcpu.h>

#include "tiny.h"

#define VECTOR 0x40
#define GATE   0x8e /* an interrupt gate, present: interrupts are off in the handler */
#define CODE   0x08 /* the code segment of start.S */

static struct gate {
	uint16_t offset_low, selector;
	uint8_t stack, type;
	uint16_t offset_middle;
	uint32_t offset_high, reserved;
} idt[VECTOR + 1];

static evtchn_port_t timer_port;

static void load_idt(uint64_t entry)
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = { sizeof(idt) - 1, (uint64_t)idt };

	idt[VECTOR] = (struct gate){ .offset_low = entry,
				     .selector = CODE,
				     .type = GATE,
				     .offset_middle = entry >> 16,
				     .offset_high = entry >> 32 };
	asm volatile("lidt %0" : : "m"(pointer));
}

void timer_receive(void (*entry)(void))
{
	struct xen_hvm_param callback = {
		.domid = DOMID_SELF,
		.index = HVM_PARAM_CALLBACK_IRQ,
		.value = (uint64_t)HVM_PARAM_CALLBACK_TYPE_VECTOR << 56 | VECTOR,
	};
	struct evtchn_bind_virq bind = { .virq = VIRQ_TIMER };

	load_idt((uint64_t)entry);
	hypercall(__HYPERVISOR_hvm_op, HVMOP_set_param, (unsigned long)&callback, 0);
	hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_virq, (unsigned long)&bind, 0);
	timer_port = bind.port;
}

void timer_set(uint64_t after_ns)
{
	struct vcpu_set_singleshot_timer timer = { .timeout_abs_ns = xen_time_ns(0) + after_ns };

	hypercall(__HYPERVISOR_vcpu_op, VCPUOP_set_singleshot_timer, 0, (unsigned long)&timer);
}

void timer_clear(void)
{
	struct shared_info *shared = (struct shared_info *)shared_info_page;

	shared->vcpu_info[0].evtchn_upcall_pending = 0;
	shared->vcpu_info[0].evtchn_pending_sel = 0;
	shared->evtchn_pending[timer_port / 64] = 0;
}
