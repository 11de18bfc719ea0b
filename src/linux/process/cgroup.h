/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control group of a task: which container or systemd unit its work belongs to. Resolver's
 * thread; the guest runs meanwhile.
 */
#ifndef XTOP_PROCESS_CGROUP_H
#define XTOP_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "linux/kernel/linux_guest.h"

#define CGROUP_NAME_BYTES 128  /* with the NUL */
#define CGROUP_PATH_BYTES 4096 /* with the NUL: Linux PATH_MAX bounds /proc/PID/cgroup, too */
#define CGROUP_MAX_DEPTH  32   /* groups above each other; Kubernetes has 4, user sessions 5 */

/* BTF has the members that cgroup_read() needs: the kernel has control groups. */
bool cgroup_has_layout(const struct layout *layout);
/*
 * The path that /proc/PID/cgroup shows of the task_struct at TASK, as "/system.slice/ssh.service",
 * raw bytes. The root is "/". False: it cannot be read, or is none; PATH is undefined.
 */
bool cgroup_read(const struct linux_guest *linux_guest, uint64_t task,
		 char path[CGROUP_PATH_BYTES]);
/*
 * The name that people know the group of PATH by: without slices in front, with the first 12 digits
 * of a container's number. "" for the root. A long name loses groups in front.
 *
 *   /system.slice/ssh.service                 ssh.service
 *   /docker/3f2ab1c2d3e4f5..., 64 digits      docker/3f2ab1c2d3e4
 *   /system.slice/docker-3f2ab1c2d3e4f5....scope   docker-3f2ab1c2d3e4.scope
 */
void cgroup_shorten(const char *path, char name[CGROUP_NAME_BYTES]);

#endif
