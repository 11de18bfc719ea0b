/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a Linux guest: the starting point of all readers of its data structures.
 * linux_attach.c fills it in; all of linux/ reads it. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_LINUX_GUEST_H
#define XTOP_LINUX_KERNEL_LINUX_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/layout.h"
#include "xtop/base/kernel_32.h"
#include "xtop/base/types.h"
#include "xtop/memory/memory.h"
#include "xtop/unwind/orc.h"

/*
 * Kernel symbols whose addresses are needed. linux_attach.c has the symbols' names, arch_x86.c the
 * names that only x86 needs.
 */
enum linux_symbol {
	LINUX_TEXT,           /* _text */
	LINUX_END,            /* _end */
	LINUX_BANNER,         /* linux_banner */
	LINUX_PAGE_TABLES,    /* swapper_pg_dir: page tables with every kernel address */
	LINUX_CURRENT_TASK,   /* per-cpu offset (an address from 6.15 on): current_task */
	LINUX_PCPU_HOT,       /* per-cpu: pcpu_hot, which has the current task from 6.2 to 6.14 */
	LINUX_TOP_OF_STACK,   /* per-cpu: cpu_current_top_of_stack */
	LINUX_HARDIRQ_STACK,  /* per-cpu: hardirq_stack_ptr */
	LINUX_TSS,            /* per-cpu: cpu_tss_rw */
	LINUX_TLB_STATE,      /* per-cpu: cpu_tlbstate */
	LINUX_LOCK_WAIT,      /* per-cpu: xen_qlock_wait_nest */
	LINUX_ENTRY_TASK,     /* arm64, address of a per-cpu variable: __entry_task */
	LINUX_RUNSTATE,       /* per-cpu (arm64: an address): xen_runstate */
	LINUX_TIMEKEEPER,     /* tk_core: sequence number and timekeeper */
	LINUX_PER_CPU_OFFSET, /* __per_cpu_offset: array of the per-cpu areas' bases */
	LINUX_TICK_DEVICE,    /* per-cpu: tick_cpu_device */
	LINUX_EVENT_CHANNELS, /* xen_irq_list_head */
	LINUX_XEN_VCPU,       /* per-cpu: xen_vcpu, pointer to Xen's struct vcpu_info */
	LINUX_MODULES,        /* modules: list of all modules */
	LINUX_BPF_KALLSYMS,   /* bpf_kallsyms: list of BPF programs */
	LINUX_FTRACE_OPS,     /* ftrace_ops_trampoline_list */
	LINUX_PAGE_OFFSET,    /* variable page_offset_base */
	LINUX_VMEMMAP,        /* variable vmemmap_base */
	LINUX_BTF_START,
	LINUX_BTF_STOP,
	LINUX_ORC_IP_START,
	LINUX_ORC_IP_STOP,
	LINUX_ORC_START,
	LINUX_ORC_STOP,
	LINUX_EXIDX_START, /* 32-bit Arm: __start_unwind_idx */
	LINUX_EXIDX_STOP,
	LINUX_HYPERCALLS, /* hypercall_page: code that Xen writes */
	LINUX_INIT_TASK,
	LINUX_LOG,         /* prb: pointer to the log's rings */
	LINUX_INIT_PID_NS, /* init_pid_ns: has all tasks, by pid */
	LINUX_FRED,        /* asm_fred_entrypoint_user: the kernel was built for FRED */
	LINUX_NOTES_START, /* __start_notes: build-id */
	LINUX_NOTES_STOP,
	/* Functions whose code search_*.c, layout_i386.c and layout_arm32.c read. */
	LINUX_GETPID,    /* __x64_sys_getpid */
	LINUX_ENTRY,     /* entry_SYSCALL_64 */
	LINUX_GET_PAGES, /* __get_free_pages */
	LINUX_PRINT_MODULES,
	LINUX_GET_BPF,    /* bpf_get_kallsym */
	LINUX_TIMER,      /* sysvec_apic_timer_interrupt */
	LINUX_IDLE_CPU,   /* idle_cpu */
	LINUX_STACK_INFO, /* dump_stack_print_info */
	LINUX_STOLEN,     /* xen_vcpu_stolen */
	LINUX_EL0_SYNC,   /* el0t_64_sync */
	/* Functions whose code task_layout_i386.c reads. */
	LINUX_SWITCH,    /* __switch_to_asm */
	LINUX_NEW_EXEC,  /* begin_new_exec */
	LINUX_CGROUP_ID, /* bpf_get_current_cgroup_id */
	LINUX_FIRST_FUNCTION = LINUX_GETPID,
	N_LINUX_SYMBOLS = LINUX_CGROUP_ID + 1
};

struct kernel_types;

struct linux_guest {
	struct memory *memory;
	enum guest_type type;
	struct memory_root root; /* page tables with every kernel address: swapper_pg_dir */
	uint64_t symbols[N_LINUX_SYMBOLS]; /* 0 if the kernel has no such symbol */
	struct layout layout;
	struct kernel_types *types;    /* reads what the layout lacks; NULL: nothing */
	bool has_layout;               /* layout has the members of tasks, mostly from BTF */
	struct orc_layout orc_layout;  /* type_bits is 0 if the layout is unknown */
	uint64_t page_offset;          /* start of the direct map */
	uint64_t vmemmap;              /* start of the array of struct page */
	uint64_t text_start, text_end; /* LINUX_TEXT and LINUX_END */
};

static inline bool linux_read_u64(const struct linux_guest *guest, uint64_t address,
				  uint64_t *value)
{
	return memory_read_u64(guest->memory, guest->root, address, value);
}

static inline bool linux_is_i386(const struct linux_guest *guest)
{
	return guest->root.width == WIDTH_32 || guest->root.width == WIDTH_32_PAE;
}

/* Whether the kernel has pointers of 4 bytes. */
static inline bool linux_is_short(const struct linux_guest *guest)
{
	return linux_is_i386(guest) || guest->root.width == ROOT_ARM32;
}

/* Size of a pointer of the kernel, and of a long. */
static inline unsigned linux_word_bytes(const struct linux_guest *guest)
{
	return linux_is_short(guest) ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* Reads a pointer of the kernel, or a long. */
static inline bool linux_read_word(const struct linux_guest *guest, uint64_t address,
				   uint64_t *value)
{
	uint32_t word;

	if (!linux_is_short(guest))
		return linux_read_u64(guest, address, value);
	if (!memory_read_u32(guest->memory, guest->root, address, &word))
		return false;
	*value = word;
	return true;
}

/*
 * Kernel pointers of 64 bits point to the upper half of the address space, in every paging mode. A
 * reader that also works on kernels of 32 bits calls linux_is_kernel_of() instead.
 */
static inline bool linux_is_kernel(uint64_t address)
{
	return address >> 56 == 0xff;
}

static inline bool linux_is_kernel_of(const struct linux_guest *guest, uint64_t address)
{
	return linux_is_short(guest) ? address >= KERNEL_32_START && address < KERNEL_32_END
				     : linux_is_kernel(address);
}

/* The word at ADDRESS; 0 if the word cannot be read, or if ADDRESS is not the kernel's. */
static inline uint64_t linux_word(const struct linux_guest *guest, uint64_t address)
{
	uint64_t word;

	return linux_is_kernel_of(guest, address) && linux_read_word(guest, address, &word) ? word
											    : 0;
}

/* Reads the first SIZE_BYTES of FUNCTION. Returns false if the kernel has no such function. */
static inline bool linux_read_function(const struct linux_guest *guest, enum linux_symbol function,
				       void *bytes, size_t size_bytes)
{
	uint64_t address = guest->symbols[function];

	return address &&
	       memory_read(guest->memory, guest->root, address, bytes, size_bytes) == size_bytes;
}

#endif
