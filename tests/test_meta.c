/* SPDX-License-Identifier: MIT */
/* test_meta.c - what is known of a recording: written, read back, merged. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../core/meta.h"

#include "text.h"

static bool parse(struct flame_profile *p, const char *line)
{
	return flame_meta_parse(p, (struct flame_span){ line, strlen(line) });
}

static void lines_are_read_and_written(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_true(parse(p, "# tool: perf 6.1"));
	assert_true(parse(p, "# duration: 30000000000 ns"));
	assert_true(parse(p, "# frequency: 99 Hz"));
	assert_true(parse(p, "# lost: 7 samples"));
	assert_true(parse(p, "# throttled: 2 times"));
	assert_false(parse(p, "# event: cycles"));
	assert_false(parse(p, "# tool"));
	assert_false(parse(p, ""));
	flame_meta_write(p, out);
	fclose(out);
	assert_string_equal(text, "# tool: perf 6.1\n# duration: 30000000000 ns\n# frequency: 99 Hz\n"
				  "# throttled: 2 times\n# lost: 7 samples\n");
	free(text);
	flame_profile_free(p);
}

static void nonsense_is_unknown(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);

	(void)state;
	assert_true(parse(p, "# frequency: -3 Hz"));
	assert_true(parse(p, "# duration: a while"));
	assert_true(parse(p, "# depth: 99999999999"));
	assert_true(parse(p, "# host: "));
	assert_int_equal(flame_meta_get(p)->frequency_hz, 0);
	assert_int_equal(flame_meta_get(p)->duration_ns, 0);
	assert_int_equal(flame_meta_get(p)->depth_max, 0);
	assert_int_equal(flame_meta_get(p)->host, 0);
	flame_profile_free(p);
}

static void what_is_known_first_stays(void **state)
{
	struct flame_profile *a = flame_profile_new(NULL), *b = flame_profile_new(NULL);

	(void)state;
	parse(a, "# tool: perf");
	parse(a, "# throttled: 1 times");
	parse(b, "# tool: bpftrace");
	parse(b, "# host: deep-thought");
	parse(b, "# throttled: 2 times");
	flame_meta_time(a, 5000);
	flame_meta_time(a, 3000);
	flame_meta_time(b, 9000);
	flame_lost_add(b, 4);
	assert_int_equal(flame_profile_merge(a, b), 0);
	assert_string_equal(flame_string_get(a, flame_meta_get(a)->tool).s, "perf");
	assert_string_equal(flame_string_get(a, flame_meta_get(a)->host).s, "deep-thought");
	assert_int_equal(flame_meta_get(a)->throttled, 3);
	assert_int_equal(flame_lost(a), 4);
	assert_int_equal(flame_meta_duration(a), 6000);
	flame_meta(a)->duration_ns = 1;
	assert_int_equal(flame_meta_duration(a), 1);
	flame_profile_free(a);
	flame_profile_free(b);
}

static void add(struct flame_profile *p, const char *name, int64_t value)
{
	struct flame_frame_info info = { .name = flame_intern(p, name, 1) };
	struct flame_type_info type = { .name = flame_intern(p, "cpu", 3) };
	struct flame_sample s = { .value = value, .type = flame_type_row(p, &type) };

	s.stack = flame_stack_push(p, 0, flame_frame_row(p, &info));
	assert_int_equal(flame_sample_add(p, &s), 0);
}

/* Each stack has its part of the samples that the text says are behind all, and at least one. */
static void samples_are_numbered(void **state)
{
	const struct flame_profile_options options = { .sums = true };
	struct flame_profile *p = flame_profile_new(&options);

	(void)state;
	add(p, "a", 6000);
	add(p, "b", 3990);
	add(p, "c", 10);
	flame_samples_number(p, 1);
	assert_int_equal(flame_sample_get(p, 0)->nr_samples, 1);
	assert_true(flame_profile_options(p)->sums);
	assert_true(parse(p, "# samples: 100"));
	flame_samples_number(p, 1);
	assert_int_equal(flame_sample_get(p, 0)->nr_samples, 60);
	assert_int_equal(flame_sample_get(p, 1)->nr_samples, 40);
	assert_int_equal(flame_sample_get(p, 2)->nr_samples, 1);
	assert_false(flame_profile_options(p)->sums);
	flame_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read_and_written),
		cmocka_unit_test(nonsense_is_unknown),
		cmocka_unit_test(what_is_known_first_stays),
		cmocka_unit_test(samples_are_numbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
