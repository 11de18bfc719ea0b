/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files of a kernel and its modules (--lines). The release, names of modules and build-ids
 * come from the guest, files below --root may be the guest's, and servers answer as they like. The
 * files are made once; the input tells the rest: the release, what the servers answer, and what
 * happens to images.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "linux/kernel_debug_files.h"
#include "tests/fuzz/host.h"
#include "tests/fuzz/servers.h"
#include "tests/support/program.h"
#include "xtop/supervise/line_client.h"

#define RELEASE    "6.1.0"
#define MODULES    "/lib/modules/" RELEASE
#define DEEP       "/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d"
#define DEBUG      "/root/debug"
#define BELOW_ROOT "/root/usr/lib/debug"
#define MAX_IMAGES 6
#define MAX_EVENTS 24

/* A file of dom0 and each byte of its build-id. */
static const struct host_file {
	const char *path;
	uint8_t id;
} files[] = {
	{ DEBUG "/boot/vmlinux-" RELEASE, 1 },
	{ BELOW_ROOT MODULES "/vmlinux", 2 },
	{ DEBUG MODULES "/kernel/snd-pcm.ko", 3 },
	{ DEBUG "/usr" MODULES "/ext4.ko.debug", 4 },
	{ BELOW_ROOT MODULES "/kernel/net/below.ko", 5 },
	{ DEBUG "/lib/modules/6.3.0" DEEP "/deep.ko", 6 },
	{ DEBUG MODULES "/folder.ko/x", 6 },
	{ DEBUG MODULES "/.hidden.ko", 6 },
	{ DEBUG MODULES "/no_module.kox", 6 },
	{ DEBUG "/.build-id/07/07070707070707.debug", 7 },
	{ BELOW_ROOT "/.dwz/common.debug", 8 },
	{ "/outside/outside.ko", 9 },
};
#define N_FILES (sizeof(files) / sizeof(files[0]))

/* Links that stay below the folder, or do not, or lead nowhere. */
static const char *const links[][2] = {
	{ DEBUG MODULES "/outside.ko", "../../../../../outside/outside.ko" },
	{ DEBUG MODULES "/outside", "../../../../../outside" },
	{ DEBUG "/lib/modules/6.2.0", "../../../../outside" },
	{ DEBUG "/boot/vmlinux-6.2.0", "/boot/vmlinux-" RELEASE },
	{ DEBUG MODULES "/loop.ko", "loop.ko" },
};

static const char *const names[] = { "[snd_pcm]", "[ext4]",      "[below]", "[deep]",
				     "[folder]",  "[no_module]", "[loop]",  "[outside]" };

static struct {
	struct os_guest guest;
	struct os_folders folders;
	struct symbols *symbols;
	ino_t outside;
} world;

/* --- functions of the library that are replaced ----------------------------------------------- */

/* A file's number is 2 if its places are counted from symbols. */
uint32_t line_client_add_file(struct line_client *lines, int fd, int alt_fd, const char *name,
			      const char *anchor, uint64_t anchor_address)
{
	struct stat status;

	(void)lines, (void)alt_fd, (void)name, (void)anchor_address;
	fuzz_must(fstat(fd, &status) == 0 && S_ISREG(status.st_mode), "a regular file");
	fuzz_must(status.st_ino != world.outside, "no link leads out of a folder");
	return anchor && !*anchor ? 2 : 1; /* LINE_BY_SYMBOL */
}

uint32_t line_client_add_moved(struct line_client *lines, uint32_t file, const char *anchor,
			       uint64_t anchor_address)
{
	(void)lines, (void)anchor, (void)anchor_address;
	return file;
}

bool line_client_is_by_symbol(struct line_client *lines, uint32_t file)
{
	(void)lines;
	return file == 2;
}

/* --- files of dom0 ---------------------------------------------------------------------------- */

/* Its first section is .debug_info. The second one tells of a file of dwz's. */
static void make_debug_file(struct program *program, uint8_t id)
{
	static const char section_names[] = "\0.debug_info\0.gnu_debugaltlink";
	static const char alt[] = "/usr/lib/debug/.dwz/common.debug\0\x8\x8\x8\x8\x8\x8\x8\x8";
	Elf64_Shdr *sections = (void *)(program->bytes + 0x2800);

	program_make(program, 0, "function", id);
	memcpy(program->bytes + 0x2400, section_names, sizeof(section_names));
	memcpy(program->bytes + 0x2600, alt, sizeof(alt) - 1);
	sections[2] = (Elf64_Shdr){ .sh_name = 13,
				    .sh_type = SHT_PROGBITS,
				    .sh_offset = 0x2600,
				    .sh_size = sizeof(alt) - 1,
				    .sh_addralign = 1 };
}

static int write_file(const struct host_file *file)
{
	struct program program;
	int fd = open(host_path(file->path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	make_debug_file(&program, file->id);
	fuzz_must(write(fd, program.bytes, PROGRAM_BYTES) == PROGRAM_BYTES,
		  "dom0 has room for a file");
	return fd;
}

static void make_given(void)
{
	static const struct build_id id = { .size_bytes = 8,
					    .bytes = { 10, 10, 10, 10, 10, 10, 10, 10 } };
	struct symtab *tab;

	fuzz_succeed(symbols_create(&world.symbols));
	fuzz_succeed(symtab_create(&tab));
	fuzz_succeed(symtab_add(tab, &(struct symbol_definition){ .start = 0x1000,
								  .size_bytes = 0x80,
								  .rank = SYMBOL_GLOBAL,
								  .name = "given",
								  .name_bytes = 5 }));
	fuzz_succeed(symtab_seal(tab));
	fuzz_succeed(symbols_add_table(world.symbols, tab, "vmlinux", &id));
	symbols_image(world.symbols, 0)->lines = 1;
}

static void make_world(void)
{
	struct stat status;

	host_make();
	for (size_t i = 0; i < N_FILES; i++)
		close(write_file(&files[i]));
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		fuzz_must(symlink(links[i][1], host_path(links[i][0])) == 0, "dom0 has links");
	fuzz_must(stat(host_path(files[N_FILES - 1].path), &status) == 0, "a file of dom0's own");
	world.outside = status.st_ino;
	servers.fetched_fd = write_file(&(struct host_file){ "/fetched", 11 });
	make_given();
	world.guest = (struct os_guest){ .symbols = world.symbols,
					 .debug = { .folders = &world.folders,
						    .root_fd = open(host_path("/root"),
								    O_PATH | O_CLOEXEC),
						    .lines = (struct line_client *)&world } };
	world.folders.fds[0] = open(host_path(DEBUG), O_PATH | O_CLOEXEC);
	world.folders.n = 1;
}

/* --- what happens ----------------------------------------------------------------------------- */

struct run {
	struct kernel_debug_files *lines;
	struct image *images[MAX_IMAGES]; /* NULL: none */
};

static void take_build_id(struct fuzz *fuzz, struct build_id *id)
{
	uint8_t byte = fuzz_u8(fuzz);

	if (byte == 0xff) {
		id->size_bytes = fuzz_u8(fuzz) % (BUILD_ID_MAX_BYTES + 1);
		fuzz_take(fuzz, id->bytes, id->size_bytes);
	} else if (byte % 12) {
		id->size_bytes = 8;
		memset(id->bytes, byte % 12, 8);
	}
}

static struct image *make_image(struct fuzz *fuzz)
{
	uint8_t name = fuzz_u8(fuzz);
	char own[32] = { 0 };
	struct image *image;

	if (name & 0x80)
		fuzz_take(fuzz, own, name % sizeof(own));
	fuzz_succeed(image_create(name & 0x80 ? own : names[name % 8], &image));
	take_build_id(fuzz, &image->build_id);
	return image;
}

static void happen(struct run *run, struct fuzz *fuzz)
{
	static const struct kernel_start start = { "_text", 0xffffffff81000000 };
	uint8_t what = fuzz_u8(fuzz);
	struct image **image = &run->images[what / 4 % MAX_IMAGES];

	switch (what % 4) {
	case 0: /* a kernel or a module is met; the one before is gone */
		image_unref(*image);
		*image = make_image(fuzz);
		if (what & 0x80)
			kernel_debug_files_find_kernel(run->lines, *image, &start);
		else
			kernel_debug_files_find_module(run->lines, *image);
		break;
	case 1:
		image_unref(*image);
		*image = NULL;
		break;
	case 2:
		if (*image)
			(*image)->wants_lines = true;
		break;
	default:
		kernel_debug_files_poll(run->lines);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	static const char *const releases[] = { RELEASE, "6.2.0", "6.3.0", "../6.1.0" };
	struct run run = { 0 };
	char release[32] = { 0 };
	uint8_t how = fuzz_u8(&fuzz);

	if (!host_folder[0])
		make_world();
	if (how & 1)
		fuzz_take(&fuzz, release, sizeof(release) - 1);
	else
		strcpy(release, releases[how >> 2 & 3]);
	world.guest.debug.fetch = how & 2 ? SERVERS : NULL;
	servers.answers = fuzz_u32(&fuzz);
	run.lines = kernel_debug_files_create(&world.guest, release);
	for (unsigned i = 0; i < MAX_EVENTS && fuzz.left_bytes; i++)
		happen(&run, &fuzz);
	kernel_debug_files_destroy(run.lines);
	for (unsigned i = 0; i < MAX_IMAGES; i++)
		image_unref(run.images[i]);
	return 0;
}
