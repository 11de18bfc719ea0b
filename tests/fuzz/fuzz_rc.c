/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xtoprc: read, written and read again. The second reading must give the same settings. */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "xtop/ui/ui.h"

static char folder[] = "/dev/shm/xtop-fuzz-XXXXXX";

static void stop(void)
{
	char path[sizeof(folder) + 32];

	snprintf(path, sizeof(path), "%s/xtop/xtoprc", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/xtop", folder);
	rmdir(path);
	rmdir(folder);
}

static void start(void)
{
	char path[sizeof(folder) + 32];

	if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1))
		abort();
	snprintf(path, sizeof(path), "%s/xtop", folder);
	mkdir(path, 0700);
	if (atexit(stop))
		abort();
}

static void write_rc(const uint8_t *bytes, size_t size_bytes)
{
	char path[sizeof(folder) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/xtop/xtoprc", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size_bytes) != (ssize_t)size_bytes || close(fd))
		abort();
}

static struct xtop_error *load(struct ui_rc *rc)
{
	struct xtop_error *error = ui_rc_open(rc, true);

	return error ? error : ui_rc_read(rc);
}

static void save_and_load(const struct ui_rc *rc)
{
	struct ui_rc again;
	char path[512];

	fuzz_succeed(ui_rc_save(rc, path, sizeof(path)));
	fuzz_succeed(load(&again));
	ui_rc_close(&again);
	fuzz_must(again.n_columns == rc->n_columns && again.sort == rc->sort &&
			  again.colors == rc->colors,
		  "what was saved is loaded");
	for (size_t i = 0; i < rc->n_columns; i++)
		fuzz_must(again.columns[i] == rc->columns[i], "in the same order");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct xtop_error *error;
	static bool started;
	struct ui_rc rc;

	if (!started)
		start();
	started = true;
	write_rc(bytes, size_bytes);
	error = load(&rc);
	if (error)
		fuzz_must(!strchr(error_message(error), '\n'), "an error is one line");
	else
		save_and_load(&rc);
	ui_rc_close(&rc);
	error_destroy(error);
	return 0;
}
