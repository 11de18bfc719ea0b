/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subroutines of Perl programs, as xtop reads them in the memory of real processes, against what the
 * program itself says of its stack. For each version of Perl that this machine has.
 */
#include "config.h"

#include "tests/language/told_stack.h"

/*
 * Methods, recursion, a subroutine without a name, a block of sort, evals of a block and of a text,
 * a destructor, and #line directives. caller() gives the place of each call, which is in the
 * function that comes next. A subroutine has the file in which its text ends; no line is told of
 * that in which it only begins.
 */
static const char program[] =
	"use strict;\n"
	"sub report {\n"
	"    my ($file, $line) = ('-e', $_[0]);\n"
	"    for (my $i = 1; my @call = caller($i); $i++) {\n"
	"        next if $call[3] eq '(eval)' && !defined $call[6];\n"
	"        my $place = $call[3] eq 'main::begun_elsewhere' ? '* * 0' : \"$file * $line\";\n"
	"        print \"[pl] $call[3] $place\\n\" unless $call[3] eq '(eval)';\n"
	"        ($file, $line) = @call[1, 2];\n"
	"    }\n"
	"    print \"[pl] <main> -e * $line\\nEND\\n\";\n"
	"}\n"
	"sub innermost {\n"
	"    $| = 1;\n"
	"    report(__LINE__ + 1);\n"
	"    sleep 100;\n"
	"}\n"
	"package Shop::Third;\n"
	"sub new { bless {} }\n"
	"sub gamma {\n"
	"    my ($self, $n) = @_;\n"
	"    $n ? $self->gamma($n - 1) :\n"
	"        sub {\n"
	"            main::innermost();\n"
	"        }->();\n"
	"}\n"
	"sub DESTROY {\n"
	"    my ($self) = @_;\n"
	"    eval '$self->gamma(2)';\n"
	"}\n"
	"package main;\n"
	"sub callback {\n"
	"    { my $third = Shop::Third->new }\n"
	"    0\n"
	"}\n"
	"sub template {\n"
	"    my $x = 1;\n"
	"# line 7 \"template\"\n"
	"    callback($_[0]);\n"
	"}\n"
	"sub begun_elsewhere {\n"
	"    template($_[0]);\n"
	"# line 100 \"other\"\n"
	"    1;\n"
	"}\n"
	"# line 200 \"-e\"\n"
	"sub run {\n"
	"    my @sorted = sort {\n"
	"        begun_elsewhere($a)\n"
	"    } 2, 1;\n"
	"}\n"
	"eval {\n"
	"    run();\n"
	"    1\n"
	"};\n";

/*
 * A subroutine that has not begun its first statement: the interpreter still is at the statement
 * that has called the subroutine, which is another function's.
 */
static void check_begin(struct live_process *live, const char *version, const char *told)
{
	struct runtime_process process = { .runtime = live->runtime,
					   .bias = live->bias,
					   .memory = live->memory,
					   .root = live->root };
	const struct language_ops *ops = &perl_language;
	static uint64_t buffer[TOLD_N_WORDS];
	static struct runtime_frame frames[RUNTIME_MAX_FRAMES];
	const struct sample_vcpu *vcpu;
	struct recipe recipe;
	uint64_t *words;

	if (!live->runtime || !runtime_find_recipe(&process, live->thread_pointer, &recipe))
		return;
	vcpu = live_process_copy(live, &recipe, buffer);
	words = (uint64_t *)(sample_first_stack(vcpu) + 1);
	if (!check(runtime_read_frames(&process, vcpu, frames) > 0, "%s: has frames", version))
		return;
	words[ops->n_words_before] = frames[0].caller;
	runtime_read_frames(&process, vcpu, frames);
	check_u64(runtime_read_line(&process, &frames[0]), strtoull(strrchr(told, ' '), NULL, 10),
		  "the line of the first statement");
}

/* A subroutine that waits in its second statement, and tells the line of its first one. */
static const char begin_program[] = "sub waits {\n"
				    "    $| = 1; print \"[pl] main::waits -e * \", __LINE__;\n"
				    "    print \"\\nEND\\n\";\n"
				    "    sleep 100;\n"
				    "}\n"
				    "waits();\n";

/*
 * A module that waits while it is compiled. Up to 5.32 caller() tells the module's file and line for
 * <main>, too, which has not begun.
 */
static const char compiled_program[] =
	"BEGIN {\n"
	"    my @text = (\"package Waiting;\\n\", \"BEGIN { main::waits() }\\n\", \"1;\\n\");\n"
	"    unshift @INC, sub { sub { $_ = shift @text; defined $_ ? 1 : 0 } };\n"
	"}\n"
	"sub waits {\n"
	"    $| = 1;\n"
	"    print \"[pl] main::waits -e * \", __LINE__ + 2;\n"
	"    print \"\\n[pl] Waiting::BEGIN Waiting.pm * 2\\n[pl] main::BEGIN -e * 11\\n\";\n"
	"    print \"[pl] <main>  * 0\\nEND\\n\"; sleep 100;\n"
	"}\n"
	"use Waiting;\n";

int main(void)
{
	static const char *const versions[] = { "perl",       "perl5.26.3", "perl5.28.1",
						"perl5.32.1", "perl5.34.0", "perl5.36.0",
						"perl5.38.2", "perl5.40.1", "perl5.42.3",
						"perl5.28-nothreads", "perl5.36-nothreads" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *argv[] = { (char *)versions[i], (char *)"-e", (char *)program, NULL };

		if (!told_check_program(argv, versions[i]))
			continue;
		argv[2] = (char *)compiled_program;
		check(told_check_program(argv, versions[i]), "%s: a program that compiles runs",
		      versions[i]);
		argv[2] = (char *)begin_program;
		check(told_check_program_by(check_begin, argv, versions[i]),
		      "%s: a program with BEGIN runs", versions[i]);
	}
	return told_done("perl");
}
