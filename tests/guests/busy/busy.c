// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /init of the busy guest, a Linux guest in which nothing else runs. One thread on each vCPU does
 * what a word on the kernel's command line says:
 *
 *   spin    uses all of the time, in user code
 *   half    uses about half of the time: 5 ms in user code, then 5 ms asleep
 *   locks   system calls that hold one of the kernel's spinlocks nearly all the time
 *   clocks  reads CLOCK_MONOTONIC and CLOCK_REALTIME again and again. What it has read last lies
 *           on its stack, where samples have it: struct shown
 *   split   three chains of calls, one of which ends in the kernel: work_split()
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
#define HALF_NS     UINT64_C(5000000)
#define STACK_BYTES 65536
#define MAX_CPUS    64

static uint32_t word;
static char mode[16];
static unsigned naps;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

__attribute__((noinline)) static void spin(unsigned long n)
{
	while (n--)
		asm volatile("");
}

static void work_half(void)
{
	const struct timespec nap = { .tv_nsec = HALF_NS };
	uint64_t since_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns < HALF_NS)
		spin(2000);
	nanosleep(&nap, NULL);
}

/*
 * The kernel holds the lock of the futex's bucket while it looks for a waiter with this bit. There
 * is none, so all waiters are looked at (Linux kernel/futex/waitwake.c, futex_wake()).
 */
static void work_locks(void)
{
	syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, BIT_NOBODY);
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

#define SPLIT_SPINS  400000  /* some milliseconds on an emulated processor */
#define SPLIT_BYTES  (1 << 20)

static uint64_t split_ns[N_LEAVES];
static char zeros[SPLIT_BYTES];

/* The time since *SINCE_NS is LEAF's. */
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
	nap_ns = (since_ns - began_ns) * naps;
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

static void *worker(void *arg)
{
	volatile struct shown shown = { .mark = "xtop shows time" };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((int)(intptr_t)arg, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;) {
		if (strcmp(mode, "half") == 0)
			work_half();
		else if (strcmp(mode, "locks") == 0)
			work_locks();
		else if (strcmp(mode, "clocks") == 0)
			work_clocks(&shown);
		else if (strcmp(mode, "split") == 0)
			work_split();
		else
			spin(1000000);
	}
	return arg;
}

static void start(void *(*body)(void *), intptr_t arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, body, (void *)arg)) {
		puts("busy: no thread");
		exit(1);
	}
}

/* Linux uses a new vCPU only when user space sets it online. Returns how many there are. */
static int online(void)
{
	char path[64];

	for (int cpu = 1; cpu < MAX_CPUS; cpu++) {
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_WRONLY);
		if (fd < 0)
			break;
		if (write(fd, "1", 1) < 0)
			puts("busy: a vCPU stays offline");
		close(fd);
	}
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void read_mode(void)
{
	static const char *const modes[] = { "spin", "half", "locks", "clocks", "split" };
	char line[1024] = " ", *at;
	FILE *file = fopen("/proc/cmdline", "r");

	if (!file || !fgets(line, sizeof(line), file))
		exit(1);
	fclose(file);
	for (at = strtok(line, " \n"); at; at = strtok(NULL, " \n"))
		for (int i = 0; i < 5; i++)
			if (strcmp(at, modes[i]) == 0)
				snprintf(mode, sizeof(mode), "%s", at);
			else
				sscanf(at, "naps=%u", &naps);
}

/* In hundredths of a second, as in /proc/stat. */
static unsigned long long uptime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 100 + (unsigned long long)now.tv_nsec / 10000000;
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

		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice,
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
	for (int i = 0; i < WAITERS && strcmp(mode, "locks") == 0; i++)
		start(waiter, i);
	for (int cpu = 0; cpu < n; cpu++)
		start(worker, cpu);
	printf("busy: %s on %d vCPUs\n", mode, n);
	for (;;) {
		sleep(1);
		tell();
		if (strcmp(mode, "split") == 0)
			tell_split();
	}
}
