/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How wrong are the guest's clocks as xtop tells them? The busy guest with the word "clocks" reads
 * its clocks again and again, and keeps on its stack what they showed (tests/guests/busy). A sample
 * has that stack. So each sample in a recording says itself what time it was for the guest, at most
 * one round of the guest's loop before.
 *
 *   clock_error RECORDING    prints for each sample with such a stack: its time on dom0's clock, and
 *                            what the guest's two clocks had shown, in microseconds
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/must.h"
#include "xtop/recording/recording.h"

static const char mark[16] = "xtop shows time";

static void look(const struct sample *sample, const struct sample_stack *stack)
{
	const char *bytes = (const char *)(stack + 1);
	uint64_t shown[2];

	for (size_t i = 0; i + sizeof(mark) + sizeof(shown) <= stack->size_bytes; i += 8) {
		if (memcmp(bytes + i, mark, sizeof(mark)) != 0)
			continue;
		memcpy(shown, bytes + i + sizeof(mark), sizeof(shown));
		if (shown[0])
			printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sample->time_ns / 1000,
			       shown[0] / 1000, shown[1] / 1000);
		return;
	}
}

int main(int argc, char **argv)
{
	struct recording_reader *reader;
	const void *record;
	size_t size_bytes;

	if (argc != 2)
		return 2;
	must(recording_reader_open(argv[1], NULL, &reader));
	while ((record = recording_reader_next(reader, &size_bytes))) {
		const struct sample *sample = record;
		const struct sample_vcpu *vcpu;

		if (recording_is_note(record))
			continue;
		vcpu = sample_first_vcpu(sample);
		for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
			const struct sample_stack *stack = sample_first_stack(vcpu);

			for (unsigned j = 0; j < vcpu->n_stacks; j++) {
				look(sample, stack);
				stack = sample_next_stack(stack);
			}
		}
	}
	recording_reader_close(reader);
	return 0;
}
