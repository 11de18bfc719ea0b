/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of the kernel cache; see kernel_cache.h. All addresses in the file are relative to
 * _text.
 *
 *   struct cache_head                  identity of the kernel, checksum, sizes of the rest
 *   struct cache_symbol[n_symbols]     ascending
 *   orc_bytes                          output of orc_pack()
 *   char names[names_bytes]            names of the symbols, in their order, each with its NUL
 *
 * The head is written last. So the checksum is wrong in a file that is cut short or that another
 * xtop is just writing. Integers are little-endian, as on all machines that run xtop.
 */
#include "config.h"

#include "linux/kernel/kernel_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "xtop/base/build_id.h"
#include "xtop/base/cache_folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/work.h"
#include "xtop/os/os_ops.h"
#include "xtop/unwind/orc.h"

#define CACHE_MAGIC          "XTOPKRN\n"
#define CACHE_VERSION        14
/* limit for the body */
#define CACHE_MAX_BYTES      (CACHE_FOLDER_FILE_BYTES - sizeof(struct cache_head))
#define CACHE_MAX_TEXT_BYTES (1U << 30) /* limit for a kernel image: Linux KERNEL_IMAGE_SIZE */

struct cache_symbol {
	uint32_t start, end;
};

struct cache_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes;
	/* checksum of the head with 0 in this member, and of everything after the head */
	uint64_t checksum;
	char uuid[OS_UUID_BYTES]; /* UUID of the domain in which the kernel was found */
	struct build_id build_id; /* the address in it is relative to _text as well */
	char release[64];
	uint32_t has_layout;
	struct layout layout;
	struct orc_layout orc_layout;
	uint64_t symbols[N_LINUX_SYMBOLS];
	/* true if relative to _text; otherwise symbols[] has a per-cpu offset, or 0 */
	uint8_t relative[N_LINUX_SYMBOLS];
	uint32_t text_bytes;
	uint32_t n_symbols;
	uint64_t orc_bytes; /* 0 if there are no unwind tables */
	uint64_t names_bytes;
};

struct kernel_cache {
	int fd;
};

struct kernel_cache *kernel_cache_adopt(int fd)
{
	struct kernel_cache *cache = fd < 0 ? NULL : malloc(sizeof(*cache));

	if (cache)
		cache->fd = fd;
	else if (fd >= 0)
		close(fd);
	return cache;
}

void kernel_cache_close(struct kernel_cache *cache)
{
	if (!cache)
		return;
	close(cache->fd);
	free(cache);
}

/* --- checksum --------------------------------------------------------------------------------- */

/* Protects against files that are torn or cut short, not against an attacker. */
static uint64_t cache_checksum(const struct cache_head *head, const void *body, size_t body_bytes)
{
	struct cache_head copy;

	memcpy(&copy, head, sizeof(copy)); /* includes the padding */
	copy.checksum = 0;
	return hash_bytes(hash_bytes(CACHE_VERSION, &copy, sizeof(copy)), body, body_bytes);
}

/* Size of the body; 0 if it is empty, or larger than any file that xtop writes. */
static size_t cache_body_bytes(const struct cache_head *head)
{
	if (head->n_symbols > CACHE_MAX_BYTES / sizeof(struct cache_symbol) ||
	    head->orc_bytes > CACHE_MAX_BYTES || head->names_bytes > CACHE_MAX_BYTES)
		return 0;
	return head->n_symbols * sizeof(struct cache_symbol) + head->orc_bytes + head->names_bytes;
}

/* --- loading ---------------------------------------------------------------------------------- */

static bool cache_read(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	return pread(fd, buffer, size_bytes, offset) == (ssize_t)size_bytes;
}

static bool cache_head_is_sane(const struct cache_head *head)
{
	size_t body_bytes = cache_body_bytes(head);

	return memcmp(head->magic, CACHE_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == CACHE_VERSION && head->head_bytes == sizeof(*head) &&
	       head->build_id.size_bytes > 0 && head->build_id.size_bytes <= BUILD_ID_MAX_BYTES &&
	       head->text_bytes > 0 && head->text_bytes <= CACHE_MAX_TEXT_BYTES && body_bytes > 0 &&
	       body_bytes <= CACHE_MAX_BYTES &&
	       memchr(head->release, '\0', sizeof(head->release)) &&
	       memchr(head->uuid, '\0', sizeof(head->uuid)) &&
	       (!head->has_layout || layout_check(&head->layout));
}

/* Whether the guest's kernel, with text at TEXT_START, is the one that HEAD describes. */
static bool cache_describes_guest(const struct cache_head *head, const struct linux_guest *guest,
			uint64_t text_start)
{
	struct build_id id = { .size_bytes = head->build_id.size_bytes };

	return memory_read(guest->memory, guest->root, text_start + head->build_id.address,
			   id.bytes, id.size_bytes) == id.size_bytes &&
	       build_id_equal(&id, &head->build_id);
}

static struct xtop_error *cache_restore_symbols(const struct cache_head *head, const char *body,
						uint64_t text_start, struct symtab *tab)
{
	const struct cache_symbol *symbols = (const struct cache_symbol *)body;
	const char *name = body + head->n_symbols * sizeof(*symbols) + head->orc_bytes;
	const char *end = name + head->names_bytes;
	struct xtop_error *error = NULL;

	for (uint32_t i = 0; i < head->n_symbols && !error; i++) {
		size_t name_bytes = strnlen(name, (size_t)(end - name));

		if (name + name_bytes == end || symbols[i].start >= symbols[i].end)
			return error_create("damaged");
		error = symtab_add(tab, &(struct symbol_definition){
						.start = text_start + symbols[i].start,
						.size_bytes = symbols[i].end - symbols[i].start,
						.limit = text_start + symbols[i].end,
						.rank = SYMBOL_GLOBAL,
						.name = name,
						.name_bytes = name_bytes });
		name += name_bytes + 1;
	}
	return error ? error : symtab_seal(tab);
}

static struct xtop_error *cache_restore_orc(const struct cache_head *head, const char *body,
					    uint64_t text_start, struct orc **orcp)
{
	return head->orc_bytes ? orc_unpack(body + head->n_symbols * sizeof(struct cache_symbol),
					    head->orc_bytes, text_start,
					    text_start + head->text_bytes, orcp)
			       : NULL;
}

static void cache_restore_guest(const struct cache_head *head, uint64_t text_start,
				struct linux_kernel *kernel)
{
	struct linux_guest *guest = &kernel->guest;

	memcpy(kernel->release, head->release, sizeof(kernel->release));
	kernel->image->build_id = head->build_id;
	kernel->image->build_id.address += text_start;
	guest->has_layout = head->has_layout;
	if (head->has_layout)
		guest->layout = head->layout;
	guest->orc_layout = head->orc_layout;
	for (int i = 0; i < N_LINUX_SYMBOLS; i++)
		guest->symbols[i] = head->symbols[i] + (head->relative[i] ? text_start : 0);
}

static bool cache_restore(const struct cache_head *head, const char *body, uint64_t text_start,
			  struct linux_kernel *kernel)
{
	struct symtab *tab = NULL;
	struct orc *orc = NULL;
	struct xtop_error *error;

	error = symtab_create(&tab);
	if (!error)
		symtab_set_work(tab, memory_work(kernel->guest.memory));
	if (!error)
		error = cache_restore_symbols(head, body, text_start, tab);
	if (!error)
		error = cache_restore_orc(head, body, text_start, &orc);
	if (error) {
		error_destroy(error);
		symtab_destroy(tab);
		return false;
	}
	kernel->image->symtab = tab;
	kernel->image->tables.orc = orc;
	cache_restore_guest(head, text_start, kernel);
	return true;
}

static bool cache_load(int fd, const char *uuid, struct linux_kernel *kernel, uint64_t text_start)
{
	_cleanup_free_ struct cache_head *head = malloc(sizeof(*head));
	_cleanup_free_ char *body = NULL;
	size_t body_bytes;

	if (!head || !cache_read(fd, head, sizeof(*head), 0) || !cache_head_is_sane(head) ||
	    strcmp(head->uuid, uuid) != 0 ||
	    !cache_describes_guest(head, &kernel->guest, text_start))
		return false;
	body_bytes = cache_body_bytes(head);
	body = body_bytes ? malloc(body_bytes) : NULL;
	return body && cache_read(fd, body, body_bytes, sizeof(*head)) &&
	       cache_checksum(head, body, body_bytes) == head->checksum &&
	       cache_restore(head, body, text_start, kernel);
}

bool kernel_cache_load(struct kernel_cache *cache, const char *uuid, struct linux_kernel *kernel,
		       uint64_t text_start)
{
	return cache && cache_load(cache->fd, uuid, kernel, text_start);
}

/* --- storing ---------------------------------------------------------------------------------- */

static bool cache_write(int fd, const void *buffer, size_t size_bytes, off_t offset)
{
	return pwrite(fd, buffer, size_bytes, offset) == (ssize_t)size_bytes;
}

static bool cache_fill_head(const char *uuid, const struct linux_kernel *kernel,
			    struct cache_head *head)
{
	const struct linux_guest *guest = &kernel->guest;
	const struct image *image = kernel->image;
	uint64_t text_bytes = guest->text_end - guest->text_start;

	if (!image->build_id.size_bytes || text_bytes == 0 || text_bytes > CACHE_MAX_TEXT_BYTES)
		return false;
	/* clears the padding as well, which is written and part of the checksum */
	memset(head, 0, sizeof(*head));
	memcpy(head->magic, CACHE_MAGIC, sizeof(head->magic));
	head->version = CACHE_VERSION;
	head->head_bytes = sizeof(*head);
	head->build_id = image->build_id;
	head->has_layout = guest->has_layout;
	head->layout = guest->layout;
	head->orc_layout = guest->orc_layout;
	head->text_bytes = (uint32_t)text_bytes;
	head->n_symbols = (uint32_t)symtab_count(image->symtab);
	head->orc_bytes = image->tables.orc ? orc_pack_bytes(image->tables.orc) : 0;
	snprintf(head->uuid, sizeof(head->uuid), "%s", uuid);
	head->build_id.address -= guest->text_start;
	memcpy(head->release, kernel->release, sizeof(head->release));
	for (int i = 0; i < N_LINUX_SYMBOLS; i++) {
		head->relative[i] = guest->symbols[i] >= guest->text_start;
		head->symbols[i] = guest->symbols[i] - (head->relative[i] ? guest->text_start : 0);
	}
	for (uint32_t i = 0; i < head->n_symbols; i++)
		head->names_bytes += strlen(symtab_at(image->symtab, i).name) + 1;
	return cache_body_bytes(head) > 0 && cache_body_bytes(head) <= CACHE_MAX_BYTES;
}

static char *cache_build_body(const struct linux_kernel *kernel, const struct cache_head *head)
{
	uint64_t text_start = kernel->guest.text_start;
	size_t body_bytes = cache_body_bytes(head);
	char *body = body_bytes ? malloc(body_bytes) : NULL, *name;
	struct cache_symbol *symbols = (struct cache_symbol *)body;

	if (!body)
		return NULL;
	name = (char *)(symbols + head->n_symbols) + head->orc_bytes;
	for (uint32_t i = 0; i < head->n_symbols; i++) {
		struct symtab_entry entry = symtab_at(kernel->image->symtab, i);

		symbols[i] = (struct cache_symbol){ (uint32_t)(entry.start - text_start),
						    (uint32_t)(entry.end - text_start) };
		name = stpcpy(name, entry.name) + 1;
	}
	if (head->orc_bytes)
		orc_pack(kernel->image->tables.orc, symbols + head->n_symbols);
	return body;
}

static void cache_store(int fd, const struct cache_head *head, const char *body)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) /* another xtop is writing the file */
		return;
	if (ftruncate(fd, 0) == 0 && cache_write(fd, body, cache_body_bytes(head), sizeof(*head)))
		cache_write(fd, head, sizeof(*head), 0);
	flock(fd, LOCK_UN);
}

void kernel_cache_store(struct kernel_cache *cache, const char *uuid,
			const struct linux_kernel *kernel)
{
	_cleanup_free_ struct cache_head *head = malloc(sizeof(*head));
	struct work *work = memory_work(kernel->guest.memory);
	_cleanup_free_ char *body = NULL;

	if (!cache || !head || !cache_fill_head(uuid, kernel, head))
		return;
	body = work_is_over(work) ? NULL : cache_build_body(kernel, head);
	if (!body || work_is_over(work))
		return;
	head->checksum = cache_checksum(head, body, cache_body_bytes(head));
	if (!work_is_over(work))
		cache_store(cache->fd, head, body);
}
