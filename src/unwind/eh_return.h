/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that go on in another frame: _Unwind_RaiseException and its like of libgcc end by
 * __builtin_eh_return (gcc). Such a function saves all registers of its caller, also two that pass
 * values to the code that catches (rax and rdx on x86-64), which no other function saves. When a
 * handler was found, it writes the registers of the function that catches over those that it has
 * saved, its return address last, and then loads them:
 *
 *   main ─► work ─► throw ─► raise      saved by raise:              overwritten:
 *                                         rbp of throw                 rbp of main
 *                                         return address in throw      return address in main
 *
 * Its frame keeps where the words came from: addresses further out, where the words still are. So a
 * word that is equal to the one at such an address was overwritten. If that is the return address,
 * the chain goes on in the function that catches, and its frame begins behind that address. Until
 * then the caller is there, without the registers that were overwritten.
 */
#ifndef XTOP_UNWIND_EH_RETURN_H
#define XTOP_UNWIND_EH_RETURN_H

#include "unwind/cursor.h"

/* The most code that such a function has from the call that overwrites its words to its end. */
#define EH_RETURN_CODE_BYTES 256

/*
 * Whether code at ADDRESS can only lead to the end of such a function on x86-64: the stack pointer
 * is loaded there, and no jump leads elsewhere. CODE has N bytes.
 */
bool eh_return_is_near(const uint8_t *code, size_t n, uint64_t address);
/* Whether the code at ADDRESS still calls a function: such a call overwrites the words. */
bool eh_return_has_call(const uint8_t *code, size_t n, uint64_t address);
/*
 * After the step from such a function, near its end; its frame begins at FRAME. Returns true if the
 * return address is overwritten: the cursor is in the function that catches then. Otherwise it
 * forgets the registers that are overwritten.
 */
bool eh_return_find_caller(struct cursor *cursor, uint64_t frame);

#endif
