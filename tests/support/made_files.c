/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a made-up Linux guest, with paths, mounts and page cache; see made_linux.h. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/page_cache.h"
#include "made_linux.h"

/* --- files ------------------------------------------------------------------------------------ */

uint64_t made_inode(struct made_linux *made, uint64_t size_bytes)
{
	uint64_t inode = made_object(made, MADE_OBJECT_BYTES, 64);

	made_set(made, inode, INODE_SIZE, size_bytes);
	made_set(made, inode, INODE_SB, made->super_block);
	made_set(made, inode, INODE_INO, 1000 + made->n_inodes++);
	made_set(made, inode, INODE_MAPPING, made_object(made, MADE_OBJECT_BYTES, 64));
	made_set(made, inode, INODE_MTIME_SEC, 1700000000);
	return inode;
}

/* Puts LINK at the front of the list that begins at HEAD. */
static void made_link(struct made_linux *made, uint64_t head, uint64_t link, bool circular)
{
	uint64_t next = made_get(made, head);

	made_write(made, link, next ? next : circular ? head : 0);
	made_write(made, head, link);
}

uint64_t made_dentry(struct made_linux *made, uint64_t parent, const char *name, uint64_t inode)
{
	uint64_t dentry = made_object(made, MADE_OBJECT_BYTES, 64);
	uint64_t text = made_object(made, strlen(name) + 1, 8);
	bool hlist = layout_has(&made->guest.layout, DENTRY_CHILDREN);

	made_put_string(made->memory, made->guest.root, text, name);
	made_set(made, dentry, DENTRY_NAME, text);
	made_set_u32(made, dentry, DENTRY_NAME_LEN, (uint32_t)strlen(name));
	made_set(made, dentry, DENTRY_INODE, inode);
	made_set(made, dentry, DENTRY_PARENT, parent ? parent : dentry);
	if (!parent)
		return dentry;
	made_set(made, dentry, DENTRY_HASH_PPREV, dentry);
	made_link(made, parent + made_offset(made, hlist ? DENTRY_CHILDREN : DENTRY_SUBDIRS),
		  dentry + made_offset(made, hlist ? DENTRY_SIB : DENTRY_CHILD), !hlist);
	return dentry;
}

uint64_t made_mount(struct made_linux *made, uint64_t parent, uint64_t mountpoint, uint64_t *root)
{
	uint64_t mount = made_object(made, MADE_OBJECT_BYTES, 64);

	*root = made_dentry(made, 0, "/", made_inode(made, 0));
	made_set(made, made_vfsmount(made, mount), VFSMOUNT_ROOT, *root);
	made_set(made, mount, MOUNT_PARENT, parent ? parent : mount);
	made_set(made, mount, MOUNT_MOUNTPOINT, parent ? mountpoint : *root);
	if (parent)
		made_link(made, parent + made_offset(made, MOUNT_MOUNTS),
			  mount + made_offset(made, MOUNT_CHILD), true);
	return mount;
}

uint64_t made_file_at(struct made_linux *made, uint64_t mount, uint64_t dentry, uint64_t inode)
{
	uint64_t file = made_object(made, MADE_OBJECT_BYTES, 64);
	uint64_t path = file + made_offset(made, FILE_PATH);

	made_write(made, path + made_offset(made, PATH_MNT), made_vfsmount(made, mount));
	made_write(made, path + made_offset(made, PATH_DENTRY), dentry);
	made_set(made, file, FILE_INODE, inode);
	return file;
}

/* The dentry of directory NAME below PARENT; made if there is none. */
static uint64_t made_directory(struct made_linux *made, uint64_t parent, const char *name)
{
	bool hlist = layout_has(&made->guest.layout, DENTRY_CHILDREN);
	uint64_t head = parent + made_offset(made, hlist ? DENTRY_CHILDREN : DENTRY_SUBDIRS);
	unsigned offset = made_offset(made, hlist ? DENTRY_SIB : DENTRY_CHILD);

	for (uint64_t link = made_get(made, head); link && link != head;
	     link = made_get(made, link)) {
		uint64_t text = made_get(made, link - offset + made_offset(made, DENTRY_NAME));
		char read[256];

		if (memory_read_string(made->guest.memory, made->guest.root, text, read,
				       sizeof(read)) &&
		    strcmp(read, name) == 0)
			return link - offset;
	}
	return made_dentry(made, parent, name, made_inode(made, 0));
}

uint64_t made_file(struct made_linux *made, const char *path, const void *bytes, size_t size_bytes)
{
	uint64_t inode = made_inode(made, size_bytes), dentry = made->root_dentry;
	char copy[4096], *name, *saved = NULL;
	const char *last = strrchr(path, '/') + 1;

	snprintf(copy, sizeof(copy), "%.*s", (int)(last - path), path);
	for (name = strtok_r(copy, "/", &saved); name; name = strtok_r(NULL, "/", &saved))
		dentry = made_directory(made, dentry, name);
	made_cache(made, inode, bytes, size_bytes);
	return made_file_at(made, made->root_mount, made_dentry(made, dentry, last, inode), inode);
}

uint64_t made_inode_of(struct made_linux *made, uint64_t file)
{
	return made_get(made, file + made_offset(made, FILE_INODE));
}

/* --- page cache ------------------------------------------------------------------------------- */

uint64_t made_folio(struct made_linux *made, uint64_t index, unsigned n, uint64_t *memory)
{
	uint64_t pfn = made->next_page, folio = MADE_VMEMMAP + pfn * MADE_PAGE_BYTES;

	made->next_page += n + 1; /* a gap, so that folios do not lie side by side */
	*memory = MADE_DIRECT_MAP + (pfn << GUEST_PAGE_SHIFT);
	made_map(made->memory, made->guest.root, *memory, n * GUEST_PAGE_SIZE, MADE_WRITE);
	made_map(made->memory, made->guest.root, folio, MADE_PAGE_BYTES, MADE_WRITE);
	made_set(made, folio,
		 layout_has(&made->guest.layout, FOLIO_INDEX) ? FOLIO_INDEX : PAGE_INDEX, index);
	return folio;
}

uint64_t made_xa_node(struct made_linux *made, unsigned shift)
{
	uint64_t node = made_object(made, 576, 64);

	made_put_u8(made->memory, made->guest.root, node + made_offset(made, XA_NODE_SHIFT),
		    (uint8_t)shift);
	memory_refresh(made->guest.memory);
	return node;
}

void made_xa_slot(struct made_linux *made, uint64_t node, unsigned slot, uint64_t entry)
{
	made_write(made, node + made_offset(made, XA_NODE_SLOTS) + 8 * slot, entry);
}

static uint64_t made_xa_head_address(struct made_linux *made, uint64_t inode)
{
	uint64_t mapping = made_get(made, inode + made_offset(made, INODE_MAPPING));

	return mapping + made_offset(made, MAPPING_PAGES) + made_offset(made, XARRAY_HEAD);
}

void made_xa_head(struct made_linux *made, uint64_t inode, uint64_t entry)
{
	made_write(made, made_xa_head_address(made, inode), entry);
}

void made_cache_entry(struct made_linux *made, uint64_t inode, uint64_t index, uint64_t entry)
{
	uint64_t place = made_xa_head_address(made, inode), node = made_get(made, place);
	unsigned shift = 0;

	while (index >> shift >= 64)
		shift += 6;
	if (!index && (node & 3) != 2) { /* the head is the entry */
		made_write(made, place, entry);
		return;
	}
	for (;; shift -= 6, node = made_get(made, place)) {
		uint8_t has;

		if (!node) {
			node = made_xa_entry(made_xa_node(made, shift));
			made_write(made, place, node);
		}
		node -= 2;
		if (!member_read(&made->guest, node, XA_NODE_SHIFT, &has, 1))
			exit(99);
		shift = has;
		place = node + made_offset(made, XA_NODE_SLOTS) + 8 * (index >> shift & 63);
		if (!shift)
			break;
	}
	made_write(made, place, entry);
}

/* Begins with the last page, as its index determines the height of the tree. */
void made_cache(struct made_linux *made, uint64_t inode, const void *bytes, size_t size_bytes)
{
	size_t n = (size_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT;

	for (size_t i = n; i-- > 0;) {
		size_t at = i << GUEST_PAGE_SHIFT, left = size_bytes - at;
		uint64_t memory, folio = made_folio(made, i, 1, &memory);

		made_put(made->memory, made->guest.root, memory, (const char *)bytes + at,
			 left < GUEST_PAGE_SIZE ? left : GUEST_PAGE_SIZE);
		made_cache_entry(made, inode, i, folio);
	}
}

frame_t made_cache_frame(struct made_linux *made, uint64_t inode, uint64_t index)
{
	struct page_cache cache;
	frame_t frame;

	memory_refresh(made->guest.memory);
	if (!page_cache_init(&cache, &made->guest, inode) ||
	    !page_cache_find_frame(&cache, index, &frame))
		exit(99);
	return frame;
}
