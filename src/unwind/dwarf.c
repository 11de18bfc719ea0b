/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by libunwind (1.6), for the few functions with rows that the compiled table cannot express.
 * libunwind sees a remote address space. The accessors answer from the cursor's registers, the
 * copied stack and the functions that are stored here. libunwind never gets the guest's own tables:
 * each function that is safe for libunwind (cfi_program_is_safe()) is rewritten as the simplest
 * possible .eh_frame, a *document*:
 *
 *   0  { start, FDE } as in .eh_frame_hdr's table, for libunwind's search of one entry
 *   8  CIE "zR" or "zRS", absolute pointers, program unchanged
 *   .. FDE program unchanged
 *
 * So .debug_frame and all pointer encodings become one case. Only needed functions are stored: two
 * functions of a libc.
 *
 * libunwind caches by instruction pointer, and stores addresses of expressions. So these addresses
 * must stay the same while the image exists, and must belong to only one image. libunwind gets
 * addresses that no guest has (bits 62..48 of a canonical address are equal). They have the
 * function's number:
 *
 *   63..60   59..32   31..0
 *      2     number   0: the document; DWARF_CODE: the code, with the guest's low 12 bits
 *
 * Each image has its own address space, which the first step creates: libunwind's cache of 128 rows
 * has some 60 KiB. When an image is destroyed, its cache entries are destroyed, too. Resolver's
 * thread.
 */
#include "config.h"

/*
 * libunwind.h includes <sys/ucontext.h>, whose GNU names of registers collide with those of
 * register_numbers.h. So the GNU names are switched off. musl's headers also define them for
 * _ALL_SOURCE, which config.h defines.
 */
#undef _ALL_SOURCE
#undef _GNU_SOURCE
#define _DEFAULT_SOURCE 1

#include "unwind/dwarf.h"

#include <assert.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_program.h"
#include "unwind/dwarf_x86.h"
#include "unwind/unw_none.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"
#include "xtop/base/work.h"

/* libunwind exports this function, and perf uses it, but no header of libunwind declares it. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
					      unw_dyn_info_t *table, unw_proc_info_t *info,
					      int need_unwind_info, void *argument);

#define DWARF_ZONE           0x2000000000000000ULL
#define DWARF_ZONE_MASK      0xf000000000000000ULL
#define DWARF_NUMBER_SHIFT   32
#define DWARF_CODE           0x80000000ULL
#define DWARF_BASE           0x40000000ULL /* base of the table's offsets: signed, 32 bits */
#define DWARF_MAX_CODE_BYTES (DWARF_BASE / 2)
#define DWARF_TABLE_BYTES    8
#define DWARF_SPACE_BYTES    (60U << 10)
#define DWARF_HEAD_BYTES     80 /* largest document without its programs */

struct dwarf_function {
	uint64_t start, end;               /* addresses in the image */
	uint32_t document, document_bytes; /* range in dwarf.documents; multiples of 8 */
	uint32_t fde;                      /* offset of the FDE in the document */
	bool signal;                       /* a signal has interrupted the caller */
};

struct dwarf {
	struct dwarf_function *functions; /* ascending by start */
	size_t n, capacity;
	uint8_t *documents;
	size_t documents_bytes, documents_capacity;
	unw_addr_space_t space; /* NULL: not needed yet */
};

/* The argument of the accessors, for one step. */
struct dwarf_access {
	const struct dwarf *dwarf;
	struct cursor *cursor;
	unw_word_t pc; /* dwarf_code_address() of the cursor */
	bool cut; /* libunwind asked for stack bytes that were not copied */
};

/* --- documents -------------------------------------------------------------------------------- */

struct dwarf_writer {
	uint8_t *start, *at;
};

static void dwarf_put(struct dwarf_writer *writer, const void *bytes, size_t size_bytes)
{
	assert(writer->at);
	memcpy(writer->at, bytes, size_bytes);
	writer->at += size_bytes;
}

static void dwarf_put_number(struct dwarf_writer *writer, uint64_t value, unsigned size_bytes)
{
	dwarf_put(writer, &value, size_bytes);
}

static void dwarf_put_sleb(struct dwarf_writer *writer, int64_t value)
{
	bool more;

	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		more = value != (byte & 0x40 ? -1 : 0);
		dwarf_put_number(writer, byte | (more ? 0x80 : 0), 1);
	} while (more);
}

static void dwarf_put_uleb(struct dwarf_writer *writer, uint64_t value)
{
	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		dwarf_put_number(writer, byte | (value ? 0x80 : 0), 1);
	} while (value);
}

/* Pads with DW_CFA_nop, and sets the length. */
static void dwarf_close_entry(struct dwarf_writer *writer, uint8_t *entry)
{
	uint32_t length;

	while ((writer->at - writer->start) % 8)
		*writer->at++ = 0;
	length = writer->at - entry - sizeof(length);
	memcpy(entry, &length, sizeof(length));
}

static void dwarf_put_cie(struct dwarf_writer *writer, const struct cfi_cie *cie)
{
	uint8_t *entry = writer->at;

	dwarf_put_number(writer, 0, 8); /* length and id */
	dwarf_put_number(writer, 1, 1);
	dwarf_put(writer, cie->signal ? "zRS" : "zR", cie->signal ? 4 : 3);
	dwarf_put_uleb(writer, cie->code_align);
	dwarf_put_sleb(writer, cie->data_align);
	dwarf_put_number(writer, CFI_DWARF_RETURN, 1);
	dwarf_put_number(writer, 1, 1);
	dwarf_put_number(writer, 0, 1); /* DW_EH_PE_absptr */
	dwarf_put(writer, cie->program, cie->program_bytes);
	dwarf_close_entry(writer, entry);
}

static void dwarf_put_fde(struct dwarf_writer *writer, const struct cfi_fde *fde, uint64_t code)
{
	uint8_t *entry = writer->at;

	dwarf_put_number(writer, 0, 4);
	dwarf_put_number(writer, writer->at - (writer->start + DWARF_TABLE_BYTES), 4);
	dwarf_put_number(writer, code, 8);
	dwarf_put_number(writer, fde->end - fde->start, 8);
	dwarf_put_uleb(writer, 0);
	dwarf_put(writer, fde->program, fde->program_bytes);
	dwarf_close_entry(writer, entry);
}

static uint64_t dwarf_document_address(size_t number)
{
	return DWARF_ZONE | (uint64_t)number << DWARF_NUMBER_SHIFT;
}

/* The address that libunwind gets for PC. */
static uint64_t dwarf_code_address(size_t number, const struct dwarf_function *function,
				   uint64_t pc)
{
	return dwarf_document_address(number) + DWARF_CODE +
	       (pc - (function->start & ~GUEST_PAGE_MASK));
}

static void dwarf_write(struct dwarf *dwarf, const struct cfi_fde *fde)
{
	struct dwarf_function *function = &dwarf->functions[dwarf->n];
	struct dwarf_writer writer = { dwarf->documents + dwarf->documents_bytes, NULL };
	uint64_t code;

	*function = (struct dwarf_function){ .start = fde->start,
					     .end = fde->end,
					     .document = dwarf->documents_bytes,
					     .signal = fde->cie.signal };
	code = dwarf_code_address(dwarf->n, function, fde->start);
	writer.at = writer.start + DWARF_TABLE_BYTES;
	dwarf_put_cie(&writer, &fde->cie);
	function->fde = writer.at - writer.start;
	dwarf_put_fde(&writer, fde, code);
	function->document_bytes = writer.at - writer.start;
	writer.at = writer.start;
	dwarf_put_number(&writer, (uint32_t)code - DWARF_BASE, 4);
	dwarf_put_number(&writer, function->fde - DWARF_BASE, 4);
	dwarf->documents_bytes += function->document_bytes;
	dwarf->n++;
}

static struct xtop_error *dwarf_reserve(struct dwarf *dwarf, size_t document_bytes)
{
	size_t wanted = dwarf->documents_bytes + document_bytes;

	if (!vector_reserve(dwarf->functions, dwarf->capacity, dwarf->n + 1))
		return error_create("out of memory for %zu functions to unwind", dwarf->n + 1);
	if (!vector_reserve(dwarf->documents, dwarf->documents_capacity, wanted))
		return error_create("out of memory for %zu bytes of unwind entries", wanted);
	return NULL;
}

static struct xtop_error *dwarf_add(struct dwarf *dwarf, const struct cfi_fde *fde,
				    struct cfi_program *program)
{
	size_t bytes = DWARF_HEAD_BYTES + fde->cie.program_bytes + fde->program_bytes;
	struct xtop_error *error;

	if (dwarf->n == DWARF_MAX_FUNCTIONS || dwarf->documents_bytes + bytes > DWARF_MAX_BYTES ||
	    fde->end - fde->start > DWARF_MAX_CODE_BYTES || !cfi_program_is_safe(program, fde) ||
	    program->set_location) /* its operand would need a change; no compiler writes it */
		return NULL;
	error = dwarf_reserve(dwarf, bytes);
	if (!error)
		dwarf_write(dwarf, fde);
	return error;
}

/* Counts the bytes of FDE's programs against *LEFT_BYTES. Returns false if too few are left. */
static bool dwarf_may_run(const struct cfi_fde *fde, size_t *left_bytes)
{
	size_t bytes = fde->program_bytes + fde->cie.program_bytes;

	if (bytes > *left_bytes)
		return false;
	*left_bytes -= bytes;
	return true;
}

static struct xtop_error *dwarf_add_list(struct dwarf *dwarf, const struct cfi_sections *sections,
					 const struct cfi_list *list, const struct cfi *cfi)
{
	_cleanup_free_ struct cfi_program *program = malloc(sizeof(*program));
	size_t left_bytes = CFI_MAX_PROGRAM_BYTES;
	struct xtop_error *error = NULL;

	if (!program)
		return error_create("out of memory for an unwind program");
	for (size_t i = 0; !error && i < list->n && !work_is_over(sections->work); i++) {
		uint64_t next = i + 1 < list->n ? list->places[i + 1].start : UINT64_MAX;
		struct cfi_fde fde;

		/* the rows of a function end where the next one begins: each row is checked once */
		if (!cfi_read_fde(sections, &list->places[i], &fde) ||
		    (cfi && !cfi_asks(cfi, fde.start, fde.end < next ? fde.end : next)) ||
		    !dwarf_may_run(&fde, &left_bytes))
			continue;
		error = dwarf_add(dwarf, &fde, program);
	}
	return error;
}

static void dwarf_cleanup(struct dwarf **dwarf)
{
	dwarf_destroy(*dwarf);
}

struct xtop_error *dwarf_create(const struct cfi_sections *sections, const struct cfi *cfi,
				struct dwarf **dwarfp)
{
	_cleanup_(dwarf_cleanup) struct dwarf *dwarf = calloc(1, sizeof(*dwarf));
	_cleanup_(cfi_list_deinit) struct cfi_list list = { 0 };
	struct xtop_error *error;

	if (!dwarf)
		return error_create("out of memory for unwind entries");
	error = cfi_list_init(sections, &list);
	if (!error)
		error = dwarf_add_list(dwarf, sections, &list, cfi);
	if (error)
		return error;
	*dwarfp = dwarf->n ? no_cleanup_ptr(dwarf) : NULL;
	return NULL;
}

void dwarf_destroy(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	if (dwarf->space)
		unw_destroy_addr_space(dwarf->space);
	free(dwarf->functions);
	free(dwarf->documents);
	free(dwarf);
}

size_t dwarf_memory_bytes(const struct dwarf *dwarf)
{
	return sizeof(*dwarf) + dwarf->capacity * sizeof(*dwarf->functions) +
	       dwarf->documents_capacity + DWARF_SPACE_BYTES;
}

/* --- accessors -------------------------------------------------------------------------------- */

static int dwarf_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
				int need_unwind_info, void *argument)
{
	const struct dwarf_access *access = argument;
	size_t number = (ip & ~DWARF_ZONE_MASK) >> DWARF_NUMBER_SHIFT;
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint64_t document = dwarf_document_address(number);

	if ((ip & DWARF_ZONE_MASK) != DWARF_ZONE || number >= access->dwarf->n)
		return -UNW_ENOINFO;
	table.start_ip = document + DWARF_CODE;
	table.end_ip = document + (1ULL << DWARF_NUMBER_SHIFT);
	table.u.rti.segbase = document + DWARF_BASE;
	table.u.rti.table_data = document;
	table.u.rti.table_len = DWARF_TABLE_BYTES / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_unwind_info,
						  argument);
}

static int dwarf_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value,
			    int write, void *argument)
{
	struct dwarf_access *access = argument;
	const struct dwarf *dwarf = access->dwarf;
	size_t number = (address & ~DWARF_ZONE_MASK) >> DWARF_NUMBER_SHIFT;
	uint64_t offset = (uint32_t)address;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if ((address & DWARF_ZONE_MASK) == DWARF_ZONE) {
		if (number >= dwarf->n ||
		    offset + sizeof(*value) > dwarf->functions[number].document_bytes)
			return -UNW_EINVAL;
		memcpy(value, dwarf->documents + dwarf->functions[number].document + offset,
		       sizeof(*value));
		return 0;
	}
	if (cursor_read(access->cursor, address, value, 1))
		return 0;
	access->cut = true;
	return -UNW_EINVAL;
}

static int dwarf_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
			    int write, void *argument)
{
	const struct dwarf_access *access = argument;

	(void)space;
	if (write || number < 0)
		return -UNW_EBADREG;
	if (number == DWARF_PC) {
		*value = access->pc;
		return 0;
	}
	if (number >= N_DWARF_REGISTERS || !(access->cursor->known >> dwarf_registers[number] & 1))
		return -UNW_EBADREG;
	*value = access->cursor->regs[dwarf_registers[number]];
	return 0;
}

static bool dwarf_open(struct dwarf *dwarf)
{
	static unw_accessors_t accessors = {
		.find_proc_info = dwarf_find_proc_info,
		.put_unwind_info = unw_none_put_unwind_info,
		.get_dyn_info_list_addr = unw_none_get_dyn_info_list_addr,
		.access_mem = dwarf_access_mem,
		.access_reg = dwarf_access_reg,
		.access_fpreg = unw_none_access_fpreg,
		.resume = unw_none_resume,
		.get_proc_name = unw_none_get_proc_name,
	};

	if (dwarf->space)
		return true;
	dwarf->space = unw_create_addr_space(&accessors, 0);
	if (!dwarf->space)
		return false;
	unw_set_caching_policy(dwarf->space, UNW_CACHE_GLOBAL);
	return true;
}

/* --- the step --------------------------------------------------------------------------------- */

static bool dwarf_find(const struct dwarf *dwarf, uint64_t address, size_t *numberp)
{
	size_t n = sorted_count(dwarf->functions, dwarf->n, start, address);

	if (!n || address >= dwarf->functions[n - 1].end)
		return false;
	*numberp = n - 1;
	return true;
}

/*
 * Gets the caller's values of the registers that a function preserves (cfi.c), or of ALL registers
 * after a signal frame. A register stays unknown if its place is unknown or was not copied.
 * Returns a bit for each known register.
 */
static uint32_t dwarf_get_registers(unw_cursor_t *unwound, bool all, uint64_t *regs)
{
	uint32_t known = 0;

	for (int i = 0; i < N_DWARF_REGISTERS; i++) {
		enum unwind_register reg = dwarf_registers[i];
		unw_word_t value;

		if ((all || CFI_PRESERVED_MASK >> reg & 1) &&
		    unw_get_reg(unwound, i, &value) == 0) {
			regs[reg] = value;
			known |= 1U << reg;
		}
	}
	return known;
}

static enum unwind_step dwarf_apply(struct dwarf_access *access, unw_cursor_t *unwound, bool signal)
{
	struct cursor *cursor = access->cursor;
	uint64_t regs[N_UNWIND_REGISTERS];
	uint32_t known = dwarf_get_registers(unwound, signal, regs);
	unw_word_t pc;

	if (unw_get_reg(unwound, UNW_REG_IP, &pc) != 0 || !(known >> REG_SP & 1))
		return STEP_BAD;
	if (!pc)
		return STEP_OUTERMOST;
	regs[REG_PC] = pc;
	known |= 1U << REG_PC;
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		if (known >> i & 1)
			cursor->regs[i] = regs[i];
	cursor->known = known;
	cursor->interrupted = signal;
	return STEP_CALLER;
}

enum unwind_step dwarf_step(struct dwarf *dwarf, uint64_t bias, struct cursor *cursor)
{
	struct dwarf_access access = { .dwarf = dwarf, .cursor = cursor };
	uint64_t pc = cursor_pc(cursor) - bias;
	unw_cursor_t unwound;
	size_t number;
	int result;

	if (!dwarf_find(dwarf, pc, &number) || !dwarf_open(dwarf))
		return STEP_NOT_COVERED;
	access.pc = dwarf_code_address(number, &dwarf->functions[number], pc);
	if (unw_init_remote(&unwound, dwarf->space, &access) != 0)
		return STEP_BAD;
	result = unw_step(&unwound);
	if (result > 0)
		return dwarf_apply(&access, &unwound, dwarf->functions[number].signal);
	if (result == 0)
		return STEP_OUTERMOST;
	return access.cut ? STEP_CUT : STEP_BAD;
}
