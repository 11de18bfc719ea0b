// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's work: one graph of calls, which every vCPU runs in rounds. The shares of its
 * functions follow from its construction. Only leaves spin. All use the same loop, with a fixed
 * number of iterations; the code between them is a few instructions.
 *
 *   main -+- parse --+- lex      30 %
 *         |          `- reduce   10 %
 *         +- render -- layout -+- measure  25 %
 *         |                    `- paint    20 %
 *         `- fib(12), recursive  15 %, in chains of 7 to 12 frames
 *
 * fib(n) calls fib(n-1) and fib(n-2); its 233 leaves (n < 2) spin. d-1 steps of one or two lead to
 * a leaf at a depth of d frames, so C(d-1, 12-d) + C(d-2, 12-d) leaves have this depth:
 *
 *   frames  7   8   9  10  11  12
 *   leaves  7  50  91  64  19   2     sum 233
 *
 * The file `expected` has the resulting chains and percentages.
 *
 * These are shares of iterations. Equal numbers of iterations may take different times: on a second
 * machine, with other caches and another emulator, equal loops differed by up to 13 %. So every
 * vCPU also measures, by the time-stamp counter, how long each leaf took (all of fib is one leaf).
 * The heartbeat line on the console has the sums over all vCPUs since the start:
 *
 *   tiny: heartbeat 2048 lex 9052121 reduce 2951203 measure 7446620 paint 5973431 fib 4463321
 *
 * The counter goes on while a vCPU is preempted or stopped in a leaf. So does the sampling of that
 * leaf.
 *
 * Each round draws at random how long it spins: 15 to 25 grains, the same for all its leaves. So no
 * sampling rate can stay in step with the work, and the shares are exact in every single round. A
 * round of 20 grains has 93,200 iterations of 16 instructions: 1.49 ms if an instruction takes 1 ns
 * (qemu -icount shift=0), 1 to 2 ms on today's machines.
 */
#include <stdint.h>		/* Xen's headers use its types and do not include it */
#include <xen/xen.h>
#include <xen/version.h>

#include "tiny.h"

#define FIB_N		12
#define FIB_LEAVES	233
#define GRAINS_MIN	15
#define GRAINS_MAX	25
#define BEAT_ROUNDS	256				/* rounds for each heartbeat line */

/* The iterations that are `percent` of a round. The result is exact for multiples of 5. For the
   15 % of fib it is a multiple of FIB_LEAVES. */
#define ITERATIONS(percent, grains) ((percent) * FIB_LEAVES / 5 * (grains))

/* The compiler must keep each of these functions, and call it as written. Then, together with
   -fno-optimize-sibling-calls, chains are whole. */
#ifdef __clang__
#define WORK static __attribute__((noinline))
#else
#define WORK static __attribute__((noipa))
#endif

/* Rounds done, by vCPU. For readers outside the guest. */
volatile uint64_t heartbeat[TINY_MAX_VCPUS];

enum leaf { LEX, REDUCE, MEASURE, PAINT, FIB, NR_LEAVES };

static const char *const leaf_names[NR_LEAVES] = {
	[LEX] = "lex", [REDUCE] = "reduce", [MEASURE] = "measure", [PAINT] = "paint", [FIB] = "fib",
};

/* Ticks spent in each leaf, by vCPU. A vCPU writes only its own; vCPU 0 reads all. */
static volatile uint64_t spent[TINY_MAX_VCPUS][NR_LEAVES];

/* A round passes this to its functions. */
struct round {
	unsigned int vcpu;
	unsigned long grains;
	uint64_t since;					/* when the last leaf ended */
};

static inline __attribute__((always_inline)) uint64_t ticks_now(void)
{
#ifdef __aarch64__
	uint64_t ticks;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (ticks));
	return ticks;
#elif defined(__arm__)
	uint64_t ticks;

	asm volatile("isb; mrrc p15, 1, %Q0, %R0, c14" : "=r" (ticks)); /* CNTVCT */
	return ticks;
#else
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (uint64_t)high << 32 | low;
#endif
}

/* Adds the time since the last leaf to this leaf. Inline, so that it has no frame of its own. */
static inline __attribute__((always_inline)) void charge(struct round *round, enum leaf leaf)
{
	uint64_t now = ticks_now();

	spent[round->vcpu][leaf] += now - round->since;
	round->since = now;
}

/* 16 instructions an iteration. The chain of multiplications, of three cycles each, hides the
   effect that a loop's place in memory has on the processor (or on the emulator's processor). With
   only dec and jnz, equal loops in two functions differed by about 5 % under QEMU. */
static inline __attribute__((always_inline)) void spin(unsigned long iterations)
{
	unsigned long product = iterations;

#ifdef __aarch64__
	asm volatile(".p2align 6\n"
		     "1:	.rept 14\n"
		     "	mul %1, %1, %1\n"
		     "	.endr\n"
		     "	subs %0, %0, #1\n"
		     "	b.ne 1b"
		     : "+r" (iterations), "+r" (product), "+r" (stack_pointer) : : "cc");
#elif defined(__arm__)
	asm volatile(".p2align 6\n"
		     "1:	.rept 14\n"
		     "	mul %1, %1, %1\n"
		     "	.endr\n"
		     "	subs %0, %0, #1\n"
		     "	bne 1b"
		     : "+r" (iterations), "+r" (product), "+r" (stack_pointer) : : "cc");
#else
	asm volatile(".p2align 6\n"
		     "1:	.rept 14\n"
		     "	imul %1, %1\n"
		     "	.endr\n"
		     "	dec %0\n"
		     "	jnz 1b"
		     : "+r" (iterations), "+r" (product), "+r" (stack_pointer) : : "cc");
#endif
}

WORK void lex(struct round *round)
{
	spin(ITERATIONS(30, round->grains) * options.lex);
	charge(round, LEX);
}

WORK void reduce(struct round *round)
{
	spin(ITERATIONS(10, round->grains));
	charge(round, REDUCE);
}

WORK void parse(struct round *round)
{
	if (options.lex)
		lex(round);
	reduce(round);
}

WORK void measure(struct round *round)
{
	spin(ITERATIONS(25, round->grains));
	charge(round, MEASURE);
}

WORK void paint(struct round *round)
{
	spin(ITERATIONS(20, round->grains));
	charge(round, PAINT);
}

WORK void layout(struct round *round)
{
	measure(round);
	paint(round);
}

WORK void render(struct round *round)
{
	layout(round);
}

WORK unsigned int fib(unsigned int n, unsigned long grains)
{
	if (n < 2) {
		spin(ITERATIONS(15, 1) / FIB_LEAVES * grains);
		return n;
	}
	return fib(n - 1, grains) + fib(n - 2, grains);
}

/* depth=N: N frames of this function; the last one does all the work. */
WORK void dive(unsigned int depth, unsigned long grains)
{
	if (depth > 1)
		dive(depth - 1, grains);
	else
		spin(ITERATIONS(100, grains));
}

/* beat=HZ: in step with Xen's clock. The first 40 % of each 1/HZ s belong to on_beat(). */
#define BEAT_SHARE(ns) ((ns) / 5 * 2)

WORK void on_beat(unsigned int vcpu, uint64_t until_ns)
{
	while (xen_time_ns(vcpu) < until_ns)
		spin(10);
}

WORK void off_beat(unsigned int vcpu, uint64_t until_ns)
{
	while (xen_time_ns(vcpu) < until_ns)
		spin(10);
}

WORK void beat(unsigned int vcpu)
{
	uint64_t cycle = xen_time_ns(vcpu) * options.beat_hz / 1000000000;
	uint64_t start_ns = cycle * 1000000000 / options.beat_hz;
	uint64_t end_ns = (cycle + 1) * 1000000000 / options.beat_hz;

	on_beat(vcpu, start_ns + BEAT_SHARE(end_ns - start_ns));
	off_beat(vcpu, end_ns);
}

WORK void sleep_as_long(unsigned int vcpu, uint64_t started_ns)
{
	uint64_t now = xen_time_ns(vcpu);

	xen_sleep_until_ns(now + options.idle * (now - started_ns));
}

/* A round that took longer was paused in between: Xen's clock goes on. */
#define ROUND_MAX_NS 100000000

/* ask: hypercalls, one after the other. */
WORK void ask_as_long(unsigned int vcpu, uint64_t started_ns)
{
	uint64_t now = xen_time_ns(vcpu), took_ns = now - started_ns;

	while (took_ns <= ROUND_MAX_NS && xen_time_ns(vcpu) < now + took_ns)
		hypercall(__HYPERVISOR_xen_version, XENVER_version, 0, 0);
}

static uint64_t spent_by_all(enum leaf leaf)
{
	uint64_t sum = 0;

	for (unsigned int vcpu = 0; vcpu < nr_vcpus; vcpu++)
		sum += spent[vcpu][leaf];
	return sum;
}

WORK void report(void)
{
	console_text("tiny: heartbeat ");
	console_number(heartbeat[0]);
	for (enum leaf leaf = 0; leaf < NR_LEAVES; leaf++) {
		console_text(" ");
		console_text(leaf_names[leaf]);
		console_text(" ");
		console_number(spent_by_all(leaf));
	}
	console_text("\n");
	console_flush();
}

/* A linear congruential generator, Numerical Recipes §7.1; its upper bits are the good ones. */
static unsigned long draw_grains(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return GRAINS_MIN + (*random >> 16) % (GRAINS_MAX - GRAINS_MIN + 1);
}

void main(unsigned int vcpu)
{
	uint32_t random = vcpu;
	uint64_t started_ns = 0;
	struct round round = { .vcpu = vcpu };

	while (options.beat_hz)
		beat(vcpu);
	for (;;) {
		if (options.idle || options.ask)
			started_ns = xen_time_ns(vcpu);

		round.grains = draw_grains(&random);
		if (options.depth) {
			dive(options.depth, round.grains);
		} else {
			round.since = ticks_now();
			parse(&round);
			render(&round);
			fib(FIB_N, round.grains);
			charge(&round, FIB);
		}

		heartbeat[vcpu]++;
		if (vcpu == 0 && heartbeat[0] % BEAT_ROUNDS == 0)
			report();
		if (vcpu == 0 && options.rounds && heartbeat[0] >= options.rounds && xen_present())
			xen_poweroff();
		if (options.idle)
			sleep_as_long(vcpu, started_ns);
		if (options.ask)
			ask_as_long(vcpu, started_ns);
	}
}
