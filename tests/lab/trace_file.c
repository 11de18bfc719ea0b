// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the records of Xen's trace that a recording has (doc/FORMATS 4.10) as xentrace would have
 * written them, for xenalyze:
 *
 *   trace_file RECORDING >FILE
 *
 * xentrace's file has pieces of whole records of one CPU, each after a record TRC_TRACE_CPU_CHANGE
 * with the CPU's number and the piece's size (Xen 4.17 tools/xentrace/xentrace.c, write_buffer()).
 * A TRAC may end in the middle of a record: its bytes wait for the CPU's next one. Records without
 * a time are left out, which are xtop's own. Xen 4.20's xenalyze ends with an error if a CPU has the
 * file's last piece but not the last records: FILE, a regular file, ends after a piece of CPU 0.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/recording/recording.h"

#define CPU_CHANGE 0x1f003U
#define MAX_CPUS   64
#define MAX_WORDS  65536

static struct {
	uint32_t words[MAX_WORDS];
	size_t n;
} left[MAX_CPUS];

static long end; /* end of CPU 0's last piece in FILE */

static size_t record_words(uint32_t head)
{
	return 1 + 2 * (head >> 31) + (head >> 28 & 7);
}

static void put_piece(uint32_t cpu)
{
	uint32_t change[3] = { CPU_CHANGE | 2U << 28, cpu, 0 };
	uint32_t *words = left[cpu].words;
	size_t n = 0, kept = 0, length;

	while (n < left[cpu].n && n + (length = record_words(words[n])) <= left[cpu].n) {
		if (words[n] >> 31) {
			memmove(words + kept, words + n, 4 * length);
			kept += length;
		}
		n += length;
	}
	change[2] = (uint32_t)(4 * kept);
	if (kept) {
		fwrite(change, sizeof(change), 1, stdout);
		fwrite(words, 4, kept, stdout);
		end = cpu ? end : ftell(stdout);
	}
	left[cpu].n -= n;
	memmove(words, words + n, 4 * left[cpu].n);
}

static void take(const char *payload)
{
	struct recording_trace head;

	memcpy(&head, payload, sizeof(head));
	if (head.cpu >= MAX_CPUS || head.size_bytes / 4 > MAX_WORDS - left[head.cpu].n)
		return;
	memcpy(left[head.cpu].words + left[head.cpu].n, payload + sizeof(head), head.size_bytes);
	left[head.cpu].n += head.size_bytes / 4;
	put_piece(head.cpu);
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	static char payload[1 << 17];
	struct {
		uint32_t type, flags;
		uint64_t size_bytes;
	} chunk;

	if (!file || fread(payload, 1, 16, file) != 16)
		return 2;
	while (fread(&chunk, sizeof(chunk), 1, file) == 1) {
		size_t size_bytes = (size_t)(chunk.size_bytes + 7) & ~(size_t)7;

		if (chunk.type != RECORDING_TRACE) {
			fseek(file, (long)size_bytes, SEEK_CUR);
			continue;
		}
		if (size_bytes > sizeof(payload) ||
		    fread(payload, 1, size_bytes, file) != size_bytes)
			break;
		take(payload);
	}
	fclose(file);
	return fflush(stdout) || ftruncate(STDOUT_FILENO, end) ? 1 : 0;
}
