# SPDX-License-Identifier: GPL-2.0-or-later
# awk -F '\t' -f oops-chains.awk PLACES BINUTILS ELFUTILS DECODED
#
# Succeeds if xtop printed for each place the functions and lines that addr2line -i of binutils or of
# elfutils has. PLACES is made by oops-places.awk. The tools' output has lines "file FILE", then for each
# place in this file, in their order, the address, and a line each for function and file:line, the
# innermost first. elfutils prints other addresses of modules than it was given.
#
# Names are compared without what follows the first dot: symbols have ".cold", DWARF does not. Paths are
# compared as far as xtop prints them. Where DWARF has no function, the tools take the symbol, as xtop does.
function bare(name) {
	sub(/ \(inlined\)$/, "", name)
	sub(/[.].*/, "", name)
	return name
}
function add_half(tool, line) {
	if (half == "") {
		half = line
		return
	}
	if (line ~ /^\?\?/) { # a symbol alone
		half = ""
		return
	}
	sub(/^.*:[?0]$/, "??:0", line)
	chain[tool, at] = chain[tool, at] bare(half) "\t" line "\n"
	half = ""
}
# Whether xtop's chain OURS equals TOOL, the chain of a tool.
function same(ours, tool, at, a, b, c, d, i, n) {
	n = split(ours, a, "\n")
	if (!((tool, at) in answered) || split(chain[tool, at], b, "\n") != n)
		return 0
	for (i = 1; i < n; i++) {
		split(a[i], c, "\t")
		split(b[i], d, "\t")
		if (c[1] != d[1] || length(c[2]) > length(d[2]) ||
		    substr(d[2], length(d[2]) - length(c[2]) + 1) != c[2])
			return 0
	}
	return 1
}
function judge(place, exact, ours, at) {
	at = address[place, exact]
	if (at == "" || judged[place, exact]++)
		return
	n++
	is_binutils = same(ours, "binutils", at)
	is_elfutils = same(ours, "elfutils", at)
	as_binutils += is_binutils
	as_elfutils += is_elfutils
	inlined += ours ~ /\n.*\n/
	if (is_binutils || is_elfutils)
		return
	if (bad++ < 10)
		print "# differs: " place " at " at "\n# ours: " ours "\n# binutils: " chain["binutils", at] \
			"\n# elfutils: " chain["elfutils", at]
}
FNR == 1 { file++ }
file == 1 {
	address[$2, $7 + 0] = $1 " " ++in_file[$1]
	places++
	next
}
file == 2 || file == 3 {
	tool = file == 2 ? "binutils" : "elfutils"
	if (sub(/^file /, "")) {
		name = $0
	} else if ($0 ~ /^0x[0-9a-f]+$/) {
		at = name " " ++asked[tool, name]
		answered[tool, at] = 1
		half = ""
	} else {
		add_half(tool, $0)
	}
	next
}
/^        / {
	line = substr($0, 9)
	if (match(line, / +[^ ]+:[0-9]+$/)) {
		source = substr(line, RSTART)
		line = substr(line, 1, RSTART - 1)
		sub(/^ +/, "", source)
	} else {
		source = "??:0"
	}
	found = found bare(line) "\t" source "\n"
	next
}
/^      = / { next }
{
	if (place != "")
		judge(place, exact, found)
	place = found = ""
	if (!match($0, /[A-Za-z_][A-Za-z0-9_.]*\+0x[0-9a-f]+\/0x[0-9a-f]+( \[[a-z0-9_]+\])?/))
		next
	place = substr($0, RSTART, RLENGTH)
	exact = substr($0, 1, RSTART - 1) ~ /RIP: |WARNING: / ? 1 : 0
}
END {
	if (place != "")
		judge(place, exact, found)
	printf "# %d of %d places: %d as binutils, %d as elfutils, %d as neither; %d have inlined functions\n",
		n, places, as_binutils, as_elfutils, bad, inlined
	exit bad || n < 50 || n < places || !inlined
}
