/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to base/: the folder of a file that is to be written, and errors that name the file. */
#ifndef BASE_OUTPUT_FOLDER_H
#define BASE_OUTPUT_FOLDER_H

#include "xtop/base/error.h"

struct xtop_error *output_cannot_write(int errno_value, const char *path);
/* As output_folder_open(). Error: the folder cannot be opened, or PATH ends with it. */
struct xtop_error *output_open_folder(const char *path, int *folderp, const char **namep);
/* Creates PATH, which is NAME in FOLDER, as output_create_fd() does. */
struct xtop_error *output_create_at(int folder, const char *name, const char *path, int *fdp);

#endif
