/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of sd_notify(3) and sd_watchdog_enabled(3); see notify.h.
 *
 * libsystemd has a function for this, sd_notify(). The library would bring its own libraries (lzma,
 * zstd, lz4, gcrypt) into every process of xtop that has root's rights, for one datagram. systemd
 * promises that the protocol is stable.
 */
#include "config.h"

#include "xtop/base/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NOTIFY_PART 3 /* beats in the watchdog's time: one beat may be lost */

/* --- the broker's process --------------------------------------------------------------------- */

static int notify_socket = -1;

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
	notify_socket = fd;
}

static void notify_write_status(const struct notify_news *news, char text[256])
{
	char rate[64] = "";

	if (news->full_hz > 0)
		snprintf(rate, sizeof(rate), " at %.3g of %.4g Hz", news->hz, news->full_hz);
	snprintf(text, 256,
		 "STATUS=%" PRIu32 " guests%s; profiles: %" PRIu64 " delivered, %" PRIu64
		 " wait, %" PRIu64 " refused, %" PRIu64 " dropped",
		 news->guests, rate, news->sent, news->waiting, news->refused, news->dropped);
}

void notify_put(const struct notify_news *news)
{
	static const char *const lines[] = {
		[NOTIFY_READY] = "READY=1",
		[NOTIFY_STOPPING] = "STOPPING=1",
		[NOTIFY_ALIVE] = "WATCHDOG=1",
	};
	char text[256];

	if (news->state == NOTIFY_STATUS)
		notify_write_status(news, text);
	else if (news->state < sizeof(lines) / sizeof(lines[0]))
		snprintf(text, sizeof(text), "%s", lines[news->state]);
	else
		return;
	/* The socket may be full, or have no reader any more. */
	(void)!send(notify_socket, text, strlen(text), MSG_NOSIGNAL);
}

/* --- main's process --------------------------------------------------------------------------- */

static uint64_t notify_number(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text && strlen(text) < 19 && !text[strspn(text, "0123456789")]
		       ? strtoull(text, NULL, 10)
		       : 0;
}

/*
 * The time between two beats; 0: there is no watchdog. $WATCHDOG_PID tells whether the variables
 * are meant for this process.
 */
static uint64_t notify_read_watchdog(void)
{
	uint64_t usec = notify_number("WATCHDOG_USEC"), pid = notify_number("WATCHDOG_PID");

	if ((pid && pid != (uint64_t)getpid()) || usec >= UINT64_MAX / 1000)
		return 0;
	return usec * 1000 / NOTIFY_PART;
}

bool notify_is_due(uint64_t now_ns, uint64_t *last_ns)
{
	const uint64_t beat_ns = notify_read_watchdog();

	if (!beat_ns || (*last_ns && now_ns - *last_ns < beat_ns))
		return false;
	*last_ns = now_ns;
	return true;
}
