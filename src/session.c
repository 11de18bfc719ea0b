/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of xtop: the only file that knows all stages, and the only one that starts threads.
 *
 *   live     guard and sampler (processes) ─► ring ─► resolver (thread) ─► screen or batch (this thread)
 *   replay   replay (thread)               ─► ring ─► resolver (thread) ─► the same
 *
 * Processes are forked before the first thread starts. Everything that can fail fails before the
 * guest is touched. session_start() and session_stop() mirror each other.
 */
#include "config.h"

#include "xtop/session.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "xtop/batch.h"
#include "xtop/cleanup.h"
#include "xtop/guest.h"
#include "xtop/replay.h"
#include "xtop/resolver.h"
#include "xtop/sampler.h"
#include "xtop/ui.h"

#define SESSION_WAIT_NS 1000000 /* between looks whether the sampler has started */

struct session {
	const struct options *options;
	struct guest_info guest;
	struct symbols *symbols;
	struct recording *recording; /* NULL: live */
	struct filter *filter;
	const struct column *sort;
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct resolver *resolver;
	struct recording_writer *writer;
	struct export_file *output, *stats;
	struct guest_process process;
	pthread_t replay_thread, resolver_thread;
	bool guard_started, replay_started, resolver_started;
	double started_s;
};

static double session_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- sources ---------------------------------------------------------------------------------- */

static struct xtop_error *session_open_recording(struct session *session)
{
	const struct recording_info *info;
	struct xtop_error *error;

	error = recording_open(session->options->replay, session->symbols, &session->recording);
	if (error)
		return error;
	info = recording_info(session->recording);
	session->guest = (struct guest_info){
		.domid = info->domid,
		.type = info->type,
		.n_vcpus = info->n_vcpus,
	};
	memcpy(session->guest.name, info->domain, sizeof(session->guest.name));
	memcpy(session->guest.uuid, info->uuid, sizeof(session->guest.uuid));
	return NULL;
}

static struct xtop_error *session_open_source(struct session *session)
{
	if (session->options->replay)
		return session_open_recording(session);
	return guest_find(session->options->domains[0], &session->guest);
}

static bool session_same_build(const struct build_id *a, const struct build_id *b)
{
	return a->size_bytes == b->size_bytes && memcmp(a->bytes, b->bytes, a->size_bytes) == 0;
}

/*
 * Whether FOUND is what is there instead of the image, by its build-id. Where the image has it
 * loaded, the guest's own is there to compare with; a guest that does not have it mapped (it boots,
 * or its address space is randomised) tells nothing. A recording has the ids of the images that
 * were known then, by name.
 */
static bool session_is_other_build(const struct session *session, size_t image, size_t n_recorded)
{
	const struct build_id *wanted = symbols_build_id(session->symbols, image);
	const char *module = symbols_module(session->symbols, image);
	struct build_id found = { .size_bytes = wanted ? wanted->size_bytes : 0 };

	if (!found.size_bytes)
		return false;
	for (size_t i = 0; i < n_recorded; i++) {
		const struct build_id *recorded = symbols_build_id(session->symbols, i);

		if (recorded && recorded->size_bytes &&
		    strcmp(symbols_module(session->symbols, i), module) == 0)
			return !session_same_build(recorded, wanted);
	}
	if (session->recording || !wanted->address)
		return false;
	return guest_peek(&session->guest, wanted->address, found.bytes, found.size_bytes) ==
		       found.size_bytes &&
	       !session_same_build(&found, wanted);
}

/* A file of another build gives names that are wrong without looking wrong. */
static struct xtop_error *session_check_build(const struct session *session, size_t image,
					      size_t n_recorded)
{
	if (!session_is_other_build(session, image, n_recorded))
		return NULL;
	return error_create("%s is of another build than what runs in '%s': their build-ids differ",
			    symbols_module(session->symbols, image), session->guest.name);
}

static struct xtop_error *session_read_symbols(struct session *session)
{
	size_t n_recorded = symbols_count(session->symbols); /* a recording brought them */
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < session->options->n_symbols && !error; i++) {
		size_t first = symbols_count(session->symbols);

		error = symbols_add_file(session->symbols, session->options->symbols[i]);
		for (size_t j = first; j < symbols_count(session->symbols) && !error; j++)
			error = session_check_build(session, j, n_recorded);
	}
	return error;
}

/* --- starting --------------------------------------------------------------------------------- */

struct xtop_error *session_check(const struct options *options)
{
	struct filter *filter = NULL;
	struct xtop_error *error = NULL;

	if (options->unwind == UNWIND_ORC || options->unwind == UNWIND_DWARF)
		return error_create("no unwind tables are read yet: only frame pointers (-u fp)");
	if (options->n_domains == 0 && !options->replay)
		return error_create(
			"which domain? Give -d NAME, domid or UUID; xtop -l lists them");
	if (options->n_domains > 1)
		return error_create("one domain at a time: start another xtop for '%s'",
				    options->domains[1]);
	if (options->filter)
		error = filter_create(options->filter, &filter);
	filter_destroy(filter);
	return error;
}

static struct xtop_error *session_parse_view(struct session *session)
{
	const struct options *options = session->options;

	session->sort = options->sort ? column_by_name(options->sort) : &columns[COLUMN_CHILDREN];
	return options->filter ? filter_create(options->filter, &session->filter) : NULL;
}

/* Two names of one file; whatever is not a file can be written twice. */
static bool session_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return b && stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/*
 * A result may not go over what is read, nor over the other result; options_check() saw only equal
 * names.
 */
static struct xtop_error *session_open_file(const struct session *session, const char *path,
					    struct export_file **filep)
{
	const struct options *options = session->options;
	bool taken = session_same_file(path, options->replay) ||
		     (session->output && session_same_file(path, options->output));

	for (size_t i = 0; i < options->n_symbols && !taken; i++)
		taken = session_same_file(path, options->symbols[i]);
	if (taken)
		return error_create("cannot write '%s': this run reads or writes that file already",
				    path);
	return export_open(path, true, filep);
}

static struct xtop_error *session_open_files(struct session *session)
{
	const struct options *options = session->options;
	struct xtop_error *error = NULL;

	if (options->output)
		error = session_open_file(session, options->output, &session->output);
	if (!error && options->stats)
		error = session_open_file(session, options->stats, &session->stats);
	return error;
}

static struct xtop_error *session_create_writer(struct session *session)
{
	struct recording_info info = {
		.domid = session->guest.domid,
		.type = session->guest.type,
		.n_vcpus = session->guest.n_vcpus,
		.freq_hz = session->options->freq_hz,
		.wallclock_s = (uint64_t)time(NULL),
	};

	if (!session->options->record)
		return NULL;
	memcpy(info.domain, session->guest.name, sizeof(info.domain));
	memcpy(info.uuid, session->guest.uuid, sizeof(info.uuid));
	return recording_create(session->options->record, &info, session->symbols,
				&session->writer);
}

static struct xtop_error *session_create_shared(struct session *session)
{
	struct xtop_error *error;

	error = control_create(&session->control);
	if (error)
		return error;
	control_set_rate(session->control, session->options->freq_hz);
	control_set_budget(session->control, session->options->budget);
	error = ring_create(sampler_ring_bytes(session->guest.n_vcpus), &session->ring);
	if (!error)
		error = snapshot_slot_create(&session->slot);
	return error;
}

static struct xtop_error *session_create_resolver(struct session *session)
{
	const struct resolver_settings settings = {
		.ring = session->ring,
		.control = session->control,
		.slot = session->slot,
		.symbols = session->symbols,
		.writer = session->writer,
		.n_vcpus = session->guest.n_vcpus,
		.half_life_ns = (uint64_t)(session->options->half_life_s * 1e9),
		.max_nodes = PROFILE_MAX_NODES,
		.live = !session->recording,
	};

	return resolver_create(&settings, &session->resolver);
}

/* The processes report their own failures through the control block. */
static struct xtop_error *session_start_guard(struct session *session)
{
	const struct timespec nap = { .tv_nsec = SESSION_WAIT_NS };
	struct sampler_counts counts;
	struct xtop_error *error;

	error = guard_start(&session->guest, session->control, session->ring, sampler_run,
			    &session->process);
	if (error)
		return error;
	session->guard_started = true;
	do {
		nanosleep(&nap, NULL);
		control_get_counts(session->control, &counts);
	} while (counts.state == SAMPLER_STARTING && guard_is_alive(&session->process));
	if (counts.state == SAMPLER_FAILED)
		return error_create("%s", control_message(session->control));
	return counts.state == SAMPLER_STARTING
		       ? error_create("the guard was killed; the guest runs")
		       : NULL;
}

static void *session_resolver_main(void *context)
{
	struct session *session = context;

	resolver_run(session->resolver);
	return NULL;
}

static void *session_replay_main(void *context)
{
	struct session *session = context;

	replay_run(session->recording, session->control, session->ring, session->options->paced);
	return NULL;
}

/* Signals are for the main thread: it decides what they mean. */
static struct xtop_error *session_start_thread(pthread_t *thread, void *(*body)(void *),
					       struct session *session)
{
	sigset_t all, before;
	int errno_value;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno_value = pthread_create(thread, NULL, body, session);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errno_value ? error_create_errno(errno_value, "cannot start a thread") : NULL;
}

static struct xtop_error *session_start_threads(struct session *session)
{
	struct xtop_error *error;

	error = session_start_thread(&session->resolver_thread, session_resolver_main, session);
	if (error)
		return error;
	session->resolver_started = true;
	if (!session->recording)
		return NULL;
	error = session_start_thread(&session->replay_thread, session_replay_main, session);
	session->replay_started = !error;
	return error;
}

static struct xtop_error *session_start(struct session *session)
{
	static struct xtop_error *(*const steps[])(struct session * session) = {
		session_parse_view,      session_open_source,   session_read_symbols,
		session_open_files,      session_create_writer, session_create_shared,
		session_create_resolver,
	};
	struct xtop_error *error;

	error = symbols_create(&session->symbols);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !error; i++)
		error = steps[i](session);
	if (!error && !session->recording)
		error = session_start_guard(session);
	if (!error)
		error = session_start_threads(session);
	session->started_s = session_clock(CLOCK_MONOTONIC);
	return error;
}

/* --- running ---------------------------------------------------------------------------------- */

static const char *session_type_name(enum guest_type type)
{
	static const char *const names[] = {
		[GUEST_PV] = "PV", [GUEST_PVH] = "PVH", [GUEST_HVM] = "HVM"
	};

	return names[type];
}

static bool session_has_screen(const struct session *session)
{
	return !session->options->batch && !session->options->quiet && isatty(STDIN_FILENO) &&
	       isatty(STDOUT_FILENO);
}

/* A recording that is played as fast as it goes has no time to tell tables apart by. */
static double session_batch_interval(const struct session *session)
{
	if (session->recording && !session->options->paced)
		return 0;
	return session->options->interval_given ? session->options->interval_s
						: OPTIONS_INTERVAL_BATCH_S;
}

static struct xtop_error *session_batch(struct session *session, const char *kind)
{
	const struct options *options = session->options;
	_cleanup_free_ char *title = NULL;
	char name[sizeof(session->guest.name)];
	struct batch_settings settings = {
		.table = {
			.sort = session->sort,
			.filter = session->filter,
			.addresses = options->addresses,
		},
		.interval_s = session_batch_interval(session),
		.iterations = options->iterations,
		.time_s = options->time_s,
		.quiet = options->quiet,
	};

	text_clean(name, sizeof(name), session->guest.name, strlen(session->guest.name));
	if (asprintf(&title, "%s %s", name, kind) < 0)
		return error_create("out of memory");
	settings.table.title = title;
	return batch_run(&settings, session->slot, session->control, stdout);
}

static void session_reset(void *context)
{
	struct session *session = context;

	control_reset(session->control);
}

static const char *session_message(void *context)
{
	struct session *session = context;

	return control_message(session->control);
}

static struct xtop_error *session_screen(struct session *session, const char *kind)
{
	const struct options *options = session->options;
	const struct ui_settings settings = {
		.interval_s = options->interval_s,
		.half_life_s = options->half_life_s,
		.time_s = options->time_s,
		.sort = session->sort,
		.filter = options->filter,
		.addresses = options->addresses,
		.guest = {
			.name = session->guest.name,
			.kind = kind,
			.system = symbols_count(session->symbols) ? symbols_module(session->symbols, 0) : "",
			.n_vcpus = session->guest.n_vcpus,
		},
	};
	const struct ui_source source = {
		.context = session,
		.slot = session->slot,
		.reset = session_reset,
		.message = session_message,
	};

	return ui_run(&settings, &source);
}

/* "dom 5 PVH", with SEPARATOR between. */
static void session_describe(const struct session *session, const char *separator, char *kind,
			     size_t capacity)
{
	const char *type = session_type_name(session->guest.type);

	if (session->recording)
		snprintf(kind, capacity, "recording%s%s", separator, type);
	else
		snprintf(kind, capacity, "dom %u%s%s", session->guest.domid, separator, type);
}

static struct xtop_error *session_show(struct session *session)
{
	bool screen = session_has_screen(session);
	char kind[64];

	session_describe(session, screen ? " · " : " ", kind, sizeof(kind));
	return screen ? session_screen(session, kind) : session_batch(session, kind);
}

/* --- stopping --------------------------------------------------------------------------------- */

/* In this order: no more samples, none left in the ring, none unwritten. */
static struct xtop_error *session_stop(struct session *session)
{
	if (session->control)
		control_quit(session->control);
	if (session->guard_started)
		guard_stop(&session->process, session->control);
	if (session->replay_started)
		pthread_join(session->replay_thread, NULL);
	if (session->control)
		control_finish(session->control);
	if (session->resolver_started)
		pthread_join(session->resolver_thread, NULL);
	if (session->resolver_started)
		return recording_close(session->writer);
	recording_discard(session->writer); /* nothing was sampled */
	return NULL;
}

/* The first of several errors is the one that explains the others. */
static struct xtop_error *session_first(struct xtop_error *first, struct xtop_error *second)
{
	if (!first)
		return second;
	error_destroy(second);
	return first;
}

static struct xtop_error *session_put_folded(struct session *session,
					     const struct snapshot *snapshot, FILE *stream)
{
	return export_folded(snapshot, session->filter, session->options->addresses, stream);
}

static struct xtop_error *session_put_stats(struct session *session,
					    const struct snapshot *snapshot, FILE *stream)
{
	static const char *const types[] = {
		[GUEST_PV] = "pv", [GUEST_PVH] = "pvh", [GUEST_HVM] = "hvm"
	};
	struct rusage usage = { 0 };
	struct stats_info info = {
		.domain = session->guest.name,
		.type = session->recording ? "recording" : types[session->guest.type],
		.wall_s = session_clock(CLOCK_MONOTONIC) - session->started_s,
		.ui_cpu_s = session_clock(CLOCK_THREAD_CPUTIME_ID),
	};

	getrusage(RUSAGE_SELF, &usage);
	info.rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	return export_stats(snapshot, &info, stream);
}

typedef struct xtop_error *session_put_fn(struct session *session, const struct snapshot *snapshot,
					  FILE *stream);

/* Writes and closes *FILEP, if it was opened. */
static struct xtop_error *session_write_file(struct session *session,
					     const struct snapshot *snapshot,
					     struct export_file **filep, session_put_fn *put)
{
	struct export_file *file = no_cleanup_ptr(*filep);
	struct xtop_error *error;
	FILE *stream;

	if (!file)
		return NULL;
	error = export_stream(file, &stream);
	if (!error)
		error = put(session, snapshot, stream);
	if (!error)
		return export_close(file);
	export_discard(file);
	return error;
}

static struct xtop_error *session_write(struct session *session)
{
	struct snapshot *snapshot = NULL;
	struct xtop_error *error;

	error = resolver_snapshot(session->resolver, &snapshot); /* its thread has ended */
	if (error)
		return error;
	error = session_write_file(session, snapshot, &session->output, session_put_folded);
	error = session_first(
		error, session_write_file(session, snapshot, &session->stats, session_put_stats));
	snapshot_destroy(snapshot);
	return error;
}

/* What went wrong on the way, told at the end: everything that was seen until then is written. */
static struct xtop_error *session_verdict(struct session *session)
{
	const char *complaint = session->recording ? recording_complaint(session->recording) : NULL;
	struct sampler_counts counts;

	control_get_counts(session->control, &counts);
	if (counts.state == SAMPLER_FAILED)
		return error_create("%s", control_message(session->control));
	return complaint ? error_create("%s: %s", session->options->replay, complaint) : NULL;
}

static void session_free(struct session *session)
{
	export_discard(session->output);
	export_discard(session->stats);
	snapshot_slot_destroy(session->slot);
	resolver_destroy(session->resolver);
	ring_destroy(session->ring);
	control_destroy(session->control);
	filter_destroy(session->filter);
	recording_destroy(session->recording);
	symbols_destroy(session->symbols);
}

struct xtop_error *session_run(const struct options *options)
{
	struct session session = { .options = options };
	struct xtop_error *error;
	bool started;

	setlocale(LC_CTYPE, ""); /* of the terminal; numbers stay as they are */
	error = session_start(&session);
	started = !error;
	if (started)
		error = session_show(&session);
	error = session_first(error, session_stop(&session));
	if (started) {
		error = session_first(error, session_write(&session));
		error = session_first(error, session_verdict(&session));
	}
	session_free(&session);
	return error;
}

/* --- -l --------------------------------------------------------------------------------------- */

struct xtop_error *session_list(void)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct xtop_error *error;
	size_t n;

	error = guest_list(&list, &n);
	if (error)
		return error;
	printf("%-24s %5s  %-4s  %-5s  %4s  %11s  %10s\n", "Name", "Id", "Type", "State", "vCPU",
	       "Memory MiB", "CPU time s");
	for (size_t i = 0; i < n; i++) {
		const struct guest_info *info = &list[i].info;
		char name[sizeof(info->name)];

		text_clean(name, sizeof(name), info->name, strlen(info->name));
		printf("%-24s %5u  %-4s  %-5c  %4u  %11.1f  %10.1f\n", name, info->domid,
		       session_type_name(info->type), list[i].state, info->n_vcpus,
		       (double)info->memory_kib / 1024, (double)list[i].cpu_time_ns / 1e9);
	}
	return fflush(stdout) == EOF ? error_create_errno(errno, "cannot write the list") : NULL;
}
