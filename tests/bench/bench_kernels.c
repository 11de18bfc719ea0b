/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What further guests with the same kernel take of memory: N threads get to know one kernel, out of
 * a dump of its memory, as N resolvers do. Prints the anonymous memory of this process after each.
 *
 *	tests/lab/lock-looks --dump FOLDER KERNEL     makes FOLDER/memory and FOLDER/registers
 *	tests/bench/bench_kernels FOLDER/memory FOLDER/registers [N]
 */
#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/kernel/linux_attach.h"
#include "tests/support/dump_memory.h"
#include "tests/support/must.h"
#include "xtop/base/heap.h"
#include "xtop/os/os.h"

#define MAX_THREADS 64

static const char *memory_path, *registers_path;
static struct linux_kernel kernels[MAX_THREADS];
static sem_t attached;

static long anonymous_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	long kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "Anonymous: %ld", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib;
}

/* The thread goes on to exist, so that no other one gets its heap. */
static void *attach(void *argument)
{
	struct os_guest guest = { .type = GUEST_HVM };
	struct registers regs = { .rip = 0 };
	static unsigned n;
	bool user;

	must_or_die(dump_read_registers(registers_path, &regs, &user));
	must_or_die(dump_open(memory_path, &guest.memory));
	if (!linux_attach(&guest, &regs, argument))
		must_or_die(error_create("there is no kernel"));
	heap_return_holes();
	printf("%u kernels: %ld KiB\n", ++n, anonymous_kib());
	fflush(stdout);
	sem_post(&attached);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[3]) : 8;
	pthread_t threads[MAX_THREADS];

	if (argc < 3) {
		puts("usage: bench_kernels MEMORY REGISTERS [N]");
		return 0;
	}
	memory_path = argv[1];
	registers_path = argv[2];
	sem_init(&attached, 0, 0);
	heap_return_large();
	for (int i = 0; i < n && i < MAX_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, attach, &kernels[i]))
			must_or_die(error_create("no thread"));
		sem_wait(&attached);
	}
	return 0;
}
