/* SPDX-License-Identifier: MIT */
'use strict';
/*
 * cdp.js - drive a Chromium over --remote-debugging-pipe: DevTools messages as JSON, each ended by
 * a NUL, written to the browser's descriptor 3 and read from its descriptor 4.
 */
const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const COMMAND_MS = 20000;

class Browser {
	constructor(program) {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fg-browser-'));
		this.next = 1;
		this.waiting = new Map();
		this.listeners = [];
		this.rest = '';
		this.child = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
			'--disable-dev-shm-usage', '--hide-scrollbars', '--disable-features=IsolateSandboxedIframes', '--user-data-dir=' + this.dir,
			'--remote-debugging-pipe', 'about:blank'],
			{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		this.child.stdio[4].setEncoding('utf8');
		this.child.stdio[4].on('data', (text) => this.receive(text));
		this.child.on('error', (err) => this.end(err));
		this.child.on('exit', () => this.end(new Error('the browser ended')));
	}

	receive(text) {
		const parts = (this.rest + text).split('\0');

		this.rest = parts.pop();
		for (const part of parts)
			this.dispatch(JSON.parse(part));
	}

	dispatch(message) {
		const waiter = this.waiting.get(message.id);

		if (!waiter) {
			this.listeners.forEach((f) => f(message));
			return;
		}
		this.waiting.delete(message.id);
		if (message.error)
			waiter.reject(new Error(message.error.message));
		else
			waiter.resolve(message.result);
	}

	end(err) {
		this.waiting.forEach((w) => w.reject(err));
		this.waiting.clear();
	}

	send(method, params, sessionId) {
		const id = this.next++;

		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(method + ': no answer')), COMMAND_MS);
			const done = (f) => (x) => { clearTimeout(timer); f(x); };

			this.waiting.set(id, { resolve: done(resolve), reject: done(reject) });
			this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
		});
	}

	async page(width, height) {
		const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
		const page = new Page(this, sessionId);

		await page.send('Page.enable');
		await page.send('Runtime.enable');
		await page.resize(width, height);
		return page;
	}

	async close() {
		await this.send('Browser.close').catch(() => {});
		await new Promise((resolve) => {
			if (this.child.exitCode !== null)
				resolve();
			this.child.on('exit', resolve);
			setTimeout(() => { this.child.kill('SIGKILL'); resolve(); }, 3000).unref();
		});
		fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
	}
}

class Page {
	constructor(browser, sessionId) {
		this.browser = browser;
		this.sessionId = sessionId;
		this.errors = [];
		this.contexts = new Map();	/* by the frame's id */
		browser.listeners.push((m) => this.event(m));
	}

	event(message) {
		if (message.sessionId !== this.sessionId)
			return;
		if (message.method === 'Page.loadEventFired' && this.loaded)
			this.loaded();
		if (message.method === 'Runtime.executionContextCreated') {
			const c = message.params.context;

			this.contexts.set(c.auxData.frameId, c.id);
		}
		if (message.method === 'Runtime.exceptionThrown') {
			const d = message.params.exceptionDetails;

			this.errors.push((d.exception && d.exception.description) || d.text);
		}
	}

	send(method, params) {
		return this.browser.send(method, params || {}, this.sessionId);
	}

	resize(width, height) {
		return this.send('Emulation.setDeviceMetricsOverride',
			{ width, height, deviceScaleFactor: 1, mobile: false });
	}

	/* Leaves the page in between, so that a changed fragment alone loads it afresh too. */
	async open(url) {
		await this.navigate('about:blank');
		await this.send('Page.resetNavigationHistory');	/* it has up to 50 entries */
		await this.navigate(url);
	}

	async navigate(url) {
		const loaded = new Promise((resolve) => { this.loaded = resolve; });

		await this.send('Page.navigate', { url });
		await loaded;
		this.loaded = null;
	}

	/* The context of the first frame in the page. */
	async frameContext() {
		const { frameTree } = await this.send('Page.getFrameTree');

		return this.contexts.get(frameTree.childFrames[0].frame.id);
	}

	/* @contextId: of a frame; without it, the page itself */
	async eval(expression, contextId) {
		const r = await this.send('Runtime.evaluate',
			{ expression, contextId, returnByValue: true, awaitPromise: true });

		if (r.exceptionDetails)
			throw new Error(r.exceptionDetails.exception.description || r.exceptionDetails.text);
		return r.result.value;
	}

	/* @modifiers: 1 Alt, 2 Ctrl, 4 Meta, 8 Shift */
	async key(key, modifiers) {
		const codes = { Enter: 13, Escape: 27, Tab: 9, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37,
			ArrowRight: 39, Home: 36, End: 35, Backspace: 8 };
		const text = key === 'Enter' ? '\r' : key.length === 1 && !(modifiers & 2) ? key : undefined;
		const params = { key, text, modifiers: modifiers || 0,
			windowsVirtualKeyCode: codes[key] || key.toUpperCase().charCodeAt(0) };

		await this.send('Input.dispatchKeyEvent', Object.assign({ type: 'keyDown' }, params));
		await this.send('Input.dispatchKeyEvent', Object.assign({ type: 'keyUp' }, params, { text: undefined }));
	}

	async type(text) {
		for (const c of text)
			await this.key(c);
	}

	async move(x, y) {
		await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
	}

	async click(x, y) {
		const at = { x, y, button: 'left', clickCount: 1 };

		await this.move(x, y);
		await this.send('Input.dispatchMouseEvent', Object.assign({ type: 'mousePressed' }, at));
		await this.send('Input.dispatchMouseEvent', Object.assign({ type: 'mouseReleased' }, at));
	}

	async screenshot(file) {
		const { data } = await this.send('Page.captureScreenshot', { format: 'png' });

		fs.writeFileSync(file, Buffer.from(data, 'base64'));
	}

	dark(on) {
		return this.send('Emulation.setEmulatedMedia',
			{ features: [{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }] });
	}
}

module.exports = { Browser };
