import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceSpan, UsualCalls } from "../src/api/generated.ts";
import { flameOf } from "../src/trace/flame.ts";
import { extent } from "../src/trace/layout.ts";
import { isSlow, suspectSpans, usualBySpan } from "../src/trace/usual.ts";
import { partOf, shownExtent, zoomOf } from "../src/trace/zoom.ts";

function span(id: string, parent: string | null, operation: string, start_ns: number, inclusive_ns: number, self_ns: number): TraceSpan {
  return { span: id, parent, service: "shop", operation, kind: "server", replica: "host-1", status: "ok", start_ns, inclusive_ns, self_ns, path_ns: self_ns, depth: parent === null ? 0 : 1 };
}

const SPANS = [span("1", null, "buy", 0, 100, 10), span("2", "1", "read", 5, 80, 80), span("3", "1", "read", 85, 10, 10), span("4", "1", "log", 95, 1, 1)];

const name = (operation: string) => ({ service: "shop", operation, kind: "server" });
const TIMES: UsualCalls = {
  since_ns: 0,
  until_ns: 1,
  omitted: 0,
  calls: [
    { callee: name("buy"), calls: 9, inclusive_p50_ns: 30, inclusive_p95_ns: 40, self_p50_ns: 10 },
    { callee: name("read"), caller: name("buy"), calls: 18, inclusive_p50_ns: 10, inclusive_p95_ns: 20, self_p50_ns: 10 },
    { callee: name("log"), caller: name("read"), calls: 9, inclusive_p50_ns: 1, inclusive_p95_ns: 1, self_p50_ns: 1 },
  ],
};

test("usual times are those of the same operation from the same caller", () => {
  const usual = usualBySpan(SPANS, TIMES);
  assert.deepEqual([...usual].map(([id, call]) => [id, call.calls]), [["1", 9], ["2", 18], ["3", 18]], "another caller of `log` says nothing");
  assert.deepEqual(SPANS.map((each) => isSlow(each, usual.get(each.span))), [true, true, false, false]);
  assert.equal(usualBySpan(SPANS, undefined).size, 0);
});

test("the calls of a suspect come in the order of their excess", () => {
  const usual = usualBySpan(SPANS, TIMES);
  assert.deepEqual(suspectSpans([...SPANS].reverse(), { service: "shop", operation: "read" }, usual).map((each) => each.span), ["2", "3"]);
  assert.deepEqual(suspectSpans(SPANS, { service: "db", operation: "read" }, usual), []);
  assert.deepEqual(suspectSpans(SPANS, null, usual), []);
});

test("frames lie within their callers, and are colored by the usual time", () => {
  const { frames } = flameOf(SPANS, usualBySpan(SPANS, TIMES));
  assert.deepEqual(frames.map((frame) => [frame.label[0]?.text, frame.depth, frame.color]), [["shop buy", 0, "same"], ["shop read", 1, "more-3"], ["shop log", 1, "same"]]);
  const [root, read, log] = frames;
  assert.deepEqual([root?.from, root?.width], [0, 1]);
  assert.deepEqual([read?.from, log?.from], [0, 90 / 101]);
  assert.match(read?.words ?? "", /in 2 calls, 90 ns of its own, usually 20 ns \(4\.50×\)/);
});

test("a part of a trace is a span, or the time between two moments", () => {
  const whole = extent(SPANS);
  assert.deepEqual(shownExtent(whole, undefined, "", ""), whole);
  assert.deepEqual(shownExtent(whole, SPANS[1], "1", "2"), { since_ns: 5, length_ns: 80 });
  assert.deepEqual(shownExtent(whole, undefined, "20", "60"), { since_ns: 20, length_ns: 40 });
  for (const [from, to] of [["60", "20"], ["x", "20"], ["200", "300"], ["", "20"]]) assert.equal(shownExtent(whole, undefined, from ?? "", to ?? ""), whole);
  assert.deepEqual(partOf(whole, { since_ns: 20, length_ns: 40 }), { from: 0.2, to: 0.6 });
  assert.deepEqual(zoomOf(whole, 0.6, 0.2), { from: 20, to: 60 });
  assert.deepEqual([zoomOf(whole, 0.5, 0.5), zoomOf(whole, -1, 2)], [null, null]);
});
