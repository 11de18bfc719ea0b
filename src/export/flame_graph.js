// The flame graph of svg.c and html.c: zoom, search, tooltips. It replaces the picture that the
// file has for browsers without scripts. No network, no library; everything lies in `profile`, and in `waits`, if there is
// a second profile, of tasks that wait (else null):
//
//   frames   [name, kind, module, "FILE:LINE" if known] by number; kind is an index of `kinds`, module
//            one of `modules`
//   modules  [name, build-id]
//   frame, depth, self   one element for each place of the call tree, in pre-order
//   unit     nanoseconds that 1 of `self` stands for
//   of       instead of nanoseconds, another unit; "": nanoseconds
//
// Cells of one colour are one <path>: 100,000 cells are redrawn in milliseconds. So the cell below
// the pointer is found by its row and place, not by the browser.
"use strict";
(function () {
	const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
	const ROW = 18, TOP = 70, CHAR = 7.25, MARGIN = 10, LEAST = 0.4, TIP = 100;
	const svg = document.getElementById("flame");
	const title = document.getElementById("title"), whole = title.textContent;
	let shown = profile, places, parent, end, ticks, start;
	let root = 0, icicle = true, matches = null, width = 0, deepest = 0;
	let rows = [];

	// ticks: with all below. start: where the place lies in the whole picture.
	function prepare() {
		places = shown.depth.length;
		parent = new Int32Array(places);
		end = new Int32Array(places);
		ticks = new Float64Array(places);
		start = new Float64Array(places);
		const open = [], next = new Float64Array(places);
		for (let i = 0; i < places; i++) {
			while (open.length > shown.depth[i])
				end[open.pop()] = i;
			parent[i] = open.length ? open[open.length - 1] : 0;
			open.push(i);
		}
		while (open.length)
			end[open.pop()] = places;
		for (let i = places - 1; i >= 0; i--) {
			ticks[i] += shown.self[i];
			if (i)
				ticks[parent[i]] += ticks[i];
		}
		for (let i = 1; i < places; i++) {
			const up = parent[i];
			start[i] = next[up];
			next[up] += ticks[i];
			next[i] = start[i];
		}
	}

	function element(name, attributes, to) {
		const made = document.createElementNS(SVG, name);
		for (const key in attributes)
			made.setAttribute(key, attributes[key]);
		to.appendChild(made);
		return made;
	}

	function percent(part, whole) {
		return (whole > 0 ? 100 * part / whole : 0).toFixed(2) + " %";
	}

	function frame_of(i) {
		return shown.frames[shown.frame[i]];
	}

	function name_of(i) {
		return i ? frame_of(i)[0] : "all";
	}

	function seconds(i) {
		if (shown.of)
			return (ticks[i] * shown.unit).toPrecision(6) / 1 + " " + shown.of;
		const s = ticks[i] * shown.unit / 1e9;
		return s >= 100 ? s.toFixed(0) + " s" : s >= 0.1 ? s.toFixed(2) + " s"
			: (s * 1000).toFixed(2) + " ms";
	}

	// --- drawing ---------------------------------------------------------------------------

	function fitting(text, pixels) {
		const n = Math.floor((pixels - 6) / CHAR);
		return n < 2 ? "" : text.length <= n ? text : text.slice(0, n - 1) + "\u2026";
	}

	function top_of(row) {
		return TOP + (icicle ? row : deepest - row) * ROW;
	}

	function cell(row, i, x, w, paths, labels) {
		const kind = matches && matches[shown.frame[i]] && i ? "m" : shown.kinds[i ? frame_of(i)[1] : 0];
		const y = top_of(row), text = w < 24 ? "" : fitting(name_of(i), w);
		paths[kind] = (paths[kind] || "") + "M" + x.toFixed(1) + " " + y + "h" +
			Math.max(w - 0.6, LEAST).toFixed(1) + "v" + (ROW - 1) + "h" +
			(-Math.max(w - 0.6, LEAST)).toFixed(1) + "z";
		if (text)
			labels.push([x + 3, y + 13, text]);
		(rows[row] = rows[row] || []).push([x, w, i]);
	}

	// Rows above the root are its callers, each as wide as the picture.
	function visible() {
		const list = [], scale = width / (ticks[root] || 1), from = start[root];
		for (let i = root, first = true; first || i; i = parent[i], first = false)
			if (i !== root)
				list.push([shown.depth[i], i, MARGIN, width]);
		if (root)
			list.push([0, 0, MARGIN, width]);
		for (let i = root; i < end[root];) {
			const w = ticks[i] * scale;
			if (w < LEAST) {
				i = end[i];
				continue;
			}
			list.push([shown.depth[i], i, MARGIN + (start[i] - from) * scale, w]);
			i++;
		}
		return list;
	}

	function draw() {
		const paths = {}, labels = [], live = document.createElementNS(SVG, "g");
		width = Math.max(300, (svg.parentNode === document ? window.innerWidth
			: svg.parentNode.clientWidth) - 2 * MARGIN);
		const list = visible();
		deepest = 0;
		for (const place of list)
			deepest = Math.max(deepest, place[0]);
		rows = [];
		for (const [row, i, x, w] of list)
			cell(row, i, x, w, paths, labels);
		for (const kind in paths)
			element("path", { d: paths[kind], class: kind }, live);
		for (const [x, y, text] of labels)
			element("text", { x: x, y: y }, live).textContent = text;
		live.id = "cells";
		svg.replaceChild(live, document.getElementById("cells"));
		size(TOP + (deepest + 1) * ROW + MARGIN + TIP); // a tooltip hangs below the last row
		say();
	}

	function size(height) {
		svg.removeAttribute("viewBox");
		svg.setAttribute("width", width + 2 * MARGIN);
		svg.setAttribute("height", height);
		document.getElementById("bar").setAttribute("width", width);
	}

	// --- search ----------------------------------------------------------------------------

	function matcher(query) {
		try {
			return new RegExp(query, "i");
		} catch (error) { // half a regular expression: as it stands
			return { test: text => text.toLowerCase().includes(query.toLowerCase()) };
		}
	}

	function search(query) {
		const by = query && matcher(query);
		matches = by && shown.frames.map(frame =>
			by.test(frame[0]) || by.test(shown.modules[frame[2]][0]));
		draw();
	}

	// The ticks below FROM of stacks with a match; a match below a match counts once.
	function matched(from) {
		let sum = 0;
		for (let i = from; i < end[from];) {
			if (i && matches[shown.frame[i]]) {
				sum += ticks[i];
				i = end[i];
			} else {
				i++;
			}
		}
		return sum;
	}

	function say() {
		const said = document.getElementById("matched");
		said.textContent = !matches ? "" : "matched " + percent(matched(0), ticks[0]) +
			(root ? ", here " + percent(matched(root), ticks[root]) : "");
	}

	// --- pointer ---------------------------------------------------------------------------

	function at(event) {
		const box = svg.getBoundingClientRect();
		const x = event.clientX - box.left, line = Math.floor((event.clientY - box.top - TOP) / ROW);
		const row = rows[icicle ? line : deepest - line] || [];
		let low = 0, high = row.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (row[middle][0] <= x)
				low = middle + 1;
			else
				high = middle;
		}
		return low && x < row[low - 1][0] + Math.max(row[low - 1][1], 1) ? row[low - 1][2] : -1;
	}

	function lines_about(i) {
		const frame = frame_of(i), module = i ? shown.modules[frame[2]] : ["", ""];
		return [name_of(i)].concat(module[0] ? [module[0] + (module[1] ? ", build-id " + module[1] : "")] : [],
			frame[3] ? [frame[3]] : [], [
			percent(ticks[i], ticks[0]) + " of all" +
				(root ? ", " + percent(ticks[i], ticks[root]) + " of " + name_of(root) : "") +
				", " + seconds(i),
			"itself " + percent(shown.self[i], ticks[0]),
		]);
	}

	function hover(event) {
		const tip = document.getElementById("tip"), i = at(event);
		tip.textContent = "";
		svg.style.cursor = i >= 0 ? "pointer" : "";
		if (i < 0)
			return;
		const box = svg.getBoundingClientRect(), lines = lines_about(i);
		const wide = Math.min(width, 12 + CHAR * Math.max(...lines.map(line => line.length)));
		const high = 8 + 16 * lines.length;
		const x = Math.max(0, Math.min(event.clientX - box.left + 12, width + MARGIN - wide));
		let y = event.clientY - box.top + 18;
		if (event.clientY + 18 + high > window.innerHeight)
			y -= high + 26;
		element("rect", { x: x, y: y, width: wide, height: high, rx: 3 }, tip);
		lines.forEach((line, n) => {
			element("text", { x: x + 6, y: y + 16 + 16 * n }, tip).textContent = fitting(line, wide);
		});
	}

	function zoom(to) {
		root = to;
		document.getElementById("tip").textContent = "";
		draw();
	}

	// --- the bar ---------------------------------------------------------------------------

	function html(name, text, to) {
		const made = document.createElementNS(XHTML, name);
		made.textContent = text;
		to.appendChild(made);
		return made;
	}

	function make_bar() {
		const bar = element("foreignObject", { id: "bar", x: MARGIN, y: 26, height: 32 }, svg);
		const line = html("div", "", bar), field = html("input", "", line);
		const reset = html("button", "Reset zoom", line), turn = html("button", "Flame", line);
		field.id = "search";
		field.placeholder = "search: regular expression";
		field.addEventListener("input", () => search(field.value));
		reset.id = "reset";
		reset.addEventListener("click", () => zoom(0));
		turn.id = "turn";
		turn.addEventListener("click", () => {
			icicle = !icicle;
			turn.textContent = icicle ? "Flame" : "Icicle";
			draw();
		});
		if (waits) {
			const other = html("button", "Waits", line);
			other.id = "other";
			other.addEventListener("click", () => exchange(other, field));
		}
		html("span", "", line).id = "matched";
	}

	// Samples or waits.
	function exchange(button, field) {
		shown = shown === profile ? waits : profile;
		button.textContent = shown === profile ? "Waits" : "CPU";
		prepare();
		root = 0;
		title.textContent = shown === profile ? whole
			: whole.replace(/: [^:]*$/, ": " + seconds(0) + " that tasks waited");
		document.getElementById("tip").textContent = "";
		search(field.value);
	}

	function key(event) {
		const field = document.getElementById("search");
		if (event.key === "Escape" && matches) {
			field.value = "";
			search("");
		} else if (event.key === "Escape") {
			zoom(root ? parent[root] : 0);
		} else if (event.key === "/" && document.activeElement !== field) {
			field.focus();
			event.preventDefault();
		}
	}

	prepare();
	make_bar();
	element("g", { id: "tip" }, svg);
	svg.addEventListener("mousemove", hover);
	svg.addEventListener("mouseleave", () => { document.getElementById("tip").textContent = ""; });
	svg.addEventListener("click", event => {
		const i = at(event);
		if (i >= 0)
			zoom(i);
	});
	window.addEventListener("resize", draw);
	window.addEventListener("keydown", key);
	draw();
})();
