/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a recording; see replay.h. Counts what the sampler would have counted.
 *
 * Times in a file are as hostile as the rest of the file. So a replay has a clock of its own, for
 * its pace, its counters and the times of samples. The replay's clock starts at the first sample's
 * time, and advances when a sample is later than the last one. This clock neither goes back nor
 * overflows. For a recording that xtop wrote it shows the samples' times.
 */
#include "config.h"

#include "xtop/recording/replay.h"

#include <string.h>
#include <time.h>

#include "xtop/base/clock.h"

#define REPLAY_MOMENT_NS 1000000000ULL
#define REPLAY_NAP_NS 1000000 /* the nap while the ring is full, or the next sample is not due */

struct replay {
	struct control *control;
	struct ring *ring;
	bool paced;
	uint64_t first_ns;   /* time of the first sample */
	uint64_t last_ns;    /* time of the last sample, as the file has it */
	uint64_t moment_ns;  /* elapsed_ns at the last note of the counters */
	uint64_t elapsed_ns; /* time since the first sample, on the replay's clock */
	uint32_t period_ns;  /* period of the first sample, assumed for the time before it, too */
	uint64_t started_ns; /* time when the first sample was replayed, CLOCK_MONOTONIC */
	struct sampler_counts counts;
};

static void replay_nap(void)
{
	const struct timespec nap = { .tv_nsec = REPLAY_NAP_NS };

	nanosleep(&nap, NULL);
}

/* The first sample sets the clock, the others advance it. */
static void replay_advance(struct replay *replay, const struct sample *sample)
{
	uint64_t time_ns = sample->time_ns, room_ns;
	uint64_t step_ns = time_ns > replay->last_ns ? time_ns - replay->last_ns : 0;

	if (!replay->started_ns) {
		replay->started_ns = clock_now_ns();
		replay->first_ns = replay->last_ns = time_ns;
		replay->period_ns = sample->period_ns;
		return;
	}
	room_ns = UINT64_MAX - replay->first_ns - replay->elapsed_ns;
	replay->elapsed_ns += step_ns < room_ns ? step_ns : room_ns;
	replay->last_ns = time_ns;
}

/* The time of sampling, as if it had started one period before the first sample. */
static uint64_t replay_elapsed(const struct replay *replay)
{
	uint64_t elapsed_ns = replay->elapsed_ns + replay->period_ns;

	return elapsed_ns < replay->elapsed_ns ? UINT64_MAX : elapsed_ns;
}

/* Waits for the time of the current sample. Returns false if main asked for the end before. */
static bool replay_wait_until_due(const struct replay *replay)
{
	while (replay->paced && replay->elapsed_ns > clock_now_ns() - replay->started_ns) {
		if (control_is_quitting(replay->control))
			return false;
		replay_nap();
	}
	return true;
}

/* Waits for room in the ring. Returns NULL if main asked for the end before. */
static void *replay_reserve(const struct replay *replay, size_t size_bytes)
{
	void *room;

	while (!(room = ring_reserve(replay->ring, size_bytes))) {
		if (control_is_quitting(replay->control))
			return NULL;
		replay_nap();
	}
	return room;
}

/* Copies a record to the ring; a sample gets the replay's time. */
static bool replay_commit(struct replay *replay, const void *record, size_t size_bytes)
{
	void *room = replay_reserve(replay, size_bytes);

	if (!room)
		return false;
	memcpy(room, record, size_bytes);
	if (!recording_is_note(room))
		((struct sample *)room)->time_ns = replay->first_ns + replay->elapsed_ns;
	ring_commit(replay->ring, size_bytes);
	return true;
}

/* Whether a vCPU of SAMPLE ran, or waited for a physical CPU. */
static bool replay_has_busy(const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		if (vcpu->state > VCPU_BLOCKED)
			return true;
	return false;
}

static void replay_count(struct replay *replay, const struct sample *sample)
{
	struct sampler_counts *counts = &replay->counts;

	counts->state = SAMPLER_RUNNING;
	counts->ticks++;
	counts->samples++;
	counts->late += !!(sample->flags & SAMPLE_LATE);
	counts->retakes += !!(sample->flags & SAMPLE_RETAKE);
	counts->elapsed_ns = replay_elapsed(replay);
	counts->stopped_ns += sample->stopped_ns;
	if (sample->stopped_ns) {
		counts->stops++;
		control_count_stopped(replay->control, sample->stopped_ns);
	} else if (replay_has_busy(sample)) {
		counts->unstopped++;
	} else {
		counts->idle_ticks++;
	}
	if (replay->elapsed_ns)
		counts->rate_now_hz =
			(double)(counts->ticks - 1) * 1e9 / (double)replay->elapsed_ns;
	if (counts->elapsed_ns)
		counts->stopped_share = (double)counts->stopped_ns / (double)counts->elapsed_ns;
	control_set_counts(replay->control, counts);
}

/* Once a second: puts the counters into the ring. Returns false if main asked for the end. */
static bool replay_commit_moment(struct replay *replay)
{
	const struct recording_moment moment = { .note.type = RECORDING_MOMENT,
						 .counts = replay->counts };

	if (replay->elapsed_ns - replay->moment_ns < REPLAY_MOMENT_NS)
		return true;
	replay->moment_ns = replay->elapsed_ns;
	return replay_commit(replay, &moment, sizeof(moment));
}

static bool replay_sample(struct replay *replay, const struct sample *sample, size_t size_bytes)
{
	replay_advance(replay, sample);
	if (!replay_wait_until_due(replay) || !replay_commit(replay, sample, size_bytes))
		return false;
	replay_count(replay, sample);
	return replay_commit_moment(replay);
}

void replay_run(struct recording_reader *reader, struct control *control, struct ring *ring,
		bool paced)
{
	const struct recording_info *info = recording_reader_get_info(reader);
	struct replay replay = { .control = control, .ring = ring, .paced = paced };
	const void *record;
	size_t size_bytes;
	bool going = true;

	replay.counts.rate_asked_hz = info->freq_hz;
	if (info->report == RECORDING_OF_CRASH)
		replay.counts.ending = GUEST_END_CRASH;
	while (going && !control_is_quitting(control) &&
	       (record = recording_reader_next(reader, &size_bytes)))
		going = recording_is_note(record) ? replay_commit(&replay, record, size_bytes)
						  : replay_sample(&replay, record, size_bytes);
	if (recording_reader_get_complaint(reader))
		control_set_message(control, recording_reader_get_complaint(reader));
	recording_reader_get_counts(reader, &replay.counts);
	replay.counts.state = SAMPLER_ENDED;
	control_set_counts(control, &replay.counts);
	control_finish(control);
}
