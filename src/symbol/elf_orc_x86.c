/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ORC tables of a vmlinux: two sections, found by their names (Linux
 * include/asm-generic/vmlinux.lds.h, ORC_UNWIND_TABLE).
 *
 *   .orc_unwind_ip   n times s32: address of the code less the address of the word itself
 *   .orc_unwind      n times 6 bytes
 *
 * A file does not say which bits of an entry mean what. The layout is guessed from what most
 * entries have in their bits (orc.h).
 */
#include "config.h"

#include <string.h>

#include "symbol/elf_frames.h"
#include "xtop/base/cleanup.h"
#include "xtop/unwind/orc.h"

struct elf_orc {
	size_t ips, entries;           /* numbers of sections; 0: there is none */
	uint64_t text_start, text_end; /* range of all code; equal if there is none */
};

static void elf_orc_find(const struct elf_file *file, struct elf_orc *found)
{
	for (size_t i = 1; i < file->n_sections; i++) {
		const struct elf_section *section = &file->sections[i];
		const char *name = elf_section_name(file, section);

		if (strcmp(name, ".orc_unwind_ip") == 0)
			found->ips = i;
		else if (strcmp(name, ".orc_unwind") == 0)
			found->entries = i;
		if (!section->code || section->start >= section->end)
			continue;
		if (found->text_start == found->text_end || section->start < found->text_start)
			found->text_start = section->start;
		if (section->end > found->text_end)
			found->text_end = section->end;
	}
}

static bool elf_orc_load(struct elf_file *file, size_t i, struct elf_blob *blob)
{
	const Elf64_Shdr *header = &file->sections[i].header;

	return !(header->sh_flags & SHF_COMPRESSED) &&
	       header->sh_size <= file->limits.frames_bytes && elf_load_section(file, i, blob) &&
	       !blob->n_gaps;
}

struct orc *elf_read_orc(struct elf_file *file)
{
	_cleanup_(elf_blob_deinit) struct elf_blob ips = { 0 }, entries = { 0 };
	struct elf_orc found = { 0 };
	struct orc_source source;
	struct orc_layout layout;
	enum orc_version version;
	struct orc *orc = NULL;

	elf_orc_find(file, &found);
	if (!found.ips || !found.entries || !elf_orc_load(file, found.ips, &ips) ||
	    !elf_orc_load(file, found.entries, &entries))
		return NULL;
	source = (struct orc_source){
		.ips = ips.bytes,
		.entries = entries.bytes,
		.n = ips.size_bytes / ORC_IP_BYTES,
		.ips_address = file->sections[found.ips].header.sh_addr,
		.text_start = found.text_start,
		.text_end = found.text_end,
		.work = file->work,
	};
	if (source.n == 0 || source.n > ORC_MAX_ENTRIES ||
	    source.n * ORC_ENTRY_BYTES != entries.size_bytes ||
	    !orc_guess_layout(entries.bytes, source.n, &version))
		return NULL;
	layout = orc_layout_of(version);
	error_destroy(orc_create(&source, &layout, &orc));
	return orc;
}
