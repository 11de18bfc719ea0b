/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds functions of Go's runtime that change stacks; see go_switches.h. Resolver's thread.
 */
#include "config.h"

#include "unwind/go_switches.h"

static bool go_switch_kind_of(const struct go_function *function, enum go_switch_kind *kind)
{
	static const struct {
		const char *name;
		enum go_switch_kind kind;
	} known[] = {
		{ "runtime.systemstack", GO_SYSTEMSTACK },
		{ "runtime.mcall", GO_MCALL },
		{ "runtime.morestack", GO_MORESTACK },
		{ "runtime.asmcgocall", GO_ASMCGOCALL },
		{ "runtime.cgocallback", GO_CALLBACK },
		{ "runtime.cgocallback_gofunc", GO_CALLBACK }, /* up to 1.15, in cgocallback */
		{ "runtime.systemstack_switch", GO_MARK },
		{ "crosscall2", GO_CROSSCALL },
		{ "runtime.nanotime1", GO_VDSO },
		{ "runtime.walltime", GO_VDSO },
		{ "runtime.walltime1", GO_VDSO },
		{ "time.now", GO_VDSO },
		{ "runtime.sigreturn", GO_SIGRETURN },
		{ "runtime.sigreturn__sigaction", GO_SIGRETURN },
	};

	/* Go code calls assembly through wrappers of the same name. */
	if (!(function->flags & (GO_ASSEMBLY | GO_UNMARKED)))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (go_has_name(function, known[i].name)) {
			*kind = known[i].kind;
			return true;
		}
	return false;
}

bool go_switches_add(struct go_switches *switches, const struct go_function *function)
{
	struct go_switch *one = &switches->all[switches->n];

	if (switches->n == GO_MAX_SWITCHES || !go_switch_kind_of(function, &one->kind))
		return false;
	one->start = function->start;
	one->end = function->end;
	if (!switches->n || one->start < switches->start)
		switches->start = one->start;
	if (one->end > switches->end)
		switches->end = one->end;
	switches->n++;
	return true;
}

const struct go_switch *go_switches_find(const struct go_switches *switches, uint64_t address)
{
	if (address - switches->start >= switches->end - switches->start)
		return NULL;
	for (size_t i = 0; i < switches->n; i++) {
		const struct go_switch *one = &switches->all[i];

		if (address >= one->start && address < one->end)
			return one;
	}
	return NULL;
}
