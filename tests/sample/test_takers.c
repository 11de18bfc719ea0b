/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who takes a guest's physical CPUs, over made-up hosts: slices of a millisecond on each physical
 * CPU, of which a made-up scheduler knows the truth.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/sample/takers.h"

#define MS        UINT64_C(1000000)
#define GUEST     5
#define N_DOMAINS 4 /* dom0, the guest, two others */

static uint64_t random_state = 7;

static double next_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(random_state >> 33) / (double)(1ULL << 31);
}

/* A host with one physical CPU for all, and one vCPU a domain. */
struct made_host {
	struct host_vcpu vcpus[N_DOMAINS];
	struct host_domain domains[N_DOMAINS];
	double wants[N_DOMAINS]; /* how likely a vCPU that sleeps, or runs, wants to run next */
	double weight[N_DOMAINS];
	bool awake[N_DOMAINS];
	bool looks_here; /* dom0 looks from this CPU */
	double cap;      /* the guest gets no more than this share; 0: no cap */
	uint64_t time_ns;
	double waited_ns, taken_ns[N_DOMAINS], idle_ns; /* the truth about the guest */
};

static struct made_host make_host(const double wants[N_DOMAINS], const double weight[N_DOMAINS])
{
	static const uint32_t domids[N_DOMAINS] = { 0, GUEST, 7, 9 };
	struct made_host host = { .time_ns = 1000 * MS };

	for (size_t i = 0; i < N_DOMAINS; i++) {
		host.domains[i] = (struct host_domain){ .domid = domids[i], .first = i, .n = 1 };
		host.vcpus[i] = (struct host_vcpu){ .domid = domids[i], .cpu = 3 };
		host.wants[i] = wants[i];
		host.weight[i] = weight[i];
	}
	return host;
}

/* Picks who runs for a millisecond: by weight, among those who want to. N_DOMAINS: nobody. */
static size_t host_pick(const struct made_host *host)
{
	double all = 0, at;

	for (size_t i = 0; i < N_DOMAINS; i++)
		all += host->awake[i] ? host->weight[i] : 0;
	if (host->cap > 0 && host->awake[1] && next_random() > host->cap)
		return N_DOMAINS;
	at = next_random() * all;
	for (size_t i = 0; i < N_DOMAINS; i++) {
		at -= host->awake[i] ? host->weight[i] : 0;
		if (host->awake[i] && at <= 0)
			return i;
	}
	return N_DOMAINS;
}

static void host_step(struct made_host *host)
{
	size_t running;

	for (size_t i = 0; i < N_DOMAINS; i++)
		if (next_random() < 1.0 / 16)
			host->awake[i] = next_random() < host->wants[i];
	running = host_pick(host);
	for (size_t i = 0; i < N_DOMAINS; i++)
		host->vcpus[i].state = i == running     ? VCPU_RUNNING
				       : host->awake[i] ? VCPU_RUNNABLE
							: VCPU_BLOCKED;
	if (running < N_DOMAINS) {
		host->vcpus[running].cpu_ns += MS;
		host->domains[running].cpu_ns += MS;
	}
	host->time_ns += MS;
	if (host->vcpus[1].state != VCPU_RUNNABLE)
		return;
	host->waited_ns += MS;
	if (running < N_DOMAINS)
		host->taken_ns[running] += MS;
	else
		host->idle_ns += MS;
}

/* What a look finds. Where dom0 looks from, it is dom0 that runs. */
static void host_look_at(const struct made_host *host, struct host_look *look,
			 struct host_vcpu *vcpus)
{
	memcpy(vcpus, host->vcpus, sizeof(host->vcpus));
	for (size_t i = 1; i < N_DOMAINS && host->looks_here; i++)
		if (vcpus[i].state == VCPU_RUNNING)
			vcpus[i].state = VCPU_RUNNABLE;
	if (host->looks_here)
		vcpus[0].state = VCPU_RUNNING;
	*look = (struct host_look){ .time_ns = host->time_ns,
				    .n_domains = N_DOMAINS,
				    .domains = (struct host_domain *)host->domains,
				    .n_vcpus = N_DOMAINS,
				    .vcpus = vcpus };
}

static struct takers_table watch_host(struct made_host *host, unsigned looks)
{
	struct host_vcpu vcpus[2][N_DOMAINS];
	static struct takers_table table;
	struct host_look look[2];
	struct takers *takers;

	error_destroy(takers_create(GUEST, 0, &takers));
	host_look_at(host, &look[0], vcpus[0]);
	host->waited_ns = host->idle_ns = 0;
	memset(host->taken_ns, 0, sizeof(host->taken_ns));
	for (unsigned i = 1; i <= looks; i++) {
		for (unsigned j = 0; j < 50 + (unsigned)(100 * next_random()); j++)
			host_step(host);
		host_look_at(host, &look[i % 2], vcpus[i % 2]);
		takers_add(takers, &look[(i - 1) % 2], &look[i % 2]);
	}
	takers_get(takers, &table);
	takers_destroy(takers);
	return table;
}

static const struct taker *find_taker(const struct takers_table *table, uint32_t domid)
{
	static const struct taker none;

	for (uint32_t i = 0; i < table->n_takers; i++)
		if (table->takers[i].domid == domid)
			return &table->takers[i];
	return &none;
}

/* Compares with the truth, in points. */
static void check_host(const char *what, struct made_host *host, double steal_points,
		       double share_points)
{
	uint64_t began_ns = host->time_ns;
	struct takers_table table = watch_host(host, 600);
	double span_ns = (double)(host->time_ns - began_ns);

	check(fabs(table.steal.total - host->waited_ns / span_ns) < steal_points / 100,
	      "%s: steal is %.1f %%, the truth %.1f %%", what, 100 * table.steal.total,
	      100 * host->waited_ns / span_ns);
	for (size_t i = 0; i < N_DOMAINS; i++) {
		double truth = host->waited_ns > 0 ? host->taken_ns[i] / host->waited_ns : 0;
		double share = find_taker(&table, host->domains[i].domid)->share.total;

		check(i == 1 || fabs(share - truth) < share_points / 100,
		      "%s: domain %u takes %.1f %%, the truth %.1f %%", what,
		      host->domains[i].domid, 100 * share, 100 * truth);
	}
	check(fabs(find_taker(&table, TAKER_XEN)->share.total -
		   (host->waited_ns > 0 ? host->idle_ns / host->waited_ns : 0)) <
		      share_points / 100,
	      "%s: nobody takes %.1f %%", what, 100 * find_taker(&table, TAKER_XEN)->share.total);
}

static void test_busy(void)
{
	struct made_host host =
		make_host((const double[]){ 0, 1, 1, 1 }, (const double[]){ 1, 1, 1, 2 });

	check_host("busy", &host, 0.5, 2);
	host.looks_here = true;
	check_host("busy, beside the looks", &host, 0.5, 2);
}

static void test_sleeper(void)
{
	struct made_host host =
		make_host((const double[]){ 0.1, 0.5, 0.5, 0.2 }, (const double[]){ 1, 1, 1, 1 });

	check_host("a guest that sleeps", &host, 2, 6);
}

static void test_sleeper_beside(void)
{
	struct made_host host =
		make_host((const double[]){ 0.2, 0.5, 0, 0 }, (const double[]){ 1, 1, 1, 1 });

	host.looks_here = true;
	check_host("a guest that sleeps, beside the looks", &host, 4, 6);
	host.wants[0] = 0;
	check_host("a guest that is alone but for the looks", &host, 0.5, 101);
}

static void test_cap(void)
{
	struct made_host host =
		make_host((const double[]){ 0, 1, 0, 0 }, (const double[]){ 1, 1, 1, 1 });

	host.cap = 0.4;
	check_host("a cap", &host, 1.5, 1);
}

/* A neighbour's time that comes in bursts of seconds is known less well than it seems. */
static void test_error(void)
{
	struct made_host host =
		make_host((const double[]){ 0, 1, 1, 0.5 }, (const double[]){ 1, 1, 1, 1 });
	unsigned inside = 0;
	double truth = 0;

	for (unsigned i = 0; i < 40; i++) {
		struct takers_table table = watch_host(&host, 100);
		const struct taker *taker = find_taker(&table, 9);

		if (!i) {
			watch_host(&host, 20000);
			truth = host.taken_ns[3] / host.waited_ns;
		}
		inside += fabs(taker->share.total - truth) < 1.96 * taker->error.total;
	}
	check(inside >= 32, "the share lies within its margin in %u of 40 runs", inside);
}

static void test_edges(void)
{
	struct made_host host =
		make_host((const double[]){ 0, 1, 1, 1 }, (const double[]){ 1, 1, 1, 1 });
	struct host_vcpu vcpus[2][N_DOMAINS];
	struct host_look look[2];
	struct takers_table table;
	struct takers *takers;

	error_destroy(takers_create(GUEST, 0, &takers));
	host_look_at(&host, &look[0], vcpus[0]);
	host_look_at(&host, &look[1], vcpus[1]);
	takers_add(takers, &look[0], &look[1]);
	takers_get(takers, &table);
	check(!table.looks, "two looks at one moment tell nothing");
	look[1].time_ns += 100 * MS;
	vcpus[1][2].cpu_ns = UINT64_MAX;
	vcpus[1][2].cpu = UINT16_MAX;
	takers_add(takers, &look[0], &look[1]);
	takers_get(takers, &table);
	check(table.steal.total <= 1 && isfinite(table.takers[0].share.total),
	      "absurd figures are bounded");
	look[1].n_domains = 1;
	takers_add(takers, &look[0], &look[1]);
	takers_get(takers, &table);
	check(table.gone, "a guest that is gone is noticed");
	takers_reset(takers);
	takers_get(takers, &table);
	check(!table.looks && !table.n_takers, "after a reset nothing is left");
	takers_destroy(takers);
}

/* More domains than have rows of their own. */
static void test_many(void)
{
	enum { N = 200 };
	static struct host_domain domains[2][N];
	static struct host_vcpu vcpus[2][N];
	struct host_look look[2];
	struct takers_table table;
	struct takers *takers;
	double all = 0;

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < N; j++) {
			domains[i][j] = (struct host_domain){ .domid = j, .first = j, .n = 1 };
			vcpus[i][j] = (struct host_vcpu){ .domid = j,
							  .state = VCPU_RUNNABLE,
							  .cpu_ns = 5 * MS * i };
		}
		vcpus[i][GUEST].cpu_ns = 0;
		look[i] = (struct host_look){ .time_ns = (1 + i) * 1000 * MS,
					      .n_domains = N,
					      .domains = domains[i],
					      .n_vcpus = N,
					      .vcpus = vcpus[i] };
	}
	error_destroy(takers_create(GUEST, 0, &takers));
	takers_add(takers, &look[0], &look[1]);
	takers_get(takers, &table);
	for (uint32_t i = 0; i < table.n_takers; i++)
		all += table.takers[i].share.total;
	check(table.n_takers == TAKERS_MAX, "%u takers have rows", table.n_takers);
	check(find_taker(&table, TAKER_OTHERS)->share.total > 0.6, "the others share one row");
	check(fabs(all - 1) < 1e-9, "all shares are %.3f", all);
	takers_destroy(takers);
}

int main(void)
{
	test_busy();
	test_sleeper();
	test_sleeper_beside();
	test_cap();
	test_error();
	test_edges();
	test_many();
	return tap_done();
}
