// Anomalies over time, one lane a category.

import type { Span } from "../app/window.ts";
import type { Anomaly } from "../api/generated.ts";

/** An interval in percent of the window. */
export interface Bar extends Span {
  left: number;
  width: number;
  reason: string;
}

export interface Lane {
  category: string;
  service: string;
  operation: string;
  bars: Bar[];
}

/** Bars drawn in one lane at most. */
const BARS_MAX = 100;

/** The lane that was anomalous longest comes first; what lies outside the window is cut. */
export function lanes(anomalies: Anomaly[], span: Span): Lane[] {
  const found = new Map<string, Lane>();
  for (const { category, service, operation, since_ns, until_ns, reason } of anomalies) {
    const sinceMs = Math.max(since_ns / 1e6, span.sinceMs);
    const untilMs = Math.min(until_ns / 1e6, span.untilMs);
    if (untilMs <= sinceMs) continue;
    const lane = found.get(category) ?? { category, service, operation, bars: [] };
    found.set(category, lane);
    if (lane.bars.length < BARS_MAX) lane.bars.push({ ...placed(sinceMs, untilMs, span), sinceMs, untilMs, reason });
  }
  const length = (lane: Lane) => lane.bars.reduce((sum, bar) => sum + bar.width, 0);
  return [...found.values()].sort((a, b) => length(b) - length(a) || (a.category < b.category ? -1 : 1));
}

/** An interval within a window in percent of it. */
export function placed(sinceMs: number, untilMs: number, span: Span): { left: number; width: number } {
  const whole = span.untilMs - span.sinceMs;
  return { left: ((sinceMs - span.sinceMs) / whole) * 100, width: (Math.max(untilMs - sinceMs, 0) / whole) * 100 };
}
