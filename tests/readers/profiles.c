/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes one made-up profile in every format, and the shares that each must have:
 *
 *	tests/readers/profiles NODES FOLDER
 *
 * FOLDER/both.* (pprof, speedscope, perf, SVG, HTML) have the waits of the same guest besides, and source lines.
 * FOLDER/p.* are the files; FOLDER/shares.tsv has a line "self% TAB children% TAB name" for each
 * function, where functions of one name are one. Prints what CPU time each file took and how large
 * it is: "FORMAT MILLISECONDS BYTES NODES", with "both-" before the format of both.*. The profile is
 * always the same for a number of nodes. It has processes and threads, files with and without
 * build-ids, fractions of ticks, recursion, and names that mean something in HTML, XML, JSON and
 * JavaScript.
 */
#include "config.h"

#include "tests/support/must.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "xtop/base/build_id.h"
#include "xtop/base/clock.h"
#include "xtop/export/export.h"
#include "xtop/profile/profile.h"

#define PROCESSES 7
#define MAX_DEPTH 24
#define MAX_FUNCTIONS 30000

static const char *const nasty[] = {
	"</script><script>alert(1)</script>",
	"]]><script>alert(2)</script>",
	"std::map<int, char>::operator[](int const&)",
	"\"quoted\" and 'single' \\back\\slash",
	"&amp;entity",
	"größe_日本語_😀",
	"${template}`tick`",
	"<!-- comment -->",
};
#define N_NASTY (sizeof(nasty) / sizeof(nasty[0]))

static const char *const modules[] = { "[kernel]", "[xfs]", "nginx", "libc.so.6", "libssl.so.3",
				       "[vdso]", "" };

static uint64_t state = 88172645463325252;

/* Xorshift: the same everywhere. */
static uint32_t random_below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

static uint32_t functions[MAX_FUNCTIONS];

static void make_functions(struct frames *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct build_id build = { .size_bytes = i % 7 == 3 ? 0 : 20 };
		uint32_t module = i % 7;
		char name[64];

		memset(build.bytes, (int)module + 1, sizeof(build.bytes));
		snprintf(name, sizeof(name), "function_%u_of_the_module", i);
		functions[i] = frames_intern_function(
			frames, &(struct frame_function){
					module < 2 ? FRAME_KIND_KERNEL : FRAME_KIND_USERLAND,
					i % 50 == 49  ? NULL
					: i < N_NASTY ? nasty[i]
						      : name,
					modules[module], 0x1000 + i * 64ULL, &build, NULL });
	}
}

/* One stack. Each function calls one of three others, so stacks share their outer frames. */
static size_t make_stack(struct frames *frames, uint32_t *stack, uint32_t n_functions)
{
	uint32_t process = random_below(PROCESSES), depth = 3 + random_below(MAX_DEPTH - 4);
	char name[32], thread[32];
	size_t n = 0;

	snprintf(name, sizeof(name), "process %u", process);
	stack[n++] = frames_intern_process(frames, name, NULL);
	if (process % 2) {
		snprintf(thread, sizeof(thread), "thread %u-%u", process, random_below(2));
		stack[n++] = frames_intern_thread(frames, thread, stack[0]);
	}
	if (random_below(20) == 0)
		stack[n++] = FRAME_TRUNCATED;
	for (uint32_t i = 0, function = 0; i < depth; i++) {
		function = (function * 31 + random_below(3) * 977) % n_functions;
		stack[n++] = functions[function];
	}
	return n;
}

/* The stack, and stacks that ended further out in it. */
static void add_stacks(struct profile *profile, const uint32_t *stack, size_t n)
{
	for (; n > 2; n -= 1 + random_below(3))
		profile_add(profile, stack, n, 1, 1, (1 + random_below(4000)) / 4.0);
}

static struct snapshot *make_snapshot(struct frames *frames, size_t n_nodes)
{
	uint32_t n_functions = n_nodes < 10000 ? 60 : MAX_FUNCTIONS, stack[MAX_DEPTH + 4];
	struct profile *profile;
	struct snapshot *snapshot = NULL;

	make_functions(frames, n_functions);
	must_or_die(profile_create(PROFILE_MAX_NODES, 10000000000, frames, &profile));
	while (!snapshot || snapshot->n_nodes < n_nodes) {
		for (size_t i = 0; i < n_nodes / 100; i++)
			add_stacks(profile, stack, make_stack(frames, stack, n_functions));
		snapshot_destroy(snapshot);
		snapshot = NULL;
		must_or_die(profile_copy(profile, 1, &snapshot));
	}
	snapshot->started_ns = 1;
	snapshot->time_ns = 60000000001;
	snapshot->run->sampler.rate_asked_hz = 99;
	snapshot->run->sampler.lost = 17;
	snapshot->resolver.weight = snapshot->total_weight;
	profile_destroy(profile);
	return snapshot;
}

/* --- what the shares are ---------------------------------------------------------------------- */

struct share {
	const char *name;
	double self, children;
	size_t until; /* the subtree of the last outermost node ends there */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct share *)a)->name, ((const struct share *)b)->name);
}

static void add_node(struct share *share, const struct snapshot *snapshot, size_t i)
{
	const struct snapshot_node *node = &snapshot->nodes[i];

	share->self += node->self_ticks;
	if (i >= share->until) {
		share->children += node->children_ticks;
		share->until = node->end;
	}
}

static void write_shares(const struct snapshot *snapshot, const char *path)
{
	struct share *shares = calloc(snapshot->n_frames, sizeof(*shares));
	size_t n = 0;
	FILE *file = fopen(path, "w");

	for (uint32_t id = 1; id < snapshot->n_frames; id++) {
		const struct frame *frame = frames_get(snapshot->frames, id);

		if (frame->kind != FRAME_KIND_OWNER)
			shares[n++].name = frame->name;
	}
	qsort(shares, n, sizeof(*shares), compare_names);
	for (size_t i = 1; i < snapshot->n_nodes; i++) {
		const struct share key = {
			.name = frames_get(snapshot->frames, snapshot->nodes[i].frame)->name
		};
		struct share *share = bsearch(&key, shares, n, sizeof(*shares), compare_names);

		while (share && share > shares && strcmp(share[-1].name, share->name) == 0)
			share--;
		if (share)
			add_node(share, snapshot, i);
	}
	for (size_t i = 0; i < n; i++)
		if (shares[i].children > 0)
			fprintf(file, "%.6f\t%.6f\t%s\n",
				100 * shares[i].self / snapshot->total_weight,
				100 * shares[i].children / snapshot->total_weight, shares[i].name);
	fclose(file);
	free(shares);
}

/* --- the files -------------------------------------------------------------------------------- */

static void write_format(const struct snapshot *snapshot, const struct snapshot *waits,
			 const char *folder, const char *base, const char *name)
{
	const struct export_settings settings = { .domain = "web<01>",
						  .type = "PVH",
						  .wall_ns = 1700000000000000000,
						  .waits = waits };
	const struct export_format *format = export_find_format(name);
	uint64_t start_ns, took_ns;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", folder, base, format->ending);
	file = fopen(path, "w");
	start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	must_or_die(format->write(snapshot, &settings, file));
	fflush(file);
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	printf("%s%s %.1f %ld %zu\n", waits ? "both-" : "", name, (double)took_ns / 1e6, ftell(file), snapshot->n_nodes);
	fclose(file);
}

static void set_line(struct snapshot *snapshot, struct frames *frames, uint32_t frame,
		     const char *line)
{
	snapshot->sources[frame] = frames_intern(frames, FRAME_KIND_MARK, line, NULL, 0);
}

/* Tasks of process 0 waited 3 s for a lock and 1 s for a disk, there in a function that is inlined. */
static struct snapshot *make_waits(struct frames *frames)
{
	uint32_t stack[] = { frames_intern_process(frames, "process 0", NULL), functions[8], 0, 0 };
	uint32_t lock = frames_intern(frames, FRAME_KIND_KERNEL, "wait_for_lock", "[kernel]", 0x10),
		 disk = frames_intern(frames, FRAME_KIND_KERNEL, "wait_for_disk", "[kernel]", 0x20);
	struct profile *profile;
	struct snapshot *waits;

	must_or_die(profile_create(64, 0, frames, &profile));
	stack[2] = lock;
	profile_add(profile, stack, 3, 1, 6, 3000);
	stack[2] = disk;
	stack[3] = frames_intern(frames, FRAME_KIND_KERNEL, "submit (inlined)", "[kernel]", 0x20);
	profile_add(profile, stack, 4, 1, 2, 1000);
	must_or_die(profile_copy(profile, 1, &waits));
	profile_destroy(profile);
	waits->waits = calloc(1, sizeof(*waits->waits));
	waits->sources = malloc(waits->n_frames * sizeof(*waits->sources));
	for (uint32_t i = 0; i < waits->n_frames; i++)
		waits->sources[i] = FRAME_NONE;
	set_line(waits, frames, lock, "lock.c:77");
	set_line(waits, frames, functions[8], "module.c:12");
	return waits;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "folded", "pprof", "speedscope", "perf", "svg", "html" };
	struct frames *frames;
	struct snapshot *snapshot, *waits;
	char path[4096];

	if (argc != 3) {
		fprintf(stderr, "usage: profiles NODES FOLDER\n");
		return 2;
	}
	must_or_die(frames_create(NULL, &frames));
	snapshot = make_snapshot(frames, strtoul(argv[1], NULL, 10));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		write_format(snapshot, NULL, argv[2], "p", names[i]);
	snprintf(path, sizeof(path), "%s/shares.tsv", argv[2]);
	write_shares(snapshot, path);
	waits = make_waits(frames);
	write_format(snapshot, waits, argv[2], "both", "pprof");
	write_format(snapshot, waits, argv[2], "both", "speedscope");
	write_format(snapshot, waits, argv[2], "both", "perf");
	write_format(snapshot, waits, argv[2], "both", "svg");
	write_format(snapshot, waits, argv[2], "both", "html");
	snapshot_destroy(waits);
	snapshot_destroy(snapshot);
	frames_destroy(frames);
	return 0;
}
