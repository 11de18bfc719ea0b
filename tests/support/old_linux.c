/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a program as on Linux 4.19, or on 4.4:
 *
 *   old_linux [--4.4] COMMAND [ARG...]
 *
 * The kernel answers ENOSYS to every system call that is newer. A filter (seccomp(2)) does that, by
 * the calls' numbers, and children inherit the filter. Newer calls have higher numbers. The last one
 * of Linux 4.19 is rseq, that of 4.4 is mlock2, on both architectures (of each version,
 * arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h). Flags of older calls
 * that came later are not refused.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int is_oldest = argc > 1 && strcmp(argv[1], "--4.4") == 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, is_oldest ? SYS_mlock2 : SYS_rseq, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	argv += 1 + is_oldest;
	if (argc < 2 + is_oldest) {
		fprintf(stderr, "usage: old_linux [--4.4] COMMAND [ARG...]\n");
		return 2;
	}
	/* Root needs no PR_SET_NO_NEW_PRIVS, which programs may look at. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)) {
		perror("old_linux: seccomp");
		return 125;
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	return 125;
}
