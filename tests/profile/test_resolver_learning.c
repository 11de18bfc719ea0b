/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler learns from the resolver: how far stacks are live, and which processes run Go.
 */
#include "config.h"

#include "tests/profile/resolver_stage.h"
#include "tests/support/make_go.h"
#include "xtop/base/registers_x86.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/go.h"

static void test_learning(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), 0,
		  "before a sample no stack top is known");
	make_record(record, "start_kernel;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 3 * 48,
		  "a complete stack tells where it ends");
	make_record(record, "start_kernel;serve;hash;copy;copy");
	guest_cut(record, 3 * 48, CUT_LIMIT);
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 6 * 48 + 4096,
		  "a cut stack asks for twice as much and a page");
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;serve;hash");
	guest_cut(record, 48, CUT_NOT_PRESENT);
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK + GUEST_STACK_STEP), 0,
		  "a stack that was copied whole teaches nothing");
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 2, "0x1234;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK + 2 * GUEST_STACK_STEP),
		  GUEST_STACK + 2 * GUEST_STACK_STEP + 2 * 48,
		  "a walk that ended early gives a first guess");
	make_record(record, "0x1234;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 6 * 48 + 4096,
		  "a walk that ended early does not change a known top");
	stage_close(&stage);
	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;serve;hash");
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), 0,
		  "a replay teaches the sampler nothing");
	stage_close(&stage);
	free(record);
}

#define LEFT_SPACE  0x1234000ULL /* page tables */
#define NEXT_SPACE  0x5678000ULL
#define LEFT_STACK  0x7ffc12340000ULL
#define LEFT_FRAMES 3

/*
 * A sample of the kernel while it switches tasks: CR3 is already the next task's, and the stacks are
 * those of the last one, which runs "_start;main;loop".
 */
static void make_switching_record(struct guest_record *record)
{
	static const char *const chain[LEFT_FRAMES] = { "loop", "main", "_start" };
	struct sample_stack *stack;
	uint64_t *words;

	guest_begin(record, 1000, 1);
	guest_add_chain(record, 0, "0x1234;serve;hash");
	stack = (struct sample_stack *)(record->vcpu + 1);
	stack->size_bytes += N_PT_REGS * sizeof(*words);
	words = guest_append(record, N_PT_REGS * sizeof(*words));
	words[PT_REGS_RIP] = guest_address(chain[0]);
	words[PT_REGS_RBP] = LEFT_STACK + 32;
	words[PT_REGS_RSP] = LEFT_STACK;
	words[PT_REGS_CS] = 0x33;
	words[PT_REGS_SS] = 0x2b;
	words[PT_REGS_RFLAGS] = 0x202;
	stack = guest_append(record, sizeof(*stack));
	*stack = (struct sample_stack){ .address = LEFT_STACK,
					.size_bytes = LEFT_FRAMES * 48,
					.kind = STACK_USER };
	words = guest_append(record, stack->size_bytes);
	for (unsigned i = 0; i + 1 < LEFT_FRAMES; i++) {
		words[6 * i + 4] = LEFT_STACK + 48 * (i + 1) + 32;
		words[6 * i + 5] = guest_address(chain[i + 1]);
	}
	record->vcpu->n_stacks = 2;
	record->vcpu->user_cut = CUT_LIMIT;
	record->vcpu->regs.cr3 = NEXT_SPACE;
	sample_set_frame(record->vcpu, FRAME(LEFT_SPACE >> GUEST_PAGE_SHIFT));
}

static const struct go_stacks go_stacks = { .g = -8, .gsignal = 80, .curg = 192 };

static bool knows_go(const struct stage *stage, uint64_t space)
{
	struct go_stacks stacks;
	bool callbacks;

	return control_get_go_stacks(stage->control, space, &stacks, &callbacks);
}

static void test_learning_between_tasks(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	control_set_go_stacks(stage.control, NEXT_SPACE, &go_stacks, false);
	control_set_go_stacks(stage.control, LEFT_SPACE, &go_stacks, false);
	make_switching_record(record);
	stage_add(&stage, record);
	check_folded(&stage, false, "_start;main;loop;[truncated];serve;hash 1|",
		     "a sample between two tasks has both stacks");
	check_u64(control_get_stack_top(stage.control, LEFT_SPACE, LEFT_STACK),
		  LEFT_STACK + LEFT_FRAMES * 48,
		  "the left task's stack top is learned in its own space");
	check_u64(control_get_stack_top(stage.control, NEXT_SPACE, LEFT_STACK), 0,
		  "the left task's stack top is not learned for the next task");
	check(!knows_go(&stage, LEFT_SPACE), "the left task ran no Go");
	check(knows_go(&stage, NEXT_SPACE), "the next task runs Go");
	stage_close(&stage);
	free(record);
}

/* Gives a file a table of Go, for code that is somewhere else. */
static void add_go(struct image *image)
{
	static const struct make_go_function goexit = {
		"runtime.goexit", 0x20, GO_TOP | GO_ASSEMBLY, { { 0, 0x20 } }
	};
	static uint8_t bytes[4096];
	struct go_table table = { .bytes = bytes };

	table.size_bytes =
		make_go(&(struct make_go_program){ MAKE_GO_1_20, 0x900000, true, &goexit, 1 },
			bytes, sizeof(bytes));
	check(go_table_init(&table), "the image has a table of Go");
	guest_must(unwind_tables_build_go(&image->tables, &table));
	check(image->tables.go, "the stacks of Go belong to the file");
}

static void test_learning_go(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	control_set_go_stacks(stage.control, 0, &go_stacks, false);
	make_record(record, "_start;main;loop");
	guest_cut(record, 48, CUT_LIMIT);
	stage_add(&stage, record);
	check(knows_go(&stage, 0), "an incomplete chain does not tell whether Go runs");
	stage_add_chain(&stage, "_start;main;loop");
	check(!knows_go(&stage, 0), "a complete chain without Go shows that no Go runs");
	add_go(symbols_image(stage.symbols, 0)); /* not the file that has the chain */
	control_set_go_stacks(stage.control, 0, &go_stacks, false);
	stage_add_chain(&stage, "_start;main;loop");
	check(knows_go(&stage, 0), "a C thread of a Go program leaves Go known");
	stage_close(&stage);
	free(record);
}

int main(void)
{
	test_learning();
	test_learning_between_tasks();
	test_learning_go();
	return tap_done();
}
