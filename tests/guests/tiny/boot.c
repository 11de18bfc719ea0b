// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the entry point to main(): reads the command line (extra="..." in the guest's config), opens
 * the console, starts all other vCPUs of the domain, and prints their number.
 *
 *   depth=N    main -> dive -> dive ... N times (at most 1000) instead of the graph
 *   idle       after each round, sleep about as long as the round took; idle=N: N times as long
 *   lex=N      lex() takes N times as long; 0: it is not called
 *   ask        after each round, make hypercalls for as long as the round took
 *   rounds=N   power off after N rounds of vCPU 0
 *   beat=HZ    40 % of each 1/HZ s of Xen's clock in on_beat() instead of the graph
 */
#include <stddef.h>

#include "tiny.h"

#define MAX_DEPTH 1000		/* 1000 frames of at most 48 bytes fit TINY_STACK_PAGES */

struct tiny_options options = { .lex = 1 };
unsigned int nr_vcpus = 1;

void boot(int flavour, const void *start_info);

/* If `word` begins with `name`, returns the text after the name; otherwise NULL. */
static const char *option_value(const char *word, const char *name)
{
	while (*name)
		if (*word++ != *name++)
			return NULL;
	return word;
}

static uint64_t number_of(const char *digits)
{
	uint64_t number = 0;

	while (*digits >= '0' && *digits <= '9')
		number = number * 10 + (*digits++ - '0');
	return number;
}

static void parse_word(const char *word)
{
	const char *value;

	if ((value = option_value(word, "depth=")))
		options.depth = number_of(value) < MAX_DEPTH ? number_of(value) : MAX_DEPTH;
	else if ((value = option_value(word, "lex=")))
		options.lex = number_of(value);
	else if ((value = option_value(word, "rounds=")))
		options.rounds = number_of(value);
	else if ((value = option_value(word, "beat=")) && xen_present())
		options.beat_hz = number_of(value);
	else if (option_value(word, "ask") && xen_present())
		options.ask = true;
	else if ((value = option_value(word, "idle")) && xen_present())
		options.idle = *value == '=' ? number_of(value + 1) : 1;
}

static void parse_cmdline(const char *line)
{
	while (*line) {
		parse_word(line);
		while (*line && *line != ' ')
			line++;
		while (*line == ' ')
			line++;
	}
}

static void start_vcpus(void)
{
	if (!xen_present())
		return;
	while (nr_vcpus < TINY_MAX_VCPUS && xen_start_vcpu(nr_vcpus))
		nr_vcpus++;
}

void boot(int flavour, const void *start_info)
{
	xen_init(flavour, start_info);
	parse_cmdline(xen_cmdline());
	console_init();
	start_vcpus();
	console_text("tiny: ");
	console_number(nr_vcpus);
	console_text(nr_vcpus == 1 ? " vCPU running\n" : " vCPUs running\n");
	console_flush();
}
