/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as compilers mangle them, and names made to hurt the demangler. */
#include "config.h"

#include <time.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/symbol/symbol.h"

static const struct {
	const char *mangled, *wanted;
} names[] = {
	/* C++: no parameters, no return type; template arguments stay */
	{ "_Z3fooi", "foo" },
	{ "_ZN2ns3Foo3barEPKc", "ns::Foo::bar" },
	{ "_ZNK2ns3FooIiE3barEv", "ns::Foo<int>::bar" },
	{ "_Z3maxIiET_S0_S0_", "max<int>" },
	{ "_ZN3FooC1Ev", "Foo::Foo" },
	{ "_ZN3FooD0Ev", "Foo::~Foo" },
	{ "_ZlsRSoRK3Foo", "operator<<" },
	/* clones keep the suffix */
	{ "_Z3fooi.cold", "foo.cold" },
	{ "_Z3fooi@plt", "foo@plt" },
	{ "_ZL4slowv.constprop.0.isra.0", "slow.constprop.0.isra.0" },
	/* Rust, legacy: hash off, $..$ and .. spelled out */
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	  "3bar17h930b740aa94f1d3aE",
	  "<Test + 'static as foo::Bar<Test>>::bar" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1234567890",
	  "core::fmt::Formatter::pad" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold", "core::fmt::Formatter::pad.cold" },
	{ "_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE.cold.1",
	  "alloc::vec::Vec<T>::push.cold.1" },
	/* Rust, v0; the last with Punycode */
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_3Foo3bar", "<mycrate::Foo>::bar" },
	{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	  "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
	  "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da"
	  "\u10d8_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8" },
	/* D, with parameters; more back references than are followed */
	{ "_D4test4loopFiZv", "test.loop(int)" },
	{ "_D4test4loopFQQQQQQQQQZv", NULL },
	/* OCaml 4, 5.1 and 5.2; C functions of its runtime have lower case */
	{ "camlStdlib__List__map_389", "Stdlib.List.map" },
	{ "camlStdlib__List.map_389", "Stdlib.List.map" },
	{ "camlStdlib$List$fun_12", "Stdlib.List.fun" },
	{ "camlMain__entry", NULL },
	{ "caml_alloc_small_dispatch_1", NULL },
	{ "camlX", NULL },
	{ "caml", NULL },
	/* not mangled */
	{ "main", NULL },
	{ "", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "_ZN", NULL },
	{ "_Zebra", NULL },
	{ "_RAII", NULL },
	{ "_Z999999999999999999999foo", NULL },
	{ "__Z3fooi", NULL },
	{ "_Z\xff\xfe", NULL },
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *got = symbol_demangle(names[i].mangled);

		check(names[i].wanted ? got && strcmp(got, names[i].wanted) == 0 : !got,
		      "%s: %s (expected %s)", names[i].mangled, got ? got : "(none)",
		      names[i].wanted ? names[i].wanted : "(none)");
	}
}

/* What tells overloads, monomorphs and functions of one name apart. */
static void test_whole(void)
{
	static const struct {
		const char *mangled, *wanted;
	} whole[] = {
		{ "_Z3fooi", "foo(int)" },
		{ "_Z3food", "foo(double)" },
		{ "_Z3fooi.cold", "foo(int).cold" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		  "core::fmt::Formatter::pad::h0123456789abcdef" },
		{ "camlStdlib__List__map_389", "Stdlib.List.map_389" },
	};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		_cleanup_free_ char *got = symbol_demangle_whole(whole[i].mangled);

		check_string(got, whole[i].wanted, "name with all of its parts");
	}
}

/* A name that would be longer than memory is cut; WHAT it starts with is still there. */
static void check_bomb(const char *what, const char *mangled, const char *wanted)
{
	_cleanup_free_ char *got = symbol_demangle(mangled);
	size_t bytes = got ? strlen(got) : 0;

	check(got && bytes < DEMANGLE_MAX_BYTES && bytes > DEMANGLE_MAX_BYTES - 64,
	      "%s of %zu bytes: cut to %zu", what, strlen(mangled), bytes);
	check(got && strncmp(got, wanted, strlen(wanted)) == 0, "%s starts %.40s", what,
	      got ? got : "(none)");
}

/* f<A<A<..>, A<..>>>: each level of A<S, S> doubles the text. */
static void test_cxx_bomb(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fI1AI1BS0_E";
	size_t used = strlen(name);

	/* Substitutions: S_ A, S0_ B, S1_ A<B, B>, then one more a level. */
	used = sprintf(name, "_Z1fIJ1A1PIS0_S0_E");
	for (int level = 0; level < 30; level++)
		used += sprintf(name + used, "S1_IS%c_S%c_E", digits[level + 2], digits[level + 2]);
	sprintf(name + used, "EEvv");
	check_bomb("C++ bomb", name, "f<A, P<A, A>, P<P<A, A>, P<A, A> >, ");
}

/* Tuples of two back references to the tuple before: (x, x), ((x, x), (x, x)), ... */
static void test_rust_bomb(void)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2048] = "_RINvC1a1b";
	size_t used = strlen(name), last;

	/* Positions count from after "_R", in base 62, one less. */
	last = used - 2;
	used += sprintf(name + used, "Tlll%s", "E");
	for (int level = 0; level < 40; level++) {
		size_t at = used - 2;
		char reference[8];

		if (last <= 62)
			sprintf(reference, last ? "B%c_" : "B_", digits[last ? last - 1 : 0]);
		else
			sprintf(reference, "B%c%c_", digits[(last - 1) / 62],
				digits[(last - 1) % 62]);
		used += sprintf(name + used, "T%s%sE", reference, reference);
		last = at;
	}
	sprintf(name + used, "E");
	check_bomb("Rust bomb", name,
		   "a::b::<(i32, i32, i32), ((i32, i32, i32), (i32, i32, i32)), ");
}

/*
 * How many lifetimes a function's type binds, in the path of an impl, of which nothing is printed.
 */
static void test_rust_endless(void)
{
	static const char *const endless[] = {
		"_RNvMIC5crateFGzzzzzz_EuEu3foo", /* 56,800,235,584: minutes */
		"_RNvMIC5crateFGZZZZZZZZZZ_EuEu3foo", "_RNvMIC5crateDGzzz_NtC1a1bEL_Eu3foo",
		"_RIMIC8mycroFFFFFFFFFFFFGFFFFFF_17hFFFF", /* a name that the fuzzer found */
	};
	_cleanup_free_ char *few = symbol_demangle("_RNvMIC5crateFG0_EuEu3foo");
	_cleanup_free_ char *shown = symbol_demangle("_RINvC1a1bFG0_EuE");

	check(few && strcmp(few, "<()>::foo") == 0, "two lifetimes, not printed: %s", few);
	check(shown && strcmp(shown, "a::b::<for<'a, 'b> fn()>") == 0, "printed: %s", shown);
	alarm(20);
	for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		_cleanup_free_ char *got = symbol_demangle(endless[i]);

		check(!got, "%s: no name", endless[i]);
	}
	alarm(0);
}

/* A long identifier, in one piece, that does not double. */
static void test_long(void)
{
	static char name[SYMTAB_MAX_NAME_BYTES + 64];
	char *got;

	sprintf(name, "_RNvC1a4000");
	memset(name + strlen(name), 'x', 4000);
	got = symbol_demangle(name);
	check(got && strlen(got) == 4003, "a name with an identifier of 4,000 bytes: %zu bytes",
	      got ? strlen(got) : 0);
	free(got);
	strcat(name, ".");
	memset(name + strlen(name), 's', 80);
	got = symbol_demangle(name);
	check(got && strlen(got) == 4003 + 81, "a name of 4,000 bytes with a suffix: %zu bytes",
	      got ? strlen(got) : 0);
	free(got);
	memset(name, 0, sizeof(name));
	sprintf(name, "_RNvC1a4082");
	memset(name + strlen(name), 'x', 4082);
	strcat(name, ".cold.cold.cold");
	got = symbol_demangle(name);
	check(got && strlen(got) == DEMANGLE_MAX_BYTES - 1, "a name whose suffix is cut: %zu bytes",
	      got ? strlen(got) : 0);
	free(got);
}

/* Mutations of good names: no crash, and none takes longer than a frame's name may. */
static void test_hostile(void)
{
	static const char alphabet[] = "0123456789_ZNKEISTLXRBCMDPRFvijlthmcsaopu$.";
	unsigned demangled = 0, too_long = 0;
	clock_t longest = 0;
	uint32_t state = 1;

	for (int round = 0; round < 60000; round++) {
		const char *base = names[round % 17].mangled;
		char name[256];
		_cleanup_free_ char *got = NULL;
		clock_t started;

		snprintf(name, sizeof(name), "%s%s%s", base, base + 2, base + 4);
		for (int i = 0; i < 1 + round % 5; i++) {
			state = state * 1664525 + 1013904223;
			name[2 + (state >> 8) % (strlen(name) - 2)] =
				alphabet[(state >> 20) % (sizeof(alphabet) - 1)];
		}
		started = clock();
		got = symbol_demangle(name);
		if (clock() - started > longest)
			longest = clock() - started;
		demangled += got != NULL;
		too_long += got && strlen(got) >= DEMANGLE_MAX_BYTES;
	}
	printf("# longest of 60,000 mutations: %.2f ms\n", longest * 1e3 / CLOCKS_PER_SEC);
	check(demangled > 100, "%u of 60,000 mutations are still names", demangled);
	check_u64(too_long, 0, "mutated names longer than the limit");
}

int main(void)
{
	test_names();
	test_whole();
	test_cxx_bomb();
	test_rust_bomb();
	test_rust_endless();
	test_long();
	test_hostile();
	return tap_done();
}
