/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard and its sampler as real processes, on a made-up Xen in shared memory that replaces
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/guard.h"
#include "tests/support/made_stops.h"
#include "tests/support/must.h"
#include "tests/support/needs.h"
#include "tests/support/tap.h"
#include "xtop/control.h"
#include "xtop/restarts.h"

#define LIMIT_NS   50000000ULL /* doc/xtop.1: the longest stop when one process dies */
#define MACHINE_NS 30000000ULL /* added for a loaded machine */

/* Xen, and what a test sees of the sampler. */
static struct xen {
	struct made_stops made;
	atomic_ullong begin_ns, end_ns; /* of the last stop */
	atomic_int sampler, guard;      /* pids */
	atomic_int samplers;            /* started so far */
	atomic_ullong started_ns;       /* of the last sampler */
	atomic_bool spent;              /* the last sampler began without credit */
} * xen;

static enum { SAMPLES, HANGS, HANGS_ONCE, SPINS, DIES, DIES_FREE, RETURNS, STAYS, FORGETS } manner;

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
	*areap = &made_area;
	return NULL;
}

static bool xen_stop(void *context, const uint16_t *vcpus, unsigned n, struct registers *regs,
		     bool *user)
{
	(void)context, (void)vcpus, (void)n, (void)regs, (void)user;
	xen->begin_ns = now_ns();
	made_stop();
	return true;
}

static void xen_release(void *context)
{
	(void)context;
	xen->end_ns = now_ns();
	made_release();
}

static void xen_close(void *context)
{
	(void)context;
}

static const struct guest_ops xen_ops = { .stop = xen_stop,
					  .release = xen_release,
					  .close = xen_close };

struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       struct guest *guest)
{
	(void)area;
	*guest = (struct guest){ .ops = &xen_ops, .info = *info };
	return NULL;
}

/* --- the sampler ------------------------------------------------------------------------------ */

static void stop_guest(struct guest *guest)
{
	guest->ops->stop(guest->context, NULL, 0, NULL, NULL);
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
	while (!control_is_quitting(control)) {
		stop_guest(guest);
		if (manner == HANGS || (manner == HANGS_ONCE && xen->samplers == 1))
			raise(SIGSTOP);
		while (manner == SPINS)
			;
		if (manner == DIES)
			raise(SIGKILL);
		guest->ops->release(guest->context);
		nap_ms(1);
	}
	control_set_state(control, SAMPLER_ENDED);
}

/* --- scenes ----------------------------------------------------------------------------------- */

static struct control *control;
static struct guard *guard;
/* shared: the record lies in /run/xtop, where another run of this test may have one, too. */
static const struct broker_settings settings = { .run = run, .shared = true };
static double budget = 1; /* of all time: after a hang, the next sampler need not wait */

/* PAUSES: how often an administrator has paused the guest. */
static void begin(int how, int pauses)
{
	const struct guest_info info = { .name = "made-up", .uuid = "u", .domid = 7, .n_vcpus = 1 };

	manner = how;
	memset(xen, 0, sizeof(*xen));
	made_stops->pauses = pauses;
	made_stops->paused = made_stops->released = PENDING;
	must(control_create(&control));
	control_set_budget(control, budget);
	must(guard_create(&info, control, NULL, &settings, -1, &guard));
	while (!xen->sampler && guard_poll(guard))
		nap_ms(1);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static unsigned polls;

static void count_polls(void *context)
{
	(void)context;
	polls++;
}

static void end(int pauses, const char *what)
{
	guard_destroy(guard, count_polls, NULL);
	check_u64((uint64_t)made_stops->pauses, (uint64_t)pauses, what);
	check(is_gone(xen->sampler) && is_gone(xen->guard), "%s: no process is left", what);
	control_destroy(control);
}

/* Polls as the broker does, until the guard has ended, at most TRIES times. */
static void poll_guard(unsigned tries)
{
	while (tries-- && guard_poll(guard))
		nap_ms(BROKER_POLL_NS / 1000000);
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

static void test_quits(void)
{
	begin(SAMPLES, 0);
	nap_ms(100); /* a hundred stops, all of them short */
	check(made_stops->stops > 20, "%llu stops", (unsigned long long)made_stops->stops);
	check(guard_poll(guard), "sampling goes on");
	end(0, "quit");
}

/* The sampler ends or hangs during a stop, and only the guard acts. */
static void test_sampler(int how, int pauses, const char *text, const char *what)
{
	begin(how, pauses);
	poll_guard(50);
	stood_still(LIMIT_NS + MACHINE_NS, what);
	says(text, what);
	end(pauses, what);
}

static void test_sampler_free(int how, const char *text, const char *what)
{
	begin(how, 1);
	poll_guard(50);
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
	check(guard_poll(guard) && counts.state == SAMPLER_RUNNING && counts.restarts == 1,
	      "hangs once: state %d, %llu restarts", counts.state,
	      (unsigned long long)counts.restarts);
	check(made_stops->stops > stops + 20, "hangs once: %llu stops after it",
	      (unsigned long long)(made_stops->stops - stops));
	check(stopped.n == 1 && stopped.max_ns >= 30000000 && counts.stopped_ns >= 30000000,
	      "hangs once: the stop that hung is counted, %.1f ms", (double)stopped.max_ns / 1e6);
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
	poll_guard(50);
	check(now_ns() - begin_ns < 1000000000 && counts_now().state == SAMPLER_ENDED,
	      "hangs, then is to quit: state %d after %.0f ms", counts_now().state,
	      (double)(now_ns() - begin_ns) / 1e6);
	end(0, "hangs, then is to quit");
	budget = 1;
}

static void test_hangs_always(void)
{
	begin(HANGS, 1);
	poll_guard(100);
	check_u64(counts_now().restarts, RESTARTS_MAX, "hangs always: restarts");
	check_u64((uint64_t)xen->samplers, 1 + RESTARTS_MAX, "hangs always: samplers");
	says("the sampler hung while the guest stood still", "hangs always");
	end(1, "hangs always");
}

static void test_guard_killed(void)
{
	begin(SAMPLES, 0);
	wait_for_stop();
	kill(xen->guard, SIGKILL);
	poll_guard(50);
	says("killed; the guest runs", "guard killed");
	end(0, "guard killed");
}

/* The sampler hangs during a stop, and the guard is killed or stopped before it can act. */
static void test_both(int signal_number, const char *text, const char *what)
{
	begin(HANGS, 1);
	kill(xen->guard, signal_number);
	poll_guard(50);
	stood_still(2 * LIMIT_NS + MACHINE_NS, what);
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
	polls = 0;
	end(0, "a sampler that does not end");
	check(now_ns() - begin_ns < 3000000000ULL, "it is killed after %.1f s",
	      (double)(now_ns() - begin_ns) / 1e9);
	check(polls >= 10, "meanwhile the broker polls other guards %u times", polls);
}

static void test_guard_stopped(void)
{
	begin(SAMPLES, 0);
	kill(xen->guard, SIGSTOP);
	end(0, "a guard that is stopped");
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
	for (unsigned i = 0; i < 300 && !(is_gone(xen->guard) && is_gone(xen->sampler)); i++) {
		nap_ms(10);
		waitpid(-1, NULL, WNOHANG); /* this process inherits orphans */
	}
	check(is_gone(xen->guard) && is_gone(xen->sampler), "%s: no process is left", what);
	check_u64((uint64_t)made_stops->pauses, 1, what);
}

int main(void)
{
	needs_call_or_skip(SYS_pidfd_open, "pidfd_open");
	xen = mmap(NULL, sizeof(*xen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	made_stops = &xen->made;
	test_quits();
	test_sampler(HANGS, 0, "the sampler hung while the guest stood still", "SIGSTOP in a stop");
	test_sampler(HANGS, 2, "the sampler hung while the guest stood still",
		     "SIGSTOP in a stop of a guest that others have paused");
	test_sampler(SPINS, 1, "the sampler hung while the guest stood still", "a loop in a stop");
	test_sampler(DIES, 0, "the sampler was killed by signal 9", "SIGKILL in a stop");
	test_sampler(DIES, 1, "the sampler was killed by signal 9",
		     "SIGKILL in a stop of a guest that others have paused");
	test_sampler_free(DIES_FREE, "the sampler was killed by signal 9",
			  "SIGKILL while the guest runs");
	test_sampler_free(RETURNS, "the sampler ended before its time",
			  "a sampler that ends although nobody told it to");
	test_hangs_once();
	test_hangs_and_quits();
	test_hangs_always();
	test_guard_killed();
	test_both(SIGKILL, "the guard was killed", "guard killed, sampler hangs");
	test_both(SIGSTOP, NULL, "both hang");
	test_stays();
	test_guard_stopped();
	test_broker_killed(SAMPLES, "broker killed");
	test_broker_killed(FORGETS, "broker killed, and the control block is overwritten");
	return tap_done();
}
