/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Xen's libraries without a Xen, as far as they only open and close: one handle for all. */
#ifndef TESTS_XEN_LIBRARIES_H
#define TESTS_XEN_LIBRARIES_H

#include <stdlib.h>

#include <xencall.h>
#include <xenforeignmemory.h>

#include "xtop/base/types.h"

static int handle;

xencall_handle *xencall_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger, (void)flags;
	return (xencall_handle *)&handle;
}

int xencall_close(xencall_handle *call)
{
	(void)call;
	return 0;
}

xenforeignmemory_handle *xenforeignmemory_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger, (void)flags;
	return (xenforeignmemory_handle *)&handle;
}

int xenforeignmemory_close(xenforeignmemory_handle *memory)
{
	(void)memory;
	return 0;
}

void *xencall_alloc_buffer_pages(xencall_handle *call, size_t pages)
{
	(void)call;
	return calloc(pages, GUEST_PAGE_SIZE);
}

void xencall_free_buffer_pages(xencall_handle *call, void *buffer, size_t pages)
{
	(void)call, (void)pages;
	free(buffer);
}

#endif
