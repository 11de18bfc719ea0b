/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can wake a vCPU; see event_channels.h.
 *
 * Linux drivers/xen/events/events_base.c keeps a list of the interrupts that are event channels:
 *
 *   xen_irq_list_head ◄─► struct irq_info ◄─► struct irq_info ◄─► back to the head
 *                         type      1 pirq, 2 virq, 3 ipi, 4 evtchn (enum xen_irq_type)
 *                         evtchn    the port; 0: none
 *                         cpu       the CPU to which the channel is bound: the vCPU's number
 *                         u         virq: its number; evtchn, from 5.12: struct xenbus_device *
 *
 * A xenbus_device has its path in xenstore, without the path of the domain: "device/vbd/51712". The
 * channels of the console and of xenstore have no device.
 */
#include "config.h"

#include "linux/event_channels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "linux/kernel/member.h"

/* range of a struct irq_info with all members that are read; it has 136 bytes in 5.10 to 7.3 */
#define EVENT_INFO_BYTES 256
#define EVENT_VIRQ_TIMER 0   /* Xen 4.17 public/xen.h VIRQ_TIMER */
#define EVENT_PATH_BYTES 32

enum event_type { EVENT_PIRQ = 1, EVENT_VIRQ, EVENT_IPI, EVENT_DOMAIN };

struct event_info {
	uint64_t next;   /* the link of the next element, or the list's head */
	uint64_t device; /* 0 if none is known */
	uint32_t port;
	uint16_t type, cpu, virq;
};

/* The first N bytes of MEMBER in BYTES, a copy of the struct. */
static uint64_t event_get(const struct layout *layout, const unsigned char *bytes,
			  enum layout_member member, size_t n)
{
	uint64_t value = 0;

	if (layout_has(layout, member))
		memcpy(&value, bytes + layout_offset(layout, member), n);
	return value;
}

/* How much of the struct is read: up to the last member in use, which has 8 bytes at most. */
static size_t event_bytes(const struct layout *layout)
{
	static const enum layout_member members[] = { IRQ_INFO_LIST, IRQ_INFO_PORT, IRQ_INFO_CPU,
						      IRQ_INFO_TYPE, IRQ_INFO_VIRQ,
						      IRQ_INFO_DEVICE };
	size_t end = 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		size_t after = layout_has(layout, members[i])
				       ? layout_offset(layout, members[i]) + sizeof(uint64_t)
				       : 0;

		end = after > end ? after : end;
	}
	return end;
}

static bool event_has_layout(const struct layout *layout)
{
	static const enum layout_member needed[] = { IRQ_INFO_LIST, IRQ_INFO_TYPE, IRQ_INFO_PORT,
						     IRQ_INFO_CPU, IRQ_INFO_VIRQ };

	return layout_has_all(layout, needed) && event_bytes(layout) <= EVENT_INFO_BYTES;
}

static bool event_read(const struct linux_guest *guest, uint64_t address, struct event_info *info)
{
	const struct layout *layout = &guest->layout;
	unsigned char bytes[EVENT_INFO_BYTES];
	size_t n = event_bytes(layout);

	if (!linux_is_kernel(address) || address % sizeof(uint64_t) ||
	    memory_read_again(guest->memory, guest->root, address, bytes, n) != n)
		return false;
	*info = (struct event_info){
		.next = event_get(layout, bytes, IRQ_INFO_LIST, 8),
		.device = event_get(layout, bytes, IRQ_INFO_DEVICE, 8),
		.port = (uint32_t)event_get(layout, bytes, IRQ_INFO_PORT, 4),
		.type = (uint16_t)event_get(layout, bytes, IRQ_INFO_TYPE, 2),
		.cpu = (uint16_t)event_get(layout, bytes, IRQ_INFO_CPU, 2),
		.virq = (uint16_t)event_get(layout, bytes, IRQ_INFO_VIRQ, 2),
	};
	return true;
}

/* Adds "vbd/51712" for the path "device/vbd/51712", or "port 5" if no device is known. */
static void event_add_name(const struct linux_guest *guest, const struct event_info *info,
			   struct os_events *events)
{
	static const char head[] = "device/";
	char path[EVENT_PATH_BYTES] = "";
	size_t n = strlen(events->names);
	const char *name = path;
	uint64_t string;

	if (info->device && member_read_pointer(guest, info->device, XENBUS_DEVICE_PATH, &string))
		memory_read_string(guest->memory, guest->root, string, path, sizeof(path));
	if (strncmp(path, head, sizeof(head) - 1) == 0)
		name += sizeof(head) - 1;
	if (!*name)
		snprintf(path, sizeof(path), "port %" PRIu32, info->port);
	snprintf(events->names + n, sizeof(events->names) - n, "%s%s", n ? ", " : "", name);
}

static void event_add(const struct linux_guest *guest, const struct event_info *info,
		      struct os_events *events)
{
	switch ((enum event_type)info->type) {
	case EVENT_PIRQ:
		events->pirqs++;
		break;
	case EVENT_VIRQ:
		if (info->virq == EVENT_VIRQ_TIMER)
			events->timer = true;
		else
			events->virqs++;
		break;
	case EVENT_IPI:
		events->ipis++;
		break;
	case EVENT_DOMAIN:
		events->domains++;
		event_add_name(guest, info, events);
		break;
	}
}

bool event_channels_read(const struct linux_guest *guest, struct os_events *events, unsigned n)
{
	uint64_t head = guest->symbols[LINUX_EVENT_CHANNELS], at;
	unsigned left = EVENT_CHANNELS_MAX;
	struct event_info info;

	memset(events, 0, n * sizeof(*events));
	if (!event_has_layout(&guest->layout) || !linux_is_kernel(head) ||
	    !linux_read_u64(guest, head, &at))
		return false;
	for (unsigned i = 0; i < n; i++)
		events[i] = (struct os_events){ .known = true };
	for (; at != head; at = info.next) {
		if (!left-- ||
		    !event_read(guest, at - layout_offset(&guest->layout, IRQ_INFO_LIST), &info)) {
			memset(events, 0, n * sizeof(*events));
			return false;
		}
		if (info.port && info.cpu < n)
			event_add(guest, &info, &events[info.cpu]);
	}
	return true;
}
