/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring between sampler and resolver; see ring.h. The ring follows the discipline of Concurrency
 * Kit's ck_ring: state is split by its writer, and the comment at each fence says what the fence
 * allows the other side to do.
 *
 * Layout, in one sealed memfd, shared over fork() or handed to another process:
 *
 *   64 KiB     struct ring_shared: head and tail, each on its own cache line
 *   the rest   the bytes, mapped twice in a row
 *
 * head and tail count bytes since the start and only grow; the place in the bytes is the count
 * modulo the size. A record is a u64 length and its bytes, padded to 8. A record that crosses the
 * end of the bytes runs on into the second mapping, which shows the first bytes again.
 */
#include "config.h"

#include "xtop/sample/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"

#define RING_CACHE_LINE 64
/* The largest page size of all machines that xtop runs on: the ring's bytes begin at a page. */
#define RING_HEAD_BYTES 65536
#define RING_MAX_BYTES  (1LL << 32)
#define RING_POPULATED_BYTES (4U << 20) /* rings up to this size get all of their memory at once */
#define RING_SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct ring_shared {
	/* written by the producer: end of the last record */
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t head;
	/* written by the consumer: start of the oldest record */
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t tail;
};

struct ring {
	struct ring_shared *shared;
	unsigned char *bytes;
	size_t size;
	bool is_populated; /* the producer's pages have memory */
	int fd; /* the memory's descriptor in the process that created the ring; else -1 */
	/*
	 * Each side keeps its own counter here, in its own memory, and only publishes the counter.
	 * The other side may be a less trusted process, which can overwrite the shared counter, so
	 * this side does not read its own counter back. Each side also remembers the other side's
	 * counter, and loads that counter again only when the old value leaves no room, or no
	 * record. So the cache line with that counter mostly stays on the other side's CPU.
	 */
	_Alignas(RING_CACHE_LINE) uint64_t producer_head;
	uint64_t producer_tail; /* the tail that the producer has last seen */
	_Alignas(RING_CACHE_LINE) uint64_t consumer_tail;
	uint64_t consumer_head; /* the head that the consumer has last seen */
};

static size_t ring_record_bytes(size_t size_bytes)
{
	return sizeof(uint64_t) + ((size_bytes + 7) & ~(size_t)7);
}

/* The ring's size is a multiple of the page size: otherwise its bytes could not be mapped twice. */
static size_t ring_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Maps the head, the bytes, and the bytes a second time. */
static void *ring_map(int fd, size_t size)
{
	unsigned char *base;

	base = mmap(NULL, RING_HEAD_BYTES + 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (base == MAP_FAILED)
		return NULL;
	if (mmap(base, RING_HEAD_BYTES + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED ||
	    mmap(base + RING_HEAD_BYTES + size, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, RING_HEAD_BYTES) == MAP_FAILED) {
		munmap(base, RING_HEAD_BYTES + 2 * size);
		return NULL;
	}
	return base;
}

/*
 * Head and tail of a new ring are 0. Acquire: what the consumer released, it has finished reading;
 * this producer may overwrite those bytes.
 */
static void ring_begin(struct ring *ring)
{
	ring->producer_head =
		atomic_load_explicit(&ring->shared->head, memory_order_relaxed) & ~(uint64_t)7;
	ring->producer_tail = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
}

static struct xtop_error *ring_open(int fd, size_t size, struct ring **ringp)
{
	struct ring *ring;
	void *base = ring_map(fd, size);

	if (!base)
		return error_create_errno(errno, "cannot map a ring of %zu bytes", size);
	ring = aligned_alloc(RING_CACHE_LINE, sizeof(*ring));
	if (!ring) {
		munmap(base, RING_HEAD_BYTES + 2 * size);
		return error_create("out of memory");
	}
	*ring = (struct ring){
		.shared = base,
		.bytes = (unsigned char *)base + RING_HEAD_BYTES,
		.size = size,
		.fd = -1,
	};
	ring_begin(ring);
	*ringp = ring;
	return NULL;
}

/*
 * Gives memory to all pages of a ring now, unless the ring is large. After a minute or two the
 * whole ring is in use. Until then each new page would cost each side a fault: 9,400 instructions
 * in a PV dom0, which at 1,000 Hz is more than all else that a tick does outside the stop. Best
 * effort: Linux has MADV_POPULATE_WRITE since 5.14.
 */
static void ring_populate(struct ring *ring)
{
#ifdef MADV_POPULATE_WRITE
	ring->is_populated =
		ring->size <= RING_POPULATED_BYTES &&
		madvise(ring->bytes, 2 * ring->size, MADV_POPULATE_WRITE) == 0;
#else
	(void)ring;
#endif
}

void ring_touch(const struct ring *ring, void *room, size_t size_bytes)
{
	volatile char *bytes = room;

	if (ring->is_populated)
		return;
	for (size_t i = 0; i < size_bytes; i += GUEST_PAGE_SIZE)
		bytes[i] = 0;
	bytes[size_bytes - 1] = 0;
}

void ring_adopt_producer(struct ring *ring)
{
	ring_begin(ring);
	ring_populate(ring);
}

struct xtop_error *ring_create(size_t size_bytes, struct ring **ringp)
{
	_cleanup_close_ int fd = -1;
	size_t size = ring_page_bytes();
	struct xtop_error *error;

	while (size < size_bytes)
		size *= 2;
	fd = memfd_create("xtop-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)(RING_HEAD_BYTES + size)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, RING_SEALS) < 0)
		return error_create_errno(errno, "cannot create a ring of %zu bytes", size);
	error = ring_open(fd, size, ringp);
	if (error)
		return error;
	(*ringp)->fd = fd;
	fd = -1;
	ring_populate(*ringp);
	return NULL;
}

struct xtop_error *ring_adopt(int fd, struct ring **ringp)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;
	size_t size;

	if (seals < 0 || (seals & RING_SEALS) != RING_SEALS || fstat(fd, &status) < 0)
		return error_create("the shared memory of the ring is not sealed");
	size = (size_t)status.st_size - RING_HEAD_BYTES;
	if (status.st_size < RING_HEAD_BYTES + (off_t)ring_page_bytes() ||
	    status.st_size > RING_MAX_BYTES ||
	    size & (size - 1))
		return error_create("the shared memory of the ring has %jd bytes",
				    (intmax_t)status.st_size);
	return ring_open(fd, size, ringp);
}

int ring_fd(const struct ring *ring)
{
	return ring->fd;
}

void ring_destroy(struct ring *ring)
{
	if (!ring)
		return;
	munmap(ring->shared, RING_HEAD_BYTES + 2 * ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring);
}

static uint64_t *ring_at(const struct ring *ring, uint64_t count)
{
	return (uint64_t *)(void *)(ring->bytes + (count & (ring->size - 1)));
}

void *ring_reserve(struct ring *ring, size_t size_bytes)
{
	uint64_t end = ring->producer_head + ring_record_bytes(size_bytes);

	if (size_bytes > ring->size)
		return NULL;
	if (end - ring->producer_tail > ring->size) {
		/*
		 * Acquire, pairs with ring_release(): the consumer has finished reading what it
		 * released, so this side may overwrite those bytes.
		 */
		ring->producer_tail =
			atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
		if (end - ring->producer_tail > ring->size)
			return NULL;
	}
	return ring_at(ring, ring->producer_head) + 1;
}

void ring_commit(struct ring *ring, size_t size_bytes)
{
	*ring_at(ring, ring->producer_head) = size_bytes;
	ring->producer_head += ring_record_bytes(size_bytes);
	/*
	 * Release, pairs with ring_peek(): the record and its length are written before the new
	 * head, so the consumer may read all bytes below the head that it sees.
	 */
	atomic_store_explicit(&ring->shared->head, ring->producer_head, memory_order_release);
}

uint64_t ring_committed(const struct ring *ring)
{
	return ring->producer_head;
}

bool ring_is_consumed(struct ring *ring, uint64_t count)
{
	/* Acquire: ring_reserve() uses this tail next, and may overwrite the released bytes. */
	if (ring->producer_tail < count)
		ring->producer_tail =
			atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
	return ring->producer_tail >= count;
}

/* The consumer's record at COUNT bytes since the start; NULL: it has not come yet. */
static const void *ring_peek_at(struct ring *ring, uint64_t count, size_t *size_bytesp)
{
	if (count == ring->consumer_head) {
		/*
		 * Acquire, pairs with ring_commit(): all bytes below this head are written, so this
		 * side may read them.
		 */
		ring->consumer_head =
			atomic_load_explicit(&ring->shared->head, memory_order_acquire);
		if (count == ring->consumer_head)
			return NULL;
	}
	*size_bytesp = *ring_at(ring, count);
	return ring_at(ring, count) + 1;
}

const void *ring_peek(struct ring *ring, size_t *size_bytesp)
{
	return ring_peek_at(ring, ring->consumer_tail, size_bytesp);
}

const void *ring_peek_after(struct ring *ring, uint64_t *position, size_t *size_bytesp)
{
	const void *record;

	if (*position < ring->consumer_tail || *position - ring->consumer_tail > ring->size)
		*position = ring->consumer_tail;
	record = ring_peek_at(ring, *position, size_bytesp);
	if (record)
		*position += ring_record_bytes(*size_bytesp);
	return record;
}

void ring_release(struct ring *ring)
{
	ring->consumer_tail += ring_record_bytes(*ring_at(ring, ring->consumer_tail));
	/*
	 * Release, pairs with ring_reserve(): this side's reads come before the new tail, so the
	 * producer may overwrite all bytes below the tail that it sees.
	 */
	atomic_store_explicit(&ring->shared->tail, ring->consumer_tail, memory_order_release);
}

size_t ring_used_bytes(const struct ring *ring)
{
	/* Relaxed: a number for the screen. Both sides may go on between the two loads. */
	uint64_t tail = atomic_load_explicit(&ring->shared->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_relaxed);
	uint64_t used = head > tail ? head - tail : 0;

	return used < ring->size ? used : ring->size;
}

size_t ring_size_bytes(const struct ring *ring)
{
	return ring->size;
}
