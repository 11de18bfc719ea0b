/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Areas of a process: in a list, in trees of every shape, damaged, endless; and the key of changes.
 */
#include "config.h"

#include <stdlib.h>

#include "linux/process/vmas.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define BASE 0x400000ULL
#define PAGE GUEST_PAGE_SIZE

struct fixture {
	struct made_linux *made;
	struct vma seen[70000];
	size_t n_seen, stop_after;
};

static bool visit(void *context, const struct vma *vma)
{
	struct fixture *fixture = context;

	if (fixture->n_seen < sizeof(fixture->seen) / sizeof(fixture->seen[0]))
		fixture->seen[fixture->n_seen] = *vma;
	return ++fixture->n_seen != fixture->stop_after;
}

static enum vmas_result walk(struct fixture *fixture, uint64_t mm)
{
	fixture->n_seen = 0;
	return vmas_walk(&fixture->made->guest, mm, visit, fixture);
}

static bool same_area(const struct vma *a, const struct vma *b)
{
	return a->start == b->start && a->end == b->end && a->flags == b->flags &&
	       a->page_offset == b->page_offset && a->file == b->file;
}

/* N areas; every third begins where the one before it ends. */
static struct vma *areas_of(size_t n)
{
	struct vma *areas = calloc(n + 1, sizeof(*areas));
	uint64_t at = BASE;

	for (size_t i = 0; areas && i < n; i++) {
		at += i % 3 ? PAGE * (1 + i % 5) : 0;
		areas[i] = (struct vma){ .start = at,
					 .end = at + PAGE * (1 + i % 4),
					 .flags = i % 8,
					 .page_offset = i * 3,
					 .file = i % 2 ? MADE_OBJECTS + 64 * i : 0 };
		at = areas[i].end;
	}
	return areas;
}

static void check_areas(struct fixture *fixture, const char *what, size_t n)
{
	struct vma *areas = areas_of(n);
	uint64_t mm = made_mm(fixture->made, areas, n);
	size_t wrong = 0;

	check_u64(walk(fixture, mm), VMAS_DONE, what);
	check_u64(fixture->n_seen, n, "number of visited areas");
	for (size_t i = 0; i < n && i < fixture->n_seen; i++)
		wrong += !same_area(&areas[i], &fixture->seen[i]);
	check_u64(wrong, 0, "number of wrong areas");
	free(areas);
}

static void test_list(struct fixture *fixture)
{
	uint64_t mm, first, second;
	struct vma areas[2] = { { BASE, BASE + PAGE, 5, 0, 0 },
				{ BASE + PAGE, BASE + 2 * PAGE, 5, 0, 0 } };

	fixture->made = made_linux_create(MADE_LIST);
	check_areas(fixture, "an empty list", 0);
	check_areas(fixture, "a list of one area", 1);
	check_areas(fixture, "a list of 300 areas", 300);
	mm = made_mm(fixture->made, areas, 2);
	fixture->stop_after = 1;
	check_u64(walk(fixture, mm), VMAS_STOPPED, "the visitor stops the walk");
	fixture->stop_after = 0;

	first = made_vma(fixture->made, &areas[0]);
	second = made_vma(fixture->made, &areas[1]);
	made_set(fixture->made, mm, MM_MMAP, first);
	made_set(fixture->made, first, VMA_NEXT, second);
	made_set(fixture->made, second, VMA_NEXT, first);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "a walk over a ring of areas ends");
	check_u64(fixture->n_seen, 2, "number of visited areas of a ring");
	made_set(fixture->made, second, VMA_NEXT, second);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "an area that follows itself ends the walk");
	made_set(fixture->made, second, VMA_NEXT, 0x1234);
	check_u64(walk(fixture, mm), VMAS_DAMAGED,
		  "an area followed by no kernel pointer ends the walk");
	made_set(fixture->made, second, VMA_NEXT, 0xffffffffc0000000);
	check_u64(walk(fixture, mm), VMAS_UNREADABLE,
		  "an area followed by an unreadable one ends the walk");
	check_u64(fixture->n_seen, 2, "number of visited areas before an unreadable one");
	check_u64(walk(fixture, 0xffffffffc0000000), VMAS_UNREADABLE,
		  "an mm_struct that cannot be read has no areas");
	check_u64(walk(fixture, 0x1000), VMAS_UNREADABLE,
		  "an mm_struct that is no kernel pointer has no areas");
	made_linux_destroy(fixture->made);
}

/* More areas in a row than the limit. */
static void test_endless(struct fixture *fixture)
{
	uint64_t mm, before = 0;

	fixture->made = made_linux_create(MADE_LIST);
	mm = made_mm(fixture->made, NULL, 0);
	for (uint64_t i = 0; i < VMAS_MAX + 10; i++) {
		struct vma area = { BASE + i * PAGE, BASE + (i + 1) * PAGE, 0, 0, 0 };
		uint64_t vma = fixture->made->next;

		fixture->made->next += 128;
		made_put_u64(fixture->made->memory, fixture->made->guest.root,
			     vma + made_offset(fixture->made, VMA_START), area.start);
		made_put_u64(fixture->made->memory, fixture->made->guest.root,
			     vma + made_offset(fixture->made, VMA_END), area.end);
		made_put_u64(fixture->made->memory, fixture->made->guest.root,
			     vma + made_offset(fixture->made, VMA_FILE), 0);
		if (before)
			made_put_u64(fixture->made->memory, fixture->made->guest.root,
				     before + made_offset(fixture->made, VMA_NEXT), vma);
		else
			made_set(fixture->made, mm, MM_MMAP, vma);
		before = vma;
	}
	memory_refresh(fixture->made->guest.memory);
	check_u64(walk(fixture, mm), VMAS_DAMAGED,
		  "a list with more areas than Linux allows ends the walk");
	check_u64(fixture->n_seen, VMAS_MAX, "number of visited areas at the limit");
	made_linux_destroy(fixture->made);
}

static void test_tree(struct fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
	check_areas(fixture, "an empty tree", 0);
	check_areas(fixture, "a leaf with one area", 1);
	check_areas(fixture, "a full leaf", 7);
	check_areas(fixture, "one level above the leaves", 8);
	check_areas(fixture, "a full level", 70);
	check_areas(fixture, "two levels", 71);
	check_areas(fixture, "three levels", 1000);
	made_linux_destroy(fixture->made);
	fixture->made = made_linux_create(MADE_EARLY);
	check_areas(fixture, "without mm_lock_seq", 25);
	made_linux_destroy(fixture->made);
}

static uint64_t root_of(struct fixture *fixture, uint64_t mm, uint64_t root)
{
	made_set(fixture->made, mm, MM_MT, 0);
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     mm + made_offset(fixture->made, MM_MT) +
			     made_offset(fixture->made, MAPLE_ROOT),
		     root);
	memory_refresh(fixture->made->guest.memory);
	return mm;
}

#define ROOT(node) (((node) & ~7ULL) | 2)

/* Nodes of every type, with everything that they may hold, set by hand. */
static void test_nodes(struct fixture *fixture)
{
	const struct vma areas[3] = { { BASE, BASE + PAGE, 5, 1, 0 },
				      { BASE + 2 * PAGE, BASE + 3 * PAGE, 5, 2, 0 },
				      { BASE + 3 * PAGE, BASE + 4 * PAGE, 5, 3, 0 } };
	uint64_t vmas[3], mm, leaf, range, arange;

	fixture->made = made_linux_create(MADE_TREE);
	mm = made_mm(fixture->made, NULL, 0);
	for (int i = 0; i < 3; i++)
		vmas[i] = made_vma(fixture->made, &areas[i]);

	check_u64(walk(fixture, root_of(fixture, mm, vmas[0])), VMAS_DONE,
		  "a root that is the only area is walked");
	check(fixture->n_seen == 1 && same_area(&fixture->seen[0], &areas[0]),
	      "the only area is visited");

	leaf = made_maple_node(fixture->made, 1);
	made_maple_set(fixture->made, leaf, 0, BASE - 1, 0);
	made_maple_set(fixture->made, leaf, 1, BASE + PAGE - 1, vmas[0]);
	made_maple_set(fixture->made, leaf, 2, BASE + 2 * PAGE - 1, 257 << 2 | 2);
	made_maple_set(fixture->made, leaf, 3, 0, vmas[1]);             /* the last slot in use */
	made_maple_set(fixture->made, leaf, 4, 0, vmas[2]);             /* a leftover */
	made_maple_set(fixture->made, leaf, 15, 0, 0x0000000000000304); /* metadata */
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(leaf))), VMAS_DONE,
		  "gaps, a place that fork() reserves and leftovers are skipped");
	check(fixture->n_seen == 2 && same_area(&fixture->seen[1], &areas[1]),
	      "two areas are visited: %zu", fixture->n_seen);

	leaf = made_maple_node(fixture->made, 1); /* all 16 slots are in use */
	for (unsigned i = 0; i < 15; i++)
		made_maple_set(fixture->made, leaf, i, BASE + PAGE - 15 + i, i == 14 ? vmas[0] : 0);
	made_maple_set(fixture->made, leaf, 15, 0, vmas[1]);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(leaf))), VMAS_DONE,
		  "a leaf with 16 slots is walked");
	check(fixture->n_seen == 2 && same_area(&fixture->seen[1], &areas[1]),
	      "the area of the last slot is visited: %zu", fixture->n_seen);

	range = made_maple_node(fixture->made, 2);
	made_maple_set(fixture->made, range, 0, BASE + 3 * PAGE - 1, leaf);
	leaf = made_maple_node(fixture->made, 1);
	made_maple_set(fixture->made, leaf, 0, UINT64_MAX, vmas[2]);
	made_maple_set(fixture->made, range, 1, UINT64_MAX, leaf);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(range))), VMAS_DONE,
		  "a range node above leaves is walked");
	check_u64(fixture->n_seen, 3, "number of visited areas below a range node");
	arange = made_maple_node(fixture->made, 3);
	made_maple_set(fixture->made, arange, 0, UINT64_MAX, range);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(arange))), VMAS_DONE,
		  "an arange node above range nodes is walked");
	check_u64(fixture->n_seen, 3, "number of visited areas below an arange node");
	made_linux_destroy(fixture->made);
}

static void test_damaged(struct fixture *fixture)
{
	const struct vma area = { BASE, BASE + PAGE, 5, 1, 0 };
	uint64_t mm, leaf, node, vma;

	fixture->made = made_linux_create(MADE_TREE);
	mm = made_mm(fixture->made, NULL, 0);
	vma = made_vma(fixture->made, &area);
	leaf = made_maple_node(fixture->made, 1);
	made_maple_set(fixture->made, leaf, 0, UINT64_MAX, vma);

	node = made_maple_node(fixture->made, 3);
	made_maple_set(fixture->made, node, 0, UINT64_MAX, node);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(node))), VMAS_DAMAGED,
		  "a node below itself ends the walk");
	for (unsigned i = 0; i < 10; i++)
		made_maple_set(fixture->made, node, i, i < 9 ? i + 1 : 0, node);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(node))), VMAS_DAMAGED,
		  "a node below itself ten times ends the walk");
	for (unsigned type = 0; type < 16; type++) {
		uint64_t other = (leaf & ~255ULL) | type << 3;

		if (type == 0 || type > 3)
			check_u64(walk(fixture, root_of(fixture, mm, other | 2)), VMAS_DAMAGED,
				  "a node of a type that does not exist ends the walk");
	}
	made_maple_set(fixture->made, node, 0, UINT64_MAX, 0x7f00000000000010);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(node))), VMAS_DAMAGED,
		  "a node outside the kernel ends the walk");
	made_maple_set(fixture->made, node, 0, UINT64_MAX, 0xffffffffc0000000 | 1 << 3);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(node))), VMAS_UNREADABLE,
		  "a node that cannot be read ends the walk");
	made_maple_set(fixture->made, leaf, 0, UINT64_MAX, vma | 1);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(leaf))), VMAS_DAMAGED,
		  "an area at an odd address ends the walk");
	made_maple_set(fixture->made, leaf, 0, BASE, vma);
	made_maple_set(fixture->made, leaf, 1, UINT64_MAX, vma);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(leaf))), VMAS_DAMAGED,
		  "the same area twice ends the walk");
	check_u64(fixture->n_seen, 1, "number of visits of an area that comes twice");
	made_maple_set(fixture->made, leaf, 0, UINT64_MAX, vma);
	check_u64(walk(fixture, root_of(fixture, mm, ROOT(leaf))), VMAS_DONE,
		  "an undamaged tree is walked");
	made_set(fixture->made, vma, VMA_END, BASE);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "an empty area ends the walk");
	made_set(fixture->made, vma, VMA_END, BASE + 1);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "an area with half a page ends the walk");
	made_set(fixture->made, vma, VMA_END, (1ULL << 56) + PAGE);
	check_u64(walk(fixture, mm), VMAS_DAMAGED,
		  "an area that reaches into the kernel ends the walk");
	made_set(fixture->made, vma, VMA_END, BASE + PAGE);
	made_set(fixture->made, vma, VMA_FILE, 0x1234);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "a file outside the kernel ends the walk");
	made_set(fixture->made, vma, VMA_FILE, 0);
	fixture->made->guest.layout.values[MAPLE_R64_SLOT] = 250;
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "slots beyond the end of the node end the walk");
	fixture->made->guest.layout.values[MAPLE_R64_SLOT] = 8;
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "slots in the place of pivots end the walk");
	made_without(fixture->made, MAPLE_R64_SLOT);
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "a node without slots ends the walk");
	made_linux_destroy(fixture->made);
}

/* Nine levels, each with the same node in every slot: 10^9 visits without a limit. */
static void test_wide(struct fixture *fixture)
{
	uint64_t mm, node, below;
	uint64_t pages;

	fixture->made = made_linux_create(MADE_TREE);
	mm = made_mm(fixture->made, NULL, 0);
	below = made_maple_node(fixture->made,
				1); /* no areas: one area twice would end the walk */
	made_maple_set(fixture->made, below, 0, UINT64_MAX, 0);
	for (int level = 0; level < 9; level++) {
		node = made_maple_node(fixture->made, 3);
		for (unsigned i = 0; i < 10; i++)
			made_maple_set(fixture->made, node, i, i < 9 ? i + 1 : 0, below);
		below = node;
	}
	root_of(fixture, mm, ROOT(node));
	pages = memory_counts(fixture->made->guest.memory).pages;
	check_u64(walk(fixture, mm), VMAS_DAMAGED, "a tree of 10^9 nodes ends the walk");
	check(memory_counts(fixture->made->guest.memory).pages - pages < 100,
	      "a tree of 10^9 nodes costs few page reads");
	made_linux_destroy(fixture->made);
}

static void test_key(struct fixture *fixture, enum made_areas kind)
{
	const struct vma areas[2] = { { BASE, BASE + PAGE, 5, 1, 0 },
				      { BASE + 2 * PAGE, BASE + 3 * PAGE, 5, 2, 0 } };
	const enum layout_member members[] = { MM_TOTAL_VM, MM_START_BRK, MM_START_STACK, MM_VDSO };
	struct vmas_key key, other;
	uint64_t mm;

	fixture->made = made_linux_create(kind);
	mm = made_mm(fixture->made, areas, 2);
	check(vmas_read_key(&fixture->made->guest, mm, &key) &&
		      vmas_read_key(&fixture->made->guest, mm, &other) &&
		      vmas_key_equal(&key, &other),
	      "keys are equal while nothing changes");
	check(key.map_count == 2 && key.total_vm == 2, "the key has the counts");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		made_set(fixture->made, mm, members[i], 0x7777);
		check(vmas_read_key(&fixture->made->guest, mm, &other) &&
			      !vmas_key_equal(&key, &other),
		      "member %zu of the list is in the key", i);
		key = other;
	}
	made_areas(fixture->made, mm, areas, 1);
	check(vmas_read_key(&fixture->made->guest, mm, &other) && !vmas_key_equal(&key, &other),
	      "the key changes with munmap()");
	if (kind == MADE_TREE) {
		key = other;
		made_set_u32(fixture->made, mm, MM_LOCK_SEQ, 99);
		check(vmas_read_key(&fixture->made->guest, mm, &other) &&
			      !vmas_key_equal(&key, &other),
		      "the key has mm_lock_seq");
	}
	key = other;
	made_set_u32(fixture->made, mm, MM_MAP_COUNT, VMAS_MAX + 1);
	check(!vmas_read_key(&fixture->made->guest, mm, &other),
	      "an mm_struct with more areas than Linux allows has no key");
	made_set_u32(fixture->made, mm, MM_MAP_COUNT, 1);
	made_set(fixture->made, mm, MM_PGD, 0x1000);
	check(!vmas_read_key(&fixture->made->guest, mm, &other),
	      "page tables that are no kernel pointer give no key");
	check(!vmas_read_key(&fixture->made->guest, 0xffffffffc0000000, &other),
	      "an mm_struct that cannot be read has no key");
	check(vmas_key_equal(&key, &other), "a failure leaves the key untouched");
	made_linux_destroy(fixture->made);
}

int main(void)
{
	static struct fixture fixture;

	test_list(&fixture);
	test_endless(&fixture);
	test_tree(&fixture);
	test_nodes(&fixture);
	test_damaged(&fixture);
	test_wide(&fixture);
	test_key(&fixture, MADE_LIST);
	test_key(&fixture, MADE_TREE);
	return tap_done();
}
