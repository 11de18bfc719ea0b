/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Oops decoding; see addr2line.h. The whole text is read first: the line that tells by how much the
 * kernel was moved is one of the last. Then all places are asked for, and looked up by another
 * process (line_client.h); then the text is printed:
 *
 *	[   12.3]  tcp_sendmsg_locked+0x64/0xd40
 *	    sockcm_init (inlined)         include/net/sock.h:2010
 *	    tcp_sendmsg_locked            net/ipv4/tcp.c:1294
 *
 * An entry of a call trace is a return address, which may lie on the next line or in another
 * inlined function. So the byte before the address is looked up, as for a profile.
 */
#include "config.h"

#include "run/addr2line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/base/vector.h"
#include "xtop/linux/oops.h"
#include "xtop/symbol/symbol.h"

#define ADDR2LINE_MAX_BYTES  (16U << 20)
#define ADDR2LINE_MAX_PLACES LINE_MAX_PLACES
#define ADDR2LINE_WAIT_S     120
#define ADDR2LINE_KERNEL     "[kernel]"
#define ADDR2LINE_REFUSED                                                                          \
	"%zu places are not understood: a number is damaged, the name is longer than Linux "       \
	"allows, or the line or the text has too many"

/* A place in the text, and what the guest's symbols say about it. */
struct addr2line_place {
	size_t line; /* index of the line of text that names the place */
	struct oops_place oops;
	bool by_address; /* the text has an address and no symbol */
	uint32_t file;   /* the debug file, as line_client_find_named() returns it; 0: none */
};

struct addr2line {
	const struct addr2line_settings *settings;
	char **lines;
	size_t n_lines, lines_capacity, bytes;
	uint64_t offset; /* the distance by which the kernel was moved when it was loaded */
	struct addr2line_place *places;
	size_t n_places, places_capacity;
	size_t n_found; /* places whose line was found */
	size_t n_named; /* places without a line that were addresses and have got a name */
	size_t n_refused; /* places that were not understood, or exceeded a limit */
};

/* --- files ------------------------------------------------------------------------------------ */

/* Makes "[nf_tables]" of .../nf-tables.ko.debug, and "[kernel]" of other files. */
static void addr2line_name_file(const char *path, char *name, size_t capacity)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *end = strstr(base, ".ko");

	if (!end || (size_t)(end - base) + 3 > capacity) {
		snprintf(name, capacity, ADDR2LINE_KERNEL);
		return;
	}
	snprintf(name, capacity, "[%.*s]", (int)(end - base), base);
	for (char *at = name; *at; at++)
		if (*at == '-')
			*at = '_';
}

struct xtop_error *addr2line_add_file(const struct host_files *files, struct symbols *symbols,
				      const char *path)
{
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	char name[80];
	bool is_pipe;

	error = inputs_open_copy(files->inputs, path, SYMBOL_FILE_MAX_BYTES, &fd, &is_pipe);
	if (error)
		return error_wrap(error, "%s", path);
	addr2line_name_file(path, name, sizeof(name));
	if (!line_client_add_file(files->lines, fd, -1, name, NULL, 0))
		return error_create("%s: too many files", path);
	/* A module has no addresses before it is loaded. */
	if (strcmp(name, ADDR2LINE_KERNEL) != 0)
		return NULL;
	return symbols_add_file(symbols, files, path);
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct xtop_error *addr2line_read(struct addr2line *work, FILE *in)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	while ((length = getline(&line, &capacity, in)) > 0) {
		char *clean = malloc((size_t)length + 1);

		work->bytes += (size_t)length;
		if (work->bytes > ADDR2LINE_MAX_BYTES) {
			free(clean);
			return error_create("more than %u MiB on stdin: an oops is shorter",
					    ADDR2LINE_MAX_BYTES >> 20);
		}
		if (!clean ||
		    !vector_reserve(work->lines, work->lines_capacity, work->n_lines + 1)) {
			free(clean);
			return error_create("out of memory");
		}
		line[strcspn(line, "\r\n")] = '\0';
		for (char *tab = line; (tab = strchr(tab, '\t'));)
			*tab = ' ';
		text_clean(clean, (size_t)length + 1, line, strlen(line));
		work->lines[work->n_lines++] = clean;
	}
	return ferror(in) ? error_create_errno(errno, "cannot read stdin") : NULL;
}

static struct xtop_error *addr2line_add_places(struct addr2line *work, size_t line)
{
	struct oops_place found[OOPS_MAX_PLACES];
	size_t n = oops_find_places(work->lines[line], found, &work->n_refused);

	oops_find_offset(work->lines[line], &work->offset);
	for (size_t i = 0; i < n; i++) {
		if (work->n_places == ADDR2LINE_MAX_PLACES) {
			work->n_refused++;
			continue;
		}
		if (!vector_reserve(work->places, work->places_capacity, work->n_places + 1))
			return error_create("out of memory");
		work->places[work->n_places++] =
			(struct addr2line_place){ .line = line,
						  .oops = found[i],
						  .by_address = !found[i].symbol[0] };
	}
	return NULL;
}

/* --- looking up ------------------------------------------------------------------------------- */

/*
 * Finds the symbol that the address lies in. False: the address lies in no known symbol, as the
 * values of most registers.
 */
static bool addr2line_find_symbol(const struct addr2line *work, struct oops_place *oops)
{
	const struct addr2line_settings *settings = work->settings;
	uint64_t address = oops->address - (settings->linked ? work->offset : 0);
	const struct mapping *mapping;
	struct symtab_entry entry;

	if (!settings->kernel ||
	    !space_find_symbol(settings->kernel, address, &entry, &mapping) || !mapping)
		return false;
	snprintf(oops->symbol, sizeof(oops->symbol), "%s", entry.name);
	snprintf(oops->module, sizeof(oops->module), "%s", mapping->image->name);
	if (oops->module[0] == '[' && strcmp(oops->module, ADDR2LINE_KERNEL) != 0) {
		memmove(oops->module, oops->module + 1, strlen(oops->module));
		oops->module[strcspn(oops->module, "]")] = '\0';
	} else {
		oops->module[0] = '\0';
	}
	/* The entry has the guest's addresses: the space has converted those of the image. */
	oops->address = address - entry.start;
	oops->size_bytes = entry.end - entry.start;
	return true;
}

/* What is asked of the debug file. */
static struct line_place addr2line_line_place(const struct oops_place *oops)
{
	struct line_place place = { .address = oops->address - (!oops->exact && oops->address > 0),
				    .size_bytes = oops->size_bytes };

	snprintf(place.symbol, sizeof(place.symbol), "%s", oops->symbol);
	return place;
}

static void addr2line_ask(struct addr2line *work, struct addr2line_place *place)
{
	struct line_client *lines = work->settings->files->lines;
	struct oops_place *oops = &place->oops;
	struct line_place asked;
	struct line_answer answer;
	char name[80];

	if (place->by_address && !addr2line_find_symbol(work, oops))
		return;
	snprintf(name, sizeof(name), "[%s]", oops->module[0] ? oops->module : "kernel");
	place->file = line_client_find_named(lines, name);
	asked = addr2line_line_place(oops);
	line_client_find(lines, place->file, &asked, true, &answer);
}

/* --- printing --------------------------------------------------------------------------------- */

#define ADDR2LINE_INDENT 8
#define ADDR2LINE_NAME   40 /* cells */

static void addr2line_print_frame(const struct line_frame *frame, bool inlined, const char *symbol,
				  FILE *out)
{
	_cleanup_free_ char *demangled = symbol_demangle(frame->function);
	const char *name = demangled          ? demangled
			   : *frame->function ? frame->function
					      : symbol;
	char whole[DEMANGLE_MAX_BYTES + 16], text[2 * LINE_TEXT_BYTES], file[LINE_TEXT_BYTES];

	snprintf(whole, sizeof(whole), "%s%s", name, inlined ? " (inlined)" : "");
	text_clean(text, sizeof(text), whole, strlen(whole));
	text_clean(file, sizeof(file), frame->file, strlen(frame->file));
	if (frame->line)
		fprintf(out, "%*s%-*s %s:%u\n", ADDR2LINE_INDENT, "", ADDR2LINE_NAME, text, file,
			frame->line);
	else
		fprintf(out, "%*s%s\n", ADDR2LINE_INDENT, "", text);
}

static void addr2line_print_place(struct addr2line *work, const struct addr2line_place *place,
				  FILE *out)
{
	const struct oops_place *oops = &place->oops;
	const struct line_place asked = addr2line_line_place(oops);
	struct line_answer answer = { 0 };

	if (!oops->symbol[0])
		return;
	if (place->by_address)
		fprintf(out, "%*s= %s+0x%llx/0x%llx%s%s%s\n", ADDR2LINE_INDENT - 2, "",
			oops->symbol, (unsigned long long)oops->address,
			(unsigned long long)oops->size_bytes, oops->module[0] ? " [" : "",
			oops->module, oops->module[0] ? "]" : "");
	if (line_client_find(work->settings->files->lines, place->file, &asked, false, &answer) !=
		    LINE_KNOWN ||
	    !answer.n) {
		work->n_named += place->by_address;
		return;
	}
	work->n_found++;
	for (unsigned i = 0; i < answer.n; i++) {
		struct line_frame frame = answer.frames[i];
		bool last = i + 1 == answer.n;

		if (!work->settings->inlined)
			frame.function = answer.frames[answer.n - 1].function;
		addr2line_print_frame(&frame, !last && work->settings->inlined, oops->symbol, out);
		if (!work->settings->inlined)
			break;
	}
}

static void addr2line_print(struct addr2line *work, FILE *out)
{
	size_t next = 0;

	for (size_t i = 0; i < work->n_lines; i++) {
		fprintf(out, "%s\n", work->lines[i]);
		for (; next < work->n_places && work->places[next].line == i; next++)
			addr2line_print_place(work, &work->places[next], out);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static size_t addr2line_count_named(const struct addr2line *work)
{
	size_t n = 0;

	for (size_t i = 0; i < work->n_places; i++)
		n += work->places[i].oops.symbol[0] != '\0';
	return n;
}

/*
 * Reports how many places have no line, and why that may be. An error if no place has one.
 * Registers may hold addresses of the kernel: their names do not count in a trace that has symbols.
 */
static struct xtop_error *addr2line_judge(const struct addr2line *work)
{
	size_t n = addr2line_count_named(work);
	struct line_client_progress progress;
	char note[320], message[sizeof(progress.message)];

	if (work->n_refused && work->settings->report) {
		snprintf(note, sizeof(note), ADDR2LINE_REFUSED, work->n_refused);
		work->settings->report(note);
	}
	if (n < work->n_places && work->settings->report) {
		snprintf(note, sizeof(note),
			 "%zu addresses lie in no known symbol: they are data, or code that no "
			 "file of -k names",
			 work->n_places - n);
		work->settings->report(note);
	}
	line_client_get_progress(work->settings->files->lines, &progress);
	text_clean(message, sizeof(message), progress.message, strlen(progress.message));
	if (progress.message[0] && work->settings->report)
		work->settings->report(message);
	if (n > work->n_named && !work->n_found)
		return error_create("no line is known of any of the %zu places: give the debug "
				    "file of this very kernel with -k or --debug-dir",
				    n);
	snprintf(note, sizeof(note),
		 "%zu of %zu places have no lines: their module's debug file was not given, or is "
		 "of another build",
		 n - work->n_found - work->n_named, n);
	if (work->n_found + work->n_named < n && work->settings->report)
		work->settings->report(note);
	return NULL;
}

static void addr2line_deinit(struct addr2line *work)
{
	for (size_t i = 0; i < work->n_lines; i++)
		free(work->lines[i]);
	free(work->lines);
	free(work->places);
}

struct xtop_error *addr2line_run(const struct addr2line_settings *settings, FILE *in, FILE *out)
{
	_cleanup_(addr2line_deinit) struct addr2line work = { .settings = settings };
	struct xtop_error *error = addr2line_read(&work, in);

	for (size_t i = 0; i < work.n_lines && !error; i++)
		error = addr2line_add_places(&work, i);
	if (error)
		return error;
	for (size_t i = 0; i < work.n_places; i++)
		addr2line_ask(&work, &work.places[i]);
	if (!addr2line_count_named(&work) && work.n_refused)
		return error_create("no place is understood: " ADDR2LINE_REFUSED, work.n_refused);
	if (!addr2line_count_named(&work))
		return error_create(
			"there is no oops or call trace on stdin: "
			"no symbol+0x12/0x80, and no address in the kernel's code");
	line_client_wait(settings->files->lines, ADDR2LINE_WAIT_S);
	addr2line_print(&work, out);
	if (fflush(out) == EOF)
		return error_create_errno(errno, "cannot write the trace");
	return addr2line_judge(&work);
}
