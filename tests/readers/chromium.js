// SPDX-License-Identifier: GPL-2.0-or-later
// Headless Chromium, driven by its DevTools protocol through a pipe (--remote-debugging-pipe):
// messages are JSON with a NUL behind, on descriptors 3 and 4.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs"), os = require("os"), path = require("path");

const ANSWER_MS = 20000;

exports.start = async function () {
	const home = fs.mkdtempSync(path.join(os.tmpdir(), "xtop-readers-"));
	const program = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu",
		"--enable-unsafe-swiftshader", "--remote-debugging-pipe", "--user-data-dir=" + home,
		"--window-size=1200,800", "--no-first-run", "--disable-background-networking",
		"about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
		env: { ...process.env, HOME: home } });
	const waiting = new Map(), listeners = [];
	let number = 0, rest = "", session;

	program.stdio[4].on("data", bytes => {
		const messages = (rest + bytes).split("\0");
		rest = messages.pop();
		for (const message of messages.map(text => JSON.parse(text))) {
			const wait = waiting.get(message.id);
			waiting.delete(message.id);
			if (wait && message.error)
				wait.reject(new Error(JSON.stringify(message.error)));
			else if (wait)
				wait.resolve(message.result);
			else
				listeners.forEach(listener => listener(message.method, message.params));
		}
	});
	program.on("exit", () => waiting.forEach(wait => wait.reject(new Error("chromium ended"))));

	function send(method, params = {}) {
		const id = ++number;
		const text = JSON.stringify({ id, method, params, sessionId: session });
		program.stdio[3].write(text + "\0");
		return new Promise((resolve, reject) => {
			const late = setTimeout(() => reject(new Error("no answer: " + text.slice(0, 200))),
				ANSWER_MS);
			waiting.set(id, { reject,
				resolve: result => { clearTimeout(late); resolve(result); } });
		});
	}

	const { targetId } = await send("Target.createTarget", { url: "about:blank" });
	session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
	await send("Page.enable");
	await send("Network.enable");
	await send("Runtime.enable");

	const page = { send, asked: [], errors: [] };
	listeners.push((method, params) => {
		if (method === "Network.requestWillBeSent")
			page.asked.push(params.request.url);
		if (method === "Runtime.exceptionThrown")
			page.errors.push(params.exceptionDetails.text + " " +
				(params.exceptionDetails.exception || {}).description);
		if (method === "Page.javascriptDialogOpening")
			page.errors.push("a dialog opened: " + params.message);
	});
	page.open = async function (url) {
		const loaded = new Promise(resolve => listeners.push(method => {
			if (method === "Page.loadEventFired")
				resolve();
		}));
		page.asked = [];
		page.errors = [];
		await send("Page.navigate", { url });
		await loaded;
	};
	// The value of EXPRESSION in the page; promises are waited for.
	page.value = async function (expression) {
		const { result, exceptionDetails } = await send("Runtime.evaluate",
			{ expression, returnByValue: true, awaitPromise: true });
		if (exceptionDetails)
			throw new Error(exceptionDetails.text + " " + JSON.stringify(exceptionDetails.exception));
		return result.value;
	};
	page.mouse = async function (type, x, y) {
		await send("Input.dispatchMouseEvent", { type, x, y,
			button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
	};
	page.click = async function (x, y) {
		await page.mouse("mouseMoved", x, y);
		await page.mouse("mousePressed", x, y);
		await page.mouse("mouseReleased", x, y);
	};
	page.choose_file = async function (selector, file) {
		const { root } = await send("DOM.getDocument");
		const { nodeId } = await send("DOM.querySelector", { nodeId: root.nodeId, selector });
		await send("DOM.setFileInputFiles", { nodeId, files: [file] });
	};
	page.type = text => send("Input.insertText", { text });
	page.photograph = async function (file) {
		const { data } = await send("Page.captureScreenshot");
		fs.writeFileSync(file, Buffer.from(data, "base64"));
	};
	page.close = async function () {
		program.kill();
		await new Promise(resolve => program.exitCode === null && program.signalCode === null
			? program.on("exit", resolve) : resolve());
		fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
	};
	return page;
};
