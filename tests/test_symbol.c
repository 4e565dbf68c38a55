/* SPDX-License-Identifier: MIT */
/* Names for addresses: of a file that lld linked, of kallsyms, perf maps and lists; what is told of files that do not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/dwarf.h"
#include "../core/symbol.h"

#define FILE_NAME "tests/symbols/lld.elf"

static const unsigned char build_id[] = { 0xa9, 0x27, 0x3c, 0xd0, 0x64, 0x18, 0x57, 0xa7 };

static char path[4096], directory[64];

static int set_up(void **state)
{
	char cwd[2048];

	(void)state;
	snprintf(path, sizeof(path), "%s/%s", getcwd(cwd, sizeof(cwd)), FILE_NAME);
	strcpy(directory, "/tmp/flame-symbols-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* Write a file in the directory. Return: its path, static. */
static const char *file_with(const char *name, const char *text)
{
	static char file[128];
	FILE *out;

	snprintf(file, sizeof(file), "%s/%s", directory, name);
	out = fopen(file, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	return file;
}

static void check_frame(const struct flame_location *l, uint32_t i, const char *name, uint32_t line, enum flame_kind kind)
{
	assert_true(i < l->nr_frames);
	assert_string_equal(l->frames[i].name, name);
	assert_int_equal(l->frames[i].name_len, strlen(name));
	assert_int_equal(l->frames[i].line, line);
	assert_int_equal(l->frames[i].kind, kind);
}

/* Return: whether a message of @s holds @text. */
static bool reports(const struct flame_symbols *s, const char *text)
{
	struct flame_diag diag = { 0 };
	bool found = false;

	flame_symbols_report(s, &diag);
	for (size_t i = 0; i < diag.nr_messages; i++)
		found = found || strstr(diag.messages[i].text, text);
	flame_diag_release(&diag);
	return found;
}

static void test_file(void **state)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .path = path };
	struct flame_symbol_options options = { .no_inline = true };
	struct flame_symbols *s = flame_symbols_new(&options);
	flame_module m = flame_module_row(s, &info);
	const struct flame_location *l = flame_symbols_find(s, m, 0x25f, false);
	uint64_t unknown, address;

	(void)state;
	check_frame(l, 0, "compute", 0, FLAME_USER);
	assert_int_equal(l->offset, 0x2f);
	assert_int_equal(l->row, 1);
	/* The same question has the same answer, and a return address is the call before it. */
	assert_ptr_equal(flame_symbols_find(s, m, 0x25f, false), l);
	assert_ptr_equal(flame_symbols_find(s, m, 0x260, true), l);
	check_frame(flame_symbols_find(s, m, 0x260, false), 0, "_start", 0, FLAME_USER);
	assert_int_equal(flame_symbols_find(s, m, 0x10, false)->nr_frames, 0);
	assert_int_equal(flame_symbols_find(s, m, UINT64_MAX, false)->nr_frames, 0);
	assert_int_equal(flame_symbols_find(s, m, 0, true)->nr_frames, 0);
	assert_int_equal(flame_symbols_find(s, 0, 0x25f, false)->row, 0);
	assert_int_equal(flame_symbols_find(s, 99, 0x25f, false)->row, 0);
	assert_int_equal(flame_symbols_count(s, &unknown), 5);
	assert_int_equal(unknown, 3);
	assert_true(flame_symbols_address(s, m, 0x25f, &address));
	assert_int_equal(address, 0x20125f);
	assert_string_equal(flame_symbols_file(s, m), path);
	assert_int_equal(flame_module_row(s, &info), m);
	flame_symbols_free(s);
}

static void test_inlined(void **state)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .path = path };
	struct flame_symbol_options options = { .lines = true };
	struct flame_symbols *s = flame_symbols_new(&options);
	const struct flame_location *l = flame_symbols_find(s, flame_module_row(s, &info), 0x244, false);

	(void)state;
	if (!flame_dwarf_available()) {
		flame_symbols_free(s);
		skip();
	}
	assert_int_equal(l->nr_frames, 3);
	check_frame(l, 0, "compute", 18, FLAME_USER);
	check_frame(l, 1, "middle", 10, FLAME_INLINED);
	check_frame(l, 2, "leaf", 5, FLAME_INLINED);
	assert_string_equal(l->frames[2].file, "/src/inline.c");
	assert_string_equal(l->frames[0].file, "/src/inline.c");
	flame_symbols_free(s);
	/* Without inlined functions the line is that of the innermost. */
	options.no_inline = true;
	s = flame_symbols_new(&options);
	l = flame_symbols_find(s, flame_module_row(s, &info), 0x244, false);
	assert_int_equal(l->nr_frames, 1);
	check_frame(l, 0, "compute", 5, FLAME_USER);
	flame_symbols_free(s);
}

static void test_build_id(void **state)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .path = path, .build_id = build_id,
					  .build_id_len = sizeof(build_id) };
	unsigned char other[20] = { 1 };
	struct flame_symbols *s = flame_symbols_new(NULL);

	(void)state;
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &info), 0x230, false)->nr_frames, 1);
	info.build_id = other;
	info.build_id_len = sizeof(other);
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &info), 0x230, false)->nr_frames, 0);
	assert_null(flame_symbols_file(s, flame_module_row(s, &info)));
	assert_true(reports(s, "lld.elf is not the file that was recorded, whose build-id is 0100000000"));
	info.path = "/no/such/file";
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &info), 0x230, false)->nr_frames, 0);
	assert_true(reports(s, "no symbols for /no/such/file (build-id 0100"));
	info.path = "[heap]";
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &info), 0x230, false)->nr_frames, 0);
	assert_true(reports(s, "it is not a file"));
	flame_symbols_free(s);
}

static void test_kallsyms(void **state)
{
	const char *file = file_with("kallsyms", "ffffffff81000000 T _text\nffffffff81000000 T _stext\n"
						 "ffffffff81000100 t do_work\nffffffff81000200 D data\nffffffff81000180 W weak\n"
						 "ffffffff81000300 t __do_sys_getppid\nffffffff81000300 T __ia32_sys_getppid\n"
						 "ffffffff81000300 T __x64_sys_getppid\nffffffff81000310 T __pi_memcpy\n"
						 "ffffffff81000310 T memcpy\n"
						 "broken\n0000000000000010 A percpu\nffffffffc0000000 t ext4_read\t[ext4]\n");
	struct flame_symbol_options options = { .kallsyms = file };
	struct flame_module_info kernel = { .kind = FLAME_MODULE_KERNEL, .path = "[kernel.kallsyms]" };
	struct flame_module_info ext4 = { .kind = FLAME_MODULE_KERNEL_MODULE, .path = "[ext4]" };
	struct flame_symbols *s = flame_symbols_new(&options);
	flame_module m = flame_module_row(s, &kernel);

	(void)state;
	check_frame(flame_symbols_find(s, m, 0xffffffff81000104, false), 0, "do_work", 0, FLAME_KERNEL);
	check_frame(flame_symbols_find(s, m, 0xffffffff81000280, false), 0, "weak", 0, FLAME_KERNEL);
	check_frame(flame_symbols_find(s, m, 0xffffffff81000001, false), 0, "_stext", 0, FLAME_KERNEL);
	check_frame(flame_symbols_find(s, m, 0xffffffff81000301, false), 0, "__x64_sys_getppid", 0, FLAME_KERNEL);
	check_frame(flame_symbols_find(s, m, 0xffffffff81000311, false), 0, "memcpy", 0, FLAME_KERNEL);
	assert_int_equal(flame_symbols_find(s, m, 0x10, false)->nr_frames, 0);
	check_frame(flame_symbols_find(s, flame_module_row(s, &ext4), 0xffffffffc0000010, false), 0, "ext4_read", 0,
		    FLAME_KERNEL);
	flame_symbols_free(s);
	/* The same kernel, recorded when it was 2 MiB higher; its modules are anywhere then. */
	kernel.reference_address = 0xffffffff81200000;
	s = flame_symbols_new(&options);
	m = flame_module_row(s, &kernel);
	check_frame(flame_symbols_find(s, m, 0xffffffff81200104, false), 0, "do_work", 0, FLAME_KERNEL);
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &ext4), 0xffffffffc0000010, false)->nr_frames, 0);
	assert_true(reports(s, "its modules are elsewhere now"));
	flame_symbols_free(s);
	file_with("kallsyms", "0000000000000000 T _text\n0000000000000000 t do_work\n");
	s = flame_symbols_new(&options);
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &kernel), 0xffffffff81200104, false)->nr_frames, 0);
	assert_true(reports(s, "are hidden; read it as root"));
	flame_symbols_free(s);
	unlink(file);
}

static void test_unknown_kernel(void **state)
{
	struct flame_module_info kernel = { .kind = FLAME_MODULE_KERNEL, .path = "[kernel.kallsyms]", .build_id = build_id,
					    .build_id_len = sizeof(build_id), .reference_address = 1 };
	struct flame_symbols *s = flame_symbols_new(NULL);

	(void)state;
	assert_int_equal(flame_symbols_find(s, flame_module_row(s, &kernel), 0xffffffff81200104, false)->nr_frames, 0);
	assert_true(reports(s, "it is not the running kernel"));
	flame_symbols_free(s);
}

static void test_perf_map(void **state)
{
	const char *file = file_with("perf-123.map", "1000 100 LazyCompile:~f file.js:1\n0x1100 0x10 g;h\r\nnonsense\n"
						     "1080 10 newer\n2000 0 last");
	struct flame_symbol_options options = { .symbol_dir = directory };
	struct flame_module_info info = { .kind = FLAME_MODULE_PERF_MAP, .pid = 123 };
	struct flame_symbols *s = flame_symbols_new(&options);
	flame_module m = flame_module_row(s, &info);

	(void)state;
	check_frame(flame_symbols_find(s, m, 0x1000, false), 0, "LazyCompile:~f file.js:1", 0, FLAME_JIT);
	check_frame(flame_symbols_find(s, m, 0x1080, false), 0, "newer", 0, FLAME_JIT);
	check_frame(flame_symbols_find(s, m, 0x1090, false), 0, "LazyCompile:~f file.js:1", 0, FLAME_JIT);
	check_frame(flame_symbols_find(s, m, 0x110f, false), 0, "g;h", 0, FLAME_JIT);
	check_frame(flame_symbols_find(s, m, 0x2001, false), 0, "last", 0, FLAME_JIT);
	assert_int_equal(flame_symbols_find(s, m, 0x1110, false)->nr_frames, 0);
	unlink(file);
	info.pid = 1 << 30;
	m = flame_module_row(s, &info);
	assert_int_equal(flame_symbols_find(s, m, 0x1000, false)->nr_frames, 0);
	assert_true(reports(s, "there is no /tmp/perf-1073741824.map"));
	flame_symbols_free(s);
}

static void test_list(void **state)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_LIST, .path = "bpf" };
	struct flame_symbols *s = flame_symbols_new(NULL);
	struct flame_span name = { "_ZN1a1bEi", 9 }, none = { "", 0 }, later = { "later", 5 };
	flame_module m = flame_module_row(s, &info);

	(void)state;
	assert_int_equal(flame_module_add_symbol(s, m, 0x1000, 0x100, name, FLAME_KERNEL), 0);
	assert_int_equal(flame_module_add_symbol(s, m, 0x900, 0x100, none, FLAME_KERNEL), 0);
	assert_int_equal(flame_symbols_find(s, m, 0x1000, false)->frames[0].kind, FLAME_KERNEL);
	assert_int_equal(flame_module_add_symbol(s, m, 0x1000, 0x100, later, FLAME_JIT), 0);
	check_frame(flame_symbols_find(s, m, 0x1001, false), 0, "later", 0, FLAME_JIT);
	assert_int_equal(flame_symbols_find(s, m, 0x900, false)->nr_frames, 0);
	name.len = FLAME_SYMBOL_NAME_MAX + 1;
	assert_int_equal(flame_module_add_symbol(s, m, 0, 1, name, FLAME_JIT), FLAME_EARG);
	assert_int_equal(flame_module_add_symbol(s, 0, 0, 1, later, FLAME_JIT), FLAME_EARG);
	flame_symbols_free(s);
}

/* Many addresses, so that tables grow; all locations stay. */
static void test_many(void **state)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_LIST };
	struct flame_symbols *s = flame_symbols_new(NULL);
	flame_module m = flame_module_row(s, &info);
	const struct flame_location *first;
	char name[32];

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		struct flame_span span = { name, (size_t)snprintf(name, sizeof(name), "f%d", (int)i) };

		assert_int_equal(flame_module_add_symbol(s, m, i * 16, 16, span, FLAME_JIT), 0);
	}
	first = flame_symbols_find(s, m, 7, false);
	for (uint64_t i = 0; i < 16000; i++) {
		const struct flame_location *l = flame_symbols_find(s, m, i, false);

		snprintf(name, sizeof(name), "f%d", (int)i / 16);
		assert_string_equal(l->frames[0].name, name);
		assert_int_equal(l->offset, i % 16);
	}
	assert_ptr_equal(flame_symbols_find(s, m, 7, false), first);
	assert_int_equal(flame_symbols_count(s, NULL), 16000);
	flame_symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),	  cmocka_unit_test(test_inlined),	 cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_kallsyms),  cmocka_unit_test(test_unknown_kernel), cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_list),	  cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
