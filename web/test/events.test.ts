import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader } from "../src/api/events.ts";

const STREAM = 'data: {"a":1}\n\n: still here\n\nevent: x\r\ndata: {"b":\r\ndata: 2}\r\n\r\ndata:3\r\rdata: cut';
const EVENTS = ['{"a":1}', '{"b":\n2}', "3"];

test("events do not depend on how their stream is split", () => {
  for (let first = 0; first <= STREAM.length; first += 1) {
    for (const second of [first, Math.min(first + 1, STREAM.length), STREAM.length]) {
      const reader = new EventReader();
      const parts = [STREAM.slice(0, first), STREAM.slice(first, second), STREAM.slice(second)];
      assert.deepEqual(parts.flatMap((part) => reader.push(part)), EVENTS, `cut at ${first} and ${second}`);
    }
  }
});

test("an endless event is rejected", () => {
  const reader = new EventReader();
  assert.throws(() => {
    for (let chunk = 0; chunk < 100; chunk += 1) reader.push("x".repeat(100_000));
  });
});
