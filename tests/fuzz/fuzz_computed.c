/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by instructions: code of the input is read and used for steps. The input: how long each
 * function is, or that nobody knows; how much code there is, the code; then a vCPU. If nobody knows,
 * functions begin where calls lead, and in each second of the first turns the code cannot be read;
 * the size of the input says whether in the first. The code is of the vCPU's architecture.
 */
#include "config.h"

#include "unwind/computed.h"
#include "vcpu.h"

#define MAX_CODE_BYTES 4096
#define MISSING_TURNS  128 /* here each step is a turn, and would read the function again */
#define MAX_STEPS      192 /* each may search the code */

struct code {
	uint8_t bytes[MAX_CODE_BYTES];
	size_t size_bytes, function_bytes; /* 0: not known */
	uint64_t turn;
};

static size_t code_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct code *code = context;

	if (!code->function_bytes && code->turn < MISSING_TURNS && code->turn & 1)
		return 0;
	return fuzz_read_part(code->bytes, code->size_bytes, address - VCPU_USER_CODE, buffer,
			      size_bytes);
}

static bool code_find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct code *code = context;
	uint64_t offset = address - VCPU_USER_CODE;

	if (offset >= code->size_bytes || !code->function_bytes)
		return false;
	*start = address - offset % code->function_bytes;
	*end = *start + code->function_bytes;
	return true;
}

static uint64_t code_turn(void *context)
{
	return ++((struct code *)context)->turn;
}

static void use(struct computed *computed, const struct code *code, const struct fuzz_vcpu *vcpu)
{
	size_t apart = 1 + code->size_bytes / MAX_STEPS;

	for (uint64_t offset = 0; offset < code->size_bytes; offset += apart) {
		struct cursor cursor;

		cursor_init(&cursor, &vcpu->vcpu);
		cursor.regs[REG_PC] = VCPU_USER_CODE + offset;
		if (computed_step(computed, 0, &cursor) == STEP_CALLER)
			computed_is_return(computed, 0, cursor_pc(&cursor));
	}
	fuzz_must(computed_memory_bytes(computed) < 16 << 20, "memory is limited");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct code code;
	static struct fuzz_vcpu vcpu;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct code_source source = { .read = code_read,
				      .find_function = code_find_function,
				      .context = &code,
				      .entries.elf = VCPU_USER_CODE };
	struct computed *computed = NULL;

	code.turn = size_bytes & 1;
	code.function_bytes = 16U * (1 + fuzz_u8(&fuzz)) % MAX_CODE_BYTES;
	if (!code.function_bytes)
		source.turn = code_turn;
	code.size_bytes = fuzz_u16(&fuzz) % (MAX_CODE_BYTES + 1);
	if (code.size_bytes > fuzz.left_bytes) /* no step at thousands of zeros */
		code.size_bytes = fuzz.left_bytes;
	fuzz_take(&fuzz, code.bytes, code.size_bytes);
	fuzz_vcpu(&fuzz, &vcpu);
	source.arch = (enum guest_arch)vcpu.vcpu.regs.arch;
	fuzz_succeed(computed_create(&source, VCPU_USER_CODE, VCPU_USER_CODE + code.size_bytes,
				     &computed));
	if (computed)
		use(computed, &code, &vcpu);
	computed_destroy(computed);
	return 0;
}
