/* SPDX-License-Identifier: MIT */
/* Records of the kernel's buffers as samples: their order, names that come late, what was lost, one profile after another. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../converters/perfdata_live.h"
#include "../core/tracepoint.h"
#include "text.h"

#define PID 4194000	/* of nobody: above what most machines give out */
#define SWITCH_ID 7

static char directory[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/flame-live-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* ---- records ---- */

struct record {
	struct perf_event_header header;
	uint64_t words[600];
	size_t nr;
};

static void put(struct record *r, uint64_t word)
{
	r->words[r->nr++] = word;
}

static uint64_t pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static void put_text(struct record *r, const char *text)
{
	size_t len = strlen(text) + 1;

	r->words[r->nr + (len - 1) / 8] = 0;
	memcpy(&r->words[r->nr], text, len);
	r->nr += (len + 7) / 8;
}

/* What stands behind all records but samples. */
static void put_tail(struct record *r, uint64_t time)
{
	put(r, pair(PID, PID));
	put(r, time);
}

static void give(struct perfdata_live *live, struct record *r, uint32_t type, uint16_t misc)
{
	r->header = (struct perf_event_header){ .type = type, .misc = misc, .size = (uint16_t)(8 + 8 * r->nr) };
	assert_int_equal(perfdata_live_record(live, r, r->header.size), 0);
}

static void give_sample(struct perfdata_live *live, uint64_t time, uint64_t ip)
{
	struct record r = { .nr = 0 };

	put(&r, ip);
	put(&r, pair(PID, PID));
	put(&r, time);
	put(&r, 1);
	put(&r, 2);
	put(&r, PERF_CONTEXT_USER);
	put(&r, ip);
	give(live, &r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

static void give_map(struct perfdata_live *live, uint64_t time, uint64_t start, const char *name)
{
	struct record r = { .nr = 0 };

	put(&r, pair(PID, PID));
	put(&r, start);
	put(&r, 0x1000);
	put(&r, 0);
	put(&r, 0);
	put(&r, 0);
	put(&r, 0);
	put(&r, pair(4, 2));
	put_text(&r, name);
	put_tail(&r, time);
	give(live, &r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
}

static void give_comm(struct perfdata_live *live, uint64_t time, const char *name)
{
	struct record r = { .nr = 0 };

	put(&r, pair(PID, PID));
	put_text(&r, name);
	put_tail(&r, time);
	give(live, &r, PERF_RECORD_COMM, 0);
}

static void give_lost(struct perfdata_live *live, uint64_t time, uint64_t nr)
{
	struct record r = { .nr = 0 };

	put(&r, 0);
	put(&r, nr);
	put_tail(&r, time);
	give(live, &r, PERF_RECORD_LOST, 0);
}

/* ---- recordings ---- */

struct recording {
	struct flame_read_options options;
	struct flame_diag diag;
	struct flame_profile *profile;
	struct perfdata_live *live;
};

static void begin(struct recording *r, const struct perfdata_live_event *event)
{
	struct flame_profile_options options = { .kinds = FLAME_ALL_KINDS };

	r->options.symbol_dir = directory;
	r->profile = flame_profile_new(&options);
	r->live = perfdata_live_new(r->profile, &r->options, &r->diag, event);
	assert_non_null(r->live);
}

static void begin_clock(struct recording *r)
{
	static struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = 99,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
	};
	struct perfdata_live_event event = { .attr = &attr, .attr_size = sizeof(attr), .name = "cpu-clock" };

	begin(r, &event);
}

static void end(struct recording *r)
{
	assert_int_equal(perfdata_live_end(r->live, &r->profile), 0);
}

static void release(struct recording *r)
{
	perfdata_live_free(r->live);
	flame_profile_free(r->profile);
	flame_diag_release(&r->diag);
}

static bool says(const struct recording *r, const char *text)
{
	for (size_t i = 0; i < r->diag.nr_messages; i++) {
		if (strstr(r->diag.messages[i].text, text))
			return true;
	}
	return false;
}

static void write_map(const char *mode, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/perf-%d.map", directory, PID);
	f = fopen(path, mode);
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_map(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/perf-%d.map", directory, PID);
	unlink(path);
}

/* A sample in one buffer is newer than the mapping in another, which is read behind it. */
static void test_order(void **state)
{
	struct recording r = { 0 };

	(void)state;
	begin_clock(&r);
	give_sample(r.live, 30, 0x1010);
	give_map(r.live, 10, 0x1000, "/nonexistent/first");
	give_comm(r.live, 11, "app");
	give_map(r.live, 40, 0x1000, "/nonexistent/second");
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(flame_nr_samples(r.profile), 0);
	give_sample(r.live, 50, 0x1010);
	assert_int_equal(perfdata_live_round(r.live), 0);
	/* What the first round had is complete now; the second may still be added to. */
	assert_int_equal(flame_nr_samples(r.profile), 1);
	give_map(r.live, 60, 0x1000, "/nonexistent/third");
	give_sample(r.live, 45, 0x1010);
	end(&r);
	assert_folded(r.profile, 1, "app;[first] 1\napp;[second] 2\n");
	assert_false(says(&r, "out of the order of time"));
	release(&r);
}

/* Code runs before its compiler names it. */
static void test_late_names(void **state)
{
	struct recording r = { 0 };

	(void)state;
	begin_clock(&r);
	give_comm(r.live, 1, "vm");
	give_map(r.live, 2, 0x1000, "//anon");
	give_sample(r.live, 10, 0x1010);
	give_sample(r.live, 11, 0x1110);
	give_sample(r.live, 12, 0x1210);
	give_sample(r.live, 13, 0x1310);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_refresh(r.live), 0);
	write_map("w", "1000 100 first\n1100 100 sec");
	assert_int_equal(perfdata_live_refresh(r.live), 0);
	write_map("a", "ond\n1200 100 third with a name that is longer than what is compared of the file\n");
	assert_int_equal(perfdata_live_refresh(r.live), 0);
	give_sample(r.live, 20, 0x1010);
	/* Other code at the place of what was sampled already. */
	write_map("a", "1000 100 moved\n");
	end(&r);
	assert_folded(r.profile, 1, "vm;[perf-4194000.map]_[j] 1\nvm;first_[j] 2\nvm;sec_[j] 1\n"
		      "vm;third with a name that is longer than what is compared of the file_[j] 1\n");
	assert_int_equal(flame_meta_get(r.profile)->nr_cpus, 0);
	release(&r);
	remove_map();
}

/* A map that is written as a whole, and anew. */
static void test_rewritten_map(void **state)
{
	struct recording r = { 0 };

	(void)state;
	begin_clock(&r);
	write_map("w", "1000 10 old_name_of_some_length_so_that_the_file_is_longer_than_what_is_compared\n");
	give_map(r.live, 2, 0x1000, "//anon");
	give_comm(r.live, 1, "vm");
	give_sample(r.live, 10, 0x1000);
	give_sample(r.live, 11, 0x1800);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_round(r.live), 0);
	write_map("w", "1800 10 new\n");
	end(&r);
	assert_folded(r.profile, 1, "vm;new_[j] 1\nvm;old_name_of_some_length_so_that_the_file_is_longer_than_what_is_compared_[j] 1\n");
	release(&r);
	remove_map();
}

static void test_lost(void **state)
{
	struct recording r = { 0 };
	uint64_t lost;

	(void)state;
	begin_clock(&r);
	give_sample(r.live, 10, 0x1010);
	give_lost(r.live, 11, 41);
	give_lost(r.live, 12, 1);
	end(&r);
	assert_int_equal(perfdata_live_count(r.live, &lost), 1);
	assert_int_equal(lost, 42);
	assert_int_equal(perfdata_live_sum(r.live), 1);
	assert_int_equal(flame_lost(r.profile), 42);
	release(&r);
}

/* Records that are shorter than their fields, and of lengths that cannot be. */
static void test_damaged(void **state)
{
	struct recording r = { 0 };
	struct record cut = { .nr = 0 };

	(void)state;
	begin_clock(&r);
	for (uint32_t type = 0; type < 30; type++) {
		for (cut.nr = 0; cut.nr < 8; cut.nr++) {
			memset(cut.words, 0xff, sizeof(cut.words));
			give(r.live, &cut, type, (uint16_t)(type + cut.nr));
		}
	}
	assert_int_equal(perfdata_live_record(r.live, &cut, 4), 0);
	give_sample(r.live, 10, 0x1010);
	end(&r);
	release(&r);
}

static void give_exit(struct perfdata_live *live, uint64_t time, uint32_t pid)
{
	struct record r = { .nr = 0 };

	put(&r, pair(pid, 1));
	put(&r, pair(pid, 1));
	put(&r, time);
	put_tail(&r, time);
	give(live, &r, PERF_RECORD_EXIT, 0);
}

static void test_processes(void **state)
{
	struct recording r = { 0 };
	int32_t *pids;

	(void)state;
	begin_clock(&r);
	give_map(r.live, 2, 0x1000, "/nonexistent/file");
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_processes(r.live, &pids), 1);
	assert_int_equal(pids[0], PID);
	free(pids);
	give_exit(r.live, 3, PID);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_processes(r.live, &pids), 0);
	free(pids);
	end(&r);
	release(&r);
}

static void give_fork(struct perfdata_live *live, uint64_t time, uint32_t pid)
{
	struct record r = { .nr = 0 };

	put(&r, pair(pid, PID));
	put(&r, pair(pid, PID));
	put(&r, time);
	put_tail(&r, time);
	give(live, &r, PERF_RECORD_FORK, 0);
}

/* Of more processes than are kept those that live still have their names and files. */
static void test_many_processes(void **state)
{
	struct recording r = { 0 };
	uint64_t time = 10;
	int32_t *pids;

	(void)state;
	begin_clock(&r);
	give_map(r.live, 1, 0x1000, "/nonexistent/file");
	give_comm(r.live, 2, "parent");
	for (uint32_t i = 0; i < 60000; i++) {
		give_fork(r.live, time++, 1000 + i);
		give_exit(r.live, time++, 1000 + i);
		if (i % 1000 == 0)
			assert_int_equal(perfdata_live_round(r.live), 0);
		if (i % 20000 == 0)
			give_sample(r.live, time++, 0x1010);
	}
	assert_int_equal(perfdata_live_round(r.live), 0);
	assert_int_equal(perfdata_live_processes(r.live, &pids), 1);
	free(pids);
	give_sample(r.live, time, 0x1010);
	end(&r);
	assert_folded(r.profile, 1, "parent;[file] 4\n");
	release(&r);
}

/* ---- off the processor ---- */

static const char format[] = "name: sched_switch\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

/* Return: its description as perf writes it; owned by the caller. */
static char *describe(size_t *len)
{
	uint32_t page = 4096, none = 0, one = 1;
	uint64_t zero = 0, size = sizeof(format) - 1;
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	assert_non_null(f);
	fwrite("\x17\x08\x44tracing" "0.6", 1, 14, f);
	fputc(0, f);
	fputc(8, f);
	fwrite(&page, 4, 1, f);
	fwrite("header_page", 1, 12, f);
	fwrite(&zero, 8, 1, f);
	fwrite("header_event", 1, 13, f);
	fwrite(&zero, 8, 1, f);
	fwrite(&none, 4, 1, f);
	fwrite(&one, 4, 1, f);
	fwrite("sched", 1, 6, f);
	fwrite(&one, 4, 1, f);
	fwrite(&size, 8, 1, f);
	fwrite(format, 1, size, f);
	fwrite(&none, 4, 1, f);
	fwrite(&none, 4, 1, f);
	fwrite(&zero, 8, 1, f);
	fclose(f);
	return text;
}

static void begin_switch(struct recording *r)
{
	static struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = SWITCH_ID, .sample_period = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_RAW,
	};
	struct perfdata_live_event event = { .attr = &attr, .attr_size = sizeof(attr), .name = "sched:sched_switch" };
	char *text = describe(&event.tracepoints.len);

	event.tracepoints.s = text;
	r->options.offcpu = true;
	begin(r, &event);
	free(text);
}

/* Blocked, with the idle task next. */
static void give_switch(struct perfdata_live *live, uint64_t time, uint64_t ip)
{
	struct record r = { .nr = 0 };

	put(&r, ip);
	put(&r, pair(PID, PID));
	put(&r, time);
	put(&r, 1);
	put(&r, 2);
	put(&r, PERF_CONTEXT_USER);
	put(&r, ip);
	put(&r, pair(28, SWITCH_ID));
	put(&r, pair(0, 1));
	put(&r, 0);
	put(&r, 0);
	give(live, &r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

static void give_in(struct perfdata_live *live, uint64_t time)
{
	struct record r = { .nr = 0 };

	put_tail(&r, time);
	give(live, &r, PERF_RECORD_SWITCH, 0);
}

/* A thread that is blocked while one profile ends and the next begins; its stack has code without a name. */
static void test_blocked_across(void **state)
{
	struct recording first = { 0 }, second = { 0 };

	(void)state;
	if (!flame_tracepoints_available())
		skip();
	begin_switch(&first);
	give_comm(first.live, 1, "vm");
	give_map(first.live, 2, 0x1000, "//anon");
	give_switch(first.live, 100, 0x1010);
	give_in(first.live, 150);
	give_switch(first.live, 1000, 0x1020);
	begin_switch(&second);
	assert_int_equal(perfdata_live_go_on(second.live, first.live), 0);
	write_map("w", "1000 100 jit\n");
	end(&first);
	perfdata_live_take_symbols(second.live, first.live);
	assert_folded(first.profile, 1, "vm;jit_[j] 50\n");
	release(&first);
	give_in(second.live, 5000);
	end(&second);
	assert_folded(second.profile, 1, "vm;[perf-4194000.map]_[j] 4000\n");
	release(&second);
	remove_map();
}

/* ---- threads that are followed twice, processes that are not wanted ---- */

static void begin_ids(struct recording *r)
{
	static struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = 99,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.sample_id_all = 1,
	};
	struct perfdata_live_event event = { .attr = &attr, .attr_size = sizeof(attr), .name = "cpu-clock" };

	begin(r, &event);
}

static void give_id_tail(struct record *r, uint64_t time)
{
	put_tail(r, time);
	put(r, 1);
	put(r, 0);
}

static void give_taken(struct perfdata_live *live, uint64_t time, int32_t pid, int32_t tid, uint64_t id, uint32_t cpu)
{
	struct record r = { .nr = 0 };

	put(&r, 0x1010);
	put(&r, pair((uint32_t)pid, (uint32_t)tid));
	put(&r, time);
	put(&r, id);
	put(&r, cpu);
	put(&r, 10);
	give(live, &r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

static void give_birth(struct perfdata_live *live, uint64_t time, int32_t pid, int32_t ppid, int32_t tid, int32_t ptid)
{
	struct record r = { .nr = 0 };

	put(&r, pair((uint32_t)pid, (uint32_t)ppid));
	put(&r, pair((uint32_t)tid, (uint32_t)ptid));
	put(&r, time);
	give_id_tail(&r, time);
	give(live, &r, PERF_RECORD_FORK, 0);
}

static uint64_t count(struct recording *r)
{
	uint64_t lost;

	return perfdata_live_count(r->live, &lost);
}

/* The event that is seen first counts, on each processor; who gets the thread's id later has another. */
static void test_followed_twice(void **state)
{
	struct recording r = { 0 };

	(void)state;
	begin_ids(&r);
	perfdata_live_single(r.live);
	give_taken(r.live, 10, PID, PID + 1, 5, 0);
	give_taken(r.live, 11, PID, PID + 1, 6, 0);
	give_taken(r.live, 12, PID, PID + 1, 6, 1);
	give_taken(r.live, 13, PID, PID + 1, 5, 0);
	give_taken(r.live, 14, PID, PID + 1, 5, 1);
	give_taken(r.live, 15, PID, PID + 2, 6, 0);
	give_birth(r.live, 20, PID, PID, PID + 1, PID);
	give_taken(r.live, 21, PID, PID + 1, 6, 0);
	give_taken(r.live, 22, PID, PID + 1, 5, 0);
	end(&r);
	assert_int_equal(count(&r), 5);
	assert_int_equal(perfdata_live_sum(r.live), 50);
	release(&r);
}

static void test_only(void **state)
{
	struct recording first = { 0 }, second = { 0 };
	int32_t wanted = PID, *pids = NULL;

	(void)state;
	begin_ids(&first);
	assert_int_equal(perfdata_live_only(first.live, &wanted, 1), 0);
	give_taken(first.live, 10, PID, PID, 1, 0);
	give_taken(first.live, 11, PID + 5, PID + 5, 1, 0);
	give_birth(first.live, 12, PID + 6, PID + 5, PID + 6, PID + 5);
	give_taken(first.live, 13, PID + 6, PID + 6, 1, 0);
	give_birth(first.live, 14, PID + 7, PID, PID + 7, PID);
	give_taken(first.live, 15, PID + 7, PID + 7, 1, 0);
	begin_ids(&second);
	assert_int_equal(perfdata_live_go_on(second.live, first.live), 0);
	end(&first);
	assert_int_equal(count(&first), 2);
	assert_int_equal(perfdata_live_processes(first.live, &pids), 2);
	free(pids);
	release(&first);
	give_taken(second.live, 20, PID + 5, PID + 5, 1, 0);
	give_taken(second.live, 21, PID + 7, PID + 7, 1, 0);
	end(&second);
	assert_int_equal(count(&second), 1);
	release(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_late_names), cmocka_unit_test(test_rewritten_map),
		cmocka_unit_test(test_lost), cmocka_unit_test(test_damaged), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_blocked_across), cmocka_unit_test(test_followed_twice), cmocka_unit_test(test_only),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
