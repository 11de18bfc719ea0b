/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up guest: the functions of its kernel and of one program, and samples of call chains
 * through them, with registers and stack bytes as code with frame pointers leaves them. Chains are
 * text, outermost first: "start_kernel;serve;hash". A name stands for a place in the middle of its
 * function;
 *
 *	name!    after the function's last byte, like the return address of a call of noreturn
 *	0x1234   that address
 *
 * The stack of N frames, from the stack pointer upwards; rbp points at the innermost link:
 *
 *	locals, link, return address   each link is the address of the next one further out
 *	locals, link, return address
 *	...
 *	locals, 0, 0                   the outermost function: start-up code pushed zeros
 */
#ifndef TESTS_RECORDINGS_GUEST_H
#define TESTS_RECORDINGS_GUEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/sample/sample.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

#define GUEST_KERNEL         0xffffffff81000000ULL
#define GUEST_PROGRAM        0x401000ULL
/* the stack of vCPU 0; the others have theirs above it */
#define GUEST_STACK          0xffffc90000010000ULL
#define GUEST_STACK_STEP     (64ULL << 10)
#define GUEST_FUNCTION_BYTES 0x100
#define GUEST_FRAME_WORDS    6 /* four locals, link, return address */

static const char *const guest_kernel[] = {
	"start_kernel", "idle", "entry", "serve", "parse", "hash",
	"compress",     "copy", "walk",  "panic", "timer", "_ZN4disk5Queue4pushEv",
};
static const char *const guest_program[] = { "_start", "main", "loop", "sum" };

#define GUEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One record. Words keep it aligned as the ring does. */
struct guest_record {
	uint64_t words[24576];
	size_t size_bytes;
	struct sample_vcpu *vcpu; /* the last one */
};

static inline void guest_must(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(1);
}

static inline void guest_add_image(struct symbols *symbols, const char *module, uint64_t start,
				   const char *const *names, size_t n,
				   const struct build_id *build_id)
{
	struct symtab *tab;

	guest_must(symtab_create(&tab));
	for (size_t i = 0; i < n; i++)
		guest_must(symtab_add(
			tab, &(struct symbol_definition){ .start = start + i * GUEST_FUNCTION_BYTES,
							  .size_bytes = GUEST_FUNCTION_BYTES,
							  .rank = SYMBOL_GLOBAL,
							  .name = names[i],
							  .name_bytes = strlen(names[i]) }));
	guest_must(symtab_seal(tab));
	guest_must(symbols_add_table(symbols, tab, module, build_id));
}

static inline struct symbols *guest_symbols(void)
{
	static const struct build_id build_id = { .size_bytes = 20,
						  .bytes = "a build of its own.",
						  .address = 0 };
	struct symbols *symbols;

	guest_must(symbols_create(&symbols));
	guest_add_image(symbols, "[kernel]", GUEST_KERNEL, guest_kernel, GUEST_COUNT(guest_kernel),
			NULL);
	guest_add_image(symbols, "httpd", GUEST_PROGRAM, guest_program, GUEST_COUNT(guest_program),
			&build_id);
	return symbols;
}

static inline uint64_t guest_find_function(const char *name, size_t length)
{
	for (size_t i = 0; i < GUEST_COUNT(guest_kernel); i++)
		if (strncmp(guest_kernel[i], name, length) == 0 && !guest_kernel[i][length])
			return GUEST_KERNEL + i * GUEST_FUNCTION_BYTES;
	for (size_t i = 0; i < GUEST_COUNT(guest_program); i++)
		if (strncmp(guest_program[i], name, length) == 0 && !guest_program[i][length])
			return GUEST_PROGRAM + i * GUEST_FUNCTION_BYTES;
	printf("Bail out! the made-up guest has no function %.*s\n", (int)length, name);
	exit(1);
}

/* The address for one name of a chain. */
static inline uint64_t guest_address(const char *name)
{
	size_t length = strlen(name);

	if (strncmp(name, "0x", 2) == 0)
		return strtoull(name, NULL, 16);
	if (name[length - 1] == '!')
		return guest_find_function(name, length - 1) + GUEST_FUNCTION_BYTES;
	return guest_find_function(name, length) + GUEST_FUNCTION_BYTES / 2;
}

/* --- building --------------------------------------------------------------------------------- */

/* All lengths are kept up to date: the record is whole after every step. */
static inline void *guest_append(struct guest_record *record, size_t size_bytes)
{
	struct sample *sample = (struct sample *)record->words;
	void *at = (char *)record->words + record->size_bytes;

	if (record->size_bytes + size_bytes > sizeof(record->words))
		abort();
	memset(at, 0, size_bytes);
	record->size_bytes += size_bytes;
	sample->size_bytes = (uint32_t)record->size_bytes;
	if (record->vcpu)
		record->vcpu->size_bytes += (uint32_t)size_bytes;
	return at;
}

static inline struct sample *guest_begin(struct guest_record *record, uint64_t time_ns,
					 uint32_t stopped_ns)
{
	struct sample *sample;

	record->size_bytes = 0;
	record->vcpu = NULL;
	sample = guest_append(record, sizeof(*sample));
	sample->time_ns = time_ns;
	sample->stopped_ns = stopped_ns;
	sample->weight = SAMPLE_WEIGHT_TICK;
	return sample;
}

static inline struct sample_vcpu *guest_add_vcpu(struct guest_record *record, unsigned number,
						 enum vcpu_state state)
{
	struct sample_vcpu *vcpu;

	record->vcpu = NULL;
	vcpu = guest_append(record, sizeof(*vcpu));
	record->vcpu = vcpu;
	vcpu->size_bytes = sizeof(*vcpu);
	vcpu->vcpu = (uint16_t)number;
	vcpu->state = (uint8_t)state;
	((struct sample *)record->words)->n_vcpus++;
	return vcpu;
}

/* Whose registers and frames vCPUs have from now on. Both have frames of two words in a chain. */
static enum guest_arch guest_arch;

/*
 * The innermost function is a leaf: it has no frame record, and its caller is in x30. x29 points to
 * the caller's record, which has the return address of the caller's caller. A function that calls
 * itself is no leaf: x29 points to its own record.
 */
static inline void guest_set_arm64(struct sample_vcpu *vcpu, const uint64_t *addresses, size_t n,
				   uint64_t base)
{
	struct registers_arm64 *regs = &vcpu->regs.arm64;
	uint64_t frame = base + (GUEST_FRAME_WORDS - 2) * sizeof(uint64_t);

	vcpu->regs.arch = ARCH_ARM64;
	regs->pc = addresses[0];
	regs->sp_el0 = regs->sp_el1 = base;
	regs->pstate = vcpu->user ? 0 : 5; /* EL0t, EL1h */
	regs->x[29] = frame;
	if (n > 1 && addresses[0] != addresses[1])
		regs->x[29] += GUEST_FRAME_WORDS * sizeof(uint64_t);
	regs->x[30] = n > 1 ? addresses[1] : 0;
}

/*
 * A running vCPU with the chain of addresses, INNERMOST first: the first is rip, the others are
 * return addresses.
 */
static inline struct sample_vcpu *guest_add_addresses(struct guest_record *record, unsigned number,
						      const uint64_t *addresses, size_t n)
{
	struct sample_vcpu *vcpu = guest_add_vcpu(record, number, VCPU_RUNNING);
	uint64_t base = GUEST_STACK + number * GUEST_STACK_STEP;
	size_t size_bytes = n * GUEST_FRAME_WORDS * sizeof(uint64_t);
	struct sample_stack *stack = guest_append(record, sizeof(*stack));
	uint64_t *words = guest_append(record, size_bytes);

	stack->address = base;
	stack->size_bytes = (uint32_t)size_bytes;
	for (size_t i = 0; i < n; i++) {
		uint64_t *frame = words + i * GUEST_FRAME_WORDS;
		uint64_t next = base + ((i + 2) * GUEST_FRAME_WORDS - 2) * sizeof(uint64_t);

		memset(frame, 0x5a, 4 * sizeof(uint64_t)); /* locals */
		frame[GUEST_FRAME_WORDS - 2] = i + 1 < n ? next : 0;
		frame[GUEST_FRAME_WORDS - 1] = i + 1 < n ? addresses[i + 1] : 0;
	}
	vcpu->n_stacks = 1;
	vcpu->stack_cut = CUT_LIMIT;
	vcpu->user = addresses[0] < 1ULL << 63;
	if (guest_arch == ARCH_ARM64) {
		guest_set_arm64(vcpu, addresses, n, base);
		return vcpu;
	}
	vcpu->regs.rip = addresses[0];
	vcpu->regs.rsp = base;
	vcpu->regs.rbp = base + (GUEST_FRAME_WORDS - 2) * sizeof(uint64_t);
	return vcpu;
}

/* Adds a vCPU whose stack has CHAIN, names as text. */
static inline struct sample_vcpu *guest_add_chain(struct guest_record *record, unsigned number,
						  const char *chain)
{
	uint64_t addresses[UNWIND_MAX_FRAMES + 64];
	char *copy = strdup(chain), *at = copy + strlen(copy);
	struct sample_vcpu *vcpu;
	size_t n = 0;

	for (;;) { /* backwards */
		while (at > copy && at[-1] != ';')
			at--;
		addresses[n++] = guest_address(at);
		if (at == copy || n == GUEST_COUNT(addresses))
			break;
		*--at = '\0';
	}
	vcpu = guest_add_addresses(record, number, addresses, n);
	free(copy);
	return vcpu;
}

/* Word INDEX of the last vCPU's stack, counted from the stack pointer. */
static inline uint64_t *guest_stack_word(struct guest_record *record, size_t index)
{
	return (uint64_t *)((struct sample_stack *)(record->vcpu + 1) + 1) + index;
}

/* Cuts the last vCPU's stack after SIZE_BYTES, a multiple of 8; the reason is CUT. */
static inline void guest_cut(struct guest_record *record, uint32_t size_bytes, enum sample_cut cut)
{
	struct sample_stack *stack = (struct sample_stack *)(record->vcpu + 1);
	size_t gone = stack->size_bytes - size_bytes;

	stack->size_bytes = size_bytes;
	record->vcpu->stack_cut = (uint8_t)cut;
	record->vcpu->size_bytes -= (uint32_t)gone;
	record->size_bytes -= gone;
	((struct sample *)record->words)->size_bytes = (uint32_t)record->size_bytes;
}

#endif
