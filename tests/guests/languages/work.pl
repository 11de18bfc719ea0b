# SPDX-License-Identifier: GPL-2.0-or-later
# alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages.
use strict;
use warnings;

sub alpha {
	my ($rounds) = @_;
	my $sum = 1;
	for (my $i = 0; $i < $rounds; $i++) {
		$sum = ($sum * 31 + $i) % 65521;
	}
	return $sum;
}

sub beta {
	my ($rounds) = @_;
	my $sum = 2;
	for (my $i = 0; $i < $rounds; $i++) {
		$sum = ($sum * 31 + $i) % 65521;
	}
	return $sum;
}

sub gamma {
	my ($rounds) = @_;
	my $sum = 3;
	for (my $i = 0; $i < $rounds; $i++) {
		$sum = ($sum * 31 + $i) % 65521;
	}
	return $sum;
}

sub cycle {
	my ($unit) = @_;
	return alpha(6 * $unit) + beta(3 * $unit) + gamma($unit);
}

while (1) {
	cycle(10000);
}
