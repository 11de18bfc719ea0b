/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of PHP programs, as xtop reads them in the memory of real processes, against what the
 * program itself says of its stack. For each version of PHP that this machine has; TRIED_PROGRAM
 * names one more, as words of a command.
 */
#include "config.h"

#include "tests/language/told_stack.h"

/*
 * A method that calls itself, a static one, closures, a generator, a function that array_map()
 * calls, and namespaces. debug_backtrace() does not have sleep() and the file's own code.
 */
static const char program[] =
	"namespace Shop;"
	"function tell() {"
	"    echo \"[php] sleep\\n\";"
	"    foreach (array_slice(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), 1) as $frame)"
	"        echo '[php] ', isset($frame['class']) ? $frame['class'] . '::' : '',"
	"            $frame['function'], \"\\n\";"
	"    echo \"[php] <main>\\nEND\\n\";"
	"}"
	"function innermost() { tell(); sleep(100); }"
	"class Third {"
	"    function gamma($n) {"
	"        $closure = function () { innermost(); };"
	"        return $n ? $this->gamma($n - 1) : $closure();"
	"    }"
	"    static function start($x) { (new Third)->gamma(2); }"
	"}"
	"function generate() { yield Third::start(1); }"
	"function callback($x) { foreach (generate() as $y) {} }"
	"function run() { array_map('Shop\\callback', [1]); }"
	"run();";

int main(void)
{
	static const char *const versions[] = { "php",    "php7.4", "php8.0", "php8.1",
						"php8.2", "php8.3", "php8.4" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *const argv[] = { (char *)versions[i], (char *)"-r", (char *)program, NULL };

		told_check_program(argv, versions[i]);
	}
	return told_done("php");
}
