/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin, by direct calls alone: for libc, and for the files that COMPUTED_FILES
 * names, separated by ":". Each instruction that an FDE covers makes one step on a made stack by
 * the FDE, and one by instructions without any bounds. Nearly all steps must lead to the same
 * place. Parts of functions that lie elsewhere (".cold") do not, because nothing tells which
 * function they belong to.
 */
#include "config.h"

#include "made_steps.h"
#include "tests/support/program_files.h"
#include "unwind/computed_machine.h"
#include "unwind/cursor_arm64.h"

struct program {
	const struct computed_machine *machine;
	enum guest_arch arch;
	struct elf_file file;
	struct elf_tables tables;
	uint64_t n_same, n_unknown, n_wrong, n_starts, n_functions;
};

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	struct program *program = context;

	return read_file_code(&program->file, address, buffer, size_bytes);
}

/* A cursor of arm64 has the stack pointer and the frame pointer in the same places. */
static struct cursor cursor_of(const struct program *program, uint64_t address)
{
	struct cursor cursor = cursor_at(address);

	if (program->arch != ARCH_ARM64)
		return cursor;
	cursor.arch = ARCH_ARM64;
	cursor.known = UINT32_MAX;
	for (unsigned i = REG_PC + 1; i < CURSOR_REGISTERS; i++)
		cursor.regs[i] = 0x100 + i;
	return cursor;
}

static enum unwind_step step_by_table(struct program *program, struct cursor *cursor)
{
	return program->arch == ARCH_ARM64 ? cfi_arm64_step(program->tables.cfi, 0, cursor)
					   : cfi_step(program->tables.cfi, 0, cursor);
}

/* On arm64 the table says that the return address is in x30, though a word may still have it. */
static bool is_in_link(const struct program *program, const struct cursor *cursor)
{
	return program->arch == ARCH_ARM64 &&
	       cursor->regs[REG_PC] == cursor_of(program, 0).regs[REG_ARM64_LR];
}

/* Compares only rules by the stack pointer, because the made frame pointer belongs to no frame. */
static void compare_at(struct program *program, struct computed *computed, uint64_t address)
{
	const struct cfi_rule *rule = cfi_find(program->tables.cfi, address);
	struct cursor wanted = cursor_of(program, address), got = wanted;

	if (!rule || rule->kind != program->machine->cfi->rule_cfa || rule->reg != REG_SP ||
	    step_by_table(program, &wanted) != STEP_CALLER)
		return;
	if (computed_step(computed, 0, &got) != STEP_CALLER)
		program->n_unknown++;
	else if (got.regs[REG_SP] == wanted.regs[REG_SP] &&
		 (got.regs[REG_PC] == wanted.regs[REG_PC] || is_in_link(program, &wanted)))
		program->n_same++;
	else if (program->n_wrong++ < 5)
		printf("#   %#" PRIx64 " leads elsewhere\n", address);
}

/* Fillers after the end of code are not compared, because no sample lies there. */
static void compare_function(struct program *program, struct computed *computed, uint64_t start,
			     uint64_t end)
{
	uint8_t *bytes = malloc(end - start);
	size_t n = read_code(program, start, bytes, end - start);
	struct instruction instruction;
	bool behind_end = false;
	uint64_t found, found_end;

	for (size_t at = 0; at < n; at += instruction.length) {
		if (!program->machine->decode(bytes + at, n - at, start + at, &instruction)) {
			instruction.length = 1;
			continue;
		}
		behind_end = behind_end && instruction.filler;
		if (!behind_end)
			compare_at(program, computed, start + at);
		behind_end |= instruction.flow != INSTRUCTION_NEXT &&
			      instruction.flow != INSTRUCTION_BRANCH;
	}
	program->n_functions++;
	program->n_starts += (computed_find_function(computed, start, &found, &found_end) ||
			      computed_guess_function(computed, start, &found, &found_end)) &&
			     found == start;
	free(bytes);
}

static struct computed *create_computed(struct program *program)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_no_function,
					    .context = program,
					    .entries.elf = program->file.header.e_entry,
					    .arch = program->arch };
	struct computed *computed;
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < program->file.n_segments; i++) {
		const Elf64_Phdr *segment = &program->file.segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		start = segment->p_vaddr < start ? segment->p_vaddr : start;
		end = segment->p_vaddr + segment->p_filesz > end ? segment->p_vaddr + segment->p_filesz
								  : end;
	}
	elf_tables_fatal(computed_create(&source, start, end, &computed));
	return computed;
}

static void compare_file(const char *path)
{
	struct program program = { .n_same = 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct computed *computed;
	double all;

	if (fd < 0 || !elf_tables_open(&program.tables, path)) {
		printf("# %s: no CFI\n", path);
		return;
	}
	elf_tables_fatal(elf_file_init_host(&program.file, fd, path, &elf_tables_limits));
	program.arch = program.file.header.e_machine == EM_AARCH64 ? ARCH_ARM64 : ARCH_X86;
	program.machine = computed_machine(program.arch);
	computed = create_computed(&program);
	for (size_t i = 0; i < program.tables.cfi->n_functions; i++)
		compare_function(&program, computed,
				 program.tables.cfi->base + program.tables.cfi->functions[i].start,
				 program.tables.cfi->base + program.tables.cfi->functions[i].end);
	all = (double)(program.n_same + program.n_unknown + program.n_wrong);
	printf("# %s: %.0f instructions: %.3f %% lead to the same caller, %.3f %% are not known, "
	       "%.3f %% lead elsewhere; %.1f %% of %" PRIu64 " functions begin where they are found\n",
	       path, all, 100 * (double)program.n_same / all, 100 * (double)program.n_unknown / all,
	       100 * (double)program.n_wrong / all,
	       100 * (double)program.n_starts / (double)program.n_functions, program.n_functions);
	check((double)program.n_same >= 0.95 * all, "%s: 95 %% lead to the same caller", path);
	check((double)program.n_wrong <= 0.01 * all,
	      "%s: one in a hundred leads elsewhere at most: such a caller follows no call", path);
	computed_destroy(computed);
	elf_file_deinit(&program.file);
	elf_tables_close(&program.tables);
	close(fd);
}

int main(void)
{
	make_stack();
	with_libc_file(compare_file);
	with_named_files("COMPUTED_FILES", compare_file);
	return tap_done();
}
