# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 -f linux-shares.awk BEATS FOLDED
#
# Succeeds if the share of each phase of the workload, in its group of threads, is within that many
# points of the share that the threads measured themselves, and if the chains are whole.
#
#   BEATS   heartbeat lines of the guest (run.c). The program uses the first and the last line of
#           each thread.
#   FOLDED  what xtop saw
#
# The groups are the first threads of the C programs that are not stripped, their workers, and the
# program names. The stripped program's own functions have no names; its chains must only be whole.
function group_of(name) {
	if (name ~ /^work(-fp|-spie)$/)
		return "main"
	if (name ~ /^work(-fp|-spie)\/worker$/)
		return "worker"
	return name == "names" ? name : ""
}
FNR == 1 {
	file++
}
file == 1 {
	sub(/:$/, "", $1)
	for (i = 4; i < NF; i += 2) {
		if (!(($1, $i) in before))
			before[$1, $i] = $(i + 1)
		last[$1, $i] = $(i + 1)
		thread[$1, $i] = $1
		phase[$1, $i] = $i
	}
	next
}
{
	count = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, frame, ";")
	name = frame[1]
	if (name !~ /^(work|work-fp|work-spie|names)$/)
		next
	threads += count
	truncated = index($0, "[truncated]") > 0
	if (truncated)
		cut[name] += count
	chains[name] += count
	if (frame[2] == "worker")
		name = name "/worker"
	group = group_of(name)
	if (group == "")
		next
	all[group] += count
	at = ""
	for (i = 2; i <= n && at == ""; i++)
		if (frame[i] ~ /^phase_/)
			at = substr(frame[i], 7)
	if (at == "")
		next
	seen[group, at] += count
	named[group] += count
	# A whole chain has these names from the outermost function on. The library has no name for
	# its own function that starts a thread.
	begin = ";" (name ~ /worker/ ? "worker" : "main") ";run_round;run_phase;phase_" at
	if (!truncated && index($0, begin) && (name ~ /worker/ || frame[2] == "_start"))
		whole[group, at] += count
	# The entry of a system call and the return from it count, too: on some emulated machines it
	# takes almost no time to clear pages.
	if ($0 ~ /;(xen_)?entry_SYSCALL_64|;do_syscall_64|;syscall_return_via_sysret|;el0_svc/)
		kernel[group, at] += count
	if (at == "hash" && $0 ~ /hash_sendmsg|rmd160_/)
		module += count
	if ($0 ~ /workload::(fold|tree)</)
		demangled += count
}
END {
	for (key in last) {
		group = group_of(thread[key])
		if (group == "")
			continue
		told[group, phase[key]] += last[key] - before[key]
		group_took[group] += last[key] - before[key]
		group_phase[group, phase[key]] = group
		phase_name[group, phase[key]] = phase[key]
	}
	for (key in told) {
		group = group_phase[key]
		share = named[group] ? 100 * seen[key] / named[group] : 0
		says = group_took[group] > 0 ? 100 * told[key] / group_took[group] : -100
		chain = seen[key] ? 100 * whole[key] / seen[key] : 0
		syscall = seen[key] ? 100 * kernel[key] / seen[key] : 0
		printf "# %-6s %-6s %6.2f measured %6.2f,", group, phase_name[key], share, says
		printf " whole %6.2f %%, in system calls %6.2f %%,", chain, syscall
		printf " %d samples\n", seen[key]
		if (share - says > points || says - share > points)
			bad = bad " " group ":" phase_name[key]
		if (chain < 95)
			broken = broken " " group ":" phase_name[key]
		if (phase_name[key] ~ /^(zero|hash|pipe|tcp)$/ && syscall < 50)
			outside = outside " " phase_name[key]
		phases++
	}
	# Outside the phases: reading the clock between them, writing to the console, and chains
	# that lost their outer frames.
	for (group in all) {
		other = 100 - 100 * named[group] / all[group]
		printf "# %-6s %6.2f %% outside the phases\n", group, other
		if (other > points)
			bad = bad " " group
	}
	for (name in chains) {
		whole_share = 100 - 100 * cut[name] / chains[name]
		printf "# %-9s %6.2f %% of %d chains are whole\n", name, whole_share, chains[name]
		if (whole_share < 95)
			broken = broken " " name
	}
	printf "# %d samples in the workload; %d in modules of the hash, %d with long names\n",
		threads, module, demangled
	if (bad != "")
		print "# more than " points " points from the measured share:" bad
	if (broken != "")
		print "# less than 95 % of chains are whole:" broken
	if (outside != "")
		print "# less than half in system calls:" outside
	exit bad != "" || broken != "" || outside != "" || phases != 13 || !module || !demangled
}
