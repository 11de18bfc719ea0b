/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where a kernel of 32 bits, Linux 5.10 to 6.5 or a later one that is alike, keeps the files
 * of a process's mappings; see process_layout.h. Each member is recognised by its contents:
 *
 *   file            f_path.{mnt,dentry} f_inode    the dentry has the same inode, and a path to the
 *                                                  root
 *   inode           i_op i_sb i_mapping [i_security] i_ino i_nlink i_rdev i_size i_atime ..
 *                                                  i_mapping's first word is the inode; the dentry
 *                                                  has i_sb, too
 *   address_space   host i_pages                   pages of the file
 *   page            flags lru mapping index        this mapping, and the page's number in the file
 *   dentry          d_sb d_time d_fsdata d_lru d_child d_subdirs
 *                                                  the directory's list has the dentry, up to 6.7
 *
 * (Linux 6.1 include/linux/{fs,dcache,mount,path,xarray,mm_types}.h, fs/mount.h.) All struct pages
 * are in one array. The process's page tables have the frames of its mapped pages, and two of these
 * pages give size and start of the array. All other pages must agree. So the result is accepted
 * only if the process has mapped the very pages that the page cache has.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/process_layout.h"

#include "linux/process/page_cache.h"
#include "linux/process/path.h"
#include "linux/process/xarray.h"

#define WORD             4
#define FILE_BYTES       224 /* range that is searched for f_path: at 8 in 6.1, at 112 in 6.5 */
#define INODE_BYTES      96  /* range that is searched for i_mapping: at 32 */
#define DENTRY_BYTES     160 /* range that is searched for d_sb: at 84 */
#define DENTRY_CHILD_AT  20  /* distance from d_sb to d_child */
#define DENTRY_CHILDREN  256 /* children of a directory that are looked at */
#define FILE_MAX_TRIES   8   /* files of a process that are tried */
#define FILE_MAX_PAGES   64
#define FILE_AREA_PAGES  16 /* pages of each area that are read */
#define PAGE_MIN_BYTES   24
#define PAGE_MAX_BYTES   128
/* size of struct timespec64: 8 bytes and a long; a multiple of 8 on Arm */
#define TIME_BYTES       12
#define TIME_SECOND_NS   1000000000U
#define MODE_KIND        0170000 /* Linux include/uapi/linux/stat.h: S_IFMT, S_IFREG */
#define MODE_REGULAR     0100000
#define PAGE_MAPPING     12

/* --- names ------------------------------------------------------------------------------------ */

static void file_set_names(struct process_trial *trial)
{
	unsigned name = process_trial_wide(trial, 5 * WORD); /* hash and length are one number */

	process_trial_set(trial, PATH_MNT, 0);
	process_trial_set(trial, PATH_DENTRY, WORD);
	process_trial_set(trial, DENTRY_HASH_PPREV, 3 * WORD);
	process_trial_set(trial, DENTRY_PARENT, 4 * WORD);
	process_trial_set(trial, DENTRY_NAME_LEN, name + WORD);
	process_trial_set(trial, DENTRY_NAME, name + 2 * WORD);
	process_trial_set(trial, DENTRY_INODE, process_trial_wide(trial, name + 3 * WORD));
	process_trial_set(trial, VFSMOUNT_ROOT, 0);
	process_trial_set(trial, MOUNT_PARENT, 2 * WORD);
	process_trial_set(trial, MOUNT_MOUNTPOINT, 3 * WORD);
	process_trial_set(trial, MOUNT_MNT, 4 * WORD);
}

static bool file_find_path(struct process_trial *trial, uint64_t file, uint64_t *inode,
			   uint64_t *dentry)
{
	struct path_name name;
	uint64_t at;

	file_set_names(trial);
	for (unsigned offset = 0; offset < FILE_BYTES; offset += WORD) {
		*dentry = process_trial_word(trial, file + offset + WORD);
		*inode = process_trial_word(trial, file + offset + 2 * WORD);
		at = *dentry + layout_offset(&trial->guest.layout, DENTRY_INODE);
		if (!process_trial_is_pointer(trial, *inode) ||
		    process_trial_word(trial, at) != *inode)
			continue;
		process_trial_set(trial, FILE_PATH, offset);
		process_trial_set(trial, FILE_INODE, offset + 2 * WORD);
		if (path_read(&trial->guest, file, &name) && name.path[0] == '/')
			return true;
	}
	return false;
}

/* --- the inode -------------------------------------------------------------------------------- */

/*
 * Finds the members for children of a directory: the directory of DENTRY must have DENTRY in its
 * list. d_sb is at OFFSET. The members stay unknown if they are not confirmed.
 */
static void file_find_children(struct process_trial *trial, uint64_t dentry, unsigned offset)
{
	uint64_t child = dentry + offset + DENTRY_CHILD_AT, link;
	uint64_t directory = process_trial_word(
		trial, dentry + layout_offset(&trial->guest.layout, DENTRY_PARENT));
	uint64_t head = directory + offset + DENTRY_CHILD_AT + 2 * WORD;

	link = process_trial_word(trial, head);
	for (unsigned i = 0; link && link != head && i < DENTRY_CHILDREN; i++) {
		if (link == child) {
			process_trial_set(trial, DENTRY_CHILD, offset + DENTRY_CHILD_AT);
			process_trial_set(trial, DENTRY_SUBDIRS,
					  offset + DENTRY_CHILD_AT + 2 * WORD);
			return;
		}
		link = process_trial_word(trial, link);
	}
}

static bool file_find_super_block(struct process_trial *trial, uint64_t inode, uint64_t dentry,
				  unsigned offset)
{
	uint64_t super_block = process_trial_word(trial, inode + offset);

	process_trial_set(trial, INODE_SB, offset);
	for (unsigned at = 9 * WORD; super_block && at < DENTRY_BYTES; at += WORD)
		if (process_trial_word(trial, dentry + at) == super_block) {
			file_find_children(trial, dentry, at);
			return true;
		}
	return false;
}

/* Offset of i_size. i_ino is at OFFSET, and i_size and the times follow it. */
static unsigned file_size_offset(const struct process_trial *trial, unsigned offset)
{
	return process_trial_wide(trial, offset + 3 * WORD);
}

static unsigned file_time_offset(const struct process_trial *trial, unsigned offset, unsigned i)
{
	return file_size_offset(trial, offset) + 2 * WORD +
	       i * process_trial_wide(trial, TIME_BYTES);
}

/* Whether i_ino of a regular file is at OFFSET: i_nlink, i_rdev, i_size and three times follow. */
static bool file_is_number(const struct process_trial *trial, uint64_t inode, unsigned offset)
{
	uint64_t at = inode + offset, size = inode + file_size_offset(trial, offset);

	for (unsigned i = 0; i < 3; i++) {
		uint64_t time = inode + file_time_offset(trial, offset, i);

		if (process_trial_word(trial, time + 2 * WORD) >= TIME_SECOND_NS)
			return false;
	}
	return process_trial_word(trial, at) && process_trial_word(trial, at + WORD) &&
	       !process_trial_word(trial, at + 2 * WORD) && process_trial_word(trial, size) &&
	       !process_trial_word(trial, size + WORD);
}

/* Finds i_ino after i_mapping, or after i_security. Exactly one place must match. */
static bool file_find_number(struct process_trial *trial, uint64_t inode, unsigned mapping)
{
	bool first = file_is_number(trial, inode, mapping + WORD);
	unsigned offset = mapping + (first ? 1 : 2) * WORD;

	if (first == file_is_number(trial, inode, mapping + 2 * WORD) ||
	    (process_trial_word(trial, inode) & MODE_KIND) != MODE_REGULAR)
		return false;
	process_trial_set(trial, INODE_INO, offset);
	process_trial_set(trial, INODE_SIZE, file_size_offset(trial, offset));
	process_trial_set(trial, INODE_MTIME_SEC, file_time_offset(trial, offset, 1));
	process_trial_set(trial, INODE_MTIME_NSEC, file_time_offset(trial, offset, 1) + 2 * WORD);
	return true;
}

static bool file_find_inode(struct process_trial *trial, uint64_t inode, uint64_t dentry)
{
	for (unsigned offset = WORD; offset < INODE_BYTES; offset += WORD) {
		uint64_t mapping = process_trial_word(trial, inode + offset);

		if (!process_trial_is_pointer(trial, mapping) ||
		    process_trial_word(trial, mapping) != inode)
			continue;
		process_trial_set(trial, INODE_MAPPING, offset);
		return file_find_super_block(trial, inode, dentry, offset - WORD) &&
		       file_find_number(trial, inode, offset);
	}
	return false;
}

/* --- the page cache --------------------------------------------------------------------------- */

/* Mapped pages of a process. Page INDEX of the file has its struct page at ADDRESS. */
struct file_pages {
	struct {
		uint64_t index, frame, address;
	} pages[FILE_MAX_PAGES];
	size_t n;
};

static void file_set_pages(struct process_trial *trial)
{
	process_trial_set(trial, MAPPING_PAGES, WORD);
	process_trial_set(trial, XARRAY_HEAD, 2 * WORD);
	process_trial_set(trial, XA_NODE_SHIFT, 0);
	process_trial_set(trial, XA_NODE_SLOTS, 5 * WORD);
	process_trial_set(trial, PAGE_INDEX, 4 * WORD);
}

/* Adds a page. Returns false if its struct page has another mapping. */
static bool file_add_page(const struct process_trial *trial, uint64_t mapping, uint64_t index,
			  uint64_t frame, struct file_pages *pages)
{
	const struct linux_guest *guest = &trial->guest;
	uint64_t address;

	if (!xarray_find(guest, mapping + layout_offset(&guest->layout, MAPPING_PAGES), index,
			 &address))
		return false;
	if (!address || xarray_is_value(address) || xarray_is_internal(address))
		return true; /* the page was dropped since */
	if (process_trial_word(trial, address + PAGE_MAPPING) != mapping)
		return false;
	/* The entry of a large folio points to the folio's first page. */
	if (process_trial_word(trial, address + layout_offset(&guest->layout, PAGE_INDEX)) != index)
		return true;
	pages->pages[pages->n].index = index;
	pages->pages[pages->n].frame = frame;
	pages->pages[pages->n++].address = address;
	return true;
}

/* Collects pages of FILE that the process has. */
static bool file_read_pages(const struct process_trial *trial, uint64_t file, uint64_t mapping,
			    struct file_pages *pages)
{
	for (size_t i = 0; i < trial->n_areas; i++) {
		const struct vma *vma = &trial->areas[i];
		uint64_t n = (vma->end - vma->start) >> GUEST_PAGE_SHIFT;

		for (uint64_t k = 0; vma->file == file && k < n && k < FILE_AREA_PAGES; k++) {
			frame_t frame;

			if (pages->n == FILE_MAX_PAGES)
				return true;
			if (memory_translate(trial->guest.memory, trial->root,
					     vma->start + (k << GUEST_PAGE_SHIFT), &frame) &&
			    !file_add_page(trial, mapping, vma->page_offset + k, frame.value,
					   pages))
				return false;
		}
	}
	return true;
}

/* Finds size and start of the array, from the first page and a page in another frame. */
static bool file_find_array(struct process_trial *trial, const struct file_pages *pages)
{
	for (size_t i = 1; i < pages->n; i++) {
		int64_t frames = (int64_t)(pages->pages[i].frame - pages->pages[0].frame);
		int64_t bytes = (int64_t)(pages->pages[i].address - pages->pages[0].address);

		if (!frames)
			continue;
		if (bytes % frames || bytes / frames < PAGE_MIN_BYTES ||
		    bytes / frames > PAGE_MAX_BYTES)
			return false;
		process_trial_set(trial, PAGE_SIZEOF, (unsigned)(bytes / frames));
		trial->guest.vmemmap =
			pages->pages[0].address -
			pages->pages[0].frame * (uint64_t)(bytes / frames);
		return process_trial_is_pointer(trial, trial->guest.vmemmap);
	}
	return false;
}

static bool file_find_page_cache(struct process_trial *trial, uint64_t file, uint64_t inode)
{
	uint64_t mapping = process_trial_word(
		trial, inode + layout_offset(&trial->guest.layout, INODE_MAPPING));
	struct file_pages pages = { .n = 0 };
	struct page_cache cache;
	frame_t frame;

	file_set_pages(trial);
	if (!file_read_pages(trial, file, mapping, &pages) || !file_find_array(trial, &pages) ||
	    !page_cache_init(&cache, &trial->guest, inode))
		return false;
	for (size_t i = 0; i < pages.n; i++)
		if (!page_cache_find_frame(&cache, pages.pages[i].index, &frame) ||
		    frame.value != pages.pages[i].frame)
			return false;
	return true;
}

/* Uses the first file that confirms all members. */
bool file_layout_32_find(struct process_trial *trial)
{
	const struct layout before = trial->guest.layout;
	unsigned tries = 0;

	for (size_t i = 0; i < trial->n_areas && tries < FILE_MAX_TRIES; i++) {
		uint64_t file = trial->areas[i].file, inode, dentry;

		if (i && file == trial->areas[i - 1].file)
			continue;
		tries++;
		trial->guest.layout = before;
		if (file_find_path(trial, file, &inode, &dentry) &&
		    file_find_inode(trial, inode, dentry) &&
		    file_find_page_cache(trial, file, inode))
			return true;
	}
	return false;
}
