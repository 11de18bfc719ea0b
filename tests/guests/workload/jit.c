// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that generates code while it runs, in anonymous memory. It reports the name of one
 * piece of code as just-in-time compilers do: /tmp/perf-PID.map has a line "START SIZE NAME" for
 * each function, in hex (Linux tools/perf/Documentation/jit-interface.txt). Chains below run_phase:
 *
 *   phase_listed;compiled_loop      the name in that file
 *   phase_unlisted;[jit]            a piece without a name
 *
 * The pieces have frame pointers, because nothing else can unwind such code.
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

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static piece *make_piece(void)
{
	void *memory = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	piece *code;

	if (memory == MAP_FAILED)
		fail("jit");
	memcpy(memory, loop, sizeof(loop));
	if (mprotect(memory, PIECE_BYTES, PROT_READ | PROT_EXEC))
		fail("jit");
	memcpy(&code, &memory, sizeof(code));
	return code;
}

static void list_piece(piece *code)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	if (!file)
		fail(path);
	if (fprintf(file, "%jx %zx compiled_loop\n", (uintmax_t)(uintptr_t)code,
		    sizeof(loop)) < 0 ||
	    fclose(file))
		fail(path);
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
