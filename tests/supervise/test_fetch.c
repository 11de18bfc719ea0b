/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files that another process fetches: answers in order, with progress, found and not found;
 * what that process cannot do; its end, and ours. Then libdebuginfod and Debian's debuginfod server
 * on the loopback interface, where both are installed.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/fetcher.h"
#include "tests/support/by_force.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/fetched_file.h"
#include "tests/support/must.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/supervise/fetch.h"

#define WAIT_MS 20000

static char folder[] = "/tmp/xtop-fetch-XXXXXX";
static struct fetch *fetch;

static struct build_id id_of(uint8_t byte)
{
	struct build_id id = { .size_bytes = 20 };

	memset(id.bytes, byte, id.size_bytes);
	return id;
}

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static enum fetch_state wait_for(const struct build_id *id, int *fdp)
{
	enum fetch_state state = fetch_ask(fetch, id, fdp);

	for (unsigned i = 0; i < WAIT_MS && state == FETCH_WAITING; i++) {
		nap();
		state = fetch_ask(fetch, id, fdp);
	}
	return state;
}

static enum fetch_state wait_for_source(const struct build_id *id, const char *path, int *fdp)
{
	enum fetch_state state = fetch_ask_source(fetch, id, path, fdp);

	for (unsigned i = 0; i < WAIT_MS && state == FETCH_WAITING; i++) {
		nap();
		state = fetch_ask_source(fetch, id, path, fdp);
	}
	return state;
}

static void check_content(int fd, const char *want)
{
	char text[64] = "";

	check(pread(fd, text, sizeof(text) - 1, 0) >= 0, "the fetched file can be read");
	check_string(text, want, "the fetched file is the one that was found");
	close(fd);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Even ids have files, and sources. Id 6 takes a while, and tells of it. */
static int find_even(const uint8_t *build_id, size_t size_bytes, const char *source,
		    char message[96])
{
	char text[64];

	snprintf(text, sizeof(text), "%s of %u", source, build_id[0]);
	if (*source)
		return fetched_file_make(text, strlen(text));
	if (build_id[0] % 2) {
		snprintf(message, 96, "id %u of %zu bytes", build_id[0], size_bytes);
		return -1;
	}
	for (unsigned i = 0; build_id[0] == 6 && i < 500; i++) {
		if (!fetcher_send_progress(i * 1000, 500000))
			return -1;
		nap();
	}
	snprintf(text, sizeof(text), "file %u", build_id[0]);
	return fetched_file_make(text, strlen(text));
}

static void test_answers(void)
{
	const struct fetcher_settings settings = { .find = find_even, .cache = folder };
	struct build_id two = id_of(2), three = id_of(3), four = id_of(4), six = id_of(6);
	struct fetch_progress progress;
	bool told = false;
	int fd = -1;

	check(fetch_ask(NULL, &two, &fd) == FETCH_OFF, "without a process nothing is fetched");
	must(fetch_start_with(&settings, &fetch));
	check(fetch_find(fetch, &two, &fd) == FETCH_OFF,
	      "a file that nobody has asked for is not fetched");
	check(fetch_ask(fetch, &two, &fd) != FETCH_OFF, "a file is asked for");
	fetch_ask(fetch, &three, &fd);
	fetch_ask(fetch, &four, &fd);
	check(wait_for(&two, &fd) == FETCH_FOUND, "a file that was asked for is found");
	check_content(fd, "file 2");
	check(wait_for(&three, &fd) == FETCH_NONE, "a file that does not exist is not found");
	check(wait_for(&four, &fd) == FETCH_FOUND, "another file is found");
	check_content(fd, "file 4");
	check(fetch_find(fetch, &two, &fd) == FETCH_FOUND, "the first file is found again");
	check_content(fd, "file 2");
	check(wait_for_source(&two, "/src/a.c", &fd) == FETCH_FOUND, "a source file is found");
	check_content(fd, "/src/a.c of 2");
	check(fetch_ask_source(fetch, &two, "a.c", &fd) == FETCH_OFF,
	      "a relative path is not asked for");
	fetch_get_progress(fetch, &progress);
	check(progress.n_found == 3 && progress.n_none == 1 && !progress.n_waiting,
	      "%u found, %u not", progress.n_found, progress.n_none);
	check_string(progress.message, "id 3 of 20 bytes",
		     "progress says why a file was not found");
	for (fetch_ask(fetch, &six, &fd); fetch_ask(fetch, &six, &fd) == FETCH_WAITING; nap()) {
		fetch_get_progress(fetch, &progress);
		told |= progress.total_bytes == 500000 && progress.done_bytes;
	}
	check(told, "a change of progress is reported");
	check(fetch_ask(fetch, &(struct build_id){ 0 }, &fd) == FETCH_OFF,
	      "no file is asked for without a build-id");
	for (unsigned i = 0; i < FETCH_MAX_FILES; i++) {
		struct build_id many = id_of(1);

		many.bytes[1] = (uint8_t)i;
		many.bytes[2] = (uint8_t)(i >> 8);
		fetch_ask(fetch, &many, &fd);
	}
	check(fetch_ask(fetch, &(struct build_id){ 4, "new", 0 }, &fd) == FETCH_OFF,
	      "no more than %u files", FETCH_MAX_FILES);
	fetch_stop(fetch);
}

static int find_never(const uint8_t *build_id, size_t size_bytes, const char *source,
		    char message[96])
{
	(void)source, (void)build_id, (void)size_bytes, (void)message;
	while (fetcher_send_progress(0, 0))
		nap();
	_exit(0);
}

static int find_and_die(const uint8_t *build_id, size_t size_bytes, const char *source,
		    char message[96])
{
	(void)source, (void)build_id, (void)size_bytes, (void)message;
	_exit(1);
}

static int find_pipe(const uint8_t *build_id, size_t size_bytes, const char *source,
		    char message[96])
{
	int fds[2];

	(void)source, (void)build_id, (void)size_bytes, (void)message;
	return pipe(fds) ? -1 : fds[0];
}

/* The clocks of this process are so much ahead. */
static time_t ahead_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int status = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += ahead_s;
	return status;
}

/* A file that takes until just before the time limit, then until just after it. */
static int find_late(const uint8_t *build_id, size_t size_bytes, const char *source,
		     char message[96])
{
	bool before;

	(void)source, (void)build_id, (void)size_bytes;
	ahead_s += FETCHER_MAX_S - 5;
	before = fetcher_send_progress(1, 2);
	ahead_s += 10;
	snprintf(message, 96, "%s, %s", before ? "goes on before the limit" : "ends too early",
		 fetcher_send_progress(1, 2) ? "and behind it" : "but not behind it");
	return -1;
}

static void test_time_limit(void)
{
	const struct fetcher_settings late = { .find = find_late };
	struct build_id two = id_of(2), four = id_of(4);
	struct fetch_progress progress;
	int fd;

	must(fetch_start_with(&late, &fetch));
	check(wait_for(&two, &fd) == FETCH_NONE && wait_for(&four, &fd) == FETCH_NONE,
	      "each of two files that take too long is given up");
	fetch_get_progress(fetch, &progress);
	check_string(progress.message, "goes on before the limit, but not behind it",
		     "the time limit, of the second, too");
	fetch_stop(fetch);
}

static void test_ends(void)
{
	const struct fetcher_settings never = { .find = find_never }, die = { .find = find_and_die },
				      a_pipe = { .find = find_pipe };
	struct build_id two = id_of(2), four = id_of(4);
	struct timespec before, after;
	int fd;

	must(fetch_start_with(&never, &fetch));
	fetch_ask(fetch, &two, &fd);
	clock_gettime(CLOCK_MONOTONIC, &before);
	fetch_stop(fetch);
	clock_gettime(CLOCK_MONOTONIC, &after);
	check(after.tv_sec - before.tv_sec < 2 && waitpid(-1, NULL, WNOHANG) < 0,
	      "a process that waits for a server ends with us");
	must(fetch_start_with(&die, &fetch));
	check(wait_for(&two, &fd) == FETCH_NONE && wait_for(&four, &fd) == FETCH_NONE,
	      "the process has died: nothing is found any more");
	fetch_stop(fetch);
	must(fetch_start_with(&a_pipe, &fetch));
	check(wait_for(&two, &fd) == FETCH_NONE, "a pipe is not taken as a file");
	fetch_stop(fetch);
}

/* --- walls ------------------------------------------------------------------------------------ */

/* Writes what it was able to do, of what it must not do. */
static int find_by_force(const uint8_t *build_id, size_t size_bytes, const char *source,
		    char message[96])
{
	int fd;

	(void)source, (void)build_id, (void)size_bytes;
	try_by_force(message);
	for (fd = 3; fd < 1024; fd++) {
		struct stat status;

		if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
			snprintf(message, 96, "descriptor %d is an open file", fd);
	}
	return -1;
}

static void test_walls(void)
{
	const struct fetcher_settings settings = { .find = find_by_force };
	struct build_id two = id_of(2);
	struct fetch_progress progress;
	int secret = memfd_create("secret", 0); /* the process must not have it */
	int fd;

	by_force_has_landlock = landlock_is_there();
	must(fetch_start_with(&settings, &fetch));
	check(wait_for(&two, &fd) == FETCH_NONE, "the process behind walls has made its attempts");
	fetch_get_progress(fetch, &progress);
	check_string(progress.message, "none", "attempts that worked behind walls");
	fetch_stop(fetch);
	close(secret);
}

/* --- a real server ---------------------------------------------------------------------------- */

static int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0), port = -1;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		port = ntohs(address.sin_port);
	close(fd);
	return port;
}

static bool is_listening(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool yes = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

	close(fd);
	return yes;
}

static pid_t start_server(int port)
{
	char number[16], files[128], database[128];
	pid_t pid = fork();

	if (pid)
		return pid;
	unsetenv("DEBUGINFOD_URLS"); /* the server would ask itself */
	snprintf(number, sizeof(number), "%d", port);
	snprintf(files, sizeof(files), "%s/files", folder);
	snprintf(database, sizeof(database), "%s/db", folder);
	dup2(open("/dev/null", O_RDWR), STDOUT_FILENO);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	execl("/usr/bin/debuginfod", "debuginfod", "-F", "-p", number, "-d", database, "-t", "0",
	      files, NULL);
	_exit(127);
}

/*
 * Makes the debug file that the server has, and returns its build-id. It is not this program's, in
 * whose DWARF the source's path is whatever the compiler was told.
 */
static struct build_id make_own(void)
{
	struct build_id id = { .size_bytes = 0 };
	char line[256];
	unsigned byte;
	FILE *pipe;

	shell("mkdir -p %s/files && cd %s && printf '/* */ .globl _start\n_start: nop\n' >own.s",
	      folder, folder);
	shell("cd %s && as -g -o own.o %s/own.s && ld --build-id=sha1 -o files/own own.o", folder,
	      folder);
	snprintf(line, sizeof(line), "readelf -n %s/files/own | sed -n 's/.*Build ID: //p'",
		 folder);
	pipe = popen(line, "r");
	while (pipe && id.size_bytes < 20 && fscanf(pipe, "%2x", &byte) == 1)
		id.bytes[id.size_bytes++] = (uint8_t)byte;
	if (pipe)
		pclose(pipe);
	return id;
}

/* The server needs a moment to look through its files: asks anew, as each answer is final. */
static enum fetch_state fetch_patiently(const struct build_id *id, int *fdp)
{
	enum fetch_state state = FETCH_NONE;

	for (unsigned i = 0; i < 40 && state != FETCH_FOUND; i++) {
		shell("rm -rf %s/cache/*/", folder); /* the miss is remembered there */
		must(fetch_start(folder, &fetch));
		state = wait_for(id, fdp);
		fetch_stop(fetch);
		for (unsigned j = 0; state != FETCH_FOUND && j < 250; j++)
			nap();
	}
	return state;
}

static void test_server(void)
{
	struct build_id own, other = id_of(0x77);
	int port = free_port(), fd = -1, status;
	struct fetch_progress progress;
	struct stat in_cache;
	char text[256], source[64], magic[4];
	pid_t server;

	if (access("/usr/bin/debuginfod", X_OK) || !dlopen("libdebuginfod.so.1", RTLD_LAZY)) {
		printf("ok %u - # SKIP no debuginfod server here, or no library of it\n", ++tap_points);
		return;
	}
	own = make_own();
	snprintf(source, sizeof(source), "%s/own.s", folder);
	shell("chmod 755 %s; mkdir -p %s/cache && chmod 777 %s/cache", folder, folder, folder);
	snprintf(text, sizeof(text), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", text, 1);
	snprintf(text, sizeof(text), "%s/cache", folder);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
	server = start_server(port);
	for (unsigned i = 0; i < WAIT_MS && !is_listening(port); i++)
		nap();
	check(own.size_bytes == 20 && fetch_patiently(&own, &fd) == FETCH_FOUND,
	      "Debian's debuginfod has the debug file");
	check(fd >= 0 && pread(fd, magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0,
	      "the server's debug file is an ELF file");
	close(fd);
	must(fetch_start(folder, &fetch));
	check(wait_for_source(&own, source, &fd) == FETCH_FOUND,
	      "the server has the source file %s", source);
	check(fd >= 0 && pread(fd, text, 5, 0) == 5 && memcmp(text, "/* */", 5) == 0,
	      "the source file that the server has is the one that it was made of");
	close(fd);
	check(wait_for_source(&own, "/no/such/file.c", &fd) == FETCH_NONE,
	      "a source file that does not exist is not found");
	check(wait_for(&other, &fd) == FETCH_NONE,
	      "a file that the server does not have is not found");
	fetch_get_progress(fetch, &progress);
	check_string(progress.message, "",
		     "a file that the server does not have causes no message");
	fetch_stop(fetch);
	snprintf(text, sizeof(text), "%s/cache", folder);
	for (unsigned i = 0; i < other.size_bytes; i++)
		strcat(strcpy(text + strlen(text), i ? "77" : "/77"), "");
	strcat(text, "/debuginfo");
	check(stat(text, &in_cache) == 0 && in_cache.st_size == 0,
	      "a file that was not found is noted in the cache");
	kill_process(server, SIGTERM);
	waitpid(server, &status, 0);
	must(fetch_start(folder, &fetch));
	check(wait_for(&own, &fd) == FETCH_FOUND,
	      "without the server the file comes from the cache");
	close(fd);
	fetch_stop(fetch);
	must(fetch_start(folder, &fetch));
	other = id_of(0x78);
	check(wait_for(&other, &fd) == FETCH_NONE, "without the server no other file is found");
	fetch_get_progress(fetch, &progress);
	check(progress.message[0], "a missing server is reported: %s", progress.message);
	fetch_stop(fetch);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* xtop's own cache, below root's folder or the user's. */
static void test_own_cache(void)
{
	struct build_id other = id_of(0x79);
	struct stat status;
	char path[128];
	uid_t uid = geteuid() ? geteuid() : 65534;
	int fd;

	snprintf(path, sizeof(path), "%s/own", folder);
	unsetenv("SUDO_UID");
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	must(fetch_start(path, &fetch));
	check(wait_for(&other, &fd) == FETCH_NONE, "no file is found when no server answers");
	fetch_stop(fetch);
	snprintf(path, sizeof(path), "%s/own/debuginfod.%u", folder, (unsigned)uid);
	check(stat(path, &status) == 0 && status.st_uid == uid && (status.st_mode & 0777) == 0700,
	      "the cache belongs to the user who fetches: %s", path);
}

int main(void)
{
	struct xtop_error *error;

	if (!mkdtemp(folder))
		exit(99);
	unsetenv("DEBUGINFOD_URLS");
	error = fetch_start(NULL, &fetch);
	check(error && !fetch, "fetching without servers is an error: %s",
	      error ? error_message(error) : "");
	error_destroy(error);
	test_answers();
	test_time_limit();
	test_ends();
	if (!emulator_lacks("walls"))
		test_walls();
	test_server();
	test_own_cache();
	shell("rm -rf %s", folder);
	return tap_done();
}
