/* SPDX-License-Identifier: MIT */
/* What is written in pieces by threads is what one thread writes, and failures come through. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/flame.h"
#include "../core/pieces.h"

struct job {
	int nr, next;
	int next_fails, write_fails;	/* at this piece; below 0: at none */
	int large;			/* this piece has a megabyte and more */
};

struct item {
	int number;
};

static int next_number(void *arg, void *item)
{
	struct job *job = arg;

	if (job->next == job->next_fails)
		return FLAME_EOVERFLOW;
	((struct item *)item)->number = job->next;
	return job->next++ < job->nr;
}

/* Pieces of different lengths, some of nothing. */
static int write_number(void *arg, void *item, struct flame_out *out)
{
	const struct job *job = arg;
	int number = ((struct item *)item)->number, lines = number == job->large ? 200000 : number % 7;
	char text[32];

	for (int i = 0; i < lines; i++) {
		snprintf(text, sizeof(text), "%d.%d\n", number, i);
		flame_out_string(out, text);
	}
	return number == job->write_fails ? FLAME_EARG : 0;
}

static int run(struct job job, struct flame_worker *worker, char **text, size_t *len)
{
	struct item items[FLAME_PIECES];
	struct flame_pieces pieces = { .next = next_number, .write = write_number, .arg = &job };
	FILE *file = open_memstream(text, len);
	int err;

	assert_non_null(file);
	for (size_t i = 0; i < FLAME_PIECES; i++)
		pieces.items[i] = &items[i];
	err = flame_pieces_write(&pieces, file, worker);
	assert_int_equal(fclose(file), 0);
	return err;
}

static void test_order(void **state)
{
	const struct job job = { .nr = 3000, .next_fails = -1, .write_fails = -1, .large = 5 };
	struct item item;
	struct flame_out want;

	(void)state;
	assert_true(flame_out_init(&want, NULL));
	for (item.number = 0; item.number < job.nr; item.number++)
		write_number((void *)&job, &item, &want);
	assert_false(want.failed);
	for (int i = 0; i < 2; i++) {
		struct flame_worker *worker = i ? flame_worker_new() : NULL;
		char *text;
		size_t len;

		assert_int_equal(run(job, worker, &text, &len), 0);
		assert_int_equal(len, want.nr);
		assert_memory_equal(text, want.buf, len);
		free(text);
		flame_worker_free(worker);
	}
	flame_out_release(&want);
}

static void test_failures(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct flame_worker *worker = i ? flame_worker_new() : NULL;
		char *text;
		size_t len;

		assert_int_equal(run((struct job){ 100, 0, 40, -1, -1 }, worker, &text, &len), FLAME_EOVERFLOW);
		free(text);
		assert_int_equal(run((struct job){ 100, 0, -1, 40, -1 }, worker, &text, &len), FLAME_EARG);
		free(text);
		assert_int_equal(run((struct job){ 0, 0, -1, -1, -1 }, worker, &text, &len), 0);
		assert_int_equal(len, 0);
		free(text);
		flame_worker_free(worker);
	}
}

/* Whichever thread finds the disk full: the caller is told why. */
static void test_full(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct flame_worker *worker = i ? flame_worker_new() : NULL;
		struct job job = { .nr = 3000, .next_fails = -1, .write_fails = -1, .large = 5 };
		struct item items[FLAME_PIECES];
		struct flame_pieces pieces = { .next = next_number, .write = write_number, .arg = &job };
		FILE *file = fopen("/dev/full", "w");

		if (!file) {
			flame_worker_free(worker);
			skip();
		}
		for (size_t k = 0; k < FLAME_PIECES; k++)
			pieces.items[k] = &items[k];
		errno = 0;
		assert_int_equal(flame_pieces_write(&pieces, file, worker), FLAME_EIO);
		assert_int_equal(errno, ENOSPC);
		fclose(file);
		flame_worker_free(worker);
	}
}

/* A buffer in memory grows; one before a file is written there. */
static void test_out(void **state)
{
	static char large[3 * FLAME_OUT_BUFFER + 7];
	struct flame_out out;
	char *text;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	(void)state;
	memset(large, 'x', sizeof(large));
	assert_non_null(file);
	assert_true(flame_out_init(&out, file));
	flame_out_string(&out, "ab");
	flame_out_bytes(&out, large, sizeof(large));
	flame_out_flush(&out);
	flame_out_release(&out);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(len, sizeof(large) + 2);
	assert_memory_equal(text + 2, large, sizeof(large));
	free(text);
	assert_true(flame_out_init(&out, NULL));
	for (int i = 0; i < 9; i++)
		flame_out_bytes(&out, large, sizeof(large));
	assert_int_equal(out.nr, 9 * sizeof(large));
	assert_memory_equal(out.buf + 8 * sizeof(large), large, sizeof(large));
	flame_out_clear(&out);
	assert_int_equal(out.nr, 0);
	assert_int_equal(out.room, FLAME_OUT_BUFFER);
	flame_out_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
