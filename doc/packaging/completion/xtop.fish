# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of xtop(1).

# Names of guests: from xl, or from xenstore where xl does not answer.
function __xtop_domains
	set -l names (xl list 2>/dev/null | awk 'NR > 1 && $2 != 0 { print $1 }')
	if test (count $names) = 0
		for id in (xenstore-list /local/domain 2>/dev/null)
			test $id = 0; or set -a names (xenstore-read /local/domain/$id/name 2>/dev/null)
		end
	end
	test (count $names) = 0; or printf '%s\n' $names
end

# __xtop_files ENDING...: folders, and files with one of the endings. If no file has one, all files.
function __xtop_files
	set -l current (commandline -ct | string replace -r -- '^--[a-z-]+=' '')
	set -l all (complete -C "'' $current" | string replace -r '\t.*' '')
	set -l endings (string join '|' (string escape --style=regex -- $argv))
	set -l files (string match -r -- "^.*(?:$endings)\$" $all)
	if test (count $files) != 0
		printf '%s\n' (string match -r -- '^.*/$' $all) $files
	else if test (count $all) != 0
		printf '%s\n' $all
	end
end

complete -c xtop -f -a '(__xtop_files .xrec .folded .folded.gz .pb.gz .pprof)'
complete -c xtop -s d -l domain -x -a '(__xtop_domains)' -d 'The guest: name, domid or UUID'
complete -c xtop -s F -l freq -x -d 'Samples per second'
complete -c xtop -s k -l symbols -r -F -d 'Names of functions'
complete -c xtop -l root -x -a '(__fish_complete_directories)' -d 'Root file system of a Linux guest'
complete -c xtop -l debug-dir -x -a '(__fish_complete_directories)' -d 'Debug files by build-id'
complete -c xtop -l debuginfod -d 'Fetch debug files from servers'
complete -c xtop -l lines -d 'Add source lines and inlined functions'
complete -c xtop -l no-inline -d 'No inlined functions'
complete -c xtop -l source-dir -x -a '(__fish_complete_directories)' -d 'Source files, for their text'
complete -c xtop -l addr2line -d 'Print the oops on stdin with source lines'
complete -c xtop -l crash -d 'Show log and stacks of a guest that has crashed'
complete -c xtop -s u -l unwind -x -a 'auto fp orc dwarf' -d 'How to walk stacks'
complete -c xtop -l budget -x -d 'Share of its time that the guest may be stopped'
complete -c xtop -l shared -d 'Profile a guest that another xtop profiles'
complete -c xtop -s i -l interval -x -d 'Time between refreshes'
complete -c xtop -s n -l iterations -x -d 'Stop after N tables'
complete -c xtop -s T -l time -x -d 'Stop after SECS seconds'
complete -c xtop -l half-life -x -d 'After this time a sample counts half'
complete -c xtop -s s -l sort -x -a 'children self samples symbol module process source' -d 'Order of the table'
complete -c xtop -s e -l filter -x -d 'Only stacks that match'
complete -c xtop -s o -l output -x -a '(__xtop_files .folded .pb.gz .json .perf .svg .html)' -d 'Write the profile at exit'
complete -c xtop -l format -x -a 'folded pprof speedscope perf svg html' -d 'Format of the output'
complete -c xtop -l waits -d 'Look at tasks that wait'
complete -c xtop -l profile -x -a 'cpu waits' -d 'What -o and -b write'
complete -c xtop -l group -x -a 'process cgroup' -d 'What folded stacks begin with'
complete -c xtop -l clock -x -a 'dom0 utc guest guest-utc' -d 'On which clock times are told'
complete -c xtop -s w -l record -x -a '(__xtop_files .xrec)' -d 'Write the raw samples'
complete -c xtop -s r -l replay -x -a '(__xtop_files .xrec .folded .folded.gz .pb.gz .pprof)' -d 'Read a recording or a profile'
complete -c xtop -l example -d 'Open the installed example'
complete -c xtop -l paced -d 'Replay at the speed of the recording'
complete -c xtop -l all -d 'Every guest, also those that come later'
complete -c xtop -l match -x -d 'With --all: only such names'
complete -c xtop -l except -x -d 'With --all: not such names'
complete -c xtop -l push -x -d 'Send profiles of intervals to a store'
complete -c xtop -l push-config -r -F -d 'Tenant, credentials and limits of --push'
complete -c xtop -l config -r -F -d 'Options, one a line'
complete -c xtop -l check -d 'Say whether the options are good'
complete -c xtop -l host-budget -x -d 'Percent of a CPU for all guests together'
complete -c xtop -l metrics -r -d 'Serve metrics for Prometheus'
complete -c xtop -l label -x -d 'A label of pushed profiles'
complete -c xtop -l bare -d 'Copy no stacks'
complete -c xtop -l stats -x -a '(__xtop_files .json)' -d 'Write counters and costs at exit'
complete -c xtop -l addresses -d 'Show unnamed functions as 0xADDR'
complete -c xtop -l baseline -x -a '(__xtop_files .xrec .folded .folded.gz .pb.gz .pprof)' -d 'Compare the screen with a file'
complete -c xtop -l diff -d 'Compare two recordings or profiles'
complete -c xtop -x -l annotate -d 'Print the instructions of a function'
complete -c xtop -l all-rows -d 'With --diff: also functions that may be the same'
complete -c xtop -l fail-over -x -d 'With --diff: exit with 1 if a function grew by more'
complete -c xtop -s b -l batch -d 'Print tables'
complete -c xtop -l json -d 'Each table as one JSON object on a line'
complete -c xtop -s q -l quiet -d 'Print no tables'
complete -c xtop -l unpause -x -a '(__xtop_domains)' -d 'Let a guest run that was left stopped'
complete -c xtop -l xen-abi -x -a '4.14 4.15 4.16 4.17 4.18 4.19 4.20 4.21' -d 'On a newer Xen: its interface'
complete -c xtop -s l -l list -d 'List the guests and exit'
complete -c xtop -s h -l help -d 'Show help and exit'
complete -c xtop -s V -l version -d 'Show the version and exit'
