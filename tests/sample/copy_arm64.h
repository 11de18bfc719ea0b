/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of copies from arm64 share: a guest like Linux, with the task in SP_EL0, the
 * interrupts' stack, and the user's; and the pieces that are copied of its vCPU. Every copy runs as
 * in the sampler: what is mapped outside the stop is copied in the stop.
 */
#ifndef XTOP_TESTS_COPY_ARM64_H
#define XTOP_TESTS_COPY_ARM64_H

#include "copy_pieces.h"

/* Halves of 39 bits with pages of 4 KiB: three levels, of 9 bits from bit 30, 21 and 12 on. */
#define TCR   (2ULL << 30 | 25ULL << 16 | 25)
#define ENTRY 3 /* a table, and at level 3 a page */

#define TASK       UINT64_C(0xffffff8003660080) /* task_struct, in the direct map */
#define STACK      UINT64_C(0xffffffc00abd0000)
#define STACK_END  (STACK + 0x4000)
#define IRQ        UINT64_C(0xffffffc008000000)
#define IRQ_END    (IRQ + 0x4000)
#define USER       UINT64_C(0x0000007f84ea0000)
#define USER_BYTES 0x8000
#define CODE       UINT64_C(0x0000000000400000)
#define USER32     UINT64_C(0x00000000bef10000) /* a stack of 32-bit code */

#define MM  UINT64_C(0xffffff8004110000) /* its mm_struct */
#define PGD UINT64_C(0xffffff8005220000) /* and that one's top table, in the direct map */

#define TASK_STACK 32
#define TASK_MM    40
#define MM_PGD     72
#define EL1H       5
#define USR        0x60000010 /* 32-bit user code, and conditions */

static struct registers_arm64 *arm;
static uint64_t next_frame, lower, upper; /* the frames of the top tables */
static uint64_t reserved;                 /* an empty one: reserved_pg_dir, in front of `upper` */

/* The entry for ADDRESS in its table of level 3. Missing tables are made. */
static inline uint64_t *entry_of(uint64_t address)
{
	uint64_t table = address >> 63 ? upper : lower, *entry;

	for (unsigned shift = 30;; shift -= 9) {
		entry = (uint64_t *)memory_guest_page(memory, table) + (address >> shift & 511);
		if (shift == 12)
			return entry;
		if (!*entry)
			*entry = next_frame++ << 12 | ENTRY;
		table = *entry >> 12;
	}
}

/* SIZE bytes at ADDRESS; each word holds its own address. */
static inline void add_pages(uint64_t address, uint64_t size)
{
	for (uint64_t at = address & ~0xfffULL; at < address + size; at += GUEST_PAGE_SIZE) {
		uint64_t *entry = entry_of(at), *page = memory_guest_page(memory, next_frame);

		for (unsigned i = 0; i < 512; i++)
			page[i] = at + 8 * i;
		*entry = next_frame << 12 | ENTRY;
		next_frame += 3; /* neighbours have no neighbouring frames */
	}
}

static inline uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)memory_guest_page(memory, *entry_of(address) >> 12) + address % 4096 / 8;
}

/* The registers that user code had when it entered the kernel. */
static inline void put_user(uint64_t sp, uint64_t pstate)
{
	*word_at(STACK_END - 336 + 248) = sp;
	*word_at(STACK_END - 336 + 264) = pstate;
}

/* The registers that 32-bit user code had when it entered the kernel. */
static inline void put_user32(uint64_t sp, uint64_t pc)
{
	put_user(0, USR);
	*word_at(STACK_END - 336 + 8 * 13) = sp;
	*word_at(STACK_END - 336 + 8 * 32) = pc;
}

static inline void begin(void)
{
	struct linux_stacks stacks = {
		.current_per_cpu = CURRENT_IN_REGISTER,
		.task_stack = TASK_STACK,
		.stack_bytes = 0x4000,
		.regs_below_top = 336,
	};

	begin_guest(0);
	*regs = (struct registers){ .arch = ARCH_ARM64 };
	arm = &regs->arm64;
	next_frame = 0x200;
	lower = next_frame++;
	reserved = next_frame++;
	upper = next_frame++;
	add_pages(TASK, 64);
	add_pages(STACK, 0x4000);
	add_pages(IRQ, 0x4000);
	add_pages(USER, USER_BYTES);
	add_pages(CODE, 4096);
	add_pages(USER32, 0x2000);
	*word_at(TASK + TASK_STACK) = STACK;
	put_user(USER + 0x6000, 0);
	*arm = (struct registers_arm64){
		.pc = 0xffffffc008010000,
		.pstate = EL1H,
		.sp_el0 = TASK,
		.sp_el1 = STACK + 0x3c00,
		.sctlr = SCTLR_ARM64_M,
		.tcr = TCR,
		.ttbr0 = lower << 12,
		.ttbr1 = upper << 12,
	};
	stacks.kernel_cr3 = upper << 12;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
}

/* Piece I has KIND, begins at ADDRESS, and has the bytes up to END. */
static inline void check_piece(unsigned i, enum sample_stack_kind kind, uint64_t address,
			       uint64_t last, const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	uint64_t first = 0;

	for (unsigned n = 0; n < i && n < record.vcpu.n_stacks; n++)
		piece = sample_next_stack(piece);
	if (i < record.vcpu.n_stacks && piece->size_bytes >= sizeof(first))
		memcpy(&first, piece + 1, sizeof(first));
	check(i < record.vcpu.n_stacks && piece->kind == kind && piece->address == address &&
		      piece->address + piece->size_bytes == last && first == *word_at(address),
	      "%s: piece %u of %u, kind %u, %llx + %x", what, i, record.vcpu.n_stacks, piece->kind,
	      (unsigned long long)piece->address, piece->size_bytes);
}

static inline void check_pieces(unsigned n, const char *what)
{
	check(record.vcpu.n_stacks == n, "%s: %u pieces (expected %u)", what, record.vcpu.n_stacks,
	      n);
}

#endif
