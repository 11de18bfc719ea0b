/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No helper outlives main. Main starts a helper of each kind and gives up its rights; the helpers are
 * other users then. All of them hang. One process is killed at a random moment: main, a helper, or the
 * parent of one. Then there is none.
 *
 * XTOP_KILLS=N kills N times, and waits for a second each time. Otherwise it is a few times, with time
 * for a slow machine.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/fetcher.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/supervise/fetch.h"
#include "xtop/supervise/sandbox.h"
#include "xtop/supervise/sender.h"

#define N_KINDS 4 /* main and three helpers */

static char folder[] = "/tmp/xtop-ends-XXXXXX";

static unsigned wait_ms = 20000;

/* Shared: the processes, and the parents of helpers. 0: not started yet. */
static struct {
	_Atomic pid_t pids[N_KINDS], wardens[N_KINDS];
} * seen;

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static void hang(unsigned kind)
{
	seen->wardens[kind] = getppid();
	seen->pids[kind] = getpid();
	for (;;)
		nap();
}

static void run_sender(void *context, int socket, int fd)
{
	(void)socket, (void)fd;
	hang(*(const unsigned *)context);
}

static int find_never(const uint8_t *build_id, size_t size_bytes, const char *source,
		      char message[96])
{
	(void)build_id, (void)size_bytes, (void)source, (void)message;
	hang(3);
	return -1;
}

/* As xtop does: helpers first, then the walls. */
static void run_main(void)
{
	static unsigned one = 1, two = 2;
	const struct sender_settings server = { .option = "--metrics",
						.run = run_sender,
						.context = &one };
	const struct sender_settings client = {
		.option = "--push", .run = run_sender, .folder = folder, .context = &two
	};
	const struct fetcher_settings fetcher = { .find = find_never };
	const struct build_id id = { .size_bytes = 20 };
	struct sender *senders[2];
	struct fetch *fetch;
	int fd;

	seen->pids[0] = getpid();
	must(sender_start(&server, &senders[0]));
	must(sender_start(&client, &senders[1]));
	must(fetch_start_with(&fetcher, &fetch));
	must(sandbox_enter(NULL, 0));
	fetch_ask(fetch, &id, &fd);
	for (;;)
		nap();
}

/* Whether PID runs. This process is init for all of them: it reaps those that have ended. */
static bool is_alive(pid_t pid)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return pid && kill(pid, 0) == 0;
}

static unsigned count_alive(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_KINDS; i++)
		n += is_alive(seen->pids[i]) + is_alive(seen->wardens[i]);
	return n;
}

/* Waits for PID's end. False: it lives on. 0: there is no such process. */
static bool wait_for_end(pid_t pid)
{
	for (unsigned i = 0; i < wait_ms && is_alive(pid); i++)
		nap();
	return !is_alive(pid);
}

/*
 * Kills the helper or the parent of a helper that VICTIM stands for, and waits until the helper has
 * ended. One that has not begun yet is left alone: both numbers are read once, because it may begin
 * at any moment. False: the helper lives on.
 */
static bool kill_helper(unsigned victim)
{
	const pid_t helper = seen->pids[victim % N_KINDS];
	const pid_t warden = seen->wardens[victim % N_KINDS];

	if (victim % N_KINDS == 0 || !helper)
		return true;
	kill_process(victim < N_KINDS ? helper : warden, SIGKILL);
	return wait_for_end(helper);
}

/* Starts main, waits for US microseconds, kills process VICTIM, and main. False: one lives on. */
static bool try_once(unsigned victim, unsigned us)
{
	pid_t pid;
	bool has_ended;

	memset(seen, 0, sizeof(*seen));
	pid = fork();
	if (pid == 0)
		run_main();
	for (unsigned i = 0; i < 10000 && us >= 20000 && !seen->pids[N_KINDS - 1]; i++)
		nap();
	usleep(us);
	has_ended = kill_helper(victim);
	kill_process(pid, SIGKILL);
	for (unsigned i = 0; i < wait_ms && count_alive(); i++)
		nap();
	return has_ended && !count_alive();
}

int main(void)
{
	const char *kills = getenv("XTOP_KILLS");
	unsigned n = kills ? (unsigned)atoi(kills) : 64, survivors = 0, started = 0;
	unsigned random = 1;

	if (kills)
		wait_ms = 1000;
	else if (is_emulated())
		n = 8;
	unsetenv("SUDO_UID");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || !mkdtemp(folder) || chmod(folder, 0777))
		return 99;
	for (unsigned i = 0; i < n; i++) {
		random = random * 1103515245 + 12345;
		survivors += !try_once(i % (2 * N_KINDS), (random >> 8) % 40000);
		started += seen->pids[N_KINDS - 1] != 0;
	}
	check(started > n / 4, "%u of %u times all helpers had begun", started, n);
	check(!survivors, "%u of %u times a process lived on after main", survivors, n);
	rmdir(folder);
	return tap_done();
}
