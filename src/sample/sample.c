/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one check of a sample's shape (layout: sample.h). Every walker relies on this check,
 * because the bytes are hostile: a recording may come from a stranger, and a guest wrote the
 * stacks. Any thread; reads only the record.
 *
 * A cursor goes through the record from the front and holds the rest of the record. Each part must
 * be there in whole, and nothing may be left at the end.
 */
#include "config.h"

#include "xtop/sample/sample.h"

struct sample_cursor {
	const char *at;
	size_t left_bytes;
};

/* Returns the next SIZE_BYTES; NULL if the record ends before. */
static const void *sample_next_part(struct sample_cursor *cursor, size_t size_bytes)
{
	const char *part = cursor->at;

	if (size_bytes > cursor->left_bytes)
		return NULL;
	cursor->at += size_bytes;
	cursor->left_bytes -= size_bytes;
	return part;
}

/* What the pieces of one vCPU have so far. */
struct sample_pieces {
	size_t copied_bytes;
	unsigned n[N_STACK_KINDS];
};

/* Whether a piece of KIND may come after the pieces so far. Counts it. */
static bool sample_check_kind(struct sample_pieces *pieces, uint32_t kind)
{
	static const unsigned most[N_STACK_KINDS] = {
		[STACK_FIRST] = 1,     [STACK_LINKED] = SAMPLE_MAX_LINKS,
		[STACK_USER] = 1,      [STACK_GO_OUTER] = 1,
		[STACK_GOROUTINE] = 1, [STACK_G0] = 1,
		[STACK_LIST] = 1,
	};

	if (kind >= N_STACK_KINDS || pieces->n[kind]++ == most[kind])
		return false;
	for (uint32_t later = kind + 1; later < N_STACK_KINDS; later++)
		if (pieces->n[later])
			return false;
	return true;
}

static bool sample_check_stack(struct sample_cursor *cursor, struct sample_pieces *pieces)
{
	const struct sample_stack *stack = sample_next_part(cursor, sizeof(*stack));

	if (!stack || stack->size_bytes > SAMPLE_STACK_LIMIT_BYTES - pieces->copied_bytes)
		return false;
	if (!sample_check_kind(pieces, stack->kind))
		return false;
	if (stack->address > UINT64_MAX - stack->size_bytes)
		return false;
	pieces->copied_bytes += stack->size_bytes;
	return sample_next_part(cursor, (stack->size_bytes + 7) & ~7U);
}

static bool sample_check_fields(const struct sample_vcpu *vcpu)
{
	bool has_stack = vcpu->state > VCPU_BLOCKED;

	return vcpu->vcpu < GUEST_MAX_VCPUS && vcpu->state < N_VCPU_STATES && vcpu->user <= 1 &&
	       vcpu->stack_cut < N_SAMPLE_CUTS && vcpu->user_cut < N_SAMPLE_CUTS &&
	       vcpu->n_stacks <= (has_stack ? SAMPLE_MAX_STACKS : 0);
}

static bool sample_check_vcpu(struct sample_cursor *cursor, bool seen[GUEST_MAX_VCPUS])
{
	const struct sample_vcpu *vcpu = sample_next_part(cursor, sizeof(*vcpu));
	struct sample_cursor inside;
	struct sample_pieces pieces = { 0 };

	if (!vcpu || !sample_check_fields(vcpu) || seen[vcpu->vcpu])
		return false;
	seen[vcpu->vcpu] = true;
	if (vcpu->size_bytes < sizeof(*vcpu))
		return false;
	inside = (struct sample_cursor){ cursor->at, vcpu->size_bytes - sizeof(*vcpu) };
	if (!sample_next_part(cursor, inside.left_bytes))
		return false;
	for (unsigned i = 0; i < vcpu->n_stacks; i++)
		if (!sample_check_stack(&inside, &pieces))
			return false;
	return inside.left_bytes == 0;
}

bool sample_check(const void *record, size_t size_bytes)
{
	struct sample_cursor cursor = { record, size_bytes };
	bool seen[GUEST_MAX_VCPUS] = { false };
	const struct sample *sample;

	if (!record || (uintptr_t)record % 8 || size_bytes % 8)
		return false;
	sample = sample_next_part(&cursor, sizeof(*sample));
	if (!sample || sample->size_bytes != size_bytes || sample->n_vcpus > GUEST_MAX_VCPUS ||
	    !sample->weight)
		return false;
	for (unsigned i = 0; i < sample->n_vcpus; i++)
		if (!sample_check_vcpu(&cursor, seen))
			return false;
	return cursor.left_bytes == 0;
}
