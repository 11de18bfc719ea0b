/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page tables for the tests of Arm's walks, in made-up physical memory. A page comes into being with
 * its first word; the walk finds no others.
 */
#ifndef MADE_TABLES_H
#define MADE_TABLES_H

#include <string.h>

#include "xtop/memory/walk.h"

#define MAX_PAGES 16

static struct {
	uint64_t frame;
	uint64_t words[512];
} pages[MAX_PAGES];
static size_t n_pages;
static struct registers regs;

static uint64_t *word_at(uint64_t physical)
{
	size_t i = 0;

	while (i < n_pages && pages[i].frame != physical >> 12)
		i++;
	if (i == n_pages) {
		memset(&pages[i], 0, sizeof(pages[i]));
		pages[i].frame = physical >> 12;
		n_pages++;
	}
	return &pages[i].words[physical % 4096 / 8];
}

static const volatile uint64_t *table_of(void *context, frame_t frame)
{
	(void)context;
	for (size_t i = 0; i < n_pages; i++)
		if (pages[i].frame == frame.value)
			return pages[i].words;
	return NULL;
}

static enum walk_result walk(uint64_t address, struct walk_span *span)
{
	const struct walk_reader reader = { .table = table_of };

	return walk_find_span(&reader, walk_root(&regs), GVA(address), span);
}

#endif
