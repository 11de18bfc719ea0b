/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics in a file for node_exporter; see metrics_process.h. In the process that serves metrics.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/metrics_process.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

/* Names the file that is written first. node_exporter does not read it, because of its ending. */
static void metrics_file_name_other(const struct metrics_process *process, char name[264])
{
	snprintf(name, 264, "%.255s.new", process->target.name);
}

/*
 * Others may write in the folder, too. So anything that has the name is removed first: the process
 * would hang at a FIFO, and would empty another file by a hard link.
 */
static bool metrics_file_write_other(const struct metrics_process *process, int folder,
				     const char *name)
{
	_cleanup_close_ int fd = -1;

	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd >= 0 && fchmod(fd, 0644) == 0 &&
	       output_write(fd, process->text.bytes, process->text.size_bytes);
}

void metrics_file_write(struct metrics_process *process, int folder)
{
	struct metrics_status *status = &process->status;
	char name[264];

	metrics_file_name_other(process, name);
	status->failing = !metrics_file_write_other(process, folder, name) ||
			  renameat(folder, name, folder, process->target.name) < 0;
	if (status->failing) {
		snprintf(status->message, sizeof(status->message), "cannot write the file: %s",
			 strerror(errno));
		unlinkat(folder, name, 0);
	} else {
		status->scrapes++;
	}
}

void metrics_file_remove(const struct metrics_process *process, int folder)
{
	unlinkat(folder, process->target.name, 0);
}
