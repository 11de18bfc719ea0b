/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server of tests/support/http_server.h for tests that are shell scripts:
 *
 *	server FOLDER SCRIPT [PORT]      prints its port, and ends with its standard input
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/http_server.h"

int main(int argc, char **argv)
{
	struct http_server server = { .port = argc > 3 ? atoi(argv[3]) : 0 };

	if (argc < 3)
		return 2;
	http_server_start(&server, argv[1], argv[2]);
	printf("%d\n", server.port);
	fflush(stdout);
	while (getchar() != EOF)
		;
	http_server_stop(&server);
	return 0;
}
