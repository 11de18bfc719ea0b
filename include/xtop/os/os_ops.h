/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an operating system has to answer so that xtop can look inside a guest that runs it. Each
 * system lies in a folder of its own, fills in one struct os_ops, and has one line in the table of
 * os/os.c. os.c decides when these functions are called; they know nothing of that.
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

struct kernel_cache;
struct memory;
struct sample_vcpu;
struct space;
struct symbols;

#define OS_UUID_BYTES 40
#define OS_NOTES      3
#define OS_NOTE_BYTES 96

#define OS_MAX_FOLDERS 8

/* Folders of dom0, open. */
struct os_folders {
	int fds[OS_MAX_FOLDERS];
	unsigned n;
};

/* What a system is looked for in. Everything is borrowed and outlives what find() returns. */
struct os_guest {
	struct memory *memory;
	enum guest_type type;
	char uuid[OS_UUID_BYTES];          /* of the domain */
	struct kernel_cache *kernel_cache; /* NULL: nothing is kept for the next start */
	const struct symbols *symbols;     /* of -k */
	int root_fd;                       /* of --root; -1: none */
	struct os_folders debug_folders;   /* of --debug-dir */
	bool at_once;                      /* one report: nothing is put off to a later time */
	unsigned looks;                    /* in vain, since a system was known */
	struct space *kernel;              /* find() and poll() map the kernel's code here */
};

/* Which task a sample belongs to. Strings are raw, and live until the next call. */
struct os_task {
	const char *process, *thread; /* names of the group's leader and of the task; NULL: none */
	const char *cgroup;           /* of the container or unit that it is in; NULL or "": none */
	uint32_t pid, tgid;
	bool kernel_thread;
	bool idle;                /* the vCPU's idle task, and nothing interrupted it */
	const struct space *user; /* the user code of its process; NULL: none */
	bool ended;               /* a process's task that has given up its memory by now */
};

struct os_description {
	char system[OS_NOTE_BYTES];          /* "Linux 6.1.0-37-amd64"; "": nothing is known */
	char notes[OS_NOTES][OS_NOTE_BYTES]; /* what is missing and what would help; "": none */
	bool fetching; /* names are on their way, and notes[0] says how far */
};

/* What the system's own clocks show. */
struct os_clock {
	uint64_t monotonic_ns; /* since its boot */
	uint64_t real_ns;      /* since 1970 */
};

/* Whether a vCPU runs on the kernel that was found. */
enum os_runs { OS_RUNS, OS_RUNS_NOT, OS_RUNS_UNKNOWN };

struct os_ops {
	const char *name; /* "Linux"; NULL: of no use to tell that it was not found */
	unsigned archs;   /* bit enum guest_arch: find() knows its registers */
	/*
	 * Looks for the system under the page tables of REGS, and maps its kernel in guest->kernel.
	 * *STACKS is what the sampler has to know to copy all stacks of a sample; it stays as it
	 * was when that is not known. NULL: the system is not there, or not yet, or memory is out.
	 */
	void *(*find)(const struct os_guest *guest, const struct registers *regs,
		      struct linux_stacks *stacks);
	void (*destroy)(void *system); /* leaves guest->kernel as it is, or empty */
	/* Whether the same kernel is still in memory: after a reboot it is not. */
	bool (*is_there)(void *system);
	/* Whether VCPU ran on it: after a kexec the old kernel may stay in memory for long. */
	enum os_runs (*runs_on)(void *system, const struct sample_vcpu *vcpu);
	/* Called about once a second: modules that came and went, bytes that were missing. */
	void (*poll)(void *system, uint64_t now_ns);
	/* TASK is zeroed, and stays so when nothing is known. VCPU ran at NOW_NS. */
	void (*find_task)(void *system, const struct sample_vcpu *vcpu, uint64_t now_ns,
			  struct os_task *task);
	void (*get_kernel_root)(const void *system, struct memory_root *root); /* NULL: not known */
	/*
	 * The next turn of a pass over all tasks, for SINK, while the guest runs. PERIOD_NS:
	 * between the beginnings of passes, as far as they are in time. NULL: the system has no
	 * tasks.
	 */
	enum os_waits_turn (*read_waits)(void *system, uint64_t now_ns, uint64_t period_ns,
					 const struct os_waits_sink *sink);
	/*
	 * The same in one go, for a sink without lock(), which keeps nothing: each task that is on
	 * no CPU, with its stack. False: the system has no list of tasks. NULL: likewise.
	 */
	bool (*read_tasks)(void *system, uint64_t now_ns, const struct os_waits_sink *sink);
	void (*get_waits_counts)(const void *system, struct os_waits_counts *counts); /* zeroed */
	void (*describe)(const void *system, struct os_description *description);
	void (*get_counts)(const void *system, struct os_counts *counts); /* zeroed before */
	/* LOG is zeroed. NULL: the system has no log. */
	void (*read_log)(const void *system, struct os_log *log);
	/* At Xen's system time XEN_NS. False: not known; *CLOCK is untouched. */
	bool (*read_clock)(void *system, uint64_t xen_ns, struct os_clock *clock);
	/*
	 * When VCPU's next timer comes, by the clock monotonic_ns; OS_NO_TIMER: none is set. False:
	 * that is not known. NULL: likewise.
	 */
	bool (*read_timer)(void *system, unsigned vcpu, uint64_t *timer_ns);
	/* What can wake each of N vCPUs. False: not known, and so say EVENTS. NULL: likewise. */
	bool (*read_events)(void *system, struct os_events *events, unsigned n);
};

/* --- the systems ------------------------------------------------------------------------------ */

extern const struct os_ops linux_os;      /* linux/linux.c */
extern const struct os_ops windows_os;    /* windows/windows.c */
extern const struct os_ops elf_kernel_os; /* elf_kernel/elf_kernel.c */

#endif
