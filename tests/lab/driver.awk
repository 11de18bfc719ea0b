# SPDX-License-Identifier: GPL-2.0-or-later
# Compares a folded file of a guest that works for another one with what it measured. Files: its
# heartbeat before, whose name ends in first; its heartbeat after; the folded file. Prints TAP.
#
#	driver: heartbeat 12 server 4104823000 computes 9970221000
#
# The server is a thread or a process. Variables, regular expressions: server, how its lines begin;
# whole, what each of its chains has; module, what some of its chains have, at least a fiftieth. points
# is the largest difference of a share (3), least the share that the server has at least (0.1).
FILENAME ~ /folded$/ {
	count = $NF
	sub(/ [0-9]+$/, "")
	all += count
	if (/^md5sum;/) {
		samples["computes"] += count
	} else if ($0 ~ server) {
		samples["server"] += count
		if ($0 ~ whole)
			n_whole += count
		else
			parts = parts "# not whole: " count " " substr($0, 1, 200) "\n"
		n_module += $0 ~ module ? count : 0
	} else {
		others = others "# of neither: " count " " substr($0, 1, 100) "\n"
	}
	next
}
{
	sign = FILENAME ~ /first$/ ? -1 : 1
	ns["server"] += sign * $5
	ns["computes"] += sign * $7
}
END {
	if (!points)
		points = 3
	if (!least)
		least = 0.1
	sum = ns["server"] + ns["computes"]
	seen = samples["server"] + samples["computes"]
	for (name in ns) {
		share = seen ? 100 * samples[name] / seen : 0
		told = sum ? 100 * ns[name] / sum : -100
		printf "# %s: %.2f of %d samples, measured %.2f\n", name, share, seen, told
		bad += share - told > points || told - share > points
	}
	printf "%s%s", others, parts
	printf "# of the server's %d samples %d are whole, %d in the module\n", samples["server"], n_whole,
		n_module
	# A server that hardly runs would have the right share by chance.
	bad += ns["server"] < least * sum
	print (bad || seen < 2000 || seen < 0.97 * all ? "not ok" : "ok") \
		" server and program have the shares that the guest itself tells"
	print (n_whole < 0.99 * samples["server"] || !n_whole ? "not ok" : "ok") \
		" the server's chains are whole, 99 % of them"
	print (n_module < 0.02 * samples["server"] || !n_module ? "not ok" : "ok") \
		" functions of the module that the server uses are named"
}
