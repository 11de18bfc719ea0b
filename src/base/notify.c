/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of sd_notify(3) and sd_watchdog_enabled(3); see notify.h.
 *
 * libsystemd has a function for this, sd_notify(). The library would bring its own libraries (lzma,
 * zstd, lz4, gcrypt) into every process of xtop that has root's rights, for one datagram. systemd
 * promises that the protocol is stable. The socket is connected before main enters its sandbox: in
 * the sandbox the socket needs no call but write().
 */
#include "config.h"

#include "xtop/base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NOTIFY_MAX_BYTES 4096
#define NOTIFY_PART      3 /* beats in the watchdog's time: one beat may be lost */

static struct {
	int socket; /* 0: no socket, because descriptor 0 is standard input */
	uint64_t beat_ns, beaten_ns; /* between two beats (0: no watchdog); last beat */
} notify;

/* "@NAME" is a socket without a file: its address begins with a byte of 0 (unix(7)). */
static socklen_t notify_address(const char *path, struct sockaddr_un *address)
{
	size_t length = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((path[0] != '/' && path[0] != '@') || length >= sizeof(address->sun_path))
		return 0;
	memcpy(address->sun_path, path, length);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static uint64_t notify_number(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text && strlen(text) < 19 && !text[strspn(text, "0123456789")]
		       ? strtoull(text, NULL, 10)
		       : 0;
}

/* $WATCHDOG_PID tells whether the variables are meant for this process. */
static void notify_read_watchdog(void)
{
	uint64_t usec = notify_number("WATCHDOG_USEC"), pid = notify_number("WATCHDOG_PID");

	if ((!pid || pid == (uint64_t)getpid()) && usec < UINT64_MAX / 1000)
		notify.beat_ns = usec * 1000 / NOTIFY_PART;
}

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t bytes = path ? notify_address(path, &address) : 0;
	int fd = bytes ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&address, bytes) < 0) {
		close(fd);
		return;
	}
	notify.socket = fd;
	notify_read_watchdog();
}

void notify_put(const char *news)
{
	size_t length = strnlen(news, NOTIFY_MAX_BYTES);

	if (notify.socket && write(notify.socket, news, length) < 0)
		return; /* the socket is full or has no reader any more */
}

void notify_beat(uint64_t now_ns)
{
	if (!notify.beat_ns || (notify.beaten_ns && now_ns - notify.beaten_ns < notify.beat_ns))
		return;
	notify.beaten_ns = now_ns;
	notify_put("WATCHDOG=1");
}

void notify_close(void)
{
	if (notify.socket)
		close(notify.socket);
	notify.socket = 0;
	notify.beat_ns = notify.beaten_ns = 0;
}
