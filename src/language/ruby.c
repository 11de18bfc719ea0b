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
 * versions, so it is searched for: all frames up to the end of the stack have to make sense. A
 * method of C has a frame without iseq; it calls the loop again if it calls back.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "language/ruby_objects.h"

#include "xtop/base/hash.h"

/* The words from WORD_PARENT on are in the frame's environment. */
enum { WORD_ISEQ, WORD_PC, WORD_ENVIRONMENT, WORD_PARENT, WORD_METHOD, N_RUBY_WORDS };
#define N_FAR_WORDS (N_RUBY_WORDS - WORD_PARENT)

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

/*
 * An environment, to which a frame's ep points (vm_core.h, VM_ENV_DATA_INDEX_*). Words before that
 * address: a block's parent environment, with flags in its low bits, and the method entry. An
 * environment that outlives its frame is on the heap. The word after the address then has the
 * object that keeps the environment.
 */
#define ENVIRONMENT_PARENT 8
#define ENVIRONMENT_METHOD 16
#define ENVIRONMENT_OBJECT 8
#define PARENT_FLAGS       3ULL
#define RUBY_MAX_PARENTS   16

/* rb_env_t, and rb_method_entry_t (method.h), in words */
enum { KEPT_FLAGS, KEPT_ISEQ, KEPT_ENVIRONMENT, N_KEPT_WORDS };
enum { METHOD_FLAGS, METHOD_CLASS, METHOD_DEFINITION, METHOD_ID, METHOD_OWNER, N_METHOD_WORDS };
/* struct rb_method_definition_struct */
#define DEFINITION_TYPE(word) ((word)&0xf)
#define DEFINITION_ISEQ       0 /* the type of a method that is written in Ruby */
#define DEFINITION_BODY       8

static bool ruby_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	(void)file;
	if (strncmp(name, "libruby", 7) != 0 && strncmp(name, "ruby", 4) != 0)
		return false;
	runtime->layout = calloc(1, sizeof(struct ruby_layout));
	return runtime->layout;
}

/* --- frames ----------------------------------------------------------------------------------- */

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
	       (!words[FRAME_ISEQ] || ruby_is_iseq(process, words[FRAME_ISEQ]) ||
		ruby_is_imemo(ruby_read_flags(process, words[FRAME_ISEQ]), IMEMO_BLOCK));
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

/* The number of words of a frame; 0: CONTEXT is no context. */
static unsigned ruby_read_context(const struct runtime_process *process, uint64_t thread_pointer,
				  uint64_t context)
{
	struct ruby_stack stack;

	(void)thread_pointer;
	return ruby_read_stack(process, context, &stack) ? ruby_find_frame_words(process, &stack)
							 : 0;
}

static bool ruby_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			     struct recipe *recipe)
{
	uint64_t variable = process->runtime->exports[RUBY_EXPORT_CONTEXT];
	struct runtime_search search = { thread_pointer, .is_right = ruby_read_context };
	unsigned frame_words = 0;

	*recipe = (struct recipe){ .base = variable + process->bias, .n_loads = 2 };
	if (variable) {
		frame_words = ruby_read_context(process, thread_pointer,
						runtime_read_word(process, recipe->base));
	} else if (runtime_search_thread(process, &search)) {
		recipe->base = (uint64_t)search.distance;
		recipe->by_thread = 1;
		frame_words = search.found;
	}
	recipe->loads[1] = CONTEXT_FRAME;
	recipe->shape = RECIPE_ARRAY;
	recipe->array_start = CONTEXT_STACK;
	recipe->array_size = CONTEXT_WORDS;
	recipe->next = (uint16_t)(frame_words * sizeof(uint64_t));
	recipe->n_words = N_RUBY_WORDS;
	recipe->words[WORD_ISEQ] = FRAME_ISEQ * sizeof(uint64_t);
	recipe->words[WORD_PC] = FRAME_PC * sizeof(uint64_t);
	recipe->words[WORD_ENVIRONMENT] = FRAME_EP * sizeof(uint64_t);
	recipe->far = FRAME_EP * sizeof(uint64_t);
	recipe->n_far = N_FAR_WORDS;
	recipe->words[WORD_PARENT] = ENVIRONMENT_PARENT;
	recipe->words[WORD_METHOD] = ENVIRONMENT_METHOD;
	return recipe->next;
}

/* --- methods ---------------------------------------------------------------------------------- */

/* The class whose method entry is at METHOD and runs ISEQ; 0: this is no such entry. */
static uint64_t ruby_read_owner(const struct runtime_process *process, uint64_t method,
				uint64_t iseq)
{
	uint64_t words[N_METHOD_WORDS], definition[2];

	if (!ruby_is_imemo(ruby_read_flags(process, method), IMEMO_METHOD) ||
	    !ruby_read_words(process, method, words, N_METHOD_WORDS) ||
	    !ruby_read_words(process, words[METHOD_DEFINITION], definition, 2) ||
	    DEFINITION_TYPE(definition[0]) != DEFINITION_ISEQ ||
	    definition[DEFINITION_BODY / sizeof(uint64_t)] != iseq)
		return 0;
	return words[METHOD_OWNER];
}

/* Does what ruby_find_owner() does, for the environment at ADDRESS, which outlived its frame. */
static uint64_t ruby_find_kept_owner(const struct runtime_process *process, uint64_t address)
{
	for (unsigned i = 0; i < RUBY_MAX_PARENTS && runtime_is_pointer(address); i++) {
		uint64_t object = runtime_read_word(process, address + ENVIRONMENT_OBJECT);
		uint64_t kept[N_KEPT_WORDS], owner;

		if (!ruby_read_words(process, object, kept, N_KEPT_WORDS) ||
		    !ruby_is_imemo(kept[KEPT_FLAGS], IMEMO_ENVIRONMENT) ||
		    kept[KEPT_ENVIRONMENT] != address)
			return 0;
		owner = ruby_read_owner(process,
					runtime_read_word(process, address - ENVIRONMENT_METHOD),
					kept[KEPT_ISEQ]);
		if (owner)
			return owner;
		address = runtime_read_word(process, address - ENVIRONMENT_PARENT) & ~PARENT_FLAGS;
	}
	return 0;
}

/*
 * The class of the method that the frame with WORDS belongs to; 0: none. The method of a block is
 * that of a frame further out, whose environment is its parent.
 */
static uint64_t ruby_find_owner(const struct runtime_process *process, const uint64_t *words,
				size_t n_outer)
{
	for (unsigned i = 0; i < RUBY_MAX_PARENTS; i++, n_outer--, words += N_RUBY_WORDS) {
		uint64_t owner = ruby_read_owner(process, words[WORD_METHOD], words[WORD_ISEQ]);
		uint64_t parent = words[WORD_PARENT] & ~PARENT_FLAGS;

		if (owner)
			return owner;
		while (n_outer && words[N_RUBY_WORDS + WORD_ENVIRONMENT] != parent) {
			words += N_RUBY_WORDS;
			n_outer--;
		}
		if (!n_outer)
			return ruby_find_kept_owner(process, parent);
	}
	return 0;
}

static bool ruby_read_frame(const struct runtime_process *process, const uint64_t *words,
			    size_t n_outer, struct runtime_frame *frame)
{
	frame->code = words[WORD_ISEQ];
	frame->position = words[WORD_PC];
	/* A frame without pc is a binding's; a frame whose code is no iseq is a block of C. */
	frame->outermost = !frame->position || !ruby_is_iseq(process, frame->code);
	if (!frame->outermost)
		frame->owner = ruby_find_owner(process, words, n_outer);
	return !frame->outermost;
}

/* --- code ------------------------------------------------------------------------------------- */

/*
 * A function made by eval() may be removed, and one with as much code may get its memory. The
 * collector frees a function only when no frame has it.
 */
static bool ruby_check_code(const struct runtime_process *process,
			    const struct runtime_frame *frame, uint64_t *check)
{
	/* The words: the kind of function, its size, where its instructions are, and its name. */
	uint64_t words[2 + RUBY_LABEL_WORDS], body;

	body = runtime_read_word(process, frame->code + ISEQ_BODY);
	if (!ruby_is_iseq(process, frame->code) ||
	    memory_read(process->memory, process->root, body, words, 2 * sizeof(words[0])) !=
		    2 * sizeof(words[0]) ||
	    frame->position < words[1] ||
	    frame->position - words[1] > (words[0] >> 32) * sizeof(uint64_t) ||
	    !ruby_read_label(process, frame->code, words + 2))
		return false;
	*check = hash_bytes(body, words, sizeof(words));
	return true;
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
	.prefix = "[rb] ",
	.exports = { [RUBY_EXPORT_VERSION] = "ruby_api_version",
		     [RUBY_EXPORT_CONTEXT] = "ruby_current_execution_context_ptr" },
	.loops = ruby_loops,
	.find_layout = ruby_find_layout,
	.find_recipe = ruby_find_recipe,
	.read_frame = ruby_read_frame,
	.check_code = ruby_check_code,
	.read_name = ruby_read_name,
	.read_line = ruby_read_line,
	.find_loop = ruby_find_loop,
	.n_words = N_RUBY_WORDS,
	.n_outer = 1,
};
