/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps pages of one live guest, by a handle that can do nothing else. One thread for each handle.
 */
#ifndef XTOP_FOREIGN_H
#define XTOP_FOREIGN_H

#include "xtop/base/error.h"
#include "xtop/xen/guest.h"

#define FOREIGN_BATCH_PAGES 512 /* most pages that are copied at once */

/* Opens a descriptor that can only map pages of DOMID for reading. Needs root's rights. */
struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp);

struct foreign;

/* FD comes from foreign_open_fd(). This function owns FD, also when it fails. */
struct xtop_error *foreign_create(uint32_t domid, int fd, struct foreign **foreignp);
void foreign_destroy(struct foreign *foreign);
/*
 * Copies the N pages FRAMES, at most FOREIGN_BATCH_PAGES, to PAGES. ok[i] is false if page i could
 * not be read. Returns false if some page went away during the copy; then all of PAGES may be
 * wrong.
 */
bool foreign_copy(struct foreign *foreign, const frame_t *frames, size_t n, char *pages, bool *ok);
/* Maps single pages. FOREIGN outlives the mapper. */
struct mapper foreign_mapper(struct foreign *foreign);

#endif
