// Events of the spans of a trace in the order of time.

import type { TraceEvent, TraceSpan } from "../api/generated.ts";
import type { Extent } from "./layout.ts";

/** OpenTelemetry's number of the least severity that is an error, and that is a warning. */
const [ERROR, WARNING] = [17, 13];

/** An event, its span, and how long after some moment it was. */
export interface PlacedEvent {
  key: number;
  span: TraceSpan;
  event: TraceEvent;
  after_ns: number;
}

/** Events of spans by time. An event may be before the moment, by the clock of its host. */
export function eventsByTime(spans: TraceSpan[], since_ns: number): PlacedEvent[] {
  const all = spans.flatMap((span) => (span.events ?? []).map((event) => ({ span, event, after_ns: event.time_ns - since_ns })));
  return all.sort((a, b) => a.after_ns - b.after_ns).map((each, key) => ({ key, ...each }));
}

/** How an event is marked: an exception counts as an error. */
export function tone(event: TraceEvent): "bad" | "unsure" | "" {
  if (event.severity_number >= ERROR || event.name === "exception") return "bad";
  return event.severity_number >= WARNING ? "unsure" : "";
}

/** Where events of a span are drawn, in percent of the part that is shown; those at one place once, as the gravest of them. */
export function marks(span: TraceSpan, shown: Extent): { left: number; tone: string }[] {
  const places = new Map<number, string>();
  for (const event of span.events ?? []) {
    const place = Math.round((400 * (event.time_ns - shown.since_ns)) / shown.length_ns) / 4;
    if (place < 0 || place > 100) continue;
    const before = places.get(place);
    const now = tone(event);
    if (before === undefined || now === "bad" || (now === "unsure" && before === "")) places.set(place, now);
  }
  return [...places].map(([left, tone]) => ({ left, tone }));
}
