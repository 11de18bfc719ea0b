/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Methods of Java programs, as xtop reads them in the memory of real processes, against what the
 * program itself says of its stack. For each version of Java that this machine has: interpreted,
 * compiled by C1, and compiled by C2.
 */
#include "config.h"

#include <fcntl.h>

#include "tests/language/told_native.h"
#include "tests/support/shell.h"

#define LOOKS      100
#define OF_A_CLASS "." /* each method's name has it, and no code that the machine made for itself */

static char folder[] = "test_java.XXXXXX";

static void check_told(struct live_process *live, const char *version, const char *told)
{
	pid_t thread = told_find_main_thread(live->pid);

	told_check_thread(live, thread, OF_A_CLASS, version, told);
	if (getenv("XTOP_TAPES"))
		told_make_thread_tape(live, thread, RUNTIME_MAX_FRAMES, OF_A_CLASS, version, told);
}

/* What the looks at a running program have seen. */
struct seen {
	unsigned looks, whole, right, alpha, beta;
};

/*
 * Whether all functions of TEXT can be on the stack of main(), in their order. A compiled method
 * may have others in it.
 */
static bool is_right(const char *text)
{
	static const char *const levels[][2] = {
		{ "mix", "mix" }, { "alpha", "beta" }, { "round_", "round_" }, { "main", "main" }
	};
	unsigned level = 0;
	char name[32];

	while (sscanf(text, "[java] Work.%31[a-z_]", name) == 1) {
		while (level < 4 && strcmp(name, levels[level][0]) != 0 &&
		       strcmp(name, levels[level][1]) != 0)
			level++;
		if (level++ == 4)
			return false;
		text = strchr(text, '\n') + 1;
	}
	return !*text && level == 4;
}

static void check_busy(struct live_process *live, const char *version, const char *told)
{
	static struct told_native native;
	struct seen seen = { 0 };
	char text[8192];

	(void)told;
	told_native_init(&native, live);
	for (unsigned i = 0; i < LOOKS; i++) {
		if (!told_native_look(&native, live, told_find_main_thread(live->pid)))
			continue;
		told_native_write(&native, OF_A_CLASS, text, sizeof(text));
		seen.looks++;
		seen.whole += native.stack.stop == UNWIND_COMPLETE;
		seen.right += is_right(text);
		seen.alpha += strstr(text, "alpha") != NULL;
		seen.beta += strstr(text, "beta") != NULL;
		if (native.stack.stop != UNWIND_COMPLETE || !is_right(text))
			printf("# stop %d, innermost 0x%" PRIx64 "\n%s", native.stack.stop,
			       native.stack.frames[0].address, text);
		usleep(500);
	}
	told_native_deinit(&native);
	check(seen.looks == LOOKS, "%s: %u looks", version, seen.looks);
	check(seen.whole == seen.looks, "%s: %u stacks are whole", version, seen.whole);
	check(seen.right == seen.looks, "%s: %u stacks are the program's", version, seen.right);
	printf("# %s: alpha %u, beta %u\n", version, seen.alpha, seen.beta);
}

/* The address of the last letters of the name of a class that NATIVE has; 0: there is none. */
static uint64_t find_class_name(struct told_native *native)
{
	static struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct runtime_name class;

	told_native_read_lines(native); /* it prepares native->running */
	for (unsigned i = 0; i < native->stack.n_frames; i++) {
		struct runtime_native place = told_native_frame(native, i);

		memset(&class, 0, sizeof(class));
		if (native->program.counts[i] &&
		    runtime_read_native(&native->running, &place, found, 1) == 1 &&
		    runtime_read_name(&native->running, &found[0], &class) &&
		    strstr(class.function, "Work."))
			return class.witnesses[1];
	}
	return 0;
}

/* Another class may come to the place of one that was unloaded, with its name in the same place. */
static void check_renamed(struct live_process *live, const char *version, const char *told)
{
	static struct told_native native;
	pid_t thread = told_find_main_thread(live->pid);
	char path[64], text[8192];
	uint64_t name;
	int fd;

	(void)told;
	told_native_init(&native, live);
	told_native_look(&native, live, thread);
	told_native_write(&native, "Work.", text, sizeof(text));
	check(*text, "%s: the class has its name", version);
	name = find_class_name(&native);
	snprintf(path, sizeof(path), "/proc/%d/mem", live->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(pwrite(fd, "Wurk", 4, (off_t)name) == 4, "%s: it gets another one", version);
	close(fd);
	told_native_look(&native, live, thread);
	told_native_write(&native, "Work.", text, sizeof(text));
	check_string(text, "", "the old name is not kept");
	told_native_write(&native, "Wurk.", text, sizeof(text));
	check(*text, "%s: the class has the new name", version);
	told_native_deinit(&native);
}

static void check_version(const char *java)
{
	static char *const flags[] = { (char *)"-Xint", (char *)"-XX:TieredStopAtLevel=1",
				       (char *)"-XX:-TieredCompilation" };
	static char *const rounds[] = { (char *)"0", (char *)"3000", (char *)"20000" };

	for (size_t i = 0; i < 3; i++) {
		char *argv[] = { (char *)java,
				 flags[i],
				 (char *)"-XX:+UnlockDiagnosticVMOptions",
				 (char *)"-XX:+ShowHiddenFrames",
				 (char *)"-Xshare:auto",
				 (char *)"-cp",
				 folder,
				 (char *)"Work",
				 (char *)"told",
				 rounds[i],
				 NULL };
		char label[64];

		snprintf(label, sizeof(label), "%s %s", java, flags[i]);
		if (!told_check_program_by(check_told, argv, label))
			return;
		if (!i)
			told_check_program_by(check_renamed, argv, label);
		argv[8] = (char *)"busy";
		argv[9] = i ? (char *)"2000" : (char *)"0"; /* a round is 600 calls of mix() */
		told_check_program_by(check_busy, argv, label);
	}
}

/* Compilers note no calls in the loop of spin(): no function beside it is taken for it. */
static void check_loops(struct live_process *live, const char *version, const char *told)
{
	static struct told_native native;
	unsigned looks = 0, right = 0;
	char text[8192];

	(void)told;
	told_native_init(&native, live);
	for (unsigned i = 0; i < LOOKS; i++, usleep(500)) {
		if (!told_native_look(&native, live, told_find_main_thread(live->pid)))
			continue;
		told_native_write(&native, "Loops.", text, sizeof(text));
		looks++;
		right += strncmp(text, "[java] Loops.take", 17) != 0;
	}
	told_native_deinit(&native);
	check(looks == LOOKS, "%s: %u looks", version, looks);
	check(right >= looks * 9 / 10, "%s: the loop is no other function's %u times", version,
	      right);
}

/* How often looks have seen METHOD, and with which line. */
struct seen_lines {
	unsigned looks, known, loop;
};

/* The loop of METHOD has the line LINE and the one after it. */
static struct seen_lines see_lines(struct live_process *live, const char *method, uint64_t line)
{
	static struct told_native native;
	struct seen_lines seen = { 0 };

	told_native_init(&native, live);
	runtimes_destroy(native.runtimes);
	must(runtimes_create(native.frames, RUNTIMES_SHOW_LINES, &native.runtimes));
	for (unsigned i = 0; i < LOOKS; i++, usleep(500)) {
		const struct frame *frame = NULL;

		if (!told_native_look(&native, live, told_find_main_thread(live->pid)))
			continue;
		/* A function that the machine has made may be further in. */
		for (size_t k = 0; k < native.program.n; k++) {
			frame = frames_get(native.frames, native.program.frames[k].frame);
			if (strstr(frame->name, "Loops."))
				break;
		}
		if (!frame || strcmp(frame->name, method) != 0)
			continue;
		seen.looks++;
		seen.known += frame->line_file == FRAME_LINE_KNOWN;
		seen.loop += frame->line_file == FRAME_LINE_KNOWN && frame->line_address - line < 2;
	}
	told_native_deinit(&native);
	return seen;
}

/* Compilers note no place at all in spin(), if it is not put into another method. */
static void check_spin(struct live_process *live, const char *version, const char *told)
{
	struct seen_lines seen = see_lines(live, "[java] Loops.spin", 25);

	(void)told;
	check(seen.looks >= LOOKS / 2, "%s: %u looks at the loop", version, seen.looks);
	check(seen.known >= seen.looks * 9 / 10, "%s: %u have its line", version, seen.known);
	check(seen.loop == seen.known, "%s: no other line", version);
}

/* A loop with one turn is not where the code after it is. */
static void check_once(struct live_process *live, const char *version, const char *told)
{
	static const struct {
		const char *method;
		uint64_t line;
	} methods[] = { { "[java] Loops.once", 35 }, { "[java] Loops.rest", 93 } };

	(void)told;
	for (size_t i = 0; i < 2; i++) {
		struct seen_lines seen = see_lines(live, methods[i].method, methods[i].line);

		check(seen.looks >= LOOKS / 10, "%s: %u looks at %s()", version, seen.looks,
		      methods[i].method);
		check(seen.loop <= seen.looks / 10, "%s: %u have the line of the loop in %s()", version,
		      seen.loop, methods[i].method);
	}
}

static void check_collector(const char *java, const char *collector)
{
	char label[64];
	char *argv[] = { (char *)java,
			 (char *)collector,
			 (char *)"-cp",
			 folder,
			 (char *)"-XX:CompileCommand=quiet",
			 (char *)"-XX:CompileCommand=dontinline,Loops.*",
			 (char *)"-XX:-TieredCompilation",
			 (char *)"Loops",
			 (char *)"once",
			 NULL };
	char *const inlined[] = { (char *)java, (char *)collector, (char *)"-cp",
				  folder,       (char *)"Loops",   NULL };

	snprintf(label, sizeof(label), "%s %s", java, collector);
	told_check_program_by(check_loops, inlined, label);
	told_check_program_by(check_once, argv, label);
	argv[8] = NULL;
	told_check_program_by(check_spin, argv, label);
}

int main(void)
{
	static const char *const versions[] = { "java",   "java8",  "java11",
						"java17", "java21", "java25" };
	const char *source = getenv("srcdir");

	if (!told_is_installed("javac")) {
		printf("1..0 # SKIP no javac\n");
		return 0;
	}
	if (!mkdtemp(folder))
		return 1;
	source = source ? source : ".";
	shell("javac --release 8 -nowarn -d %s %s/tests/language/Work.java "
	      "%s/tests/language/Loops.java 2>&1",
	      folder, source, source);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		check_version(versions[i]);
		check_collector(versions[i], "-XX:+UseSerialGC");
	}
	shell("rm -r %s", folder);
	return told_done("java");
}
