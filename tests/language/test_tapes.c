/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of programs in versions of their languages that this machine need not have: what was
 * read of such processes is in tests/language/tapes (tape.h), and the functions must be those that the
 * programs told. XTOP_TAPES=FOLDER test_python and others make tapes of the versions that they find.
 */
#include "config.h"

#include <glob.h>

#include "tests/language/told_native.h"

int main(void)
{
	const char *top = getenv("top_srcdir");
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/tests/language/tapes/*.tape", top ? top : ".");
	if (!check(glob(pattern, 0, NULL, &found) == 0, "there are tapes"))
		return tap_done();
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const struct runtime_native *frames;
		struct live_process process;
		struct tape *tape;
		size_t n;

		if (!check(tape_open(found.gl_pathv[i], &process, &tape), "%s is a tape",
			   strrchr(found.gl_pathv[i], '/') + 1))
			continue;
		n = tape_frames(tape, &frames);
		if (n)
			told_check_tape(&process, frames, n, tape_program(tape), tape_told(tape));
		else
			told_check_stack(&process, tape_program(tape), tape_told(tape));
		tape_close(tape, &process);
	}
	globfree(&found);
	return tap_done();
}
