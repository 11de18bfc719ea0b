/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a crashed guest, from a system that tells what the test wants: the lines of the
 * log, of vCPUs and tasks, what is said where something is not known, and hostile names.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/os/os.h"
#include "xtop/profile/crash.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define TEXT  0xffffffff81000000ULL
#define STACK 0xffffc90000003000ULL

static struct {
	struct space *kernel;
	struct symbols *symbols; /* symbols of no file */
} guest;

/* What the system tells. */
static struct {
	bool known;
	const char *lack, *process, *thread;
	struct {
		uint64_t time_ns;
		const char *text;
	} log_lines[8];
	unsigned n_log_lines, n_tasks;
	uint64_t unreadable, left_out;
} told = { .known = true, .process = "init", .thread = "init" };

/* One vCPU whose frame pointer leads to two return addresses. */
static struct {
	struct sample head;
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[4];
} made;

/*
 * --- these functions stand in for those of os.c ------------------------------------------------
 */

bool os_is_known(const struct os *os)
{
	(void)os;
	return told.known;
}

struct memory *os_get_memory(const struct os *os)
{
	(void)os;
	return NULL;
}

const struct space *os_get_kernel(const struct os *os)
{
	(void)os;
	return guest.kernel;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
	*task = (struct os_task){ .pid = told.known ? 12 : 0,
				  .process = told.known ? told.process : NULL,
				  .thread = told.known ? told.thread : NULL };
}

void os_read_log(const struct os *os, struct os_log *log)
{
	(void)os;
	log->lack = told.lack;
	log->unreadable = told.unreadable;
	log->left_out = told.left_out;
	if (told.lack)
		return;
	log->text = calloc(1, 65536);
	log->lines = calloc(8, sizeof(*log->lines));
	for (unsigned i = 0; i < told.n_log_lines; i++) {
		log->lines[i].time_ns = told.log_lines[i].time_ns;
		log->lines[i].at = (uint32_t)log->text_bytes;
		log->lines[i].bytes = (uint32_t)strlen(told.log_lines[i].text);
		memcpy(log->text + log->text_bytes, told.log_lines[i].text, log->lines[i].bytes);
		log->text_bytes += log->lines[i].bytes;
	}
	log->n_lines = told.n_log_lines;
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	static const enum os_wait_state states[] = { OS_WAIT_RUNNABLE, OS_WAIT_SLEEPING,
						     OS_WAIT_BLOCKED, OS_WAIT_IDLE,
						     OS_WAIT_STOPPED };
	const struct os_task task = { .pid = 7, .process = told.process, .thread = told.thread };

	(void)os;
	(void)now_ns;
	for (unsigned i = 0; i < told.n_tasks; i++) {
		enum os_lock_kind kind = OS_LOCK_NONE;
		void *kept = NULL;
		const struct os_wait wait = { .vcpu = &made.vcpu,
					      .task = &task,
					      .state = states[i % N_OS_WAIT_STATES],
					      .kept = &kept,
					      .lock = &kind };

		sink->add(sink->context, &wait);
	}
	return told.known;
}

/*
 * -----------------------------------------------------------------------------------------------
 */

static void add_symbol(struct image *image, uint64_t address, const char *name)
{
	must(symtab_add(image->symtab, &(struct symbol_definition){ .start = address,
								    .size_bytes = 0x100,
								    .rank = SYMBOL_GLOBAL,
								    .name = name,
								    .name_bytes = strlen(name) }));
}

static void make_kernel(void)
{
	struct image *image, *module;

	must(image_create("[kernel]", &image));
	must(symtab_create(&image->symtab));
	add_symbol(image, TEXT, "panic");
	add_symbol(image, TEXT + 0x200, "sysrq_handle_crash");
	add_symbol(image, TEXT + 0x400, "evil\x1b[31m;name");
	must(symtab_seal(image->symtab));
	must(image_create("[ext4]", &module));
	must(symtab_create(&module->symtab));
	add_symbol(module, TEXT + 0x10000, "ext4_sync_fs");
	must(symtab_seal(module->symtab));
	must(space_create(&guest.kernel));
	must(space_add(guest.kernel, &(struct mapping){
				       .start = TEXT, .end = TEXT + 0x1000, .image = image }));
	must(space_add(guest.kernel, &(struct mapping){ .start = TEXT + 0x10000,
						  .end = TEXT + 0x11000,
						  .image = module }));
	image_unref(image);
	image_unref(module);
}

/* The vCPU is at RIP; two calls led there. */
static void make_sample(uint64_t rip, uint64_t caller, uint64_t outer)
{
	memset(&made, 0, sizeof(made));
	made.head = (struct sample){ .size_bytes = sizeof(made),
				     .n_vcpus = 1,
				     .weight = SAMPLE_WEIGHT_TICK };
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made) - sizeof(made.head),
					  .vcpu = 3,
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT };
	made.vcpu.regs.rip = rip;
	made.vcpu.regs.rsp = STACK;
	made.vcpu.regs.rbp = STACK;
	made.stack = (struct sample_stack){ STACK, sizeof(made.words), STACK_FIRST };
	made.words[0] = STACK + 16;
	made.words[1] = caller;
	made.words[2] = 0;
	made.words[3] = outer;
	check(sample_check(&made, sizeof(made)), "the made sample is valid");
}

static struct crash_report *make(void)
{
	const struct crash_settings settings = { .os = (struct os *)&made,
						 .symbols = guest.symbols,
						 .how = UNWIND_FP };
	struct crash_report *crash;

	must(crash_create(&settings, &made.head, 1000, &crash));
	return crash;
}

/* The index of the line TEXT; -1: there is none. */
static int find(const struct crash_report *crash, const char *text)
{
	for (size_t i = 0; i < crash->n_lines; i++)
		if (strcmp(crash_get_line(crash, i), text) == 0)
			return (int)i;
	printf("# no line \"%s\" among %zu:\n", text, crash->n_lines);
	for (size_t i = 0; i < crash->n_lines && i < 40; i++)
		printf("# %s\n", crash_get_line(crash, i));
	return -1;
}

static bool is(const struct crash_report *crash, size_t line, enum crash_kind kind,
	       const char *text)
{
	int found = find(crash, text);

	return found >= 0 && (size_t)found == line && crash->lines[found].kind == kind;
}

static void test_log(void)
{
	struct crash_report *crash;

	make_sample(TEXT + 0x10, TEXT + 0x220, TEXT + 0x10020);
	told.log_lines[0].time_ns = 0;
	told.log_lines[0].text = "Linux version 6.1; of Debian";
	told.log_lines[1].time_ns = 12345678999;
	told.log_lines[1].text = "Call\tTrace:";
	told.log_lines[2].time_ns = 123456000000000;
	told.log_lines[2].text = "\x1b[2J\x80ok \xc3\xa4";
	told.n_log_lines = 3;
	crash = make();
	check(is(crash, 0, CRASH_HEADING, "Kernel log: 3 lines") && crash->parts[CRASH_LOG] == 0,
	      "the log's heading counts the lines");
	check(is(crash, 1, CRASH_LINE, "[    0.000000] Linux version 6.1; of Debian"),
	      "a line as dmesg prints it");
	check(is(crash, 2, CRASH_LINE, "[   12.345678] Call Trace:"), "times are cut, tabs blanks");
	check(is(crash, 3, CRASH_LINE, "[123456.000000] _[2J_ok \xc3\xa4"), "a hostile line");
	crash_destroy(crash);
	told.unreadable = 2;
	told.left_out = 5;
	crash = make();
	check(find(crash, "Kernel log: 3 lines, 2 messages unreadable, 5 older ones left out") == 0,
	      "what is missing");
	crash_destroy(crash);
	told.unreadable = told.left_out = 0;
	told.lack = "the guest's kernel has no BTF";
	crash = make();
	check(find(crash, "Kernel log: none, the guest's kernel has no BTF") == 0,
	      "the log's heading says why there is no log");
	crash_destroy(crash);
}

static void test_vcpus(void)
{
	struct crash_report *crash = make();
	size_t at = crash->parts[CRASH_VCPUS];

	check(is(crash, at, CRASH_HEADING, "vCPUs with registers: 1"),
	      "the heading of vCPUs counts those with registers");
	check(is(crash, at + 1, CRASH_OWNER, "vCPU 3: pid 12  init"), "what ran there");
	check(is(crash, at + 2, CRASH_DETAIL,
		 "  rip ffffffff81000010  rsp ffffc90000003000  rflags 0000000000000000"),
	      "a vCPU has its registers");
	check(is(crash, at + 9, CRASH_DETAIL, "  panic+0x10/0x100"), "a vCPU has its function");
	check(is(crash, at + 10, CRASH_DETAIL, "  sysrq_handle_crash+0x20/0x100"),
	      "a vCPU has its function's caller");
	check(is(crash, at + 11, CRASH_DETAIL, "  ext4_sync_fs+0x20/0x100 [ext4]"),
	      "a module's function");
	crash_destroy(crash);
	make_sample(TEXT + 0x410, 0x1234, 0);
	told.thread = "w\norker;";
	crash = make();
	check(find(crash, "vCPU 3: pid 12  init/w_orker_") >= 0, "a thread's hostile name");
	check(find(crash, "  evil_[31m_name+0x10/0x100") >= 0, "a function's hostile name");
	check(find(crash, "  [truncated]") >= 0, "a stack that does not end says so");
	crash_destroy(crash);
	make_sample(TEXT + 0x900, TEXT + 0x20000, 0);
	crash = make();
	check(find(crash, "  0xffffffff81000900") >= 0, "an address without a name");
	crash_destroy(crash);
	/* A caller is found by its call, and told as a kernel does, by where it goes on. */
	make_sample(TEXT + 0x10, TEXT + 0x300, 0);
	crash = make();
	check(find(crash, "  sysrq_handle_crash+0x100/0x100") >= 0, "a call that never returns");
	crash_destroy(crash);
	told.thread = told.process;
}

static void test_tasks(void)
{
	struct crash_report *crash;
	size_t at;

	make_sample(TEXT + 0x10, TEXT + 0x220, TEXT + 0x10020);
	told.n_tasks = 5;
	crash = make();
	at = crash->parts[CRASH_TASKS];
	check(is(crash, at, CRASH_HEADING, "Tasks on no CPU"), "the tasks have a heading");
	check(is(crash, at + 1, CRASH_OWNER, "pid 7  R  init"), "a task that waits for a CPU");
	check(!strcmp(crash_get_line(crash, at + 2), "  panic+0x10/0x100"), "a task has its stack");
	check(find(crash, "pid 7  S  init") > 0 && find(crash, "pid 7  D  init") > 0 &&
		      find(crash, "pid 7  I  init") > 0 && find(crash, "pid 7  T  init") > 0,
	      "tasks in the states S, D, I and T are there");
	crash_destroy(crash);
	told.known = false;
	told.n_tasks = 0;
	crash = make();
	at = crash->parts[CRASH_TASKS];
	check(is(crash, at + 1, CRASH_OWNER,
		 "none: the guest runs no system whose tasks are known"),
	      "a guest without tasks");
	check(find(crash, "vCPU 3") >= 0, "whose vCPUs are there");
	crash_destroy(crash);
	told.known = true;
}

/* Tasks without end: the report ends, and says so. */
static void test_full(void)
{
	struct crash_report *crash;

	told.n_tasks = 1000000;
	crash = make();
	check(crash->is_full && crash->text_bytes <= CRASH_MAX_TEXT && crash->n_lines > 1000,
	      "%zu lines, and then it is full", crash->n_lines);
	check(!strcmp(crash_get_line(crash, crash->parts[CRASH_TASKS]), "Tasks on no CPU"),
	      "all parts are there");
	crash_destroy(crash);
	told.n_tasks = 0;
}

int main(void)
{
	make_kernel();
	must(symbols_create(&guest.symbols));
	test_log();
	test_vcpus();
	test_tasks();
	test_full();
	symbols_destroy(guest.symbols);
	space_destroy(guest.kernel);
	return tap_done();
}
