/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording of the made-up guest (guest.h), always the same bytes:
 *
 *	tests/recordings/record FILE [GAP_MS [arm64]]
 *
 * 2 vCPUs, 400 ticks, 10 ms or GAP_MS apart, of x86-64 or arm64. In every 20 ticks:
 *
 *	vCPU 0  running  start_kernel;serve;hash;copy            6   kernel
 *	                 start_kernel;serve;hash                 2
 *	                 start_kernel;serve;compress             4
 *	                 start_kernel;walk;walk;walk             2   recursion
 *	                 start_kernel;disk::Queue::push          1   mangled in the file
 *	                 start_kernel;serve;<nobody knows>       1
 *	                 serve;parse                             1   cut short of start_kernel
 *	        blocked                                          3
 *	vCPU 1  running  _start;main;loop;sum                    8   the program
 *	                 _start;main;loop                        2
 *	        runnable start_kernel;entry;timer                2
 *	        blocked                                          8
 *
 * In 2 of 20 ticks both are blocked and the guest was not stopped. The other stops took 12 to 16
 * µs, one took 40 µs. Tick 100 was late, tick 200 has a retake.
 */
#include "config.h"

#include "guest.h"
#include "xtop/recording/recording.h"

#define N_TICKS   400
#define PERIOD_MS 10
#define MS        1000000ULL
#define START_NS  (86400 * 1000 * MS)

struct share {
	const char *chain; /* NULL: blocked */
	unsigned of_20;
	enum vcpu_state state;
	uint32_t cut_bytes; /* 0: whole */
};

static const struct share shares[2][9] = {
	{ { "start_kernel;serve;hash;copy", 6, VCPU_RUNNING, 0 },
	  { "start_kernel;serve;hash", 2, VCPU_RUNNING, 0 },
	  { "start_kernel;serve;compress", 4, VCPU_RUNNING, 0 },
	  { "start_kernel;walk;walk;walk", 2, VCPU_RUNNING, 0 },
	  { "start_kernel;_ZN4disk5Queue4pushEv", 1, VCPU_RUNNING, 0 },
	  { "start_kernel;serve;0xffffffffc0001000", 1, VCPU_RUNNING, 0 },
	  { "start_kernel;serve;parse", 1, VCPU_RUNNING, 48 },
	  { NULL, 3, VCPU_BLOCKED, 0 } },
	{ { "_start;main;loop;sum", 8, VCPU_RUNNING, 0 },
	  { "_start;main;loop", 2, VCPU_RUNNING, 0 },
	  { "start_kernel;entry;timer", 2, VCPU_RUNNABLE, 0 },
	  { NULL, 8, VCPU_BLOCKED, 0 } },
};

static const struct share *share_of(unsigned vcpu, unsigned tick)
{
	const struct share *share = shares[vcpu];
	unsigned place = tick * 7 % 20; /* spreads them: 7 and 20 have no common factor */

	if (vcpu == 1)
		place = (place + 1) % 20; /* not in step with vCPU 0 */
	while (place >= share->of_20)
		place -= share++->of_20;
	return share;
}

static void add_vcpu(struct guest_record *record, unsigned number, const struct share *share)
{
	if (!share->chain) {
		guest_add_vcpu(record, number, share->state);
		return;
	}
	guest_add_chain(record, number, share->chain)->state = (uint8_t)share->state;
	if (share->cut_bytes)
		guest_cut(record, share->cut_bytes, CUT_LIMIT);
}

static void make_tick(struct guest_record *record, unsigned tick, uint64_t gap_ns)
{
	const struct share *first = share_of(0, tick), *second = share_of(1, tick);
	uint32_t stopped_ns = tick == 150 ? 40000 : 12000 + tick % 5 * 1000;
	struct sample *sample;

	sample = guest_begin(record, START_NS + tick * gap_ns,
			     first->chain || second->chain ? stopped_ns : 0);
	sample->period_ns = PERIOD_MS * MS;
	sample->flags = tick == 100 ? SAMPLE_LATE : tick == 200 ? SAMPLE_RETAKE : 0;
	add_vcpu(record, 0, first);
	add_vcpu(record, 1, second);
}

int main(int argc, char **argv)
{
	static struct guest_record record;
	struct recording_info info = { .domain = "made-up",
				       .uuid = "5f3c1b1e-7a7d-4f58-9c39-6f1b8f2a9d10",
				       .domid = 7,
				       .type = GUEST_PVH,
				       .n_vcpus = 2,
				       .freq_hz = 1000.0 / PERIOD_MS,
				       .wallclock_s = 1700000000 };
	uint64_t gap_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : PERIOD_MS) * MS;
	struct recording_writer *writer;
	struct symbols *symbols;

	if (argc < 2) {
		fprintf(stderr, "usage: record FILE [GAP_MS [arm64]]\n");
		return 2;
	}
	if (argc > 3 && strcmp(argv[3], "arm64") == 0)
		guest_arch = info.arch = ARCH_ARM64;
	symbols = guest_symbols();
	guest_must(recording_writer_open(argv[1], &writer));
	recording_writer_begin(writer, &info, symbols);
	for (unsigned tick = 0; tick < N_TICKS; tick++) {
		make_tick(&record, tick, gap_ns);
		recording_writer_write(writer, (const struct sample *)record.words, NULL);
	}
	guest_must(recording_writer_close(writer));
	symbols_destroy(symbols);
	return 0;
}
