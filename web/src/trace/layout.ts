// Spans of a trace as rows of a waterfall, and summed up as a call tree.

import type { TraceSpan, UsualCall } from "../api/generated.ts";
import { treeRows, type TreeRow } from "../parts/tree.ts";

/** From the earliest start to the latest end, in nanoseconds. */
export interface Extent {
  since_ns: number;
  length_ns: number;
}

/** The time that spans cover; at least 1 ns long. */
export function extent(spans: TraceSpan[]): Extent {
  let [since, until] = [Infinity, -Infinity];
  for (const span of spans) {
    since = Math.min(since, span.start_ns);
    until = Math.max(until, span.start_ns + span.inclusive_ns);
  }
  if (!Number.isFinite(since)) return { since_ns: 0, length_ns: 1 };
  return { since_ns: since, length_ns: Math.max(until - since, 1) };
}

/** Spans as they are drawn, and how many were moved because clocks disagree. */
export interface Aligned {
  spans: TraceSpan[];
  moved: number;
}

/** How far a call may stick out of its caller before its clock counts as wrong: moments are rounded. */
const ROUNDED_NS = 1_000;

/**
 * Puts calls on other hosts where their callers waited for them when the clocks cannot both be right: in the middle of
 * the caller, as nothing says more. What is on the moved host moves along. Only for drawing.
 */
export function aligned(spans: TraceSpan[]): Aligned {
  const drawn = new Map<string, { span: TraceSpan; shift: number }>();
  let moved = 0;
  const placed = spans.map((span) => {
    const caller = span.parent == null ? undefined : drawn.get(span.parent);
    const shift = caller ? shiftOf(span, caller) : 0;
    if (shift !== 0) moved += 1;
    const place = shift === 0 ? span : moveBy(span, shift);
    drawn.set(span.span, { span: place, shift });
    return place;
  });
  return { spans: placed, moved };
}

/** A span, and what was logged during it, at another time. */
function moveBy(span: TraceSpan, shift: number): TraceSpan {
  const events = (span.events ?? []).map((event) => ({ ...event, time_ns: event.time_ns + shift }));
  return { ...span, start_ns: span.start_ns + shift, ...(events.length > 0 ? { events } : {}) };
}

/** How much later a call is drawn than its clock says, in nanoseconds. */
function shiftOf(span: TraceSpan, caller: { span: TraceSpan; shift: number }): number {
  if (span.replica === caller.span.replica) return caller.shift;
  const [from, to] = [caller.span.start_ns, caller.span.start_ns + caller.span.inclusive_ns];
  const until = span.start_ns + span.inclusive_ns;
  const longer = span.inclusive_ns > caller.span.inclusive_ns;
  const inside = span.start_ns >= from - ROUNDED_NS && (until <= to + ROUNDED_NS || (longer && span.start_ns <= to));
  if (inside) return 0;
  return from + Math.max((caller.span.inclusive_ns - span.inclusive_ns) / 2, 0) - span.start_ns;
}

/** Rows of spans in the order given; a span whose parent is not before it is a root. */
export function waterfall(spans: TraceSpan[]): TreeRow<TraceSpan>[] {
  const places = new Map<string, number>();
  return treeRows(spans, (span, at) => {
    const parent = span.parent == null ? -1 : (places.get(span.parent) ?? -1);
    places.set(span.span, at);
    return parent;
  });
}

/** Where a span is drawn, in percent of the part that is shown; cut to it. */
export function bar(span: TraceSpan, shown: Extent): { left: number; width: number } | null {
  const from = (span.start_ns - shown.since_ns) / shown.length_ns;
  const to = (span.start_ns + span.inclusive_ns - shown.since_ns) / shown.length_ns;
  if (to < 0 || from > 1) return null;
  const left = Math.max(from, 0);
  return { left: 100 * left, width: 100 * (Math.min(to, 1) - left) };
}

/** All calls at one place of the call tree, together. */
export interface CallSum {
  key: string;
  parent: number;
  service: string;
  operation: string;
  calls: number;
  errors: number;
  replicas: Set<string>;
  inclusive_ns: number;
  self_ns: number;
  path_ns: number;
  /** Their own time if they took as long as usual; NaN where that is not known. */
  usual_ns: number;
}

/** The usual time of a call of its own. */
type UsualTime = Pick<UsualCall, "self_p50_ns">;

/**
 * The call tree of a trace: calls of one operation from one place count together. Rows are in depth-first order. `usual` has
 * the usual times by span.
 */
export function callTree(spans: TraceSpan[], usual: Map<string, UsualTime> = new Map()): TreeRow<CallSum>[] {
  const sums: CallSum[] = [];
  const places = new Map<string, number>();
  const ofSpan = new Map<string, number>();
  for (const span of spans) {
    const parent = span.parent == null ? -1 : (ofSpan.get(span.parent) ?? -1);
    const key = `${parent} ${JSON.stringify([span.service, span.operation])}`;
    let at = places.get(key);
    if (at === undefined) {
      at = sums.length;
      places.set(key, at);
      sums.push({ key, parent, service: span.service, operation: span.operation, calls: 0, errors: 0, replicas: new Set(), inclusive_ns: 0, self_ns: 0, path_ns: 0, usual_ns: 0 });
    }
    ofSpan.set(span.span, at);
    add(sums[at], span, usual.get(span.span));
  }
  return depthFirst(sums);
}

function add(sum: CallSum | undefined, span: TraceSpan, usual: UsualTime | undefined): void {
  if (!sum) return;
  sum.calls += 1;
  sum.errors += span.status === "error" ? 1 : 0;
  sum.replicas.add(span.replica);
  sum.inclusive_ns += span.inclusive_ns;
  sum.self_ns += span.self_ns;
  sum.path_ns += span.path_ns;
  sum.usual_ns += usual?.self_p50_ns ?? Number.NaN;
}

/** Calls that come later at an earlier place move up to their siblings. */
function depthFirst(sums: CallSum[]): TreeRow<CallSum>[] {
  const children = new Map<number, number[]>();
  for (const [at, sum] of sums.entries()) children.set(sum.parent, [...(children.get(sum.parent) ?? []), at]);
  const order: number[] = [];
  const stack = [...(children.get(-1) ?? [])].reverse();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at);
    stack.push(...[...(children.get(at) ?? [])].reverse());
  }
  const moved = new Map(order.map((at, place) => [at, place]));
  const sorted = order.flatMap((at) => sums[at] ?? []);
  return treeRows(sorted, (sum) => moved.get(sum.parent) ?? -1);
}

/** Services by the time spent in them, the most first: they get the colors in this order. */
export function servicesByTime(spans: TraceSpan[]): string[] {
  const times = new Map<string, number>();
  for (const span of spans) times.set(span.service, (times.get(span.service) ?? 0) + span.self_ns);
  return [...times].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([service]) => service);
}
