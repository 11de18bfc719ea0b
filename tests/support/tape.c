/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept reads of a process; see tape.h. */
#include "config.h"

#include "tests/support/tape.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/live_memory.h"
#include "tests/support/must.h"
#include "xtop/elf/elf.h"

#define TAPE_MAX_PAGES 512
#define TAPE_MAX_FRAMES  256
#define TAPE_STACK_BYTES 65536
#define TAPE_RUN_BYTES 256 /* bytes in one line, at most */
#define TAPE_GAP       8   /* so many zeros in a row end a line */

struct tape_page {
	char space; /* 'f', 'm' or 's' */
	uint64_t number;
	uint8_t bytes[GUEST_PAGE_SIZE]; /* bytes that were not read are 0 */
};

struct tape {
	struct tape_page pages[TAPE_MAX_PAGES];
	size_t n_pages;
	int file; /* the runtime's file, while the tape is made */
	struct bytes bytes;
	char program[64], name[256], told[8192];
	uint64_t stack_pointer; /* 0: no stack is kept */
	struct runtime_native frames[TAPE_MAX_FRAMES];
	size_t n_frames;
	/* what a reader of the tape gets: a vCPU with the stack */
	struct {
		struct sample_vcpu head;
		struct sample_stack stack;
		char bytes[TAPE_STACK_BYTES];
	} vcpu;
};

static struct tape_page *tape_find(struct tape *tape, char space, uint64_t number)
{
	for (size_t i = 0; i < tape->n_pages; i++)
		if (tape->pages[i].space == space && tape->pages[i].number == number)
			return &tape->pages[i];
	return NULL;
}

/* Keeps N bytes at AT of SPACE, which lie in one page. */
static void tape_keep(struct tape *tape, char space, uint64_t at, const void *bytes, size_t n)
{
	struct tape_page *page = tape_find(tape, space, at >> GUEST_PAGE_SHIFT);

	if (!page && tape->n_pages == TAPE_MAX_PAGES)
		abort();
	if (!page) {
		page = &tape->pages[tape->n_pages++];
		page->space = space;
		page->number = at >> GUEST_PAGE_SHIFT;
	}
	memcpy(page->bytes + (at & GUEST_PAGE_MASK), bytes, n);
}

/* How many of N bytes at AT lie in the page of the first byte. */
static size_t tape_piece(uint64_t at, size_t n)
{
	size_t in_page = GUEST_PAGE_SIZE - (at & GUEST_PAGE_MASK);

	return n < in_page ? n : in_page;
}

static void tape_find_runtime(struct tape *tape, struct live_process *process)
{
	static const struct elf_limits limits = { .symbols = 1 << 20,
						  .sections = 4096,
						  .lenient = true };
	struct elf_file file = { 0 };

	must(elf_file_init_guest(&file, &tape->bytes, tape->name, &limits));
	process->runtime = runtime_find(&file, tape->name);
	elf_file_deinit(&file);
}

/* --- making ----------------------------------------------------------------------------------- */

static size_t tape_read_file(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct tape *tape = context;
	ssize_t n = pread(tape->file, buffer, size_bytes, (off_t)offset);

	for (size_t done = 0, piece; n > 0 && done < (size_t)n; done += piece) {
		piece = tape_piece(offset + done, (size_t)n - done);
		tape_keep(tape, 'f', offset + done, (char *)buffer + done, piece);
	}
	return n > 0 ? (size_t)n : 0;
}

/* Frames of page tables are made up, and lie above all pages of user memory. */
static void tape_use(void *context, frame_t frame, const void *page, size_t offset,
		     size_t size_bytes)
{
	if (frame.value >> 35)
		return;
	tape_keep(context, 'm', (frame.value << GUEST_PAGE_SHIFT) + offset,
		  (const char *)page + offset, size_bytes);
}

struct tape *tape_start(struct live_process *process)
{
	struct tape *tape = calloc(1, sizeof(*tape));

	if (!tape)
		abort();
	tape->file = open(process->file, O_RDONLY | O_CLOEXEC);
	tape->bytes = (struct bytes){ tape_read_file, tape, UINT64_MAX };
	snprintf(tape->name, sizeof(tape->name), "%.255s", strrchr(process->file, '/') + 1);
	runtime_destroy(process->runtime);
	tape_find_runtime(tape, process);
	memory_set_watcher(process->memory,
			   &(struct memory_watcher){ .use = tape_use, .context = tape });
	return tape;
}

void tape_keep_stack(struct tape *tape, const struct sample_vcpu *vcpu, uint64_t end,
		     const struct runtime_native *frames, size_t n)
{
	const struct sample_stack *stack = sample_first_stack(vcpu);
	uint64_t left = stack->size_bytes;

	if (end - stack->address < left)
		left = end - stack->address;
	tape->stack_pointer = stack->address;
	for (uint64_t done = 0, piece; done < left; done += piece) {
		piece = tape_piece(stack->address + done, left - done);
		tape_keep(tape, 's', stack->address + done, (const char *)(stack + 1) + done,
			  piece);
	}
	tape->n_frames = n < TAPE_MAX_FRAMES ? n : TAPE_MAX_FRAMES;
	memcpy(tape->frames, frames, tape->n_frames * sizeof(*frames));
}

static void tape_write_frames(FILE *out, const struct tape *tape)
{
	fprintf(out, "stack %llx\n", (unsigned long long)tape->stack_pointer);
	for (size_t i = 0; i < tape->n_frames; i++) {
		const struct runtime_native *frame = &tape->frames[i];

		fprintf(out, "frame %llx %llx %d%d%d %llx\n", (unsigned long long)frame->address,
			(unsigned long long)frame->frame_pointer, frame->interrupted,
			frame->compiled, frame->linked, (unsigned long long)frame->vcpu->regs.rdi);
	}
}

/* How many bytes of PAGE from I on make a line: up to the last byte before a gap of zeros. */
static size_t tape_count_run(const struct tape_page *page, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; i + k < GUEST_PAGE_SIZE && k < TAPE_RUN_BYTES && k < n + TAPE_GAP; k++)
		if (page->bytes[i + k])
			n = k + 1;
	return page->bytes[i] ? n : 0;
}

/* Writes the bytes of PAGE that were read and are not 0, and one byte at least. */
static void tape_write_page(FILE *out, const struct tape_page *page)
{
	bool any = false;

	for (size_t i = 0; i < GUEST_PAGE_SIZE; i++) {
		size_t n = tape_count_run(page, i);

		if (!n)
			continue;
		fprintf(out, "%c %llx ", page->space,
			(unsigned long long)(page->number << GUEST_PAGE_SHIFT) + i);
		for (size_t k = 0; k < n; k++)
			fprintf(out, "%02x", page->bytes[i + k]);
		fprintf(out, "\n");
		i += n - 1;
		any = true;
	}
	if (!any)
		fprintf(out, "%c %llx 00\n", page->space,
			(unsigned long long)page->number << GUEST_PAGE_SHIFT);
}

void tape_stop(struct tape *tape, struct live_process *process, const char *folder,
	       const char *program, const char *told)
{
	char path[512], *comma;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.tape", folder, program);
	comma = strstr(path, ", "); /* "node12, interpreted" */
	if (comma)
		memmove(comma, comma + 1, strlen(comma));
	if (comma)
		*comma = '-';
	out = fopen(path, "we");
	if (!out)
		abort();
	fprintf(out, "program %s\nfile %s\nbias %llx\nthread %llx\n", program, tape->name,
		(unsigned long long)process->bias, (unsigned long long)process->thread_pointer);
	for (const char *line = told; *line; line += strcspn(line, "\n") + 1)
		fprintf(out, "told %.*s\n", (int)strcspn(line, "\n"), line);
	if (tape->stack_pointer)
		tape_write_frames(out, tape);
	for (size_t i = 0; i < tape->n_pages; i++)
		tape_write_page(out, &tape->pages[i]);
	fclose(out);
	close(tape->file);
	memory_destroy(process->memory);
	process->memory = NULL;
	free(tape);
}

/* --- reading ---------------------------------------------------------------------------------- */

static size_t tape_read_kept(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		size_t piece = tape_piece(offset + done, size_bytes - done);
		const struct tape_page *page =
			tape_find(context, 'f', (offset + done) >> GUEST_PAGE_SHIFT);

		if (!page)
			break;
		memcpy((char *)buffer + done, page->bytes + ((offset + done) & GUEST_PAGE_MASK),
		       piece);
		done += piece;
	}
	return done;
}

static bool tape_read_page(void *context, uint64_t number, void *bytes)
{
	const struct tape_page *page = tape_find(context, 'm', number);

	if (page)
		memcpy(bytes, page->bytes, GUEST_PAGE_SIZE);
	return page;
}

static void tape_read_bytes(struct tape *tape, char space, uint64_t at, const char *digits)
{
	uint8_t bytes[TAPE_RUN_BYTES];
	unsigned byte;
	size_t n = 0;

	while (n < sizeof(bytes) && sscanf(digits + 2 * n, "%2x", &byte) == 1)
		bytes[n++] = (uint8_t)byte;
	tape_keep(tape, space, at, bytes, n);
}

static void tape_read_frame(struct tape *tape, const char *line)
{
	unsigned long long address, frame_pointer, rdi;
	char flags[4];

	if (tape->n_frames == TAPE_MAX_FRAMES ||
	    sscanf(line, "frame %llx %llx %3s %llx", &address, &frame_pointer, flags, &rdi) != 4)
		return;
	tape->vcpu.head.regs.rdi = rdi;
	tape->frames[tape->n_frames++] = (struct runtime_native){
		.vcpu = &tape->vcpu.head,
		.address = address,
		.frame_pointer = frame_pointer,
		.interrupted = flags[0] == '1',
		.compiled = flags[1] == '1',
		.linked = flags[2] == '1',
	};
}

/* Makes the vCPU's copied stack out of the pages of the stack that the tape has. */
static void tape_make_stack(struct tape *tape)
{
	uint64_t start = tape->stack_pointer;

	tape->vcpu.head.n_stacks = 1;
	tape->vcpu.stack =
		(struct sample_stack){ .address = start, .size_bytes = TAPE_STACK_BYTES };
	for (size_t done = 0, piece; done < TAPE_STACK_BYTES; done += piece) {
		const struct tape_page *page =
			tape_find(tape, 's', (start + done) >> GUEST_PAGE_SHIFT);

		piece = tape_piece(start + done, TAPE_STACK_BYTES - done);
		if (page)
			memcpy(tape->vcpu.bytes + done,
			       page->bytes + ((start + done) & GUEST_PAGE_MASK), piece);
	}
}

static void tape_read_line(struct tape *tape, struct live_process *process, const char *line)
{
	size_t length = strlen(tape->told);
	unsigned long long at;
	int digits;
	char space;

	if (strncmp(line, "told ", 5) == 0)
		snprintf(tape->told + length, sizeof(tape->told) - length, "%s", line + 5);
	else if (strncmp(line, "frame ", 6) == 0)
		tape_read_frame(tape, line);
	else if (sscanf(line, "stack %llx", &at) == 1)
		tape->stack_pointer = at;
	else if (sscanf(line, "%c %llx %n", &space, &at, &digits) == 2)
		tape_read_bytes(tape, space, at, line + digits);
	else if (sscanf(line, "bias %llx", &at) == 1)
		process->bias = at;
	else if (sscanf(line, "thread %llx", &at) == 1)
		process->thread_pointer = at;
	else if (sscanf(line, "file %255s", tape->name) != 1)
		sscanf(line, "program %63[^\n]", tape->program);
}

bool tape_open(const char *path, struct live_process *process, struct tape **tapep)
{
	struct tape *tape = calloc(1, sizeof(*tape));
	FILE *in = fopen(path, "re");
	char line[1024];

	*process = (struct live_process){ .memory_fd = -1 };
	if (!tape || !in)
		abort();
	while (fgets(line, sizeof(line), in))
		tape_read_line(tape, process, line);
	fclose(in);
	*tapep = tape;
	if (!tape->n_pages)
		return false;
	if (tape->stack_pointer)
		tape_make_stack(tape);
	tape->bytes = (struct bytes){ tape_read_kept, tape, UINT64_MAX };
	tape_find_runtime(tape, process);
	must(live_memory_create(tape_read_page, tape, &process->memory, &process->root));
	return process->runtime;
}

const char *tape_program(const struct tape *tape)
{
	return tape->program;
}

const char *tape_told(const struct tape *tape)
{
	return tape->told;
}

size_t tape_frames(struct tape *tape, const struct runtime_native **framesp)
{
	*framesp = tape->frames;
	return tape->n_frames;
}

void tape_close(struct tape *tape, struct live_process *process)
{
	memory_destroy(process->memory);
	runtime_destroy(process->runtime);
	free(tape);
}
