# shellcheck shell=sh disable=SC2034,SC2154 # its variables are set and read by others
# SPDX-License-Identifier: MIT
#
# common.sh - what tests of programs with other programs share. It is read by them, with BIN_DIR as first argument:
#
#	script=perf
#	# shellcheck source=tests/common.sh
#	. "$(dirname "$0")/../common.sh"
#
# bin is then where the programs are, root where the source is, tmp a directory that goes at the end, and with it the processes in pids.

bin=${1:?usage: $0 BIN_DIR}
bin=$(cd "$bin" && pwd) || exit 2
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
tmp=$(mktemp -d) || exit 2
pids=

# end - what is done at the end; a script with more to do then sets a trap that calls it.
end() {
	# shellcheck disable=SC2086 # they are words
	[ -z "$pids" ] || kill $pids 2>/dev/null
	rm -rf "$tmp"
}

trap end EXIT
trap 'exit 1' INT TERM HUP
LC_ALL=C
export LC_ALL
passed=0
failed=0

# sums - the last line, and the exit.
sums() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
}

# skip WHY - what cannot be tested here, and all behind it.
skip() {
	echo "SKIP $script: $*"
	sums
}

# ok WHAT STATUS
ok() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $script: $1"
	fi
}

# sum FILE - the values of folded text.
sum() {
	awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"
}

# same_sum WHAT FOLDED WANT
same_sum() {
	got=$(sum "$2")
	[ "$got" = "$3" ]
	ok "$1: $3 in, $got out" $?
}

# compile SOURCE PROGRAM - with frame pointers.
compile() {
	${CC:-cc} -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$2" "$1" || skip "the program does not compile"
}

# parts WHAT FOLDED POINTS - the shares that tests/record/split.c plants are there, within so many points.
parts() {
	for part in takes_six:60 takes_three:30 takes_one:10; do
		share=$(awk -v name="${part%:*}" '{ all += $NF } index($0, ";" name) { sum += $NF }
			END { printf "%.1f", all ? 100 * sum / all : 0 }' "$2")
		awk -v got="$share" -v want="${part#*:}" -v far="$3" 'BEGIN { d = got - want; exit !(d > -far && d < far) }'
		ok "$1: ${part%:*} has $share %, not ${part#*:}" $?
		echo "$1: ${part%:*}: $share % (planted: ${part#*:} %)"
	done
}
