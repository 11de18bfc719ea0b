/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying a stack; see copy.h. Every page of it is translated anew at each sample, through
 * page-table pages that stay mapped: the guest may have moved any of them since.
 */
#include "config.h"

#include <string.h>

#include "sample/copy.h"

#define CR0_PG  (1ULL << 31)
#define CR4_PAE (1ULL << 5)

/* Gives a frame's page, or NULL: frame_cache_find() in the stop, frame_cache_get() outside. */
typedef const void *copy_page_fn(struct copier *copier, frame_t frame);

static const void *copy_find(struct copier *copier, frame_t frame)
{
	return frame_cache_find(copier->cache, frame);
}

static const void *copy_get(struct copier *copier, frame_t frame)
{
	return frame_cache_get(copier->cache, frame, copier->now_ns);
}

static const volatile uint64_t *copy_find_table(void *context, frame_t frame)
{
	return copy_find(context, frame);
}

static const volatile uint64_t *copy_get_table(void *context, frame_t frame)
{
	return copy_get(context, frame);
}

/* A PV guest's control registers are Xen's idea of them; it always runs in 64-bit mode here. */
static bool copy_has_paging(const struct copier *copier, const struct registers *regs)
{
	return copier->guest->info.type == GUEST_PV || (regs->cr0 & CR0_PG && regs->cr4 & CR4_PAE);
}

/* Never across the end of the address space, where a guest may well put its stack pointer. */
static size_t copy_length(const struct copier *copier, const struct registers *regs)
{
	uint64_t top = control_stack_top(copier->control, regs->cr3, regs->rsp);
	uint64_t length = top > regs->rsp ? top - regs->rsp : COPY_UNKNOWN_BYTES;
	uint64_t limit = UINT64_MAX - regs->rsp;

	if (limit > SAMPLE_STACK_LIMIT_BYTES)
		limit = SAMPLE_STACK_LIMIT_BYTES;
	return length < limit ? length : limit;
}

/* Of LENGTH bytes at ADDRESS those that lie in its page. */
static size_t copy_piece(uint64_t address, size_t length)
{
	size_t in_page = GUEST_PAGE_SIZE - (address & GUEST_PAGE_MASK);

	return in_page < length ? in_page : length;
}

static enum sample_cut copy_page(struct copier *copier, const struct walk_reader *reader,
				 copy_page_fn *get, const struct registers *regs, uint64_t address,
				 const char **page)
{
	frame_t frame;

	switch (walk_x86(reader, walk_root(regs), GVA(address), &frame)) {
	case WALK_OK:
		*page = get(copier, frame);
		return *page ? CUT_NONE : CUT_NOT_MAPPED;
	case WALK_NOT_MAPPED:
		return CUT_NOT_MAPPED;
	case WALK_NOT_PRESENT:
	case WALK_NOT_CANONICAL:
	case WALK_BAD:
		break;
	}
	return CUT_NOT_PRESENT;
}

enum sample_cut copy_stack(struct copier *copier, const struct registers *regs, char *to,
			   size_t *size_bytesp)
{
	struct walk_reader reader = { .table = copy_find_table, .context = copier };
	size_t length = copy_length(copier, regs), done = 0;
	enum sample_cut cut = CUT_LIMIT;

	*size_bytesp = 0;
	if (!copy_has_paging(copier, regs))
		return CUT_NO_PAGING;
	while (done < length) {
		uint64_t address = regs->rsp + done;
		size_t piece = copy_piece(address, length - done);
		enum sample_cut end;
		const char *page;

		end = copy_page(copier, &reader, copy_find, regs, address, &page);
		if (end != CUT_NONE) {
			cut = end;
			break;
		}
		memcpy(to + done, page + (address & GUEST_PAGE_MASK), piece);
		done += piece;
	}
	*size_bytesp = done;
	return cut;
}

void copy_prepare(struct copier *copier, const struct registers *regs)
{
	struct walk_reader reader = { .table = copy_get_table, .context = copier };
	size_t length = copy_length(copier, regs);
	const char *page;

	if (!copy_has_paging(copier, regs))
		return;
	for (size_t done = 0; done < length; done += copy_piece(regs->rsp + done, length - done))
		if (copy_page(copier, &reader, copy_get, regs, regs->rsp + done, &page) != CUT_NONE)
			return;
}
