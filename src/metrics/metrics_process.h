/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to src/metrics/: the target of metrics, and the body of the process that serves them. */
#ifndef METRICS_METRICS_PROCESS_H
#define METRICS_METRICS_PROCESS_H

#include <netdb.h>

#include "xtop/metrics/metrics.h"

struct metrics_target {
	bool is_file;
	char folder[4096], name[256]; /* the file's place, if is_file */
	char address[64], port[8];    /* the server's place, otherwise */
};

/* The text that is shown. */
struct metrics_text {
	char *bytes;
	size_t size_bytes;
	uint64_t came_ns; /* clock_now_ns() when the text came; 0: there is none yet */
};

struct metrics_process {
	struct metrics_target target;
	int listener; /* the server's socket */
	struct metrics_server *server; /* NULL: the target is a file */
	struct metrics_text text;
	bool has_news; /* the text has come since the last turn */
	struct metrics_status status;
};

/* --- metrics_target.c */
struct xtop_error *metrics_target_parse(const char *text, struct metrics_target *target);

/*
 * --- metrics_process.c: functions of struct sender_settings; CONTEXT is a struct metrics_process
 */
struct xtop_error *metrics_process_open(void *context);
void metrics_process_run(void *context, int socket, int folder);

/* --- server.c */
struct xtop_error *metrics_server_listen(const struct metrics_target *target, int *fdp,
					 unsigned *portp);
struct metrics_server;
/* Error: there is no library. PROCESS outlives the server, to which its listener then belongs. */
struct xtop_error *metrics_server_create(struct metrics_process *process,
					 struct metrics_server **serverp);
void metrics_server_destroy(struct metrics_server *server); /* SERVER may be NULL */
/* Answers requests for WAIT_MS at most. */
void metrics_server_turn(struct metrics_server *server, int wait_ms);

/* --- text_file.c */
/* Replaces the file in FOLDER: a reader sees the old text or the new one. */
void metrics_file_write(struct metrics_process *process, int folder);
void metrics_file_remove(const struct metrics_process *process, int folder);

#endif
