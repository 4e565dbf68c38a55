/* SPDX-License-Identifier: MIT */
/* Frame pointers and languages of files that compilers made (tests/doctor/program.c), whole and damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/framepointer.h"
#include "../core/language.h"

static const struct {
	const char *name, *method;
	uint32_t nr_functions, nr_frames, nr_pointers;
} files[] = {
	{ "x86_64-omit.elf", "CFI", 3, 2, 0 },
	{ "x86_64-omit-stripped.elf", "CFI", 3, 2, 0 },
	{ "x86_64-omit-prologues.elf", "prologues", 3, 2, 0 },
	/* clang keeps it in leaf functions, too. */
	{ "x86_64-no-omit.elf", "CFI", 3, 3, 3 },
	{ "x86_64-no-omit-stripped.elf", "CFI", 3, 3, 3 },
	{ "x86_64-no-omit-prologues.elf", "prologues", 3, 3, 3 },
	{ "aarch64-omit.elf", "prologues", 3, 2, 0 },
	{ "aarch64-no-omit.elf", "prologues", 3, 2, 2 },
};

static void count(const struct flame_elf *elf, struct flame_frame_count *n)
{
	struct flame_symtab table = { 0 };

	assert_int_equal(flame_elf_symbols(elf, &table), 0);
	assert_int_equal(flame_symtab_seal(&table), 0);
	flame_count_frames(elf, &table, n);
	flame_symtab_release(&table);
	assert_true(n->nr_pointers <= n->nr_frames && n->nr_frames <= n->nr_functions);
	assert_true(!n->method == !!n->why);
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct flame_frame_count n;
		struct flame_elf elf;
		char path[128];

		snprintf(path, sizeof(path), "tests/doctor/%s", files[i].name);
		assert_int_equal(flame_elf_open(&elf, path), 0);
		count(&elf, &n);
		assert_string_equal(n.method, files[i].method);
		assert_int_equal(n.nr_functions, files[i].nr_functions);
		assert_int_equal(n.nr_frames, files[i].nr_frames);
		assert_int_equal(n.nr_pointers, files[i].nr_pointers);
		assert_int_equal(flame_elf_language(&elf), FLAME_LANGUAGE_C);
		assert_false(flame_elf_has_v8(&elf));
		flame_elf_release(&elf);
	}
}

/* Without symbols there is the CFI; without both, nothing is guessed. */
static void test_nothing(void **state)
{
	struct flame_frame_count n;
	struct flame_elf elf;

	(void)state;
	assert_int_equal(flame_elf_open(&elf, "tests/doctor/x86_64-omit-stripped.elf"), 0);
	flame_count_frames(&elf, NULL, &n);
	assert_string_equal(n.method, "CFI");
	flame_elf_release(&elf);
	assert_int_equal(flame_elf_open(&elf, "tests/doctor/x86_64-omit-prologues.elf"), 0);
	flame_count_frames(&elf, NULL, &n);
	assert_null(n.method);
	assert_non_null(n.why);
	elf.machine = 0;
	flame_count_frames(&elf, NULL, &n);
	assert_null(n.method);
	assert_string_equal(n.why, "code of this machine is not looked at");
	flame_elf_release(&elf);
}

/* A file in memory of its very size, so that a sanitizer sees each byte too many. */
static unsigned char *load(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	unsigned char *bytes;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, f), *size);
	fclose(f);
	return bytes;
}

static void examine(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	struct flame_frame_count n;
	struct flame_elf elf;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	if (!flame_elf_init(&elf, copy, size)) {
		count(&elf, &n);
		flame_elf_compiler(&elf, flame_elf_language(&elf));
		for (size_t i = 0; flame_elf_needed(&elf, i); i++)
			assert_true(i < 1000);
	}
	flame_elf_release(&elf);
	free(copy);
}

static void test_damage(void **state)
{
	static const unsigned char values[] = { 0x00, 0x7f, 0x80, 0xff };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i += 3) {
		char path[128];
		unsigned char *bytes;
		size_t size;

		snprintf(path, sizeof(path), "tests/doctor/%s", files[i].name);
		bytes = load(path, &size);
		for (size_t cut = 0; cut < size; cut += 7)
			examine(bytes, cut);
		for (size_t at = 0; at < size; at++) {
			unsigned char old = bytes[at];

			bytes[at] = values[at % sizeof(values)];
			examine(bytes, size);
			bytes[at] = old;
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests_name("framepointer", tests, NULL, NULL);
}
