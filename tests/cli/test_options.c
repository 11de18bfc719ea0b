/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: what each option sets, what is refused and with which words, what wins. */
#include "xtop/cli/options.h"

#include <stdlib.h>

#include "tests/support/tap.h"
#include "xtop/query/columns.h"

#define MAX_WORDS 32

/* Splits LINE at spaces; the words live until the next call. "''" is an empty word. */
static struct xtop_error *parse(const char *line, struct options *options)
{
	static char words[1024];
	char *argv[MAX_WORDS + 2] = { (char *)"xtop" }, *rest = NULL;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok_r(words, " ", &rest); word && argc < MAX_WORDS;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = strcmp(word, "''") == 0 ? (char *)"" : word;
	return options_parse(argc, argv, options);
}

static struct options accept(const char *line)
{
	struct options options;
	struct xtop_error *error = parse(line, &options);

	check(!error, "accepted: %s%s%s", line, error ? ": " : "",
	      error ? error_message(error) : "");
	error_destroy(error);
	return options;
}

static void refuse(const char *line, const char *words)
{
	struct options options;
	struct xtop_error *error = parse(line, &options);

	check(error && strstr(error_message(error), words) && !strchr(error_message(error), '\n'),
	      "refused: %s: %s", line, error ? error_message(error) : "(accepted)");
	error_destroy(error);
	options_deinit(&options);
}

static void test_defaults(void)
{
	struct options options = accept("");

	check(options.action == ACTION_PROFILE && options.n_domains == 0 && options.n_symbols == 0,
	      "defaults: no action, no domain, no symbols");
	check(options.freq_hz == 99 && options.budget == 0.01 && options.half_life_s == 10,
	      "defaults: 99 Hz, a budget of 1 %%, a half-life of 10 s");
	check(!options.half_life_given, "defaults: the half-life counts as not given");
	check(options.n_debug_dirs == 1 && !options.debug_dirs_given,
	      "defaults: one debug folder, which counts as not given");
	check_string(options.debug_dirs[0], "/usr/lib/debug",
		     "defaults: the debug folder is /usr/lib/debug");
	check(options.interval_s == 1 && !options.interval_given && options.time_s == 0,
	      "defaults: an interval of 1 s, no limit of time");
	check(options.unwind == UNWIND_AUTO && !options.batch && !options.quiet &&
		      !options.addresses && !options.shared && !options.by_cgroup,
	      "defaults: unwind auto, and all flags off");
	check_string(options.format, "folded", "defaults: the format is folded");
	check(!options.sort && !options.n_filters && !options.output && !options.record &&
		      !options.replay && !options.stats,
	      "defaults: no file, filter or sort column");
	options_deinit(&options);
}

static void test_example(void)
{
	struct options options = accept("--example");

	check(options.replay && strstr(options.replay, "/xtop/example/server.pb.gz"), "--example: %s",
	      options.replay ? options.replay : "no file");
	check(!options.baseline, "--example has no baseline");
	options_deinit(&options);
	options = accept("--example=update");
	check(options.replay && strstr(options.replay, "/update.pb.gz") && options.baseline &&
		      strstr(options.baseline, "/server.pb.gz"),
	      "--example=update: %s against %s", options.replay, options.baseline);
	options_deinit(&options);
	options = accept("--example=update --baseline=x");
	check_string(options.baseline, "x", "--example=update: a baseline that is given stays");
	options_deinit(&options);
	options = accept("--example=crash");
	check(options.crash, "--example=crash: it is a report");
	options_deinit(&options);
	refuse("--example=x", "--example: 'x' is not allowed: server, update, locks or crash");
	refuse("--example -r x", "--example shows a profile of its own");
	refuse("--example -d x", "--example shows a profile of its own");
	refuse("--example -w x", "--example and --record");
}

static void test_json(void)
{
	struct options options = accept("-d x --json");

	check(options.json && options.batch && options.interval_s == 2, "--json implies --batch");
	options_deinit(&options);
	refuse("-d x --json -q", "--json and --quiet");
	options = accept("-d x --annotate=memcpy");
	check(options.batch && options.quiet && !strcmp(options.annotate, "memcpy"),
	      "--annotate implies --batch, without tables");
	options_deinit(&options);
}

static void test_long(void)
{
	struct options options =
		accept("--domain=web01 --freq=200 --symbols=a --unwind=orc --budget=2.5 "
		       "--interval=0.5 --iterations=3 --time=10 --half-life=0 --sort=self "
		       "--filter=^x --output=o --format=folded --record=w --stats=st "
		       "--group=cgroup --addresses --bare --batch --margins --quiet --shared");

	check_string(options.domains[0], "web01", "--domain=web01 sets the domain");
	check(options.freq_hz == 200 && options.budget == 0.025 && options.interval_s == 0.5,
	      "--freq, --budget and --interval set their numbers");
	check(options.interval_given, "--interval counts as given");
	check(options.half_life_given, "--half-life=0 counts as given");
	check(options.iterations == 3 && options.time_s == 10 && options.half_life_s == 0,
	      "--iterations, --time and --half-life set their numbers");
	check(options.unwind == UNWIND_ORC, "--unwind=orc sets the unwinder");
	check_string(options.symbols[0], "a", "--symbols=a sets the file");
	check_string(options.sort, "self", "--sort=self sets the column");
	check(options.n_filters == 1, "--filter sets one expression");
	check_string(options.filters[0], "^x", "--filter sets the expression");
	check_string(options.output, "o", "--output=o sets the file");
	check_string(options.record, "w", "--record=w sets the file");
	check_string(options.stats, "st", "--stats=st sets the file");
	check(options.by_cgroup, "--group=cgroup groups by cgroup");
	check(options.addresses && options.bare && options.batch && options.margins &&
		      options.quiet && options.shared,
	      "--addresses, --bare, --batch, --margins, --quiet and --shared set their flags");
	options_deinit(&options);
	options = accept("--replay r --paced");
	check(options.paced && strcmp(options.replay, "r") == 0, "--replay r --paced sets both");
	options_deinit(&options);
	options = accept("--group=cgroup --group=process");
	check(!options.by_cgroup, "a later --group=process wins");
	options_deinit(&options);
}

static void test_short(void)
{
	struct options options =
		accept("-dweb01 -d 7 -k vmlinux -k mod.ko -F 1e3 -ufp -bqi2 -n3 -T0.5 -s symbol "
		       "-e a|b -o - -w w");

	check_u64(options.n_domains, 2, "-d given twice: two domains");
	check_string(options.domains[1], "7", "-d given twice: the second domain");
	check_u64(options.n_symbols, 2, "-k given twice: two files");
	check_string(options.symbols[1], "mod.ko", "-k given twice: the second file");
	check(options.freq_hz == 1000 && options.interval_s == 2 && options.iterations == 3 &&
		      options.time_s == 0.5 && options.unwind == UNWIND_FP && options.batch &&
		      options.quiet,
	      "short options set their values");
	options_deinit(&options);
	options = accept("-l");
	check(options.action == ACTION_LIST, "-l lists guests");
	options_deinit(&options);
	options = accept("-F 1 -F 2 -s self -s module -d a --");
	check(options.freq_hz == 2 && strcmp(options.sort, "module") == 0,
	      "an option given twice: the last value counts");
	options_deinit(&options);
}

static void test_implied(void)
{
	struct options options = accept("-d a -n 3");

	check(options.batch && !options.quiet && options.interval_s == 2,
	      "-n implies -b and its interval of 2 s");
	options_deinit(&options);
	options = accept("-d a -q -o f");
	check(options.batch && options.quiet, "-q implies -b");
	options_deinit(&options);
	options = accept("-d a -o -");
	check(options.batch && options.quiet, "-o - implies -q");
	options_deinit(&options);
	options = accept("-d a --stats=-");
	check(options.batch && options.quiet, "--stats=- implies -q");
	options_deinit(&options);
	options = accept("-d a -b -q");
	check(options.quiet, "-b -q is allowed without a result file");
	options_deinit(&options);
	options = accept("-d a -b -i 1");
	check(options.interval_s == 1 && options.interval_given, "-i 1 stays in batch mode");
	options_deinit(&options);
}

static void test_waits(void)
{
	static const struct {
		const char *line;
		double hz;
		enum options_profile profile;
		bool left_out;
	} cases[] = {
		{ "-d a", 0, PROFILE_OF_CPU, false },
		{ "-d a --waits", 2, PROFILE_OF_CPU, false },
		{ "-d a --waits=1", 1, PROFILE_OF_CPU, false },
		{ "-d a --waits=10", 10, PROFILE_OF_CPU, false },
		{ "-d a --profile=waits", 2, PROFILE_OF_WAITS, false },
		{ "-d a --profile=waits --waits=5", 5, PROFILE_OF_WAITS, false },
		{ "-d a --profile=cpu --waits", 2, PROFILE_OF_CPU, false },
		{ "-d a --profile=exits --waits -o f.folded", 2, PROFILE_OF_EXITS, false },
		{ "-d a --waits -o f.folded", 2, PROFILE_OF_CPU, true }, /* the file has one profile */
		{ "-d a --waits -o f.speedscope.json", 2, PROFILE_OF_CPU, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct options options = accept(cases[i].line);

		check(options.waits_hz == cases[i].hz && options.profile == cases[i].profile &&
			      options.exits == (cases[i].profile == PROFILE_OF_EXITS) &&
			      options.waits_left_out == cases[i].left_out,
		      "%s: %g Hz%s%s", cases[i].line, options.waits_hz,
		      options.profile ? ", another profile" : "",
		      options.waits_left_out ? ", without the waits" : "");
		options_deinit(&options);
	}
	refuse("-d a --waits=0.5", "--waits: '0.5' is not allowed");
	refuse("-d a --waits=10.5", "--waits: '10.5' is not allowed");
	refuse("-d a --waits=", "--waits");
	refuse("-d a --profile=locks", "--profile: 'locks' is not allowed: cpu, waits or exits");
	refuse("--diff a b --profile=exits", "--profile=exits");
	refuse("--diff a b --profile=waits -s self", "--sort and --fail-over are for --diff of CPU");
}

static void test_help_wins(void)
{
	struct options options = accept("-F 0 --bogus operand -h -V");

	check(options.action == ACTION_HELP, "-h before -V shows help");
	options_deinit(&options);
	options = accept("-Vh -r a -d b");
	check(options.action == ACTION_VERSION, "-V wins over conflicting options");
	options_deinit(&options);
	options = accept("-l --help");
	check(options.action == ACTION_HELP, "--help wins over an earlier -l");
	options_deinit(&options);
	options = accept("--help --list");
	check(options.action == ACTION_HELP, "--help wins over a later --list");
	options_deinit(&options);
	options = accept("--unpause=web01");
	check(options.action == ACTION_UNPAUSE, "--unpause is an action");
	check_string(options.unpause, "web01", "--unpause=web01 names the guest");
	options_deinit(&options);
	options = accept("--xen-abi=4.21 -l");
	check_string(options.xen_abi, "4.21", "--xen-abi=4.21 sets the release");
	options_deinit(&options);
	refuse("--xen-abi", "--xen-abi needs a value: a release of Xen");
	options = accept("--unpause=web01 -h");
	check(options.action == ACTION_HELP, "-h wins over --unpause");
	options_deinit(&options);
	refuse("--unpause", "--unpause needs a value: a domain's name");
	refuse("-d -h -F 0", "--freq");
	refuse("-- -h", "unexpected argument '-h'");
}

static void test_values(void)
{
	static const char *const bad_numbers[] = { "''",  "x",  "1x",    "0x10", "inf",
						   "nan", "-1", "1e999", "1,5",  "--1" };
	static const char *const number_options[] = { "-F", "--budget", "-i",
						      "-n", "-T",       "--half-life" };
	char line[64];

	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < sizeof(bad_numbers) / sizeof(bad_numbers[0]); j++) {
			snprintf(line, sizeof(line), "%s %s", number_options[i], bad_numbers[j]);
			refuse(line, "is not allowed: ");
		}
	}
	refuse("-F 0", "--freq: '0' is not allowed: 1 to 20000 samples per second");
	refuse("-F 20001", "--freq");
	refuse("-F 0.5", "--freq");
	refuse("-T 1e9", "--time: '1e9' is not allowed: seconds, 0.01 to 31622400");
	refuse("-n 2000000000",
	       "--iterations: '2000000000' is not allowed: a whole number, 1 to 1");
	refuse("--budget=0", "--budget: '0' is not allowed: more than 0, at most 100 percent");
	refuse("--budget=100.1", "--budget");
	refuse("--all --push=file:///tmp --host-budget=0", "--host-budget");
	refuse("-d a --host-budget=2", "is for --all, --push and --metrics");
	refuse("-i 0", "--interval");
	refuse("-n 0", "--iterations");
	refuse("-n 1.5", "--iterations");
	refuse("-n 99999999999999999999", "--iterations");
	refuse("-T 0", "--time");
	refuse("-u ORC", "--unwind: 'ORC' is not allowed: auto, fp, orc or dwarf");
	refuse("--format=gif", "--format: 'gif' is not allowed: one of folded, pprof");
	refuse("--group=c", "--group: 'c' is not allowed: process or cgroup");
	refuse("-s delta", "--sort: 'delta' is not allowed: one of children, self, samples,");
	refuse("-s history", "--sort: 'history' is not allowed: one of children, self, samples,");
	refuse("-s nothing", "--sort: 'nothing' is not allowed: one of children, self, samples,");
	refuse("-d ''", "--domain: '' is not allowed");
	refuse("-o ''", "--output: '' is not allowed");
	for (size_t i = 0; i < 2; i++) {
		struct options options =
			accept(i ? "-F 20000 --budget 100" : "-F 1 --budget 0.001");

		options_deinit(&options);
	}
}

static void test_words(void)
{
	refuse("--bogus", "unknown or ambiguous option '--bogus': see xtop --help");
	refuse("--bogus=3 -d x", "'--bogus=3'");
	refuse("--s x", "ambiguous option '--s'");
	refuse("-x", "unknown option '-x'");
	refuse("-bx", "unknown option '-x'");
	refuse("--batch=3", "--batch takes no value");
	refuse("-d", "--domain needs a value: a domain's name, domid or UUID");
	refuse("--half-life", "--half-life needs a value");
	refuse("web01", "unexpected argument 'web01': a guest is named with -d web01");
	refuse("-b web01 -d x", "unexpected argument 'web01'");
	refuse("-F 0 -F 99999", "'0'");
}

static void test_conflicts(void)
{
	refuse("-r f -d web01", "--replay and --domain do not go together");
	refuse("-r f -w g", "--replay and --record do not go together");
	refuse("-d a --paced", "--paced is for --replay only");
	refuse("-d a -q", "--quiet shows nothing");
	refuse("-d a -o f --stats=f", "--output and --stats both name 'f'");
	refuse("-d a -o - --stats=-", "--output and --stats both name '-'");
	refuse("-r f -o f", "--output and --replay both name 'f'");
	refuse("-d a -w -", "--record: a recording cannot go to stdout");
}

static void test_help(void)
{
	static const char *const names[] = {
		"--domain=",   "--freq=",       "--symbols=",  "--unwind",    "--budget=",
		"--interval=", "--iterations=", "--time=",     "--half-life", "--sort=",
		"--filter=",   "--output=",     "--format=",   "--record=",    "--replay=",
		"--paced",     "--stats=",      "--addresses", "--batch",      "--quiet",
		"--list",      "--unpause",     "--help",      "--version",    "--shared",
		"--group",    "--xen-abi="
	};
	const char *at = options_help();
	unsigned lines = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(strstr(at, names[i]), "help has %s", names[i]);
	for (size_t i = 0; i < N_COLUMNS_BATCH; i++)
		check(strstr(at, columns[i].name), "help has column %s", columns[i].name);
	for (; *at; at += strcspn(at, "\n") + 1, lines++)
		if (strcspn(at, "\n") > 80)
			check(false, "help line of at most 80 columns: %.90s", at);
	check(true, "help fits 80 columns");
	check(lines <= 60, "help has %u lines, at most 60", lines);
}

int main(void)
{
	test_defaults();
	test_example();
	test_json();
	test_long();
	test_short();
	test_implied();
	test_waits();
	test_help_wins();
	test_values();
	test_words();
	test_conflicts();
	test_help();
	return tap_done();
}
