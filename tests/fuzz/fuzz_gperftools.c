/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gperftools' profiles: the first byte chooses the kind. */
#include "config.h"

#include "profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const char *const heads[] = { "heap profile: 1: 2 [3: 4] @ heap_v2/512\n",
					     "--- contention:\n", "" };

	if (!size_bytes)
		return 0;
	read_profile_file(heads[bytes[0] % 3], bytes + 1, size_bytes - 1);
	return 0;
}
