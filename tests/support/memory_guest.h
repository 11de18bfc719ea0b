/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest in memory, behind struct guest_ops. Tests fill its frames, build its page tables, set the
 * registers of its vCPUs, and make operations fail. It counts in misuses what its caller must not
 * do while the guest is stopped.
 *
 * Each frame is a file of one page, and mappings behave as Xen's do: after a page is revoked (the
 * file is truncated), reading it raises a real SIGBUS; after a frame is exchanged, old mappings
 * stay on the old page. Not thread-safe: tests change the guest only from the hooks, on the thread
 * of the tested code.
 */
#ifndef TESTS_MEMORY_GUEST_H
#define TESTS_MEMORY_GUEST_H

#include "xtop/xen/guest.h"

#define MEMORY_GUEST_FRAMES 512
#define MEMORY_GUEST_TABLES 0x100000 /* frames from here on are handed out as page tables */

/* Bits of page-table entries. */
#define PTE_P         (1ULL << 0)
#define PTE_PS        (1ULL << 7)
#define PTE_PAT_LARGE (1ULL << 12)
#define PTE_NX        (1ULL << 63)

struct memory_frame {
	uint64_t number;
	int fd;
	void *page; /* the guest's own view */
};

struct memory_guest {
	struct guest guest; /* what the code under test gets */
	size_t n_frames;
	struct memory_frame frames[MEMORY_GUEST_FRAMES];
	uint64_t next_table;

	struct registers regs[GUEST_MAX_VCPUS];
	bool user[GUEST_MAX_VCPUS];
	struct guest_look look; /* the answer of look() */
	bool refuse_look, refuse_stop, refuse_map;

	/* Called at the end of the operation, with the context below. */
	void (*on_look)(struct memory_guest *guest);
	void (*on_stop)(struct memory_guest *guest);    /* it is stopped now */
	void (*on_release)(struct memory_guest *guest); /* it is running again */
	void *context;

	unsigned looks, life_looks; /* all looks; those of them that asked for no states */
	unsigned stops, releases, maps, unmaps, refused_stops, refused_maps;
	/* It was mapped or looked at while stopped, stopped twice, or released while it ran. */
	unsigned misuses;
	unsigned n_cached; /* vCPUs, in all stops, that had not run, as the caller had thought */
	unsigned n_stopped_vcpus; /* vCPUs of the last stop */
	uint16_t stopped_vcpus[GUEST_MAX_VCPUS];
	bool stopped;
};

/* N_VCPUS running vCPUs in 64-bit mode with 4-level tables at one fresh CR3. */
struct memory_guest *memory_guest_create(unsigned n_vcpus);
void memory_guest_destroy(struct memory_guest *guest);

/* The guest's view of FRAME. A missing frame is made. */
void *memory_guest_page(struct memory_guest *guest, uint64_t frame);
/* Takes FRAME away: reading any mapping of it raises SIGBUS. */
void memory_guest_revoke(struct memory_guest *guest, uint64_t frame);
/* Gives FRAME another page, of zeros. Old mappings stay on the old page. */
void memory_guest_exchange(struct memory_guest *guest, uint64_t frame);

/* A new frame for a page table. CR3 for it is the frame << 12. */
uint64_t memory_guest_new_table(struct memory_guest *guest);
/* The entry for ADDRESS at LEVEL under CR3, which has LEVELS. Missing tables above it are made. */
uint64_t *memory_guest_entry(struct memory_guest *guest, uint64_t cr3, unsigned levels,
			     unsigned level, uint64_t address);
/* Maps the 4 KiB page at ADDRESS to FRAME, with four levels. */
void memory_guest_map(struct memory_guest *guest, uint64_t cr3, uint64_t address, uint64_t frame);

#endif
