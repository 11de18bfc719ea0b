/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may be broken off before it is finished. A hostile guest can have tables that take
 * seconds to read and to sort, and the user who quits must not wait for them. So the readers of
 * guest memory, and each loop that may run for more than some 50 ms, call work_is_over() now and
 * then. A loop that is broken off leaves an incomplete result: xtop shows the result, but keeps it
 * in no cache.
 *
 * A guest's pipeline has one struct work. The guest's memory, images and the sources of tables
 * point to it. The resolver's thread sets its end, asks, and notes what it reads. Another thread
 * may ask what is read, for the user who waits.
 */
#ifndef XTOP_WORK_H
#define XTOP_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORK_TEXT_BYTES 128

struct work {
	bool (*ends)(void *context); /* whether the work must end now; NULL: never */
	void *context;
	bool over; /* ends() has returned true */
	pthread_mutex_t lock; /* guards the members below; all zero is PTHREAD_MUTEX_INITIALIZER */
	char what[64];        /* what is read, clean; "": nothing in particular */
	const char *part;     /* the part that is read; NULL: not known */
	unsigned percent;     /* how much of the part was read */
	uint64_t since_ns;    /* start of the reading of WHAT; CLOCK_MONOTONIC */
};

/* Sets the function that ends WORK. WORK may be NULL; then nothing is set. */
void work_set_end(struct work *work, bool (*ends)(void *context), void *context);
/* Whether WORK must end now. Once true, the answer stays true. False if WORK is NULL. */
bool work_is_over(struct work *work);

/* Notes that WHAT is read from now on, such as a file, until work_end(). WORK may be NULL. */
void work_begin(struct work *work, const char *what);
void work_end(struct work *work);
/*
 * Notes that DONE of ALL steps of PART are done, and asks work_is_over(). PART lives for ever, and
 * names what is read: "symbols".
 */
bool work_note(struct work *work, const char *part, size_t done, size_t all);
#define WORK_STEPS 4096 /* steps of a loop between two calls of work_note() */
/* work_note() for a loop, which asks before each step. */
static inline bool work_step(struct work *work, const char *part, size_t done, size_t all)
{
	return done % WORK_STEPS == 0 && work_note(work, part, done, all);
}
/*
 * Any thread: writes what is read to TEXT: "reading libnode.so.115: symbols 34 %". "": nothing has
 * been read for so long that somebody waits for it.
 */
void work_describe(struct work *work, uint64_t now_ns, char text[WORK_TEXT_BYTES]);

#endif
