/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: files of other tools that xtop does not read. They are refused by name, and
 * the message says which program turns them into a file that xtop reads.
 */
#ifndef IMPORT_FOREIGN_FORMATS_H
#define IMPORT_FOREIGN_FORMATS_H

#include "import/readers.h"

/* What the file is, as the end of a sentence that begins with "is"; NULL: nothing known. */
const char *foreign_find(const struct import_head *head);

#endif
