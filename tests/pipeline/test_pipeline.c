/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live pipeline from the broker to snapshots. All its processes and threads are real; Xen is made
 * up (made_xen.h). The guest reboots, the sampler hangs, and all processes are killed.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/pipeline/made_xen.h"
#include "tests/support/children.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/thread.h"
#include "xtop/cli/options.h"
#include "xtop/memory/memory.h"
#include "xtop/pipeline/pipeline.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/broker.h"

#define WAIT_TRIES 3000 /* waits of 10 ms each */

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* --- scenes ----------------------------------------------------------------------------------- */

static struct options options;
static struct pipeline *pipeline;

static struct sampler_counts counts_now(void)
{
	struct sampler_counts counts;

	control_get_counts(pipeline_control(pipeline), &counts);
	return counts;
}

static bool becomes(enum sampler_state state)
{
	for (unsigned i = 0; i < WAIT_TRIES && counts_now().state != state; i++)
		nap();
	return counts_now().state == state;
}

static bool more_samples_than(uint64_t samples)
{
	for (unsigned i = 0; i < WAIT_TRIES && counts_now().samples <= samples; i++)
		nap();
	return counts_now().samples > samples;
}

static bool tells(const char *text)
{
	for (unsigned i = 0; i < WAIT_TRIES; i++) {
		if (strstr(pipeline_get_message(pipeline), text))
			return true;
		nap();
	}
	printf("# \"%s\", not \"%s\"\n", pipeline_get_message(pipeline), text);
	return false;
}

static struct snapshot *snapshot_now(void)
{
	struct snapshot *snapshot = NULL;

	snapshot_request(pipeline_slot(pipeline));
	for (unsigned i = 0; i < WAIT_TRIES && !snapshot; i++) {
		nap();
		snapshot = snapshot_take(pipeline_slot(pipeline));
	}
	return snapshot;
}

static void begin(void)
{
	static const struct host_files files = { 0 };
	static const char *const domains[] = { "web01", "slow" };
	static const struct broker_settings settings = {
		.run = made_xen_run, .domains = domains, .n_domains = 2, .budget = 1, .shared = true
	};
	static const char *const arguments[] = { "xtop", "-d",       "web01", "-F",
						 "200",  "--budget", "100" };

	made_xen_begin();
	must(options_parse(sizeof(arguments) / sizeof(arguments[0]), (char **)(uintptr_t)arguments,
			   &options));
	must(broker_start(&settings));
	must(pipeline_create(&options, &files, "web01", &pipeline));
	must(pipeline_start(pipeline));
	check(more_samples_than(10), "start: samples are taken");
}

/* The failure and the counts can be asked for afterwards. */
static void stop(void)
{
	must(pipeline_stop(pipeline));
}

static void end(const char *what)
{
	pipeline_destroy(pipeline);
	broker_stop();
	options_deinit(&options);
	check_u64((uint64_t)made_xen_pauses(), 0, what);
}

static void test_reboot(void)
{
	struct snapshot *before, *after;
	struct xtop_error *verdict;

	begin();
	before = snapshot_now();
	xen->end = GUEST_END_REBOOT;
	xen->domid = 0;
	check(tells("web01 reboots, waiting for its return"),
	      "reboot: the note says that the guest reboots");
	check(counts_now().state == SAMPLER_GUEST_AWAY, "reboot: the state is GUEST_AWAY");
	after = snapshot_now();
	check(after != NULL, "reboot: a snapshot can be taken while the guest is away");
	snapshot_destroy(after);
	xen->n_vcpus = 3;
	xen->domid = 7;
	check(tells("web01 is back as domain 7 after "),
	      "back: the note says that the guest is back");
	check(becomes(SAMPLER_RUNNING), "back: the guest is sampled");
	check(more_samples_than(counts_now().samples + 20), "back: more samples come");
	check(pipeline_guest(pipeline)->domid == 7 && pipeline_guest(pipeline)->n_vcpus == 3 &&
		      xen->memory_of == 7,
	      "back: as domain %u", pipeline_guest(pipeline)->domid);
	after = snapshot_now();
	check(before && after && after->resolver.samples > before->resolver.samples &&
		      after->run->n_vcpus == 3 && after->run->vcpus[2].states[VCPU_RUNNING] > 0,
	      "back: the profile goes on");
	snapshot_destroy(after);
	snapshot_destroy(before);
	stop();
	verdict = pipeline_get_failure(pipeline);
	check(!verdict && counts_now().state == SAMPLER_ENDED,
	      "back: the run ends without an error");
	error_destroy(verdict);
	end("reboot: pauses");
}

static void test_away_at_the_end(void)
{
	begin();
	xen->domid = 0;
	check(tells("web01 is gone"), "destroyed: the note says that the guest is gone");
	stop();
	check(counts_now().state == SAMPLER_GUEST_GONE, "destroyed: the state is GUEST_GONE");
	end("destroyed: pauses");
}

static void test_hangs(void)
{
	int first;

	begin();
	first = xen->sampler;
	xen->hangs = 1;
	for (unsigned i = 0; i < WAIT_TRIES && xen->sampler == first; i++)
		nap();
	check(xen->sampler != first && counts_now().restarts == 1,
	      "hang: another sampler is started");
	check(more_samples_than(counts_now().samples + 20), "hang: more samples come");
	stop();
	end("hangs: pauses");
}

static void *ask_slowly(void *context)
{
	struct guest_info info;

	(void)context;
	error_destroy(guest_find("slow", &info));
	return NULL;
}

/*
 * The broker waits for xenstore. Meanwhile the sampler hangs in a stop, and the guard is killed:
 * the guest is released all the same.
 */
static void test_killed_while_xenstore_is_slow(void)
{
	unsigned waited = 0;
	pthread_t thread;

	begin();
	if (pthread_create(&thread, NULL, ask_slowly, NULL))
		abort();
	while (!xen->slow)
		nap();
	kill_process(xen->guard, SIGSTOP);
	xen->hangs = 1;
	while (xen->hangs)
		nap();
	kill_process(xen->guard, SIGKILL);
	for (; made_xen_is_stopped() && waited < 500; waited++)
		nap();
	check(waited < 50, "slow xenstore, guard killed: the guest stood still for %u ms",
	      waited * 10);
	pthread_join(thread, NULL);
	stop();
	end("slow xenstore, guard killed: pauses");
}

static void test_killed(void)
{
	struct xtop_error *verdict;

	begin();
	/*
	 * Each process is killed while the one above it is stopped. Otherwise that one could report
	 * the death or start another process. A stopped sampler continues when its guard dies
	 * (setpgid(2), orphaned process groups).
	 */
	kill_process(xen->keeper, SIGSTOP);
	kill_process(xen->guard, SIGSTOP);
	kill_process(xen->sampler, SIGKILL);
	kill_process(xen->guard, SIGKILL);
	kill_process(xen->keeper, SIGKILL);
	check(becomes(SAMPLER_FAILED), "all killed: the state is FAILED");
	check(tells("other processes were killed"), "all killed: the message says so");
	stop();
	verdict = pipeline_get_failure(pipeline);
	check(verdict != NULL, "all killed: the run ends with an error");
	error_destroy(verdict);
	if (made_xen_is_stopped()) /* the one case that is left */
		made_xen_release();
	end("killed: pauses");
}

static void *use_stack(void *sum)
{
	volatile char bytes[4 << 20];

	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		bytes[i] = 1;
	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		*(size_t *)sum += (size_t)bytes[i];
	return NULL;
}

/* Musl gives a thread 128 KiB if nobody asks for more. */
static void test_stack(void)
{
	pthread_t thread;
	size_t sum = 0;

	must(thread_start(&thread, use_stack, &sum));
	pthread_join(thread, NULL);
	check(sum == 1024, "a thread can use 4 MiB of stack");
}

int main(void)
{
	made_xen_init();
	test_stack();
	test_reboot();
	test_away_at_the_end();
	test_hangs();
	test_killed_while_xenstore_is_slow();
	test_killed();
	return tap_done();
}
