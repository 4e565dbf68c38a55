/* SPDX-License-Identifier: MIT */
/*
 * flame.js - zoom, search and keyboard for the flame graph that this script stands in.
 *
 * The document has everything already: one <g data-v="start width total self depth [total and self
 * before]"> a frame, in the order of a walk; class n is a change within noise. Names reach the page as
 * text nodes only.
 */
(function () {
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const PAD = 10;			/* left and right of the frames */
const LABEL_PAD = 3;
const LEAST_KEPT = 1.5;		/* of a cut text, in heights: a letter or two tell nothing */
const MIN_WIDTH = 320;		/* narrower containers get a scaled picture */
const MIN_BOX = 0.1;		/* pixels; what is narrower is not drawn */
const ROUND_FROM = 6;		/* pixels; narrower boxes have no round corners */
const BAR_WIDTH = 420, BAR_MIN = 130, BAR_MIN_ZOOMED = 210;
const BAR_HEIGHT = 24;
const SWATCH = 10, LEGEND_GAP = 14;
const HINT = 'Click or Enter zooms, Esc resets, / searches, arrow keys walk';
const BOLD = 1.18;		/* of the title: how much wider bold type is */
const JOINER = '\u200d';
const FIRST_ASCII = 32, LAST_ASCII = 126;

const svg = findSvg();
const standalone = svg === document.documentElement;
const frames = svg.querySelector('.frames');
const part = {};
for (const name of ['title', 'subtitle', 'total', 'details', 'matched', 'legend'])
	part[name] = svg.querySelector('.' + name);

const number = (name) => Number(svg.getAttribute('data-' + name));
const unit = svg.getAttribute('data-unit');
const nametype = svg.getAttribute('data-nametype');
const base = number('base');
const isDiff = svg.hasAttribute('data-before');
const negate = svg.hasAttribute('data-negate');
const fluid = svg.hasAttribute('data-fluid');
const row = number('row');
const size = number('size');
const staticWidth = svg.viewBox.baseVal.width;
const staticHeight = svg.viewBox.baseVal.height;
const legendY = number('legend');
const fixedAdvance = number('advance');	/* 0: characters have widths of their own */

const advances = measureAscii();
const marks = markPattern();
const notes = Array.from(svg.querySelectorAll('.note'), (e) => ({ e, text: e.textContent, y: Number(e.getAttribute('y')) }));
const boxes = readBoxes();
const indexOf = new Map(boxes.map((b, i) => [b.g, i]));

let width = staticWidth;
let height = staticHeight;
let zoomed = 0;			/* index of the box that fills the width */
let current = 0;		/* index of the box that has the keyboard */
let hovered = -1;
let term = '';
let matchCase = false;
let pattern = null;
let ui = null;
let ring = null;
let strip = null;

/* Where several graphs stand in one page, each script is its own graph's last child. */
function findSvg()
{
	const script = document.currentScript;

	const around = script && script.closest && script.closest('svg');

	return around || document.querySelector('svg.flamegraph');
}

function element(ns, name, attributes, parent)
{
	const e = document.createElementNS(ns, name);

	for (const key of Object.keys(attributes))
		e.setAttribute(key, attributes[key]);
	if (parent)
		parent.appendChild(e);
	return e;
}

/* Text */

function parseAdvances()
{
	return (svg.getAttribute('data-advances') || '').split(' ').map((n) => n * size / 1000);
}

/* Once, on a canvas: asking the picture about each label would take seconds. */
function measureAscii()
{
	const known = parseAdvances();

	try {
		const context = element(HTML, 'canvas', {}).getContext('2d');

		context.font = size + 'px ' + getComputedStyle(svg).fontFamily;
		return known.map((n, i) => {
			return context.measureText(String.fromCharCode(FIRST_ASCII + i)).width || n;
		});
	} catch (e) {
		return known;
	}
}

function markPattern()
{
	try {
		return new RegExp('^[\\p{M}\\u200b-\\u200f\\u{1f3fb}-\\u{1f3ff}]$', 'u');
	} catch (e) {
		return /^[\u0300-\u036f\u20d0-\u20ff\u200b-\u200f\ufe00-\ufe0f]$/;
	}
}

/* As high as wide: CJK, Hangul, full width forms, emoji. */
const WIDE = [
	[0x1100, 0x115f], [0x2e80, 0xa4cf], [0xac00, 0xd7a3], [0xf900, 0xfaff], [0xfe30, 0xfe6f],
	[0xff00, 0xff60], [0xfffd, 0xfffd], [0x1f000, 0x1faff], [0x20000, 0x3fffd],
];

function isWide(code)
{
	return code >= WIDE[0][0] && WIDE.some((range) => code >= range[0] && code <= range[1]);
}

function advance(code)
{
	if (fixedAdvance)
		return fixedAdvance * size;
	if (code >= FIRST_ASCII && code <= LAST_ASCII)
		return advances[code - FIRST_ASCII];
	return (isWide(code) ? 1 : 0.6) * size;
}

function characterAt(text, i)
{
	return String.fromCodePoint(text.codePointAt(i));
}

/*
 * The character at @i with its marks and what joiners tie to it: one piece when cut, but as wide as
 * its parts, which is how a font without the joined glyph draws it.
 */
function cluster(text, i)
{
	let last = characterAt(text, i), sum = advance(last.codePointAt(0));

	for (i += last.length; i < text.length; i += last.length) {
		const next = text.charCodeAt(i) < 0x300 ? '' : characterAt(text, i);
		const isMark = marks.test(next);

		if (!next || !(isMark || last === JOINER))
			break;
		if (!isMark || next.length > 1)
			sum += advance(next.codePointAt(0));
		last = next;
	}
	return { end: i, width: sum };
}

function textWidth(text)
{
	let sum = 0;

	for (let i = 0; i < text.length;) {
		const next = cluster(text, i);

		sum += next.width;
		i = next.end;
	}
	return sum;
}

/* @text, cut to @room pixels with ".."; '' where not even LEAST_KEPT and ".." fit. */
function fit(text, room)
{
	const dots = 2 * advance(46), least = LEAST_KEPT * size;
	let sum = 0, kept = 0;

	if (room < dots)
		return '';
	for (let i = 0; i < text.length;) {
		const next = cluster(text, i);

		sum += next.width;
		i = next.end;
		if (sum > room)
			return kept ? text.slice(0, kept) + '..' : '';
		if (sum + dots <= room && sum >= least)
			kept = i;
	}
	return text;
}

function grouped(text)
{
	const parts = text.split('.');

	parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, ',');
	return parts.join('.');
}

function count(value)
{
	const decimals = number('decimals');
	const digits = svg.hasAttribute('data-digits') ? number('digits') : decimals;
	const text = (value * number('factor') / Math.pow(10, decimals)).toFixed(digits);

	return grouped(digits ? text.replace(/\.?0+$/, '') : text);
}

function percent(value, of)
{
	return (of > 0 ? 100 * value / of : 0).toFixed(2) + '%';
}

function signedPercent(value, of)
{
	const v = negate ? -value : value;

	return (v > 0 ? '+' : '') + percent(v, of);
}

/* Boxes */

/* A title is "NAME (1,234 UNIT, 12.34%)", where the unit may hold " (" itself. */
function nameFromTitle(title)
{
	let end = title.length;

	for (let n = unit.split(' (').length; n > 0; n--)
		end = title.lastIndexOf(' (', end - 1);
	return title.slice(0, end);
}

function boxName(g, title)
{
	if (g.classList.contains('r'))
		return '';
	if (g.classList.contains('g'))
		title = title.slice(title.indexOf(': ') + 2).replace(/ \(gone; before /, ' (');
	return nameFromTitle(title);
}

function readBox(g)
{
	const v = g.getAttribute('data-v').split(' ').map(Number);
	const title = g.querySelector('title').textContent;
	const rect = g.querySelector('rect');

	return {
		g, title, rect, text: g.querySelector('text'), name: boxName(g, title),
		start: v[0], width: v[1], total: v[2], self: v[3], depth: v[4],
		beforeTotal: v[5] || 0, beforeSelf: v[6] || 0, y: Number(rect.getAttribute('y')),
		isRest: g.classList.contains('r'), isGone: g.classList.contains('g'),
		isNoise: g.classList.contains('n'), isRound: rect.hasAttribute('rx'),
		parent: 0, end: 0, x: 0, w: 0, shown: true, matched: false, isAbove: false,
	};
}

/* Each box learns its caller, and where in the walk what lies on it ends. */
function readBoxes()
{
	const list = Array.from(frames.querySelectorAll('g[data-v]'), readBox);
	const open = [];

	list.forEach((box, i) => {
		while (open.length > box.depth)
			list[open.pop()].end = i;
		box.parent = open.length ? open[open.length - 1] : 0;
		open.push(i);
	});
	open.forEach((i) => { list[i].end = list.length; });
	list.forEach((box) => place(box, list[0], staticWidth - 2 * PAD));
	return list;
}

/* What the document says already need not be written again. */
function place(box, view, room)
{
	const scale = room / view.width;

	box.x = PAD + (box.start - view.start) * scale;
	box.w = box.width * scale;
}

function isAbove(ancestor, i)
{
	return ancestor <= i && i < boxes[ancestor].end;
}

/* Layout */

/* Return: pixels of the container, which may be fewer than the picture can be laid out for. */
function containerWidth()
{
	return svg.getBoundingClientRect().width || window.innerWidth || staticWidth;
}

function isLight(rect)
{
	const rgb = rect.getAttribute('fill').match(/\d+/g) || [255, 255, 255];
	const c = rgb.map((n) => n / 255 * (n / 255));

	return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] < 0.125;
}

function makeLabel(box)
{
	box.text = element(SVG, 'text', { y: box.y + (row - 1) / 2 + size * 0.36 }, box.g);
	if (!box.isGone && !box.isRest && isLight(box.rect))
		box.text.setAttribute('fill', '#fff');
}

function setLabel(box)
{
	const label = fit(box.isRest ? nameFromTitle(box.title) : box.name, box.w - 2 * LABEL_PAD);

	if (!box.text && label)
		makeLabel(box);
	if (!box.text)
		return;
	if (box.text.textContent !== label)
		box.text.textContent = label;
	if (label)
		box.text.setAttribute('x', (box.x + LABEL_PAD).toFixed(1));
}

function show(box, on)
{
	if (box.shown === on)
		return;
	box.shown = on;
	box.g.classList.toggle('off', !on);
}

function setBox(box, x, w)
{
	show(box, w >= MIN_BOX);
	if (!box.shown || (box.x === x && box.w === w))
		return;
	box.x = x;
	box.w = w;
	box.rect.setAttribute('x', x.toFixed(1));
	box.rect.setAttribute('width', (w >= 3 ? w - 0.5 : w).toFixed(1));
	if (box.isRound !== (w >= ROUND_FROM)) {
		box.isRound = w >= ROUND_FROM;
		box.rect.setAttribute('rx', box.isRound ? 2 : 0);
	}
	setLabel(box);
}

function layoutBoxes()
{
	const view = boxes[zoomed], room = width - 2 * PAD, scale = room / view.width;

	boxes.forEach((box, i) => {
		const above = i < zoomed && isAbove(i, zoomed);

		if (above)
			setBox(box, PAD, room);
		else if (isAbove(zoomed, i))
			setBox(box, PAD + (box.start - view.start) * scale, box.width * scale);
		else
			show(box, false);
		if (above !== box.isAbove)
			box.g.classList.toggle('above', above);
		box.isAbove = above;
	});
}

function layoutHeading(text)
{
	const bold = text === part.title ? BOLD : 1;
	const grows = bold * Number(text.getAttribute('font-size')) / size;

	text.setAttribute('x', width / 2);
	text.textContent = fit(text.getAttribute('data-text'), (width - 2 * PAD) / grows);
}

/* Rows of words of which each is at most @room wide, if its first word is. */
function wrap(text, room)
{
	const rows = [];

	for (const word of text.split(' ')) {
		const longer = rows.length ? rows[rows.length - 1] + ' ' + word : '';

		if (longer && textWidth(longer) <= room)
			rows[rows.length - 1] = longer;
		else
			rows.push(word);
	}
	return rows;
}

/* Notes wrap. Return: how much lower than at first all that follows them stands. */
function layoutNotes()
{
	const step = size + 4;
	let down = 0;

	for (const note of notes) {
		const rows = wrap(note.text, (width - 2 * PAD) * size / (size - 2));

		note.e.textContent = '';
		rows.forEach((text, i) => {
			const last = i + 1 === rows.length;
			const span = element(SVG, 'tspan', { x: PAD, y: note.y + down + i * step }, note.e);

			span.textContent = last ? text : text + ' ';
		});
		down += (rows.length - 1) * step;
	}
	return down;
}

/* Entries wrap; the picture grows by the rows that they take more than at first. */
function layoutLegend(down)
{
	let x = PAD, y = legendY + down;

	for (const key of part.legend ? part.legend.querySelectorAll('.key') : []) {
		const label = key.querySelector('text'), swatch = key.querySelector('rect');
		const text = textWidth(label.textContent) * (size - 1) / size;
		const w = SWATCH + 5 + text + LEGEND_GAP;

		if (x > PAD && x + w > width) {
			x = PAD;
			y += size + 6;
		}
		swatch.setAttribute('x', x);
		swatch.setAttribute('y', y - SWATCH + 1);
		label.setAttribute('x', x + SWATCH + 5);
		label.setAttribute('y', y);
		x += w;
	}
	return y;
}

function layoutAll()
{
	const real = fluid ? containerWidth() : staticWidth;

	width = fluid ? Math.max(MIN_WIDTH, Math.floor(real)) : staticWidth;
	layoutHeading(part.title);
	if (part.subtitle)
		layoutHeading(part.subtitle);
	if (fluid) {
		const down = layoutNotes();

		height = legendBottom(layoutLegend(down), down);
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
		svg.setAttribute('height', Math.ceil(height * Math.min(1, real / width)));
	}
	part.matched.setAttribute('x', width - PAD);
	layoutBar();
	layoutBoxes();
	placeRing();
	showDetails();
	pin();
}

function legendBottom(y, down)
{
	return part.legend ? Math.ceil(y + size / 2 + PAD) : staticHeight + down;
}

/* "1,234,567 ns = 1.23 ms", or without the number that people read less well. */
function fitTotal(room)
{
	const at = ui.total.indexOf(' = ');

	return at >= 0 && textWidth(ui.total) > room ? fit(ui.total.slice(at + 3), room) : fit(ui.total, room);
}

function layoutBar()
{
	const least = zoomed ? BAR_MIN_ZOOMED : BAR_MIN;
	const room = Math.min(BAR_WIDTH, Math.max(least, width - 3 * PAD - textWidth(ui.total)));

	ui.holder.setAttribute('x', width - PAD - room);
	ui.holder.setAttribute('width', room);
	part.total.textContent = fitTotal(width - 2 * PAD - room - 4);
}

/* In a picture taller than the window the bar and the details stay in sight. */
function pin()
{
	const view = standalone ? window.innerHeight * width / containerWidth() : Infinity;
	const from = standalone ? window.scrollY * width / containerWidth() : 0;
	const up = Math.min(0, from + view - strip.bottom);
	const down = Math.max(0, from - strip.barTop + 4);

	strip.foot.setAttribute('transform', 'translate(0,' + up + ')');
	strip.foot.classList.toggle('pinned', up < 0);
	strip.head.setAttribute('transform', 'translate(0,' + down + ')');
	strip.head.classList.toggle('pinned', down > 0);
	for (const rect of [strip.footRect, strip.headRect])
		rect.setAttribute('width', width + 2);
}

/* Details */

function shareOfZoom(box)
{
	const view = boxes[zoomed];

	if (box === view || box.isAbove || view.total <= 0 || !zoomed)
		return '';
	return ', ' + percent(box.total, view.total) + ' of ' + fit(view.name, 14 * size);
}

const TIMES = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 };
const SIZES = { bytes: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776 };

/* As core/units.c writes it: " = 12.3 ms"; '' where the unit has no such form. */
function amount(value)
{
	const steps = Object.hasOwn(TIMES, unit) ? TIMES : Object.hasOwn(SIZES, unit) ? SIZES : null;

	if (!steps || number('factor') !== 1)
		return '';
	const v = value / Math.pow(10, number('decimals')) * steps[unit];
	const names = Object.keys(steps);
	let i = 0;
	while (i + 1 < names.length && v >= steps[names[i + 1]] * 0.9995)
		i++;
	const n = v / steps[names[i]];
	const digits = n >= 99.95 || names[i] === 'bytes' ? 0 : n >= 9.995 ? 1 : 2;
	return ' = ' + n.toFixed(digits) + ' ' + names[i];
}

function plainDetails(box)
{
	const self = box.self ? ', self ' + count(box.self) : '';

	return ' (' + count(box.total) + ' ' + unit + amount(box.total) + ', ' + percent(box.total, base) + ' of all' +
		shareOfZoom(box) + self + ')';
}

/* As core/render/svg_box.c: where shares are compared, what was before is scaled. */
function changed(now, before)
{
	const delta = now - before * number('ratio');

	return Math.abs(delta) < 1e-9 * now ? 0 : delta;
}

function diffDetails(box)
{
	const words = negate ? ['after ', 'before '] : ['before ', 'now '];

	return ' (' + words[0] + count(box.beforeTotal) + ', ' + words[1] + count(box.total) + ' ' +
		unit + ', ' + percent(box.total, base) + ' of all' + shareOfZoom(box) +
		'; change ' + signedPercent(changed(box.total, box.beforeTotal), base) +
		', self ' + signedPercent(changed(box.self, box.beforeSelf), base) +
		(box.isNoise ? ', within noise)' : ')');
}

function showDetails()
{
	const box = boxes[hovered >= 0 ? hovered : zoomed];
	const matched = part.matched.textContent.trim(), all = width - 2 * PAD;
	const left = all - (matched ? textWidth(matched) + PAD : 0);
	const idle = hovered < 0 && !zoomed;
	const fixed = idle ? HINT : box.isRest ? box.title : null;
	const gives = hovered >= 0 && textWidth(fixed || leastDetails(box)) > left;
	const room = gives ? all : left;

	part.matched.setAttribute('visibility', gives ? 'hidden' : 'visible');
	part.details.classList.toggle('hint', idle);
	part.details.textContent = (fixed ? fit(fixed, room) : detailsOf(box, room)) || ' ';
}

/* For as long as these do not fit beside it, the share that matches gives way to what is pointed at. */
function leastDetails(box)
{
	return nametype + ' ' + fit(box.name, 12 * size) + numbersOf(box);
}

function numbersOf(box)
{
	return isDiff ? diffDetails(box) : plainDetails(box);
}

/* A long name gives way to the numbers behind it. */
function detailsOf(box, room)
{
	const rest = numbersOf(box);
	const name = nametype + ' ' + box.name;

	return fit(fit(name, Math.max(room - textWidth(rest), 12 * size)) + rest, room);
}

function hover(i)
{
	if (hovered === i)
		return;
	hovered = i;
	showDetails();
}

/* Zoom */

function zoom(i)
{
	if (boxes[i].isRest)
		i = boxes[i].parent;
	const isNew = i !== zoomed;
	zoomed = i;
	ui.reset.hidden = !zoomed;
	layoutBar();
	layoutBoxes();
	if (!boxes[current].shown)
		setCurrent(zoomed, false);
	placeRing();
	showMatched();
	showDetails();
	saveState(isNew);
}

/* Search */

function compile()
{
	const flags = matchCase ? '' : 'i';

	if (!term)
		return null;
	try {
		return new RegExp(term, flags);
	} catch (e) {
		return new RegExp(term.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&'), flags);
	}
}

function search(text, withCase)
{
	term = text;
	matchCase = withCase;
	pattern = compile();
	for (const box of boxes) {
		const matched = pattern !== null && !box.isRest && pattern.test(box.name);

		if (matched !== box.matched)
			box.g.classList.toggle('m', matched);
		box.matched = matched;
	}
	ui.matchCase.setAttribute('aria-pressed', String(matchCase));
	if (ui.input && ui.input.value !== term)
		ui.input.value = term;
	showMatched();
	showDetails();
	saveState(false);
}

/* Samples in matching frames from @i on to what lies on it; a match in a match counts once. */
function matchedIn(top)
{
	let sum = 0;

	for (let i = top; i < boxes[top].end;) {
		if (boxes[i].matched)
			sum += boxes[i].total;
		i = boxes[i].matched ? boxes[i].end : i + 1;
	}
	return sum;
}

function zoomHasMatchBelow()
{
	for (let i = zoomed; i; i = boxes[i].parent) {
		if (boxes[boxes[i].parent].matched)
			return true;
	}
	return false;
}

function showMatched()
{
	const view = boxes[zoomed];
	let text = ' ';

	if (pattern)
		text = 'Matched: ' + percent(matchedIn(0), base);
	if (pattern && zoomed) {
		const here = zoomHasMatchBelow() ? view.total : matchedIn(zoomed);

		text += ' of all, ' + percent(here, view.total) + ' of this';
	}
	part.matched.textContent = text;
}

function openSearch()
{
	if (ui.input) {
		ui.input.focus();
		ui.input.select();
		return;
	}
	const text = window.prompt('Search for names that match (regular expression):', term);

	if (text !== null)
		search(text, matchCase);
}

/* Keyboard */

function setCurrent(i, focus)
{
	boxes[current].g.setAttribute('tabindex', '-1');
	current = i;
	boxes[current].g.setAttribute('tabindex', '0');
	if (focus)
		boxes[current].g.focus();
}

/* A click focuses too, but shows no ring. */
function hasKeyboard(g)
{
	try {
		return g.matches(':focus-visible');
	} catch (e) {
		return document.activeElement === g;
	}
}

function placeRing()
{
	const box = boxes[current];
	const on = hasKeyboard(box.g) && box.shown;

	ring.classList.toggle('on', on);
	if (!on)
		return;
	ring.setAttribute('x', box.x);
	ring.setAttribute('y', box.y);
	ring.setAttribute('width', Math.max(box.w - 0.5, 1));
}

function widestChild(i)
{
	let best = -1;

	for (let j = i + 1; j < boxes[i].end; j = boxes[j].end) {
		if (boxes[j].shown && (best < 0 || boxes[j].w > boxes[best].w))
			best = j;
	}
	return best;
}

/* The next box in the same row, over gaps and callers. */
function beside(i, step)
{
	for (let j = i + step; j >= 0 && j < boxes.length; j += step) {
		if (boxes[j].shown && boxes[j].depth === boxes[i].depth)
			return j;
	}
	return -1;
}

function move(key)
{
	const rootOnTop = boxes.length > 1 && boxes[0].y < boxes[1].y;
	const away = rootOnTop ? 'ArrowDown' : 'ArrowUp';

	if (key === 'ArrowLeft' || key === 'ArrowRight')
		return beside(current, key === 'ArrowRight' ? 1 : -1);
	if (key === 'Home')
		return 0;
	return key === away ? widestChild(current) : boxes[current].parent;
}

function frameKey(event)
{
	if (event.key === 'Enter' || event.key === ' ') {
		event.preventDefault();
		zoom(current);
	} else if (/^(Arrow|Home)/.test(event.key)) {
		const next = move(event.key);

		event.preventDefault();
		if (next >= 0)
			setCurrent(next, true);
	}
}

function escape()
{
	if (term)
		search('', matchCase);
	else if (zoomed)
		zoom(0);
}

/* Ctrl+F a second time is the browser's own search. */
function pageKey(event)
{
	const inField = event.target === ui.input;
	const key = event.key.toLowerCase();
	const control = event.ctrlKey || event.metaKey;

	if (key === 'escape')
		escape();
	else if ((control && key === 'f' && !inField) || (!control && key === '/' && !inField))
		openSearch();
	else if (control && key === 'i')
		search(term, !matchCase);
	else
		return;
	event.preventDefault();
}

/* State in the fragment: #path=main;foo&search=term&case=1 */

/* "foo", or "foo,2" for the second of that name on the same caller. */
function step(i)
{
	let nth = 1;

	for (let j = boxes[i].parent + 1; j < i; j = boxes[j].end)
		nth += boxes[j].name === boxes[i].name && !boxes[j].isRest;
	return encodeURIComponent(boxes[i].name) + (nth > 1 ? ',' + nth : '');
}

function pathOf(i)
{
	const steps = [];

	for (; i; i = boxes[i].parent)
		steps.push(step(i));
	return steps.reverse().join(';');
}

function findChild(i, text)
{
	const parts = text.split(',');
	const name = decodeURIComponent(parts[0]);
	let nth = Number(parts[1]) || 1;

	for (let j = i + 1; j < boxes[i].end; j = boxes[j].end) {
		if (!boxes[j].isRest && boxes[j].name === name && --nth === 0)
			return j;
	}
	return -1;
}

/* As far along @path as there are such frames. */
function find(path)
{
	let i = 0;

	for (const text of path ? path.split(';') : []) {
		const next = findChild(i, text);

		if (next < 0)
			return i;
		i = next;
	}
	return i;
}

function stateText()
{
	const items = [];

	if (zoomed)
		items.push('path=' + pathOf(zoomed));
	if (term)
		items.push('search=' + encodeURIComponent(term));
	if (matchCase)
		items.push('case=1');
	return items.join('&');
}

/*
 * Back returns to the zoom before: each has an entry of its own in the history, in which a search is
 * then typed. A page around the graph owns its address; one that has the graph in a frame owns Back,
 * which would otherwise undo zooms before it leaves the page. Some places forbid changing either.
 */
function saveState(isNew)
{
	if (!standalone || !ui.ready)
		return;
	try {
		const text = stateText();
		const url = text ? '#' + text : location.pathname + location.search;

		if (isNew && window.parent === window)
			history.pushState(null, '', url);
		else
			history.replaceState(null, '', url);
	} catch (e) {
		/* The graph works without. */
	}
}

function readState()
{
	const items = {};

	for (const item of standalone ? location.hash.slice(1).split('&') : []) {
		const at = item.indexOf('=');

		if (at > 0)
			items[item.slice(0, at)] = item.slice(at + 1);
	}
	return items;
}

function restoreState()
{
	const items = readState();

	ui.ready = false;
	try {
		search(decodeURIComponent(items.search || ''), items.case === '1');
		zoom(find(items.path));
	} catch (e) {
		/* A damaged address: what could be read of it holds. */
	}
	ui.ready = true;
}

/* Setting up */

function makeButton(bar, text, label, act)
{
	const names = { type: 'button', title: label, 'aria-label': label };
	const button = element(HTML, 'button', names, bar);

	button.textContent = text;
	button.addEventListener('click', act);
	return button;
}

function makeField(bar)
{
	const input = element(HTML, 'input', {
		type: 'search', placeholder: 'Search', spellcheck: 'false', autocomplete: 'off',
		'aria-label': 'Search names by regular expression',
	}, bar);

	input.addEventListener('input', () => search(input.value, matchCase));
	input.addEventListener('keydown', (event) => {
		const first = boxes.findIndex((b) => b.matched && b.shown);

		if (event.key === 'Enter' && first >= 0)
			setCurrent(first, true);
	});
	return input;
}

function makeBar(parent, top)
{
	const at = { x: PAD, y: top, width: BAR_WIDTH, height: BAR_HEIGHT };
	const holder = element(SVG, 'foreignObject', at, parent);
	const bar = element(HTML, 'div', { class: 'bar' }, holder);

	bar.style.fontFamily = getComputedStyle(svg).fontFamily;
	ui = { holder, total: part.total.textContent, ready: false };
	ui.reset = makeButton(bar, 'Reset zoom', 'Reset zoom (Esc)', () => zoom(0));
	ui.input = typeof SVGForeignObjectElement === 'undefined' ? null : makeField(bar);
	ui.matchCase = makeButton(bar, 'Aa', 'Match case (Ctrl+I)', () => search(term, !matchCase));
	ui.reset.hidden = true;
}

/* Total, bar and details move into two groups that pin() keeps in sight. */
function makeStrips()
{
	const barTop = Number(part.total.getAttribute('y')) - size * 0.36 - BAR_HEIGHT / 2;
	const footY = Number(part.details.getAttribute('y'));
	const head = element(SVG, 'g', {}, svg), foot = element(SVG, 'g', {}, svg);
	const stops = svg.querySelectorAll('#fg-bg stop');
	const backdrop = (group, i, y, tall) => element(SVG, 'rect', {
		class: 'strip', x: -1, y, height: tall, fill: stops[i].getAttribute('stop-color'),
	}, group);

	strip = { head, foot, barTop, bottom: footY + 8 };
	strip.headRect = backdrop(head, 0, barTop - 4, BAR_HEIGHT + 8);
	strip.footRect = backdrop(foot, 1, footY - size - 5, size + 14);
	head.appendChild(part.total);
	foot.appendChild(part.details);
	foot.appendChild(part.matched);
	makeBar(head, barTop);
}

function makeRing()
{
	ring = element(SVG, 'rect', { class: 'ring', rx: 2, height: row - 1 }, frames);
	frames.addEventListener('focusin', (event) => {
		const i = indexOf.get(event.target);

		if (i !== undefined && i !== current)
			setCurrent(i, false);
		hover(i === undefined ? -1 : i);
		placeRing();
	});
	frames.addEventListener('focusout', () => { ring.classList.remove('on'); hover(-1); });
}

function describe()
{
	svg.setAttribute('role', 'group');
	frames.setAttribute('role', 'tree');
	frames.setAttribute('aria-label', 'Frames: arrow keys walk, Enter zooms, Escape resets');
	frames.classList.add('live');
	part.matched.setAttribute('aria-live', 'polite');
	for (const box of boxes) {
		box.g.setAttribute('role', 'treeitem');
		box.g.setAttribute('aria-level', box.depth + 1);
		box.g.setAttribute('tabindex', '-1');
	}
	boxes[0].g.setAttribute('tabindex', '0');
}

function boxOf(event)
{
	const g = event.target.closest('g[data-v]');

	return g ? indexOf.get(g) : -1;
}

function listen()
{
	frames.addEventListener('click', (event) => {
		const i = boxOf(event);

		if (i >= 0)
			zoom(i);
	});
	frames.addEventListener('mouseover', (event) => hover(boxOf(event)));
	frames.addEventListener('mouseleave', () => hover(-1));
	frames.addEventListener('keydown', frameKey);
	(standalone ? document : svg).addEventListener('keydown', pageKey);
	if (standalone) {
		window.addEventListener('scroll', pin);
		window.addEventListener('hashchange', restoreState);
	}
	watchWidth();
}

function watchWidth()
{
	const check = () => {
		if (fluid && Math.floor(containerWidth()) !== width)
			layoutAll();
		else
			pin();
	};

	window.addEventListener('resize', check);
	if (fluid && typeof ResizeObserver !== 'undefined')
		new ResizeObserver(check).observe(svg);
}

if (boxes.length) {
	makeStrips();
	makeRing();
	describe();
	listen();
	layoutAll();
	restoreState();
}
}());
