/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up rights: after sandbox_enter() this process may read what a guest or a file made of bytes
 * without being able to do more harm than any program of an ordinary user, and less. doc/SECURITY
 * has the list. Before the first thread, after the last file that needs rights to be opened.
 */
#ifndef XTOP_SANDBOX_H
#define XTOP_SANDBOX_H

#include "xtop/error.h"

/*
 * Descriptors that came through exec are closed, but for the three streams. Root becomes the user who
 * called sudo, or nobody; capabilities go; what is left of system calls is a list. None of it can be
 * undone. An error means that some of it did not work: do not go on.
 * Built with sanitizers, which could not work inside, nothing happens: sandbox_lack() says so.
 */
struct xtop_error *sandbox_enter(void);
/* What it leaves this process with, to be told before a guest is read; NULL: nothing to tell. */
const char *sandbox_lack(void);

#endif
