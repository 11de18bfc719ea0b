/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perl subroutines in processes that run Perl 5.26 to 5.42. If Perl has threads, as distributions
 * build it, glibc keeps the address of a thread's interpreter among the values of its pthread keys
 * (PL_thr_key). Otherwise the members of the only interpreter are variables (PL_curstackinfo). The
 * interpreter leads to the newest of its stacks, each with an array of contexts:
 *
 *   interpreter ─► PERL_SI ──si_prev──► PERL_SI ...        sort, tie, signals begin a new one
 *                    │ si_cxstack         │
 *                    └► PERL_CONTEXT[0 .. si_cxix]         the last one is the innermost
 *
 * A context of a subroutine has its CV. A COP is where a statement begins, with its line and file.
 * The interpreter has that of the present statement (PL_curcop), and each context that of the
 * statement in which it began, which is its caller's. Structures are those of perl 5.24 and later
 * (cop.h, cv.h, gv.h, hv.h, op.h, sv.h); the place of PL_curstackinfo differs, and is searched for.
 */
#include "config.h"

#include "language/language_ops.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

enum { EXPORT_LOOP, EXPORT_KEY, EXPORT_STACK, EXPORT_STATEMENT, EXPORT_UP_TO_5_30 };
enum { WORD_TYPE, WORD_CV, WORD_RETURN, WORD_STATEMENT, WORD_SEQUENCE, N_PERL_WORDS };
#define N_PERL_WORDS_BEFORE WORD_STATEMENT

#define INTERPRETER_SEARCHED  64 /* words */
#define STACK_AFTER_STATEMENT 16 /* PL_curstackinfo comes two words after PL_curcop (intrpvar.h) */

/* PERL_SI */
#define STACK_CONTEXTS 8
#define STACK_PREVIOUS 16
#define STACK_NEXT     24
#define STACK_LAST     32 /* two numbers of 32 bits: the last context, and how many have room */
#define STACK_MAX_ROOM (1 << 20)

/* PERL_CONTEXT, from 5.32 on */
#define CONTEXT_BYTES     104
#define CONTEXT_TYPE      0
#define CONTEXT_STATEMENT 16 /* blk_oldcop */
#define CONTEXT_RETURN    48 /* place of a subroutine's return in its caller; 0: the loop ends */
#define CONTEXT_CV        72
#define CONTEXT_SUBIX     8 /* bytes of old_cxsubix, which comes before the CV from 5.32 on */
#define TYPE_MASK         0xf
#define TYPE_SUB          9
#define TYPE_FORMAT       10
#define TYPE_EVAL         11
#define SUB_FAKE          0x80 /* CXp_SUB_RE_FAKE: code of a pattern in the subroutine itself */
#define EVAL_BLOCK        0x40 /* CXp_TRYBLOCK: not the text of a string or file */

/* SV, and the bodies of a CV, GV and HV */
#define SV_BODY        0
#define SV_FLAGS       12
#define SV_UNION       16
#define SV_TYPE_MASK   0xff
#define SV_TYPE_GV     9
#define SV_TYPE_HV     12
#define SV_TYPE_CV     13
#define CV_STASH       32
#define CV_START       40 /* the first operation, which begins the first statement */
#define CV_GV          56
#define CV_FILE        64
#define CV_SEQUENCE    88 /* counts what was compiled: 32 bits, with CV_FLAGS in one word */
#define CV_FLAGS       92
#define CV_NAMED       0x8000 /* CV_GV has a name instead of a GV */
#define CV_UNIQUE      0x100  /* BEGIN, END and others that Perl calls itself, once */
#define GV_NAME        32
#define GV_STASH       40
#define HV_MAX         24
#define HV_BYTES       32
#define HV_MAX_BUCKETS (1 << 24)

/* HEK, a name */
#define HEK_LENGTH 4
#define HEK_TEXT   8

/* COP */
#define COP_LINE     36 /* 32 bits */
#define COP_FILE     48 /* the path; without threads a GV whose name has "_<" before the path */
#define COP_MAX_LINE 10000000

#define PERL_MAIN 1 /* stands for the program's own code, which is in no subroutine */

static bool perl_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	(void)file, (void)name;
	return runtime->exports[EXPORT_KEY] ||
	       (runtime->exports[EXPORT_STACK] && runtime->exports[EXPORT_STATEMENT]);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Whether STACK is the address of the newest PERL_SI. */
static bool perl_is_stack(const struct runtime_process *process, uint64_t stack)
{
	uint64_t last, previous;

	if (!runtime_is_pointer(stack) ||
	    !runtime_is_pointer(runtime_read_word(process, stack + STACK_CONTEXTS)))
		return false;
	last = runtime_read_word(process, stack + STACK_LAST);
	previous = runtime_read_word(process, stack + STACK_PREVIOUS);
	return (int32_t)last >= -1 && (int32_t)last <= (int32_t)(last >> 32) && last >> 32 &&
	       last >> 32 <= STACK_MAX_ROOM &&
	       (!previous || (runtime_is_pointer(previous) &&
			      runtime_read_word(process, previous + STACK_NEXT) == stack));
}

/* The offset of PL_curstackinfo in the interpreter at ADDRESS; 0: this is no interpreter. */
static unsigned perl_find_stack(const struct runtime_process *process, uint64_t thread_pointer,
				uint64_t address)
{
	uint64_t words[INTERPRETER_SEARCHED];
	size_t n = memory_read(process->memory, process->root, address, words, sizeof(words)) /
		   sizeof(words[0]);

	for (unsigned i = 1; i < n && address != thread_pointer; i++)
		if (perl_is_stack(process, words[i]))
			return i * sizeof(uint64_t);
	return 0;
}

/* Sets how RECIPE begins: at a thread's interpreter. */
static bool perl_begin_by_thread(const struct runtime_process *process, uint64_t thread_pointer,
				 struct recipe *recipe)
{
	struct runtime_search search = { thread_pointer, .is_right = perl_find_stack };

	if (!runtime_search_thread(process, &search))
		return false;
	recipe->base = (uint64_t)search.distance;
	recipe->by_thread = 1;
	recipe->n_loads = 2;
	recipe->loads[1] = (uint16_t)search.found;
	if (recipe->loads[1] > STACK_AFTER_STATEMENT)
		recipe->current = recipe->loads[1] - STACK_AFTER_STATEMENT;
	return true;
}

/* Sets how RECIPE begins: at the variables of a Perl without threads. */
static bool perl_begin_at_variables(const struct runtime_process *process, struct recipe *recipe)
{
	uint64_t stack = process->runtime->exports[EXPORT_STACK];
	uint64_t statement = process->runtime->exports[EXPORT_STATEMENT];
	uint64_t base = (stack < statement ? stack : statement) - sizeof(uint64_t);

	recipe->base = base + process->bias;
	recipe->n_loads = 1;
	recipe->loads[0] = (uint16_t)(stack - base);
	recipe->current = (uint16_t)(statement - base);
	return stack - base <= UINT16_MAX && statement - base <= UINT16_MAX &&
	       perl_is_stack(process, runtime_read_word(process, stack + process->bias));
}

static bool perl_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			     struct recipe *recipe)
{
	uint16_t missing = process->runtime->exports[EXPORT_UP_TO_5_30] ? CONTEXT_SUBIX : 0;

	*recipe = (struct recipe){
		.shape = RECIPE_STACKS,
		.next = STACK_PREVIOUS,
		.array_start = STACK_CONTEXTS,
		.array_size = STACK_LAST,
		.element = CONTEXT_BYTES - missing,
		.n_words = N_PERL_WORDS,
		.words = { [WORD_TYPE] = CONTEXT_TYPE,
			   [WORD_CV] = CONTEXT_CV - missing,
			   [WORD_RETURN] = CONTEXT_RETURN,
			   [WORD_STATEMENT] = CONTEXT_STATEMENT,
			   [WORD_SEQUENCE] = recipe_after(SV_BODY) },
		.far = CONTEXT_CV - missing,
		.n_far = 1,
		.deep = CV_SEQUENCE,
	};
	return process->runtime->exports[EXPORT_KEY]
		       ? perl_begin_by_thread(process, thread_pointer, recipe)
		       : perl_begin_at_variables(process, recipe);
}

/* Whether the node WORDS enters other program text than the node further out executes. */
static bool perl_is_call(const uint64_t *words)
{
	uint64_t context = words[WORD_TYPE];

	switch (context & TYPE_MASK) {
	case TYPE_SUB:
		return !(context & SUB_FAKE);
	case TYPE_FORMAT:
		return true;
	case TYPE_EVAL:
		return !(context & EVAL_BLOCK);
	default:
		return false;
	}
}

/* Whether the subroutine of the node WORDS, with N_OUTER nodes further out, calls itself. */
static bool perl_is_recursion(const uint64_t *words, size_t n_outer)
{
	for (const uint64_t *outer = words + N_PERL_WORDS; n_outer--; outer += N_PERL_WORDS)
		if (perl_is_call(outer))
			return outer[WORD_CV] == words[WORD_CV];
	return false;
}

static bool perl_read_frame(const struct runtime_process *process, const uint64_t *words,
			    size_t n_outer, struct runtime_frame *frame)
{
	bool is_sub = (words[WORD_TYPE] & TYPE_MASK) == TYPE_SUB, is_call = perl_is_call(words);
	bool is_unique = is_sub && words[WORD_SEQUENCE] >> 32 & CV_UNIQUE;

	(void)process;
	if (!words[WORD_TYPE] && !words[WORD_CV] && !words[WORD_RETURN]) {
		if (words[WORD_STATEMENT])
			frame->caller = words[WORD_STATEMENT]; /* PL_curcop */
		else
			frame->outermost = true; /* one stack of the interpreter ends here */
		return false;
	}
	/* Perl itself calls BEGIN while it compiles: no statement of the program does. */
	if (is_call)
		frame->caller = is_unique ? 0 : words[WORD_STATEMENT];
	if (!is_sub)
		return false;
	frame->code = words[WORD_CV];
	/* When a subroutine has just begun, PL_curcop is still its caller's statement. */
	if (is_call && frame->position && frame->position == words[WORD_STATEMENT] &&
	    !perl_is_recursion(words, n_outer))
		frame->position = frame->code;
	frame->name_hash = (uint32_t)words[WORD_SEQUENCE];
	frame->outermost = !words[WORD_RETURN];
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether the body of a CV is that of the subroutine which ran in the stop. */
static bool perl_is_same(const struct runtime_process *process, const struct runtime_frame *frame,
			 uint64_t body)
{
	return !frame->name_hash ||
	       (uint32_t)runtime_read_word(process, body + CV_SEQUENCE) == frame->name_hash;
}

/*
 * Whether FRAME's CV, with its body at BODY, still is the subroutine that ran in the stop. The
 * program runs while the name is read, and copies of its pages do not show what has changed since.
 */
static bool perl_is_same_now(const struct runtime_process *process,
			     const struct runtime_frame *frame, uint64_t body)
{
	uint32_t sequence, flags;

	if (memory_read_again(process->memory, process->root, body + CV_SEQUENCE, &sequence,
			      sizeof(sequence)) != sizeof(sequence) ||
	    memory_read_again(process->memory, process->root, frame->code + SV_FLAGS, &flags,
			      sizeof(flags)) != sizeof(flags))
		return false;
	return (!frame->name_hash || sequence == frame->name_hash) &&
	       (flags & SV_TYPE_MASK) == SV_TYPE_CV;
}

static unsigned perl_read_type(const struct runtime_process *process, uint64_t sv)
{
	uint32_t flags = 0;

	if (runtime_is_pointer(sv))
		memory_read_u32(process->memory, process->root, sv + SV_FLAGS, &flags);
	return flags & SV_TYPE_MASK;
}

/* Reads the name at ADDRESS: letters of an identifier or UTF-8, and a NUL after them. */
static bool perl_read_name_text(const struct runtime_process *process, uint64_t address, char *text,
				size_t capacity)
{
	uint32_t length;

	if (!runtime_is_pointer(address) ||
	    !memory_read_u32(process->memory, process->root, address + HEK_LENGTH, &length) ||
	    !length || length >= capacity ||
	    memory_read(process->memory, process->root, address + HEK_TEXT, text, length + 1) !=
		    length + 1 ||
	    text[length])
		return false;
	for (uint32_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_:'^ ()", text[i]) &&
		    (unsigned char)text[i] < 0x80)
			return false;
	return true;
}

/*
 * Reads the name of the package STASH. A structure has the name. It lies after the hash's body
 * since 5.36, and after the hash's buckets up to 5.34. The name may be the first of several.
 */
static bool perl_read_package(const struct runtime_process *process, uint64_t stash, char *text,
			      size_t capacity)
{
	uint64_t body = runtime_read_word(process, stash + SV_BODY), places[2];
	uint64_t buckets = runtime_read_word(process, stash + SV_UNION);
	uint64_t max = runtime_read_word(process, body + HV_MAX);

	if (perl_read_type(process, stash) != SV_TYPE_HV)
		return false;
	places[0] = body + HV_BYTES;
	places[1] = max < HV_MAX_BUCKETS ? buckets + (max + 1) * sizeof(uint64_t) : 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t name = runtime_read_word(process, places[i]);

		if (perl_read_name_text(process, name, text, capacity) ||
		    (runtime_is_pointer(name) &&
		     perl_read_name_text(process, runtime_read_word(process, name), text,
					 capacity)))
			return true;
	}
	return false;
}

static bool perl_check_code(const struct runtime_process *process,
			    const struct runtime_frame *frame, uint64_t *check)
{
	uint64_t words[4], body = runtime_read_word(process, frame->code + SV_BODY);

	if (frame->code == PERL_MAIN) {
		*check = frame->position != 0;
		return true;
	}
	/* The words: the code's first operation and its root, CV_GV, and CV_FILE. */
	if (perl_read_type(process, frame->code) != SV_TYPE_CV ||
	    memory_read(process->memory, process->root, body + CV_FILE - 3 * sizeof(uint64_t),
			words, sizeof(words)) != sizeof(words) ||
	    !perl_is_same(process, frame, body))
		return false;
	*check = hash_bytes(body, words, sizeof(words));
	return true;
}

static bool perl_read_sub(const struct runtime_process *process, uint64_t body, char *package,
			  char *function, size_t capacity)
{
	uint64_t gv = runtime_read_word(process, body + CV_GV), name = gv, stash;
	uint32_t flags = 0;

	memory_read_u32(process->memory, process->root, body + CV_FLAGS, &flags);
	stash = runtime_read_word(process, body + CV_STASH);
	if (!(flags & CV_NAMED)) {
		uint64_t gv_body = runtime_read_word(process, gv + SV_BODY);

		if (perl_read_type(process, gv) != SV_TYPE_GV)
			return false;
		name = runtime_read_word(process, gv_body + GV_NAME);
		stash = runtime_read_word(process, gv_body + GV_STASH);
	}
	return perl_read_name_text(process, name, function, capacity) &&
	       perl_read_package(process, stash, package, capacity);
}

/* Reads the path of the file that has STATEMENT. */
static bool perl_read_file(const struct runtime_process *process, uint64_t statement,
			   char path[RUNTIME_FILE_BYTES])
{
	uint64_t file = runtime_is_pointer(statement)
				? runtime_read_word(process, statement + COP_FILE)
				: 0;

	if (file && !process->runtime->exports[EXPORT_KEY])
		file = runtime_read_word(process,
					 runtime_read_word(process, file + SV_BODY) + GV_NAME) +
		       HEK_TEXT + strlen("_<");
	*path = '\0';
	if (file)
		memory_read_string(process->memory, process->root, file, path, RUNTIME_FILE_BYTES);
	return *path;
}

static bool perl_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
			   struct runtime_name *name)
{
	uint64_t body = runtime_read_word(process, frame->code + SV_BODY);
	char package[RUNTIME_NAME_BYTES / 2], function[RUNTIME_NAME_BYTES / 2];

	if (frame->code == PERL_MAIN) {
		snprintf(name->function, sizeof(name->function), "<main>");
		perl_read_file(process, frame->position, name->file);
		return true;
	}
	if (perl_read_type(process, frame->code) != SV_TYPE_CV ||
	    !perl_read_sub(process, body, package, function, sizeof(function)))
		return false;
	memory_read_string(process->memory, process->root,
			   runtime_read_word(process, body + CV_FILE), name->file,
			   sizeof(name->file));
	if (!perl_is_same_now(process, frame, body))
		return false;
	snprintf(name->function, sizeof(name->function), "%s::%s", package, function);
	return true;
}

/*
 * The line of the statement at FRAME's position; the code stands for the first one. Perl executes
 * no COP for the first statement of a block without variables (op.c, op_scope()), so that has the
 * line of the statement around it. The line counts only while the subroutine exists, and not if a
 * #line directive has put the statement into another file.
 */
static uint32_t perl_read_line(const struct runtime_process *process,
			       const struct runtime_frame *frame)
{
	uint64_t body = runtime_read_word(process, frame->code + SV_BODY);
	uint64_t statement = frame->position == frame->code
				     ? runtime_read_word(process, body + CV_START)
				     : frame->position;
	char file[RUNTIME_FILE_BYTES], own[RUNTIME_FILE_BYTES];
	uint32_t line = 0;

	if (!perl_read_file(process, statement, file) ||
	    !memory_read_u32(process->memory, process->root, statement + COP_LINE, &line) ||
	    line > COP_MAX_LINE)
		return 0;
	if (frame->code == PERL_MAIN)
		return line;
	memory_read_string(process->memory, process->root,
			   runtime_read_word(process, body + CV_FILE), own, sizeof(own));
	return strcmp(file, own) == 0 && perl_is_same_now(process, frame, body) ? line : 0;
}

static const char *const perl_loops[] = { "Perl_runops_standard", "Perl_runops_debug", NULL };

const struct language_ops perl_language = {
	.prefix = "[pl] ",
	.exports = { [EXPORT_LOOP] = "Perl_runops_standard",
		     [EXPORT_KEY] = "PL_thr_key",
		     [EXPORT_STACK] = "PL_curstackinfo",
		     [EXPORT_STATEMENT] = "PL_curcop",
		     [EXPORT_UP_TO_5_30] = "Perl_feature_is_enabled" },
	.loops = perl_loops,
	.find_layout = perl_find_layout,
	.find_recipe = perl_find_recipe,
	.read_frame = perl_read_frame,
	.check_code = perl_check_code,
	.read_name = perl_read_name,
	.read_line = perl_read_line,
	.n_words = N_PERL_WORDS,
	.n_words_before = N_PERL_WORDS_BEFORE,
	.main_code = PERL_MAIN,
};
