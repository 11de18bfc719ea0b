/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libraries that glibc loads when it looks for host names; see resolver_libraries.h. */
#include "config.h"

#include "supervise/resolver_libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/cleanup.h"

/* Loads the module NAME of glibc's resolver, if it is there. It stays loaded. */
static void resolver_libraries_load_module(const char *name)
{
	char library[96];

	snprintf(library, sizeof(library), "libnss_%.64s.so.2", name);
	(void)!dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

/* LINE: "hosts: files mdns4_minimal [NOTFOUND=return] dns". Actions name no library. */
static void resolver_libraries_load_line(char *line)
{
	char *rest, *name = strtok_r(line, " \t\n", &rest);

	if (!name || strcmp(name, "hosts:") != 0)
		return;
	while ((name = strtok_r(NULL, " \t\n", &rest)) && *name != '#')
		if (*name != '[' && !strchr(name, '/'))
			resolver_libraries_load_module(name);
}

void resolver_libraries_load(void)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/nsswitch.conf", "re");
	char line[512];

	(void)!dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	while (file && fgets(line, sizeof(line), file))
		resolver_libraries_load_line(line);
}
