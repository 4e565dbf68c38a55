/* SPDX-License-Identifier: MIT */
/*
 * owner.c - whose code a function is, by tables of names and paths. Rules are tried in their order;
 * the first that matches decides, and what none matches is the project's.
 */
#define _GNU_SOURCE
#include "owner.h"

#include <stdlib.h>
#include <string.h>

#include "span.h"
#include "traits.h"

static const struct {
	const char *id, *name;
} codes[FLAME_NR_CODES] = {
	[FLAME_CODE_PROJECT] = { "project", "project code" },
	[FLAME_CODE_LIBRARY] = { "library", "third-party libraries" },
	[FLAME_CODE_STANDARD] = { "standard", "standard library" },
	[FLAME_CODE_LIBC] = { "libc", "C library" },
	[FLAME_CODE_RUNTIME] = { "runtime", "language runtime" },
	[FLAME_CODE_GC] = { "gc", "garbage collection" },
	[FLAME_CODE_JIT] = { "jit", "compiling and loading code" },
	[FLAME_CODE_ALLOCATOR] = { "allocator", "memory allocation" },
	[FLAME_CODE_LOCK] = { "lock", "locks" },
	[FLAME_CODE_KERNEL] = { "kernel", "kernel" },
	[FLAME_CODE_IDLE] = { "idle", "idle" },
	[FLAME_CODE_TYPE] = { "type", "type" },
	[FLAME_CODE_UNKNOWN] = { "unknown", "code without symbols" },
};

enum where {
	NAME_IS,	/* the whole name */
	NAME,		/* the name starts with it */
	NAME_HAS,
	GO,		/* NAME, in Go programs */
	RUST,		/* NAME, in Rust programs: "core::" is a namespace in many others */
	EXE,		/* the file name of the module is it, with a version behind it or none */
	PYTHON,		/* the source file's path starts with it, and is Python's */
	NODE,		/* the same for JavaScript */
	BASE,		/* the file name of the module starts with it */
	PATH,		/* the path of the source file or of the module starts with it */
	PATH_HAS,
	FILE_STARTS,	/* the source file's path starts with it */
};

struct rule {
	enum where where;
	const char *text;
	enum flame_code code;
};

struct rules {
	const char *why;
	bool is_native;			/* names of C that other languages' functions have too */
	const struct rule *rules;	/* ended by one without text */
};

static const struct rule idle[] = {
	{ NAME_IS, "(idle)", FLAME_CODE_IDLE },
	{ NAME_IS, "do_idle", FLAME_CODE_IDLE },
	{ NAME_IS, "cpu_idle_loop", FLAME_CODE_IDLE },
	{ NAME_IS, "cpu_startup_entry", FLAME_CODE_IDLE },
	{ NAME_IS, "cpuidle_enter_state", FLAME_CODE_IDLE },
	{ NAME_IS, "intel_idle", FLAME_CODE_IDLE },
	{ NAME_IS, "acpi_idle_enter", FLAME_CODE_IDLE },
	{ NAME_IS, "default_idle", FLAME_CODE_IDLE },
	{ NAME_IS, "pv_native_safe_halt", FLAME_CODE_IDLE },
	{ NAME_IS, "native_safe_halt", FLAME_CODE_IDLE },
	{ 0, NULL, 0 },
};

/* Entries of the kernel, for text that does not mark kernel functions. */
static const struct rule kernel[] = {
	{ BASE, "[kernel", FLAME_CODE_KERNEL },
	{ BASE, "[guest.kernel", FLAME_CODE_KERNEL },
	{ BASE, "vmlinux", FLAME_CODE_KERNEL },
	{ NAME, "[[kernel.", FLAME_CODE_KERNEL },
	{ NAME, "entry_SYSCALL_", FLAME_CODE_KERNEL },
	{ NAME_IS, "do_syscall_64", FLAME_CODE_KERNEL },
	{ NAME_IS, "el0_svc", FLAME_CODE_KERNEL },
	{ NAME_IS, "el0t_64_sync", FLAME_CODE_KERNEL },
	{ NAME_IS, "invoke_syscall", FLAME_CODE_KERNEL },
	{ NAME, "asm_exc_", FLAME_CODE_KERNEL },
	{ NAME, "asm_sysvec_", FLAME_CODE_KERNEL },
	{ NAME, "asm_common_interrupt", FLAME_CODE_KERNEL },
	{ NAME_IS, "page_fault", FLAME_CODE_KERNEL },
	{ NAME_IS, "async_page_fault", FLAME_CODE_KERNEL },
	{ NAME_IS, "apic_timer_interrupt", FLAME_CODE_KERNEL },
	{ NAME_IS, "ret_from_fork", FLAME_CODE_KERNEL },
	{ NAME_IS, "ret_from_fork_asm", FLAME_CODE_KERNEL },
	{ NAME_IS, "kthread", FLAME_CODE_KERNEL },
	{ NAME_IS, "worker_thread", FLAME_CODE_KERNEL },
	{ NAME, "__x64_sys_", FLAME_CODE_KERNEL },
	{ NAME, "__arm64_sys_", FLAME_CODE_KERNEL },
	{ NAME, "__do_sys_", FLAME_CODE_KERNEL },
	{ NAME, "__se_sys_", FLAME_CODE_KERNEL },
	{ 0, NULL, 0 },
};

static const struct rule collectors[] = {
	{ NAME_IS, "(garbage collector)", FLAME_CODE_GC },
	{ NAME, "Minor GC", FLAME_CODE_GC },
	{ NAME, "Major GC", FLAME_CODE_GC },
	{ NAME, "V8.GC", FLAME_CODE_GC },
	{ NAME, "v8::internal::Heap::CollectGarbage", FLAME_CODE_GC },
	{ NAME, "v8::internal::Scaveng", FLAME_CODE_GC },
	{ NAME, "v8::internal::MarkCompact", FLAME_CODE_GC },
	{ NAME, "v8::internal::ConcurrentMarking", FLAME_CODE_GC },
	{ NAME, "v8::internal::Mark", FLAME_CODE_GC },
	{ NAME, "v8::internal::Sweeper", FLAME_CODE_GC },
	{ NAME_HAS, "v8::internal::ScavengerCollector", FLAME_CODE_GC },
	{ NAME, "G1", FLAME_CODE_GC },
	{ NAME, "void G1", FLAME_CODE_GC },
	{ NAME, "ZMark", FLAME_CODE_GC },
	{ NAME, "ZRelocat", FLAME_CODE_GC },
	{ NAME, "ZDriver", FLAME_CODE_GC },
	{ NAME, "ZHeap", FLAME_CODE_GC },
	{ NAME, "ZBarrier", FLAME_CODE_GC },
	{ NAME, "Shenandoah", FLAME_CODE_GC },
	{ NAME, "PSParallelCompact", FLAME_CODE_GC },
	{ NAME, "PSScavenge", FLAME_CODE_GC },
	{ NAME, "PSPromotionManager", FLAME_CODE_GC },
	{ NAME, "GCTaskThread::", FLAME_CODE_GC },
	{ NAME, "GangWorker::", FLAME_CODE_GC },
	{ NAME, "WorkerThread::run", FLAME_CODE_GC },
	{ NAME, "VM_GC", FLAME_CODE_GC },
	{ NAME, "VM_G1", FLAME_CODE_GC },
	{ NAME, "GenCollectedHeap::", FLAME_CODE_GC },
	{ NAME, "MarkSweep::", FLAME_CODE_GC },
	{ NAME, "runtime.gc", FLAME_CODE_GC },
	{ NAME, "runtime.(*gc", FLAME_CODE_GC },
	{ NAME, "runtime.bgsweep", FLAME_CODE_GC },
	{ NAME, "runtime.bgscavenge", FLAME_CODE_GC },
	{ NAME, "runtime.scan", FLAME_CODE_GC },
	{ NAME, "runtime.markroot", FLAME_CODE_GC },
	{ NAME, "runtime.greyobject", FLAME_CODE_GC },
	{ NAME, "runtime.sweepone", FLAME_CODE_GC },
	{ NAME, "runtime.(*sweepLocked)", FLAME_CODE_GC },
	{ NAME, "runtime.wbBufFlush", FLAME_CODE_GC },
	{ NAME_IS, "gc_collect_main", FLAME_CODE_GC },
	{ NAME_IS, "_PyGC_Collect", FLAME_CODE_GC },
	{ NAME, "gc_collect", FLAME_CODE_GC },
	{ NAME_IS, "collect_generations", FLAME_CODE_GC },
	{ NAME_IS, "deduce_unreachable", FLAME_CODE_GC },
	{ NAME, "SVR::", FLAME_CODE_GC },
	{ NAME, "WKS::", FLAME_CODE_GC },
	{ NAME_IS, "(marking)", FLAME_CODE_GC },
	{ NAME_IS, "(sweeping)", FLAME_CODE_GC },
	{ NAME, "gc_sweep", FLAME_CODE_GC },
	{ NAME, "gc_mark", FLAME_CODE_GC },
	{ NAME, "gc_start", FLAME_CODE_GC },
	{ NAME, "rb_gc", FLAME_CODE_GC },
	{ NAME, "GarbageCollect", FLAME_CODE_GC },
	{ BASE, "libclrgc", FLAME_CODE_GC },
	{ 0, NULL, 0 },
};

static const struct rule compilers[] = {
	{ NAME, "CompileBroker::", FLAME_CODE_JIT },
	{ NAME, "C2Compiler::", FLAME_CODE_JIT },
	{ NAME, "Compiler::compile_method", FLAME_CODE_JIT },
	{ NAME, "Compile::", FLAME_CODE_JIT },
	{ NAME, "Compilation::", FLAME_CODE_JIT },
	{ NAME, "PhaseIdealLoop::", FLAME_CODE_JIT },
	{ NAME, "PhaseChaitin::", FLAME_CODE_JIT },
	{ NAME, "CompilerThread::", FLAME_CODE_JIT },
	{ NAME, "v8::internal::Compiler::", FLAME_CODE_JIT },
	{ NAME, "v8::internal::compiler::", FLAME_CODE_JIT },
	{ NAME, "v8::internal::OptimizingCompile", FLAME_CODE_JIT },
	{ NAME, "v8::internal::OptimizedCompilation", FLAME_CODE_JIT },
	{ NAME, "v8::internal::parsing::", FLAME_CODE_JIT },
	{ NAME, "v8::internal::Parser", FLAME_CODE_JIT },
	{ NAME, "v8::internal::baseline::", FLAME_CODE_JIT },
	{ NAME, "v8::internal::maglev::", FLAME_CODE_JIT },
	{ NAME, "V8.Compile", FLAME_CODE_JIT },
	{ NAME_IS, "Compile Code", FLAME_CODE_JIT },
	{ NAME_IS, "(compiler)", FLAME_CODE_JIT },
	{ NAME, "compileForInternalLoader", FLAME_CODE_JIT },
	{ NAME, "wrapSafe", FLAME_CODE_JIT },
	{ BASE, "libclrjit", FLAME_CODE_JIT },
	{ NAME_IS, "_find_and_load", FLAME_CODE_JIT },
	{ NAME_IS, "_find_and_load_unlocked", FLAME_CODE_JIT },
	{ NAME_IS, "_dl_relocate_object", FLAME_CODE_JIT },
	{ NAME_IS, "_dl_lookup_symbol_x", FLAME_CODE_JIT },
	{ NAME_IS, "do_lookup_x", FLAME_CODE_JIT },
	{ NAME, "java/lang/ClassLoader.", FLAME_CODE_JIT },
	{ NAME, "java.lang.ClassLoader.", FLAME_CODE_JIT },
	{ NAME, "SystemDictionary::", FLAME_CODE_JIT },
	{ 0, NULL, 0 },
};

static const struct rule allocators[] = {
	{ NAME_IS, "malloc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "calloc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "realloc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "free", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "cfree", FLAME_CODE_ALLOCATOR },
	{ NAME, "cfree@", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "_int_malloc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "_int_free", FLAME_CODE_ALLOCATOR },
	{ NAME, "_int_free_", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "_int_realloc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "_int_memalign", FLAME_CODE_ALLOCATOR },
	{ NAME, "__libc_malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__libc_calloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__libc_realloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__libc_free", FLAME_CODE_ALLOCATOR },
	{ NAME, "__GI___libc_malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__GI___libc_free", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "posix_memalign", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "aligned_alloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "malloc_consolidate", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "unlink_chunk", FLAME_CODE_ALLOCATOR },
	{ NAME, "unlink_chunk.", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "sysmalloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "systrim", FLAME_CODE_ALLOCATOR },
	{ NAME, "tcache_", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "operator new", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "operator new[]", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "operator delete", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "operator delete[]", FLAME_CODE_ALLOCATOR },
	{ NAME, "je_", FLAME_CODE_ALLOCATOR },
	{ NAME, "tc_malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "tc_new", FLAME_CODE_ALLOCATOR },
	{ NAME, "tc_delete", FLAME_CODE_ALLOCATOR },
	{ NAME, "tc_free", FLAME_CODE_ALLOCATOR },
	{ NAME, "tcmalloc::", FLAME_CODE_ALLOCATOR },
	{ NAME, "mi_malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "mi_free", FLAME_CODE_ALLOCATOR },
	{ NAME, "_mi_", FLAME_CODE_ALLOCATOR },
	{ NAME, "__rust_alloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__rust_dealloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__rust_realloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "__rdl_", FLAME_CODE_ALLOCATOR },
	{ RUST, "alloc::alloc::", FLAME_CODE_ALLOCATOR },
	{ RUST, "alloc::raw_vec::", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.mallocgc", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "runtime.newobject", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.makeslice", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.growslice", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.makemap", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.(*mcache)", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.(*mcentral)", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.(*mheap)", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.rawbyteslice", FLAME_CODE_ALLOCATOR },
	{ NAME, "runtime.rawstring", FLAME_CODE_ALLOCATOR },
	{ NAME, "MemAllocator::", FLAME_CODE_ALLOCATOR },
	{ NAME, "ObjArrayAllocator::", FLAME_CODE_ALLOCATOR },
	{ NAME, "OptoRuntime::new_", FLAME_CODE_ALLOCATOR },
	{ NAME, "Runtime1::new_", FLAME_CODE_ALLOCATOR },
	{ NAME, "InterpreterRuntime::_new", FLAME_CODE_ALLOCATOR },
	{ NAME, "InterpreterRuntime::newarray", FLAME_CODE_ALLOCATOR },
	{ NAME, "InterpreterRuntime::anewarray", FLAME_CODE_ALLOCATOR },
	{ NAME, "new_multi_array Runtime1", FLAME_CODE_ALLOCATOR },
	{ NAME, "v8::internal::Factory::New", FLAME_CODE_ALLOCATOR },
	{ NAME, "v8::internal::Heap::AllocateRaw", FLAME_CODE_ALLOCATOR },
	{ NAME, "Builtins_AllocateIn", FLAME_CODE_ALLOCATOR },
	{ NAME, "_PyObject_Malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "_PyObject_Free", FLAME_CODE_ALLOCATOR },
	{ NAME, "PyObject_Malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "PyObject_Free", FLAME_CODE_ALLOCATOR },
	{ NAME, "PyMem_Malloc", FLAME_CODE_ALLOCATOR },
	{ NAME, "pymalloc_", FLAME_CODE_ALLOCATOR },
	{ NAME_IS, "Class#new", FLAME_CODE_ALLOCATOR },
	{ NAME, "JIT_New", FLAME_CODE_ALLOCATOR },
	{ BASE, "libasyncProfiler", FLAME_CODE_ALLOCATOR },
	{ BASE, "libjemalloc", FLAME_CODE_ALLOCATOR },
	{ BASE, "libtcmalloc", FLAME_CODE_ALLOCATOR },
	{ BASE, "libmimalloc", FLAME_CODE_ALLOCATOR },
	{ 0, NULL, 0 },
};

static const struct rule locks[] = {
	{ NAME, "pthread_mutex_", FLAME_CODE_LOCK },
	{ NAME, "__pthread_mutex_", FLAME_CODE_LOCK },
	{ NAME, "___pthread_mutex_", FLAME_CODE_LOCK },
	{ NAME, "__GI___pthread_mutex_", FLAME_CODE_LOCK },
	{ NAME, "pthread_cond_", FLAME_CODE_LOCK },
	{ NAME, "__pthread_cond_", FLAME_CODE_LOCK },
	{ NAME, "___pthread_cond_", FLAME_CODE_LOCK },
	{ NAME, "pthread_rwlock_", FLAME_CODE_LOCK },
	{ NAME, "__pthread_rwlock_", FLAME_CODE_LOCK },
	{ NAME, "__lll_lock_wait", FLAME_CODE_LOCK },
	{ NAME, "__lll_unlock_wake", FLAME_CODE_LOCK },
	{ NAME, "lll_mutex_lock", FLAME_CODE_LOCK },
	{ NAME, "__new_sem_wait", FLAME_CODE_LOCK },
	{ NAME, "sem_wait", FLAME_CODE_LOCK },
	{ NAME, "__futex_abstimed_wait", FLAME_CODE_LOCK },
	{ NAME, "std::mutex::", FLAME_CODE_LOCK },
	{ NAME, "std::condition_variable", FLAME_CODE_LOCK },
	{ NAME, "std::sys::sync::mutex", FLAME_CODE_LOCK },
	{ NAME, "std::sys::unix::locks", FLAME_CODE_LOCK },
	{ NAME, "parking_lot", FLAME_CODE_LOCK },
	{ NAME, "sync.(*Mutex)", FLAME_CODE_LOCK },
	{ NAME, "sync.(*RWMutex)", FLAME_CODE_LOCK },
	{ NAME, "sync.runtime_Semacquire", FLAME_CODE_LOCK },
	{ NAME, "runtime.lock2", FLAME_CODE_LOCK },
	{ NAME, "runtime.unlock2", FLAME_CODE_LOCK },
	{ NAME, "runtime.semacquire", FLAME_CODE_LOCK },
	{ NAME, "runtime.semrelease", FLAME_CODE_LOCK },
	{ NAME, "ObjectMonitor::", FLAME_CODE_LOCK },
	{ NAME, "ObjectSynchronizer::", FLAME_CODE_LOCK },
	{ NAME, "SharedRuntime::complete_monitor", FLAME_CODE_LOCK },
	{ NAME, "java/util/concurrent/locks/", FLAME_CODE_LOCK },
	{ NAME, "java.util.concurrent.locks.", FLAME_CODE_LOCK },
	{ NAME, "take_gil", FLAME_CODE_LOCK },
	{ NAME, "drop_gil", FLAME_CODE_LOCK },
	{ NAME, "uv_mutex_lock", FLAME_CODE_LOCK },
	{ NAME, "uv_cond_", FLAME_CODE_LOCK },
	{ 0, NULL, 0 },
};

static const struct rule runtimes[] = {
	{ NAME_IS, "(program)", FLAME_CODE_RUNTIME },
	{ NAME_IS, "(root)", FLAME_CODE_RUNTIME },
	{ NAME, "RegExp: ", FLAME_CODE_RUNTIME },
	{ NAME, "RegExp:", FLAME_CODE_RUNTIME },
	{ NAME, "v8::", FLAME_CODE_RUNTIME },
	{ NAME, "Builtins_", FLAME_CODE_RUNTIME },
	{ NAME, "Builtin:", FLAME_CODE_RUNTIME },
	{ NAME, "BytecodeHandler:", FLAME_CODE_RUNTIME },
	{ NAME, "Stub:", FLAME_CODE_RUNTIME },
	{ NAME, "node::", FLAME_CODE_RUNTIME },
	{ NAME, "uv_", FLAME_CODE_RUNTIME },
	{ NAME, "uv__", FLAME_CODE_RUNTIME },
	{ FILE_STARTS, "node:", FLAME_CODE_STANDARD },
	{ NODE, "internal/", FLAME_CODE_STANDARD },
	{ NAME_HAS, " node:internal/", FLAME_CODE_STANDARD },
	{ NAME, "runtime.", FLAME_CODE_RUNTIME },
	{ NAME, "runtime/internal/", FLAME_CODE_RUNTIME },
	{ NAME, "internal/runtime/", FLAME_CODE_RUNTIME },
	{ NAME, "internal/abi.", FLAME_CODE_RUNTIME },
	{ NAME_HAS, "$$Lambda", FLAME_CODE_RUNTIME },
	{ NAME_HAS, "$Proxy", FLAME_CODE_RUNTIME },
	{ NAME_HAS, "LambdaForm$", FLAME_CODE_RUNTIME },
	{ NAME_HAS, "GeneratedMethodAccessor", FLAME_CODE_RUNTIME },
	{ NAME, "JavaThread::", FLAME_CODE_RUNTIME },
	{ NAME, "JavaCalls::", FLAME_CODE_RUNTIME },
	{ NAME, "JVM_", FLAME_CODE_RUNTIME },
	{ NAME, "jni_", FLAME_CODE_RUNTIME },
	{ NAME, "Unsafe_", FLAME_CODE_RUNTIME },
	{ NAME_IS, "Interpreter", FLAME_CODE_RUNTIME },
	{ NAME_IS, "call_stub", FLAME_CODE_RUNTIME },
	{ NAME_IS, "thread_native_entry", FLAME_CODE_RUNTIME },
	{ NAME, "Thread::call_run", FLAME_CODE_RUNTIME },
	{ NAME, "_PyEval_", FLAME_CODE_RUNTIME },
	{ NAME, "PyEval_", FLAME_CODE_RUNTIME },
	{ NAME, "_PyFunction_", FLAME_CODE_RUNTIME },
	{ NAME, "_PyObject_", FLAME_CODE_RUNTIME },
	{ NAME, "PyObject_", FLAME_CODE_RUNTIME },
	{ NAME, "_Py", FLAME_CODE_RUNTIME },
	{ NAME, "Py_", FLAME_CODE_RUNTIME },
	{ NAME, "rb_", FLAME_CODE_RUNTIME },
	{ NAME, "vm_exec", FLAME_CODE_RUNTIME },
	{ NAME_IS, "<main>", FLAME_CODE_RUNTIME },
	{ BASE, "libjvm", FLAME_CODE_RUNTIME },
	{ BASE, "libpython", FLAME_CODE_RUNTIME },
	{ BASE, "libruby", FLAME_CODE_RUNTIME },
	{ BASE, "libperl", FLAME_CODE_RUNTIME },
	{ BASE, "libnode", FLAME_CODE_RUNTIME },
	{ BASE, "libv8", FLAME_CODE_RUNTIME },
	{ BASE, "libcoreclr", FLAME_CODE_RUNTIME },
	{ BASE, "libuv.", FLAME_CODE_RUNTIME },
	{ BASE, "libmono", FLAME_CODE_RUNTIME },
	{ 0, NULL, 0 },
};

static const struct rule libc[] = {
	{ BASE, "libc.so", FLAME_CODE_LIBC },
	{ BASE, "libc-2.", FLAME_CODE_LIBC },
	{ BASE, "libm.so", FLAME_CODE_LIBC },
	{ BASE, "libm-2.", FLAME_CODE_LIBC },
	{ BASE, "libpthread", FLAME_CODE_LIBC },
	{ BASE, "libdl.so", FLAME_CODE_LIBC },
	{ BASE, "librt.so", FLAME_CODE_LIBC },
	{ BASE, "ld-linux", FLAME_CODE_LIBC },
	{ BASE, "ld-musl", FLAME_CODE_LIBC },
	{ BASE, "ld-2.", FLAME_CODE_LIBC },
	{ BASE, "ld.so", FLAME_CODE_LIBC },
	{ BASE, "libsystem_", FLAME_CODE_LIBC },
	{ BASE, "[vdso]", FLAME_CODE_LIBC },
	{ NAME_IS, "[vdso]", FLAME_CODE_LIBC },
	{ NAME, "[libc.so", FLAME_CODE_LIBC },
	{ NAME, "[ld-linux", FLAME_CODE_LIBC },
	{ NAME_IS, "_start", FLAME_CODE_LIBC },
	{ NAME_IS, "start_thread", FLAME_CODE_LIBC },
	{ NAME_IS, "clone", FLAME_CODE_LIBC },
	{ NAME_IS, "clone3", FLAME_CODE_LIBC },
	{ NAME_IS, "__clone3", FLAME_CODE_LIBC },
	{ NAME, "__libc_", FLAME_CODE_LIBC },
	{ NAME, "__GI_", FLAME_CODE_LIBC },
	{ NAME, "_IO_", FLAME_CODE_LIBC },
	{ NAME, "__mem", FLAME_CODE_LIBC },
	{ NAME, "__str", FLAME_CODE_LIBC },
	{ NAME_IS, "memcpy", FLAME_CODE_LIBC },
	{ NAME_IS, "memmove", FLAME_CODE_LIBC },
	{ NAME_IS, "memset", FLAME_CODE_LIBC },
	{ NAME_IS, "memcmp", FLAME_CODE_LIBC },
	{ NAME_IS, "memchr", FLAME_CODE_LIBC },
	{ NAME_IS, "strlen", FLAME_CODE_LIBC },
	{ NAME_IS, "strcmp", FLAME_CODE_LIBC },
	{ NAME_IS, "strchr", FLAME_CODE_LIBC },
	{ NAME_IS, "qsort", FLAME_CODE_LIBC },
	{ NAME_IS, "qsort_r", FLAME_CODE_LIBC },
	{ NAME, "__qsort_r", FLAME_CODE_LIBC },
	{ NAME, "msort_with_tmp", FLAME_CODE_LIBC },
	{ NAME, "__vfprintf", FLAME_CODE_LIBC },
	{ NAME, "vfprintf", FLAME_CODE_LIBC },
	{ NAME, "__printf", FLAME_CODE_LIBC },
	{ NAME_IS, "syscall", FLAME_CODE_LIBC },
	{ NAME_IS, "__read", FLAME_CODE_LIBC },
	{ NAME_IS, "__write", FLAME_CODE_LIBC },
	{ NAME_IS, "read", FLAME_CODE_LIBC },
	{ NAME_IS, "write", FLAME_CODE_LIBC },
	{ NAME_IS, "nanosleep", FLAME_CODE_LIBC },
	{ NAME_IS, "usleep", FLAME_CODE_LIBC },
	{ NAME_IS, "sched_yield", FLAME_CODE_LIBC },
	{ NAME, "__mmap", FLAME_CODE_LIBC },
	{ NAME, "mmap", FLAME_CODE_LIBC },
	{ NAME_IS, "munmap", FLAME_CODE_LIBC },
	{ NAME_IS, "__munmap", FLAME_CODE_LIBC },
	{ NAME_IS, "madvise", FLAME_CODE_LIBC },
	{ NAME_IS, "__madvise", FLAME_CODE_LIBC },
	{ NAME_IS, "brk", FLAME_CODE_LIBC },
	{ NAME_IS, "__brk", FLAME_CODE_LIBC },
	{ NAME_IS, "unlink", FLAME_CODE_LIBC },
	{ NAME_IS, "fsync", FLAME_CODE_LIBC },
	{ NAME, "__open64", FLAME_CODE_LIBC },
	{ NAME_IS, "__close", FLAME_CODE_LIBC },
	{ NAME_IS, "ioctl", FLAME_CODE_LIBC },
	{ NAME, "__getdents", FLAME_CODE_LIBC },
	{ NAME, "__recv", FLAME_CODE_LIBC },
	{ NAME, "__send", FLAME_CODE_LIBC },
	{ NAME, "pread64", FLAME_CODE_LIBC },
	{ NAME, "pwrite64", FLAME_CODE_LIBC },
	{ NAME, "clock_nanosleep", FLAME_CODE_LIBC },
	{ NAME, "__clock_gettime", FLAME_CODE_LIBC },
	{ NAME, "epoll_wait", FLAME_CODE_LIBC },
	{ NAME, "__select", FLAME_CODE_LIBC },
	{ NAME, "__poll", FLAME_CODE_LIBC },
	{ 0, NULL, 0 },
};

static const struct rule standard[] = {
	{ NAME, "std::", FLAME_CODE_STANDARD },
	{ RUST, "core::", FLAME_CODE_STANDARD },
	{ RUST, "alloc::", FLAME_CODE_STANDARD },
	{ NAME, "<std::", FLAME_CODE_STANDARD },
	{ RUST, "<core::", FLAME_CODE_STANDARD },
	{ RUST, "<alloc::", FLAME_CODE_STANDARD },
	{ RUST, "<&", FLAME_CODE_STANDARD },
	{ NAME, "__gnu_cxx::", FLAME_CODE_STANDARD },
	{ NAME, "__cxxabiv1::", FLAME_CODE_STANDARD },
	{ NAME, "__cxa_", FLAME_CODE_STANDARD },
	{ NAME, "__rust_begin_short_backtrace", FLAME_CODE_STANDARD },
	{ NAME, "__rustc", FLAME_CODE_STANDARD },
	{ NAME, "rust_begin_unwind", FLAME_CODE_STANDARD },
	{ NAME, "bool std::", FLAME_CODE_STANDARD },
	{ NAME, "void std::", FLAME_CODE_STANDARD },
	{ BASE, "libstdc++", FLAME_CODE_STANDARD },
	{ BASE, "libc++", FLAME_CODE_STANDARD },
	{ BASE, "libgcc_s", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/library/core/src/", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/library/alloc/src/", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/library/std/src/", FLAME_CODE_STANDARD },
	{ FILE_STARTS, "/rustc/", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/include/c++/", FLAME_CODE_STANDARD },
	{ NAME, "java/", FLAME_CODE_STANDARD },
	{ NAME, "javax/", FLAME_CODE_STANDARD },
	{ NAME, "jdk/", FLAME_CODE_STANDARD },
	{ NAME, "sun/", FLAME_CODE_STANDARD },
	{ NAME, "com/sun/", FLAME_CODE_STANDARD },
	{ NAME, "java.", FLAME_CODE_STANDARD },
	{ NAME, "javax.", FLAME_CODE_STANDARD },
	{ NAME, "jdk.", FLAME_CODE_STANDARD },
	{ NAME, "sun.", FLAME_CODE_STANDARD },
	{ NAME, "com.sun.", FLAME_CODE_STANDARD },
	{ NAME, "kotlin/", FLAME_CODE_STANDARD },
	{ NAME, "kotlin.", FLAME_CODE_STANDARD },
	{ NAME, "kotlinx.", FLAME_CODE_STANDARD },
	{ NAME, "kotlinx/", FLAME_CODE_STANDARD },
	{ NAME, "scala/", FLAME_CODE_STANDARD },
	{ NAME, "scala.", FLAME_CODE_STANDARD },
	{ NAME, "clojure.", FLAME_CODE_STANDARD },
	{ NAME, "clojure/", FLAME_CODE_STANDARD },
	{ NAME, "System.", FLAME_CODE_STANDARD },
	{ NAME, "Microsoft.", FLAME_CODE_STANDARD },
	{ NAME, "php::", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/go/src/internal/", FLAME_CODE_STANDARD },
	{ PATH, "/usr/local/go/src/", FLAME_CODE_STANDARD },
	{ PATH, "/usr/lib/go", FLAME_CODE_STANDARD },
	{ PATH, "/usr/share/go", FLAME_CODE_STANDARD },
	{ FILE_STARTS, "<cfunc>", FLAME_CODE_STANDARD },
	{ FILE_STARTS, "<internal:", FLAME_CODE_STANDARD },
	{ FILE_STARTS, "<frozen ", FLAME_CODE_STANDARD },
	{ 0, NULL, 0 },
};

static const struct rule go_packages[] = {
	{ GO, "bufio.", FLAME_CODE_STANDARD },
	{ GO, "bytes.", FLAME_CODE_STANDARD },
	{ GO, "cmp.", FLAME_CODE_STANDARD },
	{ GO, "archive/", FLAME_CODE_STANDARD },
	{ GO, "compress/", FLAME_CODE_STANDARD },
	{ GO, "container/", FLAME_CODE_STANDARD },
	{ GO, "context.", FLAME_CODE_STANDARD },
	{ GO, "crypto.", FLAME_CODE_STANDARD },
	{ GO, "crypto/", FLAME_CODE_STANDARD },
	{ GO, "database/", FLAME_CODE_STANDARD },
	{ GO, "encoding/", FLAME_CODE_STANDARD },
	{ GO, "errors.", FLAME_CODE_STANDARD },
	{ GO, "expvar.", FLAME_CODE_STANDARD },
	{ GO, "flag.", FLAME_CODE_STANDARD },
	{ GO, "fmt.", FLAME_CODE_STANDARD },
	{ GO, "go/", FLAME_CODE_STANDARD },
	{ GO, "hash.", FLAME_CODE_STANDARD },
	{ GO, "hash/", FLAME_CODE_STANDARD },
	{ GO, "html.", FLAME_CODE_STANDARD },
	{ GO, "html/", FLAME_CODE_STANDARD },
	{ GO, "image.", FLAME_CODE_STANDARD },
	{ GO, "image/", FLAME_CODE_STANDARD },
	{ GO, "index/", FLAME_CODE_STANDARD },
	{ GO, "internal/", FLAME_CODE_STANDARD },
	{ GO, "io.", FLAME_CODE_STANDARD },
	{ GO, "io/", FLAME_CODE_STANDARD },
	{ GO, "iter.", FLAME_CODE_STANDARD },
	{ GO, "log.", FLAME_CODE_STANDARD },
	{ GO, "log/", FLAME_CODE_STANDARD },
	{ GO, "maps.", FLAME_CODE_STANDARD },
	{ GO, "math.", FLAME_CODE_STANDARD },
	{ GO, "math/", FLAME_CODE_STANDARD },
	{ GO, "mime.", FLAME_CODE_STANDARD },
	{ GO, "mime/", FLAME_CODE_STANDARD },
	{ GO, "net.", FLAME_CODE_STANDARD },
	{ GO, "net/", FLAME_CODE_STANDARD },
	{ GO, "os.", FLAME_CODE_STANDARD },
	{ GO, "os/", FLAME_CODE_STANDARD },
	{ GO, "path.", FLAME_CODE_STANDARD },
	{ GO, "path/", FLAME_CODE_STANDARD },
	{ GO, "reflect.", FLAME_CODE_STANDARD },
	{ GO, "regexp.", FLAME_CODE_STANDARD },
	{ GO, "regexp/", FLAME_CODE_STANDARD },
	{ GO, "runtime/", FLAME_CODE_RUNTIME },
	{ GO, "slices.", FLAME_CODE_STANDARD },
	{ GO, "sort.", FLAME_CODE_STANDARD },
	{ GO, "strconv.", FLAME_CODE_STANDARD },
	{ GO, "strings.", FLAME_CODE_STANDARD },
	{ GO, "sync.", FLAME_CODE_STANDARD },
	{ GO, "sync/", FLAME_CODE_STANDARD },
	{ GO, "syscall.", FLAME_CODE_STANDARD },
	{ GO, "testing.", FLAME_CODE_STANDARD },
	{ GO, "text/", FLAME_CODE_STANDARD },
	{ GO, "time.", FLAME_CODE_STANDARD },
	{ GO, "unicode.", FLAME_CODE_STANDARD },
	{ GO, "unicode/", FLAME_CODE_STANDARD },
	{ GO, "unique.", FLAME_CODE_STANDARD },
	{ GO, "vendor/golang.org/", FLAME_CODE_STANDARD },
	{ GO, "golang.org/x/", FLAME_CODE_LIBRARY },
	{ GO, "google.golang.org/", FLAME_CODE_LIBRARY },
	{ GO, "type:.eq", FLAME_CODE_RUNTIME },
	{ GO, "gogo", FLAME_CODE_RUNTIME },
	{ GO, "gosave_systemstack_switch", FLAME_CODE_RUNTIME },
	{ GO, "memeqbody", FLAME_CODE_RUNTIME },
	{ GO, "cmpbody", FLAME_CODE_RUNTIME },
	{ GO, "aeshashbody", FLAME_CODE_RUNTIME },
	{ GO, "indexbytebody", FLAME_CODE_RUNTIME },
	{ 0, NULL, 0 },
};

static const struct rule vendored[] = {
	{ PATH_HAS, "/node_modules/", FLAME_CODE_LIBRARY },
	{ FILE_STARTS, "node_modules/", FLAME_CODE_LIBRARY },
	{ NAME_HAS, "/node_modules/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/site-packages/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/dist-packages/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/.cargo/registry/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/.cargo/git/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/cargo/registry/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/pkg/mod/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/vendor/", FLAME_CODE_LIBRARY },
	{ FILE_STARTS, "vendor/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/third_party/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/third-party/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/external/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/gems/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/.m2/repository/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/.gradle/", FLAME_CODE_LIBRARY },
	{ PATH_HAS, "/lib/python", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/lib/ruby/", FLAME_CODE_STANDARD },
	{ PATH_HAS, "/share/perl", FLAME_CODE_STANDARD },
	{ PATH, "/usr/lib/", FLAME_CODE_LIBRARY },
	{ PATH, "/usr/lib64/", FLAME_CODE_LIBRARY },
	{ PATH, "/lib/", FLAME_CODE_LIBRARY },
	{ PATH, "/lib64/", FLAME_CODE_LIBRARY },
	{ PATH, "/usr/local/lib/", FLAME_CODE_LIBRARY },
	{ PATH, "/usr/include/", FLAME_CODE_LIBRARY },
	{ PATH, "/usr/share/", FLAME_CODE_LIBRARY },
	{ PATH, "/nix/store/", FLAME_CODE_LIBRARY },
	{ PATH, "/System/Library/", FLAME_CODE_LIBRARY },
	{ 0, NULL, 0 },
};

static const struct rule known_libraries[] = {
	{ NAME, "org/springframework/", FLAME_CODE_LIBRARY },
	{ NAME, "org.springframework.", FLAME_CODE_LIBRARY },
	{ NAME, "org/apache/", FLAME_CODE_LIBRARY },
	{ NAME, "org.apache.", FLAME_CODE_LIBRARY },
	{ NAME, "org/eclipse/", FLAME_CODE_LIBRARY },
	{ NAME, "org.eclipse.", FLAME_CODE_LIBRARY },
	{ NAME, "org/hibernate/", FLAME_CODE_LIBRARY },
	{ NAME, "org.hibernate.", FLAME_CODE_LIBRARY },
	{ NAME, "org/slf4j/", FLAME_CODE_LIBRARY },
	{ NAME, "org/junit/", FLAME_CODE_LIBRARY },
	{ NAME, "ch/qos/logback/", FLAME_CODE_LIBRARY },
	{ NAME, "io/netty/", FLAME_CODE_LIBRARY },
	{ NAME, "io.netty.", FLAME_CODE_LIBRARY },
	{ NAME, "io/grpc/", FLAME_CODE_LIBRARY },
	{ NAME, "io/micrometer/", FLAME_CODE_LIBRARY },
	{ NAME, "io/vertx/", FLAME_CODE_LIBRARY },
	{ NAME, "reactor/", FLAME_CODE_LIBRARY },
	{ NAME, "akka/", FLAME_CODE_LIBRARY },
	{ NAME, "com/fasterxml/", FLAME_CODE_LIBRARY },
	{ NAME, "com.fasterxml.", FLAME_CODE_LIBRARY },
	{ NAME, "com/google/common/", FLAME_CODE_LIBRARY },
	{ NAME, "com.google.common.", FLAME_CODE_LIBRARY },
	{ NAME, "com/google/protobuf/", FLAME_CODE_LIBRARY },
	{ NAME, "com/zaxxer/hikari/", FLAME_CODE_LIBRARY },
	{ NAME, "boost::", FLAME_CODE_LIBRARY },
	{ NAME, "google::protobuf::", FLAME_CODE_LIBRARY },
	{ NAME, "absl::", FLAME_CODE_LIBRARY },
	{ NAME, "Eigen::", FLAME_CODE_LIBRARY },
	{ RUST, "tokio::", FLAME_CODE_LIBRARY },
	{ RUST, "<tokio::", FLAME_CODE_LIBRARY },
	{ RUST, "futures_", FLAME_CODE_LIBRARY },
	{ RUST, "hyper::", FLAME_CODE_LIBRARY },
	{ RUST, "serde::", FLAME_CODE_LIBRARY },
	{ RUST, "serde_json::", FLAME_CODE_LIBRARY },
	{ RUST, "<serde_json::", FLAME_CODE_LIBRARY },
	{ RUST, "rayon::", FLAME_CODE_LIBRARY },
	{ RUST, "rayon_core::", FLAME_CODE_LIBRARY },
	{ RUST, "hashbrown::", FLAME_CODE_LIBRARY },
	{ RUST, "<hashbrown::", FLAME_CODE_LIBRARY },
	{ RUST, "regex_automata::", FLAME_CODE_LIBRARY },
	{ RUST, "regex::", FLAME_CODE_LIBRARY },
	{ NAME, "StackProf.", FLAME_CODE_LIBRARY },
	{ NAME, "Gem::", FLAME_CODE_LIBRARY },
	{ NAME, "Bundler::", FLAME_CODE_LIBRARY },
	{ 0, NULL, 0 },
};

/* py-spy and others show files of Python's own library without the path in front. */
static const struct rule python_files[] = {
	{ PYTHON, "threading.py", FLAME_CODE_STANDARD },
	{ PYTHON, "json/__init__.py", FLAME_CODE_STANDARD },
	{ PYTHON, "json/encoder.py", FLAME_CODE_STANDARD },
	{ PYTHON, "json/decoder.py", FLAME_CODE_STANDARD },
	{ PYTHON, "json/scanner.py", FLAME_CODE_STANDARD },
	{ PYTHON, "asyncio/", FLAME_CODE_STANDARD },
	{ PYTHON, "concurrent/futures/", FLAME_CODE_STANDARD },
	{ PYTHON, "multiprocessing/", FLAME_CODE_STANDARD },
	{ PYTHON, "importlib/", FLAME_CODE_STANDARD },
	{ PYTHON, "logging/__init__.py", FLAME_CODE_STANDARD },
	{ PYTHON, "logging/handlers.py", FLAME_CODE_STANDARD },
	{ PYTHON, "logging/config.py", FLAME_CODE_STANDARD },
	{ PYTHON, "unittest/", FLAME_CODE_STANDARD },
	{ PYTHON, "urllib/parse.py", FLAME_CODE_STANDARD },
	{ PYTHON, "urllib/request.py", FLAME_CODE_STANDARD },
	{ PYTHON, "urllib/response.py", FLAME_CODE_STANDARD },
	{ PYTHON, "http/client.py", FLAME_CODE_STANDARD },
	{ PYTHON, "http/server.py", FLAME_CODE_STANDARD },
	{ PYTHON, "http/cookies.py", FLAME_CODE_STANDARD },
	{ PYTHON, "http/cookiejar.py", FLAME_CODE_STANDARD },
	{ PYTHON, "email/parser.py", FLAME_CODE_STANDARD },
	{ PYTHON, "email/feedparser.py", FLAME_CODE_STANDARD },
	{ PYTHON, "email/message.py", FLAME_CODE_STANDARD },
	{ PYTHON, "email/header.py", FLAME_CODE_STANDARD },
	{ PYTHON, "email/policy.py", FLAME_CODE_STANDARD },
	{ PYTHON, "xml/etree/", FLAME_CODE_STANDARD },
	{ PYTHON, "xml/sax/", FLAME_CODE_STANDARD },
	{ PYTHON, "xml/dom/", FLAME_CODE_STANDARD },
	{ PYTHON, "re/__init__.py", FLAME_CODE_STANDARD },
	{ PYTHON, "re/_compiler.py", FLAME_CODE_STANDARD },
	{ PYTHON, "re/_parser.py", FLAME_CODE_STANDARD },
	{ PYTHON, "collections/__init__.py", FLAME_CODE_STANDARD },
	{ PYTHON, "collections/abc.py", FLAME_CODE_STANDARD },
	{ PYTHON, "socket.py", FLAME_CODE_STANDARD },
	{ PYTHON, "socketserver.py", FLAME_CODE_STANDARD },
	{ PYTHON, "selectors.py", FLAME_CODE_STANDARD },
	{ PYTHON, "ssl.py", FLAME_CODE_STANDARD },
	{ PYTHON, "subprocess.py", FLAME_CODE_STANDARD },
	{ PYTHON, "queue.py", FLAME_CODE_STANDARD },
	{ PYTHON, "copy.py", FLAME_CODE_STANDARD },
	{ PYTHON, "pickle.py", FLAME_CODE_STANDARD },
	{ PYTHON, "random.py", FLAME_CODE_STANDARD },
	{ PYTHON, "runpy.py", FLAME_CODE_STANDARD },
	{ PYTHON, "contextlib.py", FLAME_CODE_STANDARD },
	{ PYTHON, "functools.py", FLAME_CODE_STANDARD },
	{ PYTHON, "enum.py", FLAME_CODE_STANDARD },
	{ PYTHON, "decimal.py", FLAME_CODE_STANDARD },
	{ PYTHON, "datetime.py", FLAME_CODE_STANDARD },
	{ PYTHON, "typing.py", FLAME_CODE_STANDARD },
	{ PYTHON, "zipfile.py", FLAME_CODE_STANDARD },
	{ PYTHON, "tarfile.py", FLAME_CODE_STANDARD },
	{ 0, NULL, 0 },
};

/* Programs that run others' programs: what of them has no better rule is their own. */
static const struct rule interpreters[] = {
	{ EXE, "python", FLAME_CODE_RUNTIME },
	{ EXE, "node", FLAME_CODE_RUNTIME },
	{ EXE, "java", FLAME_CODE_RUNTIME },
	{ EXE, "ruby", FLAME_CODE_RUNTIME },
	{ EXE, "perl", FLAME_CODE_RUNTIME },
	{ EXE, "php", FLAME_CODE_RUNTIME },
	{ EXE, "dotnet", FLAME_CODE_RUNTIME },
	{ EXE, "deno", FLAME_CODE_RUNTIME },
	{ EXE, "bun", FLAME_CODE_RUNTIME },
	{ 0, NULL, 0 },
};

static const struct rules tables[] = {
	{ "nothing runs there", false, idle },
	{ "a function of the kernel", true, kernel },
	{ "collects garbage", false, collectors },
	{ "compiles or loads code", false, compilers },
	{ "allocates or frees memory", true, allocators },
	{ "takes or waits for a lock", true, locks },
	{ "belongs to the language's runtime", false, runtimes },
	{ "belongs to the C library", true, libc },
	{ "belongs to the language's standard library", false, standard },
	{ "a package of Go's own", false, go_packages },
	{ "installed or vendored: its path says so", false, vendored },
	{ "a widely used library", false, known_libraries },
	{ "a module of Python's own library", false, python_files },
	{ "an interpreter's executable", false, interpreters },
};

static bool is_exe(struct flame_span base, const char *name)
{
	struct flame_span rest = span_from(base, strlen(name));

	return span_starts(base, name) && (!rest.len || strchr("0123456789.-", rest.s[0]));
}

/* Sources of languages whose functions have names of their own. */
static bool is_managed(struct flame_span file)
{
	static const char *const ends[] = {
		".py", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", ".rb", ".php", ".java", ".kt", ".scala", ".cs", ".pl", ".lua",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (span_ends(file, ends[i]))
			return true;
	}
	return span_starts(file, "file://") || span_starts(file, "node:");
}

static bool matches(const struct flame_owner *o, const struct flame_code_place *place, const struct rule *rule)
{
	switch (rule->where) {
	case NAME_IS:
		return span_equals(place->name, rule->text);
	case NAME:
		return span_starts(place->name, rule->text);
	case NAME_HAS:
		return span_find(place->name, rule->text) < place->name.len;
	case GO:
		return o->is_go && span_starts(place->name, rule->text);
	case RUST:
		return o->is_rust && span_starts(place->name, rule->text);
	case EXE:
		return is_exe(span_base(place->module), rule->text);
	case PYTHON:
		return span_starts(place->file, rule->text) && span_ends(place->file, ".py");
	case NODE:
		return span_starts(place->file, rule->text) && span_ends(place->file, ".js");
	case BASE:
		return span_starts(span_base(place->module), rule->text);
	case PATH:
		return span_starts(place->file, rule->text) || span_starts(place->module, rule->text);
	case PATH_HAS:
		return span_find(place->file, rule->text) < place->file.len ||
		       span_find(place->module, rule->text) < place->module.len;
	case FILE_STARTS:
		return span_starts(place->file, rule->text);
	}
	return false;
}

static enum flame_code infer(const struct flame_owner *o, const struct flame_code_place *place, const char **why)
{
	size_t nr = place->kind == FLAME_KERNEL ? 1 : sizeof(tables) / sizeof(*tables);
	bool managed = is_managed(place->file);

	for (size_t i = 0; i < nr; i++) {
		if (managed && tables[i].is_native)
			continue;
		for (const struct rule *rule = tables[i].rules; rule->text; rule++) {
			if (matches(o, place, rule)) {
				*why = tables[i].why;
				return rule->code;
			}
		}
	}
	if (place->kind == FLAME_KERNEL) {
		*why = "marked as the kernel's";
		return FLAME_CODE_KERNEL;
	}
	if (span_equals(place->name, "[unknown]") || span_equals(place->name, "[anon]") ||
	    span_equals(place->name, "[[unknown]]") || flame_is_nameless(place->name)) {
		*why = "there is no symbol";
		return FLAME_CODE_UNKNOWN;
	}
	*why = "no rule says that it is somebody else's";
	return FLAME_CODE_PROJECT;
}

/* regexec() wants strings that end in a NUL; spans of a profile's table may be parts of longer ones. */
static bool pattern_matches(const regex_t *pattern, struct flame_span s)
{
	regmatch_t match = { 0, (regoff_t)s.len };

	return s.len && s.len < INT32_MAX && !regexec(pattern, s.s, 1, &match, REG_STARTEND);
}

static bool is_named_project(const struct flame_owner *o, const struct flame_code_place *place)
{
	for (size_t i = 0; i < o->nr_patterns; i++) {
		if (pattern_matches(&o->patterns[i], place->name) || pattern_matches(&o->patterns[i], place->file) ||
		    pattern_matches(&o->patterns[i], place->module))
			return true;
	}
	return false;
}

const char flame_owner_unmatched[] = "no pattern for the project matches";

enum flame_code flame_owner_code(const struct flame_owner *o, const struct flame_code_place *place, const char **why)
{
	const char *reason;
	enum flame_code code = infer(o, place, &reason);

	if (o->nr_patterns && code != FLAME_CODE_KERNEL && code != FLAME_CODE_IDLE) {
		if (is_named_project(o, place)) {
			reason = "a pattern for the project matches";
			code = FLAME_CODE_PROJECT;
		} else if (code == FLAME_CODE_PROJECT) {
			reason = flame_owner_unmatched;
			code = FLAME_CODE_LIBRARY;
		}
	}
	if (why)
		*why = reason;
	return code;
}

const char *flame_owner_add(struct flame_owner *o, const char *pattern)
{
	if (o->nr_patterns == FLAME_OWNER_PATTERNS)
		return "is given more than 32 times (FLAME_OWNER_PATTERNS)";
	if (regcomp(&o->patterns[o->nr_patterns], pattern, REG_EXTENDED))
		return "wants a regular expression";
	o->nr_patterns++;
	return NULL;
}

void flame_owner_release(struct flame_owner *o)
{
	for (size_t i = 0; i < o->nr_patterns; i++)
		regfree(&o->patterns[i]);
	o->nr_patterns = 0;
}

bool flame_owner_shows_go(struct flame_span name)
{
	static const char *const shown[] = {
		"runtime.goexit", "runtime.main", "runtime.mcall", "runtime.mallocgc", "runtime.morestack",
		"runtime.schedule", "runtime.systemstack", "runtime.gcBgMarkWorker", "runtime.asyncPreempt", "main.main",
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		if (span_starts(name, shown[i]))
			return true;
	}
	return false;
}

bool flame_owner_shows_rust(struct flame_span name)
{
	static const char *const starts[] = {
		"std::rt::", "__rust_", "<core::", "<alloc::", "core::ops::function::", "rust_",
	};
	static const char *const parts[] = { "{closure#", "{{closure}}", " as core::", " as alloc::", " as std::", "{impl#" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (span_starts(name, starts[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (span_find(name, parts[i]) < name.len)
			return true;
	}
	return false;
}

bool flame_owner_is_nameless(struct flame_span name)
{
	return !name.len || (name.s[0] == '[' && name.s[name.len - 1] == ']') || span_starts(name, "0x");
}

const char *flame_code_name(enum flame_code code)
{
	return codes[code < FLAME_NR_CODES ? code : FLAME_CODE_UNKNOWN].name;
}

const char *flame_code_id(enum flame_code code)
{
	return codes[code < FLAME_NR_CODES ? code : FLAME_CODE_UNKNOWN].id;
}
