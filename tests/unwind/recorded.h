/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a recording (xtop -w): every vCPU that ran, with its registers and stack bytes. */
#ifndef TESTS_UNWIND_RECORDED_H
#define TESTS_UNWIND_RECORDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/recording/recording.h"

struct recorded {
	struct sample_vcpu **vcpus; /* each a copy, with its pieces after it */
	size_t n;
};

static inline void recorded_add(struct recorded *recorded, const struct sample_vcpu *vcpu)
{
	size_t n = recorded->n;

	if (!(n & (n - 1)))
		recorded->vcpus = realloc(recorded->vcpus, (n ? 2 * n : 1) * sizeof(void *));
	recorded->vcpus[n] = malloc(vcpu->size_bytes);
	memcpy(recorded->vcpus[n], vcpu, vcpu->size_bytes);
	recorded->n++;
}

/* False: the file is no recording. */
static inline bool recorded_read(struct recorded *recorded, const char *path)
{
	struct recording_reader *reader;
	const struct sample *sample;
	struct xtop_error *error = recording_reader_open(path, NULL, &reader);
	size_t size_bytes;

	*recorded = (struct recorded){ 0 };
	if (error) {
		printf("# %s\n", error_message(error));
		error_destroy(error);
		return false;
	}
	while ((sample = recording_reader_next(reader, &size_bytes))) {
		const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

		if (recording_is_note(sample))
			continue;
		for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
			if (vcpu->n_stacks)
				recorded_add(recorded, vcpu);
	}
	recording_reader_close(reader);
	return true;
}

static inline void recorded_deinit(struct recorded *recorded)
{
	for (size_t i = 0; i < recorded->n; i++)
		free(recorded->vcpus[i]);
	free(recorded->vcpus);
}

#endif
