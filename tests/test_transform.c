/* SPDX-License-Identifier: MIT */
/*
 * test_transform.c - other stacks from the same samples; what is not dropped keeps its sum.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/demangle.h"
#include "../core/transform.h"
#include "text.h"

static const char sample[] = "app;main;parse;parse;lex_[k] 4\n"
			     "app;main;parse 2.5\n"
			     "app;main;run;0x7f01;gc 8\n"
			     "app;main;run;0xab 1\n"
			     "other 3\n"
			     "other;run 3\n";

static void check(struct flame_transform_options o, const char *want)
{
	struct flame_profile *p = text_profile(sample);

	assert_int_equal(flame_transform(&p, &o), 0);
	assert_folded(p, 1, want);
	flame_profile_free(p);
}

/* Names of any format; what is no mangled name, or a broken one, stays. */
static void test_demangle(void **state)
{
	static const char mangled[] = "a;_ZN3foo3barEi;_RNvC2rs4main 1\na;_ZN3foo3barEv;_Zbroken;_Rust 2\n"
				      "a;_ZN3foo3barEi+0x1f_[j] 4\n"
				      "a.so`_ZN3foo3barEi;_ZN3foo3barEi (a b.cc:3);`;_ZN3foo3barEi` 8\n";
	static const struct { bool raw; const char *want; } cases[] = {
		{ false, "a;foo::bar;_Zbroken;_Rust 2\na;foo::bar;rs::main 1\na;foo::bar+0x1f_[j] 4\n"
		  "a.so`foo::bar;foo::bar (a b.cc:3);`;_ZN3foo3barEi` 8\n" },
		{ true, "a;foo::bar();_Zbroken;_Rust 2\na;foo::bar(int);rs::main 1\na;foo::bar(int)+0x1f_[j] 4\n"
		 "a.so`foo::bar(int);foo::bar(int) (a b.cc:3);`;_ZN3foo3barEi` 8\n" },
	};

	(void)state;
	if (!flame_demangle_available())
		skip();
	for (int i = 0; i < 2; i++) {
		struct flame_profile *p = text_profile(mangled);

		struct flame_transform_options o = { .demangle = true, .raw_names = cases[i].raw };

		assert_int_equal(flame_transform(&p, &o), 0);
		assert_folded(p, 1, cases[i].want);
		flame_profile_free(p);
	}
}

/* Where nothing is mangled nothing is copied. */
static void test_nothing_mangled(void **state)
{
	struct flame_profile *p = text_profile(sample), *old = p;

	(void)state;
	assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ .demangle = true }), 0);
	assert_ptr_equal(p, old);
	flame_profile_free(p);
}

static void test_none(void **state)
{
	struct flame_profile *p = text_profile(sample), *old = p;

	(void)state;
	assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ 0 }), 0);
	assert_ptr_equal(p, old);
	flame_profile_free(p);
}

static void test_choose(void **state)
{
	(void)state;
	check((struct flame_transform_options){ .only = { "^parse$" } }, "app;main;parse 2.5\napp;main;parse;parse;lex_[k] 4\n");
	check((struct flame_transform_options){ .only = { "^other$" } }, "other 3\nother;run 3\n");
	check((struct flame_transform_options){ .exclude = { "run|parse" } }, "other 3\n");
	check((struct flame_transform_options){ .exclude = { "^other$" } },
	      "app;main;parse 2.5\napp;main;parse;parse;lex_[k] 4\napp;main;run;0x7f01;gc 8\napp;main;run;0xab 1\n");
	check((struct flame_transform_options){ .only = { "nothing" } }, "");
	check((struct flame_transform_options){ .only = { "nothing", "^other$", "^lex$" } },
	      "app;main;parse;parse;lex_[k] 4\nother 3\nother;run 3\n");
	check((struct flame_transform_options){ .exclude = { "^run$", "^parse$" } }, "other 3\n");
	/* With its mark, and without. */
	check((struct flame_transform_options){ .only = { "^lex_\\[k]$" } }, "app;main;parse;parse;lex_[k] 4\n");
	check((struct flame_transform_options){ .focus = { "^lex$" } }, "lex_[k] 4\n");
	check((struct flame_transform_options){ .exclude = { "" } }, "");
	check((struct flame_transform_options){ .only = { "main" }, .exclude = { "gc" } },
	      "app;main;parse 2.5\napp;main;parse;parse;lex_[k] 4\napp;main;run;0xab 1\n");
}

static void test_focus(void **state)
{
	(void)state;
	/* The first frame from the root on becomes the root; stacks of different callers meet. */
	check((struct flame_transform_options){ .focus = { "^(parse|run)$" } },
	      "parse 2.5\nparse;parse;lex_[k] 4\nrun 3\nrun;0x7f01;gc 8\nrun;0xab 1\n");
}

static void test_shapes(void **state)
{
	(void)state;
	check((struct flame_transform_options){ .reverse = true },
	      "0xab;run;main;app 1\ngc;0x7f01;run;main;app 8\nlex_[k];parse;parse;main;app 4\nother 3\n"
	      "parse;main;app 2.5\nrun;other 3\n");
	check((struct flame_transform_options){ .collapse_recursion = true },
	      "app;main;parse 2.5\napp;main;parse;lex_[k] 4\napp;main;run;0x7f01;gc 8\napp;main;run;0xab 1\nother 3\nother;run 3\n");
	check((struct flame_transform_options){ .strip_hex = true },
	      "app;main;parse 2.5\napp;main;parse;parse;lex_[k] 4\napp;main;run;0x... 1\napp;main;run;0x...;gc 8\nother 3\nother;run 3\n");
}

static void check_hex(const char *in, const char *want)
{
	char text[200];
	struct flame_profile *p;

	snprintf(text, sizeof(text), "%s 1\n", in);
	p = text_profile(text);
	assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ .strip_hex = true }), 0);
	snprintf(text, sizeof(text), "%s 1\n", want);
	assert_folded(p, 1, text);
	flame_profile_free(p);
}

static void test_hex(void **state)
{
	(void)state;
	check_hex("0x1", "0x...");
	check_hex("0x", "0x");
	check_hex("0", "0");
	check_hex("f0x12ABcdg0x9", "f0x...g0x...");
	check_hex("0x0x10x", "0x...x10x");
	check_hex("0X12", "0X12");
}

static void test_skip_after(void **state)
{
	static const char *const one[] = { "parse", NULL }, *const two[] = { "lex", "main", NULL }, *const none[] = { "pars", NULL };

	(void)state;
	check((struct flame_transform_options){ .skip_after = none },
	      "app;main;parse 2.5\napp;main;parse;parse;lex_[k] 4\napp;main;run;0x7f01;gc 8\napp;main;run;0xab 1\nother 3\nother;run 3\n");
	/* The one nearest to the leaf. */
	check((struct flame_transform_options){ .skip_after = one },
	      "app;main;run;0x7f01;gc 8\napp;main;run;0xab 1\nother 3\nother;run 3\nparse 2.5\nparse;lex_[k] 4\n");
	check((struct flame_transform_options){ .skip_after = two },
	      "lex_[k] 4\nmain;parse 2.5\nmain;run;0x7f01;gc 8\nmain;run;0xab 1\nother 3\nother;run 3\n");
}

static void test_bad_expressions(void **state)
{
	struct flame_transform_options bad[] = { { .only = { "(" } }, { .exclude = { "[" } }, { .focus = { "a{2" } } }, good = { .only = { "a" }, .focus = { "b" } };

	(void)state;
	assert_null(flame_transform_check(&good));
	for (size_t i = 0; i < 3; i++) {
		char *wrong = flame_transform_check(&bad[i]);
		struct flame_profile *p = text_profile(sample), *old = p;

		assert_non_null(wrong);
		assert_non_null(strstr(wrong, "not a regular expression"));
		free(wrong);
		assert_int_equal(flame_transform(&p, &bad[i]), FLAME_EARG);
		assert_ptr_equal(p, old);
		flame_profile_free(p);
	}
}

static int64_t total(const struct flame_profile *p)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++)
		sum += flame_sample_get(p, i)->value;
	return sum;
}

/* Shapes change, sums do not; reversed twice it is what it was. */
static void test_random(void **state)
{
	uint32_t seed = 11;

	(void)state;
	for (int round = 0; round < 60; round++) {
		char *text = NULL, *before;
		size_t size;
		FILE *f = open_memstream(&text, &size);
		struct flame_profile *p;
		int64_t sum;

		for (int i = 0; i < 40; i++) {
			for (uint32_t depth = 1 + text_random(&seed, 9); depth--;)
				fprintf(f, "f%u%c", text_random(&seed, 4), depth ? ';' : ' ');
			fprintf(f, "%u\n", text_random(&seed, 100));
		}
		fclose(f);
		p = text_profile(text);
		sum = total(p);
		before = text_folded(p, 1);
		assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ .reverse = true }), 0);
		assert_int_equal(total(p), sum);
		assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ .reverse = true }), 0);
		assert_folded(p, 1, before);
		assert_int_equal(flame_transform(&p, &(struct flame_transform_options){ .collapse_recursion = true }), 0);
		assert_int_equal(total(p), sum);
		for (uint32_t i = 1; i < flame_nr_stacks(p); i++) {
			flame_stack caller = flame_stack_caller(p, i);

			assert_true(!caller || flame_stack_frame(p, caller) != flame_stack_frame(p, i));
		}
		flame_profile_free(p);
		free(text);
		free(before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none), cmocka_unit_test(test_demangle), cmocka_unit_test(test_nothing_mangled),
		cmocka_unit_test(test_choose), cmocka_unit_test(test_focus), cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_hex), cmocka_unit_test(test_skip_after), cmocka_unit_test(test_bad_expressions),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
