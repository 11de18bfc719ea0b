/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function of 32-bit Arm code, and where it has its return address at each of its bytes. The
 * input: how far before its first byte the function is said to begin, then its code. The answer to
 * the same question must be the same.
 */
#include "config.h"

#include "fuzz.h"
#include "unwind/links_arm32.h"

#define CODE 0xc0010000

struct function {
	const uint8_t *bytes;
	size_t size_bytes;
	uint64_t start;
};

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct function *function = context;

	return fuzz_read_part(function->bytes, function->size_bytes, address - CODE, buffer,
			      size_bytes);
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct function *function = context;

	*start = function->start;
	*end = CODE + function->size_bytes;
	return address < *end;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct function function = { .start = CODE - fuzz_u8(&fuzz) % 2 * fuzz_u16(&fuzz) };
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .context = &function };
	struct links *links;

	function.bytes = fuzz.at;
	function.size_bytes = fuzz.left_bytes;
	fuzz_succeed(links_create(&source, &links));
	for (size_t i = 0; i < 2 * function.size_bytes; i++) {
		bool first = false, again = true, thumb = i & 1;
		bool known = links_find(links, CODE + i / 2, thumb, &first);

		fuzz_must(links_find(links, CODE + i / 2, thumb, &again) == known, "one answer");
		fuzz_must(!known || first == again, "one place");
	}
	links_destroy(links);
	return 0;
}
