/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled CFI against libunwind, on every row of real programs. At the first, the last and a
 * middle address of each row both must find the same caller. Registers and stack are full of
 * different words. CFI_ROWS_FILES names more files.
 */
#include "config.h"

#include "elf_tables.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "unwind/cfi_table.h"

#define STACK       0x7fff12340000ULL
#define STACK_BYTES (32 << 10)
#define KEPT_REGISTERS                                                                             \
	(1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBX | 1U << REG_RBP | 1U << REG_R12 |           \
	 1U << REG_R13 | 1U << REG_R14 | 1U << REG_R15)

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[STACK_BYTES / 8];
} made;

/* Every register points into the lower half of the stack, and all words of the stack differ. */
static void make_vcpu(void)
{
	uint64_t *regs = (uint64_t *)&made.vcpu.regs;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1 };
	for (unsigned i = 0; i < REG_RIP; i++)
		regs[i] = STACK + 4096 + 512 * i;
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = STACK_BYTES };
	for (unsigned i = 0; i < STACK_BYTES / 8; i++)
		made.words[i] = STACK + 8 * (i * 77 % (STACK_BYTES / 8)); /* can be read, too */
}

struct tally {
	uint64_t rows, addresses, asks, uncovered, outermost, callers, cut, other, different;
};

static void print_cursor(const char *who, enum unwind_step step, const struct cursor *cursor)
{
	printf("#   %s: step %d known %x interrupted %d", who, step, cursor->known,
	       cursor->interrupted);
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		if (KEPT_REGISTERS >> i & 1)
			printf(" %u=%" PRIx64, i, cursor->regs[i]);
	printf("\n");
}

static bool are_same(enum unwind_step step, const struct cursor *got, const struct cursor *wanted)
{
	uint32_t both = step == STEP_CALLER ? wanted->known : 0;

	if (step != STEP_CALLER)
		return true;
	if (got->known != wanted->known || got->interrupted != wanted->interrupted)
		return false;
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		if (both >> i & 1 && got->regs[i] != wanted->regs[i])
			return false;
	return true;
}

/*
 * Whether the table says where a jump leads, as glibc's __longjmp does: the place is in rdx, its stack
 * in r8, and rdi points to the saved registers. Older versions of libunwind take rdi for the stack
 * pointer. We do not take this for a caller.
 */
static bool is_jump(enum unwind_step step, const struct cursor *wanted)
{
	return step == STEP_NOT_COVERED && wanted->regs[REG_RIP] == made.vcpu.regs.rdx &&
	       (wanted->regs[REG_RSP] == made.vcpu.regs.r8 ||
		wanted->regs[REG_RSP] == made.vcpu.regs.rdi);
}

static void compare_at(const struct elf_tables *tables, uint64_t address, struct tally *tally)
{
	enum unwind_step step, wanted_step;
	struct cursor got, wanted;

	cursor_init(&got, &made.vcpu);
	got.regs[REG_RIP] = address;
	wanted = got;
	step = elf_tables_step(tables, 0, &got);
	if (step == STEP_EH_RETURN)
		step = STEP_CALLER;
	wanted_step = elf_tables_step_all(tables, 0, &wanted);
	tally->addresses++;
	tally->uncovered += step == STEP_NOT_COVERED;
	tally->outermost += step == STEP_OUTERMOST;
	tally->callers += step == STEP_CALLER;
	tally->cut += step == STEP_CUT;
	tally->other += step == STEP_BAD;
	if ((step == wanted_step && are_same(step, &got, &wanted)) || is_jump(step, &wanted))
		return;
	if (tally->different++ > 10)
		return;
	printf("# %#" PRIx64 " differs:\n", address);
	print_cursor("ours", step, &got);
	print_cursor("libunwind", wanted_step, &wanted);
}

static void compare_file(const char *path)
{
	struct tally tally = { 0 };
	struct elf_tables tables;
	const struct cfi *cfi;

	if (!elf_tables_open(&tables, path)) {
		printf("# %s: no CFI\n", path);
		elf_tables_close(&tables);
		return;
	}
	cfi = tables.cfi;
	for (uint32_t row = 0; row + 1 < cfi->n_rows; row++) {
		uint64_t start = cfi->base + cfi->addresses[row],
			 end = cfi->base + cfi->addresses[row + 1];

		tally.rows++;
		tally.asks += cfi->rules[cfi->row_rules[row]].kind == RULE_ASK;
		compare_at(&tables, start, &tally);
		compare_at(&tables, end - 1, &tally);
		compare_at(&tables, start + (end - start) / 2, &tally);
	}
	printf("# %s: %" PRIu64 " rows, %" PRIu64 " asks, at %" PRIu64
	       " addresses: callers %" PRIu64 " outermost %" PRIu64 " cut %" PRIu64 " bad %" PRIu64
	       " not covered %" PRIu64 ", %zu refused, %zu bytes, libunwind keeps %zu bytes\n",
	       path, tally.rows, tally.asks, tally.addresses, tally.callers, tally.outermost,
	       tally.cut, tally.other, tally.uncovered, cfi->n_refused,
	       cfi_memory_bytes(cfi),
	       tables.unusual ? dwarf_memory_bytes(tables.unusual) : 0);
	check(tally.different == 0, "%s: %" PRIu64 " of %" PRIu64 " addresses differ (expected 0)",
	      path, tally.different, tally.addresses);
	check(tally.callers + tally.outermost > tally.addresses / 2,
	      "%s: most have a caller: %" PRIu64 " of %" PRIu64, path,
	      tally.callers + tally.outermost, tally.addresses);
	elf_tables_close(&tables);
}

static bool is_library(const char *path)
{
	return strstr(path, ".so");
}

int main(void)
{
	const char *builddir = getenv("top_builddir");
	char path[4096];
	unsigned n;

	make_vcpu();
	compare_file("/proc/self/exe");
	n = with_mapped_files(is_library, compare_file);
	check(n >= 2, "libraries of this process: %u (expected libc and ld.so at least)", n);
	snprintf(path, sizeof(path), "%s/xtop", builddir ? builddir : ".");
	compare_file(path);
	with_named_files("CFI_ROWS_FILES", compare_file);
	return tap_done();
}
