// The change against the baseline, part by part.

import type { Baseline } from "../api/report.ts";

/** A mean, or a part of the difference between the two. The bar goes from `from` to `to`, in nanoseconds. */
export interface ChangeRow {
  kind: "mean" | "part";
  name: string;
  value: number;
  from: number;
  to: number;
}

/** The mean before, two parts that add up, the mean now. */
export function changeRows(baseline: Baseline): ChangeRow[] {
  const before = baseline.mean_ns ?? 0;
  const rows: ChangeRow[] = [{ kind: "mean", name: "before", value: before, from: 0, to: before }];
  let level = before;
  const slower = baseline.slower_ns ?? 0;
  const parts = [
    { name: slower < 0 ? "same requests faster" : "same requests slower", value: slower },
    { name: "other requests came", value: baseline.mix_ns ?? 0 },
  ];
  for (const { name, value } of parts) {
    const next = level + value;
    rows.push({ kind: "part", name, value, from: Math.max(0, Math.min(level, next)), to: Math.max(level, next) });
    level = next;
  }
  const now = baseline.window_mean_ns ?? 0;
  return [...rows, { kind: "mean", name: "now", value: now, from: 0, to: now }];
}
