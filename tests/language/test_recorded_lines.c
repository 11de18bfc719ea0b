/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording needs for the lines of a program's functions: it is read when a function is found,
 * as the guest may be gone later. A program in each language that this machine has waits at the end of
 * a function whose table of lines takes several pages. Then its memory has only those pages that
 * were read; all others are zeros.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "tests/language/told_native.h"
#include "tests/support/shell.h"

#define STATEMENTS 3000

static char folder[] = "/tmp/test_recorded_lines.XXXXXX";

static const struct language {
	const char *program, *file, *before, *statement, *after;
	uint32_t line; /* the waiting statement's, without those of STATEMENTS */
} languages[] = {
	{ "python3", "work.py", "import time\ndef alpha(x):\n", "    x += len(str(x))\n",
	  "    print('END', flush=True)\n    time.sleep(100)\nalpha(1)\n", 4 },
	{ "php", "work.php", "<?php\nfunction alpha($x) {\n", "  $x += strlen($x);\n",
	  "  echo \"END\\n\";\n  sleep(100);\n}\nalpha(1);\n", 4 },
	{ "ruby", "work.rb", "def alpha(x)\n", "  x += x.to_s.size\n",
	  "  puts 'END'; $stdout.flush\n  sleep 100\nend\nalpha 1\n", 3 },
	{ "perl", "work.pl", "sub alpha {\n  my $x = shift;\n", "  $x += length $x;\n",
	  "  $| = 1; print \"END\\n\";\n  sleep 100;\n}\nalpha(1);\n", 4 },
};

static void write_program(const struct language *language, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		abort();
	fputs(language->before, file);
	for (unsigned i = 0; i < STATEMENTS; i++)
		fputs(language->statement, file);
	fputs(language->after, file);
	fclose(file);
}

/* The line of the function alpha that the stopped thread executes. */
static uint32_t read_line(const struct told_native *native, const struct live_process *live)
{
	static struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct runtime_process process = native->running;
	struct recipe recipe;
	size_t n = 0;

	if (runtime_find_recipe(&process, live->thread_pointer, &recipe))
		n = runtime_follow_frames(&process, &recipe, live->thread_pointer, found);
	for (size_t i = 0; i < n && i < native->program.n; i++)
		if (strstr(frames_get(native->frames, native->program.frames[i].frame)->name,
			   "alpha"))
			return runtime_read_line(&process, &found[i]);
	return 0;
}

static void check_lines(struct live_process *live, const struct language *language)
{
	static struct told_native native;

	live->kept_fd = memfd_create("kept", MFD_CLOEXEC);
	told_native_init(&native, live);
	runtimes_destroy(native.runtimes);
	must(runtimes_create(native.frames, RUNTIMES_READ_LINES, &native.runtimes));
	check(told_native_look(&native, live, live->pid), "%s: the thread is looked at",
	      language->program);
	close(live->memory_fd);
	live->memory_fd = live->kept_fd;
	live->kept_fd = -1;
	memory_refresh(live->memory);
	check_u64(read_line(&native, live), STATEMENTS + language->line,
		  "the line comes from what was read before");
	for (size_t i = 0; i < native.program.n; i++)
		check(!frames_get(native.frames, native.program.frames[i].frame)->line_file,
		      "%s: no line is a frame", language->program);
	told_native_deinit(&native);
}

static void try_language(const struct language *language)
{
	char path[256], told[64];
	char *const argv[] = { (char *)language->program, path, NULL };
	struct live_process live;

	if (!told_is_installed(language->program))
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, language->file);
	write_program(language, path);
	if (!told_start(&live, argv, told, sizeof(told)))
		return;
	check_lines(&live, language);
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
