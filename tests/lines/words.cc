// SPDX-License-Identifier: GPL-2.0-or-later
/* Templates, lambdas and inlined functions, for tests/lines/programs. Where each word of a text is. */
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> words;
	const std::regex word("([a-z]+)|([0-9]+)");
	const std::string text = argc > 1 ? argv[1] : "ab 12 cd ab";

	for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
		words[at->str()].push_back(static_cast<int>(at->position()));
	for (auto &entry : words) {
		std::sort(entry.second.begin(), entry.second.end(),
			  [](int a, int b) { return a % 7 < b % 7; });
		std::cout << entry.first << ' '
			  << std::accumulate(entry.second.begin(), entry.second.end(), 0) << '\n';
	}
}
