// What the overview can draw over time.

import type { ServiceOverTime } from "../api/generated.ts";
import { brief, share, timeTick } from "../format/numbers.ts";

export interface Measure {
  id: string;
  name: string;
  title: string;
  values: (service: ServiceOverTime, binMs: number) => (number | null)[];
  format: (value: number) => string;
}

export const MEASURES: [Measure, ...Measure[]] = [
  { id: "p99", name: "p99", title: "Latency, 99th percentile", values: (service) => service.p99_ns, format: timeTick },
  { id: "p50", name: "p50", title: "Latency, median", values: (service) => service.p50_ns, format: timeTick },
  {
    id: "requests",
    name: "Requests",
    title: "Requests per second",
    values: (service, binMs) => service.requests.map((requests) => (requests * 1000) / binMs),
    format: brief,
  },
  {
    id: "errors",
    name: "Errors",
    title: "Share of requests with errors",
    values: (service) => service.errors.map((errors, bin) => ((service.requests[bin] ?? 0) > 0 ? errors / (service.requests[bin] ?? 1) : null)),
    format: share,
  },
];

/** The services with the most requests, the most first. */
export function busiest(services: ServiceOverTime[], most: number): ServiceOverTime[] {
  const total = (service: ServiceOverTime) => service.requests.reduce((sum, requests) => sum + requests, 0);
  const keyed = services.map((service) => ({ service, total: total(service) }));
  keyed.sort((a, b) => b.total - a.total || (a.service.name < b.service.name ? -1 : 1));
  return keyed.slice(0, most).map((each) => each.service);
}
