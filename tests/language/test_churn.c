/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that make functions and drop them for ever: names are read while they go on, so another
 * function may have come to the same address meanwhile. No function may get another one's name. The
 * program tells in a file, which the test maps, which functions run.
 *
 * XTOP_LONG=1: 100,000 samples, and all versions that are there. XTOP_CHURN=ruby3.3 (or another
 * program): this one alone.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "churn_programs.h"
#include "tests/language/told_native.h"
#include "tests/support/shell.h"

#define SAMPLES        300
#define NATIVE_SAMPLES 100 /* copies of stacks take longer */
#define MORE_SAMPLES   10000 /* one name is right after so many */
#define LONG_SAMPLES   100000
#define LATE_EACH      10 /* one of so many native samples gets its names late, */
#define LATE_US        300000 /* after collections of garbage */
#define TURN_DIGITS    7

static char classes[] = "/tmp/xtop-churn.XXXXXX"; /* folder */

struct churn {
	struct live_process live;
	struct told_native native;
	struct resolver_counts counts;
	struct recipe recipe;
	bool on_stack; /* functions are on the thread's own stack */
	pid_t thread;
	const volatile uint64_t *turn; /* what the program tells */
	uint64_t buffer[TOLD_N_WORDS];
	unsigned right, wrong, unknown; /* functions */
	unsigned compared,
		stable; /* samples that are whole and of a known turn; those with what stays */
};

/* Lets RUNTIMES prepare for the process, which sleeps. */
static bool churn_prepare(struct churn *churn)
{
	const struct live_process *live = &churn->live;
	struct runtime_process process = churn->native.running;
	struct sample_vcpu *vcpu = (struct sample_vcpu *)churn->buffer;
	const struct runtimes_sample sample = { .vcpu = vcpu,
						.stack = &churn->native.stack,
						.space = churn->native.space,
						.memory = live->memory,
						.root = live->root,
						.thread_pointer = live->thread_pointer,
						.asleep = true,
						.counts = &churn->counts };

	*vcpu = (struct sample_vcpu){ .n_stacks = 0 };
	return runtime_find_recipe(&process, live->thread_pointer, &churn->recipe) &&
	       runtimes_begin(churn->native.runtimes, &sample);
}

/* Copies the frames, and sets *TURN, while the program is stopped. */
static const struct sample_vcpu *churn_copy_list(struct churn *churn, uint64_t *turn)
{
	struct live_process *live = &churn->live;
	const struct sample_vcpu *vcpu;

	if (ptrace(PTRACE_INTERRUPT, live->pid, 0, 0) ||
	    waitpid(live->pid, NULL, __WALL) != live->pid)
		return NULL;
	memory_refresh(live->memory);
	vcpu = live_process_copy(live, &churn->recipe, churn->buffer);
	*turn = *churn->turn;
	ptrace(PTRACE_CONT, live->pid, 0, 0);
	return vcpu;
}

/* Copies the stack. *TURN becomes 0 if the program went on to another turn meanwhile. */
static const struct sample_vcpu *churn_copy_stack(struct churn *churn, uint64_t *turn)
{
	const struct sample_vcpu *vcpu;

	*turn = *churn->turn;
	memory_refresh(churn->live.memory);
	churn->native.stopped_ns = clock_now_ns();
	vcpu = live_stack_copy(&churn->live, churn->thread, churn->buffer);
	if (*churn->turn != *turn)
		*turn = 0;
	return vcpu;
}

/* The turn in which the function of FRAME was made; 0: it was made in none. */
static uint64_t churn_find_made(const struct frame *frame, uint64_t turn)
{
	size_t digits;

	if (strncmp(frame->name, "[php] {closure", 14) == 0)
		return frame->address - 1 - turn * 3 % CHURN_PHP_LINES <= 2 ? turn : UINT64_MAX;
	for (const char *at = frame->name; *at; at += digits + !digits) {
		digits = strspn(at, "0123456789");
		if (digits == TURN_DIGITS)
			return strtoull(at, NULL, 10);
	}
	return 0;
}

/*
 * Whether the walk ended at code that was mapped since the program began. What is mapped is read
 * anew then, as the resolver does each second.
 */
static bool churn_has_new_code(struct churn *churn)
{
	struct told_native *native = &churn->native;

	if (native->stack.parts[UNWIND_USER].stop != UNWIND_NO_TABLES)
		return false;
	space_destroy(native->space);
	native->space = live_stack_create_space(&churn->live);
	return true;
}

static void churn_compare(struct churn *churn, const struct program_stack *stack, uint64_t turn)
{
	bool stable = false;

	for (size_t i = 0; i < stack->n; i++) {
		const struct frame *frame =
			frames_get(churn->native.frames, stack->frames[i].frame);
		uint64_t made = churn_find_made(frame, turn);
		size_t length = strlen(frame->name);

		stable |= length > 4 && strcmp(frame->name + length - 3, "run") == 0;
		churn->right += made && made == turn;
		churn->wrong += made && made != turn;
		if (made && made != turn && getenv("XTOP_CHURN"))
			printf("# turn %" PRIu64 ": %s %" PRIu64 "\n", turn, frame->name,
			       frame->address);
		churn->unknown += strcmp(frame->name, "[interpreted]") == 0;
	}
	if (churn->on_stack && churn_has_new_code(churn))
		return; /* the function that stays lies there, or further out */
	churn->compared++;
	churn->stable += stable;
}

/* Whether the sample NUMBER gets its names late. */
static bool churn_is_late(const struct churn *churn, unsigned number)
{
	return churn->on_stack && number < NATIVE_SAMPLES && number % LATE_EACH == LATE_EACH - 1;
}

/* Takes a sample, and reads its names a moment later. */
static bool churn_look(struct churn *churn, unsigned number)
{
	const struct live_process *live = &churn->live;
	struct program_stack stack = { .n = 0 };
	uint64_t turn;
	const struct sample_vcpu *vcpu =
		churn->on_stack ? churn_copy_stack(churn, &turn) : churn_copy_list(churn, &turn);
	const struct runtimes_sample sample = { .vcpu = vcpu,
						.stack = &churn->native.stack,
						.space = churn->native.space,
						.memory = live->memory,
						.root = live->root,
						.time_ns = clock_now_ns(),
						.counts = &churn->counts };

	if (!vcpu)
		return false;
	usleep(churn_is_late(churn, number) ? LATE_US : number % 16 * 100);
	memory_refresh(live->memory);
	if (churn->on_stack) {
		told_native_follow(&churn->native, live, vcpu);
		stack = churn->native.program;
	} else if (runtimes_begin(churn->native.runtimes, &sample)) {
		runtimes_find(churn->native.runtimes, &stack);
	}
	if (turn)
		churn_compare(churn, &stack, turn);
	return true;
}

/* Waits until the program begins its turns, and gets ready for its samples. */
static bool churn_begin(struct churn *churn, const char *version)
{
	struct live_process *live = &churn->live;

	told_native_init(&churn->native, live);
	churn->on_stack = live->runtime && runtime_is_native(live->runtime);
	churn->thread =
		strncmp(version, "java", 4) == 0 ? told_find_main_thread(live->pid) : live->pid;
	if (!churn->on_stack &&
	    !check(churn_prepare(churn), "%s: the thread has a recipe", version))
		return false;
	usleep(600000);
	return churn->on_stack || !ptrace(PTRACE_SEIZE, live->pid, 0, 0);
}

static void check_churn(struct churn *churn, const char *version)
{
	unsigned n_samples = churn->on_stack ? NATIVE_SAMPLES : SAMPLES, n = 0;

	if (getenv("XTOP_LONG"))
		n_samples = LONG_SAMPLES;
	/* On a machine that does much else, most functions are gone when their names are read. */
	while ((n < n_samples || (!churn->right && n < MORE_SAMPLES)) && churn_look(churn, n))
		n++;
	printf("# %s: %u samples, %" PRIu64 " turns; %u names right, %u wrong, %u not known; "
	       "%u of %u have what stays\n",
	       version, n, *churn->turn % 1000000, churn->right, churn->wrong, churn->unknown,
	       churn->stable, churn->compared);
	check(n >= n_samples, "%s: all samples were taken", version);
	check(!churn->wrong, "%s: no function has another one's name", version);
	check(churn->right > 0, "%s: functions of a turn get names", version);
	check(churn->stable > churn->compared / 2, "%s: the function that stays has its name",
	      version);
}

static bool try_program(const char *version, const char *path, char *const argv[])
{
	static struct churn churn;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	const char *only = getenv("XTOP_CHURN");
	char told[64];
	bool found;

	memset(&churn, 0, sizeof(churn));
	churn.turn = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	found = churn.turn != MAP_FAILED && (!only || strcmp(only, version) == 0) &&
		live_process_start(&churn.live, argv);
	if (!found)
		return false;
	found = live_process_await(&churn.live, told, sizeof(told));
	if (found && churn_begin(&churn, version)) {
		check_churn(&churn, version);
		told_native_deinit(&churn.native);
	}
	live_process_end(&churn.live);
	munmap((void *)churn.turn, 4096);
	return found;
}

/* A language: its programs, the usual one first, and what they are given before the file. */
struct language {
	const char *versions[6];
	const char *arguments[5];
};

static const struct language languages[] = {
	{ { "python3", "python3.8", "python3.12", "python3.13" }, { "-c", churn_python } },
	{ { "php", "php7.4", "php8.4" }, { "-r", churn_php } },
	{ { "ruby", "ruby2.7", "ruby3.3" }, { "--disable-gems", "-e", churn_ruby } },
	{ { "perl", "perl5.32.1", "perl5.40.1" }, { "-e", churn_perl } },
	{ { "node", "node12", "node16", "node22", "node24" }, { "-e", churn_node } },
	{ { "java", "java8", "java11", "java21", "java25" },
	  { "-XX:+UseSerialGC", "-cp", classes, "Churn" } },
};

static void try_language(const struct language *language, char *path)
{
	unsigned most = getenv("XTOP_LONG") || getenv("XTOP_CHURN") ? 6 : 1;

	for (unsigned i = 0; i < most && language->versions[i]; i++) {
		char *argv[8] = { (char *)language->versions[i] };
		unsigned n = 1;

		for (const char *const *argument = language->arguments; *argument; argument++)
			argv[n++] = (char *)*argument;
		argv[n] = path;
		try_program(language->versions[i], path, argv);
	}
}

/* Compiles the Java program. */
static void make_classes(void)
{
	const char *source = getenv("srcdir");

	if (!mkdtemp(classes))
		abort();
	if (told_is_installed("javac"))
		shell("javac --release 8 -nowarn -d %s %s/tests/language/Churn.java 2>/dev/null",
		      classes, source ? source : ".");
}

int main(void)
{
	char path[] = "/tmp/xtop-turns-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, 4096))
		abort();
	close(fd);
	make_classes();
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		try_language(&languages[i], path);
	unlink(path);
	shell("rm -r %s", classes);
	return told_done("python3");
}
