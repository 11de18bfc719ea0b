// SPDX-License-Identifier: GPL-2.0-or-later
// node go_tops.js XTOP FOLDER: holds xtop's table of each FOLDER/go-*.pb.gz against
// `go tool pprof -top`, function by function.
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs"), path = require("path");
const { point, done } = require("./tap.js");
const [xtop, folder] = process.argv.slice(2);

function run(program, ...args) {
	return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28,
		stdio: ["ignore", "pipe", "pipe"] });
}

// pprof prints 12.34%, but from 99.95 on 100%, and two digits below 1.
function within(text, got) {
	const want = parseFloat(text);
	return Math.abs(want - got) <= (want >= 99.95 ? 0.06 : 0.0101);
}

// { name: [flat%, cum%] }: "   0.60s 39.22% 39.22%      0.61s 39.87%  main.hash (inline)"
function pprof_top(file) {
	const top = new Map();
	for (const line of run("go", "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=1000000",
			file).split("\n")) {
		const row = /^ *\S+ +(\S+)% +\S+% +\S+ +(\S+)% +(.+?)( \((partial-)?inline\))?$/.exec(line);
		if (row)
			top.set(row[3], [row[1], row[2]]);
	}
	return top;
}

function xtop_top(file) {
	const top = new Map();
	for (const row of JSON.parse(run(xtop, "-r", file, "-b", "--json")).functions) {
		if (top.has(row.symbol))
			throw new Error(row.symbol + " has two rows");
		top.set(row.symbol, [row.self, row.children]);
	}
	return top;
}

const files = fs.readdirSync(folder).filter(name => /^go-.*\.pb\.gz$/.test(name)).sort();
point(files.length === 6, "Go's runtime wrote " + files.join(", "));
for (const name of files) {
	const file = path.join(folder, name), want = pprof_top(file), got = xtop_top(file);
	const wrong = [];
	for (const [symbol, [flat, cum]] of want) {
		const row = got.get(symbol);
		if (!row || !within(flat, row[0]) || !within(cum, row[1]))
			wrong.push(symbol + ": pprof " + flat + " " + cum + ", xtop " + row);
	}
	for (const symbol of got.keys())
		if (!want.has(symbol))
			wrong.push(symbol + ": only in xtop");
	point(want.size >= 2 && !wrong.length, name + ": the same " + want.size +
		" functions with the same shares as in go tool pprof -top", wrong.join("\n"));
}
const cpu = xtop_top(path.join(folder, "go-cpu.pb.gz"));
for (const name of ["main.hash", "main.fib", "main.order"])
	point(cpu.has(name) && cpu.get(name)[1] > 5, "CPU: " + name + " has " + cpu.get(name));
const heap = xtop_top(path.join(folder, "go-heap.pb.gz"));
point(heap.has("main.keep") && heap.get("main.keep")[0] > 50, "heap: main.keep has most bytes in use");
done();
