/* SPDX-License-Identifier: MIT */
/*
 * traits.c - what names of frames tell. Profilers print the same functions, so that one table serves all.
 */
#define _GNU_SOURCE
#include "traits.h"

#include <stdlib.h>
#include <string.h>

#include "span.h"

#define UNKNOWN FLAME_TRAIT_UNKNOWN
#define ROOT FLAME_TRAIT_ROOT
#define KERNEL FLAME_TRAIT_KERNEL
#define KROOT (FLAME_TRAIT_ROOT | FLAME_TRAIT_KERNEL)
#define KIDLE (FLAME_TRAIT_IDLE | FLAME_TRAIT_KERNEL)
#define IDLE FLAME_TRAIT_IDLE
#define WAIT FLAME_TRAIT_WAIT
#define SCHED (FLAME_TRAIT_SCHED | FLAME_TRAIT_KERNEL)
#define START (FLAME_TRAIT_START | ROOT)
#define NOT_JAVA (FLAME_TRAIT_UNKNOWN | FLAME_TRAIT_JVM)

struct named {
	const char *name;
	uint32_t traits;
};

/* In byte order. */
static const struct named names[] = {
	{ "(idle)", IDLE },
	{ "(root)", ROOT },
	{ "..libc_start_main", ROOT },
	{ "<idle>", IDLE },
	{ "<module>", FLAME_TRAIT_SCRIPT | ROOT },
	{ "??", UNKNOWN },
	{ "BaseThreadInitThunk", ROOT },
	{ "Builtins_InterpreterEntryTrampoline", FLAME_TRAIT_LOOP | FLAME_TRAIT_NODE },
	{ "Interpreter", FLAME_TRAIT_LOOP | FLAME_TRAIT_JVM },
	{ "InterpreterEntryTrampoline", FLAME_TRAIT_LOOP | FLAME_TRAIT_NODE },
	{ "PyEval_EvalFrameEx", FLAME_TRAIT_PYTHON_LOOP | FLAME_TRAIT_PYTHON },
	{ "RtlUserThreadStart", ROOT },
	{ "[GC]", 0 },
	{ "[Interpreter]", FLAME_TRAIT_JVM },
	{ "[]", UNKNOWN },
	{ "[frame_buffer_overflow]", FLAME_TRAIT_TRUNCATED },
	{ "[idle]", IDLE },
	{ "[native]", 0 },
	{ "[truncated]", FLAME_TRAIT_TRUNCATED },
	{ "[unknown]", UNKNOWN },
	{ "[unknown_Java]", NOT_JAVA },
	{ "[vm]", 0 },
	{ "_PyEval_EvalFrame", FLAME_TRAIT_PYTHON_LOOP | FLAME_TRAIT_PYTHON },
	{ "_PyEval_EvalFrameDefault", FLAME_TRAIT_PYTHON_LOOP | FLAME_TRAIT_PYTHON },
	{ "__GI___clone", ROOT },
	{ "__GI___clone3", ROOT },
	{ "__clone", ROOT },
	{ "__clone3", ROOT },
	{ "__epoll_wait", WAIT },
	{ "__futex_abstimed_wait_common", WAIT },
	{ "__libc_init_first", ROOT },
	{ "__libc_start_call_main", START },
	{ "__libc_start_main", START },
	{ "__libc_start_main_impl", START },
	{ "__lll_lock_wait", WAIT },
	{ "__poll", WAIT },
	{ "__psynch_cvwait", WAIT },
	{ "__psynch_mutexwait", WAIT },
	{ "__schedule", SCHED },
	{ "__select", WAIT },
	{ "__semwait_signal", WAIT },
	{ "__workq_kernreturn", WAIT },
	{ "_dl_start_user", ROOT },
	{ "_pthread_start", ROOT },
	{ "_start", ROOT },
	{ "_start_c", ROOT },
	{ "acpi_idle_enter", KIDLE },
	{ "acpi_safe_halt", KIDLE },
	{ "arch_cpu_idle", KIDLE },
	{ "clock_nanosleep", WAIT },
	{ "clone", ROOT },
	{ "clone3", ROOT },
	{ "cpu_idle", KIDLE },
	{ "cpu_idle_loop", KIDLE },
	{ "cpu_startup_entry", KIDLE },
	{ "cpuidle_enter", KIDLE },
	{ "cpuidle_enter_state", KIDLE },
	{ "cpuidle_idle_call", KIDLE },
	{ "default_idle", KIDLE },
	{ "default_idle_call", KIDLE },
	{ "do_idle", KIDLE },
	{ "do_syscall_64", KERNEL },
	{ "epoll_pwait", WAIT },
	{ "epoll_wait", WAIT },
	{ "execute_ex", FLAME_TRAIT_LOOP },
	{ "finish_task_switch", SCHED },
	{ "finish_task_switch.isra.0", SCHED },
	{ "intel_idle", KIDLE },
	{ "intel_idle_ibrs", KIDLE },
	{ "intel_idle_irq", KIDLE },
	{ "java.lang.Object.wait", WAIT | FLAME_TRAIT_JVM },
	{ "java.lang.Thread.run", ROOT | FLAME_TRAIT_JVM },
	{ "java.lang.Thread.sleep", WAIT | FLAME_TRAIT_JVM },
	{ "java/lang/Object.wait", WAIT | FLAME_TRAIT_JVM },
	{ "java/lang/Object.wait0", WAIT | FLAME_TRAIT_JVM },
	{ "java/lang/Thread.run", ROOT | FLAME_TRAIT_JVM },
	{ "java/lang/Thread.sleep", WAIT | FLAME_TRAIT_JVM },
	{ "jdk/internal/misc/Unsafe.park", WAIT | FLAME_TRAIT_JVM },
	{ "kevent", WAIT },
	{ "kthread", KROOT },
	{ "libc_start_main_stage2", ROOT },
	{ "luaV_execute", FLAME_TRAIT_LOOP },
	{ "mach_msg2_trap", WAIT },
	{ "mach_msg_trap", WAIT },
	{ "main", ROOT | FLAME_TRAIT_MAIN },
	{ "main.main", ROOT | FLAME_TRAIT_GO },
	{ "mwait_idle", KIDLE },
	{ "mwait_idle_with_hints.constprop.0", KIDLE },
	{ "nanosleep", WAIT },
	{ "native_safe_halt", KIDLE },
	{ "node::Start", FLAME_TRAIT_NODE },
	{ "poll", WAIT },
	{ "poll_idle", KIDLE },
	{ "ppoll", WAIT },
	{ "pthread_cond_timedwait", WAIT },
	{ "pthread_cond_wait", WAIT },
	{ "pv_native_safe_halt", KIDLE },
	{ "ret_from_fork", KROOT },
	{ "ret_from_fork_asm", KROOT },
	{ "runtime.goexit", ROOT | FLAME_TRAIT_GO },
	{ "runtime.goexit.abi0", ROOT | FLAME_TRAIT_GO },
	{ "runtime.mcall", ROOT | FLAME_TRAIT_GO },
	{ "runtime.morestack", ROOT | FLAME_TRAIT_GO },
	{ "runtime.mstart", ROOT | FLAME_TRAIT_GO },
	{ "runtime.mstart.abi0", ROOT | FLAME_TRAIT_GO },
	{ "runtime.rt0_go", ROOT | FLAME_TRAIT_GO },
	{ "runtime.rt0_go.abi0", ROOT | FLAME_TRAIT_GO },
	{ "runtime.systemstack", ROOT | FLAME_TRAIT_GO },
	{ "schedule", SCHED },
	{ "secondary_startup_64", KIDLE },
	{ "secondary_startup_64_no_verify", KIDLE },
	{ "select", WAIT },
	{ "semaphore_wait_trap", WAIT },
	{ "start", ROOT },
	{ "start_kernel", KROOT },
	{ "start_secondary", KIDLE },
	{ "start_thread", ROOT },
	{ "start_wqthread", ROOT },
	{ "sun/misc/Unsafe.park", WAIT | FLAME_TRAIT_JVM },
	{ "swapper", FLAME_TRAIT_IDLE | FLAME_TRAIT_TASK },
	{ "thread_start", ROOT },
	{ "vm_exec_core", FLAME_TRAIT_LOOP },
	{ "x86_64_start_kernel", KROOT },
};

static const struct named prefixes[] = {
	{ "Builtins_", FLAME_TRAIT_NODE },
	{ "JavaCalls::", FLAME_TRAIT_JVM },
	{ "JavaThread::", FLAME_TRAIT_JVM },
	{ "[Missed ", FLAME_TRAIT_MISSED },
	{ "[guest.kernel", KERNEL },
	{ "[kernel.", KERNEL },
	{ "[unknown", UNKNOWN },
	{ "_TAIL_CALL_", FLAME_TRAIT_PYTHON_LOOP | FLAME_TRAIT_PYTHON },
	{ "__libc_start_main@", START },
	{ "_dl_", FLAME_TRAIT_LIBC },
	{ "_rust_", FLAME_TRAIT_RUST },
	{ "asm_common_interrupt", KERNEL },
	{ "asm_exc_", KERNEL },
	{ "asm_sysvec_", KERNEL },
	{ "alloc::raw_vec::", FLAME_TRAIT_RUST },
	{ "core::iter::", FLAME_TRAIT_RUST },
	{ "core::ops::function::", FLAME_TRAIT_RUST },
	{ "core::ptr::drop_in_place", FLAME_TRAIT_RUST },
	{ "el0_", KERNEL },
	{ "el0t_", KERNEL },
	{ "el1h_", KERNEL },
	{ "entry_SYSCALL", KERNEL },
	{ "java.", FLAME_TRAIT_JVM },
	{ "java/", FLAME_TRAIT_JVM },
	{ "node::", FLAME_TRAIT_NODE },
	{ "py::", FLAME_TRAIT_SCRIPT | FLAME_TRAIT_PYTHON },
	{ "runtime.", FLAME_TRAIT_GO },
	{ "std::panicking::", FLAME_TRAIT_RUST },
	{ "std::rt::lang_start", FLAME_TRAIT_RUST },
	{ "std::sys::backtrace::", FLAME_TRAIT_RUST },
	{ "std::sys_common::backtrace::", FLAME_TRAIT_RUST },
	{ "swapper-", FLAME_TRAIT_IDLE | FLAME_TRAIT_TASK },
	{ "swapper/", FLAME_TRAIT_IDLE | FLAME_TRAIT_TASK },
	{ "v8::", FLAME_TRAIT_NODE },
};

/* Files whose code belongs to a runtime. Compared with the start of a path's last part. */
static const struct named modules[] = {
	{ "[guest.kernel", FLAME_TRAIT_KERNEL },
	{ "[kernel", FLAME_TRAIT_KERNEL },
	{ "ld-linux", FLAME_TRAIT_LIBC },
	{ "ld-musl", FLAME_TRAIT_LIBC | FLAME_TRAIT_ROOT },
	{ "libc-2.", FLAME_TRAIT_LIBC },
	{ "libc.so", FLAME_TRAIT_LIBC },
	{ "libcoreclr.so", FLAME_TRAIT_DOTNET },
	{ "libjvm.so", FLAME_TRAIT_JVM },
	{ "libnode.so", FLAME_TRAIT_NODE },
	{ "libpthread", FLAME_TRAIT_LIBC },
	{ "libpython", FLAME_TRAIT_PYTHON },
	{ "python3", FLAME_TRAIT_PYTHON },
	{ "vmlinux", FLAME_TRAIT_KERNEL },
};

/* What code made at run time lies in, as profilers name it. */
static const char *const jit_modules[] = {
	"[JIT", "[anon", "[heap", "[stack", "//anon", "anon", "jitted-", "memfd:", "perf-",
};

static int compare(struct flame_span s, const char *name)
{
	size_t len = strlen(name), n = s.len < len ? s.len : len;
	int order = n ? memcmp(s.s, name, n) : 0;

	return order ? order : s.len < len ? -1 : s.len > len;
}

static uint32_t traits_of_name(struct flame_span name)
{
	size_t low = 0, high = sizeof(names) / sizeof(*names);

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = compare(name, names[mid].name);

		if (!order)
			return names[mid].traits;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return 0;
}

static uint32_t traits_of_start(struct flame_span s, const struct named *table, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (s.len && s.s[0] == table[i].name[0] && span_starts(s, table[i].name))
			return table[i].traits;
	}
	return 0;
}

static bool is_hex(struct flame_span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr("0123456789abcdefABCDEF", s.s[i]))
			return false;
	}
	return s.len > 0;
}

/* "0x7f01a2b3", "libfoo.so`0x1f2e", "00007f01a2b3c4d5". */
static bool is_address(struct flame_span name)
{
	const char *tick = name.len ? memrchr(name.s, '`', name.len) : NULL;

	if (tick)
		name = span_from(name, (size_t)(tick + 1 - name.s));
	if (span_starts(name, "0x"))
		return is_hex(span_to(span_from(name, 2), 16)) && name.len > 4;
	return name.len == 16 && is_hex(name);
}

/* A file's name stands for a symbol: "[libfoo.so.1]", and "libfoo.so.1" where profilers write no brackets. */
static bool is_library(struct flame_span name)
{
	size_t so = span_find(name, ".so");

	if (memchr(name.s, ' ', name.len) || memchr(name.s, '(', name.len) || memchr(name.s, '`', name.len))
		return false;
	return so < name.len && (so + 3 == name.len || name.s[so + 3] == '.' || span_ends(name, "]"));
}

/* Return: the text in the brackets that are all of @name, without an address behind it; none for others. */
static struct flame_span in_brackets(struct flame_span name)
{
	struct flame_span in = { "", 0 };

	if (name.len > 2 && name.s[0] == '[' && name.s[name.len - 1] == ']')
		in = (struct flame_span){ name.s + 1, name.len - 2 };
	return span_to(in, span_find(in, " <"));
}

/* A frame that has its module's name has none of its own. */
static bool is_module_name(struct flame_span name, struct flame_span module)
{
	struct flame_span in = in_brackets(name), base = span_module_base(module);

	if (!in.len)
		return name.len && is_library(name);
	if (base.len && in.len == base.len && !memcmp(in.s, base.s, in.len))
		return true;
	return is_library(in) || span_starts(name, "[kernel") || span_starts(name, "[perf-");
}

static bool is_jit(struct flame_span name, struct flame_span module)
{
	struct flame_span in = in_brackets(name), base = span_base(module);

	for (size_t i = 0; i < sizeof(jit_modules) / sizeof(*jit_modules); i++) {
		const char *start = jit_modules[i] + (jit_modules[i][0] == '[');

		if (span_starts(base, jit_modules[i]) || span_starts(in, start))
			return true;
	}
	return false;
}

/* "main (app.py:12)", "app.py:12": what Python's own profilers write. */
static bool is_python(struct flame_span name)
{
	size_t at = span_find(name, ".py");

	return at + 3 < name.len && (name.s[at + 3] == ':' || name.s[at + 3] == ')');
}

/* The annotation of a folded name, "_[k]", and the offset before it, "+0x1f", are cut off. Return: what the first says. */
static uint32_t cut_suffix(struct flame_span *name)
{
	struct flame_span end = span_from(*name, name->len > 4 ? name->len - 4 : name->len);
	const char *plus;
	uint32_t traits = 0;

	if (span_starts(end, "_[") && span_ends(end, "]")) {
		name->len -= 4;
		traits = end.s[2] == 'k' ? FLAME_TRAIT_KERNEL : 0;
	}
	plus = name->len ? memrchr(name->s, '+', name->len) : NULL;
	if (plus && plus > name->s) {
		end = span_from(*name, (size_t)(plus - name->s));
		if (span_starts(end, "+0x") && is_hex(span_from(end, 3)))
			name->len -= end.len;
	}
	return traits;
}

static uint32_t unknown_traits(struct flame_span name, struct flame_span module, uint32_t traits)
{
	if (is_address(name))
		traits |= UNKNOWN | FLAME_TRAIT_ADDRESS;
	else if (!name.len || is_module_name(name, module))
		traits |= UNKNOWN;
	if (!name.len || (span_equals(name, "[unknown]") && (!module.len || span_equals(module, name.s))))
		traits |= UNKNOWN | FLAME_TRAIT_NOWHERE;
	if (!(traits & UNKNOWN) || traits & FLAME_TRAIT_KERNEL)
		return traits;
	return is_jit(name, module) ? traits | FLAME_TRAIT_JIT : traits;
}

/* Code that a runtime makes for itself, besides the functions that it compiles. */
static bool is_machinery(struct flame_span name)
{
	static const char *const starts[] = { "Builtin", "BytecodeHandler:", "Handler:", "RegExp:", "Stub:", "StubRoutines", "call_stub",
					      "itable stub", "vtable stub" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (span_starts(name, starts[i]))
			return true;
	}
	return false;
}

bool flame_is_nameless(struct flame_span name)
{
	return is_address(name) || (in_brackets(name).len && is_jit(name, (struct flame_span){ NULL, 0 }));
}

uint32_t flame_frame_traits(const struct flame_profile *p, flame_frame row)
{
	const struct flame_frame_info *info = flame_frame_get(p, row);
	struct flame_span name = flame_string_get(p, info->name), module = flame_string_get(p, info->module), in;
	uint32_t traits = cut_suffix(&name);

	if (info->kind == FLAME_TASK)
		return (traits_of_name(name) | traits_of_start(name, prefixes, sizeof(prefixes) / sizeof(*prefixes))) &
			       FLAME_TRAIT_IDLE ? FLAME_TRAIT_TASK | IDLE : FLAME_TRAIT_TASK;
	if (info->kind == FLAME_KERNEL)
		traits |= FLAME_TRAIT_KERNEL;
	if (info->kind == FLAME_INTERPRETED || is_python(name))
		traits |= FLAME_TRAIT_SCRIPT;
	in = in_brackets(name);
	traits |= traits_of_name(name);
	traits |= traits_of_start(name, prefixes, sizeof(prefixes) / sizeof(*prefixes));
	traits |= traits_of_start(span_module_base(module.len ? module : in), modules, sizeof(modules) / sizeof(*modules));
	if (!(traits & (FLAME_TRAIT_TRUNCATED | FLAME_TRAIT_MISSED)))
		traits = unknown_traits(name, module, traits);
	if (info->kind == FLAME_JIT && !(traits & (UNKNOWN | FLAME_TRAIT_LOOP)) && !is_machinery(name))
		traits |= FLAME_TRAIT_SCRIPT;
	return traits;
}

struct flame_span flame_frame_module(const struct flame_profile *p, flame_frame row)
{
	const struct flame_frame_info *info = flame_frame_get(p, row);
	struct flame_span name = flame_string_get(p, info->name), module = flame_string_get(p, info->module), in;
	const char *tick = name.len ? memchr(name.s, '`', name.len) : NULL;

	cut_suffix(&name);
	in = in_brackets(name);
	if (span_equals(module, "[unknown]"))
		module.len = 0;
	if (module.len)
		return module.s[0] == '[' ? module : span_module_base(module);
	if (tick)
		return span_to(name, (size_t)(tick - name.s));
	if (in.len && !span_starts(in, "unknown"))
		return span_starts(in, "kernel") ? name : in;
	return is_library(name) ? name : (struct flame_span){ "[unknown]", 9 };
}
