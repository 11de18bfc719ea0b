// SPDX-License-Identifier: GPL-2.0-or-later
// TAP for the tests of tests/readers.
"use strict";
let points = 0, failures = 0;

exports.point = function (ok, text, detail) {
	points++;
	console.log((ok ? "ok " : "not ok ") + points + " - " + text);
	if (!ok) {
		failures++;
		if (detail !== undefined)
			console.log("# " + String(detail).split("\n").join("\n# "));
	}
};

exports.near = function (got, want, within, text) {
	exports.point(Math.abs(got - want) <= within, text + ": " + got.toFixed(2),
		"expected " + want.toFixed(4) + " within " + within);
};

exports.done = function () {
	console.log("1.." + points);
	process.exitCode = failures ? 1 : 0;
};
