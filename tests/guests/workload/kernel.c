// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Phases that work in the kernel. Chains below run_phase have the phase, libc's wrapper and the
 * system call:
 *
 *   phase_zero   read of /dev/zero             clear_user
 *   phase_hash   AF_ALG rmd160                 modules af_alg, algif_hash, rmd160
 *   phase_pipe   write and read of a pipe      copies
 *   phase_tcp    send and receive on loopback  TCP, softirq
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work.h"

#define PIPED 32768 /* less than a pipe holds */
#define SENT  16384

static char buffer[65536];
static int zero_fd, hash_fd, pipe_fds[2], tcp_fds[2];

static int must(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
	return result;
}

static void all(ssize_t length, size_t wanted, const char *what)
{
	must(length == (ssize_t)wanted ? 0 : -1, what);
}

WORK void phase_zero(void)
{
	for (int i = 0; i < 8; i++)
		all(read(zero_fd, buffer, sizeof(buffer)), sizeof(buffer), "/dev/zero");
}

WORK void phase_hash(void)
{
	unsigned char digest[20];

	all(send(hash_fd, buffer, sizeof(buffer), 0), sizeof(buffer), "AF_ALG send");
	all(read(hash_fd, digest, sizeof(digest)), sizeof(digest), "AF_ALG read");
}

WORK void phase_pipe(void)
{
	for (int i = 0; i < 8; i++) {
		all(write(pipe_fds[1], buffer, PIPED), PIPED, "pipe write");
		all(read(pipe_fds[0], buffer, PIPED), PIPED, "pipe read");
	}
}

WORK void phase_tcp(void)
{
	for (int i = 0; i < 4; i++) {
		all(send(tcp_fds[0], buffer, SENT, 0), SENT, "send");
		all(recv(tcp_fds[1], buffer, SENT, MSG_WAITALL), SENT, "recv");
	}
}

static int open_hash(void)
{
	const struct sockaddr_alg address = {
		.salg_family = AF_ALG,
		.salg_type = "hash",
		.salg_name = "rmd160",
	};
	int fd = must(socket(AF_ALG, SOCK_SEQPACKET, 0), "socket AF_ALG");

	must(bind(fd, (const struct sockaddr *)&address, sizeof(address)), "bind rmd160");
	return must(accept(fd, NULL, NULL), "accept AF_ALG");
}

static void open_tcp(int fds[2])
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int listener = must(socket(AF_INET, SOCK_STREAM, 0), "socket");

	must(bind(listener, (struct sockaddr *)&address, length), "bind");
	must(listen(listener, 1), "listen");
	must(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
	fds[0] = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(connect(fds[0], (struct sockaddr *)&address, length), "connect");
	fds[1] = must(accept(listener, NULL, NULL), "accept");
	close(listener);
}

void kernel_init(void)
{
	zero_fd = must(open("/dev/zero", O_RDONLY), "/dev/zero");
	hash_fd = open_hash();
	must(pipe(pipe_fds), "pipe");
	open_tcp(tcp_fds);
}
