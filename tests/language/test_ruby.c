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
	"def name_class(place)\n"
	"  { 'gamma' => 'Shop::Third#', 'start' => 'Shop::Third.', 'mixed' => 'Mixed#',\n"
	"    'inherited' => 'Parent#', 'run' => 'Object#', 'innermost' => 'Object#',\n"
	"    'callback_with_a_name_of_some_length' => 'Object#', 'later' => 'Later#',\n"
	"    'of_a_module' => 'Shop.', 'Zwölf' => 'Shop::Ärger#' }[place.base_label]\n"
	"end\n"
	"def tell\n"
	"  caller_locations(1).each do |place|\n"
	"    next if %w[each sort_by call instance_eval].include?(place.base_label)\n"
	"    name = place.label.sub(place.base_label) { name_class(place).to_s + $& }\n"
	"    puts \"[rb] #{name} #{place.path} * #{place.lineno}\"\n"
	"  end\n"
	"  puts 'END'\n"
	"  STDOUT.flush\n"
	"end\n"
	"def innermost\n"
	"  tell; sleep 100\n"
	"end\n"
	"module Shop\n"
	"  class Third\n"
	"    def gamma(n)\n"
	"      n == 0 ? [1].each { |x| [2].each { |y| innermost } } : gamma(n - 1)\n"
	"    end\n"
	"    def self.start\n"
	"      Third.new.gamma(2)\n"
	"    end\n"
	"  end\n"
	"  class Ärger\n"
	"    def Zwölf\n"
	"      Third.start\n"
	"    end\n"
	"  end\n"
	"  def self.of_a_module\n"
	"    Ärger.new.Zwölf\n"
	"  end\n"
	"end\n"
	"module Mixed\n"
	"  def mixed\n"
	"    Shop.of_a_module\n"
	"  end\n"
	"end\n"
	"class Parent\n"
	"  @title, @@other = 'Wrong', 'Wrong::Too'\n"
	"  include Mixed\n"
	"  def inherited\n"
	"    mixed\n"
	"  end\n"
	"end\n"
	"class Child < Parent\n"
	"end\n"
	"class Later\n"
	"  def later\n"
	"    -> { Child.new.inherited }\n"
	"  end\n"
	"end\n"
	"def callback_with_a_name_of_some_length(x)\n"
	"  Class.new { def nameless(kept) kept.call; end }.new.nameless(Later.new.later)\n"
	"end\n"
	"def run\n"
	"  alone = Object.new\n"
	"  def alone.alone() [3, 1].sort_by { |x| callback_with_a_name_of_some_length(x) }; end\n"
	"  alone.alone\n"
	"end\n"
	"run\n";

/* map and each_with_index of a range have frames for what they do with each element, in C. */
static const char in_blocks[] =
	"def innermost\n"
	"  puts '[rb] Object#innermost -e * 4', '[rb] block (2 levels) in <main> -e * 6'\n"
	"  puts '[rb] block in <main> -e * 6', '[rb] <main> -e * 6', 'END'\n"
	"  STDOUT.flush; sleep 100\n"
	"end\n"
	"(1..1).map { |x| (1..1).each_with_index { |y, i| innermost } }\n";

int main(void)
{
	static const char *const versions[] = { "ruby",    "ruby2.7", "ruby3.0", "ruby3.1",
						"ruby3.2", "ruby3.3", "ruby3.4" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *argv[] = { (char *)versions[i], (char *)"--disable-gems", (char *)"-e",
				 (char *)program, NULL };

		if (!told_check_program(argv, versions[i]))
			continue;
		argv[3] = (char *)in_blocks;
		check(told_check_program(argv, versions[i]), "%s: a program with blocks runs",
		      versions[i]);
	}
	return told_done("ruby");
}
