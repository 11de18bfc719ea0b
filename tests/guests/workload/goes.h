/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of goes that is written in C: it is called by Go, and calls Go. */
#ifndef GOES_H
#define GOES_H

#include <signal.h>

#define GOES_SIGNAL SIGUSR1

void goes_init(void);
void goes_spin(unsigned long n);
void goes_call_back(int n);
void goes_raise(void);

#endif
