// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /init of the busy guest, a Linux guest in which nothing else runs. One thread on each vCPU does
 * what a word on the kernel's command line says:
 *
 *   spin    uses all of the time, in user code
 *   half    uses about half of the time: 5 ms in user code, then 5 ms asleep; ms=N: N ms each
 *   locks   system calls that hold one of the kernel's spinlocks nearly all the time
 *   clocks  reads CLOCK_MONOTONIC and CLOCK_REALTIME again and again. What it has read last lies
 *           on its stack, where samples have it: struct shown
 *   split   three chains of calls, one of which ends in the kernel: work_split()
 *
 *   crowd   sleep, while tasks=N tasks wait at three places: crowd_work()
 *
 * naps=N: after each round of split, sleeps N times as long as the round took.
 *
 * Each second the guest prints what its kernel knows of each vCPU's time, from /proc/stat, in
 * hundredths of a second, and when it looked:
 *
 *   busy: cpu0 user 1200 system 17 idle 3 steal 800 at 2025
 *
 * With split it also prints the time that each chain took since the start, of all threads together,
 * in microseconds. The clock is read without a call of the kernel, so the time of reading it is in no
 * chain. Nothing else runs on the vCPU but the thread that prints this:
 *
 *   busy: split lex 5009 paint 2504 zero 2510
 *
 * With half it also prints how long all threads together have asked to be asleep, in hundredths of a
 * second, and when. A vCPU that is woken and has no physical CPU yet is late, and that is not in it:
 *
 *   busy: half slept 1200 at 2025
 *
 * With locks it also prints how many such calls have ended, how much time all threads together have
 * spent in them, also in those that go on, and when. All of that is of one moment. The kernel of a PV
 * guest is called for the time, so the processor's counter takes its place:
 *
 *   busy: calls 48000 cycles 80010000000 at 20250000000
 *
 * With crowd it also prints how long all tasks together have waited at each place, in milliseconds,
 * and when:
 *
 *   busy: crowd ever 40009000 even 2000300 odd 2000100 at 7025
 *
 * Linux takes steal from Xen's own count of the time that the vCPU waited for a physical CPU
 * (VCPUOP_register_runstate_memory_area; Linux drivers/xen/time.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITERS     200 /* threads that a call with the lock held has to look at */
#define BIT_SLEEPS  1
#define BIT_NOBODY  2
#define STACK_BYTES 65536
#define MAX_CPUS    64
#define BRIEF_CYCLES 100000 /* tens of microseconds; Xen lets a vCPU run for a millisecond */

static uint32_t word;
static char mode[16];
static unsigned naps, tasks, half_ms = 5;
static uint64_t slept_ns;
static struct calls {
	uint64_t n, cycles, since; /* since is 0 while no call goes on */
} calls[MAX_CPUS];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* The processor counts these all the time, at one rate. */
static uint64_t now_cycles(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t cycles;

	asm volatile("mrs %0, cntvct_el0" : "=r"(cycles));
	return cycles;
#endif
}

/* The time since the guest started, in hundredths of a second, as /proc/stat has it. */
static unsigned long long uptime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 100 + (unsigned long long)now.tv_nsec / 10000000;
}

__attribute__((noinline)) static void spin(unsigned long n)
{
	while (n--)
		asm volatile("");
}

static void work_half(void)
{
	const struct timespec nap = { .tv_nsec = half_ms * 1000000L };
	uint64_t since_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns < (uint64_t)nap.tv_nsec)
		spin(2000);
	nanosleep(&nap, NULL);
	__atomic_fetch_add(&slept_ns, nap.tv_nsec, __ATOMIC_RELAXED);
}

static void tell_half(void)
{
	uint64_t ns = __atomic_load_n(&slept_ns, __ATOMIC_RELAXED);

	printf("busy: half slept %llu at %llu\n", (unsigned long long)ns / 10000000, uptime());
}

/*
 * The kernel holds the lock of the futex's bucket while it looks for a waiter with this bit. There
 * is none, so all waiters are looked at (Linux kernel/futex/waitwake.c, futex_wake()).
 */
static void work_locks(struct calls *mine)
{
	uint64_t since = now_cycles();

	__atomic_store_n(&mine->since, since, __ATOMIC_RELAXED);
	syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, BIT_NOBODY);
	__atomic_store_n(&mine->since, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->cycles, mine->cycles + now_cycles() - since, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->n, mine->n + 1, __ATOMIC_RELAXED);
}

/*
 * All vCPUs share one physical CPU. So what has been read is of one moment if reading took less time
 * than Xen gives to another vCPU.
 */
static void tell_calls(void)
{
	uint64_t n, cycles, now;

	do {
		n = cycles = 0;
		now = now_cycles();
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			uint64_t since = __atomic_load_n(&calls[cpu].since, __ATOMIC_RELAXED);

			n += __atomic_load_n(&calls[cpu].n, __ATOMIC_RELAXED);
			cycles += __atomic_load_n(&calls[cpu].cycles, __ATOMIC_RELAXED);
			cycles += since ? now - since : 0;
		}
	} while (now_cycles() - now > BRIEF_CYCLES);
	printf("busy: calls %llu cycles %llu at %llu\n", (unsigned long long)n,
	       (unsigned long long)cycles, (unsigned long long)now);
}

/* tests/lab/clock_error.c looks for the mark. */
struct shown {
	char mark[16];
	uint64_t monotonic_ns, real_ns;
};

__attribute__((noinline)) static void work_clocks(volatile struct shown *shown)
{
	for (int i = 0; i < 100000; i++) {
		shown->monotonic_ns = now_ns(CLOCK_MONOTONIC);
		shown->real_ns = now_ns(CLOCK_REALTIME);
	}
}

/* --- split: chains with known shares of the time ---------------------------------------------- */

enum leaf { LEX, PAINT, ZERO, N_LEAVES };

#define SPLIT_SPINS  400000  /* they take some milliseconds on an emulated processor */
#define SPLIT_BYTES  (1 << 20)

static uint64_t split_ns[N_LEAVES];
static char zeros[SPLIT_BYTES];

/* Counts the time since *SINCE_NS as LEAF's, and sets *SINCE_NS to now. */
static void split_count(enum leaf leaf, uint64_t *since_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	__atomic_fetch_add(&split_ns[leaf], now - *since_ns, __ATOMIC_RELAXED);
	*since_ns = now;
}

__attribute__((noipa)) static void lex(unsigned long n)
{
	while (n--)
		asm volatile("");
}

__attribute__((noipa)) static void parse(unsigned long n)
{
	lex(n);
	asm volatile(""); /* no tail call */
}

__attribute__((noipa)) static void paint(unsigned long n)
{
	while (n--)
		asm volatile("");
}

__attribute__((noipa)) static void layout(unsigned long n)
{
	paint(n);
	asm volatile("");
}

__attribute__((noipa)) static void render(unsigned long n)
{
	layout(n);
	asm volatile("");
}

/* The kernel fills the memory with zeros. */
__attribute__((noipa)) static void zero(int fd)
{
	if (read(fd, zeros, sizeof(zeros)) < 0)
		exit(1);
}

__attribute__((noipa)) static void work_split(void)
{
	static _Thread_local int fd = -1;
	uint64_t since_ns, nap_ns, began_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct timespec nap;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY);
	since_ns = now_ns(CLOCK_MONOTONIC);
	parse(2 * SPLIT_SPINS);
	split_count(LEX, &since_ns);
	render(SPLIT_SPINS);
	split_count(PAINT, &since_ns);
	zero(fd);
	zero(fd);
	split_count(ZERO, &since_ns);
	nap_ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) * naps;
	nap = (struct timespec){ .tv_sec = (time_t)(nap_ns / 1000000000),
				 .tv_nsec = (long)(nap_ns % 1000000000) };
	if (naps)
		nanosleep(&nap, NULL);
}

static void tell_split(void)
{
	uint64_t us[N_LEAVES];

	for (int i = 0; i < N_LEAVES; i++)
		us[i] = __atomic_load_n(&split_ns[i], __ATOMIC_RELAXED) / 1000;
	printf("busy: split lex %llu paint %llu zero %llu\n", (unsigned long long)us[LEX],
	       (unsigned long long)us[PAINT], (unsigned long long)us[ZERO]);
}

static void *waiter(void *arg)
{
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, BIT_SLEEPS);
	return arg;
}

/* --- crowd: tasks that wait at known places --------------------------------------------------- */

enum place { EVER, EVEN, ODD, N_PLACES };

#define CROWD_MOVES  10      /* one of so many tasks moves; the others wait for ever */
#define CROWD_MS     7000    /* most time of a task at one place; each task has times of its own */
#define CROWD_STACK  16384   /* PTHREAD_STACK_MIN */
#define THREADS_MAX  "40000" /* Linux allows for far fewer in a small guest */

static uint64_t waited_ns[N_PLACES];
static struct place_now {
	uint64_t n, since_sum_ns; /* tasks at the place, and the sum of their beginnings */
} places_now[N_PLACES];
static pthread_mutex_t crowd = PTHREAD_MUTEX_INITIALIZER;

static uint64_t place_enter(enum place place)
{
	uint64_t now;

	pthread_mutex_lock(&crowd);
	now = now_ns(CLOCK_MONOTONIC);
	places_now[place].n++;
	places_now[place].since_sum_ns += now;
	pthread_mutex_unlock(&crowd);
	return now;
}

static void place_leave(enum place place, uint64_t since)
{
	pthread_mutex_lock(&crowd);
	waited_ns[place] += now_ns(CLOCK_MONOTONIC) - since;
	places_now[place].n--;
	places_now[place].since_sum_ns -= since;
	pthread_mutex_unlock(&crowd);
}

static void nap(unsigned ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

__attribute__((noipa)) static void wait_even(unsigned ms)
{
	nap(ms);
	asm volatile(""); /* no tail call */
}

__attribute__((noipa)) static void wait_odd(unsigned ms)
{
	nap(ms);
	asm volatile("");
}

__attribute__((noipa)) static void wait_ever(void)
{
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void *crowd_work(void *arg)
{
	unsigned number = (unsigned)(intptr_t)arg, ms = (unsigned)(number % CROWD_MS);
	enum place place = number / CROWD_MOVES % 2 ? ODD : EVEN;

	if (number % CROWD_MOVES) {
		place_enter(EVER);
		wait_ever();
	}
	for (;;) {
		uint64_t since = place_enter(place);

		if (place == ODD)
			wait_odd(ms);
		else
			wait_even(ms);
		place_leave(place, since);
		place = place == ODD ? EVEN : ODD;
		ms = CROWD_MS;
	}
	return arg;
}

static void tell_crowd(void)
{
	unsigned long long ms[N_PLACES];
	uint64_t now;

	pthread_mutex_lock(&crowd);
	now = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < N_PLACES; i++)
		ms[i] = (waited_ns[i] + places_now[i].n * now - places_now[i].since_sum_ns) / 1000000;
	pthread_mutex_unlock(&crowd);
	printf("busy: crowd ever %llu even %llu odd %llu at %llu\n", ms[EVER], ms[EVEN], ms[ODD],
	       (unsigned long long)(now / 10000000));
}

static void *worker(void *arg)
{
	volatile struct shown shown = { .mark = "xtop shows time" };
	int cpu = (int)(intptr_t)arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;) {
		if (strcmp(mode, "half") == 0)
			work_half();
		else if (strcmp(mode, "locks") == 0)
			work_locks(&calls[cpu]);
		else if (strcmp(mode, "clocks") == 0)
			work_clocks(&shown);
		else if (strcmp(mode, "split") == 0)
			work_split();
		else if (strcmp(mode, "crowd") == 0)
			pause();
		else
			spin(1000000);
	}
	return arg;
}

static void start(void *(*body)(void *), intptr_t arg, size_t stack_bytes)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_bytes);
	if (pthread_create(&thread, &attr, body, (void *)arg)) {
		puts("busy: no thread");
		exit(1);
	}
}

/*
 * Linux uses a new vCPU only when user space sets it online. An unplugged one has no file, nor has one
 * that there never was. Returns how many vCPUs are online.
 */
static int online(void)
{
	char path[64];

	for (int cpu = 1; cpu < MAX_CPUS; cpu++) {
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_WRONLY);
		if (fd < 0)
			continue;
		if (write(fd, "1", 1) < 0)
			puts("busy: a vCPU stays offline");
		close(fd);
	}
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void read_mode(void)
{
	static const char *const modes[] = { "spin", "half", "locks", "clocks", "split", "crowd" };
	char line[1024] = " ", *at;
	FILE *file = fopen("/proc/cmdline", "r");

	if (!file || !fgets(line, sizeof(line), file))
		exit(1);
	fclose(file);
	for (at = strtok(line, " \n"); at; at = strtok(NULL, " \n"))
		for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
			if (strcmp(at, modes[i]) == 0)
				snprintf(mode, sizeof(mode), "%s", at);
			else if (!sscanf(at, "naps=%u", &naps) &&
				 !sscanf(at, "tasks=%u", &tasks))
				sscanf(at, "ms=%u", &half_ms);
}

static void tell(void)
{
	static char text[16384];
	size_t length = 0;
	FILE *file = fopen("/proc/stat", "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
		int cpu;

		/* The first line, "cpu ", sums up all vCPUs. */
		if (line[3] != ' ' &&
		    sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice,
			   &system, &idle, &iowait, &irq, &softirq, &steal) == 9)
			length += snprintf(text + length, sizeof(text) - length,
					   "busy: cpu%d user %llu system %llu idle %llu steal %llu at %llu\n",
					   cpu, user + nice, system + irq + softirq, idle + iowait,
					   steal, uptime());
	}
	if (file)
		fclose(file);
	if (write(1, text, length) < 0)
		exit(1);
}

static void start_crowd(void)
{
	int fd = open("/proc/sys/kernel/threads-max", O_WRONLY);

	if (!tasks)
		return;
	if (fd < 0 || write(fd, THREADS_MAX, strlen(THREADS_MAX)) < 0)
		puts("busy: no more threads are allowed");
	close(fd);
	for (unsigned i = 0; i < tasks; i++)
		start(crowd_work, i, CROWD_STACK);
}

int main(void)
{
	int n, fd;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/console", O_RDWR);
	dup2(fd, 1);
	setbuf(stdout, NULL);
	read_mode();
	n = online();
	start_crowd();
	for (int i = 0; i < WAITERS && strcmp(mode, "locks") == 0; i++)
		start(waiter, i, STACK_BYTES);
	for (int cpu = 0; cpu < n; cpu++)
		start(worker, cpu, STACK_BYTES);
	printf("busy: %s on %d vCPUs\n", mode, n);
	for (;;) {
		sleep(1);
		online(); /* vCPUs that have been plugged in */
		tell();
		if (strcmp(mode, "half") == 0)
			tell_half();
		if (strcmp(mode, "locks") == 0)
			tell_calls();
		if (strcmp(mode, "split") == 0)
			tell_split();
		if (strcmp(mode, "crowd") == 0)
			tell_crowd();
	}
}
