/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control group of a task; see cgroup.h. A group is a directory of a kernfs, and so has a name
 * and a parent (Linux include/linux/cgroup-defs.h, include/linux/kernfs.h):
 *
 *   task_struct.cgroups ─► css_set.dfl_cgrp ─► cgroup.kn ─► kernfs_node { name, parent }
 *                                                             parent ─► ... ─► the root: no parent
 *
 * dfl_cgrp is the group in the hierarchy of version 2. systemd has used this hierarchy by default
 * since Debian 11; in the hybrid mode of earlier releases, the hierarchy has the same units. Groups
 * that exist only in version 1 are not read.
 *
 * While the path is read, the task may move to another group, and an unused group may go. So the
 * path may be wrong or unreadable once; it is read again with the task. Names are copied and
 * checked here, and cleaned in frames_intern().
 */
#include "config.h"

#include "linux/process/cgroup.h"

#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/path_writer.h"

/* size of the name of one group, with the NUL: Linux NAME_MAX + 1 */
#define CGROUP_MAX_NAME_BYTES 256
#define CGROUP_NUMBER_DIGITS  32 /* least number of digits of a container's number */
#define CGROUP_SHOWN_DIGITS   12 /* digits of a container's number that are shown, as docker does */

bool cgroup_has_layout(const struct layout *layout)
{
	static const enum layout_member needed[] = { TASK_CGROUPS, CSS_SET_CGROUP, CGROUP_NODE,
						     KERNFS_NAME, KERNFS_PARENT };

	return layout_has_all(layout, needed);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool cgroup_prepend_node(const struct linux_guest *guest, uint64_t node,
				struct path_writer *writer)
{
	char name[CGROUP_MAX_NAME_BYTES + 1];
	uint64_t address;
	size_t n;

	if (!member_read_pointer(guest, node, KERNFS_NAME, &address) ||
	    !memory_read_string(guest->memory, guest->root, address, name, sizeof(name)))
		return false;
	n = strlen(name);
	return n && n < CGROUP_MAX_NAME_BYTES && !strchr(name, '/') &&
	       path_writer_prepend(writer, name, n) && path_writer_prepend(writer, "/", 1);
}

bool cgroup_read(const struct linux_guest *guest, uint64_t task, char path[CGROUP_PATH_BYTES])
{
	struct path_writer writer;
	uint64_t set, cgroup, node, parent;

	if (!member_read_pointer(guest, task, TASK_CGROUPS, &set) ||
	    !member_read_pointer(guest, set, CSS_SET_CGROUP, &cgroup) ||
	    !member_read_pointer(guest, cgroup, CGROUP_NODE, &node))
		return false;
	path_writer_begin(&writer, path, CGROUP_PATH_BYTES);
	for (unsigned depth = 0; depth < CGROUP_MAX_DEPTH; depth++, node = parent) {
		if (!member_read_word(guest, node, KERNFS_PARENT, &parent))
			return false;
		if (!parent) {
			path_writer_end(&writer);
			return true;
		}
		if (!cgroup_prepend_node(guest, node, &writer))
			return false;
	}
	return false;
}

/* --- the name --------------------------------------------------------------------------------- */

/* Skips slices in front: they only sort the groups below them. */
static const char *cgroup_skip_slices(const char *path)
{
	static const char ending[] = ".slice";

	for (const char *end; (end = strchr(path, '/')); path = end + 1) {
		size_t n = (size_t)(end - path), n_ending = sizeof(ending) - 1;

		if (n < n_ending || memcmp(end - n_ending, ending, n_ending) != 0)
			break;
	}
	return path;
}

/* Copies PATH to NAME, which is large enough, with shorter numbers. */
static void cgroup_copy(const char *path, char *name)
{
	static const char digits[] = "0123456789abcdef";

	while (*path) {
		size_t n = strspn(path, digits), kept = n;

		if (!n)
			kept = n = strcspn(path, digits);
		else if (n >= CGROUP_NUMBER_DIGITS)
			kept = CGROUP_SHOWN_DIGITS;
		memcpy(name, path, kept);
		name += kept;
		path += n;
	}
	*name = '\0';
}

void cgroup_shorten(const char *path, char name[CGROUP_NAME_BYTES])
{
	char text[CGROUP_PATH_BYTES];
	const char *from = text, *next;
	size_t n;

	cgroup_copy(cgroup_skip_slices(path + strspn(path, "/")), text);
	while (strlen(from) >= CGROUP_NAME_BYTES && (next = strchr(from, '/')))
		from = next + 1;
	n = strnlen(from, CGROUP_NAME_BYTES - 1);
	memcpy(name, from, n);
	name[n] = '\0';
}
