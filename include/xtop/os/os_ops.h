/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What xtop asks an operating system in order to look inside a guest that runs it. Each system has
 * a folder, fills in one struct os_ops, and has one line in the table of os/os.c. os.c decides when
 * these functions are called; the systems know nothing of that.
 *
 * Resolver's thread. Expected failures are data: a system describes what it could not find.
 */
#ifndef XTOP_OS_OPS_H
#define XTOP_OS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/types.h"
#include "xtop/os/os_counts.h"
#include "xtop/os/os_events.h"
#include "xtop/os/os_log.h"
#include "xtop/os/os_waits.h"
#include "xtop/sample/control.h"

struct fetch;
struct kernel_cache;
struct line_client;
struct memory;
struct sample_vcpu;
struct space;
struct symbols;

#define OS_UUID_BYTES 40
#define OS_NOTES      3
#define OS_NOTE_BYTES 96

#define OS_MAX_FOLDERS 8

/* Open folders of dom0. */
struct os_folders {
	int fds[OS_MAX_FOLDERS];
	unsigned n;
};

/* Where debug files are searched, and who reads them. Everything is borrowed. */
struct debug_places {
	const struct os_folders *folders; /* folders of --debug-dir; NULL if there are none */
	int root_fd;                      /* folder of --root; -1 if there is none */
	struct line_client *lines;        /* NULL: source lines are not read */
	struct fetch *fetch;              /* NULL: no file is fetched */
};

/*
 * What find() gets to look for a system. All pointers are borrowed and outlive the system that
 * find() returns.
 */
struct os_guest {
	struct memory *memory;
	enum guest_type type;
	char uuid[OS_UUID_BYTES];          /* UUID of the domain */
	struct kernel_cache *kernel_cache; /* NULL if nothing is kept for the next start */
	const struct symbols *symbols;     /* symbols of -k */
	struct debug_places debug;
	bool at_once;         /* one report is made: nothing is put off to a later time */
	unsigned looks;       /* failed searches since a system was last known */
	struct space *kernel; /* find() and poll() map the kernel's code here */
};

/* The task of a sample. Strings are raw, and valid until the next call. */
struct os_task {
	/* names of the group's leader and of the task; NULL if unknown */
	const char *process, *thread;
	const char *cgroup; /* path of the container or unit; NULL or "" if there is none */
	uint32_t pid, tgid;
	bool kernel_thread;
	bool idle;                /* the task is the vCPU's idle task, and nothing interrupted it */
	const struct space *user; /* user code of the task's process; NULL if there is none */
	uint64_t thread_pointer;  /* thread pointer of USER; 0: not known */
	bool ended; /* the task belongs to a process that has given up its memory by now */
};

struct os_description {
	char system[OS_NOTE_BYTES];          /* "Linux 6.1.0-37-amd64"; "" if unknown */
	char notes[OS_NOTES][OS_NOTE_BYTES]; /* what is missing and what would help; "" if unused */
	bool fetching; /* names are being fetched, and notes[0] tells the progress */
};

/* Times on the guest's own clocks. */
struct os_clock {
	uint64_t monotonic_ns; /* time since boot */
	uint64_t real_ns;      /* time since 1970 */
};

/* Whether a vCPU runs the kernel that was found. */
enum os_runs { OS_RUNS, OS_RUNS_NOT, OS_RUNS_UNKNOWN };

/*
 * A system has find(), destroy(), is_there() and describe(). Any other function is NULL if the
 * system has no answer.
 */
struct os_ops {
	/* "Linux"; NULL if the user need not know that the system was not found */
	const char *name;
	unsigned archs; /* bit mask of enum guest_arch whose registers find() understands */
	/*
	 * Looks for the system under the page tables of REGS, and maps its kernel in guest->kernel.
	 * *STACKS receives what the sampler needs to copy all stacks of a sample; it stays
	 * untouched if the layout of stacks is unknown. Returns NULL if the system is not there, or
	 * not yet, or if memory is out.
	 */
	void *(*find)(const struct os_guest *guest, const struct registers *regs,
		      struct linux_stacks *stacks);
	void (*destroy)(void *system); /* Leaves guest->kernel as it is, or empty. */
	/* Whether the same kernel is still in memory. After a reboot it is not. */
	bool (*is_there)(void *system);
	/*
	 * Whether VCPU ran this kernel. After a kexec the old kernel may stay in memory for long.
	 */
	enum os_runs (*runs_on)(void *system, const struct sample_vcpu *vcpu);
	/*
	 * Called about once a second. Looks for modules that came and went, and for missing bytes.
	 */
	void (*poll)(void *system, uint64_t now_ns);
	/*
	 * Fills in the task of VCPU, which ran at NOW_NS. TASK is zeroed, and stays so if nothing
	 * is known.
	 */
	void (*find_task)(void *system, const struct sample_vcpu *vcpu, uint64_t now_ns,
			  struct os_task *task);
	void (*get_kernel_root)(const void *system, struct memory_root *root);
	/*
	 * Runs the next turn of a pass over all tasks while the guest runs, and reports tasks to
	 * SINK. PERIOD_NS is the wanted time between the beginnings of two passes.
	 */
	enum os_waits_turn (*read_waits)(void *system, uint64_t now_ns, uint64_t period_ns,
					 const struct os_waits_sink *sink);
	/*
	 * Reports each task that is on no CPU, with its stack, in one call. SINK has no lock() and
	 * keeps nothing. Returns false if the kernel has no list of tasks.
	 */
	bool (*read_tasks)(void *system, uint64_t now_ns, const struct os_waits_sink *sink);
	/* COUNTS is zeroed. */
	void (*get_waits_counts)(const void *system, struct os_waits_counts *counts);
	void (*describe)(const void *system, struct os_description *description);
	void (*get_counts)(const void *system, struct os_counts *counts); /* COUNTS is zeroed. */
	/* LOG is zeroed. */
	void (*read_log)(const void *system, struct os_log *log);
	/*
	 * The clocks at Xen's system time XEN_NS. Returns false if they are unknown; *CLOCK is
	 * untouched.
	 */
	bool (*read_clock)(void *system, uint64_t xen_ns, struct os_clock *clock);
	/*
	 * Expiry of VCPU's next timer on the clock monotonic_ns; OS_NO_TIMER if none is set.
	 * Returns false if the timer is unknown.
	 */
	bool (*read_timer)(void *system, unsigned vcpu, uint64_t *timer_ns);
	/*
	 * What can wake each of N vCPUs. Returns false if the state is unknown; EVENTS then says so
	 * as well.
	 */
	bool (*read_events)(void *system, struct os_events *events, unsigned n);
	/*
	 * Reads from the front of the file that the process TGID knows as PATH, at most SIZE_BYTES
	 * and as far as the file is in memory. Returns the number of bytes.
	 */
	size_t (*read_file)(void *system, uint32_t tgid, const char *path, void *buffer,
			    size_t size_bytes);
};

/* --- the systems ------------------------------------------------------------------------------ */

extern const struct os_ops linux_os;      /* linux/linux.c */
extern const struct os_ops windows_os;    /* windows/windows.c */
extern const struct os_ops elf_kernel_os; /* elf_kernel/elf_kernel.c */

#endif
