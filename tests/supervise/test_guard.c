/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard, when the sampler ends or hangs in many ways, while the guest is stopped and while
 * it runs. Each time the guest's pause count must soon be what it was before, and the control
 * block must say what happened.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/call_filter.h"
#include "tests/supervise/guard_fixture.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/base/restarts.h"

#ifdef SANITIZED
static const bool is_sanitized = true; /* a sanitized build has no walls */
#else
static const bool is_sanitized = false;
#endif

/* How often a process has gone to sleep. */
static unsigned long count_sleeps(pid_t pid)
{
	static const char key[] = "voluntary_ctxt_switches:";
	unsigned long n = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			n = strtoul(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return n;
}

/* A busy machine may make some of the stops so long that the alarm goes off. */
static void test_quits(void)
{
	unsigned long guard, both;

	begin(SAMPLES, 0);
	nap_ms(100); /* a hundred stops, all of them short */
	check(count_stops() > 20,
	      "the sampler stops the guest more than 20 times in 100 ms: %" PRIu64, count_stops());
	check(goes_on(), "sampling goes on after 100 ms of short stops");
	guard = count_sleeps(scene->guard);
	both = guard + count_sleeps(fixture.keeper.pid);
	nap_ms(1000); /* polls took 125 and 50 */
	check(guard && count_sleeps(scene->guard) - guard < 30 &&
		      count_sleeps(scene->guard) + count_sleeps(fixture.keeper.pid) - both < 40,
	      "short stops: the guard wakes %lu times (expected < 30), with the keeper %lu (< 40)",
	      count_sleeps(scene->guard) - guard,
	      count_sleeps(scene->guard) + count_sleeps(fixture.keeper.pid) - both);
	end(0, "a sampler that is told to quit");
}

/*
 * The sampler ends or hangs during a stop, and only the guard acts. After a hang it starts
 * another one, RESTARTS_MAX times. How long these need until they stop the guest is not measured:
 * to take much memory takes a third of a second on a busy machine.
 */
static void test_sampler(enum manner how, int pauses, const char *text, const char *what)
{
	begin(how, pauses);
	for (unsigned i = 0; i < 20000 && count_stops() <= RESTARTS_MAX && goes_on(); i++)
		nap_ms(1);
	wait_for_end(1000);
	check_stop(LIMIT_NS + MACHINE_NS, what);
	check_message(text, what);
	end(pauses, what);
}

/*
 * A debugger holds the sampler, so that nobody can reap it, or so that it does not even end. The
 * guest runs all the same, and nobody waits for the debugger.
 */
static void test_traced(enum manner how, const char *text, const char *what)
{
	uint64_t begin_ns;

	begin(how, 1);
	while (!scene->attached)
		nap_ms(1);
	if (scene->attached < 0) {
		printf("# SKIP %s: ptrace() is not allowed here\n", what);
	} else {
		wait_for_end(8000);
		check_stop(LIMIT_NS + MACHINE_NS, what);
		check_message(text, what);
	}
	begin_ns = now_ns();
	keeper_quit(&fixture.keeper);
	keeper_end(&fixture.keeper);
	check(now_ns() - begin_ns < 3000000000ULL, "%s: the keeper ends within 3 s: %.1f s", what,
	      (double)(now_ns() - begin_ns) / 1e9);
	check_pauses(1, what);
	check_disarmed(what);
	kill_process(scene->tracer, SIGKILL);
	check(both_are_gone(), "%s: without the debugger no process is left", what);
	control_destroy(fixture.control);
}

static void test_sampler_free(enum manner how, const char *text, const char *what)
{
	begin(how, 1);
	wait_for_end(1000);
	check_message(text, what);
	end(1, what);
}

static void test_stays(void)
{
	uint64_t begin_ns;

	begin(STAYS, 0);
	begin_ns = now_ns();
	end(0, "a sampler that does not end");
	check(now_ns() - begin_ns < 3000000000ULL,
	      "a sampler that does not end is killed within 3 s: %.1f s",
	      (double)(now_ns() - begin_ns) / 1e9);
}

/* Without the kernel's filters guard and keeper end, and say why. */
static void test_no_filter(void)
{
	const int calls[] = { CALL(seccomp), CALL(prctl) };
	int status = -1;
	pid_t pid;

	if (emulator_lacks("walls") || is_sanitized)
		return;
	pid = fork();
	if (pid == 0) {
		if (call_filter_refuse(calls, COUNT(calls)))
			_exit(99);
		begin(SAMPLES, 1);
		wait_for_end(10000);
		_exit(is_stopped() || counts_now().state != SAMPLER_FAILED ||
		      !strstr(control_get_message(fixture.control), "cannot limit the system calls"));
	}
	waitpid(pid, &status, 0);
	for (unsigned i = 0; i < 500 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		nap_ms(10);
	check(status == 0 && waitpid(-1, NULL, WNOHANG) < 0,
	      "without filters guard and keeper end, and the guest runs: status %x",
	      (unsigned)status);
}

int main(void)
{
	fixture_begin();
	test_quits();
	test_sampler(HANGS, 0, "the sampler hung while the guest stood still", "SIGSTOP in a stop");
	test_sampler(HANGS, 2, "the sampler hung while the guest stood still",
		     "SIGSTOP in a stop of a guest that others have paused");
	test_sampler(HANGS_LARGE, 0, "the sampler hung while the guest stood still and was killed",
		     "SIGSTOP in a stop of a sampler with much memory");
	test_sampler(SPINS, 1, "the sampler hung while the guest stood still", "a loop in a stop");
	test_sampler(DIES, 0, "the sampler was killed by signal 9", "SIGKILL in a stop");
	test_sampler(DIES, 1, "the sampler was killed by signal 9",
		     "SIGKILL in a stop of a guest that others have paused");
	test_traced(TRACED, "the sampler hung while the guest stood still and was killed",
		    "a traced sampler that nobody can reap");
	test_traced(TRACED_EXIT, "does not end although it was killed",
		    "a sampler that a debugger stops while it ends");
	test_traced(TRACED_DIES, "the sampler ended before its time",
		    "SIGKILL of a traced sampler");
	test_sampler_free(DIES_FREE, "the sampler was killed by signal 9",
			  "SIGKILL while the guest runs");
	test_sampler_free(RETURNS, "the sampler ended before its time",
			  "a sampler that ends although nobody told it to");
	test_stays();
	test_no_filter();
	return tap_done();
}
