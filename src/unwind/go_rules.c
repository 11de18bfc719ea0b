/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the names and flags of Go's functions tell about their frames; see go_rules.h. Resolver's
 * thread.
 */
#include "config.h"

#include "unwind/go_rules.h"

#include <string.h>

bool go_is_one_of(const struct go_function *function, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (go_has_name(function, names[i]))
			return true;
	return false;
}

bool go_handles_signals(const struct go_function *function)
{
	static const char *const names[] = { "runtime.sigtramp", "runtime.cgoSigtramp" };

	return GO_IS_ONE_OF(function, names);
}

/*
 * gogo() starts a goroutine and never returns. Go's own chains end where a signal arrived (Go
 * src/runtime/traceback.go); ours continue with the interrupted code.
 */
bool go_is_outermost(const struct go_function *function)
{
	static const char *const unmarked[] = { "runtime.goexit", "runtime.mstart",
						"runtime.rt0_go" };
	static const char *const names[] = { "runtime.gogo", "gogo" };

	if (go_handles_signals(function))
		return false;
	if (function->flags & (GO_TOP | GO_UNMARKED))
		return function->flags & GO_TOP || GO_IS_ONE_OF(function, unmarked) ||
		       GO_IS_ONE_OF(function, names);
	return function->flags & GO_ASSEMBLY && GO_IS_ONE_OF(function, names);
}

/* Functions written in Go always have a dot in their names. */
bool go_is_assembly(const struct go_function *function)
{
	return function->flags & GO_ASSEMBLY ||
	       (function->flags & GO_UNMARKED &&
		!memchr(function->name, '.', function->name_bytes));
}
