// The usual times of the calls of a trace, and the suspect that the page was opened for.

import type { TraceSpan, UsualCall, UsualCalls } from "../api/generated.ts";

/** An operation to look at. */
export interface Suspect {
  service: string;
  operation: string;
}

/** A call that takes this many times as long as usual is marked as slow. */
const SLOW = 2;

const keyOf = (caller: Suspect & { kind: string } | null | undefined, callee: Suspect & { kind: string }): string =>
  JSON.stringify([caller && [caller.service, caller.operation, caller.kind], [callee.service, callee.operation, callee.kind]]);

/** The usual times of spans by their id: those of the same operation from the same caller. */
export function usualBySpan(spans: TraceSpan[], times: UsualCalls | undefined): Map<string, UsualCall> {
  const rows = new Map((times?.calls ?? []).map((call) => [keyOf(call.caller ?? null, call.callee), call]));
  const byId = new Map(spans.map((span) => [span.span, span]));
  const found = new Map<string, UsualCall>();
  for (const span of spans) {
    const caller = span.depth > 0 && span.parent != null ? byId.get(span.parent) : undefined;
    const usual = rows.get(keyOf(caller ?? null, span));
    if (usual) found.set(span.span, usual);
  }
  return found;
}

/** Whether a call takes much longer than usual, and longer than nearly all such calls. */
export function isSlow(span: TraceSpan, usual: UsualCall | undefined): boolean {
  return usual !== undefined && span.inclusive_ns > usual.inclusive_p95_ns && span.inclusive_ns >= SLOW * usual.inclusive_p50_ns;
}

export const isOf = (span: TraceSpan, suspect: Suspect | null): boolean =>
  suspect !== null && span.service === suspect.service && span.operation === suspect.operation;

/** The spans of a suspect, those with the most time of their own beyond the usual first. */
export function suspectSpans(spans: TraceSpan[], suspect: Suspect | null, usual: Map<string, UsualCall>): TraceSpan[] {
  const beyond = (span: TraceSpan) => span.self_ns - (usual.get(span.span)?.self_p50_ns ?? 0);
  return spans.filter((span) => isOf(span, suspect)).sort((a, b) => beyond(b) - beyond(a));
}
