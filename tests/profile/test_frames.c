/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of names: equal frames have one id, others have another. Strings are clean, memory is
 * bounded.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"
#include "xtop/symbol/symbol.h"

static char *demangle(const char *name)
{
	if (!strcmp(name, "_Z1fv"))
		return strdup("f()\033[m");
	return NULL;
}

static void test_fixed(struct frames *frames)
{
	check_string(frames_get(frames, FRAME_ROOT)->name, "all", "name of the root");
	check_string(frames_get(frames, FRAME_EVICTED)->name, "[evicted]",
		     "name of the frame for evicted stacks");
	check_string(frames_get(frames, FRAME_TRUNCATED)->name, "[truncated]",
		     "name of the frame for truncated stacks");
	check_string(frames_get(frames, FRAME_UNKNOWN)->name, "[unknown]",
		     "name of the frame for unknown functions");
	check(frames_get(frames, FRAME_UNKNOWN)->unknown, "unknown is unknown");
	check_u64(frames_count(frames), N_FRAME_IDS, "a new table");
}

static void test_identity(struct frames *frames)
{
	uint32_t a = frames_intern(frames, FRAME_KIND_KERNEL, "read", "[kernel]", 0x1000);

	check_u64(frames_intern(frames, FRAME_KIND_KERNEL, "read", "[kernel]", 0x1000), a,
		  "an equal function has the same id");
	check(frames_intern(frames, FRAME_KIND_USERLAND, "read", "[kernel]", 0x1000) != a,
	      "a function of another kind is another frame");
	check(frames_intern(frames, FRAME_KIND_KERNEL, "rea", "[kernel]", 0x1000) != a,
	      "a function with another name is another frame");
	check(frames_intern(frames, FRAME_KIND_KERNEL, "read", "ext4", 0x1000) != a,
	      "a function of another module is another frame");
	check(frames_intern(frames, FRAME_KIND_KERNEL, "read", "[kernel]", 0x1001) != a,
	      "a function at another address is another frame");
	check(frames_intern(frames, FRAME_KIND_KERNEL, NULL, "[kernel]", 0x1000) != a,
	      "a function without a name is another frame");
	check(frames_intern(frames, FRAME_KIND_KERNEL, "[unknown]", "[kernel]", 0x1000) !=
		      frames_intern(frames, FRAME_KIND_KERNEL, NULL, "[kernel]", 0x1000),
	      "who calls itself [unknown] is not");
	check_u64(frames_intern(frames, FRAME_KIND_MARK, "[truncated]", NULL, 0), FRAME_TRUNCATED,
		  "a mark by name");
	check_u64(frames_get(frames, a)->group, a, "group of a named frame");
}

static void test_unknown(struct frames *frames)
{
	const struct frame *a = frames_get(
		frames, frames_intern(frames, FRAME_KIND_KERNEL, NULL, "m", 0xffffffff81000010));
	const struct frame *b =
		frames_get(frames, frames_intern(frames, FRAME_KIND_KERNEL, "", "m", 0x20));
	const struct frame *c =
		frames_get(frames, frames_intern(frames, FRAME_KIND_KERNEL, NULL, "n", 0x20));
	char buffer[FRAME_TEXT_BYTES];

	check(a != b && a->group == b->group && a->group != c->group,
	      "each module has its own group");
	check_string(frame_text(a, false, buffer), "[unknown]",
		     "text of an unnamed frame without addresses");
	check_string(frame_text(a, true, buffer), "0xffffffff81000010",
		     "text of an unnamed frame with addresses");
	check_string(frame_text(frames_get(frames, a->group), true, buffer), "[unknown]",
		     "a group has no address");
}

static void test_clean(struct frames *frames)
{
	uint32_t id = frames_intern(frames, FRAME_KIND_KERNEL, "a;b\033c", "mod\nule", 1);
	const struct frame *frame = frames_get(frames, id);
	char long_name[6000];

	check_string(frame->name, "a_b_c", "name with a semicolon and an escape in it");
	check_string(frame->module, "mod_ule", "module with a line feed in its name");
	check_u64(frames_intern(frames, FRAME_KIND_KERNEL, "a;b\033c", "mod\nule", 1), id,
		  "found by its raw name");
	frame = frames_get(frames, frames_intern(frames, FRAME_KIND_KERNEL, "_Z1fv", NULL, 1));
	check_string(frame->name, "f()_[m", "the demangled name is cleaned, too");
	check_string(frame->raw_name, "_Z1fv", "raw name of a demangled frame");
	frame = frames_get(frames, frames_intern_process(frames, "_Z1fv", NULL));
	check_string(frame->name, "_Z1fv", "a process is not demangled");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	frame = frames_get(frames,
			   frames_intern(frames, FRAME_KIND_KERNEL, long_name, long_name, 1));
	check(strlen(frame->name) < FRAME_NAME_BYTES && strstr(frame->name, "…"),
	      "long name: %zu bytes, shortened in the middle", strlen(frame->name));
	check_u64(strlen(frame->module), FRAME_MODULE_BYTES - 1,
		  "length of a module's name that is cut");
}

/*
 * Pointers stay valid while the table grows. A full table counts each name that it refuses and
 * returns FRAME_UNKNOWN or the group. Old names are still found.
 */
static void test_full(struct frames *frames)
{
	uint32_t first = frames_intern(frames, FRAME_KIND_KERNEL, "first", "m", 0);
	const struct frame *before = frames_get(frames, first);
	uint32_t id = 0, last, group;

	group = frames_intern(frames, FRAME_KIND_USERLAND, NULL, "jit", 0);
	for (uint64_t address = 1; !frames_refused(frames); address++)
		id = frames_intern(frames, FRAME_KIND_USERLAND, NULL, "jit", address);
	check_u64(id, group, "an unnamed address without room becomes its group");
	check(frames_count(frames) <= FRAMES_MAX / 2 + 1000,
	      "%u frames: addresses take half at most", frames_count(frames));
	do {
		last = id;
		id = frames_intern(frames, FRAME_KIND_KERNEL, "f", "m", frames_count(frames));
	} while (id != FRAME_UNKNOWN);
	check_u64(frames_count(frames), FRAMES_MAX, "frames of a full table");
	check_u64(frames_refused(frames), 2, "names that a full table refused");
	check_u64(last, FRAMES_MAX - 1, "id of the last frame of a full table");
	check_u64(frames_intern(frames, FRAME_KIND_KERNEL, "first", "m", 0), first,
		  "old names are found");
	check(frames_get(frames, first) == before, "an old entry has not moved");
}

static void test_text_full(void)
{
	struct frames *frames;
	char name[FRAME_NAME_BYTES];
	unsigned n = 0;

	must(frames_create(NULL, &frames));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	while (frames_intern(frames, FRAME_KIND_KERNEL, name, NULL, n) != FRAME_UNKNOWN)
		n++;
	check(frames_memory_bytes(frames) < FRAMES_MAX_TEXT_BYTES + (16 << 20),
	      "%u long names take %zu bytes", n, frames_memory_bytes(frames));
	frames_destroy(frames);
}

/* The file of a place comes with the frame that is new, and its strings are clean. */
static void test_files(void)
{
	struct frame_file raw = { "/a\x1b[2J", "c0ffee", "a;b 1 (deb)", false };
	struct frames *table;
	uint32_t first, second, named;
	char path[32];

	must(frames_create(NULL, &table));
	first = frames_intern_function(
		table,
		&(struct frame_function){ FRAME_KIND_USERLAND, "a+0x1", "a", 1, NULL, &raw });
	second = frames_intern_function(
		table,
		&(struct frame_function){ FRAME_KIND_USERLAND, "a+0x2", "a", 2, NULL, &raw });
	named = frames_intern(table, FRAME_KIND_USERLAND, "main", "a", 3);
	check(frames_get(table, first)->file == frames_get(table, second)->file,
	      "two places share the file");
	check(!frames_get(table, named)->file, "a function with a name has none");
	check_string(frames_get(table, first)->file->build_id, "c0ffee",
		     "build-id of a frame's file");
	check(!strchr(frames_get(table, first)->file->path, '\x1b') &&
		      !strchr(frames_get(table, first)->file->package, ';'),
	      "strings are clean");
	for (unsigned i = 0; i < FRAMES_MAX_FILES + 10; i++) {
		snprintf(path, sizeof(path), "/many/%u", i);
		raw.path = path;
		first = frames_intern_function(table, &(struct frame_function){ FRAME_KIND_USERLAND,
										path, "a", 100 + i,
										NULL, &raw });
	}
	check(!frames_get(table, first)->file && first > named,
	      "without room for a file there is still a frame");
	frames_destroy(table);
}

static const char *name_of(struct frames *frames, const char *raw_name, const char *module)
{
	uint32_t id = frames_intern(frames, FRAME_KIND_USERLAND, raw_name, module, 0);

	return frames_get(frames, id)->name;
}

/* Two rows of one module never look alike. */
static void test_overloads(void)
{
	struct frames *frames;

	must(frames_create(symbol_demangle, &frames));
	check_string(name_of(frames, "_Z4loadi", "a"), "load",
		     "a function without overloads is named without parameters");
	check_string(name_of(frames, "_Z4loadd", "a"), "load(double)",
		     "an overload is named with its parameters");
	check_string(name_of(frames, "_Z4loadi", "a"), "load",
		     "the first of two overloads keeps its name");
	check_string(name_of(frames, "_Z4loadd", "b"), "load",
		     "a function of another module is no overload");
	check_string(name_of(frames, "_Z4loadPc", "a"), "load(char*)", "a third one");
	check_string(name_of(frames, "camlA__f_1", "a"), "A.f", "name of a function of OCaml");
	check_string(name_of(frames, "camlA__f_2", "a"), "A.f_2", "a local function of that name");
	frames_destroy(frames);
}

/* A function of a program, and a symbol that has such a name. */
static void test_programs(void)
{
	const struct build_id none = { .size_bytes = 0 };
	struct frame_function symbol = { FRAME_KIND_USERLAND, "[py] main", "app", 0x1000, &none,
					 NULL };
	struct frames *frames;
	uint32_t program;

	must(frames_create(NULL, &frames));
	program = frames_intern(frames, FRAME_KIND_USERLAND, "[py] main", "app.py", 3);
	check(frames_get(frames, program)->program, "a function of a program is marked");
	check(!frames_get(frames, frames_intern_function(frames, &symbol))->program,
	      "a symbol that is named like a program's function is none");
	check(!frames_get(frames, frames_intern(frames, FRAME_KIND_KERNEL, "[py] main", "", 3))
		       ->program,
	      "a kernel's function that is named like a program's is none");
	frames_destroy(frames);
}

int main(void)
{
	struct frames *frames;

	must(frames_create(demangle, &frames));
	test_fixed(frames);
	test_identity(frames);
	test_unknown(frames);
	test_overloads();
	test_clean(frames);
	test_full(frames);
	frames_destroy(frames);
	frames_destroy(NULL);
	test_text_full();
	test_files();
	test_programs();
	return tap_done();
}
