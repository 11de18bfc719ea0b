/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings file: what is read, what is refused, and that saved settings are read again. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/xdg.h"
#include "xtop/ui/ui.h"

static char folder[64], path[192];

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static struct xtop_error *load(struct ui_rc *rc)
{
	struct xtop_error *error = ui_rc_open(rc, true);

	return error ? error : ui_rc_read(rc);
}

static void check_refused(const char *text, const char *why)
{
	struct xtop_error *error;
	struct ui_rc rc;

	put(text);
	error = load(&rc);
	check(error && strstr(error_message(error), why), "\"%s\" is refused: %s", text,
	      error ? error_message(error) : "it was accepted");
	check(!rc.sort && !rc.n_columns && rc.half_life_s < 0,
	      "no setting of a refused file is used");
	ui_rc_close(&rc);
	error_destroy(error);
}

static void test_read(void)
{
	struct stat status;
	struct ui_rc rc;
	struct xtop_error *error = ui_rc_open(&rc, false);
	char path_saved[512];

	check(!error && rc.fd < 0 && stat(path, &status) && errno == ENOENT,
	      "to read alone nothing is created");
	ui_rc_close(&rc);
	error = load(&rc);

	check(!error && rc.colors == UI_COLORS_AUTO && rc.half_life_s < 0,
	      "without a file there are no settings");
	check(rc.fd >= 0 && !stat(path, &status) && (status.st_mode & 07777) == 0600,
	      "the file and its folders are created, for the user alone");
	ui_rc_close(&rc);
	put("# mine\n\n columns = self, children symbol self\nsort=sym\n refresh = 2.5 \n"
	    "half-life = 0\ncolors = 256\n");
	error = load(&rc);
	check(!error, "settings are read: %s", error ? error_message(error) : "yes");
	check(rc.n_columns == 3 && rc.columns[0] == COLUMN_SELF &&
		      rc.columns[1] == COLUMN_CHILDREN && rc.columns[2] == COLUMN_SYMBOL,
	      "columns are read in order, each once");
	check(rc.sort == &columns[COLUMN_SYMBOL], "the column to sort by is read");
	check(rc.interval_s == 2.5 && rc.half_life_s == 0 && rc.colors == UI_COLORS_256,
	      "figures and colours are read");
	ui_rc_close(&rc);
	put("disassembly = intel\ncode-addresses = absolute\njumps = shown\n"
	    "source-lines = hidden\n");
	error = load(&rc);
	check(!error && rc.syntax == SYNTAX_INTEL && rc.addresses == ADDRESSES_ABSOLUTE &&
		      rc.jumps && rc.no_source,
	      "how instructions are shown is read");
	check(!ui_rc_save(&rc, path_saved, sizeof(path_saved)),
	      "settings of instructions are saved");
	ui_rc_close(&rc);
	rc = (struct ui_rc){ 0 };
	error = load(&rc);
	check(!error && rc.syntax == SYNTAX_INTEL && rc.addresses == ADDRESSES_ABSOLUTE &&
		      rc.jumps && rc.no_source,
	      "saved settings of instructions are read again");
	ui_rc_close(&rc);
}

static void test_bad(void)
{
	check_refused("sort = self\nrefresh = 0\n", "line 2");
	check_refused("sort = beauty\n", "line 1");
	check_refused("columns = self beauty\n", "line 1");
	check_refused("columns = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "line 1");
	check_refused("columns = symbol base\n", "line 1"); /* the baseline's */
	check_refused("sort = delta\n", "line 1");
	check_refused("colors = 7\n", "line 1");
	check_refused("half-life = -1\n", "line 1");
	check_refused("refresh = 1 second\n", "line 1");
	check_refused("sort\n", "line 1");
	check_refused("editor = vi\n", "line 1");
	check_refused("pass-through = maybe\n", "line 1");
	check_refused("disassembly = arm\n", "line 1");
	check_refused("code-addresses = some\n", "line 1");
	check_refused("jumps = high\n", "line 1");
	check_refused("source-lines = some\n", "line 1");
}

/* Opening happens with root's rights, parsing without: opening must not depend on the text. */
static void test_apart(void)
{
	struct xtop_error *error;
	struct ui_rc rc;

	put("sort = beauty\n");
	error = ui_rc_open(&rc, true);
	check(!error && rc.fd >= 0, "opening does not see errors in the text");
	error_destroy(error);
	put("sort = self\n");
	if (chmod(path, 0))
		abort();
	check(!rc.sort, "opening does not read settings");
	check(!ui_rc_read(&rc) && rc.sort == &columns[COLUMN_SELF],
	      "the open file is read when it cannot be opened any more");
	ui_rc_close(&rc);
	if (chmod(path, 0600))
		abort();
}

/* xtop starts as root: it must not use a file that somebody else can write. */
static void test_not_ours(void)
{
	struct xtop_error *error;
	struct ui_rc rc;

	put("sort = self\n");
	for (int i = 0; i < 4; i++) {
		static const struct {
			mode_t file, folder;
			bool taken;
		} modes[] = { { 0600, 0700, true },
			      { 0620, 0700, false },
			      { 0602, 0700, false },
			      { 0600, 0777, false } };
		char below[128];

		snprintf(below, sizeof(below), "%s/xtop", folder);
		if (chmod(path, modes[i].file) || chmod(below, modes[i].folder))
			abort();
		error = load(&rc);
		check(!error == modes[i].taken && (rc.sort != NULL) == modes[i].taken,
		      "modes %o %o: %s", modes[i].file, modes[i].folder,
		      error ? error_message(error) : "taken");
		check(modes[i].taken == (rc.fd >= 0), "a file that is used can be saved");
		ui_rc_close(&rc);
		error_destroy(error);
		if (chmod(path, 0600) || chmod(below, 0700))
			abort();
	}
}

/*
 * The owner of the folder may link a file that belongs to somebody else. xtop may run as root by
 * sudo, so it must not write through such a link.
 */
static void test_links(int (*make)(const char *, const char *), const char *what)
{
	const struct ui_rc saved = { .half_life_s = 7 };
	char other[128], where[256], text[64] = "";
	struct xtop_error *error;
	struct ui_rc rc, save;
	FILE *file;

	snprintf(other, sizeof(other), "%s/other", folder);
	unlink(path);
	file = fopen(other, "w");
	fputs("sort = self\n", file);
	fclose(file);
	if (make(other, path))
		abort();
	error = load(&rc);
	check(!error && rc.sort == &columns[COLUMN_SELF], "%s: the settings are read", what);
	error_destroy(error);
	save = saved;
	save.fd = rc.fd;
	error = ui_rc_save(&save, where, sizeof(where));
	check(error && strstr(error_message(error), "nothing saved"),
	      "%s: the settings are not written: %s", what,
	      error ? error_message(error) : "it was");
	error_destroy(error);
	ui_rc_close(&rc);
	file = fopen(other, "r");
	check(fgets(text, sizeof(text), file) && !strcmp(text, "sort = self\n"),
	      "%s: the linked file is as it was", what);
	fclose(file);
	unlink(other);
	unlink(path);
	put("");
	if (chmod(path, 0600))
		abort();
}

/* Folders are made in root's own home, but not in the home of the user who called sudo. */
static void test_folders(void)
{
	char home[128], below[192], deep[256];
	struct stat status;

	snprintf(home, sizeof(home), "%s/home", folder);
	snprintf(below, sizeof(below), "%s/.config", home);
	snprintf(deep, sizeof(deep), "%s/xtop", below);
	check(xdg_make_folder(deep) && !stat(deep, &status) && (status.st_mode & 07777) == 0700,
	      "missing folders are made in the user's own home");
	rmdir(deep);
	rmdir(below);
	if (geteuid() == 0) {
		if (chown(home, 12345, 12345))
			abort();
		check(!xdg_make_folder(deep) && stat(below, &status),
		      "nothing is made in somebody else's home");
	}
	rmdir(home);
}

static void test_save(void)
{
	struct ui_rc rc = { .n_columns = 2,
			    .columns = { COLUMN_HISTORY, COLUMN_SYMBOL },
			    .sort = &columns[COLUMN_SELF],
			    .interval_s = 0.5,
			    .half_life_s = 30,
			    .colors = UI_COLORS_NONE },
		     back;
	struct xtop_error *error;
	struct stat status;
	char where[256];

	put("a long line that is gone afterwards\n# and another\n# and one more\n# and the last of "
	    "them, so that the file is longer than what is saved\n# here\n");
	error_destroy(load(&back));
	rc.fd = back.fd;
	error = ui_rc_save(&rc, where, sizeof(where));
	check(!error, "settings are saved: %s", error ? error_message(error) : where);
	check_string(where, path, "path of the saved settings");
	check(!stat(path, &status) && (status.st_mode & 07777) == 0600,
	      "the file of saved settings is for the user alone");
	error = load(&back);
	check(!error && back.n_columns == 2 && back.columns[0] == COLUMN_HISTORY &&
		      back.sort == rc.sort && back.interval_s == 0.5 && back.half_life_s == 30 &&
		      back.colors == UI_COLORS_NONE,
	      "saved settings are read again");
	ui_rc_close(&back);
	rc.interval_s = 0.01; /* -i may have such a value */
	rc.half_life_s = 1e9;
	error_destroy(ui_rc_save(&rc, where, sizeof(where)));
	error = load(&back);
	check(!error && back.interval_s == 0.1 && back.half_life_s == 86400,
	      "figures out of range are saved as the nearest that are in range: %s",
	      error ? error_message(error) : "read");
	ui_rc_close(&back);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "also/relative", 1);
	check(!load(&back) && !back.sort, "settings are never read from the working directory");
	error = ui_rc_save(&rc, where, sizeof(where));
	check(error != NULL, "settings are never saved in the working directory: %s",
	      error ? error_message(error) : "saved");
	error_destroy(error);
}

int main(void)
{
	char below[128];

	snprintf(folder, sizeof(folder), "/tmp/xtop-test-rc-XXXXXX");
	if (!mkdtemp(folder))
		abort();
	snprintf(below, sizeof(below), "%s/xtop", folder);
	snprintf(path, sizeof(path), "%s/xtoprc", below);
	setenv("XDG_CONFIG_HOME", folder, 1);
	test_read();
	test_bad();
	test_apart();
	test_not_ours();
	test_links(symlink, "a symbolic link");
	test_links(link, "a hard link");
	test_folders();
	test_save();
	unlink(path);
	rmdir(below);
	rmdir(folder);
	return tap_done();
}
