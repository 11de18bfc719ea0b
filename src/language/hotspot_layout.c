/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot describes its structures to debuggers, in arrays that its library exports (openjdk
 * runtime/vmStructs.hpp): gHotSpotVMStructs has an entry for each member and each static variable,
 * gHotSpotVMTypes one for each type. An entry without a name ends the array.
 */
#include "config.h"

#include "language/hotspot.h"

#include <string.h>

#define MAX_ENTRIES    8192 /* JDK 8 to 25 have 900 to 2,100 */
#define MAX_NAME_BYTES 48
#define MAX_OFFSET     65536 /* larger offsets are refused */

/* VMStructEntry, VMTypeEntry */
enum {
	ENTRY_TYPE,
	ENTRY_FIELD,
	ENTRY_TYPE_STRING,
	ENTRY_STATIC,
	ENTRY_OFFSET,
	ENTRY_ADDRESS,
	N_ENTRY_WORDS
};
enum { TYPE_NAME, TYPE_SUPER, TYPE_FLAG_1, TYPE_FLAG_2, TYPE_BYTES, N_TYPE_WORDS };

/* A member that versions name differently has two entries; each version has one of them. */
static const struct {
	enum hotspot_field field;
	const char *type, *name;
} hotspot_fields[] = {
	{ CODE_CACHE_HEAP, "CodeCache", "_heap" }, /* up to 8 */
	{ CODE_CACHE_HEAPS, "CodeCache", "_heaps" },
	{ ARRAY_LENGTH, "GenericGrowableArray", "_len" }, /* up to 15 */
	{ ARRAY_LENGTH, "GrowableArrayBase", "_len" },
	{ ARRAY_DATA, "GrowableArray<int>", "_data" },
	{ HEAP_MEMORY, "CodeHeap", "_memory" },
	{ HEAP_MAP, "CodeHeap", "_segmap" },
	{ HEAP_SHIFT, "CodeHeap", "_log2_segment_size" },
	{ SPACE_LOW, "VirtualSpace", "_low" },
	{ SPACE_HIGH, "VirtualSpace", "_high_boundary" },
	{ BLOCK_USED, "HeapBlock::Header", "_used" },
	{ INTERPRETER_CODE, "AbstractInterpreter", "_code" },
	{ QUEUE_BUFFER, "StubQueue", "_stub_buffer" },
	{ QUEUE_LIMIT, "StubQueue", "_buffer_limit" },
	{ BLOB_NAME, "CodeBlob", "_name" },
	{ BLOB_SIZE, "CodeBlob", "_size" },
	{ BLOB_CODE, "CodeBlob", "_code_begin" },         /* 9 to 22 */
	{ BLOB_CODE_OFFSET, "CodeBlob", "_code_offset" }, /* other versions */
	{ BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset" },
	{ BLOB_FRAME, "CodeBlob", "_frame_size" },
	{ BLOB_MUTABLE, "CodeBlob", "_mutable_data" }, /* Java 25 and later */
	{ BLOB_RELOCATIONS, "CodeBlob", "_relocation_size" },
	{ COMPILED_METHOD, "CompiledMethod", "_method" }, /* 9 to 22 */
	{ COMPILED_SCOPES, "CompiledMethod", "_scopes_data_begin" },
	{ NMETHOD_METHOD, "nmethod", "_method" }, /* other versions */
	{ NMETHOD_ID, "nmethod", "_compile_id" },
	{ NMETHOD_METADATA, "nmethod", "_metadata_offset" }, /* up to 24 */
	{ NMETHOD_SCOPES, "nmethod", "_scopes_data_offset" },
	{ NMETHOD_PCS, "nmethod", "_scopes_pcs_offset" },
	{ NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset" },
	{ NMETHOD_IMMUTABLE, "nmethod", "_immutable_data" }, /* Java 23 and later */
	{ METHOD_CONST, "Method", "_constMethod" },
	{ CONST_POOL, "ConstMethod", "_constants" },
	{ CONST_CODE_SIZE, "ConstMethod", "_code_size" },
	{ CONST_FLAGS, "ConstMethod", "_flags" },        /* up to 20 */
	{ CONST_FLAGS, "ConstMethod", "_flags._flags" }, /* other versions */
	{ CONST_NAME, "ConstMethod", "_name_index" },
	{ POOL_CLASS, "ConstantPool", "_pool_holder" },
	{ POOL_FILE, "ConstantPool", "_source_file_name_index" }, /* Java 12 and later */
	{ CLASS_NAME, "Klass", "_name" },
	{ CLASS_FILE, "InstanceKlass", "_source_file_name_index" },
	{ SYMBOL_LENGTH, "Symbol", "_length" },
	{ SYMBOL_BODY, "Symbol", "_body" },
	{ COLLECTED_HEAP, "Universe", "_collectedHeap" },
	{ COLLECTIONS, "CollectedHeap", "_total_collections" },
	{ VERSION_MAJOR, "Abstract_VM_Version", "_vm_major_version" },
};

static const char *const hotspot_types[N_HOTSPOT_TYPES] = {
	[TYPE_BLOCK] = "HeapBlock",
	[TYPE_CONST_METHOD] = "ConstMethod",
	[TYPE_POOL] = "ConstantPool",
};

/* Members that all versions have; without one of them, no method can be named. */
static const enum hotspot_field hotspot_needed[] = {
	ARRAY_LENGTH, ARRAY_DATA,       HEAP_MEMORY,     HEAP_MAP,    HEAP_SHIFT,    SPACE_LOW,
	SPACE_HIGH,   BLOCK_USED,       BLOB_NAME,       BLOB_SIZE,   BLOB_FRAME,    METHOD_CONST,
	CONST_POOL,   CONST_NAME,       CONST_CODE_SIZE, POOL_CLASS,  CLASS_NAME,    SYMBOL_LENGTH,
	SYMBOL_BODY,  INTERPRETER_CODE, QUEUE_BUFFER,    QUEUE_LIMIT, BLOB_COMPLETE,
};

static bool hotspot_read_text(const struct runtime_process *process, uint64_t address,
			      char text[MAX_NAME_BYTES])
{
	return address &&
	       memory_read_string(process->memory, process->root, address, text, MAX_NAME_BYTES);
}

static void hotspot_set_field(const struct runtime_process *process, const uint64_t *entry,
			      struct hotspot_layout *layout)
{
	char type[MAX_NAME_BYTES], name[MAX_NAME_BYTES];
	bool is_static = (uint32_t)entry[ENTRY_STATIC];

	if (!hotspot_read_text(process, entry[ENTRY_TYPE], type) ||
	    !hotspot_read_text(process, entry[ENTRY_FIELD], name) ||
	    (!is_static && entry[ENTRY_OFFSET] > MAX_OFFSET))
		return;
	for (size_t i = 0; i < sizeof(hotspot_fields) / sizeof(hotspot_fields[0]); i++)
		if (strcmp(hotspot_fields[i].type, type) == 0 &&
		    strcmp(hotspot_fields[i].name, name) == 0)
			layout->fields[hotspot_fields[i].field] =
				(int64_t)(is_static ? entry[ENTRY_ADDRESS] - process->bias
						    : entry[ENTRY_OFFSET]);
}

static void hotspot_set_type(const struct runtime_process *process, const uint64_t *entry,
			     struct hotspot_layout *layout)
{
	char name[MAX_NAME_BYTES];

	if (!hotspot_read_text(process, entry[TYPE_NAME], name))
		return;
	for (size_t i = 0; i < N_HOTSPOT_TYPES; i++)
		if (strcmp(hotspot_types[i], name) == 0 && entry[TYPE_BYTES] <= MAX_OFFSET)
			layout->sizes[i] = (uint32_t)entry[TYPE_BYTES];
}

/* Calls SET with each entry of N words of the array that the variable EXPORT points to. */
static void hotspot_read_array(const struct runtime_process *process, unsigned export, size_t n,
			       void (*set)(const struct runtime_process *, const uint64_t *,
					   struct hotspot_layout *),
			       struct hotspot_layout *layout)
{
	uint64_t variable = process->runtime->exports[export];
	uint64_t address = variable ? runtime_read_word(process, variable + process->bias) : 0;
	uint64_t entry[N_ENTRY_WORDS];

	for (unsigned i = 0; i < MAX_ENTRIES; i++, address += n * sizeof(entry[0])) {
		if (memory_read(process->memory, process->root, address, entry,
				n * sizeof(entry[0])) != n * sizeof(entry[0]) ||
		    !entry[0])
			return;
		set(process, entry, layout);
	}
}

/* JDK 20 changed how numbers are compressed. JDK 8 says that its machine is version 25. */
static void hotspot_find_numbers(const struct runtime_process *process,
				 struct hotspot_layout *layout)
{
	uint32_t version = 0;

	if (layout->fields[VERSION_MAJOR] >= 0)
		memory_read_u32(process->memory, process->root,
				(uint64_t)layout->fields[VERSION_MAJOR] + process->bias, &version);
	layout->excluded = version >= 20 && layout->fields[CODE_CACHE_HEAP] < 0;
}

bool hotspot_read_layout(const struct runtime_process *process, struct hotspot_layout *layout)
{
	for (size_t i = 0; i < N_HOTSPOT_FIELDS; i++)
		layout->fields[i] = -1;
	memset(layout->sizes, 0, sizeof(layout->sizes));
	hotspot_read_array(process, 0, N_ENTRY_WORDS, hotspot_set_field, layout);
	hotspot_read_array(process, 1, N_TYPE_WORDS, hotspot_set_type, layout);
	for (size_t i = 0; i < sizeof(hotspot_needed) / sizeof(hotspot_needed[0]); i++)
		if (layout->fields[hotspot_needed[i]] < 0)
			return false;
	for (size_t i = 0; i < N_HOTSPOT_TYPES; i++)
		if (!layout->sizes[i])
			return false;
	hotspot_find_numbers(process, layout);
	return true;
}
