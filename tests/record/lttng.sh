#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lttng.sh BIN_DIR - record programs with LTTng-UST's function tracing and with perf's CTF, as they are
# installed here, and compare what the babeltrace2 plugin makes of them with what awk computes from
# babeltrace2's own text.

script=lttng
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
session=flame-$$
trap 'lttng destroy "$session" >/dev/null 2>&1; end' EXIT

command -v babeltrace2 >/dev/null 2>&1 || skip "there is no babeltrace2"
[ -e "$bin/babeltrace2/flame.so" ] || skip "the plugin was not built"
BABELTRACE_PLUGIN_PATH=$bin/babeltrace2
export BABELTRACE_PLUGIN_PATH
cat >"$tmp/calls.c" <<'END'
#define NOT __attribute__((noinline, no_instrument_function))
static volatile int sink;
NOT static void work(int n) { for (int i = 0; i < n * 1000; i++) sink += i; }
static __attribute__((noinline)) void leaf(void) { work(3); }
static __attribute__((noinline)) void middle(void) { leaf(); work(1); leaf(); }
int main(void) { for (int i = 0; i < 50; i++) middle(); return 0; }
END
cd "$tmp" || exit 2
${CC:-cc} -O0 -g -finstrument-functions -o calls calls.c || skip "the program does not compile"

# The sums of awk: wall time of a frame itself, by its function's address; one thread.
reference() {
	babeltrace2 --clock-seconds "$1" | awk -v mode="$2" '
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

lttng_part() {
	command -v lttng >/dev/null 2>&1 || { echo "SKIP lttng: there is no lttng"; return; }
	so=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so /usr/lib/liblttng-ust-cyg-profile-fast.so 2>/dev/null | head -n 1)
	[ -n "$so" ] || so=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so.* 2>/dev/null | head -n 1)
	[ -n "$so" ] || { echo "SKIP lttng: there is no liblttng-ust-cyg-profile-fast.so"; return; }
	if ! lttng list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel >sessiond.log 2>&1 &
		pids=$!
		sleep 2
	fi
	lttng create "$session" --output="$tmp/trace" >lttng.log 2>&1 &&
		lttng enable-channel -u -s "$session" --subbuf-size=1M ch0 >>lttng.log 2>&1 &&
		lttng enable-event -u -s "$session" -c ch0 -a >>lttng.log 2>&1 &&
		lttng add-context -u -s "$session" -c ch0 -t vpid -t vtid -t procname -t ip >>lttng.log 2>&1 &&
		lttng start "$session" >>lttng.log 2>&1 || { echo "SKIP lttng: $(tail -n 1 lttng.log)"; return; }
	LD_PRELOAD=$so ./calls
	lttng stop "$session" >>lttng.log 2>&1
	lttng destroy "$session" >>lttng.log 2>&1

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
	printf 'calls;main 1\ncalls;main;middle 50\ncalls;main;middle;leaf 100\n' | cmp -s - calls.folded
	ok "calls by stack: $(tr '\n' ',' <calls.folded)" $?
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
}

lttng_part
perf_part
sums
