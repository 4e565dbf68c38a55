/* SPDX-License-Identifier: MIT */
/*
 * test_protobuf.c - messages whole, cut at every byte, and not messages at all.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/protobuf.h"

/* Of exact size, so that the sanitizer sees a byte too many. */
static struct flame_span exact(const char *s, size_t len)
{
	char *copy = malloc(len + !len);

	memcpy(copy, s, len);
	return (struct flame_span){ copy, len };
}

static void check_varint(const char *s, size_t len, bool ok, uint64_t want)
{
	struct flame_span text = exact(s, len);
	uint64_t value = 0;
	const char *end = flame_pb_varint(text.s, text.s + len, &value);

	assert_int_equal(end != NULL, ok);
	if (ok) {
		assert_ptr_equal(end, text.s + len);
		assert_true(value == want);
	}
	value = 0;
	end = flame_pb_varint_before(text.s, text.s + len, &value);
	assert_int_equal(end != NULL, ok);
	if (ok) {
		assert_ptr_equal(end, text.s);
		assert_true(value == want);
	}
	free((char *)text.s);
}

/* Numbers one after the other are found from the end, too. */
static void test_varint_before(void **state)
{
	static const char text[] = "\x05\x80\x01\xff\x7f\x00";
	static const uint64_t want[] = { 0, 16383, 128, 5 };
	const char *at = text + sizeof(text) - 1;
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		at = flame_pb_varint_before(text, at, &value);
		assert_non_null(at);
		assert_true(value == want[i]);
	}
	assert_ptr_equal(at, text);
}

static void test_varint(void **state)
{
	(void)state;
	check_varint("\0", 1, true, 0);
	check_varint("\x7f", 1, true, 127);
	check_varint("\x80\x01", 2, true, 128);
	check_varint("\x9c\x80\x00", 3, true, 28);	/* padded, as async-profiler writes lengths */
	check_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX);
	check_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, true, UINT64_MAX);
	check_varint("", 0, false, 0);
	check_varint("\x80", 1, false, 0);
	check_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false, 0);
}

/* All kinds of fields; the group holds one of each and another group. */
static const char all_kinds[] =
	"\x08\x96\x01"				/* 1: 150 */
	"\x12\x03" "abc"			/* 2: "abc" */
	"\x1b\x08\x01\x12\x01x\x23\x24\x1d\x01\x02\x03\x04\x1c"	/* group 3 with group 4 */
	"\x25\x01\x02\x03\x04"			/* 4: 0x04030201 */
	"\x29\x01\x02\x03\x04\x05\x06\x07\x08"	/* 5 */
	"\x32\x00";				/* 6: "" */

static void test_fields(void **state)
{
	struct flame_span text = exact(all_kinds, sizeof(all_kinds) - 1);
	struct flame_pb pb = flame_pb(text);
	struct flame_pb_field f;

	(void)state;
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 1 && f.wire == FLAME_PB_VARINT && f.number == 150);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 2 && f.wire == FLAME_PB_BYTES && f.bytes.len == 3 && !memcmp(f.bytes.s, "abc", 3));
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 4 && f.wire == FLAME_PB_FIXED32 && f.number == 0x04030201);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 5 && f.wire == FLAME_PB_FIXED64 && f.number == 0x0807060504030201);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 6 && f.wire == FLAME_PB_BYTES && !f.bytes.len);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_END);
	free((char *)text.s);
}

/* Cut anywhere: whole fields, then an end or a field that wants more bytes than there are. */
static void test_cut(void **state)
{
	size_t whole = sizeof(all_kinds) - 1;

	(void)state;
	for (size_t len = 0; len < whole; len++) {
		struct flame_span text = exact(all_kinds, len);
		struct flame_pb pb = flame_pb(text);
		struct flame_pb_field f;
		enum flame_pb_result result;

		while ((result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD)
			;
		assert_true(result == FLAME_PB_END || result == FLAME_PB_SHORT);
		if (result == FLAME_PB_SHORT) {
			size_t from = (size_t)(pb.at - text.s);

			assert_true(pb.want > len - from && pb.want <= whole - from);
		}
		free((char *)text.s);
	}
}

/* Any byte changed: no more is read than is there, and it comes to an end. */
static void test_changed(void **state)
{
	size_t whole = sizeof(all_kinds) - 1;

	(void)state;
	for (size_t i = 0; i < whole * 8; i++) {
		struct flame_span text = exact(all_kinds, whole);
		struct flame_pb pb = flame_pb(text);
		struct flame_pb_field f;
		size_t nr = 0;

		((char *)text.s)[i / 8] ^= (char)(1 << i % 8);
		while (flame_pb_next(&pb, &f) == FLAME_PB_FIELD) {
			assert_true(f.bytes.s >= text.s && f.bytes.s + f.bytes.len <= text.s + whole);
			assert_true(++nr <= whole);
		}
		free((char *)text.s);
	}
}

static void test_bad(void **state)
{
	static const struct { const char *s; size_t len; enum flame_pb_result result; } cases[] = {
		{ "\x00\x01", 2, FLAME_PB_BAD },	/* field 0 */
		{ "\x0e\x01", 2, FLAME_PB_BAD },	/* wire type 6 */
		{ "\x0c", 1, FLAME_PB_BAD },		/* the end of no group */
		{ "\x0b\x14", 2, FLAME_PB_BAD },	/* group 1 ended as 2 */
		{ "\x0b", 1, FLAME_PB_SHORT },		/* a group that is cut off */
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10, FLAME_PB_BAD },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, FLAME_PB_BAD },	/* longer than memory */
		{ "\x0a\xff\xff\xff\xff\x7f", 6, FLAME_PB_SHORT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flame_span text = exact(cases[i].s, cases[i].len);
		struct flame_pb pb = flame_pb(text);
		struct flame_pb_field f;
		

		assert_int_equal(flame_pb_next(&pb, &f), cases[i].result);
		free((char *)text.s);
	}
}

static void test_deep_groups(void **state)
{
	char deep[200];
	struct flame_pb pb;
	struct flame_pb_field f;

	(void)state;
	memset(deep, 0x0b, 100);
	memset(deep + 100, 0x0c, 100);
	pb = flame_pb((struct flame_span){ deep, 200 });
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_BAD);
	pb = flame_pb((struct flame_span){ deep + 50, 100 });
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_END);
}

static size_t numbers_of(const char *s, size_t len, uint64_t *sum, bool *whole)
{
	struct flame_span text = exact(s, len);
	struct flame_pb pb = flame_pb(text);
	struct flame_pb_field f;
	const char *at = NULL;
	uint64_t value;
	size_t nr = 0;

	*sum = 0;
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	while (flame_pb_next_number(&f, &at, &value)) {
		*sum += value;
		nr++;
	}
	*whole = at;
	free((char *)text.s);
	return nr;
}

static void test_numbers(void **state)
{
	uint64_t sum;
	bool whole;

	(void)state;
	assert_int_equal(numbers_of("\x08\x05", 2, &sum, &whole), 1);
	assert_true(sum == 5 && whole);
	assert_int_equal(numbers_of("\x0a\x04\x05\x80\x01\x01", 6, &sum, &whole), 3);
	assert_true(sum == 5 + 128 + 1 && whole);
	assert_int_equal(numbers_of("\x0a\x00", 2, &sum, &whole), 0);
	assert_true(whole);
	assert_int_equal(numbers_of("\x0a\x02\x05\x80", 4, &sum, &whole), 1);
	assert_true(!whole);
}

static void test_written(void **state)
{
	struct flame_pb_out out = { 0 }, inner = { 0 };
	struct flame_pb pb;
	struct flame_pb_field f;

	(void)state;
	flame_pb_put_number(&inner, 1, (uint64_t)-7);
	flame_pb_put_number(&out, 100000, 300);
	flame_pb_put_message(&out, 2, &inner);
	flame_pb_put_bytes(&out, 3, (struct flame_span){ "xy", 2 });
	flame_pb_put_message(&out, 4, &inner);
	assert_false(out.failed);
	pb = flame_pb((struct flame_span){ out.bytes, out.len });
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 100000 && f.number == 300);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 2 && f.bytes.len == 11);
	{
		struct flame_pb nested = flame_pb(f.bytes);

		assert_int_equal(flame_pb_next(&nested, &f), FLAME_PB_FIELD);
		assert_true((int64_t)f.number == -7);
	}
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.bytes.len == 2 && f.bytes.s[1] == 'y');
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_FIELD);
	assert_true(f.nr == 4 && !f.bytes.len);
	assert_int_equal(flame_pb_next(&pb, &f), FLAME_PB_END);
	free(out.bytes);
	free(inner.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varint), cmocka_unit_test(test_varint_before),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_deep_groups),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
