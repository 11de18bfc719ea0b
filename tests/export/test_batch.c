/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batch mode when nobody reads its output any more, and on a terminal without UTF-8. */
#include "config.h"

#include "xtop/export/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/profile/profile.h"

/*
 * `xtop -b | head -1`: an error that the session reports, not a signal that ends xtop before it
 * has written its files.
 */
static void test_reader_gone(void)
{
	struct batch_settings settings = {
		.table = { .title = "t", .sort = &columns[COLUMN_CHILDREN] }, .interval_s = 0.01
	};
	struct snapshot_slot *slot;
	struct snapshot *snapshot;
	struct control *control;
	struct xtop_error *error;
	struct profile *profile;
	struct frames *frames;
	int ends[2];
	FILE *file;

	if (frames_create(NULL, &frames) || profile_create(16, 0, frames, &profile) ||
	    control_create(&control) || snapshot_slot_create(&slot) ||
	    profile_copy(profile, 1, &snapshot) || pipe(ends))
		abort();
	close(ends[0]);
	file = fdopen(ends[1], "w");
	snapshot->at_end = true;
	snapshot_publish(slot, snapshot);
	error = batch_run(&settings, slot, control, file);
	check(error && strstr(error_message(error), "cannot write the table"),
	      "the error of a table that cannot be written: %s",
	      error ? error_message(error) : "nothing");
	error_destroy(error);
	fclose(file);
	snapshot_slot_destroy(slot);
	control_destroy(control);
	profile_destroy(profile);
	frames_destroy(frames);
}

/* Takes the resolver's place. */
struct publisher {
	struct snapshot_slot *slot;
	struct profile *profile;
	struct control *control; /* told to quit through it */
	int recording_errno;
	unsigned n;
	bool busy; /* answers when it has to hurry, and otherwise not at all */
	unsigned known_ms; /* the guest's system is known after this time; 0: nobody looks for it */
};

static void *publish(void *context)
{
	struct publisher *publisher = context;
	uint64_t begin_ns = clock_now_ns();
	struct snapshot *snapshot;

	while (!control_is_quitting(publisher->control)) {
		usleep(1000);
		if (clock_now_ns() - begin_ns >= publisher->known_ms * 1000000ULL)
			control_set_guest_known(publisher->control, true);
		if (!snapshot_wanted(publisher->slot) ||
		    (publisher->busy && !control_is_hurrying(publisher->control)))
			continue;
		if (profile_copy(publisher->profile, 1, &snapshot))
			abort();
		snapshot->run->recording_errno = publisher->recording_errno;
		publisher->n++;
		snapshot_publish(publisher->slot, snapshot);
	}
	return NULL;
}

static void interrupt(int number)
{
	(void)number;
	raise(SIGINT); /* batch_run() has a handler by then */
}

/* How many snapshots a run asked for. */
static unsigned run_with(const struct batch_settings *settings, struct publisher publisher)
{
	struct frames *frames;
	pthread_t thread;

	if (frames_create(NULL, &frames) || profile_create(16, 0, frames, &publisher.profile) ||
	    control_create(&publisher.control) || snapshot_slot_create(&publisher.slot))
		abort();
	if (publisher.known_ms)
		control_set_hold(publisher.control);
	if (pthread_create(&thread, NULL, publish, &publisher))
		abort();
	check(!batch_run(settings, publisher.slot, publisher.control, stdout),
	      "the batch run has no error of its own");
	control_quit(publisher.control);
	pthread_join(thread, NULL);
	snapshot_slot_destroy(publisher.slot);
	control_destroy(publisher.control);
	profile_destroy(publisher.profile);
	frames_destroy(frames);
	return publisher.n;
}

static unsigned run(const struct batch_settings *settings, int recording_errno)
{
	return run_with(settings, (struct publisher){ .recording_errno = recording_errno });
}

/* -T and signals end the run although the resolver is at work and does not answer. */
static void test_busy(void)
{
	struct batch_settings settings = { .interval_s = 0.01, .time_s = 0.3, .quiet = true };
	const struct itimerval soon = { .it_value = { .tv_usec = 300000 } };
	uint64_t before_ns = clock_now_ns();

	alarm(20); /* this test ends by SIGALRM if batch_run() does not return */
	run_with(&settings, (struct publisher){ .busy = true });
	check(clock_now_ns() - before_ns >= 300000000, "-T ends the run, and not before its time");
	settings.time_s = 0;
	signal(SIGALRM, interrupt);
	before_ns = clock_now_ns();
	setitimer(ITIMER_REAL, &soon, NULL);
	run_with(&settings, (struct publisher){ .busy = true });
	check(clock_now_ns() - before_ns >= 300000000, "a signal ends the run");
}

/* -T counts from the first sample after the system was found. */
static void test_limit(void)
{
	const struct batch_settings settings = { .time_s = 0.3, .quiet = true };
	uint64_t before_ns = clock_now_ns();

	run_with(&settings, (struct publisher){ .known_ms = 400 });
	check(clock_now_ns() - before_ns >= 700000000,
	      "-T does not count the time until the system is known: %" PRIu64 " ms",
	      (clock_now_ns() - before_ns) / 1000000);
}

/* `xtop -b -q -w FILE` on a full disk: the run ends, as it can write nothing more. */
static void test_disk_full(void)
{
	const struct batch_settings settings = { .interval_s = 0.01, .time_s = 3, .quiet = true };

	check_u64(run(&settings, ENOSPC), 1,
		  "ends with the first snapshot that says that nothing is recorded");
}

/*
 * -i 0.01: the interval decides when a table comes, not the time that an answer takes. The best of
 * some runs counts, as the machine may be busy.
 */
static void test_interval(void)
{
	const struct batch_settings settings = { .interval_s = 0.01,
						 .iterations = 30,
						 .quiet = true };
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 5 && best_ns > 1000000000; i++) {
		uint64_t before_ns = clock_now_ns(), ns;

		run(&settings, 0);
		ns = clock_now_ns() - before_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	check(best_ns <= 1000000000, "30 tables 0.01 s apart take %.2f s", (double)best_ns / 1e9);
}

static void stand_still(void *context)
{
	bool *stood = context;

	if (!*stood)
		usleep(500000);
	*stood = true;
}

/* Ctrl-Z, and fg half a second later: tables go on from there, the missed ones do not come. */
static void test_stopped(void)
{
	bool stood = false;
	const struct batch_settings settings = { .interval_s = 0.02,
						 .time_s = 0.7,
						 .quiet = true,
						 .poll = stand_still,
						 .context = &stood };
	unsigned n = run(&settings, 0);

	check(n >= 1 && n <= 12, "%u tables in the 0.2 s after it, 0.02 s apart", n);
}

static void test_ascii(bool ascii, const char *wanted)
{
	struct batch_settings settings = {
		.table = { .title = "caf\u00e9 dom 5", .sort = &columns[COLUMN_CHILDREN] },
		.ascii = ascii,
	};
	struct snapshot_slot *slot;
	struct snapshot *snapshot;
	struct control *control;
	struct profile *profile;
	struct frames *frames;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (frames_create(NULL, &frames) || profile_create(16, 0, frames, &profile) ||
	    control_create(&control) || snapshot_slot_create(&slot) ||
	    profile_copy(profile, 1, &snapshot) || !file)
		abort();
	snapshot->at_end = true;
	snapshot_publish(slot, snapshot);
	check(!batch_run(&settings, slot, control, file), "%s: printed", wanted);
	fclose(file);
	check(strncmp(text, wanted, strlen(wanted)) == 0 && strstr(text, "\nChildren"),
	      "\"%.20s...\" (expected \"%s...\", and a table)", text, wanted);
	free(text);
	snapshot_slot_destroy(slot);
	control_destroy(control);
	profile_destroy(profile);
	frames_destroy(frames);
}

int main(void)
{
	test_reader_gone();
	test_limit();
	test_busy(); /* last of those with -T: a signal came */
	test_disk_full();
	test_interval();
	test_stopped();
	test_ascii(false, "caf\u00e9 dom 5: samples 0");
	test_ascii(true, "caf? dom 5: samples 0");
	return tap_done();
}
