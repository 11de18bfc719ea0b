/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for tests/unwind/steps: exceptions, virtual functions, the library of C++. */
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual int size(int n) const = 0;
};

struct square : shape {
	int size(int n) const override
	{
		if (n > 3)
			throw std::runtime_error("too large");
		return n * n;
	}
};

__attribute__((noinline)) static int measure(const shape &what, int n)
{
	std::string name(static_cast<size_t>(n) + 20, 'x');

	return what.size(n) + static_cast<int>(name.size());
}

int main()
{
	std::vector<std::string> names = { "delta", "alpha", "charlie", "bravo" };
	square what;
	int sum = 0;

	std::sort(names.begin(), names.end());
	for (int n = 2; n < 6; n++) {
		try {
			sum += measure(what, n);
		} catch (const std::exception &error) {
			sum += error.what()[0];
		}
	}
	std::printf("%s %d\n", names[0].c_str(), sum);
}
