/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The types of a kernel. The input is a blob, or, if its first byte is odd, it changes a valid
 * blob. Every function of btf.h is called for every type, and the layout is read.
 */
#include "config.h"

#include "fuzz.h"
#include "linux/kernel/layout.h"
#include "tests/support/make_btf.h"

static const char *const paths[] = { "comm", "d_name.len", "a.b.c", "sp_reg", "", "." };

static uint8_t *right_blob(size_t *size_bytes)
{
	struct make_btf *make = make_btf_create();
	uint8_t *blob;

	make_btf_every_kind(make);
	make_btf_text(make,
		      "struct list_head 16 { ptr next @0; ptr prev @8; }"
		      "struct qstr 16 { union 8 { struct 8 { u32 hash @0; u32 len @4; } @0;"
		      "  u64 hash_len @0; } @0; ptr name @8; }"
		      "struct dentry 192 { ptr d_parent @24; qstr d_name @32; }"
		      "struct task_struct 4000 { u8 comm[16] @1600; u32 pid @1200; ptr mm @1000;"
		      "  list_head tasks @900; const qstr q @8; }"
		      "struct orc_entry 6 { u16 sp_offset @0; u16 bp_offset @2;"
		      "  u32 sp_reg @4.0:4; u32 bp_reg @4.4:4; u32 type @4.8:3; }");
	blob = make_btf_blob(make, size_bytes);
	make_btf_destroy(make);
	return blob;
}

static void ask(struct btf *btf, uint32_t type)
{
	struct btf_member member;
	uint64_t bytes;

	btf_size(btf, type, &bytes);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		btf_find_member(btf, type, paths[i], strlen(paths[i]), &member);
}

static void read_blob(const uint8_t *blob, size_t size_bytes)
{
	struct btf_want wants[] = { { .name = "task_struct" }, { .name = "dentry" } };
	struct layout layout;
	struct btf btf;
	enum btf_result result = btf_init(&btf, blob, size_bytes, wants, 2, NULL);

	if (result == BTF_OK || result == BTF_DAMAGED) {
		for (uint32_t type = 0; type <= btf.count + 1 && type < 512; type++)
			ask(&btf, type);
		ask(&btf, UINT32_MAX);
		btf_deinit(&btf);
	}
	if (!wants[0].found && !wants[1].found)
		return; /* then the layout is empty, and reading it takes long */
	layout_from_btf(blob, size_bytes, NULL, &layout);
	fuzz_must(layout_check(&layout), "the layout is valid");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	size_t blob_bytes;
	uint8_t *blob;

	if (fuzz_u8(&fuzz) & 1) {
		static uint8_t *right;
		static size_t right_bytes;

		if (!right)
			right = right_blob(&right_bytes);
		blob_bytes = right_bytes;
		blob = fuzz_copy(&(struct fuzz){ right, right_bytes }, right_bytes);
		fuzz_patch(&fuzz, blob, blob_bytes);
	} else {
		blob_bytes = fuzz.left_bytes;
		blob = fuzz_copy(&fuzz, blob_bytes);
	}
	read_blob(blob, blob_bytes);
	free(blob);
	return 0;
}
