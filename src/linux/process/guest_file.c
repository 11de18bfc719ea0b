/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one file of the guest from several places; see guest_file.h. Resolver's thread.
 *
 * The page cache has every page of a file that any process has mapped, and more. It lacks the pages
 * of a vDSO, and those of a file that is not made of ordinary pages (DAX, hugetlbfs). For these the
 * process's own mapping is read, as far as its page tables have the page.
 */
#include "config.h"

#include "linux/process/guest_file.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/process/path.h"

/*
 * A program that is written again keeps its inode but not its mtime. The inode number of a deleted
 * file is used again with another generation.
 */
bool file_identity_read(const struct linux_guest *guest, uint64_t inode,
			struct file_identity *identityp)
{
	struct file_identity identity = { 0 };

	if (!member_read_pointer(guest, inode, INODE_SB, &identity.super_block) ||
	    !member_read_word(guest, inode, INODE_INO, &identity.inode_number) ||
	    !member_read_u64(guest, inode, INODE_SIZE, &identity.size_bytes))
		return false;
	/* These members stay 0 if the kernel does not have them. */
	member_read_u64(guest, inode, INODE_MTIME_SEC, &identity.mtime_sec);
	member_read_u32(guest, inode, INODE_MTIME_NSEC, &identity.mtime_nsec);
	member_read_u32(guest, inode, INODE_GENERATION, &identity.generation);
	*identityp = identity;
	return true;
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
	return a->super_block == b->super_block && a->inode_number == b->inode_number &&
	       a->size_bytes == b->size_bytes && a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec && a->generation == b->generation;
}

bool guest_file_find_inode(const struct linux_guest *guest, uint64_t file,
			   struct guest_file *guest_file)
{
	uint64_t inode;

	if (!member_read_pointer(guest, file, FILE_INODE, &inode) ||
	    !file_identity_read(guest, inode, &guest_file->identity))
		return false;
	guest_file->inode = inode;
	guest_file->file = file;
	return true;
}

void guest_file_add_mapping(struct guest_file *guest_file, const struct vma *vma)
{
	unsigned page_shift = arch_page_shift(guest_file->guest->root);

	if (vma->flags & VMA_WRITE || guest_file->n_pieces == GUEST_FILE_MAX_PIECES ||
	    vma->page_offset > UINT64_MAX >> page_shift)
		return;
	guest_file->pieces[guest_file->n_pieces++] =
		(struct guest_file_piece){ .offset = vma->page_offset << page_shift,
					   .address = vma->start,
					   .size_bytes = vma->end - vma->start };
}

/* Reads from the front of what the process has mapped at OFFSET. Returns the number of bytes. */
static size_t guest_file_read_mapping(struct guest_file *guest_file, uint64_t offset, void *buffer,
				      size_t size_bytes)
{
	for (unsigned i = 0; i < guest_file->n_pieces; i++) {
		const struct guest_file_piece *piece = &guest_file->pieces[i];
		uint64_t in_piece = offset - piece->offset, left;

		if (offset < piece->offset || in_piece >= piece->size_bytes)
			continue;
		left = piece->size_bytes - in_piece;
		return memory_read(guest_file->guest->memory, guest_file->root,
				   piece->address + in_piece, buffer,
				   left < size_bytes ? left : size_bytes);
	}
	return 0;
}

/* SIZE_BYTES from OFFSET on, up to the page's end: the page cache may have the next page. */
static size_t guest_file_limit_to_page(uint64_t offset, size_t size_bytes)
{
	uint64_t left = GUEST_PAGE_SIZE - (offset & GUEST_PAGE_MASK);

	return left < size_bytes ? left : size_bytes;
}

static size_t guest_file_read_cache(struct guest_file *guest_file, uint64_t offset, void *buffer,
				    size_t size_bytes)
{
	struct bytes bytes;
	uint64_t before;
	size_t got;

	if (!guest_file->cache)
		return 0;
	bytes = page_cache_bytes(guest_file->cache);
	before = guest_file->cache->wasted_bytes;
	got = bytes.read(bytes.context, offset, buffer, size_bytes);
	guest_file->wasted_bytes += guest_file->cache->wasted_bytes - before;
	return got;
}

/*
 * Whether the limit allows SIZE_BYTES. If all bytes of a file are present and too many, the file is
 * exhausted for good. Otherwise another reading may find more.
 */
static bool guest_file_may_read(struct guest_file *guest_file, size_t size_bytes)
{
	uint64_t max_bytes = guest_file->max_bytes, got_bytes = guest_file->got_bytes;
	uint64_t wasted_bytes = guest_file->wasted_bytes;

	guest_file->exhausted |= got_bytes > max_bytes || size_bytes > max_bytes - got_bytes;
	return !guest_file->exhausted && wasted_bytes <= max_bytes - got_bytes &&
	       size_bytes <= max_bytes - got_bytes - wasted_bytes;
}

static size_t guest_file_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct guest_file *guest_file = context;
	size_t done = 0, got = 1;

	while (done < size_bytes && got && guest_file_may_read(guest_file, size_bytes - done)) {
		uint64_t at = offset + done;
		size_t left = size_bytes - done;
		char *to = (char *)buffer + done;

		got = guest_file_read_cache(guest_file, at, to, left);
		if (!got)
			got = guest_file_read_mapping(guest_file, at, to,
						      guest_file_limit_to_page(at, left));
		if (!got)
			guest_file->wasted_bytes += GUEST_PAGE_SIZE;
		guest_file->got_bytes += got;
		done += got;
	}
	return done;
}

struct bytes guest_file_bytes(struct guest_file *guest_file, uint64_t size_bytes)
{
	return (struct bytes){ .read = guest_file_read,
			       .context = guest_file,
			       .size_bytes = size_bytes };
}

size_t guest_inode_read(const struct guest_inode *inode, struct page_cache *cache, uint64_t offset,
			void *buffer, size_t size_bytes)
{
	struct file_identity identity;
	struct bytes bytes;

	if (!file_identity_read(inode->guest, inode->inode, &identity) ||
	    !file_identity_equal(&identity, &inode->identity) ||
	    !page_cache_init(cache, inode->guest, inode->inode))
		return 0;
	bytes = page_cache_bytes(cache);
	return bytes.read(bytes.context, offset, buffer, size_bytes);
}

size_t guest_file_read_path(const struct linux_guest *guest, uint64_t task, const char *path,
			    void *buffer, size_t size_bytes)
{
	struct page_cache cache;
	struct bytes bytes;
	uint64_t inode;

	if (!path_find_file(guest, task, path, &inode) || !page_cache_init(&cache, guest, inode))
		return 0;
	if (size_bytes > cache.size_bytes)
		size_bytes = cache.size_bytes;
	bytes = page_cache_bytes(&cache);
	return bytes.read(bytes.context, 0, buffer, size_bytes);
}
