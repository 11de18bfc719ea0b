/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the sandbox of the processes that read source lines. They can open no file
 * and no socket, start no program and signal nobody. A build with sanitizers has no such sandbox.
 */
#ifndef SUPERVISE_LINE_SANDBOX_H
#define SUPERVISE_LINE_SANDBOX_H

#include <stdbool.h>

#define LINE_SANDBOX_MEMORY_BYTES (200ULL << 20) /* private memory; mapped files come on top */

/* For the line server, which starts readers. False: the process must end. */
bool line_sandbox_enter(void);
/* For a reader, which starts no process. It has the line server's sandbox already. */
bool line_sandbox_enter_reader(void);

#endif
