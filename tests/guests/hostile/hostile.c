// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that attacks its observer. It boots with files of the tiny guest (start.S, boot.c, xen.c,
 * console.c, or those of arm64). Its command line then names one scenario, which it repeats for
 * ever. hostile_x86.c and hostile_arm64.c have what needs the processor:
 *
 *   loops     frame pointers in circles of one, two and 1,000 frames
 *   ladder    8,000 valid frames
 *   edges     stack pointers at 0, at both ends of the hole between the two halves of the address
 *             space, at its end
 *   wild      random stack and frame pointers, and random contents where they point; new ones each
 *             microsecond
 *   change    another vCPU writes random words and pieces of chains to the stack
 *   tables    PVH: stacks after page tables that contain themselves, lead beyond the end of
 *             memory, to devices or to frames that cannot exist, or have bits that must not be set;
 *             a second vCPU changes them all the time
 *   roots     PVH: 32 roots in turn; all entries but two are random
 *   foreign   PV: asks Xen to map frames of other domains, and puts its stack there and into Xen
 *   linux-*   PVH: pretends to be Linux; see linux.c
 *
 * Nothing interrupts the guest: events stay masked, and PVH keeps interrupts off. So the stack
 * pointer may have any value while the guest spins without a push. Every BEAT_TURNS turns it prints
 * the number of turns on the console.
 */
#include "../tiny/tiny.h"
#include "hostile.h"

#define BEAT_TURNS   2000

uint64_t hostile_stack[HOSTILE_STACK_WORDS] __attribute__((aligned(HOSTILE_PAGE)));
static const struct scenario *scenario;

/* xorshift64* */
uint64_t hostile_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Writes a frame at word WORD: a pointer to the caller's frame, and an address in main(). */
static void put_frame(unsigned int word, unsigned int caller)
{
	hostile_stack[word] = (uint64_t)&hostile_stack[caller];
	hostile_stack[word + 1] = (uint64_t)main + 16;
}

static void turn_loops(unsigned int vcpu, uint64_t *random)
{
	static const unsigned int sizes[] = { 1, 2, 1000 };
	unsigned int n = sizes[hostile_random(random) % 3];

	(void)vcpu;
	for (unsigned int i = 0; i < n; i++)
		put_frame(2 * i, i + 1 < n ? 2 * i + 2 : 0);
	hostile_park_at((uint64_t)hostile_stack, (uint64_t)hostile_stack);
}

static void turn_ladder(unsigned int vcpu, uint64_t *random)
{
	(void)vcpu;
	(void)random;
	if (!hostile_stack[0])
		for (unsigned int i = 0; i < HOSTILE_STACK_WORDS - 2; i += 2)
			put_frame(i, i + 2);
	hostile_park_at((uint64_t)hostile_stack, (uint64_t)hostile_stack);
}

static void turn_edges(unsigned int vcpu, uint64_t *random)
{
	(void)vcpu;
	hostile_park_at(hostile_edges[hostile_random(random) % n_hostile_edges],
			hostile_edges[hostile_random(random) % n_hostile_edges]);
}

static void scribble(uint64_t *random)
{
	uint64_t word = hostile_random(random), value = hostile_random(random);

	if (word >> 63)
		value = (uint64_t)&hostile_stack[value % HOSTILE_STACK_WORDS];
	else if (word >> 62)
		value = (uint64_t)main + value % 256;
	/* Most writes hit the first page, where the stack pointer is. */
	((volatile uint64_t *)hostile_stack)[word >> 60 & 1 ? word % 512 : word % HOSTILE_STACK_WORDS] = value;
}

static void turn_wild(unsigned int vcpu, uint64_t *random)
{
	uint64_t sp = hostile_random(random), fp = hostile_random(random);
	unsigned int kind = hostile_random(random) % 4;

	(void)vcpu;
	for (unsigned int i = 0; i < 64; i++)
		scribble(random);
	if (kind & 1)
		sp = (uint64_t)hostile_stack + sp % sizeof(hostile_stack);
	if (kind & 2)
		fp = (uint64_t)hostile_stack + fp % sizeof(hostile_stack);
	hostile_park_at(sp, fp);
}

static void turn_change(unsigned int vcpu, uint64_t *random)
{
	if (vcpu == 0)
		hostile_park_at((uint64_t)hostile_stack, (uint64_t)hostile_stack + hostile_random(random) % 4096);
	else
		for (unsigned int i = 0; i < 4096; i++)
			scribble(random);
}

/* --- the choice of a scenario ----------------------------------------------------------------- */

static void turn_linux(unsigned int vcpu, uint64_t *random)
{
	(void)vcpu;
	hostile_linux_turn(random);
}

/* These scenarios run on all processors. hostile_scenarios has those of one processor. */
static const struct scenario scenarios[] = {
	{ "loops", turn_loops }, { "ladder", turn_ladder }, { "edges", turn_edges },
	{ "wild", turn_wild },   { "change", turn_change },
};

/* Stands for all scenarios of linux.c. */
static const struct scenario linux_scenario = { "linux", turn_linux };

static bool is_word(const char *line, const char *word)
{
	while (*word)
		if (*line++ != *word++)
			return false;
	return !*line || *line == ' ';
}

static const struct scenario *find_scenario(const char *line)
{
	for (unsigned int i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (is_word(line, scenarios[i].name))
			return &scenarios[i];
	for (unsigned int i = 0; i < n_hostile_scenarios; i++)
		if (is_word(line, hostile_scenarios[i].name))
			return &hostile_scenarios[i];
	return hostile_linux(line) ? &linux_scenario : NULL;
}

static void report(uint64_t turns)
{
	console_text("hostile: beat ");
	console_number(turns);
	console_text("\n");
	console_flush();
}

void main(unsigned int vcpu)
{
	uint64_t random = 0x9e3779b97f4a7c15 + vcpu;

	if (vcpu == 0) {
		const struct scenario *found = find_scenario(xen_cmdline());

		if (!found) {
			console_text("hostile: no such scenario\n");
			console_flush();
			xen_poweroff();
		}
		__atomic_store_n(&scenario, found, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&scenario, __ATOMIC_ACQUIRE))
		;
	for (uint64_t turns = 0;; turns++) {
		scenario->turn(vcpu, &random);
		if (vcpu == 0 && turns % BEAT_TURNS == 0)
			report(turns);
	}
}
