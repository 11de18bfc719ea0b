/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: libraries that the C library itself loads when it needs them. */
#ifndef SUPERVISE_RESOLVER_LIBRARIES_H
#define SUPERVISE_RESOLVER_LIBRARIES_H

/*
 * Loads the modules with which glibc looks for host names (nsswitch.conf(5)), and libgcc_s, with
 * which it ends threads. Later, the process's sandbox lets no code be mapped. All libraries
 * stay loaded.
 */
void resolver_libraries_load(void);

#endif
