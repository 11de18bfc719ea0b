/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Polls a Linux guest as the resolver does, and measures how soon it sees that a module is loaded
 * or unloaded.
 *
 *   follow DOMAIN MODULE CONSOLE COUNT
 *
 * The guest writes "workload: MODULE loaded" and "... unloaded" to its CONSOLE. This program prints
 * one line for each of COUNT changes. SECONDS is the time from the console's line until xtop sees
 * the change; it is negative if xtop sees the change before.
 *
 *   MODULE loaded|unloaded SECONDS
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/os/os.h"
#include "xtop/sample/control.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define FOLLOW_NAP_NS   20000000
#define FOLLOW_QUIET_NS 1500000000ULL      /* less than between two changes */
#define FOLLOW_LIMIT_NS 60000000000ULL     /* the longest time that nothing changes */
#define MODULES_FROM    0xffffffffa0000000 /* Linux Documentation/arch/x86/x86_64/mm.rst */
#define MODULES_TO      0xffffffffff000000

struct follow {
	struct os *os;
	const char *module;
	FILE *console;
	uint64_t generation; /* the space's generation at the last poll */
	bool is_seen, is_told;
	uint64_t seen_ns, told_ns; /* times of the last change */
};

static __attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("follow: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("\n", stderr);
	exit(1);
}

static bool follow_has(const struct follow *follow)
{
	const struct space *space = os_get_kernel(follow->os);
	const struct mapping *mapping;
	char name[72];

	snprintf(name, sizeof(name), "[%s]", follow->module);
	for (uint64_t at = MODULES_FROM; at < MODULES_TO; at += GUEST_PAGE_SIZE) {
		mapping = space_find(space, at);
		if (mapping && mapping->image && strcmp(mapping->image->name, name) == 0)
			return true;
	}
	return false;
}

static void follow_poll_modules(struct follow *follow, uint64_t now_ns)
{
	bool is_seen;

	if (space_generation(os_get_kernel(follow->os)) == follow->generation)
		return;
	follow->generation = space_generation(os_get_kernel(follow->os));
	is_seen = follow_has(follow);
	if (is_seen != follow->is_seen)
		follow->seen_ns = now_ns;
	follow->is_seen = is_seen;
}

static void follow_read_console(struct follow *follow, uint64_t now_ns)
{
	char line[512], loaded[96], unloaded[96];

	snprintf(loaded, sizeof(loaded), "workload: %s loaded", follow->module);
	snprintf(unloaded, sizeof(unloaded), "workload: %s unloaded", follow->module);
	clearerr(follow->console);
	while (fgets(line, sizeof(line), follow->console)) {
		bool is_told = strncmp(line, loaded, strlen(loaded)) == 0;

		if (!is_told && strncmp(line, unloaded, strlen(unloaded)) != 0)
			continue;
		follow->is_told = is_told;
		follow->told_ns = now_ns;
	}
}

static uint64_t follow_step(struct follow *follow)
{
	uint64_t now_ns;

	nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_NAP_NS }, NULL);
	now_ns = clock_now_ns();
	follow_read_console(follow, now_ns);
	os_poll(follow->os, now_ns);
	follow_poll_modules(follow, now_ns);
	return now_ns;
}

/* Waits until no change is under way, so that the first one that counts is seen as a whole. */
static void follow_wait_quiet(struct follow *follow)
{
	uint64_t begin_ns = clock_now_ns(), now_ns;

	follow->told_ns = follow->seen_ns = begin_ns;
	do
		now_ns = follow_step(follow);
	while (now_ns - follow->told_ns < FOLLOW_QUIET_NS ||
	       now_ns - follow->seen_ns < FOLLOW_QUIET_NS);
}

/* Waits until one change was both written to the console and seen. */
static void follow_measure_change(struct follow *follow)
{
	uint64_t begin_ns = clock_now_ns(), now_ns;

	follow->told_ns = follow->seen_ns = 0;
	while (!follow->told_ns || !follow->seen_ns) {
		now_ns = follow_step(follow);
		if (now_ns - begin_ns > FOLLOW_LIMIT_NS)
			die("told %d, seen %d", follow->is_told, follow->is_seen);
	}
	if (follow->is_told != follow->is_seen)
		die("told %d but seen %d", follow->is_told, follow->is_seen);
	printf("%s %s %.3f\n", follow->module, follow->is_seen ? "loaded" : "unloaded",
	       ((double)follow->seen_ns - (double)follow->told_ns) / 1e9);
}

/* Tries again and again, because a vCPU may be at a place that does not show the kernel. */
static void follow_attach(struct follow *follow, const struct guest_info *info)
{
	const struct timespec nap = { .tv_nsec = FOLLOW_NAP_NS };
	struct sample_vcpu vcpu = { .vcpu = 0 };
	uint64_t begin_ns = clock_now_ns();

	while (!os_is_known(follow->os)) {
		if (guest_get_registers(info, 0, &vcpu.regs))
			os_update(follow->os, &vcpu, clock_now_ns());
		if (clock_now_ns() - begin_ns > FOLLOW_LIMIT_NS)
			die("no Linux there");
		nanosleep(&nap, NULL);
	}
}

int main(int argc, char **argv)
{
	struct follow follow = { .os = NULL };
	struct os_settings settings = { .memory = NULL };
	struct guest_info info;

	if (argc != 5)
		die("usage: follow DOMAIN MODULE CONSOLE COUNT");
	must_or_die(guest_find(argv[1], &info));
	settings.type = info.type;
	must_or_die(guest_open_memory(info.domid, &settings.memory));
	must_or_die(control_create(&settings.control));
	must_or_die(os_create(&settings, &follow.os));
	follow.module = argv[2];
	follow.console = fopen(argv[3], "r");
	if (!follow.console)
		die("cannot open %s", argv[3]);
	follow_attach(&follow, &info);
	follow_wait_quiet(&follow);
	for (int i = 0; i < atoi(argv[4]); i++)
		follow_measure_change(&follow);
	fclose(follow.console);
	os_destroy(follow.os);
	control_destroy(settings.control);
	memory_destroy(settings.memory);
	return 0;
}
