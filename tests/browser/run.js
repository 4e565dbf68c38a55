#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
'use strict';
/*
 * run.js [FGRENDER] - use the flame graph in a real Chromium as people do: mouse, keyboard, address.
 *
 * Prints a line a test and closes with "N passed, N failed"; SKIP and exit 0 where there is no
 * Chromium. CHROMIUM names another program than the usual ones.
 */
const { spawnSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { pathToFileURL } = require('url');
const { Browser } = require('./cdp.js');

const SETTLE_MS = 60;
const fgrender = process.argv[2] || path.join(__dirname, '../../build/fgrender');

const FOLDED = [
	'main;parse;read 300', 'main;parse;Read_all;read 100', 'main;parse 100', 'main;work;loop(a|b);f<T> 250',
	'main;work;f<T> 150', 'main;tiny one 60', 'other;50% & "x";#?=; 40',
].join('\n') + '\n';
const DIFF = ['main;a 50 70', 'main;b 60 30', 'main;old 20 0'].join('\n') + '\n';

let dir, page, server;
const url = {};

function render(name, folded, args)
{
	const input = path.join(dir, name + '.folded'), output = path.join(dir, name + '.svg');

	fs.writeFileSync(input, folded);
	const r = spawnSync(fgrender, ['--from', 'folded', ...args, input], { maxBuffer: 1 << 28 });

	if (r.status !== 0)
		throw new Error('fgrender failed: ' + r.stderr);
	fs.writeFileSync(output, r.stdout);
	url[name] = pathToFileURL(output).href;
}

/* The same by fgdiff, which tells noise from change. */
function renderDiff(name, before, after, args)
{
	const files = [before, after].map((text, i) => {
		const file = path.join(dir, name + i + '.folded');

		fs.writeFileSync(file, text);
		return file;
	});
	const output = path.join(dir, name + '.svg');
	const r = spawnSync(path.join(path.dirname(fgrender), 'fgdiff'),
		['-q', '--to', 'svg', '-o', output, ...args, ...files]);

	if (r.status !== 0)
		throw new Error('fgdiff failed: ' + r.stderr);
	url[name] = pathToFileURL(output).href;
}

function wrapInPage(name, body)
{
	const file = path.join(dir, name + '.html');

	fs.writeFileSync(file, '<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">' + body);
	url[name] = pathToFileURL(file).href;
}

/* The files over HTTP; below /sandbox/ with an origin that is nobody's, as some viewers of artifacts have it. */
function serve()
{
	const types = { '.svg': 'image/svg+xml', '.html': 'text/html' };

	server = http.createServer((request, response) => {
		const name = path.basename(request.url);
		const headers = { 'Content-Type': types[path.extname(name)] || 'text/plain' };

		if (request.url.startsWith('/sandbox/'))
			headers['Content-Security-Policy'] = 'sandbox allow-scripts';
		fs.readFile(path.join(dir, name), (err, data) => {
			response.writeHead(err ? 404 : 200, headers);
			response.end(err ? '' : data);
		});
	});
	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => {
		url.http = 'http://127.0.0.1:' + server.address().port + '/plain.svg';
		url.sandbox = 'http://127.0.0.1:' + server.address().port + '/sandbox/plain.svg';
		resolve();
	}));
}

function many(nr)
{
	const lines = [];

	for (let i = 0; i < nr; i++)
		lines.push(['main', 'a' + i % 10, 'b' + i % 1000, 'leaf_function_' + i].join(';') + ' 1');
	return lines.join('\n') + '\n';
}

function prepare()
{
	dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fg-svg-'));
	render('plain', FOLDED, []);
	render('icicle', FOLDED, ['--inverted']);
	render('fixed', FOLDED, ['--width', '900']);
	render('diff', DIFF, []);
	renderDiff('noise', 'main;a 500\nmain;b 400\nmain;old 100\n', 'main;a 510\nmain;b 1490\n', ['--normalize']);
	renderDiff('elided', 'main;a 500\nmain;b;old 75\nmain;old 25\n', 'main;a 500\nmain;b 500\n', ['--view', 'elided']);
	render('rest', many(30000), []);
	render('large', many(20000), ['--minwidth', '0']);
	render('deep', Array.from({ length: 5000 }, (_, i) => 'f' + i % 9).join(';') + ' 7\n', []);
	render('edge', 'main;a 2\nmain;b 1000\n', []);
	render('time', '# event: cpu-clock\n# unit: ns\n# kind: on-cpu\nmain;a 12345678901\n', []);
	render('bomb', ';'.repeat(200000) + ' 7\n', []);
	wrapInPage('object', '<object type="image/svg+xml" data="plain.svg" style="width:100%"></object>');
	wrapInPage('iframe', '<iframe src="plain.svg" style="width:100%;height:300px;border:0"></iframe>');
	wrapInPage('boxed', '<iframe sandbox="allow-scripts" src="plain.svg" style="width:100%;height:300px;border:0"></iframe>');
	wrapInPage('img', '<img src="plain.svg" style="width:100%">');
	wrapInPage('inline', '<h1>Report</h1>' + fs.readFileSync(path.join(dir, 'plain.svg'), 'utf8').replace(/^<\?xml.*\n/, ''));
}

/* What the tests ask of the page. */

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
const text = (part) => page.eval(`document.querySelector('.${part}').textContent`);
const hash = () => page.eval('location.hash');

/* The box whose title begins with @title: where it is and how it looks. */
function box(title)
{
	return page.eval(`(() => {
		const g = Array.from(document.querySelectorAll('.frames g'))
			.filter((x) => x.querySelector('title').textContent.startsWith(${JSON.stringify(title)}));
		const r = g[0].querySelector('rect').getBoundingClientRect();
		const label = g[0].querySelector('text');
		return { x: r.x, y: r.y, w: r.width, h: r.height, cx: r.x + r.width / 2, cy: r.y + r.height / 2,
			hidden: getComputedStyle(g[0]).display === 'none', classes: g[0].getAttribute('class'),
			label: label ? label.textContent : '', focused: document.activeElement === g[0],
			fill: getComputedStyle(g[0].querySelector('rect')).fill };
	})()`);
}

async function clickBox(title)
{
	const b = await box(title);

	await page.click(b.cx, b.cy);
	await settle();
}

/* Back or Forward by @steps entries. */
async function go(steps)
{
	await page.eval(`new Promise((resolve) => { addEventListener('hashchange', resolve, { once: true }); history.go(${steps}); })`);
	await settle();
}

async function keys(...names)
{
	for (const name of names)
		await page.key(name);
	await settle();
}

async function searchFor(term)
{
	await page.key('/');
	await page.type(term);
	await settle();
}

function equal(got, want, what)
{
	if (got !== want)
		throw new Error((what || 'value') + ': got ' + JSON.stringify(got) + ', not ' + JSON.stringify(want));
}

function near(got, want, what)
{
	if (Math.abs(got - want) > 1.5)
		throw new Error((what || 'value') + ': got ' + got + ', not about ' + want);
}

function matches(got, pattern, what)
{
	if (!pattern.test(got))
		throw new Error((what || 'value') + ': ' + JSON.stringify(got) + ' does not match ' + pattern);
}

const tests = {
	async 'fills the window and keeps its font size'() {
		for (const width of [400, 1200, 2400]) {
			await page.resize(width, 700);
			await page.open(url.plain);
			near((await box('all (')).w, width - 20, 'root at ' + width);
			equal(await page.eval(`getComputedStyle(document.querySelector('.frames text')).fontSize`), '12px');
			near((await box('all (')).h, 15, 'row at ' + width);
		}
	},

	async 'lays out again on resize'() {
		await page.open(url.plain);
		await page.resize(500, 700);
		await settle();
		near((await box('all (')).w, 480);
		await page.resize(1300, 700);
		await settle();
		near((await box('all (')).w, 1280);
	},

	async 'keeps a fixed width'() {
		await page.open(url.fixed);
		near((await box('all (')).w, 880);
	},

	async 'labels fit into their boxes'() {
		await page.resize(700, 700);
		await page.open(url.plain);
		equal(await page.eval(`Array.from(document.querySelectorAll('.frames g')).filter((g) => {
			const t = g.querySelector('text'), r = g.querySelector('rect');
			return t && t.textContent && t.getComputedTextLength() > r.getBoundingClientRect().width;
		}).length`), 0);
	},

	async 'notes wrap, and the legend stands below them'() {
		const measure = `(() => {
			const bottom = document.documentElement.getBoundingClientRect().bottom;
			const notes = Array.from(document.querySelectorAll('.note'), (n) => n.getBoundingClientRect());
			const keys = Array.from(document.querySelectorAll('.key text'), (n) => n.getBoundingClientRect());
			return { right: Math.max(...notes.map((r) => r.right)), text: document.querySelector('.note').textContent,
				lines: document.querySelectorAll('.note tspan').length, notes: notes.length,
				gap: Math.min(...keys.map((r) => r.top)) - Math.max(...notes.map((r) => r.bottom)),
				below: bottom - Math.max(...keys.map((r) => r.bottom)) };
		})()`;

		await page.open(url.noise);
		const wide = await page.eval(measure);
		await page.resize(400, 700);
		await settle();
		const narrow = await page.eval(measure);
		equal(wide.lines, wide.notes, 'lines at 1200');
		equal(narrow.lines > narrow.notes, true, 'more lines than notes at 400');
		equal(narrow.right <= 400, true, 'notes end in the picture');
		equal(narrow.text, wide.text, 'text');
		near(narrow.gap, wide.gap, 'distance of the legend');
		equal(narrow.below > 0, true, 'the legend is in the picture');
	},

	async 'prints without what only a screen needs'() {
		await page.open(url.deep);
		await page.eval('window.scrollTo(0, 3000)');
		await settle();
		const at = () => page.eval(`document.querySelector('.total').getBoundingClientRect().top + window.scrollY`);
		equal(await at() > 3000, true, 'pinned on the screen');
		await page.send('Emulation.setEmulatedMedia', { media: 'print' });
		const printed = await at();
		const shown = await page.eval(`getComputedStyle(document.querySelector('.bar')).display`);
		await page.send('Emulation.setEmulatedMedia', { media: '' });
		equal(printed < 100, true, 'at its place on paper');
		equal(shown, 'none', 'no buttons on paper');
	},

	async 'a click zooms, and on a caller zooms out to it'() {
		await page.open(url.plain);
		await clickBox('parse (');
		near((await box('parse (')).w, 1180);
		near((await box('main (')).w, 1180);
		matches((await box('main (')).classes, /above/);
		equal((await box('work (')).hidden, true);
		near((await box('read (300')).w, 1180 * 300 / 500);
		equal(await hash(), '#path=main;parse');
		await clickBox('main (');
		equal((await box('work (')).hidden, false);
		equal(await hash(), '#path=main');
		await clickBox('all (');
		equal(await hash(), '');
		near((await box('main (')).w, 1180 * 960 / 1000);
	},

	async 'only boxes that are wide enough have round corners'() {
		const round = () => page.eval(`(() => { const r = document.querySelectorAll('.frames g')[2].querySelector('rect');
			return { rx: Number(r.getAttribute('rx')), w: Number(r.getAttribute('width')) }; })()`);

		await page.open(url.edge);
		equal((await round()).rx, 0, 'narrow');
		await page.eval(`document.querySelectorAll('.frames g')[2].dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
		equal((await round()).rx, 2, 'zoomed');
		await keys('Escape');
		equal((await round()).rx, 0, 'narrow again');
		near((await round()).w, 1180 * 2 / 1002);
	},

	async 'the reset button zooms out'() {
		await page.open(url.plain);
		await clickBox('parse (');
		await page.eval(`document.querySelector('.bar button').click()`);
		near((await box('parse (')).w, 1180 * 500 / 1000);
		equal(await page.eval(`document.querySelector('.bar button').hidden`), true);
	},

	async 'details tell the share of all and of the zoomed frame'() {
		await page.open(url.plain);
		const b = await box('read (300');

		await page.move(b.cx, b.cy);
		equal(await text('details'), 'Function: read (300 samples, 30.00% of all, self 300)');
		await clickBox('parse (');
		const zoomed = await box('read (300');

		await page.move(zoomed.cx, zoomed.cy);
		equal(await text('details'), 'Function: read (300 samples, 30.00% of all, 60.00% of parse, self 300)');
		const above = await box('main (');

		await page.move(above.cx, above.cy);
		equal(await text('details'), 'Function: main (960 samples, 96.00% of all)');
	},

	async 'what is pointed at is told in narrow pictures too'() {
		await page.resize(400, 700);
		await page.open(url.plain + '#search=read');
		const visible = () => page.eval(`document.querySelector('.matched').getAttribute('visibility')`);

		equal(await visible(), 'visible');
		const b = await box('parse (');

		await page.move(b.cx, b.cy);
		matches(await text('details'), /^Function: parse \(500 samples, 50.00% of all, self/);
		equal(await visible(), 'hidden', 'pointed at');
		await page.move(200, 5);
		equal(await visible(), 'visible', 'pointed at nothing');
		equal(await text('matched'), 'Matched: 40.00%');
	},

	async 'the total is short where there is little room'() {
		await page.open(url.time);
		equal(await text('total'), '12,345,678,901 ns = 12.3 s');
		await page.resize(330, 700);
		await page.eval(`document.querySelectorAll('.frames g')[2].dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
		await settle();
		equal(await text('total'), '12.3 s');
	},

	async 'search is live, counts each stack once and ignores case'() {
		await page.open(url.plain);
		await searchFor('read');
		matches((await box('read (300')).classes, /\bm\b/);
		matches((await box('Read_all (')).classes, /\bm\b/);
		equal((await box('read (300')).fill, 'rgb(230, 0, 230)');
		equal(await text('matched'), 'Matched: 40.00%');
		equal(await hash(), '#search=read');
	},

	async 'case can be told apart'() {
		await page.open(url.plain);
		await searchFor('Read');
		await page.key('i', 2);
		await settle();
		equal(await text('matched'), 'Matched: 10.00%');
		equal(await hash(), '#search=Read&case=1');
		await page.eval(`document.querySelector('.bar button[aria-pressed]').click()`);
		equal(await text('matched'), 'Matched: 40.00%');
	},

	async 'a bad regular expression is taken literally'() {
		await page.open(url.plain);
		await searchFor('loop(');
		equal(await text('matched'), 'Matched: 25.00%');
		await page.open(url.plain + '#search=' + encodeURIComponent('loop\\(a|parse'));
		equal(await text('matched'), 'Matched: 75.00%');
	},

	async 'search looks at names only'() {
		await page.open(url.plain + '#search=samples');
		equal(await text('matched'), 'Matched: 0.00%');
		await page.open(url.rest + '#search=narrow');
		equal(await text('matched'), 'Matched: 0.00%');
	},

	async 'Escape ends the search first, then the zoom'() {
		await page.open(url.plain + '#path=main;parse&search=read');
		matches(await text('matched'), /^Matched: 40.00% of all, 80.00% of this$/);
		await keys('Escape');
		equal(await hash(), '#path=main;parse');
		await keys('Escape');
		equal(await hash(), '');
		near((await box('main (')).w, 1180 * 960 / 1000);
	},

	async 'Ctrl+F and / open the search'() {
		for (const [key, modifiers] of [['f', 2], ['/', 0]]) {
			await page.open(url.plain);
			await page.key(key, modifiers);
			equal(await page.eval('document.activeElement.localName'), 'input', key);
			equal(await page.eval('document.activeElement.value'), '', key);
		}
	},

	async 'arrow keys walk the frames and Enter zooms'() {
		await page.open(url.plain);
		for (let i = 0; i < 4 && !(await box('all (')).focused; i++)
			await page.key('Tab');
		equal((await box('all (')).focused, true, 'Tab reaches the root');
		equal(await page.eval(`getComputedStyle(document.querySelector('.ring')).display`), 'inline');
		await keys('ArrowUp');
		equal((await box('main (')).focused, true, 'up');
		await keys('ArrowUp');
		equal((await box('parse (')).focused, true, 'up to the widest');
		await keys('ArrowRight');
		equal((await box('tiny one (')).focused, true, 'right');
		await keys('ArrowRight', 'ArrowRight');
		equal((await box('50% & "x" (')).focused, true, 'right, over the gap between callers');
		await keys('ArrowLeft', 'Enter');
		equal((await box('work (')).focused, true, 'left');
		equal(await hash(), '#path=main;work');
		await keys('ArrowDown');
		equal((await box('main (')).focused, true, 'down');
		matches(await text('details'), /^Function: main \(/);
		await keys('Home');
		equal((await box('all (')).focused, true, 'home');
	},

	async 'arrows turn round in an icicle graph'() {
		await page.open(url.icicle);
		await page.eval(`document.querySelector('.frames g').focus()`);
		await keys('ArrowDown');
		equal((await box('main (')).focused, true);
		await keys('ArrowUp');
		equal((await box('all (')).focused, true);
	},

	async 'frames and controls have names for assistive technology'() {
		await page.open(url.plain);
		equal(await page.eval(`document.querySelector('.frames').getAttribute('role')`), 'tree');
		equal(await page.eval(`Array.from(document.querySelectorAll('.bar > *'))
			.every((x) => x.getAttribute('aria-label'))`), true);
		equal(await page.eval(`document.querySelectorAll('.frames [tabindex="0"]').length`), 1);
	},

	async 'the address restores path, term and case'() {
		await page.open(url.plain + '#path=main;work&search=F%3CT%3E&case=1');
		near((await box('work (')).w, 1180);
		equal(await text('matched'), 'Matched: 0.00% of all, 0.00% of this');
		await page.open(url.plain + '#path=main;work&search=F%3CT%3E');
		equal(await text('matched'), 'Matched: 40.00% of all, 100.00% of this');
		equal(await page.eval(`document.querySelector('.bar input').value`), 'F<T>');
	},

	async 'odd names survive the address'() {
		await page.open(url.plain);
		await clickBox('#?= (');
		const at = await hash();

		matches(at, /^#path=other;50%25%20%26%20%22x%22;%23%3F%3D$/);
		await page.open(url.plain + at);
		near((await box('#?= (')).w, 1180);
	},

	async 'a damaged address does no harm'() {
		for (const bad of ['#path=%E0%A4%A', '#path=nobody;here', '#search=%', '#&&=&path', '#path=main,9;x']) {
			await page.open(url.plain + bad);
			near((await box('all (')).w, 1180, bad);
		}
	},

	async 'a changed address is followed'() {
		await page.open(url.plain);
		await page.eval(`location.hash = '#path=main;parse'`);
		await settle();
		near((await box('parse (')).w, 1180);
	},

	async 'Back and Forward walk the zooms'() {
		for (const where of [url.plain, url.http]) {
			await page.open(where);
			const before = await page.eval('history.length');

			await clickBox('parse (');
			await clickBox('parse (');
			await clickBox('main (');
			await page.eval(`document.querySelector('.bar button').click()`);
			await settle();
			equal(await hash(), '');
			equal(await page.eval('history.length'), before + 3, 'entries');
			await go(-1);
			equal(await hash(), '#path=main');
			near((await box('main (')).w, 1180, 'main');
			equal((await box('work (')).hidden, false);
			await go(-1);
			equal(await hash(), '#path=main;parse');
			near((await box('parse (')).w, 1180, 'parse');
			await go(-1);
			equal(await hash(), '');
			near((await box('parse (')).w, 1180 * 500 / 1000, 'parse of all');
			await go(2);
			near((await box('main (')).w, 1180, 'main again');
			equal(await page.eval('history.length'), before + 3, 'entries in the end');
		}
	},

	async 'a search fills no history, and comes back with its zoom'() {
		await page.open(url.plain);
		const before = await page.eval('history.length');

		await searchFor('read');
		equal(await page.eval('history.length'), before, 'entries');
		await clickBox('parse (');
		await searchFor('x');
		equal(await hash(), '#path=main;parse&search=x');
		equal(await page.eval('history.length'), before + 1, 'entries with a zoom');
		await go(-1);
		equal(await hash(), '#search=read');
		equal(await page.eval(`document.querySelector('.bar input').value`), 'read');
		equal(await text('matched'), 'Matched: 40.00%');
		near((await box('parse (')).w, 1180 * 500 / 1000);
	},

	async 'zooms where the history must not be written'() {
		await page.open(url.plain);
		await page.eval(`history.pushState = history.replaceState = () => { throw new DOMException('no', 'SecurityError'); }`);
		await clickBox('parse (');
		near((await box('parse (')).w, 1180);
		await page.open(url.sandbox);
		equal(await page.eval('window.origin'), 'null');
		await clickBox('parse (');
		near((await box('parse (')).w, 1180, 'with an origin of its own');
	},

	async 'a frame of a page leaves Back to the page'() {
		for (const where of [url.iframe, url.boxed, url.object]) {
			await page.open(where);
			await settle();
			const frame = await page.frameContext(), before = await page.eval('history.length');
			const at = await page.eval(`(() => { const r = Array.from(document.querySelectorAll('.frames g')).find((g) =>
				g.querySelector('title').textContent.startsWith('parse (')).querySelector('rect').getBoundingClientRect();
				return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`, frame);

			await page.click(at.x, at.y);
			await settle();
			equal(await page.eval('location.hash', frame), '#path=main;parse', where);
			equal(await page.eval('history.length'), before, where)
		}
	},

	async 'is a picture in an <img>'() {
		await page.open(url.img);
		await settle();
		equal(await page.eval('document.images[0].complete && document.images[0].naturalWidth > 100'), true);
	},

	async 'a differential tells before, after and change'() {
		await page.open(url.diff);
		let b = await box('a (');

		await page.move(b.cx, b.cy);
		equal(await text('details'),
			'Function: a (before 50, now 70 samples, 70.00% of all; change +31.54%, self +31.54%)');
		b = await box('1 frame too narrow now: old');
		near(b.w, 1180 * 20 / 120);
		equal(b.label, 'old');
		await page.open(url.diff + '#search=old');
		matches((await box('1 frame too narrow now: old')).classes, /\bm\b/);
	},

	async 'noise is told of, and scaled counts are short'() {
		await page.open(url.noise);
		let b = await box('main (');

		await page.move(b.cx, b.cy);
		equal(await text('details'), 'Function: main (before 2,000, now 2,000 samples, 100.00% of all; ' +
			'change 0.00%, self 0.00%, within noise)');
		b = await box('a (');
		await page.move(b.cx, b.cy);
		equal(await text('details'), 'Function: a (before 1,000, now 510 samples, 25.50% of all; ' +
			'change -24.50%, self -24.50%)');
		equal(b.label, 'a');
	},

	async 'what is gone fills the picture when nothing else is drawn'() {
		await page.open(url.elided);
		near((await box('main (')).w, 1180);
		near((await box('b (')).w, 1180 * 0.75);
		near((await box('1 frame too narrow now: old')).w, 1180 * 0.75);
	},

	async 'rests are hatched, keep their title and do not zoom'() {
		await page.open(url.rest);
		const b = await page.eval(`(() => { const r = document.querySelector('.frames .r rect');
			return r && r.getAttribute('fill'); })()`);

		equal(b, 'url(#fg-rest)');
		await page.eval(`document.querySelector('.frames .r').dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
		matches(await hash(), /^#path=main;a\d+;b\d+$/);
	},

	async 'works in an <object>'() {
		await page.open(url.object);
		await settle();
		near(await page.eval(`document.querySelector('object').contentDocument
			? document.querySelector('object').contentDocument.querySelector('.frames rect').getBoundingClientRect().width
			: 1180`), 1180);
		const at = await page.eval(`(() => { const r = document.querySelector('object').getBoundingClientRect();
			return { w: r.width, h: r.height }; })()`);

		near(at.w, 1200);
	},

	async 'works in an HTML page and leaves its address and keys alone'() {
		await page.open(url.inline);
		near((await box('all (')).w, 1180);
		await clickBox('parse (');
		near((await box('parse (')).w, 1180);
		equal(await hash(), '');
		await page.eval('document.activeElement.blur()');
		await page.key('/');
		equal(await page.eval('document.activeElement.localName'), 'body');
	},

	async 'follows the dark scheme and keeps the colours of frames'() {
		await page.open(url.plain);
		const fill = (what) => page.eval(`getComputedStyle(document.querySelector('${what}')).fill`);
		const frame = await fill('.frames rect'), title = await fill('.title');

		await page.dark(true);
		equal(await fill('.frames rect'), frame);
		matches(await fill('.bg'), /^rgb\(30, 31, 34\)$/);
		equal(await fill('.title') === title, false, 'title has changed');
		await page.dark(false);
	},

	async 'the details of a tall graph stay in sight'() {
		await page.open(url.deep);
		await settle();
		const bottom = await page.eval(`document.querySelector('.details').getBoundingClientRect().bottom`);

		equal(bottom > 600 && bottom <= 700, true, 'details at ' + bottom);
		near((await box('all (')).w, 1180);
		equal(await page.eval('window.scrollY'), 0, 'opens at the top, as a picture does');
	},

	async 'recursion without end is a picture that can be shown'() {
		await page.open(url.bomb);
		const b = await box('190,001 frames deeper (');

		near(b.w, 1180);
		equal(b.label, '190,001 frames deeper');
		equal(b.y > 0 && b.y < 200, true, 'on top, at ' + b.y);
		await page.move(b.cx, b.cy);
		equal(await text('details'), '190,001 frames deeper (7 samples, 100.00%)');
		await page.resize(120, 700);
		await settle();
		equal((await box('190,001 frames deeper (')).label, '190,001 frames deeper', 'scaled, not cut');
		await page.resize(1200, 700);
		await page.eval('window.scrollTo(0, 1e9)');
		await settle();
		equal((await box('all (')).y < 700, true, 'the root is in sight');
	},

	async 'twenty thousand frames load and search quickly'() {
		const start = Date.now();

		await page.open(url.large);
		await page.resize(1000, 700);
		await settle();
		await searchFor('leaf_function_1');
		equal(Date.now() - start < 15000, true, 'took ' + (Date.now() - start) + ' ms');
		const took = await page.eval(`(() => { const t = performance.now();
			document.querySelector('.frames g:nth-of-type(3)').dispatchEvent(new MouseEvent('click', { bubbles: true }));
			return performance.now() - t; })()`);

		equal(took < 1000, true, 'zoom took ' + took + ' ms');
	},
};

async function runTest(name, failed)
{
	console.log('[ RUN      ] ' + name);
	try {
		page.errors.length = 0;
		await page.resize(1200, 700);
		await tests[name]();
		if (page.errors.length)
			throw new Error('script: ' + page.errors.join('; '));
		console.log('[       OK ] ' + name);
	} catch (err) {
		failed.push(name);
		console.log('[  FAILED  ] ' + name + ': ' + err.message);
	}
}

function findChromium()
{
	const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

	return process.env.CHROMIUM || known.find((file) => fs.existsSync(file));
}

function skip(why)
{
	console.log('SKIP: ' + why);
	console.log('0 passed, 0 failed');
}

async function main()
{
	const chromium = findChromium();
	const failed = [];
	const names = Object.keys(tests).filter((n) => !process.argv[3] || n.includes(process.argv[3]));

	if (!chromium)
		return skip('there is no chromium');
	if (!fs.existsSync(fgrender))
		return skip('there is no ' + fgrender);
	prepare();
	await serve();
	const browser = new Browser(chromium);

	try {
		page = await browser.page(1200, 700);
		for (const name of names)
			await runTest(name, failed);
	} finally {
		await browser.close();
		server.close();
		fs.rmSync(dir, { recursive: true, force: true });
	}
	console.log((names.length - failed.length) + ' passed, ' + failed.length + ' failed');
	process.exitCode = failed.length ? 1 : 0;
}

main().catch((err) => {
	console.log('[  FAILED  ] ' + err.stack);
	console.log('0 passed, 1 failed');
	process.exitCode = 1;
});
