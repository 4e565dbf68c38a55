#!/bin/sh
# SPDX-License-Identifier: MIT
#
# jitdump.sh BIN_DIR - record node, which writes both a dump and a perf map of the code that it compiles: names by the dump,
# without perf inject, are those of the map.

script=jitdump
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
map=
trap 'end; rm -f ${map:+"$map"}' EXIT

command -v perf >/dev/null 2>&1 || skip "there is no perf"
command -v node >/dev/null 2>&1 || skip "there is no node"
cd "$tmp" || exit 2
cat >work.js <<'END_OF_SCRIPT'
function planted(n) { return n < 2 ? n : planted(n - 1) + planted(n - 2); }
function sorting(n) {
	const a = [];
	for (let i = 0; i < n; i++)
		a.push((i * 7919) % 1000003);
	a.sort((x, y) => x - y);
	return a[3];
}
const end = process.cpuUsage().user + 600000;
let sum = 0;
while (process.cpuUsage().user < end)
	sum += planted(22) + sorting(5000);
END_OF_SCRIPT
perf record -q -F 999 -g -o node.data node --perf-prof --perf-basic-prof --interpreted-frames-native-stack work.js \
	>perf.log 2>&1 || skip "perf record: $(tail -n 1 perf.log)"
dump=$(ls jit-*.dump 2>/dev/null)
[ -s "$dump" ] || skip "node writes no dump"
pid=${dump#jit-}
map=/tmp/perf-${pid%.dump}.map
[ -s "$map" ] || skip "node writes no perf map"

mv "$dump" hidden
"$bin/fgconv" node.data -o map.folded 2>map.err
ok "fgconv with the perf map" $?
mv hidden "$dump"
mv "$map" map.txt
"$bin/fgconv" node.data -o dump.folded 2>dump.err
ok "fgconv with the dump" $?
cmp -s map.folded dump.folded
ok "names by the dump (>) are those of the map (<): $(diff map.folded dump.folded | head -n 4)" $?
grep -q 'planted' dump.folded
ok "there are compiled functions" $?
mkdir elsewhere && mv "$dump" elsewhere
"$bin/fgconv" --symbols elsewhere node.data -o elsewhere.folded 2>elsewhere.err
cmp -s dump.folded elsewhere.folded
ok "the dump in --symbols" $?
"$bin/fgconv" node.data -o none.folded 2>none.err
ok "fgconv without either" $?
grep -q "the dump of a JIT compiler cannot be read: .*/$dump: No such file" none.err
ok "a dump that is missing is told of: $(cat none.err)" $?
head -c 20000 "elsewhere/$dump" >"$dump"
"$bin/fgconv" node.data -o cut.folded 2>cut.err
grep -q "$dump is cut off or damaged" cut.err
ok "a dump that is cut off is told of: $(cat cut.err)" $?
sums
