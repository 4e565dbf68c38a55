// SPDX-License-Identifier: MIT
// noise_work.js [ROUNDS [TENTHS]] - a service in small: parses, sorts, matches, allocates, collects garbage.
// TENTHS is the work of checksum() in tenths of a pass.
'use strict';

function parse(text) { return JSON.parse(text); }
function encode(rows) { return JSON.stringify(rows); }
function order(rows) { return rows.slice().sort((a, b) => a.key - b.key || (a.name < b.name ? -1 : 1)); }
function match(text) { return (text.match(/"name":"k(\d*7)"/g) || []).length; }
function group(rows) {
	const groups = new Map();
	for (const row of rows) {
		const list = groups.get(row.key % 17) || [];
		list.push(row);
		groups.set(row.key % 17, list);
	}
	return [...groups.values()].map((list) => list.reduce((sum, row) => sum + row.value, 0));
}
function checksum(text, tenths) {
	let sum = 1;
	for (let i = 0; i < text.length * tenths / 10; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i % text.length)) | 0;
	return sum;
}
function matrix(n) {
	const out = new Float64Array(n * n);
	for (let i = 0; i < n; i++) {
		for (let j = 0; j < n; j++) {
			for (let k = 0; k < n; k++) out[i * n + j] += (i ^ k) * (k + j);
		}
	}
	return out[n];
}
const cache = [];
function remember(rows) {
	cache.push(rows);
	if (cache.length > 60) cache.splice(0, 30);
}
function handle(round, tenths) {
	const rows = Array.from({ length: 400 }, (_, i) => ({ key: (i * 7919 + round) % 1009, name: 'k' + i, value: i / 3 }));
	const text = encode(order(rows));
	remember(parse(text));
	return match(text) + group(rows)[0] + checksum(text, tenths) + matrix(40);
}

const rounds = Number(process.argv[2] || 1500), tenths = Number(process.argv[3] || 8);
let sink = 0;
for (let i = 0; i < rounds; i++) sink += handle(i, tenths);
console.log(sink);
