/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of --push-config; see config_file.h. */
#include "config.h"

#include "push/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xtop/base/cleanup.h"

#define CONFIG_MAX_BYTES    65536
#define CONFIG_CA_MAX_BYTES (4U << 20)
#define CONFIG_MAX_S        600
#define CONFIG_MAX_MIB      (1U << 20)
#define CONFIG_TIMEOUT_S    20
#define CONFIG_MEMORY_MIB   8
#define CONFIG_SPOOL_MIB    256
#define CONFIG_KEEP_MIB     1024

void config_init(struct config *config)
{
	*config = (struct config){ .timeout_s = CONFIG_TIMEOUT_S,
				   .memory_bytes = (uint64_t)CONFIG_MEMORY_MIB << 20,
				   .spool_bytes = (uint64_t)CONFIG_SPOOL_MIB << 20,
				   .keep_bytes = (uint64_t)CONFIG_KEEP_MIB << 20 };
}

void config_deinit(struct config *config)
{
	free(config->ca);
	config->ca = NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static struct xtop_error *config_read_ca(struct config *config, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char *bytes = malloc(CONFIG_CA_MAX_BYTES);

	if (!file || !bytes) {
		free(bytes);
		return error_create_errno(file ? ENOMEM : errno, "cannot read '%s'", path);
	}
	free(config->ca);
	config->ca = bytes;
	config->ca_bytes = fread(bytes, 1, CONFIG_CA_MAX_BYTES, file);
	if (ferror(file) || !config->ca_bytes || config->ca_bytes == CONFIG_CA_MAX_BYTES)
		return error_create("'%s' is no file of certificates", path);
	return NULL;
}

/* Sets the value of an HTTP header, which is one line. */
static struct xtop_error *config_set_text(char *to, const char *key, const char *value)
{
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return error_create("%s has a control character", key);
	if (!*value || strlen(value) >= CONFIG_VALUE_BYTES)
		return error_create("%s has 1 to %d bytes", key, CONFIG_VALUE_BYTES - 1);
	snprintf(to, CONFIG_VALUE_BYTES, "%s", value);
	return NULL;
}

static struct xtop_error *config_parse_number(const char *key, const char *value, unsigned long min,
					      unsigned long max, unsigned long *numberp)
{
	unsigned long number = strtoul(value, NULL, 10);

	if (!*value || value[strspn(value, "0123456789")] || strlen(value) > 9 || number < min ||
	    number > max)
		return error_create("%s is a whole number, %lu to %lu", key, min, max);
	*numberp = number;
	return NULL;
}

static struct xtop_error *config_set_mib(uint64_t *to, const char *key, const char *value,
					 unsigned long min)
{
	unsigned long mib;
	struct xtop_error *error = config_parse_number(key, value, min, CONFIG_MAX_MIB, &mib);

	if (!error)
		*to = (uint64_t)mib << 20;
	return error;
}

static struct xtop_error *config_set(struct config *config, const char *key, const char *value)
{
	unsigned long number = config->timeout_s;
	struct xtop_error *error;

	if (strcmp(key, "tenant") == 0)
		return config_set_text(config->tenant, key, value);
	if (strcmp(key, "user") == 0)
		return strchr(value, ':') ? config_set_text(config->user, key, value)
					  : error_create("user is NAME:PASSWORD");
	if (strcmp(key, "bearer") == 0)
		return config_set_text(config->bearer, key, value);
	if (strcmp(key, "ca") == 0)
		return config_read_ca(config, value);
	if (strcmp(key, "memory") == 0)
		return config_set_mib(&config->memory_bytes, key, value, 1);
	if (strcmp(key, "spool") == 0)
		return config_set_mib(&config->spool_bytes, key, value, 0);
	if (strcmp(key, "keep") == 0)
		return config_set_mib(&config->keep_bytes, key, value, 1);
	if (strcmp(key, "timeout") != 0)
		return error_create("the keys are tenant, user, bearer, ca, timeout, memory, spool "
				    "and keep");
	error = config_parse_number(key, value, 1, CONFIG_MAX_S, &number);
	config->timeout_s = (unsigned)number;
	return error;
}

/* --- the file --------------------------------------------------------------------------------- */

static struct xtop_error *config_parse(struct config *config, char *line)
{
	char *value = strchr(line, '=');

	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return NULL;
	if (!value)
		return error_create("a line is KEY=VALUE");
	*value++ = '\0';
	return config_set(config, line, value);
}

struct xtop_error *config_read(const char *path, struct config *config)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[CONFIG_VALUE_BYTES + 64];
	struct xtop_error *error = NULL;
	struct stat status;
	unsigned n = 0;

	if (!file || fstat(fileno(file), &status) < 0)
		return error_create_errno(errno, "cannot read '%s'", path);
	if (!S_ISREG(status.st_mode) || status.st_size > CONFIG_MAX_BYTES)
		return error_create("'%s' is no file of lines KEY=VALUE", path);
	if (status.st_mode & S_IRWXO)
		return error_create("'%s' may be read by everybody: chmod o= it", path);
	while (!error && fgets(line, sizeof(line), file)) {
		n++;
		error = config_parse(config, line);
	}
	return error_wrap(error, "%s, line %u", path, n);
}
