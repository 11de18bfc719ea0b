/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words about who takes a guest's physical CPUs; see takers_advice.h. */
#include "config.h"

#include "xtop/query/takers_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/text.h"

#define ADVICE_STEAL 0.01 /* less steal than this needs no advice */
#define ADVICE_SHARE 0.15 /* a taker with a smaller share is not spoken of */

/* --- names ------------------------------------------------------------------------------------ */

static const struct taker *takers_find(const struct takers_table *table, uint32_t domid)
{
	for (uint32_t i = 0; i < table->n_takers && i < TAKERS_MAX; i++)
		if (table->takers[i].domid == domid)
			return &table->takers[i];
	return NULL;
}

const char *takers_name(const struct takers_table *table, uint32_t domid,
			char buffer[TAKERS_NAME_BYTES])
{
	const struct taker *taker = takers_find(table, domid);

	if (domid == TAKER_XEN)
		return "Xen, or nobody";
	if (domid == TAKER_OTHERS)
		return "other domains";
	if (!domid)
		return "dom0";
	if (domid == table->domid)
		return "its other vCPUs";
	if (taker && taker->name[0])
		text_clean(buffer, TAKERS_NAME_BYTES, taker->name, sizeof(taker->name));
	else
		snprintf(buffer, TAKERS_NAME_BYTES, "domain %u", domid);
	return buffer;
}

void takers_describe_vcpu(const struct takers_table *table, const struct taken_vcpu *vcpu,
			  char text[TAKERS_ADVICE_BYTES])
{
	char buffer[TAKERS_NAME_BYTES];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < TAKERS_OF_VCPU && vcpu->by[i] != UINT32_MAX; i++) {
		if (vcpu->by_share[i] < 0.005 || used >= TAKERS_ADVICE_BYTES)
			continue;
		used += (size_t)snprintf(text + used, TAKERS_ADVICE_BYTES - used, "%s%s %.0f %%",
					 used ? ", " : "", takers_name(table, vcpu->by[i], buffer),
					 100 * vcpu->by_share[i]);
	}
}

/* --- advice ----------------------------------------------------------------------------------- */

static void advice_add(struct takers_advice *advice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void advice_add(struct takers_advice *advice, const char *format, ...)
{
	va_list arguments;

	if (advice->n == TAKERS_ADVICE_LINES)
		return;
	va_start(arguments, format);
	vsnprintf(advice->lines[advice->n++], TAKERS_ADVICE_BYTES, format, arguments);
	va_end(arguments);
}

/* Whether DOMID takes much from VCPU. */
static bool advice_takes_from(const struct taken_vcpu *vcpu, uint32_t domid)
{
	for (unsigned i = 0; i < TAKERS_OF_VCPU; i++)
		if (vcpu->by[i] == domid)
			return vcpu->by_share[i] >= ADVICE_SHARE;
	return false;
}

/* The guest's vCPUs from which DOMID takes much, and the physical CPUs on which they run. */
struct advice_sharing {
	unsigned n_vcpus, n_cpus;
	uint16_t cpu; /* one of these physical CPUs */
};

static struct advice_sharing advice_find_sharing(const struct takers_table *table, uint32_t domid)
{
	struct advice_sharing sharing = { 0 };

	for (uint32_t i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		const struct taken_vcpu *vcpu = &table->vcpus[i];
		bool seen = false;

		if (!advice_takes_from(vcpu, domid))
			continue;
		for (uint32_t j = 0; j < i; j++)
			seen |= advice_takes_from(&table->vcpus[j], domid) &&
				table->vcpus[j].cpu == vcpu->cpu;
		sharing.n_vcpus++;
		sharing.n_cpus += !seen;
		sharing.cpu = vcpu->cpu;
	}
	return sharing;
}

static void advice_format_sharing(const struct advice_sharing *sharing, char text[64])
{
	int used = snprintf(text, 64, sharing->n_vcpus == 1 ? "1 vCPU shares " : "%u vCPUs share ",
			    sharing->n_vcpus);

	if (sharing->n_cpus == 1)
		snprintf(text + used, 64 - (size_t)used, "CPU %u", sharing->cpu);
	else
		snprintf(text + used, 64 - (size_t)used, "%u CPUs", sharing->n_cpus);
}

static void advise_on_neighbour(const struct takers_table *table, const struct taker *taker,
				double share, struct takers_advice *advice)
{
	struct advice_sharing sharing = advice_find_sharing(table, taker->domid);
	char buffer[TAKERS_NAME_BYTES], text[64];
	const char *name = takers_name(table, taker->domid, buffer);

	advice_format_sharing(&sharing, text);
	if (!sharing.n_vcpus)
		advice_add(advice, "%s takes %.0f %% of the steal.", name, 100 * share);
	else
		advice_add(advice, "%s with %s, which takes %.0f %% of the steal.", text, name,
			   100 * share);
	if (taker->weight > table->schedule.weight && table->schedule.weight)
		advice_add(advice, "%s has weight %u, this guest %u: Xen gives it more time.", name,
			   taker->weight, table->schedule.weight);
}

static void advise_on_taker(const struct takers_table *table, const struct taker *taker,
			    double share, struct takers_advice *advice)
{
	struct advice_sharing sharing;
	char text[64];

	if (taker->domid == TAKER_XEN && table->schedule.cap) {
		advice_add(advice, "It is capped at %u %% of one physical CPU (xl sched-credit2).",
			   table->schedule.cap);
	} else if (!taker->domid) {
		advice_add(advice,
			   "dom0 itself takes %.0f %% of the steal: give it CPUs of its own "
			   "(dom0_max_vcpus, xl vcpu-pin).",
			   100 * share);
	} else if (taker->domid == table->domid) {
		sharing = advice_find_sharing(table, taker->domid);
		advice_format_sharing(&sharing, text);
		advice_add(advice,
			   "Its own vCPUs take %.0f %% of the steal from each other%s%s: fewer "
			   "vCPUs would do.",
			   100 * share, sharing.n_vcpus ? ", as " : "",
			   sharing.n_vcpus ? text : "");
	} else if (taker_is_domain(taker->domid)) {
		advise_on_neighbour(table, taker, share, advice);
	}
}

static void advise_on_pool(const struct takers_table *table, struct takers_advice *advice)
{
	const char *affinity = "";
	uint32_t vcpu = 0;

	if (!table->pool.n_idle)
		return;
	for (uint32_t i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS && !*affinity; i++) {
		if (table->vcpus[i].waited.live < ADVICE_STEAL)
			continue;
		affinity = table->vcpus[i].affinity;
		vcpu = i;
	}
	if (*affinity)
		advice_add(advice,
			   "Its pool has %u idle CPU%s, but vCPU %u may run on CPU %s only "
			   "(xl vcpu-pin).",
			   table->pool.n_idle, table->pool.n_idle == 1 ? "" : "s", vcpu, affinity);
	else
		advice_add(advice, "Its pool has %u idle CPU%s.", table->pool.n_idle,
			   table->pool.n_idle == 1 ? "" : "s");
}

void takers_advise(const struct takers_table *table, bool totals, struct takers_advice *advice)
{
	double steal = taken_get(table->steal, totals);

	advice->n = 0;
	if (!table->looks)
		return;
	if (steal < ADVICE_STEAL) {
		advice_add(advice, "No vCPU waits for a physical CPU: steal is %.1f %%.",
			   100 * steal);
		return;
	}
	for (uint32_t i = 0; i < table->n_takers && i < TAKERS_MAX; i++) {
		double share = taken_get(table->takers[i].share, totals);

		if (share >= ADVICE_SHARE)
			advise_on_taker(table, &table->takers[i], share, advice);
	}
	advise_on_pool(table, advice);
}
