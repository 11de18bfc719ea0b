/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the types of a kernel's BTF out of the guest; see kernel_types.h. */
#include "config.h"

#include "linux/kernel/kernel_types.h"

#include <stdlib.h>

#include "linux/kernel/member.h"

#define TYPES_MOUNTS 16 /* most mounts above one another that are tried */

struct kernel_types {
	struct linux_guest *guest;
	struct layout_reader *reader;
	uint8_t *bytes; /* copy of the BTF, as far as it was read */
};

static bool types_read(void *context, size_t from, size_t to)
{
	const struct kernel_types *types = context;
	const struct linux_guest *guest = types->guest;

	return memory_read_bulk(guest->memory, guest->root, guest->symbols[LINUX_BTF_START] + from,
				types->bytes + from, to - from) == to - from;
}

/* Makes room for the whole BTF. NULL: there is none, it is too large, or memory is out. */
static struct kernel_types *types_create(struct linux_guest *guest, size_t size_bytes)
{
	struct kernel_types *types;

	if (!guest->symbols[LINUX_BTF_START] || !guest->symbols[LINUX_BTF_STOP] || !size_bytes ||
	    size_bytes > BTF_MAX_BYTES)
		return NULL;
	types = calloc(1, sizeof(*types));
	if (!types)
		return NULL;
	types->guest = guest;
	types->bytes = calloc(1, size_bytes); /* what was not read has to be zeros */
	if (!types->bytes) {
		free(types);
		return NULL;
	}
	return types;
}

static void types_destroy(struct kernel_types *types)
{
	if (!types)
		return;
	layout_reader_destroy(types->reader);
	free(types->bytes);
	free(types);
}

/*
 * Whether a mount's pointers lie where layout_assume_mount() says: the mounts above the first
 * task's root end with one that is its own parent, and its mount point is its own root.
 */
static bool types_try_mount(const struct linux_guest *guest)
{
	const struct layout *layout = &guest->layout;
	uint64_t fs, mount, parent, point, root;

	if (!layout_has(layout, FS_ROOT) || !layout_has(layout, PATH_MNT) ||
	    !member_read_pointer(guest, guest->symbols[LINUX_INIT_TASK], TASK_FS, &fs) ||
	    !member_read_pointer(guest, fs + layout_offset(layout, FS_ROOT), PATH_MNT, &mount))
		return false;
	mount -= layout_offset(layout, MOUNT_MNT);
	for (unsigned i = 0; i < TYPES_MOUNTS; i++, mount = parent) {
		if (!member_read_pointer(guest, mount, MOUNT_PARENT, &parent) ||
		    !member_read_pointer(guest, mount, MOUNT_MOUNTPOINT, &point) ||
		    !member_read_pointer(guest, mount + layout_offset(layout, MOUNT_MNT),
					 VFSMOUNT_ROOT, &root))
			return false;
		if (parent == mount)
			return point == root;
	}
	return false;
}

void kernel_types_begin(struct linux_guest *guest)
{
	uint64_t start = guest->symbols[LINUX_BTF_START];
	size_t size_bytes = guest->symbols[LINUX_BTF_STOP] - start;
	struct kernel_types *types = types_create(guest, size_bytes);
	const struct layout_hints hints = { .arm = root_is_arm(guest->root),
					    .has_pcpu_hot = guest->symbols[LINUX_PCPU_HOT] };
	enum btf_result result;

	if (!types)
		return;
	result = layout_reader_begin(&(struct btf_source){ .bytes = types->bytes,
							   .size_bytes = size_bytes,
							   .in_page = start & GUEST_PAGE_MASK,
							   .read = types_read,
							   .context = types,
							   .work = memory_work(guest->memory) },
				     hints, &guest->layout, &types->reader);
	/* Damaged BTF is usable up to the damage. */
	guest->has_layout = result == BTF_OK || result == BTF_DAMAGED;
	if (types->reader)
		guest->types = types;
	else
		types_destroy(types);
	if (guest->types && !layout_has(&guest->layout, MOUNT_MOUNTS) && !types_try_mount(guest)) {
		layout_forget_mount(&guest->layout);
		kernel_types_end(guest);
	}
}

void kernel_types_end(const struct linux_guest *guest)
{
	struct kernel_types *types = guest->types;

	if (!types)
		return;
	layout_reader_end(types->reader, &types->guest->layout);
	if (types->guest->layout.partial)
		return;
	types->guest->types = NULL;
	types_destroy(types);
}

void kernel_types_destroy(struct linux_guest *guest)
{
	types_destroy(guest->types);
	guest->types = NULL;
}
