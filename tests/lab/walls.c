// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests the part of the sandbox that needs a Xen host. With the descriptor that the broker gives to
 * main, it tries hypercalls, and pages that do not belong to main's guest. It also tries the memory
 * of other processes, on dom0's kernel as it is and as if this kernel had no Landlock.
 *
 *   walls DOMAIN OTHER        both running PVH guests
 *
 * Where two walls protect, each attempt is made twice: in the sandbox, and without the list of
 * system calls, which shows that the restriction of the descriptor alone is enough. TAP on stdout.
 */
#include "config.h"

#include "xen/public.h" /* first: it has the types of privcmd.h */

#include <xen/sys/privcmd.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "tests/support/old_landlock.h"
#include "tests/support/tap.h"
#include "tests/support/victim.h"
#include "xtop/supervise/sandbox.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/xen.h"

/* 2 MiB above the start of a guest's memory (Xen 4.17 public/arch-arm.h): memory in any guest. */
#ifdef __aarch64__
#define SOME_FRAME ((GUEST_RAM0_BASE >> 12) + 0x200)
#else
#define SOME_FRAME 0x200
#endif

static struct guest_info own, other;
static int memory_fd;

/* 0, or the errno of mapping a page of DOMID. */
static int map_page(uint32_t domid, int protection)
{
	void *map = mmap(NULL, 4096, protection, MAP_SHARED, memory_fd, 0);
	xen_pfn_t frame = SOME_FRAME;
	int error = 0;
	privcmd_mmapbatch_v2_t batch = { .num = 1,
					 .dom = (domid_t)domid,
					 .addr = (uintptr_t)map,
					 .arr = &frame,
					 .err = &error };

	if (map == MAP_FAILED)
		return errno;
	if (ioctl(memory_fd, IOCTL_PRIVCMD_MMAPBATCH_V2, &batch) < 0)
		return errno;
	return -error;
}

static int map_own(void)
{
	return map_page(own.domid, PROT_READ);
}

static int map_own_to_write(void)
{
	return map_page(own.domid, PROT_READ | PROT_WRITE);
}

static int map_other(void)
{
	return map_page(other.domid, PROT_READ);
}

static int map_dom0(void)
{
	return map_page(0, PROT_READ);
}

static int hypercall(void)
{
	privcmd_hypercall_t call = { .op = __HYPERVISOR_xen_version, .arg = { XENVER_version } };

	return ioctl(memory_fd, IOCTL_PRIVCMD_HYPERCALL, &call) < 0 ? errno : 0;
}

static int lift_restriction(void)
{
	domid_t domid = (domid_t)other.domid;

	return ioctl(memory_fd, IOCTL_PRIVCMD_RESTRICT, &domid) < 0 ? errno : 0;
}

static int operate_device(void)
{
	privcmd_dm_op_t operation = { .dom = (domid_t)own.domid };

	return ioctl(memory_fd, IOCTL_PRIVCMD_DM_OP, &operation) < 0 ? errno : 0;
}

static int open_privcmd(void)
{
	return open("/dev/xen/privcmd", O_RDWR) < 0 ? errno : 0;
}

static int open_hypercall(void)
{
	return open("/dev/xen/hypercall", O_RDWR) < 0 ? errno : 0;
}

static int open_xenstore(void)
{
	return open("/dev/xen/xenbus", O_RDWR) < 0 ? errno : 0;
}

/* --- the memory of a process of the user for whom root runs xtop ------------------------------ */

#define USER 1234

static int create_file(void)
{
	return open("/tmp/walls-created", O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;
}

static bool without_landlock;

/* Makes an attempt in a child, inside the sandbox or not. */
static int attempt(int (*what)(void), bool inside)
{
	pid_t child = fork();
	int status;

	if (child == 0 && without_landlock)
		hide_landlock();
	if (child == 0)
		_exit(inside && sandbox_enter(NULL, 0) ? 255 : what());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool refused(int errno_value)
{
	return errno_value == EPERM || errno_value == EACCES;
}

static void test_walls(void)
{
	static const struct {
		int (*what)(void);
		bool alone; /* refused also without the sandbox */
		const char *name;
	} walls[] = {
		{ map_own_to_write, true, "a page of its guest, to write" },
		{ map_other, true, "a page of another guest" },
		{ map_dom0, true, "a page of dom0" },
		{ hypercall, true, "a hypercall" },
		{ lift_restriction, false, "another restriction" },
		{ operate_device, false, "a device model's operation" },
		{ open_privcmd, false, "/dev/xen/privcmd" },
		{ open_hypercall, false, "/dev/xen/hypercall" },
		{ open_xenstore, false, "/dev/xen/xenbus" },
		{ victim_read, false, "to read the memory of the user's processes" },
		{ victim_write, false, "to write the memory of the user's processes" },
		{ create_file, false, "to create a file" },
	};

	check_u64((uint64_t)attempt(map_own, true), 0, "inside: a page of its guest");
	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
		int alone = walls[i].alone ? attempt(walls[i].what, false) : EPERM;
		int inside = attempt(walls[i].what, true);

		check(refused(alone) && refused(inside), "refused: %s (%d, inside %d)",
		      walls[i].name, alone, inside);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	must(xen_find(argv[1], &own));
	must(xen_find(argv[2], &other));
	must(foreign_open_fd(own.domid, &memory_fd));
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	victim_start(USER);
	printf("# Landlock's version here: %ld (-1: none)\n", syscall(444, NULL, 0, 1));
	test_walls();
	without_landlock = true;
	printf("# without Landlock\n");
	test_walls();
	victim_stop();
	return tap_done();
}
