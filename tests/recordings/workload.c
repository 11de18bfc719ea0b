/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording of a made-up workload whose shares are known, for tests of comparisons:
 *
 *	tests/recordings/workload FILE SEED SECONDS [FUNCTION=FACTOR]...
 *
 * 2 vCPUs, 99 samples a second, 64 functions f00 to f63. A vCPU runs one function for a while, then
 * another one: the samples of one second resemble each other, as those of real programs do. The
 * shares fall from f00 (11 %) to f63 (0.02 %), the times in one go are 2 ms to half a second. With
 * FUNCTION=FACTOR that function takes so many times as long in all; FACTOR 0: it is not called.
 * Prints the true share of each function.
 */
#include "config.h"

#include <math.h>

#include "guest.h"
#include "xtop/recording/recording.h"

#define N_FUNCTIONS 64
#define N_VCPUS     2
#define HZ          99
#define CODE        0xffffffff81000000ULL
#define START_NS    1000000000000ULL

struct vcpu {
	unsigned function;
	double until_s;
};

struct workload {
	uint64_t state;               /* state of the generator */
	double calls[N_FUNCTIONS];    /* how often, as a weight */
	double seconds[N_FUNCTIONS];  /* mean time in one go */
	double all_calls;
	struct vcpu vcpus[N_VCPUS];
};

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a number in [0, 1). */
static double draw(struct workload *workload)
{
	uint64_t z = workload->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double share_of(const struct workload *workload, unsigned function)
{
	double all = 0;

	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		all += workload->calls[i] * workload->seconds[i];
	return workload->calls[function] * workload->seconds[function] / all;
}

static void init(struct workload *workload, uint64_t seed, int n, char **factors)
{
	workload->state = seed * 0x2545f4914f6cdd1d;
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		workload->seconds[i] = 0.002 * pow(250, (i * 37 % N_FUNCTIONS) / 63.0);
		workload->calls[i] = pow(0.905, i) / workload->seconds[i];
	}
	for (int i = 0; i < n; i++) {
		unsigned function;
		double factor;

		if (sscanf(factors[i], "f%u=%lf", &function, &factor) != 2 ||
		    function >= N_FUNCTIONS)
			exit(2);
		workload->calls[function] *= factor;
	}
	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		workload->all_calls += workload->calls[i];
}

static unsigned next_function(struct workload *workload)
{
	double at = draw(workload) * workload->all_calls;
	unsigned i = 0;

	while (i + 1 < N_FUNCTIONS && at >= workload->calls[i])
		at -= workload->calls[i++];
	return i;
}

static unsigned function_at(struct workload *workload, struct vcpu *vcpu, double time_s)
{
	while (vcpu->until_s <= time_s) {
		vcpu->function = next_function(workload);
		vcpu->until_s += -log(1 - draw(workload)) * workload->seconds[vcpu->function];
	}
	return vcpu->function;
}

/* "root" calls one of eight groups, and that the function. */
static void add_sample(struct workload *workload, struct guest_record *record, double time_s)
{
	guest_begin(record, START_NS + (uint64_t)(time_s * 1e9), 12000)->period_ns =
		(uint32_t)(1e9 / HZ);
	for (unsigned i = 0; i < N_VCPUS; i++) {
		unsigned function = function_at(workload, &workload->vcpus[i], time_s);
		uint64_t chain[] = { CODE + 0x100 * function + 0x80,
				     CODE + 0x100 * (N_FUNCTIONS + 1 + function % 8) + 0x80,
				     CODE + 0x100 * N_FUNCTIONS + 0x80 };

		guest_add_addresses(record, i, chain, 3);
	}
}

static struct symbols *make_symbols(void)
{
	static char texts[N_FUNCTIONS + 9][8];
	const char *names[N_FUNCTIONS + 9];
	struct symbols *symbols;

	for (unsigned i = 0; i < N_FUNCTIONS + 9; i++) {
		if (i < N_FUNCTIONS)
			snprintf(texts[i], sizeof(texts[i]), "f%02u", i);
		else if (i == N_FUNCTIONS)
			snprintf(texts[i], sizeof(texts[i]), "root");
		else
			snprintf(texts[i], sizeof(texts[i]), "g%u", i - N_FUNCTIONS - 1);
		names[i] = texts[i];
	}
	guest_must(symbols_create(&symbols));
	guest_add_image(symbols, "[kernel]", CODE, names, N_FUNCTIONS + 9, NULL);
	return symbols;
}

int main(int argc, char **argv)
{
	static struct guest_record record;
	static struct workload workload;
	struct recording_info info = {
		.domain = "workload", .type = GUEST_PVH, .n_vcpus = N_VCPUS, .freq_hz = HZ
	};
	struct recording_writer *writer;
	struct symbols *symbols;

	if (argc < 4) {
		fprintf(stderr, "usage: workload FILE SEED SECONDS [FUNCTION=FACTOR]...\n");
		return 2;
	}
	init(&workload, strtoull(argv[2], NULL, 10), argc - 4, argv + 4);
	symbols = make_symbols();
	guest_must(recording_writer_open(argv[1], &writer));
	recording_writer_begin(writer, &info, symbols);
	for (long tick = 0; tick < HZ * strtol(argv[3], NULL, 10); tick++) {
		add_sample(&workload, &record, (double)tick / HZ);
		recording_writer_write(writer, (const struct sample *)record.words, NULL);
	}
	guest_must(recording_writer_close(writer));
	symbols_destroy(symbols);
	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		printf("f%02u %.9f\n", i, share_of(&workload, i));
	return 0;
}
