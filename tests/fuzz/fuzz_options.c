/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line. In the input each argument ends in a NUL. An input that begins with a newline
 * is the file of --config.
 */
#include "config.h"

#include "file.h"
#include "fuzz.h"
#include "xtop/cli/options.h"

#define MAX_ARGUMENTS 16

static void parse_file(const uint8_t *bytes, size_t size_bytes)
{
	char path[64], *argv[] = { (char *)"xtop", path, NULL };
	struct options options;
	struct xtop_error *error;

	snprintf(path, sizeof(path), "--config=/proc/self/fd/%d", fuzz_file(bytes, size_bytes));
	error = options_parse(2, argv, &options);
	error_destroy(error);
	options_deinit(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	char *argv[MAX_ARGUMENTS + 2] = { (char *)"xtop" };
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	char *text = malloc(size_bytes + 1), *at = text;
	struct options options;
	struct xtop_error *error;
	int argc = 1;

	if (!text)
		abort();
	if (size_bytes && bytes[0] == '\n') {
		parse_file(bytes, size_bytes);
		free(text);
		return 0;
	}
	fuzz_take(&fuzz, text, size_bytes);
	text[size_bytes] = '\0';
	while (argc <= MAX_ARGUMENTS && at < text + size_bytes) {
		argv[argc++] = at;
		at += strlen(at) + 1;
	}
	error = options_parse(argc, argv, &options);
	error_destroy(error);
	options_deinit(&options);
	free(text);
	return 0;
}
