/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of who takes a guest's physical CPUs; see takers.h. Runs in the process that looks. */
#include "config.h"

#include "xtop/sample/takers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAKERS_RECENT     20            /* number of looks that tell a vCPU's recent states */
#define TAKERS_ACCOUNT_NS 5e8           /* more waiting than this without a taker is Xen's */
#define TAKERS_BATCH_NS   1000000000ULL /* looks closer together are one observation */

/* Sums for one taker's share, and for the standard error of this share. */
struct taker_sums {
	double taken;   /* time taken, in ns */
	double squares; /* sum over batches of (ns taken)^2 */
	double mixed;   /* sum over batches of ns taken * ns of steal */
};

struct takers_taker {
	uint32_t domid, pool;
	struct taker_sums live, total;
	double batch_ns;      /* time taken in the current batch */
	struct taken used_ns; /* time that the domain ran, anywhere on the host */
};

struct takers_vcpu {
	struct taken span_ns, waited_ns, ran_ns;
	double runnable, blocked; /* recent looks that found this state; halved at times */
	double account_ns;        /* waiting that no taker got yet; negative: takers got too much */
	uint64_t waits_since_ns;  /* time when this wait began; 0: no wait at the last look */
	uint64_t longest_ns;
	double by_ns[TAKERS_MAX]; /* live time that each element of takers[] took */
	uint16_t cpu;
	bool online;
};

struct takers {
	uint32_t domid;
	uint64_t half_life_ns;
	uint64_t first_ns, last_ns, looks;
	uint64_t batch_until_ns;
	double batch_ns;                    /* steal in the current batch */
	double live_squares, total_squares; /* sums over batches of (ns of steal)^2 */
	struct taken steal_ns;
	size_t n;
	struct takers_taker takers[TAKERS_MAX]; /* the last one may be TAKER_OTHERS */
	unsigned n_vcpus;
	struct takers_vcpu vcpus[GUEST_MAX_VCPUS];
	double use_ns[HOST_MAX_CPUS], use_span_ns; /* live use of each CPU, live time of looks */
	bool gone;
	/* The next two members describe the interval that is being added. */
	double on_cpu_ns[HOST_MAX_CPUS]; /* time that all vCPUs ran on each CPU */
	bool dom0_ran[HOST_MAX_CPUS];    /* dom0 ran on this CPU at one of the looks */
};

struct xtop_error *takers_create(uint32_t domid, uint64_t half_life_ns, struct takers **takersp)
{
	struct takers *takers = calloc(1, sizeof(*takers));

	if (!takers)
		return error_create("out of memory");
	takers->domid = domid;
	takers->half_life_ns = half_life_ns;
	*takersp = takers;
	return NULL;
}

void takers_destroy(struct takers *takers)
{
	free(takers);
}

void takers_reset(struct takers *takers)
{
	const struct takers fresh = { .domid = takers->domid,
				      .half_life_ns = takers->half_life_ns };

	*takers = fresh;
}

/* --- decay ------------------------------------------------------------------------------------ */

static void takers_decay(struct takers *takers, double factor)
{
	takers->steal_ns.live *= factor;
	takers->live_squares *= factor * factor;
	takers->use_span_ns *= factor;
	for (unsigned i = 0; i < HOST_MAX_CPUS; i++)
		takers->use_ns[i] *= factor;
	for (size_t i = 0; i < takers->n; i++) {
		struct takers_taker *taker = &takers->takers[i];

		taker->live.taken *= factor;
		taker->live.squares *= factor * factor;
		taker->live.mixed *= factor * factor;
		taker->used_ns.live *= factor;
	}
	for (unsigned i = 0; i < takers->n_vcpus; i++) {
		struct takers_vcpu *vcpu = &takers->vcpus[i];

		vcpu->span_ns.live *= factor;
		vcpu->waited_ns.live *= factor;
		vcpu->ran_ns.live *= factor;
		for (size_t j = 0; j < takers->n; j++)
			vcpu->by_ns[j] *= factor;
	}
}

static void taken_add(struct taken *taken, double ns)
{
	taken->live += ns;
	taken->total += ns;
}

/* Ends a batch, which is one observation of all takers. */
static void takers_end_batch(struct takers *takers)
{
	double steal = takers->batch_ns;

	takers->live_squares += steal * steal;
	takers->total_squares += steal * steal;
	for (size_t i = 0; i < takers->n; i++) {
		struct takers_taker *taker = &takers->takers[i];
		double taken = taker->batch_ns;

		taker->live.squares += taken * taken;
		taker->live.mixed += taken * steal;
		taker->total.squares += taken * taken;
		taker->total.mixed += taken * steal;
		taker->batch_ns = 0;
	}
	takers->batch_ns = 0;
}

/* --- one interval ----------------------------------------------------------------------------- */

/* Index of the taker DOMID, which is added if there is room; else index of TAKER_OTHERS. */
static size_t takers_find_or_add(struct takers *takers, uint32_t domid, uint32_t pool)
{
	size_t i = 0;

	while (i < takers->n && takers->takers[i].domid != domid)
		i++;
	if (i < takers->n)
		return i;
	if (takers->n == TAKERS_MAX)
		return TAKERS_MAX - 1;
	if (takers->n == TAKERS_MAX - 1 && domid != TAKER_OTHERS)
		domid = TAKER_OTHERS;
	takers->takers[takers->n] = (struct takers_taker){ .domid = domid, .pool = pool };
	return takers->n++;
}

/* VCPU in the look BEFORE, where its domain is DOMAIN; NULL: the vCPU was not there. */
static const struct host_vcpu *takers_find_vcpu(const struct host_look *before,
						const struct host_domain *domain,
						const struct host_vcpu *vcpu)
{
	return domain && vcpu->number < domain->n ? &before->vcpus[domain->first + vcpu->number]
						  : NULL;
}

static double takers_ran_ns(const struct host_vcpu *before, const struct host_vcpu *now)
{
	return before && now->cpu_ns > before->cpu_ns ? (double)(now->cpu_ns - before->cpu_ns) : 0;
}

/* The part of an interval that the vCPU is taken to have spent on CPU: all, half or nothing. */
static double takers_part_on(const struct host_vcpu *before, const struct host_vcpu *now,
			     unsigned cpu)
{
	return ((before ? before->cpu : now->cpu) == cpu ? 0.5 : 0) + (now->cpu == cpu ? 0.5 : 0);
}

static void takers_add_use(struct takers *takers, const struct host_vcpu *vcpu, double ran_ns)
{
	if (vcpu->cpu < HOST_MAX_CPUS)
		takers->on_cpu_ns[vcpu->cpu] += ran_ns;
	if (!vcpu->domid && vcpu->state == VCPU_RUNNING && vcpu->cpu < HOST_MAX_CPUS)
		takers->dom0_ran[vcpu->cpu] = true;
}

/* Adds up what ran on each physical CPU, and what each domain ran. */
static void takers_add_all(struct takers *takers, const struct host_look *before,
			   const struct host_look *now)
{
	memset(takers->on_cpu_ns, 0, sizeof(takers->on_cpu_ns));
	memset(takers->dom0_ran, 0, sizeof(takers->dom0_ran));
	for (size_t i = 0; i < now->n_domains; i++) {
		const struct host_domain *domain = &now->domains[i];
		const struct host_domain *was = host_look_find(before, domain->domid);
		double used_ns = 0;

		for (size_t j = 0; j < domain->n; j++) {
			const struct host_vcpu *vcpu = &now->vcpus[domain->first + j];
			const struct host_vcpu *last = takers_find_vcpu(before, was, vcpu);
			double ran_ns = takers_ran_ns(last, vcpu);

			used_ns += ran_ns;
			takers_add_use(takers, last ? last : vcpu, ran_ns / 2);
			takers_add_use(takers, vcpu, ran_ns / 2);
		}
		if (used_ns > 0)
			taken_add(&takers->takers[takers_find_or_add(takers, domain->domid,
								     domain->pool)]
					   .used_ns,
				  used_ns);
	}
	for (unsigned i = 0; i < HOST_MAX_CPUS; i++)
		takers->use_ns[i] += takers->on_cpu_ns[i];
	takers->use_span_ns += (double)(now->time_ns - before->time_ns);
}

static void takers_count_state(struct takers_vcpu *vcpu, const struct host_vcpu *at)
{
	if (at->state == VCPU_BLOCKED)
		vcpu->blocked += 1;
	if (at->state == VCPU_RUNNABLE)
		vcpu->runnable += 1;
	if (vcpu->runnable + vcpu->blocked > TAKERS_RECENT) {
		vcpu->runnable /= 2;
		vcpu->blocked /= 2;
	}
}

/*
 * How long the vCPU waited, if dom0 ran on its CPU in order to look. Such a vCPU is found waiting
 * if it ran or waited before, and sleeping if it slept.
 */
static double takers_waited_beside_ns(const struct takers_vcpu *vcpu, double span_ns, double ran_ns)
{
	double looks = vcpu->runnable + vcpu->blocked;

	return looks > 0 ? span_ns * vcpu->runnable / looks - ran_ns : 0;
}

/*
 * How long the vCPU waited. A vCPU that never sleeps waited whenever it did not run. For other
 * vCPUs the looks at the interval's two ends tell which part of the rest was waiting. This is right
 * in the mean.
 */
static double takers_waited_ns(const struct takers_vcpu *vcpu, const struct host_vcpu *before,
			       const struct host_vcpu *now, double span_ns, double ran_ns)
{
	if (vcpu->blocked < 0.5)
		return span_ns - ran_ns;
	return span_ns * ((before->state == VCPU_RUNNABLE) + (now->state == VCPU_RUNNABLE)) / 2;
}

static void takers_take(struct takers *takers, struct takers_vcpu *vcpu, size_t index, double ns)
{
	struct takers_taker *taker = &takers->takers[index];

	taker->live.taken += ns;
	taker->total.taken += ns;
	taker->batch_ns += ns;
	vcpu->by_ns[index] += ns;
}

/* A vCPU of the guest in the two looks at an interval's ends. */
struct takers_interval {
	const struct host_look *before, *now;
	const struct host_vcpu *last, *own; /* the vCPU in BEFORE and in NOW */
};

/*
 * Gives each domain that ran on the CPUs where the vCPU was FACTOR times what the domain ran there.
 */
static void takers_share_out(struct takers *takers, struct takers_vcpu *vcpu,
			     const struct takers_interval *interval, double factor)
{
	const struct host_look *now = interval->now;

	for (size_t i = 0; i < now->n_domains; i++) {
		const struct host_domain *domain = &now->domains[i];
		const struct host_domain *was = host_look_find(interval->before, domain->domid);
		double taken_ns = 0;

		for (size_t j = 0; j < domain->n; j++) {
			const struct host_vcpu *other = &now->vcpus[domain->first + j];
			const struct host_vcpu *last =
				takers_find_vcpu(interval->before, was, other);
			double ran_ns = takers_ran_ns(last, other);

			if (other == interval->own || !(ran_ns > 0))
				continue;
			taken_ns += ran_ns *
				    (takers_part_on(last, other, interval->last->cpu) +
				     takers_part_on(last, other, interval->own->cpu)) /
				    2;
		}
		if (taken_ns > 0)
			takers_take(takers, vcpu,
				    takers_find_or_add(takers, domain->domid, domain->pool),
				    factor * taken_ns);
	}
}

/* What others ran on the CPUs where the vCPU was. */
static double takers_others_ns(const struct takers *takers, const struct host_vcpu *before,
			       const struct host_vcpu *now, double ran_ns)
{
	double all_ns = 0, own_ns;

	if (before->cpu < HOST_MAX_CPUS)
		all_ns += takers->on_cpu_ns[before->cpu] / 2;
	if (now->cpu < HOST_MAX_CPUS)
		all_ns += takers->on_cpu_ns[now->cpu] / 2;
	/* A vCPU that moved counts half on each of two CPUs. ALL_NS has half of both halves. */
	own_ns = before->cpu == now->cpu ? ran_ns : ran_ns / 2;
	return all_ns > own_ns ? all_ns - own_ns : 0;
}

static void takers_update_longest(struct takers_vcpu *vcpu, const struct takers_interval *interval)
{
	const struct host_vcpu *last = interval->last, *own = interval->own;
	uint64_t now_ns = interval->now->time_ns;
	bool waits = last->state == VCPU_RUNNABLE && own->state == VCPU_RUNNABLE &&
		     last->cpu_ns == own->cpu_ns;

	if (!waits)
		vcpu->waits_since_ns = 0;
	else if (!vcpu->waits_since_ns)
		vcpu->waits_since_ns = interval->before->time_ns;
	if (waits && now_ns - vcpu->waits_since_ns > vcpu->longest_ns)
		vcpu->longest_ns = now_ns - vcpu->waits_since_ns;
}

static bool takers_is_beside_dom0(const struct takers *takers, const struct host_vcpu *vcpu)
{
	return vcpu->cpu < HOST_MAX_CPUS && takers->dom0_ran[vcpu->cpu];
}

/*
 * The two looks of an interval tell only roughly how long the vCPU waited in it. So WAITED_NS goes
 * to the vCPU's account, and out of the account takers get at most what they ran. Returns what the
 * takers get. *NOBODYP: the time that no taker gets.
 */
static double takers_settle(struct takers_vcpu *vcpu, double waited_ns, double others_ns,
			    bool beside, double *nobodyp)
{
	double given_ns;

	vcpu->account_ns = fmax(vcpu->account_ns + waited_ns, -TAKERS_ACCOUNT_NS);
	given_ns = fmax(fmin(vcpu->account_ns, others_ns), 0);
	vcpu->account_ns -= given_ns;
	*nobodyp = fmax(vcpu->account_ns - TAKERS_ACCOUNT_NS, 0);
	vcpu->account_ns -= *nobodyp;
	if (beside)
		*nobodyp = 0;
	return given_ns;
}

static void takers_add_vcpu(struct takers *takers, struct takers_vcpu *vcpu,
			    const struct takers_interval *interval)
{
	const struct host_vcpu *last = interval->last, *own = interval->own;
	double span_ns = (double)(interval->now->time_ns - interval->before->time_ns);
	double ran_ns = fmin(takers_ran_ns(last, own), span_ns), waited_ns, others_ns, given_ns;
	bool beside = takers_is_beside_dom0(takers, last) || takers_is_beside_dom0(takers, own);
	double nobody_ns;

	vcpu->cpu = own->cpu;
	vcpu->online = own->state != VCPU_OFFLINE;
	if (last->state == VCPU_OFFLINE || own->state == VCPU_OFFLINE)
		return;
	takers_count_state(vcpu, own);
	takers_update_longest(vcpu, interval);
	others_ns = takers_others_ns(takers, last, own, ran_ns);
	waited_ns = beside ? takers_waited_beside_ns(vcpu, span_ns, ran_ns)
			   : takers_waited_ns(vcpu, last, own, span_ns, ran_ns);
	given_ns = takers_settle(vcpu, waited_ns, others_ns, beside, &nobody_ns);
	waited_ns = given_ns + nobody_ns;
	taken_add(&vcpu->span_ns, span_ns);
	taken_add(&vcpu->ran_ns, ran_ns);
	taken_add(&vcpu->waited_ns, waited_ns);
	taken_add(&takers->steal_ns, waited_ns);
	takers->batch_ns += waited_ns;
	if (given_ns > 0)
		takers_share_out(takers, vcpu, interval, given_ns / others_ns);
	if (nobody_ns > 0)
		takers_take(takers, vcpu, takers_find_or_add(takers, TAKER_XEN, UINT32_MAX),
			    nobody_ns);
}

void takers_add(struct takers *takers, const struct host_look *before, const struct host_look *now)
{
	const struct host_domain *domain = host_look_find(now, takers->domid);
	const struct host_domain *last = host_look_find(before, takers->domid);
	uint64_t span_ns = now->time_ns - before->time_ns;

	takers->gone = !domain;
	if (!domain || !last || now->time_ns <= before->time_ns)
		return;
	if (!takers->first_ns) {
		takers->first_ns = before->time_ns;
		takers->batch_until_ns = before->time_ns + TAKERS_BATCH_NS;
	}
	takers->looks++;
	takers->last_ns = now->time_ns;
	if (takers->half_life_ns)
		takers_decay(takers, exp2(-(double)span_ns / (double)takers->half_life_ns));
	takers_add_all(takers, before, now);
	takers->n_vcpus = (unsigned)(domain->n < GUEST_MAX_VCPUS ? domain->n : GUEST_MAX_VCPUS);
	/* A guest that somebody has paused does not wait for a CPU. */
	for (unsigned i = 0; i < takers->n_vcpus && !domain->paused && !last->paused; i++)
		if (i < last->n)
			takers_add_vcpu(takers, &takers->vcpus[i],
					&(struct takers_interval){
						before, now, &before->vcpus[last->first + i],
						&now->vcpus[domain->first + i] });
	if (now->time_ns >= takers->batch_until_ns) {
		takers_end_batch(takers);
		takers->batch_until_ns = now->time_ns + TAKERS_BATCH_NS;
	}
}

/* --- the answer ------------------------------------------------------------------------------- */

static double takers_ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/*
 * The standard error of a ratio of sums: Cochran, "Sampling Techniques", §2.11, with batches as
 * observations.
 */
static double takers_error(const struct taker_sums *sums, double steal_ns, double steal_squares)
{
	double share = takers_ratio(sums->taken, steal_ns);
	double sum = sums->squares - 2 * share * sums->mixed + share * share * steal_squares;

	return steal_ns > 0 && sum > 0 ? sqrt(sum) / steal_ns : 0;
}

static int takers_compare(const void *pointer_a, const void *pointer_b)
{
	const struct taker *a = pointer_a, *b = pointer_b;

	if (a->share.live != b->share.live)
		return a->share.live < b->share.live ? 1 : -1;
	return (a->domid > b->domid) - (a->domid < b->domid);
}

static void takers_get_vcpu(const struct takers *takers, const struct takers_vcpu *from,
			    struct taken_vcpu *vcpu)
{
	double left[TAKERS_MAX], all = 0;

	*vcpu = (struct taken_vcpu){
		.cpu = from->cpu,
		.online = from->online,
		.span_ms = (uint32_t)fmin(from->span_ns.total / 1e6, UINT32_MAX),
		.longest_ns = from->longest_ns,
		.waited = { takers_ratio(from->waited_ns.live, from->span_ns.live),
			    takers_ratio(from->waited_ns.total, from->span_ns.total) },
		.ran = { takers_ratio(from->ran_ns.live, from->span_ns.live),
			 takers_ratio(from->ran_ns.total, from->span_ns.total) },
	};
	for (size_t i = 0; i < takers->n; i++)
		all += left[i] = from->by_ns[i];
	for (unsigned place = 0; place < TAKERS_OF_VCPU; place++) {
		size_t most = 0;

		for (size_t i = 1; i < takers->n; i++)
			most = left[i] > left[most] ? i : most;
		vcpu->by[place] = UINT32_MAX;
		if (!takers->n || !(left[most] > 0))
			continue;
		vcpu->by[place] = takers->takers[most].domid;
		vcpu->by_share[place] = takers_ratio(left[most], all);
		left[most] = 0;
	}
}

static void takers_get_steal(const struct takers *takers, struct takers_table *table)
{
	struct taken span = { 0 };

	for (unsigned i = 0; i < takers->n_vcpus; i++) {
		span.live += takers->vcpus[i].span_ns.live;
		span.total += takers->vcpus[i].span_ns.total;
	}
	table->steal.live = takers_ratio(takers->steal_ns.live, span.live);
	table->steal.total = takers_ratio(takers->steal_ns.total, span.total);
}

void takers_get(const struct takers *takers, struct takers_table *table)
{
	*table = (struct takers_table){
		.gone = takers->gone,
		.looks = takers->looks,
		.span_ns = takers->last_ns - takers->first_ns,
		.domid = takers->domid,
		.n_takers = (uint32_t)takers->n,
		.n_vcpus = takers->n_vcpus,
	};
	for (size_t i = 0; i < takers->n; i++) {
		const struct takers_taker *from = &takers->takers[i];

		table->takers[i] = (struct taker){
			.domid = from->domid,
			.pool = from->pool,
			.share = { takers_ratio(from->live.taken, takers->steal_ns.live),
				   takers_ratio(from->total.taken, takers->steal_ns.total) },
			.error = { takers_error(&from->live, takers->steal_ns.live,
						takers->live_squares),
				   takers_error(&from->total, takers->steal_ns.total,
						takers->total_squares) },
			.cpus = { takers_ratio(from->used_ns.live, takers->use_span_ns),
				  takers_ratio(from->used_ns.total,
					       (double)(takers->last_ns - takers->first_ns)) },
		};
	}
	qsort(table->takers, takers->n, sizeof(table->takers[0]), takers_compare);
	for (unsigned i = 0; i < takers->n_vcpus; i++)
		takers_get_vcpu(takers, &takers->vcpus[i], &table->vcpus[i]);
	takers_get_steal(takers, table);
}

double takers_get_use(const struct takers *takers, unsigned cpu)
{
	return cpu < HOST_MAX_CPUS ? takers_ratio(takers->use_ns[cpu], takers->use_span_ns) : 0;
}
