/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings in $XDG_CONFIG_HOME/xtop/xtoprc, else in ~/.config/xtop/xtoprc. Main's thread. The file
 * has lines of text:
 *
 *	# comment
 *	columns = children self history process symbol module
 *	sort = self
 *	refresh = 1          seconds
 *	half-life = 10       seconds; 0: no decay
 *	colors = auto        or none, 8, 16, 256
 *	pass-through = shown or folded
 *	disassembly = att or intel
 *	code-addresses = relative or absolute
 *	jumps = hidden or shown
 *	source-lines = shown or hidden
 *
 * Settings never come from the working directory. xtop starts as root. It refuses a file that
 * others may write, and a file that belongs neither to root nor to the user. As root, xtop only
 * opens or creates the file. It reads and saves settings later, when it has no right to open the
 * file.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/xdg.h"
#include "xtop/ui/ui.h"

#define RC_MAX_BYTES (64 << 10)

#define RC_MIN_INTERVAL_S  0.1
#define RC_MAX_INTERVAL_S  3600
#define RC_MAX_HALF_LIFE_S 86400

static const char *const color_names[] = { [UI_COLORS_AUTO] = "auto",
					   [UI_COLORS_NONE] = "none",
					   [UI_COLORS_8] = "8",
					   [UI_COLORS_16] = "16",
					   [UI_COLORS_256] = "256" };
#define N_COLORS (sizeof(color_names) / sizeof(color_names[0]))

/* --- place of the file ------------------------------------------------------------------------ */

struct rc_place {
	char folder[400], path[400 + sizeof("/xtoprc")];
};

/* Returns false if there is no place for settings. */
static bool rc_find(struct rc_place *place)
{
	if (!xdg_folder("XDG_CONFIG_HOME", ".config", place->folder, sizeof(place->folder)))
		return false;
	snprintf(place->path, sizeof(place->path), "%s/xtoprc", place->folder);
	return true;
}

/* Whether only root, the user and the user who called sudo can own and write the file. */
static bool rc_is_trusted(const struct stat *status)
{
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;

	return (status->st_uid == geteuid() || status->st_uid == 0 ||
		(sudo && strtoul(sudo, NULL, 10) == status->st_uid)) &&
	       !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Opens the file for reading and writing now, because the right to open it is gone when settings
 * are saved. Links are not followed: somebody may have linked the name to a file of root's. Returns
 * -1 if the file cannot be written.
 */
static int rc_open_for_saving(const struct rc_place *place)
{
	int create = xdg_make_folder(place->folder) ? O_CREAT : 0;
	int fd = open(place->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | create, 0600);
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Checks the file after opening it, so that nobody can exchange the file in between. */
static struct xtop_error *rc_open(const struct rc_place *place, bool saves, int *fdp)
{
	int fd = saves ? rc_open_for_saving(place) : -1;
	struct stat status, above;

	if (fd < 0)
		fd = open(place->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return NULL;
	if (fd < 0)
		return error_create_errno(errno, "cannot open the settings in %s", place->path);
	if (fstat(fd, &status) || stat(place->folder, &above) || !S_ISREG(status.st_mode) ||
	    status.st_size > RC_MAX_BYTES || !rc_is_trusted(&status) || !rc_is_trusted(&above)) {
		close(fd);
		return error_create("%s is not used: it, or its folder, can be written by others, "
				    "or it is not a file of settings",
				    place->path);
	}
	*fdp = fd;
	return NULL;
}

struct xtop_error *ui_rc_open(struct ui_rc *rc, bool saves)
{
	struct rc_place place;

	*rc = (struct ui_rc){ .half_life_s = -1, .fold = true, .fd = -1 };
	return rc_find(&place) ? rc_open(&place, saves, &rc->fd) : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool rc_number(const char *value, double least, double most, double *numberp)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number >= least && number <= most))
		return false;
	*numberp = number;
	return true;
}

static bool rc_colors(const char *value, enum ui_colors *colorsp)
{
	for (size_t i = 0; i < N_COLORS; i++) {
		if (strcmp(value, color_names[i]))
			continue;
		*colorsp = (enum ui_colors)i;
		return true;
	}
	return false;
}

/* Parses one of two words. */
static bool rc_choice(const char *value, const char *no, const char *yes, bool *chosenp)
{
	bool chosen = !strcmp(value, yes);

	if (!chosen && strcmp(value, no))
		return false;
	*chosenp = chosen;
	return true;
}

/* Sets how the instructions of a function are shown. */
static bool rc_code(struct ui_rc *rc, const char *name, const char *value)
{
	bool chosen = false;

	if (!strcmp(name, "jumps"))
		return rc_choice(value, "hidden", "shown", &rc->jumps);
	if (!strcmp(name, "source-lines"))
		return rc_choice(value, "shown", "hidden", &rc->no_source);
	if (!strcmp(name, "disassembly")) {
		if (!rc_choice(value, "att", "intel", &chosen))
			return false;
		rc->syntax = chosen ? SYNTAX_INTEL : SYNTAX_ATT;
		return true;
	}
	if (strcmp(name, "code-addresses") ||
	    !rc_choice(value, "relative", "absolute", &chosen))
		return false;
	rc->addresses = chosen ? ADDRESSES_ABSOLUTE : ADDRESSES_RELATIVE;
	return true;
}

/* Only columns of the function table: columns after COLUMN_HISTORY belong to the baseline. */
static bool rc_columns(const char *value, struct ui_rc *rc)
{
	enum column_id ids[N_COLUMNS];
	char word[32];
	size_t n;

	if (columns_parse(value, ids, &n, word))
		return false;
	for (size_t i = 0; i < n; i++)
		if (ids[i] > COLUMN_HISTORY)
			return false;
	memcpy(rc->columns, ids, n * sizeof(ids[0]));
	rc->n_columns = n;
	return true;
}

static bool rc_sort(const char *value, struct ui_rc *rc)
{
	const struct column *column = column_find(value);

	if (!column || column->id > COLUMN_HISTORY)
		return false;
	rc->sort = column;
	return true;
}

static bool rc_set(struct ui_rc *rc, const char *name, const char *value)
{
	if (!strcmp(name, "columns"))
		return rc_columns(value, rc);
	if (!strcmp(name, "sort"))
		return rc_sort(value, rc);
	if (!strcmp(name, "refresh"))
		return rc_number(value, RC_MIN_INTERVAL_S, RC_MAX_INTERVAL_S, &rc->interval_s);
	if (!strcmp(name, "half-life"))
		return rc_number(value, 0, RC_MAX_HALF_LIFE_S, &rc->half_life_s);
	if (!strcmp(name, "colors"))
		return rc_colors(value, &rc->colors);
	if (!strcmp(name, "pass-through"))
		return rc_choice(value, "shown", "folded", &rc->fold);
	return rc_code(rc, name, value);
}

/* Cuts blanks off both ends of TEXT. */
static char *rc_trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
	return text;
}

static struct xtop_error *rc_line(struct ui_rc *rc, char *line, const char *path, unsigned number)
{
	char *name = rc_trim(line), *value = strchr(name, '=');

	if (!*name || *name == '#')
		return NULL;
	if (value) {
		*value = '\0';
		name = rc_trim(name);
		value = rc_trim(value + 1);
		if (rc_set(rc, name, value))
			return NULL;
	}
	return error_create("%s, line %u: not a setting of xtop (see xtop(1))", path, number);
}

static struct xtop_error *rc_read(int fd, const char *path, struct ui_rc *rc)
{
	_cleanup_free_ char *text = calloc(1, RC_MAX_BYTES + 1);
	struct xtop_error *error = NULL;
	unsigned number = 1;
	char *line, *rest;

	if (!text || pread(fd, text, RC_MAX_BYTES, 0) < 0)
		return error_create_errno(errno, "cannot read the settings in %s", path);
	rest = text;
	while (!error && (line = strsep(&rest, "\n")))
		error = rc_line(rc, line, path, number++);
	return error;
}

struct xtop_error *ui_rc_read(struct ui_rc *rc)
{
	struct ui_rc said = *rc;
	struct xtop_error *error;
	struct rc_place place;

	if (rc->fd < 0 || !rc_find(&place))
		return NULL;
	error = rc_read(rc->fd, place.path, &said);
	if (!error)
		*rc = said;
	return error;
}

void ui_rc_close(struct ui_rc *rc)
{
	if (rc->fd >= 0)
		close(rc->fd);
	rc->fd = -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool rc_print(const struct ui_rc *rc, FILE *file)
{
	fprintf(file, "# xtop's settings, written by its screen (S)\n");
	if (rc->n_columns) {
		fprintf(file, "columns =");
		for (size_t i = 0; i < rc->n_columns; i++)
			fprintf(file, " %s", columns[rc->columns[i]].name);
		putc('\n', file);
	}
	if (rc->sort)
		fprintf(file, "sort = %s\n", rc->sort->name);
	if (rc->interval_s > 0)
		fprintf(file, "refresh = %g\n",
			fmin(fmax(rc->interval_s, RC_MIN_INTERVAL_S), RC_MAX_INTERVAL_S));
	if (rc->half_life_s >= 0)
		fprintf(file, "half-life = %g\n", fmin(rc->half_life_s, RC_MAX_HALF_LIFE_S));
	fprintf(file, "colors = %s\n", color_names[rc->colors]);
	fprintf(file, "pass-through = %s\n", rc->fold ? "folded" : "shown");
	fprintf(file, "disassembly = %s\n", rc->syntax == SYNTAX_INTEL ? "intel" : "att");
	fprintf(file, "code-addresses = %s\n",
		rc->addresses == ADDRESSES_ABSOLUTE ? "absolute" : "relative");
	fprintf(file, "jumps = %s\n", rc->jumps ? "shown" : "hidden");
	fprintf(file, "source-lines = %s\n", rc->no_source ? "hidden" : "shown");
	return !ferror(file);
}

/* Overwrites the file. The text is shorter than a page, so a half-written file is unlikely. */
static bool rc_put(int fd, const char *text, size_t size_bytes)
{
	return pwrite(fd, text, size_bytes, 0) == (ssize_t)size_bytes &&
	       ftruncate(fd, (off_t)size_bytes) == 0;
}

struct xtop_error *ui_rc_save(const struct ui_rc *rc, char *path, size_t capacity)
{
	_cleanup_free_ char *text = NULL;
	struct rc_place place;
	size_t size_bytes;
	bool written;
	FILE *file;

	if (!rc_find(&place))
		return error_create("nowhere to save settings: HOME is not set");
	snprintf(path, capacity, "%s", place.path);
	if (rc->fd < 0 || (fcntl(rc->fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return error_create(
			"%s could not be opened for writing at the start: nothing saved", path);
	file = open_memstream(&text, &size_bytes);
	if (!file)
		return error_create("out of memory");
	written = rc_print(rc, file);
	if (fclose(file) || !written)
		return error_create("out of memory");
	return rc_put(rc->fd, text, size_bytes)
		       ? NULL
		       : error_create_errno(errno, "cannot save settings in %s", path);
}
