// SPDX-License-Identifier: GPL-2.0-or-later
// node browser.js FOLDER: opens the files of tests/readers/run in headless Chromium, clicks, searches
// and photographs (FOLDER/*.png): flame graphs with and without scripts, and speedscope's release.
"use strict";
const path = require("path");
const { point, near, done } = require("./tap.js");
const read = require("./profile.js");
const chromium = require("./chromium.js");
const folder = path.resolve(process.argv[2]);
const CLICK_MS = 100;
let page;

const url = file => "file://" + path.join(folder, file);
const photograph = name => page.photograph(path.join(folder, name + ".png"));
const matched = () => page.value("document.getElementById('matched').textContent");
const tooltip = () => page.value(
	"[...document.querySelectorAll('#tip text')].map(t => t.textContent).join('\\n')");
const tooltip_is_whole = () => page.value(`(() => {
	const tip = document.getElementById("tip").getBoundingClientRect();
	const svg = document.getElementById("flame").getBoundingClientRect();
	return tip.bottom <= svg.bottom && tip.right <= svg.right && tip.top >= 0 && tip.left >= 0;
})()`);
const rows = () => page.value("[...document.querySelectorAll('#cells text')].map(t => t.textContent)");

// The middle of the first cell whose label is TEXT; X is a little behind the label's beginning.
async function place_of(text) {
	const place = await page.value(`(() => {
		const label = [...document.querySelectorAll("#cells text")]
			.find(t => t.textContent === ${JSON.stringify(text)});
		if (!label)
			return null;
		const box = label.getBoundingClientRect();
		return [box.left + 2, (box.top + box.bottom) / 2];
	})()`);
	if (!place)
		throw new Error("no cell " + text + ": " + await rows());
	return place;
}

async function click_on(text) {
	await page.click(...await place_of(text));
}

async function button(id) {
	await page.click(...await page.value(`(() => {
		const box = document.getElementById(${JSON.stringify(id)}).getBoundingClientRect();
		return [box.left + 5, box.top + 5];
	})()`));
}

async function search(text) {
	await button("search");
	await page.value("document.getElementById('search').select()");
	await page.type(text);
}

function percents(text) {
	return [...text.matchAll(/([\d.]+) %/g)].map(match => Number(match[1]));
}

// The colour that the browser paints behind TEXT: that of the path which covers the cell.
const FILLS = { kernel: "rgb(244, 162, 97)", user: "rgb(142, 203, 124)", library: "rgb(127, 184, 224)" };
async function colour_of(text) {
	const [x, y] = await place_of(text);
	return page.value(`(() => {
		const under = [...document.querySelectorAll("#cells path")].find(path => {
			const at = path.ownerSVGElement.createSVGPoint();
			at.x = ${x};
			at.y = ${y};
			return path.isPointInFill(at.matrixTransform(path.getScreenCTM().inverse()));
		});
		return under ? getComputedStyle(under).fill : "none";
	})()`);
}

// A flame graph with samples and waits, and source lines.
async function look_at_both(file) {
	const titled = () => page.value("document.getElementById('title').textContent");

	await page.open(url(file));
	const cpu = await titled();
	point(!(await rows()).includes("wait_for_lock"), file + ": first the samples", await rows());
	await button("other");
	point((await rows()).includes("wait_for_lock"), file + ": a click, and the waits are there", await rows());
	point(await titled() === "web<01>, PVH: 4.00 s that tasks waited", file + ": the title says so", await titled());
	await page.mouse("mouseMoved", ...await place_of("wait_for_lock"));
	const said = await tooltip();
	point(/\nlock\.c:77\n/.test(said) && percents(said)[0] === 75 && /3\.00 s/.test(said),
		file + ": the tooltip has the line and the time", said);
	point(await tooltip_is_whole(), file + ": the whole tooltip is visible");
	await photograph(path.basename(file) + "-waits");
	await search("disk");
	near(percents(await matched())[0], 25, 0.001, file + ": a search among waits");
	await button("other");
	point(await titled() === cpu && (await rows()).includes("process 3"),
		file + ": a click, and the samples are back", await titled());
}

// The made-up recording as SVG or HTML.
async function look_at(file) {
	const shares = read.shares(read.folded(path.join(folder, "made-up.folded")));

	await page.open(url(file));
	point((await rows()).includes("start_kernel"), file + ": shows start_kernel", await rows());
	await photograph(file);

	point(await colour_of("hash") === FILLS.kernel, file + ": the kernel's colour", await colour_of("hash"));
	point(await colour_of("main") === FILLS.user, file + ": a program's colour", await colour_of("main"));

	await page.mouse("mouseMoved", ...await place_of("hash"));
	const said = await tooltip(), shown = percents(said);
	point(/^hash\n\[kernel\]/.test(said), file + ": the tooltip has function and file", said);
	near(shown[0], shares.get("hash")[1], 0.01, file + ": the tooltip's share");
	near(shown[shown.length - 1], shares.get("hash")[0], 0.01, file + ": and of the function itself");
	await page.mouse("mouseMoved", ...await place_of("main"));
	point(/\nhttpd, build-id [0-9a-f]{40}\n/.test(await tooltip()), file + ": a build-id",
		await tooltip());
	point(await tooltip_is_whole(), file + ": the whole tooltip is visible");
	await photograph(file + "-tooltip");

	await search("^(hash|loop)$");
	near(percents(await matched())[0], shares.get("hash")[1] + shares.get("loop")[1], 0.01,
		file + ": the share of what a search matches");
	await photograph(file + "-search");
	await search("walk");
	near(percents(await matched())[0], shares.get("walk")[1], 0.01,
		file + ": a function that calls itself matches once");
	await search("httpd");
	near(percents(await matched())[0], shares.get("_start")[1], 0.01,
		file + ": the name of a file of code matches");
	await search("(");
	point(percents(await matched())[0] === 0, file + ": half a regular expression", await matched());

	await search("hash");
	await click_on("serve");
	const names = await rows();
	point(names.includes("hash") && !names.includes("sum") && names.includes("start_kernel"),
		file + ": a click shows the function, what it called and its callers", names);
	const serve = percents(await matched());
	point(serve.length === 2 && serve[1] > serve[0], file + ": the share of what is shown",
		await matched());
	await photograph(file + "-zoom");
	await click_on("all");
	point((await rows()).includes("sum"), file + ": a click on a caller goes back");

	const before = await place_of("all");
	await button("turn");
	const after = await place_of("all");
	point(after[1] > before[1], file + ": icicle becomes flame", before + " " + after);
	await photograph(file + "-flame");
	await click_on("loop");
	point(!(await rows()).includes("hash"), file + ": a click in the flame");
	await button("reset");
	point((await rows()).includes("hash"), file + ": reset");
	point(page.errors.length === 0, file + ": no errors of the script", page.errors.join("\n"));
	point(page.asked.every(asked => asked.startsWith("file://")), file + ": nothing is loaded",
		page.asked.join("\n"));
}

async function without_script(file) {
	await page.send("Emulation.setScriptExecutionDisabled", { value: true });
	await page.open(url(file));
	await photograph(file + "-no-script");
	await page.send("Emulation.setScriptExecutionDisabled", { value: false });
	point(await page.value("document.documentElement.scrollWidth <= window.innerWidth"),
		file + ": and it fits into a window of 1200 pixels");
	const labels = await rows(), titles = await page.value(
		"[...document.querySelectorAll('#cells title')].map(t => t.textContent)");
	point(labels.includes("start_kernel") && labels.includes("sum") &&
		!(await page.value("!!document.getElementById('bar')")),
		file + ": without scripts there is the picture", labels);
	const hash = titles.find(title => title.startsWith("hash, [kernel]")) || "";
	near(percents(hash)[0], read.shares(read.folded(path.join(folder, "made-up.folded"))).get("hash")[1],
		0.01, file + ": and a tooltip with the share");
}

// Names that mean something in HTML, XML and JavaScript.
async function nasty(file) {
	await page.open(url("small/" + file));
	await photograph(file + "-small");
	point(page.errors.length === 0, file + ": hostile names run nothing", page.errors.join("\n"));
	const { data } = read.picture(path.join(folder, "small", file));
	// A label, perhaps cut, of which all functions that it can mean are in shared libraries.
	const library = (await rows()).find(label => {
		const meant = data.frames.filter(frame => frame[0].startsWith(label.replace(/\u2026$/, "")));
		return meant.length && meant.every(frame => /\.so/.test(data.modules[frame[2]][0]));
	});
	point(library && await colour_of(library) === FILLS.library, file + ": a library's colour", library);
	const shares = read.shares(read.picture(path.join(folder, "small", file)));
	await search("<script>alert\\(1\\)");
	const share = shares.get("</script><script>alert(1)</script>");
	near(percents(await matched())[0], share[1], 0.01, file + ": such a name is found");
}

async function fast(file) {
	await page.open(url("big/" + file));
	await photograph(file + "-big");
	const times = [];
	let changed = 0;
	for (let i = 0; i < 10; i++) {
		const x = 300 + 60 * i, y = 70 + 18 * 3 + 8;
		const before = await page.value("document.getElementById('cells').innerHTML");
		// From the event until the browser has drawn: two frames later at the latest.
		times.push(await page.value(`new Promise(resolve => {
			const since = performance.now();
			document.getElementById("flame").dispatchEvent(new MouseEvent("click",
				{ clientX: ${x}, clientY: ${y}, bubbles: true }));
			document.getElementById("flame").getBoundingClientRect();
			requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - since)));
		})`));
		changed += before !== await page.value("document.getElementById('cells').innerHTML");
		await button("reset");
	}
	times.sort((a, b) => a - b);
	const nodes = read.picture(path.join(folder, "big", file)).data.depth.length;
	point(times[5] < CLICK_MS && changed === 10, file + ": " + nodes + " nodes, a click until it is drawn: median " +
		times[5].toFixed(1) + " ms, longest " + times[9].toFixed(1) + " ms", times.join(" "));
}

async function speedscope(file, folded) {
	const release = path.dirname(require.resolve("speedscope/package.json")) + "/dist/release";
	const shares = read.shares(read.folded(path.join(folder, folded)));

	await page.open("file://" + release + "/index.html");
	await page.value(`new Promise(resolve => {
		const wait = () => document.querySelector("input[type=file]") ? resolve()
			: setTimeout(wait, 50);
		wait();
	})`);
	await page.choose_file("input[type=file]", path.join(folder, file));
	await page.value(`new Promise(resolve => {
		const wait = () => document.body.innerText.includes("Sandwich") ? resolve() : setTimeout(wait, 50);
		wait();
	})`);
	await new Promise(resolve => setTimeout(resolve, 500));
	await photograph("speedscope");
	const tab = await page.value(`(() => {
		const all = [...document.querySelectorAll("div")].filter(e => /Sandwich/.test(e.innerText) &&
			e.children.length <= 1);
		const box = all[all.length - 1].getBoundingClientRect();
		return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
	})()`);
	await page.click(...tab);
	await new Promise(resolve => setTimeout(resolve, 500));
	await photograph("speedscope-sandwich");
	const table = await page.value(
		"[...document.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.innerText))");
	let most = 0, n = 0;
	for (const cells of table) {
		const name = (cells[cells.length - 1] || "").trim();
		const want = shares.get(name);
		const got = cells.slice(0, -1).map(cell => (/\(<?([\d.]+)%\)/.exec(cell) || [])[1]);
		if (!want || got.length !== 2 || got.includes(undefined))
			continue;
		n++;
		// The columns are total and self, with one digit or none behind the point; "<0.01%" is 0.
		got.forEach((shown, i) => {
			const digits = (shown.split(".")[1] || "").length;
			most = Math.max(most, Math.abs(Number(shown) - want[1 - i]) * 10 ** digits);
		});
	}
	point(n >= shares.size && most <= 1, "speedscope: " + n + " functions of " + shares.size +
		" with the same shares, to the last digit that it shows", JSON.stringify(table));
	point(page.errors.length === 0, "speedscope: no errors", page.errors.join("\n"));
}

(async function () {
	page = await chromium.start();
	try {
		for (const file of ["made-up.html", "made-up.svg"]) {
			await look_at(file);
			await without_script(file);
		}
		for (const file of ["p.html", "p.svg"]) {
			await nasty(file);
			await fast(file);
		}
		for (const file of ["small/both.html", "small/both.svg"])
			await look_at_both(file);
		await speedscope("made-up.json", "made-up.folded");
	} catch (error) {
		point(false, "the browser's test runs to its end", error.stack);
	}
	await page.close();
	done();
})();
