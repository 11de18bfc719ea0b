/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby functions in processes that run CRuby 2.7 to 3.4. The context of the running thread or fiber
 * (ruby vm_core.h, struct rb_execution_context_struct) is in a thread-local variable; before 3.0 in
 * a global one. Its stack has the control frames at its end, the innermost one first:
 *
 *   vm_stack ┌─────────────────┬────────────────────────┬─────────┐ vm_stack + vm_stack_size
 *            │ values ►        │ cfp ► frame frame ...  │ a dummy │
 *            └─────────────────┴────────────────────────┴─────────┘
 *
 * A control frame has begun with pc, sp, iseq, self and ep since 2.0. Its length differs between
 * versions, so it is searched for: all frames up to the end of the stack have to make sense. The
 * place of a function's names in struct rb_iseq_constant_body is searched for, too. A method of C
 * has a frame without iseq; it calls the loop again if it calls back.
 */
#include "config.h"

#include "language/language_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

enum { EXPORT_VERSION, EXPORT_CONTEXT };
enum { WORD_ISEQ, WORD_PC, N_RUBY_WORDS };

/* struct rb_execution_context_struct */
#define CONTEXT_STACK        0
#define CONTEXT_WORDS        8
#define CONTEXT_FRAME        16
#define RUBY_MAX_STACK_WORDS (16ULL << 20)

/* rb_control_frame_t, in words */
enum { FRAME_PC, FRAME_SP, FRAME_ISEQ, FRAME_SELF, FRAME_EP };
#define FRAME_MIN_WORDS 6
#define FRAME_MAX_WORDS 9
#define FRAME_CHECKED   4 /* innermost frames that are checked, besides the outermost ones */

/* rb_iseq_t, and the part of struct rb_iseq_constant_body that is searched for its names */
#define ISEQ_BODY         16
#define BODY_CODE         8
#define BODY_FIRST_WORD   8
#define BODY_SEARCHED     48
#define IMEMO_TYPE(flags) ((flags) >> 12 & 0xf)
#define IMEMO_ISEQ        7

/* Every object begins with flags (include/ruby/internal/value_type.h, fl_type.h). */
#define VALUE_TYPE(flags)    ((flags)&0x1f)
#define T_STRING             5
#define T_ARRAY              7
#define T_IMEMO              26
#define FLAG_USER_SHIFT      12
#define STRING_ON_HEAP       (1ULL << (FLAG_USER_SHIFT + 1)) /* RSTRING_NOEMBED */
#define STRING_LENGTH(flags) ((flags) >> (FLAG_USER_SHIFT + 2) & 0x1f)
#define ARRAY_EMBEDDED       (1ULL << (FLAG_USER_SHIFT + 1))
#define OBJECT_BODY          16
#define RUBY_MAX_TEXT        4096

static bool ruby_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	(void)file, (void)runtime;
	return strncmp(name, "libruby", 7) == 0 || strncmp(name, "ruby", 4) == 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool ruby_is_iseq(const struct runtime_process *process, uint64_t iseq)
{
	uint64_t flags = runtime_is_pointer(iseq) ? runtime_read_word(process, iseq) : 0;

	return VALUE_TYPE(flags) == T_IMEMO && IMEMO_TYPE(flags) == IMEMO_ISEQ;
}

struct ruby_stack {
	uint64_t start, end, frame; /* bounds of values and frames; the innermost frame */
};

static bool ruby_read_stack(const struct runtime_process *process, uint64_t context,
			    struct ruby_stack *stack)
{
	uint64_t n_words = runtime_read_word(process, context + CONTEXT_WORDS);

	stack->start = runtime_read_word(process, context + CONTEXT_STACK);
	stack->frame = runtime_read_word(process, context + CONTEXT_FRAME);
	stack->end = stack->start + n_words * sizeof(uint64_t);
	return runtime_is_pointer(stack->start) && n_words && n_words <= RUBY_MAX_STACK_WORDS &&
	       runtime_is_pointer(stack->frame) && stack->frame > stack->start &&
	       stack->frame < stack->end;
}

/* Whether the words at ADDRESS may be a control frame of STACK. */
static bool ruby_is_frame(const struct runtime_process *process, const struct ruby_stack *stack,
			  uint64_t address)
{
	uint64_t words[FRAME_MIN_WORDS];

	if (memory_read(process->memory, process->root, address, words, sizeof(words)) !=
	    sizeof(words))
		return false;
	return words[FRAME_SP] >= stack->start && words[FRAME_SP] < stack->end &&
	       words[FRAME_SP] % sizeof(uint64_t) == 0 && runtime_is_pointer(words[FRAME_EP]) &&
	       (!words[FRAME_ISEQ] || ruby_is_iseq(process, words[FRAME_ISEQ]));
}

/* The size of a control frame, in words; 0: the stack has no frames that make sense. */
static unsigned ruby_find_frame_words(const struct runtime_process *process,
				      const struct ruby_stack *stack)
{
	for (unsigned n_words = FRAME_MIN_WORDS; n_words <= FRAME_MAX_WORDS; n_words++) {
		uint64_t size = n_words * sizeof(uint64_t), n = (stack->end - stack->frame) / size;
		bool right = n >= 2 && (stack->end - stack->frame) % size == 0;

		for (uint64_t i = 0; right && i < n && i < FRAME_CHECKED; i++)
			right = ruby_is_frame(process, stack, stack->frame + i * size) &&
				ruby_is_frame(process, stack, stack->end - (i + 1) * size);
		if (right)
			return n_words;
	}
	return 0;
}

static bool ruby_is_context(const struct runtime_process *process, uint64_t thread_pointer,
			    uint64_t pointer)
{
	struct ruby_stack stack;

	(void)thread_pointer;
	return ruby_read_stack(process, pointer, &stack) && ruby_find_frame_words(process, &stack);
}

static bool ruby_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			     struct recipe *recipe)
{
	uint64_t variable = process->runtime->exports[EXPORT_CONTEXT], context = 0;
	struct ruby_stack stack;
	int64_t distance;

	*recipe = (struct recipe){ .base = variable + process->bias, .n_loads = 2 };
	if (variable) {
		context = runtime_read_word(process, recipe->base);
	} else if (runtime_search_thread(process, thread_pointer, ruby_is_context, &distance)) {
		recipe->base = (uint64_t)distance;
		recipe->by_thread = 1;
		context = runtime_read_word(process, thread_pointer + recipe->base);
	}
	if (!ruby_read_stack(process, context, &stack))
		return false;
	recipe->loads[1] = CONTEXT_FRAME;
	recipe->shape = RECIPE_ARRAY;
	recipe->array_start = CONTEXT_STACK;
	recipe->array_size = CONTEXT_WORDS;
	recipe->next = (uint16_t)(ruby_find_frame_words(process, &stack) * sizeof(uint64_t));
	recipe->n_words = N_RUBY_WORDS;
	recipe->words[WORD_ISEQ] = FRAME_ISEQ * sizeof(uint64_t);
	recipe->words[WORD_PC] = FRAME_PC * sizeof(uint64_t);
	return recipe->next;
}

static bool ruby_read_frame(const struct runtime_process *process, const uint64_t *words,
			    struct runtime_frame *frame)
{
	frame->code = words[WORD_ISEQ];
	frame->position = words[WORD_PC];
	/* A frame without pc is a binding's; one whose code is no iseq is a block of C. */
	frame->outermost = !frame->position || !ruby_is_iseq(process, frame->code);
	return !frame->outermost;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool ruby_read_text(const struct runtime_process *process, uint64_t address, uint64_t length,
			   char *text, size_t capacity)
{
	uint64_t skipped = length >= capacity ? length - (capacity - 1) : 0;

	if (!length || length > RUBY_MAX_TEXT)
		return false;
	length -= skipped;
	if (memory_read(process->memory, process->root, address + skipped, text, length) != length)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * Reads the string at ADDRESS. Up to 3.1, an embedded string has its length in the flags; later all
 * strings have a word for it. Bit 31 of the last flags word tells nothing of that, so the NUL after
 * the text decides.
 */
static bool ruby_read_string(const struct runtime_process *process, uint64_t address, char *text,
			     size_t capacity)
{
	uint64_t flags = runtime_is_pointer(address) ? runtime_read_word(process, address) : 0;
	uint64_t body = address + OBJECT_BODY;
	uint64_t length = runtime_read_word(process, body);

	if (VALUE_TYPE(flags) != T_STRING)
		return false;
	if (flags & STRING_ON_HEAP)
		return ruby_read_text(process, runtime_read_word(process, body + sizeof(uint64_t)),
				      length, text, capacity);
	/* A text of 8 characters and more is no length that is believed, nor is a shorter one. */
	if (length <= RUBY_MAX_TEXT && length > 0 && !(length >> 8))
		return ruby_read_text(process, body + sizeof(uint64_t), length, text, capacity);
	return ruby_read_text(process, body, STRING_LENGTH(flags), text, capacity);
}

static bool ruby_is_string(const struct runtime_process *process, uint64_t address)
{
	return runtime_is_pointer(address) &&
	       VALUE_TYPE(runtime_read_word(process, address)) == T_STRING;
}

/* Reads a path: a string, or an array whose first element is one. */
static bool ruby_read_path(const struct runtime_process *process, uint64_t address, char *text,
			   size_t capacity)
{
	uint64_t flags = runtime_is_pointer(address) ? runtime_read_word(process, address) : 0;
	uint64_t body = address + OBJECT_BODY;

	if (VALUE_TYPE(flags) == T_ARRAY) {
		if (!(flags & ARRAY_EMBEDDED))
			body = runtime_read_word(process, body + 2 * sizeof(uint64_t));
		address = runtime_read_word(process, body);
	}
	return ruby_read_string(process, address, text, capacity);
}

/*
 * struct rb_iseq_location_struct: the path, the name of the method around it, the function's own
 * name ("block in total"), and the first line as a Fixnum or, later, an int.
 */
static bool ruby_read_location(const struct runtime_process *process, const uint64_t *words,
			       char *function, size_t capacity, char *path, size_t path_capacity,
			       uint32_t *line)
{
	if (!ruby_is_string(process, words[1]) || !ruby_is_string(process, words[2]) ||
	    !ruby_read_path(process, words[0], path, path_capacity) ||
	    !ruby_read_string(process, words[2], function, capacity))
		return false;
	*line = words[3] >> 32 ? (uint32_t)words[3] : (uint32_t)(words[3] >> 1);
	return true;
}

static bool ruby_check_code(const struct runtime_process *process,
			    const struct runtime_frame *frame, uint64_t *check)
{
	uint64_t words[2], body = runtime_read_word(process, frame->code + ISEQ_BODY);

	/* the kind of function, its size, and where its instructions are */
	if (!ruby_is_iseq(process, frame->code) ||
	    memory_read(process->memory, process->root, body, words, sizeof(words)) !=
		    sizeof(words))
		return false;
	*check = hash_bytes(body, words, sizeof(words));
	return true;
}

static bool ruby_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
			   struct runtime_name *name)
{
	uint64_t body = runtime_read_word(process, frame->code + ISEQ_BODY);
	char function[RUNTIME_NAME_BYTES], path[RUNTIME_FILE_BYTES];
	uint64_t words[BODY_SEARCHED];
	size_t n;

	if (!ruby_is_iseq(process, frame->code))
		return false;
	n = memory_read(process->memory, process->root, body, words, sizeof(words)) /
	    sizeof(words[0]);
	for (size_t i = BODY_FIRST_WORD; i + 4 <= n; i++) {
		if (!ruby_read_location(process, &words[i], function, sizeof(function), path,
					sizeof(path), &name->line))
			continue;
		snprintf(name->function, sizeof(name->function), "[rb] %s", function);
		runtime_set_file(name, path);
		return true;
	}
	return false;
}

/*
 * Each instruction begins with the address of the code for it, in the loop (vm_exec.c,
 * OPT_DIRECT_THREADED_CODE, the default).
 */
static uint64_t ruby_find_loop(const struct runtime_process *process,
			       const struct runtime_frame *frame)
{
	uint64_t body = runtime_read_word(process, frame->code + ISEQ_BODY);

	return runtime_read_word(process, runtime_read_word(process, body + BODY_CODE));
}

static const char *const ruby_loops[] = { "vm_exec_core", "rb_vm_exec", "vm_exec", NULL };

const struct language_ops ruby_language = {
	.exports = { [EXPORT_VERSION] = "ruby_api_version",
		     [EXPORT_CONTEXT] = "ruby_current_execution_context_ptr" },
	.loops = ruby_loops,
	.find_layout = ruby_find_layout,
	.find_recipe = ruby_find_recipe,
	.read_frame = ruby_read_frame,
	.check_code = ruby_check_code,
	.read_name = ruby_read_name,
	.find_loop = ruby_find_loop,
	.n_words = N_RUBY_WORDS,
	.n_outer = 1,
};
