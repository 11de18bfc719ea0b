/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of waits; see wait_rows.h. */
#include "config.h"

#include "profile/wait_rows.h"

#include <stdlib.h>

#include "xtop/base/hash.h"

struct wait_row {
	struct snapshot_wait wait; /* wait.now counts the tasks of the last whole pass */
	uint64_t seen_ns;          /* time of the last waiter; 0: none yet */
	uint32_t now;              /* number of tasks in the current pass */
	uint8_t states;            /* the tasks' states in the current pass */
};

struct wait_rows {
	struct hash_table index;
	struct wait_row *list; /* an array of WAIT_ROWS_MAX */
	uint32_t n;
	uint64_t refused; /* number of waits for which there was no room */
};

struct wait_rows *wait_rows_create(void)
{
	struct wait_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->list = calloc(WAIT_ROWS_MAX, sizeof(*rows->list));
	if (rows->list)
		return rows;
	wait_rows_destroy(rows);
	return NULL;
}

void wait_rows_destroy(struct wait_rows *rows)
{
	if (!rows)
		return;
	hash_table_deinit(&rows->index);
	free(rows->list);
	free(rows);
}

void wait_rows_reset(struct wait_rows *rows)
{
	hash_table_deinit(&rows->index);
	rows->n = 0;
	rows->refused = 0;
}

/* --- rows by their keys ----------------------------------------------------------------------- */

static uint64_t wait_rows_hash(const struct snapshot_wait *wait)
{
	return hash_word(hash_word(hash_word(0, wait->process), wait->thread),
			 (uint64_t)wait->kind << 32 | wait->site);
}

struct wait_row_key {
	const struct wait_rows *rows;
	const struct snapshot_wait *wait;
};

static bool wait_rows_is_row(const void *context, uint32_t number)
{
	const struct wait_row_key *key = context;
	const struct snapshot_wait *wait = &key->rows->list[number].wait;

	return wait->process == key->wait->process && wait->thread == key->wait->thread &&
	       wait->site == key->wait->site && wait->kind == key->wait->kind;
}

uint32_t wait_rows_find_or_add(struct wait_rows *rows, const struct snapshot_wait *key)
{
	const struct wait_row_key search = { rows, key };
	uint64_t hash = wait_rows_hash(key);
	uint32_t row = hash_table_find(&rows->index, hash, wait_rows_is_row, &search);

	if (row != HASH_NONE)
		return row;
	if (rows->n == WAIT_ROWS_MAX || !hash_table_add(&rows->index, hash, rows->n)) {
		rows->refused++;
		return WAIT_ROWS_NONE;
	}
	rows->list[rows->n] = (struct wait_row){ .wait = *key };
	return rows->n++;
}

const struct snapshot_wait *wait_rows_get(const struct wait_rows *rows, uint32_t number)
{
	return &rows->list[number].wait;
}

/* If two rows have one key after this, both stay, and only one of them goes on counting. */
void wait_rows_rename(struct wait_rows *rows, struct names *names)
{
	hash_table_deinit(&rows->index);
	for (uint32_t i = 0; i < rows->n; i++) {
		struct snapshot_wait *wait = &rows->list[i].wait;

		if (wait->site != FRAME_NONE)
			wait->site = names_find_better(names, wait->site);
		hash_table_add(&rows->index, wait_rows_hash(wait), i);
	}
}

/* --- a pass ----------------------------------------------------------------------------------- */

void wait_rows_update(struct wait_rows *rows, uint32_t number, enum os_wait_state state,
		      uint64_t waited_ns, uint64_t now_ns)
{
	struct wait_row *row = &rows->list[number];

	row->now++;
	row->states |= (uint8_t)(1U << state);
	row->seen_ns = now_ns;
	wait_rows_end(rows, number, waited_ns);
}

void wait_rows_end(struct wait_rows *rows, uint32_t number, uint64_t waited_ns)
{
	struct snapshot_wait *wait = &rows->list[number].wait;

	if (waited_ns > wait->longest_ns)
		wait->longest_ns = waited_ns;
}

/* When the table is nearly full, forgets rows in which nobody has waited lately. */
static bool wait_rows_drop_old(struct wait_rows *rows, uint64_t now_ns)
{
	uint32_t before = rows->n, n = 0;

	if (rows->n < WAIT_ROWS_MAX / 4 * 3)
		return false;
	hash_table_deinit(&rows->index);
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct wait_row *row = &rows->list[i];

		if (!row->wait.now && now_ns - row->seen_ns > WAIT_ROWS_FORGET_NS)
			continue;
		rows->list[n] = *row;
		hash_table_add(&rows->index, wait_rows_hash(&row->wait), n);
		n++;
	}
	rows->n = n;
	return n != before;
}

bool wait_rows_end_pass(struct wait_rows *rows, uint64_t now_ns)
{
	for (uint32_t i = 0; i < rows->n; i++) {
		struct wait_row *row = &rows->list[i];

		row->wait.now = row->now;
		row->wait.states = row->states ? row->states : row->wait.states;
		row->now = row->states = 0;
	}
	return wait_rows_drop_old(rows, now_ns);
}

/* --- snapshots -------------------------------------------------------------------------------- */

void wait_rows_copy(const struct wait_rows *rows, struct snapshot_waits *to)
{
	to->rows_refused = rows->refused;
	to->rows = rows->n ? calloc(rows->n, sizeof(*to->rows)) : NULL;
	for (uint32_t i = 0; to->rows && i < rows->n; i++)
		to->rows[to->n_rows++] = rows->list[i].wait;
}
