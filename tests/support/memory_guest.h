/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest in memory, behind struct guest_ops: frames that tests fill, page tables that they build,
 * vCPUs that they set, switches that make things go wrong. It also watches its caller: whatever
 * must not happen while the guest is stopped is counted in misuses.
 *
 * Each frame is a file of one page, mapped as Xen would: a page that is revoked (the file
 * truncated) answers with a real SIGBUS, a frame that is exchanged leaves old mappings on the old
 * page. Not thread-safe: change it on the thread that runs the code under test, from the hooks.
 */
#ifndef TESTS_MEMORY_GUEST_H
#define TESTS_MEMORY_GUEST_H

#include "xtop/guest.h"

#define MEMORY_GUEST_FRAMES 512
#define MEMORY_GUEST_TABLES 0x100000 /* frames from here on are handed out as page tables */

/* Of page-table entries. */
#define PTE_P         (1ULL << 0)
#define PTE_PS        (1ULL << 7)
#define PTE_PAT_LARGE (1ULL << 12)
#define PTE_NX        (1ULL << 63)

#define CR0_PG_BIT   (1ULL << 31)
#define CR4_PAE_BIT  (1ULL << 5)
#define CR4_LA57_BIT (1ULL << 12)

struct memory_frame {
	uint64_t number;
	int fd;
	void *page; /* the guest's own view */
};

struct memory_guest {
	struct guest guest; /* for the code under test */
	size_t n_frames;
	struct memory_frame frames[MEMORY_GUEST_FRAMES];
	uint64_t next_table;

	struct registers regs[GUEST_MAX_VCPUS];
	bool user[GUEST_MAX_VCPUS];
	struct guest_look look; /* what look() answers */
	bool refuse_look, refuse_stop, refuse_map;

	/* Called at the end of the operation, with the context below. */
	void (*on_look)(struct memory_guest *guest);
	void (*on_stop)(struct memory_guest *guest);    /* it is stopped now */
	void (*on_release)(struct memory_guest *guest); /* it is running again */
	void *context;

	unsigned looks, stops, releases, maps, unmaps, refused_stops, refused_maps;
	unsigned
		misuses; /* mapped or looked while stopped, stopped twice, released while running */
	unsigned n_stopped_vcpus; /* of the last stop */
	uint16_t stopped_vcpus[GUEST_MAX_VCPUS];
	bool stopped;
};

/* N_VCPUS running vCPUs in 64-bit mode with 4-level tables at one fresh CR3. */
struct memory_guest *memory_guest_create(unsigned n_vcpus);
void memory_guest_destroy(struct memory_guest *guest);

/* The guest's view of FRAME, which is made if it is not there. */
void *memory_guest_page(struct memory_guest *guest, uint64_t frame);
/* Takes FRAME away under all mappings: reading them is a SIGBUS. */
void memory_guest_revoke(struct memory_guest *guest, uint64_t frame);
/* Gives FRAME another page, of zeros; old mappings keep the old one. */
void memory_guest_exchange(struct memory_guest *guest, uint64_t frame);

/* A fresh page-table frame; a CR3 value for it is the frame << 12. */
uint64_t memory_guest_new_table(struct memory_guest *guest);
/* The entry for ADDRESS at LEVEL under the tables of CR3 with LEVELS; tables on the way are
 * made. */
uint64_t *memory_guest_entry(struct memory_guest *guest, uint64_t cr3, unsigned levels,
			     unsigned level, uint64_t address);
/* Maps the 4 KiB page at ADDRESS to FRAME, with four levels. */
void memory_guest_map(struct memory_guest *guest, uint64_t cr3, uint64_t address, uint64_t frame);

#endif
