#!/bin/sh
# SPDX-License-Identifier: MIT
#
# perf.sh BIN_DIR - record a program whose functions take known parts of its time, with perf as it is
# installed; what fgconv makes of it must show these parts within 5 points, and its sum must be that
# which awk finds in perf's text.

bin=${1:?usage: tests/record/perf.sh BIN_DIR}
bin=$(cd "$bin" && pwd) || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
LC_ALL=C
export LC_ALL
passed=0
failed=0

skip() {
	echo "SKIP perf: $*"
	echo "0 passed, 0 failed"
	exit 0
}

ok() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL perf: $1"
	fi
}

command -v perf >/dev/null 2>&1 || skip "there is no perf"

# By its processor time: 60 % in three, 30 % in two, 10 % in one, whatever else the machine does.
cat >"$tmp/split.c" <<'END'
#include <time.h>

static volatile unsigned long sink;

static double used(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

#define PART(name, seconds) \
	static __attribute__((noinline)) void name(void) \
	{ \
		double end = used() + (seconds); \
		do { \
			for (int i = 0; i < 200000; i++) \
				sink += i; \
		} while (used() < end); \
	}

PART(takes_six, 0.06)
PART(takes_three, 0.03)
PART(takes_one, 0.01)

int main(void)
{
	for (int i = 0; i < 20; i++) {
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
perf record -q -F 999 -g -o perf.data -- ./split >perf.log 2>&1 || skip "perf record: $(tail -n 1 perf.log)"
perf script -i perf.data -F +period >script.txt 2>perf.log || skip "perf script: $(tail -n 1 perf.log)"
[ -s script.txt ] || skip "perf recorded no samples"

"$bin/fgconv" -o period.folded script.txt
ok "fgconv reads perf's text" $?
perf script -i perf.data 2>/dev/null | "$bin/fgconv" --count -o count.folded
ok "fgconv reads perf's pipe" $?
"$bin/fgrender" script.txt -o flame.svg
ok "fgrender draws perf's text" $?

awk '{ sum += $NF } END { printf "%.0f\n", sum }' count.folded >got
grep -c '^[^[:space:]#]' script.txt >want
cmp -s got want
ok "$(cat want) samples in, $(cat got) out" $?
awk '{ sum += $NF } END { printf "%.0f\n", sum }' period.folded >got
awk '/^[^[:space:]#]/ {
	for (i = 2; i < NF; i++)
		if ($i ~ /^[0-9]+\.[0-9]+:$/) { sum += $(i + 1); break }
} END { printf "%.0f\n", sum }' script.txt >want
cmp -s got want
ok "periods of $(cat want) in, $(cat got) out" $?

for part in takes_six:60 takes_three:30 takes_one:10; do
	share=$(awk -v name="${part%:*}" '{ all += $NF } index($0, ";" name) { sum += $NF }
		END { printf "%.1f", all ? 100 * sum / all : 0 }' period.folded)
	awk -v got="$share" -v want="${part#*:}" 'BEGIN { d = got - want; exit !(d > -5 && d < 5) }'
	ok "${part%:*} has $share %, not ${part#*:}" $?
	echo "${part%:*}: $share % (planted: ${part#*:} %)"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
