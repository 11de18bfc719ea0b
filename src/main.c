/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command line in, exit status out. No other file writes to stderr. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "xtop/base/heap.h"
#include "xtop/base/library.h"
#include "xtop/cli/options.h"
#include "xtop/run/commands.h"
#include "xtop/run/session.h"
#include "xtop/xen/xen.h"

enum exit_status { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static enum exit_status main_fail(struct xtop_error *error, enum exit_status status)
{
	if (!error)
		return STATUS_OK;
	fprintf(stderr, "xtop: %s\n", error_message(error));
	error_destroy(error);
	return status;
}

static enum exit_status main_print(const char *text)
{
	if (fputs(text, stdout) != EOF && fflush(stdout) != EOF)
		return STATUS_OK;
	return main_fail(error_create_errno(errno, "cannot write stdout"), STATUS_FAILED);
}

/*
 * Opens a standard stream that is closed (`xtop >&-`) in a mode in which it fails, as gnulib's
 * stdopen does. Otherwise the next file that is opened would get the stream's number, and tables
 * would go into a recording.
 */
static void main_open_streams(void)
{
	static const int modes[] = {
		[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY
	};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", modes[fd]);
}

static enum exit_status main_unpause(const struct options *options)
{
	char *note = NULL;
	enum exit_status status = main_fail(command_unpause(options, &note), STATUS_FAILED);

	if (note)
		printf("%s\n", note);
	free(note);
	return status;
}

static void main_report(const char *line)
{
	fprintf(stderr, "xtop: %s\n", line);
}

static enum exit_status main_profile(const struct options *options)
{
	struct xtop_error *error = session_check_xen(options);

	if (error) {
		main_fail(error, STATUS_FAILED);
		main_report("to look at a profile without Xen: xtop --example, or xtop -r FILE");
		return STATUS_FAILED;
	}
	error = session_check(options);
	if (error)
		return main_fail(error, STATUS_USAGE);
	if (options->format_unknown)
		main_fail(error_create("'%s': its ending is that of no format, so it gets folded "
				       "stacks; --format chooses another",
				       options->output),
			  STATUS_OK);
	if (options->waits_left_out)
		main_fail(error_create("'%s': the format %s has one profile, so it gets no waits; "
				       "--profile=waits writes them instead",
				       options->output, options->format),
			  STATUS_OK);
	error = command_repair(options, main_report);
	if (error)
		return main_fail(error, STATUS_FAILED);
	return main_fail(session_run(options, main_report), STATUS_FAILED);
}

static enum exit_status main_print_version(void)
{
	enum exit_status status = main_print(PACKAGE_STRING "\n");

	return status == STATUS_OK ? main_print(library_parts) : status;
}

static enum exit_status main_act(const struct options *options)
{
	struct xtop_error *error = xen_assume(options->xen_abi);

	if (error && options->action != ACTION_HELP && options->action != ACTION_VERSION)
		return main_fail(error, STATUS_USAGE);
	error_destroy(error);
	switch (options->action) {
	case ACTION_HELP:
		return main_print(options_help());
	case ACTION_VERSION:
		return main_print_version();
	case ACTION_LIST:
		return main_fail(command_list(), STATUS_FAILED);
	case ACTION_CHECK:
		return main_fail(command_check(options), STATUS_USAGE);
	case ACTION_UNPAUSE:
		return main_unpause(options);
	case ACTION_PROFILE:
		break;
	}
	return main_profile(options);
}

int main(int argc, char **argv)
{
	struct options options;
	enum exit_status status;

	heap_return_large();
	main_open_streams();
	status = main_fail(options_parse(argc, argv, &options), STATUS_USAGE);
	if (status == STATUS_OK)
		status = main_act(&options);
	options_deinit(&options);
	return status;
}
