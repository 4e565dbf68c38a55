/* SPDX-License-Identifier: MIT */
/*
 * test_input.c - lines and views of files, pipes, slices and what is decoded on the way.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "../core/input.h"
#include "text.h"

struct bytes {
	char *s;
	size_t len;
};

static struct bytes gzip(const char *s, size_t len)
{
	z_stream z = { 0 };
	struct bytes out = { malloc(len + 1000), 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)s;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out.s;
	z.avail_out = (uInt)(len + 1000);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.len = z.total_out;
	deflateEnd(&z);
	return out;
}

struct feed {
	int fd;
	const char *s;
	size_t len, chunk;
	bool stays_open;
};

static void *feed_pipe(void *arg)
{
	struct feed *f = arg;

	for (size_t at = 0; at < f->len;) {
		ssize_t n = write(f->fd, f->s + at, f->len - at < f->chunk ? f->len - at : f->chunk);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (!f->stays_open)
		close(f->fd);
	return NULL;
}

/* All lines of @s, ended by '|', from a file (@chunk 0) or from a pipe that gets @chunk bytes at a time. */
static char *read_lines(const char *s, size_t len, size_t chunk, int *error)
{
	struct feed f = { .s = s, .len = len, .chunk = chunk };
	struct flame_input in;
	struct flame_span line;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	pthread_t thread;
	int fds[2];

	if (chunk) {
		assert_int_equal(pipe(fds), 0);
		f.fd = fds[1];
		assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
	} else {
		fds[0] = text_fd(s, len);
	}
	assert_int_equal(flame_input_open_fd(&in, fds[0], "x"), 0);
	for (uint64_t nr = 1; flame_line(&in, &line); nr++) {
		fwrite(line.s, 1, line.len, out);
		fputc('|', out);
		assert_int_equal(flame_input_line_nr(&in), nr);
	}
	*error = in.error;
	assert_true(!in.error == !in.damage);
	flame_input_close(&in);
	close(fds[0]);
	if (chunk)
		pthread_join(thread, NULL);
	fclose(out);
	return text;
}

static void check_bytes(const char *s, size_t len, const char *want, int want_error)
{
	static const size_t chunks[] = { 0, 1, 3, 1000 };

	for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
		int error;
		char *got = read_lines(s, len, chunks[i], &error);

		assert_string_equal(got, want);
		assert_int_equal(error, want_error);
		free(got);
	}
}

static void check_lines(const char *s, const char *want)
{
	check_bytes(s, strlen(s), want, 0);
}

static void test_lines(void **state)
{
	(void)state;
	check_lines("", "");
	check_lines("\n", "|");
	check_lines("a", "a|");
	check_lines("a\n", "a|");
	check_lines("a\nb", "a|b|");
	check_lines("a\n\nb\n", "a||b|");
	check_lines("a\r\nb\r\n", "a|b|");
	check_lines("a\rb\r\r\n\r\n", "a\rb\r||");
	check_lines("a\r", "a|");
	check_lines("\xef\xbb\xbf" "a\n", "a|");
	check_lines("\xef\xbb\n", "\xef\xbb|");
	check_lines("\xef\xbb\xbf", "");
}

static void test_utf16(void **state)
{
	static const char le[] = "\xff\xfe" "a\0\xe9\0\n\0\x3d\xd8\x00\xde\r\0\n\0", be[] = "\xfe\xff\0a\0\xe9\0\n\xd8\x3d\xde\x00\0\r\0\n";
	static const char broken[] = "\xff\xfe" "\x3d\xd8" "a\0\x00\xde" "b\0";

	(void)state;
	check_bytes(le, sizeof(le) - 1, "a\xc3\xa9|\xf0\x9f\x98\x80|", 0);
	check_bytes(be, sizeof(be) - 1, "a\xc3\xa9|\xf0\x9f\x98\x80|", 0);
	/* Halves of a pair alone. */
	check_bytes(broken, sizeof(broken) - 1, "\xef\xbf\xbd" "a\xef\xbf\xbd" "b|", 0);
	check_bytes(le, 2, "", 0);
}

static void test_gzip(void **state)
{
	struct bytes one = gzip("a\nb", 3), two = gzip("c\nd\n", 4), all = { malloc(one.len + two.len + 8), one.len + two.len };

	(void)state;
	memcpy(all.s, one.s, one.len);
	memcpy(all.s + one.len, two.s, two.len);
	memset(all.s + all.len, 0, 8);
	check_bytes(one.s, one.len, "a|b|", 0);
	check_bytes(all.s, all.len, "a|bc|d|", 0);
	/* Padding behind the last member is no damage. */
	check_bytes(all.s, all.len + 8, "a|bc|d|", 0);
	free(one.s);
	free(two.s);
	free(all.s);
}

/* UTF-16 in gzip in gzip's own header check: encodings stack. */
static void test_gzip_utf16(void **state)
{
	static const char le[] = "\xff\xfe" "a\0\n\0b\0";
	struct bytes z = gzip(le, sizeof(le) - 1);

	(void)state;
	check_bytes(z.s, z.len, "a|b|", 0);
	free(z.s);
}

/* Cut anywhere, it is damaged and gives nothing that was not there; whole lines before the cut are not lost. */
static void test_gzip_cut(void **state)
{
	char text[4000], *got;
	size_t len = 0;
	uint32_t seed = 9;
	struct bytes z;

	(void)state;
	while (len < sizeof(text) - 40)
		len += (size_t)snprintf(text + len, 40, "%u;%u %u\n", text_random(&seed, 1 << 24), text_random(&seed, 1 << 24), text_random(&seed, 1 << 24));
	z = gzip(text, len);
	for (size_t cut = 3; cut < z.len; cut++) {
		int error;

		got = read_lines(z.s, cut, cut % 2 ? 0 : 7, &error);
		assert_int_equal(error, FLAME_EDAMAGED);
		for (char *c = got; *c; c++)
			*c = *c == '|' ? '\n' : *c;
		if (*got)
			assert_memory_equal(got, text, strlen(got) - 1);
		free(got);
	}
	/* The check sum is checked. */
	z.s[z.len - 6] ^= 1;
	{
		int error;

		free(read_lines(z.s, z.len, 0, &error));
		assert_int_equal(error, FLAME_EDAMAGED);
	}
	free(z.s);
}

static void test_zstd(void **state)
{
#ifdef HAVE_ZSTD
	char out[200], cut[200];
	size_t one = ZSTD_compress(out, 100, "a\nb", 3, 3), two = ZSTD_compress(out + one, 100, "c\n", 2, 3);
	int error;

	(void)state;
	check_bytes(out, one + two, "a|bc|", 0);
	memcpy(cut, out, one - 1);
	free(read_lines(cut, one - 1, 0, &error));
	assert_int_equal(error, FLAME_EDAMAGED);
#else
	(void)state;
	skip();
#endif
}

/* A line that fills the largest view is there; a longer one is left out and counted, and the next one is right. */
static void test_long_lines(void **state)
{
	size_t longest = FLAME_VIEW_MAX - 4096, too_long = FLAME_VIEW_MAX + 12345;
	char *s = malloc(longest + too_long + 100);
	struct flame_span line;

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		size_t len = 0;
		struct flame_input in;
		int fd;

		memcpy(s, "one\n", 4);
		len = 4;
		memset(s + len, 'x', longest);
		len += longest;
		s[len++] = '\n';
		memset(s + len, 'y', too_long);
		len += too_long;
		if (!pass) {
			memcpy(s + len, "\ntwo\n", 5);
			len += 5;
		}
		fd = text_fd(s, len);
		assert_int_equal(flame_input_open_fd(&in, fd, "x"), 0);
		assert_true(flame_line(&in, &line));
		assert_int_equal(line.len, 3);
		assert_true(flame_line(&in, &line));
		assert_int_equal(line.len, longest);
		assert_int_equal(line.s[longest - 1], 'x');
		assert_int_equal(in.nr_long, 0);
		if (!pass) {
			assert_true(flame_line(&in, &line));
			assert_int_equal(line.len, 3);
			assert_memory_equal(line.s, "two", 3);
			assert_int_equal(flame_input_line_nr(&in), 4);
		}
		assert_false(flame_line(&in, &line));
		assert_int_equal(in.nr_long, 1);
		flame_input_close(&in);
		close(fd);
	}
	free(s);
}

static void test_peek(void **state)
{
	enum { SIZE = 1 << 20 };
	char *s = malloc(SIZE);
	struct flame_input in;
	int fd;

	(void)state;
	for (int i = 0; i < SIZE; i++)
		s[i] = (char)(i * 7 % 251);
	s[0] = 1;
	fd = text_fd(s, SIZE);
	assert_int_equal(flame_input_open_fd(&in, fd, "x"), 0);
	for (size_t at = 0, step = 1; at < SIZE; at += step, step = step * 3 % 70001) {
		struct flame_span view = flame_peek(&in, step);

		assert_int_equal(flame_input_offset(&in), at);
		assert_true(view.len >= step || view.len == SIZE - at);
		assert_memory_equal(view.s, s + at, view.len < step ? view.len : step);
		if (view.len < step)
			break;
		flame_take(&in, step);
	}
	assert_int_equal(flame_peek(&in, SIZE).len, SIZE - flame_input_offset(&in));
	flame_input_close(&in);
	close(fd);
	free(s);
}

static void test_slices(void **state)
{
	static const char text[] = "aa\nbb\r\ncc\ndd";
	uint64_t size = 0;
	struct flame_input whole, in;
	struct flame_span line;
	int fd = text_fd(text, sizeof(text) - 1), fds[2];

	(void)state;
	assert_int_equal(flame_input_open_fd(&whole, fd, "x"), 0);
	assert_true(flame_input_can_slice(&whole, &size));
	assert_int_equal(size, sizeof(text) - 1);
	assert_int_equal(flame_input_open_slice(&in, &whole, 3, 10), 0);
	assert_true(flame_line(&in, &line));
	assert_memory_equal(line.s, "bb", 2);
	assert_int_equal(line.len, 2);
	assert_int_equal(flame_input_line_nr(&in), 2);
	assert_true(flame_line(&in, &line));
	assert_memory_equal(line.s, "cc", 2);
	assert_false(flame_line(&in, &line));
	flame_input_close(&in);
	flame_input_close(&whole);
	close(fd);

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "a\n", 2), 2);
	close(fds[1]);
	assert_int_equal(flame_input_open_fd(&whole, fds[0], "x"), 0);
	assert_false(flame_input_can_slice(&whole, &size));
	flame_input_close(&whole);
	close(fds[0]);
}

static void test_open_fails(void **state)
{
	struct flame_input in;
	struct flame_span line;
	int fd;

	(void)state;
	assert_int_equal(flame_input_open(&in, "/nonexistent/x"), FLAME_EIO);
	fd = flame_input_open(&in, "/") ? -1 : in.fd;
	if (fd >= 0) {
		assert_false(flame_line(&in, &line));
		assert_int_equal(in.error, FLAME_EIO);
		flame_input_close(&in);
		close(fd);
	}
}

/* Bytes that were put back come again, also more of them than the buffer has room for. */
static void test_unread(void **state)
{
	size_t len = (size_t)3 << 20, got = 0;
	char *text = malloc(len), *again = malloc(len);
	struct flame_input in;
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(i * 7 + i / 251);
	assert_int_equal(fwrite(text, 1, len, f), len);
	rewind(f);
	assert_int_equal(flame_input_open_fd(&in, fileno(f), "test"), 0);
	flame_peek(&in, 100);
	flame_take(&in, 100);
	assert_int_equal(flame_unread(&in, text + 90, 10), 0);
	assert_int_equal(flame_input_offset(&in), 90);
	while (flame_input_offset(&in) < len - 10) {
		struct flame_span s = flame_peek(&in, 1);
		size_t left = len - 10 - (size_t)flame_input_offset(&in);

		flame_take(&in, s.len < left ? s.len : left);
	}
	assert_int_equal(flame_unread(&in, text + 5, len - 15), 0);
	assert_int_equal(flame_input_offset(&in), 5);
	for (struct flame_span s; (s = flame_peek(&in, 1)).len; got += s.len) {
		memcpy(again + got, s.s, s.len);
		flame_take(&in, s.len);
	}
	assert_int_equal(got, len - 5);
	assert_memory_equal(again, text + 5, got);
	flame_input_close(&in);
	fclose(f);
	free(text);
	free(again);
}

static struct bytes long_text(size_t len)
{
	struct bytes text = { malloc(len + 40), 0 };
	uint32_t seed = 5;

	while (text.len < len)
		text.len += (size_t)sprintf(text.s + text.len, "%u;%u %u\n", text_random(&seed, 1 << 24), text_random(&seed, 9),
					    text_random(&seed, 100));
	return text;
}

/* Compare what comes of @z with the start of @text. Return: how much came. */
static size_t read_ahead(const struct bytes *z, size_t len, const struct bytes *text, bool ahead, int error)
{
	struct flame_input in;
	int fd = text_fd(z->s, len);
	size_t got = 0;

	assert_int_equal(flame_input_open_fd(&in, fd, "x"), 0);
	if (ahead)
		assert_int_equal(flame_input_decode_ahead(&in), 0);
	for (struct flame_span view; (view = flame_peek(&in, 1)).len; got += view.len) {
		assert_true(view.len <= text->len - got);
		assert_memory_equal(view.s, text->s + got, view.len);
		flame_take(&in, view.len);
	}
	assert_int_equal(in.error, error);
	assert_int_equal(in.damage != NULL, error != 0);
	flame_input_close(&in);
	close(fd);
	return got;
}

static void test_decode_ahead(void **state)
{
	struct bytes text = long_text(6 << 20), z = gzip(text.s, text.len);
	size_t cut = z.len / 4 * 3;

	(void)state;
	assert_int_equal(read_ahead(&z, z.len, &text, true, 0), text.len);
	assert_int_equal(read_ahead(&text, text.len, &text, true, 0), text.len);
	assert_int_equal(read_ahead(&z, cut, &text, true, FLAME_EDAMAGED), read_ahead(&z, cut, &text, false, FLAME_EDAMAGED));
	free(z.s);
	free(text.s);
}

/* The thread waits for a pipe that gives no more: that keeps nobody from closing. */
static void test_decode_ahead_stopped(void **state)
{
	struct bytes text = long_text(6 << 20), z = gzip(text.s, text.len);
	struct flame_input in;
	struct feed f = { .s = z.s, .len = z.len / 2, .chunk = 5000, .stays_open = true };
	size_t most = read_ahead(&z, f.len, &text, false, FLAME_EDAMAGED);
	pthread_t thread;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	f.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
	assert_int_equal(flame_input_open_fd(&in, fds[0], "x"), 0);
	assert_int_equal(flame_input_decode_ahead(&in), 0);
	/* What is left fits into the pipe. */
	while (flame_input_offset(&in) < most - 65536)
		flame_take(&in, flame_peek(&in, 1).len);
	pthread_join(thread, NULL);
	flame_input_close(&in);
	close(fds[0]);
	close(fds[1]);
	free(z.s);
	free(text.s);
}

/* Take pieces of many sizes, up to @most, and compare them with @text from @at on. */
static void compare_pieces(struct flame_input *in, const char *text, size_t at, size_t end, size_t most)
{
	uint32_t random = 1;

	while (at < end) {
		struct flame_span s;
		size_t want;

		random = random * 1664525 + 1013904223;
		want = (random >> 8) % most + 1;
		s = flame_peek(in, want);
		assert_int_equal(flame_input_offset(in), at);
		if (want > end - at)
			want = end - at;
		assert_true(s.len >= want);
		assert_memory_equal(s.s, text + at, want);
		flame_take(in, want);
		at += want;
	}
	assert_int_equal(flame_peek(in, 1).len, 0);
	assert_int_equal(flame_peek(in, 1).len, 0);
	assert_int_equal(in->error, 0);
}

/* What is read ahead is the same, also in views of more than there is room in front of a piece, and after a leap. */
static void test_read_ahead(void **state)
{
	enum { FROM = 1001, TO = 2900000, BEHIND = 4 << 20 };
	size_t len = (size_t)3 << 20;
	char *text = malloc(len);
	struct flame_input whole, in;
	FILE *f = tmpfile();

	(void)state;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(i * 7 + i / 251);
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fflush(f), 0);
	rewind(f);
	assert_int_equal(flame_input_open_fd(&whole, fileno(f), "test"), 0);
	for (size_t most = 100; most < (size_t)1 << 21; most *= 7) {
		assert_int_equal(flame_input_open_slice(&in, &whole, FROM, TO), 0);
		flame_input_read_ahead(&in);
		compare_pieces(&in, text, FROM, TO, most);
		flame_input_close(&in);
		/* The file ends before the slice. */
		assert_int_equal(flame_input_open_slice(&in, &whole, 0, BEHIND), 0);
		flame_peek(&in, 1);
		flame_take(&in, 1);
		flame_input_read_ahead(&in);
		compare_pieces(&in, text, 1, len, most);
		flame_input_close(&in);
	}
	assert_int_equal(flame_input_open_slice(&in, &whole, 0, TO), 0);
	flame_input_read_ahead(&in);
	for (int i = 0; i < 30; i++)
		flame_take(&in, flame_peek(&in, 50000).len / 2);
	flame_input_seek(&in, 77);
	compare_pieces(&in, text, 77, TO, 1000);
	flame_input_seek(&in, 500000);
	flame_input_read_ahead(&in);
	flame_take(&in, flame_peek(&in, 1000).len);
	assert_int_equal(flame_unread(&in, text + 400000, (size_t)flame_input_offset(&in) - 400000), 0);
	compare_pieces(&in, text, 400000, TO, 100000);
	flame_input_close(&in);
	/* Closed before the end, and before anything is read. */
	assert_int_equal(flame_input_open_slice(&in, &whole, 0, TO), 0);
	flame_input_read_ahead(&in);
	flame_peek(&in, 1);
	flame_input_close(&in);
	assert_int_equal(flame_input_open_slice(&in, &whole, 0, TO), 0);
	flame_input_read_ahead(&in);
	flame_input_close(&in);
	flame_input_close(&whole);
	fclose(f);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_utf16), cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_gzip_utf16), cmocka_unit_test(test_gzip_cut), cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_long_lines), cmocka_unit_test(test_peek), cmocka_unit_test(test_slices),
		cmocka_unit_test(test_open_fails), cmocka_unit_test(test_unread),
		cmocka_unit_test(test_decode_ahead), cmocka_unit_test(test_decode_ahead_stopped), cmocka_unit_test(test_read_ahead),
	};

	/* A reader that stops early leaves its writer alone. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
