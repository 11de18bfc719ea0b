/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What unwinding costs. ORC tables of a kernel's size are built, and stacks of 16 frames in some of
 * the kernel's code are unwound by ORC and by frame pointers. The kernel is modelled after Debian's
 * 6.12: 440,000 entries over 16 MiB, 10 for each function, with some thousand different rows.
 * Prints numbers and compares nothing.
 *
 *	make bench
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/must.h"
#include "unwind/orc_table.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define TEXT           UINT64_C(0xffffffff81000000)
#define IPS            UINT64_C(0xffffffff82e00000)
#define STACK          UINT64_C(0xffffc90000100000)
#define N_FUNCTIONS    44000
#define FUNCTION_BYTES 384
#define N_ENTRIES      (10 * N_FUNCTIONS)
#define BODY           0x40 /* here the whole frame is pushed */
#define DEPTH          16
#define N_STACKS       1024
#define STACK_BYTES    4096

struct record {
	struct sample_vcpu vcpu;
	struct sample_stack piece;
	uint64_t words[STACK_BYTES / 8];
};

static int32_t ips[N_ENTRIES];
static uint8_t entries[N_ENTRIES][ORC_ENTRY_BYTES];
/* size of each function's frame, with the return address */
static uint8_t frame_words[N_FUNCTIONS];
static struct record by_orc[N_STACKS], by_fp[N_STACKS];

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* the machine may be shared */
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint32_t next_random(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/*
 * A function pushes in its first 64 bytes and pops in its last: sp + 8, + 16, ... the whole frame.
 */
static void make_function(size_t function)
{
	static const unsigned offsets[10] = { 0, 5, 7, 9, BODY, 340, 342, 344, 350, 360 };
	unsigned words = 4 + next_random() % 12;

	frame_words[function] = (uint8_t)words;
	for (size_t i = 0; i < 10; i++) {
		size_t n = 10 * function + i;
		unsigned held = i < 4 ? 1 + (unsigned)i : i == 4 ? words : 10 - (unsigned)i;
		uint64_t address = TEXT + FUNCTION_BYTES * function + offsets[i];

		ips[n] = (int32_t)(address - (IPS + 4 * n));
		entries[n][0] = (uint8_t)(8 * held);
		entries[n][2] =
			(uint8_t)(i == 4 ? -16 - 8 * (int)(next_random() % (words - 2)) : 0);
		entries[n][3] = i == 4 ? 0xff : 0;
		entries[n][4] = i == 4 ? 0x15 : 0x05; /* SP, and rbp by PREV_SP */
		entries[n][5] = 0x02;                 /* CALL */
	}
	if (!function) { /* it has no caller */
		memset(entries, 0, sizeof(entries[0]) * 10);
		for (size_t i = 0; i < 10; i++)
			entries[i][5] = 0x01;
	}
}

static struct space *make_kernel(void)
{
	const struct orc_layout layout = orc_layout_of(ORC_V3);
	const struct orc_source source = {
		.ips = ips,
		.entries = entries,
		.n = N_ENTRIES,
		.ips_address = IPS,
		.text_start = TEXT,
		.text_end = TEXT + (uint64_t)N_FUNCTIONS * FUNCTION_BYTES,
	};
	struct mapping mapping = { .start = TEXT, .end = source.text_end };
	struct space *space;
	uint64_t start;

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		make_function(i);
	must_or_die(image_create("[kernel]", &mapping.image));
	start = cpu_ns();
	must_or_die(orc_create(&source, &layout, &mapping.image->tables.orc));
	printf("orc_create, %d entries           %8.1f ms, %.2f MiB kept\n", N_ENTRIES,
	       (double)(cpu_ns() - start) / 1e6,
	       (double)orc_memory_bytes(mapping.image->tables.orc) / 1048576);
	must_or_die(space_create(&space));
	must_or_die(space_add(space, &mapping));
	image_unref(mapping.image);
	return space;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* A return address: each function calls from four places. */
static uint64_t code(size_t function)
{
	return TEXT + FUNCTION_BYTES * function + BODY + 5 + 60 * (next_random() % 4);
}

static void begin(struct record *record)
{
	record->vcpu = (struct sample_vcpu){ .size_bytes = sizeof(*record),
					     .state = VCPU_RUNNING,
					     .n_stacks = 1,
					     .regs = { .rsp = STACK } };
	record->piece = (struct sample_stack){ .address = STACK, .size_bytes = STACK_BYTES };
}

/* One chain twice: with frames of ORC's sizes, and with linked frames of two words. */
static void make_stack(size_t i, unsigned n_choices)
{
	size_t function = next_random() % n_choices + 1, word = 0;
	uint64_t address = code(function);

	begin(&by_orc[i]);
	begin(&by_fp[i]);
	by_orc[i].vcpu.regs.rip = by_fp[i].vcpu.regs.rip = address;
	by_fp[i].vcpu.regs.rbp = STACK;
	for (size_t depth = 1; depth < DEPTH; depth++) {
		size_t caller = depth == DEPTH - 1 ? 0 : next_random() % n_choices + 1;

		address = code(caller);
		word += frame_words[function];
		by_orc[i].words[word - 1] = address;
		by_fp[i].words[2 * depth - 2] = depth == DEPTH - 1 ? 0 : STACK + 16 * depth;
		by_fp[i].words[2 * depth - 1] = address;
		function = caller;
	}
}

static void bench(const char *what, const struct record *records,
		  const struct unwind_spaces *spaces, enum unwind_how how)
{
	const unsigned rounds = 100;
	static struct unwind_stack stack;
	uint64_t best = UINT64_MAX, frames = 0, whole = 0;

	for (int try = 0; try < 5; try++) {
		uint64_t start = cpu_ns(), took;

		frames = whole = 0;
		for (unsigned i = 0; i < rounds * N_STACKS; i++) {
			unwind_stack(&records[i % N_STACKS].vcpu, spaces, how, &stack);
			frames += stack.n_frames;
			whole += stack.stop == UNWIND_COMPLETE;
		}
		took = cpu_ns() - start;
		best = took < best ? took : best;
	}
	printf("%-36s %8.1f ns a frame, %6.2f M stacks/s (%" PRIu64 " of %u whole, %.1f frames)\n",
	       what, (double)best / (double)frames, rounds * N_STACKS * 1e3 / (double)best, whole,
	       rounds * N_STACKS, (double)frames / (rounds * N_STACKS));
}

static void bench_stacks(const struct space *kernel, unsigned n_choices)
{
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(kernel) };

	for (size_t i = 0; i < N_STACKS; i++)
		make_stack(i, n_choices);
	printf("%d stacks of %d frames in %u functions\n", N_STACKS, DEPTH, n_choices);
	bench("  orc", by_orc, &spaces, UNWIND_ORC);
	bench("  fp", by_fp, &spaces, UNWIND_FP);
}

int main(void)
{
	struct space *kernel = make_kernel();

	bench_stacks(kernel, 300);
	bench_stacks(kernel, 3000);
	bench_stacks(kernel, N_FUNCTIONS - 1);
	space_destroy(kernel);
	return 0;
}
