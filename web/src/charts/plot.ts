// Lines and points over time or over a number, with a limit across and shaded stretches: settings of uPlot.

import uPlot from "uplot";
import { color } from "../app/theme.svelte.ts";
import { clock, date } from "../format/times.ts";

/** A line: a value for every x, `null` where nothing is known. */
export interface PlotLine {
  label: string;
  values: (number | null)[];
  /** Name of a color token. */
  token: string;
  dashed?: boolean;
  /** Points instead of a line. */
  points?: boolean;
  /** Drawn across unknown values. */
  joined?: boolean;
}

/** A stretch of x that is shaded, or a line at one. */
export interface Mark {
  from: number;
  to?: number;
  token: string;
  label?: string;
}

/** What is drawn. For `time`, x are seconds since the Unix epoch. */
export interface Drawing {
  kind: "time" | "number";
  x: number[];
  lines: PlotLine[];
  marks?: Mark[];
  limit?: { y: number; label: string };
  y: (value: number) => string;
  /** For `number`: an x in words. */
  xText?: (value: number) => string;
  /** The y axis reaches at least up to this, and at most up to that. */
  yLeast?: number;
  yMost?: number;
}

const FONT_SIZE = 12;
const FONT = `${FONT_SIZE}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;

function shade(plot: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const mark of marks) {
    const from = plot.valToPos(mark.from, "x", true);
    const to = mark.to === undefined ? from : plot.valToPos(mark.to, "x", true);
    ctx.fillStyle = color(mark.token);
    ctx.globalAlpha = mark.to === undefined ? 1 : 0.16;
    ctx.fillRect(from, bbox.top, Math.max(to - from, 1.5 * uPlot.pxRatio), bbox.height);
  }
  ctx.restore();
}

function across(plot: uPlot, limit: { y: number; label: string }): void {
  const { ctx, bbox } = plot;
  const at = plot.valToPos(limit.y, "y", true);
  if (at < bbox.top || at > bbox.top + bbox.height) return;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color("bad");
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, at);
  ctx.lineTo(bbox.left + bbox.width, at);
  ctx.stroke();
  ctx.font = FONT.replace(`${FONT_SIZE}px`, `${FONT_SIZE * ratio}px`);
  ctx.textAlign = "left";
  ctx.textBaseline = at - bbox.top > 20 * ratio ? "bottom" : "top";
  ctx.fillText(limit.label, bbox.left + 6 * ratio, at - 3 * ratio);
  ctx.restore();
}

/** The time of day, with the date where a day or the axis begins. */
function times(splits: number[]): string[] {
  return splits.map((second, at) => {
    const ms = second * 1000;
    const newDay = at === 0 || date(ms) !== date((splits[at - 1] ?? 0) * 1000);
    return newDay ? `${clock(ms)}\n${date(ms)}` : clock(ms);
  });
}

/** uPlot reads dates by their local parts; these are those of UTC. */
function utc(second: number): Date {
  const moment = new Date(second * 1000);
  return new Date(moment.getTime() + moment.getTimezoneOffset() * 60_000);
}

function axes(drawing: Drawing): uPlot.Axis[] {
  const look = { stroke: color("muted"), font: FONT, grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("line"), width: 1, size: 4 } };
  const text = drawing.xText ?? String;
  const widest = (values: string[] | null) => 16 + 6.6 * Math.max(0, ...(values ?? []).map((value) => value.length));
  return [
    { ...look, size: drawing.kind === "time" ? 36 : 26, space: 80, values: (_, splits) => (drawing.kind === "time" ? times(splits) : splits.map(text)) },
    { ...look, size: (_, values) => widest(values), values: (_, splits) => splits.map(drawing.y) },
  ];
}

function series(line: PlotLine): uPlot.Series {
  const stroke = color(line.token);
  if (line.points) return { label: line.label, stroke, paths: () => null, points: { show: true, size: 6, fill: stroke, width: 0 } };
  return { label: line.label, stroke, width: 1.7, spanGaps: line.joined ?? false, points: { show: false }, ...(line.dashed ? { dash: [6, 4] } : {}) };
}

/** Settings of a drawing at a size. */
export function options(drawing: Drawing, width: number, height: number, pointed: (at: number | null) => void): uPlot.Options {
  const { yLeast = 0, yMost = Infinity } = drawing;
  return {
    width,
    height,
    padding: [10, 12, 0, 0],
    tzDate: utc,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: drawing.kind === "time" },
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.min(Math.max((high || 0) * 1.05, yLeast) || 1, yMost)] },
    },
    axes: axes(drawing),
    series: [{}, ...drawing.lines.map(series)],
    hooks: {
      drawClear: [(plot) => shade(plot, drawing.marks ?? [])],
      draw: [(plot) => drawing.limit && across(plot, drawing.limit)],
      setCursor: [(plot) => pointed(plot.cursor.idx ?? null)],
    },
  };
}

/** The data as uPlot takes them. */
export function aligned(drawing: Drawing): uPlot.AlignedData {
  return [drawing.x, ...drawing.lines.map((line) => line.values)];
}
