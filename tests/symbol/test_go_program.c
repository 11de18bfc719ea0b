/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that Go's compiler builds here: the stripped file, also without section headers and
 * position-independent, gives the functions that `go tool nm` tells of the whole one. At every byte
 * of code the unwind rows agree with the .debug_frame of the whole one. The same for a program of
 * arm64, which Go builds everywhere. Needs Go.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_frames.h"
#include "symbol/elf_go.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/cfi_table.h"
#include "unwind/cursor_arm64.h"
#include "unwind/go.h"
#include "xtop/symbol/image.h"

static const char source[] = "import (\"fmt\"; \"hash/fnv\"; \"os\"; \"time\")\n"
			     "type worker[T any] struct { n T }\n"
			     "//go:noinline\n"
			     "func (w *worker[T]) loop(k int) uint64 {\n"
			     "	h := fnv.New64a()\n"
			     "	for i := 0; i < k; i++ { fmt.Fprint(h, i, w.n, time.Now()) }\n"
			     "	return h.Sum64()\n"
			     "}\n"
			     "func main() {\n"
			     "	w := &worker[uint64]{7}\n"
			     "	go func() { w.n = w.loop(len(os.Args)) }()\n"
			     "	fmt.Println(w.loop(1000))\n"
			     "}\n";

static char folder[] = "/tmp/test_go_program.XXXXXX";

static int run(const char *format, ...)
{
	char command[1024], line[1200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "cd %s && export HOME=%s GO111MODULE=off GOFLAGS= CGO_ENABLED=0 "
		 "PATH=\"$PATH:/usr/lib/go-1.19/bin\" && %s", folder, folder, command);
	return system(line);
}

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_source(const char *name, const char *head, const char *tail)
{
	FILE *file = fopen(path_of(name), "w");

	fprintf(file, "package main\n%s%s%s", head, source, tail);
	fclose(file);
}

static bool build(void)
{
	write_source("main.go", "", "");
	write_source("linked.go", "// static int twice(int x) { return 2 * x; }\nimport \"C\"\n",
		     "var four = C.twice(2)\n");
	return run("go build -o whole main.go") == 0 &&
	       run("go build -ldflags='-s -w' -o stripped main.go") == 0 &&
	       run("go build -ldflags='-s -w' -buildmode=pie -o pie main.go") == 0 &&
	       run("go tool nm -n whole >whole.nm") == 0 && run("go build -buildmode=pie -o whole-pie "
		   "main.go && go tool nm -n whole-pie >pie.nm") == 0;
}

static bool build_arm64(void)
{
	return run("export GOARCH=arm64 && go build -o whole-arm64 main.go && "
		   "go tool nm -n whole-arm64 >arm64.nm && "
		   "go build -ldflags='-s -w' -o stripped-arm64 main.go") == 0;
}

/* --- images ----------------------------------------------------------------------------------- */

static struct image *read_host(const char *name)
{
	struct image *image;
	struct loads loads = { 0 };
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);

	must(image_create(name, &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

struct copy {
	uint8_t *bytes;
	size_t n, read_bytes;
};

static size_t read_copy(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct copy *copy = context;

	if (offset > copy->n)
		return 0;
	if (size_bytes > copy->n - offset)
		size_bytes = copy->n - offset;
	memcpy(buffer, copy->bytes + offset, size_bytes);
	copy->read_bytes += size_bytes;
	return size_bytes;
}

static void copy_file(const char *name, bool sections, struct copy *copy)
{
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
	struct stat stat;

	fstat(fd, &stat);
	copy->bytes = malloc(stat.st_size);
	copy->n = read(fd, copy->bytes, stat.st_size);
	close(fd);
	if (sections)
		return;
	((Elf64_Ehdr *)copy->bytes)->e_shoff = 0;
	((Elf64_Ehdr *)copy->bytes)->e_shnum = 0;
}

/* Reads NAME as a guest's file whose section headers are not in memory. */
static struct image *read_without_sections(const char *name)
{
	struct copy copy = { 0 };
	struct bytes bytes = { .read = read_copy, .context = &copy };
	struct image *image;

	copy_file(name, false, &copy);
	bytes.size_bytes = copy.n;
	must(image_create(name, &image));
	must(image_read_elf(image, &bytes));
	free(copy.bytes);
	return image;
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * nm names a function of assembly with the calling convention after it. The table has "..." for
 * what stands in brackets (Go src/cmd/link/internal/ld/pcln.go, nameOff()).
 */
static const char *short_name(const char *name)
{
	static char result[4096];
	const char *open = strchr(name, '['), *close = strrchr(name, ']');
	char *end;

	if (open && close > open)
		snprintf(result, sizeof(result), "%.*s[...%s", (int)(open - name), name, close);
	else
		snprintf(result, sizeof(result), "%s", name);
	end = strstr(result, ".abi0");
	if (end)
		*end = '\0';
	return result;
}

/*
 * How many functions of nm's list LIST have another name in IMAGE, or none. *N becomes how many
 * were compared. GO_ONLY: leaves out functions of C, whose names have no dot.
 */
static unsigned different_names(const struct image *image, const char *list, bool go_only,
				unsigned *n)
{
	FILE *file = fopen(path_of(list), "r");
	unsigned different = 0;
	char line[4096], wanted[4096];

	*n = 0;
	while (fgets(line, sizeof(line), file)) {
		struct symtab_entry entry = { 0 };
		unsigned long address;
		char type, name[3000];

		if (sscanf(line, "%lx %c %2999[^\n]", &address, &type, name) != 3 ||
		    (type != 'T' && type != 't') || strncmp(name, "runtime.text", 12) == 0 ||
		    strncmp(name, "runtime.etext", 13) == 0)
			continue;
		if (go_only && (!strchr(name, '.') || name[0] == '_' || strstr(name, "_cgo_") ||
				strstr(name, ".cold")))
			continue;
		++*n;
		snprintf(wanted, sizeof(wanted), "%s", short_name(name));
		if (symtab_find(image->symtab, address, &entry) && entry.start == address &&
		    strcmp(short_name(entry.name), wanted) == 0)
			continue;
		if (++different <= 5)
			printf("# %lx: %s, not %s\n", address, entry.name ? entry.name : "none",
			       name);
	}
	fclose(file);
	return different;
}

static void check_names(struct image *image, const char *what, const char *list, bool go_only)
{
	unsigned n = 0, different;

	if (!check(image->symtab && image->tables.go, "%s: has functions and rows", what))
		return;
	different = different_names(image, list, go_only, &n);
	check(n > 1000 && !different, "%s: %u of %u names differ from go tool nm", what, different,
	      n);
	image_unref(image);
}

static void test_names(struct image *image, const char *what, const char *list)
{
	check_names(image, what, list, false);
}

/* --- linked by a C linker --------------------------------------------------------------------- */

/* Sets the address of the code in PROGRAM's table to 0, as Go 1.26 and later leave it. */
static void forget_text(const char *program)
{
	static const uint8_t head[] = { 0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8 };
	static const uint8_t zeros[8];
	int fd = open(path_of(program), O_RDWR | O_CLOEXEC);
	uint8_t bytes[8];
	off_t at = 0;

	while (pread(fd, bytes, sizeof(bytes), at) == sizeof(bytes) &&
	       memcmp(bytes, head, sizeof(head)) != 0)
		at += sizeof(bytes);
	check(memcmp(bytes, head, sizeof(head)) == 0 &&
		      pwrite(fd, zeros, sizeof(zeros), at + 24) == sizeof(zeros),
	      "%s: the table forgets where the code is", program);
	close(fd);
}

/* Checks that PROGRAM has functions as a file of -k. */
static void test_given(const char *program)
{
	int fd = open(path_of(program), O_RDONLY | O_CLOEXEC);
	struct build_id build_id;
	struct symtab *symbols;
	bool unread;

	must(symtab_create(&symbols));
	must(symbol_read_elf(fd, program, symbols, &build_id, &unread));
	must(symtab_seal(symbols));
	check(symtab_count(symbols) > 1000, "-k of %s: %zu functions", program,
	      symtab_count(symbols));
	symtab_destroy(symbols);
	close(fd);
}

/*
 * The program's entry is the C runtime's, so only Go's moduledata tell where the code is, if the
 * table of functions does not.
 */
static void test_external(void)
{
	static const struct {
		const char *name, *what, *list, *flags;
	} programs[] = {
		{ "external", "linked by C", "external.nm", "-buildmode=exe" },
		{ "external-pie", "linked by C, position-independent", "external-pie.nm",
		  "-buildmode=pie" },
		{ "external-relr", "linked by C, with packed relocations", "external-relr.nm",
		  "-buildmode=pie" },
	};
	char without[128], list[64];

	for (unsigned i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const char *linker =
			i == 2 ? "-linkmode=external "
				 "\"-extldflags=-fuse-ld=lld -Wl,-z,pack-relative-relocs\""
			       : "-linkmode=external";

		if (run("export CGO_ENABLED=1 && go build %s -ldflags='%s' -o %s linked.go 2>/dev/null && "
			"go tool nm -n %s >%s && strip %s",
			programs[i].flags, linker, programs[i].name, programs[i].name,
			programs[i].list, programs[i].name)) {
			printf("# no %s here\n", programs[i].name);
			continue;
		}
		snprintf(list, sizeof(list), "%s", programs[i].list);
		forget_text(programs[i].name);
		check_names(read_host(programs[i].name), programs[i].what, list, true);
		snprintf(without, sizeof(without), "%s, without section headers", programs[i].what);
		check_names(read_without_sections(programs[i].name), without, list, true);
		test_given(programs[i].name);
	}
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct cursor cursor_at(uint64_t address, enum guest_arch arch)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack stack;
		uint64_t words[8192];
	} stopped = { .vcpu = { .n_stacks = 1 } };
	struct cursor cursor;

	stopped.vcpu.size_bytes = sizeof(stopped);
	stopped.vcpu.regs.arch = arch;
	stopped.stack = (struct sample_stack){ .address = 0xc000000000,
					       .size_bytes = sizeof(stopped.words) };
	for (unsigned i = 0; !stopped.words[0] && i < 8192; i++)
		stopped.words[8191 - i] = 0x400000 + i;
	cursor_init(&cursor, &stopped.vcpu);
	cursor.regs[REG_PC] = address;
	cursor.regs[REG_SP] = 0xc000000000;
	cursor.regs[arch == ARCH_X86 ? (int)REG_R12 : (int)REG_ARM64_LR] = 0xc000000000;
	return cursor;
}

struct tally {
	unsigned same, different, outermost, uncovered;
};

static void compare_at(struct go *go, struct cfi *cfi, uint64_t address, enum guest_arch arch,
		       struct tally *tally)
{
	struct cursor got = cursor_at(address, arch), wanted = got;
	enum unwind_step step = go_step(go, 0, &got);
	enum unwind_step wanted_step = arch == ARCH_X86 ? cfi_step(cfi, 0, &wanted)
							: cfi_arm64_step(cfi, 0, &wanted);

	if (wanted_step == STEP_NOT_COVERED || wanted_step == STEP_CUT) {
		return;
	} else if (step == STEP_OUTERMOST) {
		tally->outermost++;
	} else if (step == STEP_NOT_COVERED) {
		if (!tally->uncovered++)
			printf("# %" PRIx64 ": no row\n", address);
	} else if (step == wanted_step && got.regs[REG_PC] == wanted.regs[REG_PC] &&
		   got.regs[REG_SP] == wanted.regs[REG_SP]) {
		tally->same++;
	} else if (++tally->different < 5) {
		printf("# %" PRIx64 ": rsp %" PRIx64 ", not %" PRIx64 "\n", address,
		       got.regs[REG_RSP], wanted.regs[REG_RSP]);
	}
}

/*
 * Leaves out the functions that switch to the thread's stack, and where a signal handler returns
 * to: .debug_frame is wrong about them. For Go a chain ends at the handler, for xtop it does not,
 * and on arm64 .debug_frame says so. At the end of asyncPreempt(), and of what a debugger calls, the
 * stack is shorter than their caller's. On arm64 a handler pushes x30 before sigpanic(), of which
 * .debug_frame says nothing.
 */
static bool is_left_out(const struct go_function *function, enum guest_arch arch)
{
	return function->flags & GO_SP_WRITE ||
	       (arch == ARCH_ARM64 && strcmp(function->name, "runtime.sigpanic") == 0) ||
	       strncmp(function->name, "runtime.sigreturn", 17) == 0 ||
	       strncmp(function->name, "runtime.sigtramp", 16) == 0 ||
	       strncmp(function->name, "runtime.asyncPreempt", 20) == 0 ||
	       strncmp(function->name, "runtime.debugCall", 17) == 0;
}

static void test_rows(const char *program, enum guest_arch arch, unsigned step, unsigned least)
{
	static const struct elf_limits limits = { .symbols = 1 << 20,
						  .names_bytes = 1 << 28,
						  .sections = 4096,
						  .frames_bytes = 1 << 28,
						  .inflated_bytes = 1 << 28 };
	int fd = open(path_of(program), O_RDONLY | O_CLOEXEC);
	struct tally tally = { 0 };
	struct elf_frames frames;
	struct elf_file file;
	struct elf_go table;
	struct cfi *cfi;
	struct go *go;

	must(elf_file_init_host(&file, fd, program, &limits));
	elf_read_go(&file, &table);
	elf_read_frames(&file, &frames);
	must(cfi_compile(&frames.sections, &cfi));
	must(go_compile(&table.table, &go));
	for (size_t i = 0; i < table.table.n_functions; i++) {
		struct go_function function;

		if (!go_table_read(&table.table, i, &function) || is_left_out(&function, arch))
			continue;
		for (uint64_t at = function.start; at < function.end; at += step)
			compare_at(go, cfi, at, arch, &tally);
	}
	check(tally.same > least && !tally.different && !tally.uncovered,
	      "%s: rows at %u addresses as .debug_frame has them; %u different, %u without a row, %u in "
	      "outermost functions",
	      program, tally.same, tally.different, tally.uncovered, tally.outermost);
	go_destroy(go);
	cfi_destroy(cfi);
	elf_frames_deinit(&frames);
	elf_go_deinit(&table);
	elf_file_deinit(&file);
	close(fd);
}

/* --- a file read in parts --------------------------------------------------------------------- */

static struct copy parts_copy;

static void close_parts(void *context)
{
	free(((struct copy *)context)->bytes);
}

/*
 * Opens NAME as a guest's file, with its section headers in memory if SECTIONS. NULL: the file has
 * to be read whole.
 */
static struct image *open_parts(const char *name, bool sections)
{
	struct image_source from = { { .read = read_copy, .context = &parts_copy }, close_parts };
	struct image *image;

	parts_copy = (struct copy){ 0 };
	copy_file(name, sections, &parts_copy);
	from.bytes.size_bytes = parts_copy.n;
	must(image_create(name, &image));
	if (image_open_elf(image, &from.bytes, &from))
		return image;
	image_unref(image);
	close_parts(&parts_copy);
	return NULL;
}

static unsigned different_steps(struct image *parts, const struct image *whole)
{
	unsigned different = 0;

	for (size_t i = 0; i < symtab_count(whole->symtab); i++) {
		struct symtab_entry entry = symtab_at(whole->symtab, i);
		struct cursor got = cursor_at(entry.start + 4, ARCH_X86), wanted = got;
		enum unwind_step step = go_step(parts->tables.go, 0, &got);

		different += step != go_step(whole->tables.go, 0, &wanted) ||
			     memcmp(got.regs, wanted.regs, sizeof(got.regs)) != 0;
	}
	return different;
}

static void test_parts(const char *program, const char *list, bool sections)
{
	struct image *whole = sections ? read_host(program) : read_without_sections(program);
	struct image *parts = open_parts(program, sections);
	struct symtab_entry entry = symtab_at(whole->symtab, symtab_count(whole->symtab) / 2),
			    found;
	struct cursor cursor = cursor_at(entry.start + 4, ARCH_X86);
	unsigned different, n;

	if (!check(parts && parts->tables.go, "%s, %s section headers: opens in parts", program,
		   sections ? "with" : "without"))
		return;
	if (sections)
		check(parts_copy.read_bytes < 300000,
		      "to open the parts, %zu of %zu bytes are read",
		      parts_copy.read_bytes, parts_copy.n);
	parts_copy.read_bytes = 0;
	go_step(parts->tables.go, 0, &cursor);
	check(parts_copy.read_bytes < 70000,
	      "for a first step, %zu bytes are read", parts_copy.read_bytes);
	check(symtab_find(image_symtab(parts), entry.start, &found) &&
		      strcmp(entry.name, found.name) == 0,
	      "%s is found", entry.name);
	different = different_names(parts, list, false, &n);
	check(n > 1000 && !different, "%u of %u names differ from go tool nm", different, n);
	different = different_steps(parts, whole);
	check(!different, "%u steps differ from those of the whole file", different);
	check(!image_is_incomplete(parts), "no bytes of the parts are missing");
	image_unref(parts);
	image_unref(whole);
}

int main(void)
{
	if (!mkdtemp(folder) || run("go version >/dev/null 2>&1")) {
		printf("1..0 # SKIP no Go here\n");
		return 0;
	}
	if (!check(build(), "go builds a program"))
		return tap_done();
	test_names(read_host("stripped"), "stripped", "whole.nm");
	test_names(read_host("pie"), "stripped, position-independent", "pie.nm");
	test_names(read_without_sections("stripped"), "without section headers", "whole.nm");
	test_names(read_without_sections("pie"), "position-independent, without them", "pie.nm");
	test_names(read_host("whole"), "not stripped", "whole.nm");
	check(run("objcopy --rename-section .gopclntab=.other stripped renamed") == 0,
	      "a section gets another name");
	test_names(read_host("renamed"), "a section of another name", "whole.nm");
	test_given("stripped");
	test_given("pie");
	test_external();
	test_parts("stripped", "whole.nm", true);
	test_parts("stripped", "whole.nm", false);
	test_parts("whole", "whole.nm", true);
	test_parts("pie", "pie.nm", true);
	test_parts("pie", "pie.nm", false);
	test_rows("whole", ARCH_X86, 1, 300000);
	if (check(build_arm64(), "go builds the program for arm64")) {
		test_names(read_host("stripped-arm64"), "arm64, stripped", "arm64.nm");
		test_names(read_without_sections("stripped-arm64"), "arm64, without section headers",
			   "arm64.nm");
		test_rows("whole-arm64", ARCH_ARM64, 4, 100000);
	}
	run("chmod -R u+w . && rm -rf %s", folder);
	return tap_done();
}
