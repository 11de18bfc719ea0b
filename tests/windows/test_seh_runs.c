/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by a PE image's tables. The functions of made.dll run here, one instruction after the
 * other: at each of them the tables must lead to every return address, and to the registers that the
 * caller had.
 */
#include "config.h"

#include <sys/mman.h>

#include "made_dll.h"
#include "seh_cursor.h"
#include "steps.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/seh.h"
#include "xtop/symbol/pe.h"

#define MAX_DEPTH 16

static uint8_t *dll;

static struct image *read_image(void)
{
	static struct code_bytes code;
	const struct bytes bytes = { read_code, &code, DLL_BYTES };
	const struct code_source source = { .read = read_code, .context = &code };
	struct image *image;
	struct pe_head head;

	code = (struct code_bytes){ dll, DLL_BYTES };
	must(image_create("made.dll", &image));
	if (!pe_read_head(&bytes, &head)) {
		printf("Bail out! made.dll is no PE image\n");
		exit(99);
	}
	must(image_read_pe(image, &bytes, &head, &source));
	return image;
}

static struct seh *seh;
static struct {
	struct registers first, last;
	uint64_t top; /* what the stack had on top at the last instruction */
	uint64_t returns[MAX_DEPTH];
	unsigned depth, deepest, steps, right, kept;
} run;

/* Keeps RUN.returns up to date: the last instruction was a call or a return, or neither. */
static void follow(const struct registers *regs)
{
	uint64_t top = *(const uint64_t *)regs->rsp;

	if (!run.steps) {
		run.first = *regs;
		run.returns[run.depth++] = top;
	} else if (regs->rsp == run.last.rsp - 8 && top == run.last.rip + 5 &&
		   regs->rip != top && run.depth < MAX_DEPTH) {
		run.returns[run.depth++] = top;
	} else if (regs->rsp == run.last.rsp + 8 && regs->rip == run.top && run.depth > 1) {
		run.depth--;
	}
	if (run.depth > run.deepest)
		run.deepest = run.depth;
	run.last = *regs;
	run.top = top;
	run.steps++;
}

static bool has_kept(const struct cursor *cursor)
{
	const struct registers *first = &run.first;

	return cursor->regs[REG_RBX] == first->rbx && cursor->regs[REG_RBP] == first->rbp &&
	       cursor->regs[REG_RSI] == first->rsi && cursor->regs[REG_RDI] == first->rdi &&
	       cursor->regs[REG_R12] == first->r12 && cursor->regs[REG_R13] == first->r13 &&
	       cursor->regs[REG_R14] == first->r14 && cursor->regs[REG_R15] == first->r15 &&
	       cursor->regs[REG_RSP] == first->rsp + 8;
}

static void see(const struct registers *regs)
{
	struct cursor cursor;
	bool right = true;

	follow(regs);
	begin(&cursor, regs, (const void *)regs->rsp, run.first.rsp + 64 - regs->rsp);
	for (unsigned i = run.depth; i-- > 0 && right;)
		right = seh_step(seh, (uint64_t)dll, &cursor) == STEP_CALLER &&
			cursor.regs[REG_RIP] == run.returns[i];
	if (!right && run.right + 5 > run.steps - 1)
		printf("# wrong at %llx, depth %u\n",
		       (unsigned long long)(regs->rip - (uint64_t)dll), run.depth);
	run.right += right;
	run.kept += right && has_kept(&cursor);
}

static void test_running(void)
{
	struct image *image = read_image();

	seh = image->tables.seh;
	if (check(seh, "the image has unwind tables"))
		check_u64((uint64_t)steps_run(dll + DLL_OUTER, 3, dll, dll + DLL_BYTES, see),
			  /* leaf, hidden; what each of the others adds */
			  4 + 1 + 4 + 2 + 1 + 2 + 3 + 4, "the functions compute the right result");
	check(run.deepest == 8, "the functions call each other: %u deep", run.deepest);
	check(run.steps > 100 && run.right == run.steps, "%u of %u instructions have all callers",
	      run.right, run.steps);
	check(run.kept == run.steps, "%u of %u instructions have the preserved registers", run.kept,
	      run.steps);
	image_unref(image);
}

int main(void)
{
	dll = mmap(NULL, DLL_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (dll == MAP_FAILED)
		return 99;
	dll_map(dll);
	test_running();
	return tap_done();
}
