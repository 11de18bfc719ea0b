/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server of --metrics, by libmicrohttpd; see metrics_process.h. The process that serves
 * metrics alone loads the library: it brings TLS and some twenty libraries more, which
 * must not run with root's rights or beside a guest's memory. The prototypes come from its header.
 *
 * The library runs in this thread, in metrics_server_turn(). Everybody who reaches the port may
 * send requests. So connections, their memory and their time are bounded, and an answer depends on
 * nothing but method and path. When there are many connections, the oldest is shut down, so that a
 * client that sends nothing cannot keep others out.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics/metrics_process.h"
#include "xtop/base/clock.h"
#include "xtop/base/library.h"

#define SERVER_LIBRARY           "libmicrohttpd.so.12"
#define SERVER_CONNECTIONS       32U
#define SERVER_KEPT              24U /* connections that stay; the others are being closed */
#define SERVER_BACKLOG           128
#define SERVER_CONNECTION_BYTES  (16U << 10) /* memory for a request's header */
#define SERVER_TIMEOUT_S         10U
/* Prometheus' text format 0.0.4. */
#define SERVER_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The functions that are called. Their types come from libmicrohttpd's header. */
#define SERVER_FUNCTIONS(F)                                                                        \
	F(MHD_start_daemon)                                                                        \
	F(MHD_stop_daemon)                                                                         \
	F(MHD_run_wait)                                                                            \
	F(MHD_create_response_from_buffer)                                                         \
	F(MHD_add_response_header)                                                                 \
	F(MHD_get_connection_info)                                                                 \
	F(MHD_queue_response)                                                                      \
	F(MHD_destroy_response)

struct metrics_server {
	struct metrics_process *process;
#define SERVER_MEMBER(name) __typeof__(name) *name;
	SERVER_FUNCTIONS(SERVER_MEMBER)
#undef SERVER_MEMBER
	struct MHD_Daemon *daemon;
	/* The connections that were not shut down, oldest first. */
	struct MHD_Connection *kept[SERVER_KEPT];
	unsigned n_kept;
};

/* --- answers ---------------------------------------------------------------------------------- */

static const char server_page[] = "xtop: metrics of this host's guests are in /metrics\n";
static const char server_no_page[] = "not found: metrics are in /metrics\n";
static const char server_no_method[] = "only GET and HEAD are answered\n";
static const char server_no_text[] = "xtop has told nothing for a minute\n";

static enum MHD_Result metrics_server_send(const struct metrics_server *server,
					   struct MHD_Connection *connection, unsigned status,
					   const char *bytes, size_t size_bytes)
{
	/* Copy the text: it may be replaced while a slow reader still gets this one. */
	struct MHD_Response *response = server->MHD_create_response_from_buffer(
		size_bytes, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	server->MHD_add_response_header(response, "Content-Type", SERVER_TYPE);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		server->MHD_add_response_header(response, "Allow", "GET, HEAD");
	result = server->MHD_queue_response(connection, status, response);
	server->MHD_destroy_response(response);
	return result;
}

#define SEND(status, text)                                                                         \
	metrics_server_send(server, connection, status, text, sizeof(text) - 1)

/* libmicrohttpd calls this function first when a request's header is complete. */
static enum MHD_Result metrics_server_answer(void *context, struct MHD_Connection *connection,
					     const char *path, const char *method,
					     const char *version, const char *body,
					     size_t *body_bytes, void **request)
{
	struct metrics_server *server = context;
	const struct metrics_text *text = &server->process->text;

	(void)version, (void)body, (void)body_bytes, (void)request;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return SEND(MHD_HTTP_METHOD_NOT_ALLOWED, server_no_method);
	if (strcmp(path, "/") == 0)
		return SEND(MHD_HTTP_OK, server_page);
	if (strcmp(path, "/metrics") != 0)
		return SEND(MHD_HTTP_NOT_FOUND, server_no_page);
	if (!text->came_ns || clock_now_ns() - text->came_ns > METRICS_STALE_NS)
		return SEND(MHD_HTTP_SERVICE_UNAVAILABLE, server_no_text);
	server->process->status.scrapes++;
	return metrics_server_send(server, connection, MHD_HTTP_OK, text->bytes,
				   text->size_bytes);
}

/* --- connections ------------------------------------------------------------------------------ */

static void metrics_server_forget(struct metrics_server *server,
				  const struct MHD_Connection *connection)
{
	unsigned n = 0;

	for (unsigned i = 0; i < server->n_kept; i++)
		if (server->kept[i] != connection)
			server->kept[n++] = server->kept[i];
	server->n_kept = n;
}

/*
 * Shuts down the oldest connection, which the library then closes. A scrape is done long before its
 * connection is the oldest.
 */
static void metrics_server_drop_oldest(struct metrics_server *server)
{
	struct MHD_Connection *oldest = server->kept[0];
	const union MHD_ConnectionInfo *info =
		server->MHD_get_connection_info(oldest, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
	metrics_server_forget(server, oldest);
}

/* libmicrohttpd calls this function when a connection begins and ends. */
static void metrics_server_notice(void *context, struct MHD_Connection *connection, void **unused,
				  enum MHD_ConnectionNotificationCode code)
{
	struct metrics_server *server = context;

	(void)unused;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		metrics_server_forget(server, connection);
		return;
	}
	if (server->n_kept == SERVER_KEPT)
		metrics_server_drop_oldest(server);
	server->kept[server->n_kept++] = connection;
}

/* --- life ------------------------------------------------------------------------------------- */

static unsigned metrics_server_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address = { .ipv6 = { 0 } };
	socklen_t size = sizeof(address);

	if (getsockname(fd, &address.any, &size) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.ipv6.sin6_port
						       : address.ipv4.sin_port);
}

struct xtop_error *metrics_server_listen(const struct metrics_target *target, int *fdp,
					 unsigned *portp)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int fd, on = 1, result = getaddrinfo(target->address, target->port, &hints, &found);

	if (result)
		return error_create("'%s' is no numeric address, as 127.0.0.1 or [::1]",
				    target->address);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	result = fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 ||
		 listen(fd, SERVER_BACKLOG) < 0;
	freeaddrinfo(found);
	if (result) {
		struct xtop_error *error = error_create_errno(errno, "cannot listen on %s port %s",
							      target->address, target->port);

		if (fd >= 0)
			close(fd);
		return error;
	}
	*fdp = fd;
	*portp = metrics_server_port(fd);
	return NULL;
}

static bool metrics_server_load(struct metrics_server *server)
{
#define SERVER_FUNCTION(name) { #name, &server->name },
	const struct library_function functions[] = { SERVER_FUNCTIONS(SERVER_FUNCTION) };
#undef SERVER_FUNCTION

	return library_load(SERVER_LIBRARY, functions, sizeof(functions) / sizeof(functions[0]));
}

struct xtop_error *metrics_server_create(struct metrics_process *process,
					 struct metrics_server **serverp)
{
	struct metrics_server *server = calloc(1, sizeof(*server));

	if (!server)
		return error_create("out of memory");
	server->process = process;
	if (!metrics_server_load(server)) {
		free(server);
		return error_create("%s is not there: on Debian, apt-get install libmicrohttpd12",
				    SERVER_LIBRARY);
	}
	server->daemon = server->MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, metrics_server_answer, server,
		MHD_OPTION_LISTEN_SOCKET, process->listener, MHD_OPTION_CONNECTION_LIMIT,
		SERVER_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, SERVER_TIMEOUT_S,
		MHD_OPTION_NOTIFY_CONNECTION, metrics_server_notice, server,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_CONNECTION_BYTES,
		MHD_OPTION_END);
	if (!server->daemon) {
		free(server);
		return error_create("libmicrohttpd does not start");
	}
	*serverp = server;
	return NULL;
}

void metrics_server_turn(struct metrics_server *server, int wait_ms)
{
	server->MHD_run_wait(server->daemon, wait_ms);
}

void metrics_server_destroy(struct metrics_server *server)
{
	if (server)
		server->MHD_stop_daemon(server->daemon);
	free(server);
}
