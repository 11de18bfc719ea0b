/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What languages read: a runtime's file, the copied stack, and what a thread keeps; see
 * language_ops.h. Resolver's thread.
 */
#include "config.h"

#include "language/language_ops.h"

#include <string.h>

#include "xtop/elf/elf.h"

bool runtime_read_file(struct elf_file *file, uint64_t address, void *bytes, size_t n)
{
	uint64_t offset, left;

	return address && elf_find_offset(file, address, &offset, &left) && n <= left &&
	       elf_read(file, offset, bytes, n) == n;
}

bool runtime_read_stack(const struct sample_vcpu *vcpu, uint64_t address, uint64_t *words, size_t n)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	size_t bytes = n * sizeof(*words);

	for (unsigned i = 0; i < vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t offset = address - piece->address;

		if (piece->kind == STACK_LIST || offset >= piece->size_bytes ||
		    piece->size_bytes - offset < bytes)
			continue;
		memcpy(words, (const char *)(piece + 1) + offset, bytes);
		return true;
	}
	return false;
}

/* --- the thread ------------------------------------------------------------------------------- */

/*
 * Static thread-local variables lie below the thread pointer on x86-64 (ELF Handling For
 * Thread-Local Storage, variant II). Above it lies glibc's struct pthread, with the values of the
 * first 32 keys, each with a sequence number, from byte 0x310 on (nptl/descr.h). On arm64 the
 * variables lie above it, those of preloaded libraries first, and struct pthread below (variant I).
 */
#define THREAD_ABOVE_BYTES 0x520

/* Searches [START, END), at most a page. */
static bool runtime_search_words(const struct runtime_process *process,
				 struct runtime_search *search, uint64_t start, uint64_t end)
{
	uint64_t words[GUEST_PAGE_SIZE / sizeof(uint64_t)];
	size_t n = memory_read(process->memory, process->root, start, words, end - start) /
		   sizeof(uint64_t);

	for (size_t i = 0; i < n; i++) {
		if (!runtime_is_pointer(words[i]))
			continue;
		search->structure = words[i] + search->offset;
		search->found =
			search->is_right(process, search->thread_pointer, search->structure);
		search->distance = (int64_t)(start + i * sizeof(uint64_t) - search->thread_pointer);
		if (search->found)
			return true;
	}
	return false;
}

bool runtime_search_thread(const struct runtime_process *process, struct runtime_search *search)
{
	uint64_t thread_pointer = search->thread_pointer, page = thread_pointer & ~GUEST_PAGE_MASK;
	uint64_t above = thread_pointer + THREAD_ABOVE_BYTES;

	if (thread_pointer % sizeof(uint64_t) || page <= GUEST_PAGE_SIZE || thread_pointer >> 48)
		return false;
	/* The page before need not be there: the thread's block may begin in the pointer's page. */
	return runtime_search_words(process, search, thread_pointer, above) ||
	       runtime_search_words(process, search, page, thread_pointer) ||
	       (root_is_arm(process->root) &&
		runtime_search_words(process, search, above, above + GUEST_PAGE_SIZE)) ||
	       runtime_search_words(process, search, page - GUEST_PAGE_SIZE, page);
}
