// SPDX-License-Identifier: GPL-2.0-or-later
// alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages.
'use strict';

function alpha(rounds) {
	let sum = 1;
	for (let i = 0; i < rounds; i++)
		sum = (sum * 31 + i) % 65521;
	return sum;
}

function beta(rounds) {
	let sum = 2;
	for (let i = 0; i < rounds; i++)
		sum = (sum * 31 + i) % 65521;
	return sum;
}

function gamma(rounds) {
	let sum = 3;
	for (let i = 0; i < rounds; i++)
		sum = (sum * 31 + i) % 65521;
	return sum;
}

function cycle(unit) {
	return alpha(6 * unit) + beta(3 * unit) + gamma(unit);
}

// A compiler must not leave out what nobody reads.
let total = 0;
while (total >= 0)
	total = cycle(100000);
