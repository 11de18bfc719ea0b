/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a function when a frame first lies in it, and stores the function's rules; see computed.h.
 * computed_rows.c has the rows. Resolver's thread.
 */
#include "config.h"

#include "unwind/computed.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/call_targets.h"
#include "unwind/cfi_builder.h"
#include "unwind/computed_flow.h"
#include "unwind/computed_rows.h"
#include "unwind/signal_return.h"
#include "unwind/way_out.h"
#include "xtop/base/hash.h"
#include "xtop/base/work.h"

#define COMPUTED_MAX_KNOWN 64 /* known functions that may follow an unknown function */

/* A place whose code could not be read. The code is read again in turn due_turn. */
struct computed_miss {
	uint32_t offset;
	uint32_t delay; /* number of turns to wait; 0: the entry is empty */
	uint64_t due_turn;
};
#define COMPUTED_MISSES    256
#define COMPUTED_MAX_DELAY 64

/* A recent answer of computed_is_return(). */
struct computed_return {
	uint32_t offset; /* 0: the entry is empty */
	bool fits;       /* a call ends at the offset */
};
#define COMPUTED_RETURNS 256

/* Sizes of the tables with the rules of addresses whose functions have not been read. */
#define COMPUTED_WAYS    4096
#define COMPUTED_GUESSES 256

/* Created at the first step: most images have tables for all of their code and need no work. */
struct computed_work {
	struct code_source source; /* finds functions by call targets, too */
	struct flow *flow;
	struct cfi_builder rules; /* only rules; this table has no rows */
	struct call_targets *targets; /* NULL: not needed yet */
	bool no_targets; /* too much code for targets, or out of memory */
	struct computed_miss misses[2][COMPUTED_MISSES]; /* index 1: misses of guesses at bounds */
	struct computed_return returns[COMPUTED_RETURNS];
	struct computed_rows rows;
	struct way_out *way_out;                   /* NULL: not needed yet */
	struct cfi_hit ways[COMPUTED_WAYS];        /* indexed by hash; rule 0: no way leads out */
	struct cfi_hit guesses[COMPUTED_GUESSES];  /* used until missing code is read again */
	struct cfi_hit cache[1 << CFI_CACHE_BITS]; /* recent look-ups */
};

struct computed {
	struct code_source source;
	const struct computed_machine *machine;
	uint64_t base, span;
	struct computed_work *work; /* NULL: not needed yet */
};

struct xtop_error *computed_create(const struct code_source *source, uint64_t start, uint64_t end,
				   struct computed **computedp)
{
	struct computed *computed = calloc(1, sizeof(*computed));

	if (!computed)
		return error_create("out of memory for unwinding without tables");
	computed->source = *source;
	computed->machine = computed_machine(source->arch);
	computed->base = start;
	computed->span = end - start < UINT32_MAX ? end - start : UINT32_MAX - 1;
	*computedp = computed;
	return NULL;
}

static void computed_destroy_work(struct computed_work *work)
{
	if (!work)
		return;
	flow_destroy(work->flow);
	cfi_builder_deinit(&work->rules);
	call_targets_destroy(work->targets);
	way_out_destroy(work->way_out);
	computed_rows_deinit(&work->rows);
	free(work);
}

void computed_destroy(struct computed *computed)
{
	if (!computed)
		return;
	if (computed->source.close)
		computed->source.close(computed->source.context);
	computed_destroy_work(computed->work);
	free(computed);
}

size_t computed_memory_bytes(const struct computed *computed)
{
	const struct computed_work *work = computed->work;
	size_t bytes = sizeof(*computed);

	if (work)
		bytes += sizeof(*work) + flow_memory_bytes(work->flow) +
			 cfi_memory_bytes(work->rules.cfi) +
			 computed_rows_memory_bytes(&work->rows);
	if (work && work->targets)
		bytes += call_targets_memory_bytes(work->targets);
	if (work && work->way_out)
		bytes += way_out_memory_bytes();
	return bytes;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static struct call_targets *computed_find_or_create_targets(struct computed *computed)
{
	const struct entry_points *entries = &computed->source.entries;
	struct computed_work *work = computed->work;

	if (work->targets || work->no_targets)
		return work->targets;
	work->targets = call_targets_create(computed->machine, computed->base,
					    computed->base + computed->span);
	work->no_targets = !work->targets;
	if (work->targets && entries->elf)
		call_targets_add(work->targets, entries->elf);
	if (work->targets && entries->pvh)
		call_targets_add(work->targets, entries->pvh);
	for (unsigned i = 0; work->targets && i < entries->n_jumps; i++)
		call_targets_add(work->targets, entries->jumps[i]);
	return work->targets;
}

/* Finds the bounds of the function at ADDRESS by the source. */
static bool computed_find_known(const struct code_source *source, uint64_t address, uint64_t *start,
				uint64_t *end)
{
	if (!source->find_function(source->context, address, start, end))
		return false;
	entry_points_cut(&source->entries, address, start, end);
	return true;
}

/*
 * Lowers *END to the start of the first function between ADDRESS and *END that the source knows.
 * The source does not know the function at ADDRESS. Returns false if the source knows too many
 * functions there.
 */
static bool computed_cut_end(const struct code_source *source, uint64_t address, uint64_t *end)
{
	uint64_t known_start, known_end, last = *end;

	for (unsigned i = 0; i < COMPUTED_MAX_KNOWN; i++) {
		if (!computed_find_known(source, last - 1, &known_start, &known_end)) {
			*end = last;
			return true;
		}
		if (known_start <= address)
			return false;
		last = known_start;
	}
	return false;
}

/* Finds bounds by the source, or by the targets of calls if the source does not know them. */
static bool computed_find_bounds(void *context, uint64_t address, uint64_t *startp, uint64_t *endp)
{
	struct computed *computed = context;
	const struct code_source *source = &computed->source;
	uint64_t start, end, known_start, known_end;
	struct call_targets *targets;

	if (computed_find_known(source, address, startp, endp))
		return true;
	if (address - computed->base >= computed->span)
		return false;
	targets = computed_find_or_create_targets(computed);
	if (!targets || !call_targets_read(targets, source) ||
	    !call_targets_find(targets, source, address, &start, &end) ||
	    computed_find_known(source, start, &known_start, &known_end) ||
	    !computed_cut_end(source, address, &end))
		return false;
	entry_points_cut(&source->entries, address, &start, &end);
	*startp = start;
	*endp = end - start > FLOW_MAX_FUNCTION_BYTES ? start + FLOW_MAX_FUNCTION_BYTES : end;
	return address < *endp;
}

static size_t computed_read_source(void *context, uint64_t address, void *buffer,
				   size_t size_bytes)
{
	const struct code_source *source = &((struct computed *)context)->source;

	return source->read(source->context, address, buffer, size_bytes);
}

/* Creates computed->work. Returns false if out of memory. */
static bool computed_create_work(struct computed *computed)
{
	struct computed_work *work;

	work = calloc(1, sizeof(*work));
	if (!work)
		return false;
	work->source = (struct code_source){ .read = computed_read_source,
					     .find_function = computed_find_bounds,
					     .context = computed,
					     .turn = computed->source.turn,
					     .arch = computed->source.arch,
					     .entries = computed->source.entries };
	memset(work->cache, 0xff, sizeof(work->cache));
	memset(work->ways, 0xff, sizeof(work->ways));
	memset(work->guesses, 0xff, sizeof(work->guesses));
	work->flow = flow_create(&work->source);
	if (!work->flow || !cfi_builder_init(&work->rules, computed->base) ||
	    !computed_rows_init(&work->rows, (uint32_t)computed->span)) {
		computed_destroy_work(work);
		return false;
	}
	computed->work = work;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool computed_is_known(const struct computed *computed, uint32_t offset)
{
	return computed_rows_find(&computed->work->rows, offset);
}

/* Whether the function in [START, END) has no caller. */
static bool computed_is_outermost(const struct computed *computed, uint64_t start, uint64_t end)
{
	const struct entry_points *entries = &computed->source.entries;

	return entry_points_lie_in(entries, start, end) ||
	       flow_begins_chain(computed->work->flow, start);
}

/* The rule at an instruction before which STATE holds. */
static struct cfi_rule computed_make_rule(const struct computed *computed,
					  const struct computed_state *state)
{
	struct cfi_rule rule = computed_state_rule(state, computed->machine);

	if (rule.kind == RULE_NONE && flow_goes_by_link(computed->work->flow))
		return computed_state_link_rule(state, computed->machine);
	return rule;
}

/*
 * Adds the rows of the function in [START, END). Code that was not followed gets rule 0. Returns
 * false if there is no room for the rows.
 */
static bool computed_add_rows(struct computed *computed, uint64_t start, uint64_t end)
{
	struct cfi_builder *rules = &computed->work->rules;
	struct computed_rows *rows = &computed->work->rows;
	uint64_t at = start;

	if (computed_is_outermost(computed, start, end))
		return computed_rows_add(rows, (uint32_t)(start - computed->base),
					 cfi_builder_number(rules, &cfi_rule_outermost));
	while (at < end) {
		struct flow_place place;
		uint32_t number = 0;
		enum flow_state state = flow_find(computed->work->flow, at, &place);

		if (state == FLOW_KNOWN) {
			struct cfi_rule rule = cfi_rule_outermost;

			if (!flow_has_left_stack(computed->work->flow, place.state))
				rule = computed_make_rule(computed, place.state);
			number = cfi_builder_number(rules, &rule);
		}
		if (!computed_rows_add(rows, (uint32_t)(at - computed->base), number))
			return false;
		if (state == FLOW_OUTSIDE)
			break;
		at = place.next > at ? place.next : at + 1;
	}
	return true;
}

/* Adds the function in [START, END), unless it overlaps a known function. */
static void computed_add_function(struct computed *computed, uint64_t start, uint64_t end)
{
	uint32_t first = (uint32_t)(start - computed->base);
	uint32_t last = (uint32_t)(end - computed->base);
	struct computed_rows *rows = &computed->work->rows;

	if (start < computed->base || end - computed->base > computed->span ||
	    !computed_rows_begin(rows, first, last))
		return;
	if (!computed_add_rows(computed, start, end))
		rows->n_new_rows = 0;
	computed_rows_end(rows, first, last);
}

/* The end of the function at START: where another function begins, or END. */
static uint64_t computed_find_end(const struct computed *computed, uint64_t start, uint64_t end)
{
	uint64_t at = start;

	while (at < end) {
		struct flow_place place;

		flow_find(computed->work->flow, at, &place);
		if (place.entry && at != start)
			return at;
		at = place.next > at ? place.next : at + 1;
	}
	return end;
}

/* Adds each gap between known functions in [START, END) as a function. */
static void computed_add_between(struct computed *computed, uint64_t start, uint64_t end)
{
	const struct computed_rows *rows = &computed->work->rows;

	while (start < end) {
		size_t i = computed_rows_count_before(rows, (uint32_t)(start - computed->base));
		const struct computed_function *known = rows->functions;
		uint64_t stop = end;

		if (i && computed->base + known[i - 1].end > start) {
			start = computed->base + known[i - 1].end;
			continue;
		}
		if (i < rows->n_functions && computed->base + known[i].start < end)
			stop = computed->base + known[i].start;
		computed_add_function(computed, start, stop);
		start = stop;
	}
}

static void computed_add_functions(struct computed *computed, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t function_end = computed_find_end(computed, start, end);

		computed_add_between(computed, start, function_end);
		start = function_end;
	}
}

/*
 * Adds only the code in [START, END) that was reached. The other code may belong to other
 * functions, and is read when a frame lies there.
 */
static void computed_add_reached(struct computed *computed, uint64_t start, uint64_t end)
{
	uint64_t at = start, reached = 0;

	while (at < end) {
		struct flow_place place;
		enum flow_state state = flow_find(computed->work->flow, at, &place);

		if (state == FLOW_KNOWN && !reached)
			reached = at;
		if (state != FLOW_KNOWN && reached) {
			computed_add_functions(computed, reached, at);
			reached = 0;
		}
		at = place.next > at ? place.next : at + 1;
	}
	if (reached)
		computed_add_functions(computed, reached, end);
}

static bool computed_may_read(const struct computed *computed)
{
	const struct computed_work *work = computed->work;

	return !work_is_over(computed->source.work) && !work->rules.no_memory &&
	       !computed_rows_are_full(&work->rows);
}

/*
 * Reads the function in [START, END) that ADDRESS lies in, with its parts that lie elsewhere.
 * GUESSES: the bounds are guesses. Returns false if code is missing.
 */
static bool computed_read_function(struct computed *computed, uint64_t address, uint64_t start,
				   uint64_t end, bool guesses)
{
	struct computed_work *work = computed->work;
	bool missing;

	if (end - computed->base > computed->span)
		end = computed->base + computed->span; /* the symbol's size is wrong */
	if (start < computed->base || address - start >= end - start)
		return false;
	flow_run(work->flow, start, end, guesses);
	missing = flow_is_missing(work->flow);
	for (size_t i = 0; i < flow_count_windows(work->flow) && !missing; i++) {
		uint64_t part_start, part_end;

		flow_get_window(work->flow, i, &part_start, &part_end);
		if (address - part_start < part_end - part_start)
			computed_add_functions(computed, part_start, part_end);
		else
			computed_add_reached(computed, part_start, part_end);
	}
	if (!missing && !computed_is_known(computed, (uint32_t)(address - computed->base)))
		computed_add_between(computed, start, end);
	flow_clear(work->flow);
	return !missing;
}

/* --- ways out of functions -------------------------------------------------------------------- */

static struct cfi_hit *computed_way_at(const struct computed *computed, uint32_t offset)
{
	return &computed->work->ways[hash_slot(offset, COMPUTED_WAYS)];
}

static struct cfi_hit *computed_guess_at(const struct computed *computed, uint32_t offset)
{
	return &computed->work->guesses[hash_slot(offset, COMPUTED_GUESSES)];
}

/*
 * Creates work->way_out if it is still missing. Returns false if the code is not x86-64's, or if
 * memory is out.
 */
static bool computed_has_way_out(struct computed *computed)
{
	struct computed_work *work = computed->work;

	if (!work->way_out && computed->source.arch == ARCH_X86)
		work->way_out = way_out_create(&computed->source);
	return work->way_out;
}

/*
 * Follows the code from OFFSET to a return. CALLED: OFFSET + 1 is a return address. LAST: nothing
 * else will tell the caller, so ways that go on after a jump count, too. Returns false if no way
 * leads to a return; *MISSING then tells whether code was missing. While code of other ways is
 * missing, a way that goes on after a jump is a guess: the guess is stored apart, and the result is
 * false.
 */
static bool computed_find_way(struct computed *computed, uint32_t offset, bool called, bool last,
			      bool *missing)
{
	struct computed_work *work = computed->work;
	struct cfi_hit *hit = computed_way_at(computed, offset);
	struct cfi_rule rule;
	uint32_t number;
	bool waits;

	*missing = false;
	if (hit->offset == offset)
		return hit->rule;
	if (!computed_has_way_out(computed))
		return false;
	number = way_out_find(work->way_out, computed->base + offset + called, called, last, &rule,
			      missing)
			 ? cfi_builder_number(&work->rules, &rule)
			 : 0;
	waits = *missing && computed->source.turn;
	if (number && waits)
		*computed_guess_at(computed, offset) = (struct cfi_hit){ offset, number };
	else if (number || (last && !*missing))
		*hit = (struct cfi_hit){ offset, number };
	return number && !waits;
}

/* Notes the rule at OFFSET if a stub lies there, which its function has no rule for. */
static void computed_find_stub(struct computed *computed, uint32_t offset, bool called)
{
	struct computed_work *work = computed->work;
	struct cfi_rule rule;

	if (computed_rows_find_rule(&work->rows, offset) || !computed_has_way_out(computed) ||
	    !way_out_find_stub(work->way_out, computed->base + offset + called, called, &rule))
		return;
	*computed_way_at(computed, offset) =
		(struct cfi_hit){ offset, cfi_builder_number(&work->rules, &rule) };
}

/*
 * Finds the rule at OFFSET: by the whole function if its bounds are known, else by the code from
 * OFFSET on, else by guessed bounds, else by ways that go on after a jump. Returns false if code is
 * missing, or if nothing is found. If code after OFFSET is missing, the function is incomplete, so
 * its bounds are not guessed.
 */
static bool computed_read(struct computed *computed, uint32_t offset, bool called)
{
	const struct code_source *source = &computed->source;
	uint64_t address = computed->base + offset, start, end;
	bool was_read, missing;

	if (!computed_may_read(computed))
		return true;
	was_read = computed_is_known(computed, offset);
	if (computed_find_known(source, address, &start, &end)) {
		if (!was_read && !computed_read_function(computed, address, start, end, false))
			return computed_find_way(computed, offset, called, true, &missing);
		computed_find_stub(computed, offset, called);
		return true;
	}
	if (computed_find_way(computed, offset, called, was_read, &missing) || was_read)
		return !was_read || !missing;
	if (!missing && computed_find_bounds(computed, address, &start, &end) &&
	    computed_read_function(computed, address, start, end, true))
		return true;
	return computed_find_way(computed, offset, called, true, &missing);
}

/* --- missing code ----------------------------------------------------------------------------- */

static struct computed_miss *computed_miss_at(const struct computed *computed, uint32_t offset,
					      bool guess)
{
	return &computed->work->misses[guess][hash_slot(offset, COMPUTED_MISSES)];
}

static uint64_t computed_turn(const struct computed *computed)
{
	const struct code_source *source = &computed->source;

	return source->turn ? source->turn(source->context) : 0;
}

/*
 * Whether code for OFFSET may be read in TURN: the code was not missing, or its turn has come.
 * GUESS: the code is needed to guess a function's bounds, not for a step.
 */
static bool computed_is_due(const struct computed *computed, uint32_t offset, uint64_t turn,
			    bool guess)
{
	const struct computed_miss *miss = computed_miss_at(computed, offset, guess);

	if (!computed->source.turn)
		return true;
	return turn && (miss->offset != offset || !miss->delay || turn >= miss->due_turn);
}

/*
 * Notes in TURN whether the code for OFFSET was THERE. After one miss the code is due in 1 turn,
 * after two in 2, then in 4, and so on up to COMPUTED_MAX_DELAY turns.
 */
static void computed_note(struct computed *computed, uint32_t offset, uint64_t turn, bool guess,
			  bool there)
{
	struct computed_miss *miss = computed_miss_at(computed, offset, guess);
	bool again = miss->offset == offset && miss->delay;

	if (there) {
		miss->delay = 0;
		return;
	}
	miss->offset = offset;
	miss->delay = again ? miss->delay * 2 : 1;
	if (miss->delay > COMPUTED_MAX_DELAY)
		miss->delay = COMPUTED_MAX_DELAY;
	miss->due_turn = turn + miss->delay;
}

static void computed_try(struct computed *computed, uint32_t offset, bool called)
{
	uint64_t turn = computed_turn(computed);

	if (computed_is_due(computed, offset, turn, false))
		computed_note(computed, offset, turn, false,
			      computed_read(computed, offset, called));
}

/*
 * The number of the rule at OFFSET. Reads the function if it was not read yet. Not inlined: steps
 * rarely need this.
 */
static __attribute__((noinline)) uint32_t
computed_read_rule(struct computed *computed, uint32_t offset, bool called, struct cfi_hit *hit)
{
	const struct cfi_hit *way = computed_way_at(computed, offset);
	const struct cfi_hit *guess = computed_guess_at(computed, offset);
	uint32_t rule;

	if (!computed_is_known(computed, offset) || way->offset != offset)
		computed_try(computed, offset, called);
	rule = computed_rows_find_rule(&computed->work->rows, offset);
	if (!rule && way->offset == offset)
		rule = way->rule;
	if (!rule && called && computed_has_way_out(computed) &&
	    way_out_ends_thread(computed->work->way_out, computed->base + offset + 1))
		rule = cfi_builder_number(&computed->work->rules, &cfi_rule_outermost);
	if (!rule && way->offset != offset && guess->offset == offset)
		return guess->rule;
	if (rule || !computed->source.turn || computed_is_known(computed, offset))
		*hit = (struct cfi_hit){ offset, rule };
	return rule;
}

/* The number of the rule at OFFSET < span. */
static uint32_t computed_find_rule(struct computed *computed, uint32_t offset, bool called)
{
	uint32_t slot = offset * 0x9e3779b1U >> (32 - CFI_CACHE_BITS), rule;
	struct cfi_hit *hit = &computed->work->cache[slot];

	if (hit->offset == offset)
		return hit->rule;
	rule = computed_rows_find_rule(&computed->work->rows, offset);
	if (!rule)
		return computed_read_rule(computed, offset, called, hit);
	*hit = (struct cfi_hit){ offset, rule };
	return rule;
}

bool computed_find_function(const struct computed *computed, uint64_t address, uint64_t *start,
			    uint64_t *end)
{
	uint64_t offset = address - computed->base;
	const struct computed_function *function;

	if (offset >= computed->span || !computed->work)
		return false;
	function = computed_rows_find(&computed->work->rows, (uint32_t)offset);
	if (!function)
		return false;
	*start = computed->base + function->start;
	*end = computed->base + function->end;
	return true;
}

bool computed_guess_function(struct computed *computed, uint64_t address, uint64_t *start,
			     uint64_t *end)
{
	uint64_t offset = address - computed->base, turn;
	bool found;

	if (!computed->work || offset >= computed->span)
		return false;
	turn = computed_turn(computed);
	if (computed_may_read(computed) &&
	    computed_is_due(computed, (uint32_t)offset, turn, true)) {
		found = computed_find_bounds(computed, address, start, end) &&
			computed_read_function(computed, address, *start, *end, true);
		computed_note(computed, (uint32_t)offset, turn, true, found);
	}
	return computed_find_function(computed, address, start, end);
}

/* --- steps ------------------------------------------------------------------------------------ */

enum unwind_step computed_step(struct computed *computed, uint64_t bias, struct cursor *cursor)
{
	uint64_t offset = cursor_pc(cursor) - bias - computed->base;
	uint32_t number;

	if (offset >= computed->span || (!computed->work && !computed_create_work(computed)))
		return STEP_NOT_COVERED;
	/* This call may reallocate the rules, so the rule's address is taken after it. */
	number = computed_find_rule(computed, (uint32_t)offset, !cursor->interrupted);
	return computed->machine->rule_step(&computed->work->rules.cfi->rules[number], cursor);
}

/* Whether a signal's handler returns to the code at ADDRESS, in the image. */
static bool computed_is_signal_return(const struct computed *computed, uint64_t address)
{
	uint8_t code[SIGNAL_RETURN_BYTES];

	return computed->source.arch == ARCH_X86 &&
	       signal_return_begins(code, computed->source.read(computed->source.context, address,
								code, sizeof(code)));
}

bool computed_is_return(struct computed *computed, uint64_t bias, uint64_t address)
{
	uint8_t before[INSTRUCTION_MAX_CALL_BYTES];
	uint64_t offset = address - bias - computed->base;
	struct computed_return *known;

	if (offset < sizeof(before) || offset > computed->span)
		return false;
	if (!computed->work && !computed_create_work(computed))
		return true;
	known = &computed->work->returns[hash_slot(offset, COMPUTED_RETURNS)];
	if (known->offset == offset)
		return known->fits;
	if (computed->source.read(computed->source.context, address - bias - sizeof(before),
				  before, sizeof(before)) != sizeof(before))
		return computed->source.turn; /* unknown until the code can be read */
	*known = (struct computed_return){
		(uint32_t)offset, computed->machine->ends_call(before) ||
					  computed_is_signal_return(computed, address - bias)
	};
	return known->fits;
}

size_t computed_read_code(const struct computed *computed, uint64_t bias, uint64_t address,
			  void *buffer, size_t size_bytes)
{
	return computed->source.read(computed->source.context, address - bias, buffer, size_bytes);
}
