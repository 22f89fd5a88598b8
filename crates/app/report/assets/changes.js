"use strict";
// Charts over time: what holds at the pointer, the finger or the arrow keys is told below. Without this script
// the charts and the tables are all there.
function timeline(figure) {
  const picture = figure.querySelector("svg.strips");
  const readout = figure.querySelector(".readout");
  if (!readout) return;
  const list = (name) => figure.dataset[name].split(",").map((text) => (text === "" ? NaN : Number.parseFloat(text)));
  const [observed, predicted, rate] = ["observed", "predicted", "rate"].map(list);
  const [since, step] = [Number(figure.dataset.since), Number(figure.dataset.step)];
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("class", "cursor");
  line.setAttribute("y1", "20");
  line.setAttribute("y2", picture.getAttribute("height"));
  let at = -1;
  const show = (next) => {
    at = Math.min(observed.length - 1, Math.max(0, next));
    const x = `${((at + 0.5) / observed.length) * 100}%`;
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    picture.append(line);
    const time = new Date(since + at * step).toISOString().slice(0, 19).replace("T", " ");
    const part = (name, value, unit) => (Number.isNaN(value) ? `${name} –` : `${name} ${value}${unit}`);
    const left = Math.round((observed[at] - predicted[at]) * 10) / 10;
    readout.textContent = `${time} UTC: ${part("observed", observed[at], " %")}, ${part("predicted", predicted[at], " %")}, ` +
      `${part("unexplained", left, " %")}, ${part("", rate[at], " transactions/s").trim()}`;
  };
  picture.setAttribute("tabindex", "0");
  readout.hidden = false;
  readout.textContent = "Point at the chart, or move with the arrow keys (with Shift by ten).";
  const place = (event) => {
    const box = picture.getBoundingClientRect();
    show(Math.floor(((event.clientX - box.left) / box.width) * observed.length));
  };
  picture.addEventListener("pointermove", place);
  picture.addEventListener("pointerdown", place);
  picture.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const moves = { ArrowRight: at + far, ArrowLeft: at - far, Home: 0, End: observed.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}

document.querySelectorAll(".timeline").forEach(timeline);
