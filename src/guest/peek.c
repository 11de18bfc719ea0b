/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a few bytes of a running guest from outside: main's process at start, to tell whether a
 * symbol file belongs to what runs there. The guest is not stopped, so what changes meanwhile may
 * be read torn; what is looked at does not change.
 */
#include "config.h"

#include <string.h>

#include "guest/domctl.h"

#define PEEK_MAX_PAGES 256

struct peek {
	struct frame_cache *cache;
};

static const volatile uint64_t *peek_table(void *context, frame_t frame)
{
	struct peek *peek = context;

	return frame_cache_get(peek->cache, frame, 0);
}

static size_t peek_copy(struct peek *peek, const struct registers *regs, uint64_t address,
			char *buffer, size_t size)
{
	struct walk_reader reader = { .table = peek_table, .context = peek };
	size_t done = 0;

	while (done < size) {
		size_t offset = (address + done) & GUEST_PAGE_MASK;
		size_t piece = GUEST_PAGE_SIZE - offset < size - done ? GUEST_PAGE_SIZE - offset
								      : size - done;
		const char *page = NULL;
		frame_t frame;

		if (walk_x86(&reader, regs, GVA(address + done), &frame) == WALK_OK)
			page = frame_cache_get(peek->cache, frame, 0);
		if (!page)
			break;
		memcpy(buffer + done, page + offset, piece);
		done += piece;
	}
	return done;
}

static size_t peek_read(struct guest *guest, uint64_t address, void *buffer, size_t size_bytes)
{
	struct peek peek = { 0 };
	struct registers regs;
	size_t done = 0;

	if (!domctl_registers(guest, 0, &regs))
		return 0;
	error_destroy(frame_cache_create(guest, PEEK_MAX_PAGES, &peek.cache));
	if (!peek.cache)
		return 0;
	fault_install();
	fault_arm();
	done = peek_copy(&peek, &regs, address, buffer, size_bytes);
	if (fault_disarm())
		done = 0;
	frame_cache_destroy(peek.cache);
	return done;
}

size_t guest_peek(const struct guest_info *info, uint64_t address, void *buffer, size_t size_bytes)
{
	struct stop_area *area = NULL;
	struct xtop_error *error;
	struct guest guest;
	size_t done = 0;

	error = stop_area_create(info, &area);
	if (!error)
		error = domctl_open(info, area, &guest);
	if (!error) {
		done = peek_read(&guest, address, buffer, size_bytes);
		guest.ops->close(guest.context);
	}
	error_destroy(error);
	stop_area_destroy(area);
	return done;
}
