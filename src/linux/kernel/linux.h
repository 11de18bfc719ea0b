/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Linux guest as far as it is known: what the walkers of its data structures start from. Filled
 * by linux_attach.c, read by everything in os/ and process/. Resolver's thread.
 */
#ifndef XTOP_OS_LINUX_H
#define XTOP_OS_LINUX_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/layout.h"
#include "xtop/memory.h"
#include "xtop/orc.h"
#include "xtop/types.h"

/* Kernel symbols whose addresses are needed; linux_attach.c has their names in this order. */
enum linux_symbol {
	LINUX_TEXT,           /* _text */
	LINUX_ETEXT,          /* _etext */
	LINUX_END,            /* _end */
	LINUX_BANNER,         /* linux_banner */
	LINUX_PAGE_TABLES,    /* init_top_pgt or swapper_pg_dir */
	LINUX_PER_CPU_OFFSET, /* __per_cpu_offset */
	LINUX_NR_CPU_IDS,
	LINUX_CURRENT_TASK,   /* per-cpu offset (address from 6.15 on): current_task */
	LINUX_PCPU_HOT,       /* the same of 6.2 to 6.14 */
	LINUX_TOP_OF_STACK,   /* per-cpu: cpu_current_top_of_stack */
	LINUX_HARDIRQ_STACK,  /* per-cpu: hardirq_stack_ptr */
	LINUX_TSS,            /* per-cpu: cpu_tss_rw */
	LINUX_MODULES,
	LINUX_BPF_KALLSYMS,
	LINUX_FTRACE_OPS,     /* ftrace_ops_trampoline_list */
	LINUX_PAGE_OFFSET,    /* variable page_offset_base */
	LINUX_VMEMMAP,        /* variable vmemmap_base */
	LINUX_BTF_START,
	LINUX_BTF_STOP,
	LINUX_ORC_IP_START,
	LINUX_ORC_IP_STOP,
	LINUX_ORC_START,
	LINUX_ORC_STOP,
	LINUX_ORC_HEADER,
	LINUX_THUNK_START,    /* __indirect_thunk_start */
	LINUX_THUNK_END,
	LINUX_INIT_TASK,
	LINUX_FRED,           /* asm_fred_entrypoint_user: built for FRED */
	LINUX_NOTES_START,    /* __start_notes: build-id */
	LINUX_NOTES_STOP,
	/* Functions that linux_search.c reads. */
	LINUX_GETPID,         /* __x64_sys_getpid */
	LINUX_ENTRY,          /* entry_SYSCALL_64 */
	LINUX_GET_PAGES,      /* __get_free_pages */
	LINUX_PRINT_MODULES,
	LINUX_GET_BPF,        /* bpf_get_kallsym */
	LINUX_TIMER,          /* sysvec_apic_timer_interrupt */
	LINUX_FIRST_FUNCTION = LINUX_GETPID,
	N_LINUX_SYMBOLS = LINUX_TIMER + 1
};

struct linux_guest {
	struct memory *memory;
	enum guest_type type;
	struct memory_root root;               /* swapper_pg_dir: reads every kernel address */
	uint64_t symbols[N_LINUX_SYMBOLS];     /* 0: the kernel has none */
	struct layout layout;
	bool has_layout;                       /* BTF was there */
	struct orc_layout orc_layout;          /* type_bits 0: not known */
	uint64_t page_offset;                  /* direct map */
	uint64_t vmemmap;
	uint64_t text_start, text_end;
};

static inline bool linux_read_u64(const struct linux_guest *linux_guest, uint64_t address,
				  uint64_t *value)
{
	return memory_read_u64(linux_guest->memory, linux_guest->root, address, value);
}

/* The upper half, where all kernel pointers point, whatever the paging mode. */
static inline bool linux_is_kernel(uint64_t address)
{
	return address >> 56 == 0xff;
}

#endif
