/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that continue in the frame of another function, further out: libgcc's
 * _Unwind_RaiseException and similar functions end with gcc's __builtin_eh_return. Such a function
 * saves all preserved registers of its caller. On x86-64 it also saves rax and rdx, which pass
 * values to the function that catches; no other function saves these two. When the function has
 * found a handler, it overwrites the saved words with the registers of the function that catches,
 * the return address last. Then it loads all of them:
 *
 *   main ─► work ─► throw ─► raise      saved by raise:              overwritten:
 *                                         rbp of throw                 rbp of main
 *                                         return address in throw      return address in main
 *
 * The new words come from frames further out, where they still are, and the function's own frame
 * still has their addresses. So a saved word that equals the word at such an address was
 * overwritten. Once the return address was overwritten, the chain goes on in the function that
 * catches, whose frame begins just above that address. Until then the chain goes on in the caller,
 * without the registers that were overwritten.
 */
#ifndef XTOP_UNWIND_EH_RETURN_H
#define XTOP_UNWIND_EH_RETURN_H

#include "unwind/cursor.h"

/* Limit for the code from the call that overwrites the saved words to the function's end. */
#define EH_RETURN_CODE_BYTES 256

/*
 * Whether code at ADDRESS can only lead to the end of such a function on x86-64: the stack pointer
 * is loaded there, and no jump leads elsewhere. CODE has N bytes.
 */
bool eh_return_is_near(const uint8_t *code, size_t n, uint64_t address);
/*
 * Whether the code at ADDRESS calls a function before it loads the stack pointer: such a call
 * overwrites the saved words.
 */
bool eh_return_has_call(const uint8_t *code, size_t n, uint64_t address);
/*
 * Corrects the cursor after a step from such a function, near its end. The function's frame begins
 * at FRAME. Returns true if the return address was overwritten: the cursor is then in the function
 * that catches. Otherwise forgets the registers that were overwritten.
 */
bool eh_return_find_caller(struct cursor *cursor, uint64_t frame);

#endif
