/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where a Go thread keeps its stacks on x86-64, by the code of runtime.systemstack(). The
 * offsets differ between versions of Go, but the instructions have been the same since Go 1.5
 * (src/runtime/asm_amd64.s):
 *
 *   64 48 8b 04 25 G...         mov rax, fs:G          or   48 c7 c1 G...   mov rcx, G
 *                                                           64 48 8b 01     mov rax, fs:[rcx]
 *   48 8b 58 30                 mov rbx, [rax + m]
 *   48 3b 43 S                  cmp rax, [rbx + gsignal]
 *   48 8b 13                    mov rdx, [rbx + g0]
 *   48 3b 83 C...               cmp rax, [rbx + curg]
 *   48 8b 5a 38 / 48 8b 62 38   mov rbx or rsp, [rdx + sched.sp]
 *
 * The code is hostile. Resolver's thread; pure functions.
 */
#include "config.h"

#include <string.h>

#include "xtop/unwind/go.h"

struct go_code {
	const uint8_t *at, *end;
};

/*
 * Finds PATTERN, advances CODE past PATTERN and N_MORE bytes, and returns these bytes. NULL if
 * PATTERN is not in CODE.
 */
static const uint8_t *go_code_find(struct go_code *code, const char *pattern, size_t n,
				   size_t n_more)
{
	for (const uint8_t *at = code->at; (size_t)(code->end - at) >= n + n_more; at++)
		if (memcmp(at, pattern, n) == 0) {
			code->at = at + n + n_more;
			return at + n;
		}
	return NULL;
}

#define FIND(code, pattern, n_more) go_code_find(code, pattern, sizeof(pattern) - 1, n_more)

static bool go_code_find_g(struct go_code *code, int32_t *g)
{
	struct go_code other = *code;
	const uint8_t *bytes = FIND(code, "\x64\x48\x8b\x04\x25", sizeof(*g));

	if (!bytes) {
		*code = other;
		bytes = FIND(code, "\x48\xc7\xc1", sizeof(*g));
		if (!bytes || !FIND(code, "\x64\x48\x8b\x01", 0))
			return false;
	}
	memcpy(g, bytes, sizeof(*g));
	return true;
}

bool go_stacks_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks)
{
	struct go_code code = { bytes, bytes + n }, last;
	const uint8_t *gsignal, *curg;
	uint32_t offset;
	int32_t g;

	if (!go_code_find_g(&code, &g) || !FIND(&code, "\x48\x8b\x58\x30", 0))
		return false;
	gsignal = FIND(&code, "\x48\x3b\x43", 1);
	if (!gsignal || !FIND(&code, "\x48\x8b\x13", 0))
		return false;
	curg = FIND(&code, "\x48\x3b\x83", sizeof(offset));
	last = code;
	if (!curg || (!FIND(&code, "\x48\x8b\x5a\x38", 0) && !FIND(&last, "\x48\x8b\x62\x38", 0)))
		return false;
	memcpy(&offset, curg, sizeof(offset));
	if (!g || g % 8 || *gsignal % 8 || offset % 8 || offset > GO_MAX_M_OFFSET)
		return false;
	*stacks = (struct go_stacks){ .g = g, .gsignal = *gsignal, .curg = (uint16_t)offset };
	return true;
}
