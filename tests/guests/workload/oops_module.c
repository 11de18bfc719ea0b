// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel module that lets the kernel print what it prints when something is wrong. One of these words
 * is written to /sys/module/oops_module/parameters/make:
 *
 *   warning   a warning, with registers and a call trace
 *   null      a write through a null pointer: an oops, of which the writing task dies
 *
 * oops_store() is inlined into oops_make_null().
 */
#include <linux/module.h>
#include <linux/string.h>

struct oops_place {
	long before[4];
	long value;
};

static __always_inline void oops_store(struct oops_place *place)
{
	WRITE_ONCE(place->value, 1);
}

static noinline void oops_make_null(void)
{
	struct oops_place *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	oops_store(nowhere);
}

static noinline void oops_make_warning(void)
{
	WARN(1, "oops_module: nothing is wrong\n");
}

static int oops_make(const char *word, const struct kernel_param *parameter)
{
	if (sysfs_streq(word, "warning"))
		oops_make_warning();
	else if (sysfs_streq(word, "null"))
		oops_make_null();
	else
		return -EINVAL;
	return 0;
}

static const struct kernel_param_ops oops_ops = { .set = oops_make };

module_param_cb(make, &oops_ops, NULL, 0200);
MODULE_DESCRIPTION("Warnings and oopses");
MODULE_LICENSE("GPL");
