#!/bin/sh
# SPDX-License-Identifier: MIT
#
# perf.sh BIN_DIR - record a program whose functions take known parts of its time, with perf as it is
# installed; what fgconv makes of it must show these parts within 5 points, and its sum must be that
# which awk finds in perf's text.

script=perf
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"

command -v perf >/dev/null 2>&1 || skip "there is no perf"

compile "$root/tests/record/split.c" "$tmp/split"
cd "$tmp" || exit 2
perf record -q -F 999 -g -o perf.data -- ./split >perf.log 2>&1 || skip "perf record: $(tail -n 1 perf.log)"
perf script -i perf.data -F +period >script.txt 2>perf.log || skip "perf script: $(tail -n 1 perf.log)"
[ -s script.txt ] || skip "perf recorded no samples"

"$bin/fgconv" -o period.folded script.txt
ok "fgconv reads perf's text" $?
perf script -i perf.data 2>/dev/null | "$bin/fgconv" --count -o count.folded
ok "fgconv reads perf's pipe" $?
"$bin/fgrender" script.txt -o flame.svg
ok "fgrender draws perf's text" $?

same_sum "samples" count.folded "$(grep -c '^[^[:space:]#]' script.txt)"
same_sum "periods" period.folded "$(awk '/^[^[:space:]#]/ {
	for (i = 2; i < NF; i++)
		if ($i ~ /^[0-9]+\.[0-9]+:$/) { sum += $(i + 1); break }
} END { printf "%.0f\n", sum }' script.txt)"
parts perf period.folded 5

# Layouts and groups that are recorded in other ways: what fgconv reads itself weighs what perf prints.
# weighs WHAT DATA EVENT
weighs() {
	"$bin/fgconv" -q --event "$3" -o own.folded "$2" 2>fgconv.log
	same_sum "$1, $3" own.folded "$(perf script -i "$2" -F event,period 2>/dev/null |
		awk -v event="$3" 'index($0, event) { sum += $1 } END { printf "%.0f\n", sum }')"
}

# try_it NAME OPTIONS...
try_it() {
	name=$1
	shift
	perf record -q -o "$name" "$@" -- ./split >perf.log 2>&1 && return
	echo "SKIP perf, $name: perf record: $(tail -n 1 perf.log)"
	return 1
}

try_it threads.data -F 999 -a -g --threads && weighs "a file for each thread" threads.data cpu-clock
try_it packed.data -F 999 -g -z -e cpu-clock && weighs packed packed.data cpu-clock
try_it events.data -F 999 -g -e cpu-clock -e page-faults && weighs "two events" events.data page-faults
if try_it group.data -F 999 -g -e '{cpu-clock,page-faults}:S'; then
	weighs "a group that its leader samples" group.data cpu-clock
	weighs "a group that its leader samples" group.data page-faults
fi
try_it thread.data -F 999 -g --per-thread -e cpu-clock && weighs "per thread" thread.data cpu-clock
try_it cgroups.data -F 999 -a -g -e cpu-clock --all-cgroups --namespaces && weighs "with cgroups and namespaces" cgroups.data cpu-clock

# Time off the processor, to the nanosecond, where the text of perf script is added up by awk; with samples on it recorded too.
cat >switches.awk <<'END_OF_SCRIPT'
# Time from each switch out of a thread to its next switch in, or to its next sample or other record where that was not recorded.
function number(name) { return match($0, name "=-?[0-9]+") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) + 0 : 0 }
function end(tid) { if (tid in left) { sum[state[tid]] += now - left[tid]; delete left[tid] } }
match($0, /[0-9]+\.[0-9]+:/) {
	split(substr($0, RSTART, RLENGTH - 1), t, ".")
	now = (t[1] % 1000000) * 1000000000 + t[2]
	end($1)
}
/prev_pid=/ {
	prev = number("prev_pid")
	match($0, /prev_state=[A-Z]/)
	# Of a thread that has exited the kernel says -1.
	if (prev && $1 > 0) {
		left[prev] = now
		state[prev] = substr($0, RSTART + 11, 1) == "R" ? "runqueue" : "off-cpu"
	}
	if (number("next_pid")) end(number("next_pid"))
}
END { printf "off-cpu %.0f\nrunqueue %.0f\n", sum["off-cpu"], sum["runqueue"] }
END_OF_SCRIPT
if try_it switches.data -a -g -e cpu-clock/freq=999/ -e sched:sched_switch; then
	perf script -i switches.data --ns -F tid,time,event,trace -G --show-task-events --show-mmap-events 2>/dev/null | awk -f switches.awk >want
	for type in off-cpu runqueue; do
		"$bin/fgconv" -q --offcpu -e "$type" -o own.folded switches.data 2>fgconv.log
		same_sum "$type" own.folded "$(awk -v type="$type" '$1 == type { print $2 }' want)"
	done
	"$bin/fgconv" --offcpu -e cpu-clock/freq=999/ switches.data >mixed.folded 2>fgconv.log
	ok "--offcpu has no samples on the processor: $(cat fgconv.log)" "$(($? == 0))"
	weighs "with switches recorded too" switches.data cpu-clock/freq=999/
	try_it few.data -F 99 -a -g -e sched:sched_switch && "$bin/fgconv" --offcpu few.data >few.folded 2>fgconv.log
	grep -q 'not each switch was recorded' fgconv.log
	ok "--offcpu tells that -F leaves switches out: $(cat fgconv.log)" $?
fi
sums
