// The answer of `laggard capacity` as docs/manual/json/capacity.md tells it: what the pages use of it.

import type { SampleInput } from "./changes.ts";

export interface TierLoad {
  tier: string;
  utilization: number | null;
  residence_s: number;
}

export interface CurvePoint {
  clients: number | null;
  throughput: number;
  response_s: number | null;
  utilization: (number | null)[];
}

export interface CapacityAnswer {
  clients: number | null;
  at_limit: boolean;
  throughput: number;
  response_s: number | null;
  bottleneck: string;
  algorithm: string;
  exact: boolean;
  clients_median: number | null;
  throughput_median: number;
  throughput_limit: number | null;
  knee_clients: number | null;
  tiers: TierLoad[];
  transactions: { transaction: string; share: number; response_s: number }[];
  curve: CurvePoint[];
}

export interface WhatIf {
  changes: string[];
  answer: CapacityAnswer | null;
  load: { factor: number; clients: number | null; throughput: number | null; response_s: number | null; within: boolean; tiers: TierLoad[] } | null;
}

export interface ModelTier {
  tier: string;
  kind: "cpu" | "calls" | "other";
  servers: number;
  cores: number | null;
  mean_s: number;
  background: number;
  source: string;
}

export interface Observed {
  since_ns: number;
  clients: number | null;
  throughput: number;
  response_s: number | null;
}

export interface CapacityReport {
  verdict: "enough" | "near-limit" | "exceeded" | "insufficient-data";
  headline: string;
  input: SampleInput;
  latency_max_s: number;
  load: { clients: number | null; throughput: number; response_s: number | null; clients_peak: number | null; throughput_peak: number } | null;
  answer: CapacityAnswer | null;
  what_if: WhatIf | null;
  model: { transactions: string[]; mix: number[]; tiers: ModelTier[]; clients: string; think: { seconds: number; source: string } | null } | null;
  accuracy: { stretches: number; throughput: number | null; response: number | null; utilization: { tier: string; error: number }[]; trust: string } | null;
  observed: Observed[];
  callees: string[];
  latency: { transaction: string; count: number; response_s: number; service_s: number; queueing_s: number; callees_s: number[] }[];
  cautions: string[];
  missing: string[];
  settings: { name: string; value: string }[];
}
