/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for a store (xtop --push): main hands over one finished profile for each guest and
 * interval, as pprof, and another process delivers it (sender.h).
 *
 *   file:///DIR           a file for each; the oldest are removed beyond a bound
 *   http://, https://     Pyroscope's ingest API
 *   otlp+http://, otlp+https://      a collector of OpenTelemetry, OTLP profiles
 *
 * Main's thread. Nothing here waits for a server.
 */
#ifndef XTOP_PUSH_H
#define XTOP_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

#define PUSH_NAME_BYTES        256
#define PUSH_MAX_LABELS        32
#define PUSH_MAX_PROFILE_BYTES (16U << 20) /* limit for a compressed profile */

/* The sender of profiles, as main sees it. */
struct push;

/* Strings outlive the run. */
struct push_settings {
	const char *url;
	const char *config;        /* a file: credentials, limits (doc/FORMATS); NULL: none */
	const char *const *labels; /* "KEY=VALUE" */
	size_t n_labels;
	const char *host, *xen;    /* name and Xen's version of dom0; "": unknown */
	const char *cache;         /* parent of the spool's folder; NULL: there is no spool */
	double hz;
};

/* One profile. It is sent to another process unchanged. Texts may have any bytes, and end in 0. */
struct push_profile {
	uint64_t from_ns, until_ns; /* the interval, in ns since 1970 */
	char domain[PUSH_NAME_BYTES];
	char uuid[40];
	char os[32], kernel[96]; /* "": unknown */
	bool waits;              /* the values are waits in milliseconds; false: CPU time */
	bool last;               /* this packet has no profile, and none follows */
};

/* What has become of the profiles. */
struct push_status {
	uint64_t sent, sent_bytes;
	uint64_t refused; /* profiles that the store does not want */
	uint64_t dropped; /* profiles without room to wait; the oldest are dropped first */
	uint64_t removed; /* old files of file:///DIR that were removed */
	uint64_t waiting, waiting_bytes; /* profiles in memory and in the spool */
	uint64_t failures; /* failed attempts that will be repeated */
	uint64_t cpu_ns, resident_bytes; /* the process's use when the counts changed last */
	bool exposed;      /* a password or token goes to the store without encryption */
	bool failing;      /* the last attempt failed */
	long answer;       /* HTTP status of the last failure; 0: there was no answer */
	char message[200]; /* why the last attempt failed; not clean; "": none has failed */
};

/* Checks the options. Errors are usage errors. */
struct xtop_error *push_check(const struct push_settings *settings);
/*
 * Checks whether the sender could read this file of settings. The file has passwords, so only a
 * process that looks at no guest may call this function.
 */
struct xtop_error *push_check_config(const char *path);
/* Starts the process. Call it first of all, with all rights. SETTINGS outlive the run. */
struct xtop_error *push_start(const struct push_settings *settings, struct push **pushp);
/* Hands over a profile of SIZE_BYTES. Without room for it, the profile is dropped and counted. */
void push_add(struct push *push, const struct push_profile *profile, const void *bytes,
	      size_t size_bytes);
void push_get_status(struct push *push, struct push_status *status);
/* False: the process was killed. This run cannot start it again, because it has no rights now. */
bool push_is_alive(const struct push *push);
/* Gives the process a few seconds to send waiting profiles. The others stay in the spool. */
void push_finish(struct push *push);
/* Ends the process, and frees PUSH, which may be NULL. */
void push_stop(struct push *push);

#endif
