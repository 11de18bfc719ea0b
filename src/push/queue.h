/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: profiles that wait for a store, oldest first. They wait in memory. When memory
 * is full, the oldest go to the spool, a folder of files (folder.h). So the spool has the older
 * profiles, and memory the newer ones. When the spool is full as well, the oldest are dropped and
 * counted. The sender's process.
 */
#ifndef PUSH_QUEUE_H
#define PUSH_QUEUE_H

#include "push/entry.h"

struct queue;

/*
 * FOLDER is the spool's folder, which belongs to the queue from now on; -1: none. Profiles that an
 * earlier run left there are sent first. *WARNINGP says why there is no spool; the caller frees it.
 * *WARNINGP is NULL if there is a spool, or if no spool was wanted.
 */
struct xtop_error *queue_create(int folder, uint64_t memory_bytes, uint64_t spool_bytes,
				struct queue **queuep, struct xtop_error **warningp);
void queue_destroy(struct queue *queue); /* NULL allowed; forgets the profiles in memory */
void queue_add(struct queue *queue, struct entry *entry); /* ENTRY then belongs to QUEUE */
/*
 * Returns the oldest entry, which still belongs to QUEUE, and is valid until queue_pop() or
 * queue_leave(). NULL: there is no entry.
 */
const struct entry *queue_peek(struct queue *queue);
void queue_pop(struct queue *queue);   /* removes the entry of queue_peek() */
void queue_leave(struct queue *queue); /* keeps that entry, which may be dropped like the others */
/* Writes all entries to the spool, for the next run. Without room there, entries are dropped. */
void queue_save(struct queue *queue);
size_t queue_count(const struct queue *queue);
uint64_t queue_bytes(const struct queue *queue);
uint64_t queue_dropped(const struct queue *queue);

#endif
