// What a report says, in the words that the command line's reports use.

import { label } from "../format/names.ts";
import { count, counted, factor, pValue, share, signedTime } from "../format/numbers.ts";
import { clock, date, seconds } from "../format/times.ts";
import type { Between, Incident, IncidentSuspect, Input, Onset, Report, Shift, Suspect } from "../api/report.ts";

/** The verdict in one or two words, and its tone. */
export function verdict(report: Report): { words: string; tone: "bad" | "good" | "unsure" } {
  if (report.verdict === "suspects") return { words: "Suspects found", tone: "bad" };
  if (report.verdict === "healthy") return { words: "Healthy", tone: "good" };
  return { words: "Not enough data", tone: "unsure" };
}

/** Where a suspect is slow: `3 of 100 replicas`, `all 40 replicas`. */
export function place(suspect: Suspect): string {
  const [named, seen] = [suspect.replicas.length, suspect.replicas_seen];
  if (suspect.scope === "replicas" && named > 0) {
    return seen < named ? counted(named, "replica") : `${count(named)} of ${counted(seen, "replica")}`;
  }
  if (suspect.scope_undecided && seen > 1) return `one or more of ${counted(seen, "replica")} (too few slow calls to say which)`;
  if (seen === 0) return "all replicas";
  return seen === 1 ? "its only replica" : `all ${count(seen)} replicas`;
}

/** What a shift compares with. */
export function comparedWith(report: Report): string {
  return report.baseline ? "the baseline" : "the rest of the window";
}

/** A suspect's factor: `4.21×`, or `new` for what was never called before. */
export function suspectFactor(suspect: Suspect): string {
  return suspect.factor === null && suspect.shift?.factor === null ? "new" : factor(suspect.factor);
}

/** `frontend → cartservice`; within one service the operations. */
export function between(link: Between, room = 32): string {
  const apart = link.caller_service !== link.callee_service;
  const side = (service: string, operation: string) => label(apart && service ? service : operation, room);
  return `${side(link.caller_service, link.caller_operation)} → ${side(link.callee_service, link.callee_operation)}`;
}

/** `55× the time in the baseline (95 %: 39× to 77×; p = 2e-13; 17,712 calls there)` */
export function shift(found: Shift, against: string): string {
  if (found.factor === null) return `new: never called in ${against}`;
  const interval = `95 %: ${factor(found.factor_low)} to ${factor(found.factor_high)}`;
  const certainty = `p = ${pValue(found.p_value)}; ${counted(found.baseline_calls, "call")} there`;
  return `${factor(found.factor)} the time in ${against} (${interval}; ${certainty})`;
}

/** `04:27:19 UTC (95 %: 04:26:19 to 04:27:19)`; with the date when it is not the window's. */
export function onset(found: Onset, report: Report): string {
  const [at, first, last] = [found.at_ns, found.earliest_ns, found.latest_ns].map((ns) => timeIn(ns / 1e6, report)) as [string, string, string];
  return first === last ? `${at} UTC` : `${at} UTC (95 %: ${first} to ${last})`;
}

/** A moment of the report: without its date when the window is of one day. */
export function timeIn(ms: number, report: Report): string {
  const day = windowDay(report);
  return date(ms) === day ? seconds(ms) : `${date(ms)} ${seconds(ms)}`;
}

/** The one day of the window; `""` when it has several, or none. */
export function windowDay(report: Report): string {
  const window = report.window;
  if (!window) return "";
  const [first, last] = [date(window.since_ns / 1e6), date(window.until_ns / 1e6)];
  return first === last ? first : "";
}

const EVIDENCE: Record<string, string> = {
  dispersion: "some requests are slower than others of their kind",
  pattern: "some requests are slow in the same way, apart from the others",
  peers: "some replicas are slower than their peers",
  baseline: "slower than in the baseline",
  period: "slower in some periods than in the rest of the window",
};

/** What speaks against a suspect. */
export function evidence(suspect: Suspect): string[] {
  return (suspect.evidence ?? []).slice(0, 8).map((word) => EVIDENCE[word] ?? label(word, 40));
}

/** How long requests took at worst in a slow period, over the usual: `16×`. */
export function worst(incident: Incident): string {
  return factor(incident.excess_share === null ? null : 1 + incident.excess_share);
}

/** `+194 ms (27×), 86 % of it` */
export function incidentEffect(suspect: IncidentSuspect): string {
  const times = suspect.factor === null ? "new" : factor(suspect.factor);
  return `${signedTime(suspect.effect_ns)} (${times}), ${share(suspect.share)} of it`;
}

/** What was read, as a sentence. */
export function read(input: Input): string {
  const spans = `${counted(input.spans, "span")} in ${counted(input.traces, "trace")}`;
  const requests = counted(input.requests, "complete request");
  const things = `${counted(input.operations, "operation")} of ${counted(input.services, "service")} on ${counted(input.replicas, "replica")}`;
  const identity = input.replica_identity.slice(0, 4).map((row) => label(row.name, 30));
  return `Read ${spans}: ${requests}, ${things}${identity.length > 0 ? ` (told apart by ${identity.join(", ")})` : ""}.`;
}

/** What is known of the clocks, as a sentence; `""` when no host called another. */
export function clocks(input: Input, time: (ns: number) => string): string {
  const found = input.clocks;
  if (found.pairs === 0) return "";
  const pairs = counted(found.pairs, "pair");
  if (found.agreeing_pairs >= found.pairs) {
    return `Clocks: the calls of all ${pairs} of hosts are consistent with equal clocks (possible skew up to ${time(found.max_possible_skew_ns)}).`;
  }
  const worstPair = found.worst_pair ? `, between ${label(found.worst_pair[0], 40)} and ${label(found.worst_pair[1], 40)}` : "";
  return `Clocks: ${count(found.agreeing_pairs)} of ${pairs} of hosts agree; the largest proven disagreement is ${time(found.max_proven_skew_ns)}${worstPair}. No result compares times of two clocks.`;
}

/** `09:36 to 09:42`, with dates where they are not the window's. */
export function period(sinceNs: number, untilNs: number, report: Report): string {
  const day = windowDay(report);
  const text = (ms: number) => (date(ms) === day ? clock(ms) : `${date(ms)} ${clock(ms)}`);
  return `${text(sinceNs / 1e6)} to ${text(untilNs / 1e6)}`;
}
