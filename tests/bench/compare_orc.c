/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_orc VMLINUX: what instructions alone say of a Linux kernel, against its ORC table, at
 * every instruction that the table has as called with the frame at rsp or rbp. VMLINUX has symbols:
 * they bound the functions. Prints how many agree, and where those lie that do not. Status 0: 99.5
 * % agree, and at most one in 10,000 has a wrong place.
 */
#include "config.h"

#include <inttypes.h>
#include <time.h>

#include "symbol/elf_frames.h"
#include "tests/support/program_files.h"
#include "tests/unwind/elf_tables.h"
#include "unwind/computed_flow.h"
#include "unwind/orc_table.h"
#include "xtop/symbol/symbol.h"

enum verdict { AGREES, NOT_REACHED, NO_PLACE, WRONG_PLACE, WRONG_REGISTER, N_VERDICTS };
#define RETURN_BYTES 8 /* ORC counts from after the return address */

static const char *const verdicts[] = { "agree", "not reached", "place not known", "wrong place",
					"wrong rbp" };

static struct kernel {
	struct elf_file file;
	struct symtab *symbols;
	struct orc *orc;
	bool *compared; /* one per byte of code */
	uint64_t n[N_VERDICTS], n_instructions, n_bytes;
	double seconds;
} kernel;

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	return read_file_code(&kernel.file, address, buffer, size_bytes);
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	struct symtab_entry entry;

	(void)context;
	if (!symtab_find(kernel.symbols, address, &entry) || entry.end <= address)
		return false;
	*start = entry.start;
	*end = entry.end;
	return true;
}

/* NULL: the table says nothing that can be compared. */
static const struct orc_row *row_at(uint64_t address)
{
	const struct orc_row *row = orc_find(kernel.orc, address);
	bool plain = row && row->type == ORC_CALL &&
		     (row->sp_reg == ORC_SP || row->sp_reg == ORC_BP);

	return plain ? row : NULL;
}

static enum verdict compare_rbp(const struct computed_state *state, const struct orc_row *row)
{
	enum verdict verdict = WRONG_REGISTER;

	if (row->bp_reg != ORC_PREV_SP || (state->regs[REG_RBP].kind == VALUE_ENTRY &&
					   state->regs[REG_RBP].reg == REG_RBP))
		return AGREES;
	for (uint64_t i = 0; i < state->n_slots; i++)
		if (state->slots[i].value.kind == VALUE_ENTRY &&
		    state->slots[i].value.reg == REG_RBP &&
		    state->slots[i].place.offset == row->bp_offset + RETURN_BYTES)
			verdict = AGREES;
	return verdict;
}

static enum verdict compare_at(const struct flow *flow, uint64_t address, const struct orc_row *row)
{
	const struct computed_value *value;
	struct flow_place place;

	if (flow_find(flow, address, &place) != FLOW_KNOWN)
		return NOT_REACHED;
	value = &place.state->regs[row->sp_reg == ORC_SP ? REG_RSP : REG_RBP];
	if (value->kind != VALUE_FRAME)
		return NO_PLACE;
	return value->offset == RETURN_BYTES - row->sp_offset ? compare_rbp(place.state, row) : WRONG_PLACE;
}

/* Fillers after the end of code are not compared. */
static void compare_window(const struct flow *flow, uint64_t start, uint64_t end)
{
	static uint8_t bytes[FLOW_MAX_FUNCTION_BYTES];
	size_t size_bytes = read_code(NULL, start, bytes, end - start);
	struct instruction instruction;
	bool behind_end = false;

	for (size_t at = 0; at < size_bytes; at += instruction.length) {
		const struct orc_row *row = row_at(start + at);
		bool *compared = &kernel.compared[start + at - kernel.orc->start];
		enum verdict verdict;

		if (!instruction_x86_decode(bytes + at, size_bytes - at, start + at, &instruction)) {
			instruction.length = 1;
			continue;
		}
		behind_end = behind_end && instruction.filler;
		if (!behind_end && row && !*compared) {
			*compared = true;
			verdict = compare_at(flow, start + at, row);
			kernel.n[verdict]++;
			kernel.n_instructions++;
			if (verdict != AGREES)
				printf("%#" PRIx64 " %s\n", start + at, verdicts[verdict]);
		}
		behind_end |= instruction.flow != INSTRUCTION_NEXT &&
			      instruction.flow != INSTRUCTION_BRANCH;
	}
}

static void compare_function(struct flow *flow, uint64_t start, uint64_t end)
{
	struct timespec before, after;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	flow_run(flow, start, end, false);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	kernel.seconds += (double)(after.tv_sec - before.tv_sec) +
			  1e-9 * (double)(after.tv_nsec - before.tv_nsec);
	for (size_t i = 0; i < flow_count_windows(flow); i++) {
		uint64_t part_start, part_end;

		flow_get_window(flow, i, &part_start, &part_end);
		kernel.n_bytes += part_end - part_start;
		if (part_start == start)
			compare_window(flow, start, part_end);
	}
}

static bool is_code(const struct symtab_entry *entry)
{
	return entry->start >= kernel.orc->start && entry->end <= kernel.orc->end &&
	       entry->end > entry->start &&
	       entry->end - entry->start <= FLOW_MAX_FUNCTION_BYTES;
}

int main(int argc, char **argv)
{
	const struct code_source source = { .read = read_code, .find_function = find_function };
	struct flow *flow = flow_create(&source);
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct build_id build_id;
	bool unread;

	if (fd < 0) {
		puts("usage: compare_orc VMLINUX (nothing was compared)");
		return 0;
	}
	elf_tables_fatal(symtab_create(&kernel.symbols));
	elf_tables_fatal(symbol_read_elf(fd, argv[1], kernel.symbols, &build_id, &unread));
	elf_tables_fatal(symtab_seal(kernel.symbols));
	elf_tables_fatal(elf_file_init_host(&kernel.file, fd, argv[1], &elf_tables_limits));
	kernel.orc = elf_read_orc(&kernel.file);
	if (!kernel.orc || !flow) {
		printf("%s: no ORC table\n", argv[1]);
		return 1;
	}
	kernel.compared = calloc(kernel.orc->end - kernel.orc->start + 1, sizeof(bool));
	for (size_t i = 0; i < symtab_count(kernel.symbols); i++) {
		struct symtab_entry entry = symtab_at(kernel.symbols, i);

		if (is_code(&entry))
			compare_function(flow, entry.start, entry.end);
	}
	printf("%" PRIu64 " instructions, %.1f MB/s\n", kernel.n_instructions,
	       (double)kernel.n_bytes / 1e6 / kernel.seconds);
	for (unsigned i = 0; i < N_VERDICTS; i++)
		printf("%-16s %9" PRIu64 "  %.4f %%\n", verdicts[i], kernel.n[i],
		       100 * (double)kernel.n[i] / (double)kernel.n_instructions);
	return kernel.n[AGREES] * 1000 < kernel.n_instructions * 995 ||
	       kernel.n[WRONG_PLACE] * 10000 > kernel.n_instructions;
}
