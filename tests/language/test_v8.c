/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of JavaScript programs, as xtop reads them in the memory of real processes, against what
 * V8 itself says of the program's stack. For each version of Node.js that this machine has.
 */
#include "config.h"

#include <glob.h>

#include "tests/language/told_native.h"

/*
 * tell() prints the stack of its caller, innermost function first. A comment in the program tells the
 * line of each function.
 */
#define TELL                                                                                        \
	"const fs = require('fs');\n"                                                               \
	"const lines = process._eval.split('\\n');\n"                                               \
	"const places = {};\n"                                                                     \
	"function tell() {\n"                                                                       \
	"  Error.stackTraceLimit = Infinity;\n"                                                     \
	"  Error.prepareStackTrace = (error, calls) => calls;\n"                                    \
	"  let text = '';\n"                                                                        \
	"  for (const call of new Error().stack.slice(1)) {\n"                                      \
	"    if (call.isAsync && call.isAsync()) break;\n"                                          \
	"    const name = call.getFunctionName() || '<anonymous>';\n"                               \
	"    const file = (call.getFileName() || '').split('/').pop();\n"                           \
	"    const line = places[name] || (file == '[eval]' &&\n"                                   \
	"      lines.findIndex(line => line.includes('/*' + name + '*/')) + 1);\n"                  \
	"    text += '[js] ' + name + ' ' + file + (line ? ' ' + line : '');\n"                     \
	"    text += '\\n';\n"                                                                      \
	"  }\n"                                                                                     \
	"  fs.writeSync(1, text + 'END\\n');\n"                                                     \
	"}\n"                                                                                       \
	"const words = new Int32Array(new SharedArrayBuffer(4));\n"

/*
 * The program waits below Atomics.wait(). It has a method, a closure, a function without a name, one
 * that is named by what it is assigned to, a generator, an asynchronous function, names that are not
 * ASCII, and functions of V8 that call back.
 */
static const char interpreted[] =
	TELL "function /*innermost*/ innermost() {\n"
	     "  tell();\n"
	     "  Atomics.wait(words, 0, 0, 100000);\n"
	     "}\n"
	     "class Shop {\n"
	     "  /*total*/ total(n) {\n"
	     "    const nested = /*nested*/ () => innermost();\n"
	     "    return n === 0 ? nested() : this.total(n - 1);\n"
	     "  }\n"
	     "  static make() { return new Shop(); }\n"
	     "}\n"
	     "const \u00fcberpr\u00fcfen = function () { /*\u00fcberpr\u00fcfen*/\n"
	     "  return [1].map(() => Shop.make().total(3));\n"
	     "};\n"
	     "function /*\u6f22*/ \u6f22() {\n"
	     "  [2, 1].sort(function /*compare*/ compare() { return \u00fcberpr\u00fcfen(); });\n"
	     "}\n"
	     "function* /*generate*/ generate() { yield \u6f22(); }\n"
	     "async function /*coroutine*/ coroutine() { generate().next(); }\n"
	     "const object = { inferred: null };\n"
	     "object.inferred = function () { /*object.inferred*/ coroutine(); };\n"
	     "function /*run*/ run() { object.inferred(); }\n"
	     "run();\n";

/*
 * All functions are compiled before the last call, and put into each other: hook() is too long for
 * that. The loop itself is compiled while it runs.
 */
static const char compiled[] =
	TELL "const last = 300000;\n"
	     "const hook = eval('(function hook(i) {' + 'if (i < 0) i++;'.repeat(200) +\n"
	     "  'if (i === last) { tell(); Atomics.wait(words, 0, 0, 100000); } return i; })');\n"
	     "function /*add*/ add(i) { return hook(i) + 1; }\n"
	     "class Box {\n"
	     "  constructor(value) { this.value = value; }\n"
	     "  /*sum*/ sum(i) { return this.value + add(i) * 2 + this.other(i); }\n"
	     "  /*other*/ other(i) { return i & 1; }\n"
	     "}\n"
	     "const /*arrow*/ arrow = (box, i) => box.other(i) + box.sum(i);\n"
	     "function /*recurse*/ recurse(box, i, n) {\n"
	     "  return n ? recurse(box, i, n - 1) + 1 : arrow(box, i);\n"
	     "}\n"
	     "function /*outer*/ outer(box, i) { return recurse(box, i, 2) + box.other(i); }\n"
	     "const box = new Box(7);\n"
	     "let sum = 0;\n"
	     "for (let i = 0; i <= last; i++) sum += outer(box, i);\n"
	     "fs.writeSync(2, String(sum));\n";

/* Texts of 560,000 and of 1,120,000 characters; one has a character of two bytes. */
static const char large[] =
	TELL "const text = '// a line that says nothing\\n'.repeat(20000), vm = require('vm');\n"
	     "places.late = 20001;\n"
	     "places.later = 40001;\n"
	     "vm.runInThisContext(text + 'function late(go) { go(); }', { filename: 'late.js' });\n"
	     "vm.runInThisContext('/*\u6f22*/' + text + text + 'function later(go) { go(); }',\n"
	     "  { filename: 'later.js' });\n"
	     "later(() => late(() => { tell(); Atomics.wait(words, 0, 0, 100000); }));\n";

/* V8 makes frames of its interpreter from one of compiled code, which had not foreseen the wait. */
static const char remade[] =
	TELL "let waits = false;\n"
	     "function /*innermost*/ innermost() {\n"
	     "  if (!waits) return 1;\n"
	     "  tell();\n"
	     "  Atomics.wait(words, 0, 0, 100000);\n"
	     "}\n"
	     "function /*middle*/ middle() { return innermost() + 1; }\n"
	     "function /*outer*/ outer() { return middle() + 1; }\n"
	     "for (let i = 0; i < 100000; i++) outer();\n"
	     "waits = true;\n"
	     "outer();\n";

/* spin() has the loop, and is put into outer(). The program waits once, and then computes for ever. */
static const char busy[] = "const fs = require('fs');\n"
			   "function spin(n) {\n"
			   "  let sum = 0;\n"
			   "  for (let i = 0; i < n; i++) sum = (sum * 31 + i) % 65521;\n"
			   "  return sum;\n"
			   "}\n"
			   "function outer(n) { return spin(n) + 1; }\n"
			   "let sum = 0;\n"
			   "for (let i = 0; i < 20000; i++) sum += outer(1000);\n"
			   "fs.writeSync(1, 'END\\n');\n"
			   "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);\n"
			   "while (sum) sum = outer(1000000) | 1;\n";

#define LOOKS 50

/* Whether the innermost frame of the stack runs a function that was put into another one. */
static bool has_inlined(const struct told_native *native)
{
	return native->program.n && native->program.counts[0] > 1;
}

static void check_busy(struct live_process *live, const char *version, const char *told)
{
	static const char chain[] = "[js] spin [eval] 2 4\n[js] outer [eval] 7 7\n";
	static struct told_native native;
	unsigned looks = 0, inlined = 0, right = 0;
	char text[8192];

	(void)told;
	told_native_init(&native, live);
	for (unsigned i = 0; i < 40 * LOOKS && looks < LOOKS; i++, usleep(1000)) {
		if (!told_native_look(&native, live, live->pid))
			continue;
		told_native_read_lines(&native);
		told_native_write(&native, "", text, sizeof(text));
		if (!strstr(text, "spin"))
			continue; /* it waits still */
		looks++;
		inlined += has_inlined(&native);
		right += strncmp(text, chain, strlen(chain)) == 0;
	}
	told_native_deinit(&native);
	check(looks == LOOKS, "%s: %u looks", version, looks);
	check(right == looks, "%s: the loop's function is the innermost one %u times", version,
	      right);
	check(inlined >= looks / 2, "%s: it is in its caller's code %u times", version, inlined);
}

/*
 * Threads with a V8 each, which call back from a built-in function, and go on after a wait by a built-in
 * function without a name. Some have V8's own code where compiled code is.
 */
static const char workers[] =
	"const text = `\n"
	"  function spin(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65521; return s; }\n"
	"  function crunch() { return [1, 2].reduce((sum, i) => sum + spin(1000000 + i), 0); }\n"
	"  async function run() { for (let sum = 0;; ) { await null; sum += crunch(); } }\n"
	"  crunch();\n"
	"  require('worker_threads').parentPort.postMessage(0);\n"
	"  run();`;\n"
	"const { Worker } = require('worker_threads');\n"
	"let n = 0;\n"
	"function told() { if (++n == 3) require('fs').writeSync(1, 'END\\n'); }\n"
	"for (let i = 0; i < 3; i++) new Worker(text, { eval: true }).on('message', told);\n"
	"setTimeout(() => {}, 100000);\n";

/* Whether TEXT, the functions of a stack, has run() around crunch() around spin(), and all names. */
static bool is_worker(const char *text)
{
	const char *spin = strstr(text, "[js] spin"), *crunch = strstr(text, "[js] crunch");
	const char *run = strstr(text, "[js] run ");

	return spin && crunch && run && spin < crunch && crunch < run &&
	       !strstr(text, "[interpreted]");
}

static void check_workers(struct live_process *live, const char *version, const char *told)
{
	static struct told_native native;
	unsigned looks = 0, right = 0;
	char path[64], text[8192];
	glob_t tasks;

	(void)told;
	snprintf(path, sizeof(path), "/proc/%d/task/*", live->pid);
	if (!check(glob(path, 0, NULL, &tasks) == 0, "%s: has threads", version))
		return;
	told_native_init(&native, live);
	for (unsigned i = 0; i < LOOKS; i++) {
		for (size_t k = 0; k < tasks.gl_pathc; k++) {
			if (!told_native_look(&native, live,
					      atoi(strrchr(tasks.gl_pathv[k], '/') + 1)))
				continue;
			told_native_read_lines(&native);
			told_native_write(&native, "", text, sizeof(text));
			if (!strstr(text, "[js] spin"))
				continue;
			looks++;
			right += is_worker(text);
		}
	}
	told_native_deinit(&native);
	globfree(&tasks);
	check(looks >= LOOKS, "%s: %u looks", version, looks);
	check(right == looks, "%s: %u stacks are the program's", version, right);
}

#define TEXTS      10
#define TEXT_LINES (1 << 20)

/* Compiled functions that call one another. Each is in the last line of a large text. */
static const char texts[] =
	"function waits() {\n"
	"  require('fs').writeSync(1, 'END\\n');\n"
	"  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n"
	"}\n"
	"const others = [() => 1, () => 2, () => 3, () => 4, () => 5];\n"
	"let next, last = () => next();\n"
	"for (let i = 0; i < 10; i++) {\n"
	"  const f = (0, eval)('\\n'.repeat(1 << 20) + '(function large' + i + '(f) { return f() + 1; })');\n"
	"  const inner = last;\n"
	"  last = new Function('f', 'inner', 'return () => f(inner)')(f, inner);\n"
	"}\n"
	"for (let i = 0; i < 100000; i++) { next = others[i % 5]; last(); }\n"
	"next = waits;\n"
	"last();\n";

/* How many functions of the stack are in the last line of a large text. */
static unsigned count_large(const struct told_native *native)
{
	unsigned n = 0;

	for (size_t i = 0; i < native->program.n; i++)
		n += native->lines[i] == TEXT_LINES + 1 &&
		     strstr(frames_get(native->frames, native->program.frames[i].frame)->name,
			    "large");
	return n;
}

/* Looks at the thread and its lines. Returns how many pages were read. */
static uint64_t count_pages(struct told_native *native, const struct live_process *live)
{
	uint64_t before = memory_counts(live->memory).pages;

	told_native_look(native, live, live->pid);
	told_native_read_lines(native);
	return memory_counts(live->memory).pages - before;
}

/* The text of each function is read once, however many there are. */
static void check_texts(struct live_process *live, const char *version, const char *told)
{
	static struct told_native native;
	uint64_t pages = 0;

	(void)told;
	told_native_init(&native, live);
	for (unsigned i = 0; i < LOOKS && count_large(&native) < TEXTS; i++) {
		usleep(i ? 50000 : 0);
		count_pages(&native, live);
	}
	check_u64(count_large(&native), TEXTS, "lines of functions in large texts");
	pages = count_pages(&native, live);
	check(pages < TEXT_LINES / GUEST_PAGE_SIZE, "%s: %llu pages for lines that are known", version,
	      (unsigned long long)pages);
	told_native_deinit(&native);
}

static bool check_program_by(told_check_fn *check_stack, const char *node, const char *program,
			     const char *label)
{
	char *const argv[] = { (char *)node, (char *)"-e", (char *)program, NULL };
	char name[64];

	if (getenv("XTOP_TAPES") && check_stack == told_check_native)
		check_stack = told_make_native_tape;
	snprintf(name, sizeof(name), "%s, %s", node, label);
	return told_check_program_by(check_stack, argv, name);
}

int main(void)
{
	static const char *const versions[] = { "node",   "node12", "node14", "node16",
						"node18", "node20", "node22", "node24" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (check_program_by(told_check_native, versions[i], interpreted, "interpreted")) {
			check(check_program_by(told_check_native, versions[i], compiled,
					       "compiled") &&
				      check_program_by(told_check_native, versions[i], large,
						       "large") &&
				      check_program_by(told_check_native, versions[i], remade,
						       "remade") &&
				      check_program_by(check_workers, versions[i], workers,
						       "workers") &&
				      check_program_by(check_texts, versions[i], texts, "texts") &&
				      check_program_by(check_busy, versions[i], busy, "busy"),
			      "%s: all programs run", versions[i]);
		}
	return told_done("node");
}
