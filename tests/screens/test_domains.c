/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of domains, and several guests that are profiled at the same time. */
#include "config.h"

#include <locale.h>

#include "scene.h"

/* --- domains, several guests ------------------------------------------------------------------ */

struct host {
	struct scene scene;
	struct ui_pipeline pipelines[2];
	unsigned n_open, opened, closed, listed;
	uint64_t cpu_ns;
	bool broken;
	bool nameless;  /* the list has no names */
	bool rebooted;  /* web01 has a new id */
	size_t without; /* so many domains are gone: those with the lowest ids but dom0 */
	/* With all guests. */
	unsigned n_begun, n_offered; /* pipelines that began, and that were offered */
	const struct ui_pipeline *over;
	struct ui_source source;
};

static struct xtop_error *host_list(void *context, struct ui_domain **domainsp, size_t *np)
{
	static const struct ui_domain some[] = {
		{ "Domain-0", 0, "PV", "running", 1, 0, 1 << 20, "", "this is where xtop runs" },
		{ "web01", 5, "PVH", "running", 2, 0, 512 << 10, "Linux 6.1.0-56-amd64", NULL },
		{ "cache\033[31m02", 6, "PV", "blocked", 1, 0, 64 << 10, "unikernel", NULL },
		{ "a-domain-with-a-very-long-name-indeed", 17, "HVM", "paused", 128, 0, 3 << 20, "",
		  NULL },
	};
	struct host *host = context;

	host->listed++;
	if (host->broken)
		return error_create("the list of domains cannot be read");
	*domainsp = malloc(sizeof(some));
	memcpy(*domainsp, some, sizeof(some));
	*np = sizeof(some) / sizeof(some[0]);
	for (size_t i = 0; i < *np; i++)
		(*domainsp)[i].cpu_ns = host->cpu_ns * i;
	for (size_t i = 0; i < *np && host->nameless; i++)
		(*domainsp)[i].name[0] = '\0';
	if (host->rebooted)
		(*domainsp)[1].id = 15;
	*np -= host->without;
	memmove(*domainsp + 1, *domainsp + 1 + host->without, (*np - 1) * sizeof(some[0]));
	return NULL;
}

static struct xtop_error *host_open(void *context, const struct ui_domain *domain,
				    const struct ui_pipeline **pipelinep)
{
	struct host *host = context;

	if (domain->id == 6)
		return error_create("cache02: no symbols, give them with -k");
	host->opened++;
	host->n_open++;
	*pipelinep = &host->pipelines[domain->id == 17];
	return NULL;
}

static void host_close(void *context, const struct ui_pipeline *pipeline)
{
	struct host *host = context;

	(void)pipeline;
	host->closed++;
	host->n_open--;
}

static const struct ui_pipeline *host_next(void *context)
{
	struct host *host = context;

	if (host->n_offered == host->n_begun)
		return NULL;
	host->n_open++;
	return &host->pipelines[host->n_offered++];
}

static bool host_is_over(void *context, const struct ui_pipeline *pipeline)
{
	return ((struct host *)context)->over == pipeline;
}

/* N_PIPELINES 0: nothing was named, so the list of domains comes first. */
static void host_start(struct host *host, size_t n_pipelines)
{
	const struct ui_pipeline *const *pipelines;
	struct ui_settings settings;

	*host = (struct host){ .cpu_ns = 0 };
	scene_open(&host->scene);
	ui_destroy(host->scene.ui);
	host->pipelines[0] = host->scene.pipeline;
	host->pipelines[1] = host->scene.pipeline;
	host->pipelines[1].guest.name = "a-domain-with-a-very-long-name-indeed";
	host->pipelines[1].guest.id = 17;
	if (snapshot_slot_create(&host->pipelines[1].slot))
		abort();
	pipelines = (const struct ui_pipeline *const[]){ &host->pipelines[0], &host->pipelines[1] };
	host->source = (struct ui_source){ .context = host,
					   .n_pipelines = n_pipelines,
					   .pipelines = pipelines,
					   .list = host_list,
					   .open = host_open,
					   .close = host_close };
	settings = host->scene.settings;
	settings.host = "Xen 4.17.7 · 2 CPUs";
	if (ui_create(&settings, &host->source, &host->scene.ui))
		abort();
	host->scene.ui->now_ns = 100 * SECOND;
}

static void host_end(struct host *host)
{
	ui_destroy(host->scene.ui);
	host->scene.ui = NULL;
	check(host->n_open == 0, "every opened pipeline is closed");
	snapshot_slot_destroy(host->pipelines[1].slot);
	scene_close(&host->scene);
}

static void test_domains(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	host.cpu_ns = SECOND / 4;
	ui_tick(scene->ui, 101 * SECOND, 0, &changed);
	check(changed, "the list changes with time");
	screen_check(scene, "domains-80x24", 80, 24);
	screen_check(scene, "domains-120x40", 120, 40);
	screen_check(scene, "domains-40x10", 40, 10);
	scene_keys(scene, 80, 24, "h");
	screen_check(scene, "help-domains-80x24", 80, 24);
	scene_keys(scene, 80, 24, "hq");
	check(scene->ui->quitting, "q in the list quits if there is no guest");
	scene->ui->quitting = false;
	scene_keys(scene, 80, 24, "k<Enter>");
	screen_contains(scene, 80, 24, "this is where xtop runs", true);
	check(!host.opened, "a domain with an obstacle is not opened");
	scene_keys(scene, 80, 24, "jj<Enter>");
	screen_contains(scene, 80, 24, "cache02: no symbols", true);
	scene_keys(scene, 80, 24, "k<Enter>");
	check(host.opened == 1 && ui_view(scene->ui) == &top_ops, "web01 is profiled");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "D");
	check(ui_view(scene->ui) == &domains_ops && host.n_open == 1,
	      "D shows the list, and the guest stays");
	scene_keys(scene, 80, 24, "<Esc>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "D<End><Enter>");
	check(host.n_open == 2, "a second guest is profiled beside the first");
	scene_keys(scene, 80, 24, "<Tab>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "<Esc>");
	check(host.closed == 1 && ui_view(scene->ui) == &domains_ops,
	      "Esc goes back to the list and ends profiling");
	host.broken = true;
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "the list of domains cannot be read", true);
	screen_contains(scene, 80, 24, "web01", true);
	scene_keys(scene, 80, 24, "qqq");
	check(scene->ui->quitting, "q quits when no guest is left");
	host_end(&host);
}

/* From who takes a guest's CPUs to the neighbour's own functions. */
static void test_neighbour(void)
{
	struct snapshot *snapshot;
	struct scene *scene;
	struct host host;

	host_start(&host, 1);
	scene = &host.scene;
	fixture_fill(&scene->fixture);
	snapshot = fixture_snapshot(&scene->fixture, 2);
	snapshot->run->takers = calloc(1, sizeof(*snapshot->run->takers));
	*snapshot->run->takers = (struct takers_table){
		.looks = 10,
		.domid = 5,
		.n_takers = 2,
		.takers = { { .domid = 17, .name = "db07", .share = { 0.7, 0.7 } },
			    { .domid = 0, .name = "Domain-0", .share = { 0.3, 0.3 } } },
	};
	ui_show(scene->ui, snapshot);
	scene_keys(scene, 80, 24, "T<Down><Enter>");
	screen_contains(scene, 80, 24, "this is where xtop runs", true);
	host.without = 3;
	scene->ui->now_ns += 2 * SECOND;
	scene_keys(scene, 80, 24, "<Up><Enter>");
	screen_contains(scene, 80, 24, "there is no domain 17 here", true);
	host.without = 0;
	scene->ui->now_ns += 2 * SECOND;
	scene_keys(scene, 80, 24, "<Enter>");
	check(host.opened == 1 && ui_view(scene->ui) == &top_ops, "the neighbour is profiled");
	screen_contains(scene, 80, 24, "a-domain-with-a-very", true);
	scene_keys(scene, 80, 24, "<Tab>");
	screen_contains(scene, 80, 24, "Neighbour", true);
	host_end(&host);
}

/* All guests are profiled (--all): they come and go by themselves. */
static void test_all_guests(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.source.next = host_next;
	host.source.is_over = host_is_over;
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	check(ui_view(scene->ui) == &domains_ops && !scene->ui->n_guests,
	      "all guests: the list comes first");
	host.n_begun = 2;
	ui_tick(scene->ui, 101 * SECOND, 0, &changed);
	check(scene->ui->n_guests == 2 && ui_view(scene->ui) == &domains_ops,
	      "guests come without being picked");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Enter>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	check(!host.opened, "the picked one was profiled already");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 103 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	check(!host.closed, "the guest on the screen ends, and stays there");
	host.over = NULL;
	scene_keys(scene, 80, 24, "q");
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	check(ui_view(scene->ui) == &domains_ops && scene->ui->n_guests == 2 && !host.closed,
	      "q leads to the list, and profiling goes on");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 105 * SECOND, 0, &changed);
	check(scene->ui->n_guests == 1 && host.closed == 1,
	      "a guest that has ended leaves the picture");
	host.over = NULL;
	scene_keys(scene, 80, 24, "<Enter>");
	check(host.n_open == 2 && scene->ui->n_guests == 2,
	      "a guest that is left out can be picked");
	scene_keys(scene, 80, 24, "D<End><Enter>");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 106 * SECOND, 0, &changed);
	check(host.closed == 2 && scene->ui->n_guests == 1,
	      "the end of a picked guest closes its pipeline, once");
	scene_keys(scene, 80, 24, "q");
	scene_keys(scene, 80, 24, "q");
	check(scene->ui->quitting, "q in the list quits");
	host.n_open--; /* the run ends the other one, not the screen */
	host_end(&host);
}

static void test_domains_know(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.pipelines[1].guest.system = "storage.elf";
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "storage.elf", false);
	scene_keys(scene, 80, 24, "<End><Enter>");
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check(host.n_open == 1, "the domain is profiled");
	host.listed = 0;
	scene_keys(scene, 80, 24, "<Esc>");
	check(host.closed == 1 && host.listed == 1, "Esc ends profiling and reads the list once");
	screen_contains(scene, 80, 24, "storage.elf", true);
	ui_tick(scene->ui, 103 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "storage.elf", true);
	scene_keys(scene, 80, 24, "<End><Enter>");
	ui_tick(scene->ui, 105 * SECOND, 0, &changed);
	host.listed = 0;
	host_end(&host);
	check(!host.listed, "the list is not read at the end");
}

static const char *host_notice_reboot(void *context)
{
	struct host *host = context;

	host->pipelines[0].guest.id = 15;
	return "";
}

/* Ids tell domains without a name apart. The name tells a guest that has a new id. */
static void test_domains_apart(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.nameless = true;
	host.pipelines[0].guest.name = host.pipelines[1].guest.name = "";
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<End><Enter>D");
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.n_open == 2, "two domains without a name are two guests");
	scene_keys(scene, 80, 24, "<Esc><End><Enter>");
	check(host.opened == 2 && host.n_open == 1,
	      "the other domain without a name is still profiled");
	host_end(&host);

	host_start(&host, 0);
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>D");
	host.rebooted = true;
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.opened == 1, "a domain that rebooted is the same guest");
	host.nameless = true;
	host.pipelines[0].guest.name = "";
	host.pipelines[0].message = host_notice_reboot;
	host.pipelines[0].context = &host;
	scene_keys(scene, 80, 24, "D");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.opened == 1,
	      "a guest without a name is not opened again once its new id is known");
	host_end(&host);
}

static void check_marked(struct host *host, const char *name, const char *what)
{
	char marked[64], line[256];

	snprintf(marked, sizeof(marked), "▌ %s ", name);
	scene_cursor_line(&host->scene, line, sizeof(line));
	check(!strncmp(line, marked, strlen(marked)), "%s: %s is marked: %s", what, name, line);
}

/* NAMES: what the rows show, from the first row on. */
static void check_domains(struct host *host, const char *names, const char *what)
{
	char *text, seen[256] = "", *line;
	int row = 0;

	scene_draw(&host->scene, 80, 24, &text, NULL);
	for (char *rest = text; row < 6 && (line = strsep(&rest, "\n")); row++) {
		size_t length = strlen(seen);
		char *name = line + strspn(line, "▌ ");

		if (row >= 2)
			snprintf(seen + length, sizeof(seen) - length, "%s%.*s", length ? " " : "",
				 (int)strcspn(name, " "), name);
	}
	check_string(seen, names, what);
	free(text);
}

/* Domains come and go: the cursor stays on its domain, and first on the first guest. */
static void test_domains_come_and_go(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.without = 3;
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	check_marked(&host, "Domain-0", "before any guest came");
	host.without = 1;
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "after two guests came");
	host.without = 0;
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "after a guest above the cursor came");
	scene_keys(scene, 80, 24, "<Home>");
	check_marked(&host, "web01", "after Home");
	scene_keys(scene, 80, 24, "j");
	host.without = 1;
	ui_tick(scene->ui, 106 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "the cursor was moved, and the guest above went");
	host.without = 2;
	ui_tick(scene->ui, 108 * SECOND, 0, &changed);
	check_marked(&host, "a-domain…-indeed", "the domain under the cursor went");
	host.without = 0;
	ui_tick(scene->ui, 110 * SECOND, 0, &changed);
	check_domains(&host, "Domain-0 web01 cache_[31m02 a-domain…-indeed", "sorted by id");
	scene_keys(scene, 80, 24, "<F6>");
	host.cpu_ns = SECOND;
	ui_tick(scene->ui, 112 * SECOND, 0, &changed);
	check_domains(&host, "a-domain…-indeed cache_[31m02 web01 Domain-0", "sorted by CPU");
	check_marked(&host, "a-domain…-indeed", "sorting keeps the cursor on its domain");
	scene_keys(scene, 80, 24, ">");
	check_domains(&host, "a-domain…-indeed Domain-0 web01 cache_[31m02", "sorted by memory");
	scene_click(scene, 80, 24, 1, 4);
	check_domains(&host, "Domain-0 a-domain…-indeed cache_[31m02 web01",
		      "a click sorts by name");
	check_marked(&host, "a-domain…-indeed", "a click keeps the cursor on its domain");
	scene_keys(scene, 80, 24, "<");
	check_domains(&host, "a-domain…-indeed Domain-0 web01 cache_[31m02",
		      "the columns go round");
	host_end(&host);
}

static void test_two_guests(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 2);
	fixture_fill(&scene->fixture);
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
	screen_contains(scene, 120, 24, "Tab: 1 more", true);
	scene_keys(scene, 80, 24, "t<Tab>");
	check(ui_view(scene->ui) == &top_ops, "each guest has views of its own");
	screen_contains(scene, 80, 24, "starting", true);
	fixture_add(&scene->fixture, "md5sum _start main", 1);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check(!changed, "a new picture of the other guest changes nothing on the screen");
	scene_keys(scene, 80, 24, "<Tab>");
	screen_contains(scene, 80, 24, "10,001 samples", true);
	check(ui_view(scene->ui) == &tree_ops, "a guest is shown in the view of before");
	scene_keys(scene, 80, 24, "aqx");
	check(scene->ui->quitting, "q quits: guests that were named do not lead to the list");
	host_end(&host);
}

/* The hint for one guest is not shown for another whose picture has the same number. */
static void test_hint_of_guest(void)
{
	struct snapshot *snapshot;
	struct host host;
	bool changed;

	host_start(&host, 2);
	fixture_fill(&host.scene.fixture);
	snapshot = fixture_snapshot(&host.scene.fixture, 2);
	snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]),
		 "no ORC tables: stacks end early");
	ui_show(host.scene.ui, snapshot);
	screen_contains(&host.scene, 80, 24, "no ORC tables", true);
	snapshot = fixture_snapshot(&host.scene.fixture, 2);
	snapshot->sequence--;
	snapshot_publish(host.pipelines[1].slot, snapshot);
	ui_tick(host.scene.ui, 102 * SECOND, 0, &changed);
	scene_keys(&host.scene, 80, 24, "<Tab>");
	screen_contains(&host.scene, 80, 24, "a-domain", true);
	screen_contains(&host.scene, 80, 24, "no ORC tables", false);
	scene_keys(&host.scene, 80, 24, "<Tab>");
	screen_contains(&host.scene, 80, 24, "no ORC tables", true);
	host_end(&host);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_domains();
	test_neighbour();
	test_all_guests();
	test_domains_know();
	test_domains_apart();
	test_domains_come_and_go();
	test_two_guests();
	test_hint_of_guest();
	return tap_done();
}
