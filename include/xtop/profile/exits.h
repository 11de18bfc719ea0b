/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a guest leaves its physical CPUs: its exits to Xen by reason, with the functions that cause
 * them, and how long its vCPUs wait to run. Records of Xen's trace buffers tell all this. One
 * thread. Records are not trusted: whatever they say, only figures are wrong.
 *
 * An exit begins with a VMEXIT record, which has reason and instruction pointer, and ends with the
 * VMENTRY record of that physical CPU. A record of a handler in between tells what the exit was
 * for, such as the number of an MSR. Which vCPU runs there is known from the last change of a run
 * state. A vCPU that stops running during an exit, as one that halts, ends the exit's time there.
 */
#ifndef XTOP_EXITS_H
#define XTOP_EXITS_H

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/base/types.h"

#define EXITS_MAX_ROWS   LIMIT(512, 8)   /* reasons that are told apart */
#define EXITS_MAX_CAUSES LIMIT(4096, 16) /* combinations of reason, function and process */
#define EXITS_MAX_CPUS   1024            /* physical CPUs */
#define EXITS_LOG2       40              /* powers of two that a histogram covers */

enum exit_kind {
	EXIT_SVM, /* code: the exit code of AMD's SVM */
	EXIT_VMX, /* code: the basic exit reason of Intel's VMX */
	EXIT_PV,  /* code: the event of Xen's trace, an entry from a PV guest */
};
#define EXIT_NO_DETAIL UINT32_MAX

/* The key by which exits are counted. */
struct exit_reason {
	uint8_t kind; /* enum exit_kind */
	uint32_t code;    /* code of the exit; 0 if HANDLER names the exit */
	uint32_t handler; /* event of the record that names the exit; 0: its code names it */
	uint32_t detail;  /* MSR, leaf, port, hypercall, register; or EXIT_NO_DETAIL */
};

struct exits_weight {
	uint64_t count;
	double ns; /* time in Xen */
};

struct exits_row {
	struct exit_reason reason;
	struct exits_weight live, total;
	uint64_t p99_ns, longest_ns; /* times of the exits since start or reset */
	uint32_t frame; /* the reason's frame (exits_name_rows()); FRAME_NONE: not named yet */
	uint32_t times; /* index in the table's times[] */
};

/* The code that exits. */
struct exits_place {
	uint32_t frame;   /* the function */
	uint32_t process; /* FRAME_ROOT: not known, or code of the kernel */
};

struct exits_cause {
	uint32_t row; /* index of the reason's row */
	struct exits_place place;
	struct exits_weight live, total;
};

/* How long one vCPU waits from runnable to running. */
struct exits_wakes {
	uint64_t count, p50_ns, p99_ns, longest_ns;
	double ns;
	uint32_t longest_by; /* domid that had the CPU in the longest wait; UINT32_MAX: not known */
	/* [i]: waits that took at least 2^i ns, but less than 2^(i+1) ns */
	uint32_t log2[EXITS_LOG2];
};

struct time_histogram;
struct exits_table {
	char failure[160]; /* why nothing is traced; "": something is, or was */
	bool tracing;      /* Xen traces now */
	double live_span_ns, span_ns;
	double xen_ticks;            /* live weight of the profile's rows "[xen]" */
	uint64_t records, lost, bad; /* lost: Xen's buffers were full; bad: made no sense */
	uint64_t refused;            /* exits that found no room in the tables */
	uint64_t cpu_ns;             /* CPU time that reading the buffers took */
	unsigned n_vcpus;            /* number of vCPUs, GUEST_MAX_VCPUS or fewer */
	size_t n_rows, n_causes;
	struct exits_wakes *wakes;  /* one element per vCPU */
	struct exits_row *rows;     /* rows sorted by time, the longest first */
	struct exits_cause *causes; /* causes sorted by row, then by time */
	/* Histograms of n_rows reasons, then of the waits of n_vcpus vCPUs. NULL: not known. */
	struct time_histogram *times;
};

struct exits;
struct xtop_error *exits_create(uint64_t half_life_ns, struct exits **exitsp);
void exits_destroy(struct exits *exits); /* NULL allowed */
/*
 * Says whose exits count, how fast the records' clock is, and how Xen runs guests on this host. To
 * be called whenever Xen begins to trace: the time since the newest record then does not count.
 */
void exits_set_host(struct exits *exits, uint32_t domid, uint64_t khz, bool is_vmx);
/* Names the code at ADDRESS, which VCPU runs. */
typedef struct exits_place exits_name_fn(void *context, unsigned vcpu, uint64_t address);
/* Adds bytes of CPU's buffer. They may end in the middle of a record. */
void exits_add(struct exits *exits, unsigned cpu, const void *bytes, size_t size_bytes,
	       exits_name_fn *name, void *context);
/* Returns the frame that names REASON in a profile. */
typedef uint32_t exits_name_row_fn(void *context, const struct exit_reason *reason);
/* Sets the frames of the rows that came since the last call. */
void exits_name_rows(struct exits *exits, exits_name_row_fn *name, void *context);
/* Replaces functions by those with a better name, as profile_rename() does. */
void exits_rename(struct exits *exits, uint32_t (*better)(void *context, uint32_t frame),
		  void *context);
void exits_reset(struct exits *exits);
/* Makes a table, which exits_table_destroy() frees; NULL: out of memory. */
struct exits_table *exits_get(struct exits *exits);
/* An empty table of so many vCPUs, reasons and causes. NULL: out of memory. */
struct exits_table *exits_table_create(unsigned n_vcpus, size_t n_rows, size_t n_causes);
/* LOG2 becomes the histogram of the waits of all vCPUs. */
void exits_sum_waits(const struct exits_table *table, uint64_t log2[EXITS_LOG2]);
/* Puts reasons, and the causes of each, in the order of their live time. False: out of memory. */
bool exits_table_sort(struct exits_table *table);
/* A copy of TABLE's times[], which free() frees. NULL: it has none, or memory is out. */
struct time_histogram *exits_table_copy_times(const struct exits_table *table);
/*
 * A copy of at most N_ROWS reasons, each with at most N_CAUSES causes, those with most time. It has
 * times[] only if N_ROWS is SIZE_MAX.
 */
struct exits_table *exits_table_copy(const struct exits_table *table, size_t n_rows,
				     size_t n_causes);
size_t exits_table_memory_bytes(const struct exits_table *table);
void exits_table_destroy(struct exits_table *table); /* NULL allowed */

#endif
