/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: OTLP profiles over HTTP, all that depends on the protocol. The protocol is the
 * package opentelemetry.proto.profiles.v1development, which may change. The numbers below come from
 * opentelemetry-proto 1.10.0, in which the fields of Sample got new numbers. A header
 * OTLP-Profiles-Development-Version tells the revision (opentelemetry-proto pull request 857). xtop
 * sends no such header, which means 1. A collector that reads another revision answers 400.
 *
 *   POST /v1development/profiles      ExportProfilesServiceRequest, in gzip
 *
 *   Request ─┬► ResourceProfiles ─┬► Resource: the labels, as attributes
 *            │                    └► ScopeProfiles ─► Profile ─► Sample: stack, attributes, value
 *            └► Dictionary: tables of mappings, locations, functions, strings, attributes, stacks
 *
 * A member that ends in _index or _strindex is the number of an element in a table. Element 0 of
 * each table is empty and means "none". Stacks have the innermost location first.
 */
#ifndef PUSH_OTLP_FIELDS_H
#define PUSH_OTLP_FIELDS_H

#define OTLP_PATH              "/v1development/profiles"
#define OTLP_CONTENT           "application/x-protobuf"

enum {
	REQUEST_RESOURCE_PROFILES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	RESOURCE_ATTRIBUTES = 1, /* KeyValue */
	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	KEY_VALUE_KEY = 1, /* text */
	KEY_VALUE_VALUE = 2,
	ANY_VALUE_STRING = 1,
	ANY_VALUE_ARRAY = 5,
	ARRAY_VALUES = 1,
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION = 2,
	DICTIONARY_FUNCTION = 3,
	DICTIONARY_LINK = 4,
	DICTIONARY_STRING = 5,
	DICTIONARY_ATTRIBUTE = 6, /* KeyValueAndUnit */
	DICTIONARY_STACK = 7,
	PROFILE_SAMPLE_TYPE = 1, /* ValueType */
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3, /* fixed64 */
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5, /* ValueType */
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7, /* 16 bytes */
	PROFILE_ATTRIBUTES = 11,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_VALUES = 4,
	STACK_LOCATIONS = 1,
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	LINE_COLUMN = 3,
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	ATTRIBUTE_KEY = 1, /* string number */
	ATTRIBUTE_VALUE = 2,
	/* Answers. */
	RESPONSE_PARTIAL_SUCCESS = 1,
	PARTIAL_SUCCESS_REJECTED = 1,
	MESSAGE_TEXT = 2, /* member of PartialSuccess and of google.rpc.Status */
};

#endif
