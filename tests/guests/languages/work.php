<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages.

function alpha(int $rounds): int
{
	$sum = 1;
	for ($i = 0; $i < $rounds; $i++)
		$sum = ($sum * 31 + $i) % 65521;
	return $sum;
}

function beta(int $rounds): int
{
	$sum = 2;
	for ($i = 0; $i < $rounds; $i++)
		$sum = ($sum * 31 + $i) % 65521;
	return $sum;
}

function gamma(int $rounds): int
{
	$sum = 3;
	for ($i = 0; $i < $rounds; $i++)
		$sum = ($sum * 31 + $i) % 65521;
	return $sum;
}

function cycle(int $unit): int
{
	return alpha(6 * $unit) + beta(3 * $unit) + gamma($unit);
}

while (true)
	cycle(10000);
