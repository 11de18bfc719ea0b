/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a frame costs on real stacks: the stacks of recordings made in the lab are unwound by each
 * mechanism in turn, from the same bytes. Nanoseconds of CPU time, median over the rounds.
 *
 *	bench_unwind_recorded [RECORDING ELF]...	(the tiny guest's, tests/unwind/recorded)
 *
 *   orc_step()      for a kernel: its ORC tables, with their look-up
 *   cfi_step()      compiled CFI
 *   unw_step()      libunwind as it is usually used: a remote address space over the copied bytes,
 *                   .eh_frame_hdr's table, cache on, one unw_init_remote() for each chain
 *   unwind_stack()  everything, as the resolver does it, with choice and checks
 *
 * Shipped kernels have no CFI: here it is made from the kernel's ORC tables (orc_as_cfi.h). An
 * interrupt ends a chain, and the interrupted code begins the next chain, so that all mechanisms
 * see the same frames. The sums of their return addresses must be equal: if not, exits with 1.
 */
#include "config.h"

/* As in src/unwind/dwarf.c; afterwards GNU's names again. */
#undef _GNU_SOURCE
#define _DEFAULT_SOURCE 1

#include <libunwind.h>

#undef _FEATURES_H
#define _GNU_SOURCE 1
#include <features.h>

#include <fcntl.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "orc_as_cfi.h"
#include "symbol/elf_frames.h"
#include "tests/support/must.h"
#include "tests/unwind/recorded.h"
#include "unw_cursor.h"
#include "unwind/cfi_table.h"
#include "unwind/orc_table.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
					      unw_dyn_info_t *table, unw_proc_info_t *info,
					      int need_unwind_info, void *argument);

#define TINY         "/tests/unwind/recorded/tiny-nofp"
#define N_ROUNDS     21
#define ROUND_FRAMES 200000 /* least number for each mechanism in a round */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* the machine may be shared */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- what is unwound, and with what ----------------------------------------------------------- */

struct chain {
	struct cursor cursor; /* start of the walk: interrupted */
	unsigned n_plain;     /* steps by ORC that libunwind can make, too */
};

struct bench {
	struct recorded recorded;
	struct elf_file file;
	struct elf_frames frames;
	struct as_cfi made;
	const struct cfi_sections *sections; /* the file's sections, or made from its ORC tables */
	struct orc *orc;                     /* NULL: no kernel */
	struct cfi *cfi;
	struct chain *chains;
	size_t n_chains;
	struct space *space;
	unw_addr_space_t libunwind;
	struct cursor cursor; /* the cursor of libunwind's chain */
};

static void bench_read_elf(struct bench *bench, const char *path)
{
	const struct elf_limits limits = { .sections = 4096, .frames_bytes = 256 << 20 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		printf("%s: cannot be opened\n", path);
		exit(1);
	}
	must_or_die(elf_file_init_host(&bench->file, fd, path, &limits));
	elf_read_frames(&bench->file, &bench->frames);
	bench->orc = elf_read_orc(&bench->file);
	bench->sections = &bench->frames.sections;
	if (bench->orc) {
		as_cfi_make(bench->orc, &bench->made);
		bench->sections = &bench->made.sections;
	}
	must_or_die(cfi_compile(bench->sections, &bench->cfi));
	close(fd);
	if (!bench->cfi) {
		printf("%s: no unwind tables\n", path);
		exit(1);
	}
}

static void bench_add_chain(struct bench *bench, const struct cursor *cursor)
{
	size_t n = bench->n_chains;

	if (!(n & (n - 1)))
		bench->chains = realloc(bench->chains, (n ? 2 * n : 1) * sizeof(*bench->chains));
	bench->chains[n] = (struct chain){ .cursor = *cursor };
	bench->chains[n].cursor.regs[REG_RIP] = cursor_pc(cursor);
	bench->chains[n].cursor.interrupted = true; /* unw_init_remote() begins so, too */
	bench->n_chains++;
}

static bool bench_is_plain(const struct bench *bench, const struct cursor *cursor)
{
	return as_cfi_is_plain(orc_find(bench->orc, cursor_pc(cursor)));
}

/* Another chain begins after each frame that is not a call. */
static void bench_split_kernel(struct bench *bench, const struct sample_vcpu *vcpu)
{
	enum unwind_step step = STEP_CALLER;
	struct cursor cursor;

	cursor_init(&cursor, vcpu);
	for (unsigned i = 0; i < 4 && !cursor.user && step == STEP_CALLER; i++) {
		bench_add_chain(bench, &cursor);
		while (bench_is_plain(bench, &cursor) &&
		       (step = orc_step(bench->orc, 0, &cursor)) == STEP_CALLER)
			bench->chains[bench->n_chains - 1].n_plain++;
		if (step == STEP_CALLER)
			step = orc_step(bench->orc, 0, &cursor);
	}
}

static void bench_split(struct bench *bench)
{
	struct cursor cursor;

	for (size_t i = 0; i < bench->recorded.n; i++) {
		if (bench->orc) {
			bench_split_kernel(bench, bench->recorded.vcpus[i]);
			continue;
		}
		cursor_init(&cursor, bench->recorded.vcpus[i]);
		bench_add_chain(bench, &cursor);
	}
}

/* --- the ways --------------------------------------------------------------------------------- */

struct figure {
	/* time by round; frames; the sum of all callers' addresses */
	uint64_t ns[N_ROUNDS], frames, check;
};

static void by_orc(struct bench *bench, struct figure *figure)
{
	for (size_t i = 0; i < bench->n_chains; i++) {
		struct cursor cursor = bench->chains[i].cursor;

		for (unsigned n = bench->chains[i].n_plain; n; n--) {
			orc_step(bench->orc, 0, &cursor);
			figure->frames++;
			figure->check += cursor.regs[REG_RIP];
		}
	}
}

static void by_cfi(struct bench *bench, struct figure *figure)
{
	for (size_t i = 0; i < bench->n_chains; i++) {
		struct cursor cursor = bench->chains[i].cursor;

		while (cfi_step(bench->cfi, 0, &cursor) == STEP_CALLER) {
			figure->frames++;
			figure->check += cursor.regs[REG_RIP];
		}
	}
}

static void by_libunwind(struct bench *bench, struct figure *figure)
{
	for (size_t i = 0; i < bench->n_chains; i++) {
		unw_cursor_t unwound;

		bench->cursor = bench->chains[i].cursor;
		unw_init_remote(&unwound, bench->libunwind, bench);
		while (unw_step(&unwound) > 0) {
			unw_word_t ip;

			unw_get_reg(&unwound, UNW_REG_IP, &ip);
			if (!ip)
				break;
			figure->frames++;
			figure->check += ip;
		}
	}
}

static void by_all(struct bench *bench, struct figure *figure)
{
	static struct unwind_stack stack;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(bench->space) };

	for (size_t i = 0; i < bench->recorded.n; i++) {
		if (bench->recorded.vcpus[i]->user)
			continue;
		unwind_stack(bench->recorded.vcpus[i], &spaces, UNWIND_AUTO, &stack);
		figure->frames += stack.n_frames;
	}
}

/* --- libunwind's questions -------------------------------------------------------------------- */

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
			  void *argument)
{
	const struct bench *bench = argument;
	const struct cfi_section *hdr = &bench->sections->eh_frame_hdr;
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE, .end_ip = UINT64_MAX };

	table.u.rti.segbase = hdr->address;
	table.u.rti.table_data = hdr->address + AS_CFI_HDR_BYTES;
	table.u.rti.table_len = (hdr->size_bytes - AS_CFI_HDR_BYTES) / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need, argument);
}

/* libunwind asks for whole words: the last one may reach beyond the section. */
static bool read_section(const struct cfi_section *section, uint64_t address, unw_word_t *value)
{
	uint64_t offset = address - section->address, left;

	if (offset >= section->size_bytes)
		return false;
	left = section->size_bytes - offset;
	*value = 0;
	memcpy(value, section->bytes + offset, left < sizeof(*value) ? left : sizeof(*value));
	return true;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *argument)
{
	struct bench *bench = argument;

	(void)space;
	(void)write;
	if (cursor_read(&bench->cursor, address, value, 1) ||
	    read_section(&bench->sections->eh_frame, address, value) ||
	    read_section(&bench->sections->eh_frame_hdr, address, value))
		return 0;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *argument)
{
	const struct bench *bench = argument;

	(void)space;
	return write ? -UNW_EBADREG : unw_read_register(&bench->cursor, number, value);
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = unw_none_put_unwind_info,
	.get_dyn_info_list_addr = unw_none_get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = unw_none_access_fpreg,
};

/* --- rounds ----------------------------------------------------------------------------------- */

enum way { BY_ORC, BY_CFI, BY_LIBUNWIND, BY_ALL, N_WAYS };

static const struct {
	const char *name;
	void (*run)(struct bench *bench, struct figure *figure);
} ways[N_WAYS] = {
	[BY_ORC] = { "orc_step()", by_orc },
	[BY_CFI] = { "cfi_step()", by_cfi },
	[BY_LIBUNWIND] = { "unw_step()", by_libunwind },
	[BY_ALL] = { "unwind_stack()", by_all },
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static void bench_round(struct bench *bench, enum way way, unsigned round, struct figure *figure)
{
	uint64_t start;

	figure->frames = figure->check = 0;
	ways[way].run(bench, figure); /* warms the caches, and tells how many frames there are */
	if (!figure->frames)
		return;
	unsigned times = (unsigned)(ROUND_FRAMES / figure->frames) + 1;

	figure->frames = figure->check = 0;
	start = cpu_ns();
	for (unsigned i = 0; i < times; i++)
		ways[way].run(bench, figure);
	figure->ns[round] = cpu_ns() - start;
}

static double median(struct figure *figure)
{
	qsort(figure->ns, N_ROUNDS, sizeof(figure->ns[0]), compare_u64);
	return figure->frames ? (double)figure->ns[N_ROUNDS / 2] / (double)figure->frames : 0;
}

/* False: the ways gave different results. */
static bool bench_ways(struct bench *bench)
{
	static struct figure figures[N_WAYS];
	double libunwind;

	memset(figures, 0, sizeof(figures));
	for (unsigned round = 0; round < N_ROUNDS; round++)
		for (unsigned way = 0; way < N_WAYS; way++)
			if (way != BY_ORC || bench->orc)
				bench_round(bench, way, round, &figures[way]);
	libunwind = median(&figures[BY_LIBUNWIND]);
	for (unsigned way = 0; way < N_WAYS; way++) {
		double ns = way == BY_LIBUNWIND ? libunwind : median(&figures[way]);

		if (figures[way].frames)
			printf("  %-15s %8.1f ns a frame, %5.1f times as fast as libunwind\n",
			       ways[way].name, ns, libunwind / ns);
	}
	return figures[BY_CFI].check == figures[BY_LIBUNWIND].check &&
	       (!bench->orc || figures[BY_ORC].check == figures[BY_LIBUNWIND].check);
}

static void bench_make_space(struct bench *bench)
{
	struct mapping mapping = { .start = UINT64_C(0xffffffff80000000), .end = AS_CFI_ADDRESS };

	must_or_die(image_create("[kernel]", &mapping.image));
	mapping.image->tables.orc = bench->orc;
	mapping.image->tables.cfi = bench->orc ? NULL : bench->cfi;
	must_or_die(space_create(&bench->space));
	must_or_die(space_add(bench->space, &mapping));
	image_unref(mapping.image);
}

static void bench_print(const struct bench *bench, const char *recording, uint64_t frames)
{
	printf("%s: %zu stacks, %zu chains, %" PRIu64 " frames\n", recording, bench->recorded.n,
	       bench->n_chains, frames);
	if (bench->orc)
		printf("  ORC tables: %zu entries, %.2f MiB; as CFI %zu functions\n", bench->orc->n,
		       (double)orc_memory_bytes(bench->orc) / 1048576, bench->made.n_fdes);
	printf("  compiled CFI: %u rows, %.2f MiB\n", bench->cfi->n_rows,
	       (double)cfi_memory_bytes(bench->cfi) / 1048576);
}

static void bench_deinit(struct bench *bench)
{
	unw_destroy_addr_space(bench->libunwind);
	space_destroy(bench->space);
	if (bench->orc)
		cfi_destroy(bench->cfi); /* if there is no ORC, the space's image owns it */
	elf_frames_deinit(&bench->frames);
	elf_file_deinit(&bench->file);
	free(bench->made.bytes);
	free(bench->chains);
	recorded_deinit(&bench->recorded);
}

static bool bench_recording(const char *recording, const char *elf)
{
	static struct bench bench;
	struct figure once = { 0 };
	bool same;

	memset(&bench, 0, sizeof(bench));
	if (!recorded_read(&bench.recorded, recording))
		return false;
	bench_read_elf(&bench, elf);
	bench_split(&bench);
	bench_make_space(&bench);
	bench.libunwind = unw_create_addr_space(&accessors, 0);
	unw_set_caching_policy(bench.libunwind, UNW_CACHE_GLOBAL);
	by_cfi(&bench, &once);
	bench_print(&bench, recording, once.frames);
	same = bench_ways(&bench);
	if (!same)
		printf("  the ways differ\n");
	bench_deinit(&bench);
	return same;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	char recording[4096], elf[4096];
	bool ok = true;

	snprintf(recording, sizeof(recording), "%s" TINY ".rec", srcdir ? srcdir : ".");
	snprintf(elf, sizeof(elf), "%s" TINY ".elf", srcdir ? srcdir : ".");
	if (argc < 3)
		return !bench_recording(recording, elf);
	for (int i = 1; i + 1 < argc; i += 2)
		ok &= bench_recording(argv[i], argv[i + 1]);
	return !ok;
}
