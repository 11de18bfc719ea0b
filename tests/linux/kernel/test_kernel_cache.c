/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of kernels: a kernel is found again for the domain that showed it, and no other. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/kernel/kernel_cache.h"
#include "linux/kernel/linux_attach.h"
#include "tests/support/folder.h"
#include "tests/support/made_lists.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/cache_folder.h"
#include "xtop/base/work.h"
#include "xtop/unwind/orc.h"

#define TEXT     UINT64_C(0xffffffff81000000)
#define BUILD_ID "01234567890123456789"

static struct made_linux made;
static char folder[] = "/tmp/xtop-cache-XXXXXX";

/* A kernel of three functions. Its build-id is in guest memory. */
static void fill(struct linux_kernel *kernel)
{
	static const char *const names[] = { "start", "middle", "end" };
	struct image *image;

	*kernel = (struct linux_kernel){ .guest = made.guest, .release = "6.1.0" };
	kernel->guest.has_layout = false;
	kernel->guest.text_start = TEXT;
	kernel->guest.text_end = TEXT + 0x1000;
	kernel->guest.symbols[LINUX_TEXT] = TEXT;
	must(image_create("[kernel]", &image));
	must(symtab_create(&image->symtab));
	for (unsigned i = 0; i < 3; i++)
		must(symtab_add(image->symtab,
				&(struct symbol_definition){ .start = TEXT + 0x100 * i,
							     .size_bytes = 0x80,
							     .rank = SYMBOL_GLOBAL,
							     .name = names[i],
							     .name_bytes = strlen(names[i]) }));
	must(symtab_seal(image->symtab));
	image->build_id = (struct build_id){ .size_bytes = 20, .address = TEXT + 0x800 };
	memcpy(image->build_id.bytes, BUILD_ID, 20);
	kernel->image = image;
}

/* The folder's file of the domain UUID. */
static struct kernel_cache *cache_of(int directory, const char *uuid)
{
	struct kernel_cache *cache = kernel_cache_adopt(cache_folder_open_file(directory, uuid));

	if (!cache)
		exit(99);
	return cache;
}

/* CACHE_UUID: whose file; UUID: which domain shows the kernel. */
static bool load(int directory, const char *cache_uuid, const char *uuid,
		 struct linux_kernel *kernel)
{
	struct kernel_cache *cache = cache_of(directory, cache_uuid);
	bool loaded;

	*kernel = (struct linux_kernel){ .guest = made.guest };
	must(image_create("[kernel]", &kernel->image));
	loaded = kernel_cache_load(cache, uuid, kernel, TEXT);
	kernel_cache_close(cache);
	return loaded;
}

static bool loads(int directory, const char *cache_uuid, const char *uuid)
{
	struct linux_kernel kernel;
	bool loaded = load(directory, cache_uuid, uuid, &kernel);

	linux_detach(&kernel);
	return loaded;
}

static void store(int directory, const char *uuid)
{
	struct kernel_cache *cache = cache_of(directory, uuid);
	struct linux_kernel kernel;

	fill(&kernel);
	kernel_cache_store(cache, uuid, &kernel);
	linux_detach(&kernel);
	kernel_cache_close(cache);
}

static void test_whose(int directory)
{
	struct linux_kernel kernel;
	struct symtab_entry entry;

	check(!loads(directory, "a", "a"), "nothing is found in an empty cache file");
	store(directory, "a");
	check(load(directory, "a", "a", &kernel), "a stored kernel is found again");
	check(kernel.image->symtab && symtab_find(kernel.image->symtab, TEXT + 0x110, &entry) &&
		      !strcmp(entry.name, "middle"),
	      "the cached kernel has its symbols");
	check_string(kernel.release, "6.1.0", "the cached kernel has its release");
	linux_detach(&kernel);
	check(!loads(directory, "a", "b"),
	      "the cached kernel is not used for another domain with the same build-id");
	check(!loads(directory, "b", "b"),
	      "the other domain stores its kernel in a file of its own");
	store(directory, "b");
	check(loads(directory, "b", "b") && loads(directory, "a", "a"),
	      "the kernels of both domains are found");
}

/* The domain boots another kernel: the new one takes the place of the old one. */
static void test_other_kernel(int directory, const char *path)
{
	check_u64(count_files(path), 2, "number of files for two domains");
	made_linux_string(&made, TEXT + 0x800, "another build-id 123");
	memory_refresh(made.guest.memory);
	check(!loads(directory, "a", "a"),
	      "the cached kernel is not used when the guest runs another kernel");
	store(directory, "a"); /* the old build-id: not found either */
	check_u64(count_files(path), 2, "number of files after another kernel ran");
}

/* What was built when the user had waited long enough is not whole. */
static bool at_once(void *context)
{
	(void)context;
	return true;
}

static void test_over(int directory)
{
	struct work work = { .ends = at_once };

	made_linux_string(&made, TEXT + 0x800, BUILD_ID);
	memory_refresh(made.guest.memory);
	check(loads(directory, "a", "a"), "the kernel is stored in the cache");
	memory_set_work(made.guest.memory, &work);
	memory_refresh(made.guest.memory);
	check(!loads(directory, "a", "a"), "the cache reads nothing when the work is over");
	memory_set_work(made.guest.memory, NULL);
	memory_refresh(made.guest.memory);
	check(loads(directory, "a", "a"), "the kernel is still in the cache for the next start");
}

static void test_cache(void)
{
	char path[64];
	int directory;

	snprintf(path, sizeof(path), "%s/some/where/xtop", folder);
	directory = cache_folder_open(path);
	made_linux_string(&made, TEXT + 0x800, BUILD_ID);
	memory_refresh(made.guest.memory);
	test_whose(directory);
	test_other_kernel(directory, path);
	test_over(directory);
	check(!kernel_cache_adopt(-1), "a cache without a file is NULL");
	check(!kernel_cache_load(NULL, "a", NULL, TEXT), "a cache without a file has no kernel");
	close(directory);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		return 99;
	made_linux_init(&made);
	test_cache();
	made_linux_deinit(&made);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 99 : tap_done();
}
