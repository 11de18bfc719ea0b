/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that an interpreter runs, by command lines of all kinds. */
#include "config.h"

#include "linux/process/script.h"

#include "tests/support/tap.h"

#define LINE(text) text, sizeof(text)

static const struct {
	const char *line;
	size_t size_bytes;
	const char *name; /* NULL: none */
} lines[] = {
	{ LINE("python3\0app.py"), "app.py" },
	{ LINE("/usr/bin/python3.11\0-u\0/srv/shop/app.py\0--password=secret"), "app.py" },
	{ LINE("python3\0-X\0dev\0-Wignore\0-W\0error\0-bb\0app.py"), "app.py" },
	{ LINE("python3\0-um\0http.server\0"
	       "8000"),
	  "http.server" },
	{ LINE("python3\0-mhttp.server"), "http.server" },
	{ LINE("python3\0-c\0print('secret')\0name"), NULL },
	{ LINE("python3\0-Ic\0print('secret')"), NULL },
	{ LINE("python3"), NULL },
	{ LINE("python3\0-"), NULL },
	{ LINE("python3\0-X"), NULL },
	{ LINE("python3\0-m"), NULL },
	{ LINE("python3\0"), NULL },
	{ LINE("python3\0--check-hash-based-pycs\0always\0app.py"), "app.py" },
	{ LINE("python3\0dir/"), "dir/" },
	{ LINE("gunicorn: worker [app]\0app.py"), NULL },
	{ LINE("/usr/bin/python-config\0app.py"), NULL },
	{ LINE("pythonish\0app.py"), NULL },
	{ LINE("php8.2\0-d\0a=b\0-dc=d\0artisan\0serve"), "artisan" },
	{ LINE("php\0-f\0/srv/job.php\0--\0-x"), "job.php" },
	{ LINE("php\0-S\0:8000\0-t\0public\0router.php"), "router.php" },
	{ LINE("php\0-r\0echo 'secret';"), NULL },
	{ LINE("php-fpm: pool www\0"), NULL },
	{ LINE("ruby\0-W0\0-Ilib\0-I\0test\0-rjson\0-r\0set\0bin/rails\0server"), "rails" },
	{ LINE("ruby\0-ne\0puts"), NULL },
	{ LINE("/usr/bin/perl\0-w\0-T\0-Mstrict\0-Ilib\0-I\0inc\0-lane\0secret"), NULL },
	{ LINE("perl\0-F:\0print (secret)"), NULL },
	{ LINE("perl\0-wT\0-MList::Util=first\0--\0-name"), "-name" },
	{ LINE("node\0--inspect=0\0--require\0x.js\0-r\0y.js\0server.js\0-p"), "server.js" },
	{ LINE("nodejs\0-e\0secret()"), NULL },
	{ LINE("java\0-Xmx1g\0-Dpassword=secret\0-cp\0a.jar:b.jar\0org.example.Main"),
	  "org.example.Main" },
	{ LINE("/opt/jdk/bin/java\0-server\0-jar\0/srv/shop.jar\0x"), "shop.jar" },
	{ LINE("java\0-p\0mods\0--add-opens\0a/b=c\0-m\0shop/org.example.Main"),
	  "org.example.Main" },
	{ LINE(""), NULL },
};

int main(void)
{
	char cut[] = { 'p', 'y', 't', 'h', 'o', 'n', 0, 'a', '.', 'p' }; /* no NUL after a.p */
	char long_name[3 * SCRIPT_NAME_BYTES] = "perl", name[SCRIPT_NAME_BYTES];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		bool found = script_find(lines[i].line, lines[i].size_bytes, name);

		check(lines[i].name ? found && strcmp(name, lines[i].name) == 0 : !found,
		      "line %zu, %s, names %s", i, lines[i].line,
		      lines[i].name ? lines[i].name : "nothing");
	}
	check(!script_find(cut, sizeof(cut), name), "a name that is not there to its end is none");
	check(!script_find("", 0, name), "no line has no name");
	memset(long_name + 5, 'x', sizeof(long_name) - 6);
	check(script_find(long_name, sizeof(long_name), name) &&
		      strlen(name) == SCRIPT_NAME_BYTES - 1,
	      "a long name is cut");
	check(script_is_interpreter("python3.13") && script_is_interpreter("java") &&
		      !script_is_interpreter("nginx") && !script_is_interpreter("pythond"),
	      "interpreters are known by their names");
	return tap_done();
}
