/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares of processes, threads and modules. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/groups.h"

static struct frames *frames;

static char *groups_text(const struct groups *groups)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < groups->n; i++)
		fprintf(file, "%s%s%s %" PRIu64 "/%" PRIu64 "\n",
			groups->rows[i].is_thread   ? " "
			: groups->rows[i].is_cgroup ? "{"
						    : "",
			groups->rows[i].name, groups->rows[i].is_cgroup ? "}" : "",
			groups->rows[i].weights.self_total, groups->rows[i].weights.children_total);
	fclose(file);
	return text;
}

static void test_processes(void)
{
	uint32_t thread = frames_intern_thread(frames, "worker", FRAME_NONE),
		 web = stacks_frame(frames, "@web"), main_ = stacks_frame(frames, ".main");
	const uint32_t of_thread[] = { web, thread, main_ }, of_main[] = { web, main_ };
	struct profile *profile;
	struct snapshot *snapshot;
	struct groups groups;
	char *text;

	must(profile_create(4096, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 1, "@sh;.main;write 5");
	stacks_add(profile, frames, 1, "idle 100");
	profile_add(profile, of_thread, 3, 1, 7, 7);
	profile_add(profile, of_main, 2, 1, 3, 3);
	must(profile_copy(profile, 1, &snapshot));
	must(groups_build_processes(snapshot, true, &groups));
	text = groups_text(&groups);
	check_string(text, "web 10/10\n worker 7/7\nsh 5/5\n",
		     "processes are sorted by weight, with threads below");
	check_u64(groups.whole.children_total, 115, "100 %");
	free(text);
	groups_deinit(&groups);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* Threads of one name, of processes of one name, in two control groups. */
static void test_cgroups(void)
{
	uint32_t web = stacks_frame(frames, "@web@web.service"),
		 other = stacks_frame(frames, "@web@docker/3f2a"),
		 main_ = stacks_frame(frames, ".main");
	const uint32_t stacks[][3] = {
		{ web, frames_intern_thread(frames, "pool", web), main_ },
		{ other, frames_intern_thread(frames, "pool", other), main_ },
	};
	struct profile *profile;
	struct snapshot *snapshot;
	struct groups groups;
	char *text;

	must(profile_create(4096, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 1, "@web@web.service;.main 9");
	stacks_add(profile, frames, 1, "@php@docker/3f2a;.main 12");
	stacks_add(profile, frames, 1, "@init;.main;write 2");
	stacks_add(profile, frames, 1, "idle 100");
	profile_add(profile, stacks[0], 3, 1, 3, 3);
	profile_add(profile, stacks[1], 3, 1, 4, 4);
	must(profile_copy(profile, 1, &snapshot));
	must(groups_build_cgroups(snapshot, true, &groups));
	text = groups_text(&groups);
	check_string(text,
		     "{docker/3f2a} 16/16\nphp 12/12\nweb 4/4\n pool 4/4\n"
		     "{web.service} 12/12\nweb 12/12\n pool 3/3\n{} 2/2\ninit 2/2\n",
		     "control groups are sorted by weight, with processes below");
	check_u64(groups.whole.children_total, 130, "100 %");
	free(text);
	groups_deinit(&groups);
	must(groups_build_processes(snapshot, true, &groups));
	text = groups_text(&groups);
	check_string(text, "web 12/12\n pool 3/3\nphp 12/12\nweb 4/4\n pool 4/4\ninit 2/2\n",
		     "processes of one name in two groups have two rows");
	free(text);
	groups_deinit(&groups);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* A stack counts once for a module, however many of its functions are in the module. */
static void test_modules(void)
{
	static const char *const stacks[] = { ".main;write;.callback;copy 4",
					      ".main 2",
					      "?10 1",
					      ".prog+0x10 3",
					      ".program+0x10 5",
					      NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct groups groups;
	char *text;

	must(groups_build_modules(snapshot, true, &groups));
	text = groups_text(&groups);
	check_string(text, "prog 10/14\n[kernel] 5/5\n", "modules are sorted by self");
	check_u64(groups.rows[1].unknown.self_total, 1, "samples that nobody can name");
	check_u64(groups.rows[0].unknown.self_total, 3, "samples with only a place in a file");
	free(text);
	groups_deinit(&groups);
	snapshot_destroy(snapshot);
}

static void test_sorted_modules(void)
{
	static const char *const stacks[] = { ".main;write 9", ".main 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct groups groups;
	char *text;

	must(groups_build_modules(snapshot, true, &groups));
	groups_sort_modules(&groups, true, true);
	text = groups_text(&groups);
	check_string(text, "prog 1/10\n[kernel] 9/9\n", "modules sorted by children");
	free(text);
	groups_sort_modules(&groups, true, false);
	text = groups_text(&groups);
	check_string(text, "[kernel] 9/9\nprog 1/10\n", "modules sorted by self again");
	free(text);
	groups_deinit(&groups);
	snapshot_destroy(snapshot);
}

static void test_many_modules(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	struct groups groups;

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (unsigned i = 0; i < 10000; i++) {
		char module[32];
		uint32_t id;

		snprintf(module, sizeof(module), "lib%u.so", i);
		id = frames_intern(frames, FRAME_KIND_USERLAND, "f", module, i);
		profile_add(profile, &id, 1, 1, 1, 1);
	}
	must(profile_copy(profile, 1, &snapshot));
	must(groups_build_modules(snapshot, true, &groups));
	check_u64(groups.n, 4096, "the number of rows is bounded");
	groups_deinit(&groups);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_processes();
	test_cgroups();
	test_modules();
	test_sorted_modules();
	test_many_modules();
	frames_destroy(frames);
	return tap_done();
}
