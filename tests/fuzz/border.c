/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The border between code that MemorySanitizer watches and libraries that were compiled without it:
 * libelf, liblzma, libunwind, libiberty, jansson. MemorySanitizer does not see what such a library
 * writes, and would take all of it for uninitialised. The linker sends the calls through this file
 * (-Wl,--wrap, m4/xtop_fuzzers.m4), which marks the results as written.
 *
 * Functions of ours that a library calls get their arguments through functions that are not
 * watched: these pass every argument on as written.
 */
#include "config.h"

#include <Zydis/Zydis.h>
#include <gelf.h>
#include <jansson.h>
#include <libelf.h>
#include <libiberty/demangle.h>
#include <libunwind.h>
#include <lzma.h>
#include <pb_decode.h>
#include <sanitizer/msan_interface.h>
#include <zlib.h>

#define UNWATCHED __attribute__((no_sanitize("memory")))
#define REAL_(name) __real_##name
#define WRAP_(name) __wrap_##name
#define REAL(name)  REAL_(name)
#define WRAP(name)  WRAP_(name)

/* --- libelf ----------------------------------------------------------------------------------- */

GElf_Phdr *__real_gelf_getphdr(Elf *elf, int index, GElf_Phdr *to);
GElf_Shdr *__real_gelf_getshdr(Elf_Scn *section, GElf_Shdr *to);
int __real_elf_getshdrstrndx(Elf *elf, size_t *to);
Elf_Data *__real_elf_rawdata(Elf_Scn *section, Elf_Data *data);

GElf_Phdr *__wrap_gelf_getphdr(Elf *elf, int index, GElf_Phdr *to);
GElf_Shdr *__wrap_gelf_getshdr(Elf_Scn *section, GElf_Shdr *to);
int __wrap_elf_getshdrstrndx(Elf *elf, size_t *to);
Elf_Data *__wrap_elf_rawdata(Elf_Scn *section, Elf_Data *data);

GElf_Phdr *__wrap_gelf_getphdr(Elf *elf, int index, GElf_Phdr *to)
{
	GElf_Phdr *header = __real_gelf_getphdr(elf, index, to);

	if (header)
		__msan_unpoison(to, sizeof(*to));
	return header;
}

GElf_Shdr *__wrap_gelf_getshdr(Elf_Scn *section, GElf_Shdr *to)
{
	GElf_Shdr *header = __real_gelf_getshdr(section, to);

	if (header)
		__msan_unpoison(to, sizeof(*to));
	return header;
}

int __wrap_elf_getshdrstrndx(Elf *elf, size_t *to)
{
	int result = __real_elf_getshdrstrndx(elf, to);

	if (result == 0)
		__msan_unpoison(to, sizeof(*to));
	return result;
}

Elf_Data *__wrap_elf_rawdata(Elf_Scn *section, Elf_Data *data)
{
	Elf_Data *raw = __real_elf_rawdata(section, data);

	if (raw) {
		__msan_unpoison(raw, sizeof(*raw));
		__msan_unpoison(raw->d_buf, raw->d_buf ? raw->d_size : 0);
	}
	return raw;
}

/* --- liblzma ---------------------------------------------------------------------------------- */

lzma_ret __real_lzma_code(lzma_stream *stream, lzma_action action);
lzma_ret __wrap_lzma_code(lzma_stream *stream, lzma_action action);

lzma_ret __wrap_lzma_code(lzma_stream *stream, lzma_action action)
{
	uint8_t *from = stream->next_out;
	lzma_ret result;

	/* It compares check sums of its own with memcmp(), which is watched. */
	__msan_scoped_disable_interceptor_checks();
	result = __real_lzma_code(stream, action);
	__msan_scoped_enable_interceptor_checks();
	__msan_unpoison(from, (size_t)(stream->next_out - from));
	return result;
}

/* --- zlib ------------------------------------------------------------------------------------- */

int __real_inflate(z_streamp stream, int flush);
int __wrap_inflate(z_streamp stream, int flush);

int __wrap_inflate(z_streamp stream, int flush)
{
	Bytef *from = stream->next_out;
	int result = __real_inflate(stream, flush);

	__msan_unpoison(from, (size_t)(stream->next_out - from));
	return result;
}

/* --- nanopb ----------------------------------------------------------------------------------- */

pb_istream_t __real_pb_istream_from_buffer(const pb_byte_t *bytes, size_t size_bytes);
pb_istream_t __wrap_pb_istream_from_buffer(const pb_byte_t *bytes, size_t size_bytes);
bool __real_pb_decode_tag(pb_istream_t *stream, pb_wire_type_t *wire, uint32_t *tag, bool *eof);
bool __wrap_pb_decode_tag(pb_istream_t *stream, pb_wire_type_t *wire, uint32_t *tag, bool *eof);
bool __real_pb_decode_varint(pb_istream_t *stream, uint64_t *value);
bool __wrap_pb_decode_varint(pb_istream_t *stream, uint64_t *value);
bool __real_pb_make_string_substream(pb_istream_t *stream, pb_istream_t *inside);
bool __wrap_pb_make_string_substream(pb_istream_t *stream, pb_istream_t *inside);

pb_istream_t __wrap_pb_istream_from_buffer(const pb_byte_t *bytes, size_t size_bytes)
{
	pb_istream_t stream = __real_pb_istream_from_buffer(bytes, size_bytes);

	__msan_unpoison(&stream, sizeof(stream));
	return stream;
}

bool __wrap_pb_decode_tag(pb_istream_t *stream, pb_wire_type_t *wire, uint32_t *tag, bool *eof)
{
	bool done = __real_pb_decode_tag(stream, wire, tag, eof);

	__msan_unpoison(wire, sizeof(*wire)); /* it sets all three also when it fails */
	__msan_unpoison(tag, sizeof(*tag));
	__msan_unpoison(eof, sizeof(*eof));
	return done;
}

bool __wrap_pb_decode_varint(pb_istream_t *stream, uint64_t *value)
{
	bool done = __real_pb_decode_varint(stream, value);

	if (done)
		__msan_unpoison(value, sizeof(*value));
	return done;
}

bool __wrap_pb_make_string_substream(pb_istream_t *stream, pb_istream_t *inside)
{
	bool done = __real_pb_make_string_substream(stream, inside);

	if (done)
		__msan_unpoison(inside, sizeof(*inside));
	return done;
}

/* --- Zydis ------------------------------------------------------------------------------------ */

ZyanStatus __real_ZydisDecoderDecodeInstruction(const ZydisDecoder *decoder,
						ZydisDecoderContext *context, const void *bytes,
						ZyanUSize n, ZydisDecodedInstruction *head);
ZyanStatus __wrap_ZydisDecoderDecodeInstruction(const ZydisDecoder *decoder,
						ZydisDecoderContext *context, const void *bytes,
						ZyanUSize n, ZydisDecodedInstruction *head);
ZyanStatus __real_ZydisDecoderDecodeOperands(const ZydisDecoder *decoder,
					     const ZydisDecoderContext *context,
					     const ZydisDecodedInstruction *head,
					     ZydisDecodedOperand *operands, ZyanU8 n);
ZyanStatus __wrap_ZydisDecoderDecodeOperands(const ZydisDecoder *decoder,
					     const ZydisDecoderContext *context,
					     const ZydisDecodedInstruction *head,
					     ZydisDecodedOperand *operands, ZyanU8 n);
ZyanStatus __real_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *bytes,
					 ZyanUSize n, ZydisDecodedInstruction *head,
					 ZydisDecodedOperand *operands);
ZyanStatus __wrap_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *bytes,
					 ZyanUSize n, ZydisDecodedInstruction *head,
					 ZydisDecodedOperand *operands);
ZyanStatus __real_ZydisFormatterFormatInstruction(const ZydisFormatter *formatter,
						  const ZydisDecodedInstruction *head,
						  const ZydisDecodedOperand *operands, ZyanU8 n,
						  char *text, ZyanUSize size, ZyanU64 address,
						  void *context);
ZyanStatus __wrap_ZydisFormatterFormatInstruction(const ZydisFormatter *formatter,
						  const ZydisDecodedInstruction *head,
						  const ZydisDecodedOperand *operands, ZyanU8 n,
						  char *text, ZyanUSize size, ZyanU64 address,
						  void *context);
ZyanStatus __real_ZydisCalcAbsoluteAddress(const ZydisDecodedInstruction *head,
					   const ZydisDecodedOperand *operand, ZyanU64 at,
					   ZyanU64 *address);
ZyanStatus __wrap_ZydisCalcAbsoluteAddress(const ZydisDecodedInstruction *head,
					   const ZydisDecodedOperand *operand, ZyanU64 at,
					   ZyanU64 *address);

ZyanStatus __wrap_ZydisDecoderDecodeInstruction(const ZydisDecoder *decoder,
						ZydisDecoderContext *context, const void *bytes,
						ZyanUSize n, ZydisDecodedInstruction *head)
{
	ZyanStatus status = __real_ZydisDecoderDecodeInstruction(decoder, context, bytes, n, head);

	if (ZYAN_SUCCESS(status))
		__msan_unpoison(head, sizeof(*head));
	return status;
}

ZyanStatus __wrap_ZydisDecoderDecodeOperands(const ZydisDecoder *decoder,
					     const ZydisDecoderContext *context,
					     const ZydisDecodedInstruction *head,
					     ZydisDecodedOperand *operands, ZyanU8 n)
{
	ZyanStatus status = __real_ZydisDecoderDecodeOperands(decoder, context, head, operands, n);

	if (ZYAN_SUCCESS(status))
		__msan_unpoison(operands, n * sizeof(*operands));
	return status;
}

ZyanStatus __wrap_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *bytes,
					 ZyanUSize n, ZydisDecodedInstruction *head,
					 ZydisDecodedOperand *operands)
{
	ZyanStatus status = __real_ZydisDecoderDecodeFull(decoder, bytes, n, head, operands);

	if (ZYAN_SUCCESS(status)) {
		__msan_unpoison(head, sizeof(*head));
		__msan_unpoison(operands, head->operand_count * sizeof(*operands));
	}
	return status;
}

ZyanStatus __wrap_ZydisCalcAbsoluteAddress(const ZydisDecodedInstruction *head,
					   const ZydisDecodedOperand *operand, ZyanU64 at,
					   ZyanU64 *address)
{
	ZyanStatus status = __real_ZydisCalcAbsoluteAddress(head, operand, at, address);

	if (ZYAN_SUCCESS(status))
		__msan_unpoison(address, sizeof(*address));
	return status;
}

static UNWATCHED size_t border_text_bytes(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && text[n])
		n++;
	return n < size ? n + 1 : size;
}

ZyanStatus __wrap_ZydisFormatterFormatInstruction(const ZydisFormatter *formatter,
						  const ZydisDecodedInstruction *head,
						  const ZydisDecodedOperand *operands, ZyanU8 n,
						  char *text, ZyanUSize size, ZyanU64 address,
						  void *context)
{
	ZyanStatus status = __real_ZydisFormatterFormatInstruction(formatter, head, operands, n,
								   text, size, address, context);

	if (ZYAN_SUCCESS(status))
		__msan_unpoison(text, border_text_bytes(text, size));
	return status;
}

/* --- libiberty -------------------------------------------------------------------------------- */

typedef int demangle_function(const char *mangled, int options, demangle_callbackref callback,
			      void *opaque);
demangle_function __real_rust_demangle_callback, __real_cplus_demangle_v3_callback;
demangle_function __wrap_rust_demangle_callback, __wrap_cplus_demangle_v3_callback;

static demangle_callbackref border_demangled;

static UNWATCHED void border_append(const char *text, size_t bytes, void *opaque)
{
	__msan_unpoison(text, bytes);
	border_demangled(text, bytes, opaque);
}

int __wrap_rust_demangle_callback(const char *mangled, int options, demangle_callbackref callback,
				  void *opaque)
{
	border_demangled = callback;
	return __real_rust_demangle_callback(mangled, options, border_append, opaque);
}

int __wrap_cplus_demangle_v3_callback(const char *mangled, int options,
				      demangle_callbackref callback, void *opaque)
{
	border_demangled = callback;
	return __real_cplus_demangle_v3_callback(mangled, options, border_append, opaque);
}

char *__real_dlang_demangle(const char *mangled, int options);
char *__wrap_dlang_demangle(const char *mangled, int options);

char *__wrap_dlang_demangle(const char *mangled, int options)
{
	char *name = __real_dlang_demangle(mangled, options);

	if (name)
		__msan_unpoison_string(name);
	return name;
}

/* --- libunwind -------------------------------------------------------------------------------- */

/* libunwind.h gives its functions names of the architecture by macros. */
unw_addr_space_t REAL(unw_create_addr_space)(unw_accessors_t *accessors, int order);
unw_addr_space_t WRAP(unw_create_addr_space)(unw_accessors_t *accessors, int order);
int REAL(unw_get_reg)(unw_cursor_t *cursor, int reg, unw_word_t *value);
int WRAP(unw_get_reg)(unw_cursor_t *cursor, int reg, unw_word_t *value);

static unw_accessors_t border_ours;

static UNWATCHED int border_find_proc_info(unw_addr_space_t space, unw_word_t ip,
					   unw_proc_info_t *info, int need, void *argument)
{
	return border_ours.find_proc_info(space, ip, info, need, argument);
}

static UNWATCHED void border_put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info,
					     void *argument)
{
	border_ours.put_unwind_info(space, info, argument);
}

static UNWATCHED int border_access_mem(unw_addr_space_t space, unw_word_t address,
				       unw_word_t *value, int write, void *argument)
{
	return border_ours.access_mem(space, address, value, write, argument);
}

static UNWATCHED int border_access_reg(unw_addr_space_t space, unw_regnum_t number,
				       unw_word_t *value, int write, void *argument)
{
	return border_ours.access_reg(space, number, value, write, argument);
}

unw_addr_space_t WRAP(unw_create_addr_space)(unw_accessors_t *accessors, int order)
{
	static unw_accessors_t replaced;

	border_ours = replaced = *accessors;
	replaced.find_proc_info = border_find_proc_info;
	replaced.put_unwind_info = border_put_unwind_info;
	replaced.access_mem = border_access_mem;
	replaced.access_reg = border_access_reg;
	return REAL(unw_create_addr_space)(&replaced, order);
}

int WRAP(unw_get_reg)(unw_cursor_t *cursor, int reg, unw_word_t *value)
{
	int result = REAL(unw_get_reg)(cursor, reg, value);

	if (result == 0)
		__msan_unpoison(value, sizeof(*value));
	return result;
}

/* --- jansson ---------------------------------------------------------------------------------- */

json_t *__real_json_load_callback(json_load_callback_t load, void *context, size_t flags,
				  json_error_t *error);
json_t *__real_json_object_get(const json_t *object, const char *key);
json_t *__real_json_array_get(const json_t *array, size_t i);
int __real_json_equal(const json_t *a, const json_t *b);
const char *__real_json_string_value(const json_t *string);

json_t *__wrap_json_load_callback(json_load_callback_t load, void *context, size_t flags,
				  json_error_t *error);
json_t *__wrap_json_object_get(const json_t *object, const char *key);
json_t *__wrap_json_array_get(const json_t *array, size_t i);
int __wrap_json_equal(const json_t *a, const json_t *b);
const char *__wrap_json_string_value(const json_t *string);

static json_load_callback_t border_load;

static UNWATCHED size_t border_load_some(void *buffer, size_t size_bytes, void *context)
{
	return border_load(buffer, size_bytes, context);
}

/* The head, which jansson's inline functions read. */
static json_t *border_json(json_t *json)
{
	if (json)
		__msan_unpoison(json, sizeof(*json));
	return json;
}

json_t *__wrap_json_load_callback(json_load_callback_t load, void *context, size_t flags,
				  json_error_t *error)
{
	json_t *json;

	border_load = load;
	__msan_scoped_disable_interceptor_checks(); /* it compares and copies what it wrote itself */
	json = __real_json_load_callback(border_load_some, context, flags, error);
	__msan_scoped_enable_interceptor_checks();
	__msan_unpoison(error, sizeof(*error));
	return border_json(json);
}

json_t *__wrap_json_object_get(const json_t *object, const char *key)
{
	json_t *json;

	__msan_scoped_disable_interceptor_checks();
	json = __real_json_object_get(object, key);
	__msan_scoped_enable_interceptor_checks();
	return border_json(json);
}

json_t *__wrap_json_array_get(const json_t *array, size_t i)
{
	return border_json(__real_json_array_get(array, i));
}

int __wrap_json_equal(const json_t *a, const json_t *b)
{
	int equal;

	__msan_scoped_disable_interceptor_checks();
	equal = __real_json_equal(a, b);
	__msan_scoped_enable_interceptor_checks();
	return equal;
}

const char *__wrap_json_string_value(const json_t *string)
{
	const char *text = __real_json_string_value(string);

	if (text)
		__msan_unpoison_string(text);
	return text;
}
