/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that go away during a read: zeros and a count while armed, otherwise the process ends. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/memory_guest.h"
#include "tests/support/tap.h"
#include "xtop/base/fault.h"

#define N_PAGES 3

static struct memory_guest *memory;
static const volatile unsigned char *pages[N_PAGES];

static void map_pages(void)
{
	memory = memory_guest_create(1);
	for (uint64_t i = 0; i < N_PAGES; i++) {
		memset(memory_guest_page(memory, i), 0x11, GUEST_PAGE_SIZE);
		pages[i] = memory->guest.mapper.map(memory, FRAME(i));
	}
}

static void unmap_pages(void)
{
	for (unsigned i = 0; i < N_PAGES; i++)
		memory->guest.mapper.unmap(memory, (void *)(uintptr_t)pages[i]);
	memory_guest_destroy(memory);
}

static void test_armed(void)
{
	map_pages();
	memory_guest_revoke(memory, 0);
	memory_guest_revoke(memory, 1);
	fault_arm();
	check_u64(fault_count(), 0, "armed, but nothing read: no fault");
	check_u64(pages[0][4095], 0, "the last byte of a page that is gone");
	check_u64(fault_count(), 1, "a fault is counted at once");
	check_u64(pages[0][0], 0, "the first byte of a page that is gone");
	check_u64(fault_count(), 1, "faults of the same page count once");
	check_u64(pages[1][77], 0, "a byte of another page that is gone");
	check_u64(pages[2][77], 0x11, "a byte of a page that exists");
	check_u64(fault_disarm(), 2, "faults of pages that went away");
	fault_arm();
	check_u64(pages[0][1], 0, "a page that faulted stays zeros");
	check_u64(fault_disarm(), 0, "faults are counted anew");
	unmap_pages();
}

/*
 * A mapping of several pages: if one page is gone, all of them are replaced, but no page outside.
 */
static void test_range(void)
{
	char path[] = "/tmp/test_fault.XXXXXX";
	int fd = mkstemp(path);
	volatile unsigned char *range;

	unlink(path);
	map_pages();
	memory_guest_revoke(memory, 1);
	check(ftruncate(fd, 3 * GUEST_PAGE_SIZE) == 0 && pwrite(fd, "x", 1, 0) == 1,
	      "a file is made");
	range = mmap(NULL, 3 * GUEST_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	check(ftruncate(fd, GUEST_PAGE_SIZE) == 0, "two of the file's three pages go away");
	fault_arm_range((void *)(uintptr_t)range, 3 * GUEST_PAGE_SIZE);
	check_u64(range[0], 'x', "the file's first page");
	check_u64(range[GUEST_PAGE_SIZE], 0, "the file's second page, which is gone");
	check_u64(range[0], 0, "the file's first page is replaced, too");
	check_u64(range[2 * GUEST_PAGE_SIZE + 5], 0, "the file's third page, which is gone");
	check_u64(fault_count(), 1, "faults of one file");
	check_u64(pages[1][5], 0, "a page that is gone outside the file");
	check_u64(pages[2][5], 0x11, "the neighbour of a page that is gone is not replaced");
	check_u64(fault_disarm(), 2, "faults of two mappings");
	munmap((void *)(uintptr_t)range, 3 * GUEST_PAGE_SIZE);
	close(fd);
	unmap_pages();
}

/* The wait status of a child that calls WHAT. It leaves no core file. */
static int status_of(void (*what)(void))
{
	struct rlimit none = { 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		what();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void read_page(void)
{
	(void)pages[0][0];
}

static void read_page_disarmed(void)
{
	fault_arm();
	fault_disarm();
	(void)pages[0][0];
}

static void be_killed(void)
{
	fault_arm();
	kill(getpid(), SIGBUS);
}

static void check_dies(void (*what)(void), const char *name)
{
	int status = status_of(what);

	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "%s ends by SIGBUS (status %#x)",
	      name, status);
}

static void test_unarmed(void)
{
	map_pages();
	memory_guest_revoke(memory, 0);
	check_dies(read_page, "a read that was never armed");
	check_dies(read_page_disarmed, "a read after disarming");
	unmap_pages();
}

/* SI_USER has no address: in place of si_addr there is the pid of the sender. */
static void test_sent(void)
{
	check_dies(be_killed, "a SIGBUS from another process, while armed,");
}

static void say_last_words(void)
{
	_exit(42);
}

/* Last words are called only for the SIGBUS that ends the process. */
static void fault_and_be_killed(void)
{
	fault_set_last_words(say_last_words);
	fault_arm();
	if (pages[0][0] != 0 || fault_disarm() != 1)
		_exit(1);
	kill(getpid(), SIGBUS);
}

static void test_last_words(void)
{
	int status;

	map_pages();
	memory_guest_revoke(memory, 0);
	status = status_of(fault_and_be_killed);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	      "a page that goes away does not end the process, but a SIGBUS after that does: "
	      "status %#x",
	      status);
	unmap_pages();
}

int main(void)
{
	fault_install();
	test_armed();
	test_range();
	test_unarmed();
	test_sent();
	test_last_words();
	return tap_done();
}
