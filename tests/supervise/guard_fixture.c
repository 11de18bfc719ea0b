/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The made-up Xen, the sampler and the scenes of the tests of the guard; see guard_fixture.h. */
#include "config.h"

#include "tests/supervise/guard_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/emulated.h"
#include "tests/support/made_stops.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define LARGE_BYTES (UINT64_C(1) << 27)

struct scene *scene;
struct guard_fixture fixture = { .budget = 1 };
static enum manner manner; /* what the sampler of this scene does */

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void nap_ms(long ms)
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
	scene->begin_ns = now_ns();
	return made_stop();
}

/* Behind the keeper's walls: nothing is below a file, and unlink() says which of the two is not there. */
static bool is_recorded(void)
{
	char below[sizeof(scene->record) + 2];

	snprintf(below, sizeof(below), "%s/x", scene->record);
	return unlink(below) < 0 && errno == ENOTDIR;
}

static void xen_release(void *context)
{
	enum stop_user user = *(const enum stop_user *)context;

	scene->end_ns = now_ns();
	scene->early_releases += made_state().disarmed < (int)user;
	scene->unrecorded += user == STOP_KEEPER && !is_recorded();
	made_release(user);
}

static void xen_close(void *context)
{
	(void)context;
}

static const struct guest_ops xen_ops = { .expect_stops = made_expect_stops,
					  .end_stops = made_end_stops,
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
 * The tracer: it attaches to each sampler that wants it, and never waits for one. It belongs to another
 * process group and lives until the test kills it. A sampler could not start it behind its walls. A
 * debugger has none of the sampler's descriptors.
 */
static void be_tracer(void)
{
	long options = manner == TRACED_EXIT ? PTRACE_O_TRACEEXIT : 0;
	pid_t sampler;

	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		close(fd);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may be killed, and its group with it */
	for (;; nap_ms(1)) {
		sampler = atomic_exchange(&scene->wants_tracer, 0);
		if (sampler)
			scene->attached = ptrace(PTRACE_SEIZE, sampler, NULL, options) < 0 ? -1 : 1;
	}
}

static void start_tracer(void)
{
	pid_t tracer = fork();

	if (tracer == 0)
		be_tracer();
	scene->tracer = tracer;
}

static void be_traced(void)
{
	scene->attached = 0;
	scene->wants_tracer = getpid();
	while (!scene->attached)
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

	scene->guard = getppid();
	scene->sampler = getpid();
	scene->samplers++;
	scene->started_ns = now_ns();
	scene->spent = control_is_credit_spent();
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
	while (manner == FORGETS) { /* main seems to overwrite the shared control block */
		control_restart(control);
		nap_ms(1);
	}
	while (manner != LINGERS && !control_is_quitting(control)) {
		stop_guest(guest);
		if (manner == HANGS || manner == HANGS_LARGE ||
		    (manner == HANGS_ONCE && scene->samplers == 1) || manner == TRACED ||
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

void fixture_begin(void)
{
	struct {
		struct scene scene;
		struct made_stops stops;
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	if (shared == MAP_FAILED)
		abort();
	scene = &shared->scene;
	made_stops = &shared->stops;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void clear_scene(void)
{
	memset(scene, 0, sizeof(*scene));
	memset(made_stops, 0, sizeof(*made_stops));
}

void begin(enum manner how, int pauses)
{
	struct sampling sampling = {
		.info = { .name = "made-up", .uuid = "u", .domid = 7, .n_vcpus = 1 },
		.run = run,
	};
	const struct keeper_origin origin = { .main = getppid(), .socket = -1, .shared = true };

	manner = how;
	clear_scene();
	snprintf(scene->record, sizeof(scene->record), PAUSE_DIRECTORY "/%u.%s.%d",
		 sampling.info.domid, sampling.info.uuid, getpid());
	made_begin(pauses);
	must(control_create(&fixture.control));
	control_set_budget(fixture.control, fixture.budget);
	sampling.control = fixture.control;
	if (manner >= TRACED)
		start_tracer();
	/* shared: the record lies in /run/xtop, where another run of this test may have one, too */
	must(keeper_start(&sampling, &origin, &fixture.keeper));
	while (!scene->sampler && !watch_ends(fixture.keeper.end_fd, 0))
		nap_ms(1);
}

static bool is_gone(pid_t pid)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* this process inherits orphans */
	return kill(pid, 0) < 0 && errno == ESRCH;
}

bool both_are_gone(void)
{
	bool gone = is_gone(scene->sampler) && is_gone(scene->guard);

	for (unsigned i = 0; i < 300 && !gone; i++) {
		nap_ms(10);
		gone = is_gone(scene->sampler) && is_gone(scene->guard);
	}
	return gone;
}

bool is_stopped(void)
{
	return stop_area_is_stopped(&made_area);
}

uint64_t count_stops(void)
{
	return made_stops->stops;
}

void check_pauses(int pauses, const char *what)
{
	check(made_state().pauses == pauses, "%s: the guest's pause count is %d (expected %d)",
	      what, made_state().pauses, pauses);
}

void check_disarmed(const char *what)
{
	check(!scene->early_releases,
	      "%s: nobody releases the guest in the place of a process that was not disarmed: %d",
	      what, scene->early_releases);
}

void end(int pauses, const char *what)
{
	keeper_quit(&fixture.keeper);
	keeper_end(&fixture.keeper);
	check_disarmed(what);
	check_pauses(pauses, what);
	/* The emulator's processes may stay zombies for a while: init reaps them. */
	check(is_emulated() ? both_are_gone() : is_gone(scene->sampler) && is_gone(scene->guard),
	      "%s: no process is left", what);
	control_destroy(fixture.control);
}

bool goes_on(void)
{
	return !watch_ends(fixture.keeper.end_fd, 0);
}

void wait_for_end(uint64_t ms)
{
	watch_ends(fixture.keeper.end_fd, ms * 1000000);
}

void check_message(const char *text, const char *what)
{
	struct sampler_counts counts;

	control_get_counts(fixture.control, &counts);
	check(counts.state == SAMPLER_FAILED && strstr(control_get_message(fixture.control), text),
	      "%s: the sampler has failed (state %d), \"%s\" (expected \"%s\")", what, counts.state,
	      control_get_message(fixture.control), text);
}

void check_stop(uint64_t limit_ns, const char *what)
{
	uint64_t ns = scene->end_ns - scene->begin_ns;

	check(scene->end_ns > scene->begin_ns && ns <= limit_ns,
	      "%s: the last stop takes %.1f ms (expected at most %.0f)", what, (double)ns / 1e6,
	      (double)limit_ns / 1e6);
}

struct sampler_counts counts_now(void)
{
	struct sampler_counts counts;

	control_get_counts(fixture.control, &counts);
	return counts;
}
