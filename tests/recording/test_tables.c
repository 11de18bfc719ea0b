/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A replay of a unikernel shows what the run showed: its recording has the unwind tables of the
 * file of -k, and of each stack what the walk needed. The samples are those of the tiny guest,
 * which was built without frame pointers, as the lab recorded them in tests/unwind/recorded.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/profile_stacks.h"

#include "recording/format.h"
#include "xtop/profile/resolver.h"
#include "xtop/symbol/image.h"

#define SMALL_SAMPLE_BYTES 500 /* a sample with a stack of 200 bytes, and its chunk's head */
#define SMALL_STACK_BYTES  200

struct stage {
	struct symbols *symbols;
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct resolver *resolver;
};

static void stage_open(struct stage *stage, struct recording_writer *writer)
{
	struct resolver_settings settings = { .writer = writer,
					      .symbols = stage->symbols,
					      .n_vcpus = 1,
					      .max_nodes = 4096 };

	must(ring_create(1 << 20, &stage->ring));
	must(control_create(&stage->control));
	must(snapshot_slot_create(&stage->slot));
	settings.ring = stage->ring;
	settings.control = stage->control;
	settings.slot = stage->slot;
	must(resolver_create(&settings, &stage->resolver));
}

static void stage_close(struct stage *stage)
{
	snapshot_slot_destroy(stage->slot);
	resolver_destroy(stage->resolver);
	control_destroy(stage->control);
	ring_destroy(stage->ring);
	symbols_destroy(stage->symbols);
}

/* The profile of all samples as text, for the caller to free. */
static char *stage_run(struct stage *stage, struct recording_reader *reader)
{
	struct snapshot *snapshot;
	const void *record;
	size_t size_bytes;
	char *text;

	while ((record = recording_reader_next(reader, &size_bytes)))
		resolver_add(stage->resolver, record, size_bytes);
	must(resolver_snapshot(stage->resolver, &snapshot));
	text = stacks_tree(snapshot);
	check_u64(resolver_truncated(&snapshot->resolver), 0,
		  "stacks of the run that are not whole");
	snapshot_destroy(snapshot);
	return text;
}

/* As -k FILE gives them: names of all code, and the tables of FILE. */
static struct symbols *given_symbols(const char *file)
{
	struct symbols *symbols;
	struct symtab *tab;

	must(symbols_create(&symbols));
	must(symtab_create(&tab));
	for (uint64_t at = 0xffffffff80100000; at < 0xffffffff80110000; at += 16) {
		char name[32];
		int length = snprintf(name, sizeof(name), "tiny_%" PRIx64, at & 0xfffff);

		must(symtab_add(tab, &(struct symbol_definition){ .start = at,
								  .size_bytes = 16,
								  .rank = SYMBOL_GLOBAL,
								  .name = name,
								  .name_bytes = (size_t)length }));
	}
	must(symtab_seal(tab));
	must(symbols_add_table(symbols, tab, "tiny", NULL));
	image_adopt_tables_file(symbols_image(symbols, 0), open(file, O_RDONLY | O_CLOEXEC));
	return symbols;
}

/*
 * The sizes of the samples in PATH, with the heads of their chunks. In memory a vCPU has room for
 * the registers of any machine, in the file for those of its own.
 */
static void check_sizes(const char *path)
{
	struct recording_reader *reader;
	size_t size_bytes, most = 0;
	const struct sample *sample;

	must(recording_reader_open(path, NULL, &reader));
	while ((sample = recording_reader_next(reader, &size_bytes))) {
		const struct sample_stack *stack = sample_first_stack(sample_first_vcpu(sample));
		size_t unused = sizeof(struct registers) -
				recording_registers_bytes(ARCH_X86);
		size_t bytes = sizeof(struct recording_chunk) + size_bytes -
			       sample->n_vcpus * unused;

		if (sample_first_vcpu(sample)->n_stacks &&
		    stack->size_bytes <= SMALL_STACK_BYTES && bytes > most)
			most = bytes;
	}
	recording_reader_close(reader);
	check(most && most < SMALL_SAMPLE_BYTES,
	      "a sample with a stack of at most %d bytes takes %zu bytes at most, fewer than %d",
	      SMALL_STACK_BYTES, most, SMALL_SAMPLE_BYTES);
}

static void test_replay(const char *recorded, const char *file, const char *path)
{
	struct stage run = { .symbols = given_symbols(file) }, replay = { 0 };
	struct recording_writer *writer;
	struct recording_reader *reader;
	char *shown, *again;

	must(recording_reader_open(recorded, NULL, &reader));
	must(recording_writer_open(path, &writer));
	recording_writer_begin(writer, recording_reader_get_info(reader), run.symbols);
	stage_open(&run, writer);
	shown = stage_run(&run, reader);
	must(recording_writer_close(writer));
	recording_reader_close(reader);
	stage_close(&run);

	must(symbols_create(&replay.symbols));
	must(recording_reader_open(path, replay.symbols, &reader));
	stage_open(&replay, NULL);
	again = stage_run(&replay, reader);
	check(strchr(shown, '\n') && strlen(shown) > 200, "the run showed chains:\n%s", shown);
	check_string(again, shown, "the replay shows what the run showed");
	check(!recording_reader_get_complaint(reader),
	      "the reader has no complaint about the recording");
	recording_reader_close(reader);
	stage_close(&replay);
	free(shown);
	free(again);
	check_sizes(path);
}

int main(void)
{
	const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
	char recorded[512], file[512], path[64], folder[] = "/tmp/xtop-test-tables-XXXXXX";

	if (!mkdtemp(folder))
		abort();
	snprintf(recorded, sizeof(recorded), "%s/tests/unwind/recorded/tiny-nofp.rec", top);
	snprintf(file, sizeof(file), "%s/tests/unwind/recorded/tiny-nofp.elf", top);
	snprintf(path, sizeof(path), "%s/rec", folder);
	test_replay(recorded, file, path);
	unlink(path);
	rmdir(folder);
	return tap_done();
}
