#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fgrecord.sh BIN_DIR - record with fgrecord what is known beforehand: programs whose functions take known parts of
# their time, interpreters and compilers at run time, processes that fork, exec and load, samples lost on purpose, users
# who may not.

script=fgrecord
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"

# share NAME FILE - what NAME has of all, as "percent samples-of-all" with samples of 1/999 s.
share() {
	awk -v name="$1" '/^#/ { next } { all += $NF } index($0, ";" name) { sum += $NF }
		END { printf "%.2f %.0f\n", all ? 100 * sum / all : 0, all / 1001001 }' "$2"
}

# within NAME PERCENT FILE - is that in the 99.9 % interval around what was recorded, with 1 point for the
# program's own clock?
within() {
	# shellcheck disable=SC2046
	set -- "$1" "$2" $(share "$1" "$3")
	echo "$1: $3 % of $4 samples (planted: $2 %)"
	awk -v want="$2" -v got="$3" -v n="$4" 'BEGIN {
		p = want / 100; half = n ? 100 * 3.29 * sqrt(p * (1 - p) / n) + 1 : 0
		exit !(n >= 100 && got > want - half && got < want + half) }'
}

mostly() {
	# shellcheck disable=SC2046
	set -- "$1" "$2" "$3" $(share "$1" "$3")
	echo "$1: $4 % (at least $2 %)"
	awk -v got="$4" -v want="$2" 'BEGIN { exit !(got >= want) }'
}

"$bin/fgrecord" -o "$tmp/probe.folded" true >"$tmp/log" 2>&1
grep -q libperf "$tmp/log" && skip "built without libperf (make libperf)"
flags="-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread"
# shellcheck disable=SC2086 # they are words
if ! ${CC:-cc} $flags -o "$tmp/work" "$root/tests/record/work.c" ||
   ! ${CC:-cc} $flags -shared -fPIC -DLIBRARY -o "$tmp/work.so" "$root/tests/record/work.c"; then
	skip "the program does not compile"
fi
cd "$tmp" || exit 2
chmod 755 "$tmp"
"$bin/fgrecord" -F 999 -e cpu-clock -o split.folded ./work split 1 >log 2>&1 || skip "$(tail -n 1 log)"
is_root=false
[ "$(id -u)" != 0 ] || is_root=true

# ---- parts of the time ----

within takes_34 65.38 split.folded
ok "takes_34 has what it takes" $?
within takes_18 34.62 split.folded
ok "takes_18 has what it takes" $?
grep -q '^# frequency: 999 Hz$' split.folded && grep -q '^# unit: ns$' split.folded
ok "the text says how it was recorded" $?

"$bin/fgrecord" -F 999 -e cpu-clock --call-graph dwarf -o dwarf.folded ./work split 1 2>log
within takes_34 65.38 dwarf.folded && grep -q '^work;_start;.*;main;takes_18' dwarf.folded
ok "copies of stacks are unwound" $?

./work split 1.5 &
pids=$!
"$bin/fgrecord" -F 999 -e cpu-clock -p $! -o running.folded 2>log
within takes_34 65.38 running.folded
ok "a process that runs already is known, until it ends" $?

./work split 20 &
work=$!
pids=$work
"$bin/fgrecord" -F 999 -e cpu-clock -p $work -d 1 -o cut.folded 2>log
! grep -v 'note: [0-9]* samples in' log
ok "a process that goes on is recorded without more words" $?
"$bin/fgrecord" -F 999 -e cpu-clock -p $work -o cut.folded 2>log &
recorder=$!
sleep 1
kill -INT $recorder
wait $recorder
! grep -v 'note: [0-9]* samples in' log
ok "and so it is until Ctrl-C" $?
kill $work

cp work replaced
./replaced split 1.5 &
pids=$!
sleep 0.2
rm replaced
cp /bin/true replaced
"$bin/fgrecord" -F 999 -e cpu-clock -p $! -o replaced.folded 2>log
within takes_34 65.38 replaced.folded
ok "a program has its names whose file was replaced" $?

"$bin/fgrecord" -F 999 -e cpu-clock -d 0.4 -o cut.folded ./work split 30 2>log
child=$(sed -n 's/.*is over: .\/work, process \([0-9]*\), .*SIGTERM.*/\1/p' log)
sleep 0.1
[ "$child" ] && ! grep -q '^State:.*[RSD]' "/proc/$child/status" 2>/dev/null && grep -q '^# samples: [0-9]' cut.folded
ok "a command does not outlive its recording" $?

"$bin/fgrecord" -e cpu-clock -o flame.svg ./work split 0.5 2>log &&
	grep -q '>perf cpu-clock 99 Hz x [0-9.]* s, [0-9]* samples, [^<]*<' flame.svg && grep -q '<title>takes_34 (' flame.svg
ok "the picture says how it was recorded" $?
"$bin/fgrecord" -e cpu-clock --long -o flame.svg ./work split 0.2 2>log && grep -q 'perf cpu-clock 49 Hz' flame.svg
ok "--long is 49 Hz" $?

"$bin/fgrecord" -F 999 -e cpu-clock -o report.md ./work split 0.5 2>log &&
	grep -q '^# Profile of `./work split 0.5`$' report.md && grep -q '[0-9]% .*`main -> takes_34` (.*work.c:[0-9]*)' report.md
ok "a report names the lines" $?

# What happens is counted: each time is a sample, and sums are no estimate.
"$bin/fgrecord" -e page-faults -o faults.folded ./work split 0.2 2>log
nr=$(sed -n 's/.*note: \([0-9]*\) samples in .*/\1/p' log)
echo "${nr:-0} page faults"
awk -v nr="${nr:-0}" '/^#/ { next } { sum += $NF } END { exit !(sum >= 20 && sum == nr) }' faults.folded
ok "events that are counted are counted right" $?
"$bin/fgrecord" -e cpu-migrations -o none.svg true 2>log
grep -q 'there were no cpu-migrations' log || grep -q 'samples\{0,1\} in' log
ok "events that did not come are no matter of time" $?

# ---- what comes and goes ----

"$bin/fgrecord" -F 999 -e cpu-clock -o exec.folded ./work exec 0.6 2>log
mostly takes_34 35 exec.folded && mostly takes_18 35 exec.folded && grep -q '^exe;.*takes_34' exec.folded
ok "exec is followed" $?
"$bin/fgrecord" -F 999 -e cpu-clock -o fork.folded ./work fork 0.6 2>log
mostly takes_34 70 fork.folded
ok "children are followed" $?
"$bin/fgrecord" -F 999 -e cpu-clock -o dlopen.folded ./work dlopen 0.6 2>log
mostly takes_library 35 dlopen.folded
ok "a library is seen that is loaded later" $?

mkfifo go
./work threads 3 <go >ready &
work=$!
exec 3>go
while [ ! -s ready ]; do sleep 0.1; done
"$bin/fgrecord" -F 4999 -e cpu-clock -p $work -o threads.folded 2>log &
recorder=$!
pids="$pids $work $recorder"
# One event a thread and processor: then it records.
tries=0
while [ "$(find "/proc/$recorder/fd" 2>/dev/null | wc -l)" -lt 1001 ] && [ $tries -lt 100 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
sleep 0.5
echo >&3
exec 3>&-
wait $recorder
ok "1,000 threads are recorded" $?
mostly takes_34 80 threads.folded
ok "1,000 threads have their names" $?

# Threads that live for 0.4 ms: what is in no sample is told; on all processors nothing is missed.
# bursts FOLDED OPTION... - record them; set used and sum to seconds.
bursts() {
	folded=$1
	shift
	./work bursts 2 <go >ready &
	work=$!
	exec 3>go
	while [ ! -s ready ]; do sleep 0.1; done
	"$bin/fgrecord" -e cpu-clock -p $work -o "$folded" "$@" 2>log &
	recorder=$!
	pids="$pids $work $recorder"
	tries=0
	until grep -qs 'anon_inode:.perf_event' "/proc/$recorder/maps" || [ $tries -ge 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	sleep 0.5
	echo >&3
	exec 3>&-
	wait $work
	wait $recorder
	used=$(tail -n 1 ready)
	sum=$(awk '/^#/ { next } { sum += $NF } END { print sum / 1e9 }' "$folded" 2>/dev/null)
	sum=${sum:-0}
	echo "bursts of threads: $sum of $used s"
}
bursts bursts.folded -F 99
awk -v sum="$sum" -v used="$used" 'BEGIN { exit !(sum < used / 2) }' && grep -q '[0-9] % of what ran is in no sample: threads' log
ok "what threads did that ended before their first sample is told" $?
if $is_root; then
	bursts bursts.folded -F 999 -a
	lost=$(sed -n 's/^# lost: \([0-9]*\).*/\1/p' bursts.folded)
	awk -v sum="$sum" -v used="$used" -v lost="${lost:-0}" 'BEGIN { exit !(sum > used * 0.9 - lost / 999 && sum < used * 1.1) }' &&
		! grep -q 'in no sample' log && ! grep -qv '^#\|^work;' bursts.folded
	ok "-a -p has all that threads did, and of nobody else" $?
fi

# A file of no other place: static, below a root of its own.
# shellcheck disable=SC2086 # they are words
if $is_root && ${CC:-cc} $flags -static -o contained "$root/tests/record/work.c" 2>/dev/null; then
	mkdir -p jail/only && mv contained jail/only/here
	"$bin/fgrecord" -F 999 -e cpu-clock -o jail.folded chroot jail /only/here split 0.5 2>log
	mostly takes_34 50 jail.folded
	ok "a program below another root has names" $?
fi

# A processor that was not online at the start. What says which are is a file of ours here.
if $is_root && [ "$(getconf _NPROCESSORS_ONLN)" -ge 2 ] && unshare -m true 2>/dev/null; then
	echo 0 >online
	unshare -m sh -c 'mount --bind online /sys/devices/system/cpu/online && exec "$@"' - \
		"$bin/fgrecord" -F 999 -e cpu-clock -o hotplug.folded taskset -c 1 ./work split 4 2>log &
	recorder=$!
	sleep 1.2
	echo 0-1 >online
	wait $recorder
	grep -q 'processor 1 came online' log && mostly takes_34 50 hotplug.folded
	ok "a processor that comes online is recorded" $?
fi
# With a processor of this machine, where that is wanted: FGRECORD_HOTPLUG=1. It is back within seconds, whatever happens.
switch=/sys/devices/system/cpu/cpu1/online
if $is_root && [ "${FGRECORD_HOTPLUG:-}" = 1 ] && [ "$(cat $switch 2>/dev/null)" = 1 ] && echo 0 2>/dev/null >$switch; then
	trap 'echo 1 >$switch; exit 1' INT TERM HUP
	(
		trap 'echo 1 >$switch' EXIT
		sleep 1
		echo 1 >$switch
		sleep 2
		echo 0 >$switch
		sleep 0.3
	) &
	"$bin/fgrecord" -F 999 -e cpu-clock -o real.folded sh -c 'sleep 1.5; exec taskset -c 1 ./work split 1.5' 2>log
	ok "a recording outlives a processor that goes" $?
	wait $!
	trap 'exit 1' INT TERM HUP
	[ "$(cat $switch)" = 1 ]
	ok "the processor is back" $?
	grep -q 'processor 1 came online' log && mostly takes_34 50 real.folded
	ok "a processor that really comes online is recorded" $?
fi
"$bin/fgrecord" -F 999 -C 0-127 -o cpus.folded ./work split 0.3 2>log && mostly takes_34 40 cpus.folded
ok "a list of more processors than there are" $?

# ---- time off the processor ----

if $is_root && [ -r /sys/kernel/tracing/events/sched/sched_switch/format ]; then
	"$bin/fgrecord" --offcpu --call-graph dwarf -o offcpu.folded ./work sleep 0.5 2>log
	awk '/^#/ { next } /;sleeps;/ { sum += $NF } END { print sum / 1e9 " s in sleeps"; exit !(sum >= 0.5e9 && sum < 1.5e9) }' offcpu.folded
	ok "half a second is slept" $?
fi

# ---- names that are made at run time ----

cat >hot.js <<'END'
function hotNode(n) { let s = 0; for (let i = 0; i < n; i++) s += i * i % 7; return s }
const end = Date.now() + 1500; let x = 0; while (Date.now() < end) x += hotNode(100000); process.exitCode = x > 0 ? 0 : 1
END
if command -v node >/dev/null; then
	"$bin/fgrecord" -F 999 -e cpu-clock -o node.folded -- node --perf-basic-prof --interpreted-frames-native-stack hot.js >log 2>&1
	awk '/^#/ { next } { all += $NF } /hotNode/ { sum += $NF }
		END { printf "hotNode: %.1f %%\n", 100 * sum / all; exit !(sum > 0.5 * all) }' node.folded
	ok "functions of Node have names" $?
	if $is_root && unshare -m -p -f true 2>/dev/null; then
		source=$(cat hot.js)
		# shellcheck disable=SC2016
		"$bin/fgrecord" -F 999 -e cpu-clock -o inside.folded -- unshare -m -p -f sh -c \
			'mount -t tmpfs none /tmp && exec node --perf-basic-prof --interpreted-frames-native-stack -e "$1"' - "$source" >log 2>&1
		awk '/^#/ { next } { all += $NF } /hotNode/ { sum += $NF } END { exit !(sum > 0.5 * all) }' inside.folded
		ok "functions of Node in a container have names" $?
	fi
else
	echo "SKIP fgrecord: there is no node"
fi
cat >Hot.java <<'END'
public class Hot {
	static volatile long sink;
	static long hotJava(int n) { long s = 0; for (int i = 0; i < n; i++) s += (long) i * i % 7; return s; }
	public static void main(String[] a) {
		long end = System.currentTimeMillis() + 1500;
		while (System.currentTimeMillis() < end) sink += hotJava(100000);
	}
}
END
if command -v javac >/dev/null && javac Hot.java 2>/dev/null; then
	# Its map is written when all is over.
	"$bin/fgrecord" -F 999 -e cpu-clock -o java.folded -- java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions \
		-XX:+DumpPerfMapAtExit Hot >log 2>&1
	awk '/^#/ { next } { all += $NF } /hotJava/ { sum += $NF }
		END { printf "hotJava: %.1f %%\n", 100 * sum / all; exit !(sum > 0.3 * all) }' java.folded
	ok "methods of Java have names that are written at its end" $?
else
	echo "SKIP fgrecord: there is no javac"
fi
cat >hot.py <<'END'
import time
def hot_python(n):
    s = 0
    for i in range(n): s += i * i % 7
    return s
end = time.time() + 1.5
while time.time() < end: hot_python(10000)
END
for python in python3.13 python3.12 python3; do
	"$python" -c pass 2>/dev/null && break
done
if "$python" -X perf -c 'import sys; sys.exit(not sys._xoptions.get("perf") or sys.version_info < (3, 12))' 2>/dev/null; then
	"$bin/fgrecord" -F 999 -e cpu-clock --call-graph dwarf -o python.folded "$python" -X perf hot.py 2>log
	grep -q 'py::hot_python' python.folded
	ok "functions of Python have names" $?
elif command -v python3 >/dev/null; then
	"$bin/fgrecord" -F 999 -e cpu-clock --call-graph dwarf -o python.folded python3 hot.py 2>log
	grep -q 'PyEval' python.folded
	ok "Python's own functions have names" $?
fi

# ---- losses ----

./work split 20 &
work=$!
"$bin/fgrecord" -F 9999 -m 1 -e cpu-clock -p $work -d 1 -o lost.folded 2>log &
recorder=$!
pids="$pids $work $recorder"
sleep 0.3
kill -STOP $recorder
sleep 0.5
kill -CONT $recorder
wait $recorder
lost=$(sed -n 's/^# lost: \([0-9]*\).*/\1/p' lost.folded)
told=$(sed -n 's/.*: warning: \([0-9]*\) records were lost.*/\1/p' log)
echo "${lost:-0} records lost, ${told:-0} told of"
[ "${lost:-0}" -gt 0 ] && [ "$lost" = "$told" ]
ok "what is lost is counted and told of" $?
grep -q -- '-m makes them larger' log
ok "and what to do" $?

# ---- series and differences ----

"$bin/fgrecord" -F 999 -e cpu-clock -p $work -d 3.5 --every 1 --keep 2 -o 'series-%s.folded' 2>log
ok "a series ends well" $?
nr=$(find . -name 'series-*.folded' | wc -l)
[ "$nr" -ge 1 ] && [ "$nr" -le 2 ] && [ "$(grep -c 'samples in' log)" -ge 3 ]
ok "a series keeps two files, not $nr" $?
for f in series-*.folded; do mostly takes_ 80 "$f" || nr=0; done
[ "$nr" -gt 0 ]
ok "each file of a series has the names" $?
kill $work 2>/dev/null
"$bin/fgrecord" -e cpu-clock --diff split.folded -o diff.svg ./work dlopen 0.5 2>log &&
	grep -q '<title>takes_library ([^)]*; ' diff.svg
ok "a difference to what was saved" $?
"$bin/fgrecord" -q -F 999 -e cpu-clock --diff split.folded --only takes_34 --to folded ./work split 0.3 >only.folded 2>log
grep -q ';takes_34 ' only.folded && ! grep -q ';takes_18' only.folded
ok "of both sides that which is asked for" $?
"$bin/fgrecord" -q -F 999 -e cpu-clock --diff split.folded --to markdown ./work split 0.5 >diff.md 2>log
grep -q '^## Before and after' diff.md && ! grep -q '^- .work. ' diff.md
ok "a report knows a process again" $?
: >empty.folded
for wrong in empty.folded not-there.folded faults.folded; do
	"$bin/fgrecord" -e cpu-clock --diff $wrong -o none.svg touch "ran-$wrong" 2>log
	[ $? = 1 ] && [ ! -e "ran-$wrong" ] && [ ! -e none.svg ]
	ok "what cannot be compared is told before it is recorded: $wrong" $?
done

./work split 20 &
work=$!
"$bin/fgrecord" -e cpu-clock -p $work --every 1 -o 'ended-%s.folded' 2>log &
recorder=$!
pids="$pids $work $recorder"
sleep 2.6
kill -INT $recorder
wait $recorder
status=$?
kill $work
[ $status = 0 ] && [ "$(find . -name 'ended-*.folded' | wc -l)" = "$(grep -c 'samples in' log)" ] && [ "$(grep -c 'samples in' log)" -ge 2 ]
ok "a series that is ended has its last file too" $?

for signal in INT TERM QUIT HUP; do
	rm -f stopped.folded
	"$bin/fgrecord" -e cpu-clock -o stopped.folded ./work split 60 2>log &
	recorder=$!
	pids="$pids $recorder"
	sleep 1
	kill -$signal $recorder
	wait $recorder
	ok "what there is is written after SIG$signal" $?
	mostly takes_ 80 stopped.folded
	ok "and is what was recorded" $?
done
# shellcheck disable=SC2046
kill $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v me=$recorder '$2 == "(work)" && $4 == me { print $1 }') 2>/dev/null

# ---- what may not be ----

"$bin/fgrecord" -o none.svg ./not-there 2>log
[ $? = 1 ] && grep -q 'cannot run ./not-there: No such file' log && [ ! -e none.svg ]
ok "a command that is not there" $?
"$bin/fgrecord" -p 2147483647 -d 1 2>log
[ $? = 1 ] && grep -q 'there is no process 2147483647' log
ok "a process that is not there" $?
"$bin/fgrecord" -e no-such-event true 2>log
[ $? = 1 ] && grep -q 'no event no-such-event; there are cycles' log
ok "an event that is not there" $?
if $is_root && command -v setpriv >/dev/null; then
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	before=$(cat /proc/sys/kernel/perf_event_* /proc/sys/kernel/kptr_restrict 2>/dev/null)
	mkdir -m 777 theirs
	cp "$bin/fgrecord" theirs/
	$as_nobody theirs/fgrecord -a -d 0.1 -o theirs/a.svg 2>log
	status=$?
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
		[ $status = 1 ] && grep -q 'kernel.perf_event_paranoid is' log && grep -q 'sudo theirs/fgrecord ' log
		ok "users are told what recording the machine needs" $?
	fi
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		$as_nobody theirs/fgrecord -F 999 -e cpu-clock -o theirs/own.folded ./work split 0.4 2>log
		mostly takes_34 50 theirs/own.folded
		ok "users may record their own programs" $?
		$as_nobody theirs/fgrecord -p 1 -d 0.1 -o theirs/one.svg 2>log
		[ $? = 1 ] && grep -q "another user's" log
		ok "users are told that a process is not theirs" $?
	fi
	cp "$(command -v id)" work theirs/
	chmod 4755 theirs/id theirs/work
	if [ "$($as_nobody theirs/id -u)" = 0 ]; then
		# shellcheck disable=SC2016
		$as_nobody sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec theirs/work split 20' &
		work=$!
		pids="$pids $work"
		"$bin/fgrecord" -F 999 -e cpu-clock -p $work -d 60 -o theirs/setuid.folded 2>log
		ok "a recording ends with what may be recorded" $?
		grep -q "process $work goes on, but .* setuid" log
		ok "and says that the program goes on" $?
		kill $work
		cp work theirs/unreadable
		chmod 711 theirs/unreadable
		$as_nobody theirs/fgrecord -o theirs/unreadable.svg theirs/unreadable split 1 2>log
		[ $? = 1 ] && grep -q 'goes on, but .* may not be read' log && grep -q 'no samples in .* may not be recorded' log
		ok "a command that may not be recorded is told of" $?
	fi
	[ "$before" = "$(cat /proc/sys/kernel/perf_event_* /proc/sys/kernel/kptr_restrict 2>/dev/null)" ]
	ok "nothing on the host has changed" $?
fi

sums
