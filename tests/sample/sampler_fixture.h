/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the sampler share: a guest in memory, and the samples that were taken of it.
 * The sampler runs on the test's own thread. Each look at the guest, once a tick, calls the scene;
 * the scene changes the guest, and the fixture ends the run after the last tick. Then the fixture
 * reads the ring. The clock is made up: a reading takes READING_NS, and a stop takes what a test
 * says.
 */
#ifndef XTOP_TESTS_SAMPLER_FIXTURE_H
#define XTOP_TESTS_SAMPLER_FIXTURE_H

#include "tests/support/made_clock.h"
#include "tests/support/memory_guest.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/sample/sample.h"
#include "xtop/sample/sampler.h"

#define RATE_HZ    10000
#define READING_NS 1000 /* time that one reading of the clock takes */
/* vCPU i has two pages at STACK + i * STACK_STEP; rsp is in the middle of the first. */
#define STACK       0xffffc90000100000ULL
#define STACK_STEP  0x10000ULL
#define STACK_BYTES 0x2000
#define TAKEN_MAX   512

/* What samples of a Linux guest need besides its stacks. */
#define PER_CPU 0xffff888000010000ULL
#define TASK    0xffff888000020000ULL
#define USER    0x00007ffc00000000ULL

/* A sample that was read from the ring. */
struct taken {
	struct sample head;
	struct {
		enum vcpu_state state;
		enum sample_cut stack_cut, user_cut;
		uint64_t task, code_frame;
		unsigned n_stacks;
		size_t stack_bytes;
		uint64_t address, first_word, cr3;
		uint8_t user;
	} vcpus[4]; /* indexed by the vCPU's number */
};

extern struct sampler_fixture {
	struct memory_guest *memory;
	struct control *control;
	struct ring *ring;
	struct sampler_counts counts; /* counts of the whole run */
	struct taken taken[TAKEN_MAX];
	unsigned n_taken, n_ticks;
	void (*scene)(unsigned look); /* called at each look, from 1 on; NULL: nothing changes */
} fixture;

/* The frame of PAGE, 0 or 1, of the stack of VCPU. */
uint64_t stack_frame(unsigned vcpu, unsigned page);
/* Writes VALUE to every word of the page in FRAME. */
void fill(uint64_t frame, uint64_t value);
/* Begins with a guest that has N_VCPUS, which all run. */
void begin(unsigned n_vcpus);
void begin_at(unsigned n_vcpus, double rate_hz);
/* Samples for so many TICKS, then reads counters and ring. */
void run(unsigned ticks);
/* Checks every record in the ring as a reader does, and keeps it in `taken`. */
void read_ring(void);
void end(void);
/* A scene: the description of a Linux guest's stacks comes at tick 3. */
void give_stacks(unsigned tick);

#endif
