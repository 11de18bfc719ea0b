/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small guest for tests of screens: a call tree made by hand, of 10,000 samples. A share on the
 * screen is a count here divided by 100. There are a web server, two processes that calculate, one
 * that recurses, and names that are long, wide, hostile or missing.
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/profile/profile.h"

#define FIXTURE_NS 1000000000ULL

struct fixture {
	struct frames *frames;
	struct profile *profile;
	uint64_t time_ns, sequence, samples, ticks;
	uint64_t shift; /* place of its code: two guests have two places */
};

/*
 * The first word is the process. "-" in front of a name: kernel; "#": an address without a name;
 * "m:": a mark; nothing: userland.
 */
static const struct {
	const char *stack;
	uint32_t count;
} fixture_stacks[] = {
#define SYSCALL                                                                                    \
	"httpd _start main httpd_serve write -entry_SYSCALL_64_after_hwframe -do_syscall_64 "
#define SEND SYSCALL "-ksys_write -sock_write_iter -tcp_sendmsg -tcp_sendmsg_locked"
	{ SEND " -copy_user_generic_string", 2240 },
	{ SEND " -tcp_write_xmit -dev_queue_xmit", 736 },
	{ SEND " -sk_stream_alloc_skb", 344 },
	{ SEND, 107 },
	{ SYSCALL "-ksys_read -vfs_read -copy_user_generic_string", 300 },
	{ SYSCALL "-ksys_sendfile -tcp_sendpage -tcp_sendmsg_locked -tcp_write_xmit", 290 },
	{ "gzip _start main deflate_slow", 1688 },
	{ "gzip _start main deflate_slow longest_match", 412 },
	{ "md5sum _start main md5_file md5_process_block", 955 },
	{ "fib _start main fib fib fib fib", 700 },
	{ "fib _start main fib fib", 300 },
	{ "app _start main "
	  "std::vector<std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>,"
	  "std::allocator<std::__cxx11::basic_string<char>>>"
	  "::_M_realloc_insert<std::__cxx11::basic_string<char>const&>()",
	  600 },
	{ "app _start main \033[2J\033]0;owned\007e\xcc\x81vil_"
	  "\xe5\x90\x8d\xe5\x89\x8d_\xe2\x80\xaegnp.exe\x9b"
	  "31m",
	  528 },
	{ "app _start #7f3a12345678", 450 },
	{ "app _start main start_here", 20 },
	{ "swapper -cpu_startup_entry -do_idle -xen_hypercall_sched_op", 330 },
#undef SEND
#undef SYSCALL
};

static const char *fixture_module(const char *name)
{
	static const struct {
		const char *name, *module;
	} modules[] = { { "deflate_slow", "libz.so.1.2.13" },
			{ "longest_match", "libz.so.1.2.13" },
			{ "write", "libc.so.6" },
			{ "md5_file", "busybox" },
			{ "md5_process_block", "busybox" },
			{ "httpd_serve", "busybox" },
			{ "fib", "fib" } };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (!strcmp(modules[i].name, name))
			return modules[i].module;
	return name[0] == '#' ? "" : "app";
}

/* "httpd", or "httpd@web.service" in a control group. */
static inline uint32_t fixture_process(struct fixture *fixture, char *word)
{
	const char *name = strsep(&word, "@");

	return frames_intern_process(fixture->frames, name, word ? word : "");
}

static inline void fixture_add(struct fixture *fixture, const char *stack, uint32_t count)
{
	uint32_t ids[64];
	size_t n = 0;
	char *copy = strdup(stack), *rest = copy, *word;

	while ((word = strsep(&rest, " ")) && n < 64) {
		if (n == 0)
			ids[n++] = fixture_process(fixture, word);
		else if (word[0] == '-')
			ids[n++] = frames_intern(fixture->frames, FRAME_KIND_KERNEL, word + 1,
						 "[kernel]", 0x1000 + fixture->shift);
		else if (word[0] == '#')
			ids[n++] = frames_intern(fixture->frames, FRAME_KIND_USERLAND, NULL, "",
						 strtoull(word + 1, NULL, 16));
		else if (!strncmp(word, "m:", 2))
			ids[n++] = frames_intern(fixture->frames, FRAME_KIND_MARK, word + 2, NULL,
						 0);
		else
			ids[n++] = frames_intern(fixture->frames, FRAME_KIND_USERLAND, word,
						 fixture_module(word), 0x1000 + fixture->shift);
	}
	profile_add(fixture->profile, ids, n, fixture->time_ns, count, count);
	fixture->samples += count;
	free(copy);
}

static inline void fixture_fill(struct fixture *fixture)
{
	for (size_t i = 0; i < sizeof(fixture_stacks) / sizeof(fixture_stacks[0]); i++)
		fixture_add(fixture, fixture_stacks[i].stack, fixture_stacks[i].count);
}

/* A demangler that knows one name. */
static inline char *fixture_demangle(const char *name)
{
	return strcmp(name, "_ZN4work3runEv") ? NULL : strdup("work::run()");
}

static inline void fixture_create(struct fixture *fixture)
{
	*fixture = (struct fixture){ .time_ns = FIXTURE_NS };
	if (frames_create(fixture_demangle, &fixture->frames) ||
	    profile_create(PROFILE_MAX_NODES, 10 * FIXTURE_NS, fixture->frames, &fixture->profile))
		abort();
}

static inline void fixture_destroy(struct fixture *fixture)
{
	profile_destroy(fixture->profile);
	frames_destroy(fixture->frames);
}

/* The userland function with that name. */
static inline uint32_t fixture_frame(struct fixture *fixture, const char *name)
{
	return frames_intern(fixture->frames, FRAME_KIND_USERLAND, name, fixture_module(name),
			     0x1000);
}

/* Counters of a run with some trouble. */
static inline void fixture_overhead(struct snapshot *snapshot)
{
	snapshot->run->stopped = (struct stopped_summary){
		.n = snapshot->run->sampler.ticks,
		.min_ns = 9800,
		.p50_ns = 11900,
		.p90_ns = 13000,
		.p99_ns = 21400,
		.max_ns = 88000,
		.mean_ns = 12100,
		.log2 = { [13] = 700, [14] = 190, [15] = 90, [16] = 10 }
	};
	snapshot->run->sampler.late = 12;
	snapshot->run->sampler.idle_ticks = 42;
	snapshot->run->sampler.retakes = 131;
	snapshot->run->sampler.stops = snapshot->run->sampler.ticks + 131;
	snapshot->run->sampler.stopped_ns = 12100 * snapshot->run->sampler.ticks;
	snapshot->run->sampler.mapped_pages = 214;
	snapshot->run->sampler.maps = 1021;
	snapshot->run->sampler.cpu_ns = snapshot->run->sampler.elapsed_ns / 90;
	snapshot->resolver.cpu_ns = snapshot->run->sampler.elapsed_ns / 160;
	snapshot->resolver.stops[UNWIND_COMPLETE] = snapshot->resolver.samples - 131;
	snapshot->resolver.stops[UNWIND_CUT] = 120;
	snapshot->resolver.stops[UNWIND_BAD] = 11;
	snapshot->resolver.weight_truncated = 131;
	snapshot->resolver.frames_by[UNWIND_BY_REGISTERS] = snapshot->resolver.samples;
	snapshot->resolver.frames_by[UNWIND_BY_ORC] = 2100;
	snapshot->resolver.frames_by[UNWIND_BY_CFI] = 1900;
	snapshot->resolver.frames_by[UNWIND_BY_COMPUTED] = 450;
	snapshot->resolver.cuts[CUT_NOT_PRESENT] = 120;
	snapshot->resolver.frames = 90000;
	snapshot->resolver.frames_unknown = 450;
	snapshot->profile_bytes = 3 << 20;
	snapshot->run->ring_permille = 4;
	snapshot->run->lag_ns = 8400000;
}

/* A snapshot as of now, one second after the one before, with counters of N_VCPUS vCPUs. */
static inline struct snapshot *fixture_snapshot(struct fixture *fixture, unsigned n_vcpus)
{
	struct snapshot *snapshot;

	if (profile_copy(fixture->profile, fixture->time_ns, &snapshot))
		abort();
	snapshot->sequence = ++fixture->sequence;
	fixture->ticks += 99;
	snapshot->started_ns = fixture->samples ? FIXTURE_NS : 0;
	snapshot->time_ns = FIXTURE_NS + 220 * FIXTURE_NS + fixture->sequence * FIXTURE_NS;
	snapshot->resolver.samples = fixture->samples;
	snapshot->resolver.samples_unknown = fixture->samples ? 450 : 0;
	snapshot->resolver.weight = (double)fixture->samples;
	snapshot->resolver.weight_unknown = fixture->samples ? 450 : 0;
	snapshot->resolver.unknown_causes[UNKNOWN_NO_SYMBOLS] = fixture->samples ? 400 : 0;
	snapshot->resolver.unknown_causes[UNKNOWN_NOT_PRESENT] = fixture->samples ? 50 : 0;
	snapshot->run->sampler =
		(struct sampler_counts){ .state = SAMPLER_RUNNING,
					 .rate_asked_hz = 99,
					 .rate_now_hz = 99,
					 .ticks = fixture->ticks,
					 .samples = fixture->ticks,
					 .elapsed_ns = fixture->sequence * FIXTURE_NS,
					 .stopped_share = 0.0024,
					 .stopped_share_max = 0.0031 };
	snapshot->run->stopped = (struct stopped_summary){ .n = fixture->ticks, .p50_ns = 11900 };
	snapshot->run->n_vcpus = n_vcpus;
	for (unsigned i = 0; i < n_vcpus; i++) {
		snapshot->run->vcpus[i].states[VCPU_RUNNING] = fixture->sequence * (60 - 12 * i);
		snapshot->run->vcpus[i].states[VCPU_RUNNABLE] = fixture->sequence * 5;
		snapshot->run->vcpus[i].states[VCPU_BLOCKED] = fixture->sequence * (35 + 12 * i);
		snapshot->run->vcpus[i].user = fixture->sequence * (48 - 10 * i);
	}
	return snapshot;
}

#endif
