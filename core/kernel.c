/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - what functions of the Linux kernel mean, by the starts of their names. The names are
 * those of versions 4 to 6 on x86 and arm64; unknown ones do what their caller does.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include "span.h"

static const struct {
	const char *start;
	enum flame_kernel_entry entry;
	bool is_named;		/* the system call's name follows */
} entries[] = {
	{ "__x64_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__ia32_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__ia32_compat_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__arm64_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__riscv_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__se_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "__do_sys_", FLAME_ENTRY_SYSCALL, true },
	{ "ksys_", FLAME_ENTRY_SYSCALL, true },
	{ "SyS_", FLAME_ENTRY_SYSCALL, true },
	{ "sys_", FLAME_ENTRY_SYSCALL, true },
	{ "entry_SYSCALL", FLAME_ENTRY_SYSCALL, false },
	{ "do_syscall_64", FLAME_ENTRY_SYSCALL, false },
	{ "system_call_fastpath", FLAME_ENTRY_SYSCALL, false },
	{ "el0_svc", FLAME_ENTRY_SYSCALL, false },
	{ "invoke_syscall", FLAME_ENTRY_SYSCALL, false },
	{ "asm_exc_page_fault", FLAME_ENTRY_FAULT, false },
	{ "exc_page_fault", FLAME_ENTRY_FAULT, false },
	{ "page_fault", FLAME_ENTRY_FAULT, false },
	{ "async_page_fault", FLAME_ENTRY_FAULT, false },
	{ "do_page_fault", FLAME_ENTRY_FAULT, false },
	{ "__do_page_fault", FLAME_ENTRY_FAULT, false },
	{ "do_user_addr_fault", FLAME_ENTRY_FAULT, false },
	{ "handle_mm_fault", FLAME_ENTRY_FAULT, false },
	{ "el0_da", FLAME_ENTRY_FAULT, false },
	{ "do_mem_abort", FLAME_ENTRY_FAULT, false },
	{ "asm_sysvec_", FLAME_ENTRY_INTERRUPT, false },
	{ "sysvec_", FLAME_ENTRY_INTERRUPT, false },
	{ "asm_common_interrupt", FLAME_ENTRY_INTERRUPT, false },
	{ "common_interrupt", FLAME_ENTRY_INTERRUPT, false },
	{ "apic_timer_interrupt", FLAME_ENTRY_INTERRUPT, false },
	{ "smp_apic_timer_interrupt", FLAME_ENTRY_INTERRUPT, false },
	{ "do_IRQ", FLAME_ENTRY_INTERRUPT, false },
	{ "irq_exit", FLAME_ENTRY_INTERRUPT, false },
	{ "__do_softirq", FLAME_ENTRY_INTERRUPT, false },
	{ "do_softirq", FLAME_ENTRY_INTERRUPT, false },
	{ "handle_softirqs", FLAME_ENTRY_INTERRUPT, false },
	{ "hrtimer_interrupt", FLAME_ENTRY_INTERRUPT, false },
	{ "el0_irq", FLAME_ENTRY_INTERRUPT, false },
	{ "el1_irq", FLAME_ENTRY_INTERRUPT, false },
	{ "gic_handle_irq", FLAME_ENTRY_INTERRUPT, false },
	{ "kthread", FLAME_ENTRY_THREAD, false },
	{ "worker_thread", FLAME_ENTRY_THREAD, false },
};

/* Functions by which a system call is known where its own entry was inlined or tail-called away. */
static const struct {
	const char *function, *name;
} inner[] = {
	{ "do_futex", "futex" }, { "vfs_read", "read" }, { "vfs_write", "write" }, { "do_epoll_wait", "epoll_wait" },
	{ "do_sys_poll", "poll" }, { "core_sys_select", "select" }, { "vm_mmap_pgoff", "mmap" }, { "__vm_munmap", "munmap" },
	{ "do_sys_openat2", "openat" }, { "kernel_clone", "clone" }, { "do_exit", "exit" }, { "do_group_exit", "exit" },
	{ "__sys_sendto", "sendto" }, { "__sys_recvfrom", "recvfrom" }, { "hrtimer_nanosleep", "nanosleep" },
	{ "do_nanosleep", "nanosleep" }, { "do_wait", "wait4" }, { "do_madvise", "madvise" }, { "do_fsync", "fsync" },
	{ "do_brk_flags", "brk" }, { "vfs_fstatat", "stat" },
};

static const char *const works[FLAME_NR_WORKS] = {
	[FLAME_WORK_OTHER] = "other", [FLAME_WORK_CLEAR] = "clearing pages", [FLAME_WORK_COPY] = "copies",
	[FLAME_WORK_LOCK] = "kernel locks", [FLAME_WORK_FUTEX] = "futex", [FLAME_WORK_SCHEDULER] = "scheduler",
	[FLAME_WORK_MEMORY] = "memory management", [FLAME_WORK_FILES] = "file systems", [FLAME_WORK_BLOCK] = "block devices",
	[FLAME_WORK_NETWORK] = "network", [FLAME_WORK_POLL] = "polling", [FLAME_WORK_SLEEP] = "timers",
	[FLAME_WORK_PROCESS] = "processes", [FLAME_WORK_SIGNAL] = "signals", [FLAME_WORK_PROFILER] = "profiling and tracing",
	[FLAME_WORK_CRYPTO] = "cryptography",
};

static const struct {
	const char *start;
	enum flame_kernel_work work;
} functions[] = {
	{ "clear_page", FLAME_WORK_CLEAR }, { "clear_huge_page", FLAME_WORK_CLEAR },
	{ "clear_user", FLAME_WORK_CLEAR }, { "__memset", FLAME_WORK_CLEAR },
	{ "memset", FLAME_WORK_CLEAR }, { "kernel_init_pages", FLAME_WORK_CLEAR },
	{ "folio_zero", FLAME_WORK_CLEAR },
	{ "copy_user", FLAME_WORK_COPY }, { "_copy_", FLAME_WORK_COPY },
	{ "copyout", FLAME_WORK_COPY }, { "copyin", FLAME_WORK_COPY },
	{ "rep_movs", FLAME_WORK_COPY }, { "__memcpy", FLAME_WORK_COPY },
	{ "memcpy", FLAME_WORK_COPY }, { "copy_page", FLAME_WORK_COPY },
	{ "__arch_copy_", FLAME_WORK_COPY }, { "raw_copy_", FLAME_WORK_COPY },
	{ "copy_folio_", FLAME_WORK_COPY }, { "csum_partial", FLAME_WORK_COPY },
	{ "copy_mc", FLAME_WORK_COPY }, { "copy_huge_page", FLAME_WORK_COPY },
	{ "memmove", FLAME_WORK_COPY },
	{ "do_futex", FLAME_WORK_FUTEX }, { "futex_", FLAME_WORK_FUTEX },
	{ "__futex_", FLAME_WORK_FUTEX }, { "get_futex_", FLAME_WORK_FUTEX },
	{ "_raw_spin_lock", FLAME_WORK_LOCK }, { "native_queued_spin_lock", FLAME_WORK_LOCK },
	{ "queued_spin_lock", FLAME_WORK_LOCK }, { "mutex_lock", FLAME_WORK_LOCK },
	{ "__mutex_lock", FLAME_WORK_LOCK }, { "mutex_spin", FLAME_WORK_LOCK },
	{ "osq_lock", FLAME_WORK_LOCK }, { "rwsem_", FLAME_WORK_LOCK },
	{ "down_read", FLAME_WORK_LOCK }, { "down_write", FLAME_WORK_LOCK },
	{ "queued_read_lock", FLAME_WORK_LOCK }, { "queued_write_lock", FLAME_WORK_LOCK },
	{ "_raw_read_lock", FLAME_WORK_LOCK }, { "_raw_write_lock", FLAME_WORK_LOCK },
	{ "pv_", FLAME_WORK_LOCK }, { "__pv_queued", FLAME_WORK_LOCK },
	{ "schedule", FLAME_WORK_SCHEDULER }, { "__schedule", FLAME_WORK_SCHEDULER },
	{ "preempt_schedule", FLAME_WORK_SCHEDULER }, { "pick_next_", FLAME_WORK_SCHEDULER },
	{ "try_to_wake_up", FLAME_WORK_SCHEDULER }, { "ttwu_", FLAME_WORK_SCHEDULER },
	{ "wake_up_", FLAME_WORK_SCHEDULER }, { "finish_task_switch", FLAME_WORK_SCHEDULER },
	{ "update_curr", FLAME_WORK_SCHEDULER }, { "enqueue_task", FLAME_WORK_SCHEDULER },
	{ "dequeue_task", FLAME_WORK_SCHEDULER }, { "enqueue_entity", FLAME_WORK_SCHEDULER },
	{ "dequeue_entity", FLAME_WORK_SCHEDULER }, { "select_task_rq", FLAME_WORK_SCHEDULER },
	{ "sched_", FLAME_WORK_SCHEDULER }, { "load_balance", FLAME_WORK_SCHEDULER },
	{ "newidle_balance", FLAME_WORK_SCHEDULER }, { "update_load_avg", FLAME_WORK_SCHEDULER },
	{ "task_tick", FLAME_WORK_SCHEDULER }, { "scheduler_tick", FLAME_WORK_SCHEDULER },
	{ "switch_mm", FLAME_WORK_SCHEDULER },
	{ "handle_mm_fault", FLAME_WORK_MEMORY }, { "__handle_mm_fault", FLAME_WORK_MEMORY },
	{ "do_anonymous_page", FLAME_WORK_MEMORY }, { "alloc_pages", FLAME_WORK_MEMORY },
	{ "__alloc_pages", FLAME_WORK_MEMORY }, { "get_page_from_freelist", FLAME_WORK_MEMORY },
	{ "free_unref", FLAME_WORK_MEMORY }, { "free_pages", FLAME_WORK_MEMORY },
	{ "free_pcp", FLAME_WORK_MEMORY }, { "kmem_cache", FLAME_WORK_MEMORY },
	{ "kmalloc", FLAME_WORK_MEMORY }, { "__kmalloc", FLAME_WORK_MEMORY },
	{ "kfree", FLAME_WORK_MEMORY }, { "___slab", FLAME_WORK_MEMORY },
	{ "__slab", FLAME_WORK_MEMORY }, { "unmap_", FLAME_WORK_MEMORY },
	{ "zap_", FLAME_WORK_MEMORY }, { "tlb_", FLAME_WORK_MEMORY },
	{ "flush_tlb", FLAME_WORK_MEMORY }, { "do_mmap", FLAME_WORK_MEMORY },
	{ "mmap_region", FLAME_WORK_MEMORY }, { "do_munmap", FLAME_WORK_MEMORY },
	{ "do_vmi_", FLAME_WORK_MEMORY }, { "vma_", FLAME_WORK_MEMORY },
	{ "exit_mmap", FLAME_WORK_MEMORY }, { "release_pages", FLAME_WORK_MEMORY },
	{ "charge_memcg", FLAME_WORK_MEMORY }, { "__mem_cgroup", FLAME_WORK_MEMORY },
	{ "mem_cgroup", FLAME_WORK_MEMORY }, { "lru_", FLAME_WORK_MEMORY },
	{ "folio_", FLAME_WORK_MEMORY }, { "do_madvise", FLAME_WORK_MEMORY },
	{ "shrink_", FLAME_WORK_MEMORY }, { "do_huge_pmd", FLAME_WORK_MEMORY },
	{ "khugepaged", FLAME_WORK_MEMORY }, { "compact_", FLAME_WORK_MEMORY },
	{ "do_fault", FLAME_WORK_MEMORY }, { "do_wp_page", FLAME_WORK_MEMORY },
	{ "wp_page_copy", FLAME_WORK_MEMORY }, { "migrate_pages", FLAME_WORK_MEMORY },
	{ "swap_", FLAME_WORK_MEMORY },
	{ "vfs_", FLAME_WORK_FILES }, { "ext4_", FLAME_WORK_FILES }, { "xfs_", FLAME_WORK_FILES },
	{ "btrfs_", FLAME_WORK_FILES }, { "nfs_", FLAME_WORK_FILES }, { "fuse_", FLAME_WORK_FILES },
	{ "ovl_", FLAME_WORK_FILES }, { "overlay", FLAME_WORK_FILES }, { "path_", FLAME_WORK_FILES },
	{ "filename_lookup", FLAME_WORK_FILES }, { "link_path_walk", FLAME_WORK_FILES },
	{ "walk_component", FLAME_WORK_FILES }, { "lookup_", FLAME_WORK_FILES },
	{ "d_", FLAME_WORK_FILES }, { "__d_", FLAME_WORK_FILES }, { "dput", FLAME_WORK_FILES },
	{ "generic_file_", FLAME_WORK_FILES }, { "generic_perform_write", FLAME_WORK_FILES },
	{ "filemap_", FLAME_WORK_FILES }, { "iomap_", FLAME_WORK_FILES },
	{ "jbd2_", FLAME_WORK_FILES }, { "do_sys_open", FLAME_WORK_FILES },
	{ "do_filp_open", FLAME_WORK_FILES }, { "proc_", FLAME_WORK_FILES },
	{ "seq_read", FLAME_WORK_FILES }, { "pipe_", FLAME_WORK_FILES },
	{ "shmem_", FLAME_WORK_FILES }, { "tty_", FLAME_WORK_FILES },
	{ "page_cache_", FLAME_WORK_FILES },
	{ "blk_", FLAME_WORK_BLOCK }, { "blkdev_", FLAME_WORK_BLOCK },
	{ "submit_bio", FLAME_WORK_BLOCK }, { "bio_", FLAME_WORK_BLOCK },
	{ "io_schedule", FLAME_WORK_BLOCK }, { "nvme_", FLAME_WORK_BLOCK },
	{ "scsi_", FLAME_WORK_BLOCK }, { "wait_on_page", FLAME_WORK_BLOCK },
	{ "folio_wait_bit", FLAME_WORK_BLOCK },
	{ "tcp_", FLAME_WORK_NETWORK }, { "__tcp_", FLAME_WORK_NETWORK },
	{ "udp_", FLAME_WORK_NETWORK }, { "ip_", FLAME_WORK_NETWORK },
	{ "__ip_", FLAME_WORK_NETWORK }, { "ip6_", FLAME_WORK_NETWORK },
	{ "inet_", FLAME_WORK_NETWORK }, { "sock_", FLAME_WORK_NETWORK },
	{ "__sys_send", FLAME_WORK_NETWORK }, { "__sys_recv", FLAME_WORK_NETWORK },
	{ "skb_", FLAME_WORK_NETWORK }, { "__skb", FLAME_WORK_NETWORK },
	{ "__netif", FLAME_WORK_NETWORK }, { "net_rx", FLAME_WORK_NETWORK },
	{ "dev_", FLAME_WORK_NETWORK }, { "__dev_queue_xmit", FLAME_WORK_NETWORK },
	{ "napi_", FLAME_WORK_NETWORK }, { "nf_", FLAME_WORK_NETWORK },
	{ "unix_stream", FLAME_WORK_NETWORK }, { "netlink_", FLAME_WORK_NETWORK },
	{ "do_epoll", FLAME_WORK_POLL }, { "ep_", FLAME_WORK_POLL },
	{ "do_sys_poll", FLAME_WORK_POLL }, { "do_select", FLAME_WORK_POLL },
	{ "core_sys_select", FLAME_WORK_POLL }, { "do_poll", FLAME_WORK_POLL },
	{ "poll_", FLAME_WORK_POLL },
	{ "hrtimer_", FLAME_WORK_SLEEP }, { "__hrtimer", FLAME_WORK_SLEEP },
	{ "do_nanosleep", FLAME_WORK_SLEEP }, { "tick_", FLAME_WORK_SLEEP },
	{ "timer_", FLAME_WORK_SLEEP }, { "run_timer", FLAME_WORK_SLEEP },
	{ "update_process_times", FLAME_WORK_SLEEP },
	{ "kernel_clone", FLAME_WORK_PROCESS }, { "copy_process", FLAME_WORK_PROCESS },
	{ "do_exit", FLAME_WORK_PROCESS }, { "do_group_exit", FLAME_WORK_PROCESS },
	{ "do_execve", FLAME_WORK_PROCESS }, { "bprm_", FLAME_WORK_PROCESS },
	{ "load_elf", FLAME_WORK_PROCESS }, { "do_wait", FLAME_WORK_PROCESS },
	{ "begin_new_exec", FLAME_WORK_PROCESS }, { "wait_task", FLAME_WORK_PROCESS },
	{ "release_task", FLAME_WORK_PROCESS },
	{ "get_signal", FLAME_WORK_SIGNAL }, { "do_signal", FLAME_WORK_SIGNAL },
	{ "arch_do_signal", FLAME_WORK_SIGNAL }, { "send_signal", FLAME_WORK_SIGNAL },
	{ "do_send_sig", FLAME_WORK_SIGNAL }, { "signal_", FLAME_WORK_SIGNAL },
	{ "perf_", FLAME_WORK_PROFILER }, { "__perf_", FLAME_WORK_PROFILER },
	{ "bpf_", FLAME_WORK_PROFILER }, { "ftrace_", FLAME_WORK_PROFILER },
	{ "trace_", FLAME_WORK_PROFILER }, { "intel_pmu", FLAME_WORK_PROFILER },
	{ "event_sched", FLAME_WORK_PROFILER }, { "x86_pmu", FLAME_WORK_PROFILER },
	{ "ctx_resched", FLAME_WORK_PROFILER },
	{ "sha", FLAME_WORK_CRYPTO }, { "aes", FLAME_WORK_CRYPTO }, { "crypto_", FLAME_WORK_CRYPTO },
	{ "chacha", FLAME_WORK_CRYPTO },
};

/* "_read.part.0", "nanosleep_time64" */
static struct flame_span cut_suffix(struct flame_span name)
{
	const char *dot = name.len ? (const char *)memchr(name.s, '.', name.len) : NULL;

	return dot ? span_to(name, (size_t)(dot - name.s)) : name;
}

enum flame_kernel_entry flame_kernel_entry(struct flame_span function, struct flame_span *name)
{
	*name = (struct flame_span){ "", 0 };
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (!span_starts(function, entries[i].start))
			continue;
		if (entries[i].is_named)
			*name = cut_suffix(span_from(function, strlen(entries[i].start)));
		return entries[i].entry;
	}
	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) {
		if (span_equals(function, inner[i].function)) {
			*name = (struct flame_span){ inner[i].name, strlen(inner[i].name) };
			return FLAME_ENTRY_SYSCALL;
		}
	}
	return FLAME_ENTRY_NONE;
}

const char *flame_kernel_wait(enum flame_kernel_entry entry, struct flame_span name)
{
	static const struct {
		const char *start, *what;
	} waits[] = {
		{ "clock_nanosleep", "sleep" }, { "nanosleep", "sleep" }, { "futex", "a lock, or another thread" },
		{ "epoll_", "events" }, { "poll", "events" }, { "ppoll", "events" }, { "select", "events" }, { "pselect", "events" },
		{ "io_getevents", "events" }, { "io_uring", "events" }, { "recv", "the network" }, { "accept", "the network" },
		{ "connect", "the network" }, { "send", "the network" }, { "read", "input" }, { "pread", "input" },
		{ "write", "output" }, { "pwrite", "output" }, { "fsync", "a device" }, { "fdatasync", "a device" },
		{ "msync", "a device" }, { "sync", "a device" }, { "wait", "another process" }, { "pause", "a signal" },
		{ "rt_sigtimedwait", "a signal" }, { "rt_sigsuspend", "a signal" }, { "sched_yield", "other threads: it yields" },
		{ "munmap", "memory's bookkeeping" }, { "mmap", "memory's bookkeeping" }, { "madvise", "memory's bookkeeping" },
		{ "mprotect", "memory's bookkeeping" }, { "brk", "memory's bookkeeping" },
	};

	if (entry == FLAME_ENTRY_INTERRUPT)
		return "a CPU: preempted";
	if (entry == FLAME_ENTRY_FAULT)
		return "memory, or a file that is mapped";
	for (size_t i = 0; entry == FLAME_ENTRY_SYSCALL && i < sizeof(waits) / sizeof(*waits); i++) {
		if (span_starts(name, waits[i].start))
			return waits[i].what;
	}
	return NULL;
}

enum flame_kernel_work flame_kernel_work(struct flame_span function)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (span_starts(function, functions[i].start))
			return functions[i].work;
	}
	return FLAME_WORK_OTHER;
}

const char *flame_kernel_work_name(enum flame_kernel_work work)
{
	return works[work < FLAME_NR_WORKS ? work : FLAME_WORK_OTHER];
}
