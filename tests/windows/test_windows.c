/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows, as os.c asks for it: made.dll in made-up memory stands for the kernel, a driver and a
 * program. The kernel is found by a vCPU's registers, the others by what a sample has.
 */
#include "config.h"

#include "made_dll.h"
#include "tests/support/made_memory.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define KERNEL UINT64_C(0xfffff80000400000)
#define DRIVER UINT64_C(0xfffff80010000000)
#define USER   UINT64_C(0x00007ff700000000)
#define STACK  UINT64_C(0xfffffb0000100000)

#define SECOND_NS 1000000000ULL

struct fixture {
	struct made_memory *made;
	struct memory_root root;
	uint8_t dll[DLL_BYTES];
	struct os_guest guest;
	void *windows;
};

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack head;
	uint64_t words[64];
} record;

static void map_image(struct fixture *fixture, uint64_t address)
{
	for (unsigned at = 0; at < DLL_BYTES; at += GUEST_PAGE_SIZE)
		made_put(fixture->made, fixture->root, address + at, fixture->dll + at,
			 GUEST_PAGE_SIZE);
}

static struct registers registers_at(struct fixture *fixture, uint64_t rip)
{
	return (struct registers){ .rip = rip, .rsp = STACK, .cr3 = fixture->root.cr3 };
}

static void *find(struct fixture *fixture, uint64_t rip)
{
	const struct registers regs = registers_at(fixture, rip);
	struct linux_stacks stacks = { .current_per_cpu = 0 };

	memory_refresh(made_memory(fixture->made));
	return windows_os.find(&fixture->guest, &regs, &stacks);
}

static struct os_task sample(struct fixture *fixture, uint64_t rip, bool user, uint64_t now_ns)
{
	struct os_task task = { .process = NULL };

	record.vcpu = (struct sample_vcpu){ .n_stacks = 1,
					    .user = user,
					    .regs = registers_at(fixture, rip) };
	record.head = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(record.words) };
	windows_os.find_task(fixture->windows, &record.vcpu, now_ns, &task);
	return task;
}

static bool has_name(const struct space *space, uint64_t address, const char *name)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	return space && space_find_symbol(space, address, &entry, &mapping) &&
	       strcmp(entry.name, name) == 0 && strcmp(mapping->image->name, "made.dll") == 0;
}

static void test_find(struct fixture *fixture)
{
	check(!find(fixture, KERNEL + DLL_SAVES), "no Windows is found in an empty memory");
	map_image(fixture, KERNEL);
	check(!find(fixture, 0x401000), "a vCPU in user code shows no kernel");
	check(!find(fixture, KERNEL + DLL_BYTES + 8), "no Windows is found after an image");
	fixture->windows = find(fixture, KERNEL + DLL_SAVES + 4);
	if (!check(fixture->windows, "Windows is found by the image around rip"))
		exit(1);
	check(has_name(fixture->guest.kernel, KERNEL + DLL_SAVES + 4, "made_saves"),
	      "the kernel's exports have their names");
	check(windows_os.is_there(fixture->windows), "the kernel that was found is there");
}

/* A page of the kernel between the header and rip is not there. */
static void test_hole(struct fixture *fixture)
{
	struct os_description description = { .system = "" };

	windows_os.describe(fixture->windows, &description);
	check(strcmp(description.system, "Windows: made.dll") == 0 && description.notes[0][0],
	      "the system is described as %s", description.system);
	windows_os.destroy(fixture->windows);
	made_unmap(fixture->made, fixture->root, KERNEL + DLL_PDATA, GUEST_PAGE_SIZE);
	fixture->windows = find(fixture, KERNEL + DLL_EDATA);
	check(fixture->windows && has_name(fixture->guest.kernel, KERNEL + DLL_LEAF, "made_leaf"),
	      "a page that is missing between header and rip does no harm");
	windows_os.destroy(fixture->windows);
	map_image(fixture, KERNEL);
	fixture->windows = find(fixture, KERNEL + DLL_SAVES);
}

static void test_samples(struct fixture *fixture)
{
	struct os_task task;

	map_image(fixture, DRIVER);
	map_image(fixture, USER);
	memory_refresh(made_memory(fixture->made));
	sample(fixture, KERNEL + DLL_SAVES, false, SECOND_NS);
	check(!space_find(fixture->guest.kernel, DRIVER),
	      "a driver is unknown before a stack leads to it");
	record.words[3] = DRIVER + DLL_XMM + 5;
	sample(fixture, KERNEL + DLL_SAVES, false, 2 * SECOND_NS);
	check(has_name(fixture->guest.kernel, DRIVER + DLL_XMM, "made_xmm"),
	      "a driver is found by a word of the stack");
	task = sample(fixture, USER + DLL_ALLOCA, true, 3 * SECOND_NS);
	check(has_name(task.user, USER + DLL_ALLOCA, "made_alloca"), "a program is found by rip");
	check(!space_find(fixture->guest.kernel, USER + DLL_ALLOCA),
	      "a program is not in the kernel's space");
}

/* made_saves() has been interrupted in its prolog, called by hidden code of the driver. */
static void test_chain(struct fixture *fixture)
{
	static struct unwind_stack stack;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(fixture->guest.kernel) };

	memset(record.words, 0, sizeof(record.words));
	record.words[2] = DRIVER + DLL_XMM + 0x14; /* after two pushes */
	record.words[3 + 8 + 1] = KERNEL + DLL_OUTER + 0xb; /* made_xmm() has 0x40 bytes, and a push */
	sample(fixture, KERNEL + DLL_SAVES + 4, false, 4 * SECOND_NS);
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 3 && stack.frames[1].address == DRIVER + DLL_XMM + 0x14 &&
		      stack.frames[1].by == UNWIND_BY_SEH &&
		      stack.frames[2].address == KERNEL + DLL_OUTER + 0xb,
	      "the chain leads from the kernel through the driver to the kernel: %u frames",
	      stack.n_frames);
	for (unsigned i = 0; i < stack.n_frames; i++)
		printf("# %llx\n", (unsigned long long)stack.frames[i].address);
}

/* Looking again and again for what is not there would cost dom0's time. */
static void test_refused(struct fixture *fixture)
{
	struct memory_counts before, after;

	record.words[0] = UINT64_C(0xfffff80030000000);
	made_map(fixture->made, fixture->root, record.words[0] - (1 << 20), 1 << 20, MADE_READ);
	memory_refresh(made_memory(fixture->made));
	sample(fixture, KERNEL + DLL_SAVES, false, 20 * SECOND_NS);
	memory_refresh(made_memory(fixture->made));
	before = memory_counts(made_memory(fixture->made));
	for (unsigned i = 0; i < 100; i++)
		sample(fixture, KERNEL + DLL_SAVES, false, 21 * SECOND_NS + i);
	after = memory_counts(made_memory(fixture->made));
	check(after.pages == before.pages, "an address without an image is searched once");
}

static void test_gone(struct fixture *fixture)
{
	made_unmap(fixture->made, fixture->root, KERNEL, GUEST_PAGE_SIZE);
	memory_refresh(made_memory(fixture->made));
	check(!windows_os.is_there(fixture->windows), "a kernel whose header is gone is not there");
	windows_os.destroy(fixture->windows);
	check(!space_find(fixture->guest.kernel, KERNEL + DLL_SAVES),
	      "the kernel's space is empty at the end");
}

int main(void)
{
	static struct fixture fixture;

	dll_map(fixture.dll);
	fixture.made = made_create();
	fixture.root = made_root(fixture.made);
	fixture.guest = (struct os_guest){ .memory = made_memory(fixture.made),
					   .type = GUEST_HVM,
					   .debug.root_fd = -1 };
	must(space_create(&fixture.guest.kernel));
	test_find(&fixture);
	test_hole(&fixture);
	test_samples(&fixture);
	test_chain(&fixture);
	test_refused(&fixture);
	test_gone(&fixture);
	space_destroy(fixture.guest.kernel);
	made_destroy(fixture.made);
	return tap_done();
}
