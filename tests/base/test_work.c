/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user is told who waits for the resolver: the file that is read, and how far. */
#include "config.h"

#include "tests/support/tap.h"

#include "xtop/base/work.h"

#define SECOND 1000000000ULL

static bool always(void *context)
{
	(void)context;
	return true;
}

/* What a user is told AFTER_NS after the last change of what is read. */
static const char *told(struct work *work, uint64_t after_ns)
{
	static char text[WORK_TEXT_BYTES];

	work_describe(work, work->since_ns + after_ns, text);
	return text;
}

static void test_told(void)
{
	struct work work = { .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned looks = 0;

	check_string(told(&work, SECOND), "", "nothing is read");
	work_begin(&work, "libnode.so.115");
	check_string(told(&work, 0), "", "a file that was just begun");
	check_string(told(&work, SECOND), "reading libnode.so.115 …", "a file after a second");
	for (size_t i = 0; i <= 3 * WORK_STEPS; i++)
		looks += work_step(&work, "symbols", i, 4 * WORK_STEPS);
	check_u64(looks, 0, "looks at which the work was over");
	check_string(told(&work, SECOND), "reading libnode.so.115: symbols 75 %",
		     "three of four parts of the symbols are read");
	work_begin(&work, "evil\033[2J;\n");
	check_string(told(&work, SECOND), "reading evil_[2J__ …",
		     "another file, whose name is not clean");
	work_end(&work);
	check_string(told(&work, SECOND), "", "the file was read");
}

static void test_over(void)
{
	struct work work = { .lock = PTHREAD_MUTEX_INITIALIZER };

	work_set_end(&work, always, NULL);
	check(work_step(&work, "symbols", 0, 1), "the work is over at the first step");
	check(!work_step(NULL, "symbols", 0, 1), "work that nobody breaks off");
	work_begin(NULL, "x");
	work_end(NULL);
}

int main(void)
{
	test_told();
	test_over();
	return tap_done();
}
