/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of an oops, which may come from a guest's console, and answers of the process that reads
 * source lines, which a debug file may have taken over.
 */
#include "config.h"

#include "fuzz.h"
#include "supervise/line_server.h"
#include "xtop/linux/oops.h"

static void read_line(const char *line)
{
	struct oops_place places[OOPS_MAX_PLACES];
	size_t refused = 0, n = oops_find_places(line, places, &refused), end = 0;
	uint64_t offset;

	fuzz_must(n <= OOPS_MAX_PLACES, "there is room for the places");
	for (size_t i = 0; i < n; i++) {
		fuzz_must(places[i].end > end && places[i].end <= strlen(line),
			  "places follow each other");
		fuzz_must(strlen(places[i].symbol) < sizeof(places[i].symbol) &&
				  strlen(places[i].module) < sizeof(places[i].module),
			  "names end");
		end = places[i].end;
	}
	oops_find_offset(line, &offset);
}

static void read_answers(const uint8_t *bytes, size_t size_bytes)
{
	struct line_answer answer;
	size_t at = 0, n;

	while ((n = line_server_unpack(bytes + at, size_bytes - at, &answer))) {
		for (unsigned i = 0; i < answer.n; i++)
			fuzz_must(strlen(answer.frames[i].function) + strlen(answer.frames[i].file) <
					  n,
				  "texts end in the answer");
		at += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	uint8_t *copy = fuzz_copy(&fuzz, size_bytes + 1);
	char *line = (char *)copy;

	read_answers(bytes, size_bytes);
	copy[size_bytes] = '\0';
	read_line(line);
	free(copy);
	return 0;
}
