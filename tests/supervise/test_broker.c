/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main and its broker as real processes, over the socket. A made-up Xen and a made-up keeper replace
 * domains.c, foreign.c, domctl.c and keeper.c. Other tests run the broker alone, with a main that an
 * attacker controls: it sends anything.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/broker.h"
#include "supervise/broker_wire.h"
#include "supervise/keeper.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/base/output.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/xen.h"

#define N_DOMAINS 300

/* Shared by main and broker. */
static struct seen {
	uint32_t memory_of; /* the last domid whose memory was opened */
	unsigned started, asked, ended;
	bool slow; /* xenstore does not answer */
	uint32_t started_domid;
	char unpaused[40]; /* the last domain that guest_undo_pause() was called for */
	double budget;
	bool spent;      /* the sampler begins without credit */
	bool shared;
	uint64_t pause_ns;  /* for so long Xen pauses a vCPU whose registers are read */
	unsigned read;      /* for registers */
	uint64_t paused_ns; /* the guard was told */
	bool aligned;    /* the first record of the ring */
	int dumpable; /* prctl(2): whether the process that starts keepers leaves core files */
	uint32_t reused; /* the domid that another domain has now */
} * seen;

static char folder[] = "/tmp/xtop-test-XXXXXX";
static char output[64], others[64];

/* --- replaces those files --------------------------------------------------------------------- */

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	while (seen->slow)
		pause();
	*listp = calloc(N_DOMAINS, sizeof(**listp));
	for (uint32_t i = 0; i < N_DOMAINS; i++)
		(*listp)[i].info.domid = i;
	*np = N_DOMAINS;
	return NULL;
}

/* web01 is domain 5. By its UUID it is domain 6, as if it had rebooted. other7 is domain 107. */
struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	unsigned number;

	while (seen->slow)
		pause();
	if (sscanf(domain, "other%u", &number) == 1) {
		*info = (struct guest_info){ .domid = 100 + number, .n_vcpus = 1 };
		snprintf(info->uuid, sizeof(info->uuid), "u-other%u", number);
	} else if (strcmp(domain, "web01") == 0)
		*info = (struct guest_info){
			.name = "web01", .uuid = "u-web01", .domid = 5, .n_vcpus = 2
		};
	else if (strcmp(domain, "u-web01") == 0)
		*info = (struct guest_info){
			.name = "web01", .uuid = "u-web01", .domid = 6, .n_vcpus = 2
		};
	else if (strcmp(domain, "secret") == 0)
		*info = (struct guest_info){ .name = "secret", .uuid = "u-secret", .domid = 9 };
	else
		return error_create("no domain '%s' on this host", domain);
	return NULL;
}

bool xen_is_same_domain(const struct guest_info *info)
{
	return info->domid != seen->reused;
}

bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp)
{
	seen->read++;
	*paused_nsp = seen->pause_ns;
	*regs = (struct registers){ .rip = info->domid * 100 + vcpu };
	return vcpu < info->n_vcpus;
}

struct xtop_error *guest_undo_pause(const char *domain, bool asked, char **notep)
{
	snprintf(seen->unpaused, sizeof(seen->unpaused), "%s", asked ? "" : domain);
	*notep = NULL;
	return NULL;
}

struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	seen->memory_of = domid;
	*fdp = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return NULL;
}

struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp)
{
	(void)memoryp;
	close(fd);
	return error_create("adopted %u", domid);
}

struct xtop_error *keeper_start(const struct sampling *sampling, bool shared, int socket,
				struct keeper *keeper)
{
	struct control *control = sampling->control;
	char *room = ring_reserve(sampling->ring, 8);

	(void)socket;
	seen->shared = shared;
	seen->started++;
	seen->started_domid = sampling->info.domid;
	seen->budget = control_get_budget(control);
	seen->spent = control_is_credit_spent();
	seen->aligned = (uintptr_t)room % 8 == 0;
	seen->dumpable = prctl(PR_GET_DUMPABLE);
	if (room)
		memcpy(room, "from far", 8);
	ring_commit(sampling->ring, 8);
	*keeper = (struct keeper){
		.pid = getpid(), .control = control, .area = (struct stop_area *)seen
	};
	keeper->end_fd = eventfd(0, EFD_CLOEXEC);
	return NULL;
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	(void)area;
	seen->paused_ns += paused_ns;
}

void keeper_quit(const struct keeper *keeper)
{
	(void)keeper;
	seen->asked++;
}

void keeper_end(struct keeper *keeper)
{
	close(keeper->end_fd);
	seen->ended++;
}

/* --- main and its broker ---------------------------------------------------------------------- */

/* web01, and other1 to other64: one more than the broker samples. */
static const char *asked[65];

static void fill_asked(void)
{
	static char names[64][16];

	asked[0] = "web01";
	for (unsigned i = 1; i <= 64; i++) {
		snprintf(names[i - 1], sizeof(names[0]), "other%u", i);
		asked[i] = names[i - 1];
	}
}
static struct broker_settings settings = { .domains = asked,
					   .n_domains = sizeof(asked) / sizeof(asked[0]),
					   .budget = 0.25 };

static bool says(struct xtop_error *error, const char *text)
{
	bool said = error && strstr(error_message(error), text);

	if (!said)
		printf("# \"%s\", not \"%s\"\n", error ? error_message(error) : "no error", text);
	error_destroy(error);
	return said;
}

static void test_domains(void)
{
	struct guest_listing *list;
	struct guest_info info = { 0 }, other = { .domid = 9 };
	struct memory *memory;
	struct registers regs;
	size_t n;

	check(says(guest_open_memory(5, &memory), "was not asked for"),
	      "memory before the domain was found");
	check(says(guest_find("u-web01", &info), "was not asked for"), "a UUID not yet known");
	check(!guest_find("web01", &info) && info.domid == 5, "found: %u", info.domid);
	check(says(guest_find("secret", &other), "was not asked for"), "another domain");
	check(says(guest_open_memory(9, &memory), "was not asked for"), "its memory");
	check(!guest_get_registers(&other, 0, &regs), "its registers");
	check(says(guest_open_memory(5, &memory), "adopted 5") && seen->memory_of == 5, "memory");
	check(guest_get_registers(&info, 1, &regs) && regs.rip == 501, "registers");
	check(!guest_get_registers(&info, 2, &regs), "registers of a vCPU that is not there");
	check(!guest_find("u-web01", &info) && info.domid == 6, "rebooted, by its UUID");
	check(says(guest_open_memory(6, &memory), "adopted 6"), "its memory");
	check(says(guest_open_memory(5, &memory), "was not asked for"),
	      "no longer the memory of the domain before the reboot");
	seen->reused = 6;
	check(says(guest_open_memory(6, &memory), "is no longer the one"),
	      "another domain has the domid now: no memory");
	check(!guest_get_registers(&info, 0, &regs), "and no registers");
	seen->reused = 0;
	check(!guest_list(&list, &n) && n == N_DOMAINS && list[299].info.domid == 299, "a list");
	free(list);
	check(!guest_find("web01", &info), "the next question gets its own answer");
}

static void test_long_name(void)
{
	struct guest_info info;
	char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check(says(guest_find(name, &info), "no domain 'xxx"), "a name of 999 bytes");
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
	check(says(guard_start(&secret, control, ring, &process), "was not asked for"),
	      "another domain is not sampled");
	check(!guard_start(&info, control, ring, &process), "started");
	check_string(seen->unpaused, "u-web01", "before that, a pause that was left is undone");
	check(seen->started == 1 && seen->started_domid == 5, "one guard, for that domain");
	check(seen->budget == 0.25, "with the budget of the command line: %g", seen->budget);
	record = ring_peek(ring, &size);
	check(record && size == 8 && memcmp(record, "from far", 8) == 0, "with main's own ring");
	check(guard_is_alive(&process), "alive");
	check(says(guard_start(&info, control, ring, &second), "is sampled already"),
	      "no second one: each would use the whole budget");
	for (unsigned i = 1; i < 64; i++)
		check(!guard_start(other(i), control, ring, &second) && !seen->spent,
		      "another one, for another domain");
	check(says(guard_start(other(64), control, ring, &second), "at most 64"), "at most 64");
	guard_stop(&process, control);
	check(seen->ended == 1 && seen->asked == 1, "asked to quit, and ended");
	check(!guard_start(&info, control, ring, &process) && seen->spent,
	      "the next sampler of the same domain begins without credit");
	check(!guest_find("u-web01", &info) && info.domid == 6, "rebooted");
	guard_stop(&process, control);
	check(!guard_start(&info, control, ring, &process) && seen->spent,
	      "so does the one after a reboot");
	ring_destroy(ring);
	control_destroy(control);
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
	      "registers before there is a sampler");
	check_u64(seen->paused_ns, 0, "nobody counts yet");
	check(!guard_start(&info, control, ring, &process), "started");
	guest_get_registers(&info, 2, &regs); /* an answer: the guard was told of those before */
	check_u64(seen->paused_ns, 3000, "all are counted, also a refused one");
	guard_stop(&process, control);
	ring_destroy(ring);
	control_destroy(control);
	seen->pause_ns = 0;
}

/* A quarter of the time, and credit for 25 ms. Main waits until the broker may ask again. */
static void test_registers_budget(void)
{
	struct guest_info info;
	struct registers regs;
	uint64_t begin_ns, took_ns;
	unsigned n = 0;

	if (guest_find("web01", &info))
		abort();
	seen->pause_ns = 10000000;
	seen->read = 0;
	begin_ns = clock_now_ns();
	for (; n < 10 && guest_get_registers(&info, 0, &regs); n++)
		if (guest_find("web01", &info)) /* another grant of the same domain */
			abort();
	took_ns = clock_now_ns() - begin_ns;
	seen->pause_ns = 0;
	check(n == 10 && seen->read == 10, "%u of 10, Xen was asked %u times", n, seen->read);
	check(took_ns >= 260000000, "100 ms of pauses take %" PRIu64 " ms",
	      took_ns / 1000000); /* 4 * (100 - 25 - 10) */
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

/*
 * The owner of the folder replaces it by a link to a folder in which another file has the same
 * name.
 */
static void test_folder_moved(void)
{
	const char *name = strrchr(output, '/') + 1;
	char moved[64], bait[64], path[128];

	snprintf(moved, sizeof(moved), "%s-moved", folder);
	snprintf(bait, sizeof(bait), "%s-bait", folder);
	put(output, "");
	if (rename(folder, moved) || mkdir(bait, 0700) || symlink(bait, folder))
		abort();
	put(output, "");
	broker_remove(output);
	check(there(output), "the other file stays");
	snprintf(path, sizeof(path), "%s/%s", moved, name);
	check(!there(path), "the result is removed");
	unlink(output);
	if (unlink(folder) || rmdir(bait) || rename(moved, folder))
		abort();
}

static void test_remove(void)
{
	put(output, "");
	put(others, "");
	broker_remove(others);
	check(there(others), "a file that the command line does not name stays");
	broker_remove(output);
	check(!there(output), "an empty result is removed");
	put(output, "something");
	broker_remove(output);
	check(there(output), "a file that is not empty stays");
	unlink(output);
	check(symlink(others, output) == 0, "made a symlink");
	broker_remove(output);
	check(there(output), "a symlink stays");
	unlink(output);
	check(link(others, output) == 0, "made a hard link");
	broker_remove(output);
	check(there(output), "a hard link stays");
	unlink(output);
	unlink(others);
	put(output, "");
	if (geteuid() == 0 && chown(output, 65534, 65534) == 0) {
		broker_remove(output);
		check(there(output), "another user's file stays");
	}
	unlink(output);
	test_folder_moved();
}

/* The user for whom root runs xtop may write there. */
static void make_users_folder(char *users, size_t capacity)
{
	snprintf(users, capacity, "%s/users", folder);
	if (mkdir(users, 0700) || (geteuid() == 0 && chown(users, 65534, 65534)) ||
	    chmod(folder, 0755))
		abort();
}

/* Opens and closes; the words of the error, or "" for none. */
static const char *open_named(const char *path, bool replace, bool *existsp)
{
	static char words[256];
	struct xtop_error *error;
	int fd = -1;

	error = broker_open_output(path, replace, &fd, existsp);
	snprintf(words, sizeof(words), "%s", error ? error_message(error) : "");
	if (!error && write(fd, "main;work 1\n", 12) != 12)
		abort();
	close(fd);
	error_destroy(error);
	return words;
}

static bool is_of_user(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (status.st_mode & 07777) == 0600 &&
	       status.st_uid == (geteuid() ? geteuid() : 65534) && status.st_size == 12;
}

/* Profiles may be replaced, but no file whose ending says nothing of a profile. */
static void test_open_endings(const char *users)
{
	static const char *const profiles[] = { "a.pb.gz", "a.perf", "a.speedscope.json",
						"a.flame.html", "a.flame.svg" };
	static const char *const plain[] = { "a.json", "a.html", "a.svg", "a.gz", "pb.gz" };
	char path[128];
	bool exists;

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", users, profiles[i]);
		check_string(open_named(path, false, &exists), "", profiles[i]);
		check_string(open_named(path, true, &exists), "", "  is replaced");
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", users, plain[i]);
		check_string(open_named(path, false, &exists), "", plain[i]);
		check(strstr(open_named(path, true, &exists), "it exists") && !exists,
		      "  is not replaced");
		unlink(path);
	}
}

/* Files that are named while xtop runs: main cannot open them. */
static void test_open(void)
{
	char users[96], path[128], other[128];
	struct output_file *file;
	bool exists;

	unsetenv("SUDO_UID");
	make_users_folder(users, sizeof(users));
	snprintf(path, sizeof(path), "%s/./a.folded", users);
	snprintf(other, sizeof(other), "%s/plain", users);
	check_string(open_named(path, false, &exists), "", "a new file");
	check(is_of_user(path), "it belongs to the user, with mode 0600");
	check(strstr(open_named(path, false, &exists), "it exists") && exists, "it may be replaced");
	check_string(open_named(path, true, &exists), "", "it is replaced");
	check_string(open_named(other, false, &exists), "", "a file of another kind");
	check(strstr(open_named(other, false, &exists), "it exists") && !exists,
	      "may not be replaced");
	check(strstr(open_named(other, true, &exists), "it exists"), "and is not");
	test_open_endings(users);
	unlink(path);
	if (symlink(other, path))
		abort();
	check(strstr(open_named(path, false, &exists), "it exists") && !exists, "a link");
	check(strstr(open_named(path, true, &exists), "it exists"), "is not followed");
	unlink(path);
	if (link(other, path))
		abort();
	check(*open_named(path, true, &exists), "nor a file that has another name");
	unlink(path);
	snprintf(path, sizeof(path), "%s/.profile", users);
	check(strstr(open_named(path, false, &exists), "begin with a dot"), "no hidden file");
	snprintf(path, sizeof(path), "%s/.ssh/x.folded", users);
	check(strstr(open_named(path, false, &exists), "begin with a dot"), "no hidden folder");
	snprintf(path, sizeof(path), "%s/../roots.folded", users);
	if (geteuid() == 0)
		check(*open_named(path, false, &exists) && !there(path),
		      "not where the user may not write");
	snprintf(path, sizeof(path), "%s/b.folded", users);
	output_set_opener(broker_open_output);
	output_set_remover(broker_remove);
	if (output_open_named(path, false, &exists, &file))
		abort();
	check(there(path), "made by the broker for main");
	output_discard(file);
	check(!there(path), "and removed when nothing was written");
	output_set_opener(NULL);
	output_set_remover(NULL);
	unlink(other);
	if (rmdir(users))
		check(false, "%s is empty", users);
}

static void test_main_and_broker(void)
{
	struct guest_info info;

	if (broker_start(&settings))
		abort();
	test_domains();
	test_long_name();
	test_sampling();
	test_remove();
	test_open();
	broker_stop();
	check_u64(seen->ended, 66, "guards that still live end when main ends");
	check(!guest_find("secret", &info) && info.domid == 9, "without a broker, main asks Xen");
}

static void test_registers(void)
{
	if (broker_start(&settings))
		abort();
	test_registers_count();
	test_registers_budget();
	broker_stop();
}

/* xenstore does not answer: the broker does, and says why. The next answer belongs to its question. */
static void test_slow(void)
{
	struct guest_info info = { .domid = 77 };
	struct guest_listing *list;
	size_t n;

	if (broker_start(&settings))
		abort();
	seen->slow = true;
	check(says(guest_find("web01", &info), "xenstore does not answer"), "slow: find");
	check(says(guest_list(&list, &n), "xenstore does not answer"), "slow: list");
	check(broker_is_alive(), "slow: the broker is alive");
	seen->slow = false;
	check(!guest_find("web01", &info) && info.domid == 5, "no longer slow: found");
	seen->slow = true;
	broker_stop();
	check(says(guest_find("web01", &info), "xenstore does not answer"),
	      "slow: the same without a broker");
	seen->slow = false;
}

static int start_bare(pid_t *pid)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) < 0)
		abort();
	*pid = fork();
	if (*pid == 0) {
		close(sockets[0]);
		broker_run((void *)&settings, sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	return sockets[0];
}

/* The broker notices the end of main also while xenstore does not answer. */
static void test_slow_end(void)
{
	const struct broker_request list = { .question = BROKER_LIST };
	unsigned waited_ms = 0;
	int socket, status;
	pid_t pid;

	seen->slow = true;
	socket = start_bare(&pid);
	check(wire_send(socket, &list, sizeof(list), NULL, 0), "slow: a list is wanted");
	usleep(100000);
	close(socket);
	for (; waited_ms < 5000 && waitpid(pid, &status, WNOHANG) == 0; waited_ms += 10)
		usleep(10000);
	check(waited_ms < 1000, "slow: the broker ends %u ms after main", waited_ms);
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
	check(!guest_find("web01", &info), "a third broker");
	check(syscall(SYS_sched_getscheduler, pid) == SCHED_OTHER, "it takes no CPU from a sampler");
	kill(pid, SIGSTOP);
	check(says(guest_find("web01", &info), "does not answer"), "a stopped broker is reported");
	check(says(guest_find("web01", &info), "does not answer"), "reported again");
	kill(pid, SIGCONT);
	broker_stop();
}

static void test_killed(void)
{
	struct guest_info info;

	if (broker_start(&settings))
		abort();
	check(!guest_find("web01", &info) && broker_is_alive(), "a second broker");
	kill(broker_pid(), SIGKILL);
	check(says(guest_find("web01", &info), "was killed"), "a killed broker is reported");
	check(says(guest_find("web01", &info), "was killed"), "reported again");
	check(!broker_is_alive(), "it is known to be gone");
	broker_stop();
}

/* --- a main that an attacker controls --------------------------------------------------------- */

static bool ask(int socket, struct broker_request request, const int *fds, size_t n_fds)
{
	struct broker_reply reply;
	int got[BROKER_MAX_FDS];
	size_t n_got;

	if (!wire_send(socket, &request, sizeof(request), fds, n_fds) ||
	    !wire_receive(socket, &reply, sizeof(reply), got, &n_got))
		abort();
	for (size_t i = 0; i < n_got; i++)
		close(got[i]);
	return !reply.failed;
}

/* A memory file of SIZE_BYTES with SEALS. */
static int make_memory(off_t size_bytes, int seals)
{
	int fd = memfd_create("made", MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size_bytes) < 0 || (seals && fcntl(fd, F_ADD_SEALS, seals) < 0))
		abort();
	return fd;
}

static void refuses(int socket, int control, int ring, const char *what)
{
	const struct broker_request start = { .question = BROKER_START, .domid = 5 };
	int fds[] = { control, ring };

	check(!ask(socket, start, fds, 2), "%s", what);
}

/* These have the right sizes, so the size is not why the broker refuses them. */
static void test_seals(int socket, struct control *control, struct ring *ring)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat right;
	int made[5];

	if (fstat(control_fd(control), &right))
		abort();
	made[0] = make_memory(right.st_size, 0);
	made[1] = make_memory(right.st_size, F_SEAL_GROW | F_SEAL_SEAL);
	made[2] = make_memory(2 * 4096, 0);
	made[3] = make_memory(2 * 4096, F_SEAL_GROW | F_SEAL_SEAL);
	made[4] = make_memory(4 * 4096, all);
	refuses(socket, made[0], ring_fd(ring), "a control block without seals");
	refuses(socket, made[1], ring_fd(ring), "a control block that may shrink");
	refuses(socket, control_fd(control), made[2], "a ring without seals");
	refuses(socket, control_fd(control), made[3], "a ring that may shrink");
	refuses(socket, control_fd(control), made[4], "a ring of three pages");
	for (int i = 0; i < 5; i++)
		close(made[i]);
}

/* Main overwrites the position that belongs to the other side of the ring. */
static void scribble_head(struct ring *ring)
{
	uint64_t *head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd(ring), 0);

	if (head == MAP_FAILED)
		abort();
	*head = 13;
	munmap(head, 4096);
}

/*
 * If memory could shrink while the sampler writes to it, the sampler would be killed during a stop.
 */
static void test_memory(int socket)
{
	struct broker_request start = { .question = BROKER_START, .domid = 5 };
	int plain = memfd_create("plain", MFD_ALLOW_SEALING), small, file, fds[2];
	struct control *control;
	struct ring *ring;

	if (control_create(&control) || ring_create(4096, &ring) || ftruncate(plain, 1 << 20) < 0)
		abort();
	small = memfd_create("small", MFD_ALLOW_SEALING);
	file = open("/etc/passwd", O_RDONLY);
	fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	check(!ask(socket, start, NULL, 0), "no memory");
	fds[0] = control_fd(control);
	check(!ask(socket, start, fds, 1), "no ring");
	fds[1] = plain;
	check(!ask(socket, start, fds, 2), "a ring that may shrink");
	fds[1] = small;
	check(!ask(socket, start, fds, 2), "a ring of no bytes");
	fds[1] = file;
	check(!ask(socket, start, fds, 2), "a file for a ring");
	fds[0] = plain;
	fds[1] = ring_fd(ring);
	check(!ask(socket, start, fds, 2), "a control block that may shrink");
	fds[0] = ring_fd(ring);
	check(!ask(socket, start, fds, 2), "a ring for a control block");
	test_seals(socket, control, ring);
	fds[0] = control_fd(control);
	scribble_head(ring);
	check(ask(socket, start, fds, 2), "a right ring and a right control block");
	check(seen->aligned, "a record is aligned although the ring's position is 13");
	check(seen->dumpable == 0, "no core files of the broker, and of what it starts");
	check(ask(socket, (struct broker_request){ .question = BROKER_MEMORY, .domid = 5 }, fds, 2),
	      "descriptors that are not needed do no harm");
	ring_destroy(ring);
	control_destroy(control);
	close(plain);
	close(small);
	close(file);
}

/* A main that asks and does not read the answers. */
static void test_unread(void)
{
	const struct broker_request list = { .question = BROKER_LIST };
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" },
			      start = { .question = BROKER_START, .domid = 5 };
	struct control *control;
	struct ring *ring;
	int fds[2], status;
	pid_t pid;
	int socket = start_bare(&pid);

	if (control_create(&control) || ring_create(4096, &ring))
		abort();
	fds[0] = control_fd(control);
	fds[1] = ring_fd(ring);
	check(ask(socket, find, NULL, 0) && ask(socket, start, fds, 2), "a guard");
	for (unsigned i = 0; i < 8; i++)
		check(wire_send(socket, &list, sizeof(list), NULL, 0), "a list of 300 is wanted");
	usleep(200000); /* the broker waits in send() */
	close(socket);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "the broker ends when main ends");
	ring_destroy(ring);
	control_destroy(control);
}

static unsigned n_descriptors(pid_t pid)
{
	unsigned n = 0;
	char path[32];
	DIR *stream;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	stream = opendir(path);
	while (stream && readdir(stream))
		n++;
	if (stream)
		closedir(stream);
	return n;
}

/* A descriptor may be closed after the answer was sent, but before the next answer is sent. */
static void test_leaks(int socket, pid_t pid)
{
	const struct broker_request stop = { .question = BROKER_STOP, .number = 7 };
	const int fds[] = { STDOUT_FILENO, STDOUT_FILENO };
	unsigned before;

	ask(socket, stop, NULL, 0);
	before = n_descriptors(pid);
	for (unsigned i = 0; i < 10; i++)
		ask(socket, stop, fds, 2);
	ask(socket, stop, NULL, 0);
	check_u64(n_descriptors(pid), before, "descriptors that are not needed are closed");
}

/* A wrong packet ends the broker. */
static void test_packet(size_t size_bytes, size_t n_fds, const char *what)
{
	struct broker_request packet[2] = { { .question = BROKER_FIND, .text = "web01" } };
	struct cmsghdr *control = calloc(1, CMSG_SPACE(n_fds * sizeof(int)));
	struct iovec bytes = { packet, size_bytes };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	int status;
	pid_t pid;
	int socket = start_bare(&pid);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(n_fds * sizeof(int)); /* of stdin */
	if (n_fds) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	check(sendmsg(socket, &message, 0) == (ssize_t)size_bytes, "%s", what);
	shutdown(socket, SHUT_WR);
	if (n_fds <= BROKER_MAX_FDS || !emulator_lacks("MSG_CTRUNC"))
		check(recv(socket, packet, sizeof(packet), 0) <= 0, "%s: no answer", what);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "%s: the broker ends", what);
	free(control);
	close(socket);
}

/* All domains are allowed. Of 300 that were found, the first ones are forgotten. */
static void test_many(void)
{
	const struct broker_settings before = settings;
	struct broker_request find = { .question = BROKER_FIND },
			      memory = { .question = BROKER_MEMORY };
	bool found = true;
	int socket;
	pid_t pid;

	settings.n_domains = 0;
	socket = start_bare(&pid);
	settings = before;
	for (unsigned i = 0; i < 300; i++) {
		snprintf(find.text, sizeof(find.text), "other%u", i);
		found &= ask(socket, find, NULL, 0);
	}
	check(found, "300 are found");
	memory.domid = 100 + 299;
	check(ask(socket, memory, NULL, 0), "memory of the last one");
	memory.domid = 100 + 44;
	check(ask(socket, memory, NULL, 0), "memory of the last 256");
	memory.domid = 100 + 43;
	check(!ask(socket, memory, NULL, 0), "no memory of the one before these");
	close(socket);
	waitpid(pid, NULL, 0);
}

/* Main reads a recording that an attacker has made. */
static void test_no_domains(void)
{
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	const struct broker_settings before = settings;
	int socket;
	pid_t pid;

	settings.n_domains = 0;
	settings.no_domains = true;
	socket = start_bare(&pid);
	settings = before;
	check(!ask(socket, find, NULL, 0), "no domain while a recording is played");
	check(!ask(socket, (struct broker_request){ .question = BROKER_LIST }, NULL, 0),
	      "and no list of domains");
	close(socket);
	waitpid(pid, NULL, 0);
}

static void test_questions(void)
{
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	struct broker_request full = { .question = BROKER_FIND };
	pid_t pid;
	int socket = start_bare(&pid), status;

	check(ask(socket, find, NULL, 0), "a broker without its main");
	memset(full.text, 'w', sizeof(full.text));
	check(!ask(socket, full, NULL, 0), "a name without a NUL");
	for (uint32_t question = N_BROKER_QUESTIONS; question; question *= 2)
		check(!ask(socket, (struct broker_request){ .question = question }, NULL, 0),
		      "question %u", question);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = UINT32_MAX }, NULL,
	    0);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = 3 }, NULL, 0);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = 8 }, NULL, 0);
	check(!ask(socket,
		   (struct broker_request){ .question = BROKER_REMOVE, .number = UINT32_MAX }, NULL,
		   0),
	      "a file number that does not exist");
	check(!ask(socket,
		   (struct broker_request){
			   .question = BROKER_REGISTERS, .domid = 5, .number = UINT32_MAX },
		   NULL, 0),
	      "a vCPU number that does not exist");
	test_memory(socket);
	test_leaks(socket, pid);
	check(ask(socket, find, NULL, 0), "the broker still answers");
	check(wire_send(socket, "short", 5, NULL, 0), "sent a packet of another size");
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "the broker ends");
	close(socket);
}

int main(void)
{
	fill_asked();
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(folder))
		abort();
	snprintf(output, sizeof(output), "%s/output", folder);
	snprintf(others, sizeof(others), "%s/others", folder);
	settings.files[1] = output;
	test_main_and_broker();
	test_registers();
	test_killed();
	test_slow();
	test_slow_end();
	test_stopped();
	test_questions();
	test_unread();
	test_packet(sizeof(struct broker_request) + 1, 0, "a packet that is too long");
	test_packet(sizeof(struct broker_request), 3, "three descriptors");
	test_many();
	test_no_domains();
	rmdir(folder);
	return tap_done();
}
