// Bars of a histogram whose edges are evenly spaced in the logarithm: bins are equally wide.

export interface HistogramBar {
  at: number;
  /** Left edge and width in shares of the whole. */
  from: number;
  width: number;
  /** Share of the group. */
  share: number;
}

/** Bins that hold something. */
export function bars(values: number[], total: number): HistogramBar[] {
  const width = 1 / Math.max(values.length, 1);
  return values
    .map((value, at) => ({ at, from: at * width, width, share: total > 0 ? value / total : 0 }))
    .filter((bar) => bar.share > 0);
}

const MARGIN = 0.025;

/** Where 1 ms, 10 ms, 100 ms … lie, as shares of the axis. Short axes have 2 and 5 between them. */
export function decades(edges: number[]): { ns: number; at: number }[] {
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  if (!(low > 0) || !(high > low)) return [];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const steps = last - first > 4 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = first; power <= last; power += 1) {
    for (const step of steps) {
      const ns = step * 10 ** power;
      const at = Math.log(ns / low) / Math.log(high / low);
      // Labels at the very ends would be cut off.
      if (at > MARGIN && at < 1 - MARGIN) ticks.push({ ns, at });
    }
  }
  return ticks;
}
