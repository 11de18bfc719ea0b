/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's instructions: rows, jumps, shares, text; missing pages; hostile bytes. */
#include "config.h"

#include "tests/support/made_annotation.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/query/instructions.h"

static struct frames *frames;
static uint32_t called, itself;

static void test_rows(void)
{
	struct annotation *annotation = made_annotation(itself, called);
	struct instructions instructions = { 0 };

	must(instructions_update(&instructions, annotation));
	check_u64(instructions.n, 25, "rows of the annotated function");
	check_u64(instructions_find(&instructions, 0x11), 7, "the row of an address");
	check_u64(instructions_find(&instructions, 0x13), 7,
		  "an address inside an instruction finds its row");
	check_u64(instructions_find(&instructions, 0x47), 25,
		  "an address after the last instruction has no row");
	check_u64(instructions.rows[12].jump, 7, "a jump leads back to its loop");
	check_u64(instructions.rows[6].jump, 21, "a jump to the end has a row");
	check_u64(instructions.rows[20].jump, INSTRUCTION_NONE,
		  "a jump out of the function has no row");
	check_u64(instructions.rows[15].target, 0, "a call has its target");
	check_u64(instructions_hottest(&instructions, false), 12,
		  "the hottest instruction is found");
	check(instructions_percent(annotation, &instructions.rows[7], false) == 30,
	      "an instruction has its live percent");
	check(instructions_percent(annotation, &instructions.rows[7], true) == 25,
	      "an instruction has its percent since start");
	check(instructions_rest(&instructions, annotation, false) == 3,
	      "3 %% are at no instruction that is counted");
	instructions_deinit(&instructions);
	annotation_destroy(annotation);
}

static const char *print(const struct annotation *annotation,
			 const struct instructions *instructions, size_t row,
			 struct instruction_format format)
{
	static char text[INSTRUCTION_TEXT_BYTES];

	instructions_print(annotation, frames, &instructions->rows[row], &format, text);
	return text;
}

static void test_text(void)
{
	struct annotation *annotation = made_annotation(itself, called);
	const struct instruction_format relative = { .addresses = ADDRESSES_RELATIVE };
	const struct instruction_format absolute = { .addresses = ADDRESSES_ABSOLUTE,
						     .syntax = SYNTAX_INTEL };
	struct instructions instructions = { 0 };
	char address[24];

	must(instructions_update(&instructions, annotation));
	check_string(print(annotation, &instructions, 15, relative), "call   memchr",
		     "a call by its name");
	check_string(print(annotation, &instructions, 12, relative), "jne    +0x11",
		     "a jump by its distance");
	check_string(print(annotation, &instructions, 12, absolute), "jne    ffffffff81200ff1",
		     "a jump is printed by its address");
	check_string(print(annotation, &instructions, 20, relative), "jmp    ffffffff81202fe0",
		     "a jump out of it by its address");
	check_string(print(annotation, &instructions, 17, relative), "mov    %gs:0x28,%rcx",
		     "an address in memory is no target");
	check_string(print(annotation, &instructions, 17, absolute),
		     "mov    rcx,qword ptr gs:[0x28]", "an address in memory in Intel's syntax");
	instructions_print_address(annotation, &instructions.rows[7], &relative, address);
	check_string(address, "+0x11", "a row's distance");
	instructions_print_address(annotation, &instructions.rows[7], &absolute, address);
	check_string(address, "ffffffff81200ff1", "a row's address");
	instructions_deinit(&instructions);
	annotation_destroy(annotation);
}

/* "dec %eax; mov $0,%eax; jmp +0": in 64-bit code a number takes the jump's bytes. */
static void test_mode(void)
{
	static const uint8_t bytes[] = { 0x48, 0xb8, 0, 0, 0, 0, 0xeb, 0xf8, 0, 0, 0, 0 };
	const struct instruction_format format = { .addresses = ADDRESSES_RELATIVE };
	struct annotation *annotation = made_annotation(itself, called);
	struct instructions instructions = { 0 };

	memcpy(annotation->bytes, bytes, sizeof(bytes));
	annotation->size_bytes = annotation->n_bytes = sizeof(bytes);
	must(instructions_update(&instructions, annotation));
	check_string(print(annotation, &instructions, 0, format), "movabs $0xf8eb00000000,%rax",
		     "the bytes as an instruction of 64-bit code");
	annotation->word_bytes = 4;
	annotation->address = 0xc1000000;
	annotation->version++;
	must(instructions_update(&instructions, annotation));
	check_string(print(annotation, &instructions, 0, format), "dec    %eax",
		     "the same bytes as 32-bit code");
	check_string(print(annotation, &instructions, 2, format), "jmp    +0x0",
		     "a row after missing bytes is a jump");
	check_u64(instructions.rows[2].jump, 0, "the jump leads to a row");
	instructions_deinit(&instructions);
	annotation_destroy(annotation);
}

static void test_missing(void)
{
	struct annotation *annotation = made_annotation(itself, called);
	const struct instruction_format format = { .addresses = ADDRESSES_RELATIVE };
	struct instructions instructions = { 0 };

	annotation->missing[0] = true;
	annotation->version++;
	must(instructions_update(&instructions, annotation));
	check(instructions.rows[0].missing && instructions.rows[0].length == 32,
	      "what is missing is one row, up to the end of the page");
	check_string(print(annotation, &instructions, 0, format),
		     "(32 bytes that are not in the guest's memory)", "a missing row's text");
	check_u64(instructions.rows[1].distance, 32, "the next page follows");
	check(instructions.rows[0].live == 965, "a missing row has its samples");
	annotation->missing[1] = true;
	annotation->version++;
	must(instructions_update(&instructions, annotation));
	check_u64(instructions.n, 1, "a function whose pages are all missing has no code");
	instructions_deinit(&instructions);
	annotation_destroy(annotation);
}

/* The largest function, of nothing but jumps of two bytes, half of which lead into instructions. */
static void test_large(void)
{
	struct annotation *annotation = made_annotation(itself, called);
	struct instructions instructions = { 0 };
	uint64_t start_ns, first_ns, next_ns;

	free(annotation->bytes);
	annotation->bytes = malloc(ANNOTATION_MAX_BYTES);
	annotation->size_bytes = annotation->n_bytes = ANNOTATION_MAX_BYTES;
	for (uint32_t i = 0; i < ANNOTATION_MAX_BYTES; i++)
		annotation->bytes[i] = i & 1 ? (uint8_t)(i * 7) : 0xeb;
	annotation->version++;
	start_ns = clock_now_ns();
	must(instructions_update(&instructions, annotation));
	first_ns = clock_now_ns() - start_ns;
	start_ns = clock_now_ns();
	must(instructions_update(&instructions, annotation));
	next_ns = clock_now_ns() - start_ns;
	check_u64(instructions.n, ANNOTATION_MAX_BYTES / 2, "each page that is missing has a row");
	printf("# decoded in %.1f ms, weighed again in %.1f ms\n", (double)first_ns / 1e6,
	       (double)next_ns / 1e6);
	instructions_deinit(&instructions);
	annotation_destroy(annotation);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	itself = frames_intern(frames, FRAME_KIND_KERNEL, "find_line", "[kernel]", 0x1000);
	called = frames_intern(frames, FRAME_KIND_KERNEL, "memchr", "[kernel]", 0x2000);
	test_rows();
	test_text();
	test_mode();
	test_missing();
	test_large();
	frames_destroy(frames);
	return tap_done();
}
