/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step by computed rows beside a step by call-frame information, at the same instructions of libc, in
 * random order: first a few places again and again, then 20,000. Prints nanoseconds a step, and what
 * reading the functions cost.
 */
#include "config.h"

#include <time.h>

#include "tests/support/program_files.h"
#include "tests/unwind/elf_tables.h"
#include "unwind/computed.h"
#include "unwind/instruction.h"

#define STACK       0x7ffe00000000ULL
#define STACK_WORDS 8000
#define MAX_PLACES  20000
#define FEW_PLACES  500
#define STEPS       4000000U

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[STACK_WORDS];
} made;

static struct elf_file file;
static struct elf_tables tables;
static uint64_t places[MAX_PLACES];
static size_t n_places;

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	return read_file_code(&file, address, buffer, size_bytes);
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	return cfi_find_function(tables.cfi, address, start, end);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct cursor cursor_at(uint64_t address)
{
	struct cursor cursor;

	cursor_init(&cursor, &made.vcpu);
	cursor.regs[REG_PC] = address;
	cursor.regs[REG_SP] = STACK + 0x1000;
	cursor.regs[REG_RBP] = STACK + 0x7000;
	return cursor;
}

/* Both know the caller at this place. */
static bool is_place(struct computed *computed, uint64_t address)
{
	struct cursor by_cfi = cursor_at(address), by_computed = by_cfi;

	return cfi_step(tables.cfi, 0, &by_cfi) == STEP_CALLER &&
	       computed_step(computed, 0, &by_computed) == STEP_CALLER;
}

/* One instruction in ten of those that libc's FDEs cover. */
static void find_places(struct computed *computed)
{
	for (size_t i = 0; i < tables.cfi->n_functions && n_places < MAX_PLACES; i++) {
		uint64_t at = tables.cfi->base + tables.cfi->functions[i].start;
		uint64_t end = tables.cfi->base + tables.cfi->functions[i].end;
		struct instruction instruction;
		uint8_t bytes[16];

		for (unsigned n = 0; at < end; n++, at += instruction.length) {
			size_t size = read_code(NULL, at, bytes, sizeof(bytes));

			if (!instruction_x86_decode(bytes, size, at, &instruction))
				break;
			if (n % 10 == 0 && n_places < MAX_PLACES && is_place(computed, at))
				places[n_places++] = at;
		}
	}
	for (size_t i = n_places; i > 1; i--) {
		size_t other = (size_t)rand() % i;
		uint64_t swapped = places[i - 1];

		places[i - 1] = places[other];
		places[other] = swapped;
	}
}

/* COMPUTED NULL: by call-frame information. */
static double ns_a_step(struct computed *computed, size_t n)
{
	uint64_t started = now_ns();

	for (unsigned i = 0; i < STEPS; i++) {
		struct cursor cursor = cursor_at(places[i % n]);

		if (computed)
			computed_step(computed, 0, &cursor);
		else
			cfi_step(tables.cfi, 0, &cursor);
	}
	return (double)(now_ns() - started) / STEPS;
}

static void bench(const char *path)
{
	const struct code_source source = { .read = read_code, .find_function = find_function };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct computed *computed;
	uint64_t started;

	if (fd < 0 || !elf_tables_open(&tables, path))
		return;
	elf_tables_fatal(elf_file_init_host(&file, fd, path, &elf_tables_limits));
	elf_tables_fatal(computed_create(&source, tables.cfi->base,
					 tables.cfi->base + tables.cfi->span, &computed));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .user = true,
					  .n_stacks = 1 };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < STACK_WORDS; i++)
		made.words[i] = 0x10000 + i;
	started = now_ns();
	find_places(computed);
	printf("%s: %zu places, functions read in %.1f ms, %zu KiB\n", path, n_places,
	       (double)(now_ns() - started) / 1e6, computed_memory_bytes(computed) / 1024);
	for (unsigned round = 0; round < 3; round++) {
		printf("ns a step, %u places: CFI %.1f, computed %.1f;", FEW_PLACES,
		       ns_a_step(NULL, FEW_PLACES), ns_a_step(computed, FEW_PLACES));
		printf(" %zu places: CFI %.1f, computed %.1f\n", n_places,
		       ns_a_step(NULL, n_places), ns_a_step(computed, n_places));
	}
	computed_destroy(computed);
	elf_file_deinit(&file);
	elf_tables_close(&tables);
	close(fd);
}

int main(void)
{
	with_libc_file(bench);
	return 0;
}
