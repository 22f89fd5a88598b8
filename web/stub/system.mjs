// A made-up system, the same at every start: what the stub server says of services, categories, requests and traces.
// Categories come from a recorded diagnosis, so that links from a verdict lead somewhere.

import { readFileSync } from "node:fs";

/** When the made-up hour begins and ends, in nanoseconds since the Unix epoch. */
export const SINCE_NS = Date.UTC(2026, 0, 12, 9) * 1e6;
export const UNTIL_NS = Date.UTC(2026, 0, 12, 10) * 1e6;

/** A recorded answer of the command line. */
export function recorded(name) {
  return JSON.parse(readFileSync(new URL(`recorded/${name}.json`, import.meta.url), "utf8"));
}

/** Numbers of 0..1; the same text gives the same ones. */
export function drawing(text) {
  let state = 2_166_136_261;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 16_777_619) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** `count` hexadecimal digits. */
export function hex(draw, count) {
  return Array.from({ length: count }, () => Math.floor(draw() * 16).toString(16)).join("");
}

/** Positions of a category without a recorded tree. */
function invented(category) {
  const draw = drawing(category.id);
  const names = ["Authenticate", "ListItems", "ReadIndex", "GetChunk", "WriteLog", "Begin", "Commit", "Render"];
  const tree = [{ parent: null, service: category.service, operation: category.operation }];
  for (let position = 1; position < 9; position += 1) {
    const parent = Math.floor(draw() * Math.min(position, 4));
    const service = ["mail-logic", "chunk-store", "user-db", "transaction"][Math.floor(draw() * 4)];
    tree.push({ parent, service, operation: names[position - 1] });
  }
  return depthFirst(tree).map((node) => ({
    ...node,
    self_p50_ns: Math.round(2e5 + draw() * 3e6),
    self_p99_ns: Math.round(4e6 + draw() * 2e7),
    calls_mean: draw() > 0.8 ? 2.5 : 1,
  }));
}

/** The same tree with parents before children, each subtree together. */
function depthFirst(tree) {
  const out = [];
  const visit = (at, parent) => {
    const place = out.length;
    out.push({ ...tree[at], parent });
    tree.forEach((node, child) => node.parent === at && visit(child, place));
  };
  visit(0, null);
  return out;
}

/** What a position takes with everything below it. */
function inclusive(tree, field) {
  const sums = tree.map((node) => node[field]);
  for (let at = tree.length - 1; at > 0; at -= 1) sums[tree[at].parent] += sums[at];
  return sums;
}

/** The tree of a category as the API has it. */
export function treeOf(category) {
  const tree = category.tree ?? invented(category);
  const p50 = inclusive(tree, "self_p50_ns");
  const p99 = inclusive(tree, "self_p99_ns");
  return tree.map((node, position) => ({
    position,
    parent: node.parent,
    service: node.service,
    operation: node.operation,
    kind: position === 0 ? "server" : "internal",
    calls_mean: node.calls_mean,
    self_p50_ns: node.self_p50_ns,
    self_p99_ns: node.self_p99_ns,
    inclusive_p50_ns: p50[position],
    inclusive_p99_ns: p99[position],
    replicas: 1 + (position % 10),
  }));
}

/** The request matrix of a category: the last eighth of the requests is slow at one position. */
export function matrixOf(category, rows) {
  const tree = treeOf(category);
  const draw = drawing(`matrix ${category.id}`);
  const count = Math.min(rows, category.requests);
  const slowAt = Math.max(tree.findIndex((node, at) => category.tree?.[at]?.suspect != null), tree.length - 1);
  const answer = { id: category.id, requests: [], original: [], low_rank: [], sparse: [] };
  for (let row = 0; row < count; row += 1) {
    const size = 0.6 + draw();
    const low = tree.map((node) => Math.round(node.self_p50_ns * size));
    const over = tree.map((_, at) => (at === slowAt && row >= (count * 7) / 8 ? Math.round(1e8 * draw()) : 0));
    const row_ns = low.map((ns, at) => Math.round(ns * (0.95 + 0.1 * draw())) + over[at]);
    answer.original.push(row_ns);
    answer.low_rank.push(low);
    answer.sparse.push(over);
    const latency_ns = row_ns.reduce((sum, ns) => sum + ns, 0);
    const start_ns = SINCE_NS + Math.floor((row / count) * 3600e9);
    answer.requests.push({ trace: hex(draw, 32), start_ns, latency_ns });
  }
  answer.positions = tree.map(({ position, service, operation }) => ({ position, service, operation }));
  return { ...answer, omitted_requests: category.requests - count, omitted_positions: 0 };
}

/** A trace as the API has it; any id gives one. */
/** What a span logged: the root a line that holds its name, those with errors an exception. */
function eventsOf(span) {
  const at = (part) => span.start_ns + Math.round(span.inclusive_ns * part);
  const events = [];
  if (span.depth === 0) {
    const attributes = [{ name: "thread", value: "worker-7" }, { name: "user", value: span.service }];
    events.push({ time_ns: at(0.1), severity: "INFO", severity_number: 9, name: "", body: `began ${span.operation}`, attributes });
    events.push({ time_ns: at(0.8), severity: "WARN", severity_number: 13, name: "", body: "retry 2 of 3\nafter 50 ms" });
  }
  if (span.status === "error") {
    const attributes = [{ name: "exception.stacktrace", value: "OutOfStock: no shoes left\n\tat shop.Cart.add(Cart.java:71)" }];
    events.push({ time_ns: at(0.5), severity: "", severity_number: 0, name: "exception", body: "OutOfStock: no shoes left", attributes });
  }
  return events;
}

export function traceOf(id, category) {
  const draw = drawing(id);
  const tree = treeOf(category);
  const started = SINCE_NS + Math.floor(draw() * 3000) * 1e9;
  const spans = [];
  place(0, null, started, 0);
  const root = spans[0];
  const request = { start_ns: started, latency_ns: root.inclusive_ns, complete: true, category: category.id };
  return { trace: id, requests: [request], spans, omitted: 0, events_without_span: 0, losses: {} };

  function place(at, parent, start_ns, depth) {
    const node = tree[at];
    const span = { span: hex(draw, 16), parent, service: node.service, operation: node.operation, kind: node.kind };
    const host = 10 + Math.floor(draw() * 40);
    Object.assign(span, { replica: `node0${host}`, status: draw() > 0.97 ? "error" : "unset" });
    // One host's clock is three minutes fast.
    spans.push(Object.assign(span, { start_ns: start_ns + (host === 13 && depth > 0 ? 180e9 : 0), depth }));
    const slow = at === tree.length - 1 ? 6e7 * draw() : 0;
    const self_ns = Math.round(node.self_p50_ns * (0.5 + draw()) + slow);
    let clock = start_ns + Math.round(self_ns * 0.6);
    const children = tree.map((child, place) => [child, place]).filter(([child]) => child.parent === at);
    for (const [, child] of children) clock = place(child, span.span, clock, depth + 1);
    const end = clock + Math.round(self_ns * 0.4);
    Object.assign(span, { inclusive_ns: end - start_ns, self_ns, path_ns: self_ns });
    const events = eventsOf(span);
    if (events.length > 0) span.events = events;
    return end;
  }
}
