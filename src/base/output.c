/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files to write results to. xtop runs as root, often in folders it does not own: what is opened
 * here is never somebody's symlink, FIFO or hard link (open(2): O_EXCL and O_NOFOLLOW; what sysctl
 * fs.protected_* keeps away is looked at here as well, since it may be off). Main's thread.
 *
 * Three kinds of target: a file, whose content is whole or not there; a FIFO or character device,
 * which takes what comes; a descriptor the user opened for us, named /dev/stdout or /dev/fd/N as
 * the shell does for >(gzip).
 */
#include "config.h"


#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/cleanup.h"
#include "xtop/output.h"

struct output_file {
	FILE *stream;
	char *path;
	bool is_file; /* regular, opened by us: emptied before it is written, and when that fails */
	bool created; /* by us: goes again when the run fails */
	bool begun;   /* what was in it is gone */
};

static struct xtop_error *export_cannot(int errno_value, const char *path)
{
	switch (errno_value) {
	case ENOENT:
		return error_create("cannot write '%s': its folder does not exist", path);
	case ELOOP:
		return error_create(
			"cannot write '%s': it is a symbolic link; name the file itself", path);
	case EEXIST:
		return error_create(
			"cannot write '%s': it exists; remove it or choose another name", path);
	default:
		return error_create_errno(errno_value, "cannot write '%s'", path);
	}
}

struct xtop_error *output_create_fd(const char *path, int *fdp)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0)
		return export_cannot(errno, path);
	*fdp = fd;
	return NULL;
}

/* Whether everybody can put files in the folder of PATH; true when that cannot be told. */
static bool export_in_open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat status;

	return !folder || stat(folder, &status) != 0 || (status.st_mode & S_IWOTH);
}

/* May what is at PATH be overwritten? */
static struct xtop_error *export_check_old(const struct stat *status, const char *path)
{
	if (S_ISLNK(status->st_mode))
		return export_cannot(ELOOP, path);
	if (S_ISDIR(status->st_mode))
		return export_cannot(EISDIR, path);
	if (!S_ISREG(status->st_mode) && !S_ISFIFO(status->st_mode) && !S_ISCHR(status->st_mode))
		return error_create("cannot write '%s': it is a socket or block device", path);
	if (S_ISREG(status->st_mode) && status->st_nlink > 1)
		return error_create(
			"cannot write '%s': it has more names (hard links); remove this one", path);
	if (!S_ISCHR(status->st_mode) && status->st_uid != geteuid() && export_in_open_folder(path))
		return error_create(
			"cannot write '%s': it is somebody else's, in a folder open to all", path);
	return NULL;
}

/*
 * Looked at before the open, since a FIFO is waited for until somebody reads it, and a device may
 * do something when it is opened; and after it, since it may have been exchanged in between.
 */
static struct xtop_error *export_open_old(const char *path, const struct stat *seen, int *fdp)
{
	int wait = S_ISREG(seen->st_mode) ? O_NONBLOCK : 0;
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	struct stat status;

	error = export_check_old(seen, path);
	if (error)
		return error;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | wait);
	if (fd < 0 || fstat(fd, &status) != 0)
		return export_cannot(errno, path);
	if ((status.st_mode & S_IFMT) != (seen->st_mode & S_IFMT))
		return error_create("cannot write '%s': somebody exchanged it just now", path);
	error = export_check_old(&status, path);
	if (error)
		return error;
	*fdp = fd;
	fd = -1;
	return NULL;
}

/* The number of the descriptor that PATH is a name of, or -1. */
static int export_named_fd(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *number = path + strlen(folders[i]);

		if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *number &&
		    strlen(number) < 9 && !number[strspn(number, "0123456789")])
			return atoi(number);
	}
	return -1;
}

static struct xtop_error *export_open_fd(const char *path, int named, int *fdp)
{
	int flags = fcntl(named, F_GETFL), fd;

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return error_create("cannot write '%s': it is not open for writing", path);
	fd = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return export_cannot(errno, path);
	*fdp = fd;
	return NULL;
}

static struct xtop_error *export_open_path(struct output_file *file, bool replace, int *fdp)
{
	int named = export_named_fd(file->path);
	struct xtop_error *error;
	struct stat status;

	if (replace && named >= 0)
		return export_open_fd(file->path, named, fdp);
	if (replace && lstat(file->path, &status) == 0) {
		file->is_file = S_ISREG(status.st_mode);
		return export_open_old(file->path, &status, fdp);
	}
	error = output_create_fd(file->path, fdp);
	file->is_file = file->created = !error;
	return error;
}

static struct xtop_error *export_open_stream(struct output_file *file, bool replace)
{
	struct xtop_error *error;
	int fd = -1;

	error = export_open_path(file, replace, &fd);
	if (error)
		return error;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return NULL;
	close(fd);
	return error_create("out of memory");
}

struct xtop_error *output_open(const char *path, bool replace, struct output_file **filep)
{
	struct output_file *file = calloc(1, sizeof(*file));
	struct xtop_error *error = NULL;

	if (file)
		file->path = strdup(path);
	if (!file || !file->path)
		error = error_create("out of memory");
	else if (strcmp(path, "-") == 0)
		file->stream = stdout;
	else
		error = export_open_stream(file, replace);
	if (error) {
		output_discard(file);
		return error;
	}
	*filep = file;
	return NULL;
}

struct xtop_error *output_stream(struct output_file *file, FILE **streamp)
{
	if (!file->begun && !file->created && file->is_file)
		if (ftruncate(fileno(file->stream), 0) != 0)
			return error_create_errno(errno, "cannot empty '%s'", file->path);
	file->begun = true;
	*streamp = file->stream;
	return NULL;
}

static void (*export_remover)(const char *path);

void output_set_remover(void (*remove)(const char *path))
{
	export_remover = remove;
}

void output_remove(const char *path)
{
	if (unlink(path) < 0 && export_remover)
		export_remover(path);
}

/*
 * No content is better than half: what was written goes, and what stdio still holds must not follow
 * at fclose(). The name of a new file goes too, if we still may. Nothing here can be told better
 * than by the error that led here.
 */
static void export_undo(struct output_file *file)
{
	if (file->stream)
		__fpurge(file->stream);
	if (file->is_file && file->begun && ftruncate(fileno(file->stream), 0) != 0)
		return;
	if (file->created)
		output_remove(file->path);
}

static void export_free(struct output_file *file)
{
	if (file->stream && file->stream != stdout)
		fclose(file->stream);
	free(file->path);
	free(file);
}

struct xtop_error *output_close(struct output_file *file)
{
	bool to_stdout = file->stream == stdout;
	struct xtop_error *error = NULL;

	errno = 0;
	if (fflush(file->stream) != 0 || ferror(file->stream)) {
		error = error_create_errno(errno ? errno : EIO, "cannot write %s%s%s",
					   to_stdout ? "" : "'", to_stdout ? "stdout" : file->path,
					   to_stdout ? "" : "'");
		if (!to_stdout)
			export_undo(file);
	}
	export_free(file);
	return error;
}

void output_discard(struct output_file *file)
{
	if (!file)
		return;
	if (file->stream != stdout)
		export_undo(file);
	export_free(file);
}
