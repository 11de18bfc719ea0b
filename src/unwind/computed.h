/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds code that has neither tables nor frame pointers, by reading its instructions. The
 * instructions of a function are read when a frame first lies in the function. The result is rows
 * like those of call-frame information (cfi_table.h). The rows are stored, so a later step costs as
 * much as a CFI step.
 *
 *   address ─► bounds of the function ─► computed_flow.h ─► rows ─► computed_step()
 *              symbols, FDEs, calls      instructions       rules
 *
 * A step may read code, so a step is not a pure function of its input. We assume that the code of
 * an image does not change. Missing code is read again in a later turn (code.h). The resolver's
 * thread.
 */
#ifndef XTOP_UNWIND_COMPUTED_H
#define XTOP_UNWIND_COMPUTED_H

#include "unwind/cfi_table.h"
#include "unwind/cursor.h"
#include "xtop/base/error.h"
#include "xtop/unwind/code.h"

struct computed;

/*
 * For code in [START, END) of an image. *SOURCE is copied, and closed by computed_destroy(). Error:
 * out of memory; then the caller still owns the source.
 */
struct xtop_error *computed_create(const struct code_source *source, uint64_t start, uint64_t end,
				   struct computed **computedp);
void computed_destroy(struct computed *computed); /* NULL allowed */
size_t computed_memory_bytes(const struct computed *computed);

/* BIAS: address in the guest - address in the image. */
enum unwind_step computed_step(struct computed *computed, uint64_t bias, struct cursor *cursor);
/*
 * Whether a call instruction ends at ADDRESS, in the guest, or a signal's handler returns there.
 * Also true while the code before ADDRESS is missing and a later turn may bring it, or if memory is
 * out.
 */
bool computed_is_return(struct computed *computed, uint64_t bias, uint64_t address);
/* Copies code at ADDRESS, in the guest. Returns how many bytes could be read, from the front. */
size_t computed_read_code(const struct computed *computed, uint64_t bias, uint64_t address,
			  void *buffer, size_t size_bytes);
/* The bounds of the function at ADDRESS, in the image. False: the function was not read yet. */
bool computed_find_function(const struct computed *computed, uint64_t address, uint64_t *start,
			    uint64_t *end);
/*
 * As computed_find_function(), but reads the function if no step has been in it. If nothing else
 * tells its bounds, targets of calls do; to find them, all code is read, a part in each turn.
 */
bool computed_guess_function(struct computed *computed, uint64_t address, uint64_t *start,
			     uint64_t *end);

#endif
