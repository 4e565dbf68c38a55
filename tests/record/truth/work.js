// SPDX-License-Identifier: MIT
// 34% of the time in jsonEncode(), 66% in parse(), and then as long asleep as asked for.
'use strict';
let sink = 1;

function jsonEncode(rounds) {
	for (let i = 0; i < rounds; i++)
		sink = (sink * 31 + i) % 1000003;
}

function parse(rounds) {
	for (let i = 0; i < rounds; i++)
		sink = (sink * 31 + i + 1) % 1000003;
}

function handleRequest() {
	jsonEncode(34000);
	parse(66000);
}

const end = Date.now() + Number(process.argv[2]) * 1000;
while (Date.now() < end)
	handleRequest();
setTimeout(() => console.error(sink > 0 ? 'done' : ''), Number(process.argv[3] || 0) * 1000);
