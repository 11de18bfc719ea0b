// SPDX-License-Identifier: GPL-2.0-or-later
// alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages.
public class Work {
	static int alpha(int rounds) {
		int sum = 1;
		for (int i = 0; i < rounds; i++)
			sum = (sum * 31 + i) % 65521;
		return sum;
	}

	static int beta(int rounds) {
		int sum = 2;
		for (int i = 0; i < rounds; i++)
			sum = (sum * 31 + i) % 65521;
		return sum;
	}

	static int gamma(int rounds) {
		int sum = 3;
		for (int i = 0; i < rounds; i++)
			sum = (sum * 31 + i) % 65521;
		return sum;
	}

	static int cycle(int unit) {
		return alpha(6 * unit) + beta(3 * unit) + gamma(unit);
	}

	// A compiler must not leave out what nobody reads.
	static volatile int total;

	public static void main(String[] args) {
		while (total < 1 << 30)
			total = cycle(100000);
	}
}
