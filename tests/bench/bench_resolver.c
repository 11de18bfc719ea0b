/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a stack costs from the ring to the profile: sample_check(), unwinding, names of all frames,
 * the profile with live weights that decay. The made-up stacks have 16 frames in 5,000 functions
 * and are unwound by frame pointers. The stacks of RECORDING are unwound by what the recording and
 * ELF (as with -k) contain. Prints numbers; compares nothing.
 *
 *	bench_resolver [N [RECORDING [ELF]]]
 *	bench_resolver N --lines     the made-up ones as with xtop --lines: places are frames
 *	make bench
 *	valgrind --tool=callgrind --toggle-collect=resolver_add tests/bench/bench_resolver 20000
 *	valgrind ... 20000 --lines   at most 5 % more
 */
#include "config.h"

#include <time.h>

#include "many_functions.h"
#include "xtop/profile/resolver.h"
#include "xtop/recording/recording.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

#define DEPTH     16
#define N_RECORDS 4096 /* made before the clock runs, added in turn */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* the machine may be shared */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Each level of the inner half has FAN functions to choose from, each level of the outer half two.
 * The instruction is one of SPREAD in the function. Addresses come INNERMOST first.
 */
static void make_stack(uint64_t addresses[DEPTH], uint64_t *state, unsigned fan, unsigned spread)
{
	for (unsigned i = 0; i < DEPTH; i++) {
		unsigned level = DEPTH - 1 - i;
		uint64_t function =
			(level * 311 + random_next(state) % (level < DEPTH / 2 ? 2 : fan)) %
			N_FUNCTIONS;

		addresses[i] = GUEST_KERNEL + function * GUEST_FUNCTION_BYTES + 16 +
			       random_next(state) % spread;
	}
}

struct records {
	struct sample *samples[N_RECORDS];
	size_t n;
};

static void add_record(struct records *records, const void *bytes, size_t size_bytes)
{
	records->samples[records->n] = malloc(size_bytes);
	memcpy(records->samples[records->n++], bytes, size_bytes);
}

/* Adds the records in turn, N times in all, and frees them. */
static void bench(const struct symbols *symbols, const char *what, unsigned n, unsigned n_vcpus,
		  struct records *records)
{
	struct resolver_settings settings = { .symbols = symbols,
					      .n_vcpus = n_vcpus,
					      .half_life_ns = 10000000000,
					      .max_nodes = PROFILE_MAX_NODES,
					      .live = true };
	struct resolver *resolver;
	uint64_t start, ns;

	guest_must(control_create(&settings.control));
	guest_must(resolver_create(&settings, &resolver));
	start = cpu_ns();
	for (unsigned i = 0; i < n; i++) {
		struct sample *sample = records->samples[i % records->n];

		sample->time_ns = 1000000000 + i * 10000000ULL; /* 100 Hz */
		resolver_add(resolver, sample, sample->size_bytes);
	}
	ns = cpu_ns() - start;
	printf("%-32s %8.0f stacks/s %8.1f ns\n", what, n * 1e9 / (double)ns, (double)ns / n);
	resolver_destroy(resolver);
	control_destroy(settings.control);
	for (size_t i = 0; i < records->n; i++)
		free(records->samples[i]);
	records->n = 0;
}

static void bench_made(const struct symbols *symbols, const char *what, unsigned n, unsigned fan,
		       unsigned spread)
{
	static struct guest_record record;
	static struct records records;
	uint64_t state = 88172645463325252, addresses[DEPTH];

	for (unsigned i = 0; i < N_RECORDS; i++) {
		guest_begin(&record, 0, 1);
		make_stack(addresses, &state, fan, spread);
		guest_add_addresses(&record, 0, addresses, DEPTH);
		add_record(&records, record.words, record.size_bytes);
	}
	bench(symbols, what, n, 1, &records);
}

static void bench_recorded(const char *path, const char *elf, unsigned n)
{
	static struct records records;
	struct recording_reader *reader;
	const struct sample *sample;
	struct symbols *symbols;
	size_t size_bytes;
	unsigned n_vcpus;

	guest_must(symbols_create(&symbols));
	guest_must(recording_reader_open(path, symbols, &reader));
	if (elf)
		guest_must(symbols_add_file(symbols, &(struct host_files){ 0 }, elf));
	n_vcpus = recording_reader_get_info(reader)->n_vcpus;
	while (records.n < N_RECORDS && (sample = recording_reader_next(reader, &size_bytes)))
		add_record(&records, sample, size_bytes);
	if (records.n)
		bench(symbols, "recorded", n, n_vcpus, &records);
	recording_reader_close(reader);
	symbols_destroy(symbols);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000000;
	bool lines = argc > 2 && strcmp(argv[2], "--lines") == 0;
	struct symbols *symbols = make_symbols();

	if (lines) /* which file it is makes no difference here */
		symbols_image(symbols, 0)->lines = 1;
	bench_made(symbols, "the same stack", n, 1, 1);
	bench_made(symbols, "repeated: few functions", n, 4, 1);
	bench_made(symbols, "varied: 8 a level, 16 places", n, 8, 16);
	bench_made(symbols, "varied: 200 a level, 200 places", n, 200, 200);
	if (argc > 2 && !lines)
		bench_recorded(argv[2], argv[3], n);
	symbols_destroy(symbols);
	return 0;
}
