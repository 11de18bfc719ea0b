/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kills a process of a live pipeline at a random moment, again and again: sampler, guard, keeper,
 * broker or main. Xen is made up (made_xen.h). Afterwards the guest runs, and main ends, and
 * all others with it.
 *
 * XTOP_KILLS=N kills N times, and the others may take a second after main's end. Otherwise it is a
 * few times, with time for a slow machine. tests/lab/kill.test does it on Xen.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/pipeline/made_xen.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/cli/options.h"
#include "xtop/run/session.h"

#define N_KILLS    24
#define MOMENT_US  20000
#define STOP_US    1000 /* so that some kills come while the guest is stopped */
#define STARTUP_US 30000
#define LIMIT_MS   60000 /* for main's end, also on a slow machine */

enum role { MAIN, BROKER, KEEPER, GUARD, SAMPLER, N_ROLES };
static const char *const names[N_ROLES] = { "main", "the broker", "a keeper", "a guard",
					    "a sampler" };

static unsigned late_ms = 20000; /* how long the others may take after main's end */

static void nap_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* What main() does. */
static void run_main(void)
{
	static const char *const arguments[] = { "xtop", "-d",  "web01",    "-F",  "500",     "-bq",
						 "-T",   "600", "--budget", "100", "--shared" };
	struct options options;

	must(options_parse(sizeof(arguments) / sizeof(arguments[0]), (char **)(uintptr_t)arguments,
			   &options));
	error_destroy(
		session_run(&options, NULL)); /* the result of a killed xtop does not matter */
	options_deinit(&options);
}

/* The process of ROLE below MAIN_PID; 0: it is not there yet. The broker has other children for moments. */
static pid_t find_process(pid_t main_pid, enum role role)
{
	switch (role) {
	case BROKER:
		return child_of(main_pid);
	case KEEPER:
		return xen->keeper;
	case GUARD:
		return xen->guard;
	case SAMPLER:
		return xen->sampler;
	default:
		return main_pid;
	}
}

/* Waits for all processes; this one inherits orphans. *LATE_MSP: from main's end on. False: some live. */
static bool wait_for_end(pid_t main_pid, unsigned *late_msp)
{
	unsigned waited_ms = 0;
	bool main_lives = true;
	pid_t ended;

	*late_msp = 0;
	while ((ended = waitpid(-1, NULL, WNOHANG)) >= 0 || errno != ECHILD) {
		main_lives &= ended != main_pid;
		if (ended)
			continue;
		if (main_lives ? ++waited_ms > LIMIT_MS : ++*late_msp > LIMIT_MS)
			return false;
		nap_ms();
	}
	return true;
}

/* Counted over all kills. */
static struct {
	unsigned kills, stopped, left, stuck, late, most_late_ms;
} tally;

static void kill_once(enum role role, bool starting)
{
	unsigned late = 0;
	pid_t pid, victim;

	made_xen_begin();
	xen->longer_us = STOP_US;
	pid = fork();
	if (pid == 0) {
		run_main();
		_exit(0);
	}
	for (unsigned i = 0; i < LIMIT_MS && !starting && made_xen_stops() < 3; i++)
		nap_ms();
	usleep((useconds_t)(random() % (starting ? STARTUP_US : MOMENT_US)));
	victim = find_process(pid, role);
	tally.stopped += made_xen_is_stopped();
	if (victim && kill(victim, SIGKILL) == 0)
		tally.kills++;
	else
		kill(pid, SIGKILL);
	if (!wait_for_end(pid, &late)) {
		printf("# after the end of %s main or another process lives on\n", names[role]);
		tally.stuck++;
		kill(pid, SIGKILL);
		wait_for_end(pid, &late);
	}
	if (made_xen_pauses()) {
		printf("# after the end of %s the pause count is %d\n", names[role],
		       made_xen_pauses());
		tally.left++;
	}
	tally.late += late > late_ms;
	if (late > tally.most_late_ms)
		tally.most_late_ms = late;
}

int main(void)
{
	const char *kills = getenv("XTOP_KILLS");
	unsigned n = kills ? (unsigned)atoi(kills) : N_KILLS;

	if (emulator_lacks("walls"))
		return tap_done();
	if (kills)
		late_ms = 1000;
	srandom((unsigned)time(NULL));
	unsetenv("HOME"); /* there is no cache */
	unsetenv("XDG_CACHE_HOME");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	made_xen_init();
	for (unsigned i = 0; i < n; i++)
		kill_once(i % N_ROLES, i / N_ROLES % 4 == 3);
	printf("# %u processes were killed, %u while the guest was stopped; the last one ended %u ms "
	       "after main\n",
	       tally.kills, tally.stopped, tally.most_late_ms);
	check(tally.kills >= n / 2, "half of the processes were there to be killed: %u of %u",
	      tally.kills, n);
	check(!tally.left, "the guest's pause count is 0 in the end, all but %u times", tally.left);
	check(!tally.stuck, "all processes end, all but %u times", tally.stuck);
	check(!tally.late, "they end with main, all but %u times", tally.late);
	return tap_done();
}
