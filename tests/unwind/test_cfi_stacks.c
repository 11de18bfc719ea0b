/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real stacks, recorded before every instruction of some work that has every kind of frame: library
 * calls through the PLT, callbacks, a signal handler, tail calls, realigned frames, the vDSO. Each
 * stack is unwound by the compiled table and by libunwind alone, step by step, with the same
 * results. The chain of each leaf is the one that was called.
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "process_images.h"
#include "stacks.h"
#include "tests/support/tap.h"
#include "xtop/symbol/symbol.h"

void work_tail_call(void (*function)(void));
void work_never_returns(void (*function)(void));
void work_behind(void);
void work_without_cfi(void (*function)(void));
void work_realigned(void (*function)(void));
void work_return_in_rdx(void (*function)(void));

static volatile unsigned sink;

/* --- the work --------------------------------------------------------------------------------- */

/* Names for this program's addresses. The tests expect chains of these names. */
__attribute__((noinline)) static void leaf(void)
{
	sink = sink * 3 + 1;
}

static int compare(const void *left, const void *right)
{
	sink++;
	return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
	unsigned more = depth ? recurse(depth - 1) : 0;

	sink += more;
	return more + depth;
}

__attribute__((noinline)) static void on_signal(int number)
{
	(void)number;
	stacks_go_on();
	leaf();
	sink++;
}

__attribute__((noinline)) static void by_signal(void)
{
	stacks_raise(on_signal);
	sink++;
}

__attribute__((noinline)) static void by_tail_call(void)
{
	work_tail_call(leaf);
	sink++;
}

__attribute__((noinline)) static void by_no_return(void)
{
	work_never_returns(leaf);
	sink++;
}

__attribute__((noinline)) static void by_realigned(void)
{
	work_realigned(leaf);
	sink++;
}

__attribute__((noinline)) static void by_return_in_rdx(void)
{
	work_return_in_rdx(leaf);
	sink++;
}

__attribute__((noinline)) static void by_no_cfi(void)
{
	work_without_cfi(leaf);
	sink++;
}

__attribute__((noinline)) static void by_library(void)
{
	int numbers[] = { 5, 3, 9, 1 };
	struct timespec now;
	char text[64];

	qsort(numbers, 4, sizeof(*numbers), compare);
	snprintf(text, sizeof(text), "%d %.3f %s", numbers[0], 1.5, "text");
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += strtoul(text, NULL, 10) + now.tv_nsec;
	free(malloc(100));
}

__attribute__((noinline)) static void work(void)
{
	by_tail_call();
	by_no_return();
	by_realigned();
	by_return_in_rdx();
	by_no_cfi();
	by_signal();
	sink += recurse(10);
	by_library();
}

/* --- unwinding -------------------------------------------------------------------------------- */

struct chain {
	uint64_t pcs[PROCESS_MAX_FRAMES];
	unsigned n;
	enum unwind_step end;
};

static bool cursors_agree(const struct cursor *a, const struct cursor *b)
{
	if (a->known != b->known || a->interrupted != b->interrupted)
		return false;
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		if (a->known >> i & 1 && a->regs[i] != b->regs[i])
			return false;
	return true;
}

/* Returns false if the compiled table and libunwind gave different results. */
static bool unwind_both(const struct process_images *process, const struct sample_vcpu *vcpu,
			struct chain *chain)
{
	struct cursor cursor, other;
	enum unwind_step step;

	cursor_init(&cursor, vcpu);
	for (chain->n = 0; chain->n < PROCESS_MAX_FRAMES;) {
		chain->pcs[chain->n++] = cursor_pc(&cursor);
		other = cursor;
		step = process_step(process, &cursor, false);
		chain->end = step;
		if (process_step(process, &other, true) != step)
			return false;
		if (step != STEP_CALLER)
			return true;
		if (!cursors_agree(&cursor, &other))
			return false;
	}
	return true;
}

static const struct {
	const char *name;
	void (*function)(void);
} named[] = {
	{ "leaf", leaf },
	{ "on_signal", (void (*)(void))on_signal },
	{ "by_signal", by_signal },
	{ "by_tail_call", by_tail_call },
	{ "by_no_return", by_no_return },
	{ "by_realigned", by_realigned },
	{ "by_return_in_rdx", by_return_in_rdx },
	{ "by_no_cfi", by_no_cfi },
	{ "work", work },
	{ "never_returns", (void (*)(void))work_never_returns },
	{ "behind", work_behind },
	{ "realigned", (void (*)(void))work_realigned },
	{ "return_in_rdx", (void (*)(void))work_return_in_rdx },
	{ "without_cfi", (void (*)(void))work_without_cfi },
	{ "raise", (void (*)(void))stacks_raise },
};

/* The program's. */
static struct {
	struct symtab *symbols;
	uint64_t bias;
} own;

static const char *name_of(uint64_t pc)
{
	struct symtab_entry entry;

	if (!symtab_find(own.symbols, pc - own.bias, &entry))
		return NULL;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if ((uint64_t)(uintptr_t)named[i].function - own.bias == entry.start)
			return named[i].name;
	return NULL;
}

/* "leaf by_x work": the names above, up to work. */
static const char *chain_text(const struct chain *chain)
{
	static char text[1024];
	size_t used = 0;

	*text = '\0';
	for (unsigned i = 0; i < chain->n; i++) {
		const char *name = name_of(chain->pcs[i]);

		if (!name)
			continue;
		used += snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", name);
		if (strcmp(name, "work") == 0)
			break;
	}
	return text;
}

static struct {
	const char *text;
	enum unwind_step end;
	unsigned seen;
} wanted[] = {
	{ "leaf by_tail_call work", STEP_OUTERMOST, 0 },
	{ "leaf never_returns by_no_return work", STEP_OUTERMOST, 0 },
	{ "leaf realigned by_realigned work", STEP_OUTERMOST, 0 },
	{ "leaf by_return_in_rdx work", STEP_OUTERMOST, 0 },
	{ "return_in_rdx by_return_in_rdx work", STEP_OUTERMOST, 0 },
	{ "leaf without_cfi", STEP_NOT_COVERED, 0 },
	{ "leaf on_signal raise by_signal work", STEP_OUTERMOST, 0 },
};

static void expect(const struct chain *chain)
{
	const char *text = chain_text(chain);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strcmp(text, wanted[i].text) == 0 && chain->end == wanted[i].end)
			wanted[i].seen++;
}

static void read_own_symbols(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct build_id build_id;
	bool unread;

	elf_tables_fatal(symtab_create(&own.symbols));
	elf_tables_fatal(symbol_read_elf(fd, "exe", own.symbols, &build_id, &unread));
	elf_tables_fatal(symtab_seal(own.symbols));
	close(fd);
}

/* Only code of this program that has no CFI may end a chain. */
static bool ends_well(const struct process_images *process, const struct chain *chain)
{
	uint64_t last = chain->pcs[chain->n - 1];
	const char *name = name_of(last);
	const struct process_image *image = process_find(process, last);

	if (chain->end == STEP_OUTERMOST)
		return true;
	if (name && strcmp(name, "without_cfi") == 0)
		return true;
	printf("# ends with %d at %s+%#" PRIx64 " after %u frames\n", chain->end,
	       image ? image->name : "?", last - (image ? image->bias : 0), chain->n);
	return false;
}

int main(void)
{
	static struct process_images process;
	uint64_t different = 0, incomplete = 0, frames = 0, vdso = 0;
	struct stacks stacks;
	const struct sample_vcpu *vcpu;

	process_images_init(&process);
	read_own_symbols();
	own.bias = process.images[0].bias;
	stacks_record(&stacks, work, 1, 256 << 20);
	vcpu = stacks_first(&stacks);
	for (size_t i = 0; i < stacks.n;
	     i++, vcpu = (const void *)((const char *)vcpu + vcpu->size_bytes)) {
		struct chain chain;

		if (!unwind_both(&process, vcpu, &chain) && different++ < 10)
			printf("# at %#" PRIx64 " frame %u the two differ\n", vcpu->regs.rip,
			       chain.n);
		if (!ends_well(&process, &chain))
			incomplete++;
		frames += chain.n;
		vdso += chain.pcs[0] >= getauxval(AT_SYSINFO_EHDR) &&
			chain.pcs[0] < getauxval(AT_SYSINFO_EHDR) + 8192;
		expect(&chain);
	}
	printf("# %zu stacks, %" PRIu64 " frames, in the vDSO %" PRIu64 ", %zu images\n", stacks.n,
	       frames, vdso, process.n);
	check(stacks.n > 1000, "stacks: %zu", stacks.n);
	check_u64(different, 0, "stacks that compiled CFI and libunwind unwind differently");
	check_u64(incomplete, 0, "stacks without their outermost function");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		check(wanted[i].seen > 0, "seen: %s", wanted[i].text);
	stacks_deinit(&stacks);
	symtab_destroy(own.symbols);
	process_images_deinit(&process);
	return tap_done();
}
