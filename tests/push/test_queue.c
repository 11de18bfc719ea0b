/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of profiles beside a model of it: all that came is delivered, dropped or waits; what
 * waits is the youngest; the order is that of arrival. With a spool and without, and over the end of
 * the process.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "push/queue.h"
#include "push/retry.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define BYTES 10000

static char folder[] = "/tmp/xtop-queue-XXXXXX";

static int open_folder(void)
{
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct queue *open_queue(uint64_t memory, uint64_t spool)
{
	struct xtop_error *warning;
	struct queue *queue;

	must(queue_create(spool ? open_folder() : -1, memory * BYTES, spool * BYTES, &queue,
			  &warning));
	must(warning);
	return queue;
}

static void add(struct queue *queue, uint64_t number)
{
	struct entry *entry = calloc(1, sizeof(*entry) + BYTES);

	entry->profile.from_ns = number;
	entry->size_bytes = BYTES;
	memset(entry->bytes, (int)number, BYTES);
	queue_add(queue, entry);
}

static bool is_whole(const struct entry *entry)
{
	for (size_t i = 0; i < entry->size_bytes; i++)
		if (entry->bytes[i] != (unsigned char)entry->profile.from_ns)
			return false;
	return entry->size_bytes == BYTES;
}

/* A sender that fails now and then, with profiles that come faster than they go. */
static void test_model(uint64_t memory, uint64_t spool)
{
	struct queue *queue = open_queue(memory, spool);
	uint64_t added = 0, popped = 0, before = 0, wrong_sum = 0, wrong_order = 0, torn = 0;
	const struct entry *head = NULL;

	srandom(7);
	for (unsigned step = 0; step < 3000; step++) {
		switch (random() % 5) {
		case 0 ... 2:
			add(queue, ++added);
			break;
		case 3:
			head = queue_peek(queue);
			break;
		case 4:
			if (!head)
				break;
			if (random() % 2) {
				queue_leave(queue);
			} else {
				wrong_order += head->profile.from_ns <= before;
				torn += !is_whole(head);
				before = head->profile.from_ns;
				popped++;
				queue_pop(queue);
			}
			head = NULL;
		}
		wrong_sum += queue_count(queue) + queue_dropped(queue) + popped != added;
	}
	check(popped > 100 && queue_dropped(queue) > 100,
	      "memory %" PRIu64 ", spool %" PRIu64 ": %" PRIu64 " came, %" PRIu64 " went, %" PRIu64
	      " dropped",
	      memory, spool, added, popped, queue_dropped(queue));
	check(!wrong_sum && !wrong_order && !torn,
	      "%" PRIu64 " sums, %" PRIu64 " places, %" PRIu64 " contents are wrong", wrong_sum,
	      wrong_order, torn);
	check(queue_bytes(queue) <= (memory + spool + 2) * (BYTES + sizeof(struct entry)),
	      "%" PRIu64 " bytes wait", queue_bytes(queue));
	queue_leave(queue);
	while ((head = queue_peek(queue))) {
		wrong_order += head->profile.from_ns <= before;
		before = head->profile.from_ns;
		queue_pop(queue);
	}
	check(!wrong_order && before == added, "the youngest profile comes last");
	check_u64(queue_count(queue) + queue_bytes(queue), 0,
		  "profiles and bytes that are left in the queue");
	queue_destroy(queue);
}

static void test_restart(void)
{
	struct queue *queue = open_queue(3, 20);
	const struct entry *head;
	uint64_t wrong = 0;
	int fd;

	for (uint64_t i = 1; i <= 8; i++)
		add(queue, i);
	queue_peek(queue);
	queue_save(queue);
	queue_destroy(queue);
	fd = openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
	check(fchdir(fd) == 0 && truncate("queued-0000000000000002.push", 40) == 0,
	      "a file of the spool is torn");
	close(fd);
	queue = open_queue(3, 20);
	add(queue, 9);
	check_u64(queue_count(queue), 9, "profiles that were left, and one more");
	for (uint64_t i = 1; i <= 9; i++) {
		if (i == 3)
			continue; /* the torn one */
		head = queue_peek(queue);
		wrong += !head || head->profile.from_ns != i || !is_whole(head);
		queue_pop(queue);
	}
	check_u64(wrong, 0, "profiles that are not in order, or not whole, after a restart");
	check(!queue_peek(queue) && queue_dropped(queue) == 1,
	      "the torn profile is dropped and counted");
	queue_destroy(queue);
}

static void test_two(void)
{
	struct queue *first = open_queue(3, 20), *second;
	struct xtop_error *warning;

	must(queue_create(open_folder(), 3 * BYTES, 20 * BYTES, &second, &warning));
	check(warning && strstr(error_message(warning), "another xtop"), "%s",
	      warning ? error_message(warning) : "two queues in one folder");
	error_destroy(warning);
	add(second, 1);
	check(queue_peek(second) && queue_count(second) == 1,
	      "the second queue works without a spool");
	queue_destroy(second);
	queue_destroy(first);
}

/* 1, 2, 4, ... 60 s, of which half is chance; not before the server has asked for. */
static void test_retry(void)
{
	struct retry retry = { 0 };
	double least[8];

	for (unsigned i = 0; i < 8; i++) {
		uint64_t now_ns = 1000000000000;

		retry_fail(&retry, now_ns, 0, 0);
		least[i] = (double)(retry.due_ns - now_ns) / 1e9;
		retry.failures--;
		retry_fail(&retry, now_ns, 0, 1);
		check((double)(retry.due_ns - now_ns) / 1e9 == 2 * least[i],
		      "after %u failures: %g to %g s", i + 1, least[i], 2 * least[i]);
		check(!retry_is_due(&retry, now_ns) && retry_is_due(&retry, retry.due_ns),
		      "due then, and not before");
	}
	check(least[0] == 0.5 && least[1] == 1 && least[5] == 16 && least[6] == 30 && least[7] == 30,
	      "twice as long each time, a minute at most");
	retry_succeed(&retry);
	check(retry_is_due(&retry, 0), "a retry is due at once after success");
	retry_fail(&retry, 0, 40, 0.5);
	check_u64(retry.due_ns, 40500000000,
		  "a retry waits what the server asked for, and a little: ns");
	retry_fail(&retry, 0, UINT64_MAX, 0);
	check_u64(retry.due_ns, 3600000000000, "a retry waits an hour at most: ns");
}

/* The bytes of the spool's files. */
static uint64_t spool_bytes(void)
{
	int fd = open_folder();
	DIR *directory = fdopendir(fd);
	uint64_t sum = 0;
	struct stat status;

	for (struct dirent *file; (file = readdir(directory));)
		if (strncmp(file->d_name, "queued-", 7) == 0 &&
		    fstatat(fd, file->d_name, &status, 0) == 0)
			sum += (uint64_t)status.st_size;
	closedir(directory);
	return sum;
}

/*
 * A day without a server, and then it is back. A guest has a profile every 10 s, 8,640 in all; the
 * spool has room for 3,000. The clock goes on by 10 s at each. The sender is started anew at noon.
 */
static void test_day(void)
{
	enum { PROFILES = 8640, MEMORY = 100, SPOOL = 3000 };
	uint64_t most = SPOOL * (uint64_t)BYTES, largest = 0, now_ns = 0, before, dropped = 0;
	struct queue *queue = open_queue(MEMORY, SPOOL);
	unsigned tries = 0, wrong = 0, sent = 0;
	struct retry retry = { 0 };
	const struct entry *head;

	for (uint64_t i = 1; i <= PROFILES; i++) {
		add(queue, i);
		now_ns += 10000000000;
		for (; retry_is_due(&retry, now_ns) && queue_peek(queue); tries++) {
			retry_fail(&retry, now_ns, 0, (double)(random() % 1000) / 1000);
			queue_leave(queue);
		}
		if (i == PROFILES / 2) {
			queue_save(queue);
			dropped = queue_dropped(queue);
			queue_destroy(queue);
			queue = open_queue(MEMORY, SPOOL);
		}
		if (i % 100 == 0 && spool_bytes() > largest)
			largest = spool_bytes();
	}
	dropped += queue_dropped(queue);
	check(largest <= most && largest > most * 9 / 10,
	      "a day without a server: %" PRIu64 " of %" PRIu64 " bytes in the spool", largest, most);
	check_u64(queue_count(queue) + dropped, PROFILES, "profiles that wait or were dropped");
	check(tries >= 1000 && tries <= 3000, "1000 to 3000 tries are made in a day: %u", tries);
	head = queue_peek(queue);
	before = head ? head->profile.from_ns - 1 : 0;
	check(before >= PROFILES - MEMORY - SPOOL,
	      "the oldest profiles were dropped, up to %" PRIu64, before);
	for (; (head = queue_peek(queue)); sent++) {
		wrong += head->profile.from_ns != ++before || !is_whole(head);
		queue_pop(queue);
	}
	check(!wrong && before == PROFILES, "%u are sent afterwards, in order, %u wrong", sent, wrong);
	check_u64(spool_bytes(), 0, "bytes in the spool after all were sent");
	queue_destroy(queue);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		return 99;
	test_model(4, 0);
	test_model(4, 10);
	test_model(1, 3);
	test_restart();
	test_two();
	test_retry();
	test_day();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || tap_done();
}
