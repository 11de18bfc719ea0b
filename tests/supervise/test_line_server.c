/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that reads source lines, with readers of our own: answers in order, bounds, a reader
 * that dies, one that needs too much memory, what it cannot do; its end, and ours.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/line_server.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

#define WAIT_S 30

static int secret = -1; /* a descriptor of ours that the process must not have */

/* What a reader does is the first byte of its file. */
static void *open_made(int fd, int alt_fd, const char **why)
{
	char *what = calloc(1, 2);

	if (pread(fd, what, 1, 0) != 1 || *what == 'x') {
		free(what);
		*why = "it says x";
		return NULL;
	}
	if (alt_fd >= 0)
		what[1] = 'a';
	return what;
}

static void close_made(void *file)
{
	free(file);
}

static void trim_made(void *file)
{
	(void)file;
}

static bool refused(int result)
{
	return result < 0 && (errno == EPERM || errno == EACCES || errno == ENOENT);
}

/* What it was able to do, of what it must not do; "": nothing. */
static const char *try_force(void)
{
	static char text[128];

	text[0] = '\0';
#define MUST_NOT(what, call)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		if (!refused((int)(call)))                                                         \
			snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));             \
	} while (0)
	MUST_NOT("open /etc/passwd", open("/etc/passwd", O_RDONLY));
	MUST_NOT("open /proc/self/mem", open("/proc/self/mem", O_RDWR));
	MUST_NOT("a socket", socket(AF_INET, SOCK_STREAM, 0));
	MUST_NOT("run a program", execl("/bin/true", "true", NULL));
	MUST_NOT("fork", fork());
	MUST_NOT("kill our parent", kill(getppid(), 0));
	MUST_NOT("trace our parent", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	/* Musl's mmap() makes ENOMEM of EPERM. */
	MUST_NOT("code", syscall(SYS_mmap, NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
#undef MUST_NOT
	if (getuid() == 0)
		snprintf(text, sizeof(text), "it is root's");
	for (int fd = 3; fd < 1024; fd++) {
		char word[8] = "";

		if (pread(fd, word, 6, 0) == 6 && strcmp(word, "secret") == 0)
			snprintf(text, sizeof(text), "descriptor %d is our secret", fd);
	}
	return text;
}

/* Memory until there is none, as libdw takes it. Clang leaves out what nobody can look at. */
static void take_memory(void)
{
	static char *volatile taken;

	for (unsigned i = 0; i < 64; i++) {
		char *block = malloc(16 << 20);

		if (!block)
			_exit(ENOMEM);
		taken = memset(block, 1, 16 << 20);
	}
	(void)taken;
}

static void find_made(void *file, const struct line_place *place, struct line_answer *answer)
{
	static char name[LINE_SYMBOL_BYTES + 32];
	const char *what = file;

	if (*what == 'k')
		__builtin_trap();
	if (*what == 'm')
		take_memory();
	snprintf(name, sizeof(name), "%s+%llu%s", place->symbol,
		 (unsigned long long)place->address, what[1] ? " alt" : "");
	answer->n = place->address % 3 + 1;
	for (unsigned i = 0; i < answer->n; i++)
		answer->frames[i] = (struct line_frame){ name, "dir/made.c",
							 (uint32_t)place->address + i, 7 };
	if (*what == 'f')
		answer->frames[0].file = try_force();
}

static const struct line_reader made_reader = {
	.open = open_made, .find = find_made, .trim = trim_made, .close = close_made
};

static int make_file(char what)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	if (fd < 0 || write(fd, &what, 1) != 1)
		must(error_create("no file in memory"));
	return fd;
}

static uint32_t add_file(char what, const char *name)
{
	int fd = make_file(what);
	uint32_t file = line_client_add_file(lines, fd, -1, name, NULL, 0);

	close(fd);
	return file;
}

static enum line_state find(uint32_t file, uint64_t address, struct line_answer *answer)
{
	const struct line_place place = { .address = address, .symbol = "sym" };

	line_client_find(lines, file, &place, true, answer);
	line_client_wait(lines, WAIT_S);
	return line_client_find(lines, file, &place, false, answer);
}

static void test_answers(void)
{
	struct line_answer answer = { 0 };
	struct line_client_progress progress;
	struct line_place place = { .address = 5 };
	int fd = make_file('g'), alt_fd = make_file('g');
	uint32_t good, moved;
	unsigned right = 0;

	check(!line_client_add_file(NULL, fd, -1, "early", NULL, 0),
	      "without a process no file is added");
	check(line_client_find(NULL, 1, &place, true, &answer) == LINE_OFF,
	      "without a process no lines are found");
	line_client_get_progress(NULL, &progress);
	check(!progress.n_files && !line_client_find_named(NULL, "early"),
	      "without a process there is no progress, and no file by its name");
	must(line_client_start(&made_reader, &lines));
	good = line_client_add_file(lines, fd, alt_fd, "good", NULL, 0);
	check(line_client_find(lines, good, &place, false, &answer) == LINE_OFF,
	      "a place that nobody has asked for is not found");
	check(line_client_find(lines, good, &place, true, &answer) == LINE_WAITING,
	      "asking for a place does not wait");
	for (uint64_t i = 0; i < 3000; i++) {
		place.address = i;
		line_client_find(lines, good, &place, true, &answer);
	}
	check(line_client_wait(lines, WAIT_S), "all answers come in time");
	for (uint64_t i = 0; i < 3000; i++) {
		place.address = i;
		right += line_client_find(lines, good, &place, false, &answer) == LINE_KNOWN &&
			 answer.n == i % 3 + 1 && answer.frames[answer.n - 1].line == i + i % 3 &&
			 strcmp(answer.frames[0].file, "dir/made.c") == 0;
	}
	check_u64(right, 3000, "answers that belong to their place, of 3000");
	check_string(answer.frames[0].function, "+2999 alt", "an answer uses the alternative file");
	moved = line_client_add_moved(lines, good, "_text", 1000);
	place.address = 1010;
	line_client_find(lines, moved, &place, true, &answer);
	line_client_wait(lines, WAIT_S);
	check(line_client_find(lines, moved, &place, false, &answer) == LINE_KNOWN,
	      "lines of a file with an anchor are found");
	check_string(answer.frames[0].function, "_text+10 alt", "addresses count from the anchor");
	check_u64(line_client_find_named(lines, "good"), moved,
		  "a name finds the last file that has it");
	line_client_get_progress(lines, &progress);
	check(progress.n_files == 2 && progress.n_places == 3001 && !progress.n_waiting,
	      "%u files, %u places", progress.n_files, progress.n_places);
	line_client_stop(lines);
	close(fd);
	close(alt_fd);
}

static void test_deaths(void)
{
	struct line_answer answer = { 0 };
	struct line_client_progress progress;
	uint32_t good, bad, killer, greedy;

	must(line_client_start(&made_reader, &lines));
	good = add_file('g', "good");
	bad = add_file('x', "bad");
	killer = add_file('k', "killer");
	greedy = add_file('m', "greedy");
	check(find(bad, 1, &answer) == LINE_OFF, "no lines of a file that cannot be opened");
	line_client_get_progress(lines, &progress);
	check_string(progress.message, "bad: it says x", "progress says why there are no lines");
	check(find(good, 1, &answer) == LINE_KNOWN,
	      "lines of a good file are found after a bad one");
	check(find(killer, 1, &answer) == LINE_OFF, "no lines of a file that kills the reader");
	line_client_get_progress(lines, &progress);
	check(strstr(progress.message, "killer: it is damaged"),
	      "progress says that the file is damaged: %s", progress.message);
	check(find(good, 2, &answer) == LINE_KNOWN, "a new reader answers for the good file");
	check(find(killer, 2, &answer) == LINE_OFF,
	      "a file that killed the reader is not asked again");
	check_u64(progress.n_bad, 2, "files that progress counts as bad");
#ifndef SANITIZED
	if (!emulator_lacks("limit of a program's memory")) {
		check(find(greedy, 1, &answer) == LINE_OFF, "no lines of a file that needs 1 GiB");
		line_client_get_progress(lines, &progress);
		check(strstr(progress.message, "greedy: its lines need more than 200 MiB"),
		      "progress says that the lines need too much memory: %s", progress.message);
	}
	check(find(good, 3, &answer) == LINE_KNOWN,
	      "lines of the good file are found after the greedy one");
#endif
	for (unsigned i = 0; i < LINE_MAX_FILES; i++)
		greedy = add_file('g', "many");
	check(!greedy, "no more than %u files are taken", LINE_MAX_FILES);
	line_client_stop(lines);
	/* On a busy machine it ends later than line_client_stop() waits, as others come first. */
	alarm(60);
	while (waitpid(-1, NULL, 0) > 0)
		;
	check(errno == ECHILD, "no reader is left at the end");
	alarm(0);
}

static void test_places(void)
{
	struct line_client_progress progress;
	struct line_answer answer;
	struct line_place place = { 0 };
	uint32_t good;

	must(line_client_start(&made_reader, &lines));
	good = add_file('g', "good");
	for (place.address = 0; place.address < LINE_MAX_PLACES + 5; place.address++)
		line_client_find(lines, good, &place, true, &answer);
	check(line_client_find(lines, good, &place, true, &answer) == LINE_OFF,
	      "no more than %u places are taken", LINE_MAX_PLACES);
	line_client_get_progress(lines, &progress);
	check_u64(progress.refused, 6, "places that were refused");
	line_client_stop(lines);
}

static void test_walls(void)
{
#ifndef SANITIZED
	struct line_answer answer = { 0 };
#endif

	secret = memfd_create("secret", MFD_CLOEXEC);
	check(write(secret, "secret", 6) == 6, "a file with a secret is written");
	must(line_client_start(&made_reader, &lines));
#ifndef SANITIZED
	check(find(add_file('f', "force"), 3, &answer) == LINE_KNOWN,
	      "the reader has made its attempts");
	check_string(answer.frames[0].file, "", "attempts of the reader that worked");
#endif
	line_client_stop(lines);
	close(secret);
}

/* --- answers that are none -------------------------------------------------------------------- */

static void test_unpack(void)
{
	const struct line_answer answer = { .n = 2,
					    .frames = { { "f", "a.c", 1, 2 }, { "g", "", 0, 0 } } };
	uint8_t bytes[1200];
	size_t size_bytes = line_server_pack(&answer, bytes, sizeof(bytes));
	struct line_answer back = { 0 };
	unsigned accepted = 0;

	check_u64(line_server_unpack(bytes, size_bytes, &back), size_bytes,
		  "bytes of an answer that is unpacked");
	check(back.n == 2 && back.frames[0].line == 1 && !strcmp(back.frames[1].function, "g"),
	      "the unpacked answer is the one that was packed");
	for (size_t i = 0; i < size_bytes; i++)
		accepted += line_server_unpack(bytes, i, &back) != 0;
	check_u64(accepted, 0, "answers that end early and are unpacked");
	bytes[0] = LINE_MAX_DEPTH + 1;
	check_u64(line_server_unpack(bytes, sizeof(bytes), &back), 0,
		  "bytes of an answer with too many frames");
	check_u64(line_server_pack(&answer, bytes, 400), 0, "bytes of an answer that has no room");
}

int main(void)
{
	test_unpack();
	test_answers();
	test_deaths();
	test_places();
	if (!emulator_lacks("walls"))
		test_walls();
	return tap_done();
}
