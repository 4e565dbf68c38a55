#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bpf.sh BIN_DIR - record a program whose functions take known parts of its time, with bpftrace and with bcc's
# profile as they are installed; what fgconv makes of their output must show these parts within 7 points, and its sum
# must be that which awk finds in it.

script=bpf
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"

command -v bpftrace >/dev/null 2>&1 || skip "there is no bpftrace"

compile "$root/tests/record/split.c" "$tmp/split"
cd "$tmp" || exit 2
# It is still there when names are looked up.
./split 120 &
pid=$!
pids=$pid

program="profile:hz:199 /pid == $pid/ { @[kstack, ustack, comm] = count(); } interval:s:3 { exit(); }"
for form in text json; do
	timeout 60 bpftrace -f $form -o out.$form -e "$program" >bpf.log 2>&1 ||
		skip "bpftrace: $(tail -n 1 bpf.log)"
	grep -q '@' out.$form || skip "bpftrace recorded no samples"
	"$bin/fgconv" -o $form.folded out.$form
	ok "fgconv reads bpftrace's $form" $?
	parts "bpftrace $form" $form.folded 7
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
	parts "profile $option" profile.folded 7
	same_sum "profile $option" profile.folded \
		"$(awk -v folded="$option" '(folded == "-f" && /;/) || /^ *[0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' profile.txt)"
done
sums
