/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of an interpreted program in the report of --crash: those of a Python program that
 * waits, below those of its interpreter. The system inside the guest is made up; the program, its
 * memory and its stack are real.
 */
#include "config.h"

#include <string.h>

#include "tests/language/told_native.h"
#include "tests/support/must.h"
#include "xtop/os/os.h"
#include "xtop/profile/crash.h"
#include "xtop/symbol/symbol.h"

static const char program[] = "import sys, time\n"
			      "def innermost():\n"
			      "    print('END', flush=True); time.sleep(100)\n"
			      "class Shop:\n"
			      "    def total(self):\n"
			      "        innermost()\n"
			      "def run():\n"
			      "    Shop().total()\n"
			      "run()\n";

static struct live_process live;
static struct space *space; /* the process's code */
static struct symbols *symbols;

/*
 * --- these functions stand in for those of os.c ------------------------------------------------
 */

bool os_is_known(const struct os *os)
{
	return os;
}

struct memory *os_get_memory(const struct os *os)
{
	(void)os;
	return live.memory;
}

const struct space *os_get_kernel(const struct os *os)
{
	(void)os;
	return space;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
	*task = (struct os_task){ .pid = 12, .process = "python3", .user = space,
				  .thread_pointer = live.thread_pointer };
}

void os_read_log(const struct os *os, struct os_log *log)
{
	(void)os;
	log->lack = "a test";
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	(void)os;
	(void)now_ns;
	(void)sink;
	return true;
}

/*
 * -----------------------------------------------------------------------------------------------
 */

/* The report of a guest in which the process runs on a vCPU. */
static struct crash_report *make(struct runtimes *runtimes, const struct frames *frames)
{
	static struct {
		struct sample head;
		uint64_t rest[(LIVE_STACK_BYTES + 4096) / sizeof(uint64_t)];
	} made;
	const struct crash_settings settings = { .os = (struct os *)&made,
						 .symbols = symbols,
						 .how = UNWIND_AUTO,
						 .runtimes = runtimes,
						 .frames = frames };
	struct sample_vcpu *vcpu = (struct sample_vcpu *)made.rest;
	struct crash_report *crash;

	made.head = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	if (!live_stack_copy(&live, live.pid, vcpu))
		return NULL;
	vcpu->regs.cr0 = 1ULL << 31; /* paging is on */
	vcpu->regs.cr3 = live.root.cr3;
	must(crash_create(&settings, &made.head, 1000, &crash));
	return crash;
}

/* Whether the last lines of CRASH's vCPU are TEXT. SEEN becomes all of its lines. */
static bool ends_with(const struct crash_report *crash, const char *text, char seen[4096])
{
	*seen = '\0';
	for (size_t i = crash->parts[CRASH_VCPUS]; i < crash->parts[CRASH_TASKS]; i++)
		snprintf(seen + strlen(seen), 4096 - strlen(seen), "%s\n",
			 crash_get_line(crash, i));
	return strlen(seen) >= strlen(text) && !strcmp(seen + strlen(seen) - strlen(text), text);
}

static void check_report(void)
{
	struct told_native native;
	struct crash_report *crash;
	char seen[4096];

	told_native_init(&native, &live);
	space = native.space;
	crash = make(native.runtimes, native.frames);
	if (check(crash, "there is a report") &&
	    !check(ends_with(crash,
			     "  the program that the interpreter runs:\n"
			     "  [py] innermost (<string>:2)\n"
			     "  [py] Shop.total (<string>:5)\n"
			     "  [py] run (<string>:7)\n"
			     "  [py] <module> (<string>:1)\n",
			     seen),
		   "the functions of the program stand below those of the interpreter"))
		printf("# seen:\n%s", seen);
	crash_destroy(crash);
	crash = make(NULL, NULL);
	check(crash && !ends_with(crash, "[py] <module> (<string>:1)\n", seen),
	      "a report without runtimes has no functions of a program");
	crash_destroy(crash);
	runtimes_set_shown(native.runtimes, false);
	crash = make(native.runtimes, native.frames);
	check(crash && !ends_with(crash, "[py] <module> (<string>:1)\n", seen),
	      "a report has no functions of a program if interpreters' functions are wanted");
	crash_destroy(crash);
	told_native_deinit(&native);
}

/*
 * In a replay no sampler waits for a recipe. It is searched for all the same: names need what the
 * search has found, such as where functions of PHP have their lines.
 */
static void check_replay(void)
{
	struct told_native native;
	struct resolver_counts counts = { 0 };
	struct sample_vcpu vcpu = { .state = VCPU_RUNNING };
	struct runtimes_sample sample = { .vcpu = &vcpu,
					  .memory = live.memory,
					  .counts = &counts };

	told_native_init(&native, &live);
	sample.stack = &native.stack;
	sample.space = native.space;
	check(runtimes_begin(native.runtimes, &sample) && counts.recipes_refused == 1,
	      "a replay searches for a recipe: not found without page tables");
	told_native_deinit(&native);
}

int main(void)
{
	char *const argv[] = { (char *)"python3", (char *)"-c", (char *)program, NULL };
	char told[64];

	if (!told_is_installed("python3") || !LIVE_PROCESS_WORKS) {
		printf("1..0 # SKIP no python3 that can be read here\n");
		return 0;
	}
	must(symbols_create(&symbols));
	if (check(live_process_start(&live, argv), "the program starts")) {
		if (check(live_process_await(&live, told, sizeof(told)), "the program waits")) {
			check_replay();
			check_report();
		}
		live_process_end(&live);
	}
	symbols_destroy(symbols);
	return tap_done();
}
