/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's table of functions: it is read, compiled and used for steps. The input: a layout, which gaps,
 * then how a right table is spoiled (offset, byte), up to a zero offset; or bytes of a table.
 */
#include "config.h"

#include "tests/support/make_go.h"
#include "unwind/go.h"
#include "vcpu.h"

#define MAX_TABLE_BYTES 8192

static const struct make_go_function functions[] = {
	{ "main.main", 0x40, 0, { { 0, 4 }, { 40, 0x38 }, { 0, 4 } } },
	{ "runtime.goexit", 0x20, GO_TOP, { { 0, 0x20 } } },
	{ "_rt0_amd64_linux", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	{ "time.now", 0x40, GO_ASSEMBLY | GO_SP_WRITE, { { 24, 0x20 }, { 40, 0x20 } } },
	{ "runtime.systemstack", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	{ "runtime.mcall", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	{ "runtime.asmcgocall", 0x20, GO_ASSEMBLY, { { 8, 0x20 } } },
	{ "runtime.cgocallback", 0x20, GO_ASSEMBLY, { { 32, 0x20 } } },
	{ "crosscall2", 0x20, GO_ASSEMBLY, { { 256, 0x20 } } },
	{ "runtime.systemstack_switch", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	{ "runtime.sigreturn", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
};

/* The last piece is the thread's other stack. */
static void make_other(struct fuzz *fuzz, struct fuzz_vcpu *vcpu)
{
	struct sample_stack *piece = (struct sample_stack *)(&vcpu->vcpu + 1);

	if (vcpu->vcpu.n_stacks < 2)
		return;
	for (unsigned i = 1; i < vcpu->vcpu.n_stacks; i++)
		piece = (struct sample_stack *)sample_next_stack(piece);
	piece->kind = fuzz_u8(fuzz) & 1 ? STACK_GOROUTINE : STACK_G0;
	fuzz_must(sample_check(&vcpu->sample, vcpu->sample.size_bytes), "the record is right");
}

static void use(struct fuzz *fuzz, struct go_table *table, const struct fuzz_vcpu *vcpu)
{
	struct go *go = NULL;
	struct cursor cursor;

	if (!go_table_init(table))
		return;
	fuzz_must(table->n_functions <= GO_MAX_FUNCTIONS, "functions are limited");
	fuzz_succeed(go_compile(table, &go));
	if (go)
		fuzz_must(go_memory_bytes(go) < 16 << 20, "memory is limited");
	cursor_init(&cursor, &vcpu->vcpu);
	for (unsigned i = 0; go && i < 16; i++)
		if (go_step(go, 0, &cursor) != STEP_CALLER)
			cursor.regs[REG_PC] = VCPU_USER_CODE + fuzz_u16(fuzz);
	go_destroy(go);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct fuzz_vcpu vcpu;
	static uint8_t made[MAX_TABLE_BYTES];
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	unsigned layout = fuzz_u16(&fuzz) % (N_MAKE_GO + 1), offset;
	struct bytes_gap gap = { .start = fuzz_u16(&fuzz), .end = fuzz_u16(&fuzz) };
	struct go_table table = { .gaps = &gap, .n_gaps = gap.start < gap.end,
				  .entry = VCPU_USER_CODE + 0x60 };
	struct go_stacks stacks;
	uint8_t *copy;

	go_stacks_decode(bytes, size_bytes, &stacks);
	go_stacks_arm64_decode(bytes, size_bytes, &stacks);
	fuzz_vcpu(&fuzz, &vcpu);
	make_other(&fuzz, &vcpu);
	if (layout == N_MAKE_GO) {
		table.size_bytes = fuzz_u16(&fuzz) % MAX_TABLE_BYTES;
		table.bytes = copy = fuzz_copy(&fuzz, table.size_bytes);
	} else {
		table.size_bytes = make_go(
			&(struct make_go_program){ (enum make_go_layout)layout, VCPU_USER_CODE, 1,
						   functions,
						   sizeof(functions) / sizeof(functions[0]) },
			made, sizeof(made));
		copy = malloc(table.size_bytes);
		memcpy(copy, made, table.size_bytes);
		if (vcpu.vcpu.regs.arch == ARCH_ARM64)
			copy[6] = 4; /* bytes of an instruction */
		while ((offset = fuzz_u16(&fuzz)))
			copy[offset % table.size_bytes] = (uint8_t)fuzz_u16(&fuzz);
		table.bytes = copy;
	}
	use(&fuzz, &table, &vcpu);
	free(copy);
	return 0;
}
