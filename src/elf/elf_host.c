/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of ELF files on the disk of dom0, by libelf: files that the user names with -k, and
 * files below --root. The only file that includes libelf's headers. Main's thread reads the symbols
 * of -k before sampling starts; the resolver's thread reads all else. Both are unprivileged and in
 * the sandbox (supervise/sandbox.c).
 *
 * Such a file may be damaged, or come from a guest's disk. libelf allocates as much memory as a
 * file's headers ask for, so the number of sections, and the range of each part that is read, are
 * checked against limits and the file's size before libelf is asked (elf_file.c).
 *
 * libelf keeps what it read until elf_end(). So libelf is asked for headers, for the few whole
 * sections that callers read, and for one compressed section. Other parts are read here, into
 * memory of the blob: 100,000 sections of a file may all name the same megabyte as their notes.
 *
 * libelf reads with ELF_C_READ, by pread() into memory of its own. It could map the file; but
 * whoever may write to a mapped file can make it shorter, and then the next access is a SIGBUS. A
 * read merely fails.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_reader.h"

/*
 * A match of 258 bytes takes two bits at least (RFC 1951 §3.2.5; zlib's "maximum expansion
 * factor").
 */
#define DEFLATE_MAX_RATIO 1032
#define ZDEBUG_MAGIC      "ZLIB"

/* --- bytes ------------------------------------------------------------------------------------ */

/*
 * Reads bytes by pread(). libelf's elf_getdata_rawchunk() would keep each piece until elf_end(), in
 * a list that libelf searches.
 */
static size_t elf_host_read(struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes && offset <= INT64_MAX - done) {
		ssize_t got = pread(file->fd, (char *)buffer + done, size_bytes - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static bool elf_host_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			  struct elf_blob *blob)
{
	blob->bytes = blob->owned = malloc(size_bytes);
	blob->size_bytes = size_bytes;
	if (blob->owned && elf_host_read(file, offset, blob->owned, size_bytes) == size_bytes)
		return true;
	file->incomplete = true;
	elf_blob_deinit(blob);
	return false;
}

/*
 * libelf refuses a section without a type, and a section with a size that is no multiple of its
 * elements' size. xtop then reads the plain bytes, as elf_guest.c does: callers check what they
 * use.
 */
static bool elf_host_load_section(struct elf_file *file, size_t index, struct elf_blob *blob)
{
	const Elf64_Shdr *header = &file->sections[index].header;
	const Elf_Data *data = elf_rawdata(elf_getscn(file->host, index), NULL);

	if (!data || !data->d_buf)
		return elf_host_load(file, header->sh_offset, header->sh_size, blob);
	blob->bytes = data->d_buf; /* libelf's until elf_end() */
	blob->size_bytes = data->d_size;
	return true;
}

/* --- compressed sections ---------------------------------------------------------------------- */

/*
 * Reads the size of a section when inflated. ld and objcopy --compress-debug-sections store the
 * size in two ways (gABI, Compressed Sections; binutils bfd/compress.c):
 *
 *   SHF_COMPRESSED   u32 type, u32 0, u64 size, u64 alignment; then, of type 1, a zlib stream
 *   .zdebug_*        "ZLIB", u64 size, big-endian; then a zlib stream
 *
 * False: neither, or a file of 32 bits. Type 2, zstd, is nobody's default, and not every libelf
 * knows it; objcopy --decompress-debug-sections helps, as symbols.c tells the user.
 */
static bool elf_read_inflated_bytes(struct elf_file *file, const Elf64_Shdr *header, bool zdebug,
				    uint64_t *size_bytes)
{
	struct {
		char magic[sizeof(ZDEBUG_MAGIC) - 1];
		uint64_t size_bytes;
	} __attribute__((packed)) old;
	Elf64_Chdr head;

	if (zdebug) {
		if (header->sh_size < sizeof(old) ||
		    elf_host_read(file, header->sh_offset, &old, sizeof(old)) != sizeof(old) ||
		    memcmp(old.magic, ZDEBUG_MAGIC, sizeof(old.magic)) != 0)
			return false;
		*size_bytes = be64toh(old.size_bytes);
		return true;
	}
	if (file->header.e_ident[EI_CLASS] != ELFCLASS64 || header->sh_size < sizeof(head) ||
	    elf_host_read(file, header->sh_offset, &head, sizeof(head)) != sizeof(head) ||
	    head.ch_type != ELFCOMPRESS_ZLIB)
		return false;
	*size_bytes = head.ch_size;
	return true;
}

/*
 * Inflates a section, once for each file: libelf keeps the section's bytes, even if it cannot
 * inflate them.
 */
static bool elf_host_inflate(struct elf_file *file, size_t index, bool zdebug,
			     struct elf_blob *blob)
{
	const Elf64_Shdr *header = &file->sections[index].header;
	Elf_Scn *section = elf_getscn(file->host, index);
	const Elf_Data *data;
	uint64_t size_bytes;

	if (!section || file->inflated ||
	    !elf_read_inflated_bytes(file, header, zdebug, &size_bytes) || !size_bytes ||
	    size_bytes > file->limits.inflated_bytes ||
	    size_bytes / DEFLATE_MAX_RATIO > header->sh_size)
		return false;
	file->inflated = true;
	if ((zdebug ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0)) != 1)
		return false;
	data = elf_rawdata(section, NULL);
	if (!data || data->d_size != size_bytes)
		return false;
	blob->bytes = data->d_buf;
	blob->size_bytes = size_bytes;
	return true;
}

static void elf_host_close(struct elf_file *file)
{
	elf_end(file->host);
	file->host = NULL;
}

static const struct elf_reader elf_host_reader = {
	.read = elf_host_read,
	.load = elf_host_load,
	.load_section = elf_host_load_section,
	.inflate_section = elf_host_inflate,
	.close = elf_host_close,
};

/* --- headers ---------------------------------------------------------------------------------- */

static void elf_host_read_segments(struct elf_file *file)
{
	size_t n = elf_count_segments(file);

	for (size_t i = 0; i < n; i++)
		if (!gelf_getphdr(file->host, (int)i, &file->segments[i]))
			return;
	file->n_segments = n;
}

static struct xtop_error *elf_host_read_sections(struct elf_file *file, size_t n)
{
	struct xtop_error *error;
	GElf_Shdr header;
	size_t names;

	if (!n)
		return NULL;
	error = elf_reserve_sections(file, n);
	for (size_t i = 1; !error && i < n; i++)
		if (gelf_getshdr(elf_getscn(file->host, i), &header))
			elf_set_section(&file->sections[i], &header);
		else
			error = elf_damaged(file, "section headers");
	if (!error && elf_getshdrstrndx(file->host, &names) == 0)
		elf_load_names(file, names);
	return error;
}

static struct xtop_error *elf_host_open(struct elf_file *file)
{
	struct xtop_error *error = elf_read_header(file);
	size_t n_sections = 0;

	if (!error)
		error = elf_count_sections(file, &n_sections);
	if (error)
		return error;
	if (elf_version(EV_CURRENT) != EV_NONE)
		file->host = elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->host || elf_kind(file->host) != ELF_K_ELF)
		return error_create("%s: cannot be read as ELF: %s", file->path,
				    file->host ? "its header is damaged" : elf_errmsg(-1));
	elf_host_read_segments(file);
	return elf_host_read_sections(file, n_sections);
}

struct xtop_error *elf_file_init_host(struct elf_file *file, int fd, const char *path,
				      const struct elf_limits *limits)
{
	struct xtop_error *error;
	struct stat status;

	*file = (struct elf_file){
		.path = path, .limits = *limits, .reader = &elf_host_reader, .fd = fd
	};
	if (fstat(fd, &status) < 0)
		return error_create_errno(errno, "%s: cannot read it as ELF", path);
	file->size_bytes = (uint64_t)status.st_size;
	error = elf_host_open(file);
	if (error)
		elf_file_deinit(file);
	return error;
}
