# SPDX-License-Identifier: GPL-2.0-or-later
# Work for Perl's interpreter: regular expressions, hashes, sorting.
use strict;
use warnings;

sub lines {
	return map { sprintf '%d.%d.%d.%d GET /page%d.html %d', $_ % 7, $_ % 11, $_ % 13, $_ % 17,
			 $_ % 101, 200 + $_ % 5 } 1 .. shift;
}

sub report {
	my %hits;
	for (@_) {
		$hits{"$2 $3"}++ if /^([\d.]+) GET (\S+) (\d+)$/;
	}
	return sort { $hits{$b} <=> $hits{$a} || $a cmp $b } keys %hits;
}

while (1) {
	my @pages = report(lines(5000));
	join ',', map { s/page/p/r } @pages;
}
