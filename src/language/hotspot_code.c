/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that HotSpot makes. It lies in up to three heaps, each with a map of its segments: the
 * byte of a segment tells how far back its block begins (openjdk memory/heap.cpp).
 *
 *   heap   │ header │ blob: name, size, frame size ... │ code │ data │ header │ blob ...
 *   map    │   0    │   1      2      3      4      5  │  6   │  7   │   0    │ ...      0xff: free
 *
 * A blob of a compiled method has for each call and safepoint the methods that are inlined there
 * (code/pcDesc.hpp, code/debugInfoRec.hpp): offset of the instruction ─► a record with the offset
 * of the caller's record, the number of the method, and the place in its bytecode.
 */
#include "config.h"

#include "language/hotspot.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

#define MAX_HEAPS       8
#define MAX_KEPT        64 /* frames of one stack that are compiled; a power of two */
#define MAP_FREE        0xff
#define MAX_HOPS        256 /* steps back in the map; a block of 8 MiB takes as many */
#define MAX_SHIFT       20
#define MAX_BLOB_BYTES  (64 << 20)
#define MAX_FRAME_WORDS (1 << 16)
#define MAX_BLOB_HEAD   512 /* bytes of a blob in front of its data; JDK 8 to 25 have up to 376 */

/* Records of places in compiled code, and records of the methods there. */
#define PC_WORDS         4 /* PcDesc has four numbers of 32 bits */
#define MAX_PCS          (1 << 20)
#define MAX_RECORD_BYTES 16
#define LOOP_MAX_BYTES   4096 /* compilers repeat a loop's body in the loop */
#define LOOP_READ_BYTES  1024
#define LOOP_END_BYTES   192 /* distance of an outer loop's end from its test for a safepoint */

struct hotspot_heap {
	uint64_t low, high, map;
	uint32_t shift;
};

/* A blob that was found. The unwinder and hotspot_read_native() ask for the same ones. */
struct hotspot_kept {
	uint64_t changes; /* memory_changes() at that time; 0: the place is free */
	uint64_t address; /* the address that was asked for */
	struct hotspot_blob blob;
};

struct hotspot_state {
	struct hotspot_heap heaps[MAX_HEAPS];
	size_t n_heaps;
	uint64_t interpreter, interpreter_end;
	struct hotspot_kept kept[MAX_KEPT];
};

static int64_t hotspot_field(const struct runtime_process *process, enum hotspot_field field)
{
	return hotspot_layout_of(process)->fields[field];
}

static uint64_t hotspot_word(const struct runtime_process *process, uint64_t address,
			     enum hotspot_field field)
{
	return runtime_read_word(process, address + (uint64_t)hotspot_field(process, field));
}

static uint32_t hotspot_number(const struct runtime_process *process, uint64_t address,
			       enum hotspot_field field)
{
	uint32_t number = 0;

	memory_read_u32(process->memory, process->root,
			address + (uint64_t)hotspot_field(process, field), &number);
	return number;
}

/* The value of a static variable; 0: there is none. */
static uint64_t hotspot_static(const struct runtime_process *process, enum hotspot_field field)
{
	return hotspot_field(process, field) < 0 ? 0 : hotspot_word(process, process->bias, field);
}

/* --- code heaps ------------------------------------------------------------------------------- */

static bool hotspot_read_heap(const struct runtime_process *process, uint64_t address,
			      struct hotspot_heap *heap)
{
	uint64_t memory = address + (uint64_t)hotspot_field(process, HEAP_MEMORY);
	uint64_t map = address + (uint64_t)hotspot_field(process, HEAP_MAP);

	heap->low = hotspot_word(process, memory, SPACE_LOW);
	heap->high = hotspot_word(process, memory, SPACE_HIGH);
	heap->map = hotspot_word(process, map, SPACE_LOW);
	heap->shift = hotspot_number(process, address, HEAP_SHIFT);
	return runtime_is_pointer(heap->low) && heap->low < heap->high &&
	       runtime_is_pointer(heap->map) && heap->shift && heap->shift <= MAX_SHIFT;
}

static void hotspot_read_heaps(const struct runtime_process *process, struct hotspot_state *state)
{
	uint64_t heap = hotspot_static(process, CODE_CACHE_HEAP);
	uint64_t array = hotspot_static(process, CODE_CACHE_HEAPS);
	uint64_t heaps = array ? hotspot_word(process, array, ARRAY_DATA) : 0;
	uint32_t n = array ? hotspot_number(process, array, ARRAY_LENGTH) : 0;

	if (heap && hotspot_read_heap(process, heap, &state->heaps[0]))
		state->n_heaps = 1;
	for (uint32_t i = 0; i < n && i < MAX_HEAPS - 1; i++)
		if (hotspot_read_heap(process, runtime_read_word(process, heaps + i * sizeof(heap)),
				      &state->heaps[state->n_heaps]))
			state->n_heaps++;
}

bool hotspot_prepare(struct runtime_process *process)
{
	struct hotspot_layout *layout = process->runtime->layout;
	struct hotspot_state state = { .n_heaps = 0 };
	uint64_t queue;

	layout->known = layout->known || hotspot_read_layout(process, layout);
	if (!layout->known)
		return false;
	hotspot_read_heaps(process, &state);
	queue = hotspot_static(process, INTERPRETER_CODE);
	if (!state.n_heaps || !queue)
		return false;
	state.interpreter = hotspot_word(process, queue, QUEUE_BUFFER);
	state.interpreter_end = state.interpreter + hotspot_number(process, queue, QUEUE_LIMIT);
	process->state = malloc(sizeof(state));
	if (process->state)
		memcpy(process->state, &state, sizeof(state));
	return process->state;
}

bool hotspot_is_interpreter(const struct runtime_process *process, uint64_t address)
{
	const struct hotspot_state *state = process->state;

	return address >= state->interpreter && address < state->interpreter_end;
}

static const struct hotspot_heap *hotspot_find_heap(const struct runtime_process *process,
						    uint64_t address)
{
	const struct hotspot_state *state = process->state;

	for (size_t i = 0; i < state->n_heaps; i++)
		if (address >= state->heaps[i].low && address < state->heaps[i].high)
			return &state->heaps[i];
	return NULL;
}

/* The address of the blob in whose block ADDRESS lies; 0: there is none. */
static uint64_t hotspot_find_block(const struct runtime_process *process, uint64_t address)
{
	const struct hotspot_heap *heap = hotspot_find_heap(process, address);
	uint64_t segment, block;
	uint8_t back = MAP_FREE, used = 0;

	if (!heap)
		return 0;
	segment = (address - heap->low) >> heap->shift;
	for (unsigned i = 0; i < MAX_HOPS; i++, segment -= back) {
		if (memory_read(process->memory, process->root, heap->map + segment, &back, 1) !=
			    1 ||
		    back == MAP_FREE || back > segment)
			return 0;
		if (!back)
			break;
	}
	block = heap->low + (segment << heap->shift);
	memory_read(process->memory, process->root,
		    block + (uint64_t)hotspot_field(process, BLOCK_USED), &used, 1);
	return back || !used ? 0 : block + hotspot_layout_of(process)->sizes[TYPE_BLOCK];
}

/* --- blobs ------------------------------------------------------------------------------------ */

/* The beginning of a blob. */
struct hotspot_head {
	const struct hotspot_layout *layout;
	uint8_t bytes[MAX_BLOB_HEAD];
	size_t n;
};

static bool head_has(const struct hotspot_head *head, enum hotspot_field field, size_t size_bytes)
{
	int64_t offset = head->layout->fields[field];

	return offset >= 0 && (uint64_t)offset + size_bytes <= head->n;
}

/* The word of FIELD; 0: the head has no such field. */
static uint64_t head_word(const struct hotspot_head *head, enum hotspot_field field)
{
	uint64_t word = 0;

	if (head_has(head, field, sizeof(word)))
		memcpy(&word, head->bytes + head->layout->fields[field], sizeof(word));
	return word;
}

static uint32_t head_number(const struct hotspot_head *head, enum hotspot_field field)
{
	uint32_t number = 0;

	if (head_has(head, field, sizeof(number)))
		memcpy(&number, head->bytes + head->layout->fields[field], sizeof(number));
	return number;
}

static bool head_read(const struct runtime_process *process, uint64_t address,
		      struct hotspot_head *head)
{
	head->layout = hotspot_layout_of(process);
	head->n = memory_read(process->memory, process->root, address, head->bytes,
			      sizeof(head->bytes));
	return head->n >= (uint64_t)hotspot_field(process, BLOB_SIZE) + sizeof(uint32_t);
}

static bool hotspot_is_method_name(const struct runtime_process *process, uint64_t name)
{
	char text[16];

	return memory_read_string(process->memory, process->root, name, text, sizeof(text)) &&
	       (strcmp(text, "nmethod") == 0 || strcmp(text, "native nmethod") == 0);
}

/* From JDK 25 on the offset has 16 bits, and another member follows. */
static int32_t head_complete(const struct hotspot_head *head)
{
	uint32_t whole = head_number(head, BLOB_COMPLETE);

	return head->layout->fields[BLOB_MUTABLE] < 0 ? (int32_t)whole : (int16_t)whole;
}

bool hotspot_read_blob(const struct runtime_process *process, uint64_t address,
		       struct hotspot_blob *blob)
{
	struct hotspot_head head;
	uint64_t words[5], size, code;
	uint32_t frame_words;

	if (!head_read(process, address, &head))
		return false;
	size = head_number(&head, BLOB_SIZE);
	code = head.layout->fields[BLOB_CODE] >= 0 ? head_word(&head, BLOB_CODE)
						   : address + head_number(&head, BLOB_CODE_OFFSET);
	frame_words = head_number(&head, BLOB_FRAME);
	*blob = (struct hotspot_blob){ .address = address,
				       .code = code,
				       .end = address + size,
				       .name = head_word(&head, BLOB_NAME),
				       .complete = head_complete(&head) };
	if (size > MAX_BLOB_BYTES || code <= address || code >= blob->end)
		return false;
	if (frame_words <= MAX_FRAME_WORDS)
		blob->frame_bytes = (int32_t)(frame_words * sizeof(uint64_t));
	if (hotspot_is_method_name(process, blob->name))
		blob->method = head_word(&head, head.layout->fields[COMPILED_METHOD] >= 0
							? COMPILED_METHOD
							: NMETHOD_METHOD);
	words[0] = code;
	words[1] = size;
	words[2] = blob->name;
	words[3] = blob->method;
	words[4] = blob->method ? head_number(&head, NMETHOD_ID) : 0;
	blob->check = hash_bytes(address, words, sizeof(words));
	return true;
}

bool hotspot_find_blob(const struct runtime_process *process, uint64_t address,
		       struct hotspot_blob *blob)
{
	struct hotspot_state *state = process->state;
	struct hotspot_kept *kept = &state->kept[hash_slot(address, MAX_KEPT)];
	uint64_t changes = memory_changes(process->memory), block;

	if (kept->changes == changes && kept->address == address) {
		*blob = kept->blob;
		return true;
	}
	block = hotspot_find_block(process, address);
	if (!block || !hotspot_read_blob(process, block, blob) || address < blob->code ||
	    address >= blob->end)
		return false;
	*kept = (struct hotspot_kept){ changes, address, *blob };
	return true;
}

/* --- methods in compiled code ----------------------------------------------------------------- */

/*
 * Whether ADDRESS is in a loop that ends before END, and END is not in a loop around that loop.
 * A safepoint is no call. Compilers move a loop's safepoint into the loop around it.
 */
static bool hotspot_is_loop(const struct runtime_process *process, uint64_t address, uint64_t end)
{
	uint8_t bytes[LOOP_READ_BYTES];
	size_t to_end = end - address, n = to_end + LOOP_END_BYTES;
	bool is_loop = false, is_call = false;

	if (n > sizeof(bytes))
		n = sizeof(bytes);
	n = memory_read(process->memory, process->root, address, bytes, n);
	for (size_t at = 0; at < n && (at < to_end || (is_loop && !is_call));) {
		struct runtime_step step = process->decode(bytes + at, n - at, address + at);

		if (!step.size_bytes)
			break;
		if (step.jump && address - step.jump < LOOP_MAX_BYTES) {
			if (at >= to_end)
				return false;
			is_loop = true;
		}
		at += step.size_bytes;
		if (at <= to_end)
			is_call = step.call;
	}
	return is_loop;
}

bool hotspot_is_in_loop(const struct runtime_process *process, uint64_t address)
{
	uint8_t bytes[LOOP_READ_BYTES];
	struct hotspot_blob blob;
	size_t n = sizeof(bytes);

	if (!process->decode || !hotspot_find_blob(process, address, &blob))
		return false;
	if (n > blob.end - address)
		n = blob.end - address;
	n = memory_read(process->memory, process->root, address, bytes, n);
	for (size_t at = 0; at < n;) {
		struct runtime_step step = process->decode(bytes + at, n - at, address + at);

		/* Code that was moved out of line ends in a jump back, too. */
		if (!step.size_bytes || step.call || step.ends)
			return false;
		if (step.jump >= blob.code && step.jump <= address)
			return true;
		at += step.size_bytes;
	}
	return false;
}

struct hotspot_scopes {
	uint64_t pcs, pcs_end, records, methods;
};

static bool hotspot_find_scopes(const struct runtime_process *process,
				const struct hotspot_blob *blob, struct hotspot_scopes *scopes)
{
	struct hotspot_head head;
	uint64_t base = blob->address;

	if (!head_read(process, blob->address, &head))
		return false;
	if (head.layout->fields[NMETHOD_IMMUTABLE] >= 0)
		base = head_word(&head, NMETHOD_IMMUTABLE);
	scopes->pcs = base + head_number(&head, NMETHOD_PCS);
	scopes->records = head.layout->fields[COMPILED_SCOPES] >= 0
				  ? head_word(&head, COMPILED_SCOPES)
				  : base + head_number(&head, NMETHOD_SCOPES);
	scopes->pcs_end = head.layout->fields[NMETHOD_IMMUTABLE] >= 0
				  ? scopes->records
				  : base + head_number(&head, NMETHOD_DEPENDENCIES);
	scopes->methods =
		head.layout->fields[BLOB_MUTABLE] >= 0
			? head_word(&head, BLOB_MUTABLE) + head_number(&head, BLOB_RELOCATIONS)
			: blob->address + head_number(&head, NMETHOD_METADATA);
	return scopes->pcs < scopes->pcs_end &&
	       (scopes->pcs_end - scopes->pcs) / (PC_WORDS * sizeof(uint32_t)) <= MAX_PCS;
}

/* A place in compiled code that has a record. */
struct hotspot_place {
	int32_t offset;
	uint32_t record; /* 0: there is no such place */
};

static bool hotspot_read_place(const struct runtime_process *process,
			       const struct hotspot_scopes *scopes, uint64_t i,
			       struct hotspot_place *place)
{
	uint32_t words[PC_WORDS];

	if (memory_read(process->memory, process->root, scopes->pcs + i * sizeof(words), words,
			sizeof(words)) != sizeof(words))
		return false;
	*place = (struct hotspot_place){ (int32_t)words[0], (int32_t)words[1] < 0 ? 0 : words[1] };
	return true;
}

/*
 * Finds the first call or safepoint from OFFSET on, and the one before. The list is sorted. False:
 * a part of it cannot be read, or it ends before OFFSET.
 */
static bool hotspot_find_places(const struct runtime_process *process,
				const struct hotspot_scopes *scopes, int64_t offset,
				struct hotspot_place *before, struct hotspot_place *after)
{
	const uint64_t n = (scopes->pcs_end - scopes->pcs) / (PC_WORDS * sizeof(uint32_t));
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t middle = (low + high) / 2;
		struct hotspot_place place;

		if (!hotspot_read_place(process, scopes, middle, &place))
			return false;
		if (place.offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*before = (struct hotspot_place){ 0 };
	return low < n && hotspot_read_place(process, scopes, low, after) &&
	       (!low || hotspot_read_place(process, scopes, low - 1, before));
}

/*
 * Bytes from 192 on are followed by others, each worth 64 times the one before: UNSIGNED5 of
 * Pack200 (openjdk code/compressedStream.hpp, utilities/unsigned5.hpp).
 */
uint32_t hotspot_read_number(const struct hotspot_layout *layout, const uint8_t *bytes, size_t n,
			     size_t *at)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5 && *at < n; i++) {
		uint32_t byte = bytes[(*at)++];

		sum += (byte - layout->excluded) << 6 * i;
		if (byte < 192)
			break;
	}
	return sum;
}

/* The functions of RECORD, innermost first. */
static size_t hotspot_read_record(const struct runtime_process *process,
				  const struct hotspot_scopes *scopes, uint32_t record,
				  struct runtime_frame *frames, size_t capacity)
{
	const struct hotspot_layout *layout = hotspot_layout_of(process);
	size_t n = 0;

	while (record && n < capacity && n < HOTSPOT_MAX_INLINED) {
		uint8_t bytes[MAX_RECORD_BYTES];
		size_t size = memory_read(process->memory, process->root, scopes->records + record,
					  bytes, sizeof(bytes));
		size_t at = 0;
		uint32_t outer = hotspot_read_number(layout, bytes, size, &at);
		uint32_t method = hotspot_read_number(layout, bytes, size, &at);
		uint32_t place = hotspot_read_number(layout, bytes, size, &at);

		frames[n++] = (struct runtime_frame){
			.code = runtime_read_word(
				process, scopes->methods + (method - 1ULL) * sizeof(uint64_t)),
			.position = place - 1, /* -1: the method's entry */
		};
		/* A record comes after that of its caller. */
		record = outer < record ? outer : 0;
	}
	return n;
}

/*
 * Keeps those of the N FRAMES that the record BEFORE has as well. If these are not all, the
 * innermost one that is kept is at no known place.
 */
static size_t hotspot_keep_common(const struct runtime_process *process,
				  const struct hotspot_scopes *scopes, uint32_t before,
				  struct runtime_frame *frames, size_t n)
{
	struct runtime_frame others[HOTSPOT_MAX_INLINED];
	size_t n_others = hotspot_read_record(process, scopes, before, others, HOTSPOT_MAX_INLINED);
	size_t common = 0;
	bool is_same = true; /* both are called from the same place */

	while (common < n && common < n_others && is_same &&
	       frames[n - common - 1].code == others[n_others - common - 1].code) {
		common++;
		is_same = frames[n - common].position == others[n_others - common].position;
	}
	if (!common || common == n)
		return common;
	memmove(frames, frames + n - common, common * sizeof(*frames));
	frames[0].position = HOTSPOT_NO_PLACE;
	return common;
}

/*
 * The next call or safepoint tells which functions run. Between two records of one function may lie
 * a loop of another function. Then only the functions that both records have are known.
 */
size_t hotspot_read_scopes(const struct runtime_process *process, const struct hotspot_blob *blob,
			   uint64_t address, bool interrupted, struct runtime_frame *frames,
			   size_t capacity)
{
	struct hotspot_scopes scopes;
	struct hotspot_place before, after;
	size_t n = 0;

	if (!capacity)
		return 0;
	if (hotspot_find_scopes(process, blob, &scopes) &&
	    hotspot_find_places(process, &scopes, (int64_t)(address - blob->code), &before,
				&after)) {
		n = hotspot_read_record(process, &scopes, after.record, frames, capacity);
		if (n > 1 && interrupted && process->decode &&
		    hotspot_is_loop(process, address, blob->code + (uint32_t)after.offset))
			n = hotspot_keep_common(process, &scopes, before.record, frames, n);
	}
	if (n && frames[n - 1].code == blob->method)
		return n;
	if (n || !interrupted || address < HOTSPOT_NO_PLACE)
		address = HOTSPOT_NO_PLACE;
	frames[0] = (struct runtime_frame){ .code = blob->method, .position = address };
	return 1;
}
