/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that goes away and comes back, or does not: the reattacher as a thread, on a made-up
 * host. This file defines what client.c, memory.c, os.c and the resolver's thread do for it.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/reattach.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/broker.h"

#define WAIT_TRIES 2000 /* waits of 10 ms each */

struct memory {
	uint32_t domid;
};

/* The host; two threads use it, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host {
	struct guest_info domain; /* the only one; domid 0: none */
	unsigned n_finds, n_starts, n_stops, n_memories;
	unsigned refuse_starts; /* so many starts fail */
	unsigned n_finds_by_name;
	unsigned n_vcpus_built; /* each find of a domain adds a vCPU to it, up to these */
	bool is_broken; /* the broker is dead */
	uint32_t started_domid, resolver_vcpus, os_domid;
	struct ring *resolver_ring;
	bool in_order; /* the resolver was told before the os */
	bool os_knows; /* the UUID */
	int guard[2];  /* a pipe: the guard lives until its end is closed */
	const char *obstacle;
} host;

static struct {
	struct control *control;
	struct attached_guest guest;
	struct reattacher reattacher;
	pthread_t thread;
} stage;

static struct host seen(void)
{
	struct host copy;

	pthread_mutex_lock(&lock);
	copy = host;
	pthread_mutex_unlock(&lock);
	return copy;
}

/* --- stand-ins for other files ---------------------------------------------------------------- */

bool broker_is_alive(void)
{
	return !seen().is_broken;
}

struct xtop_error *guest_watch_takers(uint32_t domid, uint64_t half_life_ns, int *socketp)
{
	(void)domid, (void)half_life_ns, (void)socketp;
	return NULL;
}

struct xtop_error *guest_trace(uint32_t domid, int *socketp)
{
	(void)domid, (void)socketp;
	return NULL;
}

struct xtop_error *guest_find(const char *domain, struct guest_info *info)
{
	struct xtop_error *error = NULL;
	bool by_name;

	pthread_mutex_lock(&lock);
	by_name = strcmp(domain, host.domain.name) == 0;
	host.n_finds++;
	host.n_finds_by_name += strncmp(domain, "u-", 2) != 0;
	if (host.domain.domid && (by_name || strcmp(domain, host.domain.uuid) == 0)) {
		*info = host.domain;
		host.domain.n_vcpus += host.domain.n_vcpus < host.n_vcpus_built;
	} else {
		error = error_create("no domain '%s'", domain);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

struct xtop_error *guest_open_memory(uint32_t domid, struct memory **memoryp)
{
	*memoryp = malloc(sizeof(**memoryp));
	(*memoryp)->domid = domid;
	pthread_mutex_lock(&lock);
	host.n_memories++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

void memory_destroy(struct memory *memory)
{
	pthread_mutex_lock(&lock);
	host.n_memories--;
	pthread_mutex_unlock(&lock);
	free(memory);
}

void memory_refresh(struct memory *memory)
{
	(void)memory;
}

static void open_guard(void)
{
	if (pipe(host.guard) < 0)
		abort();
}

struct xtop_error *guard_start(const struct guest_info *info, struct control *of, struct ring *ring,
			       struct guest_process *process)
{
	bool refused;

	(void)ring;
	pthread_mutex_lock(&lock);
	host.n_starts++;
	refused = host.refuse_starts && host.refuse_starts--;
	if (!refused) {
		open_guard();
		process->end_fd = host.guard[0];
		host.started_domid = info->domid;
	}
	pthread_mutex_unlock(&lock);
	if (refused)
		return error_create("refused");
	control_set_state(of, SAMPLER_RUNNING);
	return NULL;
}

bool guard_is_alive(const struct guest_process *process)
{
	return process->end_fd >= 0;
}

void guard_stop(struct guest_process *process, struct control *of)
{
	control_quit(of);
	close(process->end_fd);
	process->end_fd = -1;
	pthread_mutex_lock(&lock);
	host.n_stops++;
	pthread_mutex_unlock(&lock);
}

void resolver_call(struct resolver *resolver, void (*call)(void *context), void *context)
{
	(void)resolver;
	call(context);
}

void resolver_switch_guest(struct resolver *resolver, struct ring *ring, unsigned n_vcpus)
{
	(void)resolver;
	pthread_mutex_lock(&lock);
	host.resolver_ring = ring;
	host.resolver_vcpus = n_vcpus;
	pthread_mutex_unlock(&lock);
}

void os_switch(struct os *os, struct memory *memory, enum guest_type type, const char *uuid)
{
	(void)os, (void)type;
	pthread_mutex_lock(&lock);
	host.in_order = host.resolver_vcpus != 0;
	host.os_domid = memory->domid;
	host.os_knows = strcmp(uuid, host.domain.uuid) == 0;
	pthread_mutex_unlock(&lock);
}

/* --- scenes ----------------------------------------------------------------------------------- */

static void nap(void)
{
	struct timespec ten_ms = { .tv_nsec = 10000000 };

	nanosleep(&ten_ms, NULL);
}

static void set_domain(const char *name, const char *uuid, uint32_t domid, unsigned n_vcpus)
{
	pthread_mutex_lock(&lock);
	host.domain = (struct guest_info){ .domid = domid, .n_vcpus = n_vcpus };
	snprintf(host.domain.name, sizeof(host.domain.name), "%s", name);
	snprintf(host.domain.uuid, sizeof(host.domain.uuid), "%s", uuid);
	pthread_mutex_unlock(&lock);
}

static unsigned finds(void)
{
	return seen().n_finds;
}

static void *run(void *context)
{
	reattach_run(context);
	return NULL;
}

/* web01, domain 5, is sampled. */
static void begin(struct reattach_settings settings)
{
	host = (struct host){ .obstacle = "vmlinux" };
	set_domain("web01", "u-web01", 5, 2);
	open_guard();
	must(control_create(&stage.control));
	control_set_state(stage.control, SAMPLER_RUNNING);
	stage.guest = (struct attached_guest){ .info = host.domain, .started = true };
	stage.guest.process.end_fd = host.guard[0];
	must(guest_open_memory(5, &stage.guest.memory));
	must(ring_create(sampler_ring_bytes(2, control_get_rate(stage.control)),
			 &stage.guest.ring));
	settings.control = stage.control;
	must(reattach_init(&stage.reattacher, &settings, &stage.guest));
	if (pthread_create(&stage.thread, NULL, run, &stage.reattacher))
		abort();
}

static void join(void)
{
	reattach_quit(&stage.reattacher);
	pthread_join(stage.thread, NULL);
}

static void end(const char *what)
{
	reattach_deinit(&stage.reattacher);
	memory_destroy(stage.guest.memory);
	ring_destroy(stage.guest.ring);
	if (stage.guest.started)
		close(stage.guest.process.end_fd);
	check_u64(seen().n_memories, 0, what);
	control_destroy(stage.control);
}

static void guard_ends(enum sampler_state state, enum guest_end ending)
{
	struct sampler_counts counts;

	control_get_counts(stage.control, &counts);
	counts.ending = ending;
	counts.state = state;
	control_set_counts(stage.control, &counts);
	close(seen().guard[1]);
}

static enum sampler_state state(void)
{
	struct sampler_counts counts;

	control_get_counts(stage.control, &counts);
	return counts.state;
}

static bool becomes(enum sampler_state wanted)
{
	for (unsigned i = 0; i < WAIT_TRIES && state() != wanted; i++)
		nap();
	return state() == wanted;
}

static bool tells(const char *text)
{
	char note[REATTACH_NOTE_BYTES];
	struct guest_info info;

	for (unsigned i = 0; i < WAIT_TRIES; i++) {
		reattach_get_status(&stage.reattacher, &info, note);
		if (strcmp(note, text) == 0 || (*text && strncmp(note, text, strlen(text)) == 0))
			return true;
		nap();
	}
	printf("# \"%s\", not \"%s\"\n", note, text);
	return false;
}

static void wait_for_finds(unsigned n)
{
	unsigned from = finds();

	for (unsigned i = 0; i < WAIT_TRIES && finds() < from + n; i++)
		nap();
}

static void test_quits(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	join();
	check(state() == SAMPLER_RUNNING && !seen().n_finds && stage.guest.started,
	      "told to quit: quits");
	end("told to quit: memories left");
}

static void test_ended(enum sampler_state how, const char *what)
{
	begin((struct reattach_settings){ .name = "web01" });
	control_set_message(stage.control, "why");
	guard_ends(how, GUEST_END_UNKNOWN);
	pthread_join(stage.thread, NULL);
	check(state() == how && !seen().n_finds, "%s: stays so", what);
	end(what);
}

static void test_killed(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	guard_ends(SAMPLER_RUNNING, GUEST_END_UNKNOWN);
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_FAILED &&
		      strstr(control_get_message(stage.control), "other processes were killed"),
	      "nobody says how it ended: \"%s\"", control_get_message(stage.control));
	end("killed: memories left");
}

static void test_reboot(void)
{
	struct guest_info info;
	char note[REATTACH_NOTE_BYTES];

	begin((struct reattach_settings){ .name = "web01" });
	set_domain("", "", 0, 0);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	check(tells("web01 reboots, waiting for its return"),
	      "reboot: the note says that the guest reboots");
	wait_for_finds(4);
	check(state() == SAMPLER_GUEST_AWAY && seen().n_stops == 1 && !seen().n_starts,
	      "reboot: its guard is given back, none started");
	set_domain("web01", "u-web01", 7, 3);
	check(becomes(SAMPLER_RUNNING), "back: the guest is sampled");
	check(tells("web01 is back as domain 7 after "),
	      "back: the note says that the guest is back");
	reattach_get_status(&stage.reattacher, &info, note);
	check(info.domid == 7 && info.n_vcpus == 3, "back: main knows the new domain");
	check(seen().started_domid == 7 && seen().os_domid == 7 && seen().resolver_vcpus == 3 &&
		      seen().in_order && seen().resolver_ring,
	      "back: all know");
	check(!control_is_quitting(stage.control), "back: the quit flag is taken back");
	/* and again, with another UUID */
	set_domain("", "", 0, 0);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_UNKNOWN);
	check(tells("web01 is gone"), "destroyed: the note says that the guest is gone");
	set_domain("web01", "u-another", 9, 2);
	check(becomes(SAMPLER_RUNNING) && seen().started_domid == 9 && seen().os_knows,
	      "found by its name");
	check(tells("web01 is back as domain 9 after "),
	      "found by name: the note says that the guest is back");
	join();
	check(state() == SAMPLER_RUNNING && stage.guest.started && stage.guest.info.domid == 9,
	      "found by name: a quit leaves the guest sampled");
	end("reboot: memories left");
}

/* While a domain is built its vCPUs come one by one. */
static void test_built(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	set_domain("", "", 0, 0);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_CRASH);
	check(tells("web01 has crashed, waiting for its return"),
	      "crash: the note says that the guest has crashed");
	pthread_mutex_lock(&lock);
	host.n_vcpus_built = 4;
	pthread_mutex_unlock(&lock);
	set_domain("web01", "u-web01", 8, 1);
	check(becomes(SAMPLER_RUNNING) && seen().resolver_vcpus == 4,
	      "build: the guest is sampled once all vCPUs are there");
	join();
	end("built: memories left");
}

/* Migrated to this host: the memory comes before the name. */
static void test_migrated(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	set_domain("web01--incoming", "u-web01", 6, 2);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_SUSPEND);
	wait_for_finds(4);
	check(state() == SAMPLER_GUEST_AWAY && !seen().n_starts,
	      "migration: nothing is sampled while memory is copied");
	set_domain("web01", "u-web01", 6, 2);
	check(becomes(SAMPLER_RUNNING) && seen().started_domid == 6,
	      "migration: the guest is sampled");
	check(tells("web01 is back as domain 6"), "migration: the guest has its own name again");
	join();
	end("migrated: memories left");
}

static void test_larger(void)
{
	size_t before_bytes;

	begin((struct reattach_settings){ .name = "web01" });
	before_bytes = ring_size_bytes(stage.guest.ring);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_SUSPEND);
	set_domain("web01", "u-web01", 6, GUEST_MAX_VCPUS);
	check(becomes(SAMPLER_RUNNING), "more vCPUs: the guest is sampled");
	join();
	check(ring_size_bytes(stage.guest.ring) > before_bytes &&
		      seen().resolver_ring == stage.guest.ring &&
		      ring_size_bytes(stage.guest.ring) >=
			      sampler_ring_bytes(GUEST_MAX_VCPUS, RATE_MIN_HZ),
	      "larger: a ring for %u vCPUs", GUEST_MAX_VCPUS);
	end("larger: memories left");
}

/* A guest that was suspended and resumed is the same domain. */
static void test_resumed(void)
{
	begin((struct reattach_settings){ .name = NULL });
	set_domain("web02", "u-web01", 5, 2);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_SUSPEND);
	check(becomes(SAMPLER_RUNNING) && seen().started_domid == 5,
	      "resume: the guest is sampled");
	check(tells("web02 is back as domain 5"), "resume: the guest has its new name");
	join();
	end("resumed: memories left");
}

static void test_no_name(void)
{
	begin((struct reattach_settings){ .name = NULL });
	set_domain("web01", "u-another", 9, 2);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	wait_for_finds(4);
	join();
	check(state() == SAMPLER_GUEST_GONE && !seen().n_starts && !seen().n_finds_by_name,
	      "asked for by its number: no other of that name");
	end("by number: memories left");
}

static void test_refused(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	pthread_mutex_lock(&lock);
	host.refuse_starts = 2;
	pthread_mutex_unlock(&lock);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	check(becomes(SAMPLER_RUNNING) && seen().n_starts == 3,
	      "refusal: the guest is sampled at the third try");
	join();
	end("refused: memories left");
}

static void test_stays(void)
{
	begin((struct reattach_settings){ .name = "web01", .ends = true });
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_GUEST_GONE && !seen().n_finds && tells(""),
	      "a recording is of one boot");
	end("recording: memories left");
}

static void test_bounds(void)
{
	uint64_t from_ns;

	begin((struct reattach_settings){ .name = "web01", .bound_ns = REATTACH_BOUND_NS });
	set_domain("", "", 0, 0);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_POWEROFF);
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_GUEST_GONE && !seen().n_finds && tells("web01 has shut down"),
	      "nobody waits for one that was shut down");
	end("shut down: memories left");
	begin((struct reattach_settings){ .name = "web01", .bound_ns = 700000000 });
	set_domain("", "", 0, 0);
	from_ns = clock_now_ns();
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_UNKNOWN);
	check(tells("web01 is gone, waiting for its return"),
	      "bound: the note says that the guest is awaited");
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_GUEST_GONE && seen().n_finds >= 2,
	      "bound: the reattacher looks several times");
	check(clock_now_ns() - from_ns < REATTACH_BOUND_NS / 2, "bound: the wait ends");
	end("bound: memories left");
}

static void test_broker_killed(void)
{
	begin((struct reattach_settings){ .name = "web01" });
	pthread_mutex_lock(&lock);
	host.is_broken = true;
	pthread_mutex_unlock(&lock);
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_FAILED &&
		      strstr(control_get_message(stage.control), "broker was killed"),
	      "broker killed while the guest is away: \"%s\"", control_get_message(stage.control));
	end("broker killed: memories left");
}

/* Guard and sampler hung: others are started, at most three times a minute. */
static void test_hangs(void)
{
	struct sampler_counts counts;

	begin((struct reattach_settings){ .name = "web01" });
	control_set_budget(stage.control, 1);
	for (unsigned i = 1; i <= RESTARTS_MAX; i++) {
		guard_ends(SAMPLER_HUNG, GUEST_END_UNKNOWN);
		check(becomes(SAMPLER_RUNNING) && seen().n_starts == i && seen().started_domid == 5,
		      "hang %u: another guard", i);
	}
	guard_ends(SAMPLER_HUNG, GUEST_END_UNKNOWN);
	pthread_join(stage.thread, NULL);
	control_get_counts(stage.control, &counts);
	check(state() == SAMPLER_FAILED && strstr(control_get_message(stage.control), "hung"),
	      "hangs again: \"%s\"", control_get_message(stage.control));
	check_u64(counts.restarts, RESTARTS_MAX, "hang: all allowed restarts were used");
	end("hangs: memories left");
	begin((struct reattach_settings){ .name = "web01" });
	control_set_budget(stage.control, 0.001);
	guard_ends(SAMPLER_HUNG, GUEST_END_UNKNOWN);
	for (unsigned i = 0; i < WAIT_TRIES && !seen().n_stops; i++)
		nap();
	join();
	check(state() == SAMPLER_ENDED && !seen().n_starts,
	      "hang: a quit during the rest ends sampling");
	end("hangs, quits: memories left");
}

static struct xtop_error *obstacle(void *context)
{
	(void)context;
	return error_create("%s is of another build", seen().obstacle);
}

static void test_other_build(void)
{
	begin((struct reattach_settings){ .name = "web01", .check = obstacle });
	guard_ends(SAMPLER_GUEST_AWAY, GUEST_END_REBOOT);
	pthread_join(stage.thread, NULL);
	check(state() == SAMPLER_FAILED && seen().n_stops == 2 && !stage.guest.started &&
		      strstr(control_get_message(stage.control), "vmlinux is of another build"),
	      "another build: \"%s\"", control_get_message(stage.control));
	end("another build: memories left");
}

int main(void)
{
	test_quits();
	test_ended(SAMPLER_FAILED, "failed");
	test_ended(SAMPLER_ENDED, "ended");
	test_killed();
	test_reboot();
	test_built();
	test_migrated();
	test_larger();
	test_resumed();
	test_no_name();
	test_refused();
	test_stays();
	test_bounds();
	test_broker_killed();
	test_hangs();
	test_other_build();
	return tap_done();
}
