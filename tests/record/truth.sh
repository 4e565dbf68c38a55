#!/bin/sh
# SPDX-License-Identifier: MIT
#
# truth.sh BIN_DIR - programs of which the truth is known, recorded by the profilers of this machine: a function takes
# 34% of the time, a lock is waited for for a known time, symbols are missing, frame pointers are missing, a sampler runs
# in step with a timer. What is read must show the truth within some points, and what is found about the
# recording (BIN_DIR/findings, and the warnings of fgconv and fgrender) must name what is wrong with it, and nothing else.
# What is not there is skipped. KEEP=DIR keeps the recordings.

bin=${1:?usage: tests/record/truth.sh BIN_DIR}
bin=$(cd "$bin" && pwd) || exit 2
src=$(cd "$(dirname "$0")/truth" && pwd) || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
LC_ALL=C
export LC_ALL
cd "$tmp" || exit 2
passed=0
failed=0

ok() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL truth: $1"
		[ ! -s found ] || sed 's/^/	/' found | cut -c 1-160
	fi
}

skip() {
	echo "SKIP truth: $*"
}

has() {
	command -v "$1" >/dev/null 2>&1
}

# found WHAT FILE PATTERN [EVENT] - a line of what is found in FILE must fit PATTERN.
found() {
	"$bin/findings" "$2" ${4:+"$4"} >found 2>&1
	grep -Eq -e "$3" found
	ok "$1: $3" $?
}

# sound WHAT FILE ID... - none of these may be more than a note.
sound() {
	sound_what=$1 sound_file=$2
	shift 2
	"$bin/findings" "$sound_file" >found 2>&1
	for id; do
		! grep -Eq "^(warning|error) $id " found
		ok "$sound_what: no $id" $?
	done
}

# warns WHAT PATTERN FILE - fgconv and fgrender say so in one line.
warns() {
	for program in fgconv fgrender; do
		"$bin/$program" -o /dev/null "$3" 2>err
		grep -Eq -e "warning: .*$2.*; fgreport tells more" err
		ok "$1: $program warns of $2" $?
	done
	"$bin/fgconv" -q -o /dev/null "$3" 2>err
	! grep -q 'fgreport' err
	ok "$1: --quiet" $?
}

# share WHAT FILE FRAME PERCENT TOLERANCE [OPTION...] - FRAME is in that part of all stacks.
share() {
	share_what=$1 share_file=$2 frame=$3 want=$4 tolerance=$5
	shift 5
	rm -f found
	"$bin/fgconv" -q "$@" -o share.folded "$share_file"
	got=$(awk -v frame="$frame" '{ all += $NF; stack = ";" $0; sub(/ [^ ]*$/, ";", stack)
		if (index(stack, ";" frame ";")) sum += $NF } END { print all ? 100 * sum / all : -1 }' share.folded)
	awk -v got="$got" -v want="$want" -v by="$tolerance" 'BEGIN { exit !(got >= want - by && got <= want + by) }'
	ok "$share_what: $frame has $got%, not $want%" $?
}

record() {
	out=$1
	shift
	perf record -q -o "$out" "$@" >perf.log 2>&1 || { skip "perf record: $(tail -n 1 perf.log)"; return 1; }
}

# ---- C, with perf ----

native() {
	cc=${CC:-cc}
	flags="-O1 -g -fno-optimize-sibling-calls -pthread"
	# shellcheck disable=SC2086
	if ! { $cc $flags -fno-omit-frame-pointer -o work "$src/work.c" &&
		$cc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o nopointers "$src/work.c" &&
		$cc $flags -fno-omit-frame-pointer -shared -fPIC -s -o libplugin.so "$src/plugin.c" &&
		$cc $flags -fno-omit-frame-pointer -o host "$src/host.c" -L. -lplugin -Wl,-rpath,"$tmp"; }; then
		skip "no compiler for C"
		return
	fi
	record good.data -F 997 -g -- ./work burn 1.5 || return
	share "perf" good.data json_encode 34 5
	share "perf" good.data parse 51 5
	sound "frame pointers and symbols" good.data rootless shallow unknown-leaf truncated lock-step jit-unmapped addresses no-stack
	perf script --header -i good.data >good.txt 2>/dev/null
	share "perf script" good.txt json_encode 34 5
	sound "frame pointers and symbols in text" good.txt rootless shallow unknown-leaf truncated lock-step
	"$bin/findings" good.txt | head -n 1 | grep -q 'asked 997'
	ok "the rate is in the text's header" $?

	record nopointers.data -F 997 -g -- ./nopointers burn 1.5 || return
	found "no frame pointers" nopointers.data '^(warning|error) (rootless|shallow) .*-fno-omit-frame-pointer'
	perf script --header -i nopointers.data >nopointers.txt 2>/dev/null
	warns "no frame pointers" "callers are missing" nopointers.txt
	record dwarf.data -F 497 --call-graph dwarf,4096 -- ./nopointers burn 1 || return
	sound "unwound without frame pointers" dwarf.data rootless shallow truncated

	record stripped.data -F 997 -g -- ./host || return
	found "a stripped library" stripped.data '^(warning|error) unknown-leaf .*\(libplugin.so [45][0-9]%.*debuginfo'
	warns "a stripped library" "no symbol at the leaf \(libplugin.so" stripped.data
	sound "only the library is stripped" stripped.data rootless shallow

	record deep.data -F 997 -g -- ./work deep 0.7 || return
	found "300 calls deep" deep.data '^(warning|error) truncated .* at 127 frames .*perf_event_max_stack'

	record step.data -F 100 -g -- ./work timer 2 || return
	found "100 Hz beside a timer of 100 Hz" step.data '^warning lock-step 100 Hz .*-F 99'
	record drift.data -F 99 -g -- ./work timer 2 || return
	sound "99 Hz" drift.data lock-step
	found "few samples" drift.data '^(warning|error) few-samples '
	found "how long it took" step.data '^samples [0-9]+ seconds (1\.[89]|2)'

	# Two runs that differ by load only have the same shares.
	record load1.data -F 997 -g -- ./work burn 1 || return
	./nopointers burn 3 & ./nopointers burn 3 &
	record load2.data -F 997 -g -- ./work burn 2 || return
	wait
	share "without load" load1.data json_encode 34 5
	share "with other load" load2.data json_encode 34 5
}

# The lock is waited for in nine tenths of two seconds; the thread's other time off the processor is short. The C library
# keeps no frame pointers, so that the caller of what waits may be missing; the thread's function is there.
locks() {
	[ -x work ] || return
	record lock.data -e sched:sched_switch -g -- ./work lock 2 || return
	"$bin/fgconv" -q --offcpu -e off-cpu -o lock.folded lock.data
	got=$(awk '/;waiter;/ { sum += $NF } END { printf "%.2f\n", sum / 1e9 }' lock.folded)
	awk -v got="$got" 'BEGIN { exit !(got >= 1.6 && got <= 2.1) }'
	ok "the lock was waited for for $got s, not 1.8 s" $?
	"$bin/findings" lock.data off-cpu >found
	! grep -Eq '^(warning|error) (mixed-kinds|idle|lock-step)' found
	ok "off-CPU time alone is not mixed" $?
}

# ---- bpftrace ----

bpf() {
	[ -x work ] || return
	if ! has bpftrace; then
		skip "there is no bpftrace"
		return
	fi
	./work burn 20 &
	work=$!
	timeout 20 bpftrace -e "profile:hz:499 /pid == $work/ { @[kstack, comm] = count(); } interval:s:3 { exit(); }" \
		>kernel.txt 2>bpf.log
	timeout 20 bpftrace -e "profile:hz:499 /pid == $work/ { @[ustack, kstack, comm] = count(); } interval:s:3 { exit(); }" \
		>user.txt 2>>bpf.log
	kill $work
	wait $work 2>/dev/null
	if ! grep -q '^@' user.txt; then
		skip "bpftrace: $(tail -n 1 bpf.log)"
		return
	fi
	share "bpftrace" user.txt json_encode 34 8
}

# ---- Java ----

java_work() {
	if ! has java || ! has javac || ! javac -d . "$src/Work.java" 2>java.log; then
		skip "there is no Java compiler"
		return
	fi
	java -XX:StartFlightRecording=settings=profile,filename=work.jfr Work 6 >java.log 2>&1
	if [ ! -s work.jfr ]; then
		skip "java: $(tail -n 1 java.log)"
		return
	fi
	share "JFR" work.jfr Work.jsonEncode 34 10
	found "JFR's own rate" work.jfr 'seconds [5-9].* asked (50|100)$'
	sound "JFR" work.jfr unknown-leaf truncated rootless shallow low-rate
	got=$("$bin/fgconv" -q -e lock work.jfr | awk '/Work.waitForLock/ { sum += $NF } END { printf "%.2f\n", sum / 1e9 }')
	awk -v got="$got" 'BEGIN { exit !(got >= 4 && got <= 6) }'
	ok "JFR: waitForLock() waited for $got s, not 5.4 s of 6" $?
	java -XX:FlightRecorderOptions=stackdepth=16 -XX:StartFlightRecording=settings=profile,filename=deep.jfr Work 4 40 \
		>java.log 2>&1
	found "40 calls deep, of which JFR keeps 16" deep.jfr '^(warning|error) (truncated|few-samples) '
	has perf && record java.data -F 499 -g -- java -XX:+PreserveFramePointer Work 2 || return
	perf script --header -i java.data >java.txt 2>/dev/null
	found "a JVM without a map" java.txt '^(warning|error) jit-unmapped .*perf-map-agent'
	warns "a JVM without a map" "compiled at run time, without names" java.txt
}

# ---- Node ----

node_work() {
	if ! has node; then
		skip "there is no node"
		return
	fi
	node --cpu-prof --cpu-prof-name=work.cpuprofile "$src/work.js" 2 1.5 2>node.log
	if [ ! -s work.cpuprofile ]; then
		skip "node: $(tail -n 1 node.log)"
		return
	fi
	share "node" work.cpuprofile jsonEncode 34 8 --no-idle
	found "node slept" work.cpuprofile '^warning idle .*--no-idle'
	sound "node" work.cpuprofile unknown-leaf rootless truncated
	has perf && record node.data -F 499 -g -- node "$src/work.js" 2 || return
	perf script --header -i node.data >node.txt 2>/dev/null
	found "node without a map" node.txt '^(warning|error) jit-unmapped .*--perf-basic-prof'
	warns "node without a map" "compiled at run time, without names" node.txt
	record named.data -F 499 -g -- node --perf-basic-prof --interpreted-frames-native-stack "$src/work.js" 2 || return
	perf script --header -i named.data >named.txt 2>/dev/null
	sound "node with a map" named.txt jit-unmapped
	rm -f /tmp/perf-"$(perf script -i named.data -F pid 2>/dev/null | head -n 1 | tr -d ' ')".map
}

# ---- Go ----

go_work() {
	if ! has go || ! GOFLAGS=-mod=mod GO111MODULE=off go build -o gowork "$src/work.go" 2>go.log; then
		skip "there is no Go compiler"
		return
	fi
	./gowork 3 work.pprof
	share "Go" work.pprof main.jsonEncode 34 6
	sound "Go" work.pprof unknown-leaf rootless truncated
	found "Go's rate" work.pprof '^samples [1-3][0-9][0-9] seconds .* asked 100$'
	found "Go's remedy" work.pprof '^warning few-samples .*profile\?seconds=60'
	GO111MODULE=off go build -ldflags='-s -w' -o gostripped "$src/work.go" 2>go.log
	has perf && record go.data -F 997 -g -- ./gowork 1.5 || return
	share "Go with perf" go.data main.jsonEncode 34 6
	sound "Go has frame pointers" go.data rootless shallow unknown-leaf
}

# ---- Python ----

python_work() {
	python=$(for p in python3.14 python3.13 python3.12 python3 /usr/bin/python3; do
		"$p" -c '' 2>/dev/null && command -v "$p" && break
	done)
	if [ -z "$python" ] || ! has perf; then
		skip "there is no python3, or no perf"
		return
	fi
	record python.data -F 997 -g -- "$python" "$src/work.py" 1.5 || return
	found "Python's interpreter" python.data '^warning python-loop .*python3 -X perf' ||
		skip "python3 has no symbols"
	warns "Python's interpreter" "in Python's interpreter" python.data
	"$python" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null ||
		{ skip "$python has no -X perf"; return; }
	record trampoline.data -F 997 -g -- "$python" -X perf "$src/work.py" 1.5 || return
	perf script --header -i trampoline.data >trampoline.txt 2>/dev/null
	sound "python3 -X perf" trampoline.txt python-loop
}

if has perf; then
	native
	locks
else
	skip "there is no perf"
fi
bpf
java_work
node_work
go_work
python_work
if [ -n "${KEEP-}" ]; then
	for data in *.data; do
		[ -e "${data%.data}.txt" ] || perf script --header -i "$data" >"${data%.data}.txt" 2>/dev/null
	done
	mkdir -p "$KEEP" && cp ./*.data ./*.txt ./*.jfr ./*.cpuprofile ./*.pprof "$KEEP" 2>/dev/null
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
