/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Python program that makes functions and drops them for ever: names are read while it goes on, so
 * another function may have come to the same address meanwhile. No function may get another one's
 * name. The program tells in a file, which the test maps, which functions run.
 *
 * XTOP_LONG=1: 100,000 samples.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/language/told_native.h"

#define SAMPLES      1000
#define LONG_SAMPLES 100000

/* Functions a_N, b_N, c_N of the turn N. Each calls the next one; they are dropped after the turn. */
static const char program[] =
	"import mmap, os, struct, sys, time\n"
	"turn = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)\n"
	"text = '''\n"
	"def a_N():\n"
	"    return b_N()\n"
	"def b_N():\n"
	"    return c_N()\n"
	"def c_N():\n"
	"    s = 0\n"
	"    for i in range(M): s += i\n"
	"    return s\n"
	"'''\n"
	"def run(n):\n"
	"    made = {}\n"
	"    exec(compile(text.replace('N', str(n)).replace('M', str(n * 7919 % 4000)),\n"
	"                 'made.py', 'exec'), made)\n"
	"    turn[0:8] = struct.pack('q', n)\n"
	"    made['a_%d' % n]()\n"
	"print('END', flush=True)\n"
	"time.sleep(0.5)\n"
	"n = 1000000\n"
	"while True:\n"
	"    n += 1\n"
	"    run(n)\n";

struct churn {
	struct live_process live;
	struct told_native native;
	struct resolver_counts counts;
	struct recipe recipe;
	const volatile uint64_t *turn; /* what the program tells */
	uint64_t buffer[TOLD_N_WORDS];
	unsigned right, wrong, unknown, stable; /* functions; samples with a function that stays */
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
						.asleep = true,
						.counts = &churn->counts };

	*vcpu = (struct sample_vcpu){ .regs.fs_base = live->thread_pointer };
	return runtime_find_recipe(&process, live->thread_pointer, &churn->recipe) &&
	       runtimes_begin(churn->native.runtimes, &sample);
}

/* Copies the frames, and sets *TURN, while the program is stopped. */
static const struct sample_vcpu *churn_copy(struct churn *churn, uint64_t *turn)
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

static void churn_compare(struct churn *churn, const struct program_stack *stack, uint64_t turn)
{
	unsigned long made;
	unsigned stable = 0;
	char letter;

	for (size_t i = 0; i < stack->n; i++) {
		const struct frame *frame =
			frames_get(churn->native.frames, stack->frames[i].frame);

		stable += strcmp(frame->name, "[py] run") == 0;
		if (sscanf(frame->name, "[py] %c_%lu", &letter, &made) == 2) {
			churn->right += made == turn;
			churn->wrong += made != turn;
		}
		churn->unknown += strcmp(frame->name, "[interpreted]") == 0;
	}
	churn->stable += stable == 1;
}

/* Takes a sample, and reads its names a moment later. */
static bool churn_look(struct churn *churn, unsigned number)
{
	const struct live_process *live = &churn->live;
	struct program_stack stack;
	uint64_t turn;
	const struct sample_vcpu *vcpu = churn_copy(churn, &turn);
	const struct runtimes_sample sample = { .vcpu = vcpu,
						.stack = &churn->native.stack,
						.space = churn->native.space,
						.memory = live->memory,
						.root = live->root,
						.counts = &churn->counts };

	if (!vcpu)
		return false;
	usleep(number % 16 * 100);
	memory_refresh(live->memory);
	if (!runtimes_begin(churn->native.runtimes, &sample))
		return false;
	runtimes_find(churn->native.runtimes, &stack);
	churn_compare(churn, &stack, turn);
	return true;
}

static void check_churn(struct churn *churn, const char *version)
{
	unsigned n_samples = getenv("XTOP_LONG") ? LONG_SAMPLES : SAMPLES, n = 0;

	told_native_init(&churn->native, &churn->live);
	if (!check(churn_prepare(churn), "%s: the thread has a recipe", version))
		return;
	usleep(600000); /* the program begins its turns */
	if (ptrace(PTRACE_SEIZE, churn->live.pid, 0, 0))
		return;
	while (n < n_samples && churn_look(churn, n))
		n++;
	printf("# %s: %u samples; %u names right, %u wrong, %u not known\n", version, n,
	       churn->right, churn->wrong, churn->unknown);
	check(n == n_samples, "%s: all samples were taken", version);
	check(!churn->wrong, "%s: no function has another one's name", version);
	check(churn->right > 0, "%s: functions of a turn get names", version);
	check(churn->stable > n / 2, "%s: the function that stays has its name", version);
	told_native_deinit(&churn->native);
}

static bool try_version(const char *version, char *path)
{
	static struct churn churn;
	char *const argv[] = { (char *)version, (char *)"-c", (char *)program, path, NULL };
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char told[64];
	bool found;

	memset(&churn, 0, sizeof(churn));
	churn.turn = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	found = churn.turn != MAP_FAILED && live_process_start(&churn.live, argv);
	if (!found)
		return false;
	found = live_process_await(&churn.live, told, sizeof(told));
	if (found)
		check_churn(&churn, version);
	live_process_end(&churn.live);
	munmap((void *)churn.turn, 4096);
	return found;
}

int main(void)
{
	static const char *const versions[] = { "python3", "python3.8", "python3.12",
						"python3.13" };
	char path[] = "/tmp/xtop-churn-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, 4096))
		abort();
	close(fd);
	for (size_t i = 0; i < (getenv("XTOP_LONG") ? 4 : 1); i++)
		try_version(versions[i], path);
	unlink(path);
	return told_done("python3");
}
