/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory made by hand; see made_memory.h. Frame MADE_FRAME + i is pages[i]. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_memory.h"

#define PTE_P     (1ULL << 0)
#define PTE_W     (1ULL << 1)
#define PTE_U     (1ULL << 2)
#define PTE_PS    (1ULL << 7)
#define PTE_NX    (1ULL << 63)
#define PTE_FRAME 0x000ffffffffff000ULL

struct made_memory {
	struct memory *memory;
	size_t n_pages;
	char *pages[MADE_MAX_PAGES];
	bool refused[MADE_MAX_PAGES];
};

static void made_die(const char *what)
{
	fprintf(stderr, "made_memory: %s\n", what);
	exit(99); /* automake's hard error */
}

/* --- what struct memory reads ---------------------------------------------------------------- */

static void made_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct made_memory *made = context;

	for (size_t i = 0; i < n; i++) {
		uint64_t page = frames[i].value - MADE_FRAME;

		ok[i] = page < made->n_pages && !made->refused[page];
		if (ok[i])
			memcpy((char *)pages + i * GUEST_PAGE_SIZE, made->pages[page],
			       GUEST_PAGE_SIZE);
	}
}

static void made_close(void *context)
{
	(void)context;
}

static const struct memory_ops made_ops = { .read = made_read, .close = made_close };

struct made_memory *made_create(void)
{
	struct made_memory *made = calloc(1, sizeof(*made));

	if (!made || memory_create(&made_ops, made, &made->memory))
		made_die("out of memory");
	return made;
}

void made_destroy(struct made_memory *made)
{
	memory_destroy(made->memory);
	for (size_t i = 0; i < made->n_pages; i++)
		free(made->pages[i]);
	free(made);
}

struct memory *made_memory(struct made_memory *made)
{
	return made->memory;
}

/* --- tables ----------------------------------------------------------------------------------- */

static uint64_t made_new_frame(struct made_memory *made)
{
	char *page = calloc(1, GUEST_PAGE_SIZE);

	if (!page || made->n_pages == MADE_MAX_PAGES)
		made_die("MADE_MAX_PAGES");
	made->pages[made->n_pages] = page;
	return MADE_FRAME + made->n_pages++;
}

static void *made_page(struct made_memory *made, uint64_t frame)
{
	if (frame - MADE_FRAME >= made->n_pages)
		made_die("no such frame");
	return made->pages[frame - MADE_FRAME];
}

struct memory_root made_root(struct made_memory *made)
{
	return (struct memory_root){ .cr3 = made_new_frame(made) << GUEST_PAGE_SHIFT };
}

struct memory_root made_root_la57(struct made_memory *made)
{
	struct memory_root root = made_root(made);

	root.la57 = true;
	return root;
}

static unsigned made_index(uint64_t address, unsigned level)
{
	return address >> (GUEST_PAGE_SHIFT + 9 * (level - 1)) & 511;
}

/* The entry for ADDRESS at LEVEL, or the entry of a large page above it, where the walk ends. */
uint64_t *made_entry(struct made_memory *made, struct memory_root root, uint64_t address,
		     unsigned level)
{
	uint64_t frame = (root.cr3 & PTE_FRAME) >> GUEST_PAGE_SHIFT;

	for (unsigned at = root.la57 ? 5 : 4;; at--) {
		uint64_t *table = made_page(made, frame);
		uint64_t *entry = &table[made_index(address, at)];

		if (at == level || (*entry & PTE_P && *entry & PTE_PS))
			return entry;
		if (!(*entry & PTE_P))
			*entry = made_new_frame(made) << GUEST_PAGE_SHIFT | PTE_P | PTE_W | PTE_U;
		frame = (*entry & PTE_FRAME) >> GUEST_PAGE_SHIFT;
	}
}

void made_share_kernel(struct made_memory *made, struct memory_root root, struct memory_root from)
{
	uint64_t *to_table = made_page(made, root.cr3 >> GUEST_PAGE_SHIFT);
	uint64_t *from_table = made_page(made, from.cr3 >> GUEST_PAGE_SHIFT);

	for (unsigned i = 256; i < 512; i++) {
		if (!(from_table[i] & PTE_P))
			from_table[i] =
				made_new_frame(made) << GUEST_PAGE_SHIFT | PTE_P | PTE_W | PTE_U;
		to_table[i] = from_table[i];
	}
}

static uint64_t made_leaf(uint64_t frame, unsigned flags)
{
	uint64_t entry = frame << GUEST_PAGE_SHIFT | PTE_P;

	if (flags & MADE_WRITE)
		entry |= PTE_W;
	if (!(flags & MADE_EXECUTE))
		entry |= PTE_NX;
	return flags & MADE_PAGE_2M ? entry | PTE_PS : entry;
}

/* 512 frames in a row, the first a multiple of 512. */
static uint64_t made_new_large(struct made_memory *made)
{
	uint64_t frame = made_new_frame(made);

	while (frame & 511)
		frame = made_new_frame(made);
	for (unsigned i = 1; i < 512; i++)
		made_new_frame(made);
	return frame;
}

static void made_map_page(struct made_memory *made, struct memory_root root, uint64_t address,
			  unsigned flags)
{
	bool large = flags & MADE_PAGE_2M;
	uint64_t *entry = made_entry(made, root, address, large ? 2 : 1);

	if (*entry & PTE_P)
		return;
	*entry = made_leaf(large ? made_new_large(made) : made_new_frame(made), flags);
}

/* The number of pages; the end address would be 0 after the last page of the address space. */
static uint64_t made_n_pages(uint64_t address, uint64_t size_bytes, uint64_t page_bytes)
{
	return ((address & (page_bytes - 1)) + size_bytes + page_bytes - 1) / page_bytes;
}

void made_map(struct made_memory *made, struct memory_root root, uint64_t address,
	      uint64_t size_bytes, unsigned flags)
{
	uint64_t page_bytes = flags & MADE_PAGE_2M ? MADE_LARGE : GUEST_PAGE_SIZE;
	uint64_t n = made_n_pages(address, size_bytes, page_bytes);

	for (uint64_t i = 0; i < n; i++)
		made_map_page(made, root, (address & ~(page_bytes - 1)) + i * page_bytes, flags);
}

void made_alias(struct made_memory *made, struct memory_root root, uint64_t address,
		struct memory_root other_root, uint64_t other, unsigned flags)
{
	frame_t frame = made_frame(made, other_root, other);

	*made_entry(made, root, address, 1) = made_leaf(frame.value, flags);
}

void made_unmap(struct made_memory *made, struct memory_root root, uint64_t address,
		uint64_t size_bytes)
{
	uint64_t n = made_n_pages(address, size_bytes, GUEST_PAGE_SIZE);

	for (uint64_t i = 0; i < n; i++)
		*made_entry(made, root, address + i * GUEST_PAGE_SIZE, 1) = 0;
}

frame_t made_frame(struct made_memory *made, struct memory_root root, uint64_t address)
{
	uint64_t entry = *made_entry(made, root, address, 1);
	uint64_t frame = (entry & PTE_FRAME) >> GUEST_PAGE_SHIFT;

	if (!(entry & PTE_P))
		made_die("not mapped");
	if (entry & PTE_PS)
		frame += address >> GUEST_PAGE_SHIFT & 511;
	return FRAME(frame);
}

void made_refuse(struct made_memory *made, struct memory_root root, uint64_t address, bool refuse)
{
	made->refused[made_frame(made, root, address).value - MADE_FRAME] = refuse;
}

/* --- bytes ------------------------------------------------------------------------------------ */

void made_put(struct made_memory *made, struct memory_root root, uint64_t address,
	      const void *bytes, size_t size_bytes)
{
	for (size_t done = 0; done < size_bytes;) {
		uint64_t at = address + done;
		size_t offset = at & GUEST_PAGE_MASK;
		size_t piece = GUEST_PAGE_SIZE - offset;
		char *page;

		if (piece > size_bytes - done)
			piece = size_bytes - done;
		made_map_page(made, root, at, MADE_WRITE);
		page = made_page(made, made_frame(made, root, at).value);
		memcpy(page + offset, (const char *)bytes + done, piece);
		done += piece;
	}
}

void made_put_u64(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint64_t value)
{
	made_put(made, root, address, &value, sizeof(value));
}

void made_put_u32(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint32_t value)
{
	made_put(made, root, address, &value, sizeof(value));
}

void made_put_u16(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint16_t value)
{
	made_put(made, root, address, &value, sizeof(value));
}

void made_put_u8(struct made_memory *made, struct memory_root root, uint64_t address, uint8_t value)
{
	made_put(made, root, address, &value, sizeof(value));
}

void made_put_string(struct made_memory *made, struct memory_root root, uint64_t address,
		     const char *string)
{
	made_put(made, root, address, string, strlen(string) + 1);
}
