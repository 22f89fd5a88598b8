// What the stub server answers to reading requests, by scenario.

import { readFileSync } from "node:fs";
import { drawing, hex, matrixOf, recorded, SINCE_NS, traceOf, treeOf, UNTIL_NS } from "./system.mjs";

/** What can be shown. Each is a whole server. */
export const SCENARIOS = ["one", "none", "thousand", "several", "hostile", "empty", "insufficient", "baseline", "periods"];

/** Names that try to be something else. */
export const HOSTILE = [
  "<img src=x onerror=\"document.title='owned'\">",
  "'\"><script>document.title='owned'</script>",
  "{{constructor.constructor('document.title=1')()}} `code` [link](javascript:alert(1))",
  `very-long-${"name-".repeat(200)}`,
  "\u202Eright to left\u2066 and \u0007 bell\nnew line",
  "  ",
  "日本語のサービス",
  "../../etc/passwd?query=%00&a=b#fragment",
];

function golden(name) {
  const file = new URL(`../../crates/app/report/tests/golden/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8"));
}

const RECORDED = { none: "diagnose-healthy", several: "diagnose-several" };
const GOLDEN = { hostile: "hostile", insufficient: "insufficient", empty: "insufficient", baseline: "against-baseline", periods: "slow-periods" };

/** The report of `laggard diagnose` in a scenario. */
export function diagnosis(scenario) {
  if (GOLDEN[scenario]) return golden(GOLDEN[scenario]);
  const report = recorded(RECORDED[scenario] ?? "diagnose");
  return scenario === "thousand" ? thousand(report) : report;
}

/** The same as a document. */
export function diagnosisDocument(scenario) {
  if (GOLDEN[scenario]) return golden(`${GOLDEN[scenario]}.document`);
  const document = recorded(`${RECORDED[scenario] ?? "diagnose"}.document`);
  return scenario === "thousand" ? thousandRows(document) : document;
}

/** A thousand suspects, with a heat map to match. */
function thousandRows(document) {
  const contentOf = (id) => document.sections.find((section) => section.id === id).blocks[0].content;
  const table = contentOf("suspects");
  const [model] = table.rows;
  const nameOf = (at) => [{ text: `service-${String(at % 97).padStart(2, "0")}`, style: "service" }, { text: " " }, { text: `Operation${at}`, style: "operation" }];
  table.rows = Array.from({ length: 1000 }, (_, at) => {
    const [, , ...figures] = model.cells;
    const rank = { kind: "count", text: [{ text: `${at + 1}` }], value: at + 1 };
    return { ...model, cells: [rank, { kind: "name", text: nameOf(at) }, ...figures] };
  });
  const draw = drawing("thousand");
  const map = contentOf("heat-map");
  map.columns = Array.from({ length: 100 }, (_, at) => [{ text: `node${String(at).padStart(3, "0")}`, style: "replica" }]);
  map.rows = Array.from({ length: 200 }, (_, at) => nameOf(at));
  map.cells = Array.from({ length: 20_000 }, () => {
    const slow = draw() > 0.9 ? Math.floor(draw() * 40) : 0;
    return draw() > 0.8 ? null : { color: `heat-${Math.min(Math.floor(slow / 5), 7)}`, words: `${slow} of 40 calls slow`, framed: slow > 20 };
  });
  document.headline = [{ text: "service-00 Operation0", style: "name" }, { text: " is slow on 4 of 10 replicas, and 999 others are." }];
  return document;
}

/** A thousand suspects. */
function thousand(report) {
  const [model] = report.suspects;
  report.suspects = Array.from({ length: 1000 }, (_, at) => ({
    ...model,
    rank: at + 1,
    service: `service-${String(at % 97).padStart(2, "0")}`,
    operation: `Operation${at}`,
    scope: at % 3 ? "replicas" : "all",
    replicas: at % 3 ? model.replicas : [],
    score: 1000 / (at + 1),
    share: 0.3 / (at + 1),
    effect_ns: Math.round(model.effect_ns / (1 + at / 50)),
  }));
  return report;
}

/** The categories of a scenario, as recorded diagnoses have them. */
function categoriesOf(scenario) {
  if (scenario === "empty") return [];
  const known = diagnosis(scenario).categories;
  if (scenario === "hostile") {
    return HOSTILE.map((name, at) => ({ ...recorded("diagnose").categories[0], id: `00000000000${at}`, service: name, operation: HOSTILE.at(-1 - at), tree: undefined }));
  }
  if (scenario !== "thousand") return known;
  // The report's own come first, so that links of the report lead to a page.
  const made = Array.from({ length: 1000 - known.length }, (_, at) => ({ ...known[at % known.length], id: at.toString(16).padStart(12, "0"), operation: `Operation${at}` }));
  return [...known, ...made];
}

function servicesOf(scenario) {
  if (scenario === "empty") return [];
  if (scenario === "hostile") return HOSTILE;
  if (scenario === "thousand") return Array.from({ length: 300 }, (_, at) => `service-${at}`);
  return ["front-end", "mail-logic", "chunk-store", "user-db", "transaction"];
}

const numbers = (name) => {
  const draw = drawing(name);
  const p50_ns = Math.round(1e6 + draw() * 4e7);
  return { requests: Math.round(500 + draw() * 9000), errors: Math.round(draw() * 20), p50_ns, p99_ns: p50_ns * 6, replicas: 1 + Math.floor(draw() * 50) };
};

const callNumbers = ({ requests, errors, p50_ns, p99_ns }) => ({ calls: requests, call_errors: errors, call_p50_ns: p50_ns, call_p99_ns: p99_ns });

/** Requests enter at the first half of the services alone. */
function services({ scenario }) {
  const names = servicesOf(scenario);
  const entered = Math.ceil(names.length / 2);
  const only = { requests: 0, errors: 0, p50_ns: null, p99_ns: null };
  return { services: names.map((name, at) => ({ name, operations: 7, ...numbers(name), ...callNumbers(numbers(name)), ...(at < entered ? {} : only) })), omitted: 0 };
}

/** Each service calls one or two that come later; the last calls the first of them back. */
function serviceMap({ scenario }) {
  const names = scenario === "thousand" ? servicesOf(scenario).slice(0, 200) : servicesOf(scenario);
  const suspects = scenario === "empty" ? [] : diagnosis(scenario).suspects.map((suspect) => suspect.service);
  const all = [...new Set(scenario === "empty" ? [] : [...names, ...suspects])].slice(0, 200);
  const draw = drawing("map");
  const links = new Map();
  const link = (caller, callee) => caller !== callee && links.set(`${caller} ${callee}`, { caller, callee, ...callNumbers(numbers(caller + callee)) });
  for (const [at, callee] of all.entries()) if (at > 0) link(all[Math.floor(draw() * Math.min(at, 30))], callee);
  for (let extra = 0; extra < all.length / 2; extra += 1) link(all[Math.floor(draw() * all.length)], all[Math.floor(draw() * all.length)]);
  return { services: all.map((name) => ({ name, ...callNumbers(numbers(name)) })), links: [...links.values()], omitted: 0, omitted_links: 0 };
}

/** Most requests take some 20 ms; from 09:36 to 09:42 some take half a second. */
function latencyMap({ scenario, query }) {
  const [columns, rows] = [Number(query.get("columns") ?? 120), Number(query.get("rows") ?? 40)];
  const base = { since_ns: SINCE_NS, column_ns: 3600e9 / columns, columns };
  if (scenario === "empty") return { ...base, edges_ns: [], counts: [], requests: 0 };
  const draw = drawing("latency");
  const edges_ns = Array.from({ length: rows + 1 }, (_, row) => Math.round(1e6 * 1000 ** (row / rows)));
  const slow = (t) => scenario !== "none" && t > 0.6 && t < 0.7;
  const bump = (row, at, wide) => Math.exp(-(((row / rows - at) / wide) ** 2));
  const counts = Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => Math.round((60 * bump(row, 0.4, 0.1) + 6 * bump(row, 0.65, 0.08) + (slow(column / columns) ? 25 * bump(row, 0.9, 0.05) : 0)) * draw())),
  );
  return { ...base, edges_ns, counts, requests: counts.flat().reduce((sum, count) => sum + count, 0) };
}

function comparison({ scenario }) {
  const none = scenario === "none";
  const [suspect] = diagnosis(scenario).suspects;
  const difference = (kind, service, name, value, selected, rest) => ({ kind, service, name, value, selected: Math.round(selected * 812), selected_share: selected, rest: Math.round(rest * 20_000), rest_share: rest, p_value: 3e-41 });
  const differences = none || !suspect ? [] : [
    difference("attribute", suspect.service, "service.version", "1.4.3", 0.97, 0.08),
    difference("replica", suspect.service, "", suspect.replicas[0] ?? "node026", 0.61, 0.1),
    difference("operation", suspect.service, "", suspect.operation, 1, 0.72),
    difference("error", "", "", "", 0.04, 0.001),
  ];
  const slower = { service: suspect?.service, operation: suspect?.operation, kind: "internal", selected: 812, rest: 2000, selected_p50_ns: 412e6, rest_p50_ns: 4_020_000, chance: 0.99, p_value: 1e-300 };
  return { selected: 812, rest: 41_204, selected_compared: 812, rest_compared: 20_000, level: 0.01, differences, omitted: 0, operations: differences.length > 0 ? [slower] : [], omitted_operations: 0 };
}

/** Of ten replicas the first is slow. */
function replicaLatencies({ scenario }) {
  const bins = 32;
  const draw = drawing("replicas");
  const edges_ns = Array.from({ length: bins + 1 }, (_, bin) => Math.round(1e6 * 300 ** (bin / bins)));
  const replica = (at) => {
    const peak = at === 0 ? 22 : 9;
    const counts = edges_ns.slice(1).map((_, bin) => Math.round(40 * Math.exp(-(((bin - peak) / 3) ** 2)) * (0.7 + 0.6 * draw())));
    return { replica: scenario === "hostile" ? HOSTILE[at % HOSTILE.length] : `node0${10 + at}`, calls: counts.reduce((sum, calls) => sum + calls, 0), errors: at % 3, p50_ns: edges_ns[peak], p99_ns: edges_ns[peak + 5], counts };
  };
  return { edges_ns, replicas: Array.from({ length: scenario === "thousand" ? 100 : 10 }, (_, at) => replica(at)), omitted: 0 };
}

function attributes({ scenario }) {
  const value = (value, requests) => ({ value, requests });
  const names = scenario === "hostile" ? HOSTILE : ["1.4.2", "1.4.3"];
  const all = [{ name: "service.version", values: names.map((name, at) => value(name, 900 - at)), omitted: 0 }, { name: "tenant", values: [value("acme", 700), value("globex inc", 200)], omitted: 12 }];
  return { attributes: scenario === "empty" ? [] : all, omitted: 0 };
}

function operations({ scenario, query }) {
  const wanted = (category) => !query.get("service") || category.service === query.get("service");
  const rows = categoriesOf(scenario).filter(wanted);
  return { operations: rows.map(({ service, operation }) => ({ service, operation, kind: "server", ...numbers(service + operation) })) };
}

function overview({ scenario, query }) {
  const bins = Math.min(Number(query.get("bins") ?? 60), 500);
  const one = (name) => {
    const draw = drawing(`overview ${name}`);
    const series = (value) => Array.from({ length: bins }, (_, at) => value(at / bins));
    return {
      name,
      requests: series((t) => Math.round(60 + 30 * Math.sin(t * 6) + 20 * draw())),
      errors: series((t) => (t > 0.6 && t < 0.7 ? Math.round(9 * draw()) : 0)),
      p50_ns: series((t) => (draw() > 0.98 ? null : Math.round(2e7 + 8e6 * draw() + 4e6 * Math.sin(t * 9)))),
      p99_ns: series((t) => Math.round(8e7 + 3e7 * draw() + (t > 0.6 && t < 0.7 ? 3e8 : 0))),
    };
  };
  const wanted = servicesOf(scenario).filter((name) => !query.get("service") || name === query.get("service"));
  const anomalous = scenario === "none" ? [] : categoriesOf(scenario).filter((category) => category.anomalous);
  const anomalies = anomalous.slice(0, 500).map((category) => ({
    category: category.id,
    service: category.service,
    operation: category.operation,
    since_ns: SINCE_NS + 2160e9,
    until_ns: SINCE_NS + 2520e9,
    reason: "dispersed: coefficient of variation 1.34",
  }));
  return { since_ns: SINCE_NS, bin_ns: Math.round(3600e9 / bins), bins, services: wanted.map(one), anomalies };
}

function categories({ scenario, query }) {
  const limit = Number(query.get("limit") ?? 200);
  const all = categoriesOf(scenario).filter((each) => !query.get("service") || each.service === query.get("service"));
  const rows = all.slice(0, limit).map((each) => ({
    id: each.id,
    service: each.service,
    operation: each.operation,
    positions: each.tree?.length ?? 9,
    requests: each.requests,
    errors: 0,
    p50_ns: each.latency_p50_ns,
    p99_ns: each.latency_p99_ns,
    cv: each.cv,
    anomalous: each.anomalous,
    reason: each.anomalous ? "dispersed: coefficient of variation 1.34" : null,
  }));
  return { categories: rows, omitted: all.length - rows.length };
}

function category({ scenario, id }) {
  return categoriesOf(scenario).find((each) => each.id === id);
}

function tree(asked) {
  const found = category(asked);
  if (!found) return null;
  const { id, service, operation, requests } = found;
  return { id, service, operation, requests, positions: treeOf(found) };
}

function matrix(asked) {
  const found = category(asked);
  return found ? matrixOf(found, Number(asked.query.get("rows") ?? 500)) : null;
}

function trace({ scenario, id }) {
  const all = categoriesOf(scenario);
  if (!/^[0-9a-f]{32}$/.test(id) || id === "0".repeat(32) || all.length === 0) return null;
  return traceOf(id, all[Number.parseInt(id.slice(-2), 16) % all.length]);
}

/** The time that each call of a trace usually takes. */
function usual({ scenario, id, query }) {
  const found = trace({ scenario, id });
  if (!found) return null;
  const positions = treeOf(categoriesOf(scenario).find((each) => each.id === found.requests[0].category));
  const name = ({ service, operation, kind }) => ({ service, operation, kind });
  const calls = positions.map((position) => ({
    callee: name(position),
    ...(position.parent === null ? {} : { caller: name(positions[position.parent]) }),
    calls: 1204,
    inclusive_p50_ns: position.inclusive_p50_ns,
    inclusive_p95_ns: Math.round(1.3 * position.inclusive_p50_ns),
    self_p50_ns: position.self_p50_ns,
  }));
  return { since_ns: Number(query.get("since")), until_ns: Number(query.get("until")), calls, omitted: 0 };
}

function search({ scenario, query }) {
  const limit = Number(query.get("limit") ?? 100);
  const draw = drawing("search");
  const wanted = (each) =>
    ["service", "operation", "category"].every((name) => !query.get(name) || query.get(name) === (name === "category" ? each.id : each[name]));
  const all = categoriesOf(scenario).filter(wanted);
  const total = Math.min(all.length * 40, 1000);
  const traces = Array.from({ length: total }, (_, at) => {
    const each = all[at % all.length];
    const ms = 5 + 400 * draw() ** 6;
    const status = draw() > 0.9 ? "error" : "ok";
    return { trace: hex(draw, 32), service: each.service, operation: each.operation, start_ns: UNTIL_NS - at * 3e9, latency_ns: Math.round(ms * 1e6), spans: each.tree?.length ?? 9, status, category: each.id };
  });
  const between = ({ latency_ns, status }) =>
    latency_ns >= Number(query.get("min_ms") ?? 0) * 1e6 && latency_ns <= Number(query.get("max_ms") || 1e12) * 1e6 && (!query.get("status") || status === query.get("status"));
  const kept = traces.filter(between);
  return { traces: kept.slice(0, limit), scanned: traces.length, omitted: Math.max(kept.length - limit, 0) };
}

function alerts({ scenario }) {
  const window = { since_ns: UNTIL_NS - 900e9, until_ns: UNTIL_NS };
  const baseline = { since_ns: UNTIL_NS - 8100e9, until_ns: UNTIL_NS - 900e9 - 1 };
  const look = (outcome, text) => ({ at_ns: UNTIL_NS, outcome, text, took_ns: 41_000_000, window, baseline, sampled_one_in: scenario === "thousand" ? 4 : 1 });
  const all = alertRows(scenario, window, baseline);
  const judged = look("evaluated", all.length > 0 ? "one operation makes requests slower than before" : "nothing is slower than before");
  return {
    enabled: scenario !== "insufficient",
    every_ns: 60e9,
    window_ns: 900e9,
    last: scenario === "empty" ? look("too_little_data", "the window has 3 complete requests and what it is compared with 12; 100 are needed in each") : judged,
    last_evaluated: scenario === "empty" ? null : judged,
    last_servers: null,
    firing: all.filter((alert) => alert.state === "firing").length,
    pending: all.filter((alert) => alert.state === "pending").length,
    receivers: scenario === "none" ? [] : [{ name: "webhook", sent: 12, failed: 0 }],
    alerts: all,
    omitted: 0,
  };
}

/** None, one, or a thousand; names of suspects. */
function alertRows(scenario, window, baseline) {
  const few = { none: 0, empty: 0, insufficient: 0, one: 1, thousand: 1000 }[scenario] ?? 6;
  const suspects = diagnosis(scenario).suspects.slice(0, few);
  const concerned = categoriesOf(scenario).slice(0, 3).map(({ id, service, operation }) => ({ id, service, operation }));
  return suspects.map((suspect, at) => {
    const state = ["firing", "resolved", "pending", "resolved"][at % 4];
    return {
      id: `alert-${at}`,
      kind: "slow_operation",
      page: "/verdict",
      server: null,
      evidence: null,
      objective: null,
      state,
      service: suspect.service,
      operation: suspect.operation,
      summary: `Operation \`${suspect.operation}\` of \`${suspect.service}\` makes requests take 140 % longer: its calls on 4 of its replicas take 7.3 times as long as on the other replicas.`,
      categories: concerned,
      replicas: suspect.replicas,
      since_ns: SINCE_NS + 2160e9,
      first_ns: SINCE_NS + 2280e9,
      fired_ns: state === "pending" ? null : SINCE_NS + 2340e9,
      resolved_ns: state === "resolved" ? SINCE_NS + 3240e9 : null,
      ended: state === "resolved" ? "requests are as fast as before" : null,
      factor: 7.3,
      effect_ns: suspect.effect_ns,
      slower: 1.4,
      requests_hit: 1234,
      requests_seen: 8120,
      traces: suspect.trace_ids ?? [],
      window,
      baseline,
    };
  });
}

/** One incident for two alerts that are not pending. */
function incidents({ scenario }) {
  const all = alerts({ scenario }).alerts.filter((alert) => alert.state !== "pending").slice(0, 200).map(incidentOf);
  return { open: all.filter((incident) => incident.state === "open").length, incidents: all, omitted: 0, damaged: 0 };
}

function incidentOf(alert, at) {
  const { id, kind, state, summary, since_ns, resolved_ns, ended, page } = alert;
  const clause = (kind, title, text, certainty, source, page) => ({ kind, title, text, certainty, sources: [source], page });
  const verdict = "/verdict?since=2026-01-12T09:45:00.000Z&until=2026-01-12T10:00:00.000Z";
  return {
    id: `incident-${at}`,
    state: state === "firing" ? "open" : "closed",
    since_ns,
    opened_ns: alert.fired_ns,
    closed_ns: resolved_ns,
    subject: alert.service,
    headline: summary,
    class: at % 2 === 0 ? "foreign-load" : "code",
    owner: at % 2 === 0 ? "team-storage" : null,
    is_silenced: false,
    clauses: [
      clause("what", "What", summary, "shown", "traces", verdict),
      clause("since", "Since", "2026-01-12 09:36:10 UTC (2026-01-12 09:35:40–09:36:20).", "shown", "traces", verdict),
      clause("impact", "Impact", "Hit 1,234 of 8,120 requests (web buy), which take 240 ms longer; users lose 412 s an hour.", "shown", "traces", verdict),
      clause("cause", "Cause", "Likely other processes on the machine. Calls of `read` take 3.1 s more in each second.", "likely", "samples", "/changes"),
      clause("history", "Before", "The same was an incident 3 times before: the last began at 2026-01-05 09:30 UTC and lasted 41 minutes. It comes back each Monday at about 09:36 UTC.", "shown", "history", "/incidents"),
    ],
    verdict_ns: UNTIL_NS,
    alerts: [{ id, kind, state, summary, since_ns, resolved_ns, ended, page }],
    notified: { webhook: { state: state === "firing" ? "open" : "closed", at_ns: UNTIL_NS } },
  };
}

function incident({ scenario, id }) {
  return incidents({ scenario }).incidents.find((each) => each.id === id) ?? null;
}

function events({ scenario }) {
  const few = { none: 0, empty: 0, thousand: 1000 }[scenario] ?? 2;
  const all = Array.from({ length: few }, (_, at) => ({
    time_ns: UNTIL_NS - (at + 1) * 1500e9,
    time: new Date((UNTIL_NS - (at + 1) * 1500e9) / 1e6).toISOString(),
    kind: "deployment",
    service: "web",
    version: `1.4.${at}`,
    source: at % 2 === 0 ? "declared" : "spans",
    summary: `version \`1.4.${at}\` of \`web\` was deployed (9 of 18 replicas)`,
  }));
  return { events: all, omitted: 0, damaged: 0 };
}

/** One that is met, one that burns, and one without requests; names of the scenario. */
function objectives({ scenario }) {
  const none = ["none", "empty", "insufficient"].includes(scenario);
  const [suspect] = diagnosis(scenario).suspects;
  const draw = drawing(scenario);
  const of = (name, rate, service, operation) => ({
    name,
    service,
    operation,
    limit_ns: 300e6,
    without_error: rate > 1,
    target: 0.9995,
    period_ns: 28 * 86_400e9,
    alerts: rate > 1 ? [{ id: "burn", state: "firing", severity: "page", summary: `Objective \`${name}\` uses up its error budget ${rate.toFixed(1)} times as fast as allowed: 73 of 7200 requests of the last hour were bad; 41 % of it are left.`, since_ns: SINCE_NS }] : [],
    cause: rate > 1 && suspect ? { alert: "alert-0", service: suspect.service, operation: suspect.operation, explained: 60, bad: 73, page: "/verdict" } : null,
    requests: rate === null ? 0 : 1_204_113,
    bad: rate === null ? 0 : 240,
    incomplete: rate === null ? 0 : 12,
    represented: rate === null ? 0 : 1_204_113,
    good_share: rate === null ? null : 0.9998,
    budget: rate === null ? 0 : 602,
    budget_left: rate === null ? null : 0.6,
    since_ns: rate === null ? null : SINCE_NS,
    covered_ns: rate === null ? 0 : 3600e9,
    uncounted: 0,
    burn_rates: [300, 1800, 3600, 21_600, 259_200].map((seconds) => ({ window_ns: seconds * 1e9, rate, requests: rate === null ? 0 : seconds * 2, bad: rate === null ? 0 : Math.round(seconds * rate * 0.001) })),
    history: { since_ns: UNTIL_NS - 28 * 86_400e9, step_ns: 14_400e9, burn_rate: Array.from({ length: 168 }, (_, step) => (rate === null || step < 20 ? null : draw() * rate)) },
  });
  const [first, second] = categoriesOf(scenario);
  const all = none ? [] : [of("fast", 0.4, first.service, first.operation), of(second?.service ?? "all", 20.3, first.service, null), of("silent", null, "nobody", null)];
  return { at_ns: UNTIL_NS, objectives: all };
}

function status({ scenario }) {
  const full = { name: "disk", text: "The disk is full: spans are refused until retention has made room.", since_ns: UNTIL_NS - 60e9, blocks: true };
  const nothing = scenario === "empty";
  const receiver = (name, port) => ({ name, address: `127.0.0.1:${port}`, requests: nothing ? 0 : 1200, spans: nothing ? 0 : 94_117, samples: 0, events: nothing ? 0 : 1_204, rejected: nothing ? 0 : 3, bytes: nothing ? 0 : 48_211_090 });
  return {
    version: "0.1.0",
    now_ns: UNTIL_NS,
    ready: scenario !== "thousand",
    problems: scenario === "thousand" ? [full] : [],
    spans_received: nothing ? 0 : 97_182_311,
    spans_stored: nothing ? 0 : 96_182_304,
    spans_expired: nothing ? 0 : 1_204_118,
    samples_expired: 0,
    events_stored: nothing ? 0 : 1_204,
    events_expired: 0,
    open_spans: 1893,
    open_traces: 21,
    segments: nothing ? 0 : 240,
    segment_bytes: nothing ? 0 : 1_932_735_283,
    log_bytes: 18_874_368,
    oldest_ns: nothing ? null : UNTIL_NS - 86_400e9,
    newest_ns: nothing ? null : UNTIL_NS,
    alerts_firing: alerts({ scenario }).firing,
    incidents_open: incidents({ scenario }).open,
    receivers: [receiver("otlp-grpc", 4317), receiver("otlp-http", 4318), receiver("zipkin", 9411)],
    losses: nothing ? {} : { late_span: { count: 7, example: "trace 2f1c4e3ab0d55e7a9c1b6d7e8f901234" } },
  };
}

/** By path; `:id` is one segment of it. */
export const ANSWERS = {
  "/api/v1/status": status,
  "/api/v1/services": services,
  "/api/v1/service-map": serviceMap,
  "/api/v1/latency-map": latencyMap,
  "/api/v1/latency-map/compare": comparison,
  "/api/v1/replica-latencies": replicaLatencies,
  "/api/v1/attributes": attributes,
  "/api/v1/operations": operations,
  "/api/v1/overview": overview,
  "/api/v1/categories": categories,
  "/api/v1/categories/:id/tree": tree,
  "/api/v1/categories/:id/matrix": matrix,
  "/api/v1/traces/:id": trace,
  "/api/v1/traces/:id/usual": usual,
  "/api/v1/search": search,
  "/api/v1/alerts": alerts,
  "/api/v1/incidents": incidents,
  "/api/v1/incidents/:id": incident,
  "/api/v1/events": events,
  "/api/v1/objectives": objectives,
};
