/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of a Linux guest: its areas, in a list and in a tree, the paths of its files, the page
 * cache of the files. The input has all of these structures.
 */
#include "config.h"

#include "guest.h"
#include "linux/process/guest_file.h"
#include "linux/process/path.h"
#include "linux/process/perf_map.h"
#include "linux/process/processes.h"
#include "linux/process/script.h"
#include "xtop/elf/loads.h"

#define MAX_VISITS    8       /* areas with a file that is read */
#define MAX_MAP_BYTES 0x10000 /* a larger map costs as much as a thousand inputs */

struct visit {
	struct fuzz_guest *guest;
	uint64_t end;
	unsigned n;
	struct guest_file file;
};

static void read_file(struct visit *visit, uint64_t inode)
{
	struct page_cache cache;
	struct loads loads;
	struct symtab *tab = NULL;
	struct bytes bytes;
	char buffer[512];

	visit->file.max_bytes = 1 << 20;
	visit->file.root = visit->guest->linux_guest.root;
	if (page_cache_init(&cache, &visit->guest->linux_guest, inode)) {
		visit->file.cache = &cache;
		bytes = page_cache_bytes(&cache);
		for (unsigned i = 0; i < 8; i++)
			fuzz_must(bytes.read(bytes.context, i * 0x1000ULL << 3 * i, buffer,
					     sizeof(buffer)) <= sizeof(buffer),
				  "no more bytes than asked for");
		if (bytes.size_bytes > MAX_MAP_BYTES)
			bytes.size_bytes = MAX_MAP_BYTES;
		fuzz_succeed(perf_map_read(&bytes, NULL, &tab));
		symtab_destroy(tab);
	}
	bytes = guest_file_bytes(&visit->file, UINT64_MAX);
	loads_read(&bytes, &loads);
	bytes.read(bytes.context, 4000, buffer, sizeof(buffer));
	visit->file.cache = NULL;
}

static bool visit_area(void *context, const struct vma *vma)
{
	static struct path_name name;
	struct visit *visit = context;
	uint64_t inode;

	fuzz_must(vma->start < vma->end && vma->start >= visit->end, "areas ascend");
	visit->end = vma->end;
	if (visit->n++ >= MAX_VISITS)
		return true;
	guest_file_add_mapping(&visit->file, vma);
	if (vma->file) {
		path_read(&visit->guest->linux_guest, vma->file, &name);
		fuzz_must(memchr(name.path, 0, sizeof(name.path)) != NULL, "a name ends");
		if (linux_read_u64(&visit->guest->linux_guest, vma->file, &inode)) {
			read_file(visit, inode);
			path_read_inode(&visit->guest->linux_guest, inode, &name);
			fuzz_must(memchr(name.path, 0, sizeof(name.path)) != NULL, "it ends, too");
		}
	}
	return true;
}

/* Everything together, as for a sample, and again a little later. */
static void find_space(struct fuzz_guest *guest, uint64_t address, uint64_t mm)
{
	const struct task task = { .address = address, .pid = 1, .tgid = 1, .mm = mm };
	struct processes_settings settings = { 0 };
	struct processes *processes;
	const struct space *space;
	struct memory_root root;

	fuzz_succeed(processes_create(&guest->linux_guest, &settings, &processes));
	for (unsigned i = 0; i < 2; i++) {
		space = processes_find_space(processes, &task, i * 2 * CODE_FILE_RETRY_NS);
		if (space)
			space_find(space, 0x1000);
		processes_get_root(processes, mm, &root);
		for (uint64_t frame = 0; frame < 16; frame++)
			processes_find_by_frame(processes, 0x1000, FRAME(frame), UINT64_MAX / 2);
		processes_poll(processes, (i * 2 + 1) * CODE_FILE_RETRY_NS);
	}
	processes_next_note(processes, NULL);
	processes_destroy(processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct visit visit = { .guest = guest, .file.guest = &guest->linux_guest };
	uint64_t mm, task, inode;
	struct vmas_key key = { 0 };
	char script[SCRIPT_NAME_BYTES];

	mm = FUZZ_GUEST_BASE + fuzz_u16(&fuzz);
	task = FUZZ_GUEST_BASE + fuzz_u16(&fuzz);
	guest->arm64 = task & 2;
	fuzz_guest_layout(guest, &fuzz);
	fuzz_guest_fill(guest, &fuzz);
	if (vmas_read_key(&guest->linux_guest, mm, &key))
		fuzz_must(vmas_key_equal(&key, &key), "a key equals itself");
	vmas_walk(&guest->linux_guest, mm, visit_area, &visit);
	if (script_read(&guest->linux_guest, mm, script))
		fuzz_must(memchr(script, 0, sizeof(script)) != NULL, "a script's name ends");
	read_file(&visit, mm);
	if (path_find_file(&guest->linux_guest, task, "/tmp/perf-1.map", &inode))
		read_file(&visit, inode);
	if (key.mm == mm && task & 1) /* half of the inputs: find_space() is slow */
		find_space(guest, task, mm);
	return 0;
}
