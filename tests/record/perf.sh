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
sums
