# SPDX-License-Identifier: GPL-2.0-or-later
# Compares a folded file of the guest linux32 with what its processes measured. Files: heartbeats
# before, whose name ends in first; heartbeats after; the folded file. Prints TAP.
#
#	user32: heartbeat 12 left 104823 right 70221
#	kernel32: heartbeat 12 random 98712 map 54112
#	module32: heartbeat 12 rmd160 98712 md4 54112
#	jit32: heartbeat 12 three 104823 two 70221
#	cfi32: heartbeat 12 left 104823 calls 70221
#
# A sample counts to a function of the program, or else by the system call that only one has. On arm64
# module32 and jit32 are missing.
#
# Variables: points, the largest difference of a share (3); least, how many samples there must be.
FILENAME ~ /folded$/ {
	count = $NF
	sub(/ [0-9]+$/, "")
	all += count
	if (match($0, /^(user32|kernel32|module32|jit32|cfi32);_start;main;run;(left|right|random|map|rmd160|md4|three|two|calls)(;|$)/)) {
		split($0, part, ";")
		samples[part[1] " " part[5]] += count
	} else if (/^kernel32;.*sys_getrandom/)
		samples["kernel32 random"] += count
	else if (/^kernel32;.*(sys_old_mmap|sys_munmap)/)
		samples["kernel32 map"] += count
	else {
		other += count
		others = others "# of no function: " count " " $0 "\n"
	}
	# Nearly all of it runs in two modules, one below the other.
	if (/^module32;.*;__ia32_sys_write;/) {
		hash += count
		if (/;hash_sendmsg(;|$)/)
			in_modules += count
		else
			elsewhere = elsewhere "# not in a module: " count " " $0 "\n"
		if (/;hash_sendmsg;.*;(rmd160|md4)_[a-z_]+(;|$)/)
			in_two += count
	}
	if (/^jit32;_start;main;run;(three|two)(;|$)/) {
		compiled += count
		named_code += count * /;(three;jit_three|two;jit_two)(;|$)/
	}
	if (/;(\[unknown\]|0x[c-f][0-9a-f]{7})(;|$)/)
		no_function += count
	if (/^(user32|kernel32|module32|jit32|cfi32);/) {
		user += count
		if (!/^[a-z0-9]+;_start;main(;|$)/ && !/^[a-z0-9]+;_start$/) {
			user_cut += count
			user_cuts = user_cuts "# user part cut: " count " " $0 "\n"
		}
		if (/;0x[0-9a-f]*/)
			nameless += count
	}
	# A kernel part has an entry from user code outermost, or a start of the kernel's own.
	if (!/;(__ia32_sys|do_|__|ret_from|handle_exception|common_exc|asm_|entry_|irq|[a-z_]+_interrupt)/)
		next
	kernel += count
	# One mark before the kernel's part is that of the user's.
	if (/\[truncated\]/ && !/^[a-z0-9]+;\[truncated\];(entry_|handle_exception|asm_|common_)/) {
		cut += count
		cuts = cuts "# cut: " count " " $0 "\n"
	}
	next
}
{
	sign = FILENAME ~ /first$/ ? -1 : 1
	sub(/:/, "", $1)
	us[$1 " " $4] += sign * $5
	us[$1 " " $6] += sign * $7
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
	printf "%s%s%s%s", others, elsewhere, user_cuts, cuts
	printf "# %d of %d user parts are whole, %d have a frame without a name\n", user - user_cut, user,
		nameless
	printf "# %d of %d kernel parts are whole\n", kernel - cut, kernel
	print (bad || all < least ? "not ok" : "ok") " shares are those that the processes measured"
	print (user_cut > 0.02 * user || !user ? "not ok" : "ok") " 98 % of the user's parts are whole"
	print (nameless > 0.01 * user || !user ? "not ok" : "ok") " 99 % of them have names for all frames"
	print (cut > 0.01 * kernel || !kernel ? "not ok" : "ok") " 99 % of the kernel's parts are whole"
	if (!("module32 md4" in us)) # the guest of arm64
		exit
	printf "# %d of %d run code that the process has named\n", named_code, compiled
	print (named_code < 0.98 * compiled || !compiled ? "not ok" : "ok") " compiled code has its names"
	printf "# %d of %d hash in a module, %d in two, %d have a frame of the kernel without a name\n",
		in_modules, hash, in_two, no_function
	print (in_modules < 0.95 * hash || in_two < 0.8 * hash || !hash || no_function > 0.005 * all ? "not ok" : "ok") \
		" functions of modules have names"
}
