"use strict";
const NS = document.querySelector("svg")?.namespaceURI;

// Sorting: a click on a column's title sorts by `data-value`, or by the text when a cell has none.
const collator = new Intl.Collator(undefined, { numeric: true });

function key(row, column, kind) {
  const cell = row.cells[column];
  if (kind === "text") return cell.textContent.trim();
  const value = Number.parseFloat(cell.dataset.value);
  return Number.isNaN(value) ? -Infinity : value;
}

function sort(table, title, column) {
  const kind = title.dataset.sort;
  const first = kind === "number" ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const order = title.getAttribute("aria-sort") === first ? other : first;
  for (const each of title.parentElement.cells) each.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row, column, kind) }));
  rows.sort((a, b) => {
    if (kind === "text") return sign * collator.compare(a.key, b.key);
    return a.key === b.key ? 0 : sign * (a.key < b.key ? -1 : 1);
  });
  body.append(...rows.map((each) => each.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  Array.from(table.tHead.rows[0].cells).forEach((title, column) => {
    if (!title.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.replaceChildren(button);
    button.addEventListener("click", () => sort(table, title, column));
  });
}

// The heat map: the cell under the pointer, the finger or the arrow keys is described below the map.
function readOut(box) {
  const cells = Array.from(box.querySelectorAll("svg > rect:not(.flag)"));
  const readout = box.parentElement.parentElement.querySelector(".readout");
  if (cells.length === 0 || !readout) return;
  readout.hidden = false;
  readout.textContent = "Point at a cell, or move with the arrow keys.";
  let current = null;
  const show = (cell) => {
    if (!cell) return;
    if (current) current.classList.remove("current");
    current = cell;
    cell.classList.add("current");
    readout.textContent = cell.querySelector("title").textContent;
  };
  const at = (cell, name) => Number.parseFloat(cell.getAttribute(name));
  const next = (name, across, sign) => {
    const line = cells.filter((cell) => at(cell, across) === at(current, across));
    const ahead = line.filter((cell) => sign * (at(cell, name) - at(current, name)) > 0);
    ahead.sort((a, b) => sign * (at(a, name) - at(b, name)));
    return ahead[0];
  };
  const moves = { ArrowRight: ["x", "y", 1], ArrowLeft: ["x", "y", -1], ArrowDown: ["y", "x", 1], ArrowUp: ["y", "x", -1] };
  box.addEventListener("pointerover", (event) => show(event.target.closest("svg > rect:not(.flag)")));
  box.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    show(current ? next(...move) : cells[0]);
    current.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

document.querySelectorAll(".heat-scroll").forEach(readOut);

// Charts with a readout: what holds at the pointer, the finger, or the arrow keys is shown below.
function readable(figure) {
  const pictures = Array.from(figure.querySelectorAll("svg.panel"));
  const readout = figure.querySelector(".readout");
  const chart = JSON.parse(figure.dataset.chart);
  if (!readout || !chart.x || chart.x.length === 0) return;
  const lines = pictures.map(() => {
    const line = document.createElementNS(NS, "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", "0%");
    line.setAttribute("y2", "100%");
    return line;
  });
  let at = -1;
  const show = (next) => {
    at = Math.min(chart.x.length - 1, Math.max(0, next));
    const x = `${((chart.x[at] - chart.from) / (chart.to - chart.from)) * 100}%`;
    lines.forEach((line, index) => {
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      pictures[index].append(line);
    });
    const time = new Date(chart.x[at]).toISOString().slice(0, 19).replace("T", " ");
    const parts = chart.series.map((series) => `${series.name} ${series.y[at] ?? "\u2013"}${series.y[at] == null ? "" : series.unit}`);
    readout.textContent = `${time} UTC: ${parts.join(", ")}`;
  };
  const nearest = (event) => {
    const box = pictures[0].getBoundingClientRect();
    const x = chart.from + ((event.clientX - box.left) / box.width) * (chart.to - chart.from);
    let [low, high] = [0, chart.x.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (chart.x[middle] <= x) low = middle; else high = middle;
    }
    show(x - chart.x[low] < chart.x[high] - x ? low : high);
  };
  readout.hidden = false;
  readout.textContent = "Point at the chart, or move with the arrow keys (with Shift by ten).";
  for (const picture of pictures) {
    picture.addEventListener("pointermove", nearest);
    picture.addEventListener("pointerdown", nearest);
  }
  pictures[0].setAttribute("tabindex", "0");
  pictures[0].addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const moves = { ArrowRight: at + far, ArrowLeft: at - far, Home: 0, End: chart.x.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}

document.querySelectorAll("figure[data-chart]").forEach(readable);

// The flame graph: a click or Enter zooms to a frame, Escape or the button shows all, arrow keys move. Without
// this script the whole graph is there, with a tooltip on every frame.
function flames(box) {
  const picture = box.querySelector("svg.flames");
  const readout = box.parentElement.querySelector(".readout");
  const nodes = Array.from(picture.querySelectorAll("svg.frame"));
  if (nodes.length === 0) return;
  const number = (node, name) => Number.parseFloat(node.getAttribute(name));
  const frames = nodes.map((node) => ({
    node,
    from: number(node, "x") / 100,
    width: number(node, "width") / 100,
    row: number(node, "y"),
    words: node.querySelector("title").textContent,
  }));
  const inside = (outer, frame) =>
    frame.from >= outer.from - 1e-6 && frame.from + frame.width <= outer.from + outer.width + 2e-5;
  const whole = { from: 0, width: 1, row: -1 };
  let zoomed = whole;
  let current = null;

  const tools = document.createElement("div");
  tools.className = "tools";
  const reset = document.createElement("button");
  reset.type = "button";
  reset.textContent = "Show the whole graph";
  tools.append(reset);
  box.before(tools);

  function draw() {
    const pixels = box.clientWidth;
    for (const frame of frames) {
      const above = frame.row < zoomed.row && inside(frame, zoomed);
      const below = frame.row >= zoomed.row && inside(zoomed, frame);
      const from = above ? 0 : (frame.from - zoomed.from) / zoomed.width;
      const width = above ? 1 : frame.width / zoomed.width;
      frame.node.setAttribute("x", `${Math.max(0, from) * 100}%`);
      frame.node.setAttribute("width", `${Math.min(1, width) * 100}%`);
      frame.node.classList.toggle("gone", !(above || below));
      frame.node.classList.toggle("above", above);
      frame.node.classList.toggle("narrow", width * pixels < 24);
    }
    reset.disabled = zoomed === whole;
  }

  function show(frame) {
    if (!frame) return;
    if (current) current.node.classList.remove("current");
    current = frame;
    frame.node.classList.add("current");
    readout.textContent = frame.words;
  }

  function zoom(frame) {
    zoomed = frame === zoomed ? whole : frame;
    draw();
  }

  function next(key) {
    if (!current) return frames[0];
    const visible = frames.filter((frame) => !frame.node.classList.contains("gone"));
    const step = frames.reduce((rows, frame) => (frame.row > 0 ? Math.min(rows, frame.row) : rows), Infinity);
    if (key === "ArrowDown") return visible.find((frame) => frame.row === current.row + step && inside(current, frame));
    if (key === "ArrowUp") return visible.find((frame) => frame.row === current.row - step && inside(frame, current));
    const line = visible.filter((frame) => frame.row === current.row).sort((a, b) => a.from - b.from);
    return line[line.indexOf(current) + (key === "ArrowRight" ? 1 : -1)];
  }

  const frameOf = (target) => frames.find((frame) => frame.node === target.closest("svg.frame"));
  picture.addEventListener("pointerover", (event) => show(frameOf(event.target)));
  picture.addEventListener("click", (event) => {
    const frame = frameOf(event.target);
    show(frame);
    if (frame) zoom(frame);
  });
  reset.addEventListener("click", () => zoom(whole));
  box.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) show(next(event.key));
    else if (event.key === "Enter" && current) zoom(current);
    else if (event.key === "Escape") zoom(whole);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", () => zoom(whole));
  readout.hidden = false;
  readout.textContent = "Point at a frame, or move with the arrow keys; a click or Enter zooms in, Escape out.";
  draw();
}

document.querySelectorAll(".flame").forEach(flames);

// The path by thread: zooming, and what lies at the pointer or at the arrow keys. Without this script the picture
// and the tables are all there.
const NAMES = { R: "running", P: "preempted", B: "blocked", N: "network", D: "disk", T: "timer", I: "interrupted",
  X: "inter-processor", U: "user input", "?": "unknown" };

function lengthText(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]];
  const [unit, name] = units.find(([unit]) => ns >= unit) ?? [1, "ns"];
  return `${Number((ns / unit).toPrecision(3))} ${name}`;
}

function lanes(box) {
  const picture = box.querySelector(".lanes-picture");
  const stretched = picture.querySelector(".stretched");
  const readout = box.querySelector(".readout");
  const ticks = Array.from(box.querySelectorAll(".ticks text"));
  const names = Array.from(picture.querySelectorAll(".lane-name"), (text) => text.textContent);
  const whole = Number(box.dataset.length);
  const segments = box.dataset.segments.split(",").map((text) => {
    const [lane, symbol, from, ns] = text.split(" ");
    return { lane: Number(lane), symbol, from: Number(from), to: Number(from) + Number(ns) };
  });
  const height = stretched.getAttribute("viewBox").split(" ")[3];
  let [left, right, at] = [0, whole, 0];
  const cursor = document.createElementNS(NS, "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y1", "0");
  cursor.setAttribute("y2", height);
  const tools = document.createElement("div");
  tools.className = "tools";
  const button = (text, action) => {
    const each = document.createElement("button");
    each.type = "button";
    each.textContent = text;
    each.addEventListener("click", action);
    tools.append(each);
    return each;
  };
  const view = (from, to) => {
    const wide = Math.min(whole, Math.max(to - from, whole / 1e4, 1));
    left = Math.min(Math.max(0, from), whole - wide);
    right = left + wide;
    stretched.setAttribute("viewBox", `${(left / whole) * 1e5} 0 ${(wide / whole) * 1e5} ${height}`);
    ticks.forEach((tick, index) => { tick.textContent = lengthText(left + (wide * index) / (ticks.length - 1)); });
    all.disabled = wide === whole;
    show(at);
  };
  const zoom = (factor, middle) => view(middle - (middle - left) * factor, middle + (right - middle) * factor);
  const show = (index) => {
    at = Math.min(segments.length - 1, Math.max(0, index));
    const segment = segments[at];
    const middle = (Math.max(segment.from, left) + Math.min(segment.to, right)) / 2;
    const position = `${((middle - left) / (right - left)) * 100}%`;
    cursor.setAttribute("x1", position);
    cursor.setAttribute("x2", position);
    picture.append(cursor);
    readout.textContent = `${names[segment.lane] ?? ""}: ${NAMES[segment.symbol]} for ${lengthText(segment.to - segment.from)}, ${lengthText(segment.from)} into it`;
  };
  // The last segment that begins before an instant.
  const find = (ns) => {
    let [low, high] = [0, segments.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (segments[middle].from <= ns) low = middle; else high = middle - 1;
    }
    return low;
  };
  const under = (event) => {
    const frame = picture.getBoundingClientRect();
    return left + ((event.clientX - frame.left) / frame.width) * (right - left);
  };
  button("Zoom in", () => zoom(0.5, (left + right) / 2));
  button("Zoom out", () => zoom(2, (left + right) / 2));
  button("Earlier", () => view(left - (right - left) / 2, right - (right - left) / 2));
  button("Later", () => view(left + (right - left) / 2, right + (right - left) / 2));
  const all = button("Show all", () => view(0, whole));
  box.prepend(tools);
  readout.hidden = false;
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("pointermove", (event) => show(find(under(event))));
  picture.addEventListener("pointerdown", (event) => show(find(under(event))));
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.7 : 1.4, under(event));
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -segments.length, End: segments.length };
    if (event.key in moves) {
      event.preventDefault();
      show(at + moves[event.key]);
      const segment = segments[at];
      if (segment.from < left || segment.to > right) view(segment.from - (right - left) / 2, segment.from + (right - left) / 2);
    } else if (event.key === "+" || event.key === "-") {
      event.preventDefault();
      zoom(event.key === "+" ? 0.5 : 2, segments[at].from);
    }
  });
  view(0, whole);
  readout.textContent = "Point at the picture, or move with the arrow keys; + and - (or Ctrl and the wheel) zoom.";
  cursor.remove();
}

document.querySelectorAll(".lanes").forEach(lanes);

// A link to a folded block unfolds it.
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", unfold);
unfold();

// On paper nothing is folded but the tables that repeat a chart.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open]):not(.alternative)")) {
    each.open = true;
    folded.push(each);
  }
});
window.addEventListener("afterprint", () => {
  for (const each of folded.splice(0)) each.open = false;
});
