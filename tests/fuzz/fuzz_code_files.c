/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of a right Linux guest and their programs' files, over time: the files are read out of
 * the page cache, below --root, from debug files, -k and a server, and read again when bytes were
 * missing. The input says which of these there are, then what happens: a process is sampled, time
 * goes on, pages come and go, bytes of files and structures change. fuzz_files has the layouts of
 * other kernels.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_reader.h"
#include "fuzz.h"
#include "linux/process/processes.h"
#include "tests/fuzz/change.h"
#include "tests/fuzz/host.h"
#include "tests/fuzz/servers.h"
#include "tests/fuzz/user_stack.h"
#include "tests/support/made_linux.h"
#include "tests/support/program.h"
#include "xtop/os/os_ops.h"

#define BASE        0x55d000000000ULL
#define JIT         0x7e0000000000ULL
#define VDSO        0x7fff00001000ULL
#define PAGE        GUEST_PAGE_SIZE
#define MAX_CHANGES 64
#define MAX_EVENTS  40
#define MAX_SAMPLES 40
#define FILE_PAGES  (PROGRAM_BYTES / PAGE)
#define DEEP        "/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d"

enum {
	LARGE_FOLIO = 1,
	ELF32 = 2,
	SCRIPT = 4,
	LINKED = 8,
	WRITABLE = 16,
};

/* A file of the guest; HOST is where the same file is in a folder of dom0, below "root". */
static const struct guest_program {
	const char *path;
	const char *function; /* NULL: stripped */
	unsigned char id;
	const char *host; /* NULL: none */
	unsigned char host_id;
	unsigned is;
} programs[] = {
	{ "/bin/serve", "serve", 1, "/bin/serve", 1, LARGE_FOLIO },
	{ "/bin/other", "other", 2, "/bin/other", 7, 0 },
	{ "/bin/no_id", "no_id", 0, "/bin/no_id", 0, 0 },
	{ "/bin/given", NULL, 3, NULL, 0, 0 },
	{ "/bin/by_id", NULL, 5, "/usr/lib/debug/.build-id/05/05050505050505.debug", 5, 0 },
	{ "/bin/fetched", NULL, 6, NULL, 0, 0 },
	{ "/bin/also_fetched", NULL, 6, NULL, 0, 0 },
	{ "/bin/linked", NULL, 0, "/usr/lib/debug/bin/linked.debug", 0, LINKED },
	{ "/sbin/linked", NULL, 0, "/sbin/.debug/linked.debug", 0, LINKED },
	{ "/relative", "serve", 1, NULL, 0, 0 },
	{ "/absolute/../absolute", "serve", 1, NULL, 0, 0 },
	{ "/loop", "serve", 1, NULL, 0, 0 },
	{ "/pipe", "serve", 1, NULL, 0, 0 },
	{ "/bin", "serve", 1, NULL, 0, 0 },
	{ "/folder/serve", "serve", 1, NULL, 0, 0 },
	{ "/bin/././../../bin/serve", "serve", 1, NULL, 0, 0 },
	{ DEEP DEEP DEEP DEEP "/x", "serve", 1, NULL, 0, 0 },
	{ "/bin/script", NULL, 0, NULL, 0, SCRIPT },
	{ "/bin/old", "old", 4, NULL, 0, ELF32 },
	{ "/dev/memfd", NULL, 0, NULL, 0, SCRIPT | WRITABLE },
};
#define N_FILES (sizeof(programs) / sizeof(programs[0]))

/* One process for each file, one with all of them, and one without a file. */
#define N_MMS (N_FILES + 2)

static struct world {
	struct made_linux *made;
	struct layout layout; /* the layout that was made */
	uint64_t mms[N_MMS], tasks[N_MMS];
	uint64_t inodes[N_FILES], files[N_FILES];
	uint64_t slots[N_FILES];             /* slot of the first page in the page cache */
	uint64_t pages[N_FILES][FILE_PAGES]; /* their bytes */
	frame_t frames[N_FILES][FILE_PAGES];
	struct symbols *symbols;
	struct os_folders folders;
	int root_fd;
} world;

struct changes {
	struct {
		uint64_t address, was;
	} words[MAX_CHANGES];
	unsigned n;
};

/* --- the servers ------------------------------------------------------------------------------ */

static struct fetch_progress servers_progress;

enum fetch_state fetch_find(struct fetch *fetch, const struct build_id *id, int *fdp)
{
	return fetch_ask(fetch, id, fdp);
}

void fetch_get_progress(struct fetch *fetch, struct fetch_progress *progress)
{
	(void)fetch;
	*progress = servers_progress;
}

/* --- files of dom0 ---------------------------------------------------------------------------- */

static void write_host(const char *name, const struct program *program)
{
	FILE *file = fopen(host_path(name), "w");

	fuzz_must(file && fwrite(program->bytes, PROGRAM_BYTES, 1, file) == 1 && !fclose(file),
		  "dom0 has room for a file");
}

static void link_host(const char *name, const char *target)
{
	fuzz_must(symlink(target, host_path(name)) == 0, "dom0 has room for a link");
}

static void make_host(void)
{
	struct program program;

	host_make();
	for (size_t i = 0; i < N_FILES; i++) {
		program_make(&program, 0, "of_dom0", programs[i].host_id);
		if (programs[i].host)
			write_host(programs[i].host, &program);
	}
	link_host("/relative", "bin/../bin/serve");
	link_host("/absolute", "//bin/serve");
	link_host("/loop", "loop");
	link_host("/folder", "./bin");
	fuzz_must(mkfifo(host_path("/pipe"), 0600) == 0, "dom0 has room for a pipe");
	host_path(DEEP DEEP DEEP DEEP DEEP "/x");
	program_make(&program, 0, "of_debug_dir", 5);
	write_host("/debug/.build-id/05/05050505050505.debug", &program);
	world.root_fd = open(host_folder, O_PATH | O_CLOEXEC);
	world.folders.fds[0] = open(host_path("/debug"), O_PATH | O_CLOEXEC);
	world.folders.n = 1;
	program_make(&program, 0, "fetched", 6);
	servers.fetched_fd = memfd_create("fuzz", MFD_CLOEXEC);
	fuzz_must(write(servers.fetched_fd, program.bytes, PROGRAM_BYTES) == PROGRAM_BYTES,
		  "a server has a file");
}

static void make_given(void)
{
	struct build_id id = { .size_bytes = 8, .bytes = { 3, 3, 3, 3, 3, 3, 3, 3 } };
	struct symtab *tab;

	fuzz_succeed(symbols_create(&world.symbols));
	fuzz_succeed(symtab_create(&tab));
	fuzz_succeed(symtab_add(tab, &(struct symbol_definition){ .start = PROGRAM_FUNCTION,
								  .size_bytes = 0x80,
								  .rank = SYMBOL_GLOBAL,
								  .name = "given",
								  .name_bytes = 5 }));
	fuzz_succeed(symtab_seal(tab));
	fuzz_succeed(symbols_add_table(world.symbols, tab, "debug", &id));
}

/* --- the guest -------------------------------------------------------------------------------- */

/* Two sections: .gnu_debuglink, with the name and the checksum of dom0's file, and the names. */
static void add_link(struct program *program)
{
	static const char name[] = "linked.debug", names[] = "\0.gnu_debuglink";
	Elf64_Ehdr *header = (void *)program->bytes;
	Elf64_Shdr *sections = (void *)(program->bytes + 0x2800);
	struct program host;
	uint32_t crc;

	program_make(&host, 0, "of_dom0", 0);
	crc = elf_crc32(host.bytes, PROGRAM_BYTES, 0);
	memcpy(program->bytes + 0x2400, names, sizeof(names));
	memcpy(program->bytes + 0x2600, name, sizeof(name));
	memcpy(program->bytes + 0x2610, &crc, sizeof(crc));
	header->e_shoff = 0x2800;
	header->e_shnum = 3;
	header->e_shstrndx = 2;
	sections[1] = (Elf64_Shdr){ .sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_offset = 0x2600,
				    .sh_size = 0x14,
				    .sh_addralign = 4 };
	sections[2] = (Elf64_Shdr){ .sh_name = 0,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = 0x2400,
				    .sh_size = sizeof(names),
				    .sh_addralign = 1 };
}

static void make_program(const struct guest_program *from, struct program *program)
{
	Elf64_Ehdr *header = (void *)program->bytes;
	Elf64_Sym *symbols = (void *)(program->bytes + 0x2000);
	Elf64_Shdr *sections = (void *)(program->bytes + 0x2800);

	program_make(program, 0, from->function, from->id);
	if (from->is & LINKED)
		add_link(program);
	if (from->is & ELF32) {
		header->e_ident[EI_CLASS] = ELFCLASS32;
		header->e_machine = EM_386;
	}
	if (from->is & SCRIPT)
		memset(program->bytes, '#', 256);
	if (!(from->is & LARGE_FOLIO))
		return;
	sections[3].sh_offset = 0x400; /* names that stand on three pages */
	sections[3].sh_size = 0x2800 - 0x400;
	symbols[1].st_name = 0x2101 - 0x400;
}

/* All of the file is in one folio of four pages. */
static void make_large(size_t i, const struct program *program)
{
	struct made_linux *made = world.made;
	uint64_t node = made_xa_node(made, 0), memory;
	uint64_t folio = made_folio(made, 0, 4, &memory);

	made_put(made->memory, made->guest.root, memory, program->bytes, PROGRAM_BYTES);
	made_xa_slot(made, node, 0, folio);
	for (unsigned page = 1; page < 4; page++)
		made_xa_slot(made, node, page, 0 << 2 | 2);
	made_xa_head(made, world.inodes[i], made_xa_entry(node));
}

static uint64_t read_word(uint64_t address)
{
	uint64_t word = 0;

	fuzz_must(linux_read_u64(&world.made->guest, address, &word), "a word of the guest");
	return word;
}

static void make_file(size_t i)
{
	struct made_linux *made = world.made;
	struct program program;
	uint64_t mapping;

	make_program(&programs[i], &program);
	world.files[i] = made_file(made, programs[i].path, program.bytes, PROGRAM_BYTES);
	world.inodes[i] = made_inode_of(made, world.files[i]);
	if (programs[i].is & LARGE_FOLIO)
		make_large(i, &program);
	memory_refresh(made->guest.memory);
	mapping = read_word(world.inodes[i] + made_offset(made, INODE_MAPPING));
	world.slots[i] = read_word(mapping + made_offset(made, MAPPING_PAGES) +
				   made_offset(made, XARRAY_HEAD)) -
			 2 + made_offset(made, XA_NODE_SLOTS);
	for (unsigned page = 0; page < FILE_PAGES; page++) {
		uint64_t first = programs[i].is & LARGE_FOLIO ? 0 : page;
		uint64_t folio = read_word(world.slots[i] + 8 * first);

		world.pages[i][page] =
			MADE_DIRECT_MAP +
			((folio - MADE_VMEMMAP) / MADE_PAGE_BYTES + page - first) * PAGE;
		world.frames[i][page] =
			made_frame(made->memory, made->guest.root, world.pages[i][page]);
	}
}

/* The address of file I's code, and of its headers one page before. */
static uint64_t code_of(size_t i)
{
	return BASE + i * 16 * PAGE;
}

static size_t add_areas(struct vma *areas, size_t i)
{
	uint64_t start = code_of(i), file = world.files[i];

	areas[0] = (struct vma){ start - PAGE, start, VMA_READ, 0, file };
	areas[1] = (struct vma){ start, start + PAGE, VMA_READ | VMA_EXEC, 1, file };
	if (programs[i].is & WRITABLE)
		areas[1].flags |= VMA_WRITE;
	return 2;
}

/* Process I maps file I; the one after those maps all files; the last one compiles its code. */
static void make_process(size_t i)
{
	static struct vma areas[2 * N_FILES + 2];
	struct made_linux *made = world.made;
	size_t n = 0;

	if (i < N_FILES)
		n = add_areas(areas, i);
	for (size_t j = 0; i == N_FILES && j < N_FILES; j++)
		n += add_areas(areas + n, j);
	if (i > N_FILES || i % 4 == 1)
		areas[n++] = (struct vma){ JIT, JIT + PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	areas[n++] = (struct vma){ VDSO, VDSO + FILE_PAGES * PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	world.mms[i] = made_mm(made, areas, n);
	made_set(made, world.mms[i], MM_VDSO, VDSO);
	world.tasks[i] =
		made_task(made, 50 + (uint32_t)i, 50 + (uint32_t)i, "server", world.mms[i], 0);
}

/* The kernel has its own copy for some processes; others use their pages. */
static void make_vdso(size_t i)
{
	static uint64_t image;
	struct made_linux *made = world.made;
	struct program program;
	uint64_t data;

	program_make(&program, 0, "__vdso_time", 9);
	if (!image) {
		image = made_object(made, 64, 64);
		data = made_object(made, PROGRAM_BYTES, PAGE);
		made_put(made->memory, made->guest.root, data, program.bytes, PROGRAM_BYTES);
		made_set(made, image, VDSO_IMAGE_DATA, data);
		made_set(made, image, VDSO_IMAGE_SIZE, PROGRAM_BYTES);
	}
	if (i % 4 == 0)
		made_put(made->memory, made_mm_root(made, world.mms[i]), VDSO, program.bytes,
			 PROGRAM_BYTES);
	else if (i % 4 == 1)
		made_set(made, world.mms[i], MM_VDSO_IMAGE, image);
}

static void make_world(void)
{
	static const char jit[] = "7e0000000010 20 Interpreter::run\n7e0000000100 80 f();x\n";
	char path[32];

	make_host();
	make_given();
	world.made = made_linux_create(MADE_TREE);
	for (size_t i = 0; i < N_FILES; i++)
		make_file(i);
	for (size_t i = 0; i < N_MMS; i++) {
		make_process(i);
		make_vdso(i);
	}
	snprintf(path, sizeof(path), "/tmp/perf-%zu.map", 50 + N_MMS - 1);
	made_file(world.made, path, jit, sizeof(jit) - 1);
	world.layout = world.made->guest.layout;
}

/* --- what changes ----------------------------------------------------------------------------- */

static void put(struct changes *changes, uint64_t address, uint64_t word)
{
	struct linux_guest *guest = &world.made->guest;
	uint64_t was;

	if (changes->n == MAX_CHANGES || !linux_read_u64(guest, address, &was))
		return;
	changes->words[changes->n].address = address;
	changes->words[changes->n++].was = was;
	made_put_u64(world.made->memory, guest->root, address, word);
	memory_refresh(guest->memory);
}

static void put_back(const struct changes *changes)
{
	for (unsigned i = changes->n; i-- > 0;)
		made_put_u64(world.made->memory, world.made->guest.root, changes->words[i].address,
			     changes->words[i].was);
	world.made->guest.layout = world.layout;
	memory_refresh(world.made->guest.memory);
}

static uint64_t take_object(struct fuzz *fuzz)
{
	return MADE_OBJECTS + (fuzz_u16(fuzz) | (uint64_t)fuzz_u8(fuzz) << 16) * 8 %
				      (world.made->next - MADE_OBJECTS);
}

static void change_object(struct fuzz *fuzz, struct changes *changes)
{
	uint64_t address = take_object(fuzz), was = 0;
	enum change_kind kind = fuzz_change_kind(fuzz);

	linux_read_u64(&world.made->guest, address, &was);
	put(changes, address,
	    kind == CHANGE_ADDRESS ? take_object(fuzz) : fuzz_change(fuzz, kind, was));
}

static void change_bytes(struct fuzz *fuzz, struct changes *changes, size_t i)
{
	static const uint16_t parts[] = { 0, 0x400, 0x2000, 0x2800 };
	uint64_t at = parts[fuzz_u8(fuzz) % 4] + fuzz_u8(fuzz) * 8ULL;
	uint64_t address = world.pages[i][at / PAGE] + at % PAGE;
	enum change_kind kind = fuzz_change_kind(fuzz);

	put(changes, address, fuzz_change(fuzz, kind, read_word(address)));
}

/* The page is evicted, leaves a shadow, or is back. The kernel counts changes of areas. */
static void change_page(struct fuzz *fuzz, struct changes *changes, size_t i)
{
	uint64_t slot = world.slots[i] + 8 * (fuzz_u8(fuzz) % FILE_PAGES);
	uint8_t how = fuzz_u8(fuzz) % 3;

	if (how < 2)
		put(changes, slot, how ? 0x10 << 1 | 1 : 0);
	else
		put(changes, slot, read_word(world.slots[fuzz_u8(fuzz) % N_FILES]));
}

/* The oldest change is undone: what was missing is there. */
static void undo_one(struct changes *changes)
{
	if (!changes->n)
		return;
	changes->n--;
	made_put_u64(world.made->memory, world.made->guest.root, changes->words[changes->n].address,
		     changes->words[changes->n].was);
	memory_refresh(world.made->guest.memory);
}

/* --- what is asked for ------------------------------------------------------------------------ */

struct run {
	struct processes *processes;
	struct image_place *place; /* the place of an image that a space had */
	struct changes changes;
	uint64_t now_ns;
	unsigned n_samples;
};

static void sample(struct run *run, size_t i, size_t other)
{
	struct task task = { .address = world.tasks[i],
			     .mm = world.mms[i],
			     .tgid = 50 + (uint32_t)i };
	const uint64_t places[] = { code_of(i < N_FILES ? i : other % N_FILES) + 0x100,
				    VDSO + PROGRAM_FUNCTION, JIT + 0x14 };
	const struct space *space = NULL;

	if (run->n_samples++ < MAX_SAMPLES) /* they take longer than all else */
		space = processes_find_space(run->processes, &task, run->now_ns);
	if (space && other % 4 == 1) /* it takes as long as all else together */
		fuzz_walk_user_stack(space, places[0] + 1, places[0] + 8);
	for (unsigned j = 0; space && j < sizeof(places) / sizeof(places[0]); j++) {
		const struct mapping *mapping = NULL;
		struct symtab_entry entry;

		space_find_symbol(space, places[j], &entry, &mapping);
		if (j || !mapping || !mapping->image)
			continue;
		((struct image *)mapping->image)->wants_names = true;
		image_place_unref(run->place);
		run->place = image_place_ref(mapping->image);
	}
}

static void ask_past(struct run *run, size_t i)
{
	struct memory_root root;

	if (!processes_get_root(run->processes, world.mms[i], &root))
		return;
	fuzz_must(processes_has_root(run->processes, root), "the page tables are known");
	processes_find_past(run->processes, root, 50 + (uint32_t)i);
	root.cr3 += 16 * PAGE;
	processes_has_root(run->processes, root);
}

static void report(struct run *run)
{
	const char *note = NULL;

	for (unsigned i = 0; i < 16 && (note = processes_next_note(run->processes, note)); i++)
		fuzz_must(strnlen(note, 96) < 96, "a note ends");
}

static void happen(struct run *run, struct fuzz *fuzz)
{
	static const uint64_t later_ns[] = { 1, PROCESSES_FRESH_NS, CODE_FILE_RETRY_NS,
					     PROCESSES_IDLE_NS + 1 };
	uint8_t what = fuzz_u8(fuzz);
	size_t i = fuzz_u8(fuzz);

	switch (what % 11) {
	case 0:
		sample(run, i % N_MMS, i / N_MMS);
		break;
	case 1: /* one after the other */
		for (size_t j = 0; j < i % (N_MMS + 1); j++)
			sample(run, j, 0);
		break;
	case 2:
		run->now_ns += later_ns[i % 4];
		break;
	case 3:
		processes_poll(run->processes, run->now_ns);
		break;
	case 4:
		change_page(fuzz, &run->changes, i % N_FILES);
		break;
	case 5:
		change_bytes(fuzz, &run->changes, i % N_FILES);
		break;
	case 6:
		change_object(fuzz, &run->changes);
		break;
	case 7:
		undo_one(&run->changes);
		break;
	case 8: /* the process maps something, or its mm_struct is another's */
		put(&run->changes,
		    world.mms[i % N_MMS] +
			    layout_offset(&world.layout, i & 128 ? MM_START_STACK : MM_LOCK_SEQ),
		    fuzz_u8(fuzz));
		break;
	case 9:
		processes_find_by_frame(run->processes, code_of(i % N_FILES),
					world.frames[i % N_FILES][fuzz_u8(fuzz) % FILE_PAGES],
					memory_now_ns(world.made->guest.memory));
		break;
	default:
		ask_past(run, i % N_MMS);
		report(run);
	}
	if (run->place)
		image_place_get(&run->place);
}

static struct processes_settings take_settings(struct fuzz *fuzz)
{
	static const size_t budgets[] = { 0, 1, 3000, 30000 };
	uint8_t has = fuzz_u8(fuzz), member = fuzz_u8(fuzz);
	bool fetches = has & 8;

	servers.answers = fetches ? fuzz_u32(fuzz) : 0;
	servers_progress =
		(struct fetch_progress){ .n_waiting = has >> 3 & 1, .total_bytes = has >> 4 & 1 };
	if (!fetches && has & 16)
		strcpy(servers_progress.message, "no server");
	if (member) /* the kernel has no such member */
		world.made->guest.layout.values[member % LAYOUT_MEMBERS] = -1;
	return (struct processes_settings){ .debug = { .folders = has & 2 ? &world.folders : NULL,
						       .root_fd = has & 1 ? world.root_fd : -1,
						       .fetch = fetches ? SERVERS : NULL },
					    .symbols = has & 4 ? world.symbols : NULL,
					    .walk_bytes = has >> 5 & 1,
					    .budget_bytes = budgets[has >> 6] };
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	static struct run run;
	struct processes_settings settings;

	if (!world.made)
		make_world();
	run = (struct run){ .now_ns = CODE_FILE_RETRY_NS };
	settings = take_settings(&fuzz);
	fuzz_succeed(processes_create(&world.made->guest, &settings, &run.processes));
	for (unsigned i = 0; i < MAX_EVENTS && fuzz.left_bytes; i++)
		happen(&run, &fuzz);
	processes_destroy(run.processes);
	image_place_unref(run.place);
	put_back(&run.changes);
	return 0;
}
