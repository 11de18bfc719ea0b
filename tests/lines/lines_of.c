/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines_of FILE [ALTERNATIVE]: reads addresses or SYMBOL+OFFSET, one a line, from stdin. Prints what
 * xtop's reader of source lines says of each: a head, then a line for each function, innermost
 * first. tests/lines/compare holds that against eu-addr2line. The reader is the process without
 * rights, as in xtop. The memory that it had at once goes to stderr.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

#define MAX 60000

static struct line_place places[MAX];
static char texts[MAX][128];

static void print(uint32_t file, size_t i)
{
	struct line_answer answer = { 0 };

	printf("%s\n", texts[i]);
	if (line_client_find(lines, file, &places[i], false, &answer) != LINE_KNOWN)
		printf("  ? no answer\n");
	for (unsigned j = 0; j < answer.n; j++)
		printf("  %s\t%s:%" PRIu32 "\n",
		       *answer.frames[j].function ? answer.frames[j].function : "??",
		       answer.frames[j].line ? answer.frames[j].file : "??", answer.frames[j].line);
}

static void parse(const char *text, struct line_place *place)
{
	const char *plus = strchr(text, '+');

	if (plus)
		snprintf(place->symbol, sizeof(place->symbol), "%.*s", (int)(plus - text), text);
	place->address = strtoull(plus ? plus + 1 : text, NULL, 16);
}

int main(int argc, char **argv)
{
	struct line_client_progress progress;
	struct line_answer answer;
	size_t n = 0;
	uint32_t file;
	int fd, alt_fd;

	if (argc < 2)
		return 2;
	must_or_die(line_client_start(&elf_lines_reader, &lines));
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	alt_fd = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	file = line_client_add_file(lines, fd, alt_fd, argv[1], NULL, 0);
	while (n < MAX && fgets(texts[n], sizeof(texts[n]), stdin)) {
		texts[n][strcspn(texts[n], "\n")] = '\0';
		parse(texts[n], &places[n]);
		line_client_find(lines, file, &places[n], true, &answer);
		n++;
	}
	line_client_wait(lines, 600);
	for (size_t i = 0; i < n; i++)
		print(file, i);
	line_client_get_progress(lines, &progress);
	fprintf(stderr, "reader: at most %" PRIu64 " MiB; %s\n", progress.most_bytes >> 20,
		progress.message);
	line_client_stop(lines);
	return progress.n_bad != 0;
}
