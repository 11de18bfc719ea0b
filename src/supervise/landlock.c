/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Landlock; see landlock.h. Main's thread, before other threads start: they inherit it.
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
 * A process in a Landlock domain may trace only processes of the same domain (Linux
 * security/landlock/ptrace.c, later task.c). Opening /proc/PID/mem counts as tracing.
 */
#include "config.h"

#include "supervise/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"

#define LANDLOCK_CREATE_RULESET  444
#define LANDLOCK_ADD_RULE        445
#define LANDLOCK_RESTRICT_SELF   446
#define LANDLOCK_GET_VERSION     1 /* flag of LANDLOCK_CREATE_RULESET */
#define LANDLOCK_RULE_BENEATH    1 /* type of a rule */
#define LANDLOCK_READ            (1ULL << 2 | 1ULL << 3) /* READ_FILE, READ_DIR */

struct landlock_ruleset {
	uint64_t handled_fs;
};

struct landlock_beneath {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

/* Returns all rights that the kernel's Landlock knows. 0: the kernel has no Landlock. */
static uint64_t landlock_rights(void)
{
	long abi = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_GET_VERSION);

	if (abi < 1)
		return 0;
	return (1ULL << 13) - 1 + (abi >= 2 ? 1ULL << 13 : 0) + (abi >= 3 ? 1ULL << 14 : 0) +
	       (abi >= 5 ? 1ULL << 15 : 0);
}

bool landlock_is_there(void)
{
	return landlock_rights() != 0;
}

static bool landlock_allow(int ruleset, int folder, uint64_t rights)
{
	struct landlock_beneath beneath = { .allowed = rights, .folder = folder };

	return syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_BENEATH, &beneath, 0) == 0;
}

/* Allows reading below PATHS and FOLDERS, and everything below TO_WRITE (-1: none). */
static struct xtop_error *landlock_restrict(const char *const *paths, size_t n,
					    const int *folders, size_t n_folders, int to_write)
{
	struct landlock_ruleset rights = { .handled_fs = landlock_rights() };
	_cleanup_close_ int ruleset = -1;

	if (!rights.handled_fs)
		return NULL;
	ruleset = (int)syscall(LANDLOCK_CREATE_RULESET, &rights, sizeof(rights), 0);
	if (ruleset < 0)
		return error_create_errno(errno, "cannot limit the files");
	for (size_t i = 0; i < n; i++) {
		_cleanup_close_ int fd = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && !landlock_allow(ruleset, fd, LANDLOCK_READ))
			return error_create_errno(errno, "cannot limit the files to %s", paths[i]);
	}
	for (size_t i = 0; i < n_folders; i++)
		if (folders[i] >= 0) /* fails for what is no folder; others report that */
			landlock_allow(ruleset, folders[i], LANDLOCK_READ);
	if (to_write >= 0 && !landlock_allow(ruleset, to_write, rights.handled_fs))
		return error_create_errno(errno, "cannot limit the files");
	if (syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0)
		return error_create_errno(errno, "cannot limit the files");
	return NULL;
}

struct xtop_error *landlock_enter(const char *const *paths, size_t n, const int *folders,
				  size_t n_folders)
{
	return landlock_restrict(paths, n, folders, n_folders, -1);
}

struct xtop_error *landlock_enter_to_write(const char *const *paths, size_t n, int folder)
{
	return landlock_restrict(paths, n, NULL, 0, folder);
}
