/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block: what the stages tell each other besides samples, in memory shared by all
 * processes of xtop. Every field has one writer; all are atomics, read and written through these
 * functions only. Nothing in it is trusted by the sampler further than a bounds check.
 *
 *   written by main     rate, budget, quit, resets, and that no more samples will come
 *   written by resolver what it learned of each stack region (how far up the stack is live), and
 *                       where a Linux guest keeps the rest of its stacks
 *   written by sampler  its counters, the histogram of stopped times, how it ended; when it is dead
 *                       by the guard, the broker or main, in this order: whoever is left
 */
#ifndef XTOP_CONTROL_H
#define XTOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/types.h"

#define RATE_MIN_HZ 1
#define RATE_MAX_HZ 20000

enum sampler_state {
	SAMPLER_STARTING,
	SAMPLER_RUNNING,
	SAMPLER_GUEST_PAUSED, /* by an administrator: nothing runs, nothing is taken */
	SAMPLER_HUNG,         /* and its guard, too: killed, the guest runs; others may be started */
	SAMPLER_GUEST_AWAY,   /* shut down, crashed, destroyed: whether it comes back is not known yet */
	SAMPLER_GUEST_GONE,   /* the same, and nobody waits for it any more */
	SAMPLER_ENDED,        /* asked to; or a recording is played: control_message() says what was wrong with it */
	SAMPLER_FAILED,       /* control_message() says why */
};

/* A copy of the sampler's counters, all since start, whoever sampled. */
struct sampler_counts {
	enum sampler_state state;
	double rate_asked_hz;
	double rate_now_hz;        /* reached in the last second */
	uint64_t ticks;            /* deadlines met, late or not */
	uint64_t samples;          /* of these, those that gave a sample, idle ones included */
	uint64_t late;             /* over half a period after the deadline */
	uint64_t missed;           /* deadlines passed over because a tick took too long */
	uint64_t skipped_budget;   /* ticks not taken to keep within the budget */
	uint64_t waited;           /* ticks not taken before the resolver knew what runs inside */
	uint64_t idle_ticks;       /* all vCPUs blocked: the guest was not stopped at all */
	uint64_t lost;             /* the resolver is behind: tick dropped, guest not stopped */
	uint64_t refused;          /* ticks at which Xen would not stop the guest or read its vCPUs */
	uint64_t retakes;          /* second stop at once, after mapping what the first one missed */
	uint64_t stops;            /* times the guest was stopped */
	uint64_t stopped_ns;       /* in all */
	uint64_t elapsed_ns;       /* since sampling started */
	uint64_t guest_pages;      /* the guest has, as Xen counts them; while RUNNING or GUEST_PAUSED */
	uint64_t mapped_pages;     /* guest pages mapped now */
	uint64_t maps;             /* pages mapped so far */
	uint64_t faults;           /* pages that went away under us */
	uint64_t cpu_ns;           /* of the sampler's process */
	uint64_t restarts;         /* of the sampler: the one before hung in a stop, and was killed */
	uint64_t ending;           /* enum guest_end, once the guest is away */
	double stopped_share;      /* of the last seconds, 0..1 */
	double stopped_share_max;  /* the most that was ever seen over such a span */
};

/* Of the stopped time per sample, exact to better than 1 %. */
struct stopped_summary {
	uint64_t n, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
	double mean_ns;
	/* For drawing: counts by power of two; [i] holds [2^i, 2^(i+1)) ns. */
	uint64_t log2[40];
};

struct control;

struct xtop_error *control_create(struct control **controlp); /* shared over fork() */
/* The same in another process: FD is control_fd()'s, stays the caller's. Refused if not sealed. */
struct xtop_error *control_adopt(int fd, struct control **controlp);
int control_fd(const struct control *control); /* of who created it */
void control_release(struct control *control); /* what control_adopt() gave */
/* In this process and those it forks control_budget() is at most SHARE, whatever main writes. */
void control_limit_budget(double share);
/* The same: a sampler of this guest was there before, or was not, so what may be saved up is spent. */
void control_spend_credit(bool spent);
void control_destroy(struct control *control);

/* Main. */
void control_set_rate(struct control *control, double hz);
void control_set_budget(struct control *control, double share); /* 0..1 of the guest's time */
void control_quit(struct control *control);   /* the sampler is to end */
void control_start_anew(struct control *control); /* all have ended: another sampler will come */
void control_settle(struct control *control, enum sampler_state state); /* same: that is how it ended */
void control_reset(struct control *control);  /* the resolver is to forget the profile */
void control_hold(struct control *control);   /* one stop, then none until control_go() */
void control_finish(struct control *control); /* the sampler has ended: the resolver is to drain and end */

/* Resolver. */
uint64_t control_resets(const struct control *control); /* how often control_reset() was called */
bool control_finishing(const struct control *control);
void control_go(struct control *control);     /* it knows what it has to know of the guest */
void control_wait(struct control *control);   /* it does not any more: another guest comes */

/* Sampler. */
double control_rate(const struct control *control);
double control_budget(const struct control *control);
bool control_credit_is_spent(void);
bool control_quitting(const struct control *control);
bool control_holding(const struct control *control);
void control_put_counts(struct control *control, const struct sampler_counts *counts);
void control_add_stopped(struct control *control, uint64_t stopped_ns);
void control_put_message(struct control *control, const char *message); /* before FAILED or ENDED, once */

/* Any reader. */
void control_get_counts(const struct control *control, struct sampler_counts *counts);
void control_get_stopped(const struct control *control, struct stopped_summary *summary);
const char *control_message(const struct control *control); /* "" when none; then never changes */
enum guest_end control_ending(const struct sampler_counts *counts); /* checked */

/*
 * Live part of the stacks, by region of STACK_REGION_BYTES: the resolver stores the address up to
 * which the stack at ADDRESS was used, the sampler asks for it before it copies. CR3, the vCPU's,
 * tells the address space; addresses of the upper half mean the same in all. A hash of limited
 * size: an entry may be overwritten by another region, which costs a shorter or longer copy.
 */
#define STACK_REGION_BYTES (16 << 10)
void control_learn_stack(struct control *control, uint64_t cr3, uint64_t address, uint64_t top);
uint64_t control_stack_top(const struct control *control, uint64_t cr3,
			   uint64_t address); /* 0: not known */

/*
 * How to find, in a Linux guest, what belongs to a sample besides the stack at rsp. "Per-cpu" is an
 * offset that is added to the vCPU's gs_base_kernel. The sampler checks the numbers and reads where
 * they point, nothing more: a wrong recipe gives wrong stacks, as a wrong stack pointer does.
 *
 *   task->stack ┌────────────────┐
 *               │                │
 *          rsp ►│ live part      │   stack_bytes
 *               │ pt_regs        │ ┐ regs_below_top
 *           top ├────────────────┤ ┘
 *               └────────────────┘   top_padding
 */
struct stack_recipe {
	uint64_t kernel_cr3;        /* page tables that have all kernel addresses; 0: the vCPU's own do */
	uint64_t current_per_cpu;   /* pointer to the running task; 0: there is no recipe */
	uint64_t top_per_cpu;       /* that top, e.g. cpu_current_top_of_stack; 0: by task->stack */
	uint64_t irq_stack_per_cpu; /* pointer to the interrupt stack, e.g. hardirq_stack_ptr; 0: not known */
	uint64_t tss_per_cpu;       /* cpu_tss_rw; 0: not known */
	uint32_t task_stack;        /* offset of `stack` in the task */
	uint32_t stack_bytes;       /* THREAD_SIZE */
	uint32_t top_padding;       /* TOP_OF_KERNEL_STACK_PADDING: 0, or 16 with FRED */
	uint32_t regs_below_top;    /* sizeof(struct pt_regs): 168 */
	uint32_t irq_stack_bytes;   /* IRQ_STACK_SIZE */
	uint32_t irq_above;         /* from where its pointer points to its end: 8 since 5.8 */
	uint32_t task_mm;           /* offset of `mm` in the task */
	uint32_t mm_start_stack;    /* of `start_stack` in that; 0: not known */
};
/* Resolver; NULL: there is none any more. */
void control_set_recipe(struct control *control, const struct stack_recipe *recipe);
/* Sampler. False: it is just being written, what was read before still holds. */
bool control_get_recipe(const struct control *control, struct stack_recipe *recipe);

#endif
