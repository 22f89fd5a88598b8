// Positions on the axes of charts, and which labels have the width they need.

import type { Axis, Series } from "../api/generated.ts";

/** Position of a value: 0 at the lower end to 1 at the upper; the nearest end for values outside. */
export function position(axis: Axis, value: number): number {
  const place = (at: number) => (axis.scale === "log" ? Math.log(Math.max(at, Number.MIN_VALUE)) : at);
  const share = (place(value) - place(axis.from)) / (place(axis.to) - place(axis.from));
  return Number.isFinite(share) ? Math.min(Math.max(share, 0), 1) : 0;
}

/** Labels that do not overlap when each needs a share of the width. */
export function spaced<T>(labels: T[], at: (label: T) => number, width: number): T[] {
  let free = width / 2 - 0.01;
  return labels.filter((label) => {
    const x = at(label);
    if (x < free || x > 1.01 - width / 2) return false;
    free = x + width;
    return true;
  });
}

/** The path of a line, or of a band between two edges, in pixels; it has a gap where values are not known. */
export function pathOf(series: Series, x: (value: number) => number, y: (value: number) => number, floor: number): string {
  const known = series.x.map((at, index) => ({ x: x(at), y: series.y[index], low: series.low?.[index] }));
  const runs: { x: number; y: number; low: number }[][] = [[]];
  for (const point of known) {
    if (point.y == null) runs.push([]);
    else runs.at(-1)?.push({ x: point.x, y: y(point.y), low: y(point.low ?? floor) });
  }
  const line = (points: [number, number][]) => points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  return runs
    .filter((run) => run.length > 0)
    .map((run) => {
      const upper = line(run.map((point) => [point.x, point.y]));
      if (series.shape !== "band") return `M${upper}${run.length === 1 ? "h0" : ""}`;
      return `M${upper}L${line(run.toReversed().map((point) => [point.x, point.low]))}Z`;
    })
    .join("");
}
