/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time from a key to the screen. A child process runs xtop's UI on a pseudo-terminal of 80x24.
 * Its ring gets 10,000 samples a second (16 frames each, of 5,000 functions); its resolver unwinds
 * and names all of them. The parent writes keys to the terminal. It measures the time until the
 * first byte of the new picture, and until the last byte before 15 ms of silence. For comparison,
 * it sends a byte to a process that only sends it back: this time the machine itself needs. Prints
 * numbers; compares nothing.
 *
 *	make bench, or tests/bench/bench_key [KEYS [SAMPLES_PER_SECOND]]
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "many_functions.h"
#include "xtop/base/clock.h"
#include "xtop/profile/resolver.h"
#include "xtop/ui/ui.h"

#define DEPTH      16
#define N_RECORDS  4096 /* made before the start, sent in turn */
#define SETTLE_MS  2000 /* sampling time before the first key */
#define SILENCE_MS 15
#define NS_PER_S   1000000000ULL

/* --- the child process: a guest, its pipeline, the UI ----------------------------------------- */

struct feeder {
	struct ring *ring;
	char *records;
	size_t record_bytes;
	uint64_t rate_hz, lost;
	atomic_bool stop;
};

/* Outer levels draw from two functions, inner ones from 40: a tree of many thousand nodes. */
static void make_records(struct feeder *feeder)
{
	struct guest_record *record = malloc(sizeof(*record));
	uint64_t state = 88172645463325252, addresses[DEPTH];

	for (unsigned i = 0; i < N_RECORDS; i++) {
		for (unsigned j = 0; j < DEPTH; j++) {
			unsigned level = DEPTH - 1 - j;

			addresses[j] = GUEST_KERNEL + 16 +
				       GUEST_FUNCTION_BYTES *
					       ((level * 311 +
						 random_next(&state) % (level < 8 ? 2 : 40)) %
						N_FUNCTIONS);
		}
		guest_begin(record, 0, 1);
		guest_add_addresses(record, 0, addresses, DEPTH);
		feeder->record_bytes = record->size_bytes;
		if (!feeder->records)
			feeder->records = malloc(N_RECORDS * feeder->record_bytes);
		memcpy(feeder->records + i * feeder->record_bytes, record->words,
		       feeder->record_bytes);
	}
	free(record);
}

static void feeder_send(struct feeder *feeder, uint64_t n, uint64_t now_ns)
{
	struct sample *sample = ring_reserve(feeder->ring, feeder->record_bytes);

	if (!sample) {
		feeder->lost++;
		return;
	}
	memcpy(sample, feeder->records + n % N_RECORDS * feeder->record_bytes,
	       feeder->record_bytes);
	sample->time_ns = now_ns;
	ring_commit(feeder->ring, feeder->record_bytes);
}

static void *feed(void *context)
{
	struct feeder *feeder = context;
	uint64_t start_ns = clock_now_ns(), sent = 0;

	while (!atomic_load(&feeder->stop)) {
		const struct timespec nap = { .tv_nsec = 1000000 };
		uint64_t now_ns = clock_now_ns();

		for (; sent < (now_ns - start_ns) * feeder->rate_hz / NS_PER_S; sent++)
			feeder_send(feeder, sent, now_ns);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static void *resolve(void *context)
{
	resolver_run(context);
	return NULL;
}

static void reset(void *context)
{
	(void)context;
}

static void child_run(uint64_t rate_hz)
{
	struct feeder feeder = { .rate_hz = rate_hz };
	struct resolver_settings settings = { .symbols = make_symbols(),
					      .n_vcpus = 1,
					      .half_life_ns = 10 * NS_PER_S,
					      .max_nodes = PROFILE_MAX_NODES,
					      .live = true };
	struct ui_pipeline pipeline = { .reset = reset,
					.guest = { "web01", "dom 5 · PVH", "unikernel", 1, 5, "PVH" } };
	const struct ui_pipeline *const pipelines[] = { &pipeline };
	const struct ui_source source = { .n_pipelines = 1, .pipelines = pipelines };
	const struct ui_settings ui = { .interval_s = 1, .half_life_s = 10 };
	struct resolver *resolver;
	pthread_t resolver_thread, feeder_thread;
	sigset_t all, before;

	make_records(&feeder);
	guest_must(ring_create(16 << 20, &feeder.ring));
	guest_must(control_create(&settings.control));
	guest_must(snapshot_slot_create(&pipeline.slot));
	settings.ring = feeder.ring;
	settings.slot = pipeline.slot;
	guest_must(resolver_create(&settings, &resolver));
	sigfillset(&all); /* only the UI's thread gets signals */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&resolver_thread, NULL, resolve, resolver) ||
	    pthread_create(&feeder_thread, NULL, feed, &feeder))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	guest_must(ui_run(&ui, &source));
	atomic_store(&feeder.stop, true);
	pthread_join(feeder_thread, NULL);
	fprintf(stderr, "lost by the ring: %llu\n", (unsigned long long)feeder.lost);
	_exit(0); /* nothing is freed */
}

static pid_t child_start(int slave, uint64_t rate_hz)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	ioctl(slave, TIOCSCTTY, 0);
	dup2(slave, STDIN_FILENO);
	dup2(slave, STDOUT_FILENO);
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("XDG_CONFIG_HOME", "/proc/no/such/folder", 1);
	child_run(rate_hz);
	return child;
}

/* --- the parent process: it presses keys ------------------------------------------------------ */

/* Reads until nothing comes for SILENCE_MS. Returns false if nothing came within WAIT_MS. */
static bool read_picture(int master, int wait_ms, uint64_t *first_ns, uint64_t *last_ns)
{
	struct pollfd poller = { .fd = master, .events = POLLIN };
	bool any = false;
	char bytes[65536];

	while (poll(&poller, 1, any ? SILENCE_MS : wait_ms) > 0 &&
	       read(master, bytes, sizeof(bytes)) > 0) {
		*last_ns = clock_now_ns();
		*first_ns = any ? *first_ns : *last_ns;
		any = true;
	}
	return any;
}

static int compare_u64(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) -
	       (*(const uint64_t *)a < *(const uint64_t *)b);
}

static void print_times(const char *what, uint64_t *times, size_t n)
{
	qsort(times, n, sizeof(*times), compare_u64);
	printf("%-28s p50 %6.2f   p99 %6.2f   max %6.2f ms   of %zu keys\n", what,
	       (double)times[n / 2] / 1e6, (double)times[n * 99 / 100] / 1e6,
	       (double)times[n - 1] / 1e6, n);
}

static void press(int master, char key)
{
	if (write(master, &key, 1) != 1)
		abort();
}

static void bench(int master, size_t n)
{
	static const char keys[] = "tEfIvopa1hq2"; /* each changes the picture */
	uint64_t *firsts = calloc(n, sizeof(*firsts)), *lasts = calloc(n, sizeof(*lasts));
	size_t answered = 0;

	for (size_t i = 0; i < n; i++) {
		const struct timespec nap = { .tv_nsec = 20000000 + (long)(i % 7) * 3000000 };
		uint64_t start_ns, first_ns = 0, last_ns = 0;

		nanosleep(&nap, NULL);
		while (read_picture(master, 0, &first_ns, &last_ns))
			; /* a refresh without a key */
		start_ns = clock_now_ns();
		press(master, keys[i % (sizeof(keys) - 1)]);
		if (!read_picture(master, 5000, &first_ns, &last_ns))
			continue;
		firsts[answered] = first_ns - start_ns;
		lasts[answered++] = last_ns - start_ns;
	}
	if (answered) {
		print_times("key to first byte", firsts, answered);
		print_times("key to last byte", lasts, answered);
	}
	printf("%zu keys without an answer\n", n - answered);
	free(firsts);
	free(lasts);
}

/* The time to wake a process and to be woken by it. */
static void bench_machine(size_t n)
{
	uint64_t *times = calloc(n, sizeof(*times));
	int ends[2];
	pid_t child;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	child = fork();
	if (!child) {
		close(ends[0]);
		while (read(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(ends[1]);
	for (size_t i = 0; i < n; i++) {
		const struct timespec nap = { .tv_nsec = 20000000 };
		uint64_t start_ns;

		nanosleep(&nap, NULL);
		start_ns = clock_now_ns();
		if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			abort();
		times[i] = clock_now_ns() - start_ns;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	print_times("a byte to a process and back", times, n);
	free(times);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400;
	uint64_t rate_hz = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	uint64_t end_ns, first_ns, last_ns;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
	pid_t child;

	if (master < 0 || grantpt(master) || unlockpt(master))
		abort();
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size))
		abort();
	child = child_start(slave, rate_hz);
	close(slave);
	end_ns = clock_now_ns() + SETTLE_MS * 1000000ULL;
	while (clock_now_ns() < end_ns)
		read_picture(master, 50, &first_ns, &last_ns);
	printf("%llu samples/s, 80x24\n", (unsigned long long)rate_hz);
	bench(master, n);
	bench_machine(n);
	press(master, 3); /* Ctrl-C */
	while (read_picture(master, 500, &first_ns, &last_ns))
		;
	waitpid(child, NULL, 0);
	close(master);
	return 0;
}
