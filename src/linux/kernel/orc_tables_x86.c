/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads ORC tables. The kernel's tables lie between symbols, a module's tables where its struct
 * module points to (Linux arch/x86/include/asm/orc_types.h, arch/x86/include/asm/module.h):
 *
 *   orc_unwind_ip   n times s32: address of the code minus address of the word
 *   orc_unwind      n times 6 bytes; BTF's struct orc_entry tells what the bits mean
 *
 * For a kernel without BTF the layout is guessed from the entries (orc_guess_layout()). Modules
 * have the kernel's layout. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/orc_tables.h"

#include <stdlib.h>

#include "linux/kernel/member.h"
#include "xtop/base/cleanup.h"
#include "xtop/unwind/orc.h"

/* size of sp_offset and bp_offset; the other fields are in the word after them */
#define ORC_OFFSETS_BITS 32

/* Finds the fields after the two offsets. Returns false if BTF has no struct orc_entry. */
static bool orc_layout_of_btf(const struct layout *layout, struct orc_layout *orc)
{
	static const enum layout_member needed[] = { ORC_SP_REG_BITS, ORC_BP_REG_BITS,
						     ORC_TYPE_BITS, ORC_TYPE_WIDTH };

	if (!layout_has_all(layout, needed) ||
	    layout_offset(layout, ORC_SP_REG_BITS) < ORC_OFFSETS_BITS ||
	    layout_offset(layout, ORC_BP_REG_BITS) < ORC_OFFSETS_BITS ||
	    layout_offset(layout, ORC_TYPE_BITS) < ORC_OFFSETS_BITS)
		return false;
	*orc = (struct orc_layout){
		.sp_reg_shift =
			(uint8_t)(layout_offset(layout, ORC_SP_REG_BITS) - ORC_OFFSETS_BITS),
		.bp_reg_shift =
			(uint8_t)(layout_offset(layout, ORC_BP_REG_BITS) - ORC_OFFSETS_BITS),
		.type_shift = (uint8_t)(layout_offset(layout, ORC_TYPE_BITS) - ORC_OFFSETS_BITS),
		.type_bits = (uint8_t)layout_offset(layout, ORC_TYPE_WIDTH),
		.signal_shift = -1,
		.end_shift = -1,
	};
	if (layout_has(layout, ORC_SIGNAL_BITS))
		orc->signal_shift =
			(int8_t)(layout_offset(layout, ORC_SIGNAL_BITS) - ORC_OFFSETS_BITS);
	if (layout_has(layout, ORC_END_BITS))
		orc->end_shift = (int8_t)(layout_offset(layout, ORC_END_BITS) - ORC_OFFSETS_BITS);
	return true;
}

/*
 * Finds the layout of the entries. BTF tells where the bits are. Only the entries tell whether
 * registers were renumbered, as in 7.1.
 */
static bool orc_find_layout(const struct linux_guest *guest, const void *entries, size_t n,
			    struct orc_layout *layout)
{
	enum orc_version version;
	bool guessed = orc_guess_layout(entries, n, &version);

	if (guest->has_layout && orc_layout_of_btf(&guest->layout, layout)) {
		layout->renumbered = guessed && orc_layout_of(version).renumbered;
		return true;
	}
	if (guessed)
		*layout = orc_layout_of(version);
	return guessed;
}

/* Copies N elements of SIZE bytes at ADDRESS. NULL if memory is out, or if a page is missing. */
static void *orc_copy(const struct linux_guest *guest, uint64_t address, size_t n, size_t size)
{
	void *bytes = linux_is_kernel(address) ? malloc(n * size) : NULL;

	if (bytes &&
	    memory_read_bulk(guest->memory, guest->root, address, bytes, n * size) == n * size)
		return bytes;
	free(bytes);
	return NULL;
}

/* Copies a table's words, and its entries at ENTRIES, into SOURCE. Reads the table. */
static struct orc *orc_read(const struct linux_guest *guest, struct orc_source source,
			    uint64_t entries, struct orc_layout *layout)
{
	_cleanup_free_ void *ips_copy = NULL, *entries_copy = NULL;
	size_t n = source.n;
	struct orc *orc = NULL;

	if (n == 0 || n > ORC_MAX_ENTRIES)
		return NULL;
	source.work = memory_work(guest->memory);
	source.ips = ips_copy = orc_copy(guest, source.ips_address, n, ORC_IP_BYTES);
	source.entries = entries_copy = orc_copy(guest, entries, n, ORC_ENTRY_BYTES);
	if (!ips_copy || !entries_copy)
		return NULL;
	if (!layout->type_bits && !orc_find_layout(guest, entries_copy, n, layout))
		return NULL;
	error_destroy(orc_create(&source, layout, &orc));
	return orc;
}

struct orc *orc_read_kernel(struct linux_guest *guest, const struct symtab *symtab)
{
	uint64_t ips = guest->symbols[LINUX_ORC_IP_START], stop = guest->symbols[LINUX_ORC_IP_STOP];
	struct orc *orc;

	if (!ips || stop < ips || !guest->symbols[LINUX_ORC_START])
		return NULL;
	guest->orc_layout = (struct orc_layout){ 0 };
	orc = orc_read(guest,
		       (struct orc_source){ .n = (stop - ips) / ORC_IP_BYTES,
					    .ips_address = ips,
					    .text_start = guest->text_start,
					    .text_end = guest->text_end },
		       guest->symbols[LINUX_ORC_START], &guest->orc_layout);
	if (orc)
		symtab_add_specials(symtab, orc);
	return orc;
}

struct orc *orc_read_module(const struct linux_guest *guest, uint64_t module, size_t n,
			    uint64_t start, uint64_t end)
{
	struct orc_source source = { .n = n, .text_start = start, .text_end = end };
	struct orc_layout orc_layout = guest->orc_layout;
	uint64_t entries;

	if (!orc_layout.type_bits ||
	    !member_read_u64(guest, module, MODULE_ORC_IP, &source.ips_address) ||
	    !member_read_u64(guest, module, MODULE_ORC, &entries))
		return NULL;
	return orc_read(guest, source, entries, &orc_layout);
}
