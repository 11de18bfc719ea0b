// SPDX-License-Identifier: GPL-2.0-or-later
// node shares.js SMALL MADE-UP: reads all formats back and holds their shares against what
// tests/readers/profiles says; and runs Go's pprof and the Firefox profiler's command line on them.
// SMALL: a folder by tests/readers/profiles. MADE-UP: a folder with the made-up recording as made-up.*
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs"), path = require("path");
const { point, near, done } = require("./tap.js");
const read = require("./profile.js");
const [small, made] = process.argv.slice(2);
const POINTS = 0.01;

function run(program, ...args) {
	return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28,
		stdio: ["ignore", "pipe", "pipe"] });
}

// --- every format has the same shares ---------------------------------------------------------

const files = { folded: "p.folded", pprof: "p.pb.gz", speedscope: "p.json", perf: "p.perf",
	svg: "p.svg", html: "p.html" };
const expected = read.expected(path.join(small, "shares.tsv"));
const profiles = {};

for (const format in files) {
	const reader = read[format] || read.picture;
	const profile = profiles[format] = reader(path.join(small, files[format]));
	const shares = read.shares(profile);
	let most = 0, missing = [];
	for (const [name, want] of expected) {
		// Where ";" ends a frame, it may not be in a name.
		const got = shares.get(format === "folded" ? name.replaceAll(";", "_") : name);
		if (!got)
			missing.push(name);
		else
			most = Math.max(most, Math.abs(got[0] - want[0]), Math.abs(got[1] - want[1]));
	}
	point(missing.length === 0, format + ": has all " + expected.size + " functions",
		missing.join("\n"));
	point(most <= POINTS, format + ": shares as expected, the largest difference " +
		most.toFixed(5) + " points");
	for (const process of ["process 0", "process 1"])
		point(format === "perf" || shares.has(process), format + ": has '" + process + "'");
	if (format !== "folded")
		point((profile.notes || []).some(line => /^lost: 17 ticks/.test(line)),
			format + ": says what was lost", (profile.notes || []).join("\n"));
}
point(profiles.perf.stacks.some(s => s.frames[0] === "process 0") &&
	profiles.perf.stacks.some(s => /^thread 1-/.test(s.frames[0])), "perf: processes and threads");

// --- what pprof has besides -------------------------------------------------------------------

const pprof = read.decode_pprof(path.join(small, files.pprof));
const text = i => pprof.stringTable.strings[Number(i)];
const labels = new Set(pprof.sample.flatMap(s => s.label.map(l => text(l.key) + "=" + text(l.str))));
point(labels.has("process=process 0") && labels.has("thread=thread 1-0"),
	"pprof: labels of process and thread", [...labels].join("\n"));
point(pprof.mapping.some(m => text(m.filename) === "nginx" && text(m.buildId) === "03".repeat(20)),
	"pprof: the build-id of a file");
point(pprof.mapping.some(m => text(m.filename) === "libc.so.6" && text(m.buildId) === ""),
	"pprof: no build-id where none is known");
point(Number(pprof.timeNanos) === 1700000000000000000 && Number(pprof.durationNanos) === 60000000000,
	"pprof: time and duration");

// --- speedscope's own schema ------------------------------------------------------------------

const Ajv = require("ajv");
const release = path.dirname(require.resolve("speedscope/package.json")) + "/dist/release";
const schema = JSON.parse(fs.readFileSync(release + "/file-format-schema.json", "utf8"));
delete schema.$schema; // draft-07, which is what Ajv takes
const validate = new Ajv({ strict: false }).compile(schema);
const speedscope = JSON.parse(fs.readFileSync(path.join(small, files.speedscope), "utf8"));
point(validate(speedscope), "speedscope: as its schema says", JSON.stringify(validate.errors));
point(speedscope.shared.frames.some(f => f.file === "nginx" && f.build_id === "03".repeat(20)),
	"speedscope: file and build-id");

// --- Go's pprof -------------------------------------------------------------------------------

const everything = ["-unit=ns", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"];
const pb = path.join(small, files.pprof);
let most = 0, rows = 0, whole = 0;

for (const stack of profiles.pprof.stacks)
	whole += stack.weight;
for (const line of run("go", "tool", "pprof", "-top", ...everything, pb).split("\n")) {
	const row = /^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +(\d+)(?:ns)? +[\d.]+%  (.*)$/.exec(line);
	const want = row && expected.get(row[3]);
	if (!want)
		continue;
	rows++;
	most = Math.max(most, Math.abs(100 * row[1] / whole - want[0]),
		Math.abs(100 * row[2] / whole - want[1]));
}
// Its labels are not quoted for a terminal, so names are as they are; it drops <...> of C++ templates.
point(rows >= expected.size - 6, "go tool pprof -top: " + rows + " functions of " + expected.size);
point(most <= POINTS, "go tool pprof -top: the same shares, the largest difference " +
	most.toFixed(5) + " points");

// The callers of a function with the time that it has from each. A caller counts once a stack.
function find_callers(top) {
	const callers = new Map();
	for (const { frames, weight } of profiles.pprof.stacks) {
		const own = frames.filter(name => !/^(process|thread) /.test(name));
		const before = new Set(own.filter((name, i) => own[i + 1] === top));
		for (const name of before)
			callers.set(name, (callers.get(name) || 0) + weight);
	}
	return callers;
}
// The function with the largest share that has several callers and never calls itself.
const top = [...expected].filter(([name]) => /^function_\d+_of_the_module$/.test(name))
	.sort((a, b) => b[1][1] - a[1][1]).map(([name]) => name)
	.find(name => find_callers(name).size > 1 && !find_callers(name).has(name));
const callers = find_callers(top);
const tree = run("go", "tool", "pprof", "-tree", ...everything, pb).split(/\n-+\+-+ *\n/)
	.find(part => new RegExp("% +\\| " + top + "$", "m").test(part)) || "";
const above = tree.split("\n");
above.length = above.findIndex(line => /^ *\d+(ns)? +[\d.]+% +[\d.]+%/.test(line));
const said = new Map(above.map(line => /^ *(\d+)(?:ns)? +[\d.]+% \| {3}(.*)$/.exec(line))
	.filter(Boolean).map(match => [match[2], Number(match[1])]));
point(callers.size > 1 && callers.size === said.size &&
	[...callers].every(([name, ns]) => said.get(name) === ns), "go tool pprof -tree: the callers of " + top + " with their times",
	tree + "\n" + [...callers].join("\n"));

const traces = run("go", "tool", "pprof", "-traces", "-unit=ns", pb);
let sum = 0;
for (const match of traces.matchAll(/^ *(\d+)ns +\S/mg))
	sum += Number(match[1]);
point(sum === whole, "go tool pprof -traces: all of the time", sum + " of " + whole);
point(/^ +process: +process 0$/m.test(traces),
	"go tool pprof -traces: labels", traces.slice(0, 600));

// --- samples and waits in one file, with source lines -----------------------------------------

const both = path.join(small, "both.pb.gz");
const top_of = (...how) => run("go", "tool", "pprof", "-top", ...everything, ...how, both);
const waiting = top_of("-sample_index=wait", "-lines");
point(/^ *3000000000(ns)? +75\.00% .* wait_for_lock lock\.c:77$/m.test(waiting) &&
	/^ *1000000000(ns)? +25\.00% .* submit \(inline\)$/m.test(waiting) &&
	/^ *0 +0% .* 1000000000(ns)? +25\.00% +wait_for_disk$/m.test(waiting) &&
	/ function_8_of_the_module module\.c:12$/m.test(waiting),
	"go tool pprof -sample_index=wait -lines: the waits, with lines", waiting);
const rows_of = text => text.split("\n").filter(line => /^ *\d+(ns)? +[\d.]+% /.test(line))
	.map(line => line.replace(/ module\.c$/, "")).filter(line => !/wait_for|submit/.test(line)).sort().join("\n");
point(rows_of(top_of()) === rows_of(run("go", "tool", "pprof", "-top", ...everything, pb)),
	"go tool pprof: without -sample_index the samples, as in a file without waits", top_of());
const two = JSON.parse(fs.readFileSync(path.join(small, "both.json"), "utf8"));
const sum_of = profile => profile.weights.reduce((a, b) => a + b, 0);
point(validate(two), "speedscope: two profiles as its schema says", JSON.stringify(validate.errors));
point(two.profiles.length === 2 && two.profiles[1].name === "web<01>: waits" &&
	sum_of(two.profiles[0]) === sum_of(speedscope.profiles[0]) && sum_of(two.profiles[1]) === 4e9,
	"speedscope: the times of samples and waits", two.profiles.map(sum_of).join(" "));
point(two.shared.frames.some(f => f.name === "wait_for_lock" && f.file === "lock.c" && f.line === 77),
	"speedscope: a source line");

const samples_of = path => JSON.stringify(read.perf(path).stacks);
const perf_waits = read.perf(path.join(small, "both.perf"), "wait").stacks;
point(samples_of(path.join(small, "both.perf")) === samples_of(path.join(small, files.perf)),
	"perf: the first event is that of the samples, as in a file without waits");
point(perf_waits.length === 2 && perf_waits.reduce((sum, s) => sum + s.weight, 0) === 4e9 &&
	perf_waits.every(s => s.comm === "process 0"), "perf: another event has the waits", JSON.stringify(perf_waits));

// --- the recording ----------------------------------------------------------------------------

const table = read.shares(read.folded(path.join(made, "made-up.folded")));
for (const [format, file] of [["pprof", "made-up.pb.gz"], ["speedscope", "made-up.json"],
	["perf", "made-up.perf"], ["svg", "made-up.svg"], ["html", "made-up.html"]]) {
	const shares = read.shares((read[format] || read.picture)(path.join(made, file)));
	const off = [...table].filter(([name, want]) => !shares.has(name) ||
		Math.abs(shares.get(name)[0] - want[0]) > POINTS ||
		Math.abs(shares.get(name)[1] - want[1]) > POINTS);
	point(off.length === 0, "the recording as " + format + ": the shares of its folded stacks",
		off.join("\n"));
}
const entries = read.perf(path.join(made, "made-up.perf")).stacks.length;
point(entries === 580, "perf: one entry for each of the 580 samples of the recording", entries);

// --- the Firefox profiler ---------------------------------------------------------------------

const cli = require.resolve("@firefox-devtools/profiler-cli/package.json").replace(/package\.json$/,
	JSON.parse(fs.readFileSync(require.resolve("@firefox-devtools/profiler-cli/package.json"), "utf8"))
		.bin["profiler-cli"]);
// The session. Its server gets half a second to start; a busy machine needs longer, so this goes on
// waiting for the same server.
function load(file) {
	try {
		return /^Session started: (\S+)/m.exec(run("node", cli, "load", file))[1];
	} catch (error) {
		const late = /(\w+)\.log\.[^]*may still be running/.exec(error.message);
		if (!late)
			throw error;
		return late[1];
	}
}

function ask(...question) {
	for (let tries = 1; ; tries++) {
		try {
			return JSON.parse(run("node", cli, ...question, "--json", "--session", session));
		} catch (error) {
			if (tries === 30)
				throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); // ms
		}
	}
}

let session;
try {
	session = load(path.join(made, "made-up.perf"));
	const said = ask("thread", "functions", "--limit", "0");
	const off = said.functions.filter(f => {
		const want = table.get(f.name);
		return !want || Math.abs(f.selfPercentage - want[0]) > POINTS ||
			Math.abs(f.totalPercentage - want[1]) > POINTS;
	});
	point(said.functions.length === table.size && off.length === 0,
		"the Firefox profiler: " + said.functions.length + " functions with the same shares",
		JSON.stringify(off, null, 1));
	const kernel = said.functions.find(f => f.name === "hash"),
		program = said.functions.find(f => f.name === "main");
	point(kernel && kernel.library === "[kernel.kallsyms]" && program && program.library === "httpd",
		"the Firefox profiler: the files of code");
	// This reader knows no events, but threads: tasks that wait have some of their own. The first
	// server goes on: while it is told to stop, the next one may find no place for its session.
	session = load(path.join(small, "both.perf"));
	const threads = ask("thread", "list", "--limit", "0").threads;
	const functions_of = handle => ask("thread", "functions", "--limit", "0", "--thread", handle)
		.functions.map(f => f.name).sort();
	const waiting = threads.filter(thread => thread.tid > 4194304);
	point(waiting.length === 1 && threads.length > 1 &&
		functions_of(waiting[0].threadHandle).join() === "function_8_of_the_module,submit (inlined),wait_for_disk,wait_for_lock" &&
		threads.filter(thread => thread.tid <= 4194304)
			.every(thread => !functions_of(thread.threadHandle).some(name => /^wait_for/.test(name))),
		"the Firefox profiler: threads of the waits beside those of the samples", JSON.stringify(threads));
} catch (error) {
	point(false, "the Firefox profiler opens the text of perf script", error.message + error.stderr);
} finally {
	run("node", cli, "stop", "--all");
}
done();
