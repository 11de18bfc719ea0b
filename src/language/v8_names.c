/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of JavaScript functions: strings of V8's heap, and what a SharedFunctionInfo has of them.
 *
 *   SharedFunctionInfo ─► name of a built-in function
 *                      ─► ScopeInfo ─► name, and a name from where it was assigned; position
 *                      ─► Script ─► name of the file, source text
 *
 * A ScopeInfo has the names of the function's variables, a small number for each, and then these
 * words, each only where there is one (v8 src/objects/scope-info.tq):
 *
 *   place of `this`, ... │ the function's name │ its place │ the other name │ start │ end
 */
#include "config.h"

#include "language/v8.h"

#include <stdio.h>
#include <string.h>

#include "xtop/base/utf8.h"

#define MAP_TYPE            12 /* 16 bits */
#define SCRIPT_NAME         16
#define SCOPE_MAX_VARIABLES 65536
#define SCOPE_WORDS         8   /* words after the variables, searched for names */
#define PATH_MAX_BYTES      240 /* UTF-8 of a path */

/* Strings: bits of the type (v8 src/objects/instance-type.h), and members. */
#define STRING_KIND      7
#define KIND_SEQUENTIAL  0
#define KIND_CONS        1 /* two parts */
#define KIND_EXTERNAL    2 /* the characters are not in V8's heap */
#define KIND_THIN        5 /* stands for another string */
#define STRING_ONE_BYTE  8
#define STRING_UNCACHED  16
#define STRING_HASH      8  /* 32 bits */
#define STRING_LENGTH    12 /* 32 bits */
#define STRING_TEXT      16
#define STRING_FIRST     16
#define STRING_SECOND    24
#define STRING_EXTERNAL  24 /* place of the characters */
#define STRING_MAX_DEPTH 8

int v8_read_type(const struct runtime_process *process, uint64_t word)
{
	uint64_t map;
	uint16_t type;

	if (!v8_is_object(word))
		return -1;
	map = v8_read(process, word, 0);
	if (!v8_is_object(map) || memory_read(process->memory, process->root, map - 1 + MAP_TYPE,
					      &type, sizeof(type)) != sizeof(type))
		return -1;
	return type;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Reads the string WORD, which has TYPE, if it has its characters itself. */
static bool v8_read_flat(const struct runtime_process *process, uint64_t word, int type,
			 struct v8_text *text)
{
	int kind = type & STRING_KIND;

	if (type < 0 || type >= v8_layout_of(process)->first_other ||
	    (kind != KIND_SEQUENTIAL && (kind != KIND_EXTERNAL || type & STRING_UNCACHED)) ||
	    !memory_read_u32(process->memory, process->root, word - V8_TAG + STRING_LENGTH,
			     &text->length))
		return false;
	text->address = kind == KIND_SEQUENTIAL ? word - V8_TAG + STRING_TEXT
						: v8_read(process, word, STRING_EXTERNAL);
	text->width = type & STRING_ONE_BYTE ? 1 : 2;
	return true;
}

bool v8_find_text(const struct runtime_process *process, uint64_t word, struct v8_text *text)
{
	int type = v8_read_type(process, word), other = v8_layout_of(process)->first_other;
	uint32_t length = 0;

	memory_read_u32(process->memory, process->root, word - V8_TAG + STRING_LENGTH, &length);
	/* If V8 has joined the parts of a string, the first part has all characters. */
	for (unsigned i = 0; i < 2 && type >= 0 && type < other; i++) {
		int kind = type & STRING_KIND;

		if (kind != KIND_THIN && kind != KIND_CONS)
			break;
		word = v8_read(process, word, STRING_FIRST);
		type = v8_read_type(process, word);
	}
	return v8_read_flat(process, word, type, text) && text->length == length;
}

/* Adds the characters of TEXT to the N bytes of NAME. Returns how many bytes there are then. */
static size_t v8_add_text(const struct runtime_process *process, const struct v8_text *text,
			  char *name, size_t n, size_t capacity)
{
	uint8_t bytes[2 * RUNTIME_NAME_BYTES];
	size_t length = text->length < RUNTIME_NAME_BYTES ? text->length : RUNTIME_NAME_BYTES;
	char encoded[4];

	if (memory_read(process->memory, process->root, text->address, bytes,
			length * text->width) != length * text->width)
		return n;
	for (size_t i = 0; i < length; i++) {
		uint32_t character = text->width == 1
					     ? bytes[i]
					     : bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
		size_t size = character ? utf8_encode(character, encoded) : 0;

		if (n + size >= capacity)
			break;
		memcpy(name + n, encoded, size);
		n += size;
	}
	return n;
}

/* Reads the string WORD as UTF-8. Returns false if it is none, or is empty. */
static bool v8_read_string(const struct runtime_process *process, uint64_t word, char *name,
			   size_t capacity)
{
	uint64_t rest[STRING_MAX_DEPTH]; /* strings to add; the next one is last */
	unsigned depth = 0, steps = 0;
	struct v8_text text;
	size_t n = 0;

	rest[depth++] = word;
	while (depth && steps++ < 2 * STRING_MAX_DEPTH) {
		int type;

		word = rest[--depth];
		type = v8_read_type(process, word);
		if (type >= 0 && type < v8_layout_of(process)->first_other &&
		    (type & STRING_KIND) == KIND_CONS && depth + 2 <= STRING_MAX_DEPTH) {
			rest[depth++] = v8_read(process, word, STRING_SECOND);
			rest[depth++] = v8_read(process, word, STRING_FIRST);
		} else if (v8_find_text(process, word, &text)) {
			n = v8_add_text(process, &text, name, n, capacity);
		} else {
			n = 0;
			break;
		}
	}
	name[n] = '\0';
	return n > 0;
}

/* --- functions -------------------------------------------------------------------------------- */

/* What a ScopeInfo says of its function. */
struct v8_scope {
	char name[RUNTIME_NAME_BYTES]; /* "": none */
	uint64_t name_at;              /* address of the word with the name; 0: none */
	uint64_t start_at;             /* address of the word with the position; 0: none */
	uint32_t start;                /* position in the script's text */
};

/*
 * Finds the first word after the variables: their names, and a number for each. A scope with many
 * variables has one object with all names.
 */
static uint64_t v8_find_scope_end(const struct runtime_process *process, uint64_t scope)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t n = v8_read(process, scope, layout->scope_n_variables) >> 32, names = n;
	uint64_t first = scope - V8_TAG + (uint64_t)layout->scope_variables;
	struct v8_text text;

	if (n && !v8_find_text(process, runtime_read_word(process, first), &text))
		names = 1;
	return n < SCOPE_MAX_VARIABLES ? first + (names + n) * sizeof(uint64_t) : 0;
}

/* Whether the words at AT are the positions of a function's start and end. */
static bool v8_is_range(const uint64_t *at)
{
	return v8_is_small(at[0]) && v8_is_small(at[1]) && !(uint32_t)at[0] && !(uint32_t)at[1] &&
	       at[0] < at[1] && !(at[1] >> 63);
}

/*
 * Searches WORDS, which lie at ADDRESS, after the variables. The first string is the function's
 * name, or tells where the function was assigned. The first positions after it are the function's.
 */
static void v8_search_scope(const struct runtime_process *process, uint64_t address,
			    const uint64_t words[SCOPE_WORDS], struct v8_scope *found)
{
	bool passed = false;

	for (size_t i = 0; i < SCOPE_WORDS; i++) {
		struct v8_text text;

		if (passed && i + 1 < SCOPE_WORDS && v8_is_range(words + i)) {
			found->start = (uint32_t)(words[i] >> 32);
			found->start_at = address + i * sizeof(words[i]);
			return;
		}
		if (v8_read_type(process, words[i]) == v8_layout_of(process)->scope)
			return;
		passed |= v8_find_text(process, words[i], &text);
		if (!*found->name &&
		    v8_read_string(process, words[i], found->name, sizeof(found->name)))
			found->name_at = address + i * sizeof(words[i]);
	}
}

static bool v8_read_scope(const struct runtime_process *process, uint64_t scope,
			  struct v8_scope *found)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t words[SCOPE_WORDS], end = v8_find_scope_end(process, scope), range[2];
	uint64_t early = (uint64_t)layout->scope_n_variables + sizeof(uint64_t);

	*found = (struct v8_scope){ .start = 0 };
	if (!end ||
	    memory_read(process->memory, process->root, end, words, sizeof(words)) != sizeof(words))
		return false;
	v8_search_scope(process, end, words, found);
	/* Since V8 13 the positions are before the variables. */
	if ((uint64_t)layout->scope_variables > early &&
	    memory_read(process->memory, process->root, scope - V8_TAG + early, range,
			sizeof(range)) == sizeof(range) &&
	    v8_is_range(range)) {
		found->start = (uint32_t)(range[0] >> 32);
		found->start_at = scope - V8_TAG + early;
	}
	return true;
}

/*
 * Reads the path WORD. A long path loses its beginning, and begins with "<" instead: then it names
 * no file.
 */
static void v8_read_path(const struct runtime_process *process, uint64_t word,
			 struct runtime_name *name)
{
	struct v8_text text;
	uint32_t most;
	size_t n;
	bool cut;

	if (!v8_find_text(process, word, &text)) {
		v8_read_string(process, word, name->file, sizeof(name->file));
		return;
	}
	most = PATH_MAX_BYTES / (text.width + 1); /* UTF-8 may be a byte longer for each */
	cut = text.length > most;
	if (cut) {
		text.address += (uint64_t)(text.length - most) * text.width;
		text.length = most;
	}
	n = v8_add_text(process, &text, name->file, 0, sizeof(name->file));
	name->file[n] = '\0';
	if (cut && strchr(name->file + 1, '/'))
		name->file[0] = '<';
}

/*
 * When functions are collected, another one may come to have its parts at the same addresses: with
 * another place in the text, or another string for a name.
 */
static void v8_set_witnesses(const struct runtime_process *process, const struct v8_scope *scope,
			     struct runtime_name *name)
{
	unsigned n = 0;

	if (scope->start_at)
		name->witnesses[n++] = scope->start_at;
	if (!scope->name_at)
		return;
	name->witnesses[n++] = scope->name_at;
	name->witnesses[n] = runtime_read_word(process, scope->name_at) - V8_TAG + STRING_HASH;
}

bool v8_read_shared_name(const struct runtime_process *process, uint64_t shared,
			 struct runtime_name *name)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t word = v8_read(process, shared, layout->shared_name);
	uint64_t script = v8_read(process, shared, layout->shared_script);
	struct v8_scope scope = { .start = 0 };
	struct v8_text text;

	if (v8_read_type(process, word) == layout->scope) {
		if (!v8_read_scope(process, word, &scope))
			return false;
		v8_set_witnesses(process, &scope, name);
	} else if (!v8_is_small(word) &&
		   !v8_read_string(process, word, scope.name, sizeof(scope.name)) &&
		   (!v8_find_text(process, word, &text) || text.length)) {
		return false;
	}
	snprintf(name->function, sizeof(name->function), "%s",
		 *scope.name ? scope.name : "<anonymous>");
	if (v8_read_type(process, script) == layout->script) {
		v8_read_path(process, v8_read(process, script, SCRIPT_NAME), name);
		name->line = v8_find_line(process, script, scope.start);
	}
	return true;
}

uint32_t v8_read_shared_line(const struct runtime_process *process, uint64_t shared,
			     uint32_t position)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t script = v8_read(process, shared, layout->shared_script);

	return v8_read_type(process, script) == layout->script
		       ? v8_find_line(process, script, position)
		       : 0;
}
