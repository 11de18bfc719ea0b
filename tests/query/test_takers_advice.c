/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one can do about steal, in words; and the table of batch mode. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/export/export.h"
#include "xtop/query/takers_advice.h"

static struct takers_table table;

/* Four vCPUs on CPU 3, of which a neighbour takes 60 % and dom0 the rest. */
static void make_table(void)
{
	table = (struct takers_table){
		.looks = 100,
		.domid = 5,
		.steal = { 0.4, 0.1 },
		.schedule = { 256, 0 },
		.pool = { 0, 8, 2 },
		.n_takers = 2,
		.takers = { { .domid = 7,
			      .weight = 512,
			      .name = "db\x1b[07",
			      .share = { 0.6, 0.1 } },
			    { .domid = 0,
			      .weight = 256,
			      .name = "Domain-0",
			      .share = { 0.4, 0.9 } } },
		.n_vcpus = 4,
	};
	for (unsigned i = 0; i < 4; i++)
		table.vcpus[i] = (struct taken_vcpu){ .cpu = 3,
						      .online = true,
						      .waited = { 0.4, 0.1 },
						      .by = { 7, 0, UINT32_MAX },
						      .by_share = { 0.6, 0.4 } };
}

static bool is_advised(bool totals, const char *words)
{
	struct takers_advice advice;

	takers_advise(&table, totals, &advice);
	for (size_t i = 0; i < advice.n; i++)
		if (strstr(advice.lines[i], words))
			return true;
	for (size_t i = 0; i < advice.n; i++)
		printf("# %s\n", advice.lines[i]);
	return false;
}

static void test_advice(void)
{
	make_table();
	check(is_advised(false, "4 vCPUs share CPU 3 with db_[07, which takes 60 %"),
	      "the neighbour is named, cleanly");
	check(is_advised(false, "db_[07 has weight 512, this guest 256"), "weights are compared");
	check(is_advised(false, "dom0 itself takes 40 %"), "dom0 is named");
	check(is_advised(false, "Its pool has 2 idle CPUs."), "idle CPUs are told");
	check(is_advised(true, "dom0 itself takes 90 %") && !is_advised(true, "db_"),
	      "totals are those since start");
	strcpy(table.vcpus[0].affinity, "3");
	check(is_advised(false, "2 idle CPUs, but vCPU 0 may run on CPU 3 only"),
	      "a vCPU that is pinned is told");
	table.vcpus[3].cpu = 4;
	check(is_advised(false, "4 vCPUs share 2 CPUs with db_[07"), "CPUs are counted once");
	table.takers[0].domid = table.domid;
	check(is_advised(false, "Its own vCPUs take 60 % of the steal from each other: fewer"),
	      "the guest's own vCPUs are named, and no CPUs if they share none");
	table.schedule.cap = 50;
	table.takers[0].domid = TAKER_XEN;
	check(is_advised(false, "capped at 50 % of one physical CPU"), "a cap is told");
	table.steal.live = 0.001;
	check(is_advised(false, "No vCPU waits for a physical CPU"), "without steal there is none");
	table.looks = 0;
	check(!is_advised(false, ""), "before the first look nothing is said");
}

static void test_vcpu(void)
{
	char text[TAKERS_ADVICE_BYTES];

	make_table();
	takers_describe_vcpu(&table, &table.vcpus[0], text);
	check_string(text, "db_[07 60 %, dom0 40 %", "who takes a vCPU's CPU");
	memset(table.takers[0].name, 'x', sizeof(table.takers[0].name) - 1);
	for (unsigned i = 0; i < TAKERS_OF_VCPU; i++)
		table.vcpus[0].by[i] = 7;
	table.vcpus[0].by_share[2] = 1;
	takers_describe_vcpu(&table, &table.vcpus[0], text);
	check(strlen(text) < sizeof(text), "long names are cut: %zu bytes", strlen(text));
}

/* The table of SNAPSHOT, which the caller frees. */
static char *print_table(const struct snapshot *snapshot)
{
	const struct table_options options = { .title = "web01 dom 5 PVH" };
	char *text = NULL;
	size_t size_bytes;
	FILE *file = open_memstream(&text, &size_bytes);

	error_destroy(export_takers_table(snapshot, &options, file));
	fclose(file);
	return text;
}

static void test_table(void)
{
	struct snapshot_run run = { .n_vcpus = 4 };
	struct snapshot snapshot = { .run = &run };
	char *text = print_table(&snapshot);

	check_string(text, "", "without looks there is no table");
	free(text);
	make_table();
	run.takers = &table;
	text = print_table(&snapshot);
	check(strstr(text, "web01 dom 5 PVH: steal 40.0 %, looks 100, pool 0 with 8 CPUs, 2 idle, "
			   "weight 256, cap 0\n"),
	      "the table's head has the guest's steal and its scheduling");
	check(strstr(text, "\n  60.0     0.0   0.00     512     0  db_[07\n"),
	      "a neighbour has its share, clean");
	check(strstr(text, "\n   3    3    40.0        -  all       db_[07 60 %, dom0 40 %\n"),
	      "a vCPU has its CPU and who took it");
	free(text);
	strcpy(table.failure, "not allowed");
	text = print_table(&snapshot);
	check(strstr(text, "who takes the CPUs is not known: not allowed"), "why there is none");
	free(text);
}

int main(void)
{
	test_advice();
	test_vcpu();
	test_table();
	return tap_done();
}
