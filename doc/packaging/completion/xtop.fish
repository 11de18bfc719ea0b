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
# --- made of src/cli/options_table.c by tests/cli/test_option_lists
complete -c xtop -s d -l domain -x -a '(__xtop_domains)' -d 'the guest: name, domid or UUID; may be repeated'
complete -c xtop -l all -d 'every guest, also those that come later'
complete -c xtop -l match -x -d 'with --all: only guests with such names, as web*'
complete -c xtop -l except -x -d 'with --all: no guests with such names'
complete -c xtop -s F -l freq -x -d 'samples per second, 1 to 20000 (default 99)'
complete -c xtop -l budget -x -d 'share of its time a guest may be stopped (default 1)'
complete -c xtop -l shared -d 'profile a guest that another xtop profiles already'
complete -c xtop -l bare -d 'copy no stacks: shows what the stops themselves cost'
complete -c xtop -s u -l unwind -x -a 'auto fp orc dwarf' -d 'how to walk stacks: auto (default), fp, orc or dwarf'
complete -c xtop -l interpreters -d 'show interpreters\' own functions, not their programs\''
complete -c xtop -l waits -d 'also look at waiting tasks, 1 to 10 Hz (default 2)'
complete -c xtop -l neighbours -d 'also look who takes the guest\'s physical CPUs'
complete -c xtop -l exits -d 'also have Xen trace the guest\'s exits and wake-ups'
complete -c xtop -s e -l filter -x -d 'only stacks with a match of REGEX; !REGEX: without'
complete -c xtop -s s -l sort -x -a 'children self samples symbol module process source' -d 'children (default), self, samples, symbol, module, process or source'
complete -c xtop -l group -x -a 'process cgroup' -d 'by process (default) or cgroup: what folded stacks begin with'
complete -c xtop -l half-life -x -d 'after this time a sample counts half (default 10)'
complete -c xtop -l clock -x -a 'dom0 utc guest guest-utc' -d 'tell times on this clock: dom0 (default), utc, guest or guest-utc'
complete -c xtop -l margins -d 'tell how sure shares are, in a column ±'
complete -c xtop -l addresses -d 'show unnamed functions as 0xADDRESS'
complete -c xtop -s b -l batch -d 'print tables; the default without a terminal'
complete -c xtop -s i -l interval -x -d 'between refreshes (default 1; tables 2, --push 10)'
complete -c xtop -s n -l iterations -x -d 'print N tables and stop'
complete -c xtop -s T -l time -x -d 'stop after this time'
complete -c xtop -s w -l record -x -a '(__xtop_files .xrec)' -d 'write the raw samples to a new file, a recording'
complete -c xtop -s r -l replay -x -a '(__xtop_files .xrec .folded .folded.gz .pb.gz .pprof)' -d 'read a recording or profile (pprof, ...); - is stdin'
complete -c xtop -l value -x -d 'with --replay: which values of a profile that has several'
complete -c xtop -l strict -d 'with --replay: refuse a profile if a line cannot be read'
complete -c xtop -l paced -d 'replay at the speed of the recording'
complete -c xtop -l example -x -a 'server update locks crash' -d 'open an example that comes with xtop'
complete -c xtop -s o -l output -x -a '(__xtop_files .folded .pb.gz .json .perf .svg .html)' -d 'write the profile at exit; - is stdout'
complete -c xtop -l format -x -a 'folded pprof speedscope perf svg html' -d 'folded, pprof, speedscope, perf, svg or html (default: by the ending of FILE)'
complete -c xtop -l profile -x -a 'cpu waits exits' -d 'cpu (default), waits or exits: what -o and -b write'
complete -c xtop -l json -d 'print each table as one JSON object on a line'
complete -c xtop -l stats -x -a '(__xtop_files .json)' -d 'write counters and costs at exit, one JSON object'
complete -c xtop -s q -l quiet -d 'print no tables'
complete -c xtop -l diff -d 'print what differs in two files, and how surely'
complete -c xtop -l all-rows -d 'with --diff: also functions that may be the same'
complete -c xtop -l fail-over -x -d 'with --diff: exit with 1 if a function grew by more'
complete -c xtop -l baseline -x -a '(__xtop_files .xrec .folded .folded.gz .pb.gz .pprof)' -d 'a recording or profile to compare the screen with'
complete -c xtop -l annotate -x -d 'print its instructions, with the samples of each'
complete -c xtop -l lines -d 'add source lines and inlined functions'
complete -c xtop -l no-inline -d 'with --lines: no inlined functions'
complete -c xtop -l addr2line -d 'read an oops from stdin, print it with source lines'
complete -c xtop -l crash -d 'log and all stacks of a guest that crashed or runs'
complete -c xtop -s k -l symbols -r -F -d 'names of functions: ELF file, nm\'s or kallsyms\' text'
complete -c xtop -l root -x -a '(__fish_complete_directories)' -d 'the guest\'s root file system, mounted or copied'
complete -c xtop -l debug-dir -x -a '(__fish_complete_directories)' -d 'debug files (default /usr/lib/debug); may be repeated'
complete -c xtop -l source-dir -x -a '(__fish_complete_directories)' -d 'with --lines: source files; may be repeated'
complete -c xtop -l debuginfod -d 'fetch debug files from the servers of DEBUGINFOD_URLS'
complete -c xtop -l push -x -d 'send a profile of each guest and interval to a store: file:///DIR, http(s)://HOST, otlp+http(s)://HOST'
complete -c xtop -l push-config -r -F -d 'with --push: tenant, credentials and limits'
complete -c xtop -l label -x -d 'with --push: a label of the profiles; may be repeated'
complete -c xtop -l metrics -r -F -d 'metrics at ADDRESS:PORT, or in /DIR/NAME.prom'
complete -c xtop -l host-budget -x -d 'share of a CPU that xtop may take for all guests together'
complete -c xtop -l config -r -F -d 'take options from FILE first, NAME or NAME = VALUE'
complete -c xtop -l check -d 'say whether the options are good, and exit'
complete -c xtop -s l -l list -d 'list the guests and exit'
complete -c xtop -l unpause -x -a '(__xtop_domains)' -d 'let a guest run that a killed xtop left stopped'
complete -c xtop -l xen-abi -x -a '4.14 4.15 4.16 4.17 4.18 4.19 4.20 4.21 4.22' -d 'on a newer Xen: the release to assume, 4.14 to 4.22'
complete -c xtop -s h -l help -d 'show this text and exit'
complete -c xtop -s V -l version -d 'show the version and exit'
# --- end of what is made
