/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reading the frames of a program has read of its process and of its runtime's file, kept as a
 * text, so that the same is read again on a machine without the program:
 *
 *   program NAME     the program's version
 *   file NAME        the runtime's file
 *   bias, thread     numbers of struct live_process
 *   told LINE        what the program has told of its stack
 *   stack            the stack pointer, for programs whose functions are on the thread's own stack
 *   frame            a frame of that: address, frame pointer, flags; the vCPU's rdi
 *   f, m, s          an offset in the file or an address of the process or of the copied stack, and
 *                    bytes that were read there. Other bytes of the page are 0; without such a line
 *                    there is no page
 */
#ifndef TESTS_TAPE_H
#define TESTS_TAPE_H

#include "tests/support/live_process.h"

struct tape;

/* Keeps what is read of PROCESS from now on. Finds the process's runtime again. */
struct tape *tape_start(struct live_process *process);
/* Writes the tape to FOLDER, and ends the tape. PROCESS has no memory any more afterwards. */
void tape_stop(struct tape *tape, struct live_process *process, const char *folder,
	       const char *program, const char *told);

/* Keeps the stack that VCPU has copied, up to END, and its N FRAMES. */
void tape_keep_stack(struct tape *tape, const struct sample_vcpu *vcpu, uint64_t end,
		     const struct runtime_native *frames, size_t n);

/* Makes a process of the file PATH. False: it is no tape. */
bool tape_open(const char *path, struct live_process *process, struct tape **tapep);
const char *tape_program(const struct tape *tape);
const char *tape_told(const struct tape *tape);
/* The frames of the stack; each has the vCPU. Returns how many there are; 0: no stack was kept. */
size_t tape_frames(struct tape *tape, const struct runtime_native **framesp);
void tape_close(struct tape *tape, struct live_process *process);

#endif
