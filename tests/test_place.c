/* SPDX-License-Identifier: MIT */
/* test_place.c - files and lines in the names of frames. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../core/place.h"

static void check(const char *text, const char *name, const char *file, uint32_t line)
{
	struct flame_place place = flame_place_parse((struct flame_span){ text, strlen(text) });
	char got[256], want[256];

	snprintf(got, sizeof(got), "%.*s|%.*s|%u", (int)place.name.len, place.name.s, (int)place.file.len, place.file.s,
		 place.line);
	snprintf(want, sizeof(want), "%s|%s|%u", name, file, line);
	assert_string_equal(got, want);
}

static void places_are_found(void **state)
{
	(void)state;
	check("fib (x.py:12)", "fib", "x.py", 12);
	check("fib (app/x.py)", "fib", "app/x.py", 0);
	check("<module> (/srv/a b/x.py:3)", "<module>", "/srv/a b/x.py", 3);
	check("_find_and_load (<frozen importlib._bootstrap>:1027)", "_find_and_load", "<frozen importlib._bootstrap>", 1027);
	check("fib:12", "fib", "", 12);
	check("fib:serialize.c:210", "fib", "serialize.c", 210);
	check("java/lang/Thread.run:840", "java/lang/Thread.run", "", 840);
	check("ns::f:12", "ns::f", "", 12);
	check("work file.js:12:3", "work", "file.js", 12);
	check("work file:///srv/file.js:12:3", "work", "file:///srv/file.js", 12);
	check("(anonymous) work.js:7", "(anonymous)", "work.js", 7);
	check("(anonymous) node:internal/main:7:1", "(anonymous)", "node:internal/main", 7);
	check("get big /srv/my app/work.js:3", "get big", "/srv/my app/work.js", 3);
	check("loop /opt/work.py:9", "loop", "/opt/work.py", 9);
	check("/usr/lib/threading.py:1002:_bootstrap", "_bootstrap", "/usr/lib/threading.py", 1002);
	check("py::fib:/srv/app/x.py", "fib", "/srv/app/x.py", 0);
	check("LazyCompile:*work /srv/file.js:12:3", "work", "/srv/file.js", 12);
	check("JS:~get big file:///srv/a.js:3:1", "get big", "file:///srv/a.js", 3);
	check("<string>:5:dump", "dump", "<string>", 5);
}

/* Names that look like places, but are none. */
static void names_stay_whole(void **state)
{
	static const char *const names[] = {
		"", "f", "ns::f", "a::b::{closure#0}", "operator()", "f(int) (.cold)", "f [clone .cold]", "memcpy@plt", "[libc.so.6]",
		"[unknown]", "f (inlined)", "std::vector<int, std::allocator<int> >::push_back", "main.(*T).f", "main.main.func2.1",
		"<rs::Sq<f32> as rs::Shape>::area", "RegExp: ^(a+)+$",
		"kworker/0:1H", "x:", ":12", "a::12", "f:99999999999", ")", " (x.py)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i], names[i], "", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_found),
		cmocka_unit_test(names_stay_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
