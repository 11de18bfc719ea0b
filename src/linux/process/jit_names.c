/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds and reads /tmp/perf-PID.map, where JIT compilers write names on request; see jit_names.h.
 * The file is looked up in the directory entries that the kernel has in memory, below the process's
 * own root directory, as other tools do. Resolver's thread; the guest runs meanwhile.
 */
#include "config.h"

#include "linux/process/jit_names.h"

#include <inttypes.h>
#include <stdio.h>

#include "linux/kernel/member.h"
#include "linux/process/backoff.h"
#include "linux/process/path.h"
#include "linux/process/perf_map.h"
#include "linux/process/pids.h"

/* delay to the next look at a map, and the first delay of a search for one */
#define JIT_NAMES_RETRY_NS 1000000000ULL
/* longest delay between two searches for a map */
#define JIT_NAMES_MAX_RETRY_NS (16 * JIT_NAMES_RETRY_NS)

void jit_names_deinit(struct jit_names *names, struct memory_budget *budget)
{
	image_unref(names->image);
	memory_budget_charge(budget, &names->charged_bytes, 0);
	*names = (struct jit_names){ 0 };
}

/* The process's pid in its own pid namespace: the compiler knows no other pid. */
static uint32_t jit_names_read_pid(const struct linux_guest *guest, const struct task *task)
{
	uint64_t leader, pid, upid;
	uint32_t level, number;

	if (!member_read_pointer(guest, task->address, TASK_GROUP_LEADER, &leader) ||
	    !member_read_pointer(guest, leader, TASK_THREAD_PID, &pid) ||
	    !member_read_u32(guest, pid, PID_LEVEL, &level) ||
	    !(upid = pids_find_upid(guest, pid, level)) ||
	    !member_read_u32(guest, upid, UPID_NR, &number))
		return task->tgid;
	return number;
}

/* Finds the map's page cache and identity. The map may have grown, or be another file. */
static bool jit_names_find_map(const struct linux_guest *guest, const struct task *task,
			       struct page_cache *cache, struct file_identity *identity)
{
	char name[32];
	uint64_t inode;

	snprintf(name, sizeof(name), "/tmp/perf-%" PRIu32 ".map", jit_names_read_pid(guest, task));
	return path_find_file(guest, task->address, name, &inode) &&
	       page_cache_init(cache, guest, inode) && file_identity_read(guest, inode, identity);
}

/* Reads the map. *IMAGEP is untouched if the map has no names. */
static struct xtop_error *jit_names_read(struct page_cache *cache, struct image **imagep)
{
	struct bytes bytes = page_cache_bytes(cache);
	struct symtab *tab = NULL;
	struct xtop_error *error = perf_map_read(&bytes, memory_work(cache->guest->memory), &tab);

	if (error || !tab)
		return error;
	error = image_create("[jit]", imagep);
	if (error)
		symtab_destroy(tab);
	else
		(*imagep)->symtab = tab;
	return error;
}

/* Replaces the names. If the map has no names, or if memory is out, the old names stay. */
static void jit_names_replace(struct jit_names *names, struct memory_budget *budget,
			      struct page_cache *cache)
{
	struct image *image = NULL;

	error_destroy(jit_names_read(cache, &image));
	if (!image)
		return;
	image_unref(names->image);
	names->image = image;
	memory_budget_charge(budget, &names->charged_bytes, image_memory_bytes(image));
}

bool jit_allowance_charge(struct jit_allowance *allowance, uint64_t size_bytes, uint64_t now_ns)
{
	if (now_ns - allowance->since_ns >= JIT_NAMES_RETRY_NS)
		*allowance = (struct jit_allowance){ .since_ns = now_ns };
	if (allowance->bytes >= JIT_NAMES_MAX_BYTES)
		return false;
	allowance->bytes += size_bytes < PERF_MAP_MAX_BYTES ? size_bytes : PERF_MAP_MAX_BYTES;
	return true;
}

bool jit_names_poll(struct jit_names *names, const struct linux_guest *guest,
		    struct memory_budget *budget, struct jit_allowance *allowance,
		    const struct task *task, uint64_t now_ns)
{
	struct file_identity identity;
	struct page_cache cache;
	bool found, has_budget;

	if (now_ns < names->due_ns)
		return true;
	found = jit_names_find_map(guest, task, &cache, &identity);
	names->retry_delay_ns = found ? JIT_NAMES_RETRY_NS
				      : backoff_next_ns(names->retry_delay_ns, JIT_NAMES_RETRY_NS,
							JIT_NAMES_MAX_RETRY_NS);
	names->due_ns = now_ns + names->retry_delay_ns;
	if (!found || file_identity_equal(&identity, &names->identity) ||
	    !jit_allowance_charge(allowance, identity.size_bytes, now_ns))
		return true;
	names->identity = identity;
	has_budget = !memory_budget_is_full(budget);
	if (has_budget)
		jit_names_replace(names, budget, &cache);
	return has_budget;
}
