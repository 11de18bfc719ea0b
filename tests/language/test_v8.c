/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of JavaScript programs, as xtop reads them in the memory of real processes, against what
 * V8 itself says of the program's stack. For each version of Node.js that this machine has.
 */
#include "config.h"

#include "tests/language/told_native.h"

/*
 * The program prints its stack, innermost function first, and waits below Atomics.wait(). It has a
 * method, a closure, a function without a name, one that is named by what it is assigned to, a
 * generator, an asynchronous function, names that are not ASCII, and functions of V8 that call back.
 * A comment tells the line of each function. The argument is how often all of it runs before.
 */
static const char program[] =
	"const fs = require('fs');\n"
	"const lines = process._eval.split('\\n');\n"
	"function tell() {\n"
	"  Error.stackTraceLimit = Infinity;\n"
	"  Error.prepareStackTrace = (error, calls) => calls;\n"
	"  let text = '';\n"
	"  for (const call of new Error().stack.slice(1)) {\n"
	"    if (call.isAsync && call.isAsync()) break;\n"
	"    const name = call.getFunctionName() || '<anonymous>';\n"
	"    const line = lines.findIndex(line => line.includes('/*' + name + '*/')) + 1;\n"
	"    const file = (call.getFileName() || '').split('/').pop();\n"
	"    text += '[js] ' + name + ' ' + file + (file == '[eval]' && line ? ' ' + line : '') + '\\n';\n"
	"  }\n"
	"  fs.writeSync(1, text + 'END\\n');\n"
	"}\n"
	"const words = new Int32Array(new SharedArrayBuffer(4));\n"
	"function /*innermost*/ innermost(last) {\n"
	"  if (last) { tell(); Atomics.wait(words, 0, 0, 100000); }\n"
	"}\n"
	"class Shop {\n"
	"  /*total*/ total(n, last) {\n"
	"    const nested = /*nested*/ () => innermost(last);\n"
	"    return n === 0 ? nested() : this.total(n - 1, last);\n"
	"  }\n"
	"  static make() { return new Shop(); }\n"
	"}\n"
	"const \u00fcberpr\u00fcfen = function (last) { /*\u00fcberpr\u00fcfen*/\n"
	"  return [1].map(() => Shop.make().total(3, last));\n"
	"};\n"
	"function /*\u6f22*/ \u6f22(last) { [2, 1].sort(\n"
	"  function /*compare*/ compare() { \u00fcberpr\u00fcfen(last); last = false; return 1; }); }\n"
	"function* /*generate*/ generate(last) { yield \u6f22(last); }\n"
	"async function /*coroutine*/ coroutine(last) { generate(last).next(); }\n"
	"const object = { inferred: null };\n"
	"object.inferred = function (last) { /*object.inferred*/ coroutine(last); };\n"
	"function /*run*/ run(last) { object.inferred(last); }\n"
	"for (let i = 0; i < +process.argv[1]; i++) run(false);\n"
	"run(true);\n";

static void check_version(const char *node)
{
	char *const argv[] = { (char *)node, (char *)"-e", (char *)program, (char *)"0", NULL };

	told_check_program_by(told_check_native, argv, node);
}

int main(void)
{
	static const char *const versions[] = { "node",   "node12", "node14", "node16",
						"node18", "node20", "node22", "node24" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check_version(versions[i]);
	return told_done("node");
}
