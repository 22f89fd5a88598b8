// The call tree of a trace as a flame graph: callers above callees, as wide as the time spent in them and below, colored by
// their own time against the usual.

import type { Flame, Frame, LegendEntry, TraceSpan, UsualCall } from "../api/generated.ts";
import { label } from "../format/names.ts";
import { counted, factor, share, time } from "../format/numbers.ts";
import { callTree, type CallSum } from "./layout.ts";

/** Frames drawn: those of the most time. */
const FRAMES_MAX = 2_000;

/** Differences below this share of the trace are not colored. */
const NOTABLE = 0.01;

/** Colors by own time over the usual, from the largest down. */
const TONES: { least: number; color: string; label: string }[] = [
  { least: 4, color: "more-3", label: "at least 4 times the usual time of its own" },
  { least: 2, color: "more-2", label: "at least twice" },
  { least: 1.25, color: "more-1", label: "at least 1.25 times" },
  { least: 0.8, color: "same", label: "about the usual, or not known" },
  { least: 0, color: "less-2", label: "less than usual" },
];

const LEGEND: LegendEntry[] = TONES.map(({ color, label }) => ({ color, label }));

function colorOf({ self_ns, usual_ns }: CallSum, whole_ns: number): string {
  const known = Number.isFinite(usual_ns) && Math.abs(self_ns - usual_ns) >= NOTABLE * whole_ns;
  return (known && TONES.find(({ least }) => self_ns >= least * usual_ns)?.color) || "same";
}

/** The frames of a trace. */
export function flameOf(spans: TraceSpan[], usual: Map<string, UsualCall>): Flame {
  const rows = callTree(spans, usual);
  const sums = rows.map((row) => row.value.self_ns);
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const parent = rows[at]?.parent ?? -1;
    if (parent >= 0) sums[parent] = (sums[parent] ?? 0) + (sums[at] ?? 0);
  }
  const whole_ns = Math.max(rows.reduce((sum, row) => sum + (row.parent < 0 ? (sums[row.at] ?? 0) : 0), 0), 1);
  /** Where the next frame below a frame begins; below none at 0. */
  const free: number[] = [];
  let end = 0;
  const frames = rows.map((row): Frame => {
    const width = (sums[row.at] ?? 0) / whole_ns;
    const from = row.parent < 0 ? end : (free[row.parent] ?? 0);
    if (row.parent < 0) end += width;
    else free[row.parent] = from + width;
    free[row.at] = from;
    const { service, operation, calls, self_ns, usual_ns } = row.value;
    const text = `${label(service, 32)} ${label(operation, 64)}`;
    const against = usual_ns > 0 ? `, usually ${time(usual_ns)} (${factor(self_ns / usual_ns)})` : "";
    const words = `${text}: ${time(sums[row.at] ?? 0)} (${share(width)}) in ${counted(calls, "call")}, ${time(self_ns)} of its own${against}`;
    return { color: colorOf(row.value, whole_ns), depth: row.level, from, width, label: [{ text }], words };
  });
  const kept = new Set([...frames].sort((a, b) => b.width - a.width).slice(0, FRAMES_MAX));
  return { caption: "Time of the calls of this trace", frames: frames.filter((frame) => kept.has(frame)), legend: LEGEND };
}
