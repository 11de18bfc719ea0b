# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 [-v others=0.5] -f shares.awk EXPECTED BEATS FOLDED
#
# Succeeds if the share of every chain in FOLDED is within that many points of the share that the
# guest measured itself, and if chains that are not in EXPECTED have together at most `others` percent,
# or as many as `points`.
#
#   EXPECTED  chain, and share by iterations. The program uses only the ratio of chains with the
#             same leaf (those of fib, by their depth).
#   BEATS     two heartbeat lines of the guest, before and after. Their difference is what each leaf
#             took.
#   FOLDED    what xtop saw. Chains of secondary vCPUs begin with secondary_start, those of vCPU 0
#             with _start; they are the same otherwise.
#
# Prints every chain with both shares, and with its share by iterations.
function leaf_of(chain) {
	sub(/.*;/, "", chain)
	return chain
}
FNR == 1 {
	file++
}
file == 1 {
	if ($0 !~ /^#/ && NF) {
		expected[$1] = $2
		expected_of_leaf[leaf_of($1)] += $2
	}
	next
}
file == 2 {
	# tiny: heartbeat ROUNDS LEAF TICKS LEAF TICKS ...
	beats++
	for (i = 4; i < NF; i += 2) {
		took[$i] += beats == 1 ? -$(i + 1) : $(i + 1)
		all_took += beats == 1 ? -$(i + 1) : $(i + 1)
	}
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
		leaf = leaf_of(chain)
		told = all_took > 0 ? 100 * took[leaf] / all_took * \
			expected[chain] / expected_of_leaf[leaf] : 0
		share = total ? 100 * seen[chain] / total : 0
		off = share - told
		printf "# %6.2f measured %6.2f iterations %6.2f  %s\n",
			share, told, expected[chain], chain
		if (off > points || off < -points)
			bad = 1
		known += seen[chain]
	}
	for (chain in seen)
		if (!(chain in expected))
			printf "# %6.2f measured   none  %s\n", 100 * seen[chain] / total, chain
	printf "# %d samples, %.2f %% outside the table\n", total,
		total ? 100 * (total - known) / total : 100
	if (others == "")
		others = points
	exit beats != 2 || all_took <= 0 || bad || !total || 100 * (total - known) / total > others
}
