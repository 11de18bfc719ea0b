/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled CFI against libunwind over the same recorded stacks, side by side: nanoseconds a frame
 * of
 *
 *   cfi_step()    with libunwind only for the rows that the table leaves to it
 *   unw_step()    libunwind as it is usually used: one address space over all images, .eh_frame_hdr
 *                 read in place, cache on, one unw_init_remote() for each stack
 *   dwarf_step()  our wrapper for single frames, used for all frames
 *
 * and the time to compile the tables of libc, of xtop and of a vmlinux:
 *
 *   bench_unwind_cfi [FILE...]
 */
#include "config.h"

/* As in src/unwind/dwarf.c. <link.h> needs GNU's names again. */
#undef _GNU_SOURCE
#define _DEFAULT_SOURCE 1

#include <libunwind.h>

#undef _FEATURES_H
#define _GNU_SOURCE 1
#include <features.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unwind/process_images.h"
#include "tests/unwind/stacks.h"
#include "unw_cursor.h"
#include "unwind/cfi_table.h"

extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
					      unw_dyn_info_t *table, unw_proc_info_t *info,
					      int need_unwind_info, void *argument);

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/* --- the work that is recorded ---------------------------------------------------------------- */

static volatile unsigned sink;

static int compare(const void *left, const void *right)
{
	char text[64];

	sink += snprintf(text, sizeof(text), "%d", *(const int *)left);
	return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
	int numbers[] = { 5, 3, 9, 1 };
	unsigned more;

	if (!depth) {
		qsort(numbers, 4, sizeof(*numbers), compare);
		return numbers[0];
	}
	more = recurse(depth - 1);
	sink += more;
	return more + depth;
}

static void work(void)
{
	sink += recurse(8);
}

/* --- libunwind -------------------------------------------------------------------------------- */

#define N_ROUNDS 20

struct space {
	const struct process_images *process;
	struct cursor cursor;
};

struct hdr_place {
	uint64_t start, end, address, size_bytes; /* the image, and its .eh_frame_hdr */
};

static struct hdr_place hdrs[PROCESS_MAX_IMAGES];
static size_t n_hdrs;

static int add_hdr(struct dl_phdr_info *info, size_t size, void *context)
{
	struct hdr_place *place = &hdrs[n_hdrs];

	(void)size;
	(void)context;
	*place = (struct hdr_place){ .start = UINT64_MAX };
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME) {
			place->address = start;
			place->size_bytes = segment->p_memsz;
		}
		if (segment->p_type != PT_LOAD)
			continue;
		place->start = start < place->start ? start : place->start;
		if (start + segment->p_memsz > place->end)
			place->end = start + segment->p_memsz;
	}
	n_hdrs += place->address && n_hdrs + 1 < PROCESS_MAX_IMAGES;
	return 0;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
			  void *argument)
{
	for (size_t i = 0; i < n_hdrs; i++) {
		unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE,
					 .start_ip = hdrs[i].start,
					 .end_ip = hdrs[i].end };

		if (ip < hdrs[i].start || ip >= hdrs[i].end)
			continue;
		table.u.rti.segbase = hdrs[i].address;
		table.u.rti.table_data = hdrs[i].address + 12;
		table.u.rti.table_len = (hdrs[i].size_bytes - 12) / sizeof(unw_word_t);
		return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need, argument);
	}
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *argument)
{
	struct space *own = argument;

	(void)space;
	(void)write;
	if (cursor_read(&own->cursor, address, value, 1))
		return 0;
	if (!process_find(own->process, address))
		return -UNW_EINVAL;
	memcpy(value, (const void *)address, sizeof(*value)); /* the tables, in place */
	return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *argument)
{
	const struct space *own = argument;

	(void)space;
	return write ? -UNW_EBADREG : unw_read_register(&own->cursor, number, value);
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = unw_none_put_unwind_info,
	.get_dyn_info_list_addr = unw_none_get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = unw_none_access_fpreg,
};

/* --- rounds over all stacks ------------------------------------------------------------------- */

struct figure {
	double ns;
	uint64_t frames, check; /* sum of all return addresses: it must be the same for all */
};

static void by_libunwind(const struct stacks *stacks, struct space *own, unw_addr_space_t space,
			 struct figure *figure)
{
	const struct sample_vcpu *vcpu = stacks_first(stacks);
	double start = now_ns();

	for (size_t i = 0; i < stacks->n; i++) {
		unw_cursor_t unwound;

		cursor_init(&own->cursor, vcpu);
		unw_init_remote(&unwound, space, own);
		while (unw_step(&unwound) > 0) {
			unw_word_t ip;

			unw_get_reg(&unwound, UNW_REG_IP, &ip);
			figure->frames++;
			figure->check += ip;
		}
		vcpu = (const void *)((const char *)vcpu + vcpu->size_bytes);
	}
	figure->ns += now_ns() - start;
}

static void by_step(const struct stacks *stacks, const struct process_images *process,
		    bool libunwind, struct figure *figure)
{
	const struct sample_vcpu *vcpu = stacks_first(stacks);
	double start = now_ns();

	for (size_t i = 0; i < stacks->n; i++) {
		struct cursor cursor;

		cursor_init(&cursor, vcpu);
		while (process_step(process, &cursor, libunwind) == STEP_CALLER) {
			figure->frames++;
			figure->check += cursor.regs[REG_RIP];
		}
		vcpu = (const void *)((const char *)vcpu + vcpu->size_bytes);
	}
	figure->ns += now_ns() - start;
}

/* The round with the least noise. */
static void keep_best(struct figure *best, const struct figure *figure)
{
	if (!best->frames || figure->ns < best->ns)
		*best = *figure;
}

static void print_figure(const char *what, const struct figure *figure)
{
	printf("%-13s %8.1f ns a frame   (%" PRIu64 " frames, check %016" PRIx64 ")\n", what,
	       figure->ns / figure->frames, figure->frames, figure->check);
}

static bool bench_steps(void)
{
	struct figure compiled = { 0 }, libunwind = { 0 }, wrapped = { 0 };
	static struct process_images process;
	struct space own = { .process = &process };
	struct stacks stacks;
	unw_addr_space_t space = unw_create_addr_space(&accessors, 0);

	unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
	process_images_init(&process);
	dl_iterate_phdr(add_hdr, NULL);
	stacks_record(&stacks, work, 7, 64 << 20);
	printf("%zu stacks recorded\n", stacks.n);
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		struct figure figure[3][2] = { 0 };

		for (unsigned i = 0; i < 2; i++) /* the first warms the caches */
			by_step(&stacks, &process, false, &figure[0][i]);
		for (unsigned i = 0; i < 2; i++)
			by_libunwind(&stacks, &own, space, &figure[1][i]);
		for (unsigned i = 0; i < 2; i++)
			by_step(&stacks, &process, true, &figure[2][i]);
		keep_best(&compiled, &figure[0][1]);
		keep_best(&libunwind, &figure[1][1]);
		keep_best(&wrapped, &figure[2][1]);
	}
	print_figure("cfi_step()", &compiled);
	print_figure("unw_step()", &libunwind);
	print_figure("dwarf_step()", &wrapped);
	printf("libunwind / compiled: %.1f\n",
	       libunwind.ns / libunwind.frames / (compiled.ns / compiled.frames));
	stacks_deinit(&stacks);
	unw_destroy_addr_space(space);
	process_images_deinit(&process);
	return compiled.check == libunwind.check && compiled.check == wrapped.check;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void bench_table(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double start, compiled, created;
	struct dwarf *dwarf = NULL;
	struct elf_frames frames;
	struct cfi *cfi = NULL;
	struct elf_file file;

	if (fd < 0) {
		printf("%s: not there\n", path);
		return;
	}
	elf_tables_fatal(elf_file_init_host(&file, fd, path, &elf_tables_limits));
	elf_read_frames(&file, &frames);
	start = now_ns();
	elf_tables_fatal(cfi_compile(&frames.sections, &cfi));
	compiled = now_ns();
	if (cfi)
		elf_tables_fatal(dwarf_create(&frames.sections, cfi, &dwarf));
	created = now_ns();
	if (cfi) {
		printf("%s: .eh_frame %zu KiB, .debug_frame %zu KiB\n"
		       "  compiled in %.1f ms, rows for libunwind found in %.1f ms\n"
		       "  %zu functions, %u rows, %u rules, %zu rows for libunwind, %zu refused\n"
		       "  table %.2f MiB, libunwind's part %zu KiB\n",
		       path, frames.eh_frame.size_bytes >> 10, frames.debug_frame.size_bytes >> 10,
		       (compiled - start) / 1e6, (created - compiled) / 1e6, cfi->n_fdes,
		       cfi->n_rows, cfi->n_rules, cfi->n_asks, cfi->n_refused,
		       (double)cfi_memory_bytes(cfi) / 1048576,
		       dwarf ? dwarf_memory_bytes(dwarf) >> 10 : 0);
	}
	dwarf_destroy(dwarf);
	cfi_destroy(cfi);
	elf_frames_deinit(&frames);
	elf_file_deinit(&file);
	close(fd);
}

int main(int argc, char **argv)
{
	Dl_info libc;

	if (!bench_steps()) {
		printf("the ways differ\n");
		return 1;
	}
	if (dladdr(dlsym(RTLD_DEFAULT, "qsort"), &libc))
		bench_table(libc.dli_fname);
	bench_table("xtop");
	for (int i = 1; i < argc; i++)
		bench_table(argv[i]);
	return 0;
}
