// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the formats that xtop writes into one shape, so that their shares can be compared:
// { stacks: [{ frames: [outermost ..], weight }], processes: [...] }. pprof is decoded by npm's
// pprof-format; folded stacks and perf script are lines of text; the others are JSON.
"use strict";
const fs = require("fs"), zlib = require("zlib");

exports.folded = function (path) {
	const stacks = fs.readFileSync(path, "utf8").trimEnd().split("\n").map(line => {
		const at = line.lastIndexOf(" ");
		return { frames: line.slice(0, at).split(";"), weight: Number(line.slice(at + 1)) };
	});
	return { stacks };
};

exports.decode_pprof = function (path) {
	const { Profile } = require("pprof-format");
	return Profile.decode(zlib.gunzipSync(fs.readFileSync(path)));
};

exports.pprof = function (path) {
	const profile = exports.decode_pprof(path);
	const text = i => profile.stringTable.strings[Number(i)];
	const name = new Map(profile.function.map(f => [Number(f.id), text(f.name)]));
	const location = new Map(profile.location.map(l =>
		[Number(l.id), l.line.map(line => name.get(Number(line.functionId)))]));
	const stacks = profile.sample.map(sample => {
		const labels = sample.label.map(l => text(l.str));
		const frames = sample.locationId.flatMap(id => location.get(Number(id))).reverse();
		return { frames: labels.concat(frames), weight: Number(sample.value[1]) };
	});
	return { stacks, notes: profile.comment.map(text) };
};

exports.speedscope = function (path) {
	const file = JSON.parse(fs.readFileSync(path, "utf8")), profile = file.profiles[0];
	const stacks = profile.samples.map((sample, i) => ({
		frames: sample.map(f => file.shared.frames[f].name), weight: profile.weights[i],
	}));
	return { stacks, notes: file.notes };
};

// As stackcollapse-perf.pl, this takes the entries of one event.
exports.perf = function (path, event = "cpu-clock") {
	const stacks = [], notes = [];
	let stack = null;
	for (const line of fs.readFileSync(path, "utf8").split("\n")) {
		const head = /^(.*) \d+\/\d+ \[\d+\] \d+\.\d{6}: (\d+) (\S+):$/.exec(line);
		const frame = /^\t *[0-9a-f]+ (.*) \(.*\)$/.exec(line);
		if (line.startsWith("#"))
			notes.push(line.slice(2));
		else if (head)
			stack = { frames: [], weight: Number(head[2]), comm: head[1], event: head[3] };
		else if (frame)
			stack.frames.unshift(frame[1].replace(/\+0x0$/, ""));
		else if (line === "" && stack) {
			stack.frames.unshift(stack.comm);
			if (stack.event === event)
				stacks.push(stack);
			stack = null;
		}
	}
	return { stacks, notes };
};

// The profile that the script of an SVG or HTML file draws.
exports.picture = function (path) {
	const text = fs.readFileSync(path, "utf8");
	const data = JSON.parse(/^const profile = (.*);$/m.exec(text)[1]);
	const stacks = [], open = [];
	for (let i = 0; i < data.depth.length; i++) {
		open.length = data.depth[i];
		open.push(data.frames[data.frame[i]][0]);
		if (data.self[i] > 0)
			stacks.push({ frames: open.slice(1), weight: data.self[i] });
	}
	const notes = [...text.matchAll(/^<li>(.*)<\/li>$/mg)].map(m => m[1])
		.concat((/<desc>\n([^]*?)<\/desc>/.exec(text) || ["", ""])[1].split("\n"));
	return { stacks, notes, data };
};

// Map of name -> [self, children], in percent. Recursion counts once.
exports.shares = function (profile) {
	const shares = new Map();
	let whole = 0;
	for (const { frames, weight } of profile.stacks) {
		whole += weight;
		for (const name of new Set(frames)) {
			if (!shares.has(name))
				shares.set(name, [0, 0]);
			shares.get(name)[1] += weight;
		}
		shares.get(frames[frames.length - 1])[0] += weight;
	}
	for (const share of shares.values()) {
		share[0] *= 100 / whole;
		share[1] *= 100 / whole;
	}
	return shares;
};

// What tests/readers/profiles says they are.
exports.expected = function (path) {
	return new Map(fs.readFileSync(path, "utf8").trimEnd().split("\n").map(line => {
		const [self, children, ...name] = line.split("\t");
		return [name.join("\t"), [Number(self), Number(children)]];
	}));
};
