/* SPDX-License-Identifier: MIT */
/*
 * test_convert.c - inputs that are read in slices: the same bytes and the same messages whatever the
 * number of threads, and as through a pipe.
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

#include <pthread.h>

#include "text.h"

#define SIZE ((size_t)20 << 20)

/* Text of about SIZE bytes, with a few lines that cannot be used. */
static char *make_perf(size_t *len, const char *end, bool blank_lines)
{
	char *text = malloc(SIZE + 4096);
	uint32_t seed = 1;
	size_t n = 0;

	assert_non_null(text);
	for (uint32_t i = 0; n < SIZE; i++) {
		n += (size_t)sprintf(text + n, "app %u %u/%u [%03u] %u.%06u: %u %s:%s", text_random(&seed, 5), 10 + text_random(&seed, 3),
				     20 + text_random(&seed, 9), text_random(&seed, 8), i / 1000, i % 1000, 1 + text_random(&seed, 1 << 20),
				     text_random(&seed, 10) ? "cycles" : "instructions", end);
		for (uint32_t depth = text_random(&seed, 40); depth--;)
			n += (size_t)sprintf(text + n, "\t%16x function_%u+0x%x (/usr/lib/lib%u.so)%s", text_random(&seed, 1 << 24),
					     text_random(&seed, 300), text_random(&seed, 256), text_random(&seed, 4), end);
		if (blank_lines)
			n += (size_t)sprintf(text + n, "%s", end);
		if (i % 20000 == 19999)
			n += (size_t)sprintf(text + n, "this is neither a header nor a frame%s%s", end, end);
	}
	*len = n;
	return text;
}

static char *make_folded(size_t *len, const char *end)
{
	char *text = malloc(SIZE + 4096);
	uint32_t seed = 2;
	size_t n = 0;

	assert_non_null(text);
	for (uint32_t i = 0; n < SIZE; i++) {
		for (uint32_t depth = 1 + text_random(&seed, 20); depth--;)
			n += (size_t)sprintf(text + n, "function %u%s%c", text_random(&seed, 200), text_random(&seed, 9) ? "" : "_[k]", depth ? ';' : ' ');
		/* Far behind the first slice a fraction changes the scale of all. */
		if (i == 90000)
			n += (size_t)sprintf(text + n, "0.125%s", end);
		else if (i % 30000 == 29999)
			n += (size_t)sprintf(text + n, "no count%s", end);
		else
			n += (size_t)sprintf(text + n, "%u%s", text_random(&seed, 1 << 20), end);
	}
	*len = n;
	return text;
}

/* All that comes of an input: folded text of each type, and the messages. */
static char *result(struct flame_profile *p, struct flame_diag *diag)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (flame_type t = 1; t < flame_nr_types(p); t++) {
		char *folded = text_folded(p, t);

		fprintf(f, "%s\n%s", flame_string_get(p, flame_type_get(p, t)->name).s, folded);
		free(folded);
	}
	for (size_t i = 0; i < diag->nr_messages; i++)
		fprintf(f, "%d %llu %s\n", (int)diag->messages[i].severity, (unsigned long long)diag->messages[i].line, diag->messages[i].text);
	fclose(f);
	flame_diag_release(diag);
	flame_profile_free(p);
	return text;
}

struct feed {
	int fd;
	const char *s;
	size_t len;
};

static void *feed_pipe(void *arg)
{
	struct feed *f = arg;

	for (size_t at = 0; at < f->len;) {
		ssize_t n = write(f->fd, f->s + at, f->len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(f->fd);
	return NULL;
}

static char *through_pipe(const char *s, size_t len, struct flame_read_options *options)
{
	struct feed feed = { .s = s, .len = len };
	struct flame_diag diag = { 0 };
	struct flame_profile *p;
	pthread_t thread;
	char path[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	feed.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(flame_read(&p, path, options, &diag), 0);
	close(fds[0]);
	pthread_join(thread, NULL);
	return result(p, &diag);
}

static void check(const char *s, size_t len, struct flame_read_options options)
{
	static const unsigned int threads[] = { 1, 5 };
	char *want = through_pipe(s, len, &options);

	assert_true(strlen(want) > 1000);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		struct flame_diag diag = { 0 };
		struct flame_profile *p;
		char *got;

		options.threads_max = threads[i];
		assert_int_equal(text_read(&p, s, len, &options, &diag), 0);
		got = result(p, &diag);
		if (strcmp(got, want))
			fail_msg("other bytes with %u threads", threads[i]);
		free(got);
	}
	free(want);
}

static void test_perf(void **state)
{
	size_t len;
	char *text = make_perf(&len, "\n", true);

	(void)state;
	check(text, len, (struct flame_read_options){ .from = "perf" });
	check(text, len, (struct flame_read_options){ .root = FLAME_ROOT_TID, .kinds = FLAME_ALL_KINDS, .keep_task = true, .offsets = true });
	check(text, len, (struct flame_read_options){ .time_from = 2.5, .time_to = 20, .count = true });
	free(text);
}

/* Slices begin at first lines of samples, with or without a blank line before them. */
static void test_perf_lines(void **state)
{
	size_t len;
	char *text = make_perf(&len, "\r\n", true);

	(void)state;
	check(text, len, (struct flame_read_options){ .from = "perf" });
	free(text);
	text = make_perf(&len, "\n", false);
	check(text, len, (struct flame_read_options){ .from = "perf" });
	free(text);
}

static void test_folded(void **state)
{
	size_t len;
	char *text = make_folded(&len, "\n");

	(void)state;
	check(text, len, (struct flame_read_options){ .from = "folded" });
	check(text, len, (struct flame_read_options){ .ordered = true });
	free(text);
	text = make_folded(&len, "\r\n");
	check(text, len, (struct flame_read_options){ 0 });
	free(text);
}

/* Every line of two numbers, but one in the last slice that decides otherwise. */
static void test_columns(void **state)
{
	char *text = malloc(SIZE + 4096), *want;
	size_t len = 0;
	uint32_t seed = 4;

	(void)state;
	while (len < SIZE)
		len += (size_t)sprintf(text + len, "f%u;g%u %u %u\n", text_random(&seed, 100), text_random(&seed, 100), text_random(&seed, 9), text_random(&seed, 9));
	check(text, len, (struct flame_read_options){ .columns = 2 });
	check(text, len, (struct flame_read_options){ 0 });
	want = through_pipe(text, len, &(struct flame_read_options){ 0 });
	assert_non_null(strstr(want, "every line ends in two numbers"));
	free(want);
	len += (size_t)sprintf(text + len, "one 1\n");
	check(text, len, (struct flame_read_options){ 0 });
	want = through_pipe(text, len, &(struct flame_read_options){ 0 });
	assert_null(strstr(want, "every line ends in two numbers"));
	free(want);
	free(text);
}

/* The first failure in the order of the input is the one that is told. */
static void test_failures(void **state)
{
	size_t len;
	char *text = make_folded(&len, "\n");
	unsigned int threads;

	(void)state;
	memcpy(text + len, "x 18446744073709551616\n", 23);
	len += 23;
	for (threads = 1; threads < 6; threads += 2) {
		struct flame_read_options options = { .from = "folded", .threads_max = threads };
		struct flame_diag diag = { 0 };
		struct flame_profile *p;
		uint64_t lines = 0;
		size_t errors = 0;

		assert_int_equal(text_read(&p, text, len, &options, &diag), FLAME_EOVERFLOW);
		assert_null(p);
		for (size_t i = 0; i < len; i++)
			lines += text[i] == '\n';
		for (size_t i = 0; i < diag.nr_messages; i++) {
			if (diag.messages[i].severity != FLAME_ERROR)
				continue;
			errors++;
			assert_int_equal(diag.messages[i].line, lines);
		}
		assert_int_equal(errors, 1);
		flame_diag_release(&diag);
	}
	free(text);
}

/* @text cannot be read: with the same messages for each number of threads, one of them the error @want. */
static void check_failure(const char *text, size_t len, const char *from, int err, const char *want)
{
	char *first = NULL;

	for (unsigned int threads = 1; threads < 6; threads += 2) {
		struct flame_read_options options = { .from = from, .threads_max = threads };
		struct flame_diag diag = { 0 };
		struct flame_profile *p;
		char *messages = NULL;
		size_t size;
		FILE *f = open_memstream(&messages, &size);

		assert_int_equal(text_read(&p, text, len, &options, &diag), err);
		assert_null(p);
		for (size_t i = 0; i < diag.nr_messages; i++)
			fprintf(f, "%llu %s\n", (unsigned long long)diag.messages[i].line, diag.messages[i].text);
		fclose(f);
		flame_diag_release(&diag);
		assert_non_null(strstr(messages, want));
		if (first)
			assert_string_equal(messages, first);
		else
			first = strdup(messages);
		free(messages);
	}
	free(first);
}

/* Which part of the input a sum overflows in depends on the threads; what is told does not. */
static void test_full(void **state)
{
	static const char huge[] = "app 1/1 [000] 9999.0: 9223372036854775807 cycles:\n\t 1 f (/bin/f)\n\n"
				   "app 1/1 [000] 9999.1: 9223372036854775807 cycles:\n\t 1 f (/bin/f)\n\nneither\n\n";
	static const char large[] = "a 18446744073709551610\na 18446744073709551610\nno count\nx 18446744073709551616\n";
	size_t len;
	char *text = make_perf(&len, "\n", true);

	(void)state;
	memcpy(text + len, huge, strlen(huge));
	check_failure(text, len + strlen(huge), "perf", FLAME_EOVERFLOW, "0 the sum of the values does not fit 64 bits\n");
	free(text);
	text = make_folded(&len, "\n");
	memcpy(text + len, large, strlen(large));
	check_failure(text, len + strlen(large), "folded", FLAME_EOVERFLOW, "fit 64 bits\n");
	free(text);
}

/* The output of one tool behind that of another: the second one's first line tells what its values are. */
static void test_tools(void **state)
{
	char *text = malloc(SIZE + 4096);
	size_t len = (size_t)sprintf(text, "Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.\n");
	uint32_t seed = 5;
	bool second = false;

	(void)state;
	while (len < SIZE) {
		if (!second && len > SIZE / 3) {
			len += (size_t)sprintf(text + len, "\nSampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n");
			second = true;
		}
		len += (size_t)sprintf(text + len, "\n    f%u\n    g%u\n    main\n    -                app (17)\n        %u\n",
				       text_random(&seed, 100), text_random(&seed, 100), 1 + text_random(&seed, 999));
	}
	check(text, len, (struct flame_read_options){ .from = "bcc" });
	free(text);
}

static void test_unknown(void **state)
{
	static const char text[] = "a;b 1\n";
	struct flame_read_options options = { .from = "nonesuch" };
	struct flame_diag diag = { 0 };
	struct flame_profile *p;

	(void)state;
	assert_int_equal(text_read(&p, text, sizeof(text) - 1, &options, &diag), FLAME_EARG);
	assert_null(p);
	assert_int_equal(diag.nr_messages, 1);
	flame_diag_release(&diag);
	options.from = NULL;
	assert_int_equal(flame_read(&p, "/nonexistent/file", &options, &diag), FLAME_EIO);
	assert_null(p);
	assert_int_equal(diag.messages[0].severity, FLAME_ERROR);
	flame_diag_release(&diag);
	assert_int_equal(text_read(&p, "", 0, &options, &diag), FLAME_EEMPTY);
	flame_diag_release(&diag);
}

/* Each format has what the help and the documents need, under a name of its own. */
static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; flame_converters[i]; i++) {
		const struct flame_converter *c = flame_converters[i];

		assert_non_null(c->name);
		assert_true(strlen(c->summary) > 5);
		assert_non_null(c->probe);
		assert_non_null(c->read);
		assert_ptr_equal(flame_converter_find(c->name), c);
	}
	assert_null(flame_converter_find("nonesuch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf), cmocka_unit_test(test_perf_lines), cmocka_unit_test(test_folded),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_failures), cmocka_unit_test(test_full),
		cmocka_unit_test(test_tools), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
