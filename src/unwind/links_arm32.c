/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function has done with lr before an instruction; see links_arm32.h. A pass over the code
 * before the instruction looks for instructions that compilers write (Arm ARM DDI 0487J.a §F5.1):
 *
 *                            ARM                      Thumb
 *   saves lr                 push {.., lr}            push {.., lr}
 *                            str lr, [sp, #-4]!       str lr, [sp, #-4]!
 *   makes a frame            add r11, sp, #n          add r7, sp, #n
 *                            mov r11, sp              mov r7, sp
 *   calls                    bl, blx                  bl, blx
 *   restores lr              pop {.., lr}             pop {.., lr}
 *                            ldr lr, [sp], #4         ldr lr, [sp], #4
 *   leaves                   b, bx                    b, b.w, bx
 *
 * The return address is in the frame after lr was saved and a frame was made. Between a restore of
 * lr and the next branch, the return address is in lr. A call without a frame changes lr: the code
 * does not tell the place then. Branches are not followed, and data between instructions count as
 * instructions.
 */
#include "config.h"

#include "unwind/links_arm32.h"

#include <stdlib.h>
#include <string.h>

#define LINKS_MAX_BYTES 4096 /* most bytes of a function that are read */
#define LINKS_CACHE     256  /* recent answers; a power of 2 */

struct links {
	struct code_source source;
	struct {
		uint64_t pc; /* address, with bit 0 set for Thumb; 0: the entry is free */
		bool known, in_link;
	} cache[LINKS_CACHE];
	struct {
		uint64_t pc; /* address, with bit 0 set; 0: the entry is free */
		bool known;
		struct frame_arm32 frame;
	} frames[LINKS_CACHE];
};

enum deed { DEED_NONE, DEED_SAVES, DEED_FRAMES, DEED_CALLS, DEED_RESTORES, DEED_LEAVES };

struct links_pass {
	bool saved, framed, called, restored;
};

/* --- instructions ----------------------------------------------------------------------------- */

#define IS(code, mask, value) (((code) & (mask)) == (value))
#define LR_BIT 0x4000U

static enum deed arm_deed(uint32_t code)
{
	if (IS(code, 0x0fff4000, 0x092d4000) || IS(code, 0x0fffffff, 0x052de004))
		return DEED_SAVES;
	if (IS(code, 0x0ffff000, 0x028db000) || IS(code, 0x0fffffff, 0x01a0b00d))
		return DEED_FRAMES;
	if (IS(code, 0x0f000000, 0x0b000000) || IS(code, 0xfe000000, 0xfa000000) ||
	    IS(code, 0x0ffffff0, 0x012fff30))
		return DEED_CALLS;
	if (IS(code, 0x0fff4000, 0x08bd4000) || IS(code, 0x0fffffff, 0x049de004))
		return DEED_RESTORES;
	return IS(code, 0xff000000, 0xea000000) || IS(code, 0xfffffff0, 0xe12fff10) ? DEED_LEAVES
										    : DEED_NONE;
}

static enum deed thumb_deed(uint16_t code)
{
	if (IS(code, 0xff00, 0xb500))
		return DEED_SAVES;
	if (IS(code, 0xff00, 0xaf00) || code == 0x466f)
		return DEED_FRAMES;
	if (IS(code, 0xff87, 0x4780))
		return DEED_CALLS;
	return IS(code, 0xf800, 0xe000) || IS(code, 0xff87, 0x4700) ? DEED_LEAVES : DEED_NONE;
}

static enum deed thumb_long_deed(uint16_t code, uint16_t second)
{
	if ((code == 0xe92d && second & LR_BIT) || (code == 0xf84d && second == 0xed04))
		return DEED_SAVES;
	if (IS(code, 0xf800, 0xf000) && (second & 0xd000) >= 0xc000)
		return DEED_CALLS;
	if ((code == 0xe8bd && second & LR_BIT) || (code == 0xf85d && second == 0xeb04))
		return DEED_RESTORES;
	return IS(code, 0xf800, 0xf000) && IS(second, 0xd000, 0x9000) ? DEED_LEAVES : DEED_NONE;
}

/* --- a pass ----------------------------------------------------------------------------------- */

static void pass_add(struct links_pass *pass, enum deed deed)
{
	switch (deed) {
	case DEED_SAVES:
		pass->saved = true;
		break;
	case DEED_FRAMES:
		pass->framed = true;
		break;
	case DEED_CALLS:
		pass->called |= !(pass->saved && pass->framed);
		break;
	case DEED_RESTORES:
		pass->restored = true;
		break;
	case DEED_LEAVES:
		pass->restored = false;
		break;
	case DEED_NONE:
		break;
	}
}

static void pass_arm(struct links_pass *pass, const uint8_t *bytes, size_t size_bytes)
{
	uint32_t code;

	for (size_t at = 0; at + sizeof(code) <= size_bytes; at += sizeof(code)) {
		memcpy(&code, bytes + at, sizeof(code));
		pass_add(pass, arm_deed(code));
	}
}

static void pass_thumb(struct links_pass *pass, const uint8_t *bytes, size_t size_bytes)
{
	uint16_t code[2];
	size_t step;

	for (size_t at = 0; at + sizeof(code[0]) <= size_bytes; at += step) {
		memcpy(&code[0], bytes + at, sizeof(code[0]));
		step = code[0] >> 11 >= 0x1d ? sizeof(code) : sizeof(code[0]);
		if (at + step > size_bytes)
			break;
		memcpy(code, bytes + at, step);
		pass_add(pass, step == sizeof(code) ? thumb_long_deed(code[0], code[1])
						    : thumb_deed(code[0]));
	}
}

static bool links_find_place(const struct links *links, uint64_t pc, bool thumb, bool *in_link)
{
	const struct code_source *source = &links->source;
	struct links_pass pass = { .saved = false };
	uint8_t bytes[LINKS_MAX_BYTES];
	uint64_t start, end;

	if (!source->find_function(source->context, pc, &start, &end) || pc < start ||
	    pc - start > sizeof(bytes) ||
	    source->read(source->context, start, bytes, pc - start) != pc - start)
		return false;
	if (thumb)
		pass_thumb(&pass, bytes, pc - start);
	else
		pass_arm(&pass, bytes, pc - start);
	*in_link = pass.restored || !pass.saved || !pass.framed;
	return !*in_link || pass.restored || !pass.called;
}

bool links_find(struct links *links, uint64_t pc, bool thumb, bool *in_link)
{
	uint64_t key = pc | thumb;
	size_t i = (size_t)(key ^ key >> 8) % LINKS_CACHE;

	if (links->cache[i].pc != key || !key) {
		links->cache[i].known =
			links_find_place(links, pc, thumb, &links->cache[i].in_link);
		links->cache[i].pc = key;
	}
	if (links->cache[i].known)
		*in_link = links->cache[i].in_link;
	return links->cache[i].known;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Finds the frame at PC. Reads the whole function, because code after PC matters, too. */
static bool links_read_frame(const struct links *links, uint64_t pc, struct frame_arm32 *frame)
{
	const struct code_source *source = &links->source;
	uint8_t bytes[LINKS_MAX_BYTES];
	uint64_t start, end;
	size_t n;

	if (!source->find_function(source->context, pc, &start, &end) || pc < start || pc >= end ||
	    pc - start >= sizeof(bytes))
		return false;
	n = end - start < sizeof(bytes) ? end - start : sizeof(bytes);
	n = source->read(source->context, start, bytes, n);
	return frame_arm32_find(bytes, n, pc - start, frame);
}

bool links_find_frame(struct links *links, uint64_t pc, struct frame_arm32 *frame)
{
	uint64_t key = pc | 1;
	size_t i = (size_t)(pc >> 2 ^ pc >> 10) % LINKS_CACHE;

	if (links->frames[i].pc != key) {
		links->frames[i].known = links_read_frame(links, pc, &links->frames[i].frame);
		links->frames[i].pc = key;
	}
	if (links->frames[i].known)
		*frame = links->frames[i].frame;
	return links->frames[i].known;
}

/* --- life ------------------------------------------------------------------------------------- */

struct xtop_error *links_create(const struct code_source *source, struct links **linksp)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return error_create("out of memory for the return addresses of 32-bit Arm code");
	links->source = *source;
	*linksp = links;
	return NULL;
}

void links_destroy(struct links *links)
{
	if (!links)
		return;
	if (links->source.close)
		links->source.close(links->source.context);
	free(links);
}

size_t links_memory_bytes(const struct links *links)
{
	return links ? sizeof(*links) : 0;
}
