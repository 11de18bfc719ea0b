/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols out of text. Main's thread, before sampling starts. One pass over a stream, which may be
 * a pipe; only the table takes memory.
 *
 * A line is what nm prints, and the kernel's build and /proc/kallsyms after it (binutils nm(1);
 * Linux 6.1 scripts/mksysmap, kernel/kallsyms.c s_show()):
 *
 *   nm, nm -n, System.map   ffffffff81000000 T _stext
 *   nm -S                   0000000000001139 000000000000002a T main
 *   nm -C                   0000000000001139 T ns::f(int, char)
 *   nm -l                   0000000000001139 T main<tab>/src/main.c:7
 *   nm, undefined                            U printf
 *   kallsyms                ffffffffc0a01000 t nf_hook<tab>[nf_tables]
 *
 *   T t  code             a function
 *   W w  weak             a function or data; with an address it is taken for a function
 *   i    GNU ifunc        a function
 *   A a  absolute         a number, not an address: left out
 *   else data             not a name for code; a function before it ends there
 *
 * So we determine the end of a function without size by the next symbol of any kind; `_etext` ends
 * the last one. kallsyms lists modules, too. Their names keep "\t[module]" after them, because
 * ends can only be determined with all symbols in one table.
 */
#include "config.h"

#include "xtop/symbol/symbol.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbol/alias.h"
#include "xtop/base/cleanup.h"

#define NM_BUFFER_BYTES (64U << 10)
#define NM_MIN_DIGITS   8 /* digits of an address, as nm pads it: other text has no such numbers */
#define NM_MAX_DIGITS   16

struct nm_line {
	uint64_t address, size_bytes;
	bool defined; /* has an address */
	char type;
	const char *name; /* the symbol's name, and "\t[module]" if it has one */
	size_t name_bytes;
};

struct nm_reader {
	const char *path;
	struct symtab *tab;
	uint64_t lines, bad_lines; /* an empty line is neither */
	uint64_t functions, nonzero;
	uint64_t bytes;
};

static unsigned nm_digit(char digit)
{
	return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* A hexadecimal number of 8 to 16 digits at *CURSOR, and the blanks after it. */
static bool nm_parse_hex(const char **cursorp, const char *end, uint64_t *valuep)
{
	const char *cursor = *cursorp;
	unsigned digits = 0;
	uint64_t value = 0;

	if (end - cursor > 2 && cursor[0] == '0' && (cursor[1] == 'x' || cursor[1] == 'X'))
		cursor += 2;
	for (; cursor < end && isxdigit((unsigned char)*cursor); cursor++, digits++) {
		if (digits == NM_MAX_DIGITS)
			return false;
		value = value << 4 | nm_digit(*cursor);
	}
	if (digits < NM_MIN_DIGITS || cursor == end || *cursor != ' ')
		return false;
	while (cursor < end && *cursor == ' ')
		cursor++;
	*cursorp = cursor;
	*valuep = value;
	return true;
}

/*
 * The name ends at a tab. After the tab, a module belongs to the name; the source line of nm -l
 * does not.
 */
static size_t nm_name_bytes(const char *name, const char *end)
{
	const char *tab = memchr(name, '\t', end - name);

	if (!tab || (end - tab > 3 && tab[1] == '[' && end[-1] == ']'))
		return symbol_name_bytes(name, end - name);
	return symbol_name_bytes(name, tab - name);
}

static bool nm_parse_line(const char *text, const char *end, struct nm_line *line)
{
	const char *cursor = text;

	*line = (struct nm_line){ 0 };
	while (end > text && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
		end--;
	line->defined = nm_parse_hex(&cursor, end, &line->address);
	if (line->defined)
		nm_parse_hex(&cursor, end, &line->size_bytes);
	else
		while (cursor < end && *cursor == ' ')
			cursor++;
	if (!line->defined && cursor - text < NM_MIN_DIGITS) /* nm leaves its columns blank */
		return false;
	if (end - cursor < 3 || !isgraph((unsigned char)*cursor) || cursor[1] != ' ')
		return false;
	line->type = *cursor;
	line->name = cursor + 2;
	line->name_bytes = nm_name_bytes(line->name, end);
	return line->name_bytes > 0;
}

enum symbol_kind symbol_nm_kind(char type, enum symbol_rank *rankp)
{
	switch (type) {
	case 'A':
	case 'a':
	case 'U':
	case '-': /* a.out debugging entry: also a number */
	case 'N':
		return SYMBOL_NUMBER;
	case 'T':
	case 'i':
		*rankp = SYMBOL_GLOBAL;
		return SYMBOL_CODE;
	case 'W':
	case 'w':
		*rankp = SYMBOL_WEAK;
		return SYMBOL_CODE;
	case 't':
		*rankp = SYMBOL_LOCAL;
		return SYMBOL_CODE;
	default:
		return SYMBOL_BOUND;
	}
}

/*
 * Whether a symbol of ARM only tells code from data, and is no function: "$x", "$d.7" (ELF for the
 * Arm 64-bit Architecture, 5.5.4, "Mapping symbols").
 */
static bool nm_is_mark(const struct nm_line *line)
{
	return line->name_bytes >= 2 && line->name[0] == '$' && strchr("adtx", line->name[1]) &&
	       (line->name_bytes == 2 || line->name[2] == '.');
}

static struct xtop_error *nm_add(struct nm_reader *reader, const struct nm_line *line)
{
	enum symbol_rank rank;

	if (nm_is_mark(line))
		return NULL;
	switch (symbol_nm_kind(line->type, &rank)) {
	case SYMBOL_NUMBER:
		return NULL;
	case SYMBOL_BOUND:
		return symtab_add_bound(reader->tab, line->address);
	case SYMBOL_CODE:
		break;
	}
	reader->functions++;
	reader->nonzero += line->address != 0;
	return symtab_add(reader->tab,
			  &(struct symbol_definition){ .start = line->address,
						       .size_bytes = line->size_bytes,
						       .rank = rank,
						       .name = line->name,
						       .name_bytes = line->name_bytes });
}

/* TEXT to END is a line without its newline. */
static struct xtop_error *nm_add_line(struct nm_reader *reader, const char *text, const char *end)
{
	struct nm_line line;

	/* a byte order mark, as editors of other systems write it */
	if (!reader->lines && !reader->bad_lines && end - text >= 3 &&
	    !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	if (end == text || (end == text + 1 && *text == '\r'))
		return NULL;
	if (!nm_parse_line(text, end, &line)) {
		reader->bad_lines++;
		return NULL;
	}
	reader->lines++;
	return line.defined ? error_wrap(nm_add(reader, &line), "%s", reader->path) : NULL;
}

static struct xtop_error *nm_fill(struct nm_reader *reader, int fd, char *buffer, size_t *usedp,
				  bool *endp)
{
	ssize_t got;

	do
		got = read(fd, buffer + *usedp, NM_BUFFER_BYTES - *usedp);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_create_errno(errno, "%s: cannot be read", reader->path);
	*endp = got == 0;
	*usedp += got;
	reader->bytes += got;
	if (reader->bytes > SYMBOL_FILE_MAX_BYTES)
		return error_create("%s: more than %u MiB of text", reader->path,
				    SYMBOL_FILE_MAX_BYTES >> 20);
	return NULL;
}

/*
 * Adds the whole lines in BUFFER, which has *USEDP bytes, and moves the rest to its beginning. A
 * line longer than the buffer is cut, far beyond the limit of any name; *SKIP then says that the
 * rest of that line is still to come.
 */
static struct xtop_error *nm_add_lines(struct nm_reader *reader, char *buffer, size_t *usedp,
					bool *skip)
{
	char *text = buffer, *end = buffer + *usedp, *line_end;
	struct xtop_error *error = NULL;

	while (!error && (line_end = memchr(text, '\n', end - text))) {
		if (!*skip)
			error = nm_add_line(reader, text, line_end);
		*skip = false;
		text = line_end + 1;
	}
	if (!error && (*skip || (text == buffer && *usedp == NM_BUFFER_BYTES))) {
		if (!*skip)
			error = nm_add_line(reader, text, end);
		*skip = true;
		text = end;
	}
	*usedp = end - text;
	memmove(buffer, text, *usedp);
	return error;
}

static struct xtop_error *nm_read(struct nm_reader *reader, int fd)
{
	_cleanup_free_ char *buffer = malloc(NM_BUFFER_BYTES);
	struct xtop_error *error = NULL;
	bool end = false, skip = false;
	size_t used = 0;

	if (!buffer)
		return error_create("%s: out of memory", reader->path);
	while (!error && !end) {
		error = nm_fill(reader, fd, buffer, &used, &end);
		if (!error)
			error = nm_add_lines(reader, buffer, &used, &skip);
	}
	if (!error && used) /* the last line has no end */
		error = nm_add_line(reader, buffer, buffer + used);
	return error;
}

struct xtop_error *symbol_read_nm(int fd, const char *path, struct symtab *tab)
{
	struct nm_reader reader = { .path = path, .tab = tab };
	struct xtop_error *error = nm_read(&reader, fd);

	if (error)
		return error;
	if (!reader.lines || reader.bad_lines > reader.lines)
		return error_create(
			"%s: neither ELF nor symbol text (nm, System.map, /proc/kallsyms)%s", path,
			reader.bytes ? "" : ": it is empty");
	if (!reader.functions)
		return error_create("%s: no functions in it: they are the lines of type T and t, "
				    "which nm has of an unstripped file",
				    path);
	if (!reader.nonzero)
		return error_create("%s: all addresses are 0: /proc/kallsyms hides them "
				    "(kptr_restrict), copy it as root in the guest",
				    path);
	return NULL;
}
