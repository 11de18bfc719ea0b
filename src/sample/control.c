/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block; see control.h. A sealed memfd, shared over fork() or handed over.
 *
 * All fields are relaxed atomics: a reader may see one counter a tick older than another. Four
 * things are ordered. What was committed to the ring is visible before `finish`. The message is
 * written before the state that announces the message. The words of struct linux_stacks belong
 * together: their sequence number is odd while the words are written, and another number
 * afterwards. The words of a recipe belong together: their key is 0 while the words are written,
 * and another number afterwards.
 */
#include "config.h"

#include "xtop/sample/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/hash.h"
#include "xtop/sample/go_stacks.h"
#include "xtop/sample/recipe.h"

#define CONTROL_MESSAGE_BYTES 256
#define CONTROL_SEALS         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/*
 * Histogram of stopped times, log-linear as in HdrHistogram: values below 2^8 one by one, above
 * that 128 steps an octave, so a step is at most 1/128 of its value.
 *
 *   value = (128 + step) << shift,  step 0..127,  index = (shift + 1) * 128 + step
 */
#define STOPPED_STEPS   128
#define STOPPED_SHIFTS  33 /* up to 2^40 ns: 18 minutes */
#define STOPPED_BUCKETS ((STOPPED_SHIFTS + 1) * STOPPED_STEPS)

/*
 * Numbers of entries of the tables. A hash of its key tells an entry's place; a recipe can take
 * each place of a set. An entry has part of its key, by which a reader recognises the entry.
 */
#define STACK_HINTS 4096 /* the key is a region of stack */
#define GO_HINTS    1024 /* the key is a process */
#define RECIPES     1024 /* the key is a process */
#define RECIPE_WAYS 4    /* places of a set */

#define STACKS_WORDS (sizeof(struct linux_stacks) / sizeof(uint64_t))
_Static_assert(sizeof(struct linux_stacks) % sizeof(uint64_t) == 0, "handed over word by word");

#define RECIPE_WORDS (sizeof(struct recipe) / sizeof(uint64_t))
_Static_assert(sizeof(struct recipe) % sizeof(uint64_t) == 0, "handed over word by word");

/* Every member of struct sampler_counts but the state, which is ordered. */
/* clang-format off */
#define CONTROL_COUNTS(X)                                                                          \
	X(rate_asked_hz) X(rate_now_hz) X(ticks) X(samples) X(late) X(missed) X(skipped_budget)    \
	X(waited) X(idle_ticks) X(unstopped) X(lost) X(given_up) X(refused) X(retakes) X(stops)    \
	X(stopped_ns) X(elapsed_ns) X(guest_pages) X(mapped_pages) X(maps) X(faults) X(cpu_ns)     \
	X(restarts) X(ending) X(stopped_share) X(stopped_share_max)
/* clang-format on */

struct control {
	/* written by main */
	atomic_int fd;                                    /* this memory's descriptor, in main */
	_Atomic double rate_hz, budget, waits_hz, stride; /* stride 0: not set, counts as 1 */
	atomic_bool quit, hurry, finish, hold; /* hold: no second stop before `known` */
	atomic_bool interpreters;
	_Atomic uint64_t resets;
	/* written by the sampler */
	_Alignas(64) atomic_int state;
#define X(field) _Atomic __typeof__(((struct sampler_counts *)0)->field) field;
	CONTROL_COUNTS(X)
#undef X
	_Atomic uint64_t stopped_min_ns, stopped_max_ns, stopped_sum_ns;
	_Atomic uint64_t stopped[STOPPED_BUCKETS];
	struct {
		_Atomic uint64_t span_ns, ran_ns, waited_ns;
	} times[GUEST_MAX_VCPUS];
	_Atomic uint64_t xen_ahead_ns; /* 0: not known; 1 stands for a distance of 0, too */
	_Atomic uint64_t next_ns;
	char message[CONTROL_MESSAGE_BYTES];
	/* written by guard and keeper, an element each */
	_Alignas(64) _Atomic uint64_t watcher_cpu_ns[N_CONTROL_WATCHERS];
	/* written by the resolver */
	_Alignas(64) _Atomic uint64_t stacks_sequence;
	atomic_bool known;
	_Atomic uint64_t stacks[STACKS_WORDS]; /* struct linux_stacks */
	_Alignas(64) _Atomic uint64_t stack_tops[STACK_HINTS];
	_Alignas(64) atomic_bool has_go; /* a word of go_stacks was ever set */
	_Atomic uint64_t go_stacks[GO_HINTS];
	atomic_bool has_recipes; /* a recipe was ever set */
	uint64_t n_recipes;      /* recipes that were set; the resolver's */
	struct {
		_Atomic uint64_t key; /* process and number; 0: free, or being written */
		_Atomic uint64_t words[RECIPE_WORDS];
	} recipes[RECIPES];
};

#define GET(field)        atomic_load_explicit(&control->field, memory_order_relaxed)
#define PUT(field, value) atomic_store_explicit(&control->field, value, memory_order_relaxed)

static struct xtop_error *control_map(int fd, struct control **controlp)
{
	struct control *control =
		mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (control == MAP_FAILED)
		return error_create_errno(errno, "cannot share %zu bytes of memory",
					  sizeof(*control));
	*controlp = control;
	return NULL;
}

struct xtop_error *control_create(struct control **controlp)
{
	int fd = memfd_create("xtop-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct xtop_error *error;

	if (fd < 0 || ftruncate(fd, sizeof(struct control)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, CONTROL_SEALS) < 0)
		error = error_create_errno(errno, "cannot create %zu bytes of shared memory",
					   sizeof(struct control));
	else
		error = control_map(fd, controlp);
	if (error) {
		if (fd >= 0)
			close(fd);
		return error;
	}
	atomic_store_explicit(&(*controlp)->stopped_min_ns, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&(*controlp)->fd, fd, memory_order_relaxed);
	return NULL;
}

struct xtop_error *control_adopt(int fd, struct control **controlp)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	if (seals < 0 || (seals & CONTROL_SEALS) != CONTROL_SEALS || fstat(fd, &status) < 0 ||
	    status.st_size != sizeof(struct control))
		return error_create("the shared memory of the control block is not sealed "
				    "or has a wrong size");
	return control_map(fd, controlp);
}

int control_fd(const struct control *control)
{
	return GET(fd);
}

void control_destroy(struct control *control)
{
	if (!control)
		return;
	close(GET(fd));
	munmap(control, sizeof(*control));
}

void control_close(struct control *control)
{
	if (control)
		munmap(control, sizeof(*control));
}

/*
 * These limits are not in the shared memory: main can write there, and an attacker may control
 * main.
 */
static double control_budget_limit = 1, control_rate_limit = RATE_MAX_HZ;
static bool control_credit_spent;

void control_set_budget_limit(double share)
{
	control_budget_limit = share;
}

void control_set_rate_limit(double hz)
{
	control_rate_limit = hz;
}

void control_set_credit_spent(bool spent)
{
	control_credit_spent = spent;
}

bool control_is_credit_spent(void)
{
	return control_credit_spent;
}

void control_set_rate(struct control *control, double hz)
{
	PUT(rate_hz, hz);
}

void control_set_budget(struct control *control, double share)
{
	PUT(budget, share);
}

void control_set_stride(struct control *control, double stride)
{
	PUT(stride, stride);
}

/* An attacker may control main: a NaN or a number below 1 counts as 1. */
double control_get_stride(const struct control *control)
{
	double stride = GET(stride);

	if (!(stride >= 1))
		return 1;
	return stride < CONTROL_MAX_STRIDE ? stride : CONTROL_MAX_STRIDE;
}

void control_set_watcher_cpu(struct control *control, enum control_watcher who, uint64_t cpu_ns)
{
	PUT(watcher_cpu_ns[who], cpu_ns);
}

uint64_t control_get_watchers_cpu(const struct control *control)
{
	return GET(watcher_cpu_ns[CONTROL_GUARD]) + GET(watcher_cpu_ns[CONTROL_KEEPER]);
}

void control_set_waits_hz(struct control *control, double hz)
{
	PUT(waits_hz, hz);
}

double control_get_waits_hz(const struct control *control)
{
	return GET(waits_hz);
}

void control_set_interpreters(struct control *control, bool on)
{
	PUT(interpreters, on);
}

bool control_get_interpreters(const struct control *control)
{
	return GET(interpreters);
}

void control_quit(struct control *control)
{
	PUT(quit, true);
}

void control_restart(struct control *control)
{
	PUT(quit, false);
	PUT(ending, GUEST_END_UNKNOWN);
	control_set_state(control, SAMPLER_STARTING);
}

void control_set_hold(struct control *control)
{
	PUT(hold, true);
}

void control_set_guest_known(struct control *control, bool known)
{
	PUT(known, known);
}

bool control_is_on_hold(const struct control *control)
{
	return GET(hold) && !GET(known);
}

void control_reset_profile(struct control *control)
{
	PUT(resets, GET(resets) + 1);
}

void control_hurry(struct control *control)
{
	PUT(hurry, true);
}

bool control_is_hurrying(const struct control *control)
{
	return GET(hurry);
}

void control_finish(struct control *control)
{
	/* Release: a reader that sees `finish` also sees what was committed to the ring before. */
	atomic_store_explicit(&control->finish, true, memory_order_release);
}

uint64_t control_get_resets(const struct control *control)
{
	return GET(resets);
}

bool control_is_finishing(const struct control *control)
{
	return atomic_load_explicit(&control->finish, memory_order_acquire);
}

double control_get_rate(const struct control *control)
{
	double hz = GET(rate_hz);

	if (!(hz >= RATE_MIN_HZ && hz <= RATE_MAX_HZ))
		hz = RATE_MIN_HZ;
	return hz < control_rate_limit ? hz : control_rate_limit;
}

double control_get_budget(const struct control *control)
{
	double share = GET(budget);

	if (!(share > 0 && share <= 1))
		share = 0.01;
	return share < control_budget_limit ? share : control_budget_limit;
}

bool control_is_quitting(const struct control *control)
{
	return GET(quit);
}

void control_set_counts(struct control *control, const struct sampler_counts *counts)
{
#define X(field) PUT(field, counts->field);
	CONTROL_COUNTS(X)
#undef X
	/*
	 * Release: a reader of this state also gets these counters and, after a failure, the
	 * message.
	 */
	atomic_store_explicit(&control->state, counts->state, memory_order_release);
}

void control_set_state(struct control *control, enum sampler_state state)
{
	/* Release: a reader of this state also gets the message that was set before. */
	atomic_store_explicit(&control->state, state, memory_order_release);
}

void control_get_counts(const struct control *control, struct sampler_counts *counts)
{
	int state = atomic_load_explicit(&control->state, memory_order_acquire);

#define X(field) counts->field = GET(field);
	CONTROL_COUNTS(X)
#undef X
	counts->state =
		state >= SAMPLER_STARTING && state <= SAMPLER_FAILED ? state : SAMPLER_FAILED;
}

enum guest_end control_get_ending(const struct sampler_counts *counts)
{
	return counts->ending < N_GUEST_ENDS ? (enum guest_end)counts->ending : GUEST_END_UNKNOWN;
}

/* 0 stands for "not known", so 0 becomes 1: one nanosecond does not matter. */
void control_set_xen_clock(struct control *control, uint64_t ahead_ns)
{
	PUT(xen_ahead_ns, ahead_ns ? ahead_ns : 1);
}

bool control_get_xen_clock(const struct control *control, uint64_t *ahead_ns)
{
	uint64_t known_ns = GET(xen_ahead_ns);

	if (known_ns)
		*ahead_ns = known_ns;
	return known_ns;
}

void control_set_next(struct control *control, uint64_t next_ns)
{
	PUT(next_ns, next_ns);
}

uint64_t control_get_next(const struct control *control)
{
	return GET(next_ns);
}

void control_set_message(struct control *control, const char *message)
{
	strncpy(control->message, message, sizeof(control->message) - 1);
}

const char *control_get_message(const struct control *control)
{
	int state = atomic_load_explicit(&control->state, memory_order_acquire);

	return state == SAMPLER_FAILED || state == SAMPLER_ENDED ? control->message : "";
}

static size_t stopped_bucket(uint64_t ns)
{
	unsigned shift = 0;

	if (ns >> (STOPPED_SHIFTS + 7))
		return STOPPED_BUCKETS - 1;
	if (ns >= 2 * STOPPED_STEPS)
		shift = 63 - 7 - (unsigned)__builtin_clzll(ns);
	return ns < STOPPED_STEPS ? ns : shift * STOPPED_STEPS + (ns >> shift);
}

/* Smallest value of a bucket: undoes stopped_bucket(). */
static uint64_t stopped_value(size_t bucket)
{
	size_t shift = bucket < 2 * STOPPED_STEPS ? 0 : bucket / STOPPED_STEPS - 1;

	return (bucket - shift * STOPPED_STEPS) << shift;
}

/* The sampler is the only writer, so it needs no atomic increment. */
#define ADD(field, value) PUT(field, GET(field) + (value))

void control_count_stopped(struct control *control, uint64_t stopped_ns)
{
	ADD(stopped[stopped_bucket(stopped_ns)], 1);
	ADD(stopped_sum_ns, stopped_ns);
	if (stopped_ns < GET(stopped_min_ns))
		PUT(stopped_min_ns, stopped_ns);
	if (stopped_ns > GET(stopped_max_ns))
		PUT(stopped_max_ns, stopped_ns);
}

static uint64_t stopped_clamp(const struct stopped_summary *summary, uint64_t ns)
{
	if (ns < summary->min_ns)
		return summary->min_ns;
	return ns > summary->max_ns ? summary->max_ns : ns;
}

/*
 * The nearest rank: the smallest value that PERCENT of all values do not exceed. The values of one
 * bucket are assumed to lie at equal distances. The result is never below the smallest value that
 * was seen, nor above the largest.
 */
static uint64_t stopped_quantile(const struct stopped_summary *summary, const uint64_t *counts,
				 size_t first, unsigned percent)
{
	uint64_t rank = (summary->n * percent + 99) / 100, before = 0;
	size_t i = first;

	for (; i < STOPPED_BUCKETS - 1 && before + counts[i] < rank; i++)
		before += counts[i];
	if (i == STOPPED_BUCKETS - 1)
		return summary->max_ns;
	return stopped_clamp(summary, stopped_value(i) + (stopped_value(i + 1) - stopped_value(i)) *
								 (2 * (rank - before) - 1) /
								 (2 * counts[i]));
}

void control_get_stopped(const struct control *control, struct stopped_summary *summary)
{
	static _Thread_local uint64_t counts[STOPPED_BUCKETS];
	/* All other buckets are empty, but for what the sampler counts at this moment. */
	size_t first = stopped_bucket(GET(stopped_min_ns));
	size_t last = stopped_bucket(GET(stopped_max_ns));
	uint64_t n = 0;

	*summary = (struct stopped_summary){ 0 };
	for (size_t i = first; i <= last; i++) {
		uint64_t value = stopped_value(i);

		counts[i] = GET(stopped[i]);
		n += counts[i];
		summary->log2[value ? 63 - __builtin_clzll(value) : 0] += counts[i];
	}
	if (!n)
		return;
	summary->n = n;
	summary->min_ns = GET(stopped_min_ns);
	summary->max_ns = GET(stopped_max_ns);
	summary->mean_ns = (double)GET(stopped_sum_ns) / (double)n;
	summary->p50_ns = stopped_quantile(summary, counts, first, 50);
	summary->p90_ns = stopped_quantile(summary, counts, first, 90);
	summary->p99_ns = stopped_quantile(summary, counts, first, 99);
}

void control_set_times(struct control *control, const struct vcpu_times *times, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		PUT(times[i].span_ns, times[i].span_ns);
		PUT(times[i].ran_ns, times[i].ran_ns);
		PUT(times[i].waited_ns, times[i].waited_ns);
	}
}

void control_get_times(const struct control *control, struct vcpu_times *times, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		times[i] = (struct vcpu_times){ .span_ns = GET(times[i].span_ns),
						.ran_ns = GET(times[i].ran_ns),
						.waited_ns = GET(times[i].waited_ns) };
}

/*
 * A hint holds the region's key and the distance from the region's start to the top:
 *
 *   63                              20 19                   0
 *   | region's key, low 44 bits       | bytes from its start |
 *
 * The key is the region's number. In the lower half, where each process has its own stacks, the
 * number is mixed with the address space. The low 13 bits of its number are left out: in x86's CR3
 * bit 12 tells the two page tables of a process apart (Linux with page-table isolation), and the
 * bits below are flags.
 */
#define HINT_BYTES_BITS 20
#define HINT_CR3_SHIFT  13

static uint64_t hint_region(uint64_t address)
{
	return address / STACK_REGION_BYTES;
}

static uint64_t hint_key(uint64_t cr3, uint64_t address)
{
	uint64_t space = address >> 63 ? 0 : cr3 >> HINT_CR3_SHIFT;

	/* splitmix64's constant, which is odd, so no two spaces give one key. */
	return hint_region(address) + space * 0xbf58476d1ce4e5b9ULL;
}

static size_t hint_slot(uint64_t key)
{
	return hash_slot(key, STACK_HINTS);
}

void control_set_stack_top(struct control *control, uint64_t cr3, uint64_t address, uint64_t top)
{
	uint64_t key = hint_key(cr3, address);
	uint64_t bytes = top - hint_region(address) * STACK_REGION_BYTES;

	if (bytes >= 1 << HINT_BYTES_BITS)
		return;
	PUT(stack_tops[hint_slot(key)], key << HINT_BYTES_BITS | bytes);
}

uint64_t control_get_stack_top(const struct control *control, uint64_t cr3, uint64_t address)
{
	uint64_t key = hint_key(cr3, address);
	uint64_t hint = GET(stack_tops[hint_slot(key)]);

	if (hint >> HINT_BYTES_BITS != (key & (UINT64_MAX >> HINT_BYTES_BITS)) || !hint)
		return 0;
	return hint_region(address) * STACK_REGION_BYTES + (hint & ((1 << HINT_BYTES_BITS) - 1));
}

void control_guess_stack_top(struct control *control, uint64_t cr3, uint64_t address, uint64_t top)
{
	if (!control_get_stack_top(control, cr3, address))
		control_set_stack_top(control, cr3, address, top);
}

/* --- processes that run Go -------------------------------------------------------------------- */

/*
 * An entry is one word, so its parts always belong together. All offsets are multiples of 8, and
 * are stored divided by 8:
 *
 *   63             33   32         31     24 23        16 15                     0
 *   | space, 31 bits | callbacks | curg    | gsignal     | g, signed              |
 */
#define GO_SPACE_SHIFT 33
#define GO_CALLBACKS   (1ULL << 32)

static uint64_t go_space(uint64_t cr3)
{
	return (cr3 >> HINT_CR3_SHIFT) << GO_SPACE_SHIFT >> GO_SPACE_SHIFT;
}

/* Whether an entry has room for the offsets. */
static bool go_fits(const struct go_stacks *stacks)
{
	return stacks->g && stacks->g % 8 == 0 && stacks->g / 8 == (int16_t)(stacks->g / 8) &&
	       stacks->gsignal % 8 == 0 && stacks->gsignal / 8 <= UINT8_MAX &&
	       stacks->curg % 8 == 0 && stacks->curg / 8 <= UINT8_MAX;
}

void control_set_go_stacks(struct control *control, uint64_t cr3, const struct go_stacks *stacks,
			   bool callbacks)
{
	uint64_t space = go_space(cr3), slot = hash_slot(space, GO_HINTS);
	uint64_t old = GET(go_stacks[slot]);
	bool known = old && old >> GO_SPACE_SHIFT == space;

	if (!stacks || !go_fits(stacks)) {
		if (known)
			PUT(go_stacks[slot], 0);
		return;
	}
	old &= known ? GO_CALLBACKS : 0;
	PUT(go_stacks[slot], space << GO_SPACE_SHIFT | old | (callbacks ? GO_CALLBACKS : 0) |
				     (uint64_t)(stacks->curg / 8) << 24 |
				     (uint64_t)(stacks->gsignal / 8) << 16 |
				     (uint16_t)(stacks->g / 8));
	PUT(has_go, true);
}

bool control_has_go(const struct control *control)
{
	return GET(has_go);
}

bool control_get_go_stacks(const struct control *control, uint64_t cr3, struct go_stacks *stacks,
			   bool *callbacks)
{
	uint64_t space = go_space(cr3), word = GET(go_stacks[hash_slot(space, GO_HINTS)]);

	if (!word || word >> GO_SPACE_SHIFT != space)
		return false;
	stacks->g = (int16_t)word * 8;
	stacks->gsignal = (uint16_t)((word >> 16 & UINT8_MAX) * 8);
	stacks->curg = (uint16_t)((word >> 24 & UINT8_MAX) * 8);
	*callbacks = word & GO_CALLBACKS;
	return true;
}

/* --- processes that run an interpreter -------------------------------------------------------- */

/*
 * The key of an entry: the process and the number of the setting, so that a reader sees that the
 * words belong together. Bit 0 is set, so that no key is 0.
 */
#define RECIPE_NUMBER_BITS 16
#define RECIPE_NUMBER_MASK ((1ULL << RECIPE_NUMBER_BITS) - 1)

static uint64_t recipe_space(uint64_t cr3)
{
	return cr3 >> HINT_CR3_SHIFT;
}

/* The first place of the set of the process SPACE. */
static size_t recipe_first(uint64_t space)
{
	return hash_slot(space, RECIPES / RECIPE_WAYS) * RECIPE_WAYS;
}

static bool recipe_is_key_of(uint64_t key, uint64_t space)
{
	return key &&
	       key >> RECIPE_NUMBER_BITS == (space << RECIPE_NUMBER_BITS >> RECIPE_NUMBER_BITS);
}

/* Twice the number of recipes that were set since the one with KEY; a free place is the oldest. */
static uint64_t recipe_age(const struct control *control, uint64_t key)
{
	return key ? (2 * control->n_recipes + 1 - key) & RECIPE_NUMBER_MASK : UINT64_MAX;
}

/* The place that has the recipe of the process SPACE, or else the one that it can take. */
static size_t recipe_find_place(const struct control *control, uint64_t space)
{
	size_t first = recipe_first(space), oldest = first;

	for (size_t i = first; i < first + RECIPE_WAYS; i++) {
		uint64_t key = GET(recipes[i].key);

		if (recipe_is_key_of(key, space))
			return i;
		if (recipe_age(control, key) > recipe_age(control, GET(recipes[oldest].key)))
			oldest = i;
	}
	return oldest;
}

void control_set_recipe(struct control *control, uint64_t cr3, const struct recipe *recipe)
{
	uint64_t space = recipe_space(cr3), words[RECIPE_WORDS], number;
	size_t slot = recipe_find_place(control, space);

	if (!recipe) {
		if (recipe_is_key_of(GET(recipes[slot].key), space))
			PUT(recipes[slot].key, 0);
		return;
	}
	memcpy(words, recipe, sizeof(words));
	PUT(recipes[slot].key, 0);
	/* Release: a reader that sees one of these words also sees the key 0, or a later key. */
	for (size_t i = 0; i < RECIPE_WORDS; i++)
		atomic_store_explicit(&control->recipes[slot].words[i], words[i],
				      memory_order_release);
	number = 2 * ++control->n_recipes & RECIPE_NUMBER_MASK;
	atomic_store_explicit(&control->recipes[slot].key, space << RECIPE_NUMBER_BITS | number | 1,
			      memory_order_release);
	PUT(has_recipes, true);
}

bool control_has_recipes(const struct control *control)
{
	return GET(has_recipes);
}

/* Finds the place of the process SPACE, and its key. Returns false if there is none. */
static bool recipe_find(const struct control *control, uint64_t space, size_t *slot, uint64_t *key)
{
	size_t first = recipe_first(space);

	for (*slot = first; *slot < first + RECIPE_WAYS; (*slot)++) {
		*key = atomic_load_explicit(&control->recipes[*slot].key, memory_order_acquire);
		if (recipe_is_key_of(*key, space))
			return true;
	}
	return false;
}

bool control_get_recipe(const struct control *control, uint64_t cr3, struct recipe *recipe)
{
	uint64_t words[RECIPE_WORDS], key;
	size_t slot;

	if (!recipe_find(control, recipe_space(cr3), &slot, &key))
		return false;
	for (size_t i = 0; i < RECIPE_WORDS; i++)
		words[i] = atomic_load_explicit(&control->recipes[slot].words[i],
						memory_order_acquire);
	if (GET(recipes[slot].key) != key)
		return false;
	memcpy(recipe, words, sizeof(*recipe));
	return recipe_check(recipe);
}

/* --- where a Linux guest keeps its stacks ----------------------------------------------------- */

void control_set_linux_stacks(struct control *control, const struct linux_stacks *stacks)
{
	uint64_t sequence = GET(stacks_sequence), words[STACKS_WORDS] = { 0 };

	if (stacks)
		memcpy(words, stacks, sizeof(words));
	PUT(stacks_sequence, sequence + 1);
	/*
	 * Release: a reader that sees one of these words also sees the odd number, or a later one.
	 */
	for (size_t i = 0; i < STACKS_WORDS; i++)
		atomic_store_explicit(&control->stacks[i], words[i], memory_order_release);
	atomic_store_explicit(&control->stacks_sequence, sequence + 2, memory_order_release);
}

bool control_get_linux_stacks(const struct control *control, uint64_t *version,
			      struct linux_stacks *stacks)
{
	uint64_t before, words[STACKS_WORDS];

	before = atomic_load_explicit(&control->stacks_sequence, memory_order_acquire);
	if (before == *version)
		return false;
	/* Acquire: the sequence number is read again after these words. */
	for (size_t i = 0; i < STACKS_WORDS; i++)
		words[i] = atomic_load_explicit(&control->stacks[i], memory_order_acquire);
	if (before & 1 || GET(stacks_sequence) != before)
		return false;
	memcpy(stacks, words, sizeof(words));
	*version = before;
	return true;
}
