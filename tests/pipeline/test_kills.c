/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kills a process of a live pipeline at a random moment, again and again: sampler, guard, keeper,
 * starter, broker or main; or any one of all, with those that push, answer scrapes, read lines, fetch
 * debug files, look at the host and trace. Xen is made up (made_xen.h). Afterwards the guest runs,
 * and main ends, and all others with it. The end of a helper does not end main: then main is asked to
 * quit.
 *
 * XTOP_KILLS=N kills N times, and the others may take a second after main's end. Otherwise it is a
 * few times, with time for a slow machine. tests/lab/kill.test does it on Xen.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
#define LIMIT_MS   60000 /* main has ended then, also on a slow machine */

enum role { MAIN, BROKER, STARTER, KEEPER, GUARD, SAMPLER, ANY, N_ROLES };
static const char *const names[N_ROLES] = { "main",    "the broker", "the starter", "a keeper",
					    "a guard", "a sampler",  "any process" };
#define MAX_PROCESSES 64
#define QUIT_US       50000 /* how long main lives on at most without the process */

static char folder[] = "/tmp/xtop-kills-XXXXXX";

static unsigned late_ms = 20000; /* how long the others may take after main's end */

static void nap_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* What main() does. WITH_HELPERS: with a process of each kind. */
static void run_main(bool with_helpers)
{
	static char push[64], metrics[64];
	const char *alone[] = { "xtop", "-d",  "web01",    "-F",  "500",     "-bq",
				"-T",   "600", "--budget", "100", "--shared" };
	const char *all[] = { "xtop",      "-d",       "web01",   "-F",       "500",         "-T",
			      "600",       "--budget", "100",     "--shared", "--push",      push,
			      "--metrics", metrics,    "--lines", "--exits",  "--neighbours" };
	const char **arguments = with_helpers ? all : alone;
	size_t n = with_helpers ? sizeof(all) / sizeof(all[0]) : sizeof(alone) / sizeof(alone[0]);
	struct options options;

	snprintf(push, sizeof(push), "file://%s", folder);
	snprintf(metrics, sizeof(metrics), "%s/xtop.prom", folder);
	must(options_parse((int)n, (char **)(uintptr_t)arguments, &options));
	error_destroy(session_run(&options, NULL)); /* a killed xtop may fail */
	options_deinit(&options);
}

/* Puts the processes below PID into PIDS, after the N that it has. Returns their number. */
static unsigned collect(pid_t pid, pid_t *pids, unsigned n)
{
	char path[64];
	pid_t child;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	while (file && n < MAX_PROCESSES && fscanf(file, "%d", &child) == 1) {
		pids[n++] = child;
		n = collect(child, pids, n);
	}
	if (file)
		fclose(file);
	return n;
}

/* One of the processes that this one has started, with orphans. */
static pid_t find_any(unsigned *np)
{
	pid_t pids[MAX_PROCESSES];
	unsigned n = collect(getpid(), pids, 0);

	*np = n;
	return n ? pids[(unsigned)random() % n] : 0;
}

/* The process of ROLE below MAIN_PID; 0: it is not there yet. The broker has other children for moments. */
static pid_t find_process(pid_t main_pid, enum role role)
{
	switch (role) {
	case BROKER:
		return child_of(main_pid);
	case STARTER:
		return child_of(main_pid) ? child_of(child_of(main_pid)) : 0;
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

/*
 * Waits for all processes; this one inherits orphans. *LATE_MSP: from main's end on. False: some live.
 * SAMPLER was killed; 0: none was. On a machine under load it may be taken for one that hung: then xtop
 * starts another one and goes on, and main is asked to quit.
 */
static bool wait_for_end(pid_t main_pid, pid_t sampler, unsigned *late_msp)
{
	unsigned waited_ms = 0;
	bool main_lives = true;
	pid_t ended;

	*late_msp = 0;
	while ((ended = waitpid(-1, NULL, WNOHANG)) >= 0 || errno != ECHILD) {
		main_lives &= ended != main_pid;
		if (ended)
			continue;
		if (sampler && main_lives && xen->sampler != sampler) {
			kill_process(main_pid, SIGTERM);
			sampler = 0;
		}
		if (main_lives ? ++waited_ms > LIMIT_MS : ++*late_msp > LIMIT_MS)
			return false;
		nap_ms();
	}
	return true;
}

/* Counted over all kills. */
static struct {
	unsigned kills, stopped, left, stuck, traced, late, most_late_ms, most;
} tally;

static void kill_once(enum role role, bool starting)
{
	unsigned late = 0, n = 0;
	pid_t pid, victim;

	made_xen_begin();
	xen->longer_us = STOP_US;
	pid = fork();
	if (pid == 0) {
		run_main(role == ANY);
		_exit(0);
	}
	for (unsigned i = 0; i < LIMIT_MS && !starting && made_xen_stops() < 3; i++)
		nap_ms();
	usleep((useconds_t)(random() % (starting ? STARTUP_US : MOMENT_US)));
	victim = role == ANY ? find_any(&n) : find_process(pid, role);
	if (n > tally.most)
		tally.most = n;
	tally.stopped += made_xen_is_stopped();
	if (victim && kill_process(victim, SIGKILL) == 0)
		tally.kills++;
	else
		kill_process(pid, SIGKILL);
	if (role == ANY) {
		usleep((useconds_t)(random() % QUIT_US));
		kill_process(pid, SIGTERM);
	}
	if (!wait_for_end(pid, role == SAMPLER ? victim : 0, &late)) {
		printf("# after the end of %s main or another process lives on\n", names[role]);
		(void)!system("ps -eo pid,ppid,pgid,stat,wchan:20,etimes,args | grep '[t]est_kills' >&2");
		tally.stuck++;
		kill_process(pid, SIGKILL);
		wait_for_end(pid, 0, &late);
	}
	if (made_xen_pauses()) {
		printf("# after the end of %s the pause count is %d\n", names[role],
		       made_xen_pauses());
		tally.left++;
	}
	tally.traced += xen->traces;
	tally.late += late > late_ms;
	if (late > tally.most_late_ms)
		tally.most_late_ms = late;
}

int main(void)
{
	const char *kills = getenv("XTOP_KILLS");
	unsigned n = kills ? (unsigned)atoi(kills) : N_KILLS;
	char remove[64];

	if (emulator_lacks("walls"))
		return tap_done();
	if (kills)
		late_ms = 1000;
	srandom((unsigned)time(NULL));
	unsetenv("HOME"); /* there is no cache */
	unsetenv("XDG_CACHE_HOME");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!mkdtemp(folder) || chmod(folder, 0777)) /* helpers are other users */
		abort();
	made_xen_init();
	for (unsigned i = 0; i < n; i++)
		kill_once(i % N_ROLES, i / N_ROLES % 4 == 3);
	printf("# %u processes were killed, %u while the guest was stopped; the last one ended %u ms "
	       "after main; there were %u processes at most\n",
	       tally.kills, tally.stopped, tally.most_late_ms, tally.most);
	snprintf(remove, sizeof(remove), "rm -rf %s", folder);
	if (system(remove) != 0)
		printf("# %s stays\n", folder);
	check(tally.kills >= n / 2, "half of the processes were there to be killed: %u of %u",
	      tally.kills, n);
	check(!tally.left, "the guest's pause count is 0 in the end, all but %u times", tally.left);
	check(!tally.stuck, "all processes end, all but %u times", tally.stuck);
	check(!tally.traced, "Xen traces no more, all but %u times", tally.traced);
	check(!tally.late, "all processes end when main ends, all but %u times", tally.late);
	return tap_done();
}
