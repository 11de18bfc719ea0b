# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 -f bare-linux.awk NM FIRST LAST FOLDED
#
# Succeeds if bare (tests/guests/workload/bare.c) has the shares in FOLDED that it measured itself
# between the heartbeats in FIRST and LAST, within that many points, and if 99 % of its chains are
# whole: no [truncated], and main() and run_phase() above the phase.
#
#   NM  what nm tells of the program before its symbols were removed. xtop names its functions by
#       their places in the file, bare+0x1990. That is the address - 0x400000.
function hex(text,    i, value) {
	for (i = 1; i <= length(text); i++)
		value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return value
}
FNR == 1 {
	file++
}
file == 1 {
	if ($2 ~ /^[tTwW]$/)
		name_at[hex($1) - 4194304] = $3
	next
}
file == 2 || file == 3 {
	for (i = 4; i < NF; i += 2)
		if (file == 2)
			before[$i] = $(i + 1)
		else
			told[$i] = $(i + 1) - before[$i]
	next
}
{
	count = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, frame, ";")
	if (frame[1] != "bare")
		next
	all += count
	at = chain = ""
	for (i = 2; i <= n; i++) {
		if (frame[i] ~ /^bare\+0x/) {
			place = hex(substr(frame[i], 8))
			if (place in name_at)
				frame[i] = name_at[place]
			else
				nowhere[frame[i]] += count
		}
		chain = chain ";" frame[i]
		if (at == "" && frame[i] ~ /^phase_/)
			at = substr(frame[i], 7)
	}
	if (index($0, "[truncated]")) {
		cut += count
		lost[chain] += count
	} else if (at != "" && index(chain, ";main;run_round;run_phase;phase_" at)) {
		whole[at] += count
	} else if (at != "") {
		odd[chain] += count
	}
	if (at != "") {
		seen[at] += count
		named += count
	}
}
END {
	for (at in told)
		took += told[at]
	for (at in told) {
		share = named ? 100 * seen[at] / named : 0
		says = took > 0 ? 100 * told[at] / took : -100
		printf "# %-6s %6.2f measured %6.2f, %d samples, whole %d\n", at, share, says,
			seen[at], whole[at]
		if (share - says > points || says - share > points)
			bad = bad " " at
		if (whole[at] < 0.99 * seen[at])
			broken = broken " " at
		phases++
	}
	for (chain in lost)
		if (lost[chain] > all / 1000)
			printf "# %d %s\n", lost[chain], chain
	for (chain in odd)
		printf "# %d odd %s\n", odd[chain], chain
	for (place in nowhere)
		printf "# %d in %s, where no function begins\n", nowhere[place], place
	printf "# %.2f %% of %d chains are whole; %.2f %% outside the phases\n",
		all ? 100 - 100 * cut / all : 0, all, all ? 100 - 100 * named / all : 0
	if (bad != "")
		print "# more than " points " points from the measured share:" bad
	if (broken != "")
		print "# less than 99 % whole:" broken
	exit bad != "" || broken != "" || !all || cut > 0.01 * all || phases != 6
}
