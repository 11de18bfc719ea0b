# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v points=3 -f linux-shares.awk BEATS FOLDED: what phases of the workload took of a group of threads, within that
# many points of what they told themselves; and their chains are whole.
#
#   BEATS   heartbeat lines of the guest (run.c); of each thread the first and the last are taken
#   FOLDED  what xtop saw
#
# Groups: the first threads of the C programs that are not stripped, their workers, and names. The stripped program's
# own functions have no names: of its chains is asked only that they are whole.
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
	# From the outermost function on, by name; of a thread's start the library has no name for its own.
	begin = name ~ /worker/ ? ";worker;run_round;run_phase;phase_" at : ";main;run_round;run_phase;phase_" at
	if (!truncated && index($0, begin) && (name ~ /worker/ || frame[2] == "_start"))
		whole[group, at] += count
	# Its entry and its return count as well: clearing pages takes next to no time on some emulated machines.
	if ($0 ~ /;(xen_)?entry_SYSCALL_64|;do_syscall_64|;syscall_return_via_sysret/)
		kernel[group, at] += count
	if (at == "hash" && $0 ~ /hash_sendmsg|md5_/)
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
		printf "# %-6s %-6s %6.2f told %6.2f, whole %6.2f %%, in system calls %6.2f %%, %d samples\n",
			group, phase_name[key], share, says, chain, syscall, seen[key]
		if (share - says > points || says - share > points)
			bad = bad " " group ":" phase_name[key]
		if (chain < 95)
			broken = broken " " group ":" phase_name[key]
		if (phase_name[key] ~ /^(zero|hash|pipe|tcp)$/ && syscall < 50)
			outside = outside " " phase_name[key]
		phases++
	}
	# The clock that is read between phases, the console, and what lost its outer frames.
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
	printf "# %d samples in the workload; %d in modules of the hash, %d with long names\n", threads, module, demangled
	if (bad != "")
		print "# more than " points " points off:" bad
	if (broken != "")
		print "# less than 95 % of chains are whole:" broken
	if (outside != "")
		print "# kernel parts are missing:" outside
	exit bad != "" || broken != "" || outside != "" || phases != 13 || !module || !demangled
}
