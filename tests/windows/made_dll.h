/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made.dll (made.c), as Windows would map it. */
#ifndef TESTS_MADE_DLL_H
#define TESTS_MADE_DLL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DLL_BYTES 0x6000 /* loaded size: header, .text, .pdata, .xdata, .edata, .idata */

/* The exports, by their places. */
#define DLL_LEAF   0x1000
#define DLL_HIDDEN 0x1010
#define DLL_SAVES  0x1030
#define DLL_XMM    0x1070
#define DLL_ALLOCA 0x10a0
#define DLL_OUTER  0x1140
#define DLL_PDATA  0x2000
#define DLL_XDATA  0x3000
#define DLL_EDATA  0x4000

/* Puts header and sections at IMAGE, which has DLL_BYTES of zeros. */
static inline void dll_map(uint8_t *image)
{
	const char *folder = getenv("top_srcdir");
	uint8_t file[4096];
	char path[512];
	size_t n = 0;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/tests/windows/made.dll", folder ? folder : ".");
	stream = fopen(path, "rb");
	if (stream) {
		n = fread(file, 1, sizeof(file), stream);
		fclose(stream);
	}
	if (n != 3584) {
		printf("Bail out! cannot read %s\n", path);
		exit(99);
	}
	memcpy(image, file, 0x400);
	for (unsigned i = 0; i < 5; i++) /* five sections; only the first has more than 512 bytes' room */
		memcpy(image + 0x1000 * (i + 1), file + 0x400 + 0x200 * i, 0x200);
}

#endif
