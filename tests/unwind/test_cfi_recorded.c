/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled CFI against libunwind, on the stacks of a recording. Each stack is unwound step by step
 * both ways. After each step the registers are the same, and each stack reaches its outermost
 * function.
 *
 *	test_cfi_recorded [RECORDING ELF]
 *
 * By default the files in recorded/: the tiny guest without frame pointers, sampled in the lab
 * (xtop -w), with each chain of addresses kept once, and the unwind sections of the guest's file.
 */
#include "config.h"

#include "elf_tables.h"
#include "recorded.h"
#include "tests/support/tap.h"

#define MAX_FRAMES 64
#define PRESERVED                                                                                  \
	(1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBX | 1U << REG_RBP | 1U << REG_R12 |           \
	 1U << REG_R13 | 1U << REG_R14 | 1U << REG_R15)

struct tally {
	uint64_t frames, different, incomplete;
};

static bool are_same(const struct cursor *got, const struct cursor *wanted)
{
	if (got->known != wanted->known || got->interrupted != wanted->interrupted)
		return false;
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		if (wanted->known & PRESERVED & 1U << i && got->regs[i] != wanted->regs[i])
			return false;
	return true;
}

static void compare(const struct elf_tables *tables, const struct sample_vcpu *vcpu,
		    struct tally *tally)
{
	enum unwind_step step = STEP_CALLER, wanted_step;
	struct cursor got, wanted;

	cursor_init(&got, vcpu);
	cursor_init(&wanted, vcpu);
	for (unsigned i = 0; i < MAX_FRAMES && step == STEP_CALLER; i++) {
		uint64_t address = got.regs[REG_RIP];

		step = elf_tables_step(tables, 0, &got);
		wanted_step = elf_tables_step_all(tables, 0, &wanted);
		tally->frames++;
		if (step == wanted_step && (step != STEP_CALLER || are_same(&got, &wanted)))
			continue;
		if (tally->different++ < 10)
			printf("# %#" PRIx64 ": step %d to %#" PRIx64
			       ", libunwind's %d to %#" PRIx64 "\n",
			       address, step, got.regs[REG_RIP], wanted_step, wanted.regs[REG_RIP]);
		return;
	}
	tally->incomplete += step != STEP_OUTERMOST;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	struct recorded recorded;
	struct elf_tables tables;
	struct tally tally = { 0 };
	char paths[2][4096];

	for (int i = 0; i < 2; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/tests/unwind/recorded/tiny-nofp.%s",
			 srcdir ? srcdir : ".", i ? "elf" : "rec");
	check(recorded_read(&recorded, argc > 2 ? argv[1] : paths[0]), "the recording is read");
	check(elf_tables_open(&tables, argc > 2 ? argv[2] : paths[1]), "the tables are read");
	for (size_t i = 0; i < recorded.n && tables.cfi; i++)
		compare(&tables, recorded.vcpus[i], &tally);
	check(recorded.n >= (argc > 2 ? 1 : 70) && tally.frames > 3 * recorded.n,
	      "%zu stacks, %" PRIu64
	      " frames (expected 70, of a recording given one, and three times "
	      "as many)",
	      recorded.n, tally.frames);
	check_u64(tally.different, 0, "stacks that the two unwind differently");
	/* One in 200 may be where the table has nothing: an entry point's first instructions. */
	check(tally.incomplete * 200 <= recorded.n, "%" PRIu64 " of %zu end early",
	      tally.incomplete, recorded.n);
	elf_tables_close(&tables);
	recorded_deinit(&recorded);
	return tap_done();
}
