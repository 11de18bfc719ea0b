/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Ruby's functions and classes. Their places in structures differ between versions, and
 * are searched for: what is found has to be a string, or a class that points back.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "language/ruby_objects.h"

/* The words of struct rb_iseq_constant_body that are searched for a function's names. */
#define BODY_FIRST_WORD 8
#define BODY_SEARCHED   48

/*
 * Words of a class. Since 3.2 some of the words after its superclass have its name. Before 3.2 it
 * has the address of its classext, whose first words may be tables of variables.
 */
#define CLASS_FIRST_WORD 3
#define CLASS_WORDS      20
#define CLASS_EXT        24
#define CLASS_TABLES     4

/* struct st_table and st_table_entry (st.h, st.c), in words */
enum { TABLE_COUNT = 2, TABLE_END = 5, TABLE_ENTRIES, N_TABLE_WORDS };
enum { ENTRY_HASH, ENTRY_KEY, ENTRY_VALUE, N_ENTRY_WORDS };
#define TABLE_MAX_ENTRIES 256
#define ID_IS_LOCAL(id)   (!((id)&0xe)) /* no @name, no @@name, no constant (symbol.h) */

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
 * Whether objects may be larger than 40 bytes, as since Ruby 3.2. An embedded string has a word for
 * its length then, instead of bits in its flags; a class lies before its struct rb_classext_struct.
 */
static bool ruby_has_large_objects(const struct runtime_process *process)
{
	return ruby_read_version(process) >= RUBY_VERSION(3, 2);
}

static bool ruby_read_string(const struct runtime_process *process, uint64_t address, char *text,
			     size_t capacity)
{
	uint64_t flags = ruby_read_flags(process, address);
	uint64_t body = address + OBJECT_BODY;
	uint64_t length = runtime_read_word(process, body);

	if (VALUE_TYPE(flags) != T_STRING)
		return false;
	if (flags & STRING_ON_HEAP)
		return ruby_read_text(process, runtime_read_word(process, body + sizeof(uint64_t)),
				      length, text, capacity);
	if (ruby_has_large_objects(process))
		return ruby_read_text(process, body + sizeof(uint64_t), length, text, capacity);
	return ruby_read_text(process, body, STRING_LENGTH(flags), text, capacity);
}

static bool ruby_is_string(const struct runtime_process *process, uint64_t address)
{
	return VALUE_TYPE(ruby_read_flags(process, address)) == T_STRING;
}

/* Reads a path: a string, or an array whose first element is one. */
static bool ruby_read_path(const struct runtime_process *process, uint64_t address, char *text,
			   size_t capacity)
{
	uint64_t flags = ruby_read_flags(process, address);
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
enum { LOCATION_PATH, LOCATION_BASE, LOCATION_LABEL, LOCATION_LINE, N_LOCATION_WORDS };

/* Where BODY has that structure, in bytes; 0: not found. */
static unsigned ruby_search_location(const struct runtime_process *process, uint64_t body)
{
	uint64_t words[BODY_SEARCHED];
	size_t n = memory_read(process->memory, process->root, body, words, sizeof(words)) /
		   sizeof(words[0]);

	for (unsigned i = BODY_FIRST_WORD; i + N_LOCATION_WORDS <= n; i++) {
		unsigned type = VALUE_TYPE(ruby_read_flags(process, words[i + LOCATION_PATH]));

		if ((type == T_STRING || type == T_ARRAY) &&
		    ruby_is_string(process, words[i + LOCATION_BASE]) &&
		    ruby_is_string(process, words[i + LOCATION_LABEL]))
			return i * sizeof(words[0]);
	}
	return 0;
}

uint64_t ruby_find_location(const struct runtime_process *process, uint64_t code)
{
	struct ruby_layout *layout = process->runtime->layout;
	uint64_t body = runtime_read_word(process, code + ISEQ_BODY);

	if (!layout->location)
		layout->location = ruby_search_location(process, body);
	return layout->location ? body + layout->location : 0;
}

bool ruby_read_label(const struct runtime_process *process, uint64_t code,
		     uint64_t words[RUBY_LABEL_WORDS])
{
	uint64_t location = ruby_find_location(process, code);

	words[0] = runtime_read_word(process, location + LOCATION_LABEL * sizeof(*words));
	return location && ruby_is_string(process, words[0]) &&
	       ruby_read_words(process, words[0], words + 1, RUBY_LABEL_WORDS - 1);
}

/* Whether TEXT is the name of a constant, such as Shop::Third. An anonymous class has another. */
static bool ruby_is_constant(const char *text)
{
	if (!isupper((unsigned char)*text) && (unsigned char)*text < 0x80)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("_:", *text) &&
		    (unsigned char)*text < 0x80)
			return false;
	return true;
}

/* A class's name, and the class whose singleton it is. */
struct ruby_class {
	uint64_t address;
	uint64_t name; /* a string; 0: anonymous */
	uint64_t original; /* class or module whose singleton this is; 0: it is no singleton */
};

/*
 * Tries VALUE, a word of CLASS: it may be the class's name, or the object whose singleton the class
 * is. Among all that a class refers to, only that object has CLASS as its own class.
 */
static void ruby_try_value(const struct runtime_process *process, uint64_t value,
			   struct ruby_class *class)
{
	unsigned type = VALUE_TYPE(ruby_read_flags(process, value));
	char text[RUNTIME_NAME_BYTES];

	if (type == T_STRING && ruby_read_string(process, value, text, sizeof(text)) &&
	    ruby_is_constant(text))
		class->name = value;
	if ((type == T_CLASS || type == T_MODULE) && value != class->address &&
	    runtime_read_word(process, value + OBJECT_CLASS) == class->address)
		class->original = value;
}

/* Tries the variables of a class in TABLE, a struct st_table, that programs cannot name. */
static void ruby_try_table(const struct runtime_process *process, uint64_t table,
			   struct ruby_class *class)
{
	uint64_t words[N_TABLE_WORDS], entry[N_ENTRY_WORDS];

	if (!ruby_read_words(process, table, words, N_TABLE_WORDS) ||
	    words[TABLE_END] > TABLE_MAX_ENTRIES || words[TABLE_COUNT] > words[TABLE_END])
		return;
	for (uint64_t i = 0; i < words[TABLE_END]; i++)
		if (ruby_read_words(process, words[TABLE_ENTRIES] + i * sizeof(entry), entry,
				    N_ENTRY_WORDS) &&
		    ID_IS_LOCAL(entry[ENTRY_KEY]))
			ruby_try_value(process, entry[ENTRY_VALUE], class);
}

/*
 * Reads the class at ADDRESS. Since 3.2 its name is a member of struct rb_classext_struct, which
 * lies after struct RClass; before, it is in a table of variables that a classext elsewhere has.
 */
static void ruby_read_class(const struct runtime_process *process, uint64_t address,
			    struct ruby_class *class)
{
	unsigned type = VALUE_TYPE(ruby_read_flags(process, address));
	uint64_t words[CLASS_WORDS], ext;
	bool embedded = ruby_has_large_objects(process);

	*class = (struct ruby_class){ .address = address };
	if (type != T_CLASS && type != T_MODULE)
		return;
	ext = embedded ? address : runtime_read_word(process, address + CLASS_EXT);
	if (!ruby_read_words(process, ext, words, embedded ? CLASS_WORDS : CLASS_TABLES))
		return;
	for (unsigned i = CLASS_FIRST_WORD; embedded && i < CLASS_WORDS; i++)
		ruby_try_value(process, words[i], class);
	for (unsigned i = 0; !embedded && i < CLASS_TABLES; i++)
		ruby_try_table(process, words[i], class);
}

/* Writes "Third#", or "Third." for a singleton of Third, or nothing for an anonymous class. */
static void ruby_read_class_name(const struct runtime_process *process, uint64_t address,
				 char *text, size_t capacity)
{
	struct ruby_class class;
	const char *separator = "#";

	*text = '\0';
	ruby_read_class(process, address, &class);
	if (class.original) {
		separator = ".";
		ruby_read_class(process, class.original, &class);
	}
	if (class.name && ruby_read_string(process, class.name, text, capacity - 1))
		strcat(text, separator);
}

/* The name as Ruby 3.4 writes it: "block in Third#gamma" for the label "block in gamma". */
bool ruby_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
		    struct runtime_name *name)
{
	char base[RUNTIME_NAME_BYTES] = "", label[RUNTIME_NAME_BYTES], class[RUNTIME_NAME_BYTES];
	uint64_t location[N_LOCATION_WORDS];
	size_t before;

	if (!ruby_is_iseq(process, frame->code) ||
	    !ruby_read_words(process, ruby_find_location(process, frame->code), location,
			     N_LOCATION_WORDS) ||
	    !ruby_read_path(process, location[LOCATION_PATH], name->file, sizeof(name->file)) ||
	    !ruby_read_string(process, location[LOCATION_LABEL], label, sizeof(label)))
		return false;
	ruby_read_string(process, location[LOCATION_BASE], base, sizeof(base));
	ruby_read_class_name(process, frame->owner, class, sizeof(class));
	before = strlen(label) > strlen(base) ? strlen(label) - strlen(base) : 0;
	name->line = location[LOCATION_LINE] >> 32 ? (uint32_t)location[LOCATION_LINE]
						   : (uint32_t)(location[LOCATION_LINE] >> 1);
	return snprintf(name->function, sizeof(name->function), "%.*s%s%s", (int)before, label,
			class, label + before) > 0;
}
