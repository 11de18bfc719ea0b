// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source of made.dll, a PE image for tests. It needs neither Windows nor a C library:
 *
 *	x86_64-w64-mingw32-gcc -std=gnu11 -O2 -shared -nostdlib -ffreestanding -fno-ident -s \
 *		-fno-optimize-sibling-calls -Wl,--no-insert-timestamp -Wl,--entry=0 -o made.dll made.c
 *
 * (Debian's gcc-mingw-w64-x86-64 12.) Its functions have prologs of every kind that gcc writes.
 */
#define EXPORT __declspec(dllexport) __attribute__((noinline))
#define HIDDEN __attribute__((noinline))

/* A leaf: no entry in .pdata. */
asm("	.globl made_leaf\n"
    "made_leaf:\n"
    "	leaq 1(%rcx), %rax\n"
    "	ret\n"
    /* What gcc calls before it makes room of more than a page; it preserves all registers. */
    "	.globl ___chkstk_ms\n"
    "___chkstk_ms:\n"
    "	ret\n"
    "	.section .drectve,\"yni\"\n"
    "	.ascii \" -export:made_leaf\"\n"
    "	.text\n");
long made_leaf(long n);

/* Not exported: its code has no name. */
static HIDDEN long hidden(long n)
{
	asm volatile("" : : : "rbx", "memory");
	return made_leaf(n) + 1;
}

EXPORT long made_saves(long n)
{
	asm volatile("" : : : "rbx", "rsi", "rdi", "rbp", "r12", "r13", "r14", "r15");
	return hidden(n) + made_leaf(n);
}

EXPORT long made_xmm(long n)
{
	asm volatile("" : : : "xmm6", "xmm7", "rsi");
	return made_saves(n) + 2;
}

/* A frame pointer. */
EXPORT long made_alloca(long n)
{
	volatile char *bytes = __builtin_alloca((unsigned long)n * 16);

	bytes[0] = 1;
	return made_xmm(n) + bytes[0];
}

EXPORT long made_large(long n)
{
	volatile char bytes[20000];

	bytes[n] = 2;
	return made_alloca(n) + bytes[n];
}

EXPORT long made_larger(long n)
{
	volatile char bytes[600000];

	bytes[n] = 3;
	return made_large(n) + bytes[n];
}

EXPORT long made_outer(long n)
{
	return made_larger(n) + made_leaf(n);
}
