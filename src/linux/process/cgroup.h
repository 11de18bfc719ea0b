/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the container or systemd unit to which a task belongs: its control group. Resolver's
 * thread; the guest runs meanwhile.
 */
#ifndef XTOP_PROCESS_CGROUP_H
#define XTOP_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "linux/kernel/linux_guest.h"

#define CGROUP_NAME_BYTES 128  /* size that counts the NUL */
#define CGROUP_PATH_BYTES 4096 /* Linux's PATH_MAX with its NUL; limits /proc/PID/cgroup, too */
#define CGROUP_MAX_DEPTH  32   /* nested groups; Kubernetes has 4, user sessions 5 */

/*
 * Whether BTF has the members that cgroup_read() needs. Kernels without control groups lack them.
 */
bool cgroup_has_layout(const struct layout *layout);
/*
 * Reads the path that /proc/PID/cgroup shows, such as "/system.slice/ssh.service", for the
 * task_struct at TASK. PATH is raw bytes; the root is "/". Returns false if the path cannot be read
 * or is invalid; PATH is undefined then.
 */
bool cgroup_read(const struct linux_guest *guest, uint64_t task, char path[CGROUP_PATH_BYTES]);
/*
 * Shortens PATH to the name that people know: removes the slices in front, and keeps 12 digits of a
 * container's number. The root is "". If the name is too long, groups in front are removed.
 *
 *   /system.slice/ssh.service                 ssh.service
 *   /docker/3f2ab1c2d3e4f5..., 64 digits      docker/3f2ab1c2d3e4
 *   /system.slice/docker-3f2ab1c2d3e4f5....scope   docker-3f2ab1c2d3e4.scope
 */
void cgroup_shorten(const char *path, char name[CGROUP_NAME_BYTES]);

#endif
