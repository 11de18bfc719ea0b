/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block: what the stages tell each other besides samples, in memory that all processes
 * of xtop share. Each field has one writer. All fields are atomics, and only these functions access
 * the fields. The sampler checks the bounds of what it reads here, and trusts nothing else.
 *
 *   written by main      rates, budget, stride, resets, and what the other stages are to do: hold,
 *                        quit, hurry, finish
 *   written by resolver  how far up each stack region is live, where a Linux guest keeps its other
 *                        stacks, which processes run Go, and whether the guest is known
 *   written by sampler   its counters, times of vCPUs and stops, Xen's clock, when the next sample
 *                        comes, how sampling ended. When the sampler was killed, the first of
 *                        guard, keeper and main that is alive writes these fields
 *   written by guard     the CPU time of its process; guard and keeper have a field each
 *   or keeper
 */
#ifndef XTOP_CONTROL_H
#define XTOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/types.h"

#define RATE_MIN_HZ 1
#define RATE_MAX_HZ 20000
#define CONTROL_MAX_STRIDE 10000.0

enum sampler_state {
	SAMPLER_STARTING,
	SAMPLER_RUNNING,
	SAMPLER_GUEST_PAUSED, /* an administrator has paused the guest; nothing is sampled */
	SAMPLER_HUNG,         /* sampler and guard hung and were killed; another may start */
	SAMPLER_GUEST_AWAY,   /* the guest was shut down or destroyed, or crashed; it may return */
	SAMPLER_GUEST_GONE,   /* the guest is away, and nobody waits for it any more */
	SAMPLER_ENDED,        /* main asked for the end, or a replay is over */
	SAMPLER_FAILED,       /* control_get_message() says why */
};

/* A copy of the sampler's counters, since the start, over all samplers of this guest. */
struct sampler_counts {
	enum sampler_state state;
	double rate_asked_hz;
	double rate_now_hz;        /* samples in the last second */
	uint64_t ticks;            /* deadlines met, late or not */
	uint64_t samples;          /* ticks that gave a sample, idle ones included */
	uint64_t late;             /* ticks over half a period after their deadline */
	uint64_t missed;           /* deadlines that passed while an earlier tick took too long */
	uint64_t skipped_budget;   /* ticks without a stop, to keep within the budget */
	uint64_t waited;           /* ticks without a stop: the guest was not known yet */
	uint64_t idle_ticks;       /* all vCPUs blocked: the guest was not stopped at all */
	uint64_t unstopped;        /* samples without a stop: no vCPU had run since its last one */
	uint64_t lost;             /* ticks without a stop, because the resolver was behind */
	uint64_t given_up;         /* ticks lost or missed that no sample stands for */
	uint64_t refused;          /* ticks in which Xen did not stop the guest or read vCPUs */
	uint64_t retakes;          /* further stops of a tick, or stops after a failed peek */
	uint64_t stops;            /* stops of the guest or of one vCPU, refused ones included */
	uint64_t stopped_ns;       /* sum of all stops */
	uint64_t elapsed_ns;       /* time since sampling started */
	uint64_t guest_pages;      /* Xen's count of pages, in state RUNNING or GUEST_PAUSED */
	uint64_t mapped_pages;     /* guest pages mapped now */
	uint64_t maps;             /* pages mapped so far */
	uint64_t faults;           /* guest pages that went away during a read */
	uint64_t cpu_ns;           /* CPU time of the sampler's process */
	uint64_t restarts;         /* new samplers after one that hung in a stop and was killed */
	uint64_t ending;           /* enum guest_end, once the guest is away */
	double stopped_share;      /* stopped share of the last second, 0..1 */
	double stopped_share_max;  /* the largest share of any second so far */
};

/* Where the time of a vCPU went since the sampler started, or over all samplers of this guest. */
struct vcpu_times {
	uint64_t span_ns;   /* the whole time; 0: nothing is known, as in a replay */
	uint64_t ran_ns;    /* time in which the vCPU ran, by Xen's count */
	uint64_t waited_ns; /* time in which the vCPU waited for a physical CPU: steal */
};

/* Stopped times, one for each stop. Quantiles are exact to better than 1 %. */
struct stopped_summary {
	uint64_t n, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
	double mean_ns;
	/* Numbers of stops by powers of two; log2[i] counts stops of [2^i, 2^(i+1)) ns. */
	uint64_t log2[40];
};

struct control;

struct xtop_error *control_create(struct control **controlp); /* shared over fork() */
void control_destroy(struct control *control);
/* The descriptor of the memory, in the process that created it. */
int control_fd(const struct control *control);
/*
 * Opens the control block in another process, by FD, which comes from control_fd(). The caller
 * keeps FD. An FD that is not sealed is refused.
 */
struct xtop_error *control_adopt(int fd, struct control **controlp);
void control_close(struct control *control); /* undoes control_adopt() */
/*
 * In this process and those that it forks, control_get_budget() is at most SHARE, whatever main
 * writes.
 */
void control_set_budget_limit(double share);
/* In this process and those that it forks, control_get_rate() is at most HZ. */
void control_set_rate_limit(double hz);
/*
 * SPENT: an earlier sampler may have used the credit that was saved up. So the next sampler of this
 * process, or of a process that it forks, starts without credit.
 */
void control_set_credit_spent(bool spent);

/* Main. */
void control_set_rate(struct control *control, double hz);
void control_set_budget(struct control *control, double share); /* 0..1 of the guest's time */
/*
 * At most every STRIDE-th tick gives a sample; STRIDE is 1 or more. In this way --host-budget slows
 * all guests down alike. Samples keep their weights in ticks, so STRIDE may change at any time.
 */
void control_set_stride(struct control *control, double stride);
/* How often a second the resolver looks at waiting tasks; 0: never. */
void control_set_waits_hz(struct control *control, double hz);
double control_get_waits_hz(const struct control *control); /* resolver */
/* ON: stacks show an interpreter's own functions, not the functions of the program that it runs. */
void control_set_interpreters(struct control *control, bool on);
bool control_get_interpreters(const struct control *control); /* resolver */
void control_quit(struct control *control);          /* asks the sampler to end */
void control_reset_profile(struct control *control); /* asks the resolver to forget the profile */
/* The sampler stops the guest once, then not again until control_set_guest_known(). */
void control_set_hold(struct control *control);
/*
 * The user waits for the end, so the resolver ends soon (RESOLVER_HURRY_NS). This cannot be undone.
 */
void control_hurry(struct control *control);
/* The sampler has ended. The resolver empties the ring and ends. */
void control_finish(struct control *control);
/* Says how sampling ended, when sampler, guard and keeper are dead. */
void control_set_state(struct control *control, enum sampler_state state);
/* Another sampler will start, after sampler, guard and keeper are dead. */
void control_restart(struct control *control);

/* Resolver. */
/* When the next sample comes at the earliest (control_set_next()); 0: not known. */
uint64_t control_get_next(const struct control *control);
/* How often control_reset_profile() was called. */
uint64_t control_get_resets(const struct control *control);
bool control_is_finishing(const struct control *control);
bool control_is_hurrying(const struct control *control);
/*
 * KNOWN: the resolver knows what it needs to know of the guest. Not KNOWN: the resolver no longer
 * knows the guest, which is another one after a reboot.
 */
void control_set_guest_known(struct control *control, bool known);

/* Sampler. */
double control_get_rate(const struct control *control);
double control_get_budget(const struct control *control);
double control_get_stride(const struct control *control); /* 1 .. CONTROL_MAX_STRIDE */
bool control_is_credit_spent(void);
bool control_is_quitting(const struct control *control);
bool control_is_on_hold(const struct control *control);
void control_set_counts(struct control *control, const struct sampler_counts *counts);
void control_count_stopped(struct control *control, uint64_t stopped_ns);
/* TIMES has N elements, one for each vCPU, at most GUEST_MAX_VCPUS. */
void control_set_times(struct control *control, const struct vcpu_times *times, unsigned n);
/* Xen's system time is AHEAD_NS, modulo 2^64, ahead of dom0's CLOCK_MONOTONIC. */
void control_set_xen_clock(struct control *control, uint64_t ahead_ns);
/* The next sample comes at NEXT_NS (CLOCK_MONOTONIC) at the earliest. */
void control_set_next(struct control *control, uint64_t next_ns);
/* Call this at most once, before the state becomes FAILED or ENDED. */
void control_set_message(struct control *control, const char *message);

/* Guard and keeper. */
enum control_watcher { CONTROL_GUARD, CONTROL_KEEPER };
#define N_CONTROL_WATCHERS 2
void control_set_watcher_cpu(struct control *control, enum control_watcher who, uint64_t cpu_ns);

/* Any reader. */
/* CPU time of guard and keeper together, in ns. */
uint64_t control_get_watchers_cpu(const struct control *control);
void control_get_counts(const struct control *control, struct sampler_counts *counts);
void control_get_stopped(const struct control *control, struct stopped_summary *summary);
void control_get_times(const struct control *control, struct vcpu_times *times, unsigned n);
/* Returns false if the clock is not known yet, or Xen did not answer; *AHEAD_NS is untouched. */
bool control_get_xen_clock(const struct control *control, uint64_t *ahead_ns);
/* The message of the states FAILED and ENDED; "" if there is none. A message never changes. */
const char *control_get_message(const struct control *control);
/* How the guest ended. A number in COUNTS that no enum guest_end has counts as unknown. */
enum guest_end control_get_ending(const struct sampler_counts *counts);

/*
 * Hints for the live part of stacks, by region of STACK_REGION_BYTES. The resolver stores the
 * address up to which the stack at ADDRESS was used. The sampler asks for that address before it
 * copies. CR3 of the vCPU tells the address space; addresses of the upper half mean the same in all
 * address spaces. The hints lie in a small hash table. A hint may be overwritten by the hint for
 * another region; then a copy becomes shorter or longer.
 */
#define STACK_REGION_BYTES (16 << 10)
void control_set_stack_top(struct control *control, uint64_t cr3, uint64_t address, uint64_t top);
/* Sets TOP unless a top is known for the region. */
void control_guess_stack_top(struct control *control, uint64_t cr3, uint64_t address, uint64_t top);
/* The address TOP that was last set for the region; 0: not known. */
uint64_t control_get_stack_top(const struct control *control, uint64_t cr3, uint64_t address);

/*
 * Where the threads of a process that runs Go find their stacks, by CR3, in a small hash table
 * whose entries may be overwritten. CALLBACKS: C has called Go in that process.
 */
struct go_stacks; /* go_stacks.h */
/*
 * Written by the resolver. STACKS NULL, or with g 0: the process runs no Go. CALLBACKS stays true
 * for the process once it was true.
 */
void control_set_go_stacks(struct control *control, uint64_t cr3, const struct go_stacks *stacks,
			   bool callbacks);
/* Whether any process was ever known to run Go. */
bool control_has_go(const struct control *control);
/* Returns false if the process is not known to run Go. */
bool control_get_go_stacks(const struct control *control, uint64_t cr3, struct go_stacks *stacks,
			   bool *callbacks);

/*
 * How the sampler copies the frames of the interpreter that a process runs (recipe.h), by CR3, in a
 * small hash table whose entries may be overwritten.
 */
struct recipe; /* recipe.h */
/* Written by the resolver. RECIPE NULL: the process has no recipe any more. */
void control_set_recipe(struct control *control, uint64_t cr3, const struct recipe *recipe);
/* Whether any process ever had a recipe. */
bool control_has_recipes(const struct control *control);
/* Returns false, and leaves *RECIPE undefined, if the process has no recipe, or a wrong one. */
bool control_get_recipe(const struct control *control, uint64_t cr3, struct recipe *recipe);

/*
 * Where a Linux guest keeps its stacks besides the stack at rsp. A "per-cpu" number is an offset
 * that is added to the vCPU's gs_base_kernel. The sampler checks these numbers and only reads where
 * they point. Wrong numbers give wrong stacks, as a wrong stack pointer does.
 *
 *   task->stack ┌────────────────┐
 *               │                │
 *          rsp ►│ live part      │   stack_bytes
 *               │ pt_regs        │ ┐ regs_below_top
 *           top ├────────────────┤ ┘
 *               └────────────────┘   top_padding
 */
#define CURRENT_IN_REGISTER UINT64_MAX
struct linux_stacks {
	/* Page tables with all kernel addresses: CR3, or TTBR1_EL1 on arm64; 0: the vCPU's own. */
	uint64_t kernel_cr3;
	/*
	 * Where the pointer to the running task is; 0: nothing is known, no Linux. arm64 has
	 * CURRENT_IN_REGISTER. Then the only other "per-cpu" numbers are runstate_per_cpu and
	 * entry_task_per_cpu, addresses to which the CPU's word of per_cpu_table is added.
	 */
	uint64_t current_per_cpu;
	uint64_t top_per_cpu;       /* cpu_current_top_of_stack; 0: task->stack tells `top` */
	uint64_t irq_stack_per_cpu; /* pointer such as hardirq_stack_ptr; 0: not known */
	uint64_t tss_per_cpu;       /* cpu_tss_rw; 0: not known */
	uint64_t loaded_mm_per_cpu; /* pointer to the mm of the last switch; 0: not known */
	uint64_t lock_wait_per_cpu; /* xen_qlock_wait_nest, 32 bits; 0: not known */
	uint64_t runstate_per_cpu;  /* xen_runstate; 0: not known */
	/* __entry_task of arm64, pointer to the task whose user code runs; 0: not known. */
	uint64_t entry_task_per_cpu;
	/*
	 * __per_cpu_offset of i386, Arm and arm64, which has the base of each CPU's variables; 0:
	 * another machine, or not known. On i386 and Arm only `kernel_cr3` (Arm: TTBR0),
	 * `task_stack`, `current_per_cpu` and `stack_bytes` count.
	 */
	uint64_t per_cpu_table;
	uint32_t task_stack;        /* offset of `stack` in the task */
	uint32_t stack_bytes;       /* THREAD_SIZE */
	uint32_t top_padding;       /* TOP_OF_KERNEL_STACK_PADDING: 0, or 16 with FRED */
	uint32_t regs_below_top;    /* sizeof(struct pt_regs): 168 on x86-64 */
	uint32_t irq_stack_bytes;   /* IRQ_STACK_SIZE */
	uint32_t irq_above;         /* bytes of the stack above hardirq_stack_ptr: 8 since 5.8 */
	uint32_t task_mm;           /* offset of `mm` in the task */
	uint32_t mm_start_stack;    /* offset of `start_stack` in the mm; 0: not known */
	uint32_t mm_pgd;            /* offset of `pgd` in the mm; 0: not known */
	uint32_t task_thread_pointer; /* arm64: TASK_THREAD_POINTER; 0: not known */
};
/* Written by the resolver. STACKS NULL: nothing is known any more. */
void control_set_linux_stacks(struct control *control, const struct linux_stacks *stacks);
/*
 * Read by the sampler. *VERSION tells which stacks the sampler has read last; 0: none. Returns
 * false, and leaves *VERSION and *STACKS as they are, if nothing is new or if the resolver is
 * writing now.
 */
bool control_get_linux_stacks(const struct control *control, uint64_t *version,
			      struct linux_stacks *stacks);

#endif
