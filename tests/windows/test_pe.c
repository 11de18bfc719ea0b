/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of PE images: made.dll whole, without some of its pages, and broken. */
#include "config.h"

#include "made_dll.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/symbol/pe.h"

static uint8_t dll[DLL_BYTES];
static uint64_t missing_page = UINT64_MAX;

static size_t read_dll(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t n = 0;

	(void)context;
	for (; n < size_bytes && offset + n < DLL_BYTES; n++) {
		if ((offset + n) >> 12 == missing_page)
			break;
		((uint8_t *)buffer)[n] = dll[offset + n];
	}
	return n;
}

static const struct bytes bytes = { read_dll, NULL, UINT64_MAX };

static void begin(void)
{
	memset(dll, 0, sizeof(dll));
	dll_map(dll);
	missing_page = UINT64_MAX;
}

static void put_u32(size_t offset, uint32_t value)
{
	memcpy(dll + offset, &value, sizeof(value));
}

/* The image as it is now. NULL: it is none. */
static struct image *read_image(void)
{
	const struct code_source source = { .read = read_dll };
	struct image *image;
	struct pe_head head;

	if (!pe_read_head(&bytes, &head))
		return NULL;
	must(image_create("made.dll", &image));
	must(image_read_pe(image, &bytes, &head, &source));
	return image;
}

static bool has_name(const struct image *image, uint64_t address, const char *name)
{
	struct symtab_entry entry;

	if (!symtab_find(image->symtab, address, &entry))
		return !name;
	return name && strcmp(entry.name, name) == 0;
}

static void test_whole(void)
{
	struct pe_head head = { .size_bytes = 0 };
	char name[PE_NAME_BYTES] = "";
	struct image *image;

	begin();
	check(pe_read_head(&bytes, &head) && head.size_bytes == DLL_BYTES &&
		      head.functions.address == DLL_PDATA && head.functions.size_bytes == 0x54,
	      "the header of an image is read");
	check(pe_read_name(&bytes, &head, name) && strcmp(name, "made.dll") == 0,
	      "an image has its own name: %s", name);
	image = read_image();
	check_u64(symtab_count(image->symtab), 7, "number of exported functions");
	check(has_name(image, DLL_LEAF, "made_leaf") && has_name(image, DLL_SAVES, "made_saves") &&
		      has_name(image, DLL_XMM + 3, "made_xmm") &&
		      has_name(image, DLL_OUTER + 30, "made_outer"),
	      "exported functions have their names");
	check(has_name(image, DLL_HIDDEN, NULL) && has_name(image, DLL_HIDDEN + 4, NULL),
	      "a function that is not exported has no name");
	check(has_name(image, DLL_OUTER + 31, NULL), "an address after a function has no name");
	check(image->tables.seh, "an image has unwind tables");
	image_unref(image);
}

static void test_missing(void)
{
	struct image *image;

	begin();
	missing_page = DLL_PDATA >> 12;
	image = read_image();
	check(image && !image->tables.seh && has_name(image, DLL_SAVES, "made_saves"),
	      "an image without .pdata has names");
	image_unref(image);
	missing_page = DLL_EDATA >> 12;
	image = read_image();
	check(image && image->tables.seh && !symtab_count(image->symtab),
	      "an image without .edata has unwind tables");
	image_unref(image);
	missing_page = DLL_XDATA >> 12;
	image = read_image();
	check(image && has_name(image, DLL_SAVES, "made_saves"),
	      "an image without .xdata has names");
	image_unref(image);
	missing_page = 0;
	check(!read_image(), "an image without its header has nothing");
}

static void test_broken(void)
{
	struct image *image;
	unsigned n = 0;

	begin();
	dll[0] = 'N';
	check(!read_image(), "an image without \"MZ\" is refused");
	begin();
	put_u32(60, 0xfffffff0);
	check(!read_image(), "an image with its header elsewhere is refused");
	begin();
	put_u32(60, 0x1001);
	check(!read_image(), "an image with its header at an odd place is refused");
	begin();
	put_u32(DLL_EDATA + 24, 0xffffffff);
	image = read_image();
	check(image && !symtab_count(image->symtab), "names beyond the directory are left out");
	image_unref(image);
	begin();
	put_u32(DLL_EDATA + 0x28 + 4 * 3, DLL_EDATA + 0x80);
	image = read_image();
	check(image && symtab_count(image->symtab) == 6, "an export of another image has no code");
	image_unref(image);
	begin();
	put_u32(DLL_PDATA + 12, 0x5000);
	image = read_image();
	check(image && has_name(image, DLL_SAVES, "made_saves"),
	      "functions that do not ascend give no unwind tables");
	image_unref(image);
	/* Every byte once: no read outside of a copy (sanitizers), and no endless loop. */
	for (size_t at = 0; at < DLL_BYTES; at++) {
		begin();
		dll[at] = (uint8_t)(dll[at] ^ 0xff);
		image = read_image();
		n += image != NULL;
		image_unref(image);
	}
	check(n > DLL_BYTES - 64, "%u of %u images with one wrong byte are read", n, DLL_BYTES);
}

int main(void)
{
	test_whole();
	test_missing();
	test_broken();
	return tap_done();
}
