/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A range of a file that is read page by page; see elf_pages.h. The address space for the whole
 * range is reserved; the kernel gives memory to the pages that are read. Resolver's thread.
 */
#include "config.h"

#include "xtop/elf/elf_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xtop/base/types.h"

struct elf_pages {
	struct bytes bytes;
	uint64_t offset;   /* offset of the first page in the file */
	size_t in_page;    /* offset of the range in its first page */
	size_t size_bytes; /* size of the range */
	size_t n, n_there; /* pages of the range, and those that were read */
	uint8_t *base;     /* address of the first page */
	uint8_t *states;   /* enum page_state of page i */
};

enum page_state {
	PAGE_UNREAD,
	PAGE_THERE,
	PAGE_MISSING, /* the page could not be read, and is not tried again */
};

struct elf_pages *elf_pages_create(const struct bytes *bytes, uint64_t offset, size_t size_bytes)
{
	struct elf_pages *pages = calloc(1, sizeof(*pages));
	void *base;

	if (!pages || !size_bytes)
		goto failed;
	*pages = (struct elf_pages){ .bytes = *bytes,
				     .offset = offset & ~GUEST_PAGE_MASK,
				     .in_page = offset & GUEST_PAGE_MASK,
				     .size_bytes = size_bytes };
	pages->n = (pages->in_page + size_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT;
	pages->states = calloc(pages->n, sizeof(*pages->states));
	base = mmap(NULL, pages->n << GUEST_PAGE_SHIFT, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pages->base = base == MAP_FAILED ? NULL : base;
	if (pages->states && pages->base)
		return pages;
failed:
	elf_pages_destroy(pages);
	return NULL;
}

void elf_pages_destroy(struct elf_pages *pages)
{
	if (!pages)
		return;
	if (pages->base)
		munmap(pages->base, pages->n << GUEST_PAGE_SHIFT);
	free(pages->states);
	free(pages);
}

const uint8_t *elf_pages_bytes(const struct elf_pages *pages)
{
	return pages->base + pages->in_page;
}

/* Reads the pages [FIRST, END) at once. Returns false if one of them cannot be read now. */
static bool elf_pages_read(struct elf_pages *pages, size_t first, size_t end)
{
	uint64_t offset = pages->offset + (first << GUEST_PAGE_SHIFT);
	size_t wanted = (end - first) << GUEST_PAGE_SHIFT, got;

	if (offset >= pages->bytes.size_bytes)
		return false;
	if (wanted > pages->bytes.size_bytes - offset) /* the file's last page */
		wanted = pages->bytes.size_bytes - offset;
	got = pages->bytes.read(pages->bytes.context, offset,
				pages->base + (first << GUEST_PAGE_SHIFT), wanted);
	if (got < wanted) {
		end = first + (got >> GUEST_PAGE_SHIFT);
		pages->states[end] = PAGE_MISSING;
	}
	memset(pages->states + first, PAGE_THERE, end - first);
	pages->n_there += end - first;
	return got == wanted;
}

bool elf_pages_need(struct elf_pages *pages, size_t offset, size_t size_bytes)
{
	size_t first, end;

	if (offset > pages->size_bytes || size_bytes > pages->size_bytes - offset)
		return false;
	if (!size_bytes)
		return true;
	first = (pages->in_page + offset) >> GUEST_PAGE_SHIFT;
	end = ((pages->in_page + offset + size_bytes - 1) >> GUEST_PAGE_SHIFT) + 1;
	while (first < end) {
		size_t behind = first;

		if (pages->states[first] == PAGE_MISSING)
			return false;
		while (behind < end && pages->states[behind] == PAGE_UNREAD)
			behind++;
		if (behind > first && !elf_pages_read(pages, first, behind))
			return false;
		first = behind > first ? behind : first + 1;
	}
	return true;
}

size_t elf_pages_memory_bytes(const struct elf_pages *pages)
{
	return sizeof(*pages) + pages->n * sizeof(*pages->states) +
	       (pages->n_there << GUEST_PAGE_SHIFT);
}
