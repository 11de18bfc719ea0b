/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that make functions and drop them for ever, for test_churn. In each turn N a program makes
 * a_N(), b_N() and c_N(), each of which calls the next one, writes N to the file that it is given,
 * and calls a_N() from run(). All names have the same length, so that a new function finds room
 * where an old one was.
 */
#ifndef TESTS_CHURN_PROGRAMS_H
#define TESTS_CHURN_PROGRAMS_H

static const char churn_python[] =
	"import mmap, os, struct, sys, time\n"
	"turn = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)\n"
	"text = '''\n"
	"def a_N():\n"
	"    return b_N()\n"
	"def b_N():\n"
	"    return c_N()\n"
	"def c_N():\n"
	"    s = 0\n"
	"    for i in range(M): s += i\n"
	"    return s\n"
	"'''\n"
	"def run(n):\n"
	"    made = {}\n"
	"    exec(compile(text.replace('N', str(n)).replace('M', str(n * 7919 % 4000)),\n"
	"                 'made.py', 'exec'), made)\n"
	"    turn[0:8] = struct.pack('q', n)\n"
	"    made['a_%d' % n]()\n"
	"print('END', flush=True)\n"
	"time.sleep(0.5)\n"
	"n = 1000000\n"
	"while True:\n"
	"    n += 1\n"
	"    run(n)\n";

/* Only closures are dropped. The line of a closure tells its turn. */
#define CHURN_PHP_LINES 97
static const char churn_php[] =
	"$turn = fopen($argv[1], 'r+');\n"
	"stream_set_write_buffer($turn, 0);\n"
	"function run($n, $turn) {\n"
	"    $a = eval(str_repeat(\"\\n\", $n * 3 % 97) .\n"
	"        'return function () { $b = ' . \"\\n\" .\n"
	"        'function () { $c = ' . \"\\n\" .\n"
	"        'function () { for ($i = 0, $s = 0; $i < ' . ($n * 7919 % 20000) . '; $i++) $s += $i;\n"
	"                       return $s; }; return $c(); }; return $b(); };');\n"
	"    fseek($turn, 0);\n"
	"    fwrite($turn, pack('q', $n));\n"
	"    $a();\n"
	"}\n"
	"echo \"END\\n\";\n"
	"usleep(500000);\n"
	"for ($n = 1000001;; $n++) run($n, $turn);\n";

static const char churn_ruby[] =
	"$turn = File.open(ARGV[0], 'r+b')\n"
	"$turn.sync = true\n"
	"def run(n)\n"
	"  eval(\"def a_#{n}() b_#{n}() end\\ndef b_#{n}() c_#{n}() end\\n\" \\\n"
	"       \"def c_#{n}() s = 0; i = 0; while i < #{n * 7919 % 4000}; s += i; i += 1; end; s end\")\n"
	"  $turn.pwrite([n].pack('q'), 0)\n"
	"  send(\"a_#{n}\")\n"
	"  %w[a b c].each { |x| Object.send(:remove_method, \"#{x}_#{n}\") }\n"
	"  GC.start if n % 50 == 0\n"
	"end\n"
	"puts 'END'\n"
	"STDOUT.flush\n"
	"sleep 0.5\n"
	"n = 1000000\n"
	"loop { n += 1; run(n) }\n";

static const char churn_perl[] =
	"use strict; $| = 1;\n"
	"open(my $turn, '+<', $ARGV[0]) or die;\n"
	"sub run {\n"
	"    my $n = shift;\n"
	"    my $m = $n * 7919 % 20000;\n"
	"    eval \"sub a_$n { b_$n() + 1 } sub b_$n { c_$n() + 1 } \" .\n"
	"         \"sub c_$n { my \\$s = 0; for (my \\$i = 0; \\$i < $m; \\$i++) { \\$s += \\$i } \\$s }\";\n"
	"    sysseek($turn, 0, 0); syswrite($turn, pack('q', $n));\n"
	"    no strict 'refs';\n"
	"    &{\"a_$n\"}();\n"
	"    undef &{\"${_}_$n\"}, delete $main::{\"${_}_$n\"} for qw(a b c);\n"
	"}\n"
	"print \"END\\n\";\n"
	"select(undef, undef, undef, 0.5);\n"
	"for (my $n = 1000001;; $n++) { run($n) }\n";

static const char churn_node[] =
	"const fs = require('fs');\n"
	"const turn = fs.openSync(process.argv[1], 'r+'), bytes = Buffer.alloc(8);\n"
	"function run(n) {\n"
	"  const a = eval(`(function a_${n}() { return b_${n}();\n"
	"    function b_${n}() { return c_${n}(); }\n"
	"    function c_${n}() { let s = 0; for (let i = 0; i < ${n * 7919 % 40000}; i++) s += i; return s; }\n"
	"  })`);\n"
	"  bytes.writeUInt32LE(n, 0);\n"
	"  fs.writeSync(turn, bytes, 0, 8, 0);\n"
	"  return a();\n"
	"}\n"
	"fs.writeSync(1, 'END\\n');\n"
	"Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);\n"
	"for (let n = 1000001;; n++) run(n);\n";

#endif
