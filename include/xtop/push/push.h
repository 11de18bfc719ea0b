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
	const char *host, *xen;    /* "": not known */
	const char *cache;         /* the spool is in a folder below; NULL: there is no spool */
	double hz;
};

/* One profile. It goes to another process as it is. Texts may have any bytes, and end in 0. */
struct push_profile {
	uint64_t from_ns, until_ns; /* since 1970 */
	char domain[PUSH_NAME_BYTES];
	char uuid[40];
	char os[32], kernel[96]; /* "": not known */
	/* the profile is of tasks that wait, in milliseconds; else of CPU time */
	bool waits;
	bool last;               /* no profile: nothing follows */
};

/* What has become of the profiles. */
struct push_status {
	uint64_t sent, sent_bytes;
	uint64_t refused; /* the store does not want them */
	uint64_t dropped; /* oldest first, when there was no room to keep them */
	uint64_t removed; /* old files of file:///DIR */
	uint64_t waiting, waiting_bytes; /* in memory and in the spool */
	uint64_t failures; /* attempts that will be repeated */
	/* the process's costs when the counts above changed last */
	uint64_t cpu_ns, resident_bytes;
	bool failing;      /* the last attempt failed */
	long answer;       /* the status of the last failure; 0: there was no answer */
	char message[200]; /* why; not clean; "": nothing has failed */
};

/* Usage errors. */
struct xtop_error *push_check(const struct push_settings *settings);
/*
 * Whether the sender could read this file of settings. It has passwords, so this is for a process
 * that looks at no guest.
 */
struct xtop_error *push_check_config(const char *path);
/* Starts the process. Call it first of all, with all rights. SETTINGS outlive the run. */
struct xtop_error *push_start(const struct push_settings *settings, struct push **pushp);
/* Hands over a profile of SIZE_BYTES. Without room for it, the profile is dropped and counted. */
void push_add(struct push *push, const struct push_profile *profile, const void *bytes,
	      size_t size_bytes);
void push_get_status(struct push *push, struct push_status *status);
/* False: the process was killed. Only another run can start a new one: this one has no rights. */
bool push_is_alive(const struct push *push);
/* The process gets a few seconds to send what waits. The rest stays in the spool. */
void push_finish(struct push *push);
/* Ends the process, and frees PUSH, which may be NULL. */
void push_stop(struct push *push);

#endif
