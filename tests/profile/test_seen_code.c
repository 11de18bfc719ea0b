/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of sampled functions: when it is read, what is missing, who is called, how much is kept.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "profile/seen_code.h"
#include "tests/support/made_memory.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define SECOND 1000000000ULL
#define CODE   0x400f00ULL /* f: the last 0x100 bytes of a page, and 0x100 of the next */
#define CALLED 0x402000ULL

static struct {
	struct made_memory *made;
	struct memory_root root;
	struct frames *frames;
	struct space *space;
	struct names *names;
	struct seen_code *seen;
} guest;

static const uint8_t call[] = { 0xe8, 0xfb, 0x10, 0, 0 }; /* a call of CALLED, at CODE */

static void open_guest(uint64_t size_bytes)
{
	struct image *image;

	guest.made = made_create();
	guest.root = made_root(guest.made);
	must(frames_create(NULL, &guest.frames));
	must(space_create(&guest.space));
	must(names_create(guest.frames, &guest.names));
	must(seen_code_create(&guest.seen));
	must(image_create("program", &image));
	must(symtab_create(&image->symtab));
	must(symtab_add(image->symtab, &(struct symbol_definition){ .start = CODE,
								    .size_bytes = size_bytes,
								    .rank = SYMBOL_GLOBAL,
								    .name = "f",
								    .name_bytes = 1 }));
	must(symtab_add(image->symtab, &(struct symbol_definition){ .start = CALLED,
								    .size_bytes = 0x10,
								    .rank = SYMBOL_GLOBAL,
								    .name = "g",
								    .name_bytes = 1 }));
	must(symtab_seal(image->symtab));
	must(space_add(guest.space, &(struct mapping){ .start = 0x400000,
						       .end = 0x10000000,
						       .image = image,
						       .kind = MAPPING_CODE }));
	image_unref(image);
}

static void close_guest(void)
{
	seen_code_destroy(guest.seen);
	names_destroy(guest.names);
	space_destroy(guest.space);
	frames_destroy(guest.frames);
	made_destroy(guest.made);
}

static uint32_t frame_of(const char *name, uint64_t address)
{
	return frames_intern(guest.frames, FRAME_KIND_USERLAND, name, "program", address);
}

static struct registers registers; /* the sampled vCPU's, as far as they tell how to decode */

static void sample(uint64_t time_ns, frame_t page)
{
	const struct seen_sample sample = { .frame = frame_of("f", CODE),
					    .name = names_find(guest.names, guest.space, CODE + 8,
							       FRAME_KIND_USERLAND, true, 1),
					    .word_bytes = registers_word_bytes(&registers, true),
					    .address = CODE + 8,
					    .time_ns = time_ns,
					    .memory = made_memory(guest.made),
					    .root = guest.root,
					    .page = page };

	seen_code_add(guest.seen, &sample);
}

static struct annotation *build(const char *name, uint64_t address, bool reads)
{
	struct annotation *annotation;

	must(seen_code_build(guest.seen, frame_of(name, address), guest.frames, guest.space,
			     reads ? made_memory(guest.made) : NULL, &annotation));
	return annotation;
}

static void test_reads(void)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	sample(SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check_u64(annotation->lack, ANNOTATION_HAS_CODE, "a sampled function has code");
	check(annotation->address == CODE && annotation->n_bytes == 0x200,
	      "a sampled function has all of its code");
	check(!memcmp(annotation->bytes, call, sizeof(call)), "the code is as the guest has it");
	check(!annotation_is_missing(annotation, 0) && annotation_is_missing(annotation, 0x100),
	      "a page that cannot be read is missing");
	check(annotation->n_targets == 1 && annotation->targets[0].frame == frame_of("g", CALLED) &&
		      !annotation->targets[0].offset,
	      "the function's call has its target");
	annotation_destroy(annotation);

	made_put_u8(guest.made, guest.root, CODE + 0x100, 0xc3);
	memory_refresh(made_memory(guest.made));
	sample(SECOND + SECOND / 2, FRAME(0));
	annotation = build("f", CODE, false);
	check(annotation_is_missing(annotation, 0x100), "code is not read again at once");
	annotation_destroy(annotation);
	sample(3 * SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check(!annotation_is_missing(annotation, 0x100) && annotation->bytes[0x100] == 0xc3,
	      "code with a missing page is read again after a second");
	annotation_destroy(annotation);

	made_put_u8(guest.made, guest.root, CODE, 0x90);
	memory_refresh(made_memory(guest.made));
	sample(3 * SECOND + SEEN_CODE_AGE_NS, FRAME(0));
	annotation = build("f", CODE, false);
	check_u64(annotation->bytes[0], 0x90, "code that changed is seen later");
	annotation_destroy(annotation);
	made_unmap(guest.made, guest.root, CODE, 8);
	memory_refresh(made_memory(guest.made));
	sample(5 * SECOND + 2 * SEEN_CODE_AGE_NS, FRAME(0));
	annotation = build("f", CODE, false);
	check(annotation->bytes[0] == 0x90 && !annotation_is_missing(annotation, 0),
	      "code stays when its process has gone");
	annotation_destroy(annotation);
	close_guest();
}

/* Page tables that belong to somebody else by now. */
static void test_stale(void)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	sample(SECOND, FRAME(12345));
	annotation = build("f", CODE, false);
	check_u64(annotation->lack, ANNOTATION_NOT_READ,
		  "code on another page than the sample's is not read");
	annotation_destroy(annotation);
	sample(2 * SECOND, made_frame(guest.made, guest.root, CODE));
	annotation = build("f", CODE, false);
	check_u64(annotation->lack, ANNOTATION_HAS_CODE, "code on the sample's page is read");
	annotation_destroy(annotation);
	close_guest();
}

/* Following a call to a function that was never sampled. */
static void test_called(void)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	made_put_u8(guest.made, guest.root, CALLED, 0xc3);
	sample(SECOND, FRAME(0));
	annotation = build("g", CALLED, true);
	check_u64(annotation->lack, ANNOTATION_NOT_READ,
		  "a function that was never called has no code");
	annotation_destroy(annotation);
	annotation_destroy(build("f", CODE, true));
	annotation = build("g", CALLED, true);
	check(annotation->lack == ANNOTATION_HAS_CODE && annotation->address == CALLED &&
		      annotation->size_bytes == 0x10 && annotation->bytes[0] == 0xc3,
	      "a called function is read when it is followed");
	annotation_destroy(annotation);
	close_guest();

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	sample(SECOND, FRAME(0));
	annotation_destroy(build("f", CODE, true));
	made_put_u8(guest.made, guest.root, CODE, 0x90);
	made_put_u8(guest.made, guest.root, CALLED, 0xc3);
	memory_refresh(made_memory(guest.made));
	annotation = build("g", CALLED, true);
	check_u64(annotation->lack, ANNOTATION_NOT_READ,
		  "a called function is not read through changed page tables");
	annotation_destroy(annotation);
	close_guest();
}

static void test_large(void)
{
	struct annotation *annotation;

	open_guest(8U << 20);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	sample(SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check(annotation->n_bytes == ANNOTATION_MAX_BYTES && annotation->size_bytes == 8U << 20,
	      "a function of megabytes is cut");
	annotation_destroy(annotation);
	close_guest();
}

static void test_room(void)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	for (uint64_t i = 0; i < 3 * SEEN_CODE_MAX_FUNCTIONS; i++) {
		char name[32];
		struct seen_sample sample = { .name = &(struct name_answer){ 0 },
					      .address = CODE,
					      .time_ns = (i + 1) * SECOND / 100,
					      .memory = made_memory(guest.made),
					      .root = guest.root };

		snprintf(name, sizeof(name), "f%" PRIu64, i);
		sample.frame = frame_of(name, i);
		seen_code_add(guest.seen, &sample);
	}
	check(seen_code_memory_bytes(guest.seen) < 8U << 20, "bounded: %zu bytes",
	      seen_code_memory_bytes(guest.seen));
	annotation = build("f0", 0, false);
	check_u64(annotation->lack, ANNOTATION_NOT_READ, "the oldest functions make room");
	annotation_destroy(annotation);
	close_guest();
}

/* "bl CALLED" of arm64; "call" is no instruction of arm64. */
static void test_arm64(void)
{
	static const uint8_t calls[] = { 0x40, 0x04, 0, 0x94 };
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, calls, sizeof(calls));
	/* arm64's tables with pages of 4 KiB and addresses of 48 bits have this layout, too */
	guest.root = walk_root(&(struct registers){
		.arch = ARCH_ARM64, .arm64 = { .tcr = 16, .ttbr0 = guest.root.cr3 } });
	sample(SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check(annotation->lack == ANNOTATION_HAS_CODE && annotation->arch == ARCH_ARM64,
	      "the code of an arm64 guest is known as such");
	check(annotation->n_targets == 1 && annotation->targets[0].frame == frame_of("g", CALLED),
	      "an arm64 function's call has its target");
	annotation_destroy(annotation);
	close_guest();
}

/* A vCPU in AArch32 state. */
static void check_arm32(uint64_t pstate, uint64_t tcr, const char *what)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	registers = (struct registers){ .arch = ARCH_ARM64 };
	registers.arm64.pstate = pstate;
	registers.arm64.tcr = tcr;
	registers.arm64.ttbr0 = guest.root.cr3;
	guest.root = walk_root(&registers);
	sample(SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check(annotation->lack == ANNOTATION_ARM32 && !annotation->n_targets,
	      "%s is not decoded: %d", what, annotation->lack);
	annotation_destroy(annotation);
	registers = (struct registers){ 0 };
	close_guest();
}

static void test_arm32(void)
{
	check_arm32(0x13, 0, "code of a kernel of 32-bit Arm");
	check_arm32(0x10, 2ULL << 30 | 16, "32-bit code below a kernel of 64 bits");
}

/*
 * In 32-bit code "dec %eax; mov $0,%eax; call g"; in 64-bit code a number takes the call's bytes.
 */
static void check_mode(struct registers as, unsigned n_calls, const char *what)
{
	static const uint8_t bytes[] = { 0x48, 0xb8, 0, 0, 0, 0, 0xe8, 0xf5, 0x10, 0, 0 };
	struct annotation *annotation;

	open_guest(0x200);
	registers = as;
	made_put(guest.made, guest.root, CODE, bytes, sizeof(bytes));
	made_put(guest.made, guest.root, CALLED, bytes, sizeof(bytes));
	sample(SECOND, FRAME(0));
	annotation = build("f", CODE, true);
	check_u64(annotation->n_targets, n_calls, what);
	annotation_destroy(annotation);
	if (n_calls) {
		annotation = build("g", CALLED, true);
		check_u64(annotation->word_bytes, 4, "what 32-bit code calls is 32-bit code");
		annotation_destroy(annotation);
	}
	registers = (struct registers){ 0 };
	close_guest();
}

static void test_mode(void)
{
	check_mode((struct registers){ .cs = 0x33 }, 0, "a program of 64 bits");
	check_mode((struct registers){ .cs = CS_USER_32 }, 1,
		   "a program of 32 bits below a kernel of 64");
	check_mode((struct registers){ .width = WIDTH_32, .cs = 0x73 }, 1, "a kernel of 32 bits");
	check_mode((struct registers){ .width = WIDTH_32_PAE, .cs = 0x73 }, 1,
		   "a kernel of 32 bits with PAE");
}

/* The sampler learns the width after the first sample. */
static void test_mode_learned(void)
{
	struct annotation *annotation;

	open_guest(0x200);
	made_put(guest.made, guest.root, CODE, call, sizeof(call));
	sample(SECOND, FRAME(0));
	registers.width = WIDTH_32_PAE;
	sample(SECOND + SECOND / 100, FRAME(0));
	annotation = build("f", CODE, false);
	check_u64(annotation->word_bytes, 4, "the next sample tells the mode");
	annotation_destroy(annotation);
	registers.width = WIDTH_64;
	sample(SECOND + SECOND / 50, FRAME(0));
	annotation = build("f", CODE, false);
	check_u64(annotation->word_bytes, 4, "code of two modes is not read at each sample");
	annotation_destroy(annotation);
	sample(3 * SECOND, FRAME(0));
	annotation = build("f", CODE, false);
	check_u64(annotation->word_bytes, 8, "code of two modes is read once a second");
	annotation_destroy(annotation);
	registers.width = WIDTH_64;
	close_guest();
}

int main(void)
{
	test_reads();
	test_stale();
	test_called();
	test_large();
	test_room();
	test_arm64();
	test_arm32();
	test_mode();
	test_mode_learned();
	return tap_done();
}
