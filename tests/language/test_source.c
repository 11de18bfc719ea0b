/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of an interpreted function, as the process knows it: a program in a file, in each
 * language that this machine has, waits in its function alpha.
 */
#include "config.h"

#include <string.h>

#include "tests/language/told_native.h"
#include "tests/support/shell.h"
#include "xtop/base/hash.h"
#include "xtop/sample/control.h"
#include "xtop/sample/recipe.h"

static char folder[] = "/tmp/test_source.XXXXXX";

static const struct language {
	const char *program, *file, *text;
	bool has_path; /* otherwise the program knows the file's name alone */
} languages[] = {
	{ "python3", "work.py",
	  "import time\n"
	  "def alpha():\n"
	  "    print('END', flush=True); time.sleep(100)\n"
	  "alpha()\n",
	  true },
	{ "php", "work.php",
	  "<?php\n"
	  "function alpha() { echo \"END\\n\"; sleep(100); }\n"
	  "alpha();\n",
	  true },
	{ "ruby", "work.rb",
	  "def alpha\n"
	  "  puts 'END'; $stdout.flush; sleep 100\n"
	  "end\n"
	  "alpha\n",
	  true },
	{ "perl", "work.pl",
	  "sub alpha { $| = 1; print \"END\\n\"; sleep 100; return 1 }\n"
	  "alpha();\n",
	  true },
	{ "node", "work.mjs",
	  "function alpha() {\n"
	  "  process.stdout.write('END\\n');\n"
	  "  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n"
	  "}\n"
	  "alpha();\n",
	  true },
	{ "java", "Work.java",
	  "class Work {\n"
	  "  static void alpha() throws Exception {\n"
	  "    System.out.println(\"END\"); Thread.sleep(100000);\n"
	  "  }\n"
	  "  public static void main(String[] words) throws Exception { alpha(); }\n"
	  "}\n",
	  false },
};

/* The frame of the function alpha on the stack; FRAME_NONE: it is not there. */
static uint32_t find_alpha(const struct told_native *native)
{
	for (size_t i = 0; i < native->program.n; i++) {
		uint32_t frame = native->program.frames[i].frame;

		if (strstr(frames_get(native->frames, frame)->name, "alpha"))
			return frame;
	}
	return FRAME_NONE;
}

/* Looks at THREAD until it has come to alpha. */
static uint32_t await_alpha(struct told_native *native, const struct live_process *live,
			    pid_t thread)
{
	uint32_t frame = FRAME_NONE;

	for (unsigned i = 0; i < TOLD_LOOKS && frame == FRAME_NONE; i++) {
		usleep(i ? 50000 : 0);
		if (told_native_look(native, live, thread))
			frame = find_alpha(native);
	}
	return frame;
}

/* A sampler that has lost the process's recipe gets it again, but is not asked at each sample. */
static void check_recipe(struct told_native *native, const struct live_process *live,
			 const char *program)
{
	uint64_t tables = sample_get_user_space(native->vcpu);
	struct resolver_counts counts = { 0 };
	struct runtimes_sample sample = { .vcpu = native->vcpu,
					  .stack = &native->stack,
					  .space = native->space,
					  .memory = live->memory,
					  .root = live->root,
					  .time_ns = 1000000000,
					  .counts = &counts };
	struct recipe recipe;

	must(control_create(&sample.control));
	runtimes_begin(native->runtimes, &sample);
	if (counts.recipes) { /* Java and Node.js have none */
		check(control_get_recipe(sample.control, tables, &recipe),
		      "%s: the sampler gets the recipe", program);
		control_set_recipe(sample.control, tables, NULL);
		sample.time_ns += 1000000000;
		runtimes_begin(native->runtimes, &sample);
		check(!control_get_recipe(sample.control, tables, &recipe),
		      "%s: a second later the sampler is not asked", program);
		sample.time_ns += 5000000000;
		runtimes_begin(native->runtimes, &sample);
		check(control_get_recipe(sample.control, tables, &recipe) && counts.recipes == 1,
		      "%s: the sampler gets a lost recipe again", program);
	}
	control_destroy(sample.control);
}

/* Begins samples of processes whose spaces have numbers with the hash of NATIVE's. */
static void begin_others(struct told_native *native, const struct live_process *live)
{
	struct resolver_counts counts = { 0 };
	const struct runtimes_sample sample = { .vcpu = native->vcpu,
						.stack = &native->stack,
						.space = native->space,
						.memory = live->memory,
						.root = live->root,
						.counts = &counts };
	size_t slot = hash_slot(space_generation(native->space), RUNTIMES_MAX_PROCESSES);

	for (unsigned i = 0; i < 3; i++) {
		do
			space_invalidate(native->space);
		while (hash_slot(space_generation(native->space), RUNTIMES_MAX_PROCESSES) != slot);
		runtimes_begin(native->runtimes, &sample);
	}
}

static void check_source(struct live_process *live, const struct language *language,
			 const char *path)
{
	static struct told_native native;
	pid_t thread = language->has_path ? live->pid : told_find_main_thread(live->pid);
	struct runtimes_source source = { 0 };
	uint32_t alpha;

	told_native_init(&native, live);
	alpha = await_alpha(&native, live, thread);
	check_recipe(&native, live, language->program);
	begin_others(&native, live);
	/* What is known of the process's files is read anew, as after it has mapped another one. */
	space_destroy(native.space);
	native.space = live_stack_create_space(live);
	check(runtimes_find_source(native.runtimes, alpha, &source),
	      "%s: the file of a function is found", language->program);
	check(strcmp(source.path, language->has_path ? path : language->file) == 0,
	      "%s: its path, as the program has it: %s", language->program, source.path);
	check(source.tgid == (uint32_t)live->pid, "%s: its process", language->program);
	check(!runtimes_find_source(native.runtimes, FRAME_NONE, &source),
	      "%s: another frame has no file", language->program);
	runtimes_forget(native.runtimes);
	check(!runtimes_find_source(native.runtimes, alpha, &source),
	      "%s: no file of a guest that is another one now", language->program);
	told_native_deinit(&native);
}

static void try_language(const struct language *language)
{
	char path[256], told[64];
	char *const argv[] = { (char *)language->program, path, NULL };
	struct live_process live;
	FILE *file;

	if (!told_is_installed(language->program))
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, language->file);
	file = fopen(path, "we");
	if (!file || fputs(language->text, file) < 0 || fclose(file))
		abort();
	if (!told_start(&live, argv, told, sizeof(told)))
		return;
	check_source(&live, language, path);
	live_process_end(&live);
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		try_language(&languages[i]);
	shell("rm -r %s", folder);
	return told_done("python3");
}
