// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A C++ program with mangled function names of hundreds of characters. It uses no C++ library.
 * Chains below run_phase, demangled and shortened:
 *
 *   phase_fold;workload::fold<...>::over(...);workload::mixed<...>::apply(...);spin
 *   phase_visit;workload::tree<...>::visit(...), five times;spin
 */
#include "work.h"

namespace workload {

template <typename First, typename Second, unsigned long Width>
struct pair_of_rather_long_named_things {
	First first;
	Second second;
	unsigned char padding[Width];
};

typedef pair_of_rather_long_named_things<unsigned long, unsigned int, 3> small_pair;
typedef pair_of_rather_long_named_things<small_pair, small_pair, 5> middle_pair;
typedef pair_of_rather_long_named_things<middle_pair, middle_pair, 7> large_pair;

template <typename Thing> struct mixed {
	WORK static unsigned long apply(const Thing &thing, unsigned long (*)(const Thing &))
	{
		spin(100000);
		return thing.padding[0];
	}
};

template <typename Thing> struct fold {
	WORK static unsigned long over(const Thing &thing)
	{
		return mixed<Thing>::apply(thing, nullptr) + 1;
	}
};

template <typename Thing, unsigned int Depth> struct tree {
	WORK static unsigned long visit(const Thing &thing)
	{
		return tree<Thing, Depth - 1>::visit(thing) + Depth;
	}
};

template <typename Thing> struct tree<Thing, 1> {
	WORK static unsigned long visit(const Thing &thing)
	{
		spin(100000);
		return thing.padding[0];
	}
};

} // namespace workload

static volatile unsigned long sink;
static workload::large_pair thing;

extern "C" WORK void phase_fold(void)
{
	sink = workload::fold<workload::large_pair>::over(thing);
}

extern "C" WORK void phase_visit(void)
{
	sink = workload::tree<workload::large_pair, 5>::visit(thing);
}

static phase phases[] = {
	{ "fold", phase_fold, 60, 0, 0 },
	{ "visit", phase_visit, 40, 0, 0 },
	{ nullptr, nullptr, 0, 0, 0 },
};

int main()
{
	work work = { "names", phases, 0, 0 };

	run_init("names");
	run_ready("names");
	for (;;)
		run_round(&work);
}
