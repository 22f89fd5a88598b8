// Curves of a capacity answer as drawings over the number of clients.

import type { CapacityReport, CurvePoint } from "../api/capacity.ts";
import type { Drawing, Mark } from "../charts/plot.ts";

/** A value by number of clients. */
type Points = Map<number, number | null>;

type Measure = (point: { throughput: number; response_s: number | null }) => number | null;

function points(curve: CurvePoint[], measure: Measure): Points {
  return new Map(curve.flatMap((point) => (point.clients === null ? [] : [[point.clients, measure(point)] as const])));
}

function observed(report: CapacityReport, measure: Measure): Points {
  return new Map(report.observed.flatMap((one) => (one.clients === null ? [] : [[one.clients, measure(one)] as const])));
}

/** All points over common numbers of clients, in ascending order. */
function joined(all: Points[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(all.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return { x, values: all.map((one) => x.map((clients) => one.get(clients) ?? null)) };
}

/** What is drawn of a measure, its lines in the order: as it is, after the changes asked about, observed. */
function drawing(report: CapacityReport, measure: Measure, y: Drawing["y"], xText: Drawing["xText"]): Drawing {
  const whatIf = report.what_if?.answer;
  const curves = [points(report.answer?.curve ?? [], measure), ...(whatIf ? [points(whatIf.curve, measure)] : []), observed(report, measure)];
  const { x, values } = joined(curves);
  const marks: Mark[] = report.answer?.clients ? [{ from: report.answer.clients, token: "bar", label: "capacity" }] : [];
  if (report.load?.clients) marks.push({ from: report.load.clients, token: "quiet", label: "now" });
  const lines = [
    { label: "By the model", token: "s0", joined: true, values: values[0] ?? [] },
    ...(whatIf ? [{ label: "With the changes", token: "s2", joined: true, dashed: true, values: values[1] ?? [] }] : []),
    { label: "Observed", token: "s1", points: true, values: values.at(-1) ?? [] },
  ];
  return { kind: "number", x, lines, marks, y, ...(xText ? { xText } : {}) };
}

/** Mean response time over clients; far above the target nothing is shown. */
export function responses(report: CapacityReport, y: Drawing["y"], xText: (clients: number) => string, limit: string): Drawing {
  const shown = drawing(report, (point) => point.response_s, y, xText);
  return { ...shown, limit: { y: report.latency_max_s, label: limit }, yLeast: report.latency_max_s * 1.2, yMost: report.latency_max_s * 3 };
}

/** Transactions a second over clients. */
export function throughputs(report: CapacityReport, y: Drawing["y"], xText: (clients: number) => string): Drawing {
  return drawing(report, (point) => point.throughput, y, xText);
}
