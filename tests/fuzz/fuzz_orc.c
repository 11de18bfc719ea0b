/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORC tables from any bytes, and from rows that are mostly valid; steps by these tables. */
#include "config.h"

#include "tests/unwind/orc_rows.h"
#include "unwind/orc_table.h"
#include "vcpu.h"

#define MAX_ENTRIES 256

/* From bytes of the guest: addresses, entries, and the layout of the entries. */
static struct orc *create(struct fuzz *fuzz, size_t n)
{
	struct orc_layout layout = orc_layout_of(ORC_V1 + fuzz_u8(fuzz) % 4);
	struct orc_source source = { .n = n,
				     .ips_address = VCPU_KERNEL_CODE + 0x8000,
				     .text_start = VCPU_KERNEL_CODE,
				     .text_end = VCPU_KERNEL_CODE + 0x10000 };
	int32_t *ips = fuzz_copy(fuzz, n * ORC_IP_BYTES);
	void *entries = fuzz_copy(fuzz, n * ORC_ENTRY_BYTES);
	enum orc_version version;
	struct orc *orc = NULL;

	for (size_t i = 0; i < n; i++) /* most addresses are in the code */
		if (ips[i] & 1)
			ips[i] = ips[i] % 0x10000;
	if (orc_guess_layout(entries, n, &version) && fuzz_u8(fuzz) & 1)
		layout = orc_layout_of(version);
	if (fuzz_u8(fuzz) & 1)
		fuzz_take(fuzz, &layout, sizeof(layout) - 1); /* any layout, as BTF may give it */
	source.ips = ips;
	source.entries = entries;
	error_destroy(orc_create(&source, &layout, &orc));
	free(ips);
	free(entries);
	return orc;
}

static struct orc *create_rows(struct fuzz *fuzz, size_t n)
{
	struct orc_entry *entries = calloc(n + 1, sizeof(*entries));
	uint64_t address = VCPU_KERNEL_CODE;
	struct orc *orc = NULL;

	if (!entries)
		abort();
	for (size_t i = 0; i < n; i++) {
		address += fuzz_u8(fuzz);
		entries[i].address = address;
		fuzz_take(fuzz, &entries[i].row, sizeof(entries[i].row));
		if (fuzz_u8(fuzz) & 1) { /* mostly valid rows */
			entries[i].row.sp_reg %= N_ORC_REGISTERS;
			entries[i].row.bp_reg %= N_ORC_REGISTERS;
			entries[i].row.type %= N_ORC_TYPES;
			entries[i].row.signal &= 1;
		}
	}
	error_destroy(
		orc_create_rows(entries, n, VCPU_KERNEL_CODE, VCPU_KERNEL_CODE + 0x10000, &orc));
	free(entries);
	return orc;
}

/* The blocks that a look-up relies on. */
static void check_blocks(const struct orc *orc)
{
	for (size_t block = 0; block < orc->n_blocks; block++) {
		const uint8_t *offsets = orc->entries + ORC_KEPT_BYTES * (size_t)orc->blocks[block];

		for (size_t i = 1; i + orc->blocks[block] < orc->blocks[block + 1]; i++)
			fuzz_must(offsets[i - 1] < offsets[i] && offsets[i] < 128,
				  "entries ascend");
	}
}

static void use(struct fuzz *fuzz, struct orc *orc)
{
	static struct fuzz_vcpu vcpu;
	struct cursor cursor;

	check_blocks(orc);
	orc_add_special(orc, fuzz_u8(fuzz) % N_ORC_SPECIALS, VCPU_KERNEL_CODE + fuzz_u16(fuzz),
			VCPU_KERNEL_CODE + fuzz_u16(fuzz));
	fuzz_vcpu(fuzz, &vcpu);
	cursor_init(&cursor, &vcpu.vcpu);
	for (unsigned i = 0; i < 64; i++) {
		if (orc_step(orc, 0, &cursor) != STEP_CALLER)
			cursor.regs[REG_RIP] = VCPU_KERNEL_CODE + fuzz_u16(fuzz);
		orc_find(orc, fuzz_word(fuzz));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	bool by_rows = fuzz_u8(&fuzz) & 1;
	size_t n = fuzz_u8(&fuzz) % MAX_ENTRIES;
	struct orc *orc = by_rows ? create_rows(&fuzz, n) : create(&fuzz, n);

	if (orc)
		use(&fuzz, orc);
	orc_destroy(orc);
	return 0;
}
