/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists domains, and finds the one that the user means. In the processes that have root's rights
 * (src/supervise/), and in main's while main has its rights. Xen describes the domains, and
 * xenstore has their names.
 */
#include "config.h"

#include "xen/public.h"


#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include XEN_GUEST_HEADER
#include "xen/place.h"
#include "xen/store.h"
#include "xen/xen_control.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/xen/domctl.h"
#include "xtop/xen/xen.h"

#define XEN_MAX_DOMAINS 32768 /* DOMID_FIRST_RESERVED is 0x7ff0 */
#define XEN_LIST_STEP   256

/* Says why Xen cannot be asked: libxencall would only say that it cannot open a file. */
static struct xtop_error *xen_check(void)
{
	_cleanup_close_ int fd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
	int errno_value = errno;

	if (fd < 0)
		return place_explain(place_find("/sys/hypervisor"), errno_value, !geteuid());
	return NULL;
}

static char xen_state(const struct xen_domain *domain)
{
	if (domain->flags & XEN_DOMINF_dying)
		return 'd';
	if (domain->flags & XEN_DOMINF_shutdown)
		return 's';
	if (domain->flags & XEN_DOMINF_paused)
		return 'p';
	if (domain->flags & XEN_DOMINF_blocked)
		return 'b';
	return domain->flags & XEN_DOMINF_running ? 'r' : '-';
}

static void xen_format_uuid(const xen_domain_handle_t handle, char uuid[40])
{
	char *next = uuid;

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*next++ = '-';
		next += sprintf(next, "%02x", handle[i]);
	}
}

static void xen_read_name(struct store *store, uint32_t domid, char name[GUEST_NAME_BYTES])
{
	_cleanup_free_ char *value = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	value = store ? store_read(store, path) : NULL;
	if (snprintf(name, GUEST_NAME_BYTES, "%s", value ? value : "") >= GUEST_NAME_BYTES)
		memcpy(name + GUEST_NAME_BYTES - sizeof(GUEST_NAME_CUT), GUEST_NAME_CUT,
		       sizeof(GUEST_NAME_CUT));
}

/*
 * Reads the system's name, which an agent in the guest writes: agents of XCP-ng and of Windows do.
 * Those of Windows write more after a bar: "Microsoft Windows 10|C:\\Windows|\\Device...".
 */
static void xen_read_system(struct store *store, uint32_t domid, char system[GUEST_SYSTEM_BYTES])
{
	_cleanup_free_ char *value = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/local/domain/%u/data/os_name", domid);
	value = store ? store_read(store, path) : NULL;
	snprintf(system, GUEST_SYSTEM_BYTES, "%.*s", value ? (int)strcspn(value, "|") : 0,
		 value ? value : "");
}

static void xen_describe(const struct xen_domain *domain, struct store *store,
			 struct guest_listing *listing)
{
	unsigned n_vcpus =
		domain->max_vcpu_id == XEN_INVALID_MAX_VCPU_ID ? 0 : domain->max_vcpu_id + 1;

	*listing = (struct guest_listing){
		.info = {
			.domid = domain->domid,
			.type = domain_type(domain),
			.arch = GUEST_ARCH,
			.n_vcpus = n_vcpus,
			.memory_kib = domain->pages << (GUEST_PAGE_SHIFT - 10),
			.crashed = xen_state(domain) == 's' &&
				   domctl_decode_end(domain->flags) == GUEST_END_CRASH,
		},
		.state = xen_state(domain),
		.cpu_time_ns = domain->cpu_time_ns,
	};
	xen_format_uuid(domain->handle, listing->info.uuid);
	xen_read_name(store, domain->domid, listing->info.name);
	xen_read_system(store, domain->domid, listing->system);
}

/* Asks Xen for all domains, XEN_LIST_STEP at a time. */
static struct xtop_error *xen_get_domains(struct xen_domain **domainsp, size_t *np)
{
	_cleanup_free_ struct xen_domain *domains = NULL;
	struct xtop_error *error;
	struct xen_control *control;
	size_t n = 0, capacity = 0, got = 0;

	error = xen_open_control(&control);
	if (error)
		return error;
	do {
		uint32_t first = n ? domains[n - 1].domid + 1 : 0;

		if (!vector_reserve(domains, capacity, n + XEN_LIST_STEP))
			error = error_create("out of memory");
		else
			error = control_list_domains(control, first, XEN_LIST_STEP, domains + n,
						     &got);
		n += error ? 0 : got;
	} while (!error && got && n < XEN_MAX_DOMAINS);
	xen_close_control(control);
	if (error)
		return error;
	*domainsp = no_cleanup_ptr(domains);
	*np = n;
	return NULL;
}

/* Lists all domains. NAMED: xenstore is asked for their names; else no domain has a name. */
static struct xtop_error *xen_list_domains(bool named, struct guest_listing **listp, size_t *np)
{
	_cleanup_free_ struct xen_domain *domains = NULL;
	struct guest_listing *list;
	struct xtop_error *error;
	struct store *store;
	size_t n = 0;

	error = xen_check();
	if (!error)
		error = xen_get_domains(&domains, &n);
	if (error)
		return error;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return error_create("out of memory");
	store = named ? store_open() : NULL; /* domains have only numbers if this fails */
	for (size_t i = 0; i < n; i++)
		xen_describe(&domains[i], store, &list[i]);
	if (store)
		store_close(store);
	*listp = list;
	*np = n;
	return NULL;
}

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	return xen_list_domains(true, listp, np);
}

/*
 * Whether the user's text DOMAIN means the domain INFO. A number is always a domid, even if some
 * domain has that name. UUIDs may be in upper or lower case.
 */
static bool xen_is_meant(const struct guest_info *info, const char *domain)
{
	char *end;
	unsigned long domid = strtoul(domain, &end, 10);

	if (*domain >= '0' && *domain <= '9' && !*end)
		return info->domid == domid;
	return (*domain && strcmp(info->name, domain) == 0) || strcasecmp(info->uuid, domain) == 0;
}

/*
 * Whether a PV guest has a 32-bit kernel, whose registers have a layout of their own. For an HVM
 * guest this function cannot tell.
 */
static struct xtop_error *xen_is_pv_32(uint32_t domid, bool *is_pv_32p)
{
	struct xen_control *control;
	struct xtop_error *error = xen_open_control(&control);
	unsigned bytes;

	if (error)
		return error;
	if (!control_get_width(control, domid, &bytes))
		error = error_create("Xen does not tell whether domain %u has a 32-bit kernel",
				     domid);
	else
		*is_pv_32p = bytes == 4;
	xen_close_control(control);
	return error;
}

/* Returns an error if FOUND cannot be profiled. */
static struct xtop_error *xen_check_domain(const struct guest_listing *found, const char *domain)
{
	if (found->info.domid == 0)
		return error_create(
			"'%s' is dom0, which runs xtop itself and cannot be stopped: use perf "
			"there",
			domain);
	if (found->state == 'd' || (found->state == 's' && !found->info.crashed))
		return error_create("domain '%s' has shut down", domain);
	if (found->info.n_vcpus == 0)
		return error_create("domain '%s' has no vCPU yet", domain);
	if (found->info.n_vcpus > GUEST_MAX_VCPUS)
		return error_create("domain '%s' has %u vCPUs; xtop profiles at most %u", domain,
				    found->info.n_vcpus, GUEST_MAX_VCPUS);
	return NULL;
}

/*
 * Whether the domain has ended. While a domain reboots or migrates, the old and the new domain may
 * have the same UUID.
 */
static bool xen_has_ended(const struct guest_listing *listing)
{
	return listing->state == 'd' || listing->state == 's';
}

static struct xtop_error *xen_find_domain(bool named, const char *domain, struct guest_info *info)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	const struct guest_listing *found = NULL;
	struct xtop_error *error;
	size_t n;

	error = xen_list_domains(named, &list, &n);
	if (error)
		return error;
	for (size_t i = 0; i < n; i++)
		if (xen_is_meant(&list[i].info, domain) && (!found || xen_has_ended(found)))
			found = &list[i];
	if (!found)
		return error_create("no domain '%s' on this host: xtop -l lists them", domain);
	error = xen_check_domain(found, domain);
	if (error)
		return error;
	*info = found->info;
	return info->type == GUEST_PV ? xen_is_pv_32(info->domid, &info->is_pv_32) : NULL;
}

struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	return xen_find_domain(true, domain, info);
}

struct xtop_error *xen_find_unnamed(const char *domain, struct guest_info *info)
{
	return xen_find_domain(false, domain, info);
}

/* --- a pause that a killed xtop left ---------------------------------------------------------- */

#define XEN_PAUSE_POLLS 20
#define XEN_PAUSE_NS    1000000 /* time between two polls */

bool xen_is_same_domain(const struct guest_info *info)
{
	struct xen_control *control;
	struct xtop_error *error = xen_open_control(&control);
	struct xen_domain domain;
	char uuid[40] = "";

	if (error) {
		error_destroy(error);
		return false;
	}
	if (control_get_domain(control, info->domid, &domain))
		xen_format_uuid(domain.handle, uuid);
	xen_close_control(control);
	return strcmp(uuid, info->uuid) == 0;
}

bool xen_is_paused(struct xen_control *control, uint32_t domid, uint64_t *cpu_time_nsp)
{
	const struct timespec nap = { .tv_nsec = XEN_PAUSE_NS };
	struct xen_domain domain;

	for (unsigned i = 0; i < XEN_PAUSE_POLLS; i++) {
		if (!control_get_domain(control, domid, &domain) ||
		    !(domain.flags & XEN_DOMINF_paused))
			return false;
		nanosleep(&nap, NULL);
	}
	*cpu_time_nsp = domain.cpu_time_ns;
	return true;
}

unsigned xen_unpause(struct xen_control *control, uint32_t domid, unsigned n)
{
	unsigned undone = 0;

	while (undone < n && control_unpause(control, domid))
		undone++;
	return undone;
}
