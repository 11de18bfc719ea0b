/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Python programs, as xtop reads them in the memory of real processes, against what
 * the program itself says of its stack. For each version of CPython that this machine has.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/support/live_process.h"
#include "tests/support/tap.h"

#define N_WORDS ((SAMPLE_STACK_LIMIT_BYTES + 4096) / sizeof(uint64_t))

/*
 * The program prints its stack, innermost function first, and waits below time.sleep(). It has a
 * method, a nested function, a generator, a coroutine, a sort that calls back from C, a name that is
 * not ASCII, and a long one.
 */
static const char program[] =
	"import sys, time\n"
	"def tell():\n"
	"    frame = sys._getframe(1)\n"
	"    while frame:\n"
	"        code = frame.f_code\n"
	"        name = code.co_qualname if hasattr(code, 'co_qualname') else code.co_name\n"
	"        print('[py]', name, code.co_filename.split('/')[-1], code.co_firstlineno)\n"
	"        frame = frame.f_back\n"
	"    print('END')\n"
	"    sys.stdout.flush()\n"
	"def innermost():\n"
	"    tell()\n"
	"    time.sleep(100)\n"
	"class Shop:\n"
	"    def total(self, n):\n"
	"        def nested():\n"
	"            return innermost()\n"
	"        return nested() if n == 0 else self.total(n - 1)\n"
	"def generate():\n"
	"    yield Shop().total(3)\n"
	"def \u00fcberpr\u00fcfen_\u6f22(x):\n"
	"    return next(generate())\n"
	"def by_sort():\n"
	"    return sorted([1], key=\u00fcberpr\u00fcfen_\u6f22)\n"
	"async def coroutine():\n"
	"    return by_sort()\n"
	"def run():\n"
	"    try:\n"
	"        coroutine().send(None)\n"
	"    except StopIteration:\n"
	"        pass\n"
	"run()\n";

static void check_stack(const struct live_process *live, const char *version, char *told)
{
	struct runtime_process process = { .runtime = live->runtime,
					   .bias = live->bias,
					   .memory = live->memory,
					   .root = live->root };
	static uint64_t buffer[N_WORDS];
	static struct runtime_frame frames[RUNTIME_MAX_FRAMES];
	struct recipe recipe;
	char seen[8192] = "";
	size_t n, length = 0;

	if (!check(live->runtime, "%s: its program or a library has the runtime", version))
		return;
	if (!check(runtime_find_recipe(&process, live->thread_pointer, &recipe),
		   "%s: the thread has a recipe", version))
		return;
	check(recipe_check(&recipe), "%s: the sampler would follow the recipe", version);
	n = runtime_read_frames(&process, live_process_copy(live, &recipe, buffer), frames);
	for (size_t i = 0; i < n; i++) {
		struct runtime_name name = { .line = 0 };
		uint64_t word;

		check(runtime_check_code(&process, &frames[i], &word) &&
			      runtime_read_name(&process, &frames[i], &name),
		      "%s: frame %zu has a name: %s", version, i, name.function);
		length += (size_t)snprintf(seen + length, sizeof(seen) - length, "%s %s %u\n",
					   name.function, name.file, name.line);
	}
	check(n > 0 && frames[n - 1].outermost, "%s: the outermost frame is an entry", version);
	if (!check(strcmp(seen, told) == 0, "%s: all %zu functions are the program's", version, n))
		printf("# seen:\n%s# told:\n%s", seen, told);
}

static void check_version(const char *version)
{
	char *const argv[] = { (char *)version, (char *)"-c", (char *)program, NULL };
	struct live_process live;
	char told[8192];

	if (!live_process_start(&live, argv))
		return;
	if (live_process_await(&live, told, sizeof(told)))
		check_stack(&live, version, told);
	else
		printf("# %s: not on this machine\n", version);
	live_process_end(&live);
}

int main(void)
{
	static const char *const versions[] = { "python3",    "python3.6",  "python3.7",
						"python3.8",  "python3.9",  "python3.10",
						"python3.11", "python3.12", "python3.13" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check_version(versions[i]);
	check(tap_points > 1, "at least one version of Python was tried");
	return tap_done();
}
