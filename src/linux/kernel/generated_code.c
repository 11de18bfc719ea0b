/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps BPF programs and ftrace trampolines. The kernel keeps a list of each:
 *
 *   bpf_kallsyms                ─► struct bpf_ksym .lnode   start, end, name              "[bpf]"
 *   ftrace_ops_trampoline_list  ─► struct ftrace_ops .list  trampoline, trampoline_size  "[ftrace]"
 *
 * (Linux include/linux/bpf.h, from 5.7; include/linux/ftrace.h, from 5.10). The parts of a BPF
 * program of several functions are on the list as bpf_prog_TAG_F. The first part is there a second
 * time, under the program's name (seen in 5.10; kernel/bpf/verifier.c jit_subprogs()). A list that
 * has changed is read again as a whole. The length of a list is limited, and a bad pointer ends the
 * list. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/generated_code.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/base/limit.h"

#define CODE_MAX_PIECES      LIMIT(16384, 64) /* limit for one list */
#define CODE_MAX_PIECE_BYTES (16U << 20)
#define CODE_NAME_BYTES      128 /* KSYM_NAME_LEN before 6.1; longer names are cut */
#define CODE_HASH_SEED       1   /* hash of an empty list; 0 means "not read yet" */
/* hashed part of a name: bpf_prog_, the tag, and up to 15 bytes of the program's own name */
#define CODE_HASHED_BYTES 48

struct code_piece {
	uint64_t start, end;
};

struct code_list {
	uint64_t hash; /* hash of the list when it was last read; 0 before the first read */
	size_t n;
	struct code_piece *pieces; /* pieces that are mapped now; room for CODE_MAX_PIECES */
	struct image *image;       /* image of all pieces, a reference; NULL if nothing is mapped */
};

enum code_kind { CODE_BPF, CODE_FTRACE, N_CODE_KINDS };

struct generated_code {
	const struct linux_guest *guest;
	struct space *space;
	struct code_list lists[N_CODE_KINDS];
};

static const struct {
	enum linux_symbol head;
	enum layout_member link, start, end;
	bool end_is_size; /* `end` has the size of the piece, not its end */
	enum layout_member name;
	const char *fixed_name; /* NULL if each piece has a name of its own */
	const char *image;
} code_kinds[N_CODE_KINDS] = {
	[CODE_BPF] = { LINUX_BPF_KALLSYMS, BPF_KSYM_LIST, BPF_KSYM_START, BPF_KSYM_END, false,
		       BPF_KSYM_NAME, NULL, "[bpf]" },
	[CODE_FTRACE] = { LINUX_FTRACE_OPS, FTRACE_OPS_LIST, FTRACE_OPS_TRAMPOLINE,
			  FTRACE_OPS_TRAMPOLINE_SIZE, true, FTRACE_OPS_TRAMPOLINE,
			  "ftrace_trampoline", "[ftrace]" },
};

struct xtop_error *generated_code_create(const struct linux_guest *guest, struct space *space,
					 struct generated_code **codep)
{
	struct generated_code *code = calloc(1, sizeof(*code));

	if (!code)
		return error_create("out of memory");
	code->guest = guest;
	code->space = space;
	*codep = code;
	return NULL;
}

void generated_code_destroy(struct generated_code *code)
{
	if (!code)
		return;
	for (int kind = 0; kind < N_CODE_KINDS; kind++) {
		image_unref(code->lists[kind].image);
		free(code->lists[kind].pieces);
	}
	free(code);
}

/* --- one piece -------------------------------------------------------------------------------- */

/* The link after LINK; 0 if LINK cannot be read, or has no kernel pointer. */
static uint64_t code_next(const struct generated_code *code, uint64_t link)
{
	uint64_t next = linux_word(code->guest, link);

	return linux_is_kernel(next) ? next : 0;
}

static bool code_read_piece(const struct generated_code *code, enum code_kind kind,
			    uint64_t address, struct code_piece *piece)
{
	const struct layout *layout = &code->guest->layout;

	if (!linux_read_u64(code->guest, address + layout_offset(layout, code_kinds[kind].start),
			    &piece->start) ||
	    !linux_read_u64(code->guest, address + layout_offset(layout, code_kinds[kind].end),
			    &piece->end))
		return false;
	if (code_kinds[kind].end_is_size)
		piece->end += piece->start;
	return linux_is_kernel(piece->start) && piece->start < piece->end &&
	       piece->end - piece->start <= CODE_MAX_PIECE_BYTES;
}

static void code_read_name(const struct generated_code *code, enum code_kind kind, uint64_t address,
			   char name[CODE_NAME_BYTES])
{
	const struct linux_guest *guest = code->guest;

	if (code_kinds[kind].fixed_name)
		snprintf(name, CODE_NAME_BYTES, "%s", code_kinds[kind].fixed_name);
	else
		memory_read_string(guest->memory, guest->root,
				   address + layout_offset(&guest->layout, code_kinds[kind].name),
				   name, CODE_NAME_BYTES);
}

/* If an address has two names, the name of the whole program ranks above the name of a part. */
static enum symbol_rank code_rank(const char *name)
{
	size_t bytes = strlen(name);

	return bytes > 2 && strcmp(name + bytes - 2, "_F") == 0 ? SYMBOL_LOCAL : SYMBOL_GLOBAL;
}

/* --- a list ----------------------------------------------------------------------------------- */

static uint64_t code_hash_piece(const struct generated_code *code, enum code_kind kind,
				uint64_t address)
{
	struct code_piece piece = { 0, 0 };
	char name[CODE_NAME_BYTES] = "";
	uint64_t hash = CODE_HASH_SEED, words[CODE_HASHED_BYTES / sizeof(uint64_t)];

	code_read_piece(code, kind, address, &piece);
	code_read_name(code, kind, address, name);
	hash = hash_word(hash, piece.start);
	hash = hash_word(hash, piece.end);
	hash = hash_word(hash, address);
	memcpy(words, name, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = hash_word(hash, words[i]);
	return hash;
}

/*
 * Hash of a list. The hash changes when a piece is added or removed, even if a new piece has the
 * address of an old one.
 */
static uint64_t code_hash(const struct generated_code *code, enum code_kind kind)
{
	uint64_t head = code->guest->symbols[code_kinds[kind].head], link = code_next(code, head);
	uint64_t hash = CODE_HASH_SEED;

	for (size_t i = 0; i < CODE_MAX_PIECES && link && link != head; i++) {
		hash = hash_word(hash,
				      code_hash_piece(code, kind,
						      link - layout_offset(&code->guest->layout,
									   code_kinds[kind].link)));
		link = code_next(code, link);
	}
	return hash;
}

static struct xtop_error *code_read_list(const struct generated_code *code, enum code_kind kind,
					 struct symtab *tab, struct code_piece *pieces, size_t *np)
{
	uint64_t head = code->guest->symbols[code_kinds[kind].head], link = code_next(code, head);
	struct xtop_error *error = NULL;
	char name[CODE_NAME_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < CODE_MAX_PIECES && link && link != head && !error; i++) {
		uint64_t address =
			link - layout_offset(&code->guest->layout, code_kinds[kind].link);
		struct code_piece *piece = &pieces[n];

		if (code_read_piece(code, kind, address, piece)) {
			code_read_name(code, kind, address, name);
			error = symtab_add(tab, &(struct symbol_definition){
							.start = piece->start,
							.size_bytes = piece->end - piece->start,
							.limit = piece->end,
							.rank = code_rank(name),
							.name = name,
							.name_bytes = strlen(name) });
			n++;
		}
		link = code_next(code, link);
	}
	*np = n;
	return error;
}

static bool code_is_of(void *image, const struct mapping *mapping)
{
	return mapping->image == image;
}

/* Unmaps all pieces at once: removing thousands of pieces one by one would take minutes. */
static void code_unmap(struct generated_code *code, struct code_list *list)
{
	if (list->image)
		space_remove_if(code->space, code_is_of, list->image);
	image_unref(list->image);
	list->image = NULL;
	list->n = 0;
}

static struct xtop_error *code_map(struct generated_code *code, enum code_kind kind,
				   struct image *image)
{
	struct code_list *list = &code->lists[kind];
	struct xtop_error *error;

	error = symtab_create(&image->symtab);
	if (!error)
		symtab_set_work(image->symtab, memory_work(code->guest->memory));
	if (!error)
		error = code_read_list(code, kind, image->symtab, list->pieces, &list->n);
	if (!error)
		error = symtab_seal(image->symtab);
	for (size_t i = 0; i < list->n && !error; i++)
		error = space_add(code->space, &(struct mapping){ .start = list->pieces[i].start,
								  .end = list->pieces[i].end,
								  .image = image });
	return error;
}

static void code_reload(struct generated_code *code, enum code_kind kind)
{
	struct code_list *list = &code->lists[kind];
	struct xtop_error *error;

	if (!list->pieces)
		list->pieces = calloc(CODE_MAX_PIECES, sizeof(*list->pieces));
	if (!list->pieces)
		return;
	code_unmap(code, list);
	error = image_create(code_kinds[kind].image, &list->image);
	if (!error)
		error = code_map(code, kind, list->image);
	error_destroy(error);
}

void generated_code_poll(struct generated_code *code)
{
	const struct layout *layout = &code->guest->layout;

	for (int kind = 0; kind < N_CODE_KINDS; kind++) {
		uint64_t hash;

		if (!code->guest->symbols[code_kinds[kind].head] ||
		    !layout_has(layout, code_kinds[kind].link) ||
		    !layout_has(layout, code_kinds[kind].start) ||
		    !layout_has(layout, code_kinds[kind].end) ||
		    !layout_has(layout, code_kinds[kind].name))
			continue;
		hash = code_hash(code, kind);
		if (hash == code->lists[kind].hash)
			continue;
		code->lists[kind].hash = hash;
		code_reload(code, kind);
	}
}
