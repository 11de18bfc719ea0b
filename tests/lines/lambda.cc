/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program for tests/elf/test_elf_lines: a function within a function. The DWARF of the lambda's
 * operator() lies in that of `around`.
 */
extern "C" unsigned around(unsigned x)
{
	unsigned sum = x;
	auto add = [&](unsigned y) { sum += y * 3; };

	add(x);
	add(x + 1);
	return sum;
}

int main(int argc, char **)
{
	return (int)around((unsigned)argc);
}
