/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large blocks for the fuzzers, kept from input to input. AddressSanitizer maps each block of more
 * than 128 KiB anew and returns it to the kernel when it is freed (compiler-rt,
 * LargeMmapAllocator): fuzzers then spent most of their time in page faults. The linker sends
 * malloc() and its relatives here (-Wl,--wrap, tests/fuzz/fuzz.mk). A freed block waits, poisoned,
 * for the next request of its size class. The bytes after the requested size are poisoned, too. So
 * accesses beyond the end, and after free() until the block is used again, are found as before.
 */
#include "config.h"

#include <malloc.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_LEAST_BYTES 0x10000
#define BLOCK_MOST_BYTES  0x4000000
#define BLOCK_TAIL_BYTES  64 /* poisoned at least */
#define BLOCK_ALIGNMENT   4096
#define BLOCKS            256

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t n, size_t size_bytes);
void *__real_realloc(void *at, size_t size_bytes);
void *__real_aligned_alloc(size_t alignment, size_t size_bytes);
void __real_free(void *at);

void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t n, size_t size_bytes);
void *__wrap_realloc(void *at, size_t size_bytes);
void *__wrap_reallocarray(void *at, size_t n, size_t size_bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t size_bytes);
void __wrap_free(void *at);

static struct block {
	uintptr_t hidden; /* ~address: a block that only this points to is a leak */
	void *kept;       /* the address, while it is free */
	size_t capacity, size_bytes;
} blocks[BLOCKS];
static size_t n_blocks;

static bool block_fits(size_t size_bytes)
{
	return size_bytes >= BLOCK_LEAST_BYTES && size_bytes <= BLOCK_MOST_BYTES;
}

/* Four classes between a power of two and the next. */
static size_t block_class(size_t size_bytes)
{
	size_t step = BLOCK_LEAST_BYTES / 4;

	size_bytes += BLOCK_TAIL_BYTES;
	while (step * 8 <= size_bytes)
		step *= 2;
	return (size_bytes + step - 1) / step * step;
}

/* The block in use at AT; NULL: there is none. */
static struct block *block_of(const void *at)
{
	if ((uintptr_t)at % BLOCK_ALIGNMENT)
		return NULL;
	for (size_t i = 0; i < n_blocks; i++)
		if (blocks[i].hidden == ~(uintptr_t)at && !blocks[i].kept)
			return &blocks[i];
	return NULL;
}

static struct block *block_new(size_t capacity)
{
	void *at;

	if (n_blocks == BLOCKS)
		return NULL;
	at = __real_aligned_alloc(BLOCK_ALIGNMENT, capacity);
	if (!at)
		return NULL;
	blocks[n_blocks] =
		(struct block){ .hidden = ~(uintptr_t)at, .kept = at, .capacity = capacity };
	return &blocks[n_blocks++];
}

/* NULL: there are too many blocks. */
static void *block_take(size_t size_bytes)
{
	size_t capacity = block_class(size_bytes);
	struct block *block = NULL;
	void *at;

	for (size_t i = 0; i < n_blocks && !block; i++)
		if (blocks[i].kept && blocks[i].capacity == capacity)
			block = &blocks[i];
	if (!block)
		block = block_new(capacity);
	if (!block)
		return NULL;
	at = block->kept;
	block->kept = NULL;
	block->size_bytes = size_bytes;
	ASAN_UNPOISON_MEMORY_REGION(at, capacity);
	ASAN_POISON_MEMORY_REGION((char *)at + size_bytes, capacity - size_bytes);
	return at;
}

static void block_give(struct block *block, void *at)
{
	ASAN_POISON_MEMORY_REGION(at, block->capacity);
	block->kept = at;
}

void *__wrap_malloc(size_t size_bytes)
{
	void *at = block_fits(size_bytes) ? block_take(size_bytes) : NULL;

	if (!at)
		return __real_malloc(size_bytes);
	memset(at, 0xbe, size_bytes < 4096 ? size_bytes : 4096); /* ASan does so, too */
	return at;
}

void *__wrap_calloc(size_t n, size_t size_bytes)
{
	size_t all;
	void *at;

	if (__builtin_mul_overflow(n, size_bytes, &all) || !block_fits(all))
		return __real_calloc(n, size_bytes);
	at = block_take(all);
	return at ? memset(at, 0, all) : __real_calloc(n, size_bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size_bytes)
{
	void *at = block_fits(size_bytes) && alignment <= BLOCK_ALIGNMENT ? block_take(size_bytes)
									  : NULL;

	return at ? at : __real_aligned_alloc(alignment, size_bytes);
}

void *__wrap_realloc(void *at, size_t size_bytes)
{
	struct block *block = block_of(at);
	size_t before = block ? block->size_bytes : malloc_usable_size(at);
	void *to;

	if (!block && !block_fits(size_bytes))
		return __real_realloc(at, size_bytes);
	to = __wrap_malloc(size_bytes ? size_bytes : 1);
	if (!to)
		return NULL;
	if (at)
		memcpy(to, at, before < size_bytes ? before : size_bytes);
	__wrap_free(at);
	return to;
}

void *__wrap_reallocarray(void *at, size_t n, size_t size_bytes)
{
	size_t all;

	return __builtin_mul_overflow(n, size_bytes, &all) ? NULL : __wrap_realloc(at, all);
}

void __wrap_free(void *at)
{
	struct block *block;

	if (!at)
		return;
	block = block_of(at);
	if (block)
		block_give(block, at);
	else
		__real_free(at);
}
