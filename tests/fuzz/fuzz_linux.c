/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel of a Linux guest: its tasks, modules with their symbols and unwind tables, the code it
 * made, what the sampler is told. All structures are the input's, and they change once.
 */
#include "config.h"

#include "guest.h"
#include "os/generated_code.h"
#include "os/modules.h"
#include "os/orc_tables.h"
#include "os/recipe.h"
#include "os/tasks.h"

static void find_tasks(struct fuzz_guest *guest, struct tasks *tasks, struct fuzz *fuzz)
{
	for (unsigned i = 0; i < 4; i++) {
		uint64_t address = FUZZ_GUEST_BASE + fuzz_u16(fuzz);
		const struct task *task = tasks_find(tasks, address, i * TASKS_FRESH_NS / 2);

		if (task)
			fuzz_must(memchr(task->comm, 0, sizeof(task->comm)) &&
					  memchr(task->process, 0, sizeof(task->process)),
				  "names end");
	}
	(void)guest;
}

static void find_orc(struct fuzz_guest *guest)
{
	struct symtab *tab;
	struct orc *orc;

	fuzz_succeed(symtab_create(&tab));
	fuzz_succeed(symtab_seal(tab));
	orc = orc_read_kernel(&guest->linux_guest, tab);
	if (orc)
		orc_find(orc, guest->linux_guest.text_start);
	orc_destroy(orc);
	symtab_destroy(tab);
}

static void put_symbols(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	struct linux_guest *linux_guest = &guest->linux_guest;

	for (int i = 0; i < N_LINUX_SYMBOLS; i++)
		linux_guest->symbols[i] = FUZZ_GUEST_BASE + i * 0x100;
	linux_guest->symbols[fuzz_u8(fuzz) % N_LINUX_SYMBOLS] = fuzz_u64(fuzz);
	linux_guest->symbols[LINUX_ORC_IP_STOP] =
		linux_guest->symbols[LINUX_ORC_IP_START] + fuzz_u16(fuzz);
	linux_guest->text_start = FUZZ_GUEST_BASE;
	linux_guest->text_end = FUZZ_GUEST_BASE + 0x10000;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct registers regs = { .rip = FUZZ_GUEST_BASE };
	struct generated_code *code;
	struct tasks *tasks = NULL;
	struct modules *modules;
	struct space *space;

	fuzz_guest_layout(guest, &fuzz);
	put_symbols(guest, &fuzz);
	fuzz_succeed(space_create(&space));
	fuzz_succeed(modules_create(&guest->linux_guest, space, &modules));
	fuzz_succeed(generated_code_create(&guest->linux_guest, space, &code));
	error_destroy(tasks_create(&guest->linux_guest, &tasks));
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			guest->pool[fuzz_u16(&fuzz) % (FUZZ_GUEST_BYTES / 8)] = FUZZ_GUEST_BASE;
		else
			fuzz_guest_fill(guest, &fuzz);
		memory_refresh(guest->memory);
		find_orc(guest);
		modules_poll(modules);
		generated_code_poll(code);
		if (tasks)
			find_tasks(guest, tasks, &fuzz);
		recipe_make(&guest->linux_guest, &regs);
	}
	fuzz_must(modules_count(modules) <= MODULES_MAX, "modules are limited");
	modules_destroy(modules);
	generated_code_destroy(code);
	tasks_destroy(tasks);
	space_destroy(space);
	return 0;
}
