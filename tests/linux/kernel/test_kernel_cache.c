/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of kernels: a kernel is found again for the domain that showed it, and no other. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/made_lists.h"
#include "linux/kernel/kernel_cache.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/orc.h"

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
		must(symtab_add(image->symtab, TEXT + 0x100 * i, 0x80, 0, SYMBOL_GLOBAL, names[i],
				strlen(names[i])));
	must(symtab_seal(image->symtab));
	image->build_id = (struct build_id){ .size_bytes = 20, .address = TEXT + 0x800 };
	memcpy(image->build_id.bytes, BUILD_ID, 20);
	kernel->image = image;
}

static bool load(struct kernel_cache *cache, const char *uuid, struct linux_kernel *kernel)
{
	*kernel = (struct linux_kernel){ .guest = made.guest };
	must(image_create("[kernel]", &kernel->image));
	return kernel_cache_load(cache, uuid, kernel, TEXT);
}

static void store(struct kernel_cache *cache, const char *uuid)
{
	struct linux_kernel kernel;

	fill(&kernel);
	kernel_cache_store(cache, uuid, &kernel);
	linux_detach(&kernel);
}

static void test_whose(struct kernel_cache *cache)
{
	struct linux_kernel kernel;
	struct symtab_entry entry;

	check(!load(cache, "a", &kernel), "the cache is empty at first");
	linux_detach(&kernel);
	store(cache, "a");
	check(load(cache, "a", &kernel), "the kernel is found again");
	check(kernel.image->symtab && symtab_find(kernel.image->symtab, TEXT + 0x110, &entry) &&
		      !strcmp(entry.name, "middle"),
	      "with its symbols");
	check_string(kernel.release, "6.1.0", "with its release");
	linux_detach(&kernel);
	check(!load(cache, "b", &kernel),
	      "not for another domain, whatever build-id that domain shows");
	linux_detach(&kernel);
	store(cache, "b");
	check(load(cache, "b", &kernel), "the other domain has a file of its own");
	linux_detach(&kernel);
	check(load(cache, "a", &kernel), "beside the file of the first");
	linux_detach(&kernel);
}

static void test_other_kernel(struct kernel_cache *cache)
{
	struct linux_kernel kernel;

	made_linux_string(&made, TEXT + 0x800, "another build-id 123");
	memory_refresh(made.guest.memory);
	check(!load(cache, "a", &kernel), "not when the guest runs another kernel");
	linux_detach(&kernel);
}

/* The folder is created. A folder that others can write to is not used. */
static void test_folder(void)
{
	struct kernel_cache *cache;
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "%s/some/where/xtop", folder);
	cache = kernel_cache_open(path);
	check(cache && stat(path, &status) == 0 && (status.st_mode & 0777) == 0700,
	      "created with its parents, for its owner alone");
	made_linux_string(&made, TEXT + 0x800, BUILD_ID);
	memory_refresh(made.guest.memory);
	test_whose(cache);
	test_other_kernel(cache);
	kernel_cache_close(cache);
	chmod(path, 0777);
	check(!kernel_cache_open(path), "not used once others can write to it");
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		return 99;
	made_linux_init(&made);
	test_folder();
	made_linux_deinit(&made);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 99 : tap_done();
}
