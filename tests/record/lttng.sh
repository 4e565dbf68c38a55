#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lttng.sh BIN_DIR - record programs with LTTng-UST's function tracing, to files and live through a relay
# daemon, and with perf's CTF, as they are installed here, and compare what the babeltrace2 plugin makes of
# them with what awk computes from babeltrace2's own text.

script=lttng
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
session=flame-$$
destroy() {
	for s in "$session" "$session-end" "$session-int"; do
		lttng destroy "$s" >/dev/null 2>&1
	done
}
trap 'destroy; end' EXIT

command -v babeltrace2 >/dev/null 2>&1 || skip "there is no babeltrace2"
[ -e "$bin/babeltrace2/flame.so" ] || skip "the plugin was not built"
BABELTRACE_PLUGIN_PATH=$bin/babeltrace2
export BABELTRACE_PLUGIN_PATH
cat >"$tmp/calls.c" <<'END'
#include <unistd.h>
#define NOT __attribute__((noinline, no_instrument_function))
static volatile int sink;
NOT static void work(int n) { for (int i = 0; i < n * 1000; i++) sink += i; }
static __attribute__((noinline)) void leaf(void) { work(3); }
static __attribute__((noinline)) void middle(void) { leaf(); work(1); leaf(); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 50; i++) {
		middle();
		if (argc > 1)
			usleep(10000);
	}
	return 0;
}
END
# Leaves a function by longjmp, and its child becomes another program at other addresses.
cat >"$tmp/forks.c" <<'END'
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
static jmp_buf back;
static __attribute__((noinline)) void jumper(void) { longjmp(back, 1); }
static __attribute__((noinline)) void middle(void) { if (!setjmp(back)) jumper(); }
static __attribute__((noinline)) void child(char *program) { middle(); execl(program, program, (char *)0); }
int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? fork() : -1;

	if (!pid) {
		child(argv[1]);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, 0, 0);
	middle();
	return 0;
}
END
# A thread ends with calls open, and the next one gets its id: in a namespace of its own, of which it is the first process.
cat >"$tmp/reuse.c" <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NOT __attribute__((noinline, no_instrument_function))
static long ids[2];
static __attribute__((noinline)) void leaf(void) { usleep(100); }
static __attribute__((noinline)) void quits(void) { leaf(); pthread_exit(0); }
static __attribute__((noinline)) void first(void) { quits(); }
static __attribute__((noinline)) void second(void) { leaf(); }
NOT static void *one(void *arg) { prctl(PR_SET_NAME, "one"); ids[0] = syscall(SYS_gettid); first(); return arg; }
NOT static void *two(void *arg) { prctl(PR_SET_NAME, "two"); ids[1] = syscall(SYS_gettid); second(); return arg; }
NOT static void run(void *(*f)(void *)) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }
int main(void)
{
	FILE *last;

	if (getpid() != 1)
		return 2;
	run(one);
	usleep(1000);
	last = fopen("/proc/sys/kernel/ns_last_pid", "w");
	if (!last || fprintf(last, "%ld", ids[0] - 1) < 0 || fclose(last))
		return 2;
	run(two);
	return ids[0] == ids[1] ? 0 : 2;
}
END
cd "$tmp" || exit 2
${CC:-cc} -O0 -g -finstrument-functions -o calls calls.c &&
	${CC:-cc} -O0 -g -finstrument-functions -pie -fPIE -o forks forks.c &&
	${CC:-cc} -O0 -g -finstrument-functions -pthread -o reuse reuse.c &&
	${CC:-cc} -O0 -g -finstrument-functions -no-pie -fno-pie -o other forks.c || skip "the program does not compile"

# reference TRACE MODE [OPTION...]: the sums of awk, all time in functions or all calls; one thread.
reference() {
	trace=$1 mode=$2
	shift 2
	babeltrace2 --clock-seconds "$trace" "$@" | awk -v mode="$mode" '
		/func_entry|func_exit/ {
			match($0, /\[[0-9.]+\]/)
			split(substr($0, RSTART + 1, RLENGTH - 2), t, ".")
			now = (t[1] % 100000) * 1000000000 + t[2]
			if (depth) self += now - last
			last = now
			if (/func_entry/) { depth++; calls++ } else if (depth) depth--
		}
		END { printf "%.0f\n", mode == "calls" ? calls : self }'
}

# babeltrace2 2.1 has a second message protocol, reads CTF 2 and writes it.
new=
if babeltrace2 convert --help 2>/dev/null | grep -q -e --allowed-mip-versions; then
	new=yes
else
	echo "SKIP lttng: CTF 2 and MIP 1 need babeltrace2 2.1; this is $(babeltrace2 --version | head -n 1)"
fi

# is_ctf_2 TRACE - its metadata is JSON, behind a record separator
is_ctf_2() {
	[ "$(find "$1" -name metadata -exec head -c 1 {} \; | head -c 1 | od -An -tx1 | tr -d ' ')" = 1e ]
}

# versions TRACE FOLDED - by each version of the protocol, and from the same trace as CTF 2, the same comes out
versions() {
	[ -n "$new" ] || return
	mips="0 1"
	! is_ctf_2 "$1" || mips=1
	for mip in $mips; do
		babeltrace2 "$1" --component=sink.flame.folded --allowed-mip-versions="$mip" 2>err | cmp -s "$2" -
		ok "$1 by MIP $mip: $(head -n 2 err | tr '\n' ' ')" $?
	done
	babeltrace2 "$1" --component=sink.ctf.fs --params="path=\"$1-as-2\",ctf-version=\"2\"" --allowed-mip-versions=1 >ctf.log 2>&1 &&
		is_ctf_2 "$1-as-2" && babeltrace2 "$1-as-2" --component=sink.flame.folded 2>>ctf.log | cmp -s "$2" -
	ok "$1 as CTF 2: $(tail -n 2 ctf.log | tr '\n' ' ')" $?
}

# record NAME OPTION...: a session that records all there is of function tracing
record() {
	name=$1
	shift
	lttng create "$name" "$@" >lttng.log 2>&1 &&
		lttng enable-channel -u -s "$name" --subbuf-size=1M ch0 >>lttng.log 2>&1 &&
		lttng enable-event -u -s "$name" -c ch0 -a >>lttng.log 2>&1 &&
		lttng add-context -u -s "$name" -c ch0 -t vpid -t vtid -t procname -t ip >>lttng.log 2>&1 &&
		lttng start "$name" >>lttng.log 2>&1 || { echo "SKIP lttng: $(tail -n 1 lttng.log)"; return 1; }
}

# stop NAME
stop() {
	lttng stop "$1" >>lttng.log 2>&1
	lttng destroy "$1" >>lttng.log 2>&1
}

find_lttng() {
	command -v lttng >/dev/null 2>&1 || { echo "SKIP lttng: there is no lttng"; return 1; }
	so=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so /usr/lib/liblttng-ust-cyg-profile-fast.so 2>/dev/null | head -n 1)
	[ -n "$so" ] || so=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so.* 2>/dev/null | head -n 1)
	[ -n "$so" ] || { echo "SKIP lttng: there is no liblttng-ust-cyg-profile-fast.so"; return 1; }
	if ! lttng list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel >sessiond.log 2>&1 &
		pids=$!
		sleep 2
	fi
}

files_part() {
	record "$session" --output="$tmp/trace" || return
	LD_PRELOAD=$so ./calls
	stop "$session"

	# The line of the README, word for word.
	ln -s trace TRACE
	babeltrace2 TRACE --component=sink.flame.svg --params='output="flame.svg"' 2>err
	ok "the README's line: $(head -n 1 err)" $?
	grep -q '>middle (' flame.svg && grep -q 'leaf' flame.svg
	ok "the picture has the functions' names" $?
	babeltrace2 TRACE --component=sink.flame.folded >wall.folded
	babeltrace2 TRACE --component=sink.flame.folded --params='count=true' >calls.folded
	same_sum "wall time in ns" wall.folded "$(reference trace self)"
	babeltrace2 TRACE --debug-info --component=sink.flame.folded >debug-info.folded
	cmp -s wall.folded debug-info.folded
	ok "the same names behind debug-info: $(diff wall.folded debug-info.folded | head -n 3 | tr '\n' ' ')" $?
	same_sum "calls" calls.folded "$(reference trace calls)"
	versions trace wall.folded
	printf 'calls;main 1\ncalls;main;middle 50\ncalls;main;middle;leaf 100\n' | cmp -s - calls.folded
	ok "calls by stack: $(tr '\n' ',' <calls.folded)" $?

	# The trimmer cuts calls in two: exits without entries before it, open calls behind.
	babeltrace2 --clock-seconds trace | awk '/func_/ && (++n == 100 || n == 201) { match($0, /[0-9]+\.[0-9]+/); print substr($0, RSTART, RLENGTH) }' >range
	range="--begin=$(sed -n 1p range) --end=$(sed -n 2p range)"
	# shellcheck disable=SC2086 # two options
	reference trace self $range >want
	# shellcheck disable=SC2086
	babeltrace2 trace --component=sink.flame.folded $range 2>err | awk '{ sum += $NF } END { printf "%.0f\n", sum }' >got
	[ "$(cat want)" -gt 0 ] && cmp -s want got && grep -q 'function exits had no entry' err
	ok "behind the trimmer: $(cat want) ns in, $(cat got) out" $?
}

# LTTng writes CTF 2 from 2.15 on, or 1.8 if it is told to.
formats_part() {
	lttng create --trace-format=ctf-1.8 --output="$tmp/none" "$session" >lttng.log 2>&1 ||
		{ echo "SKIP lttng: it writes CTF 1.8 only, $(lttng --version)"; return; }
	lttng destroy "$session" >>lttng.log 2>&1
	for format in ctf-1.8 ctf-2; do
		record "$session" --trace-format="$format" --output="$tmp/$format" || return
		LD_PRELOAD=$so ./calls
		stop "$session"
		if is_ctf_2 "$format"; then got=ctf-2; else got=ctf-1.8; fi
		[ "$got" = "$format" ]
		ok "LTTng wrote $got, not $format" $?
		babeltrace2 "$format" --component=sink.flame.folded >"$format.folded"
		same_sum "$format: wall time in ns" "$format.folded" "$(reference "$format" self)"
		versions "$format" "$format.folded"
	done
}

threads_part() {
	unshare --pid --fork true 2>/dev/null || { echo "SKIP lttng: threads with one id: no right to make a namespace of processes"; return; }
	record "$session" --output="$tmp/reuse-trace" || return
	unshare --pid --fork env LD_PRELOAD="$so" ./reuse
	status=$?
	stop "$session"
	[ "$status" -eq 0 ] || { echo "SKIP lttng: threads with one id: it cannot be given again"; return; }
	babeltrace2 reuse-trace --component=sink.flame.folded --params='count=true' 2>err | sort >got
	printf '%s\n' 'one;first 1' 'one;first;quits 1' 'one;first;quits;leaf 1' 'reuse;main 1' 'two;second 1' 'two;second;leaf 1' >want
	cmp -s want got && grep -q '2 calls or spans were open when their thread ended' err
	ok "a thread with the id of one that ended in a call: $(diff want got | head -n 3 | tr '\n' ' ')$(cat err)" $?
}

# fork, exec and longjmp; programs that are linked to an address and programs that are not; the variant with call_site.
processes_part() {
	record "$session" --output="$tmp/processes" || return
	LD_PRELOAD="liblttng-ust-fork.so ${so%-fast.so*}.so${so##*.so}" ./forks ./other
	stop "$session"
	babeltrace2 processes --component=sink.flame.folded --params='count=true,root="pid"' 2>err | sed 's/-[0-9]*;/;/' >got
	printf '%s\n' 'forks;child 1' 'forks;child;middle 1' 'forks;child;middle;jumper 1' 'forks;main 1' 'forks;main;middle 1' \
		'forks;main;middle;jumper 1' 'other;main 1' 'other;main;middle 1' 'other;main;middle;jumper 1' >want
	sort got | cmp -s - want
	ok "fork and exec: $(sort got | diff - want | head -n 3 | tr '\n' ' ')" $?
	grep -q '3 calls were left without an exit' err
	ok "longjmp: what was left: $(tr '\n' ' ' <err)" $?
}

# Two sessions record the same run: one is read to its end, the other is interrupted.
live_part() {
	command -v lttng-relayd >/dev/null 2>&1 || { echo "SKIP lttng: there is no lttng-relayd"; return; }
	port=$((20000 + $$ % 20000))
	lttng-relayd --output="$tmp/relay" --control-port=tcp://127.0.0.1:$port --data-port=tcp://127.0.0.1:$((port + 1)) \
		--live-port=tcp://127.0.0.1:$((port + 2)) >relayd.log 2>&1 &
	pids="$pids $!"
	sleep 1
	url=net://127.0.0.1:$((port + 2))/host/$(hostname)
	for s in "$session-end" "$session-int"; do
		record "$s" --live=100000 --ctrl-url=tcp://127.0.0.1:$port --data-url=tcp://127.0.0.1:$((port + 1)) || return
		# Shells have what runs in the background ignore the signal.
		env --default-signal=INT babeltrace2 --input-format=lttng-live "$url/$s" --component=sink.flame.svg \
			--params="output=\"$s.svg\",folded=\"$s.folded\"" 2>"$s.err" &
		viewer=$!
		[ "$s" = "$session-int" ] || viewer_to_end=$!
	done
	sleep 1
	LD_PRELOAD=$so ./calls slowly
	sleep 1
	kill -INT "$viewer"
	wait "$viewer"
	grep -q 'interrupted: what came until now is written' "$session-int.err" && grep -q '^calls;main;middle;leaf [1-9]' "$session-int.folded" &&
		grep -q 'leaf' "$session-int.svg"
	ok "live, interrupted: $(head -n 2 "$session-int.err" | tr '\n' ' ')" $?
	stop "$session-end"
	stop "$session-int"
	wait "$viewer_to_end"
	ok "live, to its end: $(head -n 2 "$session-end.err" | tr '\n' ' ')" $?
	find relay -type d -name ust -path "*$session-end*" >where
	babeltrace2 "$(cat where)" --component=sink.flame.folded >want
	cmp -s want "$session-end.folded" && grep -q '^calls;main;middle;leaf [1-9]' want
	ok "live: the same as from the files of the relay daemon" $?
}

perf_part() {
	command -v perf >/dev/null 2>&1 || { echo "SKIP lttng: there is no perf"; return; }
	${CC:-cc} -O0 -g -o plain calls.c
	perf record -q -F 2999 -g -o perf.data -- ./plain >perf.log 2>&1 &&
		perf data convert -i perf.data --all --to-ctf=ctf >>perf.log 2>&1 || { echo "SKIP lttng: perf: $(tail -n 1 perf.log)"; return; }
	babeltrace2 ctf --component=sink.flame.svg --params='output="perf.svg",folded="perf.folded"' 2>err
	ok "perf's CTF is drawn: $(head -n 1 err)" $?
	same_sum "perf: periods" perf.folded \
		"$(babeltrace2 ctf | grep -o 'perf_period = [0-9]*' | awk '{ sum += $3 } END { printf "%.0f\n", sum }')"
	grep -q '^plain;.*main;.*work' perf.folded
	ok "perf: stacks are symbolised" $?
	versions ctf perf.folded
}

# Time off the processor: from each sched_switch that a thread leaves in to the one that it comes back in.
switch_part() {
	perf record -q -e sched:sched_switch -a -g -o switch.data -- sleep 0.3 >perf.log 2>&1 &&
		perf data convert -i switch.data --all --to-ctf=switch >>perf.log 2>&1 || { echo "SKIP lttng: perf: $(tail -n 1 perf.log)"; return; }
	babeltrace2 --clock-seconds switch | awk '
		function id(name) { return match($0, name " = -?[0-9]+") ? substr($0, RSTART + 11, RLENGTH - 11) : 0 }
		/sched_switch/ {
			match($0, /\[[0-9.]+\]/)
			split(substr($0, RSTART + 1, RLENGTH - 2), t, ".")
			now = (t[1] % 100000) * 1000000000 + t[2]
			prev = id("prev_pid") + 0
			next_ = id("next_pid") + 0
			if (prev) left[prev] = now
			if (next_ && next_ in left) { sum += now - left[next_]; n++; delete left[next_] }
		}
		END { printf "%.0f\n%.0f\n", sum, n }' >want
	for count in false true; do
		babeltrace2 switch --component=sink.flame.folded --params="event=\"off-cpu\",count=$count" 2>err |
			awk '{ sum += $NF } END { printf "%.0f\n", sum }'
	done >got
	[ "$(sed -n 2p want)" -gt 0 ] && cmp -s want got
	ok "off-cpu: $(tr '\n' ' ' <want)in, $(tr '\n' ' ' <got)out" $?
}

if find_lttng; then
	files_part
	formats_part
	threads_part
	processes_part
	live_part
fi
perf_part
command -v perf >/dev/null 2>&1 && switch_part
sums
