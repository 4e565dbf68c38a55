/* SPDX-License-Identifier: MIT */
/* Two profiles are put into one unit, or it is said why they cannot be. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../core/meet.h"
#include "../core/units.h"
#include "text.h"

#define NR(rows) (sizeof(rows) / sizeof(*(rows)))

static void test_ratios(void **state)
{
	static const struct {
		const char *coarse, *fine;
		int64_t ratio;
	} rows[] = {
		{ "us", "ns", 1000 }, { "s", "ns", 1000000000 }, { "ms", "us", 1000 }, { "d", "h", 24 }, { "ns", "us", 0 },
		{ "ns", "nanoseconds", 1 }, { "milliseconds", "us", 1000 }, { "second", "seconds", 1 }, { "µs", "ns", 1000 },
		{ "KiB", "bytes", 1024 }, { "kB", "B", 1024 }, { "MB", "KB", 1024 }, { "TiB", "bytes", 1099511627776 },
		{ "count", "samples", 1 }, { "ns", "bytes", 0 }, { "permille", "permille", 1 }, { "permille", "ns", 0 },
		{ "mss", "ms", 0 }, { "", "ns", 0 }, { "", "", 1 }, { "count", "ns", 0 },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct flame_span coarse = { rows[i].coarse, strlen(rows[i].coarse) }, fine = { rows[i].fine, strlen(rows[i].fine) };

		assert_int_equal(flame_unit_ratio(coarse, fine), rows[i].ratio);
	}
}

/* Two texts meet. Return: what flame_types_meet() says; *@said gets its first message, *@text both as they are then. */
static int meet(const char *before, const char *after, bool count, char **said, char **text)
{
	struct flame_profile *p = text_profile(before), *q = text_profile(after);
	struct flame_met a = { p, 1, "BEFORE" }, b = { q, 1, "AFTER" };
	struct flame_diag diag = { 0 };
	int err = flame_types_meet(&a, &b, count, &diag);
	const struct flame_sample *s = flame_sample_get(p, 0), *t = flame_sample_get(q, 0);

	*said = strdup(diag.nr_messages ? diag.messages[0].text : "");
	assert_true(asprintf(text, "%lld/%u %s, %lld/%u %s", (long long)s->value, flame_type_get(p, 1)->scale,
			     flame_string_get(p, flame_type_get(p, 1)->unit).s, (long long)t->value, flame_type_get(q, 1)->scale,
			     flame_string_get(q, flame_type_get(q, 1)->unit).s) > 0);
	flame_diag_release(&diag);
	flame_profile_free(p);
	flame_profile_free(q);
	return err;
}

static void test_meetings(void **state)
{
	static const struct {
		const char *before, *after;
		int err;
		const char *said, *text;
	} rows[] = {
		{ "# unit: us\na 5\n", "# unit: ns\na 7\n", 0, "BEFORE counts us, AFTER ns: both are compared in ns", "5000/0 ns, 7/0 ns" },
		{ "# unit: ns\na 5\n", "# unit: s\na 7\n", 0, "AFTER counts s, BEFORE ns", "5/0 ns, 7000000000/0 ns" },
		/* Digits behind the point become those in front. */
		{ "# unit: s\na 0.123456\n", "# unit: ms\na 7\n", 0, "compared in ms", "123456/3 ms, 7/0 ms" },
		{ "# unit: s\na 0.25\n", "# unit: ns\na 7\n", 0, "compared in ns", "250000000/0 ns, 7/0 ns" },
		{ "# unit: KB\na 5\n", "# unit: bytes\na 7\n", 0, "compared in bytes", "5120/0 bytes, 7/0 bytes" },
		/* Other names of one unit are nothing to talk about. */
		{ "# unit: nanoseconds\na 5\n", "# unit: ns\na 7\n", 0, "", "5/0 ns, 7/0 ns" },
		/* Without a unit: on either side, and only where it may be one. */
		{ "a 50000\n", "# unit: ns\na 7\n", 0, "BEFORE does not say what it counts: it is taken to be ns, as in AFTER", "50000/0 ns, 7/0 ns" },
		{ "# unit: ns\na 7\n", "a 50000\n", 0, "AFTER does not say what it counts: it is taken to be ns, as in BEFORE", "7/0 ns, 50000/0 ns" },
		{ "a 50\n", "# unit: ns\na 7\n", 0, "BEFORE does not say what it counts and looks like numbers of samples", "50/0 , 7/0 ns" },
		{ "# unit: ns\na 7\n", "a 50\n", 0, "AFTER does not say what it counts and looks like numbers of samples", "7/0 ns, 50/0 " },
		{ "a 50\n", "# unit: count\na 7\n", 0, "", "50/0 , 7/0 count" },
		/* Another event counts what it likes. */
		{ "# event: x\na 50000\n", "# event: y\n# unit: ns\na 7\n", 0, "BEFORE counts x, AFTER y", "50000/0 , 7/0 ns" },
		{ "a 50\n", "a 7\n", 0, "", "50/0 , 7/0 " },
		/* What is not alike. */
		{ "# unit: ns\na 5\n", "# unit: bytes\na 7\n", FLAME_EARG, "BEFORE counts ns, AFTER bytes: choose alike ones", "5/0 ns, 7/0 bytes" },
		{ "# unit: count\na 5\n", "# unit: ns\na 7\n", FLAME_EARG, "BEFORE counts samples or events, AFTER ns", "5/0 count, 7/0 ns" },
		{ "# unit: ns\n# kind: wall\na 5\n", "# unit: ns\n# kind: on-cpu\na 7\n", FLAME_EARG, "BEFORE is wall, AFTER on-cpu: choose",
		  "5/0 ns, 7/0 ns" },
		{ "# unit: d\na 9000000\n", "# unit: ns\na 7\n", FLAME_EOVERFLOW, "both are compared in ns", NULL },
		{ "# event: cycles\na 5\n", "# event: cpu-clock\na 7\n", 0, "BEFORE counts cycles, AFTER cpu-clock", "5/0 , 7/0 " },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		char *said, *text;
		int err = meet(rows[i].before, rows[i].after, false, &said, &text);

		if (err != rows[i].err || (*rows[i].said ? !strstr(said, rows[i].said) : *said) || (rows[i].text && strcmp(text, rows[i].text)))
			fail_msg("row %zu: %d, '%s', '%s'", i, err, said, text);
		free(said);
		free(text);
	}
}

/* Samples compare, whatever they measure; that kinds differ is said. */
static void test_count(void **state)
{
	char *said, *text;

	(void)state;
	assert_int_equal(meet("# unit: ns\n# kind: off-cpu\na 5\n", "# unit: us\n# kind: on-cpu\na 7\n", true, &said, &text), 0);
	assert_non_null(strstr(said, "BEFORE is off-cpu, AFTER on-cpu: what differs may be that"));
	assert_string_equal(text, "5/0 ns, 7/0 us");
	free(said);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_meetings),
		cmocka_unit_test(test_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
