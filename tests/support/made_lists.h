/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A linux_guest with made memory, for tests of code that walks a kernel's lists. The memory has
 * only what a test puts there. made_linux_set() gives members their offsets.
 */
#ifndef TESTS_MADE_LINUX_H
#define TESTS_MADE_LINUX_H

#include "linux/kernel/linux_guest.h"
#include "made_memory.h"

struct made_linux {
	struct made_memory *made;
	struct linux_guest guest;
};

static inline void made_linux_init(struct made_linux *made_linux)
{
	made_linux->made = made_create();
	made_linux->guest = (struct linux_guest){
		.memory = made_memory(made_linux->made),
		.type = GUEST_PVH,
		.root = made_root(made_linux->made),
		.has_layout = true,
	};
	for (int i = 0; i < LAYOUT_MEMBERS; i++)
		made_linux->guest.layout.values[i] = -1;
}

static inline void made_linux_deinit(struct made_linux *made_linux)
{
	made_destroy(made_linux->made);
}

static inline void made_linux_set(struct made_linux *made_linux, enum layout_member member,
				  int32_t value)
{
	made_linux->guest.layout.values[member] = value;
}

static inline void made_linux_u64(struct made_linux *made_linux, uint64_t address, uint64_t value)
{
	made_put_u64(made_linux->made, made_linux->guest.root, address, value);
}

static inline void made_linux_u32(struct made_linux *made_linux, uint64_t address, uint32_t value)
{
	made_put_u32(made_linux->made, made_linux->guest.root, address, value);
}

static inline void made_linux_string(struct made_linux *made_linux, uint64_t address,
				     const char *string)
{
	made_put_string(made_linux->made, made_linux->guest.root, address, string);
}

#endif
