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
	char tenant[CONFIG_VALUE_BYTES]; /* value of the header X-Scope-OrgID; "": no such header */
	char user[CONFIG_VALUE_BYTES];   /* NAME:PASSWORD, basic authentication */
	char bearer[CONFIG_VALUE_BYTES]; /* a token */
	char *ca;                        /* PEM certificates to check servers; NULL: the system's */
	size_t ca_bytes;
	unsigned timeout_s;              /* longest time for one attempt */
	uint64_t memory_bytes;           /* most bytes of profiles that wait in memory */
	uint64_t spool_bytes;            /* most bytes of profiles that wait in files; 0: none */
	uint64_t keep_bytes;             /* most bytes of all files in file:///DIR */
};

/* Sets the values that hold without a file. */
void config_init(struct config *config);
/* Reads PATH. CONFIG is initialised. Errors name the line. */
struct xtop_error *config_read(const char *path, struct config *config);
void config_deinit(struct config *config);

#endif
