/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by a PE image's tables. The functions of made.dll run here, one instruction after the
 * other: at each of them the tables must lead to every return address, and to the registers that the
 * caller had. Then unwind tables made by hand, and broken ones.
 */
#include "config.h"

#include <sys/mman.h>

#include "made_dll.h"
#include "steps.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/seh.h"
#include "xtop/pe.h"

#define MAX_DEPTH   16
#define STACK_BYTES (1 << 20)

static uint8_t *dll;

static size_t read_dll(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	(void)context;
	if (offset >= DLL_BYTES)
		return 0;
	if (size_bytes > DLL_BYTES - offset)
		size_bytes = DLL_BYTES - offset;
	memcpy(buffer, dll + offset, size_bytes);
	return size_bytes;
}

static struct image *read_image(void)
{
	const struct bytes bytes = { read_dll, NULL, DLL_BYTES };
	const struct code_source source = { .read = read_dll };
	struct image *image;
	struct pe_head head;

	must(image_create("made.dll", &image));
	if (!pe_read_head(&bytes, &head)) {
		printf("Bail out! made.dll is no PE image\n");
		exit(99);
	}
	must(image_read_pe(image, &bytes, &head, &source));
	return image;
}

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack head;
	uint8_t bytes[STACK_BYTES];
} record;

/* A vCPU with these registers, and SIZE_BYTES of its stack. */
static void begin(struct cursor *cursor, const struct registers *regs, const void *stack,
		  size_t size_bytes)
{
	record.vcpu = (struct sample_vcpu){ .n_stacks = 1, .regs = *regs };
	record.head = (struct sample_stack){ .address = regs->rsp,
					     .size_bytes = (uint32_t)size_bytes };
	memcpy(record.bytes, stack, size_bytes);
	cursor_init(cursor, &record.vcpu);
}

/* --- code that runs --------------------------------------------------------------------------- */

#ifdef __x86_64__

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
	if (check(seh, "unwind tables"))
		check_u64((uint64_t)steps_run(dll + DLL_OUTER, 3, dll, dll + DLL_BYTES, see),
			  /* leaf, hidden; what each of the others adds */
			  4 + 1 + 4 + 2 + 1 + 2 + 3 + 4, "what the functions compute");
	check(run.deepest == 8, "%u functions deep", run.deepest);
	check(run.steps > 100 && run.right == run.steps, "%u of %u instructions: all callers",
	      run.right, run.steps);
	check(run.kept == run.steps, "%u of %u: the registers that are preserved", run.kept,
	      run.steps);
	image_unref(image);
}

#endif

/* --- tables made by hand ---------------------------------------------------------------------- */

#define STACK 0xfffff80000100000ULL
#define BIAS  0xfffff80000400000ULL

/* One function, [0x100, 0x200), with this UNWIND_INFO at 0x1000; the next one may be at 0x1020. */
static struct seh *make(const void *info, size_t n, const void *next, size_t n_next)
{
	struct seh_tables tables = { .n = 1, .infos_start = 0x1000, .infos_bytes = 0x40 };
	struct seh *made;

	tables.functions = calloc(1, sizeof(*tables.functions));
	tables.infos = calloc(1, tables.infos_bytes);
	tables.functions[0] = (struct seh_function){ 0x100, 0x200, 0x1000 };
	memcpy(tables.infos, info, n);
	memcpy(tables.infos + 0x20, next, n_next);
	must(seh_create(&tables, &made));
	return made;
}

/* From the middle of that function; word i of the stack is 0x1000 + i. */
static enum unwind_step step_in(struct seh *made, uint64_t distance, bool interrupted,
				struct cursor *cursor)
{
	const struct registers regs = { .rip = BIAS + 0x100 + distance, .rsp = STACK,
					.rbp = STACK + 0x40, .rbx = 7 };
	uint64_t words[32];
	enum unwind_step step;

	for (unsigned i = 0; i < 32; i++)
		words[i] = 0x1000 + i;
	begin(cursor, &regs, words, sizeof(words));
	cursor->interrupted = interrupted;
	step = seh_step(made, BIAS, cursor);
	seh_destroy(made);
	return step;
}

static void test_by_hand(void)
{
	static const uint8_t machine[] = { 1, 0, 1, 0, 0, 0x1a }; /* and an error code */
	static const uint8_t chained[] = { 0x21, 4, 1, 0, 4, 0x02, 0, 0,
					   0, 1, 0, 0, 0, 2, 0, 0, 0x20, 0x10, 0, 0 };
	static const uint8_t parent[] = { 1, 4, 2, 0, 4, 0x12, 2, 0x30 };
	static const uint8_t epilog[] = { 2, 4, 2, 0, 9, 0x16, 4, 0x30 };
	static const uint8_t frame[] = { 1, 4, 2, 0x25, 4, 0x03, 2, 0x50 };
	struct cursor cursor;

	check(step_in(make(machine, sizeof(machine), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1001 && cursor.regs[REG_RSP] == 0x1004 &&
		      cursor.interrupted,
	      "what the processor has saved of an interrupted instruction");
	check(step_in(make(chained, sizeof(chained), parent, sizeof(parent)), 16, true, &cursor) ==
			      STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1004 && cursor.regs[REG_RBX] == 0x1003,
	      "a function that continues another one");
	check(step_in(make(epilog, sizeof(epilog), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1001 && cursor.regs[REG_RBX] == 0x1000,
	      "version 2 tells of epilogs");
	check(step_in(make(frame, sizeof(frame), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RBP] == 0x1004 && cursor.regs[REG_RIP] == 0x1005,
	      "a frame register, 32 bytes above the stack pointer");
	check(step_in(make(frame, sizeof(frame), "", 0), 2, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RBP] == 0x1000 && cursor.regs[REG_RIP] == 0x1001,
	      "the same before it is set");
}

static void test_broken(void)
{
	static const uint8_t version[] = { 3, 0, 0, 0 };
	static const uint8_t operation[] = { 1, 4, 1, 0, 4, 0x0b };
	static const uint8_t cut[] = { 1, 4, 1, 0, 4, 0x11 };
	static const uint8_t many[] = { 1, 4, 200, 0 };
	static const uint8_t far[] = { 1, 4, 3, 0, 4, 0x11, 0, 0, 0, 0x10 };
	static const uint8_t itself[] = { 0x21, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x10, 0, 0 };
	struct cursor cursor;

	check(step_in(make(version, 4, "", 0), 16, true, &cursor) == STEP_NOT_COVERED,
	      "another version");
	check(step_in(make(operation, 6, "", 0), 16, true, &cursor) == STEP_BAD,
	      "an operation that there is not");
	check(step_in(make(cut, 6, "", 0), 16, true, &cursor) == STEP_BAD, "an operand is missing");
	check(step_in(make(many, 4, "", 0), 16, true, &cursor) == STEP_NOT_COVERED,
	      "more codes than bytes");
	check(step_in(make(far, 10, "", 0), 16, true, &cursor) == STEP_CUT && cursor.regs[REG_RBX] == 7,
	      "beyond the copied stack; the cursor stays as it was");
	check(step_in(make(itself, 16, "", 0), 16, true, &cursor) == STEP_BAD,
	      "a function that continues itself");
	check(step_in(make(version, 4, "", 0), 0x1000, false, &cursor) == STEP_NOT_COVERED,
	      "a caller without an entry is none");
	check(step_in(make(version, 4, "", 0), 0x1000, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1000 && cursor.regs[REG_RSP] == STACK + 8,
	      "a leaf has its return address on top");
}

int main(void)
{
	dll = mmap(NULL, DLL_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (dll == MAP_FAILED)
		return 99;
	dll_map(dll);
#ifdef __x86_64__
	test_running();
#endif
	test_by_hand();
	test_broken();
	return tap_done();
}
