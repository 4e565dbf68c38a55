/* SPDX-License-Identifier: MIT */
/* Names without ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../core/strip.h"

static void assert_stripped(size_t (*strip)(char *, struct flame_span), const char *name, const char *want)
{
	struct flame_span s = { name, strlen(name) };
	char *copy = malloc(s.len + 1), *to = malloc(2 * s.len + 17);
	size_t n;

	/* In a block of its own, so that sanitizers see what is read beyond it. */
	memcpy(copy, name, s.len);
	n = strip(to, (struct flame_span){ copy, s.len });
	to[n] = '\0';
	assert_string_equal(to, want);
	free(copy);
	free(to);
}

static void test_ids(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" }, { "main", "main" }, { "f2", "f2" }, { "std::vector<int, 3>", "std::vector<int, 3>" },
		{ "memcpy", "memcpy" }, { "sha256_block", "sha256_block" }, { "x.y", "x.y" },
		{ "lambda_0x7f00aa10", "lambda_0x..." }, { "0xg", "0xg" }, { "f+0x1f", "f+0x..." },
		{ "[libc.so.6 <7f12a0>]", "[libc.so <...>]" }, { "7f3a12bc9d10", "..." }, { "deadbeef", "deadbeef" },
		{ "bpf_prog_6deef7357e7b4530_sd_fw", "bpf_prog_..._sd_fw" },
		{ "encode.cold", "encode" }, { "encode.isra.0", "encode" }, { "encode.constprop.12.cold", "encode" },
		{ "encode.llvm.17733478", "encode" }, { "encode.part.3", "encode" }, { "encode [clone .cold]", "encode" },
		{ "encode.lto_priv.0", "encode" }, { ".cold", ".cold" }, { "encode.colder", "encode.colder" },
		{ "core::fmt::write::h0123456789abcdef", "core::fmt::write" }, { "a::h12", "a::h12" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5write" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE.llvm.12", "_ZN4core3fmt5write" }, { "_ZN1a17hasdE", "_ZN1a17hasdE" },
		{ "memcpy@@GLIBC_2.14", "memcpy" }, { "foo@plt", "foo@plt" },
		{ "pool-1-thread-12", "pool-N-thread-N" }, { "java-4711/4712", "java-N/N" }, { "GC Thread#3", "GC Thread#N" },
		{ "Thread 17", "Thread N" }, { "worker7", "workerN" }, { "kworker/0:1-events", "kworker/N:N-events" },
		{ "swapper/3", "swapper/N" }, { "[main tid=4711]", "[main tid=N]" },
		{ "App$$Lambda$14/0x0000000800c03000.apply", "App$$Lambda.apply" }, { "App$$Lambda.0x00007f.run", "App$$Lambda.run" },
		{ "Work$$Lambda$87+0x00007f3334007a08/1172131546.run", "Work$$Lambda.run" },
		{ "App.lambda$main$0", "App.lambda$main$N" }, { "GeneratedMethodAccessor12.invoke", "GeneratedMethodAccessorN.invoke" },
		{ "com.sun.proxy.$Proxy31.call", "com.sun.proxy.$ProxyN.call" },
		{ "main::{lambda()#2}::operator()", "main::{lambda()#N}::operator()" }, { "f::{closure#0}", "f::{closure#N}" },
		{ "main::$_0::operator()", "main::$_N::operator()" }, { "main.main.func1.2", "main.main.funcN" },
		{ "libpython3.11.so.1.0", "libpythonN.so" }, { "node-v18.20.4", "node-vN" }, { "foo-1.2.3.jar", "foo-N.jar" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_stripped(flame_strip_ids, pairs[i][0], pairs[i][1]);
}

static void test_hex(void **state)
{
	(void)state;
	assert_stripped(flame_strip_hex, "a_0x1_0xff.0x", "a_0x..._0x....0x");
	assert_stripped(flame_strip_hex, "encode.cold", "encode.cold");
}

/* Names of a megabyte take no time that grows with their square. */
static void test_long(void **state)
{
	static const char *const parts[] = { "a", "1", ".1", "$1", "0x", ".cold", "lambda$1", "-1", "<1", " [clone " };
	size_t room = 1 << 20;
	char *name = malloc(room + 16), *to = malloc(2 * room + 64);

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t len = strlen(parts[i]), n = 0;

		for (; n + len < room; n += len)
			memcpy(name + n, parts[i], len);
		assert_true(flame_strip_ids(to, (struct flame_span){ name, n }) <= 2 * n + 16);
	}
	free(name);
	free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids), cmocka_unit_test(test_hex), cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
