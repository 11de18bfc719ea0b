/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An annotation made by hand: a function that looks for a line's end, with 1,000 samples. */
#ifndef TESTS_MADE_ANNOTATION_H
#define TESTS_MADE_ANNOTATION_H

#include <stdlib.h>
#include <string.h>

#include "xtop/profile/annotation.h"
#include "xtop/profile/frames.h"

#define MADE_CODE 0xffffffff81200fe0ULL /* the last 32 bytes of a page, and more */

/*
 *   0 endbr64             11 movzbl (%rbx),%eax   22 mov %rbx,%rdi         3a lock decl (%rax)
 *   4 push %rbp           14 cmp $0xa,%al         25 call +0x1000          3d jmp +0x2000
 *   5 mov %rsp,%rbp       16 je 22                2a call 0                42 xor %eax,%eax
 *   8 push %rbx           18 inc %rbx             2f mov %gs:0x28,%rcx     44 pop %rbx
 *   9 mov %rdi,%rbx       1b dec %rsi             38 rep movsb             45 pop %rbp
 *   c test %rsi,%rsi      1e jne 11                                        46 ret
 *   f je 42               20 jmp 42
 */
static const uint8_t made_code[] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x85, 0xf6,
	0x74, 0x31, 0x0f, 0xb6, 0x03, 0x3c, 0x0a, 0x74, 0x0a, 0x48, 0xff, 0xc3, 0x48, 0xff, 0xce,
	0x75, 0xf1, 0xeb, 0x20, 0x48, 0x89, 0xdf, 0xe8, 0xd6, 0x0f, 0x00, 0x00, 0xe8, 0xd1, 0xff,
	0xff, 0xff, 0x65, 0x48, 0x8b, 0x0c, 0x25, 0x28, 0x00, 0x00, 0x00, 0xf3, 0xa4, 0xf0, 0xff,
	0x08, 0xe9, 0xbe, 0x1f, 0x00, 0x00, 0x31, 0xc0, 0x5b, 0x5d, 0xc3,
};

/* The caller destroys it. It calls CALLED; the jump at its end leads nobody knows where. */
static inline struct annotation *made_annotation(uint32_t frame, uint32_t called)
{
	static const struct annotation_count counts[] = {
		{ 0x04, 10, 20, 20 },    { 0x11, 300, 250, 250 }, { 0x14, 100, 110, 110 },
		{ 0x1b, 55, 60, 60 },    { 0x1e, 500, 500, 500 }, { 0x2f, 5, 10, 10 },
	};
	const struct annotation_target targets[] = { { 0x25, called, 0 },
						     { 0x2a, frame, 0 },
						     { 0x3d, FRAME_NONE, 0 } };
	struct annotation *annotation = calloc(1, sizeof(*annotation));

	if (!annotation)
		abort();
	*annotation = (struct annotation){ .frame = frame,
					   .address = MADE_CODE,
					   .size_bytes = sizeof(made_code),
					   .n_bytes = sizeof(made_code),
					   .bytes = malloc(sizeof(made_code)),
					   .word_bytes = 8,
					   .n_counts = sizeof(counts) / sizeof(counts[0]),
					   .counts = malloc(sizeof(counts)),
					   .n_targets = sizeof(targets) / sizeof(targets[0]),
					   .targets = malloc(sizeof(targets)),
					   .self_live = 1000,
					   .self_ticks = 1000,
					   .self_samples = 1000,
					   .version = 1 + frame };
	if (!annotation->bytes || !annotation->counts || !annotation->targets)
		abort();
	memcpy(annotation->bytes, made_code, sizeof(made_code));
	memcpy(annotation->counts, counts, sizeof(counts));
	memcpy(annotation->targets, targets, sizeof(targets));
	return annotation;
}

#endif
