/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_check(): a good record passes, and a record that breaks one rule fails. Whatever the
 * damage, neither the check nor the walkers read outside the record: AddressSanitizer would see
 * that, since records are malloc()ed to size.
 *
 *   good record      offset
 *     sample            0   3 vCPUs
 *     vcpu 0, running  24   2 stacks: first 16 bytes, user 5 bytes (padded to 8)
 *     vcpu 7, blocked 312
 *     vcpu 2, runnable 544  1 stack: 0 bytes
 */
#include "xtop/sample/sample.h"

#include <stdlib.h>

#include "tests/support/tap.h"

enum {
	HEAD = sizeof(struct sample_vcpu),
	TICK = sizeof(struct sample),
	VCPU0 = TICK,
	STACK0 = VCPU0 + HEAD,
	STACK1 = STACK0 + 16 + 16,
	VCPU7 = STACK1 + 16 + 8,
	VCPU2 = VCPU7 + HEAD,
	STACK2 = VCPU2 + HEAD,
	SIZE = STACK2 + 16
};

static struct sample_vcpu *vcpu_at(char *record, size_t offset)
{
	return (struct sample_vcpu *)(record + offset);
}

static struct sample_stack *stack_at(char *record, size_t offset)
{
	return (struct sample_stack *)(record + offset);
}

static char *good_record(void)
{
	char *record = calloc(1, SIZE);

	*(struct sample *)record =
		(struct sample){ .size_bytes = SIZE, .n_vcpus = 3, .time_ns = 1, .weight = 1 };
	*vcpu_at(record, VCPU0) = (struct sample_vcpu){ .size_bytes = VCPU7 - VCPU0,
							.vcpu = 0,
							.state = VCPU_RUNNING,
							.user = 1,
							.n_stacks = 2,
							.stack_cut = CUT_FAULT };
	*stack_at(record, STACK0) =
		(struct sample_stack){ .address = 0xffffc90000000ff0, .size_bytes = 16 };
	*stack_at(record, STACK1) =
		(struct sample_stack){ .address = 0x7ffc1003, .size_bytes = 5, .kind = STACK_USER };
	*vcpu_at(record, VCPU7) =
		(struct sample_vcpu){ .size_bytes = HEAD, .vcpu = 7, .state = VCPU_BLOCKED };
	*vcpu_at(record, VCPU2) = (struct sample_vcpu){
		.size_bytes = HEAD + 16, .vcpu = 2, .state = VCPU_RUNNABLE, .n_stacks = 1
	};
	return record;
}

/* Reads every byte of every part, as a reader may. */
static unsigned walk(const void *record)
{
	const struct sample *sample = record;
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	unsigned sum = 0;

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		const struct sample_stack *stack = sample_first_stack(vcpu);

		for (unsigned j = 0; j < vcpu->n_stacks; j++, stack = sample_next_stack(stack))
			for (uint32_t k = 0; k < stack->size_bytes; k++)
				sum += ((const unsigned char *)(stack + 1))[k];
	}
	return sum;
}

static void test_good(void)
{
	char *record = good_record();

	check(sample_check(record, SIZE), "a good record passes");
	check_u64(walk(record), 0, "a walk of a good record finds all parts");
	memset(record + 8, 0, TICK - 8);
	*(struct sample *)record = (struct sample){ .size_bytes = TICK, .weight = UINT32_MAX };
	check(sample_check(record, TICK), "a record without vCPUs passes");
	free(record);
}

/* The record with one change made by STATEMENT must be refused. */
#define refuse(what, statement)                                                                    \
	do {                                                                                       \
		char *record = good_record();                                                      \
		struct sample *sample = (struct sample *)record;                                   \
		struct sample_vcpu *vcpu = vcpu_at(record, VCPU0);                                 \
		struct sample_stack *stack = stack_at(record, STACK0);                             \
		(void)sample, (void)vcpu, (void)stack;                                             \
		statement;                                                                         \
		check(!sample_check(record, SIZE), "refused: %s", what);                           \
		free(record);                                                                      \
	} while (0)

/* As a running one, it has registers and stacks. */
static void test_lock_wait(void)
{
	char *record = good_record();

	vcpu_at(record, VCPU0)->state = VCPU_LOCK_WAIT;
	check(sample_check(record, SIZE), "a vCPU that waits for a lock has stacks");
	free(record);
}

static void test_rules(void)
{
	refuse("size of the record too small", sample->size_bytes -= 8);
	refuse("size of the record too large", sample->size_bytes += 8);
	refuse("no weight", sample->weight = 0);
	refuse("a vCPU too few: bytes left over", sample->n_vcpus--);
	refuse("a vCPU too many", sample->n_vcpus++);
	refuse("more vCPUs than there can be", sample->n_vcpus = GUEST_MAX_VCPUS + 1);
	refuse("vCPU number out of range", vcpu->vcpu = GUEST_MAX_VCPUS);
	refuse("two vCPUs of one number", vcpu->vcpu = 7);
	refuse("state out of range", vcpu->state = N_VCPU_STATES);
	refuse("user neither 0 nor 1", vcpu->user = 2);
	refuse("cut out of range", vcpu->stack_cut = N_SAMPLE_CUTS);
	refuse("user cut out of range", vcpu->user_cut = N_SAMPLE_CUTS);
	refuse("kind out of range", stack->kind = N_STACK_KINDS);
	refuse("two first pieces", stack_at(record, STACK1)->kind = STACK_FIRST);
	refuse("two user pieces", stack->kind = STACK_USER);
	refuse("a linked piece after the user's", stack->kind = STACK_USER;
	       stack_at(record, STACK1)->kind = STACK_LINKED);
	refuse("a first piece after a linked one", stack->kind = STACK_LINKED;
	       stack_at(record, STACK1)->kind = STACK_FIRST);
	refuse("blocked vCPU with stacks", vcpu->state = VCPU_BLOCKED);
	refuse("offline vCPU with stacks", vcpu->state = VCPU_OFFLINE);
	refuse("too many stacks", vcpu->n_stacks = SAMPLE_MAX_STACKS + 1);
	refuse("a stack too few", vcpu->n_stacks--);
	refuse("vCPU smaller than its head", vcpu->size_bytes = HEAD - 8);
	refuse("vCPU of size 0", vcpu->size_bytes = 0);
	refuse("vCPU larger than the record", vcpu->size_bytes = UINT32_MAX - 7);
	refuse("vCPU size not a multiple of 8", vcpu->size_bytes -= 4);
	refuse("stack reaches into the next one", stack->size_bytes = 32);
	refuse("stack beyond its vCPU", stack->size_bytes = 4096);
	refuse("stack of the largest size", stack->size_bytes = UINT32_MAX);
	refuse("stack that wraps around", stack->address = UINT64_MAX - 15);
}

static void test_extent(void)
{
	char *record = good_record();

	check(!sample_check(NULL, 24), "refused: no record");
	for (size_t size = 0; size < SIZE; size++) {
		char *part = malloc(size + 8);

		memcpy(part, record, size);
		if (size >= 4)
			((struct sample *)part)->size_bytes = size;
		if (sample_check(part, size))
			check(false, "refused: first %zu bytes", size);
		free(part);
	}
	check(true, "no beginning of a record passes");
	check(!sample_check(record + 4, SIZE - 8), "refused: address not a multiple of 8");
	free(record);
}

static void test_code_frame(void)
{
	struct sample_vcpu vcpu = { .user = 1, .user_cut = 3, .task = 7, .regs.cr3 = 0x5000 };

	check_u64(sample_get_code_frame(&vcpu).value, 0,
		  "the frame in a record of before: not read");
	sample_set_frame(&vcpu, FRAME(0x123456789aULL));
	check_u64(sample_get_code_frame(&vcpu).value, 0x123456789aULL,
		  "a frame of 40 bits is kept");
	check(vcpu.frame[0] == 0x9a && vcpu.frame[4] == 0x12,
	      "the frame lies in the record little-endian");
	check(vcpu.user_cut == 3 && vcpu.task == 7, "the bytes beside the frame stay");
	check_u64(sample_get_user_tables(&vcpu).value, 0, "user code has no frame of other tables");
	check_u64(sample_get_user_space(&vcpu), 0x5000,
		  "the user space of user code: the tables of the registers");
	vcpu.user = 0;
	check_u64(sample_get_code_frame(&vcpu).value, 0, "kernel code has no code frame");
	check_u64(sample_get_user_tables(&vcpu).value, 0x123456789aULL,
		  "kernel code has the frame of the user's tables");
	check_u64(sample_get_user_space(&vcpu), 0x123456789a000ULL,
		  "the user space of kernel code: the tables of the frame");
	check_u64(sample_get_user_root(&vcpu).cr3, 0x123456789a000ULL,
		  "the user root of kernel code: the tables of the frame");
}

static void test_user_root(void)
{
	struct sample_vcpu vcpu = { .user = 1,
				    .regs = { .arch = ARCH_ARM64,
					      .arm64 = { .tcr = 16, .ttbr0 = 0x5000 } } };
	struct memory_root user = sample_get_user_root(&vcpu), kernel;

	check(user.arm64.table0 == 0x5000 && user.arm64.size0 == 16,
	      "the user root of user code: the tables of the registers");
	vcpu.user = 0;
	sample_set_frame(&vcpu, FRAME(7));
	kernel = sample_get_user_root(&vcpu);
	check_u64(kernel.arm64.table0, 0x7000, "arm64: the user's tables are those of the frame");
	kernel.arm64.table0 = user.arm64.table0;
	check(!memcmp(&kernel, &user, sizeof(user)), "arm64: the size of the user's half stays");
}

/* As many pieces as there can be, and one linked piece more. */
static void test_links(void)
{
	enum { PIECES = SAMPLE_MAX_LINKS + 3, BYTES = TICK + HEAD + PIECES * 16 };
	char *record = calloc(1, BYTES);

	for (unsigned n = PIECES - 1; n <= PIECES; n++) {
		size_t size = BYTES - (PIECES - n) * 16;

		*(struct sample *)record =
			(struct sample){ .size_bytes = (uint32_t)size, .n_vcpus = 1, .weight = 1 };
		*vcpu_at(record, TICK) = (struct sample_vcpu){ .size_bytes = (uint32_t)size - TICK,
							     .state = VCPU_RUNNING,
							     .n_stacks = (uint8_t)n };
		for (unsigned i = 1; i < n; i++)
			stack_at(record, TICK + HEAD + i * 16)->kind =
				i == n - 1 ? STACK_USER : STACK_LINKED;
		check(sample_check(record, size) == (n < PIECES),
		      "a record with %u linked pieces is judged by the limit", n - 2);
	}
	free(record);
}

/* Each stack is below the limit; all stacks of one vCPU together are above. */
static void test_limit(void)
{
	size_t half = SAMPLE_STACK_LIMIT_BYTES / 2, size = TICK + HEAD + 2 * 16 + 2 * half + 8;
	char *record = calloc(1, size);

	*(struct sample *)record =
		(struct sample){ .size_bytes = size - 8, .n_vcpus = 1, .weight = 1 };
	*vcpu_at(record, TICK) = (struct sample_vcpu){ .size_bytes = size - 8 - TICK,
						     .state = VCPU_RUNNING,
						     .n_stacks = 2 };
	stack_at(record, TICK + HEAD)->size_bytes = half;
	stack_at(record, TICK + HEAD + 16 + half)->size_bytes = half;
	stack_at(record, TICK + HEAD + 16 + half)->kind = STACK_LINKED;
	check(sample_check(record, size - 8), "stacks of exactly the limit");
	((struct sample *)record)->size_bytes += 8;
	vcpu_at(record, TICK)->size_bytes += 8;
	stack_at(record, TICK + HEAD + 16 + half)->size_bytes += 1;
	check(!sample_check(record, size), "refused: stacks one byte over the limit");
	free(record);
}

/* Flips every bit, then damages 200,000 times at random: a record that passes can be walked. */
static void test_damage(void)
{
	unsigned sum = 0, passed = 0;

	srand(1);
	for (size_t round = 0; round < SIZE * 8 + 200000; round++) {
		char *record = good_record();

		if (round < SIZE * 8)
			record[round / 8] ^= 1 << round % 8;
		for (int i = rand() % 4; round >= SIZE * 8 && i >= 0; i--)
			record[rand() % SIZE] = rand();
		if (sample_check(record, SIZE)) {
			sum += walk(record);
			passed++;
		}
		free(record);
	}
	check(passed > 0, "damaged records: %u passed and were walked (sum %u)", passed, sum);
}

int main(void)
{
	test_good();
	test_lock_wait();
	test_rules();
	test_extent();
	test_code_frame();
	test_user_root();
	test_links();
	test_limit();
	test_damage();
	return tap_done();
}
