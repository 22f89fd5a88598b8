// The answer of `laggard changes` as docs/manual/json/changes.md tells it: what the pages use of it.

import type { Onset, ReportWindow } from "./report.ts";
import type { Loss } from "./types.ts";

/** What was read of samples; of changes, signatures and capacity. */
export interface SampleInput {
  files: number;
  bytes: number;
  samples: number;
  spans: number;
  window: ReportWindow | null;
  window_s: number;
  windows: number;
  gaps: number;
  servers: { server: string; tier: string; cores: number | null; windows: number; utilization_mean: number | null }[];
  transactions: { name: string; count: number }[];
  losses: Record<string, Loss>;
}

export type EventKind = "application-change" | "rollback" | "workload-change" | "unexplained" | "anomaly-start" | "anomaly-end";

export interface Explains {
  transaction: string;
  before_s: number | null;
  after_s: number | null;
  difference_s: number;
  standard_error_s: number | null;
  servers: number;
}

export interface Region {
  since_ns: number;
  until_ns: number;
  windows: number;
  reasons: string[];
  unexplained_mean: number | null;
  unexplained_peak: number | null;
  unexplained_cpu_s: number | null;
}

export interface MixChange {
  transaction: string;
  share_before: number;
  share_after: number;
}

export interface Deployment {
  name: string;
  at_ns: number;
  before_s: number;
}

/** What happened over all servers. */
export interface ChangeEvent {
  kind: EventKind;
  onset: Onset;
  servers: string[];
  servers_seen: number;
  tier: string;
  transactions: Explains[];
  region: Region | null;
  mix: MixChange[];
  deployment: Deployment | null;
}

export interface ServiceTime {
  transaction: string;
  before_s: number | null;
  before_error_s: number | null;
  after_s: number | null;
  after_error_s: number | null;
  changed: boolean;
}

export interface ServerChange {
  kind: EventKind;
  onset: Onset;
  error_ratio: number | null;
  transactions: Explains[];
  signature: ServiceTime[];
  rate_before: number | null;
  rate_after: number | null;
}

export interface Segment {
  since_ns: number;
  until_ns: number;
  windows: number;
  state: "normal" | "anomalous" | "pending";
  model: number | null;
  reason: string | null;
}

/** Utilization of a server over time, a share of 0..1; a point without data is `null`. */
export interface UtilizationSeries {
  since_ns: number;
  step_s: number;
  windows_per_point: number;
  observed: (number | null)[];
  observed_low: (number | null)[];
  observed_high: (number | null)[];
  predicted: (number | null)[];
  residual_low: (number | null)[];
  residual_high: (number | null)[];
  transactions_per_s: (number | null)[];
}

export interface Model {
  segments: number[];
  windows: number;
  constant_percent: number;
  error: number;
  estimator: string;
  in_force: boolean;
  transactions: {
    transaction: string;
    demand_s: number;
    demand_low_s: number | null;
    demand_high_s: number | null;
    told_apart: boolean;
    service_time_s: number | null;
    service_time_error_s: number | null;
  }[];
}

export interface ServerReport {
  server: string;
  tier: string;
  cores: number | null;
  windows: number;
  verdict: string;
  estimator: string;
  models: Model[];
  segments: Segment[];
  changes: ServerChange[];
  regions: Region[];
  series: UtilizationSeries;
  cautions: string[];
}

export interface Mix {
  since_ns: number;
  step_s: number;
  transactions: string[];
  shares: (number | null)[][];
}

export interface ChangeReport {
  verdict: "application-change" | "anomaly" | "unexplained-change" | "workload-change" | "steady" | "insufficient-data";
  headline: string;
  method: string;
  input: SampleInput;
  deployments: { name: string; at_ns: number }[];
  events: ChangeEvent[];
  servers: ServerReport[];
  mix: Mix | null;
  ruled_out: string[];
  cautions: string[];
  missing: string[];
  settings: { name: string; value: string }[];
}
