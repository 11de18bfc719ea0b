/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The futex that a task waits for, found through its system call, and the owner of a mutex of glibc. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/linux/lock_fixture.h"

static void check_glibc(struct lock_fixture *fixture, const struct lock_wait *wait,
			enum os_holder certainty, uint32_t tid, const char *what)
{
	struct lock_owner owner = lock_owner_read(&fixture->made->guest, wait, &fixture->user);

	check(owner.certainty == certainty && owner.tid == tid, "%s: %d, %u", what,
	      (int)owner.certainty, owner.tid);
}

static void test_futex(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, rt_waiter, rt_mutex, task;

	begin(fixture);
	fixture->user = made_root(fixture->made->memory);
	mm = made_mm(fixture->made, NULL, 0);
	waiter = make_waiter(fixture, 10, MUTEX_WAITER_LIST, mm);
	put_call(fixture, &waiter, 202, 0x80);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.address == WORD &&
		      wait.space == mm && !wait.is_shared,
	      "a private futex is found");
	put_glibc(fixture, 2, 77, 3, 0);
	check_glibc(fixture, &wait, OS_HOLDER_GUESS, 77, "a mutex of glibc names a thread");
	put_glibc(fixture, 1, 77, 3, 0);
	check_glibc(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a mutex of glibc without waiters has no owner");
	put_glibc(fixture, 2, 0, 3, 0);
	check_glibc(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a mutex of glibc between two owners has no owner");
	put_glibc(fixture, 2, 77, 0, 0);
	check_glibc(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "words without users are no mutex of glibc");
	put_glibc(fixture, 2, 77, 3, 0x10000);
	check_glibc(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "words with an unknown kind are no mutex of glibc");
	put_glibc(fixture, 0x8000004d, 77, 1, 0x10);
	check_glibc(fixture, &wait, OS_HOLDER_GUESS, 77, "a robust mutex of glibc names a thread");
	put_glibc(fixture, 0x8000004e, 77, 1, 0x10);
	check_glibc(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a robust mutex of glibc whose owners differ has no owner");
	check(lock_owner_read(&fixture->made->guest, &wait, NULL).certainty == OS_HOLDER_UNKNOWN,
	      "a futex with unknown page tables has no owner");

	put_call(fixture, &waiter, 202, 1);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait), "FUTEX_WAKE waits for no lock");
	put_call(fixture, &waiter, 0, 0x80);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "another system call waits for no lock");
	put_call(fixture, &waiter, 202, 9);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.is_shared,
	      "a shared futex is found");

	put_value(fixture, &waiter, 0);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "a condition variable is no lock");
	put_value(fixture, &waiter, 0x80000005);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait), "a robust mutex is a lock");
	put_call(fixture, &waiter, 202, 0x86);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "FUTEX_LOCK_PI without an rt_mutex waits for no lock");
	rt_mutex = made_object(fixture->made, 64, 64);
	rt_waiter = made_object(fixture->made, 128, 64);
	task = made_task(fixture->made, 5, 5, "holder", 0, 0);
	made_set(fixture->made, waiter.task, TASK_PI_BLOCKED_ON, rt_waiter);
	made_set(fixture->made, rt_waiter, RT_MUTEX_WAITER_LOCK, rt_mutex);
	made_set(fixture->made, rt_mutex, RT_MUTEX_OWNER, task | 1);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_FUTEX_PI &&
		      wait.address == WORD && wait.space == mm,
	      "a futex with priority inheritance is found");
	check_owner(fixture, &wait, OS_HOLDER_EXACT, task,
		    "a futex with priority inheritance has its owner");
	put_call(fixture, &waiter, 202, 0x8b);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_RT_MUTEX &&
		      wait.address == rt_mutex,
	      "FUTEX_WAIT_REQUEUE_PI waits for the rt_mutex after it was requeued");
	end(fixture);
}

#ifdef __GLIBC__
static pthread_mutex_t real;

static void *wait_for_real(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&real);
	pthread_mutex_unlock(&real);
	return NULL;
}

/* REAL, which this thread has, with a thread that waits for it: what is in its memory. */
static void put_contended(struct lock_fixture *fixture)
{
	unsigned char bytes[sizeof(real)];
	pthread_t thread;
	uint32_t word;

	pthread_mutex_lock(&real);
	if (pthread_create(&thread, NULL, wait_for_real, NULL))
		abort();
	do {
		memcpy(&word, &real, sizeof(word));
		usleep(100);
	} while (word != 2 && !(word & 0x80000000));
	memcpy(bytes, &real, sizeof(bytes));
	pthread_mutex_unlock(&real);
	pthread_join(thread, NULL);
	made_put(fixture->made->memory, fixture->user, WORD, bytes, sizeof(bytes));
	memory_refresh(fixture->made->guest.memory);
}

/* Each kind of mutex that this machine's glibc makes. */
static void test_glibc(struct lock_fixture *fixture)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };
	const struct lock_wait wait = { .kind = OS_LOCK_FUTEX, .address = WORD, .space = 1 };

	begin(fixture);
	fixture->user = made_root(fixture->made->memory);
	made_map(fixture->made->memory, fixture->user, WORD, GUEST_PAGE_SIZE, MADE_WRITE);
	for (unsigned i = 0; i < 12; i++) {
		pthread_mutexattr_t attributes;
		char text[64];

		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_settype(&attributes, types[i / 4]);
		pthread_mutexattr_setrobust(&attributes, i & 1);
		pthread_mutexattr_setpshared(&attributes, i >> 1 & 1);
		pthread_mutex_init(&real, &attributes);
		put_contended(fixture);
		pthread_mutex_destroy(&real);
		pthread_mutexattr_destroy(&attributes);
		snprintf(text, sizeof(text), "type %d, robust %u, shared %u", types[i / 4], i & 1,
			 i >> 1 & 1);
		check_glibc(fixture, &wait, OS_HOLDER_GUESS, (uint32_t)gettid(), text);
	}
	end(fixture);
}
#endif

/* futex_wait(WORD, VALUE, ..., FLAGS), from Linux 6.7 */
static void test_futex_wait(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, saved;

	begin(fixture);
	fixture->user = made_root(fixture->made->memory);
	mm = made_mm(fixture->made, NULL, 0);
	waiter = make_waiter(fixture, 10, MUTEX_WAITER_LIST, mm);
	saved = waiter.stack + STACK_BYTES - PT_REGS_BYTES;
	put_call(fixture, &waiter, 455, 2);
	put(fixture, saved + 8 * PT_REGS_R10, 0x82);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_FUTEX &&
		      wait.address == WORD && wait.space == mm && !wait.is_shared,
	      "futex_wait() waits for a futex");
	put_glibc(fixture, 2, 77, 3, 0);
	check_glibc(fixture, &wait, OS_HOLDER_GUESS, 77,
		    "a mutex of glibc in futex_wait() names a thread");
	put(fixture, saved + 8 * PT_REGS_R10, 2);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.is_shared,
	      "futex_wait() of a shared futex is found");
	put(fixture, saved + 8 * PT_REGS_RSI, 7);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "futex_wait() with a value that no mutex has waits for no lock");
	end(fixture);
}

/* futex_waitv(WAITERS, N), from Linux 5.16 */
static void test_futex_waitv(struct lock_fixture *fixture)
{
	const uint64_t waiters = WORD + 0x800;
	const struct {
		uint64_t value, word;
		uint32_t flags, reserved;
	} one = { 2, WORD, 0x82, 0 };
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, saved;

	begin(fixture);
	fixture->user = made_root(fixture->made->memory);
	mm = made_mm(fixture->made, NULL, 0);
	waiter = make_waiter(fixture, 10, MUTEX_WAITER_LIST, mm);
	saved = waiter.stack + STACK_BYTES - PT_REGS_BYTES;
	put_call(fixture, &waiter, 449, 1);
	put(fixture, saved + 8 * PT_REGS_RDI, waiters);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "futex_waitv() with a missing page waits for no lock");
	made_put(fixture->made->memory, fixture->user, waiters, &one, sizeof(one));
	memory_refresh(fixture->made->guest.memory);
	check(finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_FUTEX &&
		      wait.address == WORD && wait.space == mm && !wait.is_shared,
	      "futex_waitv() for one futex waits for it");
	put(fixture, saved + 8 * PT_REGS_RSI, 2);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "futex_waitv() for two futexes waits for neither");
	put(fixture, saved + 8 * PT_REGS_RSI, 1);
	put(fixture, saved + 8 * PT_REGS_RDI, MADE_OBJECTS);
	check(!finds(fixture, &waiter, mm, OS_LOCK_FUTEX, &wait),
	      "futex_waitv() with an array in the kernel waits for no lock");
	end(fixture);
}

int main(void)
{
	struct lock_fixture fixture = { 0 };

	test_futex(&fixture);
#ifdef __GLIBC__
	test_glibc(&fixture);
#endif
	test_futex_wait(&fixture);
	test_futex_waitv(&fixture);
	return tap_done();
}
