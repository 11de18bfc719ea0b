/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kernel's log; see kernel_log.h. From 5.10 on the log is a ring of descriptors beside a
 * ring of text (Linux v6.1 kernel/printk/printk_ringbuffer.c). The variable `prb` leads to both:
 *
 *   prb ─► printk_ringbuffer ─┬► descs[id mod 2^count_bits]   state and id, place of the text
 *                             ├► infos[id mod 2^count_bits]   sequence number, time, length
 *                             └► data[2^size_bits bytes]      text
 *
 *   descriptor's state_var    bits 62..63: 0 reserved, 1 committed, 2 finalized, 3 reusable
 *                             bits 0..61: id. Ids from tail_id to head_id are in use
 *   text block                [begin, next), logical positions that only grow: position mod
 *                             2^size_bits is the place. The block has a word with the descriptor's
 *                             id, the text, and padding. A block that would cross the end of the
 *                             ring begins at the ring's start instead, and `begin` still tells
 *                             where the block would have begun. If both positions are odd, there is
 *                             no block: if both are 3, the message is an empty line; otherwise the
 *                             text was lost
 *
 * The kernel may still continue a committed message. Such a message is shown nevertheless, because
 * the kernel may have died before it continued the message.
 *
 * All data is hostile, and the guest may go on writing. So each text is copied, and is used only if
 * its descriptor is unchanged afterwards. The numbers of messages, bytes and lines have limits.
 */
#include "config.h"

#include "linux/kernel/kernel_log.h"

#include <string.h>

#include "linux/kernel/member.h"
#include "xtop/base/vector.h"

#define LOG_STATE_SHIFT 62
#define LOG_ID_MASK     ((1ULL << LOG_STATE_SHIFT) - 1)
#define LOG_COMMITTED   1
#define LOG_FINALIZED   2
#define LOG_REUSABLE    3

#define LOG_EMPTY_LINE  3 /* NO_LPOS; from 6.16 on EMPTY_LINE_LPOS */
#define LOG_ID_BYTES    sizeof(uint64_t)
#define LOG_MAX_DESC    64  /* bytes of a descriptor: 24 in 5.10 to 7.3 */
#define LOG_MAX_INFO    256 /* bytes of an info: 88, or 136 with the caller's name */
#define LOG_MAX_BITS    31  /* LOG_BUF_LEN_MAX is 2 GiB */

static const enum layout_member log_members[] = {
	LOG_DESC_RING,  LOG_TEXT_RING, LOG_COUNT_BITS, LOG_DESCS,     LOG_INFOS,
	LOG_HEAD_ID,    LOG_TAIL_ID,   LOG_SIZE_BITS,  LOG_DATA,      LOG_DESC_SIZEOF,
	LOG_DESC_STATE, LOG_DESC_TEXT, LOG_BLOCK_BEGIN, LOG_BLOCK_NEXT, LOG_INFO_SIZEOF,
	LOG_INFO_TIME,  LOG_INFO_TEXT_BYTES,
};

struct log_ring {
	const struct linux_guest *guest;
	uint64_t descs, infos, data; /* addresses of the three arrays */
	uint64_t head_id, tail_id;
	uint64_t n_descs;            /* number of descriptors, a power of 2 */
	uint64_t data_bytes;         /* size of the array at data, a power of 2 */
};

struct log_block {
	uint64_t begin, next;
};

/* --- the rings -------------------------------------------------------------------------------- */

static bool log_read_descs(const struct linux_guest *guest, uint64_t at, struct log_ring *ring)
{
	uint32_t bits;

	at += layout_offset(&guest->layout, LOG_DESC_RING);
	if (!member_read_u32(guest, at, LOG_COUNT_BITS, &bits) || bits > LOG_MAX_BITS)
		return false;
	ring->n_descs = 1ULL << bits;
	return member_read_pointer(guest, at, LOG_DESCS, &ring->descs) &&
	       member_read_pointer(guest, at, LOG_INFOS, &ring->infos) &&
	       member_read_u64(guest, at, LOG_HEAD_ID, &ring->head_id) &&
	       member_read_u64(guest, at, LOG_TAIL_ID, &ring->tail_id);
}

static bool log_read_data(const struct linux_guest *guest, uint64_t at, struct log_ring *ring)
{
	uint32_t bits;

	at += layout_offset(&guest->layout, LOG_TEXT_RING);
	if (!member_read_u32(guest, at, LOG_SIZE_BITS, &bits) || bits > LOG_MAX_BITS)
		return false;
	ring->data_bytes = 1ULL << bits;
	return member_read_pointer(guest, at, LOG_DATA, &ring->data);
}

static bool log_read_ring(const struct linux_guest *guest, struct log_ring *ring)
{
	uint64_t at;

	*ring = (struct log_ring){ .guest = guest };
	return linux_read_u64(guest, guest->symbols[LINUX_LOG], &at) && linux_is_kernel(at) &&
	       log_read_descs(guest, at, ring) && log_read_data(guest, at, ring);
}

/* Reads element ID of the array at BASE. */
static bool log_read_element(const struct log_ring *ring, uint64_t base, uint64_t id, char *bytes,
			     size_t size_bytes)
{
	const struct linux_guest *guest = ring->guest;
	uint64_t at = base + (id & (ring->n_descs - 1)) * size_bytes;

	return linux_is_kernel(at) &&
	       memory_read(guest->memory, guest->root, at, bytes, size_bytes) == size_bytes;
}

/* --- a message -------------------------------------------------------------------------------- */

static uint64_t log_word(const char *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Whether STATE belongs to message ID, and the message is complete. */
static bool log_is_there(uint64_t state, uint64_t id)
{
	uint64_t flags = state >> LOG_STATE_SHIFT;

	return (flags == LOG_COMMITTED || flags == LOG_FINALIZED) && (state & LOG_ID_MASK) == id;
}

/*
 * Reads descriptor ID. Returns true if a message is there. *GONE tells whether the kernel has given
 * up the message's text, as the kernel does with the oldest messages. log_can_read() has checked
 * that all members lie in their structs.
 */
static bool log_read_desc(const struct log_ring *ring, uint64_t id, struct log_block *block,
			  bool *gone)
{
	const struct layout *layout = &ring->guest->layout;
	uint32_t text = layout_offset(layout, LOG_DESC_TEXT);
	char desc[LOG_MAX_DESC];
	uint64_t state;

	*gone = false;
	if (!log_read_element(ring, ring->descs, id, desc, layout_offset(layout, LOG_DESC_SIZEOF)))
		return false;
	state = log_word(desc, layout_offset(layout, LOG_DESC_STATE));
	*gone = state >> LOG_STATE_SHIFT == LOG_REUSABLE;
	if (!log_is_there(state, id))
		return false;
	block->begin = log_word(desc, text + layout_offset(layout, LOG_BLOCK_BEGIN));
	block->next = log_word(desc, text + layout_offset(layout, LOG_BLOCK_NEXT));
	return true;
}

/*
 * Whether message ID is still there. Reads the state from guest memory, not from the copy that
 * log_read_desc() has used.
 */
static bool log_is_still_there(const struct log_ring *ring, uint64_t id)
{
	const struct linux_guest *guest = ring->guest;
	uint64_t at = ring->descs +
		      (id & (ring->n_descs - 1)) * layout_offset(&guest->layout, LOG_DESC_SIZEOF) +
		      layout_offset(&guest->layout, LOG_DESC_STATE);
	uint64_t state;

	return memory_read_again(guest->memory, guest->root, at, &state, sizeof(state)) ==
		       sizeof(state) &&
	       log_is_there(state, id);
}

static bool log_read_info(const struct log_ring *ring, uint64_t id, uint64_t *time_ns,
			  uint16_t *text_bytes)
{
	const struct layout *layout = &ring->guest->layout;
	char info[LOG_MAX_INFO];

	if (!log_read_element(ring, ring->infos, id, info, layout_offset(layout, LOG_INFO_SIZEOF)))
		return false;
	*time_ns = log_word(info, layout_offset(layout, LOG_INFO_TIME));
	memcpy(text_bytes, info + layout_offset(layout, LOG_INFO_TEXT_BYTES), sizeof(*text_bytes));
	return true;
}

/*
 * Finds the offset of a message's block in the ring, and the number of bytes of text that fit into
 * the block. Returns false if BLOCK cannot be right. A block may end at the end of the ring: then
 * `next` is the first position of the next round (Linux v6.18), so the last byte tells in which
 * round the block ends.
 */
static bool log_find_block(const struct log_ring *ring, const struct log_block *block,
			   uint64_t *offset, uint64_t *room_bytes)
{
	uint64_t mask = ring->data_bytes - 1, first = block->begin & ~mask,
		 last = (block->next - 1) & ~mask, end;

	if (block->begin % LOG_ID_BYTES || block->next % LOG_ID_BYTES)
		return false;
	if (first == last)
		*offset = block->begin & mask;
	else if (first + ring->data_bytes == last)
		*offset = 0;
	else
		return false;
	end = ((block->next - 1) & mask) + 1;
	if (end < *offset + LOG_ID_BYTES)
		return false;
	*room_bytes = end - *offset - LOG_ID_BYTES;
	return true;
}

/*
 * Appends the text of message ID to LOG. Returns false if the text cannot be read, or has been
 * overwritten.
 */
static bool log_read_text(const struct log_ring *ring, uint64_t id, const struct log_block *block,
			  uint16_t wanted_bytes, struct os_log *log)
{
	const struct linux_guest *guest = ring->guest;
	uint64_t offset, room_bytes, owner;
	size_t n;

	if (block->begin & block->next & 1)
		return block->begin == LOG_EMPTY_LINE && block->next == LOG_EMPTY_LINE;
	if (!log_find_block(ring, block, &offset, &room_bytes) ||
	    !linux_read_u64(guest, ring->data + offset, &owner) || owner != id)
		return false;
	n = wanted_bytes < room_bytes ? wanted_bytes : room_bytes;
	if (memory_read(guest->memory, guest->root, ring->data + offset + LOG_ID_BYTES,
			log->text + log->text_bytes, n) != n)
		return false;
	log->text_bytes += n;
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * Appends the lines of the text from AT on, the last one first. Returns false if there is no room.
 */
static bool log_add_lines(struct os_log *log, size_t at, uint64_t time_ns)
{
	size_t end = log->text_bytes;

	for (;;) {
		const char *before = memrchr(log->text + at, '\n', end - at);
		size_t start = before ? (size_t)(before - log->text) + 1 : at;

		if (log->n_lines == KERNEL_LOG_MAX_LINES ||
		    !vector_reserve(log->lines, log->lines_capacity, log->n_lines + 1))
			return false;
		log->lines[log->n_lines++] = (struct os_log_line){
			.time_ns = time_ns,
			.at = (uint32_t)start,
			.bytes = (uint32_t)(end - start),
		};
		if (!before)
			return true;
		end = start - 1;
	}
}

/* Appends message ID to LOG. Returns false if there is no room for it and for older messages. */
static bool log_add_message(const struct log_ring *ring, uint64_t id, struct os_log *log)
{
	size_t at = log->text_bytes, lines = log->n_lines;
	struct log_block block;
	uint16_t text_bytes;
	uint64_t time_ns;
	bool gone;

	if (!log_read_desc(ring, id, &block, &gone) ||
	    !log_read_info(ring, id, &time_ns, &text_bytes)) {
		log->unreadable += !gone;
		return true;
	}
	if (at + text_bytes > KERNEL_LOG_MAX_TEXT ||
	    !vector_reserve(log->text, log->text_capacity, at + text_bytes + 1))
		return false;
	if (!log_read_text(ring, id, &block, text_bytes, log) || !log_is_still_there(ring, id)) {
		log->text_bytes = at;
		log->unreadable++;
		return true;
	}
	if (!log_add_lines(log, at, time_ns)) {
		log->text_bytes = at;
		log->n_lines = lines;
		return false;
	}
	log->n_messages++;
	return true;
}

static void log_reverse(struct os_log *log)
{
	for (size_t i = 0; i < log->n_lines / 2; i++) {
		struct os_log_line *a = &log->lines[i], *b = &log->lines[log->n_lines - 1 - i];
		struct os_log_line line = *a;

		*a = *b;
		*b = line;
	}
}

/* --- the whole log ---------------------------------------------------------------------------- */

static bool log_is_inside(const struct layout *layout, enum layout_member member, size_t bytes,
			  enum layout_member size)
{
	return layout_offset(layout, member) + bytes <= layout_offset(layout, size);
}

static bool log_can_read(const struct layout *layout)
{
	uint32_t text, size;

	if (!layout_has_all(layout, log_members))
		return false;
	text = layout_offset(layout, LOG_DESC_TEXT);
	size = layout_offset(layout, LOG_DESC_SIZEOF);
	return size <= LOG_MAX_DESC && layout_offset(layout, LOG_INFO_SIZEOF) <= LOG_MAX_INFO &&
	       log_is_inside(layout, LOG_DESC_STATE, sizeof(uint64_t), LOG_DESC_SIZEOF) &&
	       text + layout_offset(layout, LOG_BLOCK_BEGIN) + sizeof(uint64_t) <= size &&
	       text + layout_offset(layout, LOG_BLOCK_NEXT) + sizeof(uint64_t) <= size &&
	       log_is_inside(layout, LOG_INFO_TIME, sizeof(uint64_t), LOG_INFO_SIZEOF) &&
	       log_is_inside(layout, LOG_INFO_TEXT_BYTES, sizeof(uint16_t), LOG_INFO_SIZEOF);
}

static const char *log_find_lack(const struct linux_guest *guest)
{
	if (!guest->has_layout)
		return "the guest's kernel has no BTF (CONFIG_DEBUG_INFO_BTF)";
	if (!log_can_read(&guest->layout))
		return "the guest's kernel has no log of this kind, which came with Linux 5.10";
	if (!guest->symbols[LINUX_LOG])
		return "the guest's kernel names no data (CONFIG_KALLSYMS_ALL)";
	return NULL;
}

/* Number of messages from tail_id to head_id, at most the number of descriptors. */
static uint64_t log_count(const struct log_ring *ring)
{
	uint64_t n = ((ring->head_id - ring->tail_id) & LOG_ID_MASK) + 1;

	return n < ring->n_descs ? n : ring->n_descs;
}

void kernel_log_read(const struct linux_guest *guest, struct os_log *log)
{
	struct log_ring ring;
	uint64_t n, i;

	log->lack = log_find_lack(guest);
	if (log->lack)
		return;
	if (!log_read_ring(guest, &ring)) {
		log->lack = "the memory of the guest's log cannot be read";
		return;
	}
	n = log_count(&ring);
	for (i = 0; i < n && i < KERNEL_LOG_MAX_LOOKS; i++)
		if (!log_add_message(&ring, (ring.head_id - i) & LOG_ID_MASK, log))
			break;
	log->left_out = n - i;
	log_reverse(log);
}
