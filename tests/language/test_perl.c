/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subroutines of Perl programs, as xtop reads them in the memory of real processes, against what the
 * program itself says of its stack. For each version of Perl that this machine has.
 */
#include "config.h"

#include "tests/language/told_stack.h"

/* Methods, recursion, a subroutine without a name, a block of sort, an eval, and a destructor. */
static const char program[] =
	"use strict;"
	"sub report {"
	"    for (my $i = 1; my @call = caller($i); $i++) {"
	"        print \"[pl] $call[3]\\n\" unless $call[3] eq '(eval)';"
	"    }"
	"    print \"[pl] <main>\\nEND\\n\";"
	"}"
	"sub innermost { $| = 1; report(); sleep 100 }"
	"package Shop::Third;"
	"sub new { bless {} }"
	"sub gamma { my ($self, $n) = @_; $n ? $self->gamma($n - 1) : sub { main::innermost() }->() }"
	"sub DESTROY { $_[0]->gamma(2) }"
	"package main;"
	"sub callback { { my $third = Shop::Third->new } 0 }"
	"sub run { my @sorted = sort { callback($a) } 2, 1 }"
	"eval { run(); 1 };";

int main(void)
{
	static const char *const versions[] = { "perl",       "perl5.26.3", "perl5.28.1",
						"perl5.32.1", "perl5.34.0", "perl5.36.0",
						"perl5.38.2", "perl5.40.1", "perl5.42.3" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		char *const argv[] = { (char *)versions[i], (char *)"-e", (char *)program, NULL };

		told_check_program(argv, versions[i]);
	}
	return told_done("perl");
}
