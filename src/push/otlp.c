/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile in pprof becomes an OTLP request (otlp_fields.h has the protocol).
 *
 * The profile comes as pprof (pprof_fields.h). Both formats are related: ids and string numbers
 * are those of pprof, because they begin at 1, and string 0 is empty. Three things differ.
 * A Profile has one value for each sample, which is pprof's default value. Stacks and labels lie in
 * tables, each once. Comments and build-ids are attributes. pprof's bytes come from main, which may
 * have been taken over by a guest, so each number is checked. The sender's process.
 */
#include "config.h"

#include "push/otlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "push/labels.h"
#include "push/otlp_fields.h"
#include "push/zip.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/proto.h"
#include "xtop/base/vector.h"
#include "xtop/push/pprof_fields.h"

#define OTLP_MAX_CONTENT_BYTES (64U << 20) /* size of an unpacked profile */
#define OTLP_MAX_NUMBERS       8192        /* limit for one sample; more than SNAPSHOT_MAX_DEPTH */
#define OTLP_MAX_TYPES         8           /* values of a sample */

/* Keys of attributes (OpenTelemetry's semantic conventions). Their strings follow pprof's. */
enum otlp_key { KEY_PROCESS, KEY_THREAD, KEY_BUILD_ID, KEY_COMMENT, N_KEYS };
static const char *const otlp_keys[N_KEYS] = { "process.executable.name", "thread.name",
					       "process.executable.build_id.gnu",
					       "pprof.profile.comment" };

struct otlp_attribute {
	uint64_t key, value; /* numbers of strings */
};

struct otlp_stack {
	size_t first, n; /* the stack's part of locations[] */
};

struct otlp {
	struct proto_bytes *strings; /* pprof's table of strings */
	size_t n_strings, strings_capacity;
	uint64_t n_mappings, n_locations, n_functions; /* lengths of pprof's tables */
	uint64_t mappings, found_locations, functions; /* elements that were read so far */
	struct otlp_attribute types[OTLP_MAX_TYPES];   /* string numbers: type and unit */
	size_t n_types, type;                          /* `type` is the default value's index */
	uint64_t default_type;
	/* The two parts that are sent, and room for messages inside messages. */
	struct proto_buffer dictionary, profile, message, part;
	struct otlp_attribute *attributes; /* attributes[0] has number 1 */
	size_t n_attributes, attributes_capacity;
	struct hash_table attribute_index;
	struct otlp_stack *stacks; /* stacks[0] has number 1 */
	size_t n_stacks, stacks_capacity;
	uint64_t *locations;
	size_t locations_in, locations_capacity;
	struct hash_table stack_index;
	struct proto_buffer comments; /* an ArrayValue */
	bool failed;                  /* memory is out */
};

/* --- reading pprof ---------------------------------------------------------------------------- */

/* Reads the numbers in FIELD, a message without inner messages, by field number below N. */
static bool otlp_read_message(const struct proto_field *field, uint64_t *values, size_t n)
{
	struct proto_bytes rest = field->bytes;
	struct proto_field inner;

	memset(values, 0, n * sizeof(*values));
	if (field->is_number)
		return false;
	while (proto_next(&rest, &inner))
		if (inner.is_number && inner.number < n)
			values[inner.number] = inner.value;
	return !rest.n;
}

static bool otlp_is_text(const struct otlp *otlp, uint64_t string, const char *text)
{
	return otlp->strings[string].n == strlen(text) &&
	       memcmp(otlp->strings[string].bytes, text, strlen(text)) == 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

struct otlp_search {
	const struct otlp *otlp;
	struct otlp_attribute attribute;
	const uint64_t *locations;
	size_t n;
};

static bool otlp_is_attribute(const void *context, uint32_t index)
{
	const struct otlp_search *search = context;
	const struct otlp_attribute *other = &search->otlp->attributes[index];

	return other->key == search->attribute.key && other->value == search->attribute.value;
}

static void otlp_put_string_value(struct proto_buffer *to, uint32_t field,
				  struct proto_buffer *part, struct proto_bytes text)
{
	proto_put_bytes(part, ANY_VALUE_STRING, text.bytes, text.n);
	proto_put_message(to, field, part);
}

/* Returns the number of the attribute KEY with pprof's string VALUE. */
static uint64_t otlp_find_or_add_attribute(struct otlp *otlp, uint64_t key, uint64_t value)
{
	const struct otlp_search search = { .otlp = otlp, .attribute = { key, value } };
	uint64_t hash = hash_word(key, value);
	uint32_t index =
		hash_table_find(&otlp->attribute_index, hash, otlp_is_attribute, &search);
	struct proto_buffer message = { .bytes = NULL };

	if (index != HASH_NONE)
		return index + 1;
	if (!vector_reserve(otlp->attributes, otlp->attributes_capacity, otlp->n_attributes + 1) ||
	    !hash_table_add(&otlp->attribute_index, hash, (uint32_t)otlp->n_attributes)) {
		otlp->failed = true;
		return 0;
	}
	otlp->attributes[otlp->n_attributes] = search.attribute;
	proto_put_number(&message, ATTRIBUTE_KEY, key);
	otlp_put_string_value(&message, ATTRIBUTE_VALUE, &otlp->part, otlp->strings[value]);
	proto_put_message(&otlp->dictionary, DICTIONARY_ATTRIBUTE, &message);
	free(message.bytes);
	return ++otlp->n_attributes;
}

static bool otlp_is_stack(const void *context, uint32_t index)
{
	const struct otlp_search *search = context;
	const struct otlp_stack *stack = &search->otlp->stacks[index];

	return stack->n == search->n &&
	       memcmp(search->otlp->locations + stack->first, search->locations,
		      search->n * sizeof(*search->locations)) == 0;
}

static uint64_t otlp_find_or_add_stack(struct otlp *otlp, const uint64_t *locations, size_t n)
{
	const struct otlp_search search = { .otlp = otlp, .locations = locations, .n = n };
	uint64_t hash = hash_bytes(0, locations, n * sizeof(*locations));
	uint32_t index = hash_table_find(&otlp->stack_index, hash, otlp_is_stack, &search);

	if (!n || index != HASH_NONE)
		return n ? index + 1 : 0;
	if (!vector_reserve(otlp->stacks, otlp->stacks_capacity, otlp->n_stacks + 1) ||
	    !vector_reserve(otlp->locations, otlp->locations_capacity, otlp->locations_in + n) ||
	    !hash_table_add(&otlp->stack_index, hash, (uint32_t)otlp->n_stacks)) {
		otlp->failed = true;
		return 0;
	}
	otlp->stacks[otlp->n_stacks] = (struct otlp_stack){ otlp->locations_in, n };
	memcpy(otlp->locations + otlp->locations_in, locations, n * sizeof(*locations));
	otlp->locations_in += n;
	proto_put_numbers(&otlp->part, STACK_LOCATIONS, locations, n);
	proto_put_message(&otlp->dictionary, DICTIONARY_STACK, &otlp->part);
	return ++otlp->n_stacks;
}

/* --- what a profile has ----------------------------------------------------------------------- */

static bool otlp_add_mapping(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t values[PPROF_MAPPING_BUILD_ID + 1], attribute;

	if (!otlp_read_message(field, values, PPROF_MAPPING_BUILD_ID + 1) ||
	    values[PPROF_MAPPING_ID] != ++otlp->mappings ||
	    values[PPROF_MAPPING_FILENAME] >= otlp->n_strings ||
	    values[PPROF_MAPPING_BUILD_ID] >= otlp->n_strings)
		return false;
	proto_put_number(&otlp->message, MAPPING_START, values[PPROF_MAPPING_START]);
	proto_put_number(&otlp->message, MAPPING_LIMIT, values[PPROF_MAPPING_LIMIT]);
	proto_put_number(&otlp->message, MAPPING_FILENAME, values[PPROF_MAPPING_FILENAME]);
	if (values[PPROF_MAPPING_BUILD_ID]) {
		attribute = otlp_find_or_add_attribute(otlp, otlp->n_strings + KEY_BUILD_ID,
						       values[PPROF_MAPPING_BUILD_ID]);
		proto_put_numbers(&otlp->message, MAPPING_ATTRIBUTES, &attribute, 1);
	}
	proto_put_message(&otlp->dictionary, DICTIONARY_MAPPING, &otlp->message);
	return true;
}

static bool otlp_add_line(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t values[PPROF_LINE_COLUMN + 1];

	if (!otlp_read_message(field, values, PPROF_LINE_COLUMN + 1) ||
	    values[PPROF_LINE_FUNCTION_ID] > otlp->n_functions)
		return false;
	proto_put_number(&otlp->part, LINE_FUNCTION, values[PPROF_LINE_FUNCTION_ID]);
	proto_put_number(&otlp->part, LINE_LINE, values[PPROF_LINE_LINE]);
	proto_put_number(&otlp->part, LINE_COLUMN, values[PPROF_LINE_COLUMN]);
	proto_put_message(&otlp->message, LOCATION_LINES, &otlp->part);
	return true;
}

static bool otlp_add_location(struct otlp *otlp, const struct proto_field *field)
{
	struct proto_bytes rest = field->bytes;
	uint64_t values[PPROF_LOCATION_ADDRESS + 1];
	struct proto_field inner;

	if (!otlp_read_message(field, values, PPROF_LOCATION_ADDRESS + 1) ||
	    values[PPROF_LOCATION_ID] != ++otlp->found_locations ||
	    values[PPROF_LOCATION_MAPPING_ID] > otlp->n_mappings)
		return false;
	proto_put_number(&otlp->message, LOCATION_MAPPING, values[PPROF_LOCATION_MAPPING_ID]);
	proto_put_number(&otlp->message, LOCATION_ADDRESS, values[PPROF_LOCATION_ADDRESS]);
	while (proto_next(&rest, &inner))
		if (inner.number == PPROF_LOCATION_LINE && !otlp_add_line(otlp, &inner))
			return false;
	proto_put_message(&otlp->dictionary, DICTIONARY_LOCATION, &otlp->message);
	return true;
}

static bool otlp_add_function(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t values[PPROF_FUNCTION_FILENAME + 1];

	if (!otlp_read_message(field, values, PPROF_FUNCTION_FILENAME + 1) ||
	    values[PPROF_FUNCTION_ID] != ++otlp->functions)
		return false;
	for (int i = PPROF_FUNCTION_NAME; i <= PPROF_FUNCTION_FILENAME; i++)
		if (values[i] >= otlp->n_strings)
			return false;
	proto_put_number(&otlp->message, FUNCTION_NAME, values[PPROF_FUNCTION_NAME]);
	proto_put_number(&otlp->message, FUNCTION_SYSTEM_NAME, values[PPROF_FUNCTION_SYSTEM_NAME]);
	proto_put_number(&otlp->message, FUNCTION_FILENAME, values[PPROF_FUNCTION_FILENAME]);
	proto_put_message(&otlp->dictionary, DICTIONARY_FUNCTION, &otlp->message);
	return true;
}

/* Returns the number of the attribute for a label of pprof. 0: the label is damaged. */
static uint64_t otlp_read_label(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t values[PPROF_LABEL_STR + 1], key;

	if (!otlp_read_message(field, values, PPROF_LABEL_STR + 1))
		return 0;
	key = values[PPROF_LABEL_KEY];
	if (!key || key >= otlp->n_strings || values[PPROF_LABEL_STR] >= otlp->n_strings)
		return 0;
	if (otlp_is_text(otlp, key, "process"))
		key = otlp->n_strings + KEY_PROCESS;
	else if (otlp_is_text(otlp, key, "thread"))
		key = otlp->n_strings + KEY_THREAD;
	return otlp_find_or_add_attribute(otlp, key, values[PPROF_LABEL_STR]);
}

static bool otlp_add_sample(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t locations[OTLP_MAX_NUMBERS], values[OTLP_MAX_TYPES], labels[OTLP_MAX_TYPES];
	size_t n = 0, n_values = 0, n_labels = 0;
	struct proto_bytes rest = field->bytes;
	struct proto_field inner;
	bool whole = !field->is_number;

	while (whole && proto_next(&rest, &inner)) {
		if (inner.number == PPROF_SAMPLE_LOCATION_ID) {
			whole = proto_read_numbers(&inner, locations, OTLP_MAX_NUMBERS, &n);
		} else if (inner.number == PPROF_SAMPLE_VALUE) {
			whole = proto_read_numbers(&inner, values, OTLP_MAX_TYPES, &n_values);
		} else if (inner.number == PPROF_SAMPLE_LABEL && n_labels < OTLP_MAX_TYPES) {
			labels[n_labels] = otlp_read_label(otlp, &inner);
			whole = labels[n_labels++];
		}
	}
	for (size_t i = 0; i < n; i++)
		whole = whole && locations[i] && locations[i] <= otlp->n_locations;
	if (!whole || rest.n || n_values != otlp->n_types)
		return false;
	proto_put_number(&otlp->message, SAMPLE_STACK, otlp_find_or_add_stack(otlp, locations, n));
	proto_put_numbers(&otlp->message, SAMPLE_ATTRIBUTES, labels, n_labels);
	proto_put_numbers(&otlp->message, SAMPLE_VALUES, &values[otlp->type], 1);
	proto_put_message(&otlp->profile, PROFILE_SAMPLES, &otlp->message);
	return true;
}

static bool otlp_add_comments(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t numbers[OTLP_MAX_NUMBERS];
	size_t n = 0;

	if (!proto_read_numbers(field, numbers, OTLP_MAX_NUMBERS, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] >= otlp->n_strings)
			return false;
		otlp_put_string_value(&otlp->comments, ARRAY_VALUES, &otlp->part,
				      otlp->strings[numbers[i]]);
	}
	return true;
}

static void otlp_put_type(struct otlp *otlp, uint32_t field, uint64_t type, uint64_t unit)
{
	proto_put_number(&otlp->message, VALUE_TYPE_TYPE, type);
	proto_put_number(&otlp->message, VALUE_TYPE_UNIT, unit);
	proto_put_message(&otlp->profile, field, &otlp->message);
}

static bool otlp_add_period_type(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t values[PPROF_VALUE_TYPE_UNIT + 1];

	if (!otlp_read_message(field, values, PPROF_VALUE_TYPE_UNIT + 1) ||
	    values[PPROF_VALUE_TYPE_TYPE] >= otlp->n_strings ||
	    values[PPROF_VALUE_TYPE_UNIT] >= otlp->n_strings)
		return false;
	otlp_put_type(otlp, PROFILE_PERIOD_TYPE, values[PPROF_VALUE_TYPE_TYPE],
		      values[PPROF_VALUE_TYPE_UNIT]);
	return true;
}

/* --- the two passes --------------------------------------------------------------------------- */

/* The first pass reads strings, kinds of values, and the lengths of tables. */
static bool otlp_count(struct otlp *otlp, const struct proto_field *field)
{
	uint64_t type[PPROF_VALUE_TYPE_UNIT + 1];

	switch (field->number) {
	case PPROF_PROFILE_STRING_TABLE:
		if (field->is_number ||
		    !vector_reserve(otlp->strings, otlp->strings_capacity, otlp->n_strings + 1))
			return false;
		otlp->strings[otlp->n_strings++] = field->bytes;
		return true;
	case PPROF_PROFILE_SAMPLE_TYPE:
		if (otlp->n_types == OTLP_MAX_TYPES ||
		    !otlp_read_message(field, type, PPROF_VALUE_TYPE_UNIT + 1))
			return false;
		otlp->types[otlp->n_types++] = (struct otlp_attribute){
			type[PPROF_VALUE_TYPE_TYPE], type[PPROF_VALUE_TYPE_UNIT]
		};
		return true;
	case PPROF_PROFILE_DEFAULT_SAMPLE_TYPE:
		otlp->default_type = field->value;
		return true;
	case PPROF_PROFILE_MAPPING:
		return ++otlp->n_mappings < INT32_MAX;
	case PPROF_PROFILE_LOCATION:
		return ++otlp->n_locations < INT32_MAX;
	case PPROF_PROFILE_FUNCTION:
		return ++otlp->n_functions < INT32_MAX;
	}
	return true;
}

static bool otlp_add(struct otlp *otlp, const struct proto_field *field)
{
	switch (field->number) {
	case PPROF_PROFILE_SAMPLE:
		return otlp_add_sample(otlp, field);
	case PPROF_PROFILE_MAPPING:
		return otlp_add_mapping(otlp, field);
	case PPROF_PROFILE_LOCATION:
		return otlp_add_location(otlp, field);
	case PPROF_PROFILE_FUNCTION:
		return otlp_add_function(otlp, field);
	case PPROF_PROFILE_COMMENT:
		return otlp_add_comments(otlp, field);
	case PPROF_PROFILE_PERIOD_TYPE:
		return otlp_add_period_type(otlp, field);
	case PPROF_PROFILE_STRING_TABLE:
		proto_put_bytes(&otlp->dictionary, DICTIONARY_STRING, field->bytes.bytes,
			       field->bytes.n);
		return true;
	case PPROF_PROFILE_PERIOD:
		proto_put_number(&otlp->profile, PROFILE_PERIOD, field->value);
		return true;
	case PPROF_PROFILE_TIME_NANOS:
		proto_put_fixed64(&otlp->profile, PROFILE_TIME, field->value);
		return true;
	case PPROF_PROFILE_DURATION_NANOS:
		proto_put_number(&otlp->profile, PROFILE_DURATION, field->value);
		return true;
	}
	return true;
}

static bool otlp_walk(struct otlp *otlp, struct proto_bytes content,
		      bool (*take)(struct otlp *otlp, const struct proto_field *field))
{
	struct proto_field field;

	while (proto_next(&content, &field))
		if (!take(otlp, &field))
			return false;
	return !content.n;
}

/* Adds element 0 of each table. The table of strings has one from pprof. */
static void otlp_begin(struct otlp *otlp)
{
	for (uint32_t table = DICTIONARY_MAPPING; table <= DICTIONARY_STACK; table++)
		if (table != DICTIONARY_STRING)
			proto_put_bytes(&otlp->dictionary, table, "", 0);
	otlp_put_type(otlp, PROFILE_SAMPLE_TYPE, otlp->types[otlp->type].key,
		      otlp->types[otlp->type].value);
}

static void otlp_end(struct otlp *otlp)
{
	uint64_t comments = otlp->n_attributes + 1;

	for (int key = 0; key < N_KEYS; key++)
		proto_put_text(&otlp->dictionary, DICTIONARY_STRING, otlp_keys[key]);
	if (!otlp->comments.n)
		return;
	proto_put_message(&otlp->part, ANY_VALUE_ARRAY, &otlp->comments);
	proto_put_number(&otlp->message, ATTRIBUTE_KEY, otlp->n_strings + KEY_COMMENT);
	proto_put_message(&otlp->message, ATTRIBUTE_VALUE, &otlp->part);
	proto_put_message(&otlp->dictionary, DICTIONARY_ATTRIBUTE, &otlp->message);
	proto_put_numbers(&otlp->profile, PROFILE_ATTRIBUTES, &comments, 1);
}

static bool otlp_convert(struct otlp *otlp, struct proto_bytes content)
{
	if (!otlp_walk(otlp, content, otlp_count) || !otlp->n_types || !otlp->n_strings ||
	    otlp->strings[0].n)
		return false;
	otlp->type = otlp->n_types - 1;
	for (size_t i = 0; i < otlp->n_types; i++) {
		if (otlp->types[i].key >= otlp->n_strings ||
		    otlp->types[i].value >= otlp->n_strings)
			return false;
		if (otlp->types[i].key == otlp->default_type)
			otlp->type = i;
	}
	otlp_begin(otlp);
	if (!otlp_walk(otlp, content, otlp_add))
		return false;
	otlp_end(otlp);
	return true;
}

/* --- the request ------------------------------------------------------------------------------ */

/* Names of labels for which stores look. The other labels keep their names. */
static const char *otlp_name(const char *label)
{
	if (strcmp(label, "service_name") == 0)
		return "service.name";
	return strcmp(label, "host") == 0 ? "host.name" : label;
}

static void otlp_put_resource(struct otlp *otlp, const struct push_settings *settings,
			      const struct push_profile *profile, struct proto_buffer *to)
{
	struct proto_buffer resource = { .bytes = NULL };
	struct labels labels;

	labels_build(settings, profile, &labels);
	for (size_t i = 0; i < labels.n; i++) {
		const char *value = labels.labels[i].value;

		proto_put_text(&otlp->message, KEY_VALUE_KEY, otlp_name(labels.labels[i].name));
		otlp_put_string_value(&otlp->message, KEY_VALUE_VALUE, &otlp->part,
				      (struct proto_bytes){ (const uint8_t *)value,
							   strlen(value) });
		proto_put_message(&resource, RESOURCE_ATTRIBUTES, &otlp->message);
	}
	proto_put_message(to, RESOURCE_PROFILES_RESOURCE, &resource);
	free(resource.bytes);
}

/* Makes an id that is equal for each attempt, so that a store recognises a repeated profile. */
static void otlp_put_id(struct otlp *otlp, const struct push_profile *profile)
{
	uint64_t hash = hash_bytes(profile->from_ns, profile->uuid, strlen(profile->uuid));
	uint64_t id[2] = { hash | 1, hash_bytes(hash, otlp->profile.bytes, otlp->profile.n) };

	proto_put_bytes(&otlp->profile, PROFILE_ID, id, sizeof(id));
}

static void otlp_put_request(struct otlp *otlp, const struct push_settings *settings,
			     const struct push_profile *profile, struct proto_buffer *to)
{
	struct proto_buffer resources = { .bytes = NULL }, scopes = { .bytes = NULL };

	otlp_put_resource(otlp, settings, profile, &resources);
	otlp_put_id(otlp, profile);
	proto_put_text(&otlp->message, SCOPE_NAME, PACKAGE_NAME);
	proto_put_text(&otlp->message, SCOPE_VERSION, PACKAGE_VERSION);
	proto_put_message(&scopes, SCOPE_PROFILES_SCOPE, &otlp->message);
	proto_put_message(&scopes, SCOPE_PROFILES_PROFILES, &otlp->profile);
	proto_put_message(&resources, RESOURCE_PROFILES_SCOPE_PROFILES, &scopes);
	proto_put_message(to, REQUEST_RESOURCE_PROFILES, &resources);
	proto_put_message(to, REQUEST_DICTIONARY, &otlp->dictionary);
	to->failed |= otlp->failed || otlp->message.failed || otlp->part.failed;
	free(resources.bytes);
	free(scopes.bytes);
}

static void otlp_deinit(struct otlp *otlp)
{
	free(otlp->strings);
	free(otlp->dictionary.bytes);
	free(otlp->profile.bytes);
	free(otlp->message.bytes);
	free(otlp->part.bytes);
	free(otlp->comments.bytes);
	free(otlp->attributes);
	hash_table_deinit(&otlp->attribute_index);
	free(otlp->stacks);
	free(otlp->locations);
	hash_table_deinit(&otlp->stack_index);
}

struct xtop_error *otlp_request(const char *base, const struct push_settings *settings,
				const struct entry *entry, struct http_request *request)
{
	struct otlp otlp = { .failed = false };
	struct proto_buffer body = { .bytes = NULL };
	struct proto_bytes content = { .n = 0 };
	_cleanup_free_ uint8_t *bytes =
		zip_unpack(entry->bytes, entry->size_bytes, OTLP_MAX_CONTENT_BYTES, &content.n);
	bool whole;

	content.bytes = bytes;
	whole = bytes && otlp_convert(&otlp, content);
	if (whole)
		otlp_put_request(&otlp, settings, &entry->profile, &body);
	*request = (struct http_request){ .content_type = OTLP_CONTENT, .encoding = "gzip" };
	if (whole && !body.failed) {
		request->own = zip_pack(body.bytes, body.n, &request->size_bytes);
		request->body = request->own;
		if (asprintf(&request->url, "%s" OTLP_PATH, base) < 0)
			request->url = NULL;
	}
	free(body.bytes);
	otlp_deinit(&otlp);
	if (request->own && request->url)
		return NULL;
	http_request_deinit(request);
	return whole || otlp.failed ? error_create("out of memory")
				    : error_create("a profile is damaged");
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Copies the text of MESSAGE, a PartialSuccess or Status, and returns how many were rejected. */
static uint64_t otlp_read_text(struct proto_bytes message, struct http_answer *answer)
{
	struct proto_field field;
	uint64_t rejected = 0;

	while (proto_next_cut(&message, &field)) {
		if (field.number == PARTIAL_SUCCESS_REJECTED && field.is_number)
			rejected = field.value;
		if (field.number == MESSAGE_TEXT && !field.is_number)
			snprintf(answer->text, sizeof(answer->text), "%.*s", (int)field.bytes.n,
				 (const char *)field.bytes.bytes);
	}
	return rejected;
}

bool otlp_read_answer(struct http_answer *answer)
{
	struct proto_bytes body = { answer->body, answer->body_bytes };
	struct proto_field field;
	uint64_t rejected = 0;

	if (answer->status != 200) {
		otlp_read_text(body, answer);
		return false;
	}
	while (proto_next_cut(&body, &field))
		if (field.number == RESPONSE_PARTIAL_SUCCESS && !field.is_number)
			rejected = otlp_read_text(field.bytes, answer);
	return rejected > 0;
}
