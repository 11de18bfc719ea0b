// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The /init of a guest with a 32-bit kernel (tests/lab/exits-linux32-long.test), which exits to Xen at known
 * rates from known functions. A round takes 10 ms by the guest's clock:
 *
 *   _start -> main -> turn -+- three       3 CPUID
 *                           +- two         2 CPUID
 *                           +- read_port   one byte of a port that nobody has
 *                           +- nap         1 ms of each twentieth round: the kernel halts
 *                           `- spin        until the round is over
 */
#include "program.h"

#define CALL_IOPL  110
#define CPUID_LEAF 0x80000002 /* the processor's name */
#define PORT       0x3f8
#define ROUND_US   10000
#define NAP_US     1000
#define NAP_EVERY  20

static inline __attribute__((always_inline)) void ask_cpuid(void)
{
	uint32_t a = CPUID_LEAF, b, c = 0, d;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
}

WORK void three(void)
{
	ask_cpuid();
	ask_cpuid();
	ask_cpuid();
}

WORK void two(void)
{
	ask_cpuid();
	ask_cpuid();
}

WORK void read_port(void)
{
	uint8_t byte;

	asm volatile("inb %w1, %0" : "=a"(byte) : "d"(PORT));
}

WORK void nap(void)
{
	static const int32_t time[2] = { 0, NAP_US * 1000 };

	call3(CALL_NANOSLEEP, (int)time, 0, 0);
	asm volatile("");
}

WORK void turn(uint32_t number, uint32_t end_us)
{
	three();
	two();
	read_port();
	if (number % NAP_EVERY == 0)
		nap();
	while ((int32_t)(end_us - now_us(CLOCK_MONOTONIC)) > 0)
		spin(UNIT / 20);
}

int main(void)
{
	uint32_t end_us = now_us(CLOCK_MONOTONIC);

	if (call3(CALL_IOPL, 3, 0, 0))
		put_text("exits32: iopl failed\n");
	put_text("exits32: on\n");
	call3(CALL_WRITE, 1, line, (int)length);
	for (uint32_t number = 0;; number++)
		turn(number, end_us += ROUND_US);
	return 0;
}
