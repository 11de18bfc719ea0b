# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 -f go.awk NAMES FIRST LAST FOLDED
#
# Succeeds if goes (tests/guests/workload/goes.go) has the shares in FOLDED that it measured itself
# between two heartbeats, FIRST and LAST, if 99 % of its chains are whole, if a goroutine's outermost
# frame is runtime.goexit, and if all functions of Go have the names that `go tool nm` tells, which are
# in NAMES.
#
# The collector's own goroutines work for the phase collect.
# Whether a chain begins with the process, perhaps its thread, and then runtime.goexit.
function goes_out_to_goexit()
{
	return frame[2] == "runtime.goexit" || frame[3] == "runtime.goexit"
}

FNR == 1 {
	file++
}
file == 1 {
	if ($2 == "T" || $2 == "t") {
		sub(/^ *[0-9a-f]+ [Tt] /, "")
		sub(/\.abi0$/, "")
		known[$0] = 1
	}
	next
}
file <= 3 {
	for (i = 4; i < NF; i += 2)
		told[$i] += (file == 3 ? 1 : -1) * $(i + 1)
	next
}
{
	count = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, frame, ";")
	if (frame[1] != "goes")
		next
	chains += count
	if (index($0, "[truncated]"))
		cut += count
	else if ($0 ~ /;(runtime\.main|main\.main|main\.phase[A-Z][a-z]*(\.func[0-9.]*)?);/ ) {
		goroutines += count
		if (!goes_out_to_goexit())
			inside += count
	}
	at = $0 ~ /;runtime\.(gcBgMarkWorker|bgsweep|bgscavenge|forcegchelper)/ ? "collect" : ""
	for (i = 2; i <= n; i++) {
		if (frame[i] ~ /^main\.phase/ && at == "") {
			at = tolower(substr(frame[i], 11))
			sub(/\..*/, "", at)
		}
		if (frame[i] ~ /^main\.yields/ && at == "")
			at = "yield"
		if (frame[i] ~ /^[a-z\/0-9]+\.[a-zA-Z(*]/) {
			names++
			if (!(frame[i] in known) && !(frame[i] in unknown) && frame[i] !~ /\+0x|\.so/) {
				unknown[frame[i]] = 1
				n_unknown++
				if (n_unknown <= 10)
					print "# not a name of nm: " frame[i]
			}
		}
	}
	if (at != "") {
		seen[at] += count
		all += count
	}
}
END {
	for (name in told)
		sum += told[name]
	for (name in told) {
		wanted = sum ? 100 * told[name] / sum : -1
		got = all ? 100 * seen[name] / all : -1
		printf "# %-8s %5.1f %%, by itself %5.1f %%\n", name, got, wanted
		if (got - wanted > points || wanted - got > points)
			bad++
		phases++
	}
	printf "# %d samples of goes, %d in a phase, %d truncated, %d of goroutines, %d of them not from " \
		"runtime.goexit; %d names\n", chains, all, cut, goroutines, inside, names
	exit !(phases == 8 && !bad && chains > 1000 && cut * 100 <= chains && goroutines > 1000 &&
		!inside && !n_unknown && names > 1000)
}
