/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event channels of vCPUs in a made-up kernel, and lists that have no end. */
#include "config.h"

#include "linux/event_channels.h"

#include <string.h>

#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define N_VCPUS 2

enum { PIRQ = 1, VIRQ, IPI, DOMAIN };

struct fixture {
	struct made_linux *made;
	uint64_t head, last; /* head of the list, and link of its last entry */
	struct os_events events[N_VCPUS];
};

static void put(struct fixture *fixture, uint64_t address, uint64_t value)
{
	made_put_u64(fixture->made->memory, fixture->made->guest.root, address, value);
	memory_refresh(fixture->made->guest.memory);
}

static void begin(struct fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
	fixture->head = fixture->last = made_object(fixture->made, 64, 64);
	fixture->made->guest.symbols[LINUX_EVENT_CHANNELS] = fixture->head;
	put(fixture, fixture->head, fixture->head);
}

/* A channel that is the last one of the list. UNION: number of a virq, or a device. */
static uint64_t add(struct fixture *fixture, unsigned type, uint32_t port, unsigned cpu,
		    uint64_t in_union)
{
	uint64_t info = made_object(fixture->made, 256, 64),
		 link = info + made_offset(fixture->made, IRQ_INFO_LIST);

	made_set(fixture->made, info, IRQ_INFO_TYPE, type);
	made_set_u32(fixture->made, info, IRQ_INFO_PORT, port);
	made_set_u32(fixture->made, info, IRQ_INFO_CPU, cpu);
	made_set(fixture->made, info, IRQ_INFO_DEVICE, in_union);
	put(fixture, link, fixture->head);
	put(fixture, fixture->last, link);
	fixture->last = link;
	return info;
}

static uint64_t device(struct fixture *fixture, const char *path)
{
	uint64_t object = made_object(fixture->made, 64, 64),
		 string = made_object(fixture->made, 128, 64);

	for (size_t i = 0; i <= strlen(path); i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, path + i,
		       strnlen(path + i, sizeof(word)));
		put(fixture, string + i, word);
	}
	made_set(fixture->made, object, XENBUS_DEVICE_PATH, string);
	return object;
}

static bool read_events(struct fixture *fixture)
{
	memset(fixture->events, 0x55, sizeof(fixture->events));
	memory_refresh(fixture->made->guest.memory);
	return event_channels_read(&fixture->made->guest, fixture->events, N_VCPUS);
}

static void test_kinds(struct fixture *fixture)
{
	begin(fixture);
	check(read_events(fixture) && fixture->events[0].known && !fixture->events[0].timer &&
		      !fixture->events[0].ipis && !fixture->events[0].names[0],
	      "an empty list gives known events without channels");
	add(fixture, VIRQ, 3, 0, 0);
	add(fixture, VIRQ, 4, 0, 1);
	add(fixture, IPI, 5, 0, 2);
	add(fixture, IPI, 6, 0, 3);
	add(fixture, IPI, 7, 1, 0);
	add(fixture, PIRQ, 8, 0, 0);
	add(fixture, DOMAIN, 2, 0, 0);
	add(fixture, DOMAIN, 9, 1, device(fixture, "device/vbd/51712"));
	add(fixture, DOMAIN, 10, 1, device(fixture, "device/vif/0"));
	check(read_events(fixture), "a list of nine channels is read");
	check(fixture->events[0].timer && fixture->events[0].virqs == 1,
	      "virq 0 is the timer, and other virqs are counted");
	check(fixture->events[0].ipis == 2 && fixture->events[0].pirqs == 1 &&
		      fixture->events[0].domains == 1,
	      "two IPIs, a PIRQ and a channel of a domain are counted");
	check_string(fixture->events[0].names, "port 2",
		     "a channel without a device has its port as name");
	check(!fixture->events[1].timer && fixture->events[1].ipis == 1 &&
		      fixture->events[1].domains == 2,
	      "the other vCPU has its own channels");
	check_string(fixture->events[1].names, "vbd/51712, vif/0",
		     "devices have their paths as names");
	add(fixture, IPI, 11, 2, 0);
	add(fixture, IPI, 0, 1, 0);
	add(fixture, 0, 12, 1, 0);
	add(fixture, 77, 13, 1, 0);
	check(read_events(fixture) && fixture->events[1].ipis == 1 &&
		      fixture->events[1].domains == 2,
	      "channels of a missing vCPU, without port or with an unknown type are left out");
	made_linux_destroy(fixture->made);
}

static void test_names(struct fixture *fixture)
{
	uint64_t none = device(fixture, "");

	add(fixture, DOMAIN, 5, 0, none);
	add(fixture, DOMAIN, 6, 0, 0x1234);
	add(fixture, DOMAIN, 7, 0,
	    device(fixture, "a path that is longer than any that a device of a guest has"));
	check(read_events(fixture) && fixture->events[0].domains == 3,
	      "three channels of domains are counted");
	check_string(fixture->events[0].names, "port 5, port 6, a path that is longer than any ",
		     "channels without a path or device, or with a long path, have names");
	for (unsigned i = 0; i < 3; i++)
		add(fixture, DOMAIN, 8, 0, 0);
	check(read_events(fixture) && strlen(fixture->events[0].names) == OS_EVENTS_NAMES_BYTES - 1,
	      "names end where there is no more room");
}

static void check_unknown(struct fixture *fixture, const char *what)
{
	check(!read_events(fixture) && !fixture->events[0].known && !fixture->events[1].known &&
		      !fixture->events[0].ipis,
	      "the channels are unknown: %s", what);
}

static void test_lies(struct fixture *fixture)
{
	uint64_t info = add(fixture, IPI, 9, 0, 0),
		 link = info + made_offset(fixture->made, IRQ_INFO_LIST);

	put(fixture, link, link);
	check_unknown(fixture, "a list that is a knot");
	put(fixture, link, 0xffffff0000000000);
	check_unknown(fixture, "an entry that cannot be read");
	put(fixture, link, 0x1000);
	check_unknown(fixture, "no address of the kernel");
	put(fixture, link, fixture->head + 3);
	check_unknown(fixture, "an address between two words");
	put(fixture, link, fixture->head);
	check(read_events(fixture) && fixture->events[0].ipis == 1,
	      "a list that is whole again is read");
	fixture->made->guest.layout.values[IRQ_INFO_DEVICE] = 4096;
	check_unknown(fixture, "a struct that is too long");
	made_without(fixture->made, IRQ_INFO_DEVICE);
	check(read_events(fixture) && fixture->events[0].domains == 6,
	      "a kernel that keeps no devices gives ports as names");
	made_without(fixture->made, IRQ_INFO_CPU);
	check_unknown(fixture, "a kernel without such a member");
	fixture->made->guest.symbols[LINUX_EVENT_CHANNELS] = 0;
	check_unknown(fixture, "a kernel that does not name the list");
}

int main(void)
{
	static struct fixture fixture;

	test_kinds(&fixture);
	begin(&fixture);
	test_names(&fixture);
	test_lies(&fixture);
	made_linux_destroy(fixture.made);
	return tap_done();
}
