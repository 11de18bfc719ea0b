// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel module with locks of kinds that programs cannot hold for long by themselves. ioctl() on
 * /proc/xtop-locks takes one, holds it for ARGUMENT milliseconds, and gives it back (waits.c). The
 * request says which lock: see locks_module.h.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu-rwsem.h>
#include <linux/proc_fs.h>
#include <linux/rtmutex.h>
#include <linux/rtnetlink.h>
#include <linux/semaphore.h>

#include "locks_module.h"

static DEFINE_RT_MUTEX(locks_rt_mutex);
static struct semaphore locks_semaphore; /* DEFINE_SEMAPHORE() has another argument from 6.4 on */
DEFINE_STATIC_PERCPU_RWSEM(locks_percpu);

static noinline void locks_hold(unsigned long ms)
{
	if (ms)
		msleep(ms);
}

static noinline void locks_use_semaphore(unsigned long ms)
{
	down(&locks_semaphore);
	locks_hold(ms);
	up(&locks_semaphore);
}

static noinline void locks_use_rt_mutex(unsigned long ms)
{
	rt_mutex_lock(&locks_rt_mutex);
	locks_hold(ms);
	rt_mutex_unlock(&locks_rt_mutex);
}

static noinline void locks_read_percpu(unsigned long ms)
{
	percpu_down_read(&locks_percpu);
	locks_hold(ms);
	percpu_up_read(&locks_percpu);
}

static noinline void locks_write_percpu(unsigned long ms)
{
	percpu_down_write(&locks_percpu);
	locks_hold(ms);
	percpu_up_write(&locks_percpu);
}

/* rtnl_mutex, static data of the kernel */
static noinline void locks_use_rtnl(unsigned long ms)
{
	rtnl_lock();
	locks_hold(ms);
	rtnl_unlock();
}

/* The mmap_lock of the process that asks. */
static noinline void locks_write_mmap(unsigned long ms)
{
	mmap_write_lock(current->mm);
	locks_hold(ms);
	mmap_write_unlock(current->mm);
}

static long locks_ioctl(struct file *file, unsigned int request, unsigned long ms)
{
	if (ms > 10000)
		return -EINVAL;
	switch (request) {
	case LOCKS_SEMAPHORE:
		locks_use_semaphore(ms);
		return 0;
	case LOCKS_RT_MUTEX:
		locks_use_rt_mutex(ms);
		return 0;
	case LOCKS_PERCPU_READ:
		locks_read_percpu(ms);
		return 0;
	case LOCKS_PERCPU_WRITE:
		locks_write_percpu(ms);
		return 0;
	case LOCKS_RTNL:
		locks_use_rtnl(ms);
		return 0;
	case LOCKS_MMAP_WRITE:
		locks_write_mmap(ms);
		return 0;
	}
	return -ENOTTY;
}

static const struct proc_ops locks_ops = { .proc_ioctl = locks_ioctl };

static int __init locks_start(void)
{
	sema_init(&locks_semaphore, 1);
	return proc_create("xtop-locks", 0600, NULL, &locks_ops) ? 0 : -ENOMEM;
}

static void __exit locks_stop(void)
{
	remove_proc_entry("xtop-locks", NULL);
}

module_init(locks_start);
module_exit(locks_stop);
MODULE_DESCRIPTION("Locks to wait for");
MODULE_LICENSE("GPL");
