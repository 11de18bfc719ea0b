/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event channels of vCPUs in a made-up kernel, and lists that have no end. */
#include "config.h"

#include "linux/event_channels.h"

#include <string.h>

#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define N_VCPUS 2

enum { PIRQ = 1, VIRQ, IPI, DOMAIN };

static struct made_linux *made;
static uint64_t head, last; /* of the list: its head, and the link of its last entry */
static struct os_events events[N_VCPUS];

static void put(uint64_t address, uint64_t value)
{
	made_put_u64(made->memory, made->guest.root, address, value);
	memory_refresh(made->guest.memory);
}

static void begin(void)
{
	made = made_linux_create(MADE_TREE);
	head = last = made_object(made, 64, 64);
	made->guest.symbols[LINUX_EVENT_CHANNELS] = head;
	put(head, head);
}

/* A channel that is the last one of the list. UNION: number of a virq, or a device. */
static uint64_t add(unsigned type, uint32_t port, unsigned cpu, uint64_t in_union)
{
	uint64_t info = made_object(made, 256, 64),
		 link = info + made_offset(made, IRQ_INFO_LIST);

	made_set(made, info, IRQ_INFO_TYPE, type);
	made_set_u32(made, info, IRQ_INFO_PORT, port);
	made_set_u32(made, info, IRQ_INFO_CPU, cpu);
	made_set(made, info, IRQ_INFO_DEVICE, in_union);
	put(link, head);
	put(last, link);
	last = link;
	return info;
}

static uint64_t device(const char *path)
{
	uint64_t object = made_object(made, 64, 64), string = made_object(made, 128, 64);

	for (size_t i = 0; i <= strlen(path); i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, path + i,
		       strnlen(path + i, sizeof(word)));
		put(string + i, word);
	}
	made_set(made, object, XENBUS_DEVICE_PATH, string);
	return object;
}

static bool read_events(void)
{
	memset(events, 0x55, sizeof(events));
	memory_refresh(made->guest.memory);
	return event_channels_read(&made->guest, events, N_VCPUS);
}

static void test_kinds(void)
{
	begin();
	check(read_events() && events[0].known && !events[0].timer && !events[0].ipis &&
		      !events[0].names[0],
	      "an empty list gives known events without channels");
	add(VIRQ, 3, 0, 0);
	add(VIRQ, 4, 0, 1);
	add(IPI, 5, 0, 2);
	add(IPI, 6, 0, 3);
	add(IPI, 7, 1, 0);
	add(PIRQ, 8, 0, 0);
	add(DOMAIN, 2, 0, 0);
	add(DOMAIN, 9, 1, device("device/vbd/51712"));
	add(DOMAIN, 10, 1, device("device/vif/0"));
	check(read_events(), "a list of nine channels is read");
	check(events[0].timer && events[0].virqs == 1,
	      "virq 0 is the timer, and other virqs are counted");
	check(events[0].ipis == 2 && events[0].pirqs == 1 && events[0].domains == 1,
	      "two IPIs, a PIRQ and a channel of a domain are counted");
	check_string(events[0].names, "port 2", "a channel without a device has its port as name");
	check(!events[1].timer && events[1].ipis == 1 && events[1].domains == 2,
	      "the other vCPU has its own channels");
	check_string(events[1].names, "vbd/51712, vif/0", "devices have their paths as names");
	add(IPI, 11, 2, 0);
	add(IPI, 0, 1, 0);
	add(0, 12, 1, 0);
	add(77, 13, 1, 0);
	check(read_events() && events[1].ipis == 1 && events[1].domains == 2,
	      "channels of a missing vCPU, without port or with an unknown type are left out");
	made_linux_destroy(made);
}

static void test_names(void)
{
	uint64_t none = device("");

	add(DOMAIN, 5, 0, none);
	add(DOMAIN, 6, 0, 0x1234);
	add(DOMAIN, 7, 0, device("a path that is longer than any that a device of a guest has"));
	check(read_events() && events[0].domains == 3, "three channels of domains are counted");
	check_string(events[0].names, "port 5, port 6, a path that is longer than any ",
		     "channels without a path or device, or with a long path, have names");
	for (unsigned i = 0; i < 3; i++)
		add(DOMAIN, 8, 0, 0);
	check(read_events() && strlen(events[0].names) == OS_EVENTS_NAMES_BYTES - 1,
	      "names end where there is no more room");
}

static void check_unknown(const char *what)
{
	check(!read_events() && !events[0].known && !events[1].known && !events[0].ipis, "the channels are unknown: %s",
	      what);
}

static void test_lies(void)
{
	uint64_t info = add(IPI, 9, 0, 0), link = info + made_offset(made, IRQ_INFO_LIST);

	put(link, link);
	check_unknown("a list that is a knot");
	put(link, 0xffffff0000000000);
	check_unknown("an entry that cannot be read");
	put(link, 0x1000);
	check_unknown("no address of the kernel");
	put(link, head + 3);
	check_unknown("an address between two words");
	put(link, head);
	check(read_events() && events[0].ipis == 1, "a list that is whole again is read");
	made->guest.layout.values[IRQ_INFO_DEVICE] = 4096;
	check_unknown("a struct that is too long");
	made_without(made, IRQ_INFO_DEVICE);
	check(read_events() && events[0].domains == 6,
	      "a kernel that keeps no devices gives ports as names");
	made_without(made, IRQ_INFO_CPU);
	check_unknown("a kernel without such a member");
	made->guest.symbols[LINUX_EVENT_CHANNELS] = 0;
	check_unknown("a kernel that does not name the list");
}

int main(void)
{
	test_kinds();
	begin();
	test_names();
	test_lies();
	made_linux_destroy(made);
	return tap_done();
}
