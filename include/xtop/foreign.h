/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of one live guest's pages, by a handle that can do nothing else. One thread for each. */
#ifndef XTOP_FOREIGN_H
#define XTOP_FOREIGN_H

#include "xtop/error.h"
#include "xtop/guest.h"

#define FOREIGN_BATCH_PAGES 512 /* copied at once, at most */

/* A descriptor that maps pages of DOMID, read-only, and can do nothing else. Needs rights. */
struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp);

struct foreign;

/* FD is foreign_open_fd()'s; taken over, also on failure. */
struct xtop_error *foreign_create(uint32_t domid, int fd, struct foreign **foreignp);
void foreign_destroy(struct foreign *foreign);
/*
 * Copies the N pages FRAMES, at most FOREIGN_BATCH_PAGES, to PAGES; ok[i] false: that page could not be
 * had. False: some page went away during the copy, and nothing in PAGES is sure.
 */
bool foreign_copy(struct foreign *foreign, const frame_t *frames, size_t n, char *pages, bool *ok);
/* Maps single pages; FOREIGN outlives it. */
struct mapper foreign_mapper(struct foreign *foreign);

#endif
