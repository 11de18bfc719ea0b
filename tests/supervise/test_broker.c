/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main and its broker as real processes, over the socket: domains, their memory and registers, and
 * samplers. xenstore may not answer, and the broker may be killed or stopped.
 */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/call_filter.h"
#include "tests/supervise/broker_fixture.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/xen/xen.h"

#ifdef SANITIZED
static const bool is_sanitized = true; /* a sanitized build has no walls */
#else
static const bool is_sanitized = false;
#endif

static void test_domains(void)
{
	struct guest_info info = { 0 }, other = { .domid = 9 };
	struct memory *memory;
	struct registers regs;

	check(says(guest_open_memory(5, &memory), "was not asked for"),
	      "no memory before the domain was found");
	check(says(guest_find("u-web01", &info), "was not asked for"),
	      "a UUID that is not known yet is not looked for");
	check(!guest_find("web01", &info) && info.domid == 5, "web01 is found as domain 5");
	check(says(guest_find("secret", &other), "was not asked for"),
	      "a domain that was not asked for is not found");
	check(says(guest_open_memory(9, &memory), "was not asked for"),
	      "no memory of a domain that was not asked for");
	check(!guest_get_registers(&other, 0, &regs),
	      "no registers of a domain that was not asked for");
	check(says(guest_open_memory(5, &memory), "adopted 5") && seen->memory_of == 5,
	      "memory of web01 is opened");
	check(guest_get_registers(&info, 1, &regs) && regs.rip == 501,
	      "registers of web01's vCPU 1 are read");
	check(!guest_get_registers(&info, 2, &regs), "no registers of a vCPU that does not exist");
	check(!guest_find("u-web01", &info) && info.domid == 6,
	      "web01 is found by its UUID after a reboot");
	check(says(guest_open_memory(6, &memory), "adopted 6"),
	      "memory of web01 is opened after its reboot");
	check(says(guest_open_memory(5, &memory), "was not asked for"),
	      "no memory of web01's domid before the reboot");
	seen->reused = 6;
	check(says(guest_open_memory(6, &memory), "is no longer the one"),
	      "no memory of a domid that another domain has now");
	check(!guest_get_registers(&info, 0, &regs),
	      "no registers of a domid that another domain has now");
	seen->reused = 0;
	check(!guest_find("web01", &info) && info.domid == 5, "web01 is found by its name again");
}

/* Guests are chosen while xtop runs. */
static void test_list(void)
{
	const struct broker_settings before = settings;
	struct guest_listing *list;
	struct guest_info info;
	size_t n;

	settings.n_domains = 0;
	if (broker_start(&settings))
		abort();
	check(!guest_list(&list, &n) && n == N_DOMAINS && list[299].info.domid == 299,
	      "the list has all 300 domains");
	free(list);
	check(!guest_find("web01", &info), "the question after the list gets its own answer");
	broker_stop();
	settings = before;
}

static void test_long_name(void)
{
	struct guest_info info;
	char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check(says(guest_find(name, &info), "no domain 'xxx"), "a name of 999 bytes is looked for");
}

static const struct guest_info *other(unsigned number)
{
	static struct guest_info info;
	char name[16];

	snprintf(name, sizeof(name), "other%u", number);
	if (guest_find(name, &info))
		abort();
	return &info;
}

static void test_sampling(void)
{
	struct guest_info info = { .domid = 5 }, secret = { .domid = 9 };
	struct guest_process process, second;
	struct control *control;
	struct ring *ring;
	const char *record;
	size_t size;

	if (control_create(&control) || ring_create(4096, &ring))
		abort();
	control_set_budget(control, 0.75);
	control_set_rate(control, 20000);
	check(says(guard_start(&secret, control, ring, &process), "was not asked for"),
	      "a domain that was not asked for is not sampled");
	check(!guard_start(&info, control, ring, &process), "a guard starts for web01");
	check_string(seen->unpaused, "u-web01",
		     "a pause that was left is undone before the guard starts");
	check(seen->started == 1 && seen->started_domid == 5, "one guard starts, for domain 5");
	check(seen->budget == 0.25, "the guard has the budget of the command line: %g",
	      seen->budget);
	check(seen->rate_hz == 99, "the sampler has the rate of the command line: %g",
	      seen->rate_hz);
	record = ring_peek(ring, &size);
	check(record && size == 8 && memcmp(record, "from far", 8) == 0,
	      "the guard writes into main's own ring");
	check(guard_is_alive(&process), "the guard is alive");
	check(says(guard_start(&info, control, ring, &second), "is sampled already"),
	      "no second guard for one domain: each would use the whole budget");
	for (unsigned i = 1; i < 64; i++)
		check(!guard_start(other(i), control, ring, &second) && !seen->spent,
		      "a guard starts for another domain, other%u", i);
	check(says(guard_start(other(64), control, ring, &second), "at most 64"),
	      "no guard starts after 64 of them");
	guard_stop(&process, control);
	check(seen->ended == 1 && seen->asked == 1,
	      "a guard that is stopped was asked to quit, and has ended");
	check(!guard_start(&info, control, ring, &process) && seen->spent,
	      "the next sampler of the same domain begins without credit");
	check(!guest_find("u-web01", &info) && info.domid == 6, "web01 has rebooted");
	guard_stop(&process, control);
	check(!guard_start(&info, control, ring, &process) && seen->spent,
	      "the next sampler after a reboot begins without credit");
	ring_destroy(ring);
	control_destroy(control);
}

static void test_main_and_broker(void)
{
	struct guest_info info;

	if (broker_start(&settings))
		abort();
	test_domains();
	test_long_name();
	test_sampling();
	broker_stop();
	check_u64(seen->ended, 66,
		  "guards that still lived end when main ends, and all have ended");
	check(!guest_find("secret", &info) && info.domid == 9, "without a broker, main asks Xen");
}

/* --- registers, for which a vCPU is paused ---------------------------------------------------- */

/* Before the sampler is there and after. */
static void test_registers_count(void)
{
	struct guest_info info;
	struct guest_process process;
	struct control *control;
	struct registers regs;
	struct ring *ring;

	if (control_create(&control) || ring_create(4096, &ring) || guest_find("web01", &info))
		abort();
	seen->pause_ns = 1000;
	seen->paused_ns = 0;
	check(guest_get_registers(&info, 0, &regs) && guest_get_registers(&info, 1, &regs),
	      "registers are read before there is a sampler");
	check_u64(seen->paused_ns, 0, "no guard counts pauses before there is a sampler: ns");
	check(!guard_start(&info, control, ring, &process),
	      "a guard starts after registers were read");
	guest_get_registers(&info, 2, &regs); /* an answer: the guard was told of those before */
	check_u64(seen->paused_ns, 3000, "the guard counts all pauses, also of a refused read: ns");
	guard_stop(&process, control);
	ring_destroy(ring);
	control_destroy(control);
	seen->pause_ns = 0;
}

/*
 * A quarter of the time, and 500 ms at the start. Main waits until the broker may ask again. The
 * budget begins with the first grant of the domain, after BEGIN_NS.
 */
static void test_registers_budget(uint64_t begin_ns)
{
	struct guest_info info;
	struct registers regs;
	uint64_t took_ns;
	unsigned n = 0;

	if (guest_find("web01", &info))
		abort();
	seen->pause_ns = 60000000;
	seen->read = 0;
	for (; n < 10 && guest_get_registers(&info, 0, &regs); n++)
		if (guest_find("web01", &info)) /* another grant of the same domain */
			abort();
	took_ns = clock_now_ns() - begin_ns;
	seen->pause_ns = 0;
	check(n == 10 && seen->read == 10,
	      "registers are read 10 times: %u, Xen was asked %u times", n, seen->read);
	check(took_ns >= 160000000, "600 ms of pauses take at least 160 ms: %" PRIu64 " ms",
	      took_ns / 1000000); /* 4 * (600 - 500 - 60) */
}

static void test_registers(void)
{
	uint64_t begin_ns = clock_now_ns();

	if (broker_start(&settings))
		abort();
	test_registers_count();
	test_registers_budget(begin_ns);
	broker_stop();
}

/* --- a broker or a xenstore that does not answer ---------------------------------------------- */

/*
 * xenstore does not answer: the broker does, and says why. The next answer belongs to its
 * question.
 */
static void test_slow(void)
{
	const struct broker_settings before = settings;
	struct guest_info info = { .domid = 77 };
	struct guest_listing *list;
	size_t n;

	settings.n_domains = 0;
	if (broker_start(&settings))
		abort();
	seen->slow = true;
	check(says(guest_find("web01", &info), "xenstore does not answer"),
	      "slow xenstore: finding a domain reports it");
	check(says(guest_list(&list, &n), "xenstore does not answer"),
	      "slow xenstore: listing the domains reports it");
	check(broker_is_alive(), "slow xenstore: the broker is alive");
	seen->slow = false;
	check(!guest_find("web01", &info) && info.domid == 5,
	      "xenstore answers again: web01 is found");
	seen->slow = true;
	broker_stop();
	check(says(guest_find("web01", &info), "xenstore does not answer"),
	      "slow xenstore: finding a domain without a broker reports it");
	seen->slow = false;
	settings = before;
}

/* The broker notices the end of main also while xenstore does not answer. */
static void test_slow_end(void)
{
	const struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	unsigned waited_ms = 0;
	int socket, status;
	pid_t pid;

	seen->slow = true;
	socket = start_bare(&pid);
	check(wire_send(socket, &find, sizeof(find), NULL, 0),
	      "slow xenstore: a domain is asked for");
	usleep(100000);
	close(socket);
	for (; waited_ms < 5000 && waitpid(pid, &status, WNOHANG) == 0; waited_ms += 10)
		usleep(10000);
	check(waited_ms < 1000, "slow xenstore: the broker ends within 1 s after main: %u ms",
	      waited_ms);
	seen->slow = false;
}

/* The only child of this process. */
static pid_t broker_pid(void)
{
	pid_t pid = child_of(getpid());

	if (!pid)
		abort();
	return pid;
}

/* A stopped broker was not killed. */
static void test_stopped(void)
{
	struct guest_info info;
	pid_t pid;

	if (broker_start(&settings))
		abort();
	pid = broker_pid();
	check(!guest_find("web01", &info), "a broker finds web01 before it is stopped");
	check(syscall(SYS_sched_getscheduler, pid) == SCHED_OTHER,
	      "the broker has no real-time priority");
	kill_process(pid, SIGSTOP);
	check(says(guest_find("web01", &info), "does not answer"), "a stopped broker is reported");
	check(says(guest_find("web01", &info), "does not answer"),
	      "a stopped broker is reported again");
	kill_process(pid, SIGCONT);
	broker_stop();
}

static void test_killed(void)
{
	struct guest_info info;

	if (broker_start(&settings))
		abort();
	check(!guest_find("web01", &info) && broker_is_alive(),
	      "a broker finds web01 before it is killed");
	kill_process(broker_pid(), SIGKILL);
	check(says(guest_find("web01", &info), "was killed"), "a killed broker is reported");
	check(says(guest_find("web01", &info), "was killed"), "a killed broker is reported again");
	check(!broker_is_alive(), "a killed broker is not alive");
	broker_stop();
}

/* Whether process PID, which this one inherits, has ended or ends within 5 s. */
static bool ends(pid_t pid)
{
	for (unsigned waited_ms = 0; waited_ms < 5000; waited_ms += 10) {
		if (waitpid(pid, NULL, WNOHANG) == pid || kill(pid, 0) < 0)
			return true;
		usleep(10000);
	}
	return false;
}

/* Without the kernel's filters the broker answers nothing but that. */
static void test_no_filter(void)
{
	const int calls[] = { CALL(seccomp), CALL(prctl) };
	struct guest_info info;
	pid_t pid;
	int status = -1;

	if (emulator_lacks("walls") || is_sanitized)
		return;
	pid = fork();
	if (pid == 0) {
		if (call_filter_refuse(calls, COUNT(calls)) || broker_start(&settings))
			_exit(2);
		status = !says(guest_find("web01", &info), "cannot limit the system calls");
		broker_stop();
		_exit(status);
	}
	waitpid(pid, &status, 0);
	check(status == 0, "a broker without a filter refuses to answer: status %x",
	      (unsigned)status);
}

/* The process that forks keepers: it dies with the broker, and the broker goes on without it. */
static void test_starter(void)
{
	struct guest_process process;
	struct guest_info info;
	struct control *control;
	struct ring *ring;
	pid_t broker, starter;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (control_create(&control) || ring_create(4096, &ring) || broker_start(&settings))
		abort();
	check(!guest_find("web01", &info), "a broker finds web01 before its starter is killed");
	starter = child_of(broker_pid());
	check(starter, "the broker has a starter");
	kill_process(starter, SIGKILL);
	check(says(guard_start(&info, control, ring, &process), "starter was killed"),
	      "no guard starts without a starter");
	check(!guest_find("web01", &info) && broker_is_alive(), "the broker goes on without it");
	broker_stop();
	ring_destroy(ring);
	control_destroy(control);
	if (emulator_lacks("subreapers"))
		return;
	if (broker_start(&settings) || guest_find("web01", &info))
		abort();
	broker = broker_pid();
	starter = child_of(broker);
	kill_process(broker, SIGKILL);
	check(starter && ends(starter), "a starter ends when its broker is killed");
	broker_stop();
	if (broker_start(&settings) || guest_find("web01", &info))
		abort();
	broker = broker_pid();
	starter = child_of(broker);
	kill_process(starter, SIGSTOP);
	broker_stop();
	check(ends(broker), "a broker ends though its starter is stopped");
	check(kill(starter, 0) < 0 || ends(starter), "such a starter ends with it");
}

int main(void)
{
	fixture_begin();
	test_main_and_broker();
	test_list();
	test_registers();
	test_killed();
	test_slow();
	test_slow_end();
	test_stopped();
	test_starter();
	test_no_filter();
	return tap_done();
}
