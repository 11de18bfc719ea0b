/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instructions alone say, against the .eh_frame of real programs, at every instruction that an
 * FDE covers. COMPUTED_FILES names more files, with : between them.
 */
#include "config.h"

#include <time.h>

#include "elf_tables.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "unwind/computed_flow.h"

enum verdict {
	AGREES,
	UNREACHED,
	NO_CFA,
	REGISTER_LOST,
	WRONG_CFA,
	WRONG_REGISTER,
	BETWEEN,
	MISSED_MOVE,
	MISSED_WRITE,
	N_VERDICTS
};
static const char *const verdicts[] = {
	[AGREES] = "agree",
	[UNREACHED] = "not reached",
	[NO_CFA] = "place not known",
	[REGISTER_LOST] = "register not known",
	[WRONG_CFA] = "wrong place",
	[WRONG_REGISTER] = "wrong register",
	[BETWEEN] = "between instructions",
	[MISSED_MOVE] = "table misses a push", /* or an alloca(): the table is wrong */
	/* the code writes a register that the table says is kept: the table is wrong */
	[MISSED_WRITE] = "table misses a write",
};

struct program {
	const char *path;
	const struct computed_machine *machine;
	struct elf_file file;
	struct elf_tables tables;
	bool *done;     /* one per function */
	bool *compared; /* one per byte, counted from the first function */
	uint64_t n[N_VERDICTS], n_instructions, n_bytes, n_failed, n_printed[N_VERDICTS];
	double seconds;
};

static struct {
	double agree, instructions;
} total;

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	struct program *program = context;

	return read_file_code(&program->file, address, buffer, size_bytes);
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	struct program *program = context;

	return cfi_find_function(program->tables.cfi, address, start, end);
}

static size_t function_index(const struct cfi *cfi, uint64_t start)
{
	for (size_t low = 0, high = cfi->n_functions; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (cfi->base + cfi->functions[middle].start == start)
			return middle;
		if (cfi->base + cfi->functions[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

/* --- one instruction -------------------------------------------------------------------------- */

/* Whether REG has the value that it had at the function's entry. */
static bool is_at_entry(const struct computed_state *state, unsigned reg)
{
	return state->regs[reg].kind == VALUE_ENTRY && state->regs[reg].reg == reg;
}

static bool is_saved_at(const struct computed_state *state, unsigned reg, int offset)
{
	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *slot = &state->slots[i];

		if (slot->value.kind == VALUE_ENTRY && slot->value.reg == reg &&
		    slot->place.kind == VALUE_FRAME && slot->place.offset == offset)
			return true;
	}
	return false;
}

static bool is_saved(const struct computed_state *state, unsigned reg)
{
	for (uint64_t i = 0; i < state->n_slots; i++)
		if (state->slots[i].value.kind == VALUE_ENTRY && state->slots[i].value.reg == reg)
			return true;
	return is_at_entry(state, reg);
}

/* A state's number for the register that a cursor, and so a rule, calls CURSOR_REGISTER. */
static unsigned state_register(const struct computed_machine *machine, unsigned cursor_register)
{
	unsigned i = 0;

	while (i < COMPUTED_REGISTERS && machine->cursor_registers[i] != cursor_register)
		i++;
	return i;
}

/*
 * A return address on the stack is not compared: its place is that of the CFA. A return address in
 * a register is compared, although no bit of the rule says that the register is kept.
 */
static enum verdict compare_registers(const struct computed_machine *machine,
				      const struct computed_state *state,
				      const struct cfi_rule *rule)
{
	for (unsigned i = 0; i < machine->cfi->n_preserved; i++) {
		unsigned reg = machine->preserved[i];
		int offset = 8 * (rule->low + rule->slot[i]) + machine->return_bytes;

		if (reg == REG_PC ||
		    (i != PRESERVED_RETURN &&
		     !(rule->unchanged >> machine->cfi->preserved_registers[i] & 1)))
			continue;
		if (rule->slot[i] == CFI_RULE_WORDS) {
			if (!is_at_entry(state, reg) && !is_saved(state, reg))
				return REGISTER_LOST;
		} else if (!is_saved_at(state, reg, offset) && !is_at_entry(state, reg)) {
			return is_saved(state, reg) ? WRONG_REGISTER : REGISTER_LOST;
		}
	}
	return AGREES;
}

/* Compares the place of the CFA. */
static enum verdict compare_cfa(const struct computed_machine *machine,
				const struct computed_state *state, const struct cfi_rule *rule,
				uint64_t address)
{
	const struct computed_value *value = &state->regs[state_register(machine, rule->reg)];
	struct cfi_rule ours = computed_state_rule(state, machine);
	int64_t offset = rule->kind == RULE_CFA_PLT ? (int64_t)cfi_plt_bytes(address, rule->offset)
						    : rule->offset;

	if (ours.kind == RULE_NONE)
		return NO_CFA;
	if (rule->kind == machine->cfi->rule_deref) {
		if (ours.kind == machine->cfi->rule_deref && value->kind == VALUE_ALIGNED)
			return AGREES;
		return NO_CFA;
	}
	if (value->kind == VALUE_FRAME)
		return machine->return_bytes - value->offset == offset ? AGREES : WRONG_CFA;
	return NO_CFA;
}

static enum verdict compare_at(const struct computed_machine *machine, const struct flow *flow,
			       const struct cfi_rule *rule, uint64_t address)
{
	struct flow_place place;
	enum verdict verdict;

	switch (flow_find(flow, address, &place)) {
	case FLOW_KNOWN:
		break;
	case FLOW_BETWEEN:
		return BETWEEN;
	default:
		return UNREACHED;
	}
	verdict = compare_cfa(machine, place.state, rule, address);
	return verdict == AGREES && rule->kind != machine->cfi->rule_deref
		       ? compare_registers(machine, place.state, rule)
		       : verdict;
}

/* --- a program -------------------------------------------------------------------------------- */

static const struct cfi_rule *rule_at(const struct cfi *cfi, uint64_t address)
{
	return &cfi->rules[cfi->row_rules[cfi_row(cfi, address - cfi->base)]];
}

/*
 * Whether the table has the CFA at one distance from the stack pointer before and after INSTRUCTION
 * at ADDRESS, although the instruction moves the stack pointer, perhaps by an unknown number.
 */
static bool misses_this(const struct program *program, const struct instruction *instruction,
			uint64_t address)
{
	const struct cfi *cfi = program->tables.cfi;
	const struct cfi_rule *before = rule_at(cfi, address);
	const struct cfi_rule *behind = rule_at(cfi, address + instruction->length);
	uint8_t kind = program->machine->cfi->rule_cfa;

	return (instruction->effect == EFFECT_PUSH || instruction->moves ||
		instruction->lost >> REG_SP & 1) &&
	       before->kind == kind && before->reg == REG_SP && behind->kind == kind &&
	       behind->reg == REG_SP && before->offset == behind->offset;
}

/* Whether the table misses a move of the stack pointer, as in assembly without directives. */
static bool misses_a_move(const struct program *program, uint64_t start, const uint8_t *bytes,
			  size_t n)
{
	struct instruction instruction;

	for (size_t at = 0; at + 1 < n; at += instruction.length) {
		if (!program->machine->decode(bytes + at, n - at, start + at, &instruction))
			return false;
		if (at + instruction.length < n && misses_this(program, &instruction, start + at))
			return true;
	}
	return false;
}

/*
 * Whether assembly writes a preserved register that its table never says is saved. The callers are
 * assembly, too, and do not expect the register to be preserved.
 */
static bool misses_a_write(const struct program *program, uint64_t start, const uint8_t *bytes,
			   size_t n)
{
	const struct computed_machine *machine = program->machine;
	uint32_t written = 0, saved = 0;
	struct instruction instruction;

	for (size_t at = 0; at < n; at += instruction.length) {
		const struct cfi_rule *rule = rule_at(program->tables.cfi, start + at);

		if (!machine->decode(bytes + at, n - at, start + at, &instruction))
			return false;
		if (instruction.flow != INSTRUCTION_CALL)
			written |= instruction.lost;
		saved |= rule->saved;
	}
	for (unsigned i = 0; i < machine->cfi->n_preserved; i++)
		if (machine->preserved[i] != REG_PC && written >> machine->preserved[i] & 1 &&
		    !(saved >> machine->cfi->preserved_registers[i] & 1))
			return true;
	return false;
}

static bool is_compared(const struct computed_machine *machine, const struct cfi_rule *rule)
{
	return !rule->signal && (rule->kind == machine->cfi->rule_cfa || rule->kind == RULE_CFA_PLT ||
				 rule->kind == machine->cfi->rule_deref);
}

static void count(struct program *program, enum verdict verdict, uint64_t address, uint64_t start)
{
	program->n[verdict]++;
	program->n_instructions++;
	if (verdict != AGREES && program->n_printed[verdict]++ < 3)
		printf("#   %#" PRIx64 ": %s (function %#" PRIx64 ")\n", address, verdicts[verdict],
		       start);
}

/*
 * Fillers after the end of code are not compared, because no sample lies there. OWN: FLOW began
 * with this function. Otherwise another function led here, and what was not reached is run later,
 * as in computed.c. Returns false if code is left for later.
 */
static bool compare_window(struct program *program, const struct flow *flow, uint64_t start,
			   uint64_t end, bool own)
{
	const struct cfi *cfi = program->tables.cfi;
	uint8_t *bytes = malloc(end - start);
	size_t size_bytes = read_code(program, start, bytes, end - start), at = 0;
	bool behind_end = false, wrong = misses_a_move(program, start, bytes, size_bytes);
	bool unsaved = misses_a_write(program, start, bytes, size_bytes), whole = true;
	bool *compared = program->compared + (start - cfi->base);
	struct instruction instruction;

	for (; at < size_bytes; at += instruction.length) {
		const struct cfi_rule *rule = rule_at(cfi, start + at);

		if (!program->machine->decode(bytes + at, size_bytes - at, start + at,
					      &instruction)) {
			instruction.length = 1;
			continue;
		}
		behind_end = behind_end && instruction.filler;
		if (!behind_end && is_compared(program->machine, rule) && !compared[at]) {
			enum verdict verdict = compare_at(program->machine, flow, rule,
							  start + at);

			compared[at] = own || (verdict != UNREACHED && verdict != BETWEEN);
			whole &= compared[at];
			if ((verdict == WRONG_CFA || verdict == NO_CFA) && wrong)
				verdict = MISSED_MOVE;
			if (verdict == REGISTER_LOST && unsaved)
				verdict = MISSED_WRITE;
			if (compared[at])
				count(program, verdict, start + at, start);
		}
		behind_end |= instruction.flow != INSTRUCTION_NEXT &&
			      instruction.flow != INSTRUCTION_BRANCH;
	}
	free(bytes);
	return whole;
}

static void compare_function(struct program *program, struct flow *flow, size_t index)
{
	const struct cfi *cfi = program->tables.cfi;
	struct timespec before, after;

	if (program->done[index])
		return;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	program->n_failed += !flow_run(flow, cfi->base + cfi->functions[index].start,
				       cfi->base + cfi->functions[index].end, false);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	program->seconds += (double)(after.tv_sec - before.tv_sec) +
			    1e-9 * (double)(after.tv_nsec - before.tv_nsec);
	program->done[index] = true;
	for (size_t i = 0; i < flow_count_windows(flow); i++) {
		uint64_t start, end;
		size_t part;

		flow_get_window(flow, i, &start, &end);
		program->n_bytes += end - start;
		part = function_index(cfi, start);
		if (part != SIZE_MAX && (part == index || !program->done[part]))
			program->done[part] |=
				compare_window(program, flow, start, end, part == index);
	}
}

/* NAMED: this file alone has to agree; other files have to agree on average. */
static void compare(const char *path, bool named)
{
	struct program program = { .path = path };
	struct code_source source = { .read = read_code,
				      .find_function = find_function,
				      .context = &program };
	struct flow *flow;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double known;

	if (fd < 0 || !elf_tables_open(&program.tables, path)) {
		printf("# %s: no CFI\n", path);
		return;
	}
	elf_tables_fatal(elf_file_init_host(&program.file, fd, path, &elf_tables_limits));
	if (program.file.header.e_machine == EM_AARCH64)
		source.arch = ARCH_ARM64;
	program.machine = computed_machine(source.arch);
	flow = flow_create(&source);
	program.done = calloc(program.tables.cfi->n_functions + 1, sizeof(bool));
	program.compared = calloc(program.tables.cfi->span + 1, sizeof(bool));
	for (size_t i = 0; i < program.tables.cfi->n_functions; i++)
		compare_function(&program, flow, i);
	known = (double)program.n_instructions;
	printf("# %s: %" PRIu64 " instructions, %.1f MB/s, %" PRIu64 " functions failed\n", path,
	       program.n_instructions, (double)program.n_bytes / 1e6 / program.seconds,
	       program.n_failed);
	for (int i = 0; i < N_VERDICTS; i++)
		printf("#   %-22s %9" PRIu64 "  %.4f %%\n", verdicts[i], program.n[i],
		       100 * (double)program.n[i] / known);
	known -= (double)(program.n[MISSED_MOVE] + program.n[MISSED_WRITE]);
	check((double)program.n[WRONG_CFA] * 10000 <= known,
	      "%s: %" PRIu64 " wrong return addresses (expected at most 1 in 10,000)", path,
	      program.n[WRONG_CFA]);
	if (named)
		check((double)program.n[AGREES] >= 0.995 * known,
		      "%s: %.2f %% agree where the table is right (expected 99.5)", path,
		      100 * (double)program.n[AGREES] / known);
	total.agree += (double)program.n[AGREES];
	total.instructions += known;
	free(program.compared);
	free(program.done);
	elf_file_deinit(&program.file);
	elf_tables_close(&program.tables);
	close(fd);
	flow_destroy(flow);
}

static void compare_mapped(const char *path)
{
	compare(path, false);
}

static void compare_named(const char *path)
{
	compare(path, true);
}

/* Whether PATH is a library of C and assembly that every machine has, and no sanitizer. */
static bool is_wanted(const char *path)
{
	static const char *const names[] = { "/libc.so", "/libz.so", "/libelf", "/liblzma.so",
					     "/libunwind" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(path, names[i]))
			return true;
	return false;
}

int main(void)
{
	with_mapped_files(is_wanted, compare_mapped);
	with_named_files("COMPUTED_FILES", compare_named);
	check(total.agree >= 0.995 * total.instructions,
	      "%.3f %% of %.0f instructions agree (expected 99.5)",
	      100 * total.agree / total.instructions, total.instructions);
	return tap_done();
}
