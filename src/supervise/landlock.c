/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Landlock; see landlock.h. Main's thread, before other threads start: they inherit the limits.
 *
 * The numbers are defined here, so that xtop can be built where the system's header is older than
 * the kernel that xtop runs on. They come from Linux include/uapi/linux/landlock.h, and are equal
 * for all architectures:
 *
 *   ABI   Linux   rights of files
 *    1    5.13    bits 0 to 12, from EXECUTE to MAKE_SYM
 *    2    5.19    13, REFER
 *    3    6.2     14, TRUNCATE
 *    5    6.10    15, IOCTL_DEV
 *
 * ABI 4 (Linux 6.7) has rights of the network: bit 0, BIND_TCP, and bit 1, CONNECT_TCP. ABI 6
 * (Linux 6.12) has scopes: bit 0, ABSTRACT_UNIX_SOCKET, and bit 1, SIGNAL.
 *
 * A process in a Landlock domain may trace only processes of the same domain (Linux
 * security/landlock/ptrace.c, later task.c). Opening /proc/PID/mem counts as tracing.
 */
#include "config.h"

#include "supervise/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"

#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ADD_RULE       445
#define LANDLOCK_RESTRICT_SELF  446
#define LANDLOCK_GET_VERSION    1 /* flag of LANDLOCK_CREATE_RULESET */
#define LANDLOCK_RULE_BENEATH   1 /* type of a rule */
#define LANDLOCK_BIND_TCP       (1ULL << 0)
#define LANDLOCK_CONNECT_TCP    (1ULL << 1)
#define LANDLOCK_SCOPES         (1ULL << 0 | 1ULL << 1)
#define LANDLOCK_READ           (1ULL << 2 | 1ULL << 3) /* READ_FILE, READ_DIR */

/*
 * The argument of LANDLOCK_CREATE_RULESET. An older kernel knows only its first members, and gets
 * only their bytes.
 */
struct landlock_ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct landlock_beneath {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

/* The version of the kernel's Landlock; 0: there is none. */
static long landlock_find_abi(void)
{
	long abi = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_GET_VERSION);

	return abi < 1 ? 0 : abi;
}

bool landlock_is_there(void)
{
	return landlock_find_abi() != 0;
}

/* Makes a ruleset that limits all that version ABI of Landlock knows. */
static int landlock_create_ruleset(long abi, bool connects, struct landlock_ruleset *ruleset)
{
	size_t size_bytes = abi >= 6   ? sizeof(*ruleset)
			    : abi >= 4 ? offsetof(struct landlock_ruleset, scoped)
				       : sizeof(ruleset->handled_fs);

	*ruleset = (struct landlock_ruleset){
		.handled_fs = (1ULL << 13) - 1 + (abi >= 2 ? 1ULL << 13 : 0) +
			      (abi >= 3 ? 1ULL << 14 : 0) + (abi >= 5 ? 1ULL << 15 : 0),
		.handled_net = LANDLOCK_BIND_TCP | (connects ? 0 : LANDLOCK_CONNECT_TCP),
		.scoped = LANDLOCK_SCOPES,
	};
	return (int)syscall(LANDLOCK_CREATE_RULESET, ruleset, size_bytes, 0);
}

static bool landlock_allow(int ruleset, int folder, uint64_t rights)
{
	struct landlock_beneath beneath = { .allowed = rights, .folder = folder };

	return syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_BENEATH, &beneath, 0) == 0;
}

struct xtop_error *landlock_enter(const struct landlock_rights *rights)
{
	long abi = landlock_find_abi();
	struct landlock_ruleset limits;
	_cleanup_close_ int ruleset = -1;

	if (!abi)
		return NULL;
	ruleset = landlock_create_ruleset(abi, rights->connects, &limits);
	if (ruleset < 0)
		return error_create_errno(errno, "cannot limit the files");
	for (size_t i = 0; i < rights->n_paths; i++) {
		_cleanup_close_ int fd = open(rights->paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && !landlock_allow(ruleset, fd, LANDLOCK_READ))
			return error_create_errno(errno, "cannot limit the files to %s",
						  rights->paths[i]);
	}
	/* This fails for -1, and for what is no folder. Others report that. */
	for (size_t i = 0; i < rights->n_folders; i++)
		landlock_allow(ruleset, rights->folders[i], LANDLOCK_READ);
	if (rights->writes && !landlock_allow(ruleset, rights->folder, limits.handled_fs))
		return error_create_errno(errno, "cannot limit the files");
	if (syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0)
		return error_create_errno(errno, "cannot limit the files");
	return NULL;
}
