// Latencies of requests over the time they started.

import type { Axis, Chart, Series, TraceSummary } from "../api/generated.ts";
import { time } from "../format/numbers.ts";
import { clock } from "../format/times.ts";

const TICKS = 6;

function axis(scale: Axis["scale"], from: number, to: number, parts: number, label: (value: number) => string): Axis {
  const ticks = Array.from({ length: parts + 1 }, (_, at) => from + ((to - from) * at) / parts);
  return { scale, from, to, ticks: ticks.map((at) => ({ at, label: label(at) })) };
}

/** A dot for each request, in order of time. */
export function latencyChart(requests: TraceSummary[]): Chart {
  const dots = (color: string, rows: TraceSummary[]): Series => ({
    name: "",
    shape: "dots",
    color,
    x: rows.map((row) => row.start_ns / 1e6),
    y: rows.map((row) => row.latency_ns),
    words: rows.map((row) => `${clock(row.start_ns / 1e6)}: ${time(row.latency_ns)}`),
  });
  const most = requests.reduce((most, row) => Math.max(most, row.latency_ns), 1);
  const series = [dots("quiet", requests.filter((row) => row.status !== "error")), dots("accent", requests.filter((row) => row.status === "error"))];
  return {
    caption: "Latency of the requests found, by the time they started",
    x: axis("time", (requests[0]?.start_ns ?? 0) / 1e6, (requests.at(-1)?.start_ns ?? 0) / 1e6, TICKS, (ms) => clock(Math.round(ms / 1000) * 1000)),
    panels: [{ title: "", height: 160, y: axis("linear", 0, most * 1.05, 2, time), series, levels: [], marks: [] }],
    marks: [],
    legend: [{ color: "quiet", label: "Latency" }, { color: "accent", label: "with an error" }],
    readout: false,
  };
}
