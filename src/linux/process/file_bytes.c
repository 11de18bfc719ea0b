/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a guest's file from several places. Resolver's thread.
 *
 * The page cache has every page of a file that anybody has mapped, and more; but not that of a
 * vDSO, nor one that is not made of ordinary pages (DAX, hugetlbfs). There the process's own view
 * helps, as far as its page tables have it. Only mappings that cannot be written to are asked: the
 * others may hold what the program made of the file's bytes.
 */
#include "config.h"

#include "linux/process/file_bytes.h"

void file_bytes_add(struct file_bytes *file, const struct vma *vma)
{
	if (vma->flags & VMA_WRITE || file->n_pieces == FILE_BYTES_MAX_PIECES ||
	    vma->page_offset > UINT64_MAX >> GUEST_PAGE_SHIFT)
		return;
	file->pieces[file->n_pieces++] =
		(struct file_piece){ .offset = vma->page_offset << GUEST_PAGE_SHIFT,
				     .address = vma->start,
				     .size_bytes = vma->end - vma->start };
}

/* From the front of what the process has mapped there. */
static size_t file_bytes_mapped(struct file_bytes *file, uint64_t offset, void *buffer,
				size_t size_bytes)
{
	for (unsigned i = 0; i < file->n_pieces; i++) {
		const struct file_piece *piece = &file->pieces[i];
		uint64_t in_piece = offset - piece->offset, left;

		if (offset < piece->offset || in_piece >= piece->size_bytes)
			continue;
		left = piece->size_bytes - in_piece;
		return memory_read(file->linux_guest->memory, file->root, piece->address + in_piece,
				   buffer, left < size_bytes ? left : size_bytes);
	}
	return 0;
}

/* At most to the end of the page: what is missing in one place may be in the other. */
static size_t file_bytes_page(uint64_t offset, size_t size_bytes)
{
	uint64_t left = GUEST_PAGE_SIZE - (offset & GUEST_PAGE_MASK);

	return left < size_bytes ? left : size_bytes;
}

static size_t file_bytes_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct file_bytes *file = context;
	size_t done = 0, got = 1;

	if (size_bytes > file->left_bytes) {
		file->exhausted = true;
		return 0;
	}
	while (done < size_bytes && got) {
		struct bytes cache = { 0 };

		got = 0;
		if (file->cache) {
			cache = page_cache_bytes(file->cache);
			got = cache.read(cache.context, offset + done, (char *)buffer + done,
					 size_bytes - done);
		}
		if (!got)
			got = file_bytes_mapped(file, offset + done, (char *)buffer + done,
						file_bytes_page(offset + done, size_bytes - done));
		done += got;
	}
	file->left_bytes -= done;
	file->got_bytes += done;
	return done;
}

struct bytes file_bytes(struct file_bytes *file, uint64_t size_bytes)
{
	return (struct bytes){ .read = file_bytes_read, .context = file, .size_bytes = size_bytes };
}
