/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the languages read in a process's memory. The input chooses the language, fills a few pages
 * with numbers and with pointers into these pages, and gives the words of an interpreter's frames,
 * or of the thread's own stack.
 */
#include "config.h"

#include "fuzz.h"
#include "language/hotspot.h"
#include "language/language_ops.h"
#include "language/v8.h"

#include <stdlib.h>

#include "tests/support/live_memory.h"

#define PAGES      8
#define PAGE_WORDS (GUEST_PAGE_SIZE / sizeof(uint64_t))
#define BASE       0x7f0000000000ULL
#define MAX_WORDS  64

static uint64_t memory_words[PAGES * PAGE_WORDS];
static uint64_t pointer_tag; /* is added to pointers */

/* A small number, a pointer into the pages, a string's length and flags, or any word. */
static uint64_t make_word(struct fuzz *fuzz)
{
	uint8_t kind = fuzz_u8(fuzz);

	switch (kind % 5) {
	case 0:
		return kind / 5;
	case 1:
	case 2:
		return BASE + 8 * (fuzz_u16(fuzz) % (PAGES * PAGE_WORDS)) + pointer_tag;
	case 3:
		return fuzz_u16(fuzz) | (uint64_t)fuzz_u16(fuzz) << 32;
	default:
		return fuzz_u64(fuzz);
	}
}

static bool read_page(void *context, uint64_t page, void *bytes)
{
	(void)context;
	if (page - (BASE >> GUEST_PAGE_SHIFT) >= PAGES)
		return false;
	memcpy(bytes, &memory_words[(page - (BASE >> GUEST_PAGE_SHIFT)) * PAGE_WORDS],
	       GUEST_PAGE_SIZE);
	return true;
}

/* A record with one piece, of KIND. */
static const struct sample_vcpu *make_piece(struct fuzz *fuzz, enum sample_stack_kind kind)
{
	static uint64_t
		buffer[(sizeof(struct sample_vcpu) + sizeof(struct sample_stack)) / 8 + MAX_WORDS];
	struct sample_vcpu *vcpu = (struct sample_vcpu *)(void *)buffer;
	struct sample_stack *piece = (struct sample_stack *)(vcpu + 1);
	uint64_t *words = (uint64_t *)(piece + 1);
	size_t n = fuzz_u8(fuzz) % MAX_WORDS;

	*vcpu = (struct sample_vcpu){ .n_stacks = 1 };
	*piece = (struct sample_stack){ .address = BASE,
					.size_bytes = (uint32_t)(n * sizeof(*words)),
					.kind = kind };
	if (kind == STACK_LIST)
		piece->address = fuzz_u8(fuzz) % (RECIPE_MAX_WORDS + 1);
	for (size_t i = 0; i < n; i++)
		words[i] = make_word(fuzz);
	return vcpu;
}

static void name_frames(const struct runtime_process *process, const struct runtime_frame *frames,
			size_t n)
{
	fuzz_must(n <= RUNTIME_MAX_FRAMES, "frames are limited");
	for (size_t i = 0; i < n; i++) {
		struct runtime_name name;
		uint64_t check;

		if (runtime_check_code(process, &frames[i], &check) &&
		    runtime_read_name(process, &frames[i], &name)) {
			fuzz_must(memchr(name.function, 0, sizeof(name.function)) != NULL,
				  "a name ends");
			fuzz_must(memchr(name.file, 0, sizeof(name.file)) != NULL,
				  "a file's name ends");
		}
		runtime_find_loop(process, &frames[i]);
		runtime_read_line(process, &frames[i]);
	}
}

static bool read_word(void *context, uint64_t address, uint64_t *word)
{
	const struct runtime_process *process = context;

	return memory_read_u64(process->memory, process->root, address, word);
}

/* A recipe of any numbers. */
static struct recipe make_recipe(struct fuzz *fuzz)
{
	uint64_t base = make_word(fuzz);
	uint8_t begin = fuzz_u8(fuzz);
	struct recipe recipe = { .base = base,
				 .by_thread = begin % 2,
				 .current = 8 * (begin / 2),
				 .n_loads = fuzz_u8(fuzz) % (RECIPE_MAX_LOADS + 2),
				 .n_words = fuzz_u8(fuzz) % (RECIPE_MAX_WORDS + 2),
				 .shape = fuzz_u8(fuzz) % (N_RECIPE_SHAPES + 1),
				 .next = fuzz_u16(fuzz),
				 .array_start = 8 * (uint16_t)fuzz_u8(fuzz),
				 .array_size = 8 * (uint16_t)fuzz_u8(fuzz),
				 .element = 8 * (uint16_t)fuzz_u8(fuzz),
				 .far = 8 * (uint16_t)fuzz_u8(fuzz),
				 .n_far = fuzz_u8(fuzz) % RECIPE_MAX_WORDS,
				 .deep = 8 * (fuzz_u8(fuzz) % 4) };

	for (unsigned i = 0; i < RECIPE_MAX_LOADS; i++)
		recipe.loads[i] = 8 * (uint16_t)fuzz_u8(fuzz);
	for (unsigned i = 0; i < RECIPE_MAX_WORDS; i++)
		recipe.words[i] = 8 * (uint16_t)fuzz_u8(fuzz);
	return recipe;
}

static void follow(struct runtime_process *process, const struct recipe *recipe, uint64_t thread)
{
	uint64_t *words = malloc(MAX_WORDS * sizeof(*words));
	size_t n;

	fuzz_must(words != NULL, "there is memory");
	n = recipe_follow(recipe, thread, read_word, process, words, MAX_WORDS);
	fuzz_must(n <= MAX_WORDS, "words are limited");
	fuzz_must(n == recipe_follow(recipe, thread, read_word, process, NULL, MAX_WORDS),
		  "a recipe that only reads goes as far");
	free(words);
}

/* The frames of a second stack, which a recipe has copied. */
static void read_list(struct runtime_process *process, struct fuzz *fuzz)
{
	static struct runtime_frame frames[RUNTIME_MAX_FRAMES];
	uint64_t thread = BASE + 8 * (fuzz_u16(fuzz) % (PAGES * PAGE_WORDS));
	struct recipe recipe;

	if (runtime_find_recipe(process, thread, &recipe)) {
		fuzz_must(recipe_check(&recipe), "the sampler would follow the recipe");
		follow(process, &recipe, thread);
	}
	recipe = make_recipe(fuzz);
	if (recipe_check(&recipe))
		follow(process, &recipe, thread);
	name_frames(process, frames,
		    runtime_read_frames(process, make_piece(fuzz, STACK_LIST), frames));
}

/* Frames of the thread's own stack. */
static void read_stack(struct runtime_process *process, struct fuzz *fuzz)
{
	static struct runtime_frame frames[RUNTIME_MAX_FRAMES];
	const struct sample_vcpu *vcpu = make_piece(fuzz, STACK_FIRST);

	if (!runtime_prepare(process))
		return;
	for (unsigned i = 0; i < MAX_WORDS; i++) {
		struct runtime_native native = { .vcpu = vcpu,
						 .address = make_word(fuzz),
						 .stack_pointer = BASE + 8 * i,
						 .frame_pointer = BASE + 8 * i,
						 .interrupted = !i,
						 .compiled = i & 1,
						 .linked = true };
		struct runtime_caller caller;

		runtime_find_caller(process, &native, &caller);
		name_frames(process, frames,
			    runtime_read_native(process, &native, frames, RUNTIME_MAX_FRAMES));
	}
	free(process->state);
}

/* V8's description, which it has in its file. */
static void *make_v8_layout(struct fuzz *fuzz)
{
	struct v8_layout *layout = malloc(sizeof(*layout));
	int *numbers = (int *)layout;

	fuzz_must(layout != NULL, "there is memory");
	for (size_t i = 0; i < sizeof(*layout) / sizeof(*numbers); i++)
		numbers[i] = fuzz_u8(fuzz);
	return layout;
}

/* HotSpot's description, as if it had been read in the process. */
static void *make_hotspot_layout(struct fuzz *fuzz)
{
	struct hotspot_layout *layout = malloc(sizeof(*layout));

	fuzz_must(layout != NULL, "there is memory");
	*layout = (struct hotspot_layout){ .known = true, .excluded = fuzz_u8(fuzz) & 1 };
	for (size_t i = 0; i < N_HOTSPOT_FIELDS; i++)
		layout->fields[i] = (int8_t)fuzz_u8(fuzz);
	for (size_t i = 0; i < N_HOTSPOT_TYPES; i++)
		layout->sizes[i] = fuzz_u8(fuzz);
	return layout;
}

/* Any bytes are instructions: a byte tells the length, another one how far it jumps. */
static struct runtime_step decode(const uint8_t *bytes, size_t n, uint64_t address)
{
	return (struct runtime_step){ .jump = n > 1 ? address + 64 - bytes[1] : 0,
				      .size_bytes = bytes[0] & 15,
				      .call = bytes[0] & 16,
				      .ends = bytes[0] & 32 };
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const struct language_ops *const languages[] = {
		&python_language, &python_language, &python_language, &php_language,
		&ruby_language,   &perl_language,   &v8_language,     &hotspot_language,
		&hotspot_language,
	};
	static const char *const names[] = { "python3.9",  "python3.11", "python3.12", "php8.2",
					     "libruby.so", "perl",       "node",       "libjvm.so",
					     "described" };
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	unsigned choice = fuzz_u8(&fuzz) % (sizeof(names) / sizeof(names[0]));
	struct runtime runtime = { .ops = languages[choice] };
	struct runtime_process process = { .runtime = &runtime, .bias = BASE, .decode = decode };
	size_t n = 0;

	pointer_tag = runtime.ops == &v8_language ? V8_TAG : 0;
	for (size_t i = 0; i < RUNTIME_MAX_EXPORTS && choice > 2; i++)
		runtime.exports[i] = 8 * (uint64_t)fuzz_u8(&fuzz);
	if (strcmp(names[choice], "described") == 0)
		runtime.layout = make_hotspot_layout(&fuzz);
	else if (runtime.ops == &v8_language)
		runtime.layout = make_v8_layout(&fuzz);
	else
		fuzz_must(runtime.ops->find_layout(NULL, names[choice], &runtime) || choice == 3 ||
				  choice == 5,
			  "the version is known");
	/* The pages repeat what the input gives. */
	for (size_t given = 0; fuzz.left_bytes > 64 && given < PAGES * PAGE_WORDS; given++)
		memory_words[n++] = make_word(&fuzz);
	for (size_t i = n; n && i < PAGES * PAGE_WORDS; i++)
		memory_words[i] = memory_words[i - n];
	fuzz_succeed(live_memory_create(read_page, NULL, &process.memory, &process.root));
	if (runtime_is_native(&runtime))
		read_stack(&process, &fuzz);
	else
		read_list(&process, &fuzz);
	memory_destroy(process.memory);
	free(runtime.layout);
	return 0;
}
