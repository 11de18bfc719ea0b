/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of images: files told apart by content, modules split off, overlaps, where code ends. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>

#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

static char folder[] = "/tmp/xtop-test-symbols-XXXXXX";

static struct symbols *make_symbols(void)
{
	struct symbols *symbols = NULL;

	if (symbols_create(&symbols))
		exit(99);
	return symbols;
}

/* What is at ADDRESS, as "module name start", or "(none)". */
static const char *at(const struct symbols *symbols, uint64_t address)
{
	const struct mapping *mapping;
	struct symtab_entry entry;
	static char text[512];

	if (!space_find_symbol(symbols_space(symbols), address, &entry, &mapping))
		return "(none)";
	snprintf(text, sizeof(text), "%s %s %" PRIx64, mapping->image->name, entry.name,
		 entry.start);
	return text;
}

static void check_at(const struct symbols *symbols, uint64_t address, const char *wanted)
{
	const char *got = at(symbols, address);

	check(strcmp(got, wanted) == 0, "%#" PRIx64 " is \"%s\" (expected \"%s\")", address, got,
	      wanted);
}

static void add_table(struct symbols *symbols, const char *module, const char *name, uint64_t start,
		      uint64_t size, uint64_t other_start)
{
	struct symtab *tab = NULL;
	struct xtop_error *error = symtab_create(&tab);

	if (!error && size)
		error = symtab_add(tab, &(struct symbol_definition){ .start = start,
								     .size_bytes = size,
								     .rank = SYMBOL_GLOBAL,
								     .name = name,
								     .name_bytes = strlen(name) });
	if (!error && other_start)
		error = symtab_add(tab, &(struct symbol_definition){ .start = other_start,
								     .size_bytes = size,
								     .rank = SYMBOL_GLOBAL,
								     .name = name,
								     .name_bytes = strlen(name) });
	if (!error)
		error = symtab_seal(tab);
	if (!error)
		error = symbols_add_table(symbols, tab, module, NULL);
	if (error)
		check(false, "a table is added: %s", error_message(error));
}

static void test_none(void)
{
	struct symbols *symbols = make_symbols();

	check_at(symbols, 0x1000, "(none)");
	add_table(symbols, "empty", "", 0, 0, 0);
	check_at(symbols, 0x1000, "(none)");
	check_u64(symbols_count(symbols), 1, "an empty table is an image");
	symbols_destroy(symbols);
}

static void test_disjoint(void)
{
	struct symbols *symbols = make_symbols();

	add_table(symbols, "high", "h", 0xffffffffc0000000, 0x10, 0xffffffffc0000100);
	add_table(symbols, "low", "l", 0x1000, 0x10, 0);
	add_table(symbols, "middle", "m", 0x2000, 0x10, 0);
	check_u64(symbols_count(symbols), 3, "images of three tables");
	check_string(symbols_module(symbols, 1), "low", "module of the second table");
	check_u64(symtab_count(symbols_table(symbols, 0)), 2, "symbols of the first table");
	check_u64(symbols_build_id(symbols, 0)->size_bytes, 0,
		  "bytes of the build-id of a table without one");
	check_at(symbols, 0xfff, "(none)");
	check_at(symbols, 0x100f, "low l 1000");
	check_at(symbols, 0x1010, "(none)");
	check_at(symbols, 0x2000, "middle m 2000");
	check_at(symbols, 0xffffffffc0000005, "high h ffffffffc0000000");
	check_at(symbols, 0xffffffffc0000020, "(none)");
	check_at(symbols, UINT64_MAX, "(none)");
	check(space_may_be_code(symbols_space(symbols), 0x100f) &&
		      !space_may_be_code(symbols_space(symbols), 0x1010),
	      "code ends with its image");
	check(space_may_be_code(symbols_space(symbols), 0xffffffffc0000020),
	      "a gap in an image may be code");
	check(!space_may_be_code(symbols_space(symbols), 0xffffffffc0000110),
	      "no code after the last image");
	symbols_destroy(symbols);
}

/*
 *   first   |-------------------------------|
 *   second            |-------|                  later: hides first where it has a name
 *   third   |=|                           |=|    latest, with a gap: first and second show through
 */
static void test_overlap(void)
{
	struct symbols *symbols = make_symbols();

	add_table(symbols, "first", "a", 0x1000, 0x1000, 0);
	add_table(symbols, "second", "b", 0x1400, 0x100, 0);
	add_table(symbols, "third", "c", 0x1000, 0x10, 0x1ff0);
	check_at(symbols, 0x1000, "third c 1000");
	check_at(symbols, 0x1010, "first a 1000");
	check_at(symbols, 0x13ff, "first a 1000");
	check_at(symbols, 0x1400, "second b 1400");
	check_at(symbols, 0x14ff, "second b 1400");
	check_at(symbols, 0x1500, "first a 1000");
	check_at(symbols, 0x1ff0, "third c 1ff0");
	check_at(symbols, 0x2000, "(none)");
	symbols_destroy(symbols);

	/* An older image that reaches out on both sides, and one that crosses. */
	symbols = make_symbols();
	add_table(symbols, "crossing", "x", 0x0800, 0x1000, 0);
	add_table(symbols, "new", "n", 0x1000, 0x1000, 0);
	check_at(symbols, 0xfff, "crossing x 800");
	check_at(symbols, 0x1000, "new n 1000");
	check_at(symbols, 0x1fff, "new n 1000");
	check_at(symbols, 0x2000, "(none)");
	symbols_destroy(symbols);
}

/* Random images against the definition: the latest image that has a name for an address counts. */
static void test_random(void)
{
	uint32_t state = 1;
	unsigned wrong = 0;

	for (int round = 0; round < 300; round++) {
		struct symbols *symbols = make_symbols();
		uint64_t starts[12], sizes[12];

		for (int i = 0; i < 12; i++) {
			char name[16];

			state = state * 1664525 + 1013904223;
			starts[i] = 1 + (state >> 8) % 60;
			sizes[i] = 1 + (state >> 20) % 20;
			snprintf(name, sizeof(name), "f%d", i);
			add_table(symbols, "m", name, starts[i], sizes[i], 0);
		}
		for (uint64_t address = 0; address < 90; address++) {
			char wanted[32] = "(none)";

			for (int i = 0; i < 12; i++)
				if (address - starts[i] < sizes[i])
					snprintf(wanted, sizeof(wanted), "m f%d %" PRIx64, i,
						 starts[i]);
			wrong += strcmp(at(symbols, address), wanted) != 0;
		}
		symbols_destroy(symbols);
	}
	check_u64(wrong, 0, "wrong answers of random images");
}

static void test_limit(void)
{
	struct symbols *symbols = make_symbols();
	struct xtop_error *error = NULL;
	unsigned n = 0;

	for (; !error && n <= SYMBOLS_MAX_IMAGES; n++) {
		struct symtab *tab = NULL;

		if (symtab_create(&tab) ||
		    symtab_add(tab, &(struct symbol_definition){ .start = 16 * n,
								 .size_bytes = 8,
								 .rank = SYMBOL_LOCAL,
								 .name = "f",
								 .name_bytes = 1 }) ||
		    symtab_seal(tab))
			exit(99);
		error = symbols_add_table(symbols, tab, "m", NULL);
	}
	check_u64(n, SYMBOLS_MAX_IMAGES + 1, "images until the limit refuses one");
	check_string(error ? error_message(error) : NULL,
		     "more than 4096 files and modules with symbols",
		     "error for one image too many");
	error_destroy(error);
	symbols_destroy(symbols);
}

/* --- files ------------------------------------------------------------------------------------ */

static const char *write_file(const char *name, const void *bytes, size_t size)
{
	static char path[128];
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size)
		exit(99);
	return path;
}

static bool add_file(struct symbols *symbols, const char *path)
{
	struct xtop_error *error = symbols_add_file(symbols, &(struct host_files){ 0 }, path);

	check(!error, "%s is read: %s", path, error ? error_message(error) : "");
	error_destroy(error);
	return !error;
}

static void check_refused(const char *path, const char *wanted)
{
	struct symbols *symbols = make_symbols();
	struct xtop_error *error = symbols_add_file(symbols, &(struct host_files){ 0 }, path);
	const char *got = error ? error_message(error) : "(no error)";

	check(error && strncmp(got, path, strlen(path)) == 0 && strstr(got, wanted),
	      "\"%s\" (expected \"%s: ...%s\")", got, path, wanted);
	check_u64(symbols_count(symbols), 0, "images after a refused file");
	error_destroy(error);
	symbols_destroy(symbols);
}

static size_t make_elf(unsigned char *bytes, size_t capacity)
{
	static const char names[] = "\0boot_main";
	const Elf64_Sym symbol = { 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x100000, 0x20 };
	struct elf_image image;

	elf_image_init(&image);
	elf_image_text(&image, 0x100000, 0x1000);
	elf_image_symbols(&image, SHT_SYMTAB, &symbol, 1, names, sizeof(names));
	return elf_image_bytes(&image, bytes, capacity);
}

static const char kernel_text[] = "ffffffff81000000 T _stext\n"
				  "ffffffff81000100 T schedule\n"
				  "ffffffff81000200 T _etext\n"
				  "ffffffff83000000 T start_kernel\n"
				  "ffffffff83000100 T x86_64_start_kernel\n"
				  "ffffffff83000200 D x\n";
static const char modules_text[] = "ffffffffc0100000 t nft_f\t[nf_tables]\n"
				   "ffffffffc0100040 t nft_g\t[nf_tables]\n"
				   "ffffffffc0101000 d nft_data\t[nf_tables]\n"
				   "ffffffffc0000000 t xfs_f\t[xfs]\n"
				   "ffffffffc0000800 d xfs_data\t[xfs]\n"
				   "ffffffffc0000f00 t bpf_prog_1\t[bpf]\n"
				   "ffffffffc0200000 t bpf_prog_2\t[bpf]\n";

static void test_files(void)
{
	unsigned char bytes[16384];
	size_t size = make_elf(bytes, sizeof(bytes));
	struct symbols *symbols = make_symbols();

	add_file(symbols, write_file("tiny.elf", bytes, size));
	add_file(symbols, write_file("System.map", kernel_text, strlen(kernel_text)));
	add_file(symbols,
		 write_file("app.map", "0000000000400000 T main\n0000000000400020 D x\n", 46));
	check_at(symbols, 0x10001f, "tiny.elf boot_main 100000");
	check_at(symbols, 0xffffffff81000123, "[kernel] schedule ffffffff81000100");
	check_at(symbols, 0xffffffff81000200, "(none)");
	check_at(symbols, 0x400001, "app.map main 400000");
	symbols_destroy(symbols);
}

static void test_modules(void)
{
	struct symbols *symbols = make_symbols();
	char text[2048];

	snprintf(text, sizeof(text), "%s%s", kernel_text, modules_text);
	add_file(symbols, write_file("kallsyms", text, strlen(text)));
	check_u64(symbols_count(symbols), 4, "images of a kallsyms with kernel and three modules");
	check_string(symbols_module(symbols, 0), "[kernel]", "module of the first image");
	check_at(symbols, 0xffffffff81000123, "[kernel] schedule ffffffff81000100");
	check_at(symbols, 0xffffffffc0100041, "[nf_tables] nft_g ffffffffc0100040");
	check_at(symbols, 0xffffffffc0100fff, "[nf_tables] nft_g ffffffffc0100040");
	check_at(symbols, 0xffffffffc0101000, "(none)");
	check_at(symbols, 0xffffffffc00007ff, "[xfs] xfs_f ffffffffc0000000");
	check_at(symbols, 0xffffffffc0000800, "(none)");
	/* two BPF programs lie around a module; the first one ends where the module starts */
	check_at(symbols, 0xffffffffc0000f10, "[bpf] bpf_prog_1 ffffffffc0000f00");
	check_at(symbols, 0xffffffffc00fffff, "[bpf] bpf_prog_1 ffffffffc0000f00");
	check_at(symbols, 0xffffffffc0100000, "[nf_tables] nft_f ffffffffc0100000");
	check_at(symbols, 0xffffffffc0200000, "[bpf] bpf_prog_2 ffffffffc0200000");
	symbols_destroy(symbols);

	symbols = make_symbols();
	add_file(symbols, write_file("modules.txt", modules_text, strlen(modules_text)));
	check_u64(symbols_count(symbols), 3, "images of a kallsyms with modules alone");
	check_at(symbols, 0xffffffffc0100000, "[nf_tables] nft_f ffffffffc0100000");
	symbols_destroy(symbols);
}

struct pipe_writer {
	const char *path;
	const void *bytes;
	size_t size;
};

static void *write_pipe(void *opaque)
{
	struct pipe_writer *writer = opaque;
	FILE *file = fopen(writer->path, "w");

	if (file) {
		fwrite(writer->bytes, 1, writer->size, file);
		fclose(file);
	}
	return NULL;
}

/* Adds BYTES from a pipe, as -k <(nm vmlinux) does, or an ELF file that is unpacked on the way. */
static void check_pipe(const void *bytes, size_t size, uint64_t address, const char *wanted)
{
	char path[128];
	struct pipe_writer writer = { path, bytes, size };
	struct symbols *symbols = make_symbols();
	pthread_t thread;

	snprintf(path, sizeof(path), "%s/pipe", folder);
	if (mkfifo(path, 0600) || pthread_create(&thread, NULL, write_pipe, &writer))
		exit(99);
	if (add_file(symbols, path))
		check_at(symbols, address, wanted);
	pthread_join(thread, NULL);
	unlink(path);
	symbols_destroy(symbols);
}

static void test_pipes(void)
{
	unsigned char bytes[16384];
	size_t size = make_elf(bytes, sizeof(bytes));

	check_pipe(bytes, size, 0x100000, "[symbols] boot_main 100000");
	check_pipe("0000000000400000 T main\n0000000000400020 D x\n", 45, 0x400001,
		   "[symbols] main 400000");
	check_pipe(kernel_text, strlen(kernel_text), 0xffffffff81000123,
		   "[kernel] schedule ffffffff81000100");
}

static void test_refused(void)
{
	unsigned char bytes[16384];
	size_t size = make_elf(bytes, sizeof(bytes));

	check_refused("/nonexistent/vmlinux",
		      "cannot be opened: No such file or directory");
	check_refused("/tmp", "a directory, not a symbol file");
	check_refused("/dev/zero", "a device or socket, not a symbol file");
	check_refused(write_file("empty", "", 0), "it is empty");
	check_refused(write_file("readme", "This is no symbol file.\n", 24),
		      "neither ELF nor symbol text");
	check_refused(write_file("only-end", "0000000000001000 T _etext\n", 26),
		      "no functions in it");
	bytes[EI_CLASS] = ELFCLASS32;
	bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_MIPS;
	check_refused(write_file("mips.elf", bytes, size), "a 32-bit ELF file");
	check_refused(write_file("cut.elf", bytes, 8), "ELF");
}

/* The address of main() in the first image of SYMBOLS. */
static uint64_t main_address(const struct symbols *symbols)
{
	const struct symtab *tab = symbols_table(symbols, 0);

	for (size_t i = 0; i < symtab_count(tab); i++)
		if (strcmp(symtab_at(tab, i).name, "main") == 0)
			return symtab_at(tab, i).start;
	return 0;
}

/*
 * A vCPU of this machine at ADDRESS, a function's first instruction: CALLER is all that is on the
 * stack, or is in the link register.
 */
static const struct sample_vcpu *make_vcpu(uint64_t address, uint64_t caller)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack piece;
		uint64_t words[4];
	} made;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1 };
#ifdef __aarch64__
	made.vcpu.regs.arch = ARCH_ARM64;
	made.vcpu.regs.arm64 = (struct registers_arm64){
		.pc = address,
		.x[REGISTER_ARM64_LR] = caller,
		.pstate = 1 << 2 | PSTATE_ARM64_SP_ELX,
		.sp_el1 = 0x7ff000,
	};
#else
	made.vcpu.regs.rip = address;
	made.vcpu.regs.rsp = 0x7ff000;
#endif
	made.piece = (struct sample_stack){ .address = 0x7ff000, .size_bytes = sizeof(made.words) };
	made.words[0] = caller;
	return &made.vcpu;
}

/*
 * The unwind tables of an ELF file, here this program's own, are read when the first frame in it is
 * unwound by tables. Unwinding by frame pointers does not read them.
 */
static void test_tables(void)
{
	struct symbols *symbols = make_symbols();
	struct xtop_error *error =
		symbols_add_file(symbols, &(struct host_files){ 0 }, "/proc/self/exe");
	struct unwind_spaces spaces = {
		.kernel = space_for_unwind(symbols_space(symbols))
	};
	static struct unwind_stack stack;
	const struct sample_vcpu *vcpu;
	const struct image *image;
	uint64_t address;

	if (error) {
		check(false, "this program is added: %s", error_message(error));
		error_destroy(error);
		symbols_destroy(symbols);
		return;
	}
	image = symbols_image(symbols, 0);
	address = main_address(symbols);
	vcpu = make_vcpu(address, address + 1);
	check(space_find(symbols_space(symbols), address)->image == image,
	      "a program lies where it was linked to lie");
	check(image->tables_fd >= 0 && !image->tables.cfi,
	      "unwind tables are not built before they are needed");
	unwind_stack(vcpu, &spaces, UNWIND_FP, &stack);
	check(image->tables_fd >= 0 && !image->tables.cfi,
	      "unwind tables are not built for frame pointers");
	unwind_stack(vcpu, &spaces, UNWIND_DWARF, &stack);
	check(image->tables_fd < 0 && image->tables.cfi,
	      "unwind tables are built for the first frame that needs them");
	check(stack.n_frames >= 2 && stack.frames[1].address == address + 1,
	      "a frame is unwound by the tables that were built: %u frames", stack.n_frames);
	symbols_destroy(symbols);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		exit(99);
	test_none();
	test_tables();
	test_disjoint();
	test_overlap();
	test_random();
	test_limit();
	test_files();
	test_modules();
	test_pipes();
	test_refused();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	check(system(command) == 0, "the test's folder is removed");
	return tap_done();
}
