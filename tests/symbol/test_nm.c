/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbol text of all kinds, through a pipe, as the reader may get it. */
#include "config.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/symbol/symbol.h"

struct writer {
	int fd;
	const char *text;
	size_t bytes;
};

static void *write_all(void *opaque)
{
	struct writer *writer = opaque;
	ssize_t put;

	for (size_t at = 0; at < writer->bytes; at += put)
		if ((put = write(writer->fd, writer->text + at, writer->bytes - at)) <= 0)
			break;
	close(writer->fd);
	return NULL;
}

/* Reads TEXT from a pipe into a sealed table. NULL: it was refused, and MESSAGE tells why. */
static struct symtab *read_text(const char *text, size_t bytes, char *message, size_t capacity)
{
	struct symtab *tab = NULL;
	struct xtop_error *error;
	struct writer writer;
	pthread_t thread;
	int fds[2];

	*message = '\0';
	if (pipe(fds) || symtab_create(&tab))
		exit(99);
	writer = (struct writer){ fds[1], text, bytes };
	if (pthread_create(&thread, NULL, write_all, &writer))
		exit(99);
	error = symbol_read_nm(fds[0], "some.map", tab);
	close(fds[0]);
	pthread_join(thread, NULL);
	if (!error)
		error = symtab_seal(tab);
	if (!error)
		return tab;
	snprintf(message, capacity, "%s", error_message(error));
	error_destroy(error);
	symtab_destroy(tab);
	return NULL;
}

static char message[512];

/* What the table holds, as "start-end name;". */
static const char *dump(const struct symtab *tab)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		used += snprintf(text + used, sizeof(text) - used, "%" PRIx64 "-%" PRIx64 " %s;",
				 entry.start, entry.end, entry.name);
	}
	return text;
}

static void check_text(const char *what, const char *text, const char *wanted)
{
	struct symtab *tab = read_text(text, strlen(text), message, sizeof(message));

	if (tab)
		check_string(dump(tab), wanted, what);
	else
		check(false, "%s: refused: %s", what, message);
	symtab_destroy(tab);
}

static void check_refused(const char *what, const char *text, const char *wanted)
{
	struct symtab *tab = read_text(text, strlen(text), message, sizeof(message));

	check(!tab && strstr(message, wanted) && strncmp(message, "some.map: ", 10) == 0,
	      "%s: \"%s\" (expected \"some.map: ...%s\")", what, message, wanted);
	symtab_destroy(tab);
}

static void test_variants(void)
{
	check_text("a byte order mark, and marks of ARM",
		   "\xef\xbb\xbf"
		   "ffffffff81000000 T f\nffffffff81000000 t $x\n"
		   "ffffffff81000020 t $d.7\nffffffff81000040 T g\nffffffff81000060 T $xyz\n"
		   "ffffffff81000080 D data\n",
		   "ffffffff81000000-ffffffff81000040 f;ffffffff81000040-ffffffff81000060 g;"
		   "ffffffff81000060-ffffffff81000080 $xyz;");
	check_text(
		"System.map",
		"ffffffff81000000 T _stext\n"
		"ffffffff81000040 t helper\n"
		"ffffffff81000050 W weak\n"
		"ffffffff81000060 i ifunc\n"
		"ffffffff81000080 T _etext\n",
		"ffffffff81000000-ffffffff81000040 _stext;ffffffff81000040-ffffffff81000050 helper;"
		"ffffffff81000050-ffffffff81000060 weak;ffffffff81000060-ffffffff81000080 ifunc;");
	check_text("data bounds text, absolute does not, the order does not matter",
		   "0000000000002000 d table\n"
		   "0000000000003000 T last\n"
		   "0000000000001000 T first\n"
		   "0000000000001800 A __crc_x\n"
		   "0000000000003040 B bss\n",
		   "1000-2000 first;3000-3040 last;");
	check_text("nm -S",
		   "0000000000001139 000000000000002a T main\n"
		   "0000000000001200 t label\n"
		   "0000000000001300 0000000000000008 D data\n",
		   "1139-1163 main;1200-1300 label;");
	check_text("nm: undefined",
		   "                 U printf\n"
		   "                 w __gmon_start__\n"
		   "0000000000001000 T f\n"
		   "0000000000001010 r x\n",
		   "1000-1010 f;");
	check_text("nm of a library",
		   "0000000000001000 T f@@V_1.0\n0000000000001010 T f@V_0.9\n"
		   "0000000000001020 R x@@V_1.0\n",
		   "1000-1010 f;1010-1020 f@V_0.9;");
	check_text("nm -C", "0000000000001000 T ns::f(int, char const*)\n0000000000001010 r x\n",
		   "1000-1010 ns::f(int, char const*);");
	check_text("nm -l", "0000000000001000 T f\t/src/f.c:7\n0000000000001010 r x\n",
		   "1000-1010 f;");
	check_text(
		"kallsyms",
		"ffffffff81000000 T a\n"
		"ffffffff81000010 D data\n"
		"ffffffffc0000000 t f\t[mod]\n"
		"ffffffffc0000020 d g\t[mod]\n",
		"ffffffff81000000-ffffffff81000010 a;ffffffffc0000000-ffffffffc0000020 f\t[mod];");
	check_text("CRLF, blanks, empty lines, no end of the last line",
		   "0000000000001000 T f\r\n\r\n\n0000000000001010 T g  \r\n0000000000001020 r x",
		   "1000-1010 f;1010-1020 g;");
	check_text("0x and 8 digits", "0x00001000 T f\n00001010 T g\n00001020 b x\n",
		   "1000-1010 f;1010-1020 g;");
	check_text("some lines are something else",
		   "f.o:\n\n0000000000001000 T f\n0000000000001010 b x\nnm: g.o: no symbols\n",
		   "1000-1010 f;");
}

static void test_refused(void)
{
	check_refused("empty", "",
		      "neither ELF nor symbol text (nm, System.map, /proc/kallsyms): it is empty");
	check_refused("prose", "It was a dark and stormy night;\nthe rain fell in torrents.\n",
		      "neither ELF nor symbol");
	check_refused("numbers", "12345678 23456789\n12345678 23456789\n",
		      "neither ELF nor symbol text");
	check_refused("too many digits", "00000000000001000 T f\n", "neither ELF nor symbol text");
	check_refused("too few digits", "1000 T f\n", "neither ELF nor symbol text");
	check_refused("no name", "0000000000001000 T\n0000000000001000 T \n",
		      "neither ELF nor symbol text");
	check_refused("mostly garbage", "0000000000001000 T f\nx\ny\n",
		      "neither ELF nor symbol text");
	check_refused("no functions", "0000000000001000 D x\n                 U f\n",
		      "no functions in it");
	check_refused("kptr_restrict",
		      "0000000000000000 T a\n0000000000000000 t b\n0000000000000000 D c\n",
		      "all addresses are 0: /proc/kallsyms hides them (kptr_restrict)");
}

/* Lines longer than any buffer: the name is cut, and the lines after it are read as ever. */
static void test_long_lines(void)
{
	const char *head = "0000000000001000 T ",
		   *tail = "\n0000000000001010 T g\n0000000000001020 b x\n";
	size_t name_bytes = 300000, bytes = strlen(head) + name_bytes + strlen(tail);
	_cleanup_free_ char *text = malloc(bytes + 1);
	struct symtab *tab;

	if (!text)
		exit(99);
	strcpy(text, head);
	memset(text + strlen(head), 'n', name_bytes);
	strcpy(text + strlen(head) + name_bytes, tail);
	tab = read_text(text, bytes, message, sizeof(message));
	check(tab != NULL, "a line of 300,000 bytes is read: %s", message);
	if (!tab)
		return;
	check_u64(symtab_count(tab), 2, "functions of a text with a line of 300,000 bytes");
	check_u64(strlen(symtab_at(tab, 0).name), SYMTAB_MAX_NAME_BYTES,
		  "length of a name that is cut");
	check_u64(symtab_at(tab, 0).end, 0x1010, "end of the function with a long name");
	check_string(symtab_at(tab, 1).name, "g", "function after the line of 300,000 bytes");
	symtab_destroy(tab);
}

/* Whole kernels: every line counts, wherever the buffer's end cuts it. */
static void test_many_lines(void)
{
	size_t n = 100000, used = 0, wrong = 0;
	_cleanup_free_ char *text = malloc(n * 40);
	struct symtab *tab;

	if (!text)
		exit(99);
	for (size_t i = 0; i < n; i++)
		used += sprintf(text + used, "%016zx t f%.*s%zu\n", 0x1000 + 16 * i, (int)(i % 7),
				"______", i);
	tab = read_text(text, used, message, sizeof(message));
	check(tab && symtab_count(tab) == n, "%zu lines, %zu functions: %s", n,
	      tab ? symtab_count(tab) : 0, message);
	for (size_t i = 0; tab && i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);
		char name[32];

		snprintf(name, sizeof(name), "f%.*s%zu", (int)(i % 7), "______", i);
		wrong += entry.start != 0x1000 + 16 * i || strcmp(entry.name, name) != 0;
	}
	check_u64(wrong, 0, "wrong functions of a long text");
	symtab_destroy(tab);
}

/* Bytes that are no text at all, NULs included, and every prefix of a good file. */
static void test_hostile(void)
{
	static const char good[] =
		"0000000000001000 0000000000000010 T f\t[mod]\n                 U g\n";
	char text[4096];
	unsigned accepted = 0, wrong = 0;
	uint32_t state = 1;

	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(text); i++) {
			state = state * 1664525 + 1013904223;
			text[i] = round % 3 ? "0123456789abcdef T\t\n[]U\r\0x"[(state >> 16) % 27]
					    : (char)(state >> 24);
		}
		struct symtab *tab = read_text(text, sizeof(text), message, sizeof(message));

		accepted += tab != NULL;
		symtab_destroy(tab);
	}
	check_u64(accepted, 0, "random texts taken for symbols");
	/* A prefix has a function if it reaches to the end of "... T f". */
	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		struct symtab *tab = read_text(good, i, message, sizeof(message));

		wrong += (tab != NULL) != (i >= 37);
		symtab_destroy(tab);
	}
	check_u64(wrong, 0, "prefixes of a good text that are read wrongly");
}

static void test_unreadable(void)
{
	struct xtop_error *error;
	struct symtab *tab;

	if (symtab_create(&tab))
		exit(99);
	error = symbol_read_nm(-1, "some.map", tab);
	check_string(error ? error_message(error) : NULL,
		     "some.map: cannot be read: Bad file descriptor",
		     "error for a file that cannot be read");
	error_destroy(error);
	symtab_destroy(tab);
}

int main(void)
{
	test_variants();
	test_refused();
	test_long_lines();
	test_many_lines();
	test_hostile();
	test_unreadable();
	return tap_done();
}
