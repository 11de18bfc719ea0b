# SPDX-License-Identifier: GPL-2.0-or-later
# awk -v link=ADDRESS -v text=ADDRESS -f oops-places.awk SYMBOLS MODULE_SYMBOLS TRACE
#
# The different places of kernel call traces, with the addresses that programs know them by. Prints, with
# tabs between, in the order in which they are met:
#
#	FILE    "kernel", or a module's name
#	PLACE   as in the trace: symbol+0x12/0x80 [module]
#	IN_FILE the address in FILE; for a module in its section .text
#	ADDRESS the guest's address, as the kernel has printed it
#	OFFSET, SIZE  in decimal
#	EXACT   1: the instruction itself, 0: one that called is before it
#
# SYMBOLS are lines of the guest's /proc/kallsyms, MODULE_SYMBOLS are "MODULE SYMBOL VALUE". link and text
# are addresses of _text, as linked and in the guest. Where a place is returned to, IN_FILE is the byte
# before: the instruction that called. Symbols that have one name are left out.
function hex(digits, i, value) {
	for (i = 1; i <= length(digits); i++)
		value = value * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
	return value + 0
}
# The last 32 bits; printf of busybox knows no more.
function low(address) {
	return hex(substr(address, 9))
}
function put(value) {
	return sprintf("%04x%04x", int(value / 65536), value % 65536)
}
FNR == 1 { file++ }
file == 1 {
	module = NF > 3 ? substr($4, 2, length($4) - 2) : "kernel"
	start[module, $3] = $1
	symbols[module, $3]++
	next
}
file == 2 {
	value[$1, $2] = hex($3)
	values[$1, $2]++
	next
}
{
	line = $0
	# Places after "?" count as well, although they may only be left on the stack.
	if (!match(line, /[A-Za-z_][A-Za-z0-9_.]*\+0x[0-9a-f]+\/0x[0-9a-f]+( \[[a-z0-9_]+\])?/))
		next
	place = substr(line, RSTART, RLENGTH)
	before = substr(line, 1, RSTART - 1)
	split(place, word, /[+\/ ]/)
	symbol = word[1]
	offset = hex(substr(word[2], 3))
	size = hex(substr(word[3], 3))
	module = place ~ /\]$/ ? substr(word[4], 2, length(word[4]) - 2) : "kernel"
	exact = before ~ /RIP: |WARNING: /
	if (seen[place, exact]++ || symbols[module, symbol] != 1 ||
	    (module != "kernel" && values[module, symbol] != 1))
		next
	address = low(start[module, symbol]) + offset
	at = module == "kernel" ? address - low(text) + low(link) : value[module, symbol] + offset
	if (!exact && offset)
		at--
	print module "\t" place "\t" (module == "kernel" ? "ffffffff" : "00000000") put(at) \
		"\tffffffff" put(address) "\t" offset "\t" size "\t" exact
}
