/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said where Xen cannot be asked: src/xen/place.c. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xen/place.h"

static char folder[] = "/tmp/xtop-place-XXXXXX";

/* TEXT: NULL if there is no such file. */
static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	if (!text)
		return;
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

static void test_place(const char *type, const char *features, enum place expected)
{
	put("type", type);
	put("properties/features", features);
	check(place_find(folder) == expected, "type %s, features %s: %d", type ? type : "none",
	      features ? features : "none", (int)expected);
}

static void test_words(enum place place, int errno_value, bool is_root, const char *words)
{
	struct xtop_error *error = place_explain(place, errno_value, is_root);

	check(strstr(error_message(error), words) != NULL, "%s", error_message(error));
	error_destroy(error);
}

int main(void)
{
	char properties[128];

	if (!mkdtemp(folder))
		return 1;
	snprintf(properties, sizeof(properties), "%s/properties", folder);
	mkdir(properties, 0700);
	test_place(NULL, NULL, PLACE_NO_XEN);
	test_place("kvm\n", "00000000\n", PLACE_NO_XEN);
	test_place("xen\n", NULL, PLACE_GUEST);
	/* Those of Xen 4.17: a PVH guest, and dom0. */
	test_place("xen\n", "00002705\n", PLACE_GUEST);
	test_place("xen\n", "00002fff\n", PLACE_DOM0);
	put("type", NULL);
	put("properties/features", NULL);
	rmdir(properties);
	rmdir(folder);

	test_words(PLACE_NO_XEN, ENOENT, true, "in the dom0 of a Xen host");
	test_words(PLACE_NO_XEN, EACCES, false, "run xtop as root");
	test_words(PLACE_DOM0, EACCES, false, "run xtop as root");
	test_words(PLACE_DOM0, EACCES, true, "outside of the container");
	test_words(PLACE_DOM0, EPERM, true, "outside of the container");
	test_words(PLACE_DOM0, ENOENT, true, "outside of the container, or load");
	test_words(PLACE_GUEST, ENOENT, true, "run xtop in dom0");
	test_words(PLACE_GUEST, EACCES, false, "run xtop in dom0");
	return tap_done();
}
