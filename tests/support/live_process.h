/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of this machine as if it were a guest's: its memory under made-up page tables, the file
 * of its program, and the thread pointer of its first thread. For tests of what reads the memory of
 * programs that others have made.
 */
#ifndef TESTS_LIVE_PROCESS_H
#define TESTS_LIVE_PROCESS_H

#include <sys/types.h>

#include "xtop/language/language.h"
#include "xtop/memory/memory.h"

#ifdef __x86_64__
#define LIVE_PROCESS_WORKS true
#else
#define LIVE_PROCESS_WORKS false /* the thread pointer is read on x86-64 only */
#endif

struct live_process {
	pid_t pid;
	int output; /* what the program prints */
	int memory_fd;
	int kept_fd; /* a file that each page which is read is written to; -1: none */
	struct memory *memory;
	struct memory_root root;
	uint64_t thread_pointer;
	struct runtime
		*runtime; /* the runtime of its program, or of one of its libraries; or NULL */
	uint64_t bias;    /* the bias of the runtime's file */
	char file[512];   /* path of the runtime's file */
};

/*
 * Starts ARGV, with its output in a pipe. False: there is no such program here.
 */
bool live_process_start(struct live_process *process, char *const argv[]);
/* Reads what the program prints up to a line END, without it. Then finds out about the process. */
bool live_process_await(struct live_process *process, char *text, size_t capacity);
void live_process_end(struct live_process *process);

/*
 * Follows RECIPE as the sampler does, and makes a vCPU's part of a sample with STACK_LIST alone.
 * BUFFER has SAMPLE_STACK_LIMIT_BYTES and more.
 */
const struct sample_vcpu *live_process_copy(struct live_process *process,
					    const struct recipe *recipe, void *buffer);

#endif
