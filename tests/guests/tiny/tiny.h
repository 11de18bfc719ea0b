/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the five files of the tiny guest:
 *
 *   start.S    entry points of both flavours, static page tables, ELF notes
 *   xen.c      hypercalls and the few Xen services that a guest needs
 *   boot.c     from the entry point to main(): command line, console, vCPUs
 *   console.c  lines of text on the Xen console
 *   graph.c    main() and the work: call chains with known shares
 *
 * A guest of 32 bits has start32.S and xen32.c instead of the first two: PVH, one vCPU. One of arm64
 * has start_arm64.S and xen_arm64.c, and only what the comments of these files say; one of 32 bits
 * there has start_arm32.S and xen_arm64.c.
 *
 * The same ELF file boots as PVH and as PV. Its addresses are those of a Linux
 * kernel: the top 2 GiB, physical address = virtual address - TINY_VIRT_BASE.
 *
 *          PVH: our own tables (start.S)            PV: the builder's tables
 *   VIRT_BASE + 0..1 GiB    2 MiB pages            4 KiB pages, machine frames
 *   FIX_BASE  + 0..2 MiB    4 KiB pages: stacks,   not mapped; stacks are plain
 *                           console ring           .bss, the ring is where the
 *                                                  builder put it
 */
#ifndef TINY_H
#define TINY_H

#if defined(__x86_64__) || defined(__aarch64__)
#define TINY_VIRT_BASE		0xffffffff80000000
#define TINY_FIX_BASE		0xffffffffc0000000
#else				/* start32.S, start_arm32.S: the direct map has 16 MiB */
#define TINY_VIRT_BASE		0xc0000000
#define TINY_FIX_BASE		0xffc00000
#endif

#define TINY_MAX_VCPUS		32
#define TINY_STACK_PAGES	15	/* per vCPU: 60 KiB hold depth=1000 */
#define TINY_FIX_CONSOLE	511	/* last 4 KiB page of the fixed window */

/* The flavours; start.S passes one of them to boot(). */
#define TINY_PV			0
#define TINY_PVH		1

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

/*
 * If an asm has this as its operand "+r" (stack_pointer), the function sets up its frame first.
 * Even with -fno-omit-frame-pointer, gcc leaves out the frame of a leaf function that does not
 * touch the stack (gcc/config/i386/i386.cc, ix86_finalize_stack_frame_flags()). The caller is then
 * missing from the chain. Linux does the same with ASM_CALL_CONSTRAINT.
 */
#ifdef __x86_64__
register unsigned long stack_pointer asm("rsp");
#elif defined(__aarch64__) || defined(__arm__)
register unsigned long stack_pointer asm("sp");
#else
register unsigned long stack_pointer asm("esp");
#endif

/* An entry of a page table. */
#ifdef TINY_TWO_LEVELS
typedef uint32_t tiny_entry;
#else
typedef uint64_t tiny_entry;
#endif

/* start.S */
extern char stacks[TINY_MAX_VCPUS][TINY_STACK_PAGES * 4096];
extern char shared_info_page[4096];
extern tiny_entry fix_table[512];
extern char root_table[];
extern char hypercall_page[4096]; /* only with TINY_HYPERCALL_PAGE */
void secondary_start(void);

/* boot.c: settings from the command line and the entry point; constant once main() runs */
struct tiny_options {
	unsigned int depth;	/* depth=N: main -> dive x N instead of the graph */
	unsigned int lex;	/* lex=N: lex() takes N times as long; 0: it is not called */
	uint64_t rounds;	/* rounds=N: vCPU 0 powers the guest off after N; 0: never */
	uint64_t beat_hz;	/* beat=HZ: work that repeats at HZ of Xen's clock; 0: the graph */
	uint64_t idle;		/* after each round, sleep so many times as long as it took */
	bool ask;		/* after each round, make hypercalls for as long as it took */
};
extern struct tiny_options options;
extern unsigned int nr_vcpus;

/*
 * xen.c. Addresses are guest-virtual. `start_info` comes from the boot protocol: struct start_info
 * for PV, struct hvm_start_info for PVH. Without Xen (qemu-system-x86_64 -kernel) xen_present() is
 * false, and besides it only xen_init() and xen_cmdline() may be called.
 */
void xen_init(int flavour, const void *start_info);
bool xen_present(void);
long hypercall(unsigned long number, unsigned long a, unsigned long b, unsigned long c);
const char *xen_cmdline(void);
struct xencons_interface *xen_console_ring(void);
void xen_console_kick(void);
void xen_serial(char c);		/* without Xen: the first serial port */
bool xen_start_vcpu(unsigned int vcpu);	/* false: the domain has no such vCPU */
uint64_t xen_time_ns(unsigned int vcpu);
void xen_sleep_until_ns(uint64_t when);
_Noreturn void xen_poweroff(void);
char *xen_stack_top(unsigned int vcpu);

/* console.c; never waits: a line is dropped if the ring has no room for it */
void console_init(void);
void console_text(const char *text);
void console_number(uint64_t number);
void console_flush(void);

/* graph.c; runs on every vCPU and does not return */
_Noreturn void main(unsigned int vcpu);

#endif /* !__ASSEMBLER__ */
#endif
