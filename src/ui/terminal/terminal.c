/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal, with ncursesw.
 *
 * Signals. Signals that end the program or resize the screen have handlers that only write one byte
 * into a pipe. terminal_wait() polls the pipe and the keyboard. Ctrl-C stays a signal to the whole
 * job. Ctrl-Z is switched off: it would stop every process of the job, also the sampler, perhaps
 * while the guest is stopped.
 *
 * Crashes. The crash handler may run on any thread, and any data may be broken. It uses only two
 * system calls: write() of bytes that were prepared when the terminal was opened, and tcsetattr(),
 * which POSIX allows in a handler. Then it raises the signal again with the previous action.
 */
#include "config.h"

#include "ui/terminal/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "ui/terminal/terminal_types.h"
#include "xtop/base/fault.h"

#define RESET_BYTES       256
#define CRASH_STACK_BYTES (32 << 10)
#define ESCAPE_DELAY_MS   25
#define MOUSE_MAX_EVENTS  8 /* curses keeps that many */

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
/* SIGBUS is not among them: a guest's page that went away is no crash (fault.h). */
static const int crash_signals[] = { SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGTRAP };
#define N_END_SIGNALS   (sizeof(end_signals) / sizeof(end_signals[0]))
#define N_CRASH_SIGNALS (sizeof(crash_signals) / sizeof(crash_signals[0]))

/* Static, because signal handlers have no argument for it. */
static struct {
	SCREEN *screen;
	bool ended;
	int wake[2]; /* pipe with one byte for each signal */
	struct termios saved;
	pid_t owner; /* a child that crashes must not touch the terminal */
	char reset[RESET_BYTES];
	size_t reset_length;
	struct sigaction old_end[N_END_SIGNALS], old_crash[N_CRASH_SIGNALS], old_winch, old_tstp;
	void *crash_stack;
	attr_t attributes[N_STYLES];
	short pairs[N_STYLES];
	struct input mouse[MOUSE_MAX_EVENTS]; /* events to hand out; the oldest is the last */
	size_t n_mouse;
} terminal = { .wake = { -1, -1 } };

/* --- giving the terminal back ----------------------------------------------------------------- */

static int reset_put(int byte)
{
	if (terminal.reset_length < sizeof(terminal.reset))
		terminal.reset[terminal.reset_length++] = (char)byte;
	return byte;
}

/*
 * Prepares the bytes that endwin() sends, in its order: mouse off, attributes and colours off,
 * cursor shown, keypad off, back to the other screen. tputs() removes padding.
 */
static void terminal_prepare_reset(void)
{
	static const char *const capabilities[] = { "sgr0", "op", "cnorm", "rmkx", "rmcup" };
	const char *mouse = tigetstr("kmous");

	terminal.reset_length = 0;
	if (mouse && mouse != (char *)-1)
		for (const char *off = "\033[?1006l\033[?1000l"; *off; off++)
			reset_put(*off);
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		char *bytes = tigetstr(capabilities[i]);

		if (bytes && bytes != (char *)-1)
			tputs(bytes, 1, reset_put);
	}
	reset_put('\r');
	reset_put('\n');
}

/* This function and the two handlers below are async-signal-safe. */
static void terminal_give_back(void)
{
	ssize_t written;

	if (getpid() != terminal.owner)
		return;
	written = write(STDOUT_FILENO, terminal.reset, terminal.reset_length);
	(void)written; /* a failure cannot be reported any more */
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.saved);
}

static void terminal_on_crash(int number)
{
	size_t i = 0;

	terminal_give_back();
	while (i < N_CRASH_SIGNALS - 1 && crash_signals[i] != number)
		i++;
	sigaction(number, &terminal.old_crash[i], NULL);
	fault_raise(number); /* the signal is blocked here: it is delivered when this returns */
}

static void terminal_on_signal(int number)
{
	int saved_errno = errno;
	char byte = number == SIGWINCH ? 'w' : 'e';
	ssize_t written = write(terminal.wake[1], &byte, 1);

	(void)written; /* a full pipe has bytes enough */
	errno = saved_errno;
}

/* Must be called before newterm(), which sets its own handlers. */
static void terminal_save_handlers(void)
{
	for (size_t i = 0; i < N_END_SIGNALS; i++)
		sigaction(end_signals[i], NULL, &terminal.old_end[i]);
	for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
		sigaction(crash_signals[i], NULL, &terminal.old_crash[i]);
	sigaction(SIGWINCH, NULL, &terminal.old_winch);
	sigaction(SIGTSTP, NULL, &terminal.old_tstp);
}

static void terminal_set_handlers(void)
{
	struct sigaction action = { .sa_handler = terminal_on_signal, .sa_flags = SA_RESTART };
	stack_t stack = { .ss_size = CRASH_STACK_BYTES };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < N_END_SIGNALS; i++)
		sigaction(end_signals[i], &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
	/* a separate stack, because the crash may be a stack overflow */
	stack.ss_sp = terminal.crash_stack = malloc(CRASH_STACK_BYTES);
	action.sa_handler = terminal_on_crash;
	action.sa_flags = 0;
	if (stack.ss_sp && !sigaltstack(&stack, NULL))
		action.sa_flags = SA_ONSTACK;
	for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
		sigaction(crash_signals[i], &action, NULL);
	fault_install();
	fault_set_last_words(terminal_give_back);
}

static void terminal_restore_handlers(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	for (size_t i = 0; i < N_END_SIGNALS; i++)
		sigaction(end_signals[i], &terminal.old_end[i], NULL);
	sigaction(SIGWINCH, &terminal.old_winch, NULL);
	sigaction(SIGTSTP, &terminal.old_tstp, NULL);
	for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
		sigaction(crash_signals[i], &terminal.old_crash[i], NULL);
	fault_set_last_words(NULL);
	sigaltstack(&none, NULL);
	free(terminal.crash_stack);
	terminal.crash_stack = NULL;
}

/* --- colours and attributes of styles --------------------------------------------------------- */

struct style_attributes {
	attr_t mono;       /* attributes without colours */
	attr_t attributes; /* attributes with colours */
	short foreground, background;
	short rich; /* background with 256 colours; 0: BACKGROUND is used */
};

/*
 * Colour -1 is the terminal's own colour, so that xtop is readable on dark and light terminals. The
 * rich colours are from the 6x6x6 cube, 16 + 36 r + 6 g + b, and light enough for black text.
 */
static const struct style_attributes styles[N_STYLES] = {
	[STYLE_NORMAL] = { A_NORMAL, A_NORMAL, -1, -1, 0 },
	[STYLE_HOT] = { A_BOLD, A_BOLD, COLOR_RED, -1, 0 },
	[STYLE_WARM] = { A_NORMAL, A_NORMAL, COLOR_GREEN, -1, 0 },
	[STYLE_DIM] = { A_DIM, A_DIM, -1, -1, 0 },
	[STYLE_SELECTED] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 0 },
	[STYLE_MARKED] = { A_UNDERLINE, A_UNDERLINE, -1, -1, 0 },
	[STYLE_TITLE] = { A_BOLD, A_BOLD, -1, -1, 0 },
	[STYLE_HEADER] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_GREEN, 0 },
	[STYLE_SORTED] = { A_REVERSE | A_BOLD, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 0 },
	[STYLE_BAR_USER] = { A_NORMAL, A_NORMAL, COLOR_GREEN, -1, 0 },
	[STYLE_BAR_KERNEL] = { A_NORMAL, A_NORMAL, COLOR_RED, -1, 0 },
	[STYLE_BAR_STEAL] = { A_NORMAL, A_NORMAL, COLOR_YELLOW, -1, 0 },
	[STYLE_KEY] = { A_NORMAL, A_NORMAL, -1, -1, 0 },
	[STYLE_LABEL] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 0 },
	[STYLE_NOTICE] = { A_BOLD, A_BOLD, COLOR_YELLOW, -1, 0 },
	[STYLE_ALERT] = { A_BOLD | A_REVERSE, A_BOLD, COLOR_WHITE, COLOR_RED, 0 },
	[STYLE_GOOD] = { A_NORMAL, A_NORMAL, COLOR_GREEN, -1, 0 },
	[STYLE_MATCH] = { A_BOLD | A_UNDERLINE, A_BOLD, COLOR_BLACK, COLOR_YELLOW, 0 },
	[STYLE_FLAME_KERNEL] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_RED, 209 },
	[STYLE_FLAME_USER] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_GREEN, 114 },
	[STYLE_FLAME_LIBRARY] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 117 },
	[STYLE_FLAME_UNKNOWN] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_MAGENTA, 182 },
	[STYLE_FLAME_OTHER] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_WHITE, 252 },
	[STYLE_FLAME_MORE] = { A_REVERSE | A_BOLD, A_NORMAL, COLOR_BLACK, COLOR_RED, 209 },
	[STYLE_FLAME_LESS] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 117 },
	[STYLE_BAR_LOCK] = { A_NORMAL, A_NORMAL, COLOR_MAGENTA, -1, 0 },
};

/* The number of colours to use; 0: none. A NO_COLOR that is not empty means none (no-color.org). */
static int terminal_start_colors(enum ui_colors wanted)
{
	static const int counts[] = {
		[UI_COLORS_NONE] = 0, [UI_COLORS_8] = 8, [UI_COLORS_16] = 16, [UI_COLORS_256] = 256
	};
	const char *no_color = getenv("NO_COLOR");

	if (!has_colors() || (no_color && no_color[0]) || wanted == UI_COLORS_NONE)
		return 0;
	if (start_color() != OK || COLORS < 8 || COLOR_PAIRS <= N_STYLES)
		return 0;
	return wanted == UI_COLORS_AUTO || counts[wanted] > COLORS ? COLORS : counts[wanted];
}

static void terminal_set_styles(enum ui_colors wanted)
{
	int n_colors = terminal_start_colors(wanted);
	bool own_colors = n_colors && use_default_colors() == OK;

	for (int style = 0; style < N_STYLES; style++) {
		const struct style_attributes *look = &styles[style];
		bool plain = look->foreground < 0 && look->background < 0;
		short background = look->rich && n_colors >= 256 ? look->rich : look->background;

		terminal.attributes[style] = n_colors ? look->attributes : look->mono;
		terminal.pairs[style] = 0;
		if (!n_colors || plain)
			continue;
		terminal.pairs[style] = (short)(style + 1);
		init_pair((short)(style + 1),
			  look->foreground < 0 && !own_colors ? COLOR_WHITE : look->foreground,
			  background < 0 && !own_colors ? COLOR_BLACK : background);
	}
}

/* --- open and close --------------------------------------------------------------------------- */

static void terminal_close_wake(void)
{
	for (int i = 0; i < 2; i++) {
		if (terminal.wake[i] >= 0)
			close(terminal.wake[i]);
		terminal.wake[i] = -1;
	}
}

static void terminal_set_modes(void)
{
	struct termios modes;

	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	if (!tcgetattr(STDIN_FILENO, &modes)) {
		modes.c_cc[VSUSP] = _POSIX_VDISABLE;
		tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	}
}

/*
 * Takes the description inside this program with the longest name that TYPE begins with: xterm for
 * xterm-kitty. Returns that name, or NULL.
 */
static const char *terminal_use_inside(const char *type)
{
	const struct terminal_type *best = NULL;
	size_t best_bytes = 0;

	for (const struct terminal_type *at = terminal_types; at->name; at++) {
		size_t bytes = strlen(at->name);

		if (bytes > best_bytes && !strncmp(type, at->name, bytes)) {
			best = at;
			best_bytes = bytes;
		}
	}
	if (!best || setenv("TERMINFO", best->description, 1) || setenv("TERM", best->name, 1))
		return NULL;
	return best->name;
}

/* newterm() accepts terminals that cannot move the cursor, so the database is asked first. */
static struct xtop_error *terminal_check_type(const char *type)
{
	const char *move;
	bool able, known;
	int status;

	known = setupterm(type, STDOUT_FILENO, &status) == OK;
	if (!known && terminal_use_inside(type))
		known = setupterm(getenv("TERM"), STDOUT_FILENO, &status) == OK;
	if (!known)
		return error_create("terminal type '%s' is not known: try TERM=xterm, or use -b",
				    type);
	move = tigetstr("cup");
	able = move && move != (char *)-1;
	del_curterm(cur_term);
	return able ? NULL
		    : error_create("terminal type '%s' cannot move its cursor: use -b", type);
}

struct xtop_error *terminal_open(enum ui_colors colors)
{
	const char *type = getenv("TERM") ? getenv("TERM") : "";
	struct xtop_error *error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &terminal.saved))
		return error_create("standard input and output are no terminal: use -b");
	error = terminal_check_type(type);
	if (error)
		return error;
	if (pipe2(terminal.wake, O_CLOEXEC | O_NONBLOCK))
		return error_create_errno(errno, "no pipe for signals");
	terminal_save_handlers();
	terminal.screen = newterm(NULL, stdout, stdin);
	if (!terminal.screen) {
		terminal_close_wake();
		return error_create("terminal type '%s' cannot be used: set TERM, or use -b", type);
	}
	terminal.owner = getpid();
	terminal.ended = false;
	terminal_prepare_reset();
	terminal_set_handlers();
	terminal_set_modes();
	terminal_set_styles(colors);
	return NULL;
}

void terminal_close(void)
{
	if (!terminal.screen)
		return;
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.saved);
	terminal_restore_handlers();
	terminal_close_wake();
}

void terminal_size(int *rows, int *columns_)
{
	*rows = LINES;
	*columns_ = COLS;
}

/* The Linux console knows UTF-8, but its font has only 256 or 512 characters. */
enum charset terminal_charset(void)
{
	const char *type = getenv("TERM");

	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		return CHARSET_ASCII;
	return type && !strcmp(type, "linux") ? CHARSET_CONSOLE : CHARSET_FULL;
}

bool terminal_is_slow(void)
{
	int bits_per_s = baudrate();

	return bits_per_s > 0 && bits_per_s <= 9600;
}

/* --- output ----------------------------------------------------------------------------------- */

static void terminal_convert(const struct cell *cell, cchar_t *complex)
{
	wchar_t text[CELL_MAX_CHARACTERS + 1];

	for (int i = 0; i < CELL_MAX_CHARACTERS; i++)
		text[i] = (wchar_t)cell->characters[i];
	text[CELL_MAX_CHARACTERS] = L'\0';
	setcchar(complex, text, terminal.attributes[cell->style], terminal.pairs[cell->style],
		 NULL);
}

void terminal_paint(const struct canvas *canvas, bool anew)
{
	int columns_ = canvas_columns(canvas);
	cchar_t *line = calloc((size_t)columns_ + 1, sizeof(*line));

	if (!line)
		return; /* there may be memory for the next picture */
	for (int row = 0; row < canvas_rows(canvas); row++) {
		int n = 0;

		for (int column = 0; column < columns_; column++) {
			const struct cell *cell = canvas_cell(canvas, row, column);

			if (cell->width)
				terminal_convert(cell, &line[n++]);
		}
		mvadd_wchnstr(row, 0, line, n);
	}
	free(line);
	if (anew)
		clearok(stdscr, TRUE);
	refresh();
}

/* --- input ------------------------------------------------------------------------------------ */

/*
 * Takes over the terminal's new size after SIGWINCH. newterm() set the terminal's scroll region to
 * the size known then; resizeterm() does not change the region. On a serial line, the size may
 * become known late: a line feed in the last row of the old region would scroll only that region.
 * So the region is set again. This moves the cursor, and the contents of the screen are unknown, so
 * that the next picture is drawn on a cleared screen.
 */
static void terminal_resize(void)
{
	const char *region = tigetstr("csr");
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	resizeterm(size.ws_row, size.ws_col);
	if (region && region != (char *)-1)
		putp(tiparm(region, 0, size.ws_row - 1));
	fflush(stdout); /* curses has a buffer of its own */
	clearok(curscr, TRUE);
}

/* Empties the pipe and notes which signals came. */
static void terminal_drain_wake(bool *resizedp)
{
	char bytes[64];
	ssize_t n;

	while ((n = read(terminal.wake[0], bytes, sizeof(bytes))) > 0) {
		terminal.ended = terminal.ended || memchr(bytes, 'e', (size_t)n);
		*resizedp = *resizedp || memchr(bytes, 'w', (size_t)n);
	}
}

/* A closed terminal is readable, but has no byte. */
static bool terminal_is_closed(short revents)
{
	int bytes = 0;

	if (revents & (POLLERR | POLLNVAL))
		return true;
	return ioctl(STDIN_FILENO, FIONREAD, &bytes) || !bytes;
}

enum terminal_event terminal_wait(uint64_t timeout_ns)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = terminal.wake[0], .events = POLLIN } };
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000),
				    (long)(timeout_ns % 1000000000) };
	bool resized = false;
	int n = ppoll(fds, 2, &timeout, NULL);

	if (n < 0 && errno != EINTR)
		terminal.ended = true;
	terminal_drain_wake(&resized);
	if (resized)
		terminal_resize();
	if (n > 0 && fds[0].revents && terminal_is_closed(fds[0].revents))
		terminal.ended = true;
	if (terminal.ended)
		return TERMINAL_ENDED;
	return resized || (n > 0 && fds[0].revents) ? TERMINAL_INPUT : TERMINAL_NOTHING;
}

/* Translates a key code of curses to enum input_code. */
static uint32_t terminal_translate(wint_t code)
{
	static const struct {
		wint_t curses;
		uint32_t code;
	} codes[] = {
		{ KEY_UP, INPUT_UP },         { KEY_DOWN, INPUT_DOWN },
		{ KEY_LEFT, INPUT_LEFT },     { KEY_RIGHT, INPUT_RIGHT },
		{ KEY_PPAGE, INPUT_PAGE_UP }, { KEY_NPAGE, INPUT_PAGE_DOWN },
		{ KEY_HOME, INPUT_HOME },     { KEY_END, INPUT_END },
		{ KEY_DC, INPUT_DELETE },     { KEY_BACKSPACE, INPUT_BACKSPACE },
		{ KEY_ENTER, INPUT_ENTER },   { KEY_RESIZE, INPUT_RESIZE },
		{ KEY_A1, INPUT_HOME },       { KEY_A3, INPUT_PAGE_UP },
		{ KEY_C1, INPUT_END },        { KEY_C3, INPUT_PAGE_DOWN },
	};

	if (code >= KEY_F(1) && code <= KEY_F(12))
		return INPUT_F((uint32_t)(code - KEY_F0));
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].curses == code)
			return codes[i].code;
	return INPUT_NONE;
}

static struct input terminal_mouse_input(const MEVENT *event)
{
	struct input input = { .code = INPUT_NONE, .row = event->y, .column = event->x };

	if (event->bstate & BUTTON1_PRESSED)
		input.code = INPUT_CLICK;
	else if (event->bstate & BUTTON4_PRESSED)
		input.code = INPUT_WHEEL_UP;
	else if (event->bstate & BUTTON5_PRESSED)
		input.code = INPUT_WHEEL_DOWN;
	return input;
}

/*
 * Takes all mouse events that curses has. If they come faster than they are read, curses says only
 * once that there are some. It hands out the newest first.
 */
static void terminal_read_mouse(void)
{
	MEVENT event;

	while (terminal.n_mouse < MOUSE_MAX_EVENTS && getmouse(&event) == OK)
		terminal.mouse[terminal.n_mouse++] = terminal_mouse_input(&event);
}

bool terminal_read(struct input *input)
{
	wint_t code;
	int kind;

	*input = (struct input){ .code = INPUT_NONE };
	if (terminal.n_mouse) {
		*input = terminal.mouse[--terminal.n_mouse];
		return true;
	}
	kind = get_wch(&code);
	if (kind == ERR)
		return false;
	if (kind != KEY_CODE_YES)
		input->code = code == '\b' ? (uint32_t)INPUT_BACKSPACE : (uint32_t)code;
	else if (code == KEY_MOUSE)
		terminal_read_mouse();
	else
		input->code = terminal_translate(code);
	return true;
}
