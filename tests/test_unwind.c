/* SPDX-License-Identifier: MIT */
/* A stack of this program, copied as perf copies it, against what the C library's backtrace() says. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../core/unwind.h"

#ifdef __x86_64__

#define REGS_MASK 0xff01ffull	/* ax to ip, r8 to r15 */

struct sample {
	uint64_t regs[17];
	unsigned char stack[8192];
	size_t stack_size;
	void *trace[64];
	int nr_trace;
};

static void map_all(struct flame_unwind *u)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;
		char flags[8], path[4096] = "";
		struct flame_mapping m;

		sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095s", &start, &end, flags, &offset, path);
		m = (struct flame_mapping){ .start = start, .end = end, .offset = offset, .path = path };
		if (strchr(flags, 'x') && path[0] == '/')
			assert_int_equal(flame_unwind_map(u, &m), 0);
	}
	fclose(maps);
}

static uintptr_t stack_end;	/* what lies below can be read */

/* The copy ends where the stack ends, which no reader of other memory may notice. */
__attribute__((noinline, no_sanitize("address"))) static void take(struct sample *s)
{
	static const int order[17] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP,
				       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	const volatile unsigned char *sp;
	ucontext_t context;

	s->nr_trace = backtrace(s->trace, 64);
	getcontext(&context);
	for (int i = 0; i < 17; i++)
		s->regs[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
	sp = (const volatile unsigned char *)(uintptr_t)s->regs[7];
	if (s->stack_size > stack_end - (uintptr_t)sp)
		s->stack_size = stack_end - (uintptr_t)sp;
	for (size_t i = 0; i < s->stack_size; i++)
		s->stack[i] = sp[i];
}

__attribute__((noinline)) static int deeper(struct sample *s, int depth)
{
	volatile int left = depth;

	if (left)
		deeper(s, left - 1);
	else
		take(s);
	return left;
}

static enum flame_unwind_end unwind(struct flame_unwind *u, const struct sample *s, size_t size, uint64_t *ips, size_t *nr)
{
	struct flame_user_state state = { .regs_mask = REGS_MASK, .regs = s->regs, .nr_regs = 17, .stack = s->stack,
					  .stack_size = size };

	return flame_unwind_stack(u, &state, ips, nr);
}

static void test_own_stack(void **state)
{
	static struct sample s = { .stack_size = 3000 };
	static uint64_t ips[FLAME_UNWIND_FRAMES_MAX];
	struct flame_unwind *u, *copy;
	size_t nr, short_nr, skipped = 0;

	(void)state;
	if (!flame_unwind_available())
		skip();
	u = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	deeper(&s, 10);
	map_all(u);
	unwind(u, &s, s.stack_size, ips, &nr);
	assert_true(nr > 11);
	/*
	 * The innermost is another place of take(); return addresses are less one. The sanitizers put a
	 * function of theirs before backtrace().
	 */
	if ((uint64_t)(uintptr_t)s.trace[2] == ips[1] + 1)
		skipped = 1;
	for (size_t i = 1; i < nr && i + skipped < (size_t)s.nr_trace; i++)
		assert_int_equal(ips[i] + 1, (uint64_t)(uintptr_t)s.trace[i + skipped]);
	copy = flame_unwind_copy(u);
	flame_unwind_free(u);
	assert_int_equal(unwind(copy, &s, 64, ips, &short_nr), FLAME_UNWIND_SHORT);
	assert_true(short_nr < nr);
	flame_unwind_clear(copy);
	assert_int_equal(unwind(copy, &s, s.stack_size, ips, &nr), FLAME_UNWIND_NO_TABLE);
	assert_int_equal(nr, 1);
	map_all(copy);
	unwind(copy, &s, s.stack_size, ips, &nr);
	assert_true(nr > 11);
	flame_unwind_free(copy);
}

static void test_nothing(void **state)
{
	struct flame_user_state none = { 0 };
	uint64_t ips[FLAME_UNWIND_FRAMES_MAX];
	struct flame_unwind *u;
	size_t nr = 1;

	(void)state;
	if (!flame_unwind_available())
		skip();
	u = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	assert_int_equal(flame_unwind_stack(u, &none, ips, &nr), FLAME_UNWIND_NOTHING);
	assert_int_equal(nr, 0);
	/* Fewer values than bits. */
	none.regs_mask = REGS_MASK;
	assert_int_equal(flame_unwind_stack(u, &none, ips, &nr), FLAME_UNWIND_NOTHING);
	flame_unwind_free(u);
	u = flame_unwind_new(3, NULL);
	assert_int_equal(flame_unwind_stack(u, &none, ips, &nr), FLAME_UNWIND_NOTHING);
	flame_unwind_free(u);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct sample sorted_by_libc = { .stack_size = 4000 };

static int take_while_sorting(const void *a, const void *b)
{
	if (!sorted_by_libc.nr_trace)
		take(&sorted_by_libc);
	return by_value(a, b);
}

static struct sample in_signal = { .stack_size = 8000 };

static void take_in_signal(int nr)
{
	(void)nr;
	take(&in_signal);
}

__attribute__((noinline)) static int raise_signal(int depth)
{
	volatile int left = depth;

	if (left)
		raise_signal(left - 1);
	else
		raise(SIGUSR1);
	return left;
}

/* Rows and libdw come to the same: all of the stack, and where it is cut off anywhere. */
static void compare(const struct sample *s)
{
	static uint64_t want[FLAME_UNWIND_FRAMES_MAX], got[FLAME_UNWIND_FRAMES_MAX];
	struct flame_unwind_files *files = flame_unwind_files_new();
	struct flame_unwind *rows = flame_unwind_new(FLAME_MACHINE_X86_64, files);
	struct flame_unwind *libdw = flame_unwind_new(FLAME_MACHINE_X86_64, files);
	enum flame_unwind_end end;
	size_t nr, nr_got;

	flame_unwind_files_free(files);
	flame_unwind_only_libdw(libdw);
	map_all(rows);
	map_all(libdw);
	for (size_t size = 0; size <= s->stack_size; size += 8) {
		end = unwind(libdw, s, size, want, &nr);
		assert_int_equal(unwind(rows, s, size, got, &nr_got), end);
		assert_int_equal(nr_got, nr);
		assert_memory_equal(got, want, nr * sizeof(*got));
	}
	assert_true(nr > 4);
	flame_unwind_free(rows);
	flame_unwind_free(libdw);
}

/* Copies of the test's own stack hold what nobody wrote, which valgrind follows to the end. */
static void skip_under_valgrind(void)
{
	if (getenv("VALGRIND"))
		skip();
}

static void test_rows(void **state)
{
	static struct sample s = { .stack_size = 3000 };
	uint64_t values[] = { 5, 3, 8, 1, 9, 2, 7, 4 };
	struct sigaction action = { .sa_handler = take_in_signal };

	(void)state;
	skip_under_valgrind();
	if (!flame_unwind_available())
		skip();
	deeper(&s, 10);
	compare(&s);
	qsort(values, sizeof(values) / sizeof(*values), sizeof(*values), take_while_sorting);
	assert_true(sorted_by_libc.nr_trace);
	compare(&sorted_by_libc);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	raise_signal(5);
	assert_true(in_signal.nr_trace);
	compare(&in_signal);
}

/* At each address of some functions, the PLT's and the C library's among them, with a stack of no sense. */
static void test_addresses(void **state)
{
	const uintptr_t functions[] = { (uintptr_t)memcpy, (uintptr_t)compare, (uintptr_t)printf, (uintptr_t)raise_signal };
	static struct sample s = { .stack_size = 2048 };
	static uint64_t want[FLAME_UNWIND_FRAMES_MAX], got[FLAME_UNWIND_FRAMES_MAX];
	struct flame_unwind *rows, *libdw;
	size_t nr, nr_got;

	(void)state;
	skip_under_valgrind();
	if (!flame_unwind_available())
		skip();
	rows = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	libdw = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	flame_unwind_only_libdw(libdw);
	deeper(&s, 10);
	map_all(rows);
	map_all(libdw);
	for (size_t f = 0; f < sizeof(functions) / sizeof(*functions); f++) {
		for (int i = -2000; i < 2000; i++) {
			enum flame_unwind_end end;

			s.regs[8] = functions[f] + (uint64_t)(int64_t)i;
			end = unwind(libdw, &s, s.stack_size, want, &nr);
			assert_int_equal(unwind(rows, &s, s.stack_size, got, &nr_got), end);
			assert_int_equal(nr_got, nr);
			assert_memory_equal(got, want, nr * sizeof(*got));
		}
	}
	flame_unwind_free(rows);
	flame_unwind_free(libdw);
}

/*
 * lld puts the end of a segment and the start of the next into one page of the file, which both mappings begin or
 * end with; the page of the code lies elsewhere in memory than that of the data is linked at. _start, in whose frame there is a word
 * and a register, called compute at CALL.
 */
static void test_shared_page(void **state)
{
	enum { DATA = 0x200000, CODE = 0x201000, MOVED = 0x10000000, COMPUTE = 0x201230, CALL = 0x20126c };
	static struct sample s = { .stack_size = 128 };
	const struct flame_mapping maps[] = {
		{ .start = MOVED + DATA, .end = MOVED + CODE, .path = "tests/symbols/lld.elf" },
		{ .start = MOVED + CODE, .end = MOVED + CODE + 4096, .path = "tests/symbols/lld.elf" },
	};
	const uint64_t words[] = { MOVED + CALL, 0, 1, 0 };
	/* The second address is no code, but in the mapping: what it leads to must not spoil the next stack. */
	const uint64_t starts[] = { MOVED + COMPUTE, MOVED + CODE + 16, MOVED + COMPUTE };

	(void)state;
	if (!flame_unwind_available())
		skip();
	memcpy(s.stack, words, sizeof(words));
	s.regs[7] = 0x7fff0000;
	for (int only_libdw = 0; only_libdw < 2; only_libdw++) {
		struct flame_unwind *u = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
		uint64_t ips[FLAME_UNWIND_FRAMES_MAX];
		size_t nr;

		if (only_libdw)
			flame_unwind_only_libdw(u);
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(flame_unwind_map(u, &maps[i]), 0);
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
			s.regs[8] = starts[i];
			unwind(u, &s, s.stack_size, ips, &nr);
			assert_int_equal(nr, i == 1 ? 1 : 2);
			assert_int_equal(ips[0], starts[i]);
			assert_true(i == 1 || ips[1] == MOVED + CALL - 1);
		}
		flame_unwind_free(u);
	}
}

/* Mappings that replace parts of others, in any order. */
static void test_mappings(void **state)
{
	struct flame_unwind *u, *copy;
	uint32_t random = 7;

	(void)state;
	if (!flame_unwind_available())
		skip();
	u = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	for (int i = 0; i < 2000; i++) {
		struct flame_mapping m = { .path = i % 3 ? "/no/such/file" : NULL };

		random = random * 1664525 + 1013904223;
		m.start = random >> 20 & ~15u;
		m.end = m.start + (random >> 8 & 255);
		m.offset = random & 4095;
		assert_int_equal(flame_unwind_map(u, &m), 0);
	}
	copy = flame_unwind_copy(u);
	flame_unwind_free(u);
	flame_unwind_free(copy);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_shared_page),
		cmocka_unit_test(test_mappings),
	};

	(void)argc;
	stack_end = (uintptr_t)argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
