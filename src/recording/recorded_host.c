/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording has of the host: chunks of Xen's trace, and who takes the guest's physical CPUs
 * (layout: recording/format.h). Bytes of a file are hostile: texts become clean, numbers that are
 * none become 0.
 */
#include "config.h"

#include "recording/format.h"

#include <math.h>
#include <string.h>

#include "xtop/base/text.h"

bool recorded_trace_check(const void *payload, size_t size_bytes)
{
	struct recording_trace head;

	if (size_bytes < sizeof(head))
		return false;
	memcpy(&head, payload, sizeof(head));
	return head.size_bytes <= TRACE_CHUNK_BYTES && head.size_bytes <= size_bytes - sizeof(head);
}

bool recorded_trace_decode(const struct recording_note *note, size_t size_bytes, uint32_t *domidp,
			   struct trace_chunk *chunk)
{
	const struct recording_trace *head = (const void *)(note + 1);

	if (!recorded_trace_check(head, size_bytes - sizeof(*note)))
		return false;
	*domidp = head->domid;
	chunk->cpu = head->cpu;
	chunk->cpu_ns = head->cpu_ns;
	chunk->size_bytes = head->size_bytes;
	memcpy(chunk->bytes, head + 1, head->size_bytes);
	return true;
}

bool recorded_takers_check(const void *payload, size_t size_bytes)
{
	struct takers_table head;

	if (size_bytes < RECORDING_TAKERS_BYTES)
		return false;
	memcpy(&head, payload, RECORDING_TAKERS_BYTES);
	return head.n_takers <= TAKERS_MAX && head.n_vcpus <= GUEST_MAX_VCPUS &&
	       size_bytes >= RECORDING_TAKERS_BYTES + head.n_takers * sizeof(head.takers[0]) +
				     head.n_vcpus * sizeof(head.vcpus[0]);
}

static void recorded_clean(struct taken *taken)
{
	taken->live = isfinite(taken->live) ? taken->live : 0;
	taken->total = isfinite(taken->total) ? taken->total : 0;
}

/* A bool must be 0 or 1; a byte of a file may be anything. */
static void recorded_clean_bool(bool *value)
{
	unsigned char byte;

	memcpy(&byte, value, 1);
	*value = byte != 0;
}

/* Makes TEXT fit for a terminal: a file may have any bytes there, without an end. */
static void recorded_clean_text(char *text, size_t capacity)
{
	char raw[sizeof(((struct takers_table *)NULL)->failure)];

	memcpy(raw, text, capacity);
	text_clean_line(text, capacity, raw, capacity);
}

static void recorded_clean_vcpu(struct taken_vcpu *vcpu)
{
	recorded_clean_bool(&vcpu->online);
	recorded_clean(&vcpu->waited);
	recorded_clean(&vcpu->ran);
	recorded_clean_text(vcpu->affinity, sizeof(vcpu->affinity));
	for (unsigned i = 0; i < TAKERS_OF_VCPU; i++)
		vcpu->by_share[i] = isfinite(vcpu->by_share[i]) ? vcpu->by_share[i] : 0;
}

static void recorded_clean_taker(struct taker *taker)
{
	taker->name[sizeof(taker->name) - 1] = '\0';
	recorded_clean(&taker->share);
	recorded_clean(&taker->error);
	recorded_clean(&taker->cpus);
}

bool recorded_takers_decode(const struct recording_note *note, size_t size_bytes,
			    struct takers_table *table)
{
	const char *bytes = (const char *)(note + 1), *arrays = bytes + RECORDING_TAKERS_BYTES;
	size_t takers_bytes;

	if (!recorded_takers_check(bytes, size_bytes - sizeof(*note)))
		return false;
	memset(table, 0, sizeof(*table));
	memcpy(table, bytes, RECORDING_TAKERS_BYTES);
	takers_bytes = table->n_takers * sizeof(table->takers[0]);
	memcpy(table->takers, arrays, takers_bytes);
	memcpy(table->vcpus, arrays + takers_bytes, table->n_vcpus * sizeof(table->vcpus[0]));
	recorded_clean_text(table->failure, sizeof(table->failure));
	recorded_clean_bool(&table->gone);
	recorded_clean(&table->steal);
	for (uint32_t i = 0; i < table->n_takers; i++)
		recorded_clean_taker(&table->takers[i]);
	for (uint32_t i = 0; i < table->n_vcpus; i++)
		recorded_clean_vcpu(&table->vcpus[i]);
	return true;
}
