/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text for the screen. Each writes into BUFFER and returns it. */
#ifndef UI_FIGURES_H
#define UI_FIGURES_H

#include <stdint.h>

/* "21,873" */
const char *format_count(uint64_t count, char buffer[32]);
/* "11.9 µs" */
const char *format_time(double ns, char buffer[32]);
/* "3:41" */
const char *format_elapsed(uint64_t ns, char buffer[32]);
/* "31 MiB" */
const char *format_bytes(uint64_t bytes, char buffer[32]);

#endif
