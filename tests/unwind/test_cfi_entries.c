/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame, .debug_frame and .eh_frame_hdr (DWARF 5 §6.4.1, LSB Core 5.0 §10.6):
 * every encoding of pointers, missing bytes, and entries that are made to be costly.
 */
#include "config.h"

#include <inttypes.h>
#include <time.h>

#include "cfi_programs.h"
#include "unwind/cfi_entry.h"

/* --- entries ---------------------------------------------------------------------------------- */

/* A function of 0x100 bytes at MADE_CODE, with its start and length in ENCODING. */
struct encoding_case {
	const char *what;
	uint8_t encoding;
	const void *start;
	size_t start_bytes;
	const void *length;
	size_t length_bytes;
	const char *wanted;
};

static void check_encoding(const struct encoding_case *one)
{
	uint8_t pointers[64] = { 0 };
	struct cfi_bytes made = { 0 };
	struct cfi *cfi;

	memcpy(pointers, one->start, one->start_bytes);
	memcpy(pointers + one->start_bytes, one->length, one->length_bytes);
	bytes_cie(&made, "zR", &one->encoding, 1, usual, sizeof(usual));
	bytes_fde(&made, pointers, one->start_bytes + one->length_bytes + 1, NULL, 0);
	cfi = bytes_compile(&made);
	check_string(rule_text(cfi, MADE_CODE), one->wanted, one->what);
	if (strcmp(one->wanted, "none") != 0) {
		check_string(rule_text(cfi, MADE_CODE + 0xff), one->wanted, one->what);
		check_string(rule_text(cfi, MADE_CODE + 0x100), "none", one->what);
	}
	cfi_destroy(cfi);
}

static void test_encodings(void)
{
	struct cfi_bytes made = { 0 };
	uint64_t start = MADE_CODE, length = 0x100, relative, zero = 0, huge = UINT64_MAX;
	uint8_t aligned[12] = { 0 }; /* the FDE's first field is at 4 modulo 8 */
	static const uint8_t uleb[] = { 0x80, 0xa0, 0x80, 0x02 },
			     sleb[] = { 0x80, 0xa0, 0x80, 0x02 }, uleb_length[] = { 0x80, 0x02 };

	const struct encoding_case cases[] = {
		{ "absptr", 0x00, &start, 8, &length, 8, "rsp+8 ret-8" },
		{ "udata4", 0x03, &start, 4, &length, 4, "rsp+8 ret-8" },
		{ "udata8", 0x04, &start, 8, &length, 8, "rsp+8 ret-8" },
		{ "sdata4", 0x0b, &start, 4, &length, 4, "rsp+8 ret-8" },
		{ "sdata8", 0x0c, &start, 8, &length, 8, "rsp+8 ret-8" },
		{ "uleb128", 0x01, uleb, 4, uleb_length, 2, "rsp+8 ret-8" },
		{ "sleb128", 0x09, sleb, 4, uleb_length, 2, "rsp+8 ret-8" },
		{ "pcrel sdata4", 0x1b, &relative, 4, &length, 4, "rsp+8 ret-8" },
		{ "pcrel sdata8", 0x1c, &relative, 8, &length, 8, "rsp+8 ret-8" },
		{ "pcrel absptr", 0x10, &relative, 8, &length, 8, "rsp+8 ret-8" },
		{ "aligned", 0x50, aligned, sizeof(aligned), &length, 8, "rsp+8 ret-8" },
		{ "udata2 is too small", 0x02, &start, 2, &length, 2, "none" },
		{ "textrel", 0x23, &start, 4, &length, 4, "none" },
		{ "datarel", 0x3b, &start, 4, &length, 4, "none" },
		{ "funcrel", 0x43, &start, 4, &length, 4, "none" },
		{ "indirect", 0x9b, &start, 4, &length, 4, "none" },
		{ "omit", 0xff, &start, 8, &length, 8, "none" },
		{ "an unknown format", 0x05, &start, 8, &length, 8, "none" },
		{ "a length of 0", 0x00, &start, 8, &zero, 8, "none" },
		{ "around the end of the address space", 0x00, &start, 8, &huge, 8, "none" },
	};

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	relative = MADE_CODE - (MADE_EH_FRAME + made.n + 8); /* distance to the FDE's field */
	memcpy(aligned + 4, &start, sizeof(start));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_encoding(&cases[i]);
}

static void check_cie(const char *what, const char *augmentation, const void *data, size_t bytes,
		      const char *wanted)
{
	struct cfi_bytes made = { 0 };
	struct cfi *cfi;

	bytes_cie(&made, augmentation, data, bytes, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0);
	cfi = bytes_compile(&made);
	check_string(rule_text(cfi, MADE_CODE), wanted, what);
	cfi_destroy(cfi);
}

/* Version 4 has the sizes of an address and of a segment after the augmentation. */
static void test_version_4(void)
{
	static const uint8_t head[] = { 0,   0,   0, 0, 0, 0, 0, 0,    4,  'z',
					'R', '\0', 8, 0, 1, 0x78, 16, 1, 0 };
	struct cfi_bytes made = { 0 };
	struct cfi *cfi;

	bytes_copy(&made, head, sizeof(head));
	bytes_copy(&made, usual, sizeof(usual));
	bytes_close(&made);
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0);
	cfi = bytes_compile(&made);
	check_string(rule_text(cfi, MADE_CODE), "rsp+8 ret-8", ".eh_frame with a CIE of version 4");
	cfi_destroy(cfi);
}

static void test_augmentations(void)
{
	static const uint8_t personality[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x00 };

	check_cie("no augmentation", "", NULL, 0, "rsp+8 ret-8");
	check_cie("zR", "zR", absolute, 1, "rsp+8 ret-8");
	check_cie("zRS", "zRS", absolute, 1, "S rsp+8 ret-8");
	check_cie("zPLR", "zPLR", personality, sizeof(personality), "rsp+8 ret-8");
	check_cie("zR without the encoding", "zR", NULL, 0, "none");
	check_cie("an unknown letter", "zRX", absolute, 1, "none");
	check_cie("letters without z", "eh", NULL, 0, "none");
}

static void test_debug_frame(void)
{
	struct cfi_bytes eh = { 0 }, debug = { .debug_frame = true };
	static const uint8_t deeper[] = { 0x0e, 16 };
	struct cfi_sections sections;
	struct cfi *cfi;
	struct {
		uint64_t start, length;
	} second = { MADE_CODE + 0x100, 0x10 };

	bytes_cie(&debug, "", NULL, 0, usual, sizeof(usual));
	bytes_fde(&debug, &plain, 16, deeper, sizeof(deeper));
	bytes_fde(&debug, &second, sizeof(second), NULL, 0);
	cfi = bytes_compile(&debug);
	check_string(rule_text(cfi, MADE_CODE), "rsp+16 ret-8",
		     "rule of the first function in .debug_frame");
	check_string(rule_text(cfi, MADE_CODE + 0x10f), "rsp+8 ret-8",
		     ".debug_frame, the second FDE");
	cfi_destroy(cfi);
	bytes_cie(&eh, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&eh, &plain, sizeof(plain), NULL, 0);
	sections = bytes_sections(&eh);
	sections.debug_frame = bytes_sections(&debug).debug_frame;
	cfi = NULL;
	check(!cfi_compile(&sections, &cfi), ".eh_frame and .debug_frame are compiled together");
	check_string(rule_text(cfi, MADE_CODE), "rsp+8 ret-8", ".eh_frame wins over .debug_frame");
	check_string(rule_text(cfi, MADE_CODE + 0x100), "rsp+8 ret-8",
		     ".debug_frame has the functions that .eh_frame lacks");
	cfi_destroy(cfi);
}

/* One function within another, as hand-written code sometimes has it. */
static void test_overlap(void)
{
	static const uint8_t deeper[] = { 0x0e, 16 };
	struct cfi_bytes made = { 0 };
	struct cfi *cfi;
	__typeof__(plain) inner = { MADE_CODE + 0x40, 0x10, 0 };

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &inner, sizeof(inner), deeper, sizeof(deeper));
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0);
	cfi = bytes_compile(&made);
	check_string(rule_text(cfi, MADE_CODE + 0x3f), "rsp+8 ret-8",
		     "overlapping FDEs: before the inner function the outer rule holds");
	check_string(rule_text(cfi, MADE_CODE + 0x40), "rsp+16 ret-8",
		     "overlapping FDEs: the inner function has its own rule");
	check_string(rule_text(cfi, MADE_CODE + 0x50), "none",
		     "overlapping FDEs: code after the inner function has no rule");
	cfi_destroy(cfi);
}

/* When a page of .eh_frame is missing, .eh_frame_hdr leads to the entries after the gap. */
static void test_gap(void)
{
	struct {
		uint8_t encodings[4];
		int32_t eh_frame;
		uint32_t n;
		int32_t entries[3][2];
	} hdr = { { 1, 0x1b, 0x03, 0x3b }, 0, 3, { { 0 } } };
	const uint64_t hdr_address = MADE_EH_FRAME - 0x1000;
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct bytes_gap gap = { 0 };
	struct cfi *cfi = NULL;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	for (unsigned i = 0; i < 3; i++) {
		__typeof__(plain) function = { MADE_CODE + 0x100 * i, 0x100, 0 };

		hdr.entries[i][0] = function.start - hdr_address;
		hdr.entries[i][1] = MADE_EH_FRAME + made.n - hdr_address;
		if (i == 1)
			gap = (struct bytes_gap){ made.n + 2, made.n + 10 };
		bytes_fde(&made, &function, sizeof(function), NULL, 0);
	}
	sections = bytes_sections(&made);
	memset(made.bytes + gap.start, 0, gap.end - gap.start);
	sections.eh_frame.gaps = &gap;
	sections.eh_frame.n_gaps = 1;
	sections.eh_frame_hdr = (struct cfi_section){ .bytes = (const uint8_t *)&hdr,
						      .size_bytes = sizeof(hdr),
						      .address = hdr_address };
	check(!cfi_compile(&sections, &cfi), ".eh_frame with a gap is compiled");
	check_string(rule_text(cfi, MADE_CODE), "rsp+8 ret-8", "the FDE before a gap is used");
	check_string(rule_text(cfi, MADE_CODE + 0x100), "none", "the FDE in a gap is left out");
	check_string(rule_text(cfi, MADE_CODE + 0x200), "rsp+8 ret-8",
		     "the FDE after a gap is used");
	cfi_destroy(cfi);
}

/* An FDE after the last byte of .eh_frame, which ends where its memory ends. */
static void test_hdr_outside(void)
{
	struct {
		uint8_t encodings[4];
		int32_t eh_frame;
		uint32_t n;
		int32_t entries[3][2];
	} hdr = { { 1, 0x1b, 0x03, 0x3b }, 0, UINT32_MAX, { { 0 } } };
	const uint64_t hdr_address = MADE_EH_FRAME - 0x1000;
	struct bytes_gap gap = { 4, 5 };
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct cfi_list list;
	uint8_t *bytes;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0);
	bytes = malloc(made.n);
	memcpy(bytes, made.bytes, made.n);
	sections = bytes_sections(&made);
	sections.eh_frame.bytes = bytes;
	sections.eh_frame.gaps = &gap;
	sections.eh_frame.n_gaps = 1;
	hdr.entries[0][1] = MADE_EH_FRAME + made.n - hdr_address;
	hdr.entries[1][1] = MADE_EH_FRAME + made.n + 8 - hdr_address;
	hdr.entries[2][1] = MADE_EH_FRAME - 8 - hdr_address;
	sections.eh_frame_hdr = (struct cfi_section){ .bytes = (const uint8_t *)&hdr,
						      .size_bytes = sizeof(hdr),
						      .address = hdr_address };
	check(!cfi_list_init(&sections, &list) && !list.n,
	      ".eh_frame_hdr's places outside of .eh_frame are left out");
	check_u64(list.refused, 3,
		  "places outside of .eh_frame are counted, but not more than exist");
	cfi_list_deinit(&list);
	free(bytes);
}

/* The letters of a section's last CIE do not end before the section ends. */
static void test_endless_letters(void)
{
	struct cfi_bytes made = { .debug_frame = true };
	struct cfi_sections sections;
	struct cfi_list list;
	uint8_t *bytes;
	size_t cie;

	bytes_put(&made, 4 + 16, 4); /* an FDE */
	bytes_put(&made, 24, 4);     /* offset of the CIE */
	bytes_put(&made, MADE_CODE, 8);
	bytes_put(&made, 0x100, 8);
	cie = made.n;
	bytes_put(&made, 8, 4);
	bytes_put(&made, 0xffffffff, 4);
	bytes_put(&made, 1, 1);
	bytes_copy(&made, "zRS", 3);
	bytes = malloc(made.n);
	memcpy(bytes, made.bytes, made.n);
	sections = bytes_sections(&made);
	sections.debug_frame.bytes = bytes;
	check_u64(cie, 24, "the CIE with endless letters lies at");
	check(!cfi_list_init(&sections, &list) && !list.n && list.refused == 1,
	      "a CIE whose letters have no end is refused");
	cfi_list_deinit(&list);
	free(bytes);
}

/*
 * With a gap, FDEs are where .eh_frame_hdr says, also one within another: no bytes are read twice.
 * The second FDE lies in an operand of the first, a DW_CFA_GNU_args_size.
 */
static void test_gap_overlap(void)
{
	struct {
		uint8_t encodings[4];
		int32_t eh_frame;
		uint32_t n;
		int32_t entries[2][2];
	} hdr = { { 1, 0x1b, 0x03, 0x3b }, 0, 2, { { 0 } } };
	const uint64_t hdr_address = MADE_EH_FRAME - 0x1000;
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct bytes_gap gap;
	__typeof__(plain) inner = { MADE_CODE + 0x200, 0x100, 0 };
	uint32_t length = 4 + sizeof(inner);
	size_t outer, within;
	struct cfi *cfi = NULL;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	outer = made.n;
	within = outer + 8 + sizeof(plain) + 3;
	bytes_fde(&made, &plain, sizeof(plain), (uint8_t[64]){ 0x16, 64, 60 }, 64);
	memcpy(made.bytes + within, &length, sizeof(length));
	length = within + 4 - made.cie;
	memcpy(made.bytes + within + 4, &length, sizeof(length));
	memcpy(made.bytes + within + 8, &inner, sizeof(inner));
	hdr.entries[0][1] = MADE_EH_FRAME + outer - hdr_address;
	hdr.entries[1][1] = MADE_EH_FRAME + within - hdr_address;
	gap = (struct bytes_gap){ made.n, made.n + 8 };
	bytes_put(&made, 0, 8);
	sections = bytes_sections(&made);
	sections.eh_frame.gaps = &gap;
	sections.eh_frame.n_gaps = 1;
	sections.eh_frame_hdr = (struct cfi_section){ .bytes = (const uint8_t *)&hdr,
						      .size_bytes = sizeof(hdr),
						      .address = hdr_address };
	check(!cfi_compile(&sections, &cfi),
	      ".eh_frame_hdr with an FDE within another is compiled");
	check_string(rule_text(cfi, MADE_CODE), "rsp+8 ret-8",
		     "the FDE around another FDE is used");
	check_string(rule_text(cfi, MADE_CODE + 0x200), "none",
		     "the FDE within another FDE is not used");
	check(cfi && cfi->n_refused == 1, "the FDE within another FDE is counted as refused");
	cfi_destroy(cfi);
	cfi = NULL;
	hdr.entries[0][1] = hdr.entries[1][1];
	check(!cfi_compile(&sections, &cfi), ".eh_frame_hdr with only the inner FDE is compiled");
	check_string(rule_text(cfi, MADE_CODE + 0x200), "rsp+8 ret-8",
		     "the inner FDE alone has a rule");
	cfi_destroy(cfi);
}

/*
 * For each FDE its CIE is read, which may have 1 KiB of letters: here 100 MiB from 2.8 MB. So CIEs
 * are limited to twice the section. A linker writes one CIE of 24 bytes for thousands of FDEs.
 */
static void test_many_cies(void)
{
	const unsigned n = 100000;
	const uint32_t fde_bytes = 8 + sizeof(plain) + 3;
	static char letters[1001] = "zR";
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections = { 0 };
	struct cfi_list list;
	uint8_t *bytes, *at;

	memset(letters + 2, 'L', sizeof(letters) - 1 - 2);
	made.cie = made.entry = 0;
	bytes_put(&made, 0, 8);
	bytes_put(&made, 1, 1);
	bytes_copy(&made, letters, 10);
	bytes_put(&made, 0, 1);
	bytes_put(&made, 0x107801, 3);
	bytes_put(&made, 9, 1);
	bytes_put(&made, 0, 8);
	bytes_put(&made, 0, 1);
	while (made.n < 1000)
		bytes_put(&made, 0, 1);
	bytes_close(&made);
	bytes = calloc(1, made.n + (size_t)n * fde_bytes);
	memcpy(bytes, made.bytes, made.n);
	at = bytes + made.n;
	for (unsigned i = 0; i < n; i++, at += fde_bytes) {
		__typeof__(plain) function = { MADE_CODE + 16 * i, 16, 0 };
		uint32_t length = fde_bytes - 4, cie = at + 4 - bytes;

		memcpy(at, &length, 4);
		memcpy(at + 4, &cie, 4);
		memcpy(at + 8, &function, sizeof(function));
	}
	sections.eh_frame = (struct cfi_section){ .bytes = bytes,
						  .size_bytes = at - bytes,
						  .address = MADE_EH_FRAME };
	check(!cfi_list_init(&sections, &list),
	      "100,000 FDEs with a large CIE are listed without an error");
	check(list.n > 5000 && list.n <= 6000, "%zu of 100,000 FDEs with a large CIE are read",
	      list.n);
	check_u64(list.n + list.refused, n, "FDEs beyond the limit of CIE bytes are counted");
	cfi_list_deinit(&list);
	free(bytes);
}

/*
 * FDEs as large as they may be. Rules with expressions of 200 bytes take FRONT_BYTES of each FDE; a
 * row for each byte follows. The cost of a row must not grow with the rules before it.
 */
#define LARGE_FDES  8
#define LARGE_BYTES 60000

static double compile_rows(const uint8_t *front, size_t front_bytes, uint64_t *rowsp)
{
	static uint8_t bytes[LARGE_FDES * (LARGE_BYTES + 64) + 64];
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections = { 0 };
	struct cfi *cfi = NULL;
	uint8_t *at = bytes;
	clock_t start;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	memcpy(at, made.bytes, made.n);
	at += made.n;
	for (unsigned i = 0; i < LARGE_FDES; i++) {
		__typeof__(plain) function = { MADE_CODE + i * (LARGE_BYTES + 16ULL),
					       LARGE_BYTES + 16, 0 };
		uint32_t head[2] = { 4 + sizeof(function) + LARGE_BYTES,
				     (uint32_t)(at + 4 - bytes) };

		memcpy(at, head, sizeof(head));
		memcpy(at + 8, &function, sizeof(function));
		at += 8 + sizeof(function);
		memcpy(at, front, front_bytes);
		memset(at + front_bytes, 0x41, LARGE_BYTES - front_bytes);
		at += LARGE_BYTES;
	}
	sections.eh_frame = (struct cfi_section){ .bytes = bytes,
						  .size_bytes = (size_t)(at - bytes),
						  .address = MADE_EH_FRAME };
	start = clock();
	check(!cfi_compile(&sections, &cfi) && cfi && cfi->n_fdes == LARGE_FDES,
	      "FDEs with %zu bytes in front of many rows are compiled", front_bytes);
	*rowsp = cfi ? cfi->n_rows : 0;
	cfi_destroy(cfi);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void test_costly_rows(void)
{
	static uint8_t expressions[16 * 203], number[30000] = { 0x0f, 0xac, 0xea, 0x01, 0x77 };
	double plain_s, expressions_s, number_s;
	uint64_t rows;

	for (unsigned i = 0; i < 16; i++) {
		uint8_t *rule = expressions + i * 203;

		rule[0] = 0x16; /* val_expression: 198 bytes of nop */
		rule[1] = (uint8_t)i;
		rule[2] = 0xc6;
		rule[3] = 0x01;
		memset(rule + 4, 0x96, 198);
		rule[202] = 0;
	}
	/* def_cfa_expression: breg7 and a number of 29,995 bytes, which is not deref */
	memset(number + 5, 0x80, sizeof(number) - 5);
	plain_s = compile_rows(expressions, 203, &rows);
	expressions_s = compile_rows(expressions, sizeof(expressions), &rows);
	check(rows <= 3 * LARGE_FDES, "rows alike are one: %" PRIu64, rows);
	check(expressions_s < 6 * plain_s + 0.1, "16 expressions: %.3f s, one: %.3f s",
	      expressions_s, plain_s);
	number_s = compile_rows(number, sizeof(number), &rows);
	check(number_s < 6 * plain_s + 0.1, "an endless number: %.3f s", number_s);
}

/* --- the entry of a program ------------------------------------------------------------------- */

/* another function, 0x1000 after that one */
static const struct {
	uint64_t start, length;
	uint8_t data_bytes;
} __attribute__((packed)) behind = { MADE_CODE + 0x1000, 0x100, 0 };

/* Code at the entry of a program that no FDE covers. */
static void check_entries(uint64_t entry, uint64_t pvh, uint64_t at, const char *wanted,
			  const char *what)
{
	static const uint8_t program[] = { 0x0e, 16 };
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct cfi *cfi = NULL;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), program, sizeof(program));
	bytes_fde(&made, &behind, sizeof(behind), program, sizeof(program));
	sections = bytes_sections(&made);
	sections.entries = (struct entry_points){ .elf = entry, .pvh = pvh };
	error_destroy(cfi_compile(&sections, &cfi));
	check_string(rule_text(cfi, at), wanted, what);
	cfi_destroy(cfi);
}

static void check_entry(uint64_t entry, uint64_t at, const char *wanted, const char *what)
{
	check_entries(entry, 0, at, wanted, what);
}

static void test_entry(void)
{
	uint64_t end = MADE_CODE + plain.length, next = MADE_CODE + 0x1000;

	check_entry(end + 16, end, "none", "code between an FDE and the entry point has no rule");
	check_entry(end + 16, end + 16, "outermost", "the entry point is outermost");
	check_entry(end + 16, end + 16 + 255, "outermost",
		    "the first 256 bytes at the entry point are outermost");
	check_entry(end + 16, end + 16 + 256, "none",
		    "code 256 bytes after the entry point has no rule");
	check_entry(end, end, "outermost", "an entry point directly after an FDE is outermost");
	check_entry(next - 16, next - 1, "outermost",
		    "an entry point directly before an FDE is outermost");
	check_entry(next - 16, next, "rsp+16 ret-8",
		    "the FDE after an entry point keeps its rule");
	check_entry(MADE_CODE + 16, MADE_CODE + 16, "rsp+16 ret-8",
		    "an entry point inside of an FDE keeps the FDE's rule");
	check_entry(MADE_CODE - 16, MADE_CODE, "rsp+16 ret-8",
		    "an entry point before all FDEs changes no rule");
	check_entry(next + 0x100, next + 0x100, "outermost",
		    "an entry point after all FDEs is outermost");
	check_entries(0, end + 16, end + 16, "outermost", "the PVH entry point is outermost");
	check_entries(end + 16, end + 32, end + 31, "outermost",
		      "two entry points: the first is outermost");
	check_entries(end + 16, end + 32, end + 32 + 255, "outermost",
		      "two entry points: 256 bytes of the second are outermost");
	check_entries(end + 32, end + 16, end + 16, "outermost",
		      "two entry points in the other order are outermost");
	check_entries(end + 16, end + 16, end + 16, "outermost",
		      "two equal entry points are outermost");
	check_entries(end + 16, next + 0x100, end + 16, "outermost",
		      "two entry points: the one between FDEs is outermost");
	check_entries(end + 16, next + 0x100, next + 0x100, "outermost",
		      "two entry points: the one after all FDEs is outermost");
	check_entry(UINT64_MAX, MADE_CODE, "rsp+16 ret-8",
		    "an impossible entry point changes no rule");
}

int main(void)
{
	test_entry();
	test_encodings();
	test_augmentations();
	test_version_4();
	test_debug_frame();
	test_overlap();
	test_gap();
	test_hdr_outside();
	test_endless_letters();
	test_gap_overlap();
	test_many_cies();
	test_costly_rows();
	return tap_done();
}
