// The report of `laggard diagnose` as docs/manual/json/diagnose.md tells it: what the pages use of it.

export interface ReportWindow {
  since_ns: number;
  until_ns: number;
  since: string;
  until: string;
}

export interface Between {
  caller_service: string;
  caller_operation: string;
  callee_service: string;
  callee_operation: string;
}

export interface Onset {
  at_ns: number;
  earliest_ns: number;
  latest_ns: number;
}

export interface Shift {
  factor: number | null;
  factor_low: number | null;
  factor_high: number | null;
  p_value: number | null;
  baseline_calls: number;
}

export interface Culprit {
  replica: string;
  factor: number | null;
  factor_low: number | null;
  factor_high: number | null;
  p_value: number;
  observations: number;
}

export interface SuspectPosition {
  category: string;
  position: number;
  path: string[];
}

export interface Suspect {
  rank: number;
  service: string;
  operation: string;
  kind: string;
  scope: "replicas" | "all";
  replicas: string[];
  replicas_seen: number;
  scope_undecided: boolean;
  score: number | null;
  effect_ns: number;
  factor: number | null;
  share: number | null;
  requests_hit: number;
  requests_seen: number;
  categories: string[];
  positions: SuspectPosition[];
  trace_ids: string[];
  between?: Between;
  culprits?: Culprit[];
  evidence?: string[];
  shift?: Shift;
  onset?: Onset;
}

export interface IncidentSuspect {
  service: string;
  operation: string;
  between: Between | null;
  factor: number | null;
  effect_ns: number;
  share: number | null;
}

export interface Incident {
  since_ns: number;
  until_ns: number;
  excess_share: number | null;
  onset: Onset | null;
  suspects: IncidentSuspect[];
}

export interface Baseline {
  requests: number;
  window: ReportWindow | null;
  mean_ns: number | null;
  window_mean_ns: number | null;
  slower_ns: number | null;
  mix_ns: number | null;
}

export interface TreeNode {
  parent: number | null;
  service: string;
  operation: string;
  self_p50_ns: number;
  self_p99_ns: number;
  calls_mean: number | null;
  suspect: number | null;
  slow_requests: number;
  cosine: number | null;
  share: number | null;
}

export interface ReportCategory {
  id: string;
  service: string;
  operation: string;
  requests: number;
  cv: number | null;
  anomalous: boolean;
  analysed: boolean;
  latency_p50_ns: number;
  latency_p99_ns: number;
  tail_requests: number;
  tail_excess_share: number | null;
  tree?: TreeNode[];
}

export interface HeatCell {
  calls: number;
  slow: number;
  factor: number | null;
  flagged: boolean;
}

/** Cells row by row; `null` where the replica never ran the operation. */
export interface HeatMap {
  operations: string[];
  replicas: string[];
  replicas_omitted: number;
  cells: (HeatCell | null)[];
}

export interface Latency {
  edges_ns: number[];
  hit: number[];
  unhit: number[];
}

export interface SuspectReplica {
  rank: number;
  replica: string;
  service: string;
  score: number | null;
  effect_ns: number;
  p_value: number | null;
  slow_calls: number;
  calls: number;
  operations: string[];
}

export interface NamedCount {
  name: string;
  count: number;
}

export interface Input {
  files: number;
  bytes: number;
  spans: number;
  call_records: number;
  traces: number;
  requests: number;
  services: number;
  operations: number;
  replicas: number;
  formats: NamedCount[];
  replica_identity: NamedCount[];
  clocks: {
    pairs: number;
    agreeing_pairs: number;
    max_proven_skew_ns: number;
    worst_pair: [string, string] | null;
    max_possible_skew_ns: number;
  };
  losses: Record<string, { count: number; example: string }>;
}

export interface Report {
  schema_version: number;
  verdict: "suspects" | "healthy" | "insufficient-data";
  headline: string;
  method: string;
  mode: string;
  window: ReportWindow | null;
  input: Input;
  baseline?: Baseline;
  incidents?: Incident[];
  categories: ReportCategory[];
  suspects: Suspect[];
  replicas: SuspectReplica[];
  ruled_out: string[];
  cautions: string[];
  missing: string[];
  heat_map: HeatMap | null;
  latency: Latency | null;
  settings: { name: string; value: string }[];
}
