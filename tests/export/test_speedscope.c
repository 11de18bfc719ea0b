/* SPDX-License-Identifier: GPL-2.0-or-later */
/* speedscope's JSON, to the letter. tests/readers opens such files with speedscope itself. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <string.h>

#include "xtop/base/build_id.h"
#include "xtop/export/export.h"

static struct frames *frames;

static void check_both(struct snapshot *snapshot, const struct snapshot *waits,
		       const char *profile, const char *names)
{
	const struct export_settings settings = { .domain = "<web\"01>", .waits = waits };
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	snapshot->run->sampler.rate_asked_hz = 100;
	must(export_speedscope(snapshot, &settings, file));
	fclose(file);
	check(strstr(text, profile), "%s", profile);
	check(strstr(text, names), "%s", names);
	check(strstr(text, "\"notes\":[\"made by: xtop "),
	      "speedscope: the notes say made by xtop");
	check(!strpbrk(text, "<>&"), "speedscope: no character that HTML has a meaning for");
	free(text);
	snapshot_destroy(snapshot);
}

static void check_speedscope(struct snapshot *snapshot, const char *profile, const char *names)
{
	check_both(snapshot, NULL, profile, names);
}

static void test_stacks(void)
{
	static const char *const stacks[] = { "@httpd;main;.a<int> 3", "@httpd;main 1*2.5", NULL };

	check_speedscope(stacks_snapshot(frames, stacks),
			 "\"profiles\":[{\"type\":\"sampled\",\"name\":\"\\u003cweb\\\"01\\u003e\","
			 "\"unit\":\"nanoseconds\",\"samples\":[[0,1],[0,1,2]],"
			 "\"weights\":[25000000,30000000],\"startValue\":0,\"endValue\":55000000}]",
			 "\"shared\":{\"frames\":[{\"name\":\"httpd\"},"
			 "{\"name\":\"main\",\"file\":\"[kernel]\"},"
			 "{\"name\":\"a\\u003cint\\u003e\",\"file\":\"prog\"}]}");
}

static void test_empty(void)
{
	static const char *const stacks[] = { NULL };

	check_speedscope(stacks_snapshot(frames, stacks),
			 "\"samples\":[],\"weights\":[],\"startValue\":0,\"endValue\":0",
			 "\"shared\":{\"frames\":[]}");
}

static void test_build_id(void)
{
	const struct build_id build = { .size_bytes = 2, .bytes = { 0x01, 0xab } };
	const uint32_t id = frames_intern_function(
		frames, &(struct frame_function){ FRAME_KIND_USERLAND, "read", "libc.so.6", 1,
						  &build, NULL });
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(64, HALF_LIFE, frames, &profile));
	profile_add(profile, &id, 1, 1, 1, 1);
	must(profile_copy(profile, 1, &snapshot));
	check_speedscope(snapshot, "\"samples\":[[0]]",
			 "{\"name\":\"read\",\"file\":\"libc.so.6\",\"build_id\":\"01ab\"}");
	profile_destroy(profile);
}

static void test_waits(void)
{
	static const char *const stacks[] = { "main 3", NULL }, *const waits[] = { "wait 5", NULL };
	struct snapshot *waiting = stacks_snapshot(frames, waits);

	waiting->waits = calloc(1, sizeof(*waiting->waits));
	check_both(stacks_snapshot(frames, stacks), waiting,
		   "\"profiles\":[{\"type\":\"sampled\",\"name\":\"\\u003cweb\\\"01\\u003e: CPU\","
		   "\"unit\":\"nanoseconds\",\"samples\":[[0]],\"weights\":[30000000],"
		   "\"startValue\":0,\"endValue\":30000000},"
		   "{\"type\":\"sampled\",\"name\":\"\\u003cweb\\\"01\\u003e: waits\","
		   "\"unit\":\"nanoseconds\",\"samples\":[[1]],\"weights\":[5000000],"
		   "\"startValue\":0,\"endValue\":5000000}]",
		   "\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"[kernel]\"},"
		   "{\"name\":\"wait\",\"file\":\"[kernel]\"}]}");
	snapshot_destroy(waiting);
}

static void test_lines(void)
{
	static const char *const stacks[] = { "main 3", NULL };
	uint32_t line = frames_intern(frames, FRAME_KIND_MARK, "tcp.c:1478", NULL, 0);
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);

	snapshot->sources = calloc(snapshot->n_frames, sizeof(*snapshot->sources));
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->sources[i] = stacks_frame(frames, "main") == i ? line : FRAME_NONE;
	check_speedscope(snapshot, "\"samples\":[[0]]",
			 "{\"name\":\"main\",\"file\":\"tcp.c\",\"line\":1478,"
			 "\"module\":\"[kernel]\"}");
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_stacks();
	test_empty();
	test_build_id();
	test_waits();
	test_lines();
	frames_destroy(frames);
	return tap_done();
}
