/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files to write results to. xtop runs as root, often in folders that belong to others. It must not
 * write through a symbolic link, a FIFO or a hard link that another user has put there (open(2):
 * O_EXCL and O_NOFOLLOW). The checks that sysctl fs.protected_* would do are made here as well,
 * because it may be off. Main's thread.
 *
 * There are three kinds of target: a file, whose content is complete or not there; a FIFO or
 * character device, which is written to as it is; and a descriptor that the user has opened for us,
 * under the name /dev/stdout or /dev/fd/N, as the shell names >(gzip).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

struct output_file {
	FILE *stream;
	char *path;
	const struct output_opener *opener; /* may be NULL */
	bool is_file; /* a regular file, opened by us: emptied at the first write, and on failure */
	bool created; /* this run created the file, and removes it if the run fails */
	bool begun;   /* the old content is gone */
};

struct xtop_error *output_create_fd(const char *path, int *fdp)
{
	_cleanup_close_ int folder = -1;
	const char *name;
	struct xtop_error *error = output_open_folder(path, &folder, &name);

	return error ? error : output_create_at(folder, name, path, fdp);
}

/* An existing file to write to. */
struct output_old {
	const char *path, *name;
	int folder;
	struct stat status;
};

/* Whether everybody can put files into FOLDER. Also true if the folder cannot be examined. */
static bool output_is_open_folder(int folder)
{
	struct stat status;

	return fstat(folder, &status) != 0 || (status.st_mode & S_IWOTH);
}

/* Refuses to overwrite a file that may be a trap. */
static struct xtop_error *output_check_old(const struct output_old *old)
{
	const struct stat *status = &old->status;

	if (S_ISLNK(status->st_mode))
		return output_cannot_write(ELOOP, old->path);
	if (S_ISDIR(status->st_mode))
		return output_cannot_write(EISDIR, old->path);
	if (!S_ISREG(status->st_mode) && !S_ISFIFO(status->st_mode) && !S_ISCHR(status->st_mode))
		return error_create("cannot write '%s': it is a socket or block device", old->path);
	if (S_ISREG(status->st_mode) && status->st_nlink > 1)
		return error_create(
			"cannot write '%s': it has other names too (hard links); remove this one",
			old->path);
	if (!S_ISCHR(status->st_mode) && status->st_uid != geteuid() &&
	    output_is_open_folder(old->folder))
		return error_create(
			"cannot write '%s': it belongs to another user, in a folder that all can "
			"write to",
			old->path);
	return NULL;
}

/*
 * Checks the file before the open, because opening a FIFO waits for a reader, and opening a device
 * may have effects. Checks again after the open, because the file may have been exchanged in
 * between.
 */
static struct xtop_error *output_open_old(struct output_old *old, int *fdp)
{
	mode_t type = old->status.st_mode & S_IFMT;
	int wait = type == S_IFREG ? O_NONBLOCK : 0;
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;

	error = output_check_old(old);
	if (error)
		return error;
	fd = openat(old->folder, old->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | wait);
	if (fd < 0 || fstat(fd, &old->status) != 0)
		return output_cannot_write(errno, old->path);
	if ((old->status.st_mode & S_IFMT) != type)
		return error_create("cannot write '%s': somebody has replaced it just now",
				    old->path);
	error = output_check_old(old);
	if (error)
		return error;
	*fdp = fd;
	fd = -1;
	return NULL;
}

/* The descriptor that PATH names, or -1. */
static int output_named_fd(const char *path)
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

static struct xtop_error *output_open_fd(const char *path, int named, int *fdp)
{
	int flags = fcntl(named, F_GETFL), fd;

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return error_create("cannot write '%s': it is not open for writing", path);
	fd = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return output_cannot_write(errno, path);
	*fdp = fd;
	return NULL;
}

static struct xtop_error *output_open_path(struct output_file *file, bool replace, int *fdp)
{
	int named = output_named_fd(file->path);
	struct output_old old = { .path = file->path };
	_cleanup_close_ int folder = -1;
	struct xtop_error *error;

	if (replace && named >= 0)
		return output_open_fd(file->path, named, fdp);
	error = output_open_folder(file->path, &folder, &old.name);
	if (error)
		return error;
	old.folder = folder;
	if (replace && fstatat(folder, old.name, &old.status, AT_SYMLINK_NOFOLLOW) == 0) {
		file->is_file = S_ISREG(old.status.st_mode);
		return output_open_old(&old, fdp);
	}
	error = output_create_at(folder, old.name, file->path, fdp);
	file->is_file = file->created = !error;
	return error;
}

static struct xtop_error *output_open_stream(struct output_file *file, bool replace)
{
	struct xtop_error *error;
	int fd = -1;

	error = output_open_path(file, replace, &fd);
	if (error)
		return error;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return NULL;
	close(fd);
	return error_create("out of memory");
}

static struct xtop_error *output_create(const char *path, const struct output_opener *opener,
					struct output_file **filep)
{
	struct output_file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strdup(path);
	if (!file || !file->path) {
		free(file);
		return error_create("out of memory");
	}
	file->opener = opener;
	*filep = file;
	return NULL;
}

struct xtop_error *output_open(const char *path, bool replace, const struct output_opener *opener,
			       struct output_file **filep)
{
	struct output_file *file;
	struct xtop_error *error = output_create(path, opener, &file);

	if (error)
		return error;
	if (strcmp(path, "-") == 0)
		file->stream = stdout;
	else
		error = output_open_stream(file, replace);
	if (error)
		output_discard(file);
	else
		*filep = file;
	return error;
}

bool output_write(int fd, const void *bytes, size_t size_bytes)
{
	for (const char *at = bytes; size_bytes;) {
		ssize_t wrote = write(fd, at, size_bytes);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		at += wrote;
		size_bytes -= (size_t)wrote;
	}
	return true;
}

static struct xtop_error *output_adopt(struct output_file *file, int fd, bool created)
{
	file->is_file = true;
	file->created = created;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return NULL;
	close(fd);
	return error_create("out of memory");
}

struct xtop_error *output_open_named(const char *path, bool replace,
				     const struct output_opener *opener, bool *existsp,
				     struct output_file **filep)
{
	struct output_file *file;
	struct xtop_error *error = output_create(path, opener, &file);
	int fd = -1;

	*existsp = false;
	if (error)
		return error;
	error = opener->open(path, replace, &fd, existsp);
	if (!error)
		error = output_adopt(file, fd, !replace);
	if (error)
		output_discard(file);
	else
		*filep = file;
	return error;
}

uint64_t output_size(const struct output_file *file)
{
	struct stat status;

	fflush(file->stream);
	return fstat(fileno(file->stream), &status) < 0 ? 0 : (uint64_t)status.st_size;
}

struct xtop_error *output_begin(struct output_file *file, FILE **streamp)
{
	if (!file->begun && !file->created && file->is_file)
		if (ftruncate(fileno(file->stream), 0) != 0)
			return error_create_errno(errno, "cannot empty '%s'", file->path);
	file->begun = true;
	*streamp = file->stream;
	return NULL;
}

void output_remove(const char *path, int fd, const struct output_opener *opener)
{
	const struct output_id made = output_id(fd);
	const char *name;
	_cleanup_close_ int folder = output_folder_open(path, &name);

	if (!output_remove_at(folder, name, &made) && opener)
		opener->remove(path, fd);
}

/*
 * Empties the file, because no content is better than half of the content. Keeps fclose() from
 * writing what stdio still holds. Removes a file that this run created, unless there was no memory
 * for its stream. Failures here are not reported: the caller already has the error that matters.
 */
static void output_undo(struct output_file *file)
{
	if (!file->stream)
		return;
	__fpurge(file->stream);
	if (file->is_file && file->begun && ftruncate(fileno(file->stream), 0) != 0)
		return;
	if (file->created)
		output_remove(file->path, fileno(file->stream), file->opener);
}

static void output_free(struct output_file *file)
{
	if (file->stream && file->stream != stdout)
		fclose(file->stream);
	free(file->path);
	free(file);
}

bool output_flush(FILE *stream)
{
	int copy;

	errno = 0;
	if (fflush(stream) != 0 || ferror(stream))
		return false;
	copy = fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0);
	return copy >= 0 && close(copy) == 0;
}

struct xtop_error *output_close(struct output_file *file)
{
	bool to_stdout = file->stream == stdout;
	struct xtop_error *error = NULL;

	if (!output_flush(file->stream)) {
		error = error_create_errno(errno ? errno : EIO, "cannot write %s%s%s",
					   to_stdout ? "" : "'", to_stdout ? "stdout" : file->path,
					   to_stdout ? "" : "'");
		if (!to_stdout)
			output_undo(file);
	}
	output_free(file);
	return error;
}

void output_discard(struct output_file *file)
{
	if (!file)
		return;
	if (file->stream != stdout)
		output_undo(file);
	output_free(file);
}
