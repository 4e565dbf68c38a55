/* SPDX-License-Identifier: MIT */
/*
 * bpf_text.c - frames as bpftrace and bcc print them:
 *
 *     main+24
 *     [inlined] leaf@/src/a.c:12
 *     spin+37@/src/a.c:14
 *     7f7fa3ca1c98 sysmalloc+376 (/usr/lib/libc.so.6)
 *     ffffffff815ebeb5 do_anonymous_page+805
 *     0x202860f20f983
 *     1f7b2d...40 hexadecimal digits of a build id 0x1c3d
 */
#define _GNU_SOURCE
#include "bpf_text.h"

#include <string.h>

#include "../core/span.h"
#include "../core/tidy.h"

#define LINE_CACHE_BYTES ((size_t)8 << 20)
#define ADDRESS_MIN 6	/* digits; fewer may be a name such as "add" */
#define ADDRESS_MAX 16
#define ADDRESS_USER 12	/* of programs that are loaded anywhere, as all are by default */
#define BUILD_ID 40

/* Small pieces of text. */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

enum flame_number_result bpf_integer(struct flame_span s, int64_t *value)
{
	struct flame_number n;
	enum flame_number_result result;

	if (memchr(s.s, '.', s.len))
		return FLAME_NUMBER_NONE;
	result = flame_number_parse(s, &n);
	*value = result == FLAME_NUMBER_OK ? n.value : 0;
	return result;
}

/* Return: where digits at the end of @s begin; s.len where there are none. */
static size_t end_digits(struct flame_span s)
{
	size_t i = s.len;

	while (i && is_digit(s.s[i - 1]))
		i--;
	return i;
}

/* Whose code a name is. */

/* Names, or their beginnings, that only one side has; what else begins like it is rare in stacks. */
static const struct { const char *start; int side; } sides[] = {
	{ "__x64_sys_", BPF_KERNEL }, { "__ia32_sys_", BPF_KERNEL }, { "__arm64_sys_", BPF_KERNEL },
	{ "__se_sys_", BPF_KERNEL }, { "__do_sys_", BPF_KERNEL }, { "do_sys_", BPF_KERNEL }, { "ksys_", BPF_KERNEL },
	{ "do_syscall_", BPF_KERNEL }, { "entry_SYSCALL", BPF_KERNEL }, { "entry_INT80", BPF_KERNEL },
	{ "syscall_exit_to", BPF_KERNEL }, { "syscall_return", BPF_KERNEL }, { "exit_to_user_mode", BPF_KERNEL },
	{ "invoke_syscall", BPF_KERNEL }, { "asm_", BPF_KERNEL }, { "exc_", BPF_KERNEL }, { "irqentry_", BPF_KERNEL },
	{ "irq_", BPF_KERNEL }, { "sysvec_", BPF_KERNEL }, { "__sysvec_", BPF_KERNEL }, { "handle_irq", BPF_KERNEL },
	{ "el0", BPF_KERNEL }, { "el1", BPF_KERNEL }, { "ret_from_", BPF_KERNEL }, { "kthread", BPF_KERNEL },
	{ "worker_thread", BPF_KERNEL }, { "process_one_work", BPF_KERNEL }, { "smpboot_", BPF_KERNEL },
	{ "run_ksoftirqd", BPF_KERNEL }, { "__do_softirq", BPF_KERNEL }, { "do_softirq", BPF_KERNEL },
	{ "handle_softirqs", BPF_KERNEL }, { "do_idle", BPF_KERNEL }, { "cpu_startup_entry", BPF_KERNEL },
	{ "default_idle", BPF_KERNEL }, { "cpuidle_", BPF_KERNEL }, { "start_secondary", BPF_KERNEL },
	{ "secondary_startup", BPF_KERNEL }, { "common_startup", BPF_KERNEL }, { "start_kernel", BPF_KERNEL },
	{ "x86_64_start", BPF_KERNEL }, { "schedule", BPF_KERNEL }, { "__schedule", BPF_KERNEL },
	{ "preempt_schedule", BPF_KERNEL }, { "finish_task_switch", BPF_KERNEL }, { "try_to_wake_up", BPF_KERNEL },
	{ "do_nanosleep", BPF_KERNEL }, { "hrtimer_", BPF_KERNEL }, { "common_nsleep", BPF_KERNEL },
	{ "futex_", BPF_KERNEL }, { "__futex_", BPF_KERNEL }, { "do_futex", BPF_KERNEL }, { "ep_poll", BPF_KERNEL },
	{ "do_epoll_", BPF_KERNEL }, { "do_poll", BPF_KERNEL }, { "do_select", BPF_KERNEL }, { "do_wait", BPF_KERNEL },
	{ "vfs_", BPF_KERNEL }, { "new_sync_", BPF_KERNEL }, { "do_filp_open", BPF_KERNEL }, { "path_openat", BPF_KERNEL },
	{ "link_path_walk", BPF_KERNEL }, { "handle_mm_fault", BPF_KERNEL }, { "__handle_mm_fault", BPF_KERNEL },
	{ "do_user_addr_fault", BPF_KERNEL }, { "do_anonymous_page", BPF_KERNEL }, { "page_fault", BPF_KERNEL },
	{ "__alloc_pages", BPF_KERNEL }, { "get_page_from_freelist", BPF_KERNEL }, { "_raw_spin_", BPF_KERNEL },
	{ "native_", BPF_KERNEL }, { "pv_native_", BPF_KERNEL }, { "rcu_", BPF_KERNEL }, { "bpf_prog_", BPF_KERNEL },
	{ "bpf_trace_", BPF_KERNEL }, { "tcp_sendmsg", BPF_KERNEL }, { "tcp_recvmsg", BPF_KERNEL },
	{ "inet_sendmsg", BPF_KERNEL }, { "inet_recvmsg", BPF_KERNEL }, { "sock_sendmsg", BPF_KERNEL },
	{ "__sock_", BPF_KERNEL }, { "submit_bio", BPF_KERNEL }, { "blk_mq_", BPF_KERNEL }, { "io_schedule", BPF_KERNEL },
	{ "wait_for_completion", BPF_KERNEL }, { "perf_event_", BPF_KERNEL }, { "0xffff", BPF_KERNEL },
	{ "__libc_", BPF_USER }, { "__GI_", BPF_USER }, { "start_thread", BPF_USER },
	{ "std::", BPF_USER }, { "runtime.", BPF_USER }, { "main.", BPF_USER }, { "_ZN", BPF_USER }, { "_Py", BPF_USER },
	{ "Py", BPF_USER }, { "__pthread_", BPF_USER }, { "pthread_", BPF_USER }, { "__clone", BPF_USER },
	{ "0x", BPF_USER }, { "[unknown]", BPF_USER },
};

static const char *const user_names[] = {
	"main", "_start", "clone", "clone3", "__read", "__write", "nanosleep", "usleep",
};

/* Addresses and build ids that stand for a name. */
static int digits_side(struct flame_span name)
{
	size_t n = 0;

	while (n < name.len && is_hex(name.s[n]))
		n++;
	if (n < 9 || (n < name.len && name.s[n] != ' '))
		return 0;
	return n == ADDRESS_MAX && name.s[0] >= '8' ? BPF_KERNEL : BPF_USER;
}

int bpf_name_side(struct flame_span name)
{
	int side = digits_side(name);

	if (side)
		return side;
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		if (span_starts(name, sides[i].start))
			return sides[i].side;
	}
	for (size_t i = 0; i < sizeof(user_names) / sizeof(*user_names); i++) {
		if (name.len == strlen(user_names[i]) && span_starts(name, user_names[i]))
			return BPF_USER;
	}
	return memmem(name.s, name.len, "::", 2) || memchr(name.s, '(', name.len) ? BPF_USER : 0;
}

/* Lines. */

/* Mode perf stands behind a tab: there the first word always is an address, also that of a broken stack, "0 0". */
static size_t least_digits(struct flame_span line)
{
	return line.len && line.s[0] == '\t' ? 1 : ADDRESS_MIN;
}

/* "7f7fa3ca1c98 " at the start, of @least digits: how many; 0 where there is none. */
static size_t address_digits(struct flame_span s, size_t least)
{
	size_t n = 0;

	while (n < s.len && is_hex(s.s[n]))
		n++;
	return n >= least && n <= ADDRESS_MAX && n + 1 < s.len && s.s[n] == ' ' ? n : 0;
}

static int address_side(const char *s, size_t n)
{
	return n == ADDRESS_MAX && s[0] >= '8' ? BPF_SURE * BPF_KERNEL : BPF_SURE * BPF_USER;
}

/* " (/usr/lib/libc.so.6)" and " (inlined)" behind a symbol that has an address. */
static void cut_parens(struct bpf_frame *f)
{
	struct flame_span rest = f->symbol, inside;

	while (span_cut_group(&rest, &inside) && rest.len) {
		if (span_equals(inside, "inlined"))
			f->inlined = true;
		else if (!f->module.len)
			f->module = inside;
		else
			return;
		f->symbol = rest;
	}
}

/* "@/src/a.c:14" behind an offset, or behind an inlined name, which has none. */
static void cut_source(struct bpf_frame *f)
{
	struct flame_span s = f->symbol;
	size_t digits = end_digits(s);
	const char *at = s.s;

	if (digits == s.len || digits < 3 || s.s[digits - 1] != ':')
		return;
	while ((at = memchr(at, '@', digits - (size_t)(at - s.s)))) {
		struct flame_span before = { s.s, (size_t)(at - s.s) };
		size_t offset = end_digits(before);

		if (before.len && (f->inlined || (offset < before.len && offset && s.s[offset - 1] == '+'))) {
			f->source = (struct flame_span){ at + 1, s.len - before.len - 1 };
			f->symbol = before;
			return;
		}
		at++;
	}
}

static void cut_offset(struct bpf_frame *f)
{
	size_t digits = end_digits(f->symbol), at;

	if (digits < f->symbol.len && digits > 1 && f->symbol.s[digits - 1] == '+')
		at = digits - 1;
	else
		at = flame_tidy_offset(f->symbol).len;
	f->offset = (struct flame_span){ f->symbol.s + at, f->symbol.len - at };
	f->symbol.len = at;
}

void bpf_parse_frame(struct flame_span line, struct bpf_frame *f)
{
	size_t digits;

	*f = (struct bpf_frame){ .symbol = span_trim(line) };
	digits = address_digits(f->symbol, least_digits(line));
	if (digits) {
		f->side = address_side(f->symbol.s, digits);
		f->symbol = span_trim((struct flame_span){ f->symbol.s + digits, f->symbol.len - digits });
		cut_parens(f);
	}
	/* JSON of newer versions has no blank behind it. */
	if (span_starts(f->symbol, "[inlined]") && f->symbol.len > 10) {
		f->inlined = true;
		f->symbol = span_trim(span_from(f->symbol, 9));
	}
	cut_source(f);
	/* The source may stand before the parentheses or behind them. */
	if (digits && f->source.len && !f->module.len)
		cut_parens(f);
	cut_offset(f);
}

/*
 * How many digits of @s, "7f7fa3ca1c98sysmalloc+376", are its address: names begin with letters that are digits too.
 * Where there is no symbol the address stands twice.
 */
static size_t glued_digits(struct flame_span s)
{
	size_t n = 0, most;

	while (n < s.len && is_hex(s.s[n]))
		n++;
	if (n > BUILD_ID && s.s[BUILD_ID] == '0' && n == BUILD_ID + 1 && n < s.len && s.s[n] == 'x')
		return BUILD_ID;
	for (size_t i = 1; i <= ADDRESS_MAX && i + 2 + i <= s.len && i <= n; i++) {
		if (!memcmp(s.s + i, "0x", 2) && !memcmp(s.s, s.s + i + 2, i))
			return i;
	}
	/* Mode raw has addresses only. */
	if (n == s.len)
		return 0;
	most = n >= ADDRESS_MAX && !memcmp(s.s, "ffff", 4) ? ADDRESS_MAX :
	       n >= ADDRESS_USER && strchr("57af", s.s[0]) ? ADDRESS_USER : n;
	if (most == n && n < s.len && s.s[n] == '+')
		most = ADDRESS_MIN;
	return most >= ADDRESS_MIN && most <= ADDRESS_MAX && most < s.len ? most : 0;
}

struct flame_span bpf_respace(struct flame_span line, char *buf)
{
	struct flame_span s = span_trim(line);
	size_t n = memchr(s.s, ' ', s.len) ? 0 : glued_digits(s);
	const char *open = n && s.s[s.len - 1] == ')' ? memrchr(s.s, '(', s.len) : NULL, *rest = s.s + n;
	char *to = buf;

	if (!n)
		return line;
	to = mempcpy(to, s.s, n);
	*to++ = ' ';
	/* A file, not arguments. */
	if (open > rest && (open[1] == '/' || open[1] == '[' || span_starts(span_from(s, (size_t)(open - s.s)), "(inlined)"))) {
		to = mempcpy(to, rest, (size_t)(open - rest));
		*to++ = ' ';
		rest = open;
	}
	to = mempcpy(to, rest, (size_t)(s.s + s.len - rest));
	return (struct flame_span){ buf, (size_t)(to - buf) };
}

/* Frames. */

static struct flame_span frame_name(struct bpf_text *t, const struct flame_reader *rd, const struct bpf_frame *f)
{
	const char *slash = f->source.len ? memrchr(f->source.s, '/', f->source.len) : NULL;
	struct flame_span file = f->source;
	char *to = t->name;

	if (slash) {
		file.len -= (size_t)(slash + 1 - file.s);
		file.s = slash + 1;
	}
	to = mempcpy(to, f->symbol.s, f->symbol.len);
	if (rd->options->offsets)
		to = mempcpy(to, f->offset.s, f->offset.len);
	if (rd->options->srcline && file.len) {
		*to++ = ':';
		to = mempcpy(to, file.s, file.len);
	}
	return flame_tidy_raw((struct flame_span){ t->name, (size_t)(to - t->name) }, t->name);
}

static bool keep_known(struct bpf_text *t, flame_frame frame, int side)
{
	if (!frame || !array_reserve((void **)&t->known, &t->room_known, (size_t)frame + 1, sizeof(*t->known)))
		return false;
	if (frame >= t->nr_known) {
		memset(t->known + t->nr_known, 0, (frame + 1 - t->nr_known) * sizeof(*t->known));
		t->nr_known = (size_t)frame + 1;
	}
	if (side > BPF_KERNEL || side < BPF_USER || !t->known[frame].side)
		t->known[frame].side = side;
	return true;
}

/* "/src/a.c:14" */
static void set_source(struct flame_profile *p, struct flame_span source, struct flame_frame_info *info)
{
	size_t digits = end_digits(source);
	int64_t line;

	if (digits < 2 || source.s[digits - 1] != ':' || !span_is_int(span_from(source, digits), &line) || line > UINT32_MAX)
		return;
	info->file = flame_intern(p, source.s, digits - 1);
	info->line = (uint32_t)line;
}

static flame_frame new_frame(struct bpf_text *t, struct flame_reader *rd, struct flame_span line)
{
	struct flame_frame_info info = { 0 };
	struct flame_span name;
	struct bpf_frame f;
	flame_frame frame;

	bpf_parse_frame(line, &f);
	if (!array_reserve((void **)&t->name, &t->room_name, line.len + 2, 1))
		return 0;
	name = frame_name(t, rd, &f);
	info.name = name.len ? flame_intern(rd->profile, name.s, name.len) : flame_intern(rd->profile, "[unknown]", 9);
	info.module = flame_intern(rd->profile, f.module.s, f.module.len);
	info.kind = f.inlined ? FLAME_INLINED : FLAME_USER;
	if (rd->options->places && f.source.len)
		set_source(rd->profile, f.source, &info);
	frame = flame_frame_row(rd->profile, &info);
	return keep_known(t, frame, f.side ? f.side : bpf_name_side(f.symbol)) ? frame : 0;
}

flame_frame bpf_make_frame(struct bpf_text *t, struct flame_reader *rd, struct flame_span name, enum flame_kind kind)
{
	struct flame_frame_info info = { .kind = kind };

	if (!array_reserve((void **)&t->name, &t->room_name, name.len + 1, 1))
		return 0;
	name = flame_tidy_raw(name, t->name);
	info.name = flame_intern(rd->profile, name.s, name.len);
	return flame_frame_row(rd->profile, &info);
}

/* The part of the line that tells its frame, and the cache that it is in. */
static struct flame_span key_of(const struct flame_reader *rd, struct flame_span line, size_t least, unsigned int *cache)
{
	size_t digits = address_digits(line, least), end;

	*cache = 0;
	if (digits) {
		*cache = address_side(line.s, digits) > 0 ? 2 : 1;
		return (struct flame_span){ line.s + digits + 1, line.len - digits - 1 };
	}
	end = rd->options->offsets || rd->options->places ? line.len : end_digits(line);
	if (end < line.len && end > 1 && line.s[end - 1] == '+')
		line.len = end - 1;
	return line;
}

flame_frame bpf_find_frame(struct bpf_text *t, struct flame_reader *rd, struct flame_span line, int *side)
{
	struct flame_span whole = span_trim(line), key;
	unsigned int cache;
	uint64_t hash;
	flame_frame frame;

	key = key_of(rd, whole, least_digits(line), &cache);
	hash = hash_bytes(key.s, key.len);
	if (!flame_cache_get(&t->lines[cache], key.s, key.len, hash, &frame)) {
		frame = new_frame(t, rd, line);
		flame_cache_put(&t->lines[cache], key.s, key.len, hash, frame);
	}
	*side = frame ? t->known[frame].side : 0;
	return frame;
}

flame_frame bpf_kernel_frame(struct bpf_text *t, struct flame_reader *rd, flame_frame frame)
{
	struct flame_frame_info info;

	if (!(flame_profile_options(rd->profile)->kinds & FLAME_KIND_BIT(FLAME_KERNEL)) || frame >= t->nr_known)
		return frame;
	if (!t->known[frame].kernel) {
		info = *flame_frame_get(rd->profile, frame);
		if (info.kind == FLAME_USER)
			info.kind = FLAME_KERNEL;
		t->known[frame].kernel = flame_frame_row(rd->profile, &info);
	}
	return t->known[frame].kernel;
}

bool bpf_push(struct bpf_text *t, flame_frame frame)
{
	if (!frame || !array_reserve((void **)&t->frames, &t->room_frames, t->nr_frames + 1, sizeof(*t->frames)))
		return false;
	t->frames[t->nr_frames++] = frame;
	return true;
}

/* Paths. */

int bpf_text_init(struct bpf_text *t, struct flame_reader *rd)
{
	for (size_t i = 0; i < sizeof(t->lines) / sizeof(*t->lines); i++)
		t->lines[i].max_bytes = LINE_CACHE_BYTES;
	t->feeder = flame_feeder_new(rd->profile, false);
	return t->feeder ? 0 : FLAME_ENOMEM;
}

int bpf_text_end(struct bpf_text *t, int err)
{
	int ended = flame_feeder_free(t->feeder);

	t->feeder = NULL;
	return err ? err : ended;
}

int bpf_text_cut(struct flame_reader *rd, const char *what, const char *reason)
{
	if (rd->input->error)
		return flame_skip(rd, reason);
	flame_damaged(rd, "the input ends inside %s: it is cut off; what came before is used", what);
	return 0;
}

/* What prints these ends each line: half a number is a wrong number. */
void bpf_text_check_end(struct flame_reader *rd)
{
	if (!rd->diag->damaged && flame_input_ends_in_line(rd->input))
		flame_damaged(rd, "the last line does not end: it is cut off, and the number in it may be wrong");
}

void bpf_text_release(struct bpf_text *t)
{
	for (size_t i = 0; i < sizeof(t->lines) / sizeof(*t->lines); i++)
		flame_cache_release(&t->lines[i]);
	free(t->known);
	free(t->name);
	free(t->frames);
}

flame_frame *bpf_path(struct bpf_text *t, size_t nr)
{
	return flame_feeder_path(t->feeder, nr);
}

int bpf_path_add(struct bpf_text *t, size_t nr, flame_type type, int64_t value)
{
	const struct flame_feed feed = { .nr = (uint32_t)nr, .type = type, .count = { value, 0 } };

	t->has_paths = true;
	return flame_feeder_add(t->feeder, &feed);
}
