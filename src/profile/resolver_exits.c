/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resolver finds out about the host. It adds chunks of Xen's trace, names the functions in
 * them, and asks who takes the physical CPUs. In a replay, the recording has the answers.
 * Resolver's thread.
 */
#include "config.h"

#include "profile/resolver_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/names.h"
#include "profile/seen_code.h"
#include "profile/xen_rows.h"
#include "xtop/base/kernel_32.h"
#include "xtop/base/text.h"
#include "xtop/profile/exit_names.h"
#include "xtop/profile/exits.h"
#include "xtop/supervise/takers_source.h"
#include "xtop/supervise/trace_source.h"

#define RESOLVER_CHUNKS       64 /* most chunks of a trace that one round adds */
#define RESOLVER_SEEN_PERIODS 3  /* the process still runs so many ticks after its sample */

/* A vCPU's latest sample, without its stacks: it leads to the process. */
struct exits_seen {
	uint64_t time_ns; /* 0: none yet */
	struct sample_vcpu vcpu;
};

/* What the resolver knows of the guest's exits. */
struct resolver_exits {
	struct exits *exits;
	uint64_t cpu_ns;    /* CPU time that reading Xen's buffers took, since start or reset */
	uint64_t reader_ns; /* CPU time of the process that reads them, as it said last */
	uint32_t domid;
	uint32_t frame; /* "[xen]" */
	struct trace_hello hello;
	struct trace_chunk chunk;
	struct exits_seen seen[GUEST_MAX_VCPUS];
	/* What the latest sample of TASK_VCPU ran; valid within a chunk. */
	unsigned task_vcpu; /* number of a vCPU; UINT_MAX: no task was looked up yet */
	struct os_task task;
};

void resolver_note_vcpu(struct resolver *resolver, const struct sample_vcpu *vcpu)
{
	struct exits_seen *seen;

	if (!resolver->exits || vcpu->state < VCPU_RUNNABLE)
		return;
	seen = &resolver->exits->seen[vcpu->vcpu];
	seen->time_ns = resolver->latest_ns;
	seen->vcpu = *vcpu;
	seen->vcpu.size_bytes = sizeof(*vcpu);
	seen->vcpu.n_stacks = 0;
}

/* The task that VCPU ran when it was sampled last, unless that was long ago. */
static const struct os_task *resolver_find_exit_task(struct resolver *resolver, unsigned vcpu)
{
	struct resolver_exits *exits = resolver->exits;
	const struct exits_seen *seen = &exits->seen[vcpu];

	if (exits->task_vcpu == vcpu)
		return &exits->task;
	exits->task_vcpu = vcpu;
	exits->task = (struct os_task){ 0 };
	if (seen->time_ns &&
	    resolver->latest_ns - seen->time_ns <= RESOLVER_SEEN_PERIODS * resolver->period_ns)
		os_find_task(resolver->settings.os, &seen->vcpu, seen->time_ns, &exits->task);
	return &exits->task;
}

/* The page tables of the kernel that VCPU runs, as far as its latest sample tells. */
static bool resolver_find_exit_root(struct resolver *resolver, unsigned vcpu,
				    struct memory_root *root)
{
	const struct exits_seen *seen;

	if (vcpu >= GUEST_MAX_VCPUS || !resolver->settings.os)
		return false;
	if (os_get_kernel_root(resolver->settings.os, root))
		return true;
	seen = &resolver->exits->seen[vcpu];
	*root = walk_root(&seen->vcpu.regs);
	return seen->time_ns;
}

/*
 * Reads the code of the function that exits at ADDRESS, through ROOT: no sample may ever end in it.
 * ANSWER names it. An exit does not tell how wide a program's code is: VCPU's latest sample does.
 */
static void resolver_read_exit_code(struct resolver *resolver, unsigned vcpu, uint64_t address,
				    const struct name_answer *answer, struct memory_root root)
{
	const struct registers *latest = &resolver->exits->seen[vcpu].vcpu.regs;
	const struct frame *frame = frames_get(resolver->frames, answer->frame);
	bool kernel = frame->kind == FRAME_KIND_KERNEL;
	struct seen_sample sample = {
		.frame = frame_get_function(frame, answer->frame),
		.name = answer,
		.address = address,
		.time_ns = resolver->latest_ns,
		.kernel = kernel,
		.word_bytes = code_word_bytes(root.width, kernel ? 0 : latest->cs),
		.memory = os_get_memory(resolver->settings.os),
		.root = root,
	};

	if (sample.memory && resolver->fold.settings.code && sample.frame >= N_FRAME_IDS &&
	    !name_is_jit(answer))
		seen_code_add(resolver->fold.settings.code, &sample);
}

/*
 * Names a process's code at ADDRESS. An exit's record has no address space, so the space of the
 * vCPU's latest sample is taken. Another process may have run since: if the address has no name in
 * that space, the process is not known.
 */
static struct exits_place resolver_name_user_exit(struct resolver *resolver, unsigned vcpu,
						  uint64_t address)
{
	static const struct os_task none;
	const struct os_task *task =
		vcpu < GUEST_MAX_VCPUS ? resolver_find_exit_task(resolver, vcpu) : &none;
	const struct name_answer *answer = names_find(resolver->names, task->user, address,
						      FRAME_KIND_USERLAND, task->user, 0);

	if (task->user)
		resolver_read_exit_code(resolver, vcpu, address, answer,
					sample_get_user_root(&resolver->exits->seen[vcpu].vcpu));
	return (struct exits_place){
		.frame = answer->frame,
		.process = task->process && answer->quality != NAME_UNKNOWN
				   ? frames_intern_process(resolver->frames, task->process,
							   task->cgroup)
				   : FRAME_ROOT,
	};
}

/*
 * Whether ADDRESS lies where a known system has its kernel. An exit does not tell. Kernels of 64
 * bits have the upper half, those of 32 bits the last GiB, and a unikernel any place.
 */
static bool resolver_is_kernel_exit(struct resolver *resolver, const struct space *kernel,
				    uint64_t address)
{
	const struct mapping *mapping = NULL;
	struct symtab_entry entry;
	struct memory_root root;
	bool is_short = os_get_kernel_root(resolver->settings.os, &root) && !root_is_arm(root) &&
			root.width != WIDTH_64;

	return address >> 63 || (is_short && address >= KERNEL_32_START) ||
	       (kernel && space_find_symbol(kernel, address, &entry, &mapping));
}

static struct exits_place resolver_name_exit(void *context, unsigned vcpu, uint64_t address)
{
	struct resolver *resolver = context;
	struct os *os = resolver->settings.os;
	bool has_kernel = os && os_is_known(os);
	const struct space *kernel =
		has_kernel ? os_get_kernel(os) : symbols_space(resolver->settings.symbols);
	const struct name_answer *answer;
	struct memory_root root;

	if (has_kernel && !resolver_is_kernel_exit(resolver, kernel, address))
		return resolver_name_user_exit(resolver, vcpu, address);
	answer = names_find(resolver->names, kernel, address, FRAME_KIND_KERNEL, false, 0);
	if (resolver_find_exit_root(resolver, vcpu, &root))
		resolver_read_exit_code(resolver, vcpu, address, answer, root);
	return (struct exits_place){ .frame = answer->frame };
}

/* Returns REASON's frame, such as "[exit CPUID leaf 0xb]". */
static uint32_t resolver_name_reason(void *context, const struct exit_reason *reason)
{
	struct resolver *resolver = context;
	char name[EXIT_NAME_BYTES], text[EXIT_NAME_BYTES + 8];

	snprintf(text, sizeof(text), "[exit %s]", exit_name(reason, name));
	return frames_intern(resolver->frames, FRAME_KIND_MARK, text, NULL, 0);
}

static void resolver_begin_exits(struct resolver_exits *exits)
{
	struct trace_hello *hello = &exits->hello;
	unsigned char is_vmx;

	if (exits->chunk.size_bytes != sizeof(*hello))
		return;
	memcpy(hello, exits->chunk.bytes, sizeof(*hello));
	/* The text may come from a recording, which is not trusted. */
	text_clean_line(hello->failure, sizeof(hello->failure),
			exits->chunk.bytes + offsetof(struct trace_hello, failure),
			sizeof(hello->failure));
	memcpy(&is_vmx, exits->chunk.bytes + offsetof(struct trace_hello, is_vmx), 1);
	hello->is_vmx = is_vmx != 0;
	exits_set_host(exits->exits, exits->domid, hello->khz, hello->is_vmx);
}

/* Adds the reader's CPU time since the last chunk. Each trace has a new reader, at 0 s. */
static void resolver_add_reader(struct resolver_exits *exits)
{
	uint64_t now_ns = exits->chunk.cpu_ns;

	exits->cpu_ns += now_ns < exits->reader_ns ? now_ns : now_ns - exits->reader_ns;
	exits->reader_ns = now_ns;
}

/* Adds the chunk of a trace that was begun for DOMID. */
static void resolver_add_chunk(struct resolver *resolver, struct resolver_exits *exits,
			       uint32_t domid)
{
	resolver_add_reader(exits);
	exits->task_vcpu = UINT_MAX;
	if (domid != exits->domid) {
		exits->domid = domid;
		memset(exits->seen, 0, sizeof(exits->seen));
		exits_set_host(exits->exits, domid, exits->hello.khz, exits->hello.is_vmx);
	}
	if (exits->chunk.cpu == UINT32_MAX)
		resolver_begin_exits(exits);
	else
		exits_add(exits->exits, exits->chunk.cpu, exits->chunk.bytes,
			  exits->chunk.size_bytes, resolver_name_exit, resolver);
	exits_name_rows(exits->exits, resolver_name_reason, resolver);
}

/* Creates the table of exits when the first chunk needs it. NULL: out of memory. */
static struct resolver_exits *resolver_need_exits(struct resolver *resolver)
{
	struct resolver_exits *exits = resolver->exits;

	if (!exits)
		exits = resolver->exits = calloc(1, sizeof(*exits));
	if (exits && !exits->exits) {
		exits->frame = frames_intern(resolver->frames, FRAME_KIND_MARK, "[xen]", NULL, 0);
		error_destroy(exits_create(resolver->settings.half_life_ns, &exits->exits));
	}
	return exits && exits->exits ? exits : NULL;
}

void resolver_poll_exits(struct resolver *resolver)
{
	struct trace_source *source = resolver->settings.trace;
	struct recording_writer *writer = resolver->settings.writer;
	struct resolver_exits *exits;
	uint32_t domid;

	if (!source || (!resolver->exits && !trace_source_is_on(source)))
		return;
	exits = resolver_need_exits(resolver);
	for (unsigned i = 0; exits && i < RESOLVER_CHUNKS &&
			     trace_source_take(source, &exits->chunk, &domid);
	     i++) {
		resolver_add_chunk(resolver, exits, domid);
		if (writer)
			recording_writer_write_trace(writer, domid, &exits->chunk);
	}
}

bool resolver_replay_trace(struct resolver *resolver, const struct recording_note *note,
			   size_t size_bytes)
{
	struct resolver_exits *exits = resolver_need_exits(resolver);
	uint32_t domid;

	if (!exits || !recorded_trace_decode(note, size_bytes, &domid, &exits->chunk))
		return false;
	resolver_add_chunk(resolver, exits, domid);
	recorded_memory_end_turn(resolver->settings.recorded);
	return true;
}

bool resolver_replay_takers(struct resolver *resolver, const struct recording_note *note,
			    size_t size_bytes)
{
	if (!resolver->takers)
		resolver->takers = calloc(1, sizeof(*resolver->takers));
	return resolver->takers && recorded_takers_decode(note, size_bytes, resolver->takers);
}

void resolver_end_recording(struct resolver *resolver)
{
	resolver->settings.writer = NULL;
}

struct takers_table *resolver_get_takers(const struct resolver *resolver)
{
	const struct resolver_settings *settings = &resolver->settings;
	struct takers_table *table = NULL;

	if (settings->takers)
		table = takers_source_get(settings->takers);
	else if (resolver->takers)
		table = malloc(sizeof(*table));
	if (table && !settings->takers)
		*table = *resolver->takers;
	if (table && settings->writer)
		recording_writer_write_takers(settings->writer, table);
	return table;
}

struct exits_table *resolver_get_exits(const struct resolver *resolver)
{
	const struct resolver_exits *exits = resolver->exits;
	struct exits_table *table = exits && exits->exits ? exits_get(exits->exits) : NULL;

	if (!table)
		return NULL;
	memcpy(table->failure, exits->hello.failure, sizeof(table->failure));
	table->tracing = !resolver->settings.trace || trace_source_is_on(resolver->settings.trace);
	table->cpu_ns = exits->cpu_ns;
	return table;
}

bool resolver_is_xen_row(const struct resolver *resolver, uint32_t frame)
{
	return resolver->exits && resolver->exits->frame == frame;
}

void resolver_add_xen_rows(struct resolver *resolver, struct snapshot *snapshot)
{
	if (resolver->exits)
		xen_rows_add(snapshot, resolver->exits->frame, resolver->settings.half_life_ns);
}

void resolver_rename_exits(struct resolver *resolver)
{
	if (resolver->exits && resolver->exits->exits)
		exits_rename(resolver->exits->exits, names_find_better, resolver->names);
}

void resolver_reset_exits(struct resolver *resolver)
{
	if (!resolver->exits)
		return;
	resolver->exits->cpu_ns = 0;
	if (resolver->exits->exits)
		exits_reset(resolver->exits->exits);
}

void resolver_destroy_exits(struct resolver *resolver)
{
	if (resolver->exits)
		exits_destroy(resolver->exits->exits);
	free(resolver->exits);
	free(resolver->takers);
}
