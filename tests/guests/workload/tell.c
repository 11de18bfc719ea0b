// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints on the console what the guest knows about itself, so that xtop can be compared with it.
 * Every line begins with "truth: "; the last one is "truth: end".
 *
 *   uname RELEASE VERSION
 *   cmdline TEXT
 *   symbols LIST FROM TO SHA256      lines FROM..TO-1 of a list of symbols, in chunks of 8192
 *   symbols-all LIST COUNT SHA256    the whole list
 *   symbol LINE                      every 10,000th, for a human reader
 *   module NAME SIZE REFERENCES USERS STATE ADDRESS      /proc/modules
 *   build-id WHAT HEX                WHAT: kernel, a module in [ ], or a file
 *   task PID TID STATE PPID COMM     every thread; COMM is the thread's name
 *   maps PID LINE                    /proc/PID/maps, every process that has memory
 *
 * The lists come from /proc/kallsyms. A line has 16 digits of address, a space and the name, and
 * for a module's symbol also a space and the [module]. Lines are sorted by strcmp and end with a
 * newline:
 *
 *   kernel   symbols outside modules             text   the same, only types t T w W
 *   modules  symbols of modules (also of BPF programs and ftrace trampolines)
 *
 * If another program prints its list in this way, `sha256sum` must give the same result.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CHUNK        8192
#define SHOWN_EVERY  10000
#define SHA256_BYTES 32
#define MAX_FILES    64

struct list {
	char **lines;
	size_t count, room;
};

static FILE *console;

static __attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("truth: failed: ", console);
	vfprintf(console, format, arguments);
	fputs("\n", console);
	exit(1);
}

static void *grown(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory)
		die("out of memory");
	return memory;
}

/* ---- SHA-256 by the kernel (AF_ALG) ------------------------------------------------------- */

static int open_sha256(void)
{
	const struct sockaddr_alg address = {
		.salg_family = AF_ALG,
		.salg_type = "hash",
		.salg_name = "sha256",
	};
	int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    (fd = accept(fd, NULL, NULL)) < 0)
		die("no sha256: %m");
	return fd;
}

static void print_sha256(const struct list *list, size_t from, size_t to)
{
	static int fd = -1;
	unsigned char digest[SHA256_BYTES];
	FILE *text;
	char *bytes = NULL;
	size_t length = 0;

	if (fd < 0)
		fd = open_sha256();
	text = open_memstream(&bytes, &length);
	for (size_t i = from; i < to; i++)
		fprintf(text, "%s\n", list->lines[i]);
	fclose(text);
	for (size_t sent = 0, part; sent < length; sent += part) {
		part = length - sent < 32768 ? length - sent : 32768;
		if (send(fd, bytes + sent, part, MSG_MORE) != (ssize_t)part)
			die("sha256: %m");
	}
	free(bytes);
	if (send(fd, NULL, 0, 0) || read(fd, digest, sizeof(digest)) != sizeof(digest))
		die("sha256: %m");
	for (int i = 0; i < SHA256_BYTES; i++)
		fprintf(console, "%02x", digest[i]);
	fputs("\n", console);
}

/* ---- Symbols ------------------------------------------------------------------------------ */

static void list_add(struct list *list, char *line)
{
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 1024;
		list->lines = grown(list->lines, list->room * sizeof(list->lines[0]));
	}
	list->lines[list->count++] = line;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_list(const char *name, struct list *list)
{
	qsort(list->lines, list->count, sizeof(list->lines[0]), compare_lines);
	for (size_t from = 0; from < list->count; from += CHUNK) {
		size_t to = from + CHUNK < list->count ? from + CHUNK : list->count;

		fprintf(console, "truth: symbols %s %zu %zu ", name, from, to);
		print_sha256(list, from, to);
	}
	fprintf(console, "truth: symbols-all %s %zu ", name, list->count);
	print_sha256(list, 0, list->count);
	for (size_t i = 0; i < list->count; i += SHOWN_EVERY)
		fprintf(console, "truth: symbol %s\n", list->lines[i]);
}

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t start\t[module]" */
static void print_symbols(void)
{
	struct list kernel = { NULL, 0, 0 }, text = { NULL, 0, 0 }, modules = { NULL, 0, 0 };
	char line[1024], address[32], name[640], module[128], type, *copy;
	FILE *file = fopen("/proc/kallsyms", "r");

	if (!file)
		die("/proc/kallsyms: %m");
	while (fgets(line, sizeof(line), file)) {
		int fields = sscanf(line, "%31s %c %639s %127s", address, &type, name, module);

		if (fields < 3 || asprintf(&copy, "%s %s%s%s", address, name, fields > 3 ? " " : "",
					   fields > 3 ? module : "") < 0)
			die("a line of /proc/kallsyms: %s", line);
		list_add(fields > 3 ? &modules : &kernel, copy);
		if (fields == 3 && strchr("tTwW", type))
			list_add(&text, copy);
	}
	fclose(file);
	print_list("kernel", &kernel);
	print_list("text", &text);
	print_list("modules", &modules);
}

/* ---- Build-ids ---------------------------------------------------------------------------- */

/* Prints the GNU build-id in `notes`, a sequence of ELF notes. */
static void print_build_id(const char *what, const unsigned char *notes, size_t length)
{
	Elf64_Nhdr note;

	for (size_t at = 0; at + sizeof(note) <= length;) {
		size_t name = at + sizeof(note), data;

		memcpy(&note, notes + at, sizeof(note));
		data = name + ((note.n_namesz + 3UL) & ~3UL);
		at = data + ((note.n_descsz + 3UL) & ~3UL);
		if (at > length)
			return;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4))
			continue;
		fprintf(console, "truth: build-id %s ", what);
		for (size_t i = 0; i < note.n_descsz; i++)
			fprintf(console, "%02x", notes[data + i]);
		fputs("\n", console);
		return;
	}
}

static void print_notes_file(const char *what, const char *path)
{
	unsigned char notes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, notes, sizeof(notes));

	if (length > 0)
		print_build_id(what, notes, length);
	if (fd >= 0)
		close(fd);
}

static void print_elf_notes(const char *path, const unsigned char *file, size_t size)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(file + header->e_phoff);

	if (size < sizeof(*header) || memcmp(file, ELFMAG, SELFMAG) || header->e_phoff >= size ||
	    (size - header->e_phoff) / sizeof(*segment) < header->e_phnum)
		return;
	for (int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_NOTE && segment[i].p_offset < size &&
		    segment[i].p_filesz <= size - segment[i].p_offset)
			print_build_id(path, file + segment[i].p_offset, segment[i].p_filesz);
}

static void print_elf_file(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *file;

	if (fd < 0)
		return;
	if (!fstat(fd, &status) && status.st_size > 0) {
		file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			print_elf_notes(path, file, status.st_size);
			munmap(file, status.st_size);
		}
	}
	close(fd);
}

/* ---- Modules, processes --------------------------------------------------------------------- */

/* Calls print(name) for each entry of a folder, except those that begin with a dot. */
static void for_each_entry(const char *folder, void (*print)(const char *name))
{
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (entry->d_name[0] != '.')
			print(entry->d_name);
	if (entries)
		closedir(entries);
}

static void print_module(const char *name)
{
	char path[512], what[300];

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	snprintf(what, sizeof(what), "[%s]", name);
	print_notes_file(what, path);
}

static void print_file_lines(const char *word, const char *path)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		fprintf(console, "truth: %s %s", word, line);
	if (file)
		fclose(file);
}

static bool is_number(const char *name)
{
	return name[strspn(name, "0123456789")] == '\0';
}

/* Prints a file's build-id once, however many processes map the file. */
static void print_mapped(const char *path)
{
	static char *printed[MAX_FILES];
	static int count;

	for (int i = 0; i < count; i++)
		if (!strcmp(printed[i], path))
			return;
	if (count == MAX_FILES)
		die("more than %d files are mapped", MAX_FILES);
	printed[count++] = strdup(path);
	print_elf_file(path);
}

static void print_files_of(const char *maps)
{
	char line[4096], path[2048];
	FILE *file = fopen(maps, "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %*s %2047s", path) == 1 && path[0] == '/')
			print_mapped(path);
	if (file)
		fclose(file);
}

/* The thread's name may contain any character. It ends before the last ")". */
static void print_task(const char *pid, const char *tid)
{
	char path[600], line[1024], *open, *close;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/stat", pid, tid);
	file = fopen(path, "r");
	if (file && fgets(line, sizeof(line), file) && (open = strchr(line, '(')) &&
	    (close = strrchr(line, ')')))
		fprintf(console, "truth: task %s %s %c %d %.*s\n", pid, tid, close[2],
			atoi(close + 4), (int)(close - open - 1), open + 1);
	if (file)
		fclose(file);
}

static void print_process(const char *pid)
{
	char path[300], word[300];
	DIR *threads;
	struct dirent *thread;

	if (!is_number(pid))
		return;
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads)))
		if (is_number(thread->d_name))
			print_task(pid, thread->d_name);
	if (threads)
		closedir(threads);
	/* This program has ended when its output is compared. */
	if (atoi(pid) == getpid())
		return;
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	snprintf(word, sizeof(word), "maps %s", pid);
	print_file_lines(word, path);
	print_files_of(path);
}

int main(void)
{
	struct utsname system;

	/* A high priority, as half a million lines are sorted while the other programs run. */
	setpriority(PRIO_PROCESS, 0, -20);
	console = fopen("/dev/console", "w");
	if (!console || uname(&system))
		return 1;
	fprintf(console, "truth: uname %s %s\n", system.release, system.version);
	print_file_lines("cmdline", "/proc/cmdline");
	print_notes_file("kernel", "/sys/kernel/notes");
	print_symbols();
	print_file_lines("module", "/proc/modules");
	for_each_entry("/sys/module", print_module);
	for_each_entry("/proc", print_process);
	fputs("truth: end\n", console);
	return fclose(console) ? 1 : 0;
}
