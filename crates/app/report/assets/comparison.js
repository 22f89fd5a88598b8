"use strict";
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
  tools.className = "flame-tools";
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

  const of = (target) => frames.find((frame) => frame.node === target.closest("svg.frame"));
  picture.addEventListener("pointerover", (event) => show(of(event.target)));
  picture.addEventListener("click", (event) => {
    const frame = of(event.target);
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
