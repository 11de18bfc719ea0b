// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that makes code as it runs, in memory that is no file's. Of one piece it tells the name, as
 * compilers do that run beside what they compile: in /tmp/perf-PID.map, a line "START SIZE NAME" for
 * each, in hex (Linux tools/perf/Documentation/jit-interface.txt). Chains below run_phase:
 *
 *   phase_listed;compiled_loop      the name that the file has
 *   phase_unlisted;[jit]            nobody knows it
 *
 * The pieces keep frame pointers: there is no other way out of code like this.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

#define PIECE_BYTES 4096

static const unsigned char loop[] = {
	0x55,					  /* push %rbp */
	0x48, 0x89, 0xe5,			  /* mov  %rsp, %rbp */
	0x48, 0xc7, 0xc1, 0xa0, 0x86, 0x01, 0x00, /* mov  $100000, %rcx */
	0x48, 0x0f, 0xaf, 0xc0,			  /* imul %rax, %rax */
	0x48, 0x0f, 0xaf, 0xc0,			  /* imul %rax, %rax */
	0x48, 0xff, 0xc9,			  /* dec  %rcx */
	0x75, 0xf3,				  /* jnz  to the first imul */
	0x5d,					  /* pop  %rbp */
	0xc3,					  /* ret */
};

typedef void piece(void);

static piece *listed, *unlisted;

static piece *make_piece(void)
{
	void *memory = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	piece *code;

	if (memory == MAP_FAILED) {
		perror("jit");
		exit(1);
	}
	memcpy(memory, loop, sizeof(loop));
	if (mprotect(memory, PIECE_BYTES, PROT_READ | PROT_EXEC)) {
		perror("jit");
		exit(1);
	}
	memcpy(&code, &memory, sizeof(code));
	return code;
}

static void list_piece(piece *code)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	if (!file || fprintf(file, "%jx %zx compiled_loop\n", (uintmax_t)(uintptr_t)code, sizeof(loop)) < 0 ||
	    fclose(file)) {
		perror(path);
		exit(1);
	}
}

WORK static void phase_listed(void)
{
	listed();
}

WORK static void phase_unlisted(void)
{
	unlisted();
}

static struct phase phases[] = {
	{ .name = "listed", .unit = phase_listed, .percent = 60 },
	{ .name = "unlisted", .unit = phase_unlisted, .percent = 40 },
	{ .name = NULL },
};

int main(void)
{
	struct work work = { .name = "jit", .phases = phases };

	run_init("jit");
	listed = make_piece();
	unlisted = make_piece();
	list_piece(listed);
	run_ready("jit");
	for (;;)
		run_round(&work);
}
