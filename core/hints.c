/* SPDX-License-Identifier: MIT */
/*
 * hints.c - hints and their sources. What a hint is about is a set of functions: its share is all
 * that runs in them and below them, once.
 */
#define _GNU_SOURCE
#include "hints.h"

#include <assert.h>
#include <stdlib.h>

#include "functions.h"
#include "kernel.h"
#include "span.h"

enum about {
	NAMES,		/* functions whose names start so */
	SPENT,		/* time that counts as one kind of code */
	ENTRY,		/* time in the kernel, by how it was entered */
	WORK,		/* time in the kernel, by what it did */
	SYSCALL,	/* time in the kernel, by the name of the system call */
};

#define CPU (1u << FLAME_VALUE_ON_CPU | 1u << FLAME_VALUE_OTHER | 1u << FLAME_VALUE_WALL)
#define BLOCKED (1u << FLAME_VALUE_OFF_CPU | 1u << FLAME_VALUE_LOCK)
#define MAX_NAMES 8

static const struct entry {
	struct flame_hint hint;
	enum about about;
	unsigned int kinds;	/* bits of enum flame_value_kind */
	unsigned int value;	/* of enum flame_code, flame_kernel_entry or flame_kernel_work */
	const char *names[MAX_NAMES];
} entries[] = {
	{ { "gc-java", 0.08,
	    "garbage collection: look at what allocates (asprof -e alloc, JFR allocation "
	    "events) and at the heap's size",
	    "https://docs.oracle.com/en/java/javase/21/gctuning/" }, NAMES, CPU, 0,
	  { "G1", "ZMark", "ZRelocat", "Shenandoah",
	    "PSParallelCompact", "PSScavenge", "GCTaskThread", "WorkerThread::run" } },
	{ { "gc-go", 0.08,
	    "garbage collection: look at the allocs profile; fewer pointers and a higher "
	    "GOGC or GOMEMLIMIT may help",
	    "https://go.dev/doc/gc-guide" }, NAMES, CPU, 0,
	  { "runtime.gc", "runtime.bgsweep", "runtime.scan", "runtime.markroot" } },
	{ { "gc-v8", 0.08, "garbage collection: look at the allocation profile (node --heap-prof) and at --max-semi-space-size",
	    "https://nodejs.org/en/learn/diagnostics/memory/using-gc-traces" }, NAMES, CPU, 0,
	  { "(garbage collector)", "Minor GC", "Major GC",
	    "v8::internal::Heap::Collect", "v8::internal::Scaveng", "V8.GC" } },
	{ { "gc-python", 0.05,
	    "garbage collection: fewer cycles of objects, gc.freeze() or another threshold "
	    "may help",
	    "https://docs.python.org/3/library/gc.html" }, NAMES, CPU, 0,
	  { "gc_collect", "_PyGC_", "collect_generations" } },
	{ { "gc-ruby", 0.08,
	    "garbage collection: look at what allocates objects (stackprof --mode object)",
	    "https://docs.ruby-lang.org/en/master/GC.html" }, NAMES, CPU, 0,
	  { "(marking)", "(sweeping)", "rb_gc", "gc_sweep", "gc_mark" } },
	{ { "gc-dotnet", 0.08,
	    "garbage collection: look at what allocates and at the mode of the collector",
	    "https://learn.microsoft.com/en-us/dotnet/standard/garbage-collection/performance" }, NAMES, CPU, 0,
	  { "SVR::", "WKS::" } },
	{ { "alloc-go", 0.10,
	    "allocation: values that do not escape stay off the heap (go build -gcflags=-m "
	    "tells), and slices made with their capacity do not grow",
	    "https://go.dev/doc/gc-guide#Eliminating_heap_allocations" }, NAMES, CPU, 0,
	  { "runtime.mallocgc", "runtime.growslice", "runtime.makeslice", "runtime.newobject" } },
	{ { "alloc-native", 0.10,
	    "malloc and free: look at what allocates in a loop (owners above); fewer and "
	    "larger blocks, or another allocator, may help",
	    "https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html" }, NAMES, CPU, 0,
	  { "malloc", "_int_malloc", "_int_free", "__libc_malloc",
	    "operator new", "operator delete", "cfree", "realloc" } },
	{ { "exceptions-java", 0.03,
	    "stack traces of exceptions: look whether exceptions are thrown in the ordinary"
	    " course",
	    "https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/lang/Throwable.html" }, NAMES, CPU, 0,
	  { "java/lang/Throwable.fillInStackTrace",
	    "java.lang.Throwable.fillInStackTrace", "java/lang/Throwable.<init>" } },
	{ { "pattern-java", 0.03,
	    "patterns are compiled again and again: a Pattern can be compiled once and kept",
	    "https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/regex/Pattern.html" }, NAMES, CPU, 0,
	  { "java/util/regex/Pattern.compile",
	    "java.util.regex.Pattern.compile", "java/util/regex/Pattern.<init>" } },
	{ { "exceptions-native", 0.03,
	    "unwinding for exceptions: look whether they are thrown in the ordinary course",
	    "https://isocpp.github.io/CppCoreGuidelines/CppCoreGuidelines#Re-exception-types" }, NAMES, CPU, 0,
	  { "_Unwind_RaiseException", "_Unwind_Find_FDE",
	    "__cxa_throw", "uw_frame_state_for", "uw_update_context" } },
	{ { "endl", 0.02,
	    "std::endl and flush() write each line by itself: '\\n' leaves it to the buffer",
	    "https://isocpp.github.io/CppCoreGuidelines/CppCoreGuidelines#slio50-avoid-endl" }, NAMES, CPU, 0,
	  { "std::endl", "std::ostream::flush", "std::basic_ostream<char, std::char_traits<char> >::flush" } },
	{ { "regexp", 0.05,
	    "a regular expression: nested repetition such as (a+)+ backtracks without end "
	    "on some inputs",
	    "https://owasp.org/www-community/attacks/Regular_expression_Denial_of_Service_-_ReDoS" }, NAMES, CPU, 0,
	  { "RegExp: ", "RegExp:", "v8::internal::Irregexp", "java/util/regex/Pattern$",
	    "_sre_", "sre_", "onig_", "match_at" } },
	{ { "node-blocking", 0.05,
	    "work that holds up Node's event loop: synchronous calls and large JSON may be "
	    "moved off it or cut up",
	    "https://nodejs.org/en/learn/asynchronous-work/dont-block-the-event-loop" }, NAMES, CPU, 0,
	  { "pbkdf2Sync", "readFileSync", "writeFileSync", "inflateSync",
	    "deflateSync", "execSync", "JSON.parse", "scryptSync" } },
	{ { "siphash", 0.05,
	    "SipHash of HashMap: for small keys that no attacker chooses another hasher may"
	    " be faster",
	    "https://doc.rust-lang.org/std/collections/struct.HashMap.html" }, NAMES, CPU, 0,
	  { "core::hash::sip", "<core::hash::sip", "core::hash::BuildHasher::hash_one", "<std::hash::random::" } },
	{ { "concat-go", 0.05,
	    "strings put together piece by piece are copied each time: strings.Builder "
	    "grows in place",
	    "https://pkg.go.dev/strings#Builder" }, NAMES, CPU, 0, { "runtime.concatstring" } },
	{ { "python-eval", 0.30,
	    "Python's own functions are not named: record with python -X perf, or with py-"
	    "spy",
	    "https://docs.python.org/3/howto/perf_profiling.html" }, NAMES, CPU, 0,
	  { "_PyEval_EvalFrameDefault" } },
	{ { "compile", 0.15,
	    "code is compiled or loaded: the recording may show the start; record when the "
	    "program has warmed up",
	    "https://docs.oracle.com/en/java/javase/21/vm/java-hotspot-virtual-machine-performance-enhancements.html" },
	  SPENT, CPU, FLAME_CODE_JIT, { NULL } },
	{ { "locks", 0.05,
	    "locks cost time on the CPU already: waiting for them shows only in an off-CPU "
	    "or lock profile",
	    "https://www.brendangregg.com/offcpuanalysis.html" }, SPENT, CPU, FLAME_CODE_LOCK, { NULL } },
	{ { "page-faults", 0.05,
	    "page faults: memory that is used for the first time; reusing buffers, or huge "
	    "pages, may help",
	    "https://docs.kernel.org/admin-guide/mm/transhuge.html" }, ENTRY, CPU, FLAME_ENTRY_FAULT,
	  { NULL } },
	{ { "interrupts", 0.10, "interrupts and softirqs: look how they are spread over the CPUs",
	    "https://docs.kernel.org/networking/scaling.html" }, ENTRY, CPU, FLAME_ENTRY_INTERRUPT,
	  { NULL } },
	{ { "futex", 0.03,
	    "futex calls mean that threads contend or hand over: an off-CPU or lock profile"
	    " tells where they wait",
	    "https://man7.org/linux/man-pages/man2/futex.2.html" }, WORK, CPU, FLAME_WORK_FUTEX,
	  { NULL } },
	{ { "kernel-locks", 0.05,
	    "locks of the kernel: look which system calls many threads make at once on one "
	    "object",
	    "https://docs.kernel.org/locking/lockstat.html" }, WORK, CPU, FLAME_WORK_LOCK, { NULL } },
	{ { "copies", 0.08,
	    "copies between kernel and program: sendfile(), splice() or larger blocks may "
	    "save some",
	    "https://man7.org/linux/man-pages/man2/sendfile.2.html" }, WORK, CPU, FLAME_WORK_COPY,
	  { NULL } },
	{ { "switches", 0.08,
	    "the scheduler: threads wake each other often; an off-CPU profile tells for "
	    "what they wait",
	    "https://www.brendangregg.com/offcpuanalysis.html" }, WORK, CPU, FLAME_WORK_SCHEDULER,
	  { NULL } },
	{ { "profiler", 0.03,
	    "the profiler's own work is in the picture: a lower frequency disturbs less",
	    "https://man7.org/linux/man-pages/man1/perf-record.1.html" }, WORK, CPU, FLAME_WORK_PROFILER,
	  { NULL } },
	{ { "small-io", 0.10,
	    "read and write calls: look whether each moves few bytes; a buffer makes fewer "
	    "of them",
	    "https://man7.org/linux/man-pages/man3/setvbuf.3.html" }, SYSCALL, CPU, 0,
	  { "read", "write", "pread64", "pwrite64" } },
	{ { "clock", 0.03,
	    "the time is asked of the kernel: look at the clock source, as the vDSO answers"
	    " without a system call where it can",
	    "https://man7.org/linux/man-pages/man7/vdso.7.html" }, SYSCALL, CPU, 0,
	  { "clock_gettime", "gettimeofday" } },
	{ { "fsync", 0.05, "fsync waits for the device: fewer calls, each for more data, may help",
	    "https://man7.org/linux/man-pages/man2/fsync.2.html" }, SYSCALL, CPU | BLOCKED, 0,
	  { "fsync", "fdatasync", "msync" } },
	{ { "waiting-locks", 0.10,
	    "threads wait for each other: look at what the holder does under the lock "
	    "(owners above)",
	    "https://man7.org/linux/man-pages/man2/futex.2.html" }, WORK, BLOCKED, FLAME_WORK_FUTEX,
	  { NULL } },
	{ { "waiting-disk", 0.10,
	    "threads wait for a block device: look at caching and at the order of reads",
	    "https://www.brendangregg.com/offcpuanalysis.html" }, WORK, BLOCKED, FLAME_WORK_BLOCK,
	  { NULL } },
};

#define NR_ENTRIES (sizeof(entries) / sizeof(*entries))

static_assert(NR_ENTRIES <= FLAME_HINTS_MAX, "a bit for each hint");

static bool is_named(const struct entry *e, struct flame_span name, bool whole)
{
	for (size_t i = 0; i < MAX_NAMES && e->names[i]; i++) {
		if (whole ? span_equals(name, e->names[i]) : span_starts(name, e->names[i]))
			return true;
	}
	return false;
}

uint64_t flame_hints_of(struct flame_span name, enum flame_code code)
{
	uint64_t bits = 0;

	for (size_t i = 0; code != FLAME_CODE_PROJECT && i < NR_ENTRIES; i++) {
		if (entries[i].about == NAMES && is_named(&entries[i], name, false))
			bits |= 1ull << i;
	}
	return bits;
}

/* The hints that are about a call by itself. */
static uint64_t hints_of_call(const struct flame_functions *f, const struct flame_call *call)
{
	uint64_t bits = f->functions[call->function].hints;

	for (size_t i = 0; i < NR_ENTRIES; i++) {
		const struct entry *e = &entries[i];
		bool is = false;

		if (e->about == SPENT)
			is = call->spent == e->value;
		else if (call->code == FLAME_CODE_KERNEL && e->about == ENTRY)
			is = call->entry == e->value;
		else if (call->code == FLAME_CODE_KERNEL && e->about == WORK)
			is = call->work == e->value;
		else if (call->code == FLAME_CODE_KERNEL && e->about == SYSCALL && call->entry_name) {
			struct flame_span name;

			flame_kernel_entry(f->functions[f->calls[call->entry_name].function].name, &name);
			is = is_named(e, name, true);
		}
		if (is)
			bits |= 1ull << i;
	}
	return bits;
}

static int by_share(const void *a, const void *b)
{
	const struct flame_given_hint *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->hint < y->hint ? -1 : x->hint > y->hint;
}

size_t flame_hints_give(const struct flame_functions *f, enum flame_value_kind kind, struct flame_given_hint *given)
{
	uint64_t *below = calloc(f->nr_calls, sizeof(*below));
	int64_t sums[FLAME_HINTS_MAX] = { 0 };
	size_t nr = 0;

	if (!below)
		return SIZE_MAX;
	/* Names count with all that they call; the others by what is spent in each call. */
	for (uint32_t i = 1; i < f->nr_calls; i++) {
		uint64_t own = hints_of_call(f, &f->calls[i]);

		below[i] = below[f->calls[i].caller] | f->functions[f->calls[i].function].hints;
		own |= below[i];
		for (; f->calls[i].self && own; own &= own - 1)
			sums[__builtin_ctzll(own)] += f->calls[i].self;
	}
	free(below);
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		double share = f->total ? (double)sums[i] / (double)f->total : 0;

		if (entries[i].kinds >> kind & 1 && share >= entries[i].hint.min)
			given[nr++] = (struct flame_given_hint){ &entries[i].hint, share };
	}
	qsort(given, nr, sizeof(*given), by_share);
	return nr;
}
