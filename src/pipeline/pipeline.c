/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages of one guest; see pipeline.h. The processes of a pipeline are started before its first
 * thread.
 */
#include "config.h"

#include "xtop/base/work.h"
#include "xtop/pipeline/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "pipeline/reattach.h"
#include "pipeline/replay_source.h"
#include "xtop/base/build_id.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/thread.h"
#include "xtop/cli/example.h"
#include "xtop/export/export.h"
#include "xtop/linux/kernel_cache.h"
#include "xtop/memory/memory.h"
#include "xtop/os/os.h"
#include "xtop/profile/resolver.h"
#include "xtop/recording/replay.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/takers_source.h"
#include "xtop/supervise/trace_source.h"

#define PIPELINE_WAIT_NS 1000000 /* time between looks whether the sampler has started */
#define PIPELINE_NAP_NS  2000000 /* time between looks whether the resolver has ended */
/* The longest time, at the end, to resolve samples in the ring for files and tables. */
#define PIPELINE_PATIENCE_NS 3000000000ULL

struct pipeline {
	const struct options *options;
	const struct host_files *files;
	const char *domain;      /* the user's name for the guest; NULL: the file of -r is shown */
	struct guest_info guest; /* what main knows of the guest */
	/* The live guest; in a replay the ring and the recorded memory. */
	struct attached_guest source;
	struct recorded_memory *recorded; /* memory of a recording; NULL: there is none */
	struct symbols *symbols;
	struct work work; /* what the resolver does; the guest's memory and images point to it */
	struct kernel_cache *cache; /* NULL: kernels are not cached */
	struct os *os;
	const struct snapshot *given_baseline; /* the older run, until pipeline_start() ends */
	struct replay_source replay;           /* the file of -r */
	struct recording_reader *reader;       /* the recording of -r; NULL: there is none */
	struct control *control;
	struct snapshot_slot *slot, *waits_slot;
	struct takers_source *takers; /* NULL: a recording or a profile */
	struct trace_source *trace;   /* NULL: a recording or a profile */
	struct resolver *resolver;
	struct sample_log *log;  /* each sample, for the text of perf script; NULL: not kept */
	struct history *history; /* the history of a recording until the screen takes it, or NULL */
	struct recording_writer *writer;
	struct reattacher reattacher;
	char name[GUEST_NAME_BYTES];    /* the guest's name at the start */
	char note[REATTACH_NOTE_BYTES]; /* main's copy of the reattacher's note */
	char progress[WORK_TEXT_BYTES]; /* what the resolver reads, for main */
	pthread_t replay_thread, resolver_thread, reattach_thread;
	bool replay_started, resolver_started, reattach_started;
	uint64_t patient_until_ns; /* time when the resolver has to hurry; 0: sampling goes on */
	uint64_t started_ns;
};

/* --- sources ---------------------------------------------------------------------------------- */

static struct xtop_error *pipeline_create_shared(struct pipeline *pipeline)
{
	struct xtop_error *error;

	error = control_create(&pipeline->control);
	if (error)
		return error;
	control_set_rate(pipeline->control, pipeline->options->freq_hz);
	control_set_budget(pipeline->control, pipeline->options->budget);
	control_set_waits_hz(pipeline->control, pipeline->options->waits_hz);
	control_set_interpreters(pipeline->control, pipeline->options->interpreters);
	error = snapshot_slot_create(&pipeline->slot);
	return error ? error : snapshot_slot_create(&pipeline->waits_slot);
}

static struct xtop_error *pipeline_create_ring(struct pipeline *pipeline)
{
	size_t size_bytes = sampler_ring_bytes(pipeline->guest.n_vcpus,
					       control_get_rate(pipeline->control));

	return ring_create(size_bytes, &pipeline->source.ring);
}

static struct xtop_error *pipeline_snapshot_profile(const struct pipeline *pipeline,
						    struct snapshot **snapshotp)
{
	struct xtop_error *error = import_snapshot(pipeline->replay.import, snapshotp);

	if (!error)
		(*snapshotp)->sequence = pipeline->replay.n_reads;
	return error;
}

/* Refuses a file that has no report if --crash asks for one, or a report that nobody asks for. */
static struct xtop_error *pipeline_check_report(const struct pipeline *pipeline, bool has_report)
{
	const struct options *options = pipeline->options;

	if (has_report == options->crash)
		return NULL;
	return has_report
		       ? error_create("'%s' is a recording of --crash: add that option",
				      options->replay)
		       : error_create("'%s' was not recorded with --crash: it has neither the "
				      "guest's log nor all its tasks",
				      options->replay);
}

/* Publishes the profile of -r as the only snapshot of this pipeline. */
static struct xtop_error *pipeline_publish_profile(struct pipeline *pipeline)
{
	struct sampler_counts counts = { .state = SAMPLER_ENDED };
	const char *path = pipeline->options->example ? pipeline->options->example->name
						      : pipeline->options->replay,
		   *name = strrchr(path, '/');
	struct snapshot *snapshot;
	struct xtop_error *error;

	error = pipeline_check_report(pipeline, false);
	if (!error)
		error = pipeline_create_shared(pipeline);
	if (!error)
		error = pipeline_snapshot_profile(pipeline, &snapshot);
	if (error)
		return error;
	snprintf(pipeline->guest.name, sizeof(pipeline->guest.name), "%s", name ? name + 1 : path);
	control_set_counts(pipeline->control, &counts);
	snapshot_publish(pipeline->slot, snapshot);
	return NULL;
}

static struct xtop_error *pipeline_open_recording(struct pipeline *pipeline)
{
	const struct recording_info *info = recording_reader_get_info(pipeline->reader);
	struct xtop_error *error = pipeline_check_report(pipeline,
							 info->report != RECORDING_OF_TIME);

	if (error)
		return error;
	pipeline->guest = (struct guest_info){
		.domid = info->domid,
		.type = info->type,
		.arch = info->arch,
		.n_vcpus = info->n_vcpus,
	};
	snprintf(pipeline->guest.name, sizeof(pipeline->guest.name), "%s", info->domain);
	memcpy(pipeline->guest.uuid, info->uuid, sizeof(pipeline->guest.uuid));
	error = pipeline_create_shared(pipeline);
	return error ? error : pipeline_create_ring(pipeline);
}

static struct replay_settings pipeline_replay_settings(const struct pipeline *pipeline)
{
	return (struct replay_settings){
		.files = pipeline->files,
		.baseline = pipeline->given_baseline,
		.strict = pipeline->options->strict,
		.value = pipeline->options->value,
		.symbols = (const char *const *)pipeline->options->symbols,
		.n_symbols = pipeline->options->n_symbols,
	};
}

struct xtop_error *pipeline_read_next_value(struct pipeline *pipeline)
{
	const struct replay_settings settings = pipeline_replay_settings(pipeline);
	struct snapshot *snapshot;
	struct xtop_error *error = replay_source_read_next_value(pipeline->options->replay,
								 &settings, &pipeline->replay);

	if (!error)
		error = pipeline_snapshot_profile(pipeline, &snapshot);
	if (!error)
		snapshot_publish(pipeline->slot, snapshot);
	return error;
}

static struct xtop_error *pipeline_open_replayed(struct pipeline *pipeline)
{
	const struct replay_settings settings = pipeline_replay_settings(pipeline);
	struct xtop_error *error;

	if (pipeline->domain)
		return NULL;
	error = replay_source_open(pipeline->options->replay, pipeline->symbols, &settings,
				   &pipeline->replay);
	if (error && pipeline->options->example)
		return error_wrap(error, "--example comes with make install");
	if (error)
		return error;
	pipeline->reader = pipeline->replay.reader;
	return pipeline->reader ? pipeline_open_recording(pipeline)
				: pipeline_publish_profile(pipeline);
}

static struct xtop_error *pipeline_create_takers(struct pipeline *pipeline)
{
	pipeline->takers = takers_source_create((uint64_t)(pipeline->options->half_life_s * 1e9));
	pipeline->trace = trace_source_create();
	return pipeline->takers && pipeline->trace ? NULL : error_create("out of memory");
}

static struct xtop_error *pipeline_open_guest(struct pipeline *pipeline)
{
	struct xtop_error *error;

	if (!pipeline->domain)
		return NULL;
	error = guest_find(pipeline->domain, &pipeline->guest);
	if (!error && pipeline->guest.crashed && !pipeline->options->crash)
		error = error_create("domain '%s' has crashed: --crash shows its log and stacks",
				     pipeline->domain);
	if (!error)
		error = guest_open_memory(pipeline->guest.domid, &pipeline->source.memory);
	pipeline->source.info = pipeline->guest;
	memcpy(pipeline->name, pipeline->guest.name, sizeof(pipeline->name));
	if (!error)
		error = pipeline_create_shared(pipeline);
	if (!error)
		error = pipeline_create_takers(pipeline);
	return error ? error : pipeline_create_ring(pipeline);
}

static struct xtop_error *pipeline_create_writer(struct pipeline *pipeline)
{
	const char *record = pipeline->options->record;

	return record ? recording_writer_open(record, &pipeline->writer) : NULL;
}

/*
 * Reads SIZE_BYTES at ADDRESS as vCPU 0 sees them. While the resolver's thread runs, on that
 * thread.
 */
static bool pipeline_read_guest(const struct pipeline *pipeline, uint64_t address, void *buffer,
				size_t size_bytes)
{
	struct registers regs;

	return guest_get_registers(&pipeline->source.info, 0, &regs) &&
	       memory_read(pipeline->source.memory, walk_root(&regs), address, buffer,
			   size_bytes) == size_bytes;
}

/*
 * Whether the guest is known to run another build than the file of -k. A recording has the
 * build-ids of the images that were known then, by module name. A live guest has a build-id in
 * memory, at an address that the image tells. If nothing is mapped there, the guest still boots or
 * its address space is randomised, and its build is unknown.
 */
static bool pipeline_is_other_build(const struct pipeline *pipeline, size_t image,
				    size_t n_recorded)
{
	const struct build_id *wanted = symbols_build_id(pipeline->symbols, image);
	const char *module = symbols_module(pipeline->symbols, image);
	struct build_id found = { .size_bytes = wanted ? wanted->size_bytes : 0 };

	if (!found.size_bytes)
		return false;
	for (size_t i = 0; i < n_recorded; i++) {
		const struct build_id *recorded = symbols_build_id(pipeline->symbols, i);

		if (recorded && recorded->size_bytes &&
		    strcmp(symbols_module(pipeline->symbols, i), module) == 0)
			return !build_id_equal(recorded, wanted);
	}
	if (pipeline->reader || !wanted->address)
		return false;
	return pipeline_read_guest(pipeline, wanted->address, found.bytes, found.size_bytes) &&
	       !build_id_equal(&found, wanted);
}

/* Refuses a file of -k of another build: its names would be wrong without looking wrong. */
static struct xtop_error *pipeline_check_build(const struct pipeline *pipeline, size_t image,
					       size_t n_recorded)
{
	if (!pipeline_is_other_build(pipeline, image, n_recorded))
		return NULL;
	return error_create("%s is of another build than what runs in '%s': their build-ids differ",
			    symbols_module(pipeline->symbols, image), pipeline->guest.name);
}

static struct xtop_error *pipeline_read_symbols(struct pipeline *pipeline)
{
	size_t n_recorded = symbols_count(pipeline->symbols); /* all of them are a recording's */
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < pipeline->options->n_symbols && !error; i++) {
		size_t first = symbols_count(pipeline->symbols);

		error = symbols_add_file(pipeline->symbols, pipeline->files,
					 pipeline->options->symbols[i]);
		for (size_t j = first; j < symbols_count(pipeline->symbols) && !error; j++)
			error = pipeline_check_build(pipeline, j, n_recorded);
	}
	return error;
}

/* --- starting --------------------------------------------------------------------------------- */

static struct xtop_error *pipeline_begin_writer(struct pipeline *pipeline)
{
	struct recording_info info = {
		.domid = pipeline->guest.domid,
		.type = pipeline->guest.type,
		.arch = pipeline->guest.arch,
		.n_vcpus = pipeline->guest.n_vcpus,
		.freq_hz = pipeline->options->freq_hz,
		.wallclock_s = (uint64_t)time(NULL),
		.report = !pipeline->options->crash   ? RECORDING_OF_TIME
			  : pipeline->guest.crashed ? RECORDING_OF_CRASH
						    : RECORDING_OF_STACKS,
	};

	if (!pipeline->options->record)
		return NULL;
	memcpy(info.domain, pipeline->guest.name,
	       strnlen(pipeline->guest.name, sizeof(info.domain) - 1));
	memcpy(info.uuid, pipeline->guest.uuid, sizeof(info.uuid));
	recording_writer_begin(pipeline->writer, &info, pipeline->symbols);
	recording_writer_watch(pipeline->writer, pipeline->source.memory);
	return NULL;
}

static struct os_settings pipeline_os_settings(struct pipeline *pipeline)
{
	return (struct os_settings){
		.type = pipeline->guest.type,
		.memory = pipeline->source.memory,
		.work = &pipeline->work,
		.control = pipeline->control,
		.symbols = pipeline->symbols,
		.files = *pipeline->files,
		.root = pipeline->options->root,
		.debug_dirs = pipeline->options->debug_dirs,
		.n_debug_dirs = pipeline->options->n_debug_dirs,
		.debug_dirs_given = pipeline->options->debug_dirs_given,
		.at_once = pipeline->options->crash,
	};
}

static struct xtop_error *pipeline_create_os(struct pipeline *pipeline)
{
	struct os_settings settings = pipeline_os_settings(pipeline);

	if (!pipeline->domain)
		return NULL;
	/* What the cache has is not read from the guest, so it would not be in the recording. */
	if (!pipeline->options->record)
		pipeline->cache =
			kernel_cache_adopt(guest_open_cache(pipeline->guest.domid));
	settings.kernel_cache = pipeline->cache;
	memcpy(settings.uuid, pipeline->guest.uuid, sizeof(settings.uuid));
	control_set_hold(pipeline->control);
	return os_create(&settings, &pipeline->os);
}

/* Finds the recorded guest's system anew, from the pages that the recorded run read for this. */
static struct xtop_error *pipeline_create_recorded_os(struct pipeline *pipeline)
{
	struct os_settings settings;
	struct xtop_error *error;

	if (!pipeline->reader || !recording_reader_has_memory(pipeline->reader))
		return NULL;
	error = recorded_memory_open(&pipeline->source.memory, &pipeline->recorded);
	settings = pipeline_os_settings(pipeline);
	return error ? error : os_create(&settings, &pipeline->os);
}

/* Keeps each sample if the format needs each. A live guest has no end, so none are kept. */
static struct xtop_error *pipeline_create_log(struct pipeline *pipeline)
{
	const struct options *options = pipeline->options;

	if (!pipeline->reader || !options->output ||
	    !export_find_format(options->format)->has_samples)
		return NULL;
	return sample_log_create(&pipeline->log);
}

/* Keeps the history of a recording, which is replayed faster than the screen asks for pictures. */
static struct xtop_error *pipeline_create_history(struct pipeline *pipeline)
{
	const struct options *options = pipeline->options;

	if (!pipeline->reader || options->batch || options->quiet)
		return NULL;
	return history_create(&pipeline->history);
}

static void pipeline_add_moment(void *context, const struct snapshot *snapshot)
{
	history_add(context, snapshot);
}

struct history *pipeline_take_history(struct pipeline *pipeline)
{
	struct history *history = pipeline->history;

	pipeline->history = NULL;
	return history;
}

static struct xtop_error *pipeline_create_resolver(struct pipeline *pipeline)
{
	const struct resolver_settings settings = {
		.ring = pipeline->source.ring,
		.control = pipeline->control,
		.slot = pipeline->slot,
		.waits_slot = pipeline->waits_slot,
		.symbols = pipeline->symbols,
		.work = &pipeline->work,
		.takers = pipeline->takers,
		.trace = pipeline->trace,
		.os = pipeline->os,
		.how = pipeline->options->unwind,
		.writer = pipeline->writer,
		.recorded = pipeline->recorded,
		.log = pipeline->log,
		.n_vcpus = pipeline->guest.n_vcpus,
		.half_life_ns = (uint64_t)(pipeline->options->half_life_s * 1e9),
		.max_nodes = RESOLVER_MAX_NODES,
		.compared = pipeline->options->baseline,
		.margins = pipeline->options->baseline || pipeline->options->json ||
			   pipeline->options->margins ||
			   (!pipeline->options->batch && !pipeline->options->quiet),
		.baseline = pipeline->given_baseline,
		.live = !pipeline->reader,
		.crash = pipeline->options->crash,
		.lines = pipeline->options->lines,
		.intervals = pipeline->options->push || pipeline->options->metrics,
		.moment = pipeline->history ? pipeline_add_moment : NULL,
		.moment_context = pipeline->history,
	};

	return resolver_create(&settings, &pipeline->resolver);
}

/* Guard and sampler report their failures through the control block. */
static struct xtop_error *pipeline_start_guard(struct pipeline *pipeline)
{
	const struct timespec nap = { .tv_nsec = PIPELINE_WAIT_NS };
	struct sampler_counts counts;
	struct xtop_error *error;

	if (pipeline->reader)
		return NULL;
	error = guard_start(&pipeline->guest, pipeline->control, pipeline->source.ring,
			    &pipeline->source.process);
	if (error)
		return error;
	pipeline->source.started = true;
	do {
		nanosleep(&nap, NULL);
		control_get_counts(pipeline->control, &counts);
	} while (counts.state == SAMPLER_STARTING && guard_is_alive(&pipeline->source.process));
	/* Read the counts again: the guard may have failed and ended in between. */
	control_get_counts(pipeline->control, &counts);
	if (counts.state == SAMPLER_FAILED)
		return error_create("%s", control_get_message(pipeline->control));
	return counts.state == SAMPLER_STARTING
		       ? error_create("the keeper was killed; the guest runs")
		       : NULL;
}

static void *pipeline_resolver_main(void *context)
{
	struct pipeline *pipeline = context;

	resolver_run(pipeline->resolver);
	return NULL;
}

static void *pipeline_replay_main(void *context)
{
	struct pipeline *pipeline = context;

	replay_run(pipeline->reader, pipeline->control, pipeline->source.ring,
		   pipeline->options->paced);
	return NULL;
}

static void *pipeline_reattach_main(void *context)
{
	struct pipeline *pipeline = context;

	reattach_run(&pipeline->reattacher);
	return NULL;
}

/* Compares the files of -k with the build that runs after a reboot. */
static struct xtop_error *pipeline_check_builds(void *context)
{
	struct pipeline *pipeline = context;
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < symbols_count(pipeline->symbols) && !error; i++)
		error = pipeline_check_build(pipeline, i, 0);
	return error;
}

/* The name by which to find the guest after a reboot; NULL: only the UUID serves for that. */
static const char *pipeline_name(const struct pipeline *pipeline)
{
	const char *domain = pipeline->domain;

	if (!pipeline->options->n_domains)
		return pipeline->name; /* the guest was picked from the list */
	return domain[strspn(domain, "0123456789")] ? domain : NULL;
}

static struct xtop_error *pipeline_start_reattacher(struct pipeline *pipeline)
{
	const struct reattach_settings settings = {
		.name = pipeline_name(pipeline),
		/* A recording belongs to one boot; --all finds the next domain itself. */
		.ends = pipeline->writer || pipeline->options->all,
		.bound_ns = pipeline->options->batch && !pipeline->options->push &&
					    !pipeline->options->metrics
				    ? REATTACH_BOUND_NS
				    : 0,
		.control = pipeline->control,
		.resolver = pipeline->resolver,
		.takers = pipeline->takers,
		.trace = pipeline->trace,
		.os = pipeline->os,
		.check = symbols_count(pipeline->symbols) ? pipeline_check_builds : NULL,
		.context = pipeline,
	};
	struct xtop_error *error =
		reattach_init(&pipeline->reattacher, &settings, &pipeline->source);

	if (error)
		return error;
	error = thread_start(&pipeline->reattach_thread, pipeline_reattach_main, pipeline);
	pipeline->reattach_started = !error;
	if (error)
		reattach_deinit(&pipeline->reattacher);
	return error;
}

static struct xtop_error *pipeline_start_threads(struct pipeline *pipeline)
{
	struct xtop_error *error;

	error = thread_start(&pipeline->resolver_thread, pipeline_resolver_main, pipeline);
	if (error)
		return error;
	pipeline->resolver_started = true;
	if (!pipeline->reader)
		return pipeline_start_reattacher(pipeline);
	error = thread_start(&pipeline->replay_thread, pipeline_replay_main, pipeline);
	pipeline->replay_started = !error;
	return error;
}

typedef struct xtop_error *pipeline_step_fn(struct pipeline *pipeline);

static struct xtop_error *pipeline_run_steps(struct pipeline *pipeline,
					     pipeline_step_fn *const *steps, size_t n)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < n && !error; i++)
		error = steps[i](pipeline);
	return error;
}

/* The steps of this function need rights, and read nothing that strangers made. */
struct xtop_error *pipeline_create(const struct options *options, const struct host_files *files,
				   const char *domain, struct pipeline **pipelinep)
{
	static pipeline_step_fn *const steps[] = { pipeline_open_guest, pipeline_create_writer,
						   pipeline_create_os };
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	struct xtop_error *error;

	if (!pipeline)
		return error_create("out of memory");
	pipeline->options = options;
	pipeline->files = files;
	pipeline->domain = domain;
	error = symbols_create(&pipeline->symbols);
	if (!error)
		symbols_set_work(pipeline->symbols, &pipeline->work);
	if (!error)
		error = pipeline_run_steps(pipeline, steps, sizeof(steps) / sizeof(steps[0]));
	if (error) {
		recording_writer_discard(no_cleanup_ptr(pipeline->writer), &broker_opener);
		pipeline_destroy(pipeline);
		return error;
	}
	*pipelinep = pipeline;
	return NULL;
}

void pipeline_set_baseline(struct pipeline *pipeline, const struct snapshot *baseline)
{
	pipeline->given_baseline = baseline;
}

const struct snapshot *pipeline_baseline(const struct pipeline *pipeline)
{
	return pipeline_is_profile(pipeline) ? pipeline->replay.baseline
					     : resolver_get_baseline(pipeline->resolver);
}

struct xtop_error *pipeline_start(struct pipeline *pipeline)
{
	static pipeline_step_fn *const steps[] = {
		pipeline_read_symbols, pipeline_begin_writer,    pipeline_create_recorded_os,
		pipeline_create_log,   pipeline_create_history,  pipeline_create_resolver,
		pipeline_start_guard,  pipeline_start_threads,
	};
	struct xtop_error *error = pipeline_open_replayed(pipeline);

	if (error || pipeline_is_profile(pipeline))
		return error;
	error = pipeline_run_steps(pipeline, steps, sizeof(steps) / sizeof(steps[0]));
	if (!error && pipeline->options->neighbours && pipeline->takers)
		error = pipeline_start_takers(pipeline);
	if (!error && pipeline->options->exits && pipeline->trace)
		error = trace_source_start(pipeline->trace, pipeline->guest.domid);
	pipeline->started_ns = clock_now_ns();
	return error;
}

/* Copies what the reattacher knows of the guest. */
static void pipeline_update_guest(struct pipeline *pipeline)
{
	if (pipeline->reattach_started)
		reattach_get_status(&pipeline->reattacher, &pipeline->guest, pipeline->note);
}

/* --- stopping --------------------------------------------------------------------------------- */

static void pipeline_stop_reattacher(struct pipeline *pipeline)
{
	if (!pipeline->reattach_started)
		return;
	reattach_quit(&pipeline->reattacher);
	pthread_join(pipeline->reattach_thread, NULL);
	pipeline_update_guest(pipeline);
	reattach_deinit(&pipeline->reattacher);
	pipeline->reattach_started = false;
}

void pipeline_wake(struct pipeline *pipeline)
{
	if (pipeline->resolver)
		resolver_wake(pipeline->resolver);
}

static void pipeline_hurry(struct pipeline *pipeline)
{
	if (pipeline->control)
		control_hurry(pipeline->control);
	pipeline_wake(pipeline);
}

/*
 * Whether files or tables are written from the samples. Then all samples are resolved before the
 * end, unless that takes too long.
 */
static bool pipeline_has_results(const struct pipeline *pipeline)
{
	const struct options *options = pipeline->options;

	return pipeline->source.started && !options->push && !options->metrics &&
	       (options->batch || options->record || options->output || options->stats);
}

void pipeline_begin_stop(struct pipeline *pipeline)
{
	if (pipeline->patient_until_ns)
		return;
	pipeline->patient_until_ns = clock_now_ns() + PIPELINE_PATIENCE_NS;
	if (pipeline->control)
		control_quit(pipeline->control);
	if (!pipeline_has_results(pipeline))
		pipeline_hurry(pipeline);
}

/* Waits until the resolver has emptied the ring and ended, or the time for that is over. */
static void pipeline_join_resolver(struct pipeline *pipeline)
{
	const struct timespec nap = { .tv_nsec = PIPELINE_NAP_NS };

	pipeline_wake(pipeline);
	while (pthread_tryjoin_np(pipeline->resolver_thread, NULL)) {
		if (clock_now_ns() >= pipeline->patient_until_ns)
			pipeline_hurry(pipeline);
		nanosleep(&nap, NULL);
	}
}

/* The order matters: no more samples come, then the ring is emptied, then the file is closed. */
struct xtop_error *pipeline_stop(struct pipeline *pipeline)
{
	struct recording_writer *writer = no_cleanup_ptr(pipeline->writer);
	struct sampler_counts counts;

	pipeline_begin_stop(pipeline);
	pipeline_stop_reattacher(pipeline); /* first, because the reattacher starts guards */
	if (pipeline->control)
		control_quit(pipeline->control);
	if (pipeline->source.started)
		guard_stop(&pipeline->source.process, pipeline->control);
	if (pipeline->replay_started)
		pthread_join(pipeline->replay_thread, NULL);
	if (pipeline->control)
		control_finish(pipeline->control);
	if (pipeline->resolver_started) {
		pipeline_join_resolver(pipeline);
		control_get_counts(pipeline->control, &counts);
		if (writer)
			recording_writer_set_counts(writer, &counts);
		resolver_end_recording(pipeline->resolver);
		return recording_writer_close(writer);
	}
	recording_writer_discard(writer, &broker_opener); /* nothing was sampled */
	return NULL;
}

void pipeline_destroy(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	snapshot_slot_destroy(pipeline->slot);
	snapshot_slot_destroy(pipeline->waits_slot);
	resolver_destroy(pipeline->resolver);
	sample_log_destroy(pipeline->log);
	history_destroy(pipeline->history);
	os_destroy(pipeline->os);
	kernel_cache_close(pipeline->cache);
	takers_source_destroy(pipeline->takers);
	trace_source_destroy(pipeline->trace);
	ring_destroy(pipeline->source.ring);
	control_destroy(pipeline->control);
	replay_source_close(&pipeline->replay);
	symbols_destroy(pipeline->symbols);
	memory_destroy(pipeline->source.memory);
	free(pipeline);
}

/* --- questions -------------------------------------------------------------------------------- */

uint64_t pipeline_started_ns(const struct pipeline *pipeline)
{
	return pipeline->started_ns;
}

const struct guest_info *pipeline_guest(const struct pipeline *pipeline)
{
	return &pipeline->guest;
}

const struct sample_log *pipeline_samples(const struct pipeline *pipeline)
{
	return pipeline->log;
}

/* A recording tells when it began, which is just before its first sample. */
uint64_t pipeline_wall_ns(const struct pipeline *pipeline, uint64_t time_ns)
{
	if (!time_ns)
		return 0;
	if (pipeline->reader)
		return recording_reader_get_info(pipeline->reader)->wallclock_s * 1000000000;
	return clock_ns(CLOCK_REALTIME) - (clock_now_ns() - time_ns);
}

bool pipeline_is_recording(const struct pipeline *pipeline)
{
	return pipeline->reader;
}

bool pipeline_is_profile(const struct pipeline *pipeline)
{
	return pipeline->replay.import;
}

const char *pipeline_format(const struct pipeline *pipeline)
{
	return import_get_format(pipeline->replay.import);
}

const char *pipeline_value(const struct pipeline *pipeline)
{
	return import_get_value(pipeline->replay.import);
}

const char *pipeline_get_note(struct pipeline *pipeline)
{
	pipeline_update_guest(pipeline);
	return pipeline->note;
}

const char *pipeline_get_message(struct pipeline *pipeline)
{
	const char *message = control_get_message(pipeline->control);

	if (!message[0])
		message = pipeline_get_note(pipeline);
	if (message[0])
		return message;
	work_describe(&pipeline->work, clock_now_ns(), pipeline->progress);
	return pipeline->progress;
}

const char *pipeline_system(const struct pipeline *pipeline)
{
	return symbols_count(pipeline->symbols) ? symbols_module(pipeline->symbols, 0) : "";
}

const char *pipeline_get_complaint(const struct pipeline *pipeline)
{
	return pipeline_is_profile(pipeline) ? import_get_complaint(pipeline->replay.import)
					     : symbols_warning(pipeline->symbols);
}

struct control *pipeline_control(const struct pipeline *pipeline)
{
	return pipeline->control;
}

struct snapshot_slot *pipeline_slot(const struct pipeline *pipeline)
{
	return pipeline->slot;
}

struct xtop_error *pipeline_snapshot(struct pipeline *pipeline, struct snapshot **snapshotp)
{
	if (pipeline_is_profile(pipeline))
		return pipeline_snapshot_profile(pipeline, snapshotp);
	return resolver_snapshot(pipeline->resolver, snapshotp); /* the thread has ended */
}

struct xtop_error *pipeline_annotate(struct pipeline *pipeline, const struct snapshot *snapshot,
				     uint32_t frame, struct annotation **annotationp)
{
	struct xtop_error *error;

	if (pipeline_is_profile(pipeline))
		return error_create("a profile has sums only: instructions need raw samples, which "
				    "xtop -d DOMAIN -w FILE records");
	error = resolver_annotate(pipeline->resolver, snapshot, frame, annotationp);
	/* No page stays mapped: to write the results may take long. */
	if (pipeline->os)
		os_update_pages(pipeline->os, 0);
	return error;
}

struct snapshot_slot *pipeline_waits_slot(const struct pipeline *pipeline)
{
	return pipeline->waits_slot;
}

void pipeline_start_waits(struct pipeline *pipeline)
{
	if (!(control_get_waits_hz(pipeline->control) > 0))
		control_set_waits_hz(pipeline->control, OPTIONS_WAITS_HZ);
}

struct xtop_error *pipeline_start_takers(struct pipeline *pipeline)
{
	if (!pipeline->takers)
		return error_create("who takes the CPU is known of running guests only");
	pipeline_update_guest(pipeline);
	return takers_source_start(pipeline->takers, pipeline->guest.domid);
}

struct xtop_error *pipeline_trace(struct pipeline *pipeline, bool on)
{
	if (!pipeline->trace)
		return error_create("exits are known of running guests only");
	if (!on && !pipeline->options->exits)
		trace_source_stop(pipeline->trace);
	pipeline_update_guest(pipeline);
	return on ? trace_source_start(pipeline->trace, pipeline->guest.domid) : NULL;
}

struct xtop_error *pipeline_snapshot_waits(struct pipeline *pipeline, struct snapshot **snapshotp)
{
	*snapshotp = NULL;
	return pipeline->resolver ? resolver_snapshot_waits(pipeline->resolver, snapshotp) : NULL;
}

const struct batches *pipeline_batches(const struct pipeline *pipeline, bool children)
{
	return pipeline->resolver ? resolver_get_batches(pipeline->resolver, children) : NULL;
}

const struct space *pipeline_kernel(const struct pipeline *pipeline)
{
	return pipeline->os && os_is_known(pipeline->os) ? os_get_kernel(pipeline->os) : NULL;
}

double pipeline_hz(const struct pipeline *pipeline)
{
	if (pipeline_is_profile(pipeline))
		return 0;
	return pipeline->reader ? recording_reader_get_info(pipeline->reader)->freq_hz
				: pipeline->options->freq_hz;
}

struct xtop_error *pipeline_get_failure(const struct pipeline *pipeline)
{
	const char *complaint =
		pipeline->reader ? recording_reader_get_complaint(pipeline->reader) : NULL;
	struct sampler_counts counts;

	control_get_counts(pipeline->control, &counts);
	if (counts.state == SAMPLER_FAILED)
		return error_create("%s", control_get_message(pipeline->control));
	return complaint ? error_create("%s: %s", pipeline->options->replay, complaint) : NULL;
}
