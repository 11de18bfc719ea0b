/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot: the profile and every counter at one moment. It never changes once it is published.
 * The UI, batch output and exporters see nothing else.
 *
 * Nodes are in pre-order: nodes[0] is the root, a parent comes before its children, and the subtree
 * of node i is [i, nodes[i].end). A pass from the front can inherit from parents; a pass from the
 * back can sum children. Siblings are in the order in which they were first seen.
 *
 * Snapshots go through a snapshot_slot. The reader asks. The resolver builds a snapshot and puts it
 * into the slot with one atomic exchange. The reader takes it out with another one.
 */
#ifndef XTOP_SNAPSHOT_H
#define XTOP_SNAPSHOT_H

#include <stdbool.h>

#include "xtop/base/clocks.h"
#include "xtop/base/types.h"
#include "xtop/os/os_counts.h"
#include "xtop/os/os_events.h"
#include "xtop/os/os_waits.h"
#include "xtop/profile/annotation.h"
#include "xtop/profile/batches.h"
#include "xtop/profile/exits.h"
#include "xtop/profile/frames.h"
#include "xtop/sample/control.h"
#include "xtop/sample/takers.h"
#include "xtop/unwind/unwind.h"

/*
 * The deepest stack of a profile: real recursion has up to 5,000 frames. With process, thread and
 * marks.
 */
#define SNAPSHOT_MAX_DEPTH 5008

struct crash_report; /* crash.h */

struct snapshot_node {
	uint32_t frame;  /* id in frames */
	uint32_t parent; /* index; the root is its own parent */
	uint32_t end;    /* index after the last node of the subtree */
	uint32_t depth;  /* root 0 */
	/*
	 * The weight of the node's samples, in ticks. "children" includes "self". "live": decayed.
	 * "ticks": since start or reset. In a run a multiple of 1 / SAMPLE_WEIGHT_TICK, and sums
	 * are exact up to 2^43 ticks; in a profile file any number.
	 */
	double self_live, children_live;
	double self_ticks, children_ticks;
	uint64_t self_total, children_total;   /* the number of samples since start or reset */
};

/*
 * Whether NODE, or a node below it, counts for anything. A sample may weigh nothing, and time in
 * Xen (xen_rows.h) may be less than that of one sample.
 */
static inline bool snapshot_node_counts(const struct snapshot_node *node)
{
	return node->children_total || node->children_ticks > 0;
}

/* Whether NODE itself counts for anything, without the nodes below it. */
static inline bool snapshot_node_counts_self(const struct snapshot_node *node)
{
	return node->self_total || node->self_ticks > 0;
}

/* Why nobody could name the function that an address lies in. */
enum unknown_cause {
	UNKNOWN_NO_SYMBOLS,  /* the file, module or kernel has no symbols, or -k gave none */
	UNKNOWN_BETWEEN,     /* there are symbols, but none covers the address */
	UNKNOWN_NOT_PRESENT, /* the symbols are not in memory: not read yet, or swapped out */
	UNKNOWN_NO_PROCESS,  /* the process ended before it could be read, or could not be found */
	UNKNOWN_NO_AREA,     /* the address lies outside all known areas of code */
	UNKNOWN_JIT,         /* the process compiled the code itself and wrote no names for perf */
	UNKNOWN_NO_FRAME,    /* the stack has no frame at all */
};
#define N_UNKNOWN_CAUSES 7

/*
 * What the resolver saw since start or reset. Here a sample is one vCPU at one tick. A new counter
 * is a member here and a line in the table of src/query/counters.c.
 */
struct resolver_counts {
	uint64_t samples;                /* samples with a stack: not idle */
	double states[N_VCPU_STATES];    /* vCPU ticks by state; whole numbers are shown */
	uint64_t user;                   /* samples in user code */
	uint64_t stops[N_UNWIND_STOPS];  /* samples by how their walk ended */
	uint64_t cuts[N_SAMPLE_CUTS];    /* samples with UNWIND_CUT, by why the copy ended */
	uint64_t parts[N_UNWIND_PARTS];  /* samples with frames in the kernel, in user code */
	uint64_t parts_complete[N_UNWIND_PARTS]; /* samples where that part is complete */
	uint64_t frames;                 /* frames looked up */
	uint64_t frames_unknown;         /* frames looked up that have no name */
	uint64_t frames_by[N_UNWIND_BYS]; /* all frames, by what told where they are */
	/* Samples whose innermost frame has no symbol, by what names the frame. */
	uint64_t samples_unknown;        /* nothing names the frame: it has no name */
	uint64_t samples_function;       /* the place where the function begins names it */
	uint64_t samples_offset;         /* another place in a file names it, or "[jit]" */
	uint64_t unknown_causes[N_UNKNOWN_CAUSES]; /* the sum of these three, by cause */
	uint64_t early;                  /* samples dropped: the guest's kernel was not known yet */
	uint64_t idle;                   /* samples of Linux's idle task: in states[] as blocked */
	uint64_t bad_records;            /* records that failed sample_check(): never happens */
	uint64_t evicted_nodes;
	uint64_t frames_refused;         /* how often the table of frames had no room */
	uint64_t program_frames;         /* functions of interpreted programs in stacks */
	uint64_t program_frames_unknown; /* functions of programs whose name could not be read */
	uint64_t recipes;                /* recipes that the sampler got (sample/recipe.h) */
	uint64_t recipes_refused;        /* searches that found no recipe, or a wrong one */
	uint64_t unresolved;             /* records that RESOLVER_HURRY_NS left no time for */
	uint64_t lag_ns;                 /* longest time from a stop to its sample; 0: replay */
	/* guest memory read until a process's function had a name; 0: a replay, or none has */
	uint64_t first_name_bytes;
	uint64_t cpu_ns;                 /* CPU time of the resolver's thread */
	/* Ticks: all samples, the three kinds without a symbol, samples cut short. */
	double weight, weight_unknown, weight_function, weight_offset, weight_truncated;
};

/* How many samples did not reach their outermost function. */
static inline uint64_t resolver_truncated(const struct resolver_counts *counts)
{
	uint64_t truncated = 0;

	for (int stop = 0; stop < N_UNWIND_STOPS; stop++)
		if (stop != UNWIND_COMPLETE)
			truncated += counts->stops[stop];
	return truncated;
}

/* The hypercalls that samples of one vCPU ended in, in any order. Unused entries come last. */
#define SNAPSHOT_MAX_CALLS 8 /* the most frequent ones */
struct snapshot_calls {
	struct snapshot_call {
		uint32_t frame; /* the stub; if all hypercalls share one stub, its caller */
		double ticks;   /* ticks since start or reset; 0: unused */
	} calls[SNAPSHOT_MAX_CALLS];
};

struct snapshot_vcpu {
	double states[N_VCPU_STATES];    /* ticks by state, as weights */
	double user;                     /* ticks running in user code */
	struct vcpu_times times;         /* the vCPU's times since start or reset */
	uint32_t last_frame;             /* innermost frame of the last sample, or FRAME_ROOT */
	/*
	 * When the vCPU's next timer comes, by CLOCK_GUEST; OS_NO_TIMER: none was set. This was
	 * read at timer_read_ns on the samples' clock; timer_read_ns 0: not known.
	 */
	uint64_t timer_ns, timer_read_ns;
};

/* The ticks in all states. */
static inline double snapshot_vcpu_ticks(const struct snapshot_vcpu *vcpu)
{
	double ticks = 0;

	for (int state = 0; state < N_VCPU_STATES; state++)
		ticks += vcpu->states[state];
	return ticks;
}

/*
 * Where most samples of a function without a symbol are, in bytes from the function's start.
 */
struct snapshot_place {
	uint32_t frame, distance_bytes;
};
#define SNAPSHOT_MAX_PLACES 256 /* room for the functions with most samples */

/* The design effects (batches.h) of a function's shares; 1 or more. */
struct snapshot_effect {
	float self_live, self_total;
	float children_live, children_total;
};

/* Tasks of one process and thread that waited at one site for one thing (wait_sites.h). */
struct snapshot_wait {
	uint32_t process, thread; /* frames; FRAME_NONE: none */
	uint32_t site;            /* the function in which the tasks wait */
	uint32_t now;             /* number of tasks in the last pass */
	uint8_t kind;             /* enum wait_kind */
	/* Bit i: enum os_wait_state i was seen when tasks last waited here. */
	uint8_t states;
	uint64_t longest_ns;      /* the longest wait since start or reset, over or not */
};

/* A lock that tasks wait for, or have waited for since start or reset. */
#define SNAPSHOT_NO_LOCK UINT32_MAX
struct snapshot_lock {
	uint64_t address;
	uint64_t space;           /* the address space of user code; 0: the kernel's */
	char name[OS_LOCK_NAME_BYTES]; /* clean; "": none */
	uint8_t kind;             /* enum os_lock_kind */
	uint64_t waits;           /* number of waits that were seen */
	uint64_t longest_ns;      /* the longest wait */
	double live_ticks, ticks; /* the waiters' time; their mean number is this / span */
	/* What the last whole pass saw: */
	uint32_t now;             /* number of waiting tasks */
	uint8_t certainty;        /* enum os_holder: how sure holder_pid is */
	uint32_t holder_pid;      /* the task that holds the lock; 0: none is known */
};

#define SNAPSHOT_LOCK_FRAMES 32 /* the most frames of a struct snapshot_lock_task */

/* A task that waited for a lock, or held one, in the last whole pass. */
struct snapshot_lock_task {
	uint32_t pid;                   /* the thread's */
	uint32_t process, thread, site; /* frames; FRAME_NONE: not known */
	uint32_t lock;                  /* the lock that the task waits for, or SNAPSHOT_NO_LOCK */
	/*
	 * Who held LOCK when this task was looked at; 0: none is known. LOCK may have had another
	 * holder when the next task was looked at.
	 */
	uint32_t holder_pid;
	uint8_t certainty;              /* enum os_holder: how sure HOLDER_PID is */
	/* In the history one task may represent a group: the number of the other ones. */
	uint32_t others;
	uint32_t cpu;                   /* the CPU that the task runs on; UINT32_MAX: not known */
	bool on_cpu;
	uint8_t state;                  /* enum os_wait_state, if the task does not run */
	uint64_t waited_ns;             /* how long the task has waited; 0: not known */
	uint64_t address;               /* the task_struct's */
	uint32_t n_frames;              /* 0: the task's stack is not known */
	uint32_t frames[SNAPSHOT_LOCK_FRAMES]; /* the innermost functions, the innermost first */
};

/* What a profile of waiting tasks has besides its call tree. Ticks are milliseconds of a task. */
struct snapshot_waits {
	bool unsupported;  /* no system with a list of tasks was found */
	/* The time that the passes represent, in ticks. Weight / span: mean number of tasks. */
	double span_live, span_ticks;
	size_t n_rows;
	struct snapshot_wait *rows; /* NULL in snapshots of the history and of a range */
	uint64_t rows_refused;      /* number of waits that are in no row */
	size_t n_locks;
	/* NULL in snapshots of a range. Snapshots of the history have only some: history_locks.h */
	struct snapshot_lock *locks;
	size_t n_lock_tasks;
	struct snapshot_lock_task *lock_tasks; /* ascending by pid */
	uint64_t locks_refused;     /* number of waits for locks that are not among LOCKS */
	uint64_t cpu_ns;            /* CPU time that reading the tasks took */
	struct os_waits_counts counts;
};

/*
 * What a profile of a run, live or replayed, has besides its call tree: how sampling went, and what
 * the guest's vCPUs and its system do.
 */
struct snapshot_run {
	struct sampler_counts sampler;
	struct stopped_summary stopped;
	struct os_counts os;
	unsigned n_vcpus;
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	struct snapshot_calls *calls; /* n_vcpus elements, one per vCPU; NULL: not known */
	struct os_events *events;     /* n_vcpus elements, one per vCPU; NULL: not known */
	struct exits_table *exits;    /* exits to Xen; NULL: Xen was not traced */
	struct takers_table *takers;  /* who takes the physical CPUs; NULL: nobody has looked */
	unsigned ring_permille;       /* fill of the ring */
	uint64_t lag_ns;     /* longest time from a stop to its sample since the last snapshot */
	int recording_errno; /* why -w no longer writes; 0: it writes */
	char system[96];     /* "Linux 6.1.0-37-amd64", a unikernel's file, or ""; clean */
	char notes[3][96];   /* what is missing and what would help; "": no note; clean */
	bool fetching;       /* names are on their way, and notes[0] says how far */
};

/* What the values of a profile file are. */
struct snapshot_value {
	char type[32];   /* "cpu", "alloc_space"; "": the file does not say; clean */
	char unit[24];   /* "nanoseconds", "bytes"; "": the file does not say; clean */
	double per_tick; /* what a tick stands for, in that unit */
};

/* A call tree and its times. What else is known depends on where the profile comes from. */
struct snapshot {
	/* NULL: a profile file was read. That has neither vCPUs nor a sampler, and only sums. */
	struct snapshot_run *run;
	struct snapshot_waits *waits;  /* NULL: this is no profile of waiting tasks */
	struct snapshot_value value;   /* all zero but in profile files */
	const struct crash_report *crash; /* lives as long as FRAMES; NULL: none, or not yet */
	struct annotation *annotation; /* NULL: nobody asked for one */
	uint64_t sequence;       /* 1, 2, ... */
	uint64_t time_ns;        /* time when the snapshot was taken, on the samples' clock */
	uint64_t started_ns;     /* first sample since start or reset; 0: none yet */
	/* Other clocks: the newest reading, and the first one since start or reset. */
	struct clocks clocks, first_clocks;
	bool interpreters; /* new stacks have the functions of interpreters, not of programs */
	bool at_end;             /* the last one: the run or the replay is over */
	/*
	 * With resolver_settings.intervals: the last snapshot, if the reader had not taken it when
	 * this one was published. The reader may keep it, and then sets this to NULL. NULL: the
	 * reader had taken it.
	 */
	struct snapshot *before;
	const struct frames *frames; /* outlives the snapshot */
	uint32_t n_frames;       /* ids below this may be used */
	size_t n_nodes;
	struct snapshot_node *nodes;
	double live_weight;      /* nodes[0].children_live */
	double total_weight;     /* nodes[0].children_ticks */
	struct resolver_counts resolver;
	size_t profile_bytes; /* memory of the profile and the names */
	/* One per frame, n_frames of them; NULL: not known, as in a profile file. */
	struct snapshot_effect *effects;
	struct batches_worth worth_live, worth_total;
	/* One per frame, n_frames in all; bit i: enum unwind_by i told where. NULL: not known. */
	uint8_t *found_by;
	/*
	 * One per frame, n_frames of them: a frame that is named by a source line, the line with
	 * most of the function's weight; FRAME_NONE: not known. NULL: nobody asked.
	 */
	uint32_t *sources;
	unsigned n_places;
	struct snapshot_place places[SNAPSHOT_MAX_PLACES]; /* ascending by frame */
};

extern const struct snapshot_run snapshot_no_run; /* all zero, and the sampler has ended */

/* The run of SNAPSHOT, for readers that show a profile file as a run that has ended. */
static inline const struct snapshot_run *snapshot_get_run(const struct snapshot *snapshot)
{
	return snapshot->run ? snapshot->run : &snapshot_no_run;
}

/*
 * All zero except n_nodes, and without a run. The nodes are not initialised. NULL: out of memory.
 */
struct snapshot *snapshot_create(size_t n_nodes);
void snapshot_destroy(struct snapshot *snapshot); /* NULL allowed */
/*
 * The frame's raw name. "python3.11+0x27fae0 (0x27fb3f)" if the function has no symbol: its start,
 * and where most of its samples are. The text may be in BUFFER.
 */
#define SNAPSHOT_NAME_BYTES (FRAME_MODULE_BYTES + 64)
const char *snapshot_raw_name(const struct snapshot *snapshot, uint32_t frame,
			      char buffer[SNAPSHOT_NAME_BYTES]);
/*
 * A copy of FROM whose nodes have ids of FRAMES (translate.c). New frames are added to FRAMES, so
 * only the thread that writes FRAMES may call this. Error: out of memory.
 */
struct xtop_error *snapshot_translate(const struct snapshot *from, struct frames *frames,
				      struct snapshot **top);
/* Whether the profile was reset between BEFORE and NOW: NOW counts only what came since. */
static inline bool snapshot_was_reset(const struct snapshot *before, const struct snapshot *now)
{
	return now->started_ns != before->started_ns;
}
/* Whether functions lack kind and module, as in a folded file, and are compared by name. */
bool snapshot_is_plain(const struct snapshot *snapshot);
/* The source line with most of FRAME's weight, "tcp.c:1478"; "": not known. */
const char *snapshot_source(const struct snapshot *snapshot, uint32_t frame);
/* What snapshot_create_like() copies besides. */
enum snapshot_with {
	SNAPSHOT_WITH_CALLS = 1, /* hypercalls and events of the vCPUs; best effort */
	SNAPSHOT_WITH_ROWS = 2,  /* rows and locks of waits */
};
/*
 * A snapshot with FROM's times, counters, run and waits, and with room for N_NODES nodes. It has
 * neither annotation nor arrays by frame. WITH: enum snapshot_with, ORed. NULL: out of memory.
 */
struct snapshot *snapshot_create_like(const struct snapshot *from, size_t n_nodes, unsigned with);
/* A copy of SNAPSHOT without annotation. NULL: out of memory. */
struct snapshot *snapshot_copy(const struct snapshot *snapshot);
void snapshot_run_destroy(struct snapshot_run *run);       /* NULL allowed */
void snapshot_waits_destroy(struct snapshot_waits *waits); /* NULL allowed */
/* Compares two struct snapshot_lock_task by pid, for qsort() and bsearch(). */
int snapshot_compare_lock_tasks(const void *a, const void *b);
/* Compares two struct snapshot_place by frame, for bsearch() and qsort(). */
int snapshot_compare_places(const void *a, const void *b);
/* Room for N nodes, which the caller frees. NULL: out of memory. */
struct snapshot_node *snapshot_nodes_create(size_t n);
/* Moves `end` of each of the N nodes from after the node to after its subtree. */
void snapshot_nodes_close(struct snapshot_node *nodes, size_t n);
/* Sums up the children_ members of the N nodes, which equal the self_ members before. */
void snapshot_nodes_sum(struct snapshot_node *nodes, size_t n);

/* The slot has one reader and one resolver. */
struct snapshot_slot;
struct xtop_error *snapshot_slot_create(struct snapshot_slot **slotp);
void snapshot_slot_destroy(struct snapshot_slot *slot); /* ends the snapshot in the slot, too */
/* Reader: asks for a snapshot. Asking again before the snapshot has come changes nothing. */
void snapshot_request(struct snapshot_slot *slot);
/*
 * Reader, with resolver_settings.intervals: asks for a snapshot of what is sampled until END_NS
 * (CLOCK_MONOTONIC, not 0), which may lie in the future. The reader must take that snapshot before
 * it asks again.
 */
void snapshot_request_until(struct snapshot_slot *slot, uint64_t end_ns);
/*
 * Reader: asks for an annotation of FRAME in all later snapshots; FRAME_NONE: for none. The first
 * snapshot that comes may still lack the annotation.
 */
void snapshot_annotate(struct snapshot_slot *slot, uint32_t frame);
/* Reader: takes the newest snapshot, and destroys it later. NULL: there is no newer one. */
struct snapshot *snapshot_take(struct snapshot_slot *slot);
/* Resolver: whether the reader has asked since the last snapshot_publish(). */
bool snapshot_wanted(const struct snapshot_slot *slot);
/* Resolver: the END_NS that was asked for since the last snapshot_publish(); 0: none. */
uint64_t snapshot_wanted_until(const struct snapshot_slot *slot);
/* Resolver: the frame that snapshot_annotate() has asked for, or FRAME_NONE. */
uint32_t snapshot_annotated(const struct snapshot_slot *slot);
/* Resolver: hands SNAPSHOT over, and destroys the last snapshot if nobody took it. */
void snapshot_publish(struct snapshot_slot *slot, struct snapshot *snapshot);

#endif
