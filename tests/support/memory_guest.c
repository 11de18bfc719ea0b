/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest in memory; see memory_guest.h. Without memory or files the process ends with status 99.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/memory_guest.h"
#include "xtop/base/registers_x86.h"

static void memory_guest_die(const char *what)
{
	perror(what);
	exit(99); /* automake's hard error */
}

static struct memory_frame *memory_guest_find(struct memory_guest *guest, uint64_t number)
{
	for (size_t i = 0; i < guest->n_frames; i++)
		if (guest->frames[i].number == number)
			return &guest->frames[i];
	return NULL;
}

/* --- the operations --------------------------------------------------------------------------- */

static bool memory_guest_look(void *context, struct guest_look *look)
{
	struct memory_guest *guest = context;

	guest->misuses += guest->stopped;
	guest->looks++;
	if (guest->on_look)
		guest->on_look(guest);
	if (guest->refuse_look)
		return false;
	*look = guest->look;
	return true;
}

static bool memory_guest_look_life(void *context, struct guest_look *look)
{
	struct memory_guest *guest = context;
	struct guest_look seen;

	guest->life_looks++;
	if (!memory_guest_look(context, &seen))
		return false;
	memcpy(seen.states, look->states, sizeof(seen.states));
	*look = seen;
	return true;
}

static bool memory_guest_stop(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus,
			      unsigned n)
{
	struct memory_guest *guest = context;

	(void)begin_ns;
	guest->misuses += guest->stopped;
	if (guest->refuse_stop) {
		guest->refused_stops++;
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		uint16_t number = vcpus[i].number;

		if (vcpus[i].cached_cpu_ns && vcpus[i].cached_cpu_ns == guest->look.cpu_ns[number])
			guest->n_cached++;
		else
			vcpus[i].cached_cpu_ns = 0;
		vcpus[i].regs = guest->regs[number];
		vcpus[i].user = guest->user[number];
		guest->stopped_vcpus[i] = number;
	}
	guest->n_stopped_vcpus = n;
	guest->stops++;
	guest->stopped = true;
	if (guest->on_stop)
		guest->on_stop(guest);
	return true;
}

static void memory_guest_release(void *context)
{
	struct memory_guest *guest = context;

	guest->misuses += !guest->stopped;
	guest->stopped = false;
	guest->releases++;
	if (guest->on_release)
		guest->on_release(guest);
}

static void *memory_guest_map_frame(void *context, frame_t frame)
{
	struct memory_guest *guest = context;
	const struct memory_frame *found = memory_guest_find(guest, frame.value);
	void *page;

	guest->misuses += guest->stopped;
	if (!found || guest->refuse_map) {
		guest->refused_maps++;
		return NULL;
	}
	page = mmap(NULL, GUEST_PAGE_SIZE, PROT_READ, MAP_SHARED, found->fd, 0);
	if (page == MAP_FAILED)
		memory_guest_die("mmap");
	guest->maps++;
	return page;
}

static void memory_guest_unmap_page(void *context, void *page)
{
	struct memory_guest *guest = context;

	guest->misuses += guest->stopped;
	guest->unmaps++;
	munmap(page, GUEST_PAGE_SIZE);
}

static void memory_guest_close(void *context)
{
	(void)context;
}

static const struct guest_ops memory_guest_ops = {
	.look = memory_guest_look,
	.look_life = memory_guest_look_life,
	.stop = memory_guest_stop,
	.release = memory_guest_release,
	.close = memory_guest_close,
};

/* --- calls for tests -------------------------------------------------------------------------- */

struct memory_guest *memory_guest_create(unsigned n_vcpus)
{
	struct memory_guest *guest = calloc(1, sizeof(*guest));
	uint64_t cr3;

	if (!guest)
		memory_guest_die("calloc");
	guest->guest = (struct guest){
		.ops = &memory_guest_ops,
		.context = guest,
		.mapper = { .map = memory_guest_map_frame,
			    .unmap = memory_guest_unmap_page,
			    .context = guest },
		.info = { .name = "memory", .domid = 1, .type = GUEST_PVH, .n_vcpus = n_vcpus },
	};
	guest->next_table = MEMORY_GUEST_TABLES;
	guest->look.pages = 1000;
	cr3 = memory_guest_new_table(guest) << GUEST_PAGE_SHIFT;
	for (unsigned i = 0; i < n_vcpus; i++) {
		guest->look.states[i] = VCPU_RUNNING;
		guest->regs[i] =
			(struct registers){ .cr0 = CR0_PG, .cr3 = cr3, .cr4 = CR4_PAE };
	}
	return guest;
}

static void memory_frame_close(struct memory_frame *frame)
{
	munmap(frame->page, GUEST_PAGE_SIZE);
	close(frame->fd);
}

void memory_guest_destroy(struct memory_guest *guest)
{
	for (size_t i = 0; i < guest->n_frames; i++)
		memory_frame_close(&guest->frames[i]);
	free(guest);
}

static void memory_frame_open(struct memory_frame *frame, uint64_t number)
{
	frame->number = number;
	frame->fd = memfd_create("frame", MFD_CLOEXEC);
	if (frame->fd < 0 || ftruncate(frame->fd, GUEST_PAGE_SIZE) < 0)
		memory_guest_die("memfd_create");
	frame->page = mmap(NULL, GUEST_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, frame->fd, 0);
	if (frame->page == MAP_FAILED)
		memory_guest_die("mmap");
}

void *memory_guest_page(struct memory_guest *guest, uint64_t number)
{
	struct memory_frame *frame = memory_guest_find(guest, number);

	if (!frame) {
		if (guest->n_frames == MEMORY_GUEST_FRAMES)
			memory_guest_die("MEMORY_GUEST_FRAMES");
		frame = &guest->frames[guest->n_frames++];
		memory_frame_open(frame, number);
	}
	return frame->page;
}

void memory_guest_revoke(struct memory_guest *guest, uint64_t number)
{
	struct memory_frame *frame = memory_guest_find(guest, number);

	if (!frame || ftruncate(frame->fd, 0) < 0)
		memory_guest_die("ftruncate");
	memory_frame_close(frame);
	*frame = guest->frames[--guest->n_frames];
}

void memory_guest_exchange(struct memory_guest *guest, uint64_t number)
{
	struct memory_frame *frame = memory_guest_find(guest, number);

	memory_frame_close(frame);
	memory_frame_open(frame, number);
}

uint64_t memory_guest_new_table(struct memory_guest *guest)
{
	memory_guest_page(guest, guest->next_table);
	return guest->next_table++;
}

uint64_t *memory_guest_entry(struct memory_guest *guest, uint64_t cr3, unsigned levels,
			     unsigned level, uint64_t address)
{
	uint64_t frame = cr3 >> GUEST_PAGE_SHIFT;

	for (unsigned at = levels;; at--) {
		uint64_t *table = memory_guest_page(guest, frame);
		uint64_t *entry = &table[address >> (3 + 9 * at) & 511];

		if (at == level)
			return entry;
		if (!(*entry & PTE_P))
			*entry = memory_guest_new_table(guest) << GUEST_PAGE_SHIFT | PTE_P;
		frame = (*entry & ~PTE_NX) >> GUEST_PAGE_SHIFT;
	}
}

void memory_guest_map(struct memory_guest *guest, uint64_t cr3, uint64_t address, uint64_t frame)
{
	*memory_guest_entry(guest, cr3, 4, 1, address) = frame << GUEST_PAGE_SHIFT | PTE_P;
}
