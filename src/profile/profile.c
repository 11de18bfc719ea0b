/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile; see profile.h. Resolver's thread.
 *
 * Decay. A live weight should halve with every half-life. Instead of making old weights smaller,
 * the profile makes new ones larger: a sample at time t is stored as 2^(t / half-life), and a
 * reader at time t divides by the same power. So a stored number does not change with time, and
 * stored numbers compare as the weights do (forward decay: Cormode, Shkapenyuk, Srivastava, Xu,
 * "Forward Decay: A Practical Time Decay Model for Streaming Systems", ICDE 2009). The range of
 * exponents is limited, so time is cut into epochs of PROFILE_EPOCH half-lives. Powers count from
 * the start of an epoch, and a node tells in which epoch its number was stored. When weight is
 * added to the node, its number is converted to the current epoch.
 *
 * Nodes lie in one array in the order of creation. Only eviction and renaming remove nodes, and
 * they close the gaps. So a parent always comes before its children, and every question about the
 * tree is a pass over the array: from the back to sum subtrees, from the front to place them. No
 * node keeps a list of its children.
 *
 * The hash table of nodes is not the one of hash.h, because each frame of each sample is
 * looked up in it and it has up to PROFILE_MAX_NODES nodes. A key is compared where its node lies,
 * without a call; chains through the nodes take 8 to 12 bytes a node instead of 16 to 32; eviction
 * rebuilds them in one pass. The arrays do not grow by vector.h: their capacity ends exactly
 * at the limit. A node and its shares of heads and scratch take 52 bytes.
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/profile/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

/* A sum of counts below 2^64 times 2^512 is far from the end of double, 2^1024. */
#define PROFILE_EPOCH            512
#define PROFILE_FIRST_NODES      4096
#define PROFILE_MIN_HALF_LIFE_NS 1000000ULL
#define PROFILE_MAX_HALF_LIFE_NS (UINT64_MAX / PROFILE_EPOCH)
#define PROFILE_EVICT_SHARE      8 /* a batch is this fraction of the nodes */
#define PROFILE_FEW_NODES        8 /* so many heads are cleared while one node's head is found */
#define NODE_NONE                UINT32_MAX

struct profile_node {
	uint32_t parent, frame;
	uint32_t hash_next; /* next node in the same hash chain */
	uint32_t epoch;     /* the epoch in which LIVE was stored */
	double live;        /* own weight, times 2^(half-lives since the start of its epoch) */
	double ticks;       /* own weight, not decayed */
	uint64_t total;     /* own samples */
};

struct profile {
	struct profile_node *nodes;
	uint32_t n, capacity, max;
	uint32_t *heads;     /* first nodes of the hash chains, 2^n of them, at least capacity */
	unsigned hash_shift; /* 64 - log2 of the number of heads */
	uint32_t *scratch;   /* two numbers for each node, for copying and evicting */
	uint64_t seed;       /* random, so that a guest cannot aim at one chain */
	const struct frames *frames;

	uint64_t half_life_ns; /* 0: no decay */
	uint64_t time_ns;      /* time of the latest sample so far */
	uint64_t started_ns;   /* time of the first sample; 0: none */
	uint32_t epoch;        /* the epoch of time_ns; the first one starts at time 0 */
	double growth;         /* 2^(half-lives from the start of the epoch to time_ns) */
	uint64_t evicted;

	/* The stack that was added last: the next stack often shares its outer part. */
	uint32_t path_n;
	uint32_t path_frames[SNAPSHOT_MAX_DEPTH], path_nodes[SNAPSHOT_MAX_DEPTH];
	uint32_t shortened[SNAPSHOT_MAX_DEPTH]; /* a stack that was too deep */
};

/* --- time ------------------------------------------------------------------------------------- */

/* Brings the clock of the profile up to TIME_NS. It never goes back. */
static void profile_advance(struct profile *profile, uint64_t time_ns)
{
	uint64_t epoch_ns = profile->half_life_ns * PROFILE_EPOCH;

	if (time_ns <= profile->time_ns)
		return;
	profile->time_ns = time_ns;
	if (!profile->half_life_ns)
		return;
	profile->epoch = time_ns / epoch_ns;
	profile->growth = exp2((double)(time_ns % epoch_ns) / profile->half_life_ns);
}

/* NODE's live weight as it would be stored now. */
static double profile_stored(const struct profile *profile, const struct profile_node *node)
{
	uint32_t epochs = profile->epoch - node->epoch;

	if (!epochs)
		return node->live;
	/* Beyond four epochs nothing is left that a double can hold. */
	return ldexp(node->live, -PROFILE_EPOCH * (int)(epochs < 4 ? epochs : 4));
}

/* Adds weight to the node INDEX. STORED is its live weight, times profile->growth. */
static void profile_weigh(struct profile *profile, uint32_t index, double stored, double ticks,
			  uint64_t total)
{
	struct profile_node *node = &profile->nodes[index];

	node->live = profile_stored(profile, node) + stored;
	node->epoch = profile->epoch;
	node->ticks += ticks;
	node->total += total;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static uint32_t *profile_head(const struct profile *profile, uint32_t parent, uint32_t frame)
{
	uint64_t hash = (((uint64_t)parent << 32) | frame) ^ profile->seed;

	/* The finaliser of MurmurHash3: every bit of the key reaches every bit of the hash. */
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
	return &profile->heads[hash >> profile->hash_shift];
}

static void profile_chain(struct profile *profile, uint32_t index)
{
	struct profile_node *node = &profile->nodes[index];
	uint32_t *head = profile_head(profile, node->parent, node->frame);

	node->hash_next = *head;
	*head = index;
}

static void profile_rehash(struct profile *profile)
{
	memset(profile->heads, 0xff, sizeof(*profile->heads) << (64 - profile->hash_shift));
	for (uint32_t i = 1; i < profile->n; i++)
		profile_chain(profile, i);
}

/* The child of PARENT for FRAME, or NODE_NONE. */
static uint32_t profile_find(const struct profile *profile, uint32_t parent, uint32_t frame)
{
	uint32_t index = *profile_head(profile, parent, frame);

	for (; index != NODE_NONE; index = profile->nodes[index].hash_next) {
		const struct profile_node *node = &profile->nodes[index];

		if (node->parent == parent && node->frame == frame)
			break;
	}
	return index;
}

/*
 * Whether the child of PARENT for FRAME is the node after PARENT. Most nodes have one child, which
 * was made just after them for the same stack. Then there is no need to look into the hash table,
 * where each step misses the processor's caches.
 */
static bool profile_is_next(const struct profile *profile, uint32_t parent, uint32_t frame)
{
	const struct profile_node *next = &profile->nodes[parent + 1];

	return parent + 1 < profile->n && next->parent == parent && next->frame == frame;
}

/*
 * The child of PARENT for FRAME; added if new. There must be room for one more node. The last node
 * has no child, because a parent comes before its children; so the rest of a new stack is not
 * looked for.
 */
static uint32_t profile_find_or_add(struct profile *profile, uint32_t parent, uint32_t frame)
{
	uint32_t index = NODE_NONE;

	if (profile_is_next(profile, parent, frame))
		return parent + 1;
	if (parent + 1 < profile->n)
		index = profile_find(profile, parent, frame);
	if (index != NODE_NONE)
		return index;
	assert(profile->n < profile->capacity);
	index = profile->n++;
	profile->nodes[index] = (struct profile_node){ .parent = parent, .frame = frame };
	profile_chain(profile, index);
	return index;
}

/*
 * Makes room for CAPACITY nodes. False: out of memory. Then some arrays may be larger than
 * profile->capacity says, which does no harm.
 */
static bool profile_grow(struct profile *profile, uint32_t capacity)
{
	unsigned bits = 64 - __builtin_clzll(capacity - 1);
	struct profile_node *nodes = realloc(profile->nodes, capacity * sizeof(*nodes));
	uint32_t *heads = NULL, *scratch = NULL;

	if (nodes) {
		profile->nodes = nodes;
		scratch = realloc(profile->scratch, capacity * 2 * sizeof(*scratch));
	}
	if (scratch) {
		profile->scratch = scratch;
		heads = realloc(profile->heads, sizeof(*heads) << bits);
	}
	if (!heads)
		return false;
	profile->heads = heads;
	profile->hash_shift = 64 - bits;
	profile->capacity = capacity;
	profile_rehash(profile);
	return true;
}

/* --- eviction --------------------------------------------------------------------------------- */

/*
 * Sums the weights of all subtrees, as of now, into SUMS. Float is precise enough: rounding is
 * monotonic, so a parent is never lighter than its child, and eviction needs nothing else. The root
 * and [evicted] weigh infinitely much.
 */
static void profile_sum_subtrees(const struct profile *profile, float *sums)
{
	for (uint32_t i = 0; i < profile->n; i++) {
		const struct profile_node *node = &profile->nodes[i];
		bool kept = node->parent == 0 && node->frame == FRAME_EVICTED;

		sums[i] = kept ? INFINITY : profile_stored(profile, node) / profile->growth;
	}
	sums[0] = INFINITY;
	for (uint32_t i = profile->n - 1; i > 0; i--)
		sums[profile->nodes[i].parent] += sums[i];
}

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/*
 * The RANK-th smallest (from 1) of N floats that are not negative. The bits of such floats are in
 * the same order as the numbers. So counting finds the result digit by digit, 11 + 11 + 10 bits
 * from the top, in three passes, whatever weights the guest causes. *TIESP: how many of the values
 * equal to the result belong to the RANK smallest.
 */
static float profile_select(const float *values, uint32_t n, uint32_t rank, uint32_t *tiesp)
{
	static const unsigned shifts[] = { 21, 10, 0 }, widths[] = { 11, 11, 10 };
	uint32_t found = 0, mask = 0;
	float value;

	for (unsigned pass = 0; pass < 3; pass++) {
		uint32_t counts[1 << 11] = { 0 }, digit = 0, digits = (1U << widths[pass]) - 1;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t bits = float_bits(values[i]);

			if ((bits & mask) == found)
				counts[(bits >> shifts[pass]) & digits]++;
		}
		for (; counts[digit] < rank; digit++)
			rank -= counts[digit];
		found |= digit << shifts[pass];
		mask |= digits << shifts[pass];
	}
	*tiesp = rank;
	memcpy(&value, &found, sizeof(value));
	return value;
}

/*
 * Sets GONE to 1 for the N_GONE lightest nodes, to 0 for the others. Among equal weights the newer
 * node goes first, and so a child goes before its parent.
 */
static void profile_mark_lightest(const struct profile *profile, uint32_t n_gone, const float *sums,
				  uint32_t *gone)
{
	uint32_t ties;
	float limit = profile_select(sums, profile->n, n_gone, &ties);

	for (uint32_t i = profile->n; i-- > 0;) {
		gone[i] = sums[i] < limit || (sums[i] == limit && ties > 0);
		if (sums[i] == limit && ties > 0)
			ties--;
	}
}

/*
 * Removes exactly the N_GONE lightest nodes. A node is as heavy as its subtree, so no node goes
 * before its children. A batch is at least an eighth of the nodes, so that each new node pays for
 * only a few steps of these passes, whatever the shape of the tree.
 */
static void profile_evict(struct profile *profile, uint32_t n_gone)
{
	uint32_t *moved = profile->scratch + profile->capacity, n = 0;
	struct profile_node *nodes = profile->nodes;
	double stored = 0, ticks = 0;
	uint64_t total = 0;

	profile_sum_subtrees(profile, (float *)profile->scratch);
	profile_mark_lightest(profile, n_gone, (const float *)profile->scratch, moved);
	for (uint32_t i = 0; i < profile->n; i++) {
		if (moved[i]) {
			stored += profile_stored(profile, &nodes[i]);
			ticks += nodes[i].ticks;
			total += nodes[i].total;
			continue;
		}
		nodes[n] = nodes[i];
		nodes[n].parent = moved[nodes[i].parent];
		moved[i] = n++;
	}
	profile->n = n;
	profile->evicted += n_gone;
	profile->path_n = 0;
	profile_rehash(profile);
	profile_weigh(profile, profile_find_or_add(profile, 0, FRAME_EVICTED), stored, ticks,
		      total);
}

/* Makes room for N more nodes. N is at most half of the limit. */
static void profile_make_room(struct profile *profile, uint32_t n)
{
	uint32_t capacity = profile->capacity, batch;

	if (profile->n + n <= capacity)
		return;
	if (capacity < profile->max &&
	    profile_grow(profile, capacity < profile->max / 2 ? 2 * capacity : profile->max))
		return;
	/* [evicted] may need a node, too. */
	batch = profile->n + n + 1 - capacity;
	if (batch < profile->n / PROFILE_EVICT_SHARE)
		batch = profile->n / PROFILE_EVICT_SHARE;
	profile_evict(profile, batch);
}

/* --- renaming --------------------------------------------------------------------------------- */

/*
 * Gives node I its new parent and frame, and returns its new index: *NP, or the index of the equal
 * node that is already there and gets the weight.
 */
static uint32_t profile_move(struct profile *profile, uint32_t i, uint32_t parent, uint32_t frame,
			     uint32_t *np)
{
	struct profile_node node = profile->nodes[i];
	uint32_t index = profile_find(profile, parent, frame);

	if (index != NODE_NONE) {
		profile_weigh(profile, index, profile_stored(profile, &node), node.ticks,
			      node.total);
		return index;
	}
	node.parent = parent;
	node.frame = frame;
	index = (*np)++;
	profile->nodes[index] = node;
	profile_chain(profile, index);
	return index;
}

void profile_rename(struct profile *profile,
		    uint32_t (*find_better)(void *context, uint32_t frame), void *context)
{
	uint32_t *moved = profile->scratch, old_n = profile->n, n = 1;

	profile->n = 1;
	profile_rehash(profile); /* now empty: profile_move() fills it */
	moved[0] = 0;
	for (uint32_t i = 1; i < old_n; i++) {
		const struct profile_node *node = &profile->nodes[i];

		moved[i] = profile_move(profile, i, moved[node->parent],
					find_better(context, node->frame), &n);
	}
	profile->n = n;
	profile->path_n = 0;
}

/* --- creation, samples ------------------------------------------------------------------------ */

struct xtop_error *profile_create(size_t max_nodes, uint64_t half_life_ns,
				  const struct frames *frames, struct profile **profilep)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	uint32_t max = max_nodes < PROFILE_MAX_NODES ? max_nodes : PROFILE_MAX_NODES;

	if (!profile)
		return error_create("no memory for the profile");
	if (half_life_ns && half_life_ns < PROFILE_MIN_HALF_LIFE_NS)
		half_life_ns = PROFILE_MIN_HALF_LIFE_NS;
	if (half_life_ns > PROFILE_MAX_HALF_LIFE_NS)
		half_life_ns = PROFILE_MAX_HALF_LIFE_NS;
	profile->max = max < PROFILE_MIN_NODES ? PROFILE_MIN_NODES : max;
	profile->frames = frames;
	profile->half_life_ns = half_life_ns;
	profile->growth = 1;
	if (getrandom(&profile->seed, sizeof(profile->seed), GRND_NONBLOCK) < 0)
		profile->seed = (uintptr_t)profile;
	if (!profile_grow(profile, profile->max < PROFILE_FIRST_NODES ? profile->max
								      : PROFILE_FIRST_NODES)) {
		profile_destroy(profile);
		return error_create("no memory for the profile");
	}
	profile_reset(profile);
	*profilep = profile;
	return NULL;
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	free(profile->nodes);
	free(profile->heads);
	free(profile->scratch);
	free(profile);
}

/* Empties the hash table: the heads of the nodes, if they are few, or all. */
static void profile_unhash(struct profile *profile)
{
	size_t n_heads = (size_t)1 << (64 - profile->hash_shift);

	if (profile->n > n_heads / PROFILE_FEW_NODES) {
		memset(profile->heads, 0xff, n_heads * sizeof(*profile->heads));
		return;
	}
	for (uint32_t i = 1; i < profile->n; i++)
		*profile_head(profile, profile->nodes[i].parent, profile->nodes[i].frame) =
			NODE_NONE;
}

void profile_reset(struct profile *profile)
{
	profile_unhash(profile);
	profile->n = 1;
	profile->nodes[0] = (struct profile_node){ .frame = FRAME_ROOT };
	profile->started_ns = 0;
	profile->evicted = 0;
	profile->path_n = 0;
}

/* Keeps LIMIT of the N frames: the outermost and the innermost, and a mark in between. */
static const uint32_t *profile_shorten(struct profile *profile, const uint32_t *frames, size_t n,
				       size_t limit)
{
	size_t outer = limit / 2, inner = limit - outer - 1;

	memcpy(profile->shortened, frames, outer * sizeof(*frames));
	profile->shortened[outer] = FRAME_TRUNCATED;
	memcpy(profile->shortened + outer + 1, frames + n - inner, inner * sizeof(*frames));
	return profile->shortened;
}

void profile_add(struct profile *profile, const uint32_t *frames, size_t n, uint64_t time_ns,
		 uint64_t count, double ticks)
{
	static const uint32_t unknown = FRAME_UNKNOWN;
	uint32_t limit =
		profile->max / 2 < SNAPSHOT_MAX_DEPTH ? profile->max / 2 : SNAPSHOT_MAX_DEPTH;
	uint32_t node, depth = 0;

	if (!count)
		return;
	profile_advance(profile, time_ns);
	if (!profile->started_ns)
		profile->started_ns = profile->time_ns;
	if (!n) {
		frames = &unknown;
		n = 1;
	}
	if (n > limit) {
		frames = profile_shorten(profile, frames, n, limit);
		n = limit;
	}
	profile_make_room(profile, n);
	while (depth < n && depth < profile->path_n && frames[depth] == profile->path_frames[depth])
		depth++;
	node = depth ? profile->path_nodes[depth - 1] : 0;
	for (; depth < n; depth++) {
		node = profile_find_or_add(profile, node, frames[depth]);
		profile->path_frames[depth] = frames[depth];
		profile->path_nodes[depth] = node;
	}
	profile->path_n = n;
	profile_weigh(profile, node, ticks * profile->growth, ticks, count);
}

/*
 * Turns the order of creation into pre-order. The sizes of the subtrees are computed first. NEXT is
 * the place of a node's next child: the first child stands right after the node, and each other
 * child after the subtree of the child before.
 */
static void profile_copy_nodes(const struct profile *profile, struct snapshot_node *to)
{
	uint32_t *size = profile->scratch, *next = profile->scratch + profile->capacity;
	uint32_t *place = size; /* shared: a size is not needed any more once its node is placed */

	for (uint32_t i = 0; i < profile->n; i++)
		size[i] = 1;
	for (uint32_t i = profile->n - 1; i > 0; i--)
		size[profile->nodes[i].parent] += size[i];
	next[0] = 0; /* the root is its own parent */
	for (uint32_t i = 0; i < profile->n; i++) {
		const struct profile_node *node = &profile->nodes[i];
		uint32_t at = next[node->parent], end = at + size[i];

		next[node->parent] = end;
		next[i] = at + 1;
		place[i] = at;
		to[at] = (struct snapshot_node){ .frame = node->frame,
						 .parent = place[node->parent],
						 .end = end };
		to[at].depth = i ? to[to[at].parent].depth + 1 : 0;
		to[at].self_live = to[at].children_live =
			profile_stored(profile, node) / profile->growth;
		to[at].self_ticks = to[at].children_ticks = node->ticks;
		to[at].self_total = to[at].children_total = node->total;
	}
	snapshot_nodes_sum(to, profile->n);
}

struct xtop_error *profile_copy(struct profile *profile, uint64_t time_ns,
				struct snapshot **snapshotp)
{
	struct snapshot *snapshot = snapshot_create(profile->n);

	if (snapshot)
		snapshot->run = calloc(1, sizeof(*snapshot->run));
	if (!snapshot || !snapshot->run) {
		snapshot_destroy(snapshot);
		return error_create("no memory for a snapshot of %u nodes", profile->n);
	}
	profile_advance(profile, time_ns);
	profile_copy_nodes(profile, snapshot->nodes);
	snapshot->time_ns = profile->time_ns;
	snapshot->started_ns = profile->started_ns;
	snapshot->frames = profile->frames;
	snapshot->n_frames = frames_count(profile->frames);
	snapshot->live_weight = snapshot->nodes[0].children_live;
	snapshot->total_weight = snapshot->nodes[0].children_ticks;
	snapshot->profile_bytes =
		profile_memory_bytes(profile) + frames_memory_bytes(profile->frames);
	snapshot->resolver.evicted_nodes = profile->evicted;
	snapshot->resolver.frames_refused = frames_refused(profile->frames);
	*snapshotp = snapshot;
	return NULL;
}

size_t profile_nodes(const struct profile *profile)
{
	return profile->n;
}

size_t profile_memory_bytes(const struct profile *profile)
{
	return sizeof(*profile) +
	       profile->capacity * (sizeof(*profile->nodes) + 2 * sizeof(*profile->scratch)) +
	       (sizeof(*profile->heads) << (64 - profile->hash_shift));
}
