/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one stack of a Go thread to the other: a program and the stacks of one of its threads are
 * right, and the input spoils registers, words and pieces. fuzz_go spoils the program's table. The
 * program is one of x86-64 or of arm64; in the latter case the input makes a chain right, too.
 */
#include "config.h"

#include "fuzz.h"
#include "tests/support/made_go_thread.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define MAX_STEPS 128

static const int32_t depths[] = { 0, 8, 12, 1 << 20 };
#define N_DEPTHS (sizeof(depths) / sizeof(*depths))

/* Never destroyed: the look-ups' cache is all that changes in them. */
static struct program {
	struct image *image; /* NULL: not made yet */
	struct space *space;
} programs[N_MAKE_GO][N_DEPTHS], arm64_programs[N_MAKE_GO];

static const struct program *get_program(unsigned layout, unsigned depth, bool arm64)
{
	struct program *program = arm64 ? &arm64_programs[layout] : &programs[layout][depth];
	struct mapping mapping = { .start = MADE_GO_TEXT, .end = MADE_GO_TEXT + 0x1000 };

	if (program->image)
		return program;
	fuzz_succeed(image_create("file", &mapping.image));
	mapping.image->tables.go =
		arm64 ? made_go_compile_arm64((enum make_go_layout)layout)
		      : made_go_compile((enum make_go_layout)layout, depths[depth]);
	fuzz_must(mapping.image->tables.go != NULL, "the table is right");
	fuzz_succeed(space_create(&program->space));
	fuzz_succeed(space_add(program->space, &mapping));
	program->image = mapping.image;
	return program;
}

/* --- the spoiled thread ----------------------------------------------------------------------- */

/* An address in the code or in a stack, or a small number; or 8 bytes of their own. */
static uint64_t make_word(struct fuzz *fuzz)
{
	static const uint64_t bases[] = { MADE_GO_GOROUTINE, MADE_GO_G0, MADE_GO_SIGNAL,
					  MADE_GO_C };
	uint8_t kind = fuzz_u8(fuzz) % 8;

	if (kind < sizeof(bases) / sizeof(*bases))
		return bases[kind] + 8 * (uint64_t)fuzz_u8(fuzz);
	if (kind == 4)
		return made_go_inside(fuzz_u8(fuzz) % N_MADE_GO_FUNCTIONS);
	if (kind == 5)
		return MADE_GO_TEXT + fuzz_u16(fuzz) % 0x600;
	return kind == 6 ? fuzz_u8(fuzz) : fuzz_u64(fuzz);
}

static void spoil_piece(struct fuzz *fuzz, struct made_go_piece *piece)
{
	uint8_t what = fuzz_u8(fuzz);

	if (what == 0)
		piece->head.address = make_word(fuzz);
	else if (what == 1)
		piece->head.kind = fuzz_u8(fuzz) % N_STACK_KINDS;
	else
		piece->words[what % 64] = make_word(fuzz);
}

/* The program counter and the stack pointer are those of x86. */
static void become_arm64(struct sample_vcpu *vcpu)
{
	struct registers_arm64 arm64 = { .pc = vcpu->regs.rip, .sp_el0 = vcpu->regs.rsp };

	vcpu->regs = (struct registers){ .arm64 = arm64, .arch = ARCH_ARM64 };
}

/* The input changes 17 words from here on: x86's general registers and rip; arm64's x15 to pc. */
static uint64_t *first_register(struct registers *regs)
{
	return regs->arch == ARCH_ARM64 ? &regs->arm64.x[15] : &regs->rax;
}

static void spoil(struct fuzz *fuzz, struct made_go_thread *thread)
{
	uint64_t *regs = first_register(&thread->vcpu.regs);

	while (fuzz->left_bytes) {
		uint8_t what = fuzz_u8(fuzz) % 32;

		if (what < 17)
			regs[what] = make_word(fuzz);
		else if (what < 20)
			made_go_keep(thread, 1 + fuzz_u8(fuzz) % thread->vcpu.n_stacks);
		else if (what < 22 && thread->vcpu.n_stacks < MADE_GO_PIECES)
			made_go_add(thread, what == 20 ? STACK_GOROUTINE : STACK_G0,
				    make_word(fuzz));
		else
			spoil_piece(fuzz, &thread->pieces[what % thread->vcpu.n_stacks]);
	}
}

/* --- use of the input ------------------------------------------------------------------------- */

static void walk(struct go *go, const struct sample_vcpu *vcpu)
{
	struct cursor cursor;
	unsigned n = 0;

	cursor_init(&cursor, vcpu);
	while (n < MAX_STEPS && made_go_step(go, &cursor) == STEP_CALLER)
		n++;
	fuzz_must(cursor.known >> REG_PC & 1 && cursor.known >> REG_SP & 1, "a place is known");
}

static void unwind(const struct space *space, const struct sample_vcpu *vcpu)
{
	static struct unwind_stack stack;
	struct unwind_spaces spaces = { .user = space_for_unwind(space) };

	unwind_stack(vcpu, &spaces, UNWIND_AUTO, &stack);
	fuzz_must(stack.n_frames >= 1 && stack.n_frames <= UNWIND_MAX_FRAMES, "frames are limited");
	fuzz_must((unsigned)stack.stop < N_UNWIND_STOPS, "there is a reason to stop");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct made_go_thread thread;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	unsigned chain = fuzz_u8(&fuzz) % N_MADE_GO_CHAINS, variant = fuzz_u8(&fuzz);
	unsigned depth = variant / N_MAKE_GO % N_DEPTHS;
	bool arm64 = variant & 0x80;
	const struct program *program = get_program(variant % N_MAKE_GO, depth, arm64);

	/* Deeper than a piece: the chain is that of 0. */
	made_go_chain(&thread, (enum made_go_chain)chain, depths[depth] > 8 ? 0 : depths[depth]);
	fuzz_must(sample_check(&thread, thread.sample.size_bytes), "the record is right");
	if (arm64)
		become_arm64(&thread.vcpu);
	spoil(&fuzz, &thread);
	if (!sample_check(&thread, thread.sample.size_bytes))
		return 0;
	walk(program->image->tables.go, &thread.vcpu);
	unwind(program->space, &thread.vcpu);
	return 0;
}
