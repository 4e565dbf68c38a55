#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bpf.sh BIN_DIR - record a program whose functions take known parts of its time, with bpftrace and with bcc's
# profile as they are installed; what fgconv makes of their output must show these parts within 7 points, and its sum
# must be that which awk finds in it.

bin=${1:?usage: tests/record/bpf.sh BIN_DIR}
bin=$(cd "$bin" && pwd) || exit 2
tmp=$(mktemp -d) || exit 2
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
LC_ALL=C
export LC_ALL
passed=0
failed=0

skip() {
	echo "SKIP bpf: $*"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
}

ok() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL bpf: $1"
	fi
}

command -v bpftrace >/dev/null 2>&1 || skip "there is no bpftrace"

# By its processor time: 60 % in six, 30 % in three, 10 % in one; it is still there when names are looked up.
cat >"$tmp/split.c" <<'END'
#include <time.h>

static volatile unsigned long sink;

static double used(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

#define PART(name, seconds) \
	static __attribute__((noinline)) void name(void) \
	{ \
		double end = used(CLOCK_PROCESS_CPUTIME_ID) + (seconds); \
		do { \
			for (int i = 0; i < 200000; i++) \
				sink += i; \
		} while (used(CLOCK_PROCESS_CPUTIME_ID) < end); \
	}

PART(takes_six, 0.06)
PART(takes_three, 0.03)
PART(takes_one, 0.01)

int main(void)
{
	double end = used(CLOCK_MONOTONIC) + 120;

	while (used(CLOCK_MONOTONIC) < end) {
		takes_six();
		takes_three();
		takes_one();
	}
	return 0;
}
END
${CC:-cc} -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/split" "$tmp/split.c" ||
	skip "the program does not compile"
cd "$tmp" || exit 2
./split &
pid=$!

# parts NAME FOLDED - the planted parts.
parts() {
	for part in takes_six:60 takes_three:30 takes_one:10; do
		share=$(awk -v name="${part%:*}" '{ all += $NF } index($0, ";" name) { sum += $NF }
			END { printf "%.1f", all ? 100 * sum / all : 0 }' "$2")
		awk -v got="$share" -v want="${part#*:}" 'BEGIN { d = got - want; exit !(d > -7 && d < 7) }'
		ok "$1: ${part%:*} has $share %, not ${part#*:}" $?
		echo "$1: ${part%:*}: $share % (planted: ${part#*:} %)"
	done
}

# same_sum NAME FOLDED WANT
same_sum() {
	got=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$2")
	[ "$got" = "$3" ]
	ok "$1: $3 samples in, $got out" $?
}

program="profile:hz:199 /pid == $pid/ { @[kstack, ustack, comm] = count(); } interval:s:3 { exit(); }"
for form in text json; do
	timeout 60 bpftrace -f $form -o out.$form -e "$program" >bpf.log 2>&1 ||
		skip "bpftrace: $(tail -n 1 bpf.log)"
	grep -q '@' out.$form || skip "bpftrace recorded no samples"
	"$bin/fgconv" -o $form.folded out.$form
	ok "fgconv reads bpftrace's $form" $?
	parts "bpftrace $form" $form.folded
done
same_sum "bpftrace text" text.folded "$(awk '/\]: [0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' out.text)"
same_sum "bpftrace json" json.folded \
	"$(grep '"map"' out.json | grep -o '": [0-9][0-9]*' | awk '{ sum += $2 } END { printf "%.0f", sum }')"
timeout 60 bpftrace -e "$program" 2>/dev/null | "$bin/fgrender" -o flame.svg
ok "fgrender draws bpftrace's pipe" $?

profile=
for name in profile-bpfcc /usr/share/bcc/tools/profile; do
	! command -v $name >/dev/null 2>&1 || profile=$name
done
[ -n "$profile" ] || skip "there is no profile of bcc (the rest passed: $passed)"
for option in "" -f -d; do
	# shellcheck disable=SC2086 # no option is no word
	timeout 120 "$profile" $option -F 199 -p $pid 3 >profile.txt 2>bpf.log
	grep -q takes_ profile.txt || skip "$profile: $(tail -n 1 bpf.log)"
	"$bin/fgconv" -o profile.folded profile.txt
	ok "fgconv reads profile $option" $?
	parts "profile $option" profile.folded
	same_sum "profile $option" profile.folded \
		"$(awk -v folded="$option" '(folded == "-f" && /;/) || /^ *[0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' profile.txt)"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
