/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof files, read back by zlib and nanopb. What other programs make of such files is tested by
 * tests/readers.
 */
#include "config.h"

#include "tests/support/pprof_message.h"
#include "tests/support/profile_stacks.h"

#include <string.h>

#include "xtop/base/build_id.h"
#include "xtop/export/export.h"

static struct frames *frames;

/* Writes SNAPSHOT as pprof and returns the message; the caller frees it. */
static unsigned char *pprof(const struct snapshot *snapshot,
			    const struct export_settings *settings, size_t *np)
{
	unsigned char *message;
	FILE *file = tmpfile();

	must(export_pprof(snapshot, settings, file));
	fflush(file);
	rewind(file);
	message = pprof_read(file, np);
	check(message, "a pprof file is whole gzip");
	fclose(file);
	return message;
}

/* --- the profile as text ---------------------------------------------------------------------- */

struct reading {
	const unsigned char *bytes;
	size_t n;
	FILE *text;
};

static void print_string(const struct reading *reading, uint64_t number)
{
	struct field string = find_field(reading->bytes, reading->n, 6, number);

	fwrite(string.bytes, 1, string.n, reading->text);
}

static struct field with_id(const struct reading *reading, uint32_t kind, uint64_t id)
{
	struct field field = { 0 };

	for (uint64_t i = 0; (field = find_field(reading->bytes, reading->n, kind, i)).bytes; i++)
		if (number_of(field, 1, 0) == id)
			break;
	return field;
}

/* "add<read(write.c line 1478)@[kernel]/": add is inlined into read. */
static void print_location(const struct reading *reading, uint64_t id)
{
	struct field location = with_id(reading, 4, id), line,
		     mapping = with_id(reading, 3, number_of(location, 2, 0));

	for (uint64_t i = 0; (line = find_field(location.bytes, location.n, 4, i)).bytes; i++) {
		struct field function = with_id(reading, 5, number_of(line, 1, 0));

		if (i)
			fputc('<', reading->text);
		print_string(reading, number_of(function, 2, 0));
		if (number_of(line, 2, 0)) {
			fputc('(', reading->text);
			print_string(reading, number_of(function, 4, 0));
			fprintf(reading->text, " line %lu)", number_of(line, 2, 0));
		}
	}
	if (mapping.bytes) {
		fputc('@', reading->text);
		print_string(reading, number_of(mapping, 5, 0));
		fputc('/', reading->text);
		print_string(reading, number_of(mapping, 6, 0));
	}
	fputc(' ', reading->text);
}

/* "process=httpd read@[kernel]/ main@prog/ 3 30000000", innermost first. */
static void print_sample(const struct reading *reading, struct field sample)
{
	struct field label;

	for (uint64_t i = 0; (label = find_field(sample.bytes, sample.n, 3, i)).bytes; i++) {
		print_string(reading, number_of(label, 1, 0));
		fputc('=', reading->text);
		print_string(reading, number_of(label, 2, 0));
		fputc(' ', reading->text);
	}
	for (unsigned i = 0; number_of(sample, 1, i); i++)
		print_location(reading, number_of(sample, 1, i));
	fprintf(reading->text, "%lu %lu", number_of(sample, 2, 0), number_of(sample, 2, 1));
	if (find_field(reading->bytes, reading->n, 1, 2).bytes) /* a third type of values */
		fprintf(reading->text, " %lu %lu", number_of(sample, 2, 2),
			number_of(sample, 2, 3));
	fputc('\n', reading->text);
}

static char *pprof_text(const struct snapshot *snapshot, const struct export_settings *settings)
{
	struct reading reading;
	unsigned char *message = pprof(snapshot, settings, &reading.n);
	struct field sample;
	char *text;
	size_t size;

	reading.bytes = message;
	reading.text = open_memstream(&text, &size);
	for (uint64_t i = 0; (sample = find_field(message, reading.n, 2, i)).bytes; i++)
		print_sample(&reading, sample);
	fclose(reading.text);
	free(message);
	return text;
}

static void check_pprof(struct snapshot *snapshot, const struct export_settings *settings,
			const char *expected, const char *what)
{
	char *text;

	snapshot->run->sampler.rate_asked_hz = 100;
	text = pprof_text(snapshot, settings);
	check_string(text, expected, what);
	free(text);
	snapshot_destroy(snapshot);
}

static void test_samples(void)
{
	static const char *const stacks[] = { "@httpd;main;.read 3", "@httpd;main 2*2.5",
					      "%t;.x 1",             "?10 1",
					      "?20 1",               "@idle 4",
					      NULL };

	check_pprof(stacks_snapshot(frames, stacks), &(struct export_settings){ 0 },
		    "process=httpd main@[kernel]/ 2 50000000\n"
		    "process=httpd read@prog/ main@[kernel]/ 3 30000000\n"
		    "x@prog/ [truncated] 1 10000000\n"
		    "[unknown]@[kernel]/ 1 10000000\n"
		    "[unknown]@[kernel]/ 1 10000000\n"
		    "process=idle idle 4 40000000\n",
		    "samples, innermost first, with ticks of 10 ms");
	check_pprof(stacks_snapshot(frames, stacks), &(struct export_settings){ .addresses = true },
		    "process=httpd main@[kernel]/ 2 50000000\n"
		    "process=httpd read@prog/ main@[kernel]/ 3 30000000\n"
		    "x@prog/ [truncated] 1 10000000\n"
		    "0x10@[kernel]/ 1 10000000\n"
		    "0x20@[kernel]/ 1 10000000\n"
		    "process=idle idle 4 40000000\n",
		    "with addresses");
}

static void test_filter(void)
{
	static const char *const stacks[] = { "main;read 3", "main;write 2", NULL };
	struct filter *filter;

	must(filter_create("read", &filter));
	check_pprof(stacks_snapshot(frames, stacks), &(struct export_settings){ .filter = filter },
		    "read@[kernel]/ main@[kernel]/ 3 30000000\n", "filtered");
	filter_destroy(filter);
}

/* Two files of one name are two mappings; a thread is a label. */
static void test_builds(void)
{
	const struct build_id first = { .size_bytes = 3, .bytes = { 0x01, 0xab, 0xff } },
			      second = { .size_bytes = 2, .bytes = { 0x23, 0x45 } };
	const uint32_t java = frames_intern_process(frames, "java", NULL);
	const uint32_t stack[] = {
		java,
		frames_intern_thread(frames, "GC", java),
		frames_intern_function(frames,
				       &(struct frame_function){ FRAME_KIND_USERLAND, "start",
								 "libc.so.6", 0x10, &first, NULL }),
		frames_intern_function(frames, &(struct frame_function){ FRAME_KIND_USERLAND,
									 "read", "libc.so.6", 0x20,
									 &second, NULL }),
	};
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(64, HALF_LIFE, frames, &profile));
	profile_add(profile, stack, 4, 1, 1, 1);
	must(profile_copy(profile, 1, &snapshot));
	check_pprof(snapshot, &(struct export_settings){ 0 },
		    "process=java thread=GC read@libc.so.6/2345 start@libc.so.6/01abff 1 10000000\n",
		    "threads and build-ids");
	profile_destroy(profile);
}

/* The file says for itself what was lost. */
static void test_notes(void)
{
	static const char *const stacks[] = { "main 1", NULL }, *const asleep[] = { "main 1500", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks),
			*waits = stacks_snapshot(frames, asleep);
	const struct export_settings settings = { .domain = "web\n01",
						  .type = "PVH",
						  .wall_ns = 1700000000000000000,
						  .waits = waits };
	struct reading reading;
	unsigned char *message;
	struct field whole;
	char *text;
	size_t size;

	snapshot->run->sampler.lost = 17;
	snapshot->run->sampler.missed = 182;
	snapshot->run->sampler.given_up = 5;
	snapshot->run->sampler.rate_asked_hz = 100;
	waits->waits = calloc(1, sizeof(*waits->waits));
	waits->waits->span_ticks = 500;
	message = pprof(snapshot, &settings, &reading.n);
	reading.bytes = message;
	reading.text = open_memstream(&text, &size);
	whole = (struct field){ .bytes = message, .n = reading.n };
	for (unsigned i = 0; number_of(whole, 13, i); i++) {
		print_string(&reading, number_of(whole, 13, i));
		fputc('\n', reading.text);
	}
	fclose(reading.text);
	check(strstr(text, "made by: xtop "), "a pprof comment: made by xtop");
	check(strstr(text, "\nguest: web_01, PVH\n"),
	      "a pprof comment: the guest, with a clean name");
	check(strstr(text, "\nlost: 17 ticks, "), "a pprof comment: lost ticks");
	check(strstr(text, "\ngaps: 199 ticks without a sample, 2.0 s, 5 of them in no share\n"),
	      "a pprof comment: gaps");
	check(strstr(text, "\nwaits: 1.5 s that tasks waited, in 0.5 s\n"),
	      "a pprof comment: waits");
	check_u64(number_of(whole, 9, 0), settings.wall_ns, "a pprof profile's beginning");
	free(text);
	free(message);
	snapshot_destroy(waits);
	snapshot_destroy(snapshot);
}

/* Samples and waits in one file: each sample has the values of both, and zeroes for the other's. */
static void test_waits(void)
{
	static const char *const stacks[] = { "@httpd;main 3", NULL },
				 *const waits[] = { "@httpd;main;wait 5", NULL };
	struct snapshot *waiting;

	waiting = stacks_snapshot(frames, waits);
	waiting->waits = calloc(1, sizeof(*waiting->waits));
	check_pprof(stacks_snapshot(frames, stacks), &(struct export_settings){ .waits = waiting },
		    "process=httpd main@[kernel]/ 3 30000000 0 0\n"
		    "process=httpd wait@[kernel]/ main@[kernel]/ 0 0 5 5000000\n",
		    "samples and waits");
	snapshot_destroy(waiting);
}

/* The line that most of a function's samples pass through. */
static void test_lines(void)
{
	static const char *const stacks[] = { "main;read 3", NULL };
	uint32_t line = frames_intern(frames, FRAME_KIND_MARK, "read:write.c:1478", NULL, 0);
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);

	snapshot->sources = calloc(snapshot->n_frames, sizeof(*snapshot->sources));
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->sources[i] = FRAME_NONE;
	snapshot->sources[stacks_frame(frames, "read")] = line;
	check_pprof(snapshot, &(struct export_settings){ 0 },
		    "read(read:write.c line 1478)@[kernel]/ main@[kernel]/ 3 30000000\n",
		    "source lines");
}

static uint32_t code(const char *name, uint64_t address)
{
	return frames_intern_function(
		frames, &(struct frame_function){ FRAME_KIND_USERLAND, name, "prog", address,
						  &(struct build_id){ .size_bytes = 0 }, NULL });
}

/* Inlined functions are lines of the location of the function around them. */
static void test_inlined(void)
{
	const uint32_t main_ = code("main", 0x10), outer = code("outer (inlined)", 0x10),
		       inner = code("inner (inlined)", 0x10), other = code("inner (inlined)", 0x20);
	const uint32_t stacks[][4] = { { main_, outer, inner, other },
				       { main_, inner, main_, outer },
				       { main_, 0, 0, 0 } };
	uint32_t line = frames_intern(frames, FRAME_KIND_MARK, "inner.h:3", NULL, 0);
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(64, HALF_LIFE, frames, &profile));
	profile_add(profile, stacks[0], 3, 1, 1, 1);
	profile_add(profile, stacks[0], 4, 1, 1, 1);
	profile_add(profile, stacks[1], 4, 1, 1, 1);
	profile_add(profile, stacks[2], 1, 1, 1, 1);
	must(profile_copy(profile, 1, &snapshot));
	snapshot->sources = calloc(snapshot->n_frames, sizeof(*snapshot->sources));
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->sources[i] = FRAME_NONE;
	snapshot->sources[inner] = line;
	check_pprof(snapshot, &(struct export_settings){ 0 },
		    "main@prog/ 1 10000000\n"
		    "inner(inner.h line 3)<outer<main@prog/ 1 10000000\n"
		    "inner@prog/ inner(inner.h line 3)<outer<main@prog/ 1 10000000\n"
		    "outer<main@prog/ inner(inner.h line 3)<main@prog/ 1 10000000\n",
		    "inlined functions; one without the function around it is a location");
	profile_destroy(profile);
}

/* A guest's function may have such a name, and call itself: no message is cut. */
static void test_many_inlined(void)
{
	uint32_t stack[500], n = 0;
	struct profile *profile;
	struct snapshot *snapshot;
	char *text;

	for (size_t i = 0; i < 500; i++)
		stack[i] = code("loop (inlined)", 0x40);
	must(profile_create(1024, HALF_LIFE, frames, &profile));
	profile_add(profile, stack, 500, 1, 1, 1);
	must(profile_copy(profile, 1, &snapshot));
	text = pprof_text(snapshot, &(struct export_settings){ 0 });
	for (const char *at = text; (at = strstr(at, "loop")); at++)
		n++;
	check_u64(n, 500, "functions of a stack of 500");
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* Whether TEXT is in the table of strings. */
static bool has_string(const unsigned char *message, size_t n, const char *text)
{
	struct field string;

	for (uint64_t i = 0; i < 16; i++) {
		string = find_field(message, n, 6, i);
		if (string.n == strlen(text) && !memcmp(string.bytes, text, string.n))
			return true;
	}
	return false;
}

/* A profile of waits is no CPU time. */
static void test_waits_alone(void)
{
	static const char *const stacks[] = { "main 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	unsigned char *message;
	size_t n;

	message = pprof(snapshot, &(struct export_settings){ 0 }, &n);
	check(has_string(message, n, "cpu") && !has_string(message, n, "wait"),
	      "a profile of samples has the type cpu");
	free(message);
	snapshot->waits = calloc(1, sizeof(*snapshot->waits));
	message = pprof(snapshot, &(struct export_settings){ 0 }, &n);
	check(has_string(message, n, "wait") && !has_string(message, n, "cpu"),
	      "a profile of waits has the type wait");
	free(message);
	snapshot_destroy(snapshot);
}

/* How gzip compressed the file (RFC 1952, XFL): 4 is the fastest way, 0 the usual one. */
static int compression(const struct snapshot *snapshot, const struct export_settings *settings)
{
	FILE *file = tmpfile();
	int way;

	must(export_pprof(snapshot, settings, file));
	fseek(file, 8, SEEK_SET);
	way = fgetc(file);
	fclose(file);
	return way;
}

/* Returns the address that the only location has. */
static uint64_t address(const struct snapshot *snapshot, const struct export_settings *settings)
{
	size_t n;
	unsigned char *message = pprof(snapshot, settings, &n);
	struct field location = find_field(message, n, 4, 0);
	uint64_t value = number_of(location, 3, 0);

	free(message);
	return value;
}

/* What is pushed: the same samples, in fewer bytes. */
static void test_brief(void)
{
	struct gzip *gzip = gzip_create(true);
	const struct export_settings usual = { 0 }, brief = { .brief = true, .gzip = gzip },
				     addresses = { .brief = true, .addresses = true };
	uint32_t stack = code("write", 0x50);
	struct profile *profile;
	struct snapshot *snapshot;
	char *texts[2];

	must(profile_create(64, HALF_LIFE, frames, &profile));
	profile_add(profile, &stack, 1, 1, 3, 3);
	must(profile_copy(profile, 1, &snapshot));
	texts[0] = pprof_text(snapshot, &usual);
	texts[1] = pprof_text(snapshot, &brief);
	check_string(texts[1], texts[0], "brief: the same samples");
	check(compression(snapshot, &usual) == 0 && compression(snapshot, &brief) == 4,
	      "brief: compressed the fastest way");
	free(texts[1]);
	texts[1] = pprof_text(snapshot, &brief);
	check_string(texts[1], texts[0],
		     "brief: the same samples by a compressor that is used again");
	check_u64(address(snapshot, &usual), 0x50, "usual: address where the function begins");
	check_u64(address(snapshot, &brief), 0, "brief: no address");
	check_u64(address(snapshot, &addresses), 0x50, "brief with --addresses: address");
	free(texts[0]);
	free(texts[1]);
	gzip_destroy(gzip);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

static void test_deepest(void)
{
	struct snapshot *snapshot = stacks_deepest(frames);
	size_t n;

	free(pprof(snapshot, &(struct export_settings){ .addresses = true }, &n));
	check(n > 0, "a pprof file of the deepest stacks is written");
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_samples();
	test_filter();
	test_builds();
	test_notes();
	test_waits();
	test_waits_alone();
	test_lines();
	test_inlined();
	test_many_inlined();
	test_brief();
	test_deepest();
	frames_destroy(frames);
	return tap_done();
}
