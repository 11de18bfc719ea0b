/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UI on a real terminal. Each case has a pseudo-terminal: a child runs ui_run() on one side,
 * the test sends keys, signals and hang-ups from the other. However the UI ends, the terminal must
 * have its old modes again, and must be told to leave the other screen.
 *
 *   test_terminal demo [SECONDS]    shows the same guest on your own terminal
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tests/screens/fixture.h"
#include "tests/support/children.h"
#include "tests/support/tap.h"
#include "tests/support/vt.h"
#include "xtop/ui/ui.h"

#define LEAVE_SCREEN "\033[?1049l" /* rmcup of xterm */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * FIXTURE_NS + (uint64_t)now.tv_nsec;
}

/* --- a resolver: 99 samples a second, drawn from the stacks of the fixture -------------------- */

static unsigned demo_pace = 1; /* seconds of the guest in one second of the clock */

struct demo {
	struct fixture fixture;
	struct snapshot_slot *slot;
	uint64_t started_ns, random;
	atomic_bool stop, reset;
	pthread_t thread;
};

static void demo_sample(struct demo *demo, uint32_t count)
{
	uint32_t at;
	size_t i = 0;

	demo->random = demo->random * 6364136223846793005ULL + 1442695040888963407ULL;
	for (at = (uint32_t)(demo->random >> 33) % 10000; at >= fixture_stacks[i].count; i++)
		at -= fixture_stacks[i].count;
	fixture_add(&demo->fixture, fixture_stacks[i].stack, count);
}

static void demo_publish(struct demo *demo)
{
	struct snapshot *snapshot = fixture_snapshot(&demo->fixture, 2);

	snapshot->started_ns = demo->started_ns;
	snapshot->time_ns = demo->fixture.time_ns;
	snapshot->run->sampler.elapsed_ns = snapshot->time_ns - snapshot->started_ns;
	snapshot->run->sampler.ticks = snapshot->run->sampler.elapsed_ns * 99 / FIXTURE_NS;
	snapshot->run->stopped.p50_ns += demo->random >> 56;
	snapshot_publish(demo->slot, snapshot);
}

static void *demo_resolve(void *argument)
{
	struct demo *demo = argument;
	uint64_t taken = 0;

	while (!atomic_load(&demo->stop)) {
		struct timespec pause = { .tv_nsec = 3000000 };

		demo->fixture.time_ns =
			demo->started_ns + demo_pace * (now_ns() - demo->started_ns);
		if (atomic_exchange(&demo->reset, false)) {
			profile_reset(demo->fixture.profile);
			demo->fixture.samples = 0;
		}
		for (; taken < (demo->fixture.time_ns - demo->started_ns) * 99 / FIXTURE_NS;
		     taken++)
			demo_sample(demo, 1);
		if (snapshot_wanted(demo->slot))
			demo_publish(demo);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void demo_reset(void *context)
{
	atomic_store(&((struct demo *)context)->reset, true);
}

static int demo_run(double interval_s, double time_s)
{
	struct demo demo = { .random = 42, .started_ns = now_ns() };
	sigset_t all, before;
	struct ui_pipeline pipeline = { .context = &demo,
					.reset = demo_reset,
					.guest = { "web01", "dom 5 · PVH", "Linux 6.1.0-56-amd64",
						   2, 5, "PVH" } };
	const struct ui_pipeline *const pipelines[] = { &pipeline };
	struct ui_source source = { .n_pipelines = 1, .pipelines = pipelines };
	struct ui_settings settings = { .interval_s = interval_s,
					.half_life_s = 10,
					.time_s = time_s };
	struct xtop_error *error;

	fixture_create(&demo.fixture);
	demo.fixture.time_ns = demo.started_ns;
	for (int i = 0; i < 1000; i++) /* after so many shares hardly change */
		demo_sample(&demo, 1);
	if (snapshot_slot_create(&demo.slot))
		abort();
	pipeline.slot = demo.slot;
	sigfillset(&all); /* like session.c: signals are for the main thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&demo.thread, NULL, demo_resolve, &demo))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	error = ui_run(&settings, &source);
	atomic_store(&demo.stop, true);
	pthread_join(demo.thread, NULL);
	snapshot_slot_destroy(demo.slot);
	fixture_destroy(&demo.fixture);
	if (error)
		printf("demo: %s\n", error_message(error));
	error_destroy(error);
	return error != NULL;
}

/* Long enough for sanitizers and for a loaded machine. */
#define END_MS 60000

/* --- a terminal of our own -------------------------------------------------------------------- */

struct screen {
	int master, slave;
	pid_t child;
	struct termios before;
	char seen[1 << 20]; /* all output so far, NUL-terminated */
	size_t n_seen;
};

static struct screen screen;
static speed_t screen_speed; /* speed of the line; 0: not set */
static const char *screen_locale = "C.UTF-8";

static void screen_child(const char *type, double interval_s, double time_s)
{
	int status;

	setsid();
	if (ioctl(screen.slave, TIOCSCTTY, 0))
		abort();
	for (int fd = 0; fd < 3; fd++)
		dup2(screen.slave, fd);
	close(screen.master);
	close(screen.slave);
	if (type)
		setenv("TERM", type, 1);
	else
		unsetenv("TERM");
	setenv("LC_ALL", screen_locale, 1);
	setenv("XDG_CONFIG_HOME", "/proc/no/such/folder", 1);
	status = demo_run(interval_s, time_s);
	fflush(stdout);
	if (type && !strcmp(type, "linux"))
		_exit(status); /* not exit(): libgpm, loaded by curses, leaks ten bytes */
	exit(status);
}

static void screen_resize(unsigned short columns_, unsigned short rows)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns_ };

	ioctl(screen.master, TIOCSWINSZ, &size);
}

static void screen_start(const char *type, double interval_s, double time_s)
{
	screen.n_seen = 0;
	screen.seen[0] = '\0';
	screen.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (screen.master < 0 || grantpt(screen.master) || unlockpt(screen.master))
		abort();
	screen.slave = open(ptsname(screen.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	screen_resize(80, 24);
	if (screen.slave < 0 || tcgetattr(screen.slave, &screen.before))
		abort();
	if (screen_speed) {
		cfsetspeed(&screen.before, screen_speed);
		if (tcsetattr(screen.slave, TCSANOW, &screen.before) ||
		    tcgetattr(screen.slave, &screen.before))
			abort();
	}
	fflush(stdout);
	screen.child = fork();
	if (!screen.child)
		screen_child(type, interval_s, time_s);
}

/* Reads output until TEXT has come after position FROM, or MS have passed. */
static bool screen_wait(const char *text, size_t from, int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;

	for (;;) {
		struct pollfd fd = { .fd = screen.master, .events = POLLIN };
		uint64_t now = now_ns();
		ssize_t n;

		if (text && strstr(screen.seen + from, text))
			return true;
		if (now >= end || poll(&fd, 1, (int)((end - now) / 1000000) + 1) <= 0)
			return false;
		n = read(screen.master, screen.seen + screen.n_seen,
			 sizeof(screen.seen) - 1 - screen.n_seen);
		if (n <= 0)
			return false;
		screen.n_seen += (size_t)n;
		screen.seen[screen.n_seen] = '\0';
	}
}

static void screen_type(const char *text)
{
	if (write(screen.master, text, strlen(text)) < 0)
		abort();
}

/* The child's wait status; -1: it did not end within MS. */
static int screen_wait_end(int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;
	int status;

	while (now_ns() < end) {
		if (screen.master >= 0)
			screen_wait(NULL, 0, 10);
		else
			usleep(10000);
		if (waitpid(screen.child, &status, WNOHANG) == screen.child)
			return status;
	}
	kill_process(screen.child, SIGKILL);
	waitpid(screen.child, &status, 0);
	return -1;
}

static bool modes_equal(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	       a->c_lflag == b->c_lflag && !memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc));
}

static void screen_check_sane(const char *how)
{
	struct termios after = { 0 };

	screen_wait(NULL, 0, 20);
	check(!tcgetattr(screen.slave, &after) && modes_equal(&screen.before, &after),
	      "%s: modes are as before", how);
	check(strstr(screen.seen, LEAVE_SCREEN), "%s: the other screen was left", how);
	check(strstr(screen.seen, "\033[?1000l") || strstr(screen.seen, "\033[?1006;1000l"),
	      "%s: the mouse is off", how);
}

static void screen_close(void)
{
	close(screen.slave);
	if (screen.master >= 0)
		close(screen.master);
}

/* --- ways to end ------------------------------------------------------------------------------ */

static void test_key_ends(const char *how, const char *keys)
{
	uint64_t start;
	int status;

	screen_start("xterm-256color", 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "%s: the screen came", how);
	start = now_ns();
	screen_type(keys);
	status = screen_wait_end(END_MS);
	check(status == 0, "%s: ended with status %d after %" PRIu64 " ms", how, status,
	      (now_ns() - start) / 1000000);
	screen_check_sane(how);
	screen_close();
}

static void test_signal_ends(int number)
{
	const char *how = strsignal(number);
	int status;

	screen_start("xterm-256color", 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "%s: the screen came", how);
	kill_process(screen.child, number);
	status = screen_wait_end(END_MS);
	check(status == 0, "%s: ended with status %d", how, status);
	screen_check_sane(how);
	screen_close();
}

/*
 * After a crash the terminal is sane, and the status is that of the crash. Sanitizers report the
 * signal and exit instead.
 */
static void test_crash(int number)
{
	const char *how = strsignal(number);
	int status;

	screen_start("xterm-256color", 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "%s: the screen came", how);
	kill_process(screen.child, number);
	status = screen_wait_end(20000);
#ifdef SANITIZED
	check(status > 0, "%s: died with status %#x", how, status);
#else
	check(WIFSIGNALED(status) && WTERMSIG(status) == number, "%s: the signal is in status %#x",
	      how, status);
#endif
	screen_check_sane(how);
	screen_close();
}

static void test_closed_terminal(void)
{
	int status;

	screen_start("xterm-256color", 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "closed terminal: the screen came");
	close(screen.slave);
	close(screen.master);
	screen.master = -1;
	status = screen_wait_end(END_MS);
	check(status == 0, "closed terminal: ended with status %d", status);
}

static void test_time_limit(void)
{
	int status;

	screen_start("xterm-256color", 0.2, 0.5);
	status = screen_wait_end(END_MS);
	check(status == 0, "time limit: ended with status %d", status);
	screen_check_sane("time limit");
	screen_close();
}

/* --- sizes, terminals, bytes ------------------------------------------------------------------ */

static void test_resize(void)
{
	static const unsigned short sizes[][2] = {
		{ 40, 10 }, { 20, 4 }, { 1, 1 }, { 200, 50 }, { 80, 24 }
	};
	size_t from;
	int status;

	screen_start("xterm-256color", 0.2, 0);
	screen_wait("Quit", 0, END_MS);
	for (size_t i = 0; i < 5; i++) {
		from = screen.n_seen;
		screen_resize(sizes[i][0], sizes[i][1]);
		if (sizes[i][0] >= 40)
			check(screen_wait("F10", from, END_MS), "%ux%u is drawn", sizes[i][0],
			      sizes[i][1]);
		else
			screen_wait(NULL, 0, 100);
	}
	for (int i = 0; i < 200; i++)
		screen_resize((unsigned short)(1 + i * 7 % 120), (unsigned short)(1 + i * 5 % 50));
	screen_type("q");
	status = screen_wait_end(END_MS);
	check(status == 0, "resized 200 times, q still ends it: status %d", status);
	screen_check_sane("resize");
	screen_close();
}

/* Waits until the last of 34 rows of 110 columns, ROW, has TEXT: bytes may be on their way. */
static void wait_for_last_row(struct vt *vt, const char *text, char *row, size_t row_bytes)
{
	unsigned i = 0;

	do {
		screen_wait(NULL, 0, 100);
		vt_init(vt, 34, 110);
		vt_write(vt, screen.seen, screen.n_seen);
		vt_row(vt, 33, row, row_bytes);
	} while (!strstr(row, text) && i++ < END_MS / 100);
}

/*
 * The terminal at the other end of a serial line has 34 rows. The line's size is not known at
 * first, so xtop begins with 24. When the size becomes known, all rows must be right without
 * Ctrl-L.
 */
static void test_late_size(void)
{
	static struct vt vt;
	char row[4 * VT_MAX_COLUMNS] = "";
	size_t from;

	screen_start("xterm-256color", 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "late size: the screen came");
	screen_wait(NULL, 0, 300);
	from = screen.n_seen;
	screen_resize(110, 34);
	check(screen_wait("F10", from, END_MS), "late size: it is drawn in the new size");
	for (const char *key = "tfv?"; *key; key++) {
		screen_type((const char[]){ *key, '\0' });
		screen_wait(NULL, 0, 400);
	}
	/* A key right after Esc would be one sequence with it, however late xtop reads both. */
	screen_type("\033");
	wait_for_last_row(&vt, "F1Help", row, sizeof(row));
	screen_type("a");
	screen_wait(NULL, 0, 400);
	wait_for_last_row(&vt, "F10Quit", row, sizeof(row));
	check(!vt.unknown[0], "late size: every sequence is known: %s", vt.unknown + 1);
	check(vt.top == 0 && vt.bottom == 33, "late size: rows %d to %d scroll", vt.top,
	      vt.bottom);
	check(strstr(row, "F1Help") && strstr(row, "F10Quit"), "late size: the last row: %s", row);
	vt_row(&vt, 0, row, sizeof(row));
	check(strstr(row, "web01") == row + 1, "late size: the first row: %s", row);
	screen_type("q");
	check(screen_wait_end(END_MS) == 0, "late size: xtop ended");
	screen_check_sane("late size");
	screen_close();
}

static void test_terminal_types(void)
{
	static const char *const types[] = { "xterm", "screen", "tmux-256color", "linux",
					     "vt100", "vt220",  "ansi" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct termios after = { 0 };

		screen_start(types[i], 0.2, 0);
		check(screen_wait("Quit", 0, END_MS), "TERM=%s: the screen came", types[i]);
		screen_type("jj\r\033qq");
		check(screen_wait_end(END_MS) == 0, "TERM=%s: xtop ended", types[i]);
		check(!tcgetattr(screen.slave, &after) && modes_equal(&screen.before, &after),
		      "TERM=%s: modes are as before", types[i]);
		screen_close();
	}
	screen_start("dumb", 0.2, 0);
	check(screen_wait("cannot move its cursor", 0, END_MS), "TERM=dumb: an error is shown");
	check(WEXITSTATUS(screen_wait_end(END_MS)) == 1, "TERM=dumb: status 1");
	screen_close();
	screen_start(NULL, 0.2, 0);
	check(screen_wait("is not known", 0, END_MS), "no TERM: an error is shown");
	check(WEXITSTATUS(screen_wait_end(END_MS)) == 1, "no TERM: status 1");
	screen_close();
}

/* The flame graph's colours: with 256, with 8, and for users who want none. */
static void test_colors(const char *type, const char *no_color, const char *wanted,
			const char *unwanted)
{
	setenv("NO_COLOR", no_color, 1);
	screen_start(type, 0.2, 0);
	screen_wait("Quit", 0, END_MS);
	screen_type("f");
	screen_wait("samples", screen.n_seen, END_MS);
	screen_wait(NULL, 0, 500);
	check(!wanted || strstr(screen.seen, wanted),
	      "%s, NO_COLOR '%s': the wanted colours are used", type, no_color);
	check(!strstr(screen.seen, unwanted), "%s, NO_COLOR '%s': no other colours are used", type,
	      no_color);
	screen_type("\003");
	screen_wait_end(END_MS);
	screen_close();
	unsetenv("NO_COLOR");
}

/*
 * The top view of a steady guest at the usual interval of a second: percents change in every row.
 * The guest's seconds pass four times as fast here.
 */
static void test_bytes_per_refresh(const char *type, speed_t speed, size_t most)
{
	const size_t refreshes = 8;
	size_t before, bytes;

	screen_speed = speed;
	demo_pace = 4;
	screen_start(type, 0.25, 0);
	demo_pace = 1;
	screen_wait("Quit", 0, END_MS);
	screen_wait(NULL, 0, 375);
	before = screen.n_seen;
	screen_wait(NULL, 0, (int)refreshes * 250);
	/*
	 * On a machine with other work, xtop may not have run. Then fewer refreshes count as all.
	 */
	for (unsigned i = 0; i < END_MS / 250 && screen.n_seen == before; i++)
		screen_wait(NULL, 0, 250);
	bytes = screen.n_seen - before;
	check(bytes > 0 && bytes < refreshes * most,
	      "%s: a refresh of 80x24 takes %zu bytes on average (at most %zu)", type,
	      bytes / refreshes, most);
	screen_type("q");
	screen_wait_end(END_MS);
	screen_close();
	screen_speed = 0;
}

/* A terminal without UTF-8 gets nothing but ASCII, in every view. */
static void test_ascii(const char *type, const char *locale)
{
	const char *bad = NULL;

	screen_locale = locale;
	screen_start(type, 0.2, 0);
	check(screen_wait("Quit", 0, END_MS), "TERM=%s LC_ALL=%s: the screen came", type, locale);
	for (const char *key = "tfvpo"; *key; key++) {
		screen_type((const char[]){ *key, '\0' });
		screen_wait(NULL, 0, 300);
	}
	for (size_t i = 0; i < screen.n_seen && !bad; i++)
		if (screen.seen[i] & 0x80)
			bad = &screen.seen[i];
	check(!bad, "TERM=%s LC_ALL=%s: ASCII alone; %.20s", type, locale, bad ? bad : "");
	screen_type("\003");
	screen_wait_end(END_MS);
	screen_close();
	screen_locale = "C.UTF-8";
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "demo"))
		return demo_run(1, argc > 2 ? atof(argv[2]) : 0);
	test_key_ends("q", "q");
	test_key_ends("q from a view", "\rqq");
	test_key_ends("F10", "\033[21~");
	test_key_ends("Ctrl-C", "\003");
	test_key_ends("Ctrl-C in a prompt", "/abc\003");
	test_key_ends("Ctrl-Z, then q", "\032q");
	test_key_ends("a click on F10", "\033[<0;75;24M");
	/* Both clicks have come before xtop looks. */
	test_key_ends("a click on F10 and one on a row",
		      "\033[<0;75;24M\033[<0;75;24m\033[<0;20;12M\033[<0;20;12m");
	test_signal_ends(SIGINT);
	test_signal_ends(SIGTERM);
	test_signal_ends(SIGHUP);
	test_signal_ends(SIGQUIT);
	test_crash(SIGSEGV);
	test_crash(SIGABRT);
	test_crash(SIGBUS);
	test_closed_terminal();
	test_time_limit();
	test_resize();
	test_late_size();
	test_terminal_types();
	test_colors("xterm-256color", "", "48;5;", "\033[38;2;");
	test_colors("xterm", "", "\033[41m", "48;5;");
	test_colors("xterm-256color", "1", NULL, "48;5;");
	test_colors("vt100", "", NULL, "\033[41m");
	test_bytes_per_refresh("xterm-256color", 0, 2000);
	test_bytes_per_refresh("linux", B9600, 960); /* what the line sends in a second */
	test_bytes_per_refresh("vt100", B9600, 960);
	test_ascii("xterm", "C");
	test_ascii("linux", "C");
	test_ascii("vt220", "POSIX");
	return tap_done();
}
