/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: profiles that wait for a store, oldest first. They wait in memory; what does
 * not fit there goes to the spool, a folder of files (folder.h), the oldest first. So the spool has
 * what is older, and memory what is newer. When the spool has no room either, the oldest are
 * dropped and counted. The sender's process.
 */
#ifndef PUSH_QUEUE_H
#define PUSH_QUEUE_H

#include "push/sender_process.h"

struct queue;

/*
 * FOLDER: of the spool, which the queue then owns; -1: none. What an earlier run left there is sent
 * first. *WARNINGP: why there is no spool; NULL: there is, or none was wanted. The caller frees it.
 */
struct xtop_error *queue_create(int folder, uint64_t memory_bytes, uint64_t spool_bytes,
				struct queue **queuep, struct xtop_error **warningp);
void queue_destroy(struct queue *queue); /* forgets entries in memory; QUEUE may be NULL */
void queue_add(struct queue *queue, struct entry *entry); /* the queue owns ENTRY then */
/* The oldest entry, valid until queue_pop() or queue_leave(); NULL if the queue is empty. */
const struct entry *queue_peek(struct queue *queue);
void queue_pop(struct queue *queue);   /* removes the entry of queue_peek() */
/* keeps the entry of queue_peek() for later; it may be dropped */
void queue_leave(struct queue *queue);
/* Writes all entries to the spool for the next run. Entries without room there are dropped. */
void queue_save(struct queue *queue);
size_t queue_count(const struct queue *queue);
uint64_t queue_bytes(const struct queue *queue);
uint64_t queue_dropped(const struct queue *queue);

#endif
