/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest pages that are mapped into this process, found by frame number. They are not found by
 * virtual address, because each context switch of the guest gives virtual addresses another
 * meaning.
 *
 * The table has a fixed size, open addressing, linear probing, and is at most half full. It is not
 * the table of hash.h, because it is read while the guest is stopped, and because the guest
 * chooses which frames are looked up then. Its multiplier is one of 2^63 odd numbers, drawn at
 * random, so that nobody can choose frames that all have the same slot (Dietzfelbinger et al., "A
 * reliable randomized algorithm for the closest-pair problem", 1997: multiply-shift).
 *
 * One page is unmapped when a visit of the clock hand finds it unused. frame_cache_sweep() visits
 * pages, and so does a full cache that needs room. All pages are unmapped when the guest's page
 * count changes: the guest balloons, and a guest frame may be another machine page now. The caller
 * unmaps them all when a read has faulted or the guest is gone.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/random.h>

#include "memory/walk_x86.h"
#include "xtop/base/clock.h"
#include "xtop/base/hash.h"
#include "xtop/memory/frame_cache.h"

#define CACHE_RETRY_NS   1000000000ULL /* a frame that Xen refused is tried again after this time */
#define CACHE_CREDIT_NS  1000000000ULL /* time whose credit can be saved up */
#define CACHE_MAX_VISITS 16            /* pages that one call of frame_cache_sweep() visits */
#define CACHE_LAST       128           /* tables of level 1 that are remembered */
#define CACHE_GROUP      64            /* slots that are skipped at once if they are free */
#define CACHE_PATH       4             /* tables from the top to one of level 1 on x86 */

struct cache_slot {
	uint64_t frame;
	void *page; /* NULL: Xen refused to map the frame at asked_ns */
	uint64_t asked_ns;
	bool taken, used;
};

/*
 * A table with the pages of 2 MiB under this root, which a "find" function used. Only tables of x86
 * in 64-bit mode, and of arm64 with 4 KiB pages. The vCPUs of a guest share the tables of their
 * kernel's variables and stacks.
 *
 * A later stop finds it again, without the walk, if no entry on the way to it has changed. Only
 * tables of x86 with four levels.
 */
struct cache_last {
	struct memory_root root;
	uint64_t region, stop; /* valid if STOP is the cache's n_stops */
	const volatile uint64_t *table;
	uint64_t visits; /* `at` and `entries` are valid if this equals n_visits; 0: never */
	const volatile uint64_t *at[CACHE_PATH - 1]; /* the entries that lead to the table */
	uint64_t entries[CACHE_PATH - 1];            /* values of the entries when they were read */
};

struct frame_cache {
	struct mapper mapper;
	uint64_t round_ns;
	size_t n_slots; /* 2^(64 - shift) */
	unsigned shift;
	uint64_t odd; /* the multiplier */
	size_t max_taken, n_taken, n_pages;
	uint8_t *groups; /* how many slots of each CACHE_GROUP are taken */
	size_t hand; /* the slot that is visited next */
	uint64_t visited_ns; /* all visits that were due before this time are done */
	uint64_t guest_pages;
	uint64_t maps;
	uint64_t max_per_s; /* calls of the mapper; 0: without limit */
	uint64_t credit;    /* calls of the mapper that frame_cache_get() may make now */
	uint64_t credit_ns; /* the credit for the time before this is already added */
	uint64_t n_stops;   /* grows with each stop and whenever n_visits grows */
	/* starts at 1; grows whenever the remembered tables may have been unmapped or unmarked */
	uint64_t n_visits;
	/* remembered tables, at the index that cache_last() computes */
	struct cache_last last[CACHE_LAST];
	struct cache_slot slots[];
};

struct xtop_error *frame_cache_create(const struct mapper *mapper, size_t max_pages,
				      uint64_t round_ns, struct frame_cache **cachep)
{
	struct frame_cache *cache;
	uint8_t *groups;
	size_t n_slots = CACHE_GROUP;
	unsigned shift = 58; /* 64 - log2 of n_slots */

	for (; n_slots < 2 * max_pages; shift--)
		n_slots *= 2;
	cache = calloc(1, sizeof(*cache) + n_slots * sizeof(cache->slots[0]));
	groups = calloc(n_slots / CACHE_GROUP, sizeof(*groups));
	if (!cache || !groups) {
		free(cache);
		free(groups);
		return error_create("out of memory");
	}
	cache->groups = groups;
	cache->mapper = *mapper;
	cache->round_ns = round_ns;
	cache->n_visits = 1;
	cache->n_slots = n_slots;
	cache->shift = shift;
	if (getrandom(&cache->odd, sizeof(cache->odd), GRND_NONBLOCK) != sizeof(cache->odd))
		cache->odd = clock_now_ns() * HASH_ODD;
	cache->odd |= 1;
	cache->max_taken = max_pages;
	*cachep = cache;
	return NULL;
}

void frame_cache_destroy(struct frame_cache *cache)
{
	if (!cache)
		return;
	frame_cache_drop(cache);
	free(cache->groups);
	free(cache);
}

static size_t cache_home(const struct frame_cache *cache, uint64_t frame)
{
	return frame * cache->odd >> cache->shift;
}

/* The slot of FRAME, or the free slot for it. There is always one: half of all slots are free. */
static struct cache_slot *cache_probe(struct frame_cache *cache, uint64_t frame)
{
	size_t i = cache_home(cache, frame);

	while (cache->slots[i].taken && cache->slots[i].frame != frame)
		i = (i + 1) & (cache->n_slots - 1);
	return &cache->slots[i];
}

/* A page that is unmapped, or no longer marked as used, may be one of the last tables. */
static void cache_forget_last(struct frame_cache *cache)
{
	cache->n_stops++;
	cache->n_visits++;
}

/* Unmaps the page of SLOT. The slot stays taken. */
static void cache_unmap(struct frame_cache *cache, struct cache_slot *slot)
{
	if (!slot->page)
		return;
	cache_forget_last(cache);
	cache->mapper.unmap(cache->mapper.context, slot->page);
	slot->page = NULL;
	cache->n_pages--;
}

static void cache_map(struct frame_cache *cache, struct cache_slot *slot, uint64_t now_ns)
{
	slot->page = cache->mapper.map(cache->mapper.context, FRAME(slot->frame));
	slot->asked_ns = now_ns;
	if (!slot->page)
		return;
	cache->n_pages++;
	cache->maps++;
}

/*
 * Frees slot I. Then moves back the entries that probing would no longer find after the gap (Knuth
 * 6.4, algorithm R).
 */
static void cache_remove(struct frame_cache *cache, size_t i)
{
	size_t mask = cache->n_slots - 1;

	cache_unmap(cache, &cache->slots[i]);
	cache->n_taken--;
	for (size_t j = (i + 1) & mask; cache->slots[j].taken; j = (j + 1) & mask) {
		size_t home = cache_home(cache, cache->slots[j].frame);

		if (((j - home) & mask) < ((j - i) & mask))
			continue; /* the home of this page is after the gap */
		cache->slots[i] = cache->slots[j];
		i = j;
	}
	cache->slots[i] = (struct cache_slot){ 0 };
	cache->groups[i / CACHE_GROUP]--;
}

/*
 * One step of the clock hand. Unmaps a page that was not used since the last visit. REFRESH: maps a
 * page again that was used.
 */
static void cache_visit(struct frame_cache *cache, uint64_t now_ns, bool refresh)
{
	struct cache_slot *slot = &cache->slots[cache->hand];

	if (slot->taken && !slot->used) {
		cache_remove(cache, cache->hand); /* the hand stays: another page may move here */
		return;
	}
	if (slot->taken) {
		slot->used = false;
		cache_forget_last(cache);
		if (refresh) {
			cache_unmap(cache, slot);
			cache_map(cache, slot, now_ns);
		}
	}
	cache->hand = (cache->hand + 1) & (cache->n_slots - 1);
}

const void *frame_cache_find(struct frame_cache *cache, frame_t frame)
{
	struct cache_slot *slot = cache_probe(cache, frame.value);

	slot->used = slot->taken;
	return slot->page;
}

/* Pays for one call of the mapper. False: there were too many in the last second. */
static bool cache_spend_credit(struct frame_cache *cache, uint64_t now_ns)
{
	uint64_t earned;

	if (!cache->max_per_s)
		return true;
	if (now_ns - cache->credit_ns > CACHE_CREDIT_NS)
		cache->credit_ns = now_ns - CACHE_CREDIT_NS;
	earned = (now_ns - cache->credit_ns) * cache->max_per_s / CACHE_CREDIT_NS;
	cache->credit_ns += earned * CACHE_CREDIT_NS / cache->max_per_s;
	cache->credit += earned;
	if (cache->credit > cache->max_per_s)
		cache->credit = cache->max_per_s;
	if (!cache->credit)
		return false;
	cache->credit--;
	return true;
}

/* A new slot for FRAME. If the cache is full, this removes another page, and slots may move. */
static struct cache_slot *cache_add(struct frame_cache *cache, uint64_t frame, uint64_t now_ns)
{
	struct cache_slot *slot;

	/* This ends: after one round of the hand no page is marked as used. */
	while (cache->n_taken >= cache->max_taken)
		cache_visit(cache, now_ns, false);
	slot = cache_probe(cache, frame);
	*slot = (struct cache_slot){ .frame = frame, .taken = true };
	cache->groups[(size_t)(slot - cache->slots) / CACHE_GROUP]++;
	cache->n_taken++;
	return slot;
}

const void *frame_cache_get(struct frame_cache *cache, frame_t frame, uint64_t now_ns)
{
	struct cache_slot *slot = cache_probe(cache, frame.value);

	if (!slot->taken) {
		if (!cache_spend_credit(cache, now_ns))
			return NULL;
		slot = cache_add(cache, frame.value, now_ns);
		cache_map(cache, slot, now_ns);
	} else if (!slot->page && now_ns - slot->asked_ns >= CACHE_RETRY_NS &&
		   cache_spend_credit(cache, now_ns)) {
		cache_map(cache, slot, now_ns);
	}
	slot->used = true;
	return slot->page;
}

/* --- look-up by address ----------------------------------------------------------------------- */

void frame_cache_stop(struct frame_cache *cache)
{
	cache->n_stops++;
}

/* The place in `last` for the table of ADDRESS. */
static inline struct cache_last *cache_last(struct frame_cache *cache, uint64_t address)
{
	return &cache->last[(address >> SHIFT_2MIB) % CACHE_LAST];
}

/* What the walk's table function needs while the guest is stopped. */
struct cache_finder {
	struct frame_cache *cache;
	/* tables on the way to the page; five at most */
	const volatile uint64_t *tables[CACHE_PATH + 1];
	unsigned n;
};

static inline const volatile uint64_t *cache_find_table(void *context, frame_t frame)
{
	struct cache_finder *finder = context;
	const volatile uint64_t *table = frame_cache_find(finder->cache, frame);

	finder->tables[finder->n++] = table;
	return table;
}

/* Whether a 4 KiB page that the walk under ROOT found can be found again by its last table. */
static inline bool cache_may_remember(struct memory_root root)
{
	return root.width == WIDTH_64 || (root.width == ROOT_ARM64 && !root.arm64.ds);
}

/* Remembers the last table that FINDER found: other addresses are often in the same one. */
static inline void cache_remember(struct frame_cache *cache, struct memory_root root,
				  uint64_t address, const struct cache_finder *finder)
{
	struct cache_last *last = cache_last(cache, address);

	last->root = root;
	last->region = address >> SHIFT_2MIB;
	last->stop = cache->n_stops;
	last->table = finder->tables[finder->n - 1];
	last->visits = 0;
	if (root.width != WIDTH_64 || finder->n != CACHE_PATH)
		return;
	last->visits = cache->n_visits;
	for (unsigned i = 0; i < CACHE_PATH - 1; i++) {
		size_t index = walk_index_64(address, SHIFT_TOP - i * WALK_ENTRY_BITS);

		last->at[i] = &finder->tables[i][index];
		last->entries[i] = *last->at[i];
	}
}

/* Walks all tables under ROOT. */
static enum walk_result cache_walk(struct frame_cache *cache, struct memory_root root,
				   uint64_t address, frame_t *frame)
{
	struct cache_finder finder = { .cache = cache };
	struct walk_span span;
	enum walk_result result = walk(cache_find_table, &finder, root, address, &span);

	if (result != WALK_OK)
		return result;
	*frame = span.frame;
	if (span.shift == SHIFT_PAGE && cache_may_remember(root))
		cache_remember(cache, root, address, &finder);
	return WALK_OK;
}

/* Whether the tables of an earlier stop still lead to LAST's. All are still marked as used. */
static inline bool cache_is_path(const struct frame_cache *cache, const struct cache_last *last)
{
	if (last->visits != cache->n_visits)
		return false;
	for (unsigned i = 0; i < CACHE_PATH - 1; i++)
		if (*last->at[i] != last->entries[i])
			return false;
	return true;
}

/* The remembered table for ADDRESS under ROOT. NULL: there is none. */
static inline const volatile uint64_t *cache_find_last(struct frame_cache *cache,
						       struct memory_root root, uint64_t address)
{
	struct cache_last *last = cache_last(cache, address);

	if (last->region != address >> SHIFT_2MIB || last->root.words[0] != root.words[0] ||
	    last->root.words[1] != root.words[1])
		return NULL;
	if (last->stop != cache->n_stops) {
		if (!cache_is_path(cache, last))
			return NULL;
		last->stop = cache->n_stops;
	}
	return last->table;
}

/* Does only the last step of the walk, in TABLE. */
static inline enum walk_result cache_walk_last(const volatile uint64_t *table,
					       struct memory_root root, uint64_t address,
					       frame_t *frame)
{
	return root.width == ROOT_ARM64 ? walk_arm64_last(table, address, frame)
					: walk_last(table, address, frame);
}

enum walk_result frame_cache_find_frame(struct frame_cache *cache, struct memory_root root,
					gva_t address, frame_t *frame)
{
	const volatile uint64_t *table = cache_find_last(cache, root, address.value);

	return table ? cache_walk_last(table, root, address.value, frame)
		     : cache_walk(cache, root, address.value, frame);
}

static inline enum walk_result cache_find_mapped(struct frame_cache *cache, frame_t frame,
						 const void **page)
{
	*page = frame_cache_find(cache, frame);
	return *page ? WALK_OK : WALK_NOT_MAPPED;
}

/*
 * Not inline: most calls of frame_cache_find_page() do not come here, and need not save registers
 * for the walk.
 */
static __attribute__((noinline)) enum walk_result
cache_walk_to_page(struct frame_cache *cache, struct memory_root root, uint64_t address,
		   const void **page)
{
	frame_t frame;
	enum walk_result result = cache_walk(cache, root, address, &frame);

	return result == WALK_OK ? cache_find_mapped(cache, frame, page) : result;
}

enum walk_result frame_cache_find_page(struct frame_cache *cache, struct memory_root root,
				       gva_t address, const void **page)
{
	const volatile uint64_t *table = cache_find_last(cache, root, address.value);
	enum walk_result result;
	frame_t frame;

	if (!table)
		return cache_walk_to_page(cache, root, address.value, page);
	result = cache_walk_last(table, root, address.value, &frame);
	return result == WALK_OK ? cache_find_mapped(cache, frame, page) : result;
}

/* What the walk's table function needs while the guest runs. */
struct cache_asker {
	struct frame_cache *cache;
	uint64_t now_ns;
};

static const volatile uint64_t *cache_get_table(void *context, frame_t frame)
{
	struct cache_asker *asker = context;

	return frame_cache_get(asker->cache, frame, asker->now_ns);
}

enum walk_result frame_cache_get_frame(struct frame_cache *cache, struct memory_root root,
				       gva_t address, uint64_t now_ns, frame_t *frame)
{
	struct cache_asker asker = { .cache = cache, .now_ns = now_ns };
	struct walk_reader reader = { .table = cache_get_table, .context = &asker };

	return walk_find_frame(&reader, root, address, frame);
}

enum walk_result frame_cache_get_page(struct frame_cache *cache, struct memory_root root,
				      gva_t address, uint64_t now_ns, const void **page)
{
	frame_t frame = FRAME(0);
	enum walk_result result = frame_cache_get_frame(cache, root, address, now_ns, &frame);

	if (result != WALK_OK)
		return result;
	*page = frame_cache_get(cache, frame, now_ns);
	return *page ? WALK_OK : WALK_NOT_MAPPED;
}

/* --- housekeeping ----------------------------------------------------------------------------- */

void frame_cache_update_pages(struct frame_cache *cache, uint64_t pages)
{
	if (pages == cache->guest_pages)
		return;
	frame_cache_drop(cache);
	cache->guest_pages = pages;
}

/*
 * Moves the hand over free slots, at most DUE of them. Returns how many. Most slots are free: to
 * look at each is a third of what a sampler computes in a tick.
 */
static uint64_t cache_skip_free(struct frame_cache *cache, uint64_t due)
{
	size_t hand = cache->hand, mask = cache->n_slots - 1;
	uint64_t n = 0, step;

	while (n < due) {
		step = 1;
		if (!cache->groups[hand / CACHE_GROUP])
			step = CACHE_GROUP - hand % CACHE_GROUP;
		else if (cache->slots[hand].taken)
			break;
		step = step < due - n ? step : due - n;
		hand = (hand + step) & mask;
		n += step;
	}
	cache->hand = hand;
	return n;
}

/* Does all visits that are due. EXPIRE: each visited page is unmapped. */
static void cache_sweep(struct frame_cache *cache, uint64_t now_ns, bool expire)
{
	uint64_t slot_ns = cache->round_ns / cache->n_slots, due, done = 0;

	if (now_ns - cache->visited_ns > cache->round_ns)
		cache->visited_ns = now_ns - cache->round_ns;
	due = (now_ns - cache->visited_ns) / slot_ns;
	for (unsigned visits = 0; done < due && visits < CACHE_MAX_VISITS; visits++) {
		done += cache_skip_free(cache, due - done);
		if (done == due)
			break;
		if (expire)
			cache->slots[cache->hand].used = false;
		cache_visit(cache, now_ns, true);
		done++;
	}
	cache->visited_ns += done * slot_ns;
}

void frame_cache_sweep(struct frame_cache *cache, uint64_t now_ns)
{
	cache_sweep(cache, now_ns, false);
}

void frame_cache_expire(struct frame_cache *cache, uint64_t now_ns)
{
	cache_sweep(cache, now_ns, true);
}

void frame_cache_set_limit(struct frame_cache *cache, uint64_t maps_per_s, uint64_t now_ns)
{
	cache->max_per_s = cache->credit = maps_per_s;
	cache->credit_ns = now_ns;
}

void frame_cache_drop(struct frame_cache *cache)
{
	for (size_t i = 0; i < cache->n_slots && cache->n_taken; i++) {
		if (!cache->slots[i].taken)
			continue; /* a write would give the page of a free slot memory */
		cache_unmap(cache, &cache->slots[i]);
		cache->slots[i] = (struct cache_slot){ 0 };
		cache->groups[i / CACHE_GROUP] = 0;
	}
	cache->n_taken = 0;
}

size_t frame_cache_pages(const struct frame_cache *cache)
{
	return cache->n_pages;
}

uint64_t frame_cache_maps(const struct frame_cache *cache)
{
	return cache->maps;
}
