/* SPDX-License-Identifier: MIT */
/*
 * test_jitdump.c - dumps of JIT compilers: loaded and moved code, either byte order, cut off anywhere, damaged.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../core/jitdump.h"

struct dump {
	unsigned char bytes[4096];
	size_t len;
	int swapped;
};

static void put(struct dump *d, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		d->bytes[d->len++] = (unsigned char)(v >> 8 * (d->swapped ? size - 1 - i : i));
}

static void header(struct dump *d)
{
	put(d, 0x4a695444, 4);
	put(d, 1, 4);
	put(d, 48, 4);	/* longer than known */
	put(d, 62, 4);
	put(d, 0, 4);
	put(d, 7, 4);
	put(d, 99, 8);
	put(d, 0, 8);
	put(d, 0, 8);
}

static void load(struct dump *d, uint64_t index, uint64_t start, uint64_t size, const char *name)
{
	put(d, 0, 4);
	put(d, 56 + strlen(name) + 1 + 3, 4);
	put(d, 5, 8);
	put(d, 7, 4);
	put(d, 7, 4);
	put(d, start, 8);
	put(d, start, 8);
	put(d, size, 8);
	put(d, index, 8);
	memcpy(d->bytes + d->len, name, strlen(name) + 1);
	d->len += strlen(name) + 1;
	put(d, 0xc3c3c3, 3);
}

static void move(struct dump *d, uint64_t index, uint64_t from, uint64_t to, uint64_t size)
{
	put(d, 1, 4);
	put(d, 64, 4);
	put(d, 6, 8);
	put(d, 7, 4);
	put(d, 7, 4);
	put(d, to, 8);
	put(d, from, 8);
	put(d, to, 8);
	put(d, size, 8);
	put(d, index, 8);
}

static void other(struct dump *d)
{
	put(d, 2, 4);
	put(d, 24, 4);
	put(d, 0, 8);
	put(d, 0, 8);
}

struct seen {
	char text[1024];
	int stop;
};

static int tell(void *arg, const struct flame_jit_code *code)
{
	struct seen *seen = arg;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof(seen->text) - len, "%llx+%llx %.*s\n", (unsigned long long)code->start,
		 (unsigned long long)code->size, (int)code->name.len, code->name.s);
	return seen->stop;
}

static int read_bytes(const void *bytes, size_t len, struct seen *seen)
{
	int fd = memfd_create("dump", 0), err;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = flame_jitdump_read(path, tell, seen);
	close(fd);
	return err;
}

static const char all[] = "1000+20 first\n2000+30 second, of two words\n3000+30 second, of two words\n1000+8 \n";

static void fill(struct dump *d)
{
	header(d);
	load(d, 1, 0x1000, 0x20, "first");
	other(d);
	load(d, 2, 0x2000, 0x30, "second, of two words");
	move(d, 2, 0x2000, 0x3000, 0x30);
	move(d, 77, 0x2000, 0x3000, 0x30);	/* of no known code */
	load(d, 3, 0x1000, 8, "");
}

static void test_orders(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct dump d = { .swapped = swapped };
		struct seen seen = { 0 };

		fill(&d);
		assert_int_equal(read_bytes(d.bytes, d.len, &seen), 0);
		assert_string_equal(seen.text, all);
	}
}

/* What came before is told, and where the cut is between two records nobody can tell. */
static void test_cut(void **state)
{
	struct dump d = { 0 };
	int nr_whole = 0;

	(void)state;
	fill(&d);
	for (size_t len = 0; len < d.len; len++) {
		struct seen seen = { 0 };
		int err = read_bytes(d.bytes, len, &seen);

		if (len < 40)
			assert_int_equal(err, FLAME_EFORMAT);
		else if (err)
			assert_int_equal(err, FLAME_EDAMAGED);
		nr_whole += !err;
		assert_memory_equal(seen.text, all, strlen(seen.text));
	}
	/* Behind the header and each record but the last. */
	assert_int_equal(nr_whole, 6);
}

/* Any byte may be wrong: no crash, and an end. */
static void test_flipped(void **state)
{
	struct dump d = { 0 };

	(void)state;
	fill(&d);
	for (size_t i = 0; i < d.len * 8; i++) {
		struct seen seen = { 0 };
		int err;

		d.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
		err = read_bytes(d.bytes, d.len, &seen);
		assert_true(!err || err == FLAME_EDAMAGED || err == FLAME_EFORMAT);
		d.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
	}
}

static void test_no_dump(void **state)
{
	struct dump d = { 0 };
	struct seen seen = { .stop = FLAME_EARG };

	(void)state;
	assert_int_equal(flame_jitdump_read("/no/such/file", tell, &seen), FLAME_EIO);
	assert_int_equal(flame_jitdump_read("/", tell, &seen), FLAME_EIO);
	assert_int_equal(read_bytes("JiT, but text, and more than a header of forty bytes", 52, &seen), FLAME_EFORMAT);
	assert_string_equal(seen.text, "");
	fill(&d);
	assert_int_equal(read_bytes(d.bytes, d.len, &seen), FLAME_EARG);
	assert_string_equal(seen.text, "1000+20 first\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders), cmocka_unit_test(test_cut), cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_no_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
