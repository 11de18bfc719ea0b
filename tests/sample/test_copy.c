/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying one stack out of a guest in memory: where the copy begins and ends, through which frames,
 * and why it is cut. Every copy runs as in the sampler: first in the stop with what is mapped, then
 * again after copy_prepare().
 */
#include "config.h"

#include <stdlib.h>

#include "copy_guest.h"
#include "sample/piece_writer.h"
#include "xtop/base/fault.h"
#include "xtop/base/registers_x86.h"

#define STACK     0xffffc90000104000ULL /* a stack of four pages, in one region of hints */
#define STACK_END (STACK + 0x4000)

/* A record's end: the pieces' heads and bytes. */
static struct {
	struct sample_stack head;
	unsigned char bytes[SAMPLE_STACK_LIMIT_BYTES + 1024];
} record;
static unsigned char *const bytes = record.bytes; /* bytes of the first piece */
static size_t size_bytes;

/* Neighbouring pages have frames that are not neighbours. */
static uint64_t frame_of(uint64_t address)
{
	return 1000 - (address >> 12) % 64 * 7;
}

/* Each word of the guest's stacks holds its own address. */
static void add_page(uint64_t address)
{
	uint64_t *page = memory_guest_page(memory, frame_of(address));

	for (unsigned i = 0; i < 512; i++)
		page[i] = address + 8 * i;
	memory_guest_map(memory, regs->cr3, address, frame_of(address));
}

static void begin(void)
{
	begin_guest(0);
	for (uint64_t address = STACK; address < STACK_END; address += GUEST_PAGE_SIZE)
		add_page(address);
	regs->rsp = STACK_END - 0x100;
}

static enum sample_cut copy(void)
{
	memset(&record, 0xee, sizeof(record));
	memory->stopped = true; /* so that the guest counts a mapping as misuse */
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, memory->user[0], (char *)&record, &copied);
	memory->stopped = false;
	size_bytes = copied.n_stacks ? record.head.size_bytes : 0;
	return copied.stack_cut;
}

static enum sample_cut copy_prepared(void)
{
	copy_prepare(&copier, regs, memory->user[0]);
	return copy();
}

/* Compares byte by byte: the copied bytes are the guest's, the bytes after were not touched. */
static bool right_bytes(void)
{
	for (size_t i = 0; i < sizeof(record.bytes); i++) {
		uint64_t address = regs->rsp + i, word = address & ~7ULL;
		unsigned char want =
			i < size_bytes ? (unsigned char)(word >> address % 8 * 8) : 0xee;

		if (bytes[i] != want)
			return check(false, "byte %zu is %#x (expected %#x)", i, bytes[i], want);
	}
	return true;
}

static void check_copy(enum sample_cut cut, enum sample_cut want_cut, size_t want_bytes,
		       const char *what)
{
	check(cut == want_cut && size_bytes == want_bytes && right_bytes(),
	      "%s: %zu bytes, cut %d (expected %zu, %d)", what, size_bytes, cut, want_bytes,
	      want_cut);
}

static void test_unknown_top(void)
{
	begin();
	regs->rsp = STACK + 0x100;
	check_copy(copy(), CUT_NOT_MAPPED, 0, "a stack of which no page is mapped yet");
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "an unknown stack whose pages are mapped");
	regs->rsp = STACK;
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "an unknown stack, from the start of a page");
	regs->rsp = STACK + 0xfff;
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "an unknown stack, from the last byte of a page");
	regs->rsp = STACK + 0x123;
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "an unknown stack, from an odd address");
	end();
}

static void test_ends_of_the_stack(void)
{
	begin();
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0x100,
		   "a stack up to a page that is not there");
	regs->rsp = STACK_END - 1;
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 1,
		   "a stack of one byte before a page that is not there");
	regs->rsp = STACK_END;
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0, "a stack pointer after the last page");
	regs->rsp = 0x0000800000000000;
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0, "a stack pointer that is no address");
	end();
}

static void test_learned_top(void)
{
	begin();
	regs->rsp = STACK + 0x800;
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x840);
	check_copy(copy_prepared(), CUT_LIMIT, 0x40, "a short stack whose end was learned");
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x3008);
	check_copy(copy_prepared(), CUT_LIMIT, 0x2808, "a learned stack over several pages");
	control_set_stack_top(control, regs->cr3, STACK, STACK_END);
	check_copy(copy_prepared(), CUT_LIMIT, 0x3800, "a learned stack to the end of its pages");
	control_set_stack_top(control, regs->cr3, STACK, STACK_END + 0x1000);
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0x3800,
		   "a learned stack ends where its pages do");
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x400);
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "a top below the stack pointer is none");
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x800);
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "a top at the stack pointer is none");
	end();
}

/* Hints are learned from guest bytes: they may have any value that fits. */
static void test_wrong_top(void)
{
	begin();
	for (uint64_t address = STACK_END; address < STACK + 0x20000; address += GUEST_PAGE_SIZE)
		add_page(address);
	regs->rsp = STACK + 0x10;
	control_set_stack_top(control, regs->cr3, STACK, STACK + (1 << 20) - 1);
	check_copy(copy_prepared(), CUT_LIMIT, SAMPLE_STACK_LIMIT_BYTES,
		   "a top a megabyte away is cut to 64 KiB");
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x10 + SAMPLE_STACK_LIMIT_BYTES);
	check_copy(copy_prepared(), CUT_LIMIT, SAMPLE_STACK_LIMIT_BYTES,
		   "a learned stack of just 64 KiB");
	control_set_stack_top(control, regs->cr3, STACK,
			      STACK + 0x10 + SAMPLE_STACK_LIMIT_BYTES - 1);
	check_copy(copy_prepared(), CUT_LIMIT, SAMPLE_STACK_LIMIT_BYTES - 1,
		   "a learned stack of one byte less than 64 KiB");
	end();
}

/*
 * At the end of the address space the copy must not go on at address 0. sample_check() would refuse
 * such a piece, too.
 */
static void test_end_of_addresses(void)
{
	begin();
	add_page(UINT64_MAX & ~GUEST_PAGE_MASK);
	add_page(0);
	regs->rsp = UINT64_MAX - 15;
	check_copy(copy_prepared(), CUT_LIMIT, 15, "a stack at the end of the address space");
	regs->rsp = UINT64_MAX;
	check_copy(copy_prepared(), CUT_LIMIT, 0, "the last byte of the address space");
	end();
}

static void test_no_paging(void)
{
	begin();
	regs->cr0 = 0;
	check_copy(copy_prepared(), CUT_NO_PAGING, 0, "CR0.PG clear");
	regs->cr0 = CR0_PG;
	regs->cr4 = 0;
	check_copy(copy_prepared(), CUT_NO_PAGING, 0, "CR4.PAE clear");
	check_u64(memory->maps, 0, "pages that were mapped for a vCPU without paging");
	memory->guest.info.type = GUEST_PV;
	regs->cr0 = 0;
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0x100,
		   "control registers of a PV guest do not count");
	end();
}

static void test_tables_changed(void)
{
	uint64_t *page;

	begin();
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0x100, "a stack before its tables change");
	page = memory_guest_page(memory, 5000);
	for (unsigned i = 0; i < 512; i++)
		page[i] = 7;
	memory_guest_map(memory, regs->cr3, STACK_END - 0x1000, 5000);
	check(copy() == CUT_NOT_MAPPED && size_bytes == 0,
	      "the page's new frame is not mapped yet");
	check(copy_prepared() == CUT_NOT_PRESENT && size_bytes == 0x100 && bytes[0] == 7,
	      "a page's new frame is read once it is mapped");
	*memory_guest_entry(memory, regs->cr3, 4, 1, STACK_END - 0x1000) = 0;
	check(copy() == CUT_NOT_PRESENT && size_bytes == 0, "a page that the guest has unmapped");
	regs->cr3 = memory_guest_new_table(memory) << 12;
	check(copy() == CUT_NOT_MAPPED && size_bytes == 0,
	      "a stack that another CR3 does not have");
	add_page(STACK_END - 0x1000);
	check(copy_prepared() == CUT_NOT_PRESENT && size_bytes == 0x100 && bytes[8] == 8,
	      "the stack of another address space");
	end();
}

static void test_refused(void)
{
	begin();
	memory->refuse_map = true;
	check_copy(copy_prepared(), CUT_NOT_MAPPED, 0, "a stack of which Xen maps nothing");
	check_u64(memory->refused_maps, 1, "mappings that Xen refused: one table");
	check_copy(copy_prepared(), CUT_NOT_MAPPED, 0, "a stack that Xen refused a moment ago");
	check_u64(memory->refused_maps, 1,
		  "mappings that Xen refused: not asked for again at once");
	memory->refuse_map = false;
	copier.now_ns += 2000000000;
	check_copy(copy_prepared(), CUT_NOT_PRESENT, 0x100, "a stack that Xen maps later");
	end();
}

static void test_revoked(void)
{
	begin();
	regs->rsp = STACK + 0xf00;
	check_copy(copy_prepared(), CUT_LIMIT, COPY_UNKNOWN_BYTES,
		   "a stack before a page goes away");
	memory_guest_revoke(memory, frame_of(STACK + 0x1000));
	fault_arm();
	check(copy() == CUT_LIMIT && size_bytes == COPY_UNKNOWN_BYTES,
	      "a copy whose page goes away under it");
	check_u64(fault_disarm(), 1, "faults while a page went away");
	check(bytes[0xff] == 0xff && bytes[0x100] == 0 && bytes[0x108] == 0,
	      "a page that went away reads as zeros");
	end();
}

static void test_large_pages(void)
{
	uint64_t entry = 0x40000ULL << 12 | PTE_PS | PTE_P; /* 1 GiB at frame 0x40000 */

	begin();
	*memory_guest_entry(memory, regs->cr3, 4, 3, 0xffff888000000000) = entry;
	for (uint64_t frame = 0x40010; frame < 0x40013; frame++)
		memset(memory_guest_page(memory, frame), (int)frame, GUEST_PAGE_SIZE);
	regs->rsp = 0xffff888000010800;
	control_set_stack_top(control, regs->cr3, regs->rsp, 0xffff888000012800);
	check(copy_prepared() == CUT_LIMIT && size_bytes == 0x2000 && bytes[0] == 0x10 &&
		      bytes[0x800] == 0x11 && bytes[0x1800] == 0x12,
	      "a stack in a page of 1 GiB");
	end();
}

/* The page that was read last is kept, but not beyond a page that cannot be read. */
static void test_missed_between(void)
{
	struct memory_root root;
	struct piece_writer writer;
	uint64_t word = 0;

	begin();
	root = walk_root(regs);
	piece_writer_begin(&writer, copier.cache, NULL, 0);
	piece_writer_read(&writer, root, STACK + 8, &word); /* outside the stop: maps the page */
	frame_cache_stop(copier.cache);
	piece_writer_begin(&writer, copier.cache, (char *)&record, 0);
	check(piece_writer_read(&writer, root, STACK + 8, &word) == CUT_NONE && word == STACK + 8,
	      "in the stop a mapped page is read");
	check(piece_writer_read(&writer, root, STACK + 0x1000, &word) == CUT_NOT_MAPPED &&
		      writer.missed,
	      "in the stop a page that is not mapped is missed");
	check(piece_writer_read(&writer, root, STACK + 16, &word) == CUT_NONE && word == STACK + 16,
	      "in the stop the mapped page is read again after a miss");
	end();
}

int main(void)
{
	fault_install();
	test_unknown_top();
	test_ends_of_the_stack();
	test_learned_top();
	test_wrong_top();
	test_end_of_addresses();
	test_no_paging();
	test_tables_changed();
	test_refused();
	test_revoked();
	test_large_pages();
	test_missed_between();
	return tap_done();
}
