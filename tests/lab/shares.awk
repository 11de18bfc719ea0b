# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 -f shares.awk EXPECTED FOLDED: every chain of EXPECTED within that many points of
# its share in FOLDED, and no more than that outside. Secondary vCPUs have the same chains below
# secondary_start as vCPU 0 below _start. Prints every chain with both shares.
FNR == NR {
	if ($0 !~ /^#/ && NF)
		expected[$1] = $2
	next
}
{
	count = $NF
	sub(/ [0-9]+$/, "")
	sub(/^secondary_start/, "_start")
	seen[$0] += count
	total += count
}
END {
	for (chain in expected) {
		share = total ? 100 * seen[chain] / total : 0
		off = share - expected[chain]
		printf "# %6.2f expected %6.2f  %s\n", share, expected[chain], chain
		if (off > points || off < -points)
			bad = 1
		known += seen[chain]
	}
	for (chain in seen)
		if (!(chain in expected))
			printf "# %6.2f expected   none  %s\n", 100 * seen[chain] / total, chain
	printf "# %d samples, %.2f %% outside the table\n", total, total ? 100 * (total - known) / total : 100
	exit bad || !total || 100 * (total - known) / total > points
}
