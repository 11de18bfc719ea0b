/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to recording/: SYMS chunks, the symbols of one image each. Main's thread. */
#ifndef RECORDING_RECORDED_SYMBOLS_H
#define RECORDING_RECORDED_SYMBOLS_H

#include "xtop/symbol/symbol.h"

/* Adds the image of a SYMS payload, which is padded with bytes to 8, to SYMBOLS. */
struct xtop_error *recording_add_symbols(const char *payload, uint64_t size_bytes,
					 struct symbols *symbols);

#endif
