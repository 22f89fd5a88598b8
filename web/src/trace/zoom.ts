// The part of a trace that is shown: a span, or the time between two moments after the start.

import type { TraceSpan } from "../api/generated.ts";
import { extent, type Extent } from "./layout.ts";

/** Parts of a trace that the keyboard selects by. */
export const BINS = 100;

/** Shares of the trace, 0 to 1. */
export interface Part {
  from: number;
  to: number;
}

/** The least part, as a share of the trace. */
const LEAST = 1e-6;

/** What is shown: the span, else the time between the two texts (nanoseconds after the start), else everything. */
export function shownExtent(whole: Extent, span: TraceSpan | undefined, from: string, to: string): Extent {
  if (span) return extent([span]);
  const [since, until] = [Number(from), Number(to)];
  if (from === "" || to === "" || !(until > since) || since < 0 || since >= whole.length_ns) return whole;
  return { since_ns: whole.since_ns + since, length_ns: Math.min(until, whole.length_ns) - since };
}

/** The part of a trace that an extent is. */
export function partOf(whole: Extent, shown: Extent): Part {
  const share = (ns: number) => Math.min(Math.max((ns - whole.since_ns) / whole.length_ns, 0), 1);
  return { from: share(shown.since_ns), to: share(shown.since_ns + shown.length_ns) };
}

/** A part as nanoseconds after the start, its ends in order; `null` when it is too short, or everything. */
export function zoomOf(whole: Extent, a: number, b: number): { from: number; to: number } | null {
  const [low, high] = [Math.max(Math.min(a, b), 0), Math.min(Math.max(a, b), 1)];
  if (high - low < LEAST || high - low >= 1) return null;
  return { from: Math.floor(low * whole.length_ns), to: Math.ceil(high * whole.length_ns) };
}
