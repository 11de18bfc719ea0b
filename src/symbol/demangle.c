/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names of C++, Rust, D and OCaml functions, mostly by libiberty. The resolver's thread,
 * once for each new frame.
 *
 *   _ZN2ns3Foo3barEi                     ns::Foo::bar       Itanium C++ ABI 5.1
 *   _ZN4core5write17h0123456789abcdefE    core::write        Rust, legacy: the same with a hash
 *   _RNvCs1234_7mycrate3foo               mycrate::foo       Rust, v0: RFC 2603
 *   _ZL4slowv.part.0.cold                 slow.part.0.cold   clones keep GCC's suffix, as in C
 *   _D4test4loopFiZv                      test.loop(int)     D: overloads are common there
 *   camlStdlib__List__map_123             Stdlib.List.map    OCaml; 5.x has "." or "$" for "__"
 *
 * Parameters of C++ and hashes of Rust are left out, as perf does (Linux 6.1
 * tools/perf/util/symbol-elf.c demangle_sym() passes DMGL_NO_OPTS unless -v): one name is almost
 * always one function. symbol_demangle_whole() has them, for two functions that would look alike.
 *
 * A short mangled name can stand for a very long one. Substitutions (S_) and back references double
 * it again and again; 100 bytes can stand for more than fits in memory. So we use libiberty's
 * interface with a callback, which hands the text out piece by piece, and leave it by longjmp()
 * once there are DEMANGLE_MAX_BYTES. libiberty limits its own recursion (DMGL_NO_RECURSE_LIMIT is
 * not set), and refuses C++ names above 1,024 bytes.
 */
#include "config.h"

#include "xtop/symbol/symbol.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "xtop/base/cleanup.h"

struct demangle_output {
	char text[DEMANGLE_MAX_BYTES];
	size_t used; /* bytes used, fewer than text has: room for the NUL */
	bool only_at_punctuation;
	jmp_buf full;
};

typedef int demangle_function(const char *mangled, int options, demangle_callbackref callback,
			      void *opaque);

/*
 * Whether the callback may be left by longjmp() here without a leak. The C++ demangler allocates
 * nothing. The Rust one holds memory only while it prints an identifier in Punycode; such a piece
 * has letters, digits or bytes above 0x7f in it. Every name that doubles also prints "<", ", " and
 * the like.
 */
static bool demangle_may_leave(const struct demangle_output *output, const char *text, size_t bytes)
{
	if (!output->only_at_punctuation)
		return true;
	for (size_t i = 0; i < bytes; i++)
		if (!strchr("<>()[]{},:;&*+ ", text[i]) || !text[i])
			return false;
	return bytes > 0;
}

static void demangle_append(const char *text, size_t bytes, void *opaque)
{
	struct demangle_output *output = opaque;
	size_t room = sizeof(output->text) - 1 - output->used;
	size_t taken = bytes < room ? bytes : room;

	if (taken) /* libiberty hands out empty pieces, too, some at NULL */
		memcpy(output->text + output->used, text, taken);
	output->used += taken;
	if (output->used == sizeof(output->text) - 1 && demangle_may_leave(output, text, bytes))
		longjmp(output->full, 1);
}

static bool demangle_run(demangle_function *demangle, const char *name, int options,
			 struct demangle_output *output)
{
	output->used = 0;
	output->only_at_punctuation = demangle == rust_demangle_callback;
	if (setjmp(output->full))
		return true; /* cut */
	return demangle(name, options, demangle_append, output) && output->used;
}

/*
 * The length of the mangled name, without a suffix of a compiler (.cold, .isra.0, .llvm.123) or a
 * linker (@plt). Names of C++ and Rust v0 have no '.' or '@'. Those of legacy Rust may have one
 * ("alloc..vec"), but always end in 17h, 16 digits, E.
 */
static size_t demangle_core_bytes(const char *name)
{
	const char *hash = name;

	while ((hash = strstr(hash, "17h"))) {
		if (strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E' &&
		    (!hash[20] || hash[20] == '.' || hash[20] == '@'))
			return hash + 20 - name;
		hash++;
	}
	return strcspn(name, ".@");
}

/*
 * Rust v0: where a function's type ("F") or a dyn trait ("D") begins, "G", digits in base 62 and
 * "_" say how many lifetimes are bound there: for<'a, 'b>. libiberty goes through all of them, up
 * to 2^64, and in an impl's path it does so without a callback. Real types bind a handful. A name
 * with three digits there is refused; an identifier that happens to read like that stays mangled.
 */
static bool demangle_is_endless(const char *name)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n;

	for (const char *at = name; (at = strchr(at, 'G')); at++) {
		if (at == name || (at[-1] != 'F' && at[-1] != 'D'))
			continue;
		n = strspn(at + 1, digits);
		if (at[1 + n] != '_')
			at += n; /* no other "G" up to there begins one, either */
		else if (n > 2)
			return true;
	}
	return false;
}

/* --- names of D ------------------------------------------------------------------------------- */

/*
 * libiberty has no interface with a callback for D's names. Each back reference ("Q") can double
 * the text, so a name may have only a few.
 */
#define DEMANGLE_D_BYTES      1024
#define DEMANGLE_D_REFERENCES 8

static char *demangle_d(const char *name)
{
	unsigned references = 0;

	for (const char *at = name; (at = strchr(at, 'Q')); at++)
		references++;
	if (strlen(name) > DEMANGLE_D_BYTES || references > DEMANGLE_D_REFERENCES)
		return NULL;
	return dlang_demangle(name, DMGL_NO_OPTS);
}

/* --- OCaml ------------------------------------------------------------------------------------ */

/* The length of the separator at AT between modules and functions; 0: there is none. */
static size_t demangle_ocaml_separator(const char *at)
{
	if (at[0] == '_' && at[1] == '_')
		return 2;
	return (at[0] == '.' || at[0] == '$') && isalpha((unsigned char)at[1]);
}

/* Where the stamp of NAME begins, "_123" at its end; its end if there is none. */
static const char *demangle_ocaml_stamp(const char *name)
{
	const char *end = name + strlen(name), *at = end;

	while (at > name && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > name && at[-1] == '_' ? at - 1 : end;
}

/*
 * ocamlopt writes modules and function with "__" between them, later versions with "." or "$", and
 * the function's number at the end. WHOLE: the number stays.
 */
static char *demangle_ocaml(const char *name, bool whole)
{
	const char *stamp = demangle_ocaml_stamp(name), *end = whole ? name + strlen(name) : stamp;
	char text[DEMANGLE_MAX_BYTES];
	size_t n = 0, separators = 0;

	if (!*stamp || !isupper((unsigned char)name[4]))
		return NULL;
	for (const char *at = name + 4; at < end && n < sizeof(text); n++) {
		size_t bytes = at < stamp ? demangle_ocaml_separator(at) : 0;

		text[n] = bytes ? '.' : *at;
		at += bytes ? bytes : 1;
		separators += bytes > 0;
	}
	return separators ? strndup(text, n) : NULL;
}

/* --- names of all languages ------------------------------------------------------------------- */

static char *demangle(const char *name, bool whole)
{
	int parameters = whole ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;
	int hash = whole ? DMGL_VERBOSE : DMGL_NO_OPTS;
	size_t core_bytes, suffix_bytes, room;
	_cleanup_free_ char *core = NULL;
	struct demangle_output output;
	const char *suffix;

	if (!strncmp(name, "caml", 4))
		return demangle_ocaml(name, whole);
	if (name[0] == '_' && name[1] == 'D')
		return demangle_d(name);
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	core_bytes = demangle_core_bytes(name);
	core = strndup(name, core_bytes);
	if (!core || (name[1] == 'R' && demangle_is_endless(core)) ||
	    (!demangle_run(rust_demangle_callback, core, hash, &output) &&
	     !demangle_run(cplus_demangle_v3_callback, core, parameters, &output)))
		return NULL;
	suffix = strncmp(name + core_bytes, ".llvm.", 6) == 0 ? "" : name + core_bytes;
	suffix_bytes = strlen(suffix);
	room = sizeof(output.text) - 1 - output.used;
	if (suffix_bytes > room)
		suffix_bytes = room;
	memcpy(output.text + output.used, suffix, suffix_bytes);
	return strndup(output.text, output.used + suffix_bytes);
}

char *symbol_demangle(const char *name)
{
	return demangle(name, false);
}

char *symbol_demangle_whole(const char *name)
{
	return demangle(name, true);
}
