/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live guest: where registers and bytes come from. What only Xen can do stands behind struct
 * guest_ops, so that the sampler and the readers run on an in-memory guest in tests.
 *
 * The stopped guest is a resource with one owner, the sampler, and one scope, from stop() to
 * release(). Inside it nothing is allocated, mapped, locked or printed.
 */
#ifndef XTOP_GUEST_H
#define XTOP_GUEST_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/fault.h"
#include "xtop/sample.h"
#include "xtop/types.h"

/*
 * A name is what xenstore has at /local/domain/ID/name. Xen sets no limit but that of its messages
 * (4,096 bytes: Xen 4.17 public/io/xs_wire.h, XENSTORE_PAYLOAD_MAX); console logs, whose file names
 * have it in them, 255. A longer one is cut, ends in GUEST_NAME_CUT then, and is nobody's.
 */
#define GUEST_NAME_BYTES 256
#define GUEST_NAME_CUT   "..."

struct guest_info {
	char name[GUEST_NAME_BYTES];
	char uuid[40];
	uint32_t domid;
	enum guest_type type;
	unsigned n_vcpus;     /* at most SAMPLE_MAX_VCPUS; numbers 0 .. n_vcpus - 1, some may be offline */
	uint64_t memory_kib;
};

enum guest_life { GUEST_RUNS, GUEST_PAUSED_BY_OTHERS, GUEST_GONE };

/* What is known of the guest without stopping it. */
struct guest_look {
	enum guest_life life;
	enum guest_end end;                      /* of a guest that is gone */
	uint64_t pages;                          /* it has now: changes when it balloons */
	enum vcpu_state states[SAMPLE_MAX_VCPUS];
};

struct guest_ops {
	/* A look at the running guest. False: Xen would not answer; counts as gone. */
	bool (*look)(void *context, struct guest_look *look);
	/*
	 * Stops the guest and reads the registers of the N vCPUS, in one hypercall. user[i]: it ran
	 * user code. False: it was not stopped, or not all could be read; then it runs again.
	 */
	bool (*stop)(void *context, const uint16_t *vcpus, unsigned n, struct registers *regs,
		     bool *user);
	void (*release)(void *context);
	void (*close)(void *context);
};

/* What maps the guest's pages. */
struct mapper {
	/* One page, read-only; NULL: Xen would not. Outside the stop only. */
	void *(*map)(void *context, frame_t frame);
	void (*unmap)(void *context, void *page);
	void *context;
};

struct guest {
	const struct guest_ops *ops;
	void *context;
	struct mapper mapper; /* until it is closed */
	struct guest_info info;
};

/* --- finding a domain and reading it from outside; through the broker (xtop/broker.h) --------- */

/*
 * DOMAIN: name, domid or UUID. Errors: no Xen here, not root, another Xen's interface, no such
 * domain, domain is dom0.
 */
struct xtop_error *guest_find(const char *domain, struct guest_info *info);

struct guest_listing {
	struct guest_info info;
	char state;           /* 'r' running, 'b' blocked, 'p' paused, 's' shut down, 'd' dying, '-' */
	uint64_t cpu_time_ns;
};
/* All domains, dom0 included, ascending by domid; malloc()ed. */
struct xtop_error *guest_list(struct guest_listing **listp, size_t *np);

/* The registers of VCPU as it runs, not stopped: good for its page tables. False: Xen refuses. */
bool guest_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/*
 * Looks whether an xtop that was killed has left DOMAIN paused, and undoes exactly that pause. *NOTEP
 * says what was found and done, malloc()ed; NULL: nothing worth telling, if not ASKED for by the
 * user. Main, before anything else: needs the rights.
 */
struct xtop_error *guest_repair(const char *domain, bool asked, char **notep);

/* --- who stops the guest, and who lets it go when that one dies (guest/guard.c) --------------- */

struct control;
struct ring;

/* Guard and sampler of a guest, by the broker. Both end by themselves when main or broker die. */
struct guest_process {
	uint32_t id;
	int pidfd; /* the guard's: readable when it has ended */
};
struct xtop_error *guard_start(const struct guest_info *info, struct control *control,
			       struct ring *ring, struct guest_process *process);
bool guard_is_alive(const struct guest_process *process);
/* Asks it to quit through CONTROL and waits; the guest runs afterwards. */
void guard_stop(struct guest_process *process, struct control *control);

/* --- walk_x86.c: guest-virtual to frame ------------------------------------------------------- */

enum walk_result {
	WALK_OK,
	WALK_NOT_PRESENT,   /* no page there */
	WALK_NOT_MAPPED,    /* a page-table frame could not be had: *frame says which */
	WALK_NOT_CANONICAL, /* no address at all */
	WALK_BAD,           /* reserved bits, or a frame no machine has */
};

/* Gives the page-table page in FRAME: 512 entries, 8-aligned; NULL if it cannot be had. */
struct walk_reader {
	const volatile uint64_t *(*table)(void *context, frame_t frame);
	void *context;
};

/* The address space of a vCPU. PV guests never have five levels, and their CR4 does not say so. */
struct memory_root walk_root(const struct registers *regs);

/*
 * ADDRESS under the tables of ROOT. WALK_OK: *frame is the 4 KiB frame that holds it, inside a
 * large page too.
 */
enum walk_result walk_x86(const struct walk_reader *reader, struct memory_root root, gva_t address,
			  frame_t *frame);

/* What lies at an address: a page, or a hole when the result is anything but WALK_OK. */
struct walk_span {
	frame_t frame;       /* as walk_x86() gives it */
	uint64_t rest_bytes; /* from the address to the end of the page or hole */
	unsigned shift;      /* of a page: log2 of its size */
	bool writable, executable; /* of a page: as the entries of all levels together allow it */
};
/* As walk_x86(), for going over ranges: at + rest_bytes is where the next span begins. */
enum walk_result walk_x86_span(const struct walk_reader *reader, struct memory_root root,
			       gva_t address, struct walk_span *span);

/* --- frame_cache.c: guest pages mapped here, by frame ----------------------------------------- */

struct frame_cache;

/* For stacks: so long one is read at most that has been exchanged unnoticed. */
#define FRAME_CACHE_ROUND_NS (10 * 1000000000ULL)

/*
 * At most MAX_PAGES at a time; each is looked at once in ROUND_NS by frame_cache_tend(). What the
 * mapper works with outlives it.
 */
struct xtop_error *frame_cache_create(const struct mapper *mapper, size_t max_pages,
				      uint64_t round_ns, struct frame_cache **cachep);
void frame_cache_destroy(struct frame_cache *cache); /* unmaps all */

/* The page if it is mapped already; fit for the stop. */
const void *frame_cache_find(struct frame_cache *cache, frame_t frame);
/*
 * The page, mapped now if need be; NULL: Xen would not, now or less than a second ago. Not in the
 * stop.
 */
const void *frame_cache_get(struct frame_cache *cache, frame_t frame, uint64_t now_ns);
/* The guest has been stopped: until the next call its page tables do not change. */
void frame_cache_stop(struct frame_cache *cache);
/*
 * The page that ADDRESS is in, under ROOT, by page tables and a page that are mapped already: fit
 * for the stop. WALK_NOT_MAPPED: one of them is not.
 */
enum walk_result frame_cache_find_page(struct frame_cache *cache, struct memory_root root,
				       gva_t address, const void **page);
/* The same, mapped now if need be. Not in the stop. */
enum walk_result frame_cache_get_page(struct frame_cache *cache, struct memory_root root,
				      gva_t address, uint64_t now_ns, const void **page);
/* The frame alone that ADDRESS lies in, which need not be mapped: as find, and as get. */
enum walk_result frame_cache_find_frame(struct frame_cache *cache, struct memory_root root,
					gva_t address, frame_t *frame);
enum walk_result frame_cache_get_frame(struct frame_cache *cache, struct memory_root root,
				       gva_t address, uint64_t now_ns, frame_t *frame);
/*
 * Before a tick reads any: PAGES is the guest's page count, as just looked at. When it has changed
 * all are dropped: it balloons, and a guest frame may be another machine page now.
 */
void frame_cache_follow(struct frame_cache *cache, uint64_t pages);
/*
 * Housekeeping, once a tick, outside the stop: looks at a few pages; one that was used since the
 * last look is mapped anew, so that a frame the guest has meanwhile exchanged is never read for
 * long; one that was not is let go.
 */
void frame_cache_tend(struct frame_cache *cache, uint64_t now_ns);
void frame_cache_drop(struct frame_cache *cache); /* all of them: the guest is gone */
size_t frame_cache_pages(const struct frame_cache *cache);
uint64_t frame_cache_maps(const struct frame_cache *cache);

#endif
