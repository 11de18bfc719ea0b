# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Functions for the tests that run ./xtop. They source this file first, and are then in a scratch
# folder with a recording. The folder is removed on exit.
top_srcdir=$(cd "${top_srcdir:-.}" && pwd) || exit 1
top_builddir=$(cd "${top_builddir:-.}" && pwd) || exit 1
xtop=$top_builddir/xtop
points=0
failures=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/xtop-test-cli-XXXXXX") || exit 1
trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
"$top_builddir/tests/recordings/record" made-up || exit 1

# point STATUS TEXT [FILE...]: one TAP point. If STATUS is not 0, prints the files as comments.
point() {
	points=$((points + 1))
	if [ "$1" = 0 ]; then
		echo "ok $points - $2"
		return
	fi
	echo "not ok $points - $2"
	failures=$((failures + 1))
	shift 2
	for file; do
		sed "s|^|# $file: |" "$file"
	done
}

# run ARG...: runs xtop without input. Sets $status, and writes the files out and err.
run() {
	"$xtop" "$@" </dev/null >out 2>err
	status=$?
}

# said WORDS: err is one line that begins with "xtop: " and contains WORDS.
said() {
	[ "$(wc -l <err)" = 1 ] && grep -q '^xtop: ' err && grep -qF -- "$1" err
}

# fails STATUS WORDS ARG...: xtop exits with STATUS and prints one line that contains WORDS on
# stderr, and nothing on stdout.
fails() {
	want=$1 words=$2
	shift 2
	run "$@"
	[ "$status" = "$want" ] && said "$words" && [ ! -s out ]
	point $? "xtop $*: $want, $words" err out
}

# equal FILE GOLDEN TEXT: the files are the same. XTOP_UPDATE_GOLDEN=1 rewrites the golden file.
equal() {
	golden=$top_srcdir/tests/cli/$2
	[ -z "$XTOP_UPDATE_GOLDEN" ] || cp "$1" "$golden"
	diff -u "$golden" "$1" >difference
	point $? "$3" difference
}

# waits COMMAND...: repeats COMMAND until it succeeds. Waits up to a minute, as a machine may be
# slow.
waits() {
	n=0
	until "$@"; do
		n=$((n + 1))
		[ "$n" -lt 600 ] || return 1
		sleep 0.1
	done
}

# plan: prints the number of points and exits.
plan() {
	echo "1..$points"
	[ $failures = 0 ]
	exit
}
