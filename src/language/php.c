/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PHP functions in processes that run PHP 7.4 to 8.4, as php-cli, php-fpm and Apache's module do.
 * executor_globals has the innermost frame (php-src Zend/zend_globals.h):
 *
 *   vm_stack_top vm_stack_end vm_stack vm_stack_page_size current_execute_data
 *                                                       └► zend_execute_data, prev_execute_data ...
 *
 * The members before vm_stack_top differ between versions, so these five are searched for: the page
 * size is a constant, and the three pointers lie in one page of that stack. struct
 * _zend_execute_data has had these offsets since 7.4 (Zend/zend_compile.h). One run of the
 * loop ends with the function whose call has the flag ZEND_CALL_TOP.
 */
#include "config.h"

#include "language/language_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

enum { EXPORT_LOOP, EXPORT_GLOBALS, EXPORT_OFFSET };
enum { WORD_FUNCTION, WORD_POSITION, WORD_CALL, WORD_LINES, WORD_NAME_HASH, N_PHP_WORDS };
#define N_PHP_WORDS_BEFORE WORD_LINES
#define N_FAR_WORDS        (N_PHP_WORDS - WORD_LINES)

#define PHP_GLOBALS_BYTES   2048
#define PHP_STACK_BYTES     (256 << 10) /* ZEND_VM_STACK_PAGE_SIZE, Zend/zend_execute.c */
#define PHP_FIBER_BYTES     (16 << 10)  /* ZEND_FIBER_VM_STACK_SIZE, Zend/zend_fibers.h */
#define PHP_MAX_STACK_BYTES (64 << 20)  /* a function with many variables has a larger page */

#define EXECUTE_OPLINE   0
#define EXECUTE_FUNCTION 24
#define EXECUTE_CALL     40 /* This.u1.type_info */
#define EXECUTE_PREVIOUS 48
#define CALL_TOP         (1U << 17)

/* struct _zend_function */
#define FUNCTION_TYPE     0 /* a byte */
#define FUNCTION_INTERNAL 1
#define FUNCTION_USER     2
#define FUNCTION_EVAL     4
#define FUNCTION_NAME     8
#define FUNCTION_SCOPE    16
#define CLASS_NAME        8
#define OPLINE_LINE       24 /* struct _zend_op */

/* struct _zend_string: its hash, its length, and where its characters begin. */
#define STRING_HASH   8 /* 0: not computed yet */
#define STRING_LENGTH 16
#define STRING_TEXT   24
#define PHP_MAX_PATH  4096
#define PHP_MAX_LINE  10000000

/*
 * The first and the last line of a function are one word of struct _zend_op_array, after the name
 * of its file. The word lies further back in newer versions.
 */
#define PHP_FIRST_LINES 120
#define PHP_LAST_LINES  184
#define PHP_MAX_FRAMES  64 /* that are searched for a function with lines */
#define PHP_PAGE_BEFORE 16 /* vm_stack is so many bytes before current_execute_data */
#define PHP_PAGE_HEADER 32 /* bytes before the first frame in a page of the VM's stack */

struct php_layout {
	uint64_t lines; /* place of the lines; 0: not known yet */
};

static bool php_find_layout(struct elf_file *file, const char *name, struct runtime *runtime)
{
	(void)file, (void)name;
	runtime->layout = calloc(1, sizeof(struct php_layout));
	return runtime->layout &&
	       (runtime->exports[EXPORT_GLOBALS] || runtime->exports[EXPORT_OFFSET]);
}

/* --- functions -------------------------------------------------------------------------------- */

static bool php_read_string(const struct runtime_process *process, uint64_t address, char *text,
			    size_t capacity)
{
	uint64_t length = runtime_read_word(process, address + STRING_LENGTH);
	uint64_t skipped = length >= capacity ? length - (capacity - 1) : 0;

	if (!address || !length || length > PHP_MAX_PATH)
		return false;
	length -= skipped;
	if (memory_read(process->memory, process->root, address + STRING_TEXT + skipped, text,
			length) != length)
		return false;
	text[length] = '\0';
	return true;
}

/* Returns the function's type; 0: there is no function. */
static unsigned php_read_type(const struct runtime_process *process, uint64_t code)
{
	unsigned type = runtime_read_word(process, code + FUNCTION_TYPE) & 0xff;

	return type == FUNCTION_INTERNAL || type == FUNCTION_USER || type == FUNCTION_EVAL ? type
											   : 0;
}

/* The type is in the upper half of the first word: Zend/zend_types.h, GC_TYPE, IS_STRING. */
static bool php_is_string(const struct runtime_process *process, uint64_t address)
{
	return (runtime_read_word(process, address) >> 32 & 0xf) == 6;
}

/* Whether WORD may be the first and the last line of a function. */
static bool php_is_lines(uint64_t word)
{
	return (uint32_t)word && (uint32_t)word <= word >> 32 && word >> 32 <= PHP_MAX_LINE;
}

/* Where the function at CODE, which is written in PHP, has its lines; 0: not found. */
static uint64_t php_search_lines(const struct runtime_process *process, uint64_t code)
{
	char path[RUNTIME_FILE_BYTES];

	for (uint64_t at = PHP_FIRST_LINES; at <= PHP_LAST_LINES; at += sizeof(uint64_t)) {
		uint64_t file = runtime_read_word(process, code + at - sizeof(uint64_t));

		if (php_is_lines(runtime_read_word(process, code + at)) &&
		    runtime_is_pointer(file) && php_is_string(process, file) &&
		    php_read_string(process, file, path, sizeof(path)))
			return at;
	}
	return 0;
}

/*
 * Finds where a function has its lines. Looks at the functions that run: from the frame CURRENT
 * outwards, or the first one in PAGE, which stays there between two requests.
 */
static uint64_t php_find_lines(const struct runtime_process *process, uint64_t current,
			       uint64_t page)
{
	struct php_layout *layout = process->runtime->layout;
	uint64_t frame = current ? current : page + PHP_PAGE_HEADER;

	for (unsigned i = 0; !layout->lines && i < PHP_MAX_FRAMES && frame; i++) {
		uint64_t code = runtime_read_word(process, frame + EXECUTE_FUNCTION);

		unsigned type = php_read_type(process, code);

		if (type == FUNCTION_USER || type == FUNCTION_EVAL)
			layout->lines = php_search_lines(process, code);
		frame = runtime_read_word(process, frame + EXECUTE_PREVIOUS);
	}
	return layout->lines;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Whether the words at AT are those from vm_stack_top to vm_stack_page_size. */
static bool php_is_stack(const uint64_t *at)
{
	uint64_t top = at[0], end = at[1], page = at[2];

	return (at[3] == PHP_STACK_BYTES || at[3] == PHP_FIBER_BYTES) && page && page < top &&
	       top <= end && end - page <= PHP_MAX_STACK_BYTES;
}

/* The offset of current_execute_data in the executor_globals at GLOBALS; 0: these are none. */
static unsigned php_find_current(const struct runtime_process *process, uint64_t thread_pointer,
				 uint64_t globals)
{
	uint64_t words[PHP_GLOBALS_BYTES / sizeof(uint64_t)];
	size_t n = memory_read(process->memory, process->root, globals, words, sizeof(words)) /
		   sizeof(words[0]);

	(void)thread_pointer;
	for (unsigned i = 0; i + 5 <= n; i++)
		if (php_is_stack(&words[i]))
			return (i + 4) * sizeof(words[0]);
	return 0;
}

/*
 * Finds a thread's globals: behind a structure that the thread knows, as PHP with threads (ZTS) has
 * it: TSRM/TSRM.c, struct _tsrm_tls_entry.
 */
static bool php_search_thread(const struct runtime_process *process, struct runtime_search *search)
{
	search->offset = runtime_read_word(process, process->runtime->exports[EXPORT_OFFSET] +
							    process->bias);
	/* If the program uses the variable, too, its copy counts, and the library's is 0. */
	return search->offset && search->offset <= UINT16_MAX - PHP_GLOBALS_BYTES &&
	       search->offset % sizeof(uint64_t) == 0 && runtime_search_thread(process, search);
}

/* Sets how RECIPE begins, and what SEARCH finds: the globals, and the offset of their frame. */
static bool php_begin(const struct runtime_process *process, struct recipe *recipe,
		      struct runtime_search *search)
{
	if (!process->runtime->exports[EXPORT_GLOBALS]) {
		if (!php_search_thread(process, search))
			return false;
		recipe->base = (uint64_t)search->distance;
		recipe->by_thread = 1;
		recipe->n_loads = 2;
	} else {
		recipe->base = process->runtime->exports[EXPORT_GLOBALS] + process->bias;
		recipe->n_loads = 1;
		search->structure = recipe->base;
		search->found = php_find_current(process, 0, recipe->base);
	}
	recipe->loads[recipe->n_loads - 1] = (uint16_t)(search->offset + search->found);
	return search->found;
}

static bool php_find_recipe(const struct runtime_process *process, uint64_t thread_pointer,
			    struct recipe *recipe)
{
	struct runtime_search search = { thread_pointer, .is_right = php_find_current };
	uint64_t current, lines;

	*recipe = (struct recipe){ .n_words = N_PHP_WORDS,
				   .far = EXECUTE_FUNCTION,
				   .n_far = N_FAR_WORDS,
				   .deep = STRING_HASH,
				   .words = { [WORD_FUNCTION] = EXECUTE_FUNCTION,
					      [WORD_POSITION] = EXECUTE_OPLINE,
					      [WORD_CALL] = EXECUTE_CALL,
					      [WORD_NAME_HASH] = recipe_after(FUNCTION_NAME) },
				   .next = EXECUTE_PREVIOUS };
	if (!php_begin(process, recipe, &search))
		return false;
	current = search.structure + search.found;
	lines = php_find_lines(process, runtime_read_word(process, current),
			       runtime_read_word(process, current - PHP_PAGE_BEFORE));
	recipe->words[WORD_LINES] = recipe_after((uint16_t)lines);
	return lines;
}

static bool php_read_frame(const struct runtime_process *process, const uint64_t *words,
			   size_t n_outer, struct runtime_frame *frame)
{
	(void)process, (void)n_outer;
	frame->code = words[WORD_FUNCTION];
	frame->position = words[WORD_POSITION];
	frame->seen = words[WORD_LINES];
	frame->name_hash = words[WORD_NAME_HASH];
	frame->outermost = words[WORD_CALL] & CALL_TOP;
	return frame->code != 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * Reads the place of the file's name and the lines of FRAME's function, which is written in PHP.
 * Returns false if another function ran in the stop: closures have one name, and come and go.
 */
static bool php_read_lines(const struct runtime_process *process, const struct runtime_frame *frame,
			   uint64_t words[2])
{
	const struct php_layout *layout = process->runtime->layout;

	return layout->lines &&
	       memory_read(process->memory, process->root,
			   frame->code + layout->lines - sizeof(words[0]), words,
			   2 * sizeof(words[0])) == 2 * sizeof(words[0]) &&
	       php_is_lines(words[1]) && (!frame->seen || frame->seen == words[1]);
}

static bool php_check_code(const struct runtime_process *process, const struct runtime_frame *frame,
			   uint64_t *check)
{
	uint64_t words[6] = { 0 }; /* type and flags, name, scope, prototype, file, lines */
	unsigned type = php_read_type(process, frame->code);

	if (!type || memory_read(process->memory, process->root, frame->code, words,
				 4 * sizeof(words[0])) != 4 * sizeof(words[0]))
		return false;
	if (type != FUNCTION_INTERNAL && !php_read_lines(process, frame, &words[4]))
		return false;
	*check = hash_bytes(frame->code, words, sizeof(words));
	return true;
}

static bool php_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
			  struct runtime_name *name)
{
	uint64_t scope = runtime_read_word(process, frame->code + FUNCTION_SCOPE);
	uint64_t called = runtime_read_word(process, frame->code + FUNCTION_NAME);
	char function[RUNTIME_NAME_BYTES / 2], class[RUNTIME_NAME_BYTES / 2];
	unsigned type = php_read_type(process, frame->code);
	uint64_t place[2];

	/* zend_fiber_function has no name, nor has a file's own code. */
	snprintf(function, sizeof(function), "%s",
		 type == FUNCTION_INTERNAL ? "<fiber>" : "<main>");
	if (!type || !runtime_is_same_name(process, frame, called + STRING_HASH) ||
	    (called && !php_read_string(process, called, function, sizeof(function))) ||
	    (scope && !php_read_string(process, runtime_read_word(process, scope + CLASS_NAME),
				       class, sizeof(class))) ||
	    (type != FUNCTION_INTERNAL &&
	     (!php_read_lines(process, frame, place) ||
	      !php_read_string(process, place[0], name->file, sizeof(name->file)))))
		return false;
	if (type != FUNCTION_INTERNAL)
		name->line = (uint32_t)place[1];
	/* The main part of a file that a method includes has the method's class. */
	if (called && scope)
		snprintf(name->function, sizeof(name->function), "%s::%s", class, function);
	else
		snprintf(name->function, sizeof(name->function), "%s", function);
	return true;
}

/* Each instruction has its line. A line outside its function is refused. */
static uint32_t php_read_line(const struct runtime_process *process,
			      const struct runtime_frame *frame)
{
	uint64_t place[2];
	uint32_t line;

	if (!runtime_is_pointer(frame->position) ||
	    !memory_read_u32(process->memory, process->root, frame->position + OPLINE_LINE,
			     &line) ||
	    !php_read_lines(process, frame, place))
		return 0;
	return line >= (uint32_t)place[1] && line <= place[1] >> 32 ? line : 0;
}

static const char *const php_loops[] = { "execute_ex", NULL };

const struct language_ops php_language = {
	.prefix = "[php] ",
	.exports = { [EXPORT_LOOP] = "execute_ex",
		     [EXPORT_GLOBALS] = "executor_globals",
		     [EXPORT_OFFSET] = "executor_globals_offset" },
	.loops = php_loops,
	.find_layout = php_find_layout,
	.find_recipe = php_find_recipe,
	.read_frame = php_read_frame,
	.check_code = php_check_code,
	.read_name = php_read_name,
	.read_line = php_read_line,
	.n_words = N_PHP_WORDS,
	.n_words_before = N_PHP_WORDS_BEFORE,
};
