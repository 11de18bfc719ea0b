/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Python programs, as xtop reads them in the memory of real processes, against what
 * the program itself says of its stack. For each version of CPython that this machine has.
 */
#include "config.h"

#include "tests/language/told_stack.h"

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
	"        print('[py]', name, code.co_filename.split('/')[-1], code.co_firstlineno,\n"
	"              frame.f_lineno)\n"
	"        frame = frame.f_back\n"
	"    print('END')\n"
	"    sys.stdout.flush()\n"
	"def innermost():\n"
	"    tell(); time.sleep(100)\n"
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

int main(void)
{
	static const char *const versions[] = { "python3",    "python3.6",  "python3.7",
						"python3.8",  "python3.9",  "python3.10",
						"python3.11", "python3.12", "python3.13",
						"python3.14" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *const argv[] = { (char *)versions[i], (char *)"-c", (char *)program, NULL };

		told_check_program(argv, versions[i]);
	}
	return told_done("python3");
}
