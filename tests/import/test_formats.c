/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of perf script, speedscope and gperftools: stacks, weights, and what is refused. */
#include "config.h"

#include <stdlib.h>

#include "tests/support/must.h"
#include "tests/support/read_profile.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/export/export.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

static struct read read_bytes(const void *bytes, size_t n, const char *value)
{
	return read_profile(bytes, n, 0, (struct import_settings){ .value = value });
}

static void check_bytes(const void *bytes, size_t n, const char *value, const char *format,
			const char *expected)
{
	struct read read = read_bytes(bytes, n, value);
	_cleanup_free_ char *again = read.snapshot ? folded_text(read.snapshot, true) : NULL;

	check_string(again, expected, format);
	if (read.error)
		printf("# %s\n", error_message(read.error));
	else
		check_string(import_get_format(read.import), format,
			     "name of the format that was recognised");
	read_close(&read);
}

static void check_text(const char *text, const char *value, const char *format,
		       const char *expected)
{
	check_bytes(text, strlen(text), value, format, expected);
}

static void check_refused(const char *text, const char *value, const char *words)
{
	struct read read = read_bytes(text, strlen(text), value);

	check(read.error && strstr(error_message(read.error), words), "refused: %s (said: %s)",
	      words, read.error ? error_message(read.error) : "nothing");
	read_close(&read);
}

static void test_perf(void)
{
	static const char two_events[] =
		"# ========\n# perf 6.1\n#\n"
		"nginx: worker 812/815 [001] 86401.203000:         30 cycles:ppp: \n"
		"\tffffffff8123abc0 vfs_read+0x1c ([kernel.kallsyms])\n"
		"\tffffffff8123abc0 get_user (inlined)\n  uaccess.h:120\n"
		"\t            1139 operator new(unsigned long)+0x3 (/usr/lib/libc (deleted))\n"
		"\t            2000 [unknown] (/usr/sbin/nginx)\n\n"
		"gzip   7 [000] 86401.204000: sched:sched_switch: prev_comm=gzip prev_pid=7\n"
		"\tffffffff81000000 schedule ([kernel.kallsyms])\n\n"
		"gzip 7 [000] 86401.205000: 10 cycles:ppp:\n\t1000 main+0x0 (/bin/gzip)";

	check_text(two_events, NULL, "perf",
		   "gzip;main 10\n"
		   "nginx: worker;0x2000;operator new(unsigned long);get_user;vfs_read 30\n");
	check_text(two_events, "sched:sched_switch", "perf", "gzip;schedule 1\n");
	check_text(two_events, "samples", "perf",
		   "gzip;main 1\n"
		   "nginx: worker;0x2000;operator new(unsigned long);get_user;vfs_read 1\n");
	check_refused(two_events, "faults", "no event 'faults'");
	check_text("           false 39654 1.5:          1 cycles:u:  ffffffff9b201293 f ([a])\n"
		   "        deadbeef 39655 1.6:          4 cycles:u:  7f00000000d8 g+0x4 (/b)\n",
		   NULL, "perf", "deadbeef;g 4\nfalse;f 1\n");
	/* Functions of Java that were compiled into another one, and code without a name. */
	check_text(
		"java 7 1.5: 3 cycles:\n"
		"\t7f01 Ljava/io/Writer;::flush->Lsun/Enc;::write->Lsun/Enc;::put+0x1c (/tmp/perf-7"
		".map)\n\t7f02  (/lib/libc.so)\n\t7f03 A::operator->+0x5 (/lib/x)\n"
		"\t7f04 std::call<&B::operator->>+0x5 (/lib/x)\n"
		"\t7f05 core::ops::f(u8) -> u16+0x5 (/lib/x)\n\t7f06 a->b (/lib/x)\n\n",
		NULL, "perf",
		"java;a->b;core::ops::f(u8) -> u16;std::call<&B::operator->>;A::operator->;0x7f02;"
		"Ljava/io/Writer_::flush;Lsun/Enc_::write;Lsun/Enc_::put 3\n");
	check_text("java 19983 cycles:\nffffffff8103d0ca f ([kernel.kallsyms])\n0123456789abcdef g "
		   "(/tmp/perf-1.map)\n\n",
		   NULL, "perf", "java;g;f 1\n");
}

/* Checks which KIND and MODULE a function in perf's FILE is read with. */
static void check_file(const char *file, enum frame_kind kind, const char *module)
{
	char text[256];
	struct read read;
	bool found = false;

	snprintf(text, sizeof(text), "a 1 [000] 1.5: 1 cycles:\n\t%s f (%s)\n\n",
		 kind == FRAME_KIND_KERNEL ? "ffffffff81001000" : "7fff00001000", file);
	read = read_bytes(text, strlen(text), NULL);
	for (uint32_t i = 0; read.snapshot && i < read.snapshot->n_nodes; i++) {
		const struct frame *frame = frames_get(read.frames, read.snapshot->nodes[i].frame);

		found = found || (frame->kind == kind && frame->module &&
				  strcmp(frame->module, module) == 0);
	}
	check(found, "%s is %s's module %s", file,
	      kind == FRAME_KIND_KERNEL ? "a kernel" : "a program", module);
	read_close(&read);
}

/* What is kernel and what is user code, by perf's names of files. */
static void test_perf_kinds(void)
{
	check_file("[kernel.kallsyms]", FRAME_KIND_KERNEL, "[kernel]");
	check_file("[nf_conntrack]", FRAME_KIND_KERNEL, "[nf_conntrack]");
	check_file("/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko", FRAME_KIND_KERNEL, "xfs.ko");
	check_file("/lib/modules/6.12.9/xfs.ko.xz", FRAME_KIND_KERNEL, "xfs.ko.xz");
	check_file("/lib/modules/6.12.9/xfs.ko.zst", FRAME_KIND_KERNEL, "xfs.ko.zst");
	check_file("/lib/modules/5.10.0/xfs.ko.gz", FRAME_KIND_KERNEL, "xfs.ko.gz");
	check_file("/usr/lib/debug/lib/modules/6.1.0/xfs.ko.debug", FRAME_KIND_KERNEL,
		   "xfs.ko.debug");
	check_file("/usr/lib/debug/boot/vmlinux-6.1.0-13-amd64", FRAME_KIND_KERNEL,
		   "vmlinux-6.1.0-13-amd64");
	check_file("[vdso]", FRAME_KIND_USERLAND, "[vdso]");
	check_file("/bin/a", FRAME_KIND_USERLAND, "a");
	check_file("/usr/lib/vmlinuxed.so", FRAME_KIND_USERLAND, "vmlinuxed.so");
	check_file("/opt/a.koz", FRAME_KIND_USERLAND, "a.koz");
	check_file("C:\\Windows\\SYSTEM32\\ntdll.dll", FRAME_KIND_USERLAND, "ntdll.dll");
	check_file("\\\\server\\share\\app.exe", FRAME_KIND_USERLAND, "app.exe");
	check_file("Z:\\home/user\\wine/a.dll", FRAME_KIND_USERLAND, "a.dll");
	check_file("/opt/back\\slash", FRAME_KIND_USERLAND, "back\\slash");
}

#ifdef HAVE_JANSSON
/* Reads EVENTS, "O0@1 C0@4": open or close a frame, f or g, at a time. */
static void check_events(const char *events, const char *refused, const char *expected)
{
	char text[1024], type;
	size_t n = (size_t)sprintf(text, "{\"shared\": {\"frames\": [{\"name\": \"f\"}, {\"name\": "
					 "\"g\"}]}, \"profiles\": [{\"type\": \"evented\", "
					 "\"events\": [");
	int frame, at, length;

	for (const char *event = events;
	     sscanf(event, " %c%d@%d%n", &type, &frame, &at, &length) == 3; event += length)
		n += (size_t)sprintf(text + n, "%s{\"type\": \"%c\", \"frame\": %d, \"at\": %d}",
				     event == events ? "" : ", ", type, frame, at);
	sprintf(text + n, "]}]}");
	if (refused)
		check_refused(text, NULL, refused);
	else
		check_text(text, NULL, "speedscope", expected);
}
#endif

#ifdef HAVE_JANSSON
/* Checks which KIND a function of speedscope's, which has no file, is read with. */
static void check_kind(const char *name, enum frame_kind kind)
{
	bool found = false;
	struct read read;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"profiles\": [{\"type\": \"sampled\", \"unit\": \"none\", \"samples\": [[0]], "
		 "\"weights\": [1]}], \"shared\": {\"frames\": [{\"name\": \"%s\"}]}}",
		 name);
	read = read_bytes(text, strlen(text), NULL);
	for (uint32_t i = 0; read.snapshot && i < read.snapshot->n_nodes; i++) {
		const struct frame *frame = frames_get(read.frames, read.snapshot->nodes[i].frame);

		found |= frame->kind == kind && strcmp(frame->name, name) == 0;
	}
	check(found, "%s has the right kind", name);
	read_close(&read);
}
#endif

static void test_speedscope(void)
{
#ifdef HAVE_JANSSON
	static const char two[] =
		"{\"profiles\": [{\"type\": \"sampled\", \"name\": \"one\", \"unit\": \"none\", "
		"\"samples\": [[0, 1], [0], []], \"weights\": [0.5, 2, 1]},"
		"{\"type\": \"evented\", \"name\": \"two\", \"unit\": \"milliseconds\", "
		"\"startValue\": 1, \"endValue\": 9, \"events\": ["
		"{\"type\": \"O\", \"frame\": 0, \"at\": 1}, {\"type\": \"O\", \"frame\": 1, \"at\": 3},"
		"{\"type\": \"C\", \"frame\": 1, \"at\": 6}, {\"type\": \"C\", \"frame\": 0, \"at\": 9}]}],"
		" \"activeProfileIndex\": 1,"
		" \"shared\": {\"frames\": [{\"name\": \"f\"}, {\"name\": \"g\", \"file\": \"m\"}]}}";
	/* Two have one name, the third has none. */
	static const char alike[] =
		"{\"profiles\": [{\"name\": \"a\", \"samples\": [[0]], \"weights\": [3]},"
		"{\"name\": \"a\", \"samples\": [[0]], \"weights\": [4]},"
		"{\"samples\": [[0]], \"weights\": [5]}], \"shared\": {\"frames\": [{\"name\": \"f\"}]}}";
	static const char own[] =
		"{\"profiles\": [{\"name\": \"a\", \"samples\": [[0]], \"weights\": [3]},"
		"{\"name\": \"a\", \"samples\": [[0]], \"weights\": [4]},"
		"{\"name\": \"a (2)\", \"samples\": [[0]], \"weights\": [6]}],"
		" \"shared\": {\"frames\": [{\"name\": \"f\"}]}}";

	check_kind("f", FRAME_KIND_FUNCTION);
	check_kind("[pl] <main>", FRAME_KIND_USERLAND);
	check_text(two, NULL, "speedscope", "f 5\nf;g 3\n");
	check_text(two, "one", "speedscope", "[unknown] 10\nf 20\nf;g 5\n");
	check_refused(two, "three", "no profile called 'three'");
	check_text(alike, NULL, "speedscope", "f 3\n");
	check_text(alike, "a (2)", "speedscope", "f 4\n");
	check_text(alike, "profile 3", "speedscope", "f 5\n");
	check_text(own, "a (2)", "speedscope", "f 6\n");
	check_refused("{\"nodes\": []}", NULL, "not speedscope's");
	check_refused("{\"profiles\": [{", NULL, "damaged in line 1 of JSON");
	check_refused("{\"profiles\": [{\"samples\": [[3]]}], \"shared\": {\"frames\": []}}", NULL,
		      "a frame that is not there");
	check_events("O0@1 C0@4 O1@5 C1@9", NULL, "f 3\ng 4\n");
	check_events("O0@1 O1@2 C0@4 C1@9", "closes another frame", NULL);
	check_events("O0@1 O1@2 C1@4", "still open", NULL);
	check_events("O0@5 C0@4", "a time before the last one", NULL);
	check_refused("{\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0], [0]], "
		      "\"weights\": [3]}], \"shared\": {\"frames\": [{\"name\": \"f\"}]}}",
		      NULL, "2 samples, but 1 weights");
#else
	check_refused("{\"profiles\": [{", NULL, "built without jansson");
#endif
}

static void test_gperftools(void)
{
	static const uint64_t large[] = { 0,      3, 0, 10000,  0, 4, 2, 0x1010,
					  0x2021, 1, 1, 0x9000, 0, 1, 0 };
	static const uint32_t small[] = { 0, 3, 0, 10000, 0, 2, 1, 0x1010, 0, 1, 0 };
	static const char maps[] = "00001000-00003000 r-xp 00000000 08:01 123  /usr/bin/prog\n";
	static const char heap[] =
		"heap profile:    3:    1024 [   10:     5000] @ heapprofile\n"
		"     1:      512 [     4:     2000] @ 0x00001010 0x00002021\n"
		"     2:      512 [     6:     3000] @ 0x00009000\n\nMAPPED_LIBRARIES:\n"
		"00001000-00003000 r-xp 00000000 08:01 123  /usr/bin/prog\n";
	static const char waits[] = "--- contention:\ncycles/second = 2000000000\n"
				    "sampling period = 100\n  400  3 @ 0x10 0x21\n";
	char bytes[512];
	struct read read;

	memcpy(bytes, large, sizeof(large));
	memcpy(bytes + sizeof(large), maps, sizeof(maps) - 1);
	check_bytes(bytes, sizeof(large) + sizeof(maps) - 1, NULL, "gperftools",
		    "0x2020;0x1010 4\n0x9000 1\n");
	check_bytes(small, sizeof(small), NULL, "gperftools", "0x1010 2\n");
	read = read_bytes(large, sizeof(large) - 8, NULL);
	check(read.error && strstr(error_message(read.error), "cut short"),
	      "a CPU profile that is cut");
	read_close(&read);
	/* pprof's frames are the calls, here and in what follows: each address less one. */
	check_text(heap, NULL, "gperftools", "0x2020;0x100f 512\n0x8fff 512\n");
	check_text(heap, "alloc_objects", "gperftools", "0x2020;0x100f 4\n0x8fff 6\n");
	check_refused(heap, "cpu", "no value 'cpu'");
	/* Half of the allocations of 512 bytes were met: 1 / (1 - exp(-512 / 738.66)) = 2. */
	check_text("heap profile: 3: 1536 [3: 1536] @ heap_v2/738.66\n 3: 1536 [3: 1536] @ 0x10\n",
		   NULL, "gperftools", "0xf 3072\n");
	check_text(waits, NULL, "gperftools", "0x20;0xf 20000\n");
	check_text(waits, "contentions", "gperftools", "0x20;0xf 300\n");
	check_refused(waits, "cpu", "no value 'cpu', but contentions, delay");
	/* 1.67 ns and 4.33 ns are whole nanoseconds, as pprof has them. */
	check_text("--- contention:\ncycles/second = 3000000000\n 5 1 @ 0x10\n 13 1 @ 0x21\n", NULL,
		   "gperftools", "0x20 4\n0xf 1\n");
}

int main(void)
{
	test_perf();
	test_perf_kinds();
	test_speedscope();
	test_gperftools();
	return tap_done();
}
