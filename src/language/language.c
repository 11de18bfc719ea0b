/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The languages, and what they have in common; see language.h. */
#include "config.h"

#include "language/language_ops.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/elf/elf.h"

static const struct language_ops *const languages[] = { &python_language, &php_language,
							&ruby_language,   &perl_language,
							&v8_language,     &hotspot_language };
#define N_LANGUAGES (sizeof(languages) / sizeof(languages[0]))

static size_t language_count_exports(const struct language_ops *ops)
{
	size_t n = 0;

	while (n < RUNTIME_MAX_EXPORTS && ops->exports[n])
		n++;
	return n;
}

static bool runtime_init(struct runtime *runtime, const struct language_ops *ops,
			 struct elf_file *file, const char *name)
{
	*runtime = (struct runtime){ .ops = ops };
	elf_find_exports(file, ops->exports, language_count_exports(ops), runtime->exports);
	return runtime->exports[0] && ops->find_layout(file, name, runtime);
}

struct runtime *runtime_find(struct elf_file *file, const char *name)
{
	struct runtime found, *runtime = NULL;

	for (size_t i = 0; i < N_LANGUAGES && !runtime; i++)
		if (runtime_init(&found, languages[i], file, name)) {
			runtime = malloc(sizeof(*runtime));
			if (!runtime) {
				free(found.layout);
				return NULL;
			}
			*runtime = found;
		}
	return runtime;
}

struct runtime *runtime_ref(struct runtime *runtime)
{
	runtime->n_shared++;
	return runtime;
}

void runtime_destroy(struct runtime *runtime)
{
	if (!runtime || runtime->n_shared--)
		return;
	free(runtime->layout);
	free(runtime);
}

uint64_t runtime_find_loop(const struct runtime_process *process, const struct runtime_frame *frame)
{
	const struct language_ops *ops = process->runtime->ops;

	return ops->find_loop ? ops->find_loop(process, frame) : 0;
}

bool runtime_names_program(const char *name)
{
	for (size_t i = 0; i < N_LANGUAGES; i++)
		if (strncmp(name, languages[i]->prefix, strlen(languages[i]->prefix)) == 0)
			return true;
	return false;
}

bool runtime_is_loop(const char *name)
{
	for (size_t i = 0; i < N_LANGUAGES; i++)
		for (const char *const *loop = languages[i]->loops; *loop; loop++)
			if (fnmatch(*loop, name, 0) == 0)
				return true;
	return false;
}

bool runtime_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			 struct recipe *recipe)
{
	const struct language_ops *ops = process->runtime->ops;

	return ops->find_recipe && ops->find_recipe(process, thread_pointer, recipe);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The number of words of a node in the oldest recordings. */
static unsigned runtime_count_least_words(const struct language_ops *ops)
{
	return ops->n_words_before ? ops->n_words_before : ops->n_words;
}

/* Decodes a node of an old recording. Returns false as read_frame() does. */
static bool runtime_read_short_frame(const struct runtime_process *process, const uint64_t *words,
				     struct runtime_frame *frame)
{
	uint64_t all[RECIPE_MAX_WORDS] = { 0 };

	memcpy(all, words, process->runtime->ops->n_words_before * sizeof(*words));
	return process->runtime->ops->read_frame(process, all, 0, frame);
}

/* Decodes WORDS: N_BYTES of copied nodes that have N_WORDS each. Returns the number of frames. */
static size_t runtime_make_frames(const struct runtime_process *process, const uint64_t *words,
				  size_t n_words, size_t n_bytes, struct runtime_frame *frames)
{
	const struct language_ops *ops = process->runtime->ops;
	size_t n_nodes, n = 0;
	bool is_short = n_words < ops->n_words, is_whole;
	uint64_t place = 0; /* what the next function further out executes */

	if (n_words < runtime_count_least_words(ops) || n_words > ops->n_words)
		return 0;
	n_nodes = n_bytes / (n_words * sizeof(*words));
	is_whole = n_nodes && words[n_words - 1];
	for (size_t j = 0; j < n_nodes && n < RUNTIME_MAX_FRAMES; j++, words += n_words) {
		frames[n] = (struct runtime_frame){ .position = place, .caller = place };
		if (j + ops->n_outer < n_nodes &&
		    (is_short ? runtime_read_short_frame(process, words, &frames[n])
			      : ops->read_frame(process, words, n_nodes - j - 1, &frames[n]))) {
			place = frames[n++].caller;
			continue;
		}
		place = frames[n].caller;
		if (n && (frames[n].outermost || j + ops->n_outer >= n_nodes))
			frames[n - 1].outermost = true;
	}
	if (ops->main_code && n_nodes && n < RUNTIME_MAX_FRAMES)
		frames[n++] = (struct runtime_frame){ .code = ops->main_code,
						      .position = is_whole ? place : 0,
						      .outermost = true };
	return n;
}

size_t runtime_read_frames(const struct runtime_process *process, const struct sample_vcpu *vcpu,
			   struct runtime_frame *frames)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	const struct language_ops *ops = process->runtime->ops;

	if (!ops->read_frame)
		return 0;
	for (unsigned i = 0; i < vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_LIST)
			return runtime_make_frames(process, (const uint64_t *)(piece + 1),
						   piece->address ? piece->address
								  : runtime_count_least_words(ops),
						   piece->size_bytes, frames);
	return 0;
}

static bool runtime_read_for_recipe(void *context, uint64_t address, uint64_t *word)
{
	const struct runtime_process *process = context;

	return memory_read_u64(process->memory, process->root, address, word);
}

size_t runtime_follow_frames(const struct runtime_process *process, const struct recipe *recipe,
			     uint64_t thread_pointer, struct runtime_frame *frames)
{
	uint64_t words[RUNTIME_MAX_FRAMES * RECIPE_MAX_WORDS];
	struct runtime_process copy = *process; /* recipe_follow() takes no const */
	size_t n = recipe_follow(recipe, thread_pointer, runtime_read_for_recipe, &copy, words,
				 sizeof(words) / sizeof(words[0]));

	return runtime_make_frames(process, words, recipe->n_words, n * sizeof(words[0]), frames);
}

bool runtime_is_native(const struct runtime *runtime)
{
	return runtime->ops->read_native;
}

size_t runtime_read_native(const struct runtime_process *process,
			   const struct runtime_native *native, struct runtime_frame *frames,
			   size_t capacity)
{
	return process->runtime->ops->read_native(process, native, frames, capacity);
}

bool runtime_prepare(struct runtime_process *process)
{
	const struct language_ops *ops = process->runtime->ops;

	return !ops->prepare || ops->prepare(process);
}

bool runtime_find_caller(const struct runtime_process *process, const struct runtime_native *native,
			 struct runtime_caller *caller)
{
	const struct language_ops *ops = process->runtime->ops;

	return ops->find_caller && ops->find_caller(process, native, caller);
}

bool runtime_check_code(const struct runtime_process *process, const struct runtime_frame *frame,
			uint64_t *check)
{
	return process->runtime->ops->check_code(process, frame, check);
}

/* Puts PREFIX before TEXT, which has CAPACITY bytes, and cuts the text's end if it has to. */
static void runtime_put_before(char *text, size_t capacity, const char *prefix)
{
	size_t n = strlen(prefix), length = strnlen(text, capacity - n - 1);

	memmove(text + n, text, length);
	memcpy(text, prefix, n);
	text[n + length] = '\0';
}

bool runtime_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
		       struct runtime_name *name)
{
	const struct language_ops *ops = process->runtime->ops;
	const char *slash;

	*name = (struct runtime_name){ .line = 0 };
	if (!ops->read_name(process, frame, name))
		return false;
	runtime_put_before(name->function, sizeof(name->function), ops->prefix);
	slash = strrchr(name->file, '/');
	if (slash && slash[1])
		memmove(name->file, slash + 1, strlen(slash));
	return true;
}

uint64_t runtime_read_epoch(const struct runtime_process *process)
{
	const struct language_ops *ops = process->runtime->ops;

	return ops->read_epoch ? ops->read_epoch(process) : 0;
}

void runtime_read_path(const struct runtime_process *process, const struct runtime_frame *frame,
		       char path[RUNTIME_FILE_BYTES])
{
	static const char scheme[] = "file://"; /* stands before the path of a JavaScript module */
	struct runtime_name name = { .line = 0 };
	size_t skipped;

	if (!process->runtime->ops->read_name(process, frame, &name))
		*name.file = '\0';
	skipped = strncmp(name.file, scheme, strlen(scheme)) == 0 ? strlen(scheme) : 0;
	memcpy(path, name.file + skipped, strlen(name.file + skipped) + 1);
}

uint32_t runtime_read_line(const struct runtime_process *process, const struct runtime_frame *frame)
{
	const struct language_ops *ops = process->runtime->ops;

	return ops->read_line ? ops->read_line(process, frame) : 0;
}
