# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Unwinding by instructions, in libraries that a compiler makes here of files of xtop itself. Tests
# source this file first, and then are in the scratch folder of tests/cli/tap.sh.
# shellcheck source=tests/cli/tap.sh
. "${top_srcdir:-.}/tests/cli/tap.sh"

# skip WHY: ends the test.
skip() {
	echo "1..0 # SKIP $*"
	exit
}

if grep -q '^XTOP_CPPFLAGS = .*-DSANITIZED' "$top_builddir/Makefile"; then
	skip "with sanitizers test_computed_rows and test_call_targets look at libc, which is larger"
fi

# needs COMPILER FLAG...: skips the test where they do not work.
needs() {
	echo 'int main(void) { return 0; }' | "$@" -x c -o /dev/null - 2>/dev/null ||
		skip "$* does not work here"
}

# make_library FLAGS COMPILER: sets $library, the file's name. The functions that it lacks do not matter.
# Constants lie apart from code: arm64's linker puts them into one segment by default, where a constant
# may look like a call of the middle of a function, whose instructions are then not known (never wrong).
make_library() {
	library=$(echo "$1" | tr -cd 'a-zO0-9').so
	# shellcheck disable=SC2086 # words
	"$2" -std=gnu11 -w -fPIC -shared -fomit-frame-pointer -fasynchronous-unwind-tables $1 \
		-DHAVE_CONFIG_H -D_DEFAULT_SOURCE -D_XOPEN_SOURCE=600 -I"$top_builddir" \
		-I"$top_srcdir/include" -I"$top_srcdir/src" -Wl,--unresolved-symbols=ignore-all \
		-Wl,-z,separate-code -o "$library" "$top_srcdir"/src/unwind/cfi*.c \
		"$top_srcdir"/src/unwind/computed*.c "$top_srcdir"/src/unwind/flow*.c \
		"$top_srcdir"/src/unwind/orc*.c 2>err
	point $? "$1: a library" err
}

# check_library FLAGS BEGIN: instructions of $library agree with the .eh_frame that the compiler has written
# (test_computed_rows), and steps without any bounds lead to the same callers (test_call_targets). BEGIN
# percent of the functions begin where they are found.
check_library() {
	COMPUTED_FILES=$scratch/$library "$top_builddir/tests/unwind/test_computed_rows" >rows
	sed -n "/^# .*$library/,/^[^#]/p" rows >about
	agree=$(awk '$2 == "agree" && $NF == "%" { print $(NF - 1) }' about)
	awk -v agree="$agree" '$2 == "wrong" { wrong += $4 } END { exit !(agree >= 99.5 && !wrong) }' about
	point $? "$1: $agree % of instructions agree with .eh_frame, none is wrong" about
	COMPUTED_FILES=$scratch/$library "$top_builddir/tests/unwind/test_call_targets" |
		grep "^# .*$library" >steps
	same=$(sed -n 's/.*: \([0-9.]*\) % lead to the same caller.*/\1/p' steps)
	begin=$(sed -n 's/.*; \([0-9.]*\) % of [0-9]* functions begin.*/\1/p' steps)
	awk -v same="$same" -v begin="$begin" -v least="$2" \
		'BEGIN { exit !(same >= 99.5 && begin >= least) }'
	point $? "$1: $same % of steps without bounds lead to the same caller; $begin % of functions begin where they are found" steps
}
