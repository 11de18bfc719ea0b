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
	char *ca;                        /* certificates in PEM to check servers by; or NULL */
	size_t ca_bytes;                 /* bytes of these; without them the system's are used */
	unsigned timeout_s;              /* limit for one attempt */
	uint64_t memory_bytes;           /* limit for profiles that wait in memory */
	/* limit for profiles that wait in files; 0: none wait there */
	uint64_t spool_bytes;
	uint64_t keep_bytes;             /* limit for all files of file:///DIR */
};

/* Sets the values that hold without a file. */
void config_init(struct config *config);
/* Reads the file into CONFIG, which has been initialised. Errors name the line. */
struct xtop_error *config_read(const char *path, struct config *config);
void config_deinit(struct config *config);

#endif
