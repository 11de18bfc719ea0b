# SPDX-License-Identifier: GPL-2.0-or-later
# Compares a folded file of the guest linux32 with what its processes measured. Files: heartbeats
# before, whose name ends in first; heartbeats after; the folded file. Prints TAP.
#
#	user32: heartbeat 12 left 104823 right 70221
#	kernel32: heartbeat 12 random 98712 map 54112
#
# Variables: points, the largest difference of a share (3); least, how many samples there must be.
FILENAME ~ /folded$/ {
	count = $NF
	sub(/ [0-9]+$/, "")
	all += count
	if (/^user32;/)
		samples["user32"] += count
	else if (/^kernel32;.*sys_getrandom/)
		samples["random"] += count
	else if (/^kernel32;.*(sys_old_mmap|sys_munmap)/)
		samples["map"] += count
	else {
		other += count
		others = others "# of neither: " count " " $0 "\n"
	}
	# A kernel part has an entry from user code outermost, or a start of the kernel's own.
	if (!/;(__ia32_sys|do_|__|ret_from|handle_exception|common_exc|asm_|entry_|irq|[a-z_]+_interrupt)/)
		next
	kernel += count
	if (/\[truncated\]/) {
		cut += count
		cuts = cuts "# cut: " count " " $0 "\n"
	}
	next
}
{
	sign = FILENAME ~ /first$/ ? -1 : 1
	us[$1 == "user32:" ? "user32" : $4] += sign * $5
	us[$1 == "user32:" ? "user32" : $6] += sign * $7
}
END {
	if (!points)
		points = 3
	for (name in us)
		sum += us[name]
	for (name in us) {
		share = all ? 100 * samples[name] / all : 0
		told = sum > 0 ? 100 * us[name] / sum : -100
		printf "# %s: %.2f of %d samples, measured %.2f\n", name, share, all, told
		bad += share - told > points || told - share > points
	}
	printf "%s%s", others, cuts
	printf "# %d of %d kernel parts are whole\n", kernel - cut, kernel
	print (bad || all < least ? "not ok" : "ok") " shares are those that the processes measured"
	print (cut > 0.01 * kernel || !kernel ? "not ok" : "ok") " 99 % of the kernel's parts are whole"
}
