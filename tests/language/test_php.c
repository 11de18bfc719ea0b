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
 * calls, namespaces, and a fiber where PHP has them. debug_backtrace() does not have sleep(), the
 * fiber's first frame and the file's own code.
 */
static const char program[] =
	"namespace Shop;\n"
	"function tell_line($callee) {\n"
	"    echo isset($callee['line']) ? \" Command line code * {$callee['line']}\\n\" : \"\\n\";\n"
	"}\n"
	"function tell() {\n"
	"    echo \"[php] sleep\\n\";\n"
	"    $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);\n"
	"    foreach (array_slice($frames, 1) as $i => $frame) {\n"
	"        if (($frame['class'] ?? '') === 'Fiber') echo \"[php] <fiber>\\n\";\n"
	"        echo '[php] ', isset($frame['class']) ? $frame['class'] . '::' : '',\n"
	"            $frame['function'];\n"
	"        tell_line($frames[$i]);\n"
	"    }\n"
	"    echo '[php] <main>';\n"
	"    tell_line(end($frames));\n"
	"    echo \"END\\n\";\n"
	"}\n"
	"function innermost() {\n"
	"    tell(); sleep(100);\n"
	"}\n"
	"class Third {\n"
	"    function gamma($n) {\n"
	"        $closure = function () {\n"
	"            innermost(); };\n"
	"        return $n ? $this->gamma($n - 1)\n"
	"            : $closure();\n"
	"    }\n"
	"    static function start($x) {\n"
	"        (new Third)->gamma(2);\n"
	"    }\n"
	"}\n"
	"function generate() {\n"
	"    yield Third::start(1);\n"
	"}\n"
	"function callback($x) {\n"
	"    foreach (generate() as $y) {}\n"
	"}\n"
	"function run() {\n"
	"    array_map('Shop\\callback', [1]);\n"
	"}\n"
	"class_exists('Fiber') ? (new \\Fiber('Shop\\run'))->start() : run();";

int main(void)
{
	static const char *const versions[] = { "php",    "php7.4", "php8.0",     "php8.1",
						"php8.2", "php8.3", "php8.2-zts", "php8.4" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *const argv[] = { (char *)versions[i], (char *)"-r", (char *)program, NULL };

		told_check_program(argv, versions[i]);
	}
	return told_done("php");
}
