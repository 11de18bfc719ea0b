/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows as one of the operating systems in os_ops.h: finds the names of its images and of what
 * they export, and unwinds by their tables. It was never tried on a real Windows, because none is
 * available where xtop is made: tests map images that Debian's mingw-w64 has linked into made-up
 * memory.
 *
 *   registers in the kernel ─► the image around rip: Windows, if it exports names
 *   each sample ─► rip and words of its stack outside the known images ─► their images
 *
 * Nothing is known of processes and threads. An address without an image is not tried again soon,
 * because a search reads up to 8,192 pages. Resolver's thread.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "windows/pe_finder.h"
#include "xtop/base/hash.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"

#define WINDOWS_SPACES     32  /* processes whose code is known */
#define WINDOWS_MAX_IMAGES 512 /* limit for one space */
/* limit for all images together; one more image may exceed the limit */
#define WINDOWS_MAX_BYTES   LIMIT(128U << 20, 64U << 10)
#define WINDOWS_REFUSED    256 /* places without an image that are remembered */
#define WINDOWS_LOOKS       2   /* searches for images, for each sample */
#define WINDOWS_WORDS       128 /* words of a stack that may be return addresses */
#define WINDOWS_PLACE_SHIFT 20  /* log2 of the size of a place: 1 MiB */
/* time for which a place without an image is remembered */
#define WINDOWS_FRESH_NS 10000000000ULL

struct windows_space {
	uint64_t cr3; /* 0 if free, and for the kernel's space */
	struct space *space;
	unsigned n_images;
	size_t bytes; /* memory of its images */
	uint64_t used_ns;
};

struct windows {
	struct memory *memory;
	struct memory_root root; /* root of the vCPU through which the kernel was found */
	struct pe_place kernel;
	struct windows_space own; /* the kernel's space, which belongs to the caller */
	struct windows_space users[WINDOWS_SPACES];
	struct {
		uint64_t cr3, place, until_ns;
	} refused[WINDOWS_REFUSED];
};

static bool windows_is_kernel(uint64_t address)
{
	return address >> 47 == 0x1ffff;
}

/* --- memory limit ----------------------------------------------------------------------------- */

static size_t windows_bytes(const struct windows *windows)
{
	size_t bytes = windows->own.bytes;

	for (unsigned i = 0; i < WINDOWS_SPACES; i++)
		bytes += windows->users[i].bytes;
	return bytes;
}

static void windows_drop(struct windows_space *user)
{
	space_destroy(user->space);
	*user = (struct windows_space){ .cr3 = 0 };
}

/*
 * Makes room for one image in SPACE: drops the processes that were not seen for the longest time.
 * Returns false if there is no room because SPACE and the kernel use it up.
 */
static bool windows_make_room(struct windows *windows, const struct windows_space *space)
{
	while (windows_bytes(windows) >= WINDOWS_MAX_BYTES) {
		struct windows_space *oldest = NULL;

		for (unsigned i = 0; i < WINDOWS_SPACES; i++) {
			struct windows_space *user = &windows->users[i];

			if (user != space && user->bytes &&
			    (!oldest || user->used_ns < oldest->used_ns))
				oldest = user;
		}
		if (!oldest)
			return false;
		windows_drop(oldest);
	}
	return true;
}

/* --- images ----------------------------------------------------------------------------------- */

static void windows_add(struct windows *windows, struct windows_space *space,
			struct memory_root root, const struct pe_place *place)
{
	struct xtop_error *error = pe_finder_add(windows->memory, root, place, space->space);
	const struct mapping *mapping = error ? NULL : space_find(space->space, place->start);

	space->n_images++;
	if (mapping)
		space->bytes += image_memory_bytes(mapping->image);
	error_destroy(error); /* if memory is out, the image is tried again later */
}

/*
 * Notes that a search around ADDRESS begins now. Returns false if a recent search found no image
 * there.
 */
static bool windows_begin_search(struct windows *windows, uint64_t cr3, uint64_t address,
				 uint64_t now_ns)
{
	uint64_t place = address >> WINDOWS_PLACE_SHIFT;
	size_t slot = hash_slot(place * 31 + cr3, WINDOWS_REFUSED);

	if (windows->refused[slot].cr3 == cr3 && windows->refused[slot].place == place &&
	    now_ns < windows->refused[slot].until_ns)
		return false;
	windows->refused[slot].cr3 = cr3;
	windows->refused[slot].place = place;
	windows->refused[slot].until_ns = now_ns + WINDOWS_FRESH_NS;
	return true;
}

/* Maps the image at ADDRESS if it is not known yet. Returns true if a search was made. */
static bool windows_try(struct windows *windows, struct windows_space *space,
			struct memory_root root, uint64_t address, uint64_t now_ns)
{
	struct pe_place place;

	if (space_find(space->space, address) || space->n_images == WINDOWS_MAX_IMAGES ||
	    !windows_begin_search(windows, space->cr3, address, now_ns) ||
	    !windows_make_room(windows, space))
		return false;
	memory_refresh(windows->memory);
	if (!pe_finder_find(windows->memory, root, address, &place))
		return true;
	windows_add(windows, space, root, &place);
	return true;
}

/* The space of a process; NULL if memory is out. */
static struct windows_space *windows_user(struct windows *windows, uint64_t cr3, uint64_t now_ns)
{
	struct windows_space *oldest = windows->users;

	for (unsigned i = 0; i < WINDOWS_SPACES; i++) {
		struct windows_space *user = &windows->users[i];

		if (user->cr3 == cr3 && user->space) {
			user->used_ns = now_ns;
			return user;
		}
		if (user->used_ns < oldest->used_ns)
			oldest = user;
	}
	windows_drop(oldest);
	oldest->cr3 = cr3;
	oldest->used_ns = now_ns;
	error_destroy(space_create(&oldest->space));
	return oldest->space ? oldest : NULL;
}

/*
 * Searches images for words of the copied stacks that may point to code, in the kernel's half of
 * addresses if KERNEL is set, otherwise in the user's half.
 */
static void windows_try_stack(struct windows *windows, struct windows_space *space,
			      const struct sample_vcpu *vcpu, bool kernel, uint64_t now_ns)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	struct memory_root root = walk_root(&vcpu->regs);
	unsigned looks = WINDOWS_LOOKS;
	uint64_t word;

	for (size_t i = 0; vcpu->n_stacks && i < WINDOWS_WORDS && looks; i++) {
		if ((i + 1) * sizeof(word) > piece->size_bytes)
			return;
		memcpy(&word, (const char *)(piece + 1) + i * sizeof(word), sizeof(word));
		if (word >> 16 && windows_is_kernel(word) == kernel &&
		    (kernel || word >> 47 == 0))
			looks -= windows_try(windows, space, root, word, now_ns);
	}
}

/* --- struct os_ops ---------------------------------------------------------------------------- */

static void windows_destroy(void *context)
{
	struct windows *windows = context;

	for (unsigned i = 0; i < WINDOWS_SPACES; i++)
		space_destroy(windows->users[i].space);
	if (windows->own.n_images)
		space_clear(windows->own.space); /* the images of the space read windows->memory */
	free(windows);
}

static void *windows_find(const struct os_guest *guest, const struct registers *regs,
			  struct linux_stacks *stacks)
{
	struct windows *windows;

	(void)stacks; /* there is one stack, at rsp */
	if (regs->width != WIDTH_64 || !windows_is_kernel(regs->rip))
		return NULL;
	windows = calloc(1, sizeof(*windows));
	if (!windows)
		return NULL;
	windows->memory = guest->memory;
	windows->root = walk_root(regs);
	windows->own.space = guest->kernel;
	if (pe_finder_find(guest->memory, windows->root, regs->rip, &windows->kernel) &&
	    windows->kernel.name[0]) {
		space_clear(guest->kernel);
		windows_add(windows, &windows->own, windows->root, &windows->kernel);
		if (space_find(guest->kernel, windows->kernel.start))
			return windows;
	}
	windows_destroy(windows);
	return NULL;
}

static bool windows_is_there(void *context)
{
	struct windows *windows = context;
	struct pe_place now;

	return pe_finder_find(windows->memory, windows->root, windows->kernel.start, &now) &&
	       now.head.time_stamp == windows->kernel.head.time_stamp;
}

/* Searches the images that the sample's chain may pass. Tasks are unknown. */
static void windows_find_task(void *context, const struct sample_vcpu *vcpu, uint64_t now_ns,
			      struct os_task *task)
{
	struct windows *windows = context;
	struct windows_space *space = &windows->own;

	if (vcpu->regs.arch != ARCH_X86 || vcpu->regs.width != WIDTH_64)
		return;
	if (vcpu->user)
		space = windows_user(windows, vcpu->regs.cr3 & CR3_TABLE_MASK, now_ns);
	if (!space)
		return;
	windows_try(windows, space, walk_root(&vcpu->regs), vcpu->regs.rip, now_ns);
	windows_try_stack(windows, space, vcpu, !vcpu->user, now_ns);
	if (vcpu->user)
		task->user = space->space;
}

static void windows_describe(const void *context, struct os_description *description)
{
	const struct windows *windows = context;

	snprintf(description->system, sizeof(description->system), "Windows: %s",
		 windows->kernel.name);
	snprintf(description->notes[0], sizeof(description->notes[0]),
		 "Windows: exported names only, and neither processes nor threads");
}

const struct os_ops windows_os = {
	.name = "Windows",
	.archs = 1U << ARCH_X86,
	.find = windows_find,
	.destroy = windows_destroy,
	.is_there = windows_is_there,
	.find_task = windows_find_task,
	.describe = windows_describe,
};
