/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large profile files are read in bounded memory: a file four times as long, of the same stacks,
 * takes no more. Each file is read by a child of its own, because the kernel tells only the most
 * memory that a process ever had. The difference is looked at, because sanitizers take much of
 * their own. tests/bench/files measures files of 1 GB.
 */
#include "config.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/import/import.h"

#define FILE_BYTES (12U << 20) /* the short file; the long one has four times as much */
#define MAX_GROWTH_KIB 4096

typedef size_t write_fn(FILE *file, uint64_t number);

/* 5,000 different stacks, again and again. */
static size_t write_folded(FILE *file, uint64_t number)
{
	unsigned stack = (unsigned)(number % 5000);

	return (size_t)fprintf(file, "gzip;_start;main;part%u;deflate_slow;longest_match%u %u\n",
			       stack / 100, stack, stack % 7 + 1);
}

/* Tables of two functions, then samples of one stack with different values. */
static size_t write_pprof(FILE *file, uint64_t number)
{
	static const unsigned char head[] = {
		0x0a, 4, 0x08, 1, 0x10, 2, /* sample_type: strings 1, 2 */
		0x22, 6, 0x08, 1, 0x22, 2, 0x08, 1, /* locations, functions */
		0x22, 6, 0x08, 2, 0x22, 2, 0x08, 2,
		0x2a, 4, 0x08, 1, 0x10, 3,
		0x2a, 4, 0x08, 2, 0x10, 4,
		0x32, 0, 0x32, 7, 's', 'a', 'm', 'p', 'l', 'e', 's', 0x32, 5, 'c', 'o', 'u', 'n', 't',
		0x32, 4, 'm', 'a', 'i', 'n', 0x32, 4, 'w', 'o', 'r', 'k',
	};
	const unsigned char value = (unsigned char)(number % 100 + 1);
	const unsigned char sample[] = { 0x12, 7, 0x0a, 2, 2, 1, 0x12, 1, value };

	if (!number)
		return fwrite(head, 1, sizeof(head), file);
	return fwrite(sample, 1, sizeof(sample), file);
}

static FILE *make_file(write_fn *write_one, size_t bytes, uint64_t *np)
{
	FILE *file = tmpfile();
	size_t at = 0;

	if (!file)
		abort();
	for (*np = 0; at < bytes; ++*np)
		at += write_one(file, *np);
	fflush(file);
	rewind(file);
	return file;
}

/* In the child: reads the file, and says how much memory the process has had, in KiB. */
static long read_here(FILE *file)
{
	struct rusage usage;
	struct frames *frames;
	struct import *import;
	struct snapshot *snapshot;

	must(frames_create(NULL, &frames));
	must(import_read(file, "", 0, &(struct import_settings){ .frames = frames }, &import));
	must(import_snapshot(import, &snapshot));
	if (!snapshot->resolver.samples)
		return -1;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static long read_in_child(FILE *file)
{
	long kib = -1;
	int ends[2];
	pid_t child;

	fflush(stdout);
	if (pipe(ends) < 0 || (child = fork()) < 0)
		abort();
	if (!child) {
		kib = read_here(file);
		_exit(write(ends[1], &kib, sizeof(kib)) != sizeof(kib));
	}
	close(ends[1]);
	if (read(ends[0], &kib, sizeof(kib)) != sizeof(kib))
		kib = -1;
	close(ends[0]);
	waitpid(child, NULL, 0);
	return kib;
}

static void check_bounded(write_fn *write_one, const char *format)
{
	uint64_t few, many;
	FILE *file = make_file(write_one, FILE_BYTES, &few);
	long with_few = read_in_child(file), with_many;

	fclose(file);
	file = make_file(write_one, 4 * FILE_BYTES, &many);
	with_many = read_in_child(file);
	fclose(file);
	check(with_few > 0 && with_many > 0, "%s: both files are read", format);
	check(with_many - with_few < MAX_GROWTH_KIB,
	      "%s: %llu entries take %ld KiB, %llu entries %ld KiB", format,
	      (unsigned long long)few, with_few, (unsigned long long)many, with_many);
}

int main(void)
{
	check_bounded(write_folded, "folded");
	check_bounded(write_pprof, "pprof");
	return tap_done();
}
