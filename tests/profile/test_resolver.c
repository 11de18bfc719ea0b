/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver folds samples: records of the made-up guest go in by call; folded stacks, counts and
 * states of vCPUs come out.
 */
#include "config.h"

#include "tests/profile/resolver_stage.h"

/* --- folding ---------------------------------------------------------------------------------- */

static void test_folds(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open(&stage);
	for (int i = 0; i < 3; i++)
		stage_add_chain(&stage, "start_kernel;serve;hash");
	stage_add_chain(&stage, "start_kernel;serve;compress");
	stage_add_chain(&stage, "start_kernel;walk;walk;walk");
	stage_add_chain(&stage, "start_kernel;_ZN4disk5Queue4pushEv");
	stage_add_chain(&stage, "_start;main;loop");
	check_folded(
		&stage, false,
		"_start;main;loop 1|start_kernel;disk::Queue::push 1|start_kernel;serve;compress 1|"
		"start_kernel;serve;hash 3|start_kernel;walk;walk;walk 1|",
		"equal stacks are merged, and names are demangled");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 7, "samples of all records");
	check_u64(snapshot->resolver.user, 1, "samples in user code");
	check_u64(snapshot->resolver.frames, 3 * 4 + 4 + 2 + 3, "frames of all samples");
	check_u64(snapshot->resolver.stops[UNWIND_COMPLETE], 7, "samples with a complete walk");
	check_u64(snapshot->total_weight, 7, "weight of all samples");
	check_u64(snapshot->run->n_vcpus, 2, "vCPUs of the guest");
	check_u64(snapshot->run->vcpus[0].user, 1, "user ticks of vCPU 0");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void stage_add_weight(struct stage *stage, uint32_t weight, enum vcpu_state other,
			     const char *chain)
{
	static struct guest_record record;

	guest_begin(&record, 1000000, 1)->weight = weight;
	guest_add_chain(&record, 0, chain);
	guest_add_vcpu(&record, 1, other);
	stage_add(stage, &record);
}

/* A sample stands for as many ticks as it says: in shares, in files, in the times of vCPUs. */
static void test_weights(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open(&stage);
	stage_add_weight(&stage, 29 * SAMPLE_WEIGHT_TICK / 2, VCPU_BLOCKED,
			 "start_kernel;serve;hash");
	stage_add_weight(&stage, 11 * SAMPLE_WEIGHT_TICK / 2, VCPU_BLOCKED,
			 "start_kernel;serve;hash");
	stage_add_weight(&stage, SAMPLE_WEIGHT_TICK, VCPU_OFFLINE, "_start;main;loop");
	check_folded(&stage, false, "_start;main;loop 1|start_kernel;serve;hash 20|", "ticks");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 3, "samples of different weights");
	check_u64(snapshot->resolver.user, 1, "samples in user code");
	check(snapshot->resolver.weight == 21 && snapshot->total_weight == 21, "%g ticks",
	      snapshot->resolver.weight);
	check(snapshot->nodes[0].children_total == 3, "the tree counts samples, not only ticks");
	check_u64(snapshot->run->vcpus[0].states[VCPU_RUNNING], 21, "vCPU 0 ran");
	check_u64(snapshot->run->vcpus[0].user, 1, "user ticks of vCPU 0 are weighted");
	check_u64(snapshot->run->vcpus[1].states[VCPU_BLOCKED], 20, "vCPU 1 was blocked");
	check_u64(snapshot->resolver.states[VCPU_OFFLINE], 1, "vCPU 1 was offline");
	check(snapshot->found_by && snapshot->found_by[snapshot->run->vcpus[0].last_frame] ==
					    1 << UNWIND_BY_REGISTERS,
	      "the last frame of vCPU 0 was found by registers");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/* Three of four vCPUs that ran were left out. Those that did not run were all looked at. */
static void test_left_out(void)
{
	static struct guest_record record;
	struct sample *sample;
	struct stage stage;
	struct snapshot *snapshot;

	stage_open(&stage);
	sample = guest_begin(&record, 1000000, 1);
	sample->weight = 5 * SAMPLE_WEIGHT_TICK;
	sample->vcpu_weight = 20 * SAMPLE_WEIGHT_TICK;
	guest_add_chain(&record, 0, "_start;main;loop");
	guest_add_vcpu(&record, 1, VCPU_BLOCKED);
	stage_add(&stage, &record);
	check_folded(&stage, false, "_start;main;loop 20|", "the vCPU stands for the others, too");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->run->vcpus[1].states[VCPU_BLOCKED], 5, "vCPU 1 only for itself");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_kinds(void)
{
	struct stage stage;
	struct snapshot *snapshot;
	unsigned kernel = 0, user = 0;

	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;serve");
	stage_add_chain(&stage, "_start;main");
	snapshot = stage_snapshot(&stage);
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct frame *frame = frames_get(snapshot->frames, snapshot->nodes[i].frame);

		kernel +=
			frame->kind == FRAME_KIND_KERNEL && strcmp(frame->module, "[kernel]") == 0;
		user += frame->kind == FRAME_KIND_USERLAND && strcmp(frame->module, "httpd") == 0;
	}
	check(kernel == 2 && user == 2, "2 kernel frames (%u), 2 of the program (%u)", kernel,
	      user);
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/*
 * A function may end with a call of a function that never returns. Then the return address belongs
 * to the next function.
 */
static void test_return_addresses(void)
{
	struct stage stage;

	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;compress!;panic");
	check_folded(&stage, false, "start_kernel;compress;panic 1|",
		     "a call that never returns belongs to the caller");
	stage_add_chain(&stage, "start_kernel;copy");
	stage_add_chain(&stage, "start_kernel;compress!");
	check_folded(&stage, false, "start_kernel;compress;panic 1|start_kernel;copy 2|",
		     "the innermost frame is looked up by its own address");
	stage_close(&stage);
}

static void check_call(const struct snapshot *snapshot, unsigned at, const char *name, double ticks)
{
	const struct snapshot_call *call = &snapshot->run->calls[0].calls[at];

	check_string(frames_get(snapshot->frames, call->frame)->name, name,
		     "the stub, or its caller, names the hypercall");
	check(call->ticks == ticks, "%s: %.0f ticks", name, call->ticks);
}

/* Newer kernels have one stub for all hypercalls: the caller tells which one a vCPU is in. */
static void test_calls(void)
{
	static const char *const stubs[] = { "xen_hypercall_amd", "xen_hypercall_sched_op",
					     "HYPERCALL_console_io" }; /* the last one is XTF's */
	struct snapshot *snapshot;
	struct stage stage;

	stage.symbols = guest_symbols();
	guest_add_image(stage.symbols, "[kernel]", GUEST_KERNEL + 0x10000, stubs, 3, NULL);
	stage_open_settings(&stage, (struct resolver_settings){ 0 });
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;serve;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010180");
	stage_add_chain(&stage, "0xffffffff81010080");
	for (unsigned i = 0; i < 3; i++)
		stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010280");
	stage_add_chain(&stage, "start_kernel;idle");
	snapshot = stage_snapshot(&stage);
	check_call(snapshot, 0, "idle", 2);
	check_call(snapshot, 1, "serve", 1);
	check_call(snapshot, 2, "xen_hypercall_sched_op", 1);
	check_call(snapshot, 3, "xen_hypercall_amd", 1);
	check_call(snapshot, 4, "HYPERCALL_console_io", 3);
	check(snapshot->run->calls[0].calls[5].ticks == 0, "unused entries of hypercalls are 0");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_unknown(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open_with(&stage, false, false);
	stage_add_chain(&stage, "0xffffffff81000110;0xffffffff81000210");
	stage_add_chain(&stage, "0xffffffff81000110;0xffffffff81000220");
	check_folded(&stage, false, "[unknown];[unknown] 2|",
		     "unnamed frames of one kind are merged");
	check_folded(
		&stage, true,
		"0xffffffff8100010f;0xffffffff81000210 1|0xffffffff8100010f;0xffffffff81000220 1|",
		"with addresses unnamed frames differ");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.frames_unknown, 4, "frames without a name");
	check_u64(snapshot->resolver.samples_unknown, 2, "samples in unknown code");
	check_u64(snapshot->resolver.unknown_causes[UNKNOWN_NO_SYMBOLS], 2,
		  "cause: no symbols were given");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	stage_open(&stage);
	stage_add_chain(&stage,
			"start_kernel;0xffffffff81000c10;hash"); /* after the last function */
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples_unknown, 0, "an unknown caller of a known function");
	snapshot_destroy(snapshot);
	stage_add_chain(&stage, "start_kernel;0xffffffff81000c10");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples_unknown, 1, "an unknown innermost function");
	check_u64(snapshot->resolver.unknown_causes[UNKNOWN_BETWEEN] +
			  snapshot->resolver.unknown_causes[UNKNOWN_NO_AREA],
		  1, "cause: the kernel's symbols do not cover the address");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/* Addresses that differ in only one bit, or in kernel and user code, are different places. */
static void test_near_addresses(void)
{
	static const uint64_t addresses[] = { GUEST_KERNEL + 0x510,
					      (GUEST_KERNEL + 0x510) & ~(1ULL << 63), 0 };
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open(&stage);
	for (size_t i = 0; i < GUEST_COUNT(addresses); i++) {
		guest_begin(record, 1000, 1);
		guest_add_addresses(record, 0, &addresses[i], 1);
		record->vcpu->user = 0;
		stage_add(&stage, record);
		stage_add(&stage, record);
	}
	check_folded(&stage, true,
		     "[truncated];0x7fffffff81000510 2|[truncated];[unknown] 2|[truncated];hash 2|",
		     "each unnamed address has its own name");
	stage_close(&stage);
	free(record);
}

/* --- stacks that are not whole ---------------------------------------------------------------- */

static void test_truncated(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	char deep[8192] = "walk";
	struct snapshot *snapshot;
	struct stage stage;
	char *text;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash;copy");
	guest_cut(record, 2 * 48, CUT_LIMIT);
	stage_add(&stage, record);
	check_folded(&stage, false, "[truncated];serve;hash;copy 1|",
		     "a stack that was cut short starts with [truncated]");
	make_record(record, "start_kernel;serve;hash;copy");
	guest_cut(record, 48, CUT_NOT_PRESENT);
	stage_add(&stage, record);
	make_record(record, "start_kernel;serve;parse");
	*guest_stack_word(record, 10) = GUEST_STACK + 32; /* serve's link leads back to parse */
	stage_add(&stage, record);
	make_record(record, "start_kernel;entry;compress");
	*guest_stack_word(record, 11) = 0x1234567; /* no code there */
	stage_add(&stage, record);
	check_folded(&stage, false,
		     "[truncated];entry;compress 1|[truncated];hash;copy 1|"
		     "[truncated];serve;hash;copy 1|"
		     "[truncated];start_kernel;serve;parse 1|",
		     "cut, loop, bad return address");
	for (int i = 1; i < 1300; i++)
		strcat(deep, ";walk");
	stage_add_chain(&stage, deep);
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.stops[UNWIND_CUT], 2,
		  "walks that end because the stack is cut");
	check_u64(snapshot->resolver.cuts[CUT_LIMIT], 1, "stacks that the limit cuts");
	check_u64(snapshot->resolver.cuts[CUT_NOT_PRESENT], 1, "cuts: not present");
	check_u64(snapshot->resolver.stops[UNWIND_LOOP], 1, "walks that end in a loop");
	check_u64(snapshot->resolver.stops[UNWIND_BAD], 1,
		  "walks that end at a bad return address");
	check_u64(snapshot->resolver.stops[UNWIND_TOO_DEEP], 0, "stops: too deep");
	check_u64(snapshot->resolver.stops[UNWIND_COMPLETE], 1, "walks that are complete");
	strcat(deep, " 1\n");
	text = folded(snapshot, false);
	check(strstr(text, deep) && !strstr(text, "[truncated];walk"),
	      "a stack of 1,300 functions is whole");
	free(text);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

static void test_states(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	for (int state = VCPU_OFFLINE; state <= VCPU_BLOCKED; state++) {
		make_record(record, "start_kernel;hash");
		guest_add_vcpu(record, 1, (enum vcpu_state)state);
		stage_add(&stage, record);
	}
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;copy")->state = VCPU_RUNNABLE;
	stage_add(&stage, record);
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;walk")->state = VCPU_LOCK_WAIT;
	stage_add(&stage, record);
	check_folded(&stage, false, "start_kernel;copy 1|start_kernel;hash 2|start_kernel;walk 1|",
		     "only vCPUs that run, want to run or wait for a lock are folded");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 4, "samples with a stack, in all states");
	check_u64(snapshot->resolver.states[VCPU_LOCK_WAIT], 1, "waits for a lock");
	check_u64(snapshot->run->vcpus[1].states[VCPU_LOCK_WAIT], 1, "waits for a lock, vCPU 1");
	check_u64(snapshot->resolver.states[VCPU_OFFLINE], 1, "vCPU ticks offline");
	check_u64(snapshot->resolver.states[VCPU_BLOCKED], 1, "vCPU ticks blocked");
	check_u64(snapshot->resolver.states[VCPU_RUNNABLE], 1, "vCPU ticks runnable");
	check_u64(snapshot->resolver.states[VCPU_RUNNING], 2, "vCPU ticks running");
	check_u64(snapshot->run->vcpus[1].states[VCPU_RUNNABLE], 1, "runnable, vCPU 1");
	check_u64(snapshot->run->vcpus[0].states[VCPU_RUNNING], 2, "running, vCPU 0");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* Times of vCPUs come from the sampler. */
static void test_times(void)
{
	struct vcpu_times times[2] = { { 1000, 600, 100 }, { 1000, 0, 0 } };
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	control_set_times(stage.control, times, 2);
	snapshot = stage_snapshot(&stage);
	check(snapshot->run->vcpus[0].times.span_ns == 1000 &&
		      snapshot->run->vcpus[0].times.ran_ns == 600 &&
		      snapshot->run->vcpus[0].times.waited_ns == 100 &&
		      snapshot->run->vcpus[1].times.span_ns == 1000,
	      "times of vCPUs count since the start");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_bad_records(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	make_record(record, "start_kernel;hash");
	resolver_add(stage.resolver, record->words, record->size_bytes - 8);
	((struct sample_stack *)(record->vcpu + 1))->size_bytes += 8;
	stage_add(&stage, record);
	resolver_add(stage.resolver, record->words, 0);
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.bad_records, 3, "records that were refused");
	check_u64(snapshot->resolver.samples, 0, "bad records give no samples");
	check_u64(snapshot->n_nodes, 1, "bad records add no nodes but the root");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

int main(void)
{
	test_folds();
	test_weights();
	test_left_out();
	test_kinds();
	test_return_addresses();
	test_calls();
	test_unknown();
	test_near_addresses();
	test_truncated();
	test_states();
	test_times();
	test_bad_records();
	return tap_done();
}
