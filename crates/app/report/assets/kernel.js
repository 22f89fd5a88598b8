"use strict";
// The path by thread: zooming, and what lies at the pointer or at the arrow keys. Without this script the picture
// and the tables are all there.
const NAMES = { R: "running", P: "pre-empted", B: "blocked", N: "network", D: "disk", T: "timer", I: "interrupted",
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
  const pieces = box.dataset.pieces.split(",").map((text) => {
    const [lane, letter, from, ns] = text.split(" ");
    return { lane: Number(lane), letter, from: Number(from), to: Number(from) + Number(ns) };
  });
  const height = stretched.getAttribute("viewBox").split(" ")[3];
  let [left, right, at] = [0, whole, 0];
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y1", "0");
  cursor.setAttribute("y2", height);
  const tools = document.createElement("div");
  tools.className = "lanes-tools";
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
    tell(at);
  };
  const zoom = (factor, middle) => view(middle - (middle - left) * factor, middle + (right - middle) * factor);
  const tell = (index) => {
    at = Math.min(pieces.length - 1, Math.max(0, index));
    const piece = pieces[at];
    const middle = (Math.max(piece.from, left) + Math.min(piece.to, right)) / 2;
    const place = `${((middle - left) / (right - left)) * 100}%`;
    cursor.setAttribute("x1", place);
    cursor.setAttribute("x2", place);
    picture.append(cursor);
    readout.textContent = `${names[piece.lane] ?? ""}: ${NAMES[piece.letter]} for ${lengthText(piece.to - piece.from)}, ${lengthText(piece.from)} into it`;
  };
  // The last piece that begins before an instant.
  const find = (ns) => {
    let [low, high] = [0, pieces.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (pieces[middle].from <= ns) low = middle; else high = middle - 1;
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
  const all = button("All of it", () => view(0, whole));
  box.prepend(tools);
  readout.hidden = false;
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("pointermove", (event) => tell(find(under(event))));
  picture.addEventListener("pointerdown", (event) => tell(find(under(event))));
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.7 : 1.4, under(event));
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -pieces.length, End: pieces.length };
    if (event.key in moves) {
      event.preventDefault();
      tell(at + moves[event.key]);
      const piece = pieces[at];
      if (piece.from < left || piece.to > right) view(piece.from - (right - left) / 2, piece.from + (right - left) / 2);
    } else if (event.key === "+" || event.key === "-") {
      event.preventDefault();
      zoom(event.key === "+" ? 0.5 : 2, pieces[at].from);
    }
  });
  view(0, whole);
  readout.textContent = "Point at the picture, or move with the arrow keys; + and - (or Ctrl and the wheel) zoom.";
  cursor.remove();
}

document.querySelectorAll(".lanes").forEach(lanes);
