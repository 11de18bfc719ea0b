/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call-frame information made byte by byte, correct or damaged, and its rules as text. */
#ifndef TESTS_UNWIND_CFI_BYTES_H
#define TESTS_UNWIND_CFI_BYTES_H

#include <stdio.h>
#include <stdlib.h>

#include "unwind/cfi_table.h"

#define MADE_CODE  0x401000ULL
#define MADE_EH_FRAME 0x500000ULL /* address of the loaded .eh_frame */

struct cfi_bytes {
	uint8_t bytes[8192];
	size_t n;
	bool debug_frame;
	size_t cie, entry; /* start of the last CIE, and of the entry that is being written */
};

static inline void bytes_put(struct cfi_bytes *made, uint64_t value, unsigned size_bytes)
{
	memcpy(made->bytes + made->n, &value, size_bytes);
	made->n += size_bytes;
}

static inline void bytes_copy(struct cfi_bytes *made, const void *bytes, size_t size_bytes)
{
	if (size_bytes)
		memcpy(made->bytes + made->n, bytes, size_bytes);
	made->n += size_bytes;
}

static inline void bytes_close(struct cfi_bytes *made)
{
	uint32_t length;

	while ((made->n - made->entry) % 8 != 4)
		bytes_put(made, 0, 1);
	length = made->n - made->entry - 4;
	memcpy(made->bytes + made->entry, &length, 4);
}

/* A CIE of version 1, code_align 1, data_align -8. DATA: what the augmentation "z..." needs. */
static inline void bytes_cie(struct cfi_bytes *made, const char *augmentation, const void *data,
			     size_t data_bytes, const void *program, size_t program_bytes)
{
	made->cie = made->entry = made->n;
	bytes_put(made, 0, 4);
	bytes_put(made, made->debug_frame ? 0xffffffff : 0, 4);
	bytes_put(made, 1, 1);
	bytes_copy(made, augmentation, strlen(augmentation) + 1);
	bytes_put(made, 1, 1);
	bytes_put(made, 0x78, 1);
	bytes_put(made, 16, 1);
	if (*augmentation == 'z') {
		bytes_put(made, data_bytes, 1);
		bytes_copy(made, data, data_bytes);
	}
	bytes_copy(made, program, program_bytes);
	bytes_close(made);
}

/* POINTERS: start and length in the CIE's encoding, and with "z" the augmentation length. */
static inline void bytes_fde(struct cfi_bytes *made, const void *pointers, size_t pointers_bytes,
			     const void *program, size_t program_bytes)
{
	made->entry = made->n;
	bytes_put(made, 0, 4);
	bytes_put(made, made->debug_frame ? made->cie : made->n - made->cie, 4);
	bytes_copy(made, pointers, pointers_bytes);
	bytes_copy(made, program, program_bytes);
	bytes_close(made);
}

static inline struct cfi_sections bytes_sections(const struct cfi_bytes *made)
{
	struct cfi_sections sections = { 0 };
	struct cfi_section section = { .bytes = made->bytes,
				       .size_bytes = made->n,
				       .address = made->debug_frame ? 0 : MADE_EH_FRAME };

	if (made->debug_frame)
		sections.debug_frame = section;
	else
		sections.eh_frame = section;
	return sections;
}

static inline struct cfi *bytes_compile(const struct cfi_bytes *made)
{
	struct cfi_sections sections = bytes_sections(made);
	struct xtop_error *error;
	struct cfi *cfi = NULL;

	error = cfi_compile(&sections, &cfi);
	if (error) {
		printf("Bail out! %s\n", error_message(error));
		exit(99);
	}
	return cfi;
}

/* The rule at ADDRESS as text: "rsp+16 ret-8 rbp-16", with "S " in front for a signal frame. */
static inline const char *rule_text(const struct cfi *cfi, uint64_t address)
{
	static const char *const registers[] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi",
						 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
						 "r12", "r13", "r14", "r15" };
	static const char *const kept[] = { "ret", "rbx", "rbp", "r12", "r13", "r14", "r15" };
	static char text[256];
	const struct cfi_rule *rule;
	int used = 0;

	if (!cfi || address - cfi->base >= cfi->span)
		return "none";
	rule = &cfi->rules[cfi->row_rules[cfi_row(cfi, address - cfi->base)]];
	switch (rule->kind) {
	case RULE_NONE:
		return "none";
	case RULE_OUTERMOST:
		return "outermost";
	case RULE_ASK:
		return "ask";
	case RULE_CFA_PLT:
		used = snprintf(text, sizeof(text), "plt %d", rule->offset);
		break;
	default:
		used = snprintf(text, sizeof(text),
				rule->kind == RULE_CFA_DEREF ? "%s*(%s%+d)" : "%s%s%+d",
				rule->signal ? "S " : "", registers[rule->reg], rule->offset);
	}
	for (unsigned i = 0; i < N_CFI_PRESERVED; i++) {
		if (!(rule->unchanged >> cfi_preserved_registers[i] & 1))
			used += snprintf(text + used, sizeof(text) - used, " %s lost", kept[i]);
		else if (rule->slot[i] < CFI_RULE_WORDS)
			used += snprintf(text + used, sizeof(text) - used, " %s%+d", kept[i],
					 8 * (rule->low + rule->slot[i]));
	}
	return text;
}

#endif
