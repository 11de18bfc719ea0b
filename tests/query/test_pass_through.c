/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pass-through functions: which ones are folded away, and that the rest is sound and keeps its weight. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/pass_through.h"

static struct frames *frames;

static void check_folded(const char *const *stacks, size_t n, const char *expected,
			 const char *what)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks), folded;
	const char *broken;
	char *text;
	size_t got;

	must(pass_through_fold(snapshot, &folded, &got));
	broken = stacks_broken(&folded);
	check(!broken, "%s is sound: %s", what, broken ? broken : "yes");
	check_u64(got, n, what);
	check_u64(folded.nodes[0].children_total, snapshot->nodes[0].children_total,
		  "weight of the folded tree");
	text = stacks_tree(&folded);
	check_string(text, expected, what);
	free(text);
	pass_through_deinit(&folded);
	snapshot_destroy(snapshot);
}

/*
 * The head of a server: _start, main and serve start all chains of web, entry hands all it has to
 * do_syscall. Time divides below do_syscall, which does not start nearly every chain. The few own
 * samples of entry go to the nearest above that stays.
 */
static void test_plumbing(void)
{
	static const char *const stacks[] = { "@web;._start;.main;.serve;.write;entry;sys;send 600",
					      "@web;._start;.main;.serve;.write;entry;sys;read 300",
					      "@web;._start;.main;.serve;.write;entry 5",
					      "@web;._start;.main;.serve;.parse 300",
					      "@sh;._start;.loop;entry;sys;send 100",
					      "@sh;._start;.loop 100",
					      NULL };

	check_folded(stacks, 5,
		     "all 0/1405\n"
		     " web 5/1205\n"
		     "  sys 0/900\n"
		     "   send 600/600\n"
		     "   read 300/300\n"
		     "  parse 300/300\n"
		     " sh 0/200\n"
		     "  loop 100/200\n"
		     "   sys 0/100\n"
		     "    send 100/100\n",
		     "a server's plumbing");
}

/*
 * start hands all that it has in a process to one function, another one in each process. It does not
 * start nearly every chain of ab. sys divides in web, though not in ab, and stays.
 */
static void test_processes(void)
{
	static const char *const stacks[] = { "@web;.start;.serve;sys;send 50",
					      "@web;.start;.serve;sys;read 50",
					      "@web;.start;.serve;.parse 100",
					      "@ab;.start;.ask;sys;send 50",
					      "@ab;.start;.ask 50",
					      "@ab;.load 40",
					      NULL };

	check_folded(stacks, 2,
		     "all 0/340\n"
		     " web 0/200\n"
		     "  sys 0/100\n"
		     "   send 50/50\n"
		     "   read 50/50\n"
		     "  parse 100/100\n"
		     " ab 0/140\n"
		     "  ask 50/100\n"
		     "   sys 0/50\n"
		     "    send 50/50\n"
		     "  load 40/40\n",
		     "what starts each process in one way");
}

/* A share of 90 % is not nearly all, and 2 % of its own time is time. */
static void test_bounds(void)
{
	static const char *const divides[] = { "a;b 90", "a;c 10", "d;a;b 20", "d;e 200", NULL };
	static const char *const own[] = { "a;b 98", "a 2", "d 300", NULL };
	static const char *const barely[] = { "a;b 99", "a 1", "d 300", NULL };

	check_folded(divides, 0,
		     "all 0/320\n"
		     " a 0/100\n"
		     "  b 90/90\n"
		     "  c 10/10\n"
		     " d 0/220\n"
		     "  a 0/20\n"
		     "   b 20/20\n"
		     "  e 200/200\n",
		     "a hands 110 of 120 to b");
	check_folded(own, 0, "all 0/400\n a 2/100\n  b 98/98\n d 300/300\n", "2 % own time");
	check_folded(barely, 1, "all 1/400\n b 99/99\n d 300/300\n", "1 % own time");
}

/* Recursion counts once: fib is where the time is, and way calls itself through another function. */
static void test_recursion(void)
{
	static const char *const self[] = { "@p;fib;fib;fib;work 50", "@p;other 50", NULL };
	static const char *const ring[] = { "@p;way;a;way;a 50", "@p;way;b 50", "@q;x 300", NULL };

	check_folded(self, 0,
		     "all 0/100\n"
		     " p 0/100\n"
		     "  fib 0/50\n"
		     "   fib 0/50\n"
		     "    fib 0/50\n"
		     "     work 50/50\n"
		     "  other 50/50\n",
		     "a function that calls itself");
	check_folded(ring, 1,
		     "all 0/400\n"
		     " p 0/100\n"
		     "  a 0/50\n"
		     "   a 50/50\n"
		     "  b 50/50\n"
		     " q 0/300\n"
		     "  x 300/300\n",
		     "a ring: way starts all of p, a is where its time goes");
}

/* Unnamed functions stay, and so does what only leads to [truncated] and [evicted]. */
static void test_unknown(void)
{
	static const char *const stacks[] = { "@p;?10;f 50", "@p;g 50", "@p;%t;h;k 50", NULL };

	check_folded(stacks, 1,
		     "all 0/150\n"
		     " p 0/150\n"
		     "  [unknown] 0/50\n"
		     "   f 50/50\n"
		     "  g 50/50\n"
		     "  [truncated] 0/50\n"
		     "   k 50/50\n",
		     "functions without a name");
}

/* What takes time now is not folded, however little it took since start; nor the other way round. */
static void test_live(void)
{
	struct profile *profile;
	struct snapshot *snapshot, folded;
	char *text;
	size_t n;

	must(profile_create(1000, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, SECOND, "a;b 100000");
	stacks_add(profile, frames, SECOND, "d 100000");
	stacks_add(profile, frames, 300 * SECOND, "a 100");
	must(profile_copy(profile, 300 * SECOND, &snapshot));
	must(pass_through_fold(snapshot, &folded, &n));
	text = stacks_tree(&folded);
	check_string(text, "all 0/200100\n a 100/100100\n  b 100000/100000\n d 100000/100000\n",
		     "0.1 % own time since start, but all of the live time");
	check_u64(n, 0, "functions that were folded away");
	free(text);
	pass_through_deinit(&folded);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* A baseline loses the functions that the picture lost, and those alone. */
static void test_same(void)
{
	static const char *const now[] = { "@web;._start;.main;.serve;.parse 300",
					   "@web;._start;.main;.serve;.write 700", NULL };
	static const char *const before[] = { "@web;._start;.main 500",
					      "@web;._start;.main;.serve;.parse 100",
					      "@web;._start;.old;.gone 400", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, now),
			*other = stacks_snapshot(frames, before), folded, same;
	const char *broken;
	char *text;
	size_t n;

	must(pass_through_fold(snapshot, &folded, &n));
	check_u64(n, 3, "_start, main and serve are folded away");
	must(pass_through_fold_same(snapshot, &folded, other, &same));
	broken = stacks_broken(&same);
	check(!broken, "the folded tree is sound: %s", broken ? broken : "yes");
	text = stacks_tree(&same);
	check_string(text,
		     "all 0/1000\n"
		     " web 500/1000\n"
		     "  parse 100/100\n"
		     "  old 0/400\n"
		     "   gone 400/400\n",
		     "main's own time goes to web, and only old stays a way to something");
	free(text);
	pass_through_deinit(&same);
	pass_through_deinit(&folded);
	snapshot_destroy(other);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_plumbing();
	test_processes();
	test_bounds();
	test_recursion();
	test_unknown();
	test_live();
	test_same();
	frames_destroy(frames);
	return tap_done();
}
