/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter's frames in a copy: nodes, what they point to, and pages that are not there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sample/copy.h"
#include "tests/support/memory_guest.h"
#include "tests/support/tap.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/recipe.h"

#define KERNEL_TASK 0xffff888004000000ULL
#define PER_CPU     0xffff888003a00000ULL
#define USER        0x00007ffc12340000ULL
#define LIST        0x00007f0012340000ULL /* nodes, three in a page */
#define OBJECTS     0x00007f0034560000ULL /* each node's object, in a page of its own */
#define NAMES       0x00007f0056780000ULL
#define NODES       30
#define N_WORDS     4

static struct {
	struct memory_guest *memory;
	struct control *control;
	struct copier copier;
	uint64_t next_frame;
} guest = { .next_frame = 0x500 };
static char record[SAMPLE_STACK_LIMIT_BYTES + 4096];

static void add_pages(uint64_t address, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		memory_guest_page(guest.memory, guest.next_frame);
		memory_guest_map(guest.memory, guest.memory->regs[0].cr3,
				 address + i * GUEST_PAGE_SIZE, guest.next_frame++);
	}
}

static void put(uint64_t address, uint64_t word)
{
	uint64_t entry =
		*memory_guest_entry(guest.memory, guest.memory->regs[0].cr3, 4, 1, address);
	uint64_t *page = memory_guest_page(guest.memory, entry >> 12);

	page[address % GUEST_PAGE_SIZE / 8] = word;
}

static uint64_t node_at(uint64_t i)
{
	return LIST + i / 3 * GUEST_PAGE_SIZE + i % 3 * 1024 + 64;
}

static uint64_t object_at(uint64_t i)
{
	return OBJECTS + i * GUEST_PAGE_SIZE + 256;
}

static void make_list(void)
{
	add_pages(LIST, NODES / 3);
	add_pages(OBJECTS, NODES);
	add_pages(NAMES, 1);
	put(LIST, node_at(0));
	for (uint64_t i = 0; i < NODES; i++) {
		put(node_at(i), i + 1 < NODES ? node_at(i + 1) : 0);
		put(node_at(i) + 8, object_at(i) | (i & 7)); /* flags in the low bits */
		put(node_at(i) + 16, 1000 + i);
		put(object_at(i) - 32, 2000 + i);
		put(object_at(i) + 40, NAMES + 64 * i);
		put(NAMES + 64 * i + 24, 3000 + i);
	}
}

static void make_guest(void)
{
	const struct linux_stacks stacks = {
		.kernel_cr3 = guest.memory->regs[0].cr3,
		.current_per_cpu = 0x40,
		.top_per_cpu = 0x48,
		.stack_bytes = 0x4000,
		.regs_below_top = 168,
	};

	add_pages(PER_CPU, 1);
	add_pages(KERNEL_TASK, 1);
	add_pages(USER, 2);
	put(PER_CPU + 0x40, KERNEL_TASK);
	guest.memory->regs[0].gs_base = PER_CPU;
	guest.memory->regs[0].gs_base_kernel = PER_CPU;
	guest.memory->regs[0].rsp = USER + 0x100;
	control_set_linux_stacks(guest.control, &stacks);
	copy_poll_stacks(&guest.copier);
}

/* Copies the vCPU, and returns the words of its list; *N becomes their number. */
static const uint64_t *copy_list(size_t *n, bool *missed)
{
	const struct sample_stack *piece = (const struct sample_stack *)(const void *)record;
	struct registers regs = guest.memory->regs[0];
	struct copied copied;

	memset(record, 0xee, sizeof(record));
	copy_prepare(&guest.copier, &regs, true);
	frame_cache_stop(guest.copier.cache);
	copy_vcpu(&guest.copier, &regs, true, record, &copied);
	*missed = copied.missed;
	*n = 0;
	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_LIST) {
			check_u64(piece->address, N_WORDS, "words of a node");
			*n = piece->size_bytes / sizeof(uint64_t);
			return (const uint64_t *)(piece + 1);
		}
	return NULL;
}

static void check_nodes(const uint64_t *words, size_t n)
{
	unsigned right = 0;

	for (uint64_t i = 0; i < n / N_WORDS; i++, words += N_WORDS)
		right += words[0] == (object_at(i) | (i & 7)) && words[1] == 1000 + i &&
			 words[2] == 2000 + i && words[3] == 3000 + i;
	check_u64(right, n / N_WORDS, "nodes that are right");
}

static void test_list(void)
{
	const uint64_t *words;
	bool missed;
	size_t n;

	words = copy_list(&n, &missed);
	check_u64(n, NODES * N_WORDS, "words of all nodes");
	check(!missed, "all pages are there");
	check_nodes(words, n);
	put(object_at(3) + 40, 0x7f0099990000ULL);
	words = copy_list(&n, &missed);
	check(n == NODES * N_WORDS && words[3 * N_WORDS + 3] == 0 &&
		      words[3 * N_WORDS + 2] == 2003 && words[4 * N_WORDS + 3] == 3004,
	      "a far word that cannot be read is 0, and the others stay");
	put(object_at(3) + 40, NAMES + 64 * 3);
	put(node_at(9) + 8, 0);
	words = copy_list(&n, &missed);
	check(n == NODES * N_WORDS && !words[9 * N_WORDS] && !words[9 * N_WORDS + 2] &&
		      !words[9 * N_WORDS + 3] && words[9 * N_WORDS + 1] == 1009,
	      "a node without an object");
	put(node_at(9) + 8, object_at(9) | 1);
	put(node_at(12), 0x7f0099990000ULL);
	words = copy_list(&n, &missed);
	check_u64(n, 13 * N_WORDS, "a node that is not there ends the list");
	check_nodes(words, n);
	put(node_at(12), node_at(13) + 4);
	copy_list(&n, &missed);
	check_u64(n, 13 * N_WORDS, "so does an address that is no multiple of 8");
	put(node_at(12), node_at(0));
	copy_list(&n, &missed);
	check(n > NODES * N_WORDS && n <= RECIPE_MAX_NODES * N_WORDS, "a ring ends: %zu words", n);
}

/* A word of the structure that leads to the list comes before the nodes. */
static void test_current(struct recipe recipe)
{
	const uint64_t *words;
	bool missed;
	size_t n;

	put(node_at(12), node_at(13));
	put(LIST + 16, 77);
	recipe.current = 16;
	control_set_recipe(guest.control, guest.memory->regs[0].cr3, &recipe);
	copy_poll_stacks(&guest.copier);
	words = copy_list(&n, &missed);
	check_u64(n, (NODES + 1) * N_WORDS, "words of all nodes and one more");
	check(words && !words[0] && words[1] == 77 && !words[2] && words[3] == 1,
	      "a list with all nodes begins with one that has the current word and says so");
	check_nodes(words + N_WORDS, n - N_WORDS);
	put(node_at(12), 0x7f0099990000ULL);
	words = copy_list(&n, &missed);
	check(n == 14 * N_WORDS && words[1] == 77 && !words[3], "a list that ends early says so");
	put(LIST, 0);
	copy_list(&n, &missed);
	check_u64(n, 0, "words of a list without nodes");
}

int main(void)
{
	const struct recipe recipe = { .base = LIST,
				       .n_loads = 1,
				       .n_words = N_WORDS,
				       .n_far = 2,
				       .far = 8,
				       .deep = 24,
				       .words = { 8, 16, 32, recipe_after(40) },
				       .shape = RECIPE_LIST };

	guest.memory = memory_guest_create(1);
	error_destroy(control_create(&guest.control));
	guest.copier =
		(struct copier){ .guest = &guest.memory->guest.info, .control = guest.control };
	error_destroy(frame_cache_create(&guest.memory->guest.mapper, 256, FRAME_CACHE_ROUND_NS,
					 &guest.copier.cache));
	make_guest();
	make_list();
	control_set_recipe(guest.control, guest.memory->regs[0].cr3, &recipe);
	test_list();
	test_current(recipe);
	frame_cache_destroy(guest.copier.cache);
	control_destroy(guest.control);
	memory_guest_destroy(guest.memory);
	return tap_done();
}
