/* SPDX-License-Identifier: MIT */
/* test_owner.c - whose code a function is, and what the kernel's functions mean. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../core/kernel.h"
#include "../core/owner.h"

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

static const char *code_of(const struct flame_owner *o, const char *name, const char *module, const char *file,
			   enum flame_kind kind)
{
	struct flame_code_place place = { span(name), span(module), span(file), kind };

	return flame_code_id(flame_owner_code(o, &place, NULL));
}

static void code_is_inferred(void **state)
{
	static const struct {
		const char *name, *module, *file, *code;
	} cases[] = {
		{ "encode_string", "/srv/app/bin/server", "src/api/serialize.c", "project" },
		{ "encode_string", "", "", "project" },
		{ "com/acme/Cart.total", "", "", "project" },
		{ "[server]", "/srv/app/bin/server", "", "project" },
		{ "handler", "", "/srv/app/app.py", "project" },
		{ "do_thing", "/usr/bin/tool", "", "project" },
		{ "sort.Sort", "", "", "project" },
		{ "BN_mod_exp", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "", "library" },
		{ "render", "", "/srv/app/node_modules/react/index.js", "library" },
		{ "get", "", "/usr/lib/python3/dist-packages/requests/api.py", "library" },
		{ "run", "", "/srv/vendor/github.com/x/y.go", "library" },
		{ "serde_json::to_string", "", "", "library" },
		{ "org/springframework/web/Filter.doFilter", "", "", "library" },
		{ "dumps", "", "/usr/lib/python3.11/json/__init__.py", "standard" },
		{ "iterencode", "", "json/encoder.py", "standard" },
		{ "std::sort<int>", "", "", "standard" },
		{ "<alloc::vec::Vec<T> as core::clone::Clone>::clone", "", "", "standard" },
		{ "java/util/HashMap.get", "", "", "standard" },
		{ "java.util.HashMap.get", "", "", "standard" },
		{ "emit", "", "node:events", "standard" },
		{ "memcpy", "", "", "libc" },
		{ "__memmove_avx_unaligned_erms", "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "libc" },
		{ "[libc.so.6]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "libc" },
		{ "_int_malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "allocator" },
		{ "operator new", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "", "allocator" },
		{ "G1ParScanThreadState::trim_queue", "/usr/lib/jvm/libjvm.so", "", "gc" },
		{ "(garbage collector)", "", "", "gc" },
		{ "gc_collect_main", "/usr/bin/python3.11", "", "gc" },
		{ "Compile::Optimize", "/usr/lib/jvm/libjvm.so", "", "jit" },
		{ "Work$$Lambda.run", "", "", "runtime" },
		{ "_PyEval_EvalFrameDefault", "/usr/bin/python3.11", "", "runtime" },
		{ "something", "/usr/local/bin/node", "", "runtime" },
		{ "___pthread_mutex_lock", "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "lock" },
		{ "do_syscall_64", "", "", "kernel" },
		{ "[[kernel.kallsyms]]", "", "", "kernel" },
		{ "(idle)", "", "", "idle" },
		{ "[unknown]", "", "", "unknown" },
	};
	struct flame_owner o = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(code_of(&o, cases[i].name, cases[i].module, cases[i].file, FLAME_USER), cases[i].code);
	assert_string_equal(code_of(&o, "tcp_sendmsg", "", "", FLAME_KERNEL), "kernel");
	assert_string_equal(code_of(&o, "intel_idle", "", "", FLAME_KERNEL), "idle");
}

static void go_has_packages(void **state)
{
	struct flame_owner o = { .is_go = true };

	(void)state;
	assert_string_equal(code_of(&o, "sort.Sort", "", "", FLAME_USER), "standard");
	assert_string_equal(code_of(&o, "encoding/json.Marshal", "", "", FLAME_USER), "standard");
	assert_string_equal(code_of(&o, "golang.org/x/net/http2.f", "", "", FLAME_USER), "library");
	assert_string_equal(code_of(&o, "runtime.mallocgc", "", "", FLAME_USER), "allocator");
	assert_string_equal(code_of(&o, "runtime.gcBgMarkWorker", "", "", FLAME_USER), "gc");
	assert_string_equal(code_of(&o, "main.main", "", "", FLAME_USER), "project");
	assert_string_equal(code_of(&o, "github.com/acme/shop.Total", "", "", FLAME_USER), "project");
	assert_true(flame_owner_shows_go(span("runtime.goexit")));
	assert_false(flame_owner_shows_go(span("runtime.py")));
}

static void patterns_say_more(void **state)
{
	struct flame_owner o = { 0 };
	const char *why;
	struct flame_code_place place = { span("std::vector<shop::Cart>::push_back"), span(""), span(""), FLAME_USER };

	(void)state;
	assert_non_null(flame_owner_add(&o, "("));
	assert_null(flame_owner_add(&o, "^com/acme/"));
	assert_null(flame_owner_add(&o, "/libshop\\.so$"));
	assert_null(flame_owner_add(&o, "src/shop/"));
	assert_string_equal(code_of(&o, "com/acme/Cart.total", "", "", FLAME_USER), "project");
	assert_string_equal(code_of(&o, "org/other/Cart.total", "", "", FLAME_USER), "library");
	assert_string_equal(code_of(&o, "f", "/usr/lib/libshop.so", "", FLAME_USER), "project");
	assert_string_equal(code_of(&o, "f", "", "/build/src/shop/cart.c", FLAME_USER), "project");
	assert_string_equal(code_of(&o, "memcpy", "", "", FLAME_USER), "libc");
	assert_string_equal(code_of(&o, "com/acme/fake", "", "", FLAME_KERNEL), "kernel");
	assert_int_equal(flame_owner_code(&o, &place, &why), FLAME_CODE_STANDARD);
	assert_string_equal(why, "belongs to the language's standard library");
	flame_owner_release(&o);
	for (size_t i = 0; i < FLAME_OWNER_PATTERNS; i++)
		assert_null(flame_owner_add(&o, "x"));
	assert_non_null(flame_owner_add(&o, "x"));
	flame_owner_release(&o);
}

static void spans_end_where_they_end(void **state)
{
	struct flame_owner o = { 0 };
	struct flame_code_place place = { { "helper_acme", 6 }, { "", 0 }, { "", 0 }, FLAME_USER };

	(void)state;
	assert_null(flame_owner_add(&o, "acme"));
	assert_int_equal(flame_owner_code(&o, &place, NULL), FLAME_CODE_LIBRARY);
	flame_owner_release(&o);
}

static void check_entry(const char *function, enum flame_kernel_entry entry, const char *name)
{
	struct flame_span got;

	assert_int_equal(flame_kernel_entry(span(function), &got), entry);
	assert_int_equal(got.len, strlen(name));
	assert_memory_equal(got.s, name, got.len);
}

static void the_kernel_is_read(void **state)
{
	(void)state;
	check_entry("__x64_sys_read", FLAME_ENTRY_SYSCALL, "read");
	check_entry("ksys_write", FLAME_ENTRY_SYSCALL, "write");
	check_entry("__arm64_sys_futex", FLAME_ENTRY_SYSCALL, "futex");
	check_entry("__do_sys_clone.part.0", FLAME_ENTRY_SYSCALL, "clone");
	check_entry("do_futex", FLAME_ENTRY_SYSCALL, "futex");
	check_entry("entry_SYSCALL_64_after_hwframe", FLAME_ENTRY_SYSCALL, "");
	check_entry("asm_exc_page_fault", FLAME_ENTRY_FAULT, "");
	check_entry("asm_sysvec_apic_timer_interrupt", FLAME_ENTRY_INTERRUPT, "");
	check_entry("kthread", FLAME_ENTRY_THREAD, "");
	check_entry("tcp_sendmsg", FLAME_ENTRY_NONE, "");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("clear_page_erms"))), "clearing pages");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("_copy_to_user"))), "copies");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("futex_wait"))), "futex");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("tcp_sendmsg"))), "network");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("ext4_file_write_iter"))), "file systems");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("native_queued_spin_lock_slowpath"))), "kernel locks");
	assert_string_equal(flame_kernel_work_name(flame_kernel_work(span("strange"))), "other");
	assert_string_equal(flame_kernel_wait(FLAME_ENTRY_SYSCALL, span("epoll_wait")), "events");
	assert_null(flame_kernel_wait(FLAME_ENTRY_SYSCALL, span("strange")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_inferred),
		cmocka_unit_test(go_has_packages),
		cmocka_unit_test(patterns_say_more),
		cmocka_unit_test(spans_end_where_they_end),
		cmocka_unit_test(the_kernel_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
