/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: the file of --push-config, lines of KEY=VALUE (doc/FORMATS). Only the sender's
 * process reads it: main, which looks into guests, never has the passwords.
 */
#ifndef PUSH_CONFIG_FILE_H
#define PUSH_CONFIG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

#define CONFIG_VALUE_BYTES 4096

struct config {
	char tenant[CONFIG_VALUE_BYTES]; /* header X-Scope-OrgID; "": none */
	char user[CONFIG_VALUE_BYTES];   /* NAME:PASSWORD, basic authentication */
	char bearer[CONFIG_VALUE_BYTES]; /* a token */
	char *ca;                        /* certificates in PEM that servers are checked by; */
	size_t ca_bytes;                 /* NULL: those of the system */
	unsigned timeout_s;              /* limit for one attempt */
	uint64_t memory_bytes;           /* limit for profiles that wait in memory */
	/* limit for profiles that wait in files; 0: none wait there */
	uint64_t spool_bytes;
	uint64_t keep_bytes;             /* limit for all files of file:///DIR */
};

/* The values when there is no file. */
void config_init(struct config *config);
/* CONFIG has been initialised. Errors name the line. */
struct xtop_error *config_read(const char *path, struct config *config);
void config_deinit(struct config *config);

#endif
