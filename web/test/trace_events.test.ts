import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceEvent, TraceSpan } from "../src/api/generated.ts";
import { lines } from "../src/format/names.ts";
import { eventsByTime, marks, tone } from "../src/trace/events.ts";
import { aligned } from "../src/trace/layout.ts";

function event(time_ns: number, severity_number = 9, name = ""): TraceEvent {
  return { time_ns, severity: "", severity_number, name, body: `at ${time_ns}` };
}

function span(id: string, start_ns: number, events: TraceEvent[], rest: Partial<TraceSpan> = {}): TraceSpan {
  const plain = { service: "shop", operation: id, kind: "server", replica: "host-1", status: "ok" as const, self_ns: 1, path_ns: 0, depth: 0 };
  return { span: id, parent: null, start_ns, inclusive_ns: 100, ...plain, events, ...rest };
}

test("events of all spans are in the order of time, also those before the trace", () => {
  const placed = eventsByTime([span("a", 100, [event(150), event(90)]), span("b", 110, [event(120)])], 100);
  assert.deepEqual(placed.map(({ span, after_ns, key }) => [span.span, after_ns, key]), [["a", -10, 0], ["b", 20, 1], ["a", 50, 2]]);
});

test("errors and exceptions stand out", () => {
  assert.deepEqual([event(0, 17), event(0, 0, "exception"), event(0, 13), event(0, 9)].map(tone), ["bad", "bad", "unsure", ""]);
});

test("events at one place are marked once, as the gravest", () => {
  const shown = { since_ns: 100, length_ns: 10_000 };
  const all = span("a", 100, [event(5_100), event(5_101, 17), event(5_102, 13), event(0), event(10_200), event(10_100)]);
  assert.deepEqual(marks(all, shown), [{ left: 50, tone: "bad" }, { left: 100, tone: "" }]);
});

test("events of a span that is moved are moved with it", () => {
  const callee = span("b", 5_000, [event(5_010)], { parent: "a", replica: "host-2", inclusive_ns: 50 });
  const drawn = aligned([span("a", 100, []), callee]).spans[1];
  assert.equal((drawn?.events?.[0]?.time_ns ?? 0) - (drawn?.start_ns ?? 0), 10);
});

test("texts of several lines cannot contain other hidden characters", () => {
  assert.equal(lines("a\r\n\tb\u202E\u0007"), "a\n\tb\\u{202e}\\u{7}");
});
