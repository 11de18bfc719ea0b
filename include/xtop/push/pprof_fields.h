/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema of pprof: field numbers of the messages of perftools.profiles (proto/profile.proto of
 * the pprof project). A file is one Profile, as Protocol Buffers write it, in gzip. Each string is
 * a number in Profile.string_table; number 0 is the empty string. Ids of mappings, locations and
 * functions begin at 1; 0 means none. Fields may come in any order.
 *
 *   Profile ─► Sample ─► Location ─► Mapping     a file of code
 *                 │          └─────► Line ─► Function
 *                 └► Label
 */
#ifndef XTOP_PPROF_FIELDS_H
#define XTOP_PPROF_FIELDS_H

enum pprof_profile {
	PPROF_PROFILE_SAMPLE_TYPE = 1, /* ValueType; one for each value of a sample */
	PPROF_PROFILE_SAMPLE = 2,
	PPROF_PROFILE_MAPPING = 3,
	PPROF_PROFILE_LOCATION = 4,
	PPROF_PROFILE_FUNCTION = 5,
	PPROF_PROFILE_STRING_TABLE = 6,
	PPROF_PROFILE_TIME_NANOS = 9,
	PPROF_PROFILE_DURATION_NANOS = 10,
	PPROF_PROFILE_PERIOD_TYPE = 11, /* ValueType */
	PPROF_PROFILE_PERIOD = 12,
	PPROF_PROFILE_COMMENT = 13, /* string; packed */
	PPROF_PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum pprof_value_type { PPROF_VALUE_TYPE_TYPE = 1, PPROF_VALUE_TYPE_UNIT = 2 };

enum pprof_sample {
	PPROF_SAMPLE_LOCATION_ID = 1, /* packed; innermost first */
	PPROF_SAMPLE_VALUE = 2,       /* packed */
	PPROF_SAMPLE_LABEL = 3,
};

enum pprof_label {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_STR = 2,
	PPROF_LABEL_NUM = 3,
	PPROF_LABEL_NUM_UNIT = 4,
};

enum pprof_mapping {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILENAME = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
};

enum pprof_location {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING_ID = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4, /* Line; [0] is the innermost inlined function */
};

enum pprof_line { PPROF_LINE_FUNCTION_ID = 1, PPROF_LINE_LINE = 2, PPROF_LINE_COLUMN = 3 };

enum pprof_function {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3, /* not demangled */
	PPROF_FUNCTION_FILENAME = 4,    /* source file */
};

#endif
