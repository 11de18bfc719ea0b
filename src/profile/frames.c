/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of names; see frames.h. Frames lie in chunks and strings in blocks. Neither is
 * moved or freed before the table is destroyed: so other threads can read them without a lock. The
 * index moves as it grows; only the resolver uses it.
 *
 * A guest chooses names, addresses and their number, so everything is bounded by a named limit. The
 * hash is seeded for the same reason: a guest that does not know the seed cannot aim at one slot.
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/profile/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "xtop/base/build_id.h"
#include "xtop/base/hash.h"
#include "xtop/base/text.h"
#include "xtop/language/language.h"
#include "xtop/symbol/symbol.h"

#define FRAMES_CHUNK            1024
#define FRAMES_TEXT_BLOCK_BYTES (64 << 10)
#define FRAMES_RECENT_MODULES   64
#define FRAMES_LONG_NAME_BYTES  (1U << 20) /* bytes of a longer name that are read */
/* Kept bytes of each end of a name that is too long. Between the ends are 16 digits and two "…". */
#define FRAMES_PART_BYTES ((FRAME_NAME_BYTES - 32) / 2)

struct frames_text {
	struct frames_text *older;
	size_t used;
	char bytes[FRAMES_TEXT_BLOCK_BYTES];
};

struct frames {
	struct frame *chunks[FRAMES_MAX / FRAMES_CHUNK];
	uint32_t n;
	uint32_t n_unknown;
	uint64_t refused;
	uint64_t seed;
	enum frames_identity identity;
	char *(*demangle)(const char *name);
	struct hash_table index; /* ids of functions and marks */
	struct hash_table shown; /* ids of functions with a demangled name, by name and module */
	struct owners owners;
	struct frames_text *texts; /* newest first */
	size_t text_bytes;
	struct frame_file *files[FRAMES_MAX_FILES];
	size_t n_files;
	/*
	 * Modules by their hash. They are few and often repeated. A module that is here is not
	 * stored again. Two modules that share a slot replace each other, and are stored
	 * repeatedly.
	 */
	const char *modules[FRAMES_RECENT_MODULES];
	uint16_t n_builds;
	struct build_id *builds[FRAMES_MAX_BUILDS]; /* indexed by frame.build - 1 */
	struct hash_table build_index;
};

/* The frame to find. FUNCTION's strings are clean; its name is NULL if unknown. */
struct frames_key {
	const struct frames *frames;
	const struct frame_function *function;
};

/* Whether NAME alone tells the frame from others: kind and module do not matter. */
static bool frames_is_by_name(const struct frames *frames, enum frame_kind kind, const char *name)
{
	const struct frame frame = { .kind = kind };

	return frames->identity == FRAMES_BY_NAME && name && frame_is_function(&frame);
}

static bool frames_is_same(const void *context, uint32_t id)
{
	const struct frames_key *key = context;
	const struct frame_function *function = key->function;
	const struct frame *frame = frames_get(key->frames, id);

	if (frame->line_file)
		return false;
	if (frames_is_by_name(key->frames, function->kind, function->name))
		return frame_is_function(frame) && !frame->unknown &&
		       !strcmp(frame->raw_name, function->name);
	return (frame->address == function->address ||
		(function->name && key->frames->identity == FRAMES_BY_MODULE)) &&
	       frame->kind == function->kind && frame->unknown == !function->name &&
	       (!function->name || !strcmp(frame->raw_name, function->name)) &&
	       !strcmp(frame->module, function->module);
}

/* A copy of the clean TEXT that lasts as long as FRAMES. NULL: no room. */
static const char *frames_copy_text(struct frames *frames, const char *text)
{
	size_t size = strlen(text) + 1;
	struct frames_text *block = frames->texts;

	if (!block || size > sizeof(block->bytes) - block->used) {
		if (frames->text_bytes + sizeof(*block) > FRAMES_MAX_TEXT_BYTES)
			return NULL;
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->older = frames->texts;
		block->used = 0;
		frames->texts = block;
		frames->text_bytes += sizeof(*block);
	}
	block->used += size;
	return memcpy(block->bytes + block->used - size, text, size);
}

static const char *frames_copy_module(struct frames *frames, const char *module)
{
	uint64_t hash = hash_bytes(frames->seed, module, strlen(module));
	const char **recent = &frames->modules[hash % FRAMES_RECENT_MODULES];

	if (!*module)
		return "";
	if (!*recent || strcmp(*recent, module))
		*recent = frames_copy_text(frames, module);
	return *recent;
}

/*
 * Cleans the name TEXT, which may be NULL. A name that is too long keeps its beginning and its end.
 * A hash of all of it stands between them, so that different names stay different. The hash has no
 * random seed: another run finds the same name.
 */
static const char *frames_clean_name(const char *text, char clean[FRAME_NAME_BYTES])
{
	size_t n = text ? strnlen(text, FRAMES_LONG_NAME_BYTES) : 0, length;
	const char *tail;

	*clean = '\0';
	if (n < FRAME_NAME_BYTES) {
		if (n)
			text_clean(clean, FRAME_NAME_BYTES, text, n);
		return clean;
	}
	tail = text + n - FRAMES_PART_BYTES;
	while (((unsigned char)*tail & 0xc0) == 0x80) /* begin with a whole character */
		tail++;
	length = text_clean(clean, FRAMES_PART_BYTES, text, n);
	length += (size_t)snprintf(clean + length, FRAME_NAME_BYTES - length, "…%016" PRIx64 "…",
			hash_bytes(0, text, n));
	text_clean(clean + length, FRAME_NAME_BYTES - length, tail, (size_t)(text + n - tail));
	return clean;
}

/* The key of a function that looks like FRAME: name and module are equal, raw names are not. */
struct frames_alike {
	const struct frames *frames;
	const struct frame *frame;
};

static bool frames_is_alike(const void *context, uint32_t id)
{
	const struct frames_alike *key = context;
	const struct frame *shown = frames_get(key->frames, id), *frame = key->frame;

	return !strcmp(shown->name, frame->name) && !strcmp(shown->module, frame->module) &&
	       strcmp(shown->raw_name, frame->raw_name) != 0;
}

static uint64_t frames_hash_shown(const struct frames *frames, const struct frame *frame)
{
	return hash_bytes(hash_bytes(frames->seed, frame->module, strlen(frame->module)),
			  frame->name, strlen(frame->name));
}

/*
 * Sets the name of FRAME to the demangled and cleaned form of its raw name. An overload of a
 * function that is already here is named with its parameters.
 */
static void frames_demangle(struct frames *frames, struct frame *frame)
{
	_cleanup_free_ char *demangled =
		frames->demangle ? frames->demangle(frame->raw_name) : NULL;
	const struct frames_alike key = { frames, frame };
	char clean[FRAME_NAME_BYTES];
	uint32_t alike;

	if (!demangled)
		return;
	frame->name = frames_clean_name(demangled, clean);
	alike = hash_table_find(&frames->shown, frames_hash_shown(frames, frame), frames_is_alike,
				&key);
	if (alike != HASH_NONE) {
		_cleanup_free_ char *whole = symbol_demangle_whole(frame->raw_name);

		frame->overloads = alike;
		if (whole)
			frame->name = frames_clean_name(whole, clean);
	}
	frame->name = frames_copy_text(frames, frame->name);
}

static bool frames_name(struct frames *frames, const char *name, struct frame *frame)
{
	frame->unknown = !name;
	frame->raw_name = name ? frames_copy_text(frames, name) : "[unknown]";
	frame->name = frame->raw_name;
	if (frame->raw_name && name && frame_is_function(frame))
		frames_demangle(frames, frame);
	return frame->name != NULL;
}

/* A clean copy of the raw TEXT. NULL: no room. */
static const char *frames_copy_raw(struct frames *frames, const char *text)
{
	char clean[FRAME_NAME_BYTES];

	text_clean(clean, sizeof(clean), text, 4 * sizeof(clean));
	return *clean ? frames_copy_text(frames, clean) : "";
}

/*
 * Whether KEPT is the clean form of RAW, whose clean path is CLEAN_PATH. A build-id is hexadecimal,
 * so its text is clean.
 */
static bool frames_is_same_file(const struct frame_file *kept, const char *clean_path,
				const struct frame_file *raw)
{
	return !strcmp(kept->path, clean_path) && !strcmp(kept->build_id, raw->build_id) &&
	       kept->incomplete == raw->incomplete;
}

/* Best effort. NULL: no room, or RAW is NULL. */
static const struct frame_file *frames_copy_file(struct frames *frames,
						 const struct frame_file *raw)
{
	_cleanup_free_ struct frame_file *file = NULL;
	char path[FRAME_NAME_BYTES];

	if (!raw)
		return NULL;
	text_clean(path, sizeof(path), raw->path, 4 * sizeof(path));
	for (size_t i = 0; i < frames->n_files; i++)
		if (frames_is_same_file(frames->files[i], path, raw))
			return frames->files[i];
	if (frames->n_files == FRAMES_MAX_FILES)
		return NULL;
	file = malloc(sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct frame_file){ .path = frames_copy_text(frames, path),
				     .build_id = frames_copy_raw(frames, raw->build_id),
				     .package = frames_copy_raw(frames, raw->package),
				     .incomplete = raw->incomplete };
	if (!file->path || !file->build_id || !file->package)
		return NULL;
	frames->files[frames->n_files] = no_cleanup_ptr(file);
	return frames->files[frames->n_files++];
}

/* Room for the frame with the next id; NULL when there is none. */
static struct frame *frames_next(struct frames *frames)
{
	struct frame **chunk = &frames->chunks[frames->n / FRAMES_CHUNK];

	if (frames->n == FRAMES_MAX)
		return NULL;
	if (!*chunk)
		*chunk = malloc(FRAMES_CHUNK * sizeof(**chunk));
	return *chunk ? *chunk + frames->n % FRAMES_CHUNK : NULL;
}

static bool frame_names_hypercall(const struct frame *frame)
{
	static const char *const beginnings[] = { "xen_hypercall_", "HYPERCALL_", "HYPERVISOR_",
						  "_hypercall" };

	if (!frame_is_function(frame))
		return false;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(frame->raw_name, beginnings[i], strlen(beginnings[i])))
			return true;
	return !strcmp(frame->raw_name, "hypercall_page");
}

/* --- build-ids -------------------------------------------------------------------------------- */

struct frames_build_key {
	const struct frames *frames;
	const struct build_id *build;
};

static bool frames_is_build(const void *context, uint32_t index)
{
	const struct frames_build_key *key = context;

	return build_id_equal(key->frames->builds[index], key->build);
}

/* The value of frame.build for BUILD. 0: BUILD is not known, or there is no room. */
static uint16_t frames_find_or_add_build(struct frames *frames, const struct build_id *build)
{
	const struct frames_build_key key = { frames, build };
	struct build_id *copy;
	uint64_t hash;
	uint32_t index;

	if (!build || !build->size_bytes)
		return 0;
	hash = hash_bytes(frames->seed, build->bytes, build->size_bytes);
	index = hash_table_find(&frames->build_index, hash, frames_is_build, &key);
	if (index != HASH_NONE)
		return (uint16_t)(index + 1);
	if (frames->n_builds == FRAMES_MAX_BUILDS)
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy || !hash_table_add(&frames->build_index, hash, frames->n_builds)) {
		free(copy);
		return 0;
	}
	*copy = *build;
	frames->builds[frames->n_builds++] = copy;
	return frames->n_builds;
}

const struct build_id *frames_get_build(const struct frames *frames, const struct frame *frame)
{
	return frame->build ? frames->builds[frame->build - 1] : NULL;
}

/* --- functions and marks ---------------------------------------------------------------------- */

/* Adds the frame of FUNCTION, with its clean strings. FRAME_NONE: no room. */
static uint32_t frames_add(struct frames *frames, const struct frame_function *function,
			   uint64_t hash, uint32_t group)
{
	struct frame *frame = frames_next(frames);
	struct frame new = { .address = function->address, .kind = function->kind };

	if (!frame || (!function->name && frames->n_unknown >= FRAMES_MAX / 2))
		return FRAME_NONE;
	new.module = frames_copy_module(frames, function->module);
	if (!new.module || !frames_name(frames, function->name, &new) ||
	    !hash_table_add(&frames->index, hash, frames->n))
		return FRAME_NONE;
	new.group = group == FRAME_NONE ? frames->n : group;
	new.build = frames_find_or_add_build(frames, function->build);
	new.file = frames_copy_file(frames, function->file);
	new.hypercall = frame_names_hypercall(&new);
	new.loop = new.kind == FRAME_KIND_USERLAND && runtime_is_loop(new.raw_name);
	/* A symbol may have such a name, too: function->build is set then, be it empty. */
	new.program = new.kind == FRAME_KIND_USERLAND && !function->build &&
		      runtime_names_program(new.raw_name);
	*frame = new;
	if (new.name != new.raw_name) /* best effort: without memory two functions may look alike */
		hash_table_add(&frames->shown, frames_hash_shown(frames, &new), frames->n);
	frames->n_unknown += new.unknown;
	return frames->n++;
}

static uint64_t frames_hash(const struct frames *frames, const struct frame_function *function)
{
	const char *name = function->name;
	uint64_t hash = frames->seed;

	if (!frames_is_by_name(frames, function->kind, name)) {
		bool by_address = !name || frames->identity == FRAMES_BY_ADDRESS;

		hash = hash_word(hash ^ function->kind, by_address ? function->address : 0);
		hash = hash_bytes(hash, function->module, strlen(function->module));
	}
	return name ? hash_bytes(hash, name, strlen(name)) : hash;
}

/*
 * The frame of FUNCTION; FRAME_NONE: there is no room. If there is no room for an unnamed address,
 * returns the address's group, which most users look at. FUNCTION's strings are clean; the name is
 * NULL if unknown.
 */
static uint32_t frames_find_or_add(struct frames *frames, const struct frame_function *function)
{
	const struct frames_key key = { frames, function };
	uint64_t hash = frames_hash(frames, function);
	uint32_t id = hash_table_find(&frames->index, hash, frames_is_same, &key),
		 group = FRAME_NONE;

	if (id != HASH_NONE)
		return id;
	if (!function->name && function->address) {
		struct frame_function any = *function;

		any.address = 0;
		any.file = NULL;
		group = frames_find_or_add(frames, &any);
		if (group == FRAME_NONE)
			return FRAME_NONE;
	}
	id = frames_add(frames, function, hash, group);
	if (id != FRAME_NONE || group == FRAME_NONE)
		return id;
	frames->refused++;
	return group;
}

/*
 * Cleans TEXT (NULL: ""). A character has at most 4 bytes, so bytes of TEXT after 4 * CAPACITY
 * cannot matter.
 */
static const char *frames_clean(const char *text, char *clean, size_t capacity)
{
	*clean = '\0';
	if (text)
		text_clean(clean, capacity, text, 4 * capacity);
	return clean;
}

/* Counts that there was no room if ID is FRAME_NONE, and returns what takes the frame's place. */
static uint32_t frames_or_unknown(struct frames *frames, uint32_t id)
{
	if (id != FRAME_NONE)
		return id;
	frames->refused++;
	return FRAME_UNKNOWN;
}

uint32_t frames_intern_function(struct frames *frames, const struct frame_function *function)
{
	char name[FRAME_NAME_BYTES], module[FRAME_MODULE_BYTES];
	struct frame_function clean = *function;

	clean.name =
		function->name && *function->name ? frames_clean_name(function->name, name) : NULL;
	clean.module = frames_clean(function->module, module, sizeof(module));
	return frames_or_unknown(frames, frames_find_or_add(frames, &clean));
}

uint32_t frames_intern(struct frames *frames, enum frame_kind kind, const char *name,
		       const char *module, uint64_t address)
{
	return frames_intern_function(
		frames, &(struct frame_function){
				.kind = kind, .name = name, .module = module, .address = address });
}

/* --- owners ----------------------------------------------------------------------------------- */

/* Adds OWNER, with its clean strings, and its frame. FRAME_NONE: no room. */
static uint32_t frames_add_owner(struct frames *frames, struct owner owner)
{
	struct frame *frame = frames_next(frames);
	struct frame new = { .kind = FRAME_KIND_OWNER, .module = "", .group = frames->n };
	const char *name = *owner.name ? owner.name : NULL;

	if (!frame || (!name && frames->n_unknown >= FRAMES_MAX / 2))
		return FRAME_NONE;
	owner.cgroup = frames_copy_module(frames, owner.cgroup);
	if (!owner.cgroup || !frames_name(frames, name, &new))
		return FRAME_NONE;
	owner.name = name ? new.raw_name : "";
	owner.frame = frames->n;
	new.owner = owners_add(&frames->owners, &owner);
	if (new.owner == OWNER_NONE)
		return FRAME_NONE;
	*frame = new;
	frames->n_unknown += new.unknown;
	return frames->n++;
}

static uint32_t frames_intern_owner(struct frames *frames, const struct owner *owner)
{
	const struct owner *found = owners_find(&frames->owners, owner);

	return found ? found->frame : frames_or_unknown(frames, frames_add_owner(frames, *owner));
}

uint32_t frames_intern_process(struct frames *frames, const char *name, const char *cgroup)
{
	char clean_name[FRAME_NAME_BYTES], clean_cgroup[FRAME_MODULE_BYTES];

	return frames_intern_owner(
		frames, &(struct owner){
				.kind = OWNER_PROCESS,
				.name = frames_clean_name(name, clean_name),
				.cgroup = frames_clean(cgroup, clean_cgroup, sizeof(clean_cgroup)),
			});
}

uint32_t frames_intern_thread(struct frames *frames, const char *name, uint32_t process)
{
	char clean_name[FRAME_NAME_BYTES];

	return frames_intern_owner(frames,
				   &(struct owner){
					   .kind = OWNER_THREAD,
					   .process = process == FRAME_NONE
							      ? OWNER_NONE
							      : frames_get(frames, process)->owner,
					   .name = frames_clean_name(name, clean_name),
					   .cgroup = "",
				   });
}

const struct owner *frames_get_owner(const struct frames *frames, const struct frame *frame)
{
	return frame->owner == OWNER_NONE ? NULL : owners_get(&frames->owners, frame->owner);
}

static bool frames_is_owner(const struct frames *frames, uint32_t id, enum owner_kind kind)
{
	const struct owner *owner = frames_get_owner(frames, frames_get(frames, id));

	return owner && owner->kind == kind;
}

bool frames_is_process(const struct frames *frames, uint32_t id)
{
	return frames_is_owner(frames, id, OWNER_PROCESS);
}

bool frames_is_thread(const struct frames *frames, uint32_t id)
{
	return frames_is_owner(frames, id, OWNER_THREAD);
}

const char *frames_get_home(const struct frames *frames, const struct frame *frame)
{
	const struct owner *owner = frames_get_owner(frames, frame);

	if (!owner)
		return frame->module;
	return owner->process == OWNER_NONE ? owner->cgroup
					    : owners_get(&frames->owners, owner->process)->name;
}

/* --- places in functions ---------------------------------------------------------------------- */

struct frames_line_key {
	const struct frames *frames;
	uint32_t function, file;
	uint64_t address;
};

static bool frames_is_line(const void *context, uint32_t id)
{
	const struct frames_line_key *key = context;
	const struct frame *frame = frames_get(key->frames, id);

	return frame->line_file == key->file && (uint64_t)frame->line_address == key->address &&
	       frame->group == key->function;
}

/* The new frame shares the strings of its function. */
uint32_t frames_intern_line(struct frames *frames, uint32_t function, uint32_t file,
			    uint64_t address)
{
	const struct frames_line_key key = { frames, function, file, address };
	uint64_t hash = hash_word(hash_word(frames->seed ^ function, file), address);
	uint32_t id = hash_table_find(&frames->index, hash, frames_is_line, &key);
	struct frame *frame;

	if (id != HASH_NONE)
		return id;
	frame = frames_next(frames);
	if (!frame || !hash_table_add(&frames->index, hash, frames->n)) {
		frames->refused++;
		return function;
	}
	*frame = *frames_get(frames, function);
	frame->group = function;
	frame->line_file = file;
	frame->line_address = (int64_t)address;
	return frames->n++;
}

static bool frames_add_fixed(struct frames *frames)
{
	static const struct frame_function fixed[N_FRAME_IDS] = {
		[FRAME_ROOT] = { .kind = FRAME_KIND_ROOT, .name = "all", .module = "" },
		[FRAME_EVICTED] = { .kind = FRAME_KIND_MARK, .name = "[evicted]", .module = "" },
		[FRAME_TRUNCATED] = { .kind = FRAME_KIND_MARK,
				      .name = "[truncated]",
				      .module = "" },
		[FRAME_UNKNOWN] = { .kind = FRAME_KIND_MARK, .module = "" },
	};

	for (uint32_t id = 0; id < N_FRAME_IDS; id++)
		if (frames_find_or_add(frames, &fixed[id]) != id)
			return false;
	return true;
}

struct xtop_error *frames_create(char *(*demangle)(const char *name), struct frames **framesp)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (frames) {
		frames->demangle = demangle;
		/* Without random bytes (before Linux 3.17) a guest could guess the seed. */
		if (getrandom(&frames->seed, sizeof(frames->seed), GRND_NONBLOCK) < 0)
			frames->seed = (uintptr_t)frames;
		frames->owners.seed = frames->seed;
	}
	if (!frames || !frames_add_fixed(frames)) {
		frames_destroy(frames);
		return error_create("no memory for the table of names");
	}
	*framesp = frames;
	return NULL;
}

void frames_set_identity(struct frames *frames, enum frames_identity identity)
{
	frames->identity = identity;
	frames->owners.by_name = identity == FRAMES_BY_MODULE;
}

void frames_destroy(struct frames *frames)
{
	if (!frames)
		return;
	for (size_t i = 0; i < FRAMES_MAX / FRAMES_CHUNK; i++)
		free(frames->chunks[i]);
	for (size_t i = 0; i < frames->n_files; i++)
		free(frames->files[i]);
	for (struct frames_text *text = frames->texts, *older; text; text = older) {
		older = text->older;
		free(text);
	}
	for (uint16_t i = 0; i < frames->n_builds; i++)
		free(frames->builds[i]);
	hash_table_deinit(&frames->build_index);
	hash_table_deinit(&frames->index);
	hash_table_deinit(&frames->shown);
	owners_deinit(&frames->owners);
	free(frames);
}

const struct frame *frames_get(const struct frames *frames, uint32_t id)
{
	return frames->chunks[id / FRAMES_CHUNK] + id % FRAMES_CHUNK;
}

uint32_t frames_count(const struct frames *frames)
{
	return frames->n;
}

uint64_t frames_refused(const struct frames *frames)
{
	return frames->refused;
}

size_t frames_memory_bytes(const struct frames *frames)
{
	size_t n_chunks = (frames->n + FRAMES_CHUNK - 1) / FRAMES_CHUNK;

	return sizeof(*frames) + frames->n_files * sizeof(struct frame_file) +
	       n_chunks * FRAMES_CHUNK * sizeof(struct frame) +
	       owners_memory_bytes(&frames->owners) +
	       (frames->index.n_slots + frames->shown.n_slots) * sizeof(*frames->index.slots) +
	       frames->text_bytes + frames->n_builds * sizeof(struct build_id);
}

const char *frame_text(const struct frame *frame, bool addresses, char buffer[FRAME_TEXT_BYTES])
{
	if (!frame->unknown || !addresses || !frame->address)
		return frame->name;
	snprintf(buffer, FRAME_TEXT_BYTES, "0x%" PRIx64, frame->address);
	return buffer;
}

const char *frame_whole_name(const struct frame *frame, char buffer[FRAME_NAME_BYTES])
{
	_cleanup_free_ char *whole = symbol_demangle_whole(frame->raw_name);

	return whole ? frames_clean_name(whole, buffer) : frame->name;
}

uint32_t frames_translate(const struct frames *from, uint32_t id, struct frames *to)
{
	const struct frame *frame = frames_get(from, id);
	const struct owner *owner = frames_get_owner(from, frame);
	struct frame_function function = { frame->kind,
					   frame->raw_name,
					   frame->module,
					   frame->address,
					   frames_get_build(from, frame),
					   frame->file };

	if (id < N_FRAME_IDS)
		return id;
	if (owner && owner->kind == OWNER_PROCESS)
		return frames_intern_process(to, owner->name, owner->cgroup);
	if (owner)
		return frames_intern_thread(
			to, owner->name,
			owner->process == OWNER_NONE
				? FRAME_NONE
				: frames_translate(from,
						   owners_get(&from->owners, owner->process)->frame,
						   to));
	if (frame->unknown)
		function.name = NULL;
	return frames_intern_function(to, &function);
}

bool frame_is_any_hypercall(const struct frame *frame)
{
	static const char *const names[] = { "xen_hypercall_pv", "xen_hypercall_hvm",
					     "xen_hypercall_intel", "xen_hypercall_amd",
					     "hypercall_page" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(frame->raw_name, names[i]))
			return frame_is_function(frame);
	return false;
}
