/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeper, guard and sampler as real processes, on a made-up Xen in shared memory that replaces
 * domctl.c. The sampler ends or hangs in many ways, while the guest is stopped and while it runs.
 * Each time the guest's pause count must soon be what it was before, and the control block must say
 * what happened.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/keeper.h"
#include "tests/support/emulated.h"
#include "tests/support/made_stops.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/restarts.h"
#include "xtop/sample/control.h"

#define LIMIT_NS   50000000ULL /* doc/xtop.1: the longest stop when one process dies */
#define MACHINE_NS 30000000ULL /* added for a loaded machine */
#define LARGE_BYTES (UINT64_C(1) << 27)

/* Xen, and what a test sees of the sampler. */
static struct xen {
	struct made_stops made;
	atomic_ullong begin_ns, end_ns; /* of the last stop */
	atomic_int sampler, guard;      /* pids */
	atomic_int samplers;            /* started so far */
	atomic_ullong started_ns;       /* of the last sampler */
	atomic_bool spent;              /* the last sampler began without credit */
	atomic_int early_releases;      /* in the place of a process that was not disarmed */
	atomic_int unrecorded;          /* releases by the keeper when the record was gone */
	char record[64];
	atomic_int n_tracers, tracers[8];
	atomic_int attached; /* 1 when the last tracer has attached, -1 if it may not */
} * xen;

static enum {
	SAMPLES,
	HANGS,
	HANGS_ONCE,
	SPINS,
	DIES,
	DIES_FREE,
	RETURNS,
	STAYS,
	FORGETS,
	LINGERS,     /* has said that it has ended, and takes a second for it */
	HANGS_LARGE, /* hangs, with so much memory that its end takes long */
	TRACED,      /* hangs; a debugger keeps its zombie */
	TRACED_EXIT, /* hangs; a debugger stops it while it ends, as strace does on a stopped terminal */
	TRACED_DIES, /* is killed; a debugger keeps its zombie */
} manner;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap_ms(long ms)
{
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&nap, &nap) < 0 && errno == EINTR)
		;
}

/* --- replaces domctl.c ------------------------------------------------------------------------ */

struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap)
{
	(void)info;
	made_open_alarm();
	*areap = &made_area;
	return NULL;
}

static bool xen_stop(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	(void)context, (void)begin_ns, (void)vcpus, (void)n;
	xen->begin_ns = now_ns();
	return made_stop();
}

static void xen_release(void *context)
{
	enum stop_user user = *(const enum stop_user *)context;

	xen->end_ns = now_ns();
	xen->early_releases += made_stops->disarmed < (int)user;
	xen->unrecorded += user == STOP_KEEPER && access(xen->record, F_OK) < 0;
	made_release(user);
}

static void xen_close(void *context)
{
	(void)context;
}

static void xen_expect_stops(void *context)
{
	(void)context;
	stop_area_set_alarm(&made_area);
}

static void xen_end_stops(void *context)
{
	(void)context;
	stop_area_clear_alarm(&made_area);
}

static const struct guest_ops xen_ops = { .expect_stops = xen_expect_stops,
					  .end_stops = xen_end_stops,
					  .stop = xen_stop,
					  .release = xen_release,
					  .close = xen_close };

struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       enum stop_user user, struct guest *guest)
{
	static enum stop_user users[] = { STOP_SAMPLER, STOP_GUARD, STOP_KEEPER };

	(void)area;
	*guest = (struct guest){ .ops = &xen_ops, .context = &users[user], .info = *info };
	return NULL;
}

/* --- the sampler ------------------------------------------------------------------------------ */

static void stop_guest(struct guest *guest)
{
	guest_expect_stops(guest);
	guest->ops->stop(guest->context, 0, NULL, 0);
}

/*
 * The tracer: it attaches to the sampler, and never waits for it. It belongs to another process group
 * and lives until the test kills it. A debugger is no child of the sampler: it has none of the
 * sampler's descriptors.
 */
static void be_tracer(pid_t sampler)
{
	long options = manner == TRACED_EXIT ? PTRACE_O_TRACEEXIT : 0;

	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		close(fd);
	setpgid(0, 0);
	signal(SIGTERM, SIG_DFL);
	xen->attached = ptrace(PTRACE_SEIZE, sampler, NULL, options) < 0 ? -1 : 1;
	for (;;)
		pause();
}

static void be_traced(void)
{
	pid_t self = getpid(), tracer;

	xen->attached = 0;
	tracer = fork();
	if (tracer == 0)
		be_tracer(self);
	prctl(PR_SET_PTRACER, tracer);
	xen->tracers[xen->n_tracers++] = tracer;
	while (!xen->attached)
		nap_ms(1);
}

/* In small pages: the kernel gives them back one by one. */
static void take_memory(void)
{
	char *memory =
		mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, LARGE_BYTES, MADV_NOHUGEPAGE);
	memset(memory, 1, LARGE_BYTES);
}

static void run(struct guest *guest, struct control *control, struct ring *ring)
{
	struct sampler_counts counts;

	(void)ring;

	xen->guard = getppid();
	xen->sampler = getpid();
	xen->samplers++;
	xen->started_ns = now_ns();
	xen->spent = control_is_credit_spent();
	control_get_counts(control, &counts);
	counts.state = SAMPLER_RUNNING;
	control_set_counts(control, &counts);
	if (manner >= TRACED)
		be_traced();
	if (manner == HANGS_LARGE)
		take_memory();
	if (manner == DIES_FREE)
		raise(SIGKILL);
	if (manner == RETURNS)
		return;
	while (manner == STAYS)
		nap_ms(10);
	while (manner == FORGETS) { /* as if main overwrote the shared control block */
		control_restart(control);
		nap_ms(1);
	}
	while (manner != LINGERS && !control_is_quitting(control)) {
		stop_guest(guest);
		if (manner == HANGS || manner == HANGS_LARGE ||
		    (manner == HANGS_ONCE && xen->samplers == 1) || manner == TRACED ||
		    manner == TRACED_EXIT)
			raise(SIGSTOP);
		while (manner == SPINS)
			;
		if (manner == DIES || manner == TRACED_DIES)
			raise(SIGKILL);
		guest->ops->release(guest->context);
		guest_end_stops(guest);
		nap_ms(1);
	}
	control_set_state(control, SAMPLER_ENDED);
	if (manner == LINGERS)
		nap_ms(1000);
}

/* --- scenes ----------------------------------------------------------------------------------- */

static struct control *control;
static struct keeper keeper;
static double budget = 1; /* of all time: after a hang, the next sampler need not wait */

/* PAUSES: how often an administrator has paused the guest. */
static void begin(int how, int pauses)
{
	struct sampling sampling = {
		.info = { .name = "made-up", .uuid = "u", .domid = 7, .n_vcpus = 1 },
		.run = run,
	};

	manner = how;
	memset(xen, 0, sizeof(*xen));
	snprintf(xen->record, sizeof(xen->record), PAUSE_DIRECTORY "/%u.%s.%d", sampling.info.domid,
		 sampling.info.uuid, getpid());
	made_stops->pauses = pauses;
	made_stops->paused = made_stops->released = PENDING;
	must(control_create(&control));
	control_set_budget(control, budget);
	sampling.control = control;
	/* shared: the record lies in /run/xtop, where another run of this test may have one, too */
	must(keeper_start(&sampling, true, -1, &keeper));
	while (!xen->sampler && !watch_ends(keeper.end_fd, 0))
		nap_ms(1);
}

static bool is_gone(pid_t pid)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* this process inherits orphans */
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static bool both_are_gone(void)
{
	bool gone = is_gone(xen->sampler) && is_gone(xen->guard);

	for (unsigned i = 0; i < 300 && !gone; i++) {
		nap_ms(10);
		gone = is_gone(xen->sampler) && is_gone(xen->guard);
	}
	return gone;
}

/* A process that was killed and is not dead might release the guest once more, later. */
static void check_disarmed(const char *what)
{
	check_u64((uint64_t)xen->early_releases, 0, what);
}

static void end(int pauses, const char *what)
{
	keeper_quit(&keeper);
	keeper_end(&keeper);
	check_disarmed(what);
	check_u64((uint64_t)made_stops->pauses, (uint64_t)pauses, what);
	/* The emulator's processes may stay zombies for a while: init reaps them. */
	check(is_emulated() ? both_are_gone() : is_gone(xen->sampler) && is_gone(xen->guard),
	      "%s: no process is left", what);
	control_destroy(control);
}

static bool goes_on(void)
{
	return !watch_ends(keeper.end_fd, 0);
}

/* Waits until the keeper has ended, at most for MS. */
static void wait_for_end(uint64_t ms)
{
	watch_ends(keeper.end_fd, ms * 1000000);
}

static void wait_for_stop(void)
{
	while (made_stops->paused != 0 || made_stops->released != PENDING)
		sched_yield();
}

static void says(const char *text, const char *what)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	check(counts.state == SAMPLER_FAILED && strstr(control_get_message(control), text),
	      "%s: state %d, \"%s\"", what, counts.state, control_get_message(control));
}

static void stood_still(uint64_t limit_ns, const char *what)
{
	uint64_t ns = xen->end_ns - xen->begin_ns;

	check(xen->end_ns > xen->begin_ns && ns <= limit_ns, "%s: stopped for %.1f ms", what,
	      (double)ns / 1e6);
}

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
	check(made_stops->stops > 20, "%llu stops", (unsigned long long)made_stops->stops);
	check(goes_on(), "sampling goes on");
	guard = count_sleeps(xen->guard);
	both = guard + count_sleeps(keeper.pid);
	nap_ms(1000); /* with polls: 125 and 50 */
	check(guard && count_sleeps(xen->guard) - guard < 30 &&
		      count_sleeps(xen->guard) + count_sleeps(keeper.pid) - both < 40,
	      "guard and keeper sleep on while stops are short: %lu and %lu wakes",
	      count_sleeps(xen->guard) - guard,
	      count_sleeps(xen->guard) + count_sleeps(keeper.pid) - both);
	end(0, "quit");
}

/*
 * The sampler ends or hangs during a stop, and only the guard acts. After a hang it starts another one,
 * RESTARTS_MAX times. How long these need until they stop the guest is not measured: to take much memory
 * takes a third of a second on a busy machine.
 */
static void test_sampler(int how, int pauses, const char *text, const char *what)
{
	begin(how, pauses);
	for (unsigned i = 0; i < 20000 && made_stops->stops <= RESTARTS_MAX && goes_on(); i++)
		nap_ms(1);
	wait_for_end(1000);
	stood_still(LIMIT_NS + MACHINE_NS, what);
	says(text, what);
	end(pauses, what);
}

/*
 * A debugger holds the sampler, so that nobody can reap it, or so that it does not even end. The
 * guest runs all the same, and nobody waits for the debugger.
 */
static void test_traced(int how, const char *text, const char *what)
{
	uint64_t begin_ns;

	begin(how, 1);
	while (!xen->attached)
		nap_ms(1);
	if (xen->attached < 0) {
		printf("# SKIP %s: ptrace() is not allowed here\n", what);
	} else {
		wait_for_end(8000);
		stood_still(LIMIT_NS + MACHINE_NS, what);
		says(text, what);
	}
	begin_ns = now_ns();
	keeper_quit(&keeper);
	keeper_end(&keeper);
	check(now_ns() - begin_ns < 3000000000ULL, "%s: ends after %.1f s", what,
	      (double)(now_ns() - begin_ns) / 1e9);
	check_u64((uint64_t)made_stops->pauses, 1, what);
	check_disarmed(what);
	for (int i = 0; i < xen->n_tracers; i++)
		kill(xen->tracers[i], SIGKILL);
	check(both_are_gone(), "%s: without the debugger no process is left", what);
	control_destroy(control);
}

static void test_sampler_free(int how, const char *text, const char *what)
{
	begin(how, 1);
	wait_for_end(1000);
	says(text, what);
	end(1, what);
}

static struct sampler_counts counts_now(void)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	return counts;
}

/* The guest gets its time back, and then another sampler goes on. */
static void test_hangs_once(void)
{
	struct sampler_counts counts;
	struct stopped_summary stopped;
	uint64_t stops, released_ns, rest_ns;

	budget = 0.1;
	begin(HANGS_ONCE, 1);
	while (!xen->end_ns)
		nap_ms(1);
	check(!xen->spent, "hangs once: the first sampler has the credit of one second");
	released_ns = xen->end_ns;
	while (xen->samplers < 2)
		nap_ms(1);
	rest_ns = xen->started_ns - released_ns;
	stops = made_stops->stops;
	nap_ms(100);
	counts = counts_now();
	control_get_stopped(control, &stopped);
	check(goes_on() && counts.state == SAMPLER_RUNNING && counts.restarts == 1,
	      "hangs once: state %d, %llu restarts", counts.state,
	      (unsigned long long)counts.restarts);
	check(made_stops->stops > stops + 20, "hangs once: %llu stops after it",
	      (unsigned long long)(made_stops->stops - stops));
	check(stopped.n == 1 && stopped.max_ns >= 30000000 && counts.stopped_ns >= 30000000,
	      "hangs once: the stop that hung is counted, %.1f ms", (double)stopped.max_ns / 1e6);
	check(counts.stopped_share >= 0.03 && counts.stopped_share_max >= 0.03,
	      "hangs once: its second was stopped for %.1f %%, %.1f %% at most",
	      100 * counts.stopped_share, 100 * counts.stopped_share_max);
	check(xen->spent, "hangs once: the next sampler has no credit");
	check(rest_ns >= 9 * stopped.max_ns, "hangs once: before that the guest runs for %.0f ms",
	      (double)rest_ns / 1e6);
	end(1, "hangs once");
	budget = 1;
}

/* The guard is told to quit while it gives the guest its time back. */
static void test_hangs_and_quits(void)
{
	uint64_t begin_ns;

	budget = 0.01;
	begin(HANGS, 0);
	while (!counts_now().restarts)
		nap_ms(1);
	begin_ns = now_ns();
	control_quit(control);
	wait_for_end(1000);
	check(now_ns() - begin_ns < 1000000000 && counts_now().state == SAMPLER_ENDED,
	      "hangs, then is to quit: state %d after %.0f ms", counts_now().state,
	      (double)(now_ns() - begin_ns) / 1e6);
	end(0, "hangs, then is to quit");
	budget = 1;
}

static void test_hangs_always(void)
{
	begin(HANGS, 1);
	wait_for_end(2000);
	check_u64(counts_now().restarts, RESTARTS_MAX, "hangs always: restarts");
	check_u64((uint64_t)xen->samplers, 1 + RESTARTS_MAX, "hangs always: samplers");
	says("the sampler hung while the guest stood still", "hangs always");
	end(1, "hangs always");
}

/* Who says so, the sampler or the keeper, does not matter. */
static void kill_guard(const char *what)
{
	kill(xen->guard, SIGKILL);
	wait_for_end(1000);
	says("the guard was killed; the guest runs", what);
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
	is_recorded = access(xen->record, F_OK) == 0;
	kill(xen->guard, signal_number);
	wait_for_end(1000);
	stood_still(2 * LIMIT_NS + MACHINE_NS, what);
	if (!is_recorded)
		printf("# SKIP %s: there is no %s\n", what, PAUSE_DIRECTORY);
	else
		check(!xen->unrecorded, "%s: the record is there until the release", what);
	if (text)
		says(text, what);
	else
		check(counts_now().state == SAMPLER_HUNG && counts_now().stopped_ns >= 60000000,
		      "%s: state %d, stopped for %.1f ms", what, counts_now().state,
		      (double)counts_now().stopped_ns / 1e6);
	end(1, what);
}

static void test_stays(void)
{
	uint64_t begin_ns;

	begin(STAYS, 0);
	begin_ns = now_ns();
	end(0, "a sampler that does not end");
	check(now_ns() - begin_ns < 3000000000ULL, "it is killed after %.1f s",
	      (double)(now_ns() - begin_ns) / 1e9);
}

static void test_stopped(bool is_keeper, const char *what)
{
	begin(SAMPLES, 0);
	kill(is_keeper ? keeper.pid : xen->guard, SIGSTOP);
	end(0, what);
}

/* The keeper dies: guard and sampler end. */
static void test_keeper_killed(void)
{
	begin(SAMPLES, 1);
	kill(keeper.pid, SIGKILL);
	wait_for_end(1000);
	check(both_are_gone(), "keeper killed: no process is left");
	if (!emulator_lacks("processes of one thread"))
		says("the keeper was killed", "keeper killed");
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
		if (ptrace(PTRACE_SEIZE, keeper.pid, NULL, PTRACE_O_TRACEEXIT) < 0)
			_exit(1);
		ptrace(PTRACE_INTERRUPT, keeper.pid, NULL, NULL);
		for (;;)
			pause();
	}
	nap_ms(100);
	begin_ns = now_ns();
	keeper_quit(&keeper);
	keeper_end(&keeper);
	check(now_ns() - begin_ns < 5000000000ULL, "a traced keeper is left after %.1f s",
	      (double)(now_ns() - begin_ns) / 1e9);
	kill(tracer, SIGKILL);
	check(both_are_gone(), "a traced keeper: no process is left");
	check_u64((uint64_t)made_stops->pauses, 0, "a traced keeper");
	control_destroy(control);
}

/* The broker dies: guard and sampler end. */
static void test_broker_killed(int how, const char *what)
{
	pid_t broker;

	memset(xen, 0, sizeof(*xen));
	broker = fork();
	if (broker == 0) {
		begin(how, 1);
		pause();
	}
	while (!(how == SAMPLES ? made_stops->stops > 0 : xen->sampler > 0))
		nap_ms(1);
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	check(both_are_gone(), "%s: no process is left", what);
	check_u64((uint64_t)made_stops->pauses, 1, what);
}

int main(void)
{
	xen = mmap(NULL, sizeof(*xen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	made_stops = &xen->made;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
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
	test_hangs_once();
	test_hangs_and_quits();
	test_hangs_always();
	test_guard_killed();
	test_guard_killed_late();
	test_both(SIGKILL, "the guard was killed", "guard killed, sampler hangs");
	test_both(SIGSTOP, NULL, "both hang");
	test_stays();
	test_stopped(false, "a guard that is stopped");
	test_stopped(true, "a keeper that is stopped");
	test_keeper_killed();
	test_keeper_traced();
	test_broker_killed(SAMPLES, "broker killed");
	test_broker_killed(FORGETS, "broker killed, and the control block is overwritten");
	return tap_done();
}
