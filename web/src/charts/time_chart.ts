// The settings of uPlot for lines over time.

import type uPlot from "uplot";
import { color } from "../app/theme.svelte.ts";
import { zone } from "../app/zone.svelte.ts";
import { clock, date } from "../format/times.ts";

/** A line: as many values as there are bins, `null` where there is none. */
export interface Line {
  name: string;
  values: (number | null)[];
  /** Called whenever it is drawn, since it depends on the theme. */
  color: () => string;
}

/** An interval of time, in milliseconds. */
export interface Interval {
  sinceMs: number;
  untilMs: number;
}

/** Something that happened at one moment, in milliseconds. */
export interface Mark {
  atMs: number;
  text: string;
}

interface Settings {
  width: number;
  height: number;
  lines: Line[];
  format: (value: number) => string;
  marked: Interval[];
  marks: Mark[];
  onselect: (sinceMs: number, untilMs: number) => void;
  onpointed: (bin: number | null) => void;
}

/** Narrower selections are clicks, in pixels. */
const DRAG_MIN = 6;

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

export function options(settings: Settings): uPlot.Options {
  const axis = { stroke: color("muted"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("line"), width: 1, size: 4 }, font: FONT };
  return {
    width: settings.width,
    height: settings.height,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    tzDate: (seconds) => (zone.selected === "utc" ? utc(seconds) : new Date(seconds * 1000)),
    scales: { x: { time: true }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
    axes: [
      { ...axis, size: 44, space: 80, values: (_, splits) => ticks(splits) },
      { ...axis, size: (_, values) => axisWidth(values), values: (_, splits) => splits.map(settings.format) },
    ],
    series: [{}, ...settings.lines.map(series)],
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false, setScale: false, dist: DRAG_MIN } },
    hooks: {
      drawClear: [(chart) => drawMarked(chart, settings.marked)],
      draw: [(chart) => drawMarks(chart, settings.marks)],
      setCursor: [(chart) => settings.onpointed(chart.cursor.idx ?? null)],
      ready: [(chart) => followFinger(chart, settings.onselect)],
      setSelect: [(chart) => endSelection(chart, settings.onselect)],
    },
  };
}

function series(line: Line): uPlot.Series {
  return { label: line.name, stroke: line.color(), width: 1.6, points: { show: false }, spanGaps: false };
}

/** uPlot reads dates by their local parts; this one's are those of UTC. */
function utc(seconds: number): Date {
  const moment = new Date(seconds * 1000);
  return new Date(moment.getTime() + moment.getTimezoneOffset() * 60_000);
}

/** The time of day, and the date where a day begins or the axis does. */
function ticks(splits: number[]): string[] {
  return splits.map((seconds, at) => {
    const ms = seconds * 1000;
    const newDay = at === 0 || date(ms) !== date((splits[at - 1] ?? 0) * 1000);
    return newDay ? `${clock(ms)}\n${date(ms)}` : clock(ms);
  });
}

/** Width of the axis of values, in pixels. */
function axisWidth(values: string[] | null): number {
  const longest = Math.max(0, ...(values ?? []).map((text) => text.length));
  return 16 + longest * 6.6;
}

function drawMarked(chart: uPlot, marked: Interval[]): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.fillStyle = color("bad-ground");
  for (const { sinceMs, untilMs } of marked) {
    const [from, to] = [sinceMs, untilMs].map((ms) => chart.valToPos(ms / 1000, "x", true)) as [number, number];
    const left = Math.max(from, bbox.left);
    const right = Math.min(to, bbox.left + bbox.width);
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

/** A dashed line from the top to the bottom. */
function drawMarks(chart: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = color("link");
  ctx.setLineDash([4, 3]);
  for (const { atMs } of marks) {
    const x = Math.round(chart.valToPos(atMs / 1000, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function endSelection(chart: uPlot, onselect: Settings["onselect"]): void {
  const { left, width } = chart.select;
  if (width < DRAG_MIN) return;
  const [since, until] = [left, left + width].map((place) => chart.posToVal(place, "x") * 1000) as [number, number];
  chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  onselect(since, until);
}

/** uPlot follows the mouse only; a finger that moves sideways selects as well. */
function followFinger(chart: uPlot, onselect: Settings["onselect"]): void {
  const { over } = chart;
  let began: number | null = null;
  const place = (event: PointerEvent) => Math.min(Math.max(event.clientX - over.getBoundingClientRect().left, 0), over.clientWidth);
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse") return;
    began = place(event);
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (began === null) return;
    const at = place(event);
    chart.setSelect({ left: Math.min(at, began), width: Math.abs(at - began), top: 0, height: over.clientHeight }, false);
    chart.setCursor({ left: at, top: over.clientHeight / 2 });
  });
  over.addEventListener("pointerup", () => {
    if (began !== null) endSelection(chart, onselect);
    began = null;
  });
  over.addEventListener("pointercancel", () => {
    began = null;
    chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  });
}
