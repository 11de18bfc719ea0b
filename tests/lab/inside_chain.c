/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See inside_chain.h. */
#include "config.h"

#include "inside_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/kernel/stack_layout.h"
#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "linux/task_finder.h"
#include "sample/copy.h"
#include "tests/support/must.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/control.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define CACHE_PAGES 256

static struct {
	struct sample_vcpu vcpu;
	char bytes[SAMPLE_STACK_LIMIT_BYTES + SAMPLE_MAX_STACKS * sizeof(struct sample_stack)];
} record;

static void *chain_map(void *context, frame_t frame)
{
	void *page = mmap(NULL, GUEST_PAGE_SIZE, PROT_READ, MAP_SHARED, *(int *)context,
			  (off_t)(frame.value << GUEST_PAGE_SHIFT));

	return page == MAP_FAILED ? NULL : page;
}

static void chain_unmap(void *context, void *page)
{
	(void)context;
	munmap(page, GUEST_PAGE_SIZE);
}

static void chain_copy(const struct mapper *mapper, const struct linux_stacks *stacks,
		       const struct registers *regs, bool user)
{
	static struct guest_info info = { .type = GUEST_HVM, .n_vcpus = 1 };
	struct copier copier = { .guest = &info, .now_ns = 1 };
	struct control *control;
	struct copied copied;

	must_or_die(control_create(&control));
	control_set_linux_stacks(control, stacks);
	copier.control = control;
	must_or_die(frame_cache_create(mapper, CACHE_PAGES, FRAME_CACHE_ROUND_NS, &copier.cache));
	copy_poll_stacks(&copier);
	copy_prepare(&copier, regs, user);
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, user, record.bytes, &copied);
	copy_head(&copied, regs, user, 0, VCPU_RUNNING, &record.vcpu);
	frame_cache_destroy(copier.cache);
	control_destroy(control);
}

/* --- the chain as text ------------------------------------------------------------------------ */

struct chain_line {
	char text[8192];
	size_t n;
};

static void chain_add(struct chain_line *line, const char *text)
{
	line->n += (size_t)snprintf(line->text + line->n, sizeof(line->text) - line->n, ";%s",
				    text);
	if (line->n >= sizeof(line->text))
		line->n = sizeof(line->text) - 1;
}

static void chain_add_frame(struct chain_line *line, const struct space *kernel,
			    const struct space *user, const struct unwind_frame *frame)
{
	const struct space *space = frame->flags & FRAME_USER ? user : kernel;
	const struct mapping *mapping;
	struct symtab_entry entry;
	char address[20];

	if (frame->flags & FRAME_BROKEN)
		chain_add(line, "[truncated]");
	if (space && space_find_symbol(space, unwind_frame_code(frame), &entry, &mapping)) {
		chain_add(line, entry.name);
		return;
	}
	snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
	chain_add(line, address);
}

static void chain_put(struct linux_kernel *kernel, const struct space *space,
		      struct chain_line *line)
{
	static const struct processes_settings settings = { .debug.root_fd = -1, .at_once = true };
	static struct unwind_stack stack;
	static struct task_finder finder;
	struct unwind_spaces spaces = { .kernel = space_for_unwind(space) };
	struct os_task task = { .process = NULL };

	finder.guest = finder.stacks.guest = &kernel->guest;
	must_or_die(tasks_create(&kernel->guest, &finder.tasks));
	if (layout_has(&kernel->guest.layout, TASK_MM))
		must_or_die(processes_create(&kernel->guest, &settings, &finder.processes));
	task_finder_find(&finder, &record.vcpu, 1, &task);
	spaces.user = space_for_unwind(task.user);
	spaces.user_whole = task.user;
	spaces.user_ended = task.ended;
	line->n = (size_t)snprintf(line->text, sizeof(line->text), "%s", task.process);
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	if (!unwind_is_rooted(&stack))
		chain_add(line, "[truncated]");
	for (unsigned i = stack.n_frames; i-- > 0;)
		chain_add_frame(line, space, task.user, &stack.frames[i]);
	processes_destroy(finder.processes);
	tasks_destroy(finder.tasks);
}

void inside_read_chain(const struct inside_vcpu *vcpu, void (*put)(void *context, const char *line),
		       void *context)
{
	const struct linux_stacks stacks = stack_layout_build(&vcpu->kernel->guest, vcpu->regs);
	int fd = open(vcpu->memory, O_RDONLY | O_CLOEXEC);
	const struct mapper mapper = { chain_map, chain_unmap, &fd };
	static struct chain_line line;

	if (fd < 0)
		must_or_die(error_create_errno(errno, "cannot open %s", vcpu->memory));
	chain_copy(&mapper, &stacks, vcpu->regs, vcpu->user);
	chain_put(vcpu->kernel, vcpu->space, &line);
	put(context, line.text);
	close(fd);
}
