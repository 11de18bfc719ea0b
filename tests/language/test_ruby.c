/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Ruby programs, as xtop reads them in the memory of real processes, against what the
 * program itself says of its stack. For each version of Ruby that this machine has.
 */
#include "config.h"

#include "tests/language/told_stack.h"

/*
 * Methods, blocks, a method of the class, recursion, and two methods of C that call back, which xtop
 * shows as functions of C.
 */
static const char program[] =
	"def tell\n"
	"  caller_locations(1).each do |place|\n"
	"    puts \"[rb] #{place.label}\" unless %w[each sort_by].include?(place.base_label)\n"
	"  end\n"
	"  puts 'END'\n"
	"  STDOUT.flush\n"
	"end\n"
	"def innermost\n"
	"  tell\n"
	"  sleep 100\n"
	"end\n"
	"class Third\n"
	"  def gamma(n)\n"
	"    n == 0 ? [1].each { |x| innermost } : gamma(n - 1)\n"
	"  end\n"
	"  def self.start\n"
	"    Third.new.gamma(2)\n"
	"  end\n"
	"end\n"
	"def callback_with_a_name_of_some_length(x)\n"
	"  Third.start\n"
	"end\n"
	"def run\n"
	"  [3, 1].sort_by { |x| callback_with_a_name_of_some_length(x) }\n"
	"end\n"
	"run\n";

int main(void)
{
	static const char *const versions[] = { "ruby",    "ruby2.7", "ruby3.0", "ruby3.1",
						"ruby3.2", "ruby3.3", "ruby3.4" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *const argv[] = { (char *)versions[i], (char *)"--disable-gems", (char *)"-e",
				       (char *)program, NULL };

		told_check_program(argv, versions[i]);
	}
	return told_done("ruby");
}
