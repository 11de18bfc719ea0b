/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guard, keeper or broker are killed, stopped or held by a debugger. Each time the guest's pause
 * count must soon be what it was before, and no process may be left.
 */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/pause_record.h"
#include "tests/supervise/guard_fixture.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"

static void wait_for_stop(void)
{
	while (!is_stopped())
		sched_yield();
}

/* Either the sampler or the keeper writes the message. */
static void kill_guard(const char *what)
{
	kill_process(scene->guard, SIGKILL);
	wait_for_end(1000);
	check_message("the guard was killed; the guest runs", what);
	end(0, what);
}

static void test_guard_killed(void)
{
	begin(SAMPLES, 0);
	wait_for_stop();
	kill_guard("guard killed");
}

static void test_guard_killed_late(void)
{
	begin(LINGERS, 0);
	while (counts_now().state != SAMPLER_ENDED)
		nap_ms(1);
	kill_guard("guard killed while its sampler ends");
}

/* The sampler hangs during a stop, and the guard is killed or stopped before it can act. */
static void test_both(int signal_number, const char *text, const char *what)
{
	bool is_recorded;

	begin(HANGS, 1);
	is_recorded = access(scene->record, F_OK) == 0;
	kill_process(scene->guard, signal_number);
	wait_for_end(1000);
	check_stop(2 * LIMIT_NS + MACHINE_NS, what);
	if (!is_recorded)
		printf("# SKIP %s: there is no %s\n", what, PAUSE_DIRECTORY);
	else
		check(!scene->unrecorded, "%s: the record is there until the release", what);
	if (text)
		check_message(text, what);
	else
		check(counts_now().state == SAMPLER_HUNG && counts_now().stopped_ns >= 60000000,
		      "%s: the sampler hangs (state %d), for at least 60 ms: %.1f ms", what,
		      counts_now().state, (double)counts_now().stopped_ns / 1e6);
	end(1, what);
}

static void test_stopped(bool is_keeper, const char *what)
{
	begin(SAMPLES, 0);
	kill_process(is_keeper ? fixture.keeper.pid : scene->guard, SIGSTOP);
	end(0, what);
}

/* The keeper dies: guard and sampler end. */
static void test_keeper_killed(void)
{
	begin(SAMPLES, 1);
	kill_process(fixture.keeper.pid, SIGKILL);
	wait_for_end(1000);
	check(both_are_gone(), "keeper killed: guard and sampler end by themselves");
	if (!emulator_lacks("processes of one thread"))
		check_message("the keeper was killed", "keeper killed");
	end(1, "keeper killed");
}

/* Nobody waits without end for a keeper that a debugger holds. */
static void test_keeper_traced(void)
{
	uint64_t begin_ns;
	pid_t tracer;

	begin(SAMPLES, 0);
	tracer = fork();
	if (tracer == 0) {
		if (ptrace(PTRACE_SEIZE, fixture.keeper.pid, NULL, PTRACE_O_TRACEEXIT) < 0)
			_exit(1);
		ptrace(PTRACE_INTERRUPT, fixture.keeper.pid, NULL, NULL);
		for (;;)
			pause();
	}
	nap_ms(100);
	begin_ns = now_ns();
	keeper_quit(&fixture.keeper);
	keeper_end(&fixture.keeper);
	check(now_ns() - begin_ns < 5000000000ULL,
	      "nobody waits more than 5 s for a traced keeper: %.1f s",
	      (double)(now_ns() - begin_ns) / 1e9);
	kill_process(tracer, SIGKILL);
	check(both_are_gone(), "a traced keeper: no process is left");
	check_pauses(0, "a traced keeper");
	control_destroy(fixture.control);
}

/* The broker dies: guard and sampler end. */
static void test_broker_killed(enum manner how, const char *what)
{
	pid_t broker;

	clear_scene();
	broker = fork();
	if (broker == 0) {
		begin(how, 1);
		pause();
	}
	while (!(how == SAMPLES ? count_stops() > 0 : scene->sampler > 0))
		nap_ms(1);
	kill_process(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	check(both_are_gone(), "%s: no process is left", what);
	check_pauses(1, what);
}

int main(void)
{
	fixture_begin();
	test_guard_killed();
	test_guard_killed_late();
	test_both(SIGKILL, "the guard was killed", "guard killed, sampler hangs");
	test_both(SIGSTOP, NULL, "guard stopped, sampler hangs");
	test_stopped(false, "a guard that is stopped");
	test_stopped(true, "a keeper that is stopped");
	test_keeper_killed();
	test_keeper_traced();
	test_broker_killed(SAMPLES, "broker killed");
	test_broker_killed(FORGETS, "broker killed, and the control block is overwritten");
	return tap_done();
}
