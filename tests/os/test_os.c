/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The task of a sample and its code, as os_find_task() finds them: of a process that is there, and of
 * one that had gone before it could be read. linux_attach() is replaced: the guest's structures are
 * made by hand (tests/support/made_linux.h).
 */
#include "config.h"

#include <stdlib.h>

#include "linux/kernel/linux_attach.h"
#include "linux/process/page_cache.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/os/os.h"
#include "xtop/profile/snapshot.h"

#define PAGE      GUEST_PAGE_SIZE
#define BASE      0x55d000000000ULL
#define ELSEWHERE 0x561234567000ULL
#define FUNCTION  (PROGRAM_FUNCTION - PROGRAM_TEXT)
#define GONE      0xffffb00000000000ULL /* address of a task_struct that is not mapped */

static struct made_linux *made;
struct fixture {
	struct control *control;
	struct os *os;
	struct program program;
	uint64_t exe, lib, mm, task_address;
};

static bool unknown; /* the guest runs no system that is known */
static unsigned n_looks;

/* --- stand-in for linux_attach.c -------------------------------------------------------------- */

bool linux_attach(const struct os_guest *guest, const struct registers *regs,
		  struct linux_kernel *kernel)
{
	(void)guest, (void)regs;
	n_looks++;
	if (unknown)
		return false;
	*kernel = (struct linux_kernel){ .guest = made->guest, .release = "6.1.0" };
	kernel->guest.text_start = 0xffffffff81000000;
	kernel->guest.text_end = 0xffffffff82000000;
	kernel->guest.symbols[LINUX_CURRENT_TASK] = 0x1000;
	return !image_create("[kernel]", &kernel->image);
}

bool linux_is_there(const struct linux_kernel *kernel)
{
	(void)kernel;
	return true;
}

enum os_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu)
{
	(void)kernel, (void)vcpu;
	return OS_RUNS;
}

bool linux_names_no_data(const struct linux_guest *guest)
{
	(void)guest;
	return false;
}

void linux_detach(struct linux_kernel *kernel)
{
	image_unref(kernel->image);
	*kernel = (struct linux_kernel){ .image = NULL };
}

/* --- the guest -------------------------------------------------------------------------------- */

static struct sample_vcpu sample_of(uint64_t task, uint64_t cr3, uint64_t rip)
{
	return (struct sample_vcpu){ .size_bytes = sizeof(struct sample_vcpu),
				     .state = VCPU_RUNNING,
				     .user = 1,
				     .task = task,
				     .regs = { .rip = rip, .cr3 = cr3 } };
}

/* One process that was sampled once: its program and its library are known. */
static void begin(struct fixture *fixture)
{
	struct vma areas[] = {
		{ BASE, BASE + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
		{ BASE + 4 * PAGE, BASE + 5 * PAGE, VMA_READ | VMA_EXEC, 1, 0 },
	};
	struct os_settings settings = { .type = GUEST_PV };
	struct sample_vcpu vcpu;
	struct os_task task;

	made = made_linux_create(MADE_TREE);
	program_make(&fixture->program, 0, "serve", 1);
	areas[0].file = fixture->exe =
		made_file(made, "/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	program_make(&fixture->program, 0, "helper", 2);
	areas[1].file = fixture->lib =
		made_file(made, "/lib/libhelp.so", fixture->program.bytes, PROGRAM_BYTES);
	fixture->mm = made_mm(made, areas, 2);
	fixture->task_address = made_task(made, 50, 50, "server", fixture->mm, 0);
	must(control_create(&fixture->control));
	settings.memory = made->guest.memory;
	settings.control = fixture->control;
	must(os_create(&settings, &fixture->os));
	vcpu = sample_of(fixture->task_address, made_mm_root(made, fixture->mm).cr3,
			 BASE + FUNCTION);
	os_update(fixture->os, &vcpu, clock_now_ns());
	if (!os_is_known(fixture->os))
		exit(99);
	os_find_task(fixture->os, &vcpu, clock_now_ns(), &task);
}

static void end(struct fixture *fixture)
{
	os_destroy(fixture->os);
	control_destroy(fixture->control);
	made_linux_destroy(made);
}

static frame_t frame_of(uint64_t file)
{
	struct page_cache cache;
	frame_t frame = FRAME(0);

	memory_refresh(made->guest.memory);
	if (!page_cache_init(&cache, &made->guest, made_inode_of(made, file)) ||
	    !page_cache_find_frame(&cache, 1, &frame))
		exit(99);
	return frame;
}

/* Process and function of a sample. */
static const char *says(struct fixture *fixture, const struct sample_vcpu *vcpu)
{
	static char text[64];
	const struct mapping *mapping;
	struct symtab_entry entry;
	struct os_task task;

	os_find_task(fixture->os, vcpu, clock_now_ns(), &task);
	snprintf(text, sizeof(text), "%s %s", task.process,
		 task.user && space_find_symbol(task.user, vcpu->regs.rip, &entry, &mapping)
			 ? entry.name
			 : "-");
	return text;
}

static void test_there(struct fixture *fixture)
{
	struct sample_vcpu vcpu;

	begin(fixture);
	vcpu = sample_of(fixture->task_address, made_mm_root(made, fixture->mm).cr3,
			 BASE + FUNCTION);
	check_string(says(fixture, &vcpu), "server serve", "code of a known area is found");
	sample_set_frame(&vcpu, frame_of(fixture->exe));
	check_string(says(fixture, &vcpu), "server serve",
		     "code of a known area is found although the frame is known");
	vcpu.regs.rip = ELSEWHERE + FUNCTION;
	sample_set_frame(&vcpu, FRAME(0));
	check_string(says(fixture, &vcpu), "server -",
		     "code without a known area and a frame is not found");
	sample_set_frame(&vcpu, frame_of(fixture->lib));
	check_string(says(fixture, &vcpu), "server helper",
		     "code without a known area is found by its frame");
	end(fixture);
}

/* The task_struct is gone. */
static void test_gone(struct fixture *fixture)
{
	struct sample_vcpu vcpu;
	struct os_counts counts;
	uint64_t folio, memory;

	begin(fixture);
	vcpu = sample_of(GONE, 0x7777000, ELSEWHERE + FUNCTION);
	check_string(says(fixture, &vcpu), "[unknown] -",
		     "code without a frame, as in old recordings, is not found");
	sample_set_frame(&vcpu, frame_of(fixture->exe));
	check_string(says(fixture, &vcpu), "[unknown] serve", "code is found by its frame");
	os_get_counts(fixture->os, &counts);
	check_u64(counts.code_by_frame, 1, "a sample whose code was found by its frame is counted");
	vcpu.user = 0;
	check_string(says(fixture, &vcpu), "[unknown] -", "kernel code has no frame");
	vcpu.user = 1;
	vcpu.task = 0;
	check_string(says(fixture, &vcpu), "[unknown] serve",
		     "code of an unknown task is found by its frame");
	made_cache_entry(made, made_inode_of(made, fixture->exe), 1, 0);
	check_string(says(fixture, &vcpu), "[unknown] -",
		     "a page that left the page cache gives no stale name");
	folio = made_folio(made, 1, 1, &memory);
	made_cache_entry(made, made_inode_of(made, fixture->exe), 1, folio);
	check_string(says(fixture, &vcpu), "[unknown] -",
		     "a page that is back in another frame gives no name");
	end(fixture);
}

/*
 * The kernel is between two tasks: the registers have the page tables of the next one, which is
 * known, too. The sampler read the user's stack by the task's own.
 */
static void test_switch(struct fixture *fixture)
{
	struct sample_vcpu vcpu, next;
	uint64_t next_mm, next_task, next_cr3;

	begin(fixture);
	next_mm = made_mm(made, NULL, 0);
	next_cr3 = made_mm_root(made, next_mm).cr3;
	next_task = made_task(made, 70, 70, "next", next_mm, 0);
	next = sample_of(next_task, next_cr3, BASE + FUNCTION);
	check_string(says(fixture, &next), "next -",
		     "the next task of a switch has another program");
	vcpu = sample_of(fixture->task_address, next_cr3, BASE + FUNCTION);
	vcpu.user = 0;
	check_string(says(fixture, &vcpu), "server -",
		     "the next task's code is unknown by the tables of the registers");
	sample_set_frame(&vcpu, FRAME(made_mm_root(made, fixture->mm).cr3 >> 12));
	check_string(says(fixture, &vcpu), "server serve",
		     "the next task's code is found by its own tables");
	end(fixture);
}

/* A task that is ending has no mm any more. It had started before the sample. */
static void test_ending(struct fixture *fixture)
{
	struct sample_vcpu vcpu;
	uint64_t other;

	begin(fixture);
	other = made_task(made, 60, 60, "md5sum", 0, 0);
	made_set_u32(made, other, TASK_FLAGS, 0x400004);
	vcpu = sample_of(other, 0x7777000, BASE + FUNCTION);
	check_string(says(fixture, &vcpu), "md5sum -",
		     "an address of a known program in other memory proves nothing");
	sample_set_frame(&vcpu, frame_of(fixture->lib));
	check_string(says(fixture, &vcpu), "md5sum helper",
		     "a frame of a known program proves its code");
	end(fixture);
}

/*
 * At an unknown system ever less often, down to every ten minutes, as long as the page tables are
 * those that were looked at. Others are looked at within a minute.
 */
static void test_looks(struct fixture *fixture)
{
	struct os_settings settings = { .type = GUEST_PV };
	struct sample_vcpu vcpu = sample_of(0, 0x1000, BASE);
	uint64_t second = 1;

	made = made_linux_create(MADE_TREE);
	must(control_create(&fixture->control));
	settings.memory = made->guest.memory;
	settings.control = fixture->control;
	must(os_create(&settings, &fixture->os));
	unknown = true;
	n_looks = 0;
	for (; second <= 120; second++)
		os_update(fixture->os, &vcpu, second * 1000000000);
	check(n_looks >= 5, "%u looks in the first two minutes", n_looks);
	for (; second <= 7200; second++)
		os_update(fixture->os, &vcpu, second * 1000000000);
	check(n_looks <= 20, "%u looks in two hours", n_looks);
	n_looks = 0;
	vcpu.regs.cr3 = 0x2000;
	for (; second <= 7260 && !n_looks; second++)
		os_update(fixture->os, &vcpu, second * 1000000000);
	check(n_looks, "other page tables are looked at within a minute");
	unknown = false;
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_there(&fixture);
	test_gone(&fixture);
	test_switch(&fixture);
	test_ending(&fixture);
	test_looks(&fixture);
	return tap_done();
}
