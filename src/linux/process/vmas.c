/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the mappings of a process; see vmas.h. Resolver's thread. The guest runs meanwhile, so a
 * list or a tree may change during the walk. This does no harm: each VMA must begin where the one
 * before it ended or later, so a cycle ends the walk, and depth and number are bounded.
 *
 * Up to Linux 6.0 the VMAs are a list, mm_struct.mmap and vm_area_struct.vm_next. From 6.1 they are
 * the leaves of a maple tree, mm_struct.mm_mt (Linux commit d4af56c5c7c6 ("mm: start tracking VMAs
 * with maple tree") (in v6.1); lib/maple_tree.c, include/linux/maple_tree.h):
 *
 *   maple_tree.ma_root    encoded as an XArray's entry (xarray.h): a node, or else the only entry
 *   node, encoded         address of 256 bytes, aligned so | type << 3 | other bits
 *
 *     type 0  dense     slot[31]               one index each
 *     type 1  leaf      pivot[15] slot[16]     entries
 *     type 2  range     pivot[15] slot[16]     nodes
 *     type 3  arange    pivot[9]  slot[10]     nodes, gap[10]
 *
 *   A node of a kernel of 32 bits has 32 slots, or 21 of type 3.
 *
 *   slot[i] covers all indices up to and including pivot[i]. The last slot has no pivot and extends
 *   to the node's own end. A slot i > 0 with pivot 0 is the last one in use and extends to the
 *   node's end, too; the words after it may have other contents.
 *   An entry of a leaf is a vm_area_struct, NULL if nothing is mapped, or an internal value, for a
 *   place that fork() reserves (XA_ZERO_ENTRY).
 */
#include "config.h"

#include "linux/process/vmas.h"

#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/process/xarray.h"

#define VMAS_MAX_DEPTH   10 /* Linux MAPLE_HEIGHT_MAX is 31; 10^10 VMAs do not fit */
#define VMAS_MAX_NODES   (VMAS_MAX / 4)
#define MAPLE_NODE_BYTES 256
#define MAPLE_MAX_SLOTS  32

enum maple_type { MAPLE_DENSE, MAPLE_LEAF, MAPLE_RANGE, MAPLE_ARANGE };

struct vmas_walk {
	const struct linux_guest *guest;
	vmas_visitor *visit;
	void *context;
	uint64_t end; /* end of the VMA that was visited last */
	uint32_t n, n_nodes;
};

/* --- one VMA ---------------------------------------------------------------------------------- */

static bool vmas_read_vma(const struct linux_guest *guest, uint64_t address, struct vma *vma)
{
	return member_read_word(guest, address, VMA_START, &vma->start) &&
	       member_read_word(guest, address, VMA_END, &vma->end) &&
	       member_read_word(guest, address, VMA_FLAGS, &vma->flags) &&
	       member_read_word(guest, address, VMA_PGOFF, &vma->page_offset) &&
	       member_read_word(guest, address, VMA_FILE, &vma->file);
}

static enum vmas_result vmas_visit(struct vmas_walk *walk, uint64_t address)
{
	const struct linux_guest *guest = walk->guest;
	struct vma vma;

	if (!linux_is_kernel_of(guest, address) || address % linux_word_bytes(guest) ||
	    walk->n == VMAS_MAX)
		return VMAS_DAMAGED;
	if (!vmas_read_vma(guest, address, &vma))
		return VMAS_UNREADABLE;
	if (vma.start < walk->end || vma.start >= vma.end || vma.end > ARCH_USER_END ||
	    (vma.start | vma.end) & GUEST_PAGE_MASK ||
	    (vma.file && !linux_is_kernel_of(guest, vma.file)))
		return VMAS_DAMAGED;
	walk->end = vma.end;
	walk->n++;
	return walk->visit(walk->context, &vma) ? VMAS_DONE : VMAS_STOPPED;
}

/* --- up to Linux 6.0: a list ------------------------------------------------------------------ */

static enum vmas_result vmas_walk_list(struct vmas_walk *walk, uint64_t mm)
{
	uint64_t address;

	if (!member_read_word(walk->guest, mm, MM_MMAP, &address))
		return VMAS_UNREADABLE;
	while (address) {
		enum vmas_result result = vmas_visit(walk, address);

		if (result != VMAS_DONE)
			return result;
		if (!member_read_word(walk->guest, address, VMA_NEXT, &address))
			return VMAS_UNREADABLE;
	}
	return VMAS_DONE;
}

/* --- Linux 6.1 and later: a maple tree -------------------------------------------------------- */

struct maple_shape {
	uint32_t pivots, slots; /* offsets in the node */
	unsigned n_slots;       /* greater by one than the number of pivots */
};

/* The shape of a node with pivots. Returns false if it is unknown, or does not fit into a node. */
static bool maple_shape(const struct linux_guest *guest, enum maple_type type,
			struct maple_shape *shape)
{
	const struct layout *layout = &guest->layout;
	unsigned word_bytes = linux_word_bytes(guest);
	enum layout_member pivots = type == MAPLE_ARANGE ? MAPLE_A64_PIVOT : MAPLE_R64_PIVOT;
	enum layout_member slots = type == MAPLE_ARANGE ? MAPLE_A64_SLOT : MAPLE_R64_SLOT;

	if (!layout_has(layout, pivots) || !layout_has(layout, slots))
		return false;
	shape->pivots = layout_offset(layout, pivots);
	shape->slots = layout_offset(layout, slots);
	if (shape->slots <= shape->pivots || shape->slots >= MAPLE_NODE_BYTES)
		return false;
	shape->n_slots = (shape->slots - shape->pivots) / word_bytes + 1;
	return shape->n_slots <= MAPLE_MAX_SLOTS &&
	       shape->slots + shape->n_slots * word_bytes <= MAPLE_NODE_BYTES;
}

static uint64_t maple_word(const unsigned char *node, uint32_t offset, unsigned word_bytes)
{
	uint64_t word = 0;

	memcpy(&word, node + offset, word_bytes);
	return word;
}

static enum vmas_result maple_walk_node(struct vmas_walk *walk, uint64_t entry, uint64_t max,
					unsigned depth);

static enum vmas_result maple_walk_entry(struct vmas_walk *walk, uint64_t entry, uint64_t max,
					 bool leaf, unsigned depth)
{
	if (leaf)
		return !entry || xarray_is_internal(entry) ? VMAS_DONE : vmas_visit(walk, entry);
	if (!entry)
		return VMAS_DONE; /* happens only while the guest changes the tree */
	return maple_walk_node(walk, entry, max, depth + 1);
}

/* Whether a node that may have VMAs is at ADDRESS, and no limit is reached. */
static bool maple_is_node(const struct vmas_walk *walk, uint64_t address, enum maple_type type,
			  unsigned depth)
{
	/* A slot of a dense node covers one address, which is too small for a VMA. */
	return depth < VMAS_MAX_DEPTH && walk->n_nodes <= VMAS_MAX_NODES && type >= MAPLE_LEAF &&
	       type <= MAPLE_ARANGE && linux_is_kernel_of(walk->guest, address);
}

/*
 * Visits the VMAs below a node. ENTRY encodes the node; MAX is the last index that the node covers.
 */
static enum vmas_result maple_walk_node(struct vmas_walk *walk, uint64_t entry, uint64_t max,
					unsigned depth)
{
	const struct linux_guest *guest = walk->guest;
	uint64_t address = entry & ~(uint64_t)(MAPLE_NODE_BYTES - 1);
	enum maple_type type = entry >> 3 & 15;
	unsigned bytes = linux_word_bytes(guest);
	unsigned char node[MAPLE_NODE_BYTES];
	enum vmas_result result = VMAS_DONE;
	struct maple_shape shape;
	uint64_t last;

	walk->n_nodes++;
	if (!maple_is_node(walk, address, type, depth) || !maple_shape(guest, type, &shape))
		return VMAS_DAMAGED;
	/* A node is aligned to its size, so this is one page at most. */
	if (memory_read(guest->memory, guest->root, address, node, sizeof(node)) != sizeof(node))
		return VMAS_UNREADABLE;
	for (unsigned i = 0; result == VMAS_DONE && i < shape.n_slots; i++) {
		last = i < shape.n_slots - 1
			       ? maple_word(node, shape.pivots + i * bytes, bytes)
			       : max;
		if (last > max || (!last && i))
			last = max;
		result = maple_walk_entry(walk, maple_word(node, shape.slots + i * bytes, bytes),
					  last, type == MAPLE_LEAF, depth);
		if (last == max)
			break;
	}
	return result;
}

static enum vmas_result vmas_walk_tree(struct vmas_walk *walk, uint64_t root)
{
	if (!root)
		return VMAS_DONE;
	if (xarray_is_node(root))
		return maple_walk_node(walk, root,
				       linux_is_short(walk->guest) ? UINT32_MAX : UINT64_MAX, 0);
	return vmas_visit(walk, root);
}

/* --- the areas of a process ------------------------------------------------------------------- */

/* The word at which the walk begins: the tree's root, or the list's first VMA. */
static bool vmas_read_root(const struct linux_guest *guest, uint64_t mm, uint64_t *root)
{
	const struct layout *layout = &guest->layout;

	if (!layout_has(layout, MM_MT) || !layout_has(layout, MAPLE_ROOT))
		return member_read_word(guest, mm, MM_MMAP, root);
	return linux_is_kernel_of(guest, mm) &&
	       linux_read_word(
		       guest, mm + layout_offset(layout, MM_MT) + layout_offset(layout, MAPLE_ROOT),
		       root);
}

enum vmas_result vmas_walk(const struct linux_guest *guest, uint64_t mm, vmas_visitor *visit,
			   void *context)
{
	struct vmas_walk walk = { .guest = guest, .visit = visit, .context = context };
	uint64_t root;

	if (!layout_has(&guest->layout, MM_MT))
		return vmas_walk_list(&walk, mm);
	if (!vmas_read_root(guest, mm, &root))
		return VMAS_UNREADABLE;
	return vmas_walk_tree(&walk, root);
}

bool vmas_read_key(const struct linux_guest *guest, uint64_t mm, struct vmas_key *key)
{
	struct vmas_key read = { .mm = mm };

	if (!vmas_read_root(guest, mm, &read.root) ||
	    !member_read_pointer(guest, mm, MM_PGD, &read.pgd) ||
	    !member_read_word(guest, mm, MM_TOTAL_VM, &read.total_vm) ||
	    !member_read_u32(guest, mm, MM_MAP_COUNT, &read.map_count) || read.map_count > VMAS_MAX)
		return false;
	/* These members stay 0 if the kernel does not have them. */
	member_read_u32(guest, mm, MM_LOCK_SEQ, &read.lock_seq);
	member_read_word(guest, mm, MM_START_BRK, &read.start_brk);
	member_read_word(guest, mm, MM_START_STACK, &read.start_stack);
	member_read_word(guest, mm, MM_VDSO, &read.vdso);
	*key = read;
	return true;
}

bool vmas_key_equal(const struct vmas_key *a, const struct vmas_key *b)
{
	return a->mm == b->mm && a->pgd == b->pgd && a->root == b->root &&
	       a->total_vm == b->total_vm && a->start_brk == b->start_brk &&
	       a->start_stack == b->start_stack && a->vdso == b->vdso &&
	       a->map_count == b->map_count && a->lock_seq == b->lock_seq;
}
