/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the tables of a pprof file, and makes frames of them; see pprof_tables.h. */
#include "config.h"

#include "import/pprof_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/push/pprof_fields.h"
#include "xtop/symbol/symbol.h"

#define PPROF_MAX_TEXT_BYTES   (64U << 20)
#define PPROF_MAX_STRING_BYTES (1U << 20) /* what is read of a longer string */

/* --- what the file has ------------------------------------------------------------------------ */

static bool pprof_tables_add_string(struct pprof_tables *tables, struct pprof_stream *stream,
				    pb_istream_t *fields)
{
	size_t left = fields->bytes_left,
	       bytes = left < PPROF_MAX_STRING_BYTES ? left : PPROF_MAX_STRING_BYTES;

	if (tables->n_strings == PPROF_MAX_ITEMS ||
	    tables->text_bytes + bytes > PPROF_MAX_TEXT_BYTES)
		return pprof_stream_fail(stream, "too many strings");
	if (!vector_reserve(tables->text, tables->text_capacity, tables->text_bytes + bytes + 1) ||
	    !vector_reserve(tables->strings, tables->strings_capacity, tables->n_strings + 1))
		return pprof_stream_fail(stream, "no memory for its strings");
	if (!pb_read(fields, (pb_byte_t *)tables->text + tables->text_bytes, bytes))
		return false;
	tables->strings[tables->n_strings++] =
		(struct pprof_string){ (uint32_t)tables->text_bytes, (uint32_t)bytes };
	tables->text_bytes += bytes;
	tables->text[tables->text_bytes++] = '\0';
	return true;
}

static bool pprof_type_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			      void *context)
{
	struct pprof_type *type = context;

	(void)stream;
	if (tag == PPROF_VALUE_TYPE_TYPE)
		type->type = value;
	else if (tag == PPROF_VALUE_TYPE_UNIT)
		type->unit = value;
	return true;
}

static bool pprof_tables_add_type(struct pprof_tables *tables, struct pprof_stream *stream,
				  pb_istream_t *fields)
{
	if (tables->n_types == PPROF_MAX_VALUES)
		return pprof_stream_fail(stream, "too many kinds of values");
	return pprof_stream_read_fields(stream, fields, pprof_type_number, NULL,
					&tables->types[tables->n_types++]);
}

static bool pprof_line_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			      void *context)
{
	(void)stream;
	if (tag == PPROF_LINE_FUNCTION_ID)
		*(uint64_t *)context = value;
	return true;
}

/* An item while it is read. */
struct pprof_new_item {
	struct pprof_tables *tables;
	struct pprof_item item;
	struct pprof_range range; /* addresses of a mapping */
};

static bool pprof_item_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			      void *context)
{
	struct pprof_item *item = &((struct pprof_new_item *)context)->item;

	(void)stream;
	/* The fields of locations and functions that we read have the same numbers: 1, 2 and 3. */
	if (tag == 1)
		item->id = value;
	else if (tag == PPROF_LOCATION_MAPPING_ID || tag == PPROF_FUNCTION_NAME)
		item->a = value;
	else if (tag == PPROF_LOCATION_ADDRESS || tag == PPROF_FUNCTION_SYSTEM_NAME)
		item->b = value;
	return true;
}

static bool pprof_mapping_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
				 void *context)
{
	struct pprof_new_item *mapping = context;

	(void)stream;
	if (tag == PPROF_MAPPING_ID)
		mapping->item.id = value;
	else if (tag == PPROF_MAPPING_FILENAME)
		mapping->item.a = value;
	else if (tag == PPROF_MAPPING_START)
		mapping->range.start = value;
	else if (tag == PPROF_MAPPING_OFFSET)
		mapping->range.offset = value;
	else if (tag == PPROF_MAPPING_BUILD_ID)
		mapping->range.build = value;
	return true;
}

static bool pprof_location_message(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				   void *context)
{
	struct pprof_new_item *location = context;
	struct pprof_tables *tables = location->tables;
	uint64_t function = 0;

	if (tag != PPROF_LOCATION_LINE)
		return true;
	if (!pprof_stream_read_fields(stream, fields, pprof_line_number, NULL, &function))
		return false;
	if (tables->n_lines == 2 * PPROF_MAX_ITEMS)
		return pprof_stream_fail(stream, "too many lines");
	if (!vector_reserve(tables->lines, tables->lines_capacity, tables->n_lines + 1))
		return pprof_stream_fail(stream, "no memory for its lines");
	tables->lines[tables->n_lines++] = function;
	location->item.n++;
	return true;
}

static bool pprof_ignore_message(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				 void *context)
{
	(void)stream, (void)tag, (void)fields, (void)context;
	return true;
}

static bool pprof_tables_add_range(struct pprof_tables *tables, struct pprof_new_item *mapping)
{
	if (!vector_reserve(tables->ranges, tables->ranges_capacity, tables->n_ranges + 1))
		return false;
	mapping->range.is_mapped = mapping->range.start != 0;
	mapping->item.b = tables->n_ranges;
	tables->ranges[tables->n_ranges++] = mapping->range;
	return true;
}

static bool pprof_tables_add_item(struct pprof_tables *tables, struct pprof_table *table,
				  struct pprof_stream *stream, pb_istream_t *fields,
				  pprof_number_fn *number, pprof_message_fn *message)
{
	struct pprof_new_item new = { .tables = tables, .item.first = (uint32_t)tables->n_lines };

	if (!pprof_stream_read_fields(stream, fields, number, message, &new))
		return false;
	if (table->n == PPROF_MAX_ITEMS)
		return pprof_stream_fail(stream, "too many functions, locations or mappings");
	if (!vector_reserve(table->items, table->capacity, table->n + 1))
		return pprof_stream_fail(stream, "no memory for its tables");
	if (table == &tables->mappings && !pprof_tables_add_range(tables, &new))
		return pprof_stream_fail(stream, "no memory for its tables");
	table->items[table->n++] = new.item;
	return true;
}

bool pprof_tables_add_message(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
			      void *context)
{
	struct pprof_tables *tables = context;

	switch (tag) {
	case PPROF_PROFILE_SAMPLE_TYPE:
		return pprof_tables_add_type(tables, stream, fields);
	case PPROF_PROFILE_MAPPING:
		return pprof_tables_add_item(tables, &tables->mappings, stream, fields,
					     pprof_mapping_number, pprof_ignore_message);
	case PPROF_PROFILE_LOCATION:
		return pprof_tables_add_item(tables, &tables->locations, stream, fields,
					     pprof_item_number, pprof_location_message);
	case PPROF_PROFILE_FUNCTION:
		return pprof_tables_add_item(tables, &tables->functions, stream, fields,
					     pprof_item_number, pprof_ignore_message);
	case PPROF_PROFILE_PERIOD_TYPE:
		return pprof_stream_read_fields(stream, fields, pprof_type_number, NULL,
						&tables->period_type);
	case PPROF_PROFILE_STRING_TABLE:
		return pprof_tables_add_string(tables, stream, fields);
	default:
		return true;
	}
}

bool pprof_tables_add_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			     void *context)
{
	struct pprof_tables *tables = context;

	(void)stream;
	if (tag == PPROF_PROFILE_DURATION_NANOS)
		tables->duration_ns = value;
	else if (tag == PPROF_PROFILE_PERIOD)
		tables->period = value;
	else if (tag == PPROF_PROFILE_DEFAULT_SAMPLE_TYPE)
		tables->default_type = value;
	return true;
}

/* --- look-up ---------------------------------------------------------------------------------- */

const char *pprof_tables_string(const struct pprof_tables *tables, uint64_t index)
{
	const struct pprof_string *string;

	if (index >= tables->n_strings)
		return NULL;
	string = &tables->strings[index];
	return string->bytes ? tables->text + string->at : NULL;
}

static bool pprof_tables_string_is(const struct pprof_tables *tables, uint64_t index,
				   const char *text)
{
	const char *is = pprof_tables_string(tables, index);

	return is && !strcmp(is, text);
}

static bool pprof_tables_is_same_string(const struct pprof_tables *tables, uint64_t a, uint64_t b)
{
	const char *text = pprof_tables_string(tables, b);

	return a == b || (text && pprof_tables_string_is(tables, a, text));
}

static int pprof_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_item *)a)->id, y = ((const struct pprof_item *)b)->id;

	return (x > y) - (x < y);
}

static void pprof_sort(struct pprof_table *table)
{
	if (table->n)
		qsort(table->items, table->n, sizeof(*table->items), pprof_compare);
}

static const struct pprof_item *pprof_find(const struct pprof_table *table, uint64_t id)
{
	const struct pprof_item key = { .id = id };

	/* Most writers count from 1 on. */
	if (id - 1 < table->n && table->items[id - 1].id == id)
		return &table->items[id - 1];
	return table->n ? bsearch(&key, table->items, table->n, sizeof(key), pprof_compare) : NULL;
}

const struct pprof_item *pprof_tables_find_location(const struct pprof_tables *tables, uint64_t id)
{
	return pprof_find(&tables->locations, id);
}

/* --- frames ----------------------------------------------------------------------------------- */

/*
 * Whether FUNCTION's mangled name tells more than its name: overloads of a function that are named
 * without their parameters look alike.
 */
static bool pprof_tables_mangled_tells_more(const struct pprof_tables *tables,
					    const struct pprof_item *function)
{
	const char *name = pprof_tables_string(tables, function->a);
	const char *mangled = pprof_tables_string(tables, function->b);
	_cleanup_free_ char *demangled = NULL;
	size_t n = name ? strlen(name) : 0;

	if (!name || !mangled || !strcmp(name, mangled))
		return false;
	demangled = symbol_demangle(mangled);
	return demangled && !strncmp(demangled, name, n) && (!demangled[n] || demangled[n] == '(');
}

/* Gives each function the name that tells most. */
static void pprof_tables_choose_names(struct pprof_tables *tables)
{
	for (size_t i = 0; i < tables->functions.n; i++) {
		struct pprof_item *function = &tables->functions.items[i];

		if (pprof_tables_mangled_tells_more(tables, function))
			function->a = function->b;
	}
}

static uint32_t pprof_tables_intern(const struct pprof_tables *tables, struct builder *builder,
				    const struct pprof_item *location,
				    const struct pprof_item *function)
{
	const struct pprof_item *mapping = pprof_find(&tables->mappings, location->a);
	const char *file = mapping ? pprof_tables_string(tables, mapping->a) : NULL;
	const char *name = function ? pprof_tables_string(tables, function->a) : NULL;
	struct code_place place = { .address = location->b, .file = file };

	if (name && strcmp(name, "[unknown]") != 0)
		return builder_intern_code(builder, name, file, location->b);
	if (mapping) {
		const struct pprof_range *range = &tables->ranges[mapping->b];

		place.build = pprof_tables_string(tables, range->build);
		place.is_mapped = range->is_mapped;
		place.start = range->start;
		place.offset = range->offset;
	}
	return builder_intern_place(builder, &place);
}

/* Builds the frames of all locations. A location without lines gets one unnamed frame. */
static bool pprof_tables_build_frames(struct pprof_tables *tables, struct pprof_stream *stream,
				      struct builder *builder)
{
	size_t n = 0;

	pprof_sort(&tables->mappings);
	pprof_sort(&tables->functions);
	pprof_sort(&tables->locations);
	pprof_tables_choose_names(tables);
	tables->frames = calloc(tables->n_lines + tables->locations.n + 1, sizeof(*tables->frames));
	if (!tables->frames)
		return pprof_stream_fail(stream, "no memory for its functions");
	for (size_t i = 0; i < tables->locations.n; i++) {
		struct pprof_item *location = &tables->locations.items[i];
		size_t first = n;

		/* The innermost line comes first. */
		for (uint32_t j = location->n; j-- > 0;)
			tables->frames[n++] = pprof_tables_intern(
				tables, builder, location,
				pprof_find(&tables->functions, tables->lines[location->first + j]));
		if (n == first)
			tables->frames[n++] = pprof_tables_intern(tables, builder, location, NULL);
		location->first = (uint32_t)first;
		location->n = (uint32_t)(n - first);
	}
	return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool pprof_tables_is_time(const struct pprof_tables *tables, uint64_t unit)
{
	static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (pprof_tables_string_is(tables, unit, units[i]))
			return true;
	return false;
}

/*
 * Whether the period tells how much of the value TYPE a sample stands for. A profile of waits may
 * have the period of the CPU's timer, which says nothing about the waits. A period without a type
 * belongs to any value.
 */
static bool pprof_tables_is_period_of(const struct pprof_tables *tables,
				      const struct pprof_type *type)
{
	const struct pprof_type *of = &tables->period_type;

	if (!tables->period || tables->period > INT64_MAX ||
	    !pprof_tables_is_time(tables, type->unit))
		return false;
	return (!of->type && !of->unit) ||
	       (pprof_tables_is_same_string(tables, of->type, type->type) &&
		pprof_tables_is_same_string(tables, of->unit, type->unit));
}

/* False: no value has the type WANTED. */
static bool pprof_tables_choose_weight(struct pprof_tables *tables, const char *wanted)
{
	size_t n = tables->n_types;
	bool found = !wanted;

	tables->weight = n - 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t type = tables->types[i].type;

		if (wanted ? pprof_tables_string_is(tables, type, wanted)
			   : tables->default_type && type == tables->default_type) {
			tables->weight = i;
			found = true;
		}
	}
	return found;
}

static bool pprof_tables_fail_value(const struct pprof_tables *tables, struct pprof_stream *stream,
				    const char *wanted)
{
	size_t n = 0, capacity = sizeof(stream->what);

	n += (size_t)snprintf(stream->what, capacity, "there is no value '%s', but", wanted);
	for (size_t i = 0; i < tables->n_types && n < capacity; i++) {
		const char *type = pprof_tables_string(tables, tables->types[i].type);

		n += (size_t)snprintf(stream->what + n, capacity - n, "%s %s", i ? "," : "",
				      type ? type : "one without a name");
	}
	return pprof_stream_fail(stream, stream->what);
}

/*
 * Chooses the value that weighs a sample: the default one, or else the last one, as pprof does. Its
 * own period turns it into ticks. The number of samples is the nearest value in "count" at or
 * before the weight: Go's heap profiles have objects before bytes, once for all that was allocated
 * and once for what is in use.
 */
static bool pprof_tables_choose_values(struct pprof_tables *tables, struct pprof_stream *stream,
				       struct builder *builder)
{
	const struct pprof_type *weight;
	size_t n = tables->n_types;

	if (!n)
		return pprof_stream_fail(stream, "no kinds of values");
	if (!pprof_tables_choose_weight(tables, builder->wanted))
		return pprof_tables_fail_value(tables, stream, builder->wanted);
	tables->count = n;
	for (size_t i = 0; i < n; i++) {
		size_t at = (tables->weight + n - i) % n;

		if (pprof_tables_string_is(tables, tables->types[at].unit, "count")) {
			tables->count = at;
			break;
		}
	}
	weight = &tables->types[tables->weight];
	tables->per_tick = pprof_tables_is_period_of(tables, weight) ? (double)tables->period : 1;
	builder->several_values = n > 2;
	for (size_t i = 0; i < n; i++) {
		const char *name = pprof_tables_string(tables, tables->types[i].type);

		if (name)
			builder_offer_value(builder, name, i == tables->weight);
	}
	builder_set_value(builder, pprof_tables_string(tables, weight->type),
			  pprof_tables_string(tables, weight->unit), tables->per_tick);
	return true;
}

bool pprof_tables_finish(struct pprof_tables *tables, struct pprof_stream *stream,
			 struct builder *builder)
{
	return pprof_tables_choose_values(tables, stream, builder) &&
	       pprof_tables_build_frames(tables, stream, builder);
}

void pprof_tables_deinit(struct pprof_tables *tables)
{
	free(tables->text);
	free(tables->strings);
	free(tables->functions.items);
	free(tables->mappings.items);
	free(tables->locations.items);
	free(tables->ranges);
	free(tables->lines);
	free(tables->frames);
}
