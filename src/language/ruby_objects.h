/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to language/: objects of CRuby, for what reads its frames and its names. */
#ifndef RUBY_OBJECTS_H
#define RUBY_OBJECTS_H

#include "language/language_ops.h"

/* Exports of the runtime's file. */
enum { RUBY_EXPORT_VERSION, RUBY_EXPORT_CONTEXT };

/* rb_iseq_t, and its struct rb_iseq_constant_body */
#define ISEQ_BODY         16
#define BODY_CODE         8
#define IMEMO_TYPE(flags) ((flags) >> 12 & 0xf)
#define IMEMO_ENVIRONMENT 0
#define IMEMO_BLOCK       4 /* struct vm_ifunc: a block in C */
#define IMEMO_METHOD      6
#define IMEMO_ISEQ        7

/* Every object begins with flags (include/ruby/internal/value_type.h, fl_type.h). */
#define VALUE_TYPE(flags)    ((flags)&0x1f)
#define T_CLASS              2
#define T_MODULE             3
#define T_STRING             5
#define T_ARRAY              7
#define T_IMEMO              26
#define FLAG_USER_SHIFT      12
#define STRING_ON_HEAP       (1ULL << (FLAG_USER_SHIFT + 1)) /* RSTRING_NOEMBED */
#define STRING_LENGTH(flags) ((flags) >> (FLAG_USER_SHIFT + 2) & 0x1f)
#define ARRAY_EMBEDDED       (1ULL << (FLAG_USER_SHIFT + 1))
#define OBJECT_CLASS         8
#define OBJECT_BODY          16
#define RUBY_MAX_TEXT        4096

static inline bool ruby_is_imemo(uint64_t flags, unsigned type)
{
	return VALUE_TYPE(flags) == T_IMEMO && IMEMO_TYPE(flags) == type;
}

/* The flags of the object at ADDRESS; 0: there is none. */
static inline uint64_t ruby_read_flags(const struct runtime_process *process, uint64_t address)
{
	return runtime_is_pointer(address) ? runtime_read_word(process, address) : 0;
}

static inline bool ruby_is_iseq(const struct runtime_process *process, uint64_t iseq)
{
	return ruby_is_imemo(ruby_read_flags(process, iseq), IMEMO_ISEQ);
}

static inline bool ruby_read_words(const struct runtime_process *process, uint64_t address,
				   uint64_t *words, size_t n)
{
	return runtime_is_pointer(address) &&
	       memory_read(process->memory, process->root, address, words, n * sizeof(*words)) ==
		       n * sizeof(*words);
}

#define RUBY_VERSION(major, minor) ((uint64_t)(major) << 32 | (minor)) /* ruby_api_version[] */

static inline uint64_t ruby_read_version(const struct runtime_process *process)
{
	uint64_t version = runtime_read_word(
		process, process->runtime->exports[RUBY_EXPORT_VERSION] + process->bias);

	return version << 32 | version >> 32;
}

struct ruby_layout {
	unsigned location; /* place of the names in an iseq's body, in bytes; 0: not known yet */
};

/* The address of what names the iseq at CODE; 0: it is not found. */
uint64_t ruby_find_location(const struct runtime_process *process, uint64_t code);
#define RUBY_LABEL_WORDS 6
/* Reads the address of the string that names the iseq at CODE, and the string's object. */
bool ruby_read_label(const struct runtime_process *process, uint64_t code,
		     uint64_t words[RUBY_LABEL_WORDS]);
/* The line that FRAME executes; 0: not known. */
uint32_t ruby_read_line(const struct runtime_process *process, const struct runtime_frame *frame);
/* Sets the name, file and line of the function of FRAME; a method's name begins with its class. */
bool ruby_read_name(const struct runtime_process *process, const struct runtime_frame *frame,
		    struct runtime_name *name);

#endif
