/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which system calls each kind of process may make: every number is tried behind its walls, and
 * compared with a golden list, tests/supervise/calls.golden. XTOP_UPDATE_GOLDEN=1 writes the list anew; on
 * another architecture it lacks calls.
 *
 * No call that is tried takes place. A filter below the walls answers for it if its sixth argument is
 * a secret: Linux asks all filters, and of two that answer with an error the newer one counts
 * (kernel/seccomp.c, seccomp_run_filters()).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "supervise/line_sandbox.h"
#include "supervise/root_sandbox.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "tests/supervise/enter_walls.h"

#define N_NUMBERS 1024 /* Linux 6.18 has 469 */
#define SECRET    0x7a11f00d5eed0ca1ULL
#define SELF      0x5e1f /* stands for the process's own number */
#define ALLOWED   ECHRNG /* what the filter below answers */

/* --- the filter below ------------------------------------------------------------------------- */

static void install_filter(void)
{
	const uint32_t sixth = offsetof(struct seccomp_data, args[5]);
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sixth),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SECRET, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sixth + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(SECRET >> 32), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ALLOWED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(lines[0]), lines };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		exit(99);
}

/*
 * ALLOWED, or what the walls answer. Afterwards the secret may still be in its register, so that calls
 * with fewer arguments would not take place.
 */
static int try_call(int number, pid_t self, const uint64_t arguments[5])
{
	uint64_t a[5];

	for (unsigned i = 0; i < 5; i++)
		a[i] = arguments[i] == SELF ? (uint64_t)self : arguments[i];
	errno = 0;
	return syscall(number, a[0], a[1], a[2], a[3], a[4], SECRET) < 0 ? errno : 0;
}

/* --- kinds of processes ----------------------------------------------------------------------- */

static bool enter_reader(void)
{
	return line_sandbox_enter() && line_sandbox_enter_reader();
}

static bool enter_broker(void)
{
	return !root_sandbox_enter(ROOT_BROKER);
}

static bool enter_keeper(void)
{
	return !root_sandbox_enter(ROOT_KEEPER);
}

static bool enter_guard(void)
{
	return !root_sandbox_enter(ROOT_GUARD);
}

static bool enter_looker(void)
{
	return !root_sandbox_enter(ROOT_LOOKER);
}

static const struct kind {
	char letter;
	const char *name;
	bool (*enter)(void);
	bool sanitized; /* a build with sanitizers has these walls, too */
} kinds[] = {
	{ 'M', "main", enter_main, false },
	{ 'C', "a helper that connects", enter_client, true },
	{ 'S', "a helper that does not connect", enter_server, true },
	{ 'L', "the line server", line_sandbox_enter, false },
	{ 'R', "a reader of lines", enter_reader, false },
	{ 'B', "the broker", enter_broker, false },
	{ 'K', "a keeper", enter_keeper, false },
	{ 'G', "a guard, or the watcher of a trace", enter_guard, false },
	{ 'H', "a process that looks at the host", enter_looker, false },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool has_walls(const struct kind *kind)
{
#ifdef SANITIZED
	return kind->sanitized;
#else
	(void)kind;
	return true;
#endif
}

/* --- calls that depend on their arguments ----------------------------------------------------- */

#define NUMBER(name) __SNR_##name
#define THREAD                                                                                     \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define FORK (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/* clang-format off */
static const struct attempt {
	const char *what;
	int number;
	uint64_t arguments[5];
	const char *kinds; /* the letters of those that may */
} attempts[] = {
	{ "map memory", NUMBER(mmap), { 0, 4096, PROT_READ | PROT_WRITE }, "MCSLRBKGH" },
	{ "map code", NUMBER(mmap), { 0, 4096, PROT_READ | PROT_EXEC }, "" },
	{ "map memory that is code", NUMBER(mmap), { 0, 4096, 7 }, "" },
	{ "protect memory", NUMBER(mprotect), { 4096, 4096, PROT_READ }, "MCSLRBKGH" },
	{ "make memory code", NUMBER(mprotect), { 4096, 4096, PROT_EXEC }, "" },
	{ "start a thread", NUMBER(clone), { THREAD }, "MCS" },
	{ "start a thread as musl does", NUMBER(clone), { THREAD | CLONE_DETACHED }, "MCS" },
	{ "start a thread in a namespace", NUMBER(clone), { THREAD | CLONE_NEWUSER }, "" },
	{ "start a traced thread", NUMBER(clone), { THREAD | CLONE_PTRACE }, "" },
	{ "fork", NUMBER(clone), { FORK }, "LBG" },
	{ "fork as musl does", NUMBER(clone), { SIGCHLD }, "LBG" },
	{ "fork without a signal", NUMBER(clone), { 0 }, "" },
	{ "fork with SIGKILL", NUMBER(clone), { FORK ^ SIGCHLD ^ SIGKILL }, "" },
	{ "fork and share memory", NUMBER(clone), { FORK | CLONE_VM }, "" },
	{ "fork a sister", NUMBER(clone), { FORK | CLONE_PARENT }, "" },
	{ "fork in a namespace of users", NUMBER(clone), { FORK | CLONE_NEWUSER }, "" },
	{ "fork in a namespace of processes", NUMBER(clone), { FORK | CLONE_NEWPID }, "" },
	{ "fork by the old call", NUMBER(fork), { 0 }, "LBG" },
	{ "signal itself", NUMBER(kill), { SELF, SIGUSR1 }, "MCSBKG" },
	{ "signal init", NUMBER(kill), { 1, SIGKILL }, "BKG" },
	{ "signal its group", NUMBER(kill), { 0, SIGKILL }, "BKG" },
	{ "signal everybody", NUMBER(kill), { (uint64_t)-1, SIGKILL }, "BKG" },
	{ "signal a thread of its own", NUMBER(tgkill), { SELF, 2, SIGUSR1 }, "MCSBKGH" },
	{ "signal a thread of init", NUMBER(tgkill), { 1, 1, SIGKILL }, "BG" },
	{ "read its limits", NUMBER(prlimit64), { 0, 7, 0, 4096 }, "MCS" },
	{ "set its limits", NUMBER(prlimit64), { 0, 7, 4096, 0 }, "" },
	{ "read init's limits", NUMBER(prlimit64), { 1, 7, 0, 4096 }, "" },
	{ "name a thread", NUMBER(prctl), { PR_SET_NAME, 4096 }, "MCS" },
	{ "choose its end", NUMBER(prctl), { PR_SET_PDEATHSIG, SIGKILL }, "LBG" },
	{ "refuse new rights", NUMBER(prctl), { PR_SET_NO_NEW_PRIVS, 1 }, "LBG" },
	{ "add a filter", NUMBER(prctl), { PR_SET_SECCOMP, 2, 4096 }, "LBG" },
	{ "become dumpable", NUMBER(prctl), { PR_SET_DUMPABLE, 1 }, "" },
	{ "allow a tracer", NUMBER(prctl), { PR_SET_PTRACER, 1 }, "" },
	{ "move its memory", NUMBER(prctl), { PR_SET_MM, 1, 4096 }, "" },
	{ "raise a capability", NUMBER(prctl), { PR_CAP_AMBIENT, 2, 1 }, "" },
	{ "make a TCP socket", NUMBER(socket), { AF_INET, SOCK_STREAM, IPPROTO_TCP }, "C" },
	{ "make a stream", NUMBER(socket), { AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0 }, "C" },
	{ "make a UDP socket", NUMBER(socket), { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, "C" },
	{ "ask a name server", NUMBER(socket), { AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0 }, "C" },
	{ "send raw packets", NUMBER(socket), { AF_INET, SOCK_RAW, IPPROTO_TCP }, "" },
	{ "send pings", NUMBER(socket), { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, "" },
	{ "use many paths", NUMBER(socket), { AF_INET, SOCK_STREAM, 262 }, "" },
	{ "use SCTP", NUMBER(socket), { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, "" },
	{ "make a local stream", NUMBER(socket), { AF_UNIX, SOCK_STREAM, 0 }, "BH" },
	{ "make a local socket", NUMBER(socket), { AF_UNIX, SOCK_DGRAM, 0 }, "" },
	{ "ask the kernel", NUMBER(socket), { AF_NETLINK, SOCK_RAW, 0 }, "" },
	{ "read all packets", NUMBER(socket), { AF_PACKET, SOCK_DGRAM, 0 }, "" },
	{ "use the kernel's ciphers", NUMBER(socket), { AF_ALG, SOCK_SEQPACKET, 0 }, "" },
	{ "call the hypervisor's host", NUMBER(socket), { AF_VSOCK, SOCK_STREAM, 0 }, "" },
	{ "make a pair of streams", NUMBER(socketpair), { AF_UNIX, SOCK_STREAM, 0 }, "CBG" },
	{ "make a pair of sockets", NUMBER(socketpair), { AF_UNIX, SOCK_DGRAM, 0 }, "BG" },
	{ "send", NUMBER(sendto), { 3, 4096, 1, MSG_NOSIGNAL }, "CSBGH" },
	{ "connect by sending", NUMBER(sendto), { 3, 4096, 1, MSG_FASTOPEN }, "CBGH" },
	{ "send a message", NUMBER(sendmsg), { 3, 4096, MSG_NOSIGNAL }, "MCSLRBGH" },
	{ "connect by a message", NUMBER(sendmsg), { 3, 4096, MSG_FASTOPEN }, "MCLRBGH" },
	{ "copy a descriptor", NUMBER(fcntl), { 0, F_DUPFD_CLOEXEC, 3 }, "MCSLRBKGH" },
	{ "not wait", NUMBER(fcntl), { 0, F_SETFL, O_NONBLOCK }, "CSBKGH" },
	{ "have signals sent", NUMBER(fcntl), { 0, F_SETFL, O_ASYNC }, "" },
	{ "choose who gets signals", NUMBER(fcntl), { 0, F_SETOWN, 1 }, "" },
	{ "choose which thread gets them", NUMBER(fcntl), { 0, 15, 4096 }, "" }, /* F_SETOWN_EX */
	{ "choose the signal", NUMBER(fcntl), { 0, 10, SIGKILL }, "" },          /* F_SETSIG */
	{ "lease a file", NUMBER(fcntl), { 0, 1024, 0 }, "" },                   /* F_SETLEASE */
	{ "watch a folder", NUMBER(fcntl), { 0, 1026, 1 }, "" },                 /* F_NOTIFY */
	{ "seal memory", NUMBER(fcntl), { 0, 1033, 1 }, "MBKGH" },                   /* F_ADD_SEALS */
	{ "lock a file", NUMBER(fcntl), { 0, F_SETLK, 4096 }, "CS" },
	{ "read a terminal's state", NUMBER(ioctl), { 0, TCGETS, 4096 }, "MCSBKGH" },
	{ "set a terminal's state", NUMBER(ioctl), { 0, TCSETS, 4096 }, "MBKGH" },
	{ "put input into a terminal", NUMBER(ioctl), { 0, TIOCSTI, 4096 }, "BKGH" },
	{ "paste into a terminal", NUMBER(ioctl), { 0, 0x541c, 4096 }, "BKGH" },     /* TIOCLINUX */
	{ "have an ioctl send signals", NUMBER(ioctl), { 0, FIOASYNC, 4096 }, "BKGH" },
	{ "own a socket", NUMBER(ioctl), { 0, 0x8901, 4096 }, "BKGH" },              /* FIOSETOWN */
	{ "map a guest's memory", NUMBER(ioctl), { 0, 0x205004, 4096 }, "MBKGH" },   /* MMAPBATCH_V2 */
	{ "make a hypercall", NUMBER(ioctl), { 0, 0x305000, 4096 }, "BKGH" },        /* HYPERCALL */
	{ "open a file to read", NUMBER(open), { 4096, O_CLOEXEC, 0 }, "MCSBGH" },
	{ "open a file to write", NUMBER(open), { 4096, O_WRONLY, 0 }, "CSBGH" },
	{ "open a file below a folder", NUMBER(openat), { 3, 4096, O_NOFOLLOW, 0 }, "MCSBGH" },
	{ "create a file", NUMBER(openat), { 3, 4096, O_CREAT, 0600 }, "CSB" },
	{ "empty a file", NUMBER(openat), { 3, 4096, O_TRUNC, 0 }, "CSB" },
	{ "change a file", NUMBER(openat), { 3, 4096, O_RDWR, 0 }, "CSBGH" },
};
/* clang-format on */
#define N_ATTEMPTS (sizeof(attempts) / sizeof(attempts[0]))

/*
 * Calls that take a command: each command from FIRST on is tried, with zeros for the other arguments.
 * The numbers are Linux's (include/uapi/asm-generic/fcntl.h and ioctls.h, linux/prctl.h).
 */
#define N_COMMANDS  1100
#define ALL         " all"
#define ROOT_FCNTLS " 0 1 2 3 4 1030 1033 1034"
static const struct commands {
	const char *what;
	int number;
	unsigned argument; /* the index of the command */
	unsigned first;
	const char *allowed[N_KINDS]; /* the commands that each kind may use */
} commands[] = {
	{ "fcntl()",
	  NUMBER(fcntl),
	  1,
	  0,
	  { " 0 1 2 3 1030 1033 1034", " 0 1 2 3 4 5 6 7 36 37 38 1030",
	    " 0 1 2 3 4 5 6 7 36 37 38 1030", " 0 1 2 3 1030", " 0 1 2 3 1030", ROOT_FCNTLS,
	    ROOT_FCNTLS, ROOT_FCNTLS, ROOT_FCNTLS } },
	{ "ioctl(), from 0x5400 on",
	  NUMBER(ioctl),
	  1,
	  0x5400,
	  { " 1 2 3 4 11 15 19 27", " 1 27 33", " 1 27 33", "", "", ALL, ALL, ALL, ALL } },
	{ "ioctl() of termios2, from 0x802c5400 on",
	  NUMBER(ioctl),
	  1,
	  0x802c5400,
	  { " 42", "", "", "", "", ALL, ALL, ALL, ALL } },
	{ "ioctl() of termios2, from 0x402c5400 on",
	  NUMBER(ioctl),
	  1,
	  0x402c5400,
	  { " 43 44 45", "", "", "", "", ALL, ALL, ALL, ALL } },
	{ "ioctl() of Xen, from 0x205000 on",
	  NUMBER(ioctl),
	  1,
	  0x205000,
	  { " 4", "", "", "", "", ALL, ALL, ALL, ALL } },
	{ "ioctl() of Xen, from 0x305000 on",
	  NUMBER(ioctl),
	  1,
	  0x305000,
	  { "", "", "", "", "", ALL, ALL, ALL, ALL } },
	{ "prctl()",
	  NUMBER(prctl),
	  0,
	  0,
	  { " 15", " 15", " 15", " 1 22 38", "", " 1 2 3 22 23 24 38", " 3", " 1 3 22 38", " 3" } },
};
#define N_COMMAND_CALLS (sizeof(commands) / sizeof(commands[0]))

/* What a process behind walls found. */
struct found {
	int numbers[N_NUMBERS][2]; /* zeros are the arguments, and then ones */
	int attempts[N_ATTEMPTS];
	int commands[N_COMMAND_CALLS][N_COMMANDS];
};
static struct found *all_found; /* one for each kind; shared with its process */

/*
 * x86-64's uretprobe and uprobe: no filter is asked (Linux kernel/seccomp.c, __secure_computing()).
 * Called from anywhere but a probe of the kernel's, they end the process by SIGILL
 * (arch/x86/kernel/uprobes.c).
 */
static bool is_unfiltered(int number)
{
	return seccomp_arch_native() == SCMP_ARCH_X86_64 && (number == 335 || number == 336);
}

static void try_all(pid_t self, struct found *found)
{
	static const uint64_t zeros[5],
		ones[5] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };

	for (int number = 0; number < N_NUMBERS; number++) {
		if (is_unfiltered(number)) {
			found->numbers[number][0] = found->numbers[number][1] = EPERM;
			continue;
		}
		found->numbers[number][0] = try_call(number, self, zeros);
		found->numbers[number][1] = try_call(number, self, ones);
	}
	for (size_t i = 0; i < N_ATTEMPTS; i++)
		if (attempts[i].number >= 0)
			found->attempts[i] =
				try_call(attempts[i].number, self, attempts[i].arguments);
}

static void try_commands(pid_t self, struct found *found)
{
	for (size_t i = 0; i < N_COMMAND_CALLS; i++) {
		for (unsigned j = 0; j < N_COMMANDS; j++) {
			uint64_t arguments[5] = { 0 };

			arguments[commands[i].argument] = commands[i].first + j;
			found->commands[i][j] = try_call(commands[i].number, self, arguments);
		}
	}
}

/* Writes which commands are allowed. */
static void describe_commands(const int *found, char allowed[256])
{
	unsigned n = 0;
	int length = 0;

	allowed[0] = '\0';
	for (unsigned j = 0; j < N_COMMANDS; j++) {
		n += found[j] == ALLOWED;
		if (found[j] == ALLOWED && length < 240)
			length += snprintf(allowed + length, 256 - (size_t)length, " %u", j);
	}
	if (n == N_COMMANDS)
		snprintf(allowed, 256, "%s", ALL);
}

static void test_commands(size_t kind, const struct found *found)
{
	char allowed[256];

	for (size_t i = 0; i < N_COMMAND_CALLS; i++) {
		describe_commands(found->commands[i], allowed);
		check(strcmp(allowed, commands[i].allowed[kind]) == 0,
		      "%s: commands of %s:%s (expected%s)", kinds[kind].name, commands[i].what,
		      allowed, commands[i].allowed[kind]);
	}
}

static void test_kind(const struct kind *kind, struct found *found)
{
	pid_t child = fork(), self;
	int status;

	if (child == 0) {
		if (!kind->enter())
			_exit(1);
		self = getpid();
		try_all(self, found);
		try_commands(self, found);
		syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
	waitpid(child, &status, 0);
	check(child > 0 && status == 0, "%s tries all system calls behind its walls", kind->name);
}

/* Which calls KIND may make with some arguments and not with others. */
static void test_attempts(const struct kind *kind, const struct found *found)
{
	for (size_t i = 0; i < N_ATTEMPTS; i++) {
		const struct attempt *attempt = &attempts[i];
		bool may = strchr(attempt->kinds, kind->letter);

		if (attempt->number >= 0)
			check(found->attempts[i] == (may ? ALLOWED : EPERM),
			      "%s can%s %s: errno %d", kind->name, may ? "" : "not", attempt->what,
			      found->attempts[i]);
	}
}

/* The C library takes clone() then: the flags of clone3() are in memory, where no filter sees them. */
static void test_hidden(const struct kind *kind, const struct found *found)
{
	bool starts_threads = strchr("MCS", kind->letter);

	check(found->numbers[NUMBER(clone3)][0] == (starts_threads ? ENOSYS : EPERM),
	      "%s has no clone3(): errno %d", kind->name, found->numbers[NUMBER(clone3)][0]);
}

/* --- the golden list -------------------------------------------------------------------------- */

/* A letter of a kind that may call NUMBER: small if that depends on the arguments. 0: it may not. */
static char letter_of(size_t kind, int number)
{
	const struct found *found = &all_found[kind];
	int with_zeros = found->numbers[number][0], with_ones = found->numbers[number][1];
	bool may = with_zeros == ALLOWED || with_ones == ALLOWED;

	for (size_t i = 0; i < N_ATTEMPTS; i++)
		may |= attempts[i].number == number && found->attempts[i] == ALLOWED;
	if (!may)
		return 0;
	return with_zeros == ALLOWED && with_ones == ALLOWED
		       ? kinds[kind].letter
		       : (char)(kinds[kind].letter - 'A' + 'a');
}

/* Writes the letters of the kinds that may call NUMBER, and "." for the others. */
static bool letters_of(int number, char letters[N_KINDS + 1])
{
	bool any = false;

	for (size_t i = 0; i < N_KINDS; i++) {
		char letter = letter_of(i, number);

		letters[i] = letter ? letter : '.';
		any |= letter;
	}
	letters[N_KINDS] = '\0';
	return any;
}

static const char *golden_path(void)
{
	static char path[4096];
	const char *top = getenv("top_srcdir");

	snprintf(path, sizeof(path), "%s/tests/supervise/calls.golden", top ? top : ".");
	return path;
}

static void write_golden(void)
{
	FILE *file = fopen(golden_path(), "w");
	char letters[N_KINDS + 1];

	if (!file)
		exit(99);
	for (int number = 0; number < N_NUMBERS; number++)
		if (letters_of(number, letters))
			fprintf(file, "%s %s\n", letters,
				seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number));
	fclose(file);
}

/* The letters that the list has for each number of this architecture. */
static char golden[N_NUMBERS][N_KINDS + 1];

static unsigned read_golden(void)
{
	FILE *file = fopen(golden_path(), "r");
	char letters[N_KINDS + 1], name[64];
	unsigned n = 0;

	for (size_t i = 0; i < N_NUMBERS; i++)
		memset(golden[i], '.', N_KINDS);
	while (file && fscanf(file, "%9s %63s", letters, name) == 2) {
		int number = seccomp_syscall_resolve_name_arch(seccomp_arch_native(), name);

		n++;
		if (number >= 0 && number < N_NUMBERS)
			memcpy(golden[number], letters, sizeof(letters));
	}
	if (file)
		fclose(file);
	return n;
}

/* The first call that KIND may make differently than the list says; otherwise "none". */
static const char *first_difference(size_t kind)
{
	for (int number = 0; number < N_NUMBERS; number++) {
		char letter = letter_of(kind, number);

		if ((letter ? letter : '.') != golden[number][kind]) {
			const char *name =
				seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);

			return name ? name : "a call that libseccomp does not know";
		}
	}
	return "none";
}

/* Where there is a second numbering of calls, using it ends the process (x32 on x86-64). */
static void test_other_numbers(void)
{
	pid_t child = seccomp_arch_native() == SCMP_ARCH_X86_64 ? fork() : -1;
	int status = 0;

	if (child == 0) {
		(void)!helper_sandbox_enter(-1, true);
		_exit((int)syscall(0x40000000 + 39)); /* getpid() */
	}
	if (child > 0 && waitpid(child, &status, 0) == child)
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
		      "a call by x32's numbers ends the process: status %x", (unsigned)status);
}

int main(void)
{
	if (emulator_lacks("walls"))
		return tap_done();
	unsetenv("SUDO_UID");
	all_found = mmap(NULL, sizeof(struct found) * N_KINDS, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all_found == MAP_FAILED)
		return 99;
	install_filter();
	for (size_t i = 0; i < N_KINDS; i++)
		if (has_walls(&kinds[i])) {
			test_kind(&kinds[i], &all_found[i]);
			test_attempts(&kinds[i], &all_found[i]);
			test_hidden(&kinds[i], &all_found[i]);
			test_commands(i, &all_found[i]);
		}
	if (getenv("XTOP_UPDATE_GOLDEN"))
		write_golden();
	check(read_golden() > 100, "the golden list has calls");
	for (size_t i = 0; i < N_KINDS; i++)
		if (has_walls(&kinds[i]))
			check(!strcmp(first_difference(i), "none"),
			      "the golden list has the calls that %s may make: first difference: %s",
			      kinds[i].name, first_difference(i));
	test_other_numbers();
	return tap_done();
}
