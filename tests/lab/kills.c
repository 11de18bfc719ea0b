// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kills xtop again and again, at random moments, and checks from outside that the guest goes on.
 *
 *   kills DOMAIN KERNEL N [OPTION...]
 *   kills DOMAIN KERNEL all [OPTION...]
 *
 * The second form kills all processes of one xtop during one stop, and leaves the guest as it is
 * then.
 *
 * The first form does the following N times for each of xtop's six processes. It starts xtop with
 * the OPTIONs on DOMAIN, waits for its first stop, lets it sample for up to MOMENT_US more, and
 * sends SIGKILL to the process. In one round of RARE it also does other things to the sampler (see
 * enum role), and sends SIGKILL to guard and sampler at once. Then it waits until the domain is not
 * paused, until its counters go on (`heartbeat` of the ELF file KERNEL, which the domain runs), and
 * until no process of xtop is left. Two times in seven it kills during the first stop, and one time
 * in seven it does not wait for a stop, to kill xtop while it starts. TAP on stdout.
 *
 * xtop runs in a forked process, which calls the same function as main(): to execute and link the
 * program again would take most of a second in the lab.
 *
 * This program has a higher real-time priority than the sampler. Otherwise it would never run while
 * the guest is stopped, because the lab's dom0 has only one CPU. Just before each kill it looks
 * whether the guest is stopped. It prints how often it was, and this must not be 0.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/children.h"
#include "tests/support/must.h"
#include "xtop/cli/options.h"
#include "xtop/memory/memory.h"
#include "xtop/memory/walk.h"
#include "xtop/run/session.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/domctl.h"

#define MOMENT_US 20000
#define START_US  100000 /* about the time from the fork to the first samples */
#define LIMIT_S   20     /* the longest wait for anything, also on a loaded machine */
#define POLL_US   500    /* between polls whether the guest runs again */
#define FIND_US   5000   /* between searches for xtop's processes, which start on this CPU, too */
/*
 * 50 ms, and 100 ms when guard and sampler are killed at once. Counted in polls, so that no test
 * fails because the machine stalls.
 */
#define PROMPT_POLLS      100
#define PROMPT_POLLS_BOTH 200
#define PRINT_EVERY       100 /* rounds */
#define RARE              4   /* one of so many rounds tries HANG and what follows */
#define FROZEN_US         2000000 /* a freezer thaws before or after the rest of xtop has ended */
#define MAX_VCPUS         4   /* tests/guests/tiny/tiny.h has the same limit */

/* Each role is killed at each moment in turn, the first time in a stop. */
static const enum moment {
	IN_A_STOP,
	SAMPLING,
	STARTING,
} moments[] = { IN_A_STOP, SAMPLING, STARTING, SAMPLING, IN_A_STOP, SAMPLING, SAMPLING };
#define N_MOMENTS (sizeof(moments) / sizeof(moments[0]))

/*
 * The process that is killed, or what is done to the sampler. A traced sampler is stopped by a
 * debugger that does nothing more, and that stops it again while it ends: as strace does whose
 * terminal is stopped (Ctrl-S). A frozen sampler is in a frozen cgroup. The freezer of version 2 lets
 * a killed process end, that of version 1 does not.
 */
enum role {
	SAMPLER,
	GUARD,
	KEEPER,
	STARTER,
	BROKER,
	MAIN,
	HANG, /* SIGSTOP for the sampler */
	TRACED,
	FROZEN_1,
	FROZEN_2,
	BOTH, /* guard and sampler at once */
	N_ROLES
};
#define N_PROCESSES HANG

static const char *const deeds[N_ROLES] = {
	"SIGKILL of the sampler",
	"SIGKILL of the guard",
	"SIGKILL of the keeper",
	"SIGKILL of the starter",
	"SIGKILL of the broker",
	"SIGKILL of main",
	"SIGSTOP of the sampler",
	"a debugger that stops the sampler",
	"a freezer (cgroups, version 1) that stops the sampler",
	"a freezer (cgroups, version 2) that stops the sampler",
	"SIGKILL of guard and sampler",
};

/* A cgroup for each freezer. */
static const struct freezer {
	const char *type, *options, *mounted, *processes, *state, *freeze, *thaw;
} freezers[] = {
	{ "cgroup", "freezer", "/tmp/freezer1", "/tmp/freezer1/x/cgroup.procs",
	  "/tmp/freezer1/x/freezer.state", "FROZEN", "THAWED" },
	{ "cgroup2", NULL, "/tmp/freezer2", "/tmp/freezer2/x/cgroup.procs",
	  "/tmp/freezer2/x/cgroup.freeze", "1", "0" },
};

static struct guest_info info;
static struct guest guest;
static struct memory *memory;
static uint64_t heartbeat_address;
static struct options options;

static struct tally {
	unsigned kills, stopped, late;
	uint64_t longest_ns;
	unsigned most_polls;
} tallies[N_ROLES];

static void print_tally(enum role role)
{
	const struct tally *tally = &tallies[role];

	printf("# %s: %u times, %u of them while the guest was stopped; it ran again after %.1f ms "
	       "and %u polls at most\n",
	       deeds[role], tally->kills, tally->stopped, (double)tally->longest_ns / 1e6,
	       tally->most_polls);
}

static const char *deed = "the start"; /* what is being done, for the messages */

static void die(const char *what)
{
	for (enum role role = 0; role < N_ROLES; role++)
		print_tally(role);
	printf("# after %s:\n", deed);
	printf("Bail out! kills: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap_us(long us)
{
	struct timespec nap = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&nap, NULL);
}

/* --- the guest, from outside ------------------------------------------------------------------ */

static bool is_stopped(void)
{
	static struct guest_look look;

	if (!guest.ops->look(guest.context, &look) || look.life == GUEST_GONE)
		die("the guest is gone");
	return look.life == GUEST_PAUSED_BY_OTHERS;
}

/* The sum of the counters of all vCPUs. */
static uint64_t read_heartbeat(void)
{
	uint64_t rounds[MAX_VCPUS], sum = 0;
	size_t size = info.n_vcpus * sizeof(rounds[0]);
	struct registers regs;

	memory_refresh(memory);
	if (info.n_vcpus > MAX_VCPUS || !guest_get_registers(&info, 0, &regs) ||
	    memory_read(memory, walk_root(&regs), heartbeat_address, rounds, size) != size)
		die("cannot read the guest's counters");
	for (unsigned i = 0; i < info.n_vcpus; i++)
		sum += rounds[i];
	return sum;
}

static uint64_t find_symbol_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			       const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *found = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (found && strcmp(found, name) == 0)
			return symbol.st_value;
	}
	return 0;
}

static uint64_t find_symbol(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY);
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	uint64_t address = 0;
	GElf_Shdr header;

	while (!address && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			address = find_symbol_in(elf, section, &header, name);
	elf_end(elf);
	close(fd);
	if (!address)
		die("no such symbol in the kernel");
	return address;
}

/* --- xtop's processes ------------------------------------------------------------------------- */

static void find_processes(pid_t pids[N_PROCESSES])
{
	uint64_t limit_ns = now_ns() + LIMIT_S * 1000000000ULL;

	while (!(pids[BROKER] = child_of(pids[MAIN])) ||
	       !(pids[STARTER] = child_of(pids[BROKER])) ||
	       !(pids[KEEPER] = child_of(pids[STARTER])) ||
	       !(pids[GUARD] = child_of(pids[KEEPER])) ||
	       !(pids[SAMPLER] = child_of(pids[GUARD]))) {
		if (now_ns() > limit_ns)
			die("xtop has not started a broker, a starter, a keeper, a guard and a sampler");
		nap_us(FIND_US);
	}
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct xtop_error *error = session_run(&options, NULL);

		error_destroy(error); /* the result of a killed xtop does not matter */
		_exit(error != NULL);
	}
	return pid;
}

/* Lets a traced process go on that has stopped while it ends. */
static void let_go(pid_t pid, int status)
{
	if (pid > 0 && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* Prints the lines of /proc/PID/NAME that begin with BEGIN. */
static void print_line(pid_t pid, const char *name, const char *begin)
{
	char path[400], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, begin, strlen(begin)) == 0)
			printf("#   %d %s: %.*s\n", pid, name, (int)strcspn(line, "\n"), line);
	if (file)
		fclose(file);
}

/* Prints what each thread of PID waits for. */
static void print_threads(pid_t pid)
{
	char path[64], name[300];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "task/%s/syscall", entry->d_name);
		print_line(pid, name, "");
		snprintf(name, sizeof(name), "task/%s/stack", entry->d_name);
		print_line(pid, name, "");
	}
	if (threads)
		closedir(threads);
}

static void print_processes(const pid_t pids[N_PROCESSES])
{
	for (enum role role = 0; role < N_PROCESSES; role++) {
		print_line(pids[role], "stat", "");
		print_threads(pids[role]);
	}
}

/* Waits for all processes, also for orphans, which this process inherits, and for traced ones. */
static void wait_for_end(const pid_t pids[N_PROCESSES])
{
	uint64_t limit_ns = now_ns() + LIMIT_S * 1000000000ULL;
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (now_ns() > limit_ns) {
			print_processes(pids);
			die("a process of xtop does not end");
		}
		let_go(ended, status);
		if (ended == 0)
			nap_us(FIND_US);
	}
}

/* --- freezers --------------------------------------------------------------------------------- */

static const struct freezer *freezer_of(enum role role)
{
	return role == FROZEN_1 || role == FROZEN_2 ? &freezers[role - FROZEN_1] : NULL;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) == EOF)
		die(path);
}

static void mount_freezer(const struct freezer *freezer)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "%s/x", freezer->mounted);
	mkdir(freezer->mounted, 0700);
	if ((mount("none", freezer->mounted, freezer->type, 0, freezer->options) < 0 &&
	     errno != EBUSY) ||
	    (mkdir(folder, 0700) < 0 && errno != EEXIST))
		die("no freezer");
}

static void put_into_freezer(const struct freezer *freezer, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	write_file(freezer->processes, text);
}

/* --- one kill --------------------------------------------------------------------------------- */

static unsigned prompt_polls(enum role role)
{
	return role == BOTH ? PROMPT_POLLS_BOTH : PROMPT_POLLS;
}

static void wait_for_release(enum role role)
{
	struct tally *tally = &tallies[role];
	uint64_t begin_ns = now_ns(), took_ns;
	unsigned polls = 0;

	while (is_stopped()) {
		if (now_ns() - begin_ns > LIMIT_S * 1000000000ULL)
			die("the guest is left stopped");
		nap_us(POLL_US);
		polls++;
	}
	took_ns = now_ns() - begin_ns;
	tally->late += polls > prompt_polls(role);
	if (polls > tally->most_polls)
		tally->most_polls = polls;
	if (took_ns > tally->longest_ns)
		tally->longest_ns = took_ns;
}

static void wait_for_heartbeat(uint64_t before)
{
	uint64_t limit_ns = now_ns() + LIMIT_S * 1000000000ULL;

	while (read_heartbeat() == before) {
		if (now_ns() > limit_ns)
			die("the guest's heartbeat has stopped");
		nap_us(1000);
	}
}

static void wait_for_stop(void)
{
	uint64_t limit_ns = now_ns() + LIMIT_S * 1000000000ULL;

	while (!is_stopped()) {
		if (now_ns() > limit_ns)
			die("xtop does not stop the guest");
		nap_us(random() % 1000);
	}
}

static void wait_for_moment(enum moment moment)
{
	if (moment != STARTING)
		wait_for_stop();
	if (moment != IN_A_STOP)
		nap_us(random() % (moment == STARTING ? START_US : MOMENT_US));
}

static void strike(const pid_t pids[N_PROCESSES], enum role role)
{
	if (role == BOTH) {
		kill(pids[GUARD], SIGKILL);
		kill(pids[SAMPLER], SIGKILL);
	} else if (role == HANG) {
		kill(pids[SAMPLER], SIGSTOP);
	} else if (role == TRACED) {
		ptrace(PTRACE_SEIZE, pids[SAMPLER], NULL, PTRACE_O_TRACEEXIT);
		ptrace(PTRACE_INTERRUPT, pids[SAMPLER], NULL, NULL);
	} else if (freezer_of(role)) {
		write_file(freezer_of(role)->state, freezer_of(role)->freeze);
	} else {
		kill(pids[role], SIGKILL);
	}
}

static void kill_one(enum role role, enum moment moment)
{
	struct tally *tally = &tallies[role];
	pid_t pids[N_PROCESSES];

	deed = deeds[role];
	pids[MAIN] = start();
	find_processes(pids);
	if (freezer_of(role))
		put_into_freezer(freezer_of(role), pids[SAMPLER]);
	wait_for_moment(moment);
	tally->stopped += is_stopped();
	strike(pids, role);
	tally->kills++;
	wait_for_release(role);
	wait_for_heartbeat(read_heartbeat());
	/*
	 * xtop may go on with another sampler, or with the stopped one. A sampler that was killed
	 * counts as one that hangs if the kernel needs long for its end.
	 */
	if (role == SAMPLER || role >= HANG)
		kill(pids[MAIN], SIGKILL);
	if (freezer_of(role)) {
		nap_us(random() % FROZEN_US);
		write_file(freezer_of(role)->state, freezer_of(role)->thaw);
	}
	wait_for_end(pids);
	if (is_stopped())
		die("the guest is stopped although nothing of xtop is left");
}

/* No process of xtop runs between these kills: this one has a higher priority on the only CPU. */
static void kill_all(void)
{
	pid_t pids[N_PROCESSES];

	pids[MAIN] = start();
	find_processes(pids);
	wait_for_stop();
	for (enum role role = 0; role < N_PROCESSES; role++)
		kill(pids[role], SIGKILL);
	wait_for_end(pids);
	printf("%s SIGKILL of all processes in a stop: the guest stands still\n",
	       is_stopped() ? "ok" : "not ok");
}

static void report(enum role role)
{
	const struct tally *tally = &tallies[role];

	print_tally(role);
	printf("%s %s, %u times: the guest runs within %u ms\n", tally->late ? "not ok" : "ok",
	       deeds[role], tally->kills, prompt_polls(role) * POLL_US / 1000);
	printf("%s %s while the guest was stopped\n", tally->stopped ? "ok" : "not ok",
	       deeds[role]);
}

static void prepare(const char *domain, const char *kernel)
{
	struct sched_param param = { .sched_priority = 3 };
	unsigned seed = (unsigned)time(NULL);
	struct stop_area *area;

	printf("# seed %u\n", seed);
	srandom(seed);
	must(guest_find(domain, &info));
	must(stop_area_create(&info, &area));
	must(domctl_open(&info, area, STOP_SAMPLER, &guest));
	must(guest_open_memory(info.domid, &memory));
	heartbeat_address = find_symbol(kernel, "heartbeat");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < sizeof(freezers) / sizeof(freezers[0]); i++)
		mount_freezer(&freezers[i]);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0)
		die("no real-time priority");
}

int main(int argc, char **argv)
{
	unsigned n = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	bool all = argc > 3 && strcmp(argv[3], "all") == 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!n && !all) {
		fprintf(stderr, "usage: kills DOMAIN KERNEL N [OPTION...]\n");
		return 2;
	}
	prepare(argv[1], argv[2]);
	argv[2] = (char[]){ "-d" }; /* xtop's own command line begins: -d DOMAIN [OPTION...] */
	argv[3] = argv[1];
	must(options_parse(argc - 1, argv + 1, &options));
	if (all) {
		kill_all();
		return 0;
	}
	for (unsigned round = 0; round < n; round++) {
		for (enum role role = 0; role < (round % RARE ? N_PROCESSES : N_ROLES); role++)
			kill_one(role, moments[tallies[role].kills % N_MOMENTS]);
		for (enum role role = 0; role < N_ROLES && round % PRINT_EVERY == PRINT_EVERY - 1;
		     role++)
			print_tally(role); /* there may be no time for all rounds */
	}
	for (enum role role = 0; role < N_ROLES; role++)
		report(role);
	return 0;
}
