// SPDX-License-Identifier: MIT
// 34% of the processor time in jsonEncode(), 66% in parse(), and then as long asleep as asked for.
'use strict';
let sink = 1;

function used() {
	const t = process.cpuUsage();

	return t.user + t.system;
}

function jsonEncode(us) {
	const end = used() + us;

	do {
		for (let i = 0; i < 20000; i++)
			sink = (sink * 31 + i) % 1000003;
	} while (used() < end);
}

function parse(us) {
	const end = used() + us;

	do {
		for (let i = 0; i < 20000; i++)
			sink = (sink * 31 + i) % 1000003;
	} while (used() < end);
}

function handleRequest() {
	jsonEncode(6800);
	parse(13200);
}

const end = used() + Number(process.argv[2]) * 1e6;
while (used() < end)
	handleRequest();
setTimeout(() => console.error(sink > 0 ? 'done' : ''), Number(process.argv[3] || 0) * 1000);
