/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every release of Xen that xtop knows, made up: this file replaces the functions of libxencall and
 * libxenforeignmemory, and answers as that release would. The versions and structures are written
 * down here a second time, from the public headers of each release (src/xen/domctl_abi.c names the
 * sources), so that a wrong number in the table shows. What differs by machine is in made_guest.h.
 */
#include "config.h"

#include "xen/public.h"
#include "xen/store.h"

#include <xencall.h>
#include <xenforeignmemory.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "made_guest.h"
#include "tests/support/tap.h"
#include "xen_libraries.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/cli/options.h"
#include "xtop/xen/domctl.h"
#include "xtop/xen/xen.h"

/* --- what each release has -------------------------------------------------------------------- */

/*
 * struct xen_domctl_getdomaininfo, public/domctl.h, up to cpupool. Since 4.16 gpaddr_bits and padding
 * follow, 8 bytes; in all releases arch_config is the last.
 */
struct info {
	uint16_t domain, pad;
	uint32_t flags;
	uint64_t tot_pages, max_pages, outstanding_pages, shr_pages, paged_pages;
	uint64_t shared_info_frame, cpu_time;
	uint32_t nr_online_vcpus, max_vcpu_id, ssidref;
	uint8_t handle[16];
	uint32_t cpupool;
};
#define GPADDR_BYTES     8
#define MAX_CONFIG_BYTES 16

struct release {
	const char *name;
	unsigned minor;
	uint32_t domctl, sysctl;
	bool has_gpaddr_bits;
	bool finds_next; /* getdomaininfo describes the next domain if there is none */
};

static const struct release releases[] = {
	{ "4.14", 14, 0x12, 0x13, false, true }, { "4.15", 15, 0x13, 0x13, false, true },
	{ "4.16", 16, 0x14, 0x14, true, true },  { "4.17", 17, 0x15, 0x15, true, true },
	{ "4.18", 18, 0x16, 0x15, true, false }, { "4.19", 19, 0x17, 0x15, true, false },
	{ "4.20", 20, 0x17, 0x15, true, false }, { "4.21", 21, 0x17, 0x16, true, false },
	{ "4.22", 22, 0x18, 0x16, true, false },
};
#define N_RELEASES (sizeof(releases) / sizeof(releases[0]))

/* --- the made-up Xen -------------------------------------------------------------------------- */

#define N_VCPUS     3
#define MAX_DOMAINS 700

static const struct made_domain few[] = {
	{ 0, XEN_DOMINF_running, MADE_PV },
	{ 5, XEN_DOMINF_blocked | XEN_DOMINF_hvm_guest, MADE_PVH },
	{ 9, XEN_DOMINF_hvm_guest | XEN_DOMINF_paused, MADE_HVM },
	{ 12, XEN_DOMINF_blocked, MADE_PV_32 },
	{ 13, XEN_DOMINF_hvm_guest | XEN_DOMINF_shutdown | SHUTDOWN_crash << 16, MADE_PVH },
};
#define N_FEW (sizeof(few) / sizeof(few[0]))

static struct {
	struct release release;
	struct made_domain domains[MAX_DOMAINS];
	unsigned n_domains;
	unsigned pauses, lists;
	bool refuse; /* this domain is not dom0 */
	bool refuse_width;
} xen;

static void xen_boot(const struct release *release)
{
	memset(&xen, 0, sizeof(xen));
	xen.release = *release;
	memcpy(xen.domains, few, sizeof(few));
	xen.n_domains = N_FEW;
	xen_assume(NULL);
}

/* The domain with this number; without one the next, if NEXT. */
static const struct made_domain *xen_domain(uint32_t domid, bool next)
{
	for (unsigned i = 0; i < xen.n_domains; i++)
		if (xen.domains[i].domid == domid || (next && xen.domains[i].domid > domid))
			return &xen.domains[i];
	return NULL;
}

/* Returns how many bytes it has filled. In what xtop does not use there are bytes that would be wrong. */
static size_t xen_describe_domain(const struct made_domain *domain, char *bytes)
{
	size_t config = sizeof(struct info) + (xen.release.has_gpaddr_bits ? GPADDR_BYTES : 0);
	struct info info;

	memset(&info, 0xa5, sizeof(info));
	info.domain = (uint16_t)domain->domid;
	info.flags = domain->flags;
	info.tot_pages = 1000 + domain->domid;
	info.cpu_time = 7000000 + domain->domid;
	info.max_vcpu_id = N_VCPUS - 1;
	memset(info.handle, (int)domain->domid, sizeof(info.handle));
	memset(bytes, 0xa5, config + MAX_CONFIG_BYTES);
	memcpy(bytes, &info, sizeof(info));
	return config + made_guest_config(domain, xen.release.minor, bytes + config);
}

static long xen_domctl(struct xen_domctl *domctl)
{
	const struct made_domain *domain;
	bool next = domctl->cmd == XEN_DOMCTL_getdomaininfo && xen.release.finds_next;

	if (domctl->interface_version != xen.release.domctl)
		return -EACCES;
	if (xen.refuse)
		return -EPERM;
	domain = xen_domain(domctl->domain, next);
	if (!domain)
		return -ESRCH;
	switch (domctl->cmd) {
	case 3: /* pausedomain */
		xen.pauses++;
		return 0;
	case 4: /* unpausedomain */
		if (!xen.pauses)
			return -EINVAL;
		xen.pauses--;
		return 0;
	case 5: /* getdomaininfo */
		xen_describe_domain(domain, (char *)&domctl->u);
		domctl->domain = (domid_t)domain->domid;
		return 0;
	case 13: /* getvcpucontext */
		made_guest_fill_context(domain, domctl->u.vcpucontext.vcpu,
					domctl->u.vcpucontext.ctxt.p);
		return 0;
	case 14: /* getvcpuinfo */
		domctl->u.getvcpuinfo.online = 1;
		domctl->u.getvcpuinfo.running = domctl->u.getvcpuinfo.vcpu == 1;
		domctl->u.getvcpuinfo.blocked = domctl->u.getvcpuinfo.vcpu == 2;
		domctl->u.getvcpuinfo.cpu_time = 1000 + domctl->u.getvcpuinfo.vcpu;
		return 0;
	case 36: /* get_address_size, in bits */
		if (xen.refuse_width)
			return -EINVAL;
		domctl->u.address_size.size = domain->type == MADE_PV_32 ? 32 : 64;
		return 0;
	default:
		return -ENOSYS;
	}
}

static long xen_sysctl(struct xen_sysctl *sysctl)
{
	struct xen_sysctl_getdomaininfolist *list = &sysctl->u.getdomaininfolist;
	char described[sizeof(struct info) + GPADDR_BYTES + MAX_CONFIG_BYTES];
	size_t bytes;

	if (sysctl->interface_version != xen.release.sysctl)
		return -EACCES;
	if (xen.refuse)
		return -EPERM;
	if (sysctl->cmd != 6) /* getdomaininfolist */
		return -ENOSYS;
	list->num_domains = 0;
	for (unsigned i = 0; i < xen.n_domains && list->num_domains < list->max_domains; i++) {
		if (xen.domains[i].domid < list->first_domain)
			continue;
		bytes = xen_describe_domain(&xen.domains[i], described);
		memcpy((char *)list->buffer.p + list->num_domains++ * bytes, described, bytes);
	}
	xen.lists += list->num_domains > 0;
	return 0;
}

/* --- the libraries ---------------------------------------------------------------------------- */

static long xen_call(unsigned op, uint64_t argument)
{
	void *at = (void *)(uintptr_t)argument;

	if (op == __HYPERVISOR_domctl)
		return xen_domctl(at);
	return op == __HYPERVISOR_sysctl ? xen_sysctl(at) : -ENOSYS;
}

int xencall1(xencall_handle *call, unsigned op, uint64_t argument)
{
	long result = xen_call(op, argument);

	(void)call;
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : 0;
}

int xencall2(xencall_handle *call, unsigned op, uint64_t first, uint64_t second)
{
	multicall_entry_t *entries = (multicall_entry_t *)(uintptr_t)first;

	(void)call;
	if (op == __HYPERVISOR_xen_version)
		return 4 << 16 | (int)xen.release.minor;
	for (uint64_t i = 0; i < second; i++)
		entries[i].result =
			(xen_ulong_t)xen_call((unsigned)entries[i].op, entries[i].args[0]);
	return 0;
}

/* Without xenstore no domain has a name. */
struct store *store_open(void)
{
	return NULL;
}

char *store_read(struct store *store, const char *path)
{
	(void)store, (void)path;
	return NULL;
}

void store_close(struct store *store)
{
	(void)store;
}

/* This machine has no Xen, and xtop looks for its device. */
int open(const char *path, int flags, ...)
{
	va_list arguments;
	unsigned mode = 0;

	va_start(arguments, flags);
	if (flags & O_CREAT)
		mode = va_arg(arguments, unsigned);
	va_end(arguments);
	if (strcmp(path, "/dev/xen/privcmd") == 0)
		path = "/dev/null";
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* "ID TYPE STATE", one a line. */
static const char *list_text(void)
{
	static const char *const types[] = {
		[GUEST_PV] = "PV", [GUEST_PVH] = "PVH", [GUEST_HVM] = "HVM"
	};
	_cleanup_free_ struct guest_listing *list = NULL;
	struct xtop_error *error;
	static char text[512];
	size_t n = 0, length = 0;

	error = xen_list(&list, &n);
	if (error) {
		snprintf(text, sizeof(text), "%s", error_message(error));
		error_destroy(error);
		return text;
	}
	text[0] = '\0';
	for (size_t i = 0; i < n && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%u %s %c%s\n",
					   list[i].info.domid, types[list[i].info.type],
					   list[i].state, list[i].info.crashed ? " crashed" : "");
	return text;
}

/* The text of the five domains in few[]. */
static const char *few_text(void)
{
	static const char *const states[N_FEW] = { "r", "b", "p", "b", "s crashed" };
	static char text[128];
	size_t length = 0;

	for (size_t i = 0; i < N_FEW; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%u %s %s\n",
					   few[i].domid, made_guest_type_name(&few[i]), states[i]);
	return text;
}

/* "" without an error. */
static const char *find_text(const char *domain, struct guest_info *info)
{
	struct xtop_error *error = xen_find_unnamed(domain, info);
	static char text[512];

	snprintf(text, sizeof(text), "%s", error ? error_message(error) : "");
	error_destroy(error);
	return text;
}

static void test_domains(const char *name)
{
	struct guest_info info = { .domid = 0 };

	check_string(list_text(), few_text(), "list of the domains");
	check_string(find_text("5", &info), "", "error at the look at domain 5");
	check(info.n_vcpus == N_VCPUS && info.memory_kib == 4 * 1005 &&
		      strcmp(info.uuid, "05050505-0505-0505-0505-050505050505") == 0,
	      "%s: %u vCPUs, %" PRIu64 " KiB, UUID %s", name, info.n_vcpus, info.memory_kib,
	      info.uuid);
	check_string(find_text("7", &info), "no domain '7' on this host: xtop -l lists them",
		     "a number between two domains");
	check(xen_is_same_domain(&(struct guest_info){
		      .domid = 5, .uuid = "05050505-0505-0505-0505-050505050505" }),
	      "a domain is found by its UUID");
	check(!xen_is_same_domain(&(struct guest_info){
		      .domid = 7, .uuid = "09090909-0909-0909-0909-090909090909" }),
	      "there is no domain 7, and 9 is not taken for it");
}

static bool stop_guest(const struct guest *guest, struct guest_vcpu *vcpus)
{
	for (unsigned i = 0; i < N_VCPUS; i++)
		vcpus[i].number = (uint16_t)i;
	return guest->ops->stop(guest->context, clock_now_ns(), vcpus, N_VCPUS);
}

static void test_stop(const char *name)
{
	struct guest_info info = { .domid = 5, .uuid = "05050505-0505-0505-0505-050505050505",
				   .type = GUEST_PVH, .n_vcpus = N_VCPUS };
	struct guest_vcpu vcpus[N_VCPUS] = { { 0 } };
	struct stop_area *area = NULL;
	struct guest_look look;
	struct guest guest;

	if (stop_area_create(&info, &area) || domctl_open(&info, area, STOP_SAMPLER, &guest)) {
		check(false, "%s: opened", name);
		return;
	}
	check(guest.ops->look(guest.context, &look) && look.life == GUEST_RUNS &&
		      look.pages == 1005 && look.states[1] == VCPU_RUNNING &&
		      look.states[2] == VCPU_BLOCKED && look.cpu_ns[2] == 1002,
	      "%s: the guest is looked at", name);
	guest.ops->expect_stops(guest.context);
	check(stop_guest(&guest, vcpus) && xen.pauses == 1 && stop_area_is_stopped(area),
	      "a stop pauses the guest once");
	guest.ops->release(guest.context);
	guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	check(!xen.pauses && !stop_area_is_stopped(area), "a release ends the pause");
	check(made_guest_has_registers(&few[1], &vcpus[2].regs, 2), "vCPU 2 has its registers");
	stop_area_disarm(area, STOP_GUARD);
	check(!stop_guest(&guest, vcpus) && !xen.pauses, "a disarmed guest is not stopped");
	stop_area_arm(area);
	check(stop_guest(&guest, vcpus) && xen.pauses == 1, "an armed guest is stopped");
	guest.ops->release(guest.context);
	memmove(&xen.domains[1], &xen.domains[2], (N_FEW - 2) * sizeof(xen.domains[0]));
	xen.n_domains--;
	check(guest.ops->look_life(guest.context, &look) && look.life == GUEST_GONE,
	      "%s: the guest is gone, and the next one is not taken for it", name);
	guest.ops->close(guest.context);
	stop_area_destroy(area);
}

/* A PV guest of 32 bits, whose registers have another layout. On arm64 it is a guest like others. */
static void test_pv_32(const char *name)
{
	struct guest_info info = { .domid = 0 };
	struct guest_vcpu vcpus[N_VCPUS];
	struct stop_area *area = NULL;
	struct guest guest;

	memset(vcpus, 0xa5, sizeof(vcpus));
	for (unsigned i = 0; i < N_VCPUS; i++)
		vcpus[i].cached_cpu_ns = 0;
	check_string(find_text("12", &info), "", "a PV guest of 32 bits");
	if (stop_area_create(&info, &area) || domctl_open(&info, area, STOP_SAMPLER, &guest)) {
		check(false, "%s: opened", name);
		return;
	}
	guest.ops->expect_stops(guest.context);
	check(stop_guest(&guest, vcpus) && !vcpus[1].user,
	      "%s: a PV guest of 32 bits stopped, in its kernel", name);
	guest.ops->release(guest.context);
	guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	check(made_guest_has_registers(&few[3], &vcpus[1].regs, 1), "%s: its registers", name);
	guest.ops->close(guest.context);
	stop_area_destroy(area);
}

static void test_unpause(void)
{
	struct xen_control *control;
	uint64_t cpu_time_ns = 0;

	if (xen_open_control(&control))
		abort();
	check(xen_is_paused(control, 9, &cpu_time_ns) && cpu_time_ns == 7000009,
	      "domain 9 is paused, after %" PRIu64 " ns", cpu_time_ns);
	check(!xen_is_paused(control, 12, &cpu_time_ns), "domain 12 is not paused");
	check(!xen_is_paused(control, 7, &cpu_time_ns), "there is no domain 7");
	xen.pauses = 3;
	check_u64(xen_unpause(control, 9, 2), 2, "two pauses undone");
	check_u64(xen.pauses, 1, "pauses that stay of three");
	xen_close_control(control);
}

static void test_releases(void)
{
	for (unsigned i = 0; i < N_RELEASES; i++) {
		printf("# Xen %s\n", releases[i].name);
		xen_boot(&releases[i]);
		test_domains(releases[i].name);
		test_unpause();
		xen_boot(&releases[i]);
		test_stop(releases[i].name);
		xen_boot(&releases[i]);
		test_pv_32(releases[i].name);
	}
}

/* A list that does not fit into one answer. */
static void test_long_list(void)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	size_t n = 0, right = 0;

	xen_boot(&releases[0]);
	xen.n_domains = MAX_DOMAINS;
	for (unsigned i = 0; i < MAX_DOMAINS; i++)
		xen.domains[i] = (struct made_domain){ 3 * i, XEN_DOMINF_hvm_guest, MADE_PVH };
	if (xen_list(&list, &n))
		abort();
	for (size_t i = 0; i < n; i++)
		right += list[i].info.domid == 3 * i && list[i].info.type == GUEST_PVH;
	check(n == MAX_DOMAINS && right == n && xen.lists > 1, "%zu domains, %zu right, by %u calls",
	      n, right, xen.lists);
}

/* Xen may run with any pair of versions. What must be in the error, and in no list. */
static void test_unknown(void)
{
	static const struct {
		uint32_t domctl, sysctl;
		const char *message;
	} unknown[] = {
		{ 0x19, 0x16,
		  "this is Xen 4.99 with domctl interface 0x19 and sysctl interface 0x16, but xtop "
		  "knows those of Xen 4.14 to 4.22, 0x12 to 0x18 and 0x13 to 0x16: --xen-abi=4.22 "
		  "tries the newest of them" },
		{ 0x17, 0x17,
		  "this is Xen 4.99 with domctl interface 0x17 and sysctl interface 0x17, but xtop "
		  "knows those of Xen 4.14 to 4.22, 0x12 to 0x18 and 0x13 to 0x16: --xen-abi=4.22 "
		  "tries the newest of them" },
		/* In the middle of a cycle of development, before gpaddr_bits. */
		{ 0x14, 0x13,
		  "this is Xen 4.99 with domctl interface 0x14 and sysctl interface 0x13, but xtop "
		  "knows those of Xen 4.14 to 4.22, 0x12 to 0x18 and 0x13 to 0x16: --xen-abi=4.22 "
		  "tries the newest of them" },
		{ 0x0f, 0x11,
		  "this is Xen 4.99 with domctl interface unknown and sysctl interface unknown, but "
		  "xtop knows those of Xen 4.14 to 4.22, 0x12 to 0x18 and 0x13 to 0x16: a newer xtop "
		  "may know it, or Xen's policy (XSM) forbids to ask" },
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct release release = { "4.99", 99, unknown[i].domctl, unknown[i].sysctl, true,
					   false };

		xen_boot(&release);
		check_string(list_text(), unknown[i].message, "an unknown version of Xen");
	}
}

static void test_older(void)
{
	const struct release older = { "4.12", 12, 0x11, 0x12, false, true };

	xen_boot(&older);
	check_string(
		list_text(),
		"this is Xen 4.12 with domctl interface unknown and sysctl interface unknown, but "
		"xtop knows those of Xen 4.14 to 4.22, 0x12 to 0x18 and 0x13 to 0x16: xtop needs Xen "
		"4.14 or later",
		"a Xen that is too old");
}

static void test_assumed(void)
{
	const struct release newer = { "4.99", 99, 0x1b, 0x19, true, false };
	const struct release odd = { "4.99", 99, 0x1b, 0x19, false, true };
	struct xtop_error *error;

	xen_boot(&newer);
	check(!xen_assume("4.22"), "--xen-abi=4.22 is accepted for a newer Xen");
	check_string(list_text(), few_text(), "a newer Xen, taken for 4.22");
	test_stop("a newer Xen, taken for 4.22");
	xen_boot(&odd);
	check(!xen_assume("4.14"), "--xen-abi=4.14 is accepted for a Xen with odd layouts");
	check_string(list_text(), few_text(), "layouts of 4.14");
	xen_boot(&releases[3]);
	check(!xen_assume("4.14"), "--xen-abi=4.14 is accepted for a known Xen");
	check_string(list_text(), few_text(), "--xen-abi does not change a known Xen");
	error = xen_assume("4.13");
	check_string(error ? error_message(error) : "",
		     "--xen-abi: '4.13' is not allowed: 4.14 to 4.22",
		     "--xen-abi of a release that does not exist");
	error_destroy(error);
	xen_boot(&releases[3]);
	xen.refuse = true;
	check_string(list_text(), "this domain may not look into others: run xtop in dom0",
		     "error in a domain other than dom0");
}

/* A layout that is not known for certain would give wrong registers, and no message. */
static void test_width(void)
{
	struct guest_info info = { 0 };
	struct xtop_error *error;

	xen_boot(&releases[3]);
	check(!xen_find_unnamed("12", &info) && info.is_pv_32, "a PV guest with a 32-bit kernel");
	check(!xen_find_unnamed("5", &info) && !info.is_pv_32, "a PVH guest is no 32-bit PV guest");
	xen.refuse_width = true;
	error = xen_find_unnamed("12", &info);
	check_string(error ? error_message(error) : "",
		     "Xen does not tell whether domain 12 has a 32-bit kernel",
		     "error if Xen does not tell a kernel's width");
	error_destroy(error);
	check(!xen_find_unnamed("5", &info), "Xen is not asked for a PVH guest's kernel width");
}

/* Besides the table, the user reads of the releases in --help. */
static void test_help(void)
{
	char range[32];

	snprintf(range, sizeof(range), "%s to %s", releases[0].name, releases[N_RELEASES - 1].name);
	check(strstr(options_help(), range), "--help has Xen %s", range);
}

int main(void)
{
	test_releases();
	test_help();
	test_long_list();
	test_unknown();
	test_older();
	test_assumed();
	test_width();
	return tap_done();
}
