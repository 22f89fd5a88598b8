// The answers of the API, field by field as docs/manual/api.md tells them. Names ending in `_ns` are nanoseconds; moments
// beyond 2^53 lose digits below a microsecond.

export interface ProblemDetails {
  name: string;
  text: string;
  since_ns: number;
  blocks: boolean;
}

export interface Receiver {
  name: string;
  address: string;
  /** Messages; of these, refused for now, and refused for good. */
  requests: number;
  deferred: number;
  refused: number;
  spans: number;
  samples: number;
  /** Records that were not taken. */
  rejected: number;
  bytes: number;
}

export interface Loss {
  count: number;
  example: string;
}

export interface Status {
  version: string;
  now_ns: number;
  started_ns: number;
  ready: boolean;
  problems: ProblemDetails[];
  spans_received: number;
  spans_stored: number;
  open_spans: number;
  open_traces: number;
  open_bytes: number;
  segments: number;
  segment_bytes: number;
  log_bytes: number;
  oldest_ns: number | null;
  newest_ns: number | null;
  receivers: Receiver[];
  losses: Record<string, Loss>;
  /** Slow operations that the server noticed by itself and that are not over. */
  alerts_firing: number;
}

export interface Service {
  name: string;
  operations: number;
  replicas: number;
  requests: number;
  errors: number;
  p50_ns: number | null;
  p99_ns: number | null;
}

export interface Operation {
  service: string;
  operation: string;
  kind: string;
  replicas: number;
  requests: number;
  errors: number;
  p50_ns: number | null;
  p99_ns: number | null;
}

/** One service over time: arrays of as many values as there are bins. */
export interface ServiceOverTime {
  name: string;
  requests: number[];
  errors: number[];
  p50_ns: (number | null)[];
  p99_ns: (number | null)[];
}

export interface Anomaly {
  category: string;
  service: string;
  operation: string;
  since_ns: number;
  until_ns: number;
  reason: string;
}

export interface Overview {
  since_ns: number;
  bin_ns: number;
  bins: number;
  services: ServiceOverTime[];
  omitted: number;
  anomalies: Anomaly[];
}

export interface CategoryRow {
  id: string;
  service: string;
  operation: string;
  positions: number;
  requests: number;
  errors: number;
  p50_ns: number | null;
  p99_ns: number | null;
  cv: number | null;
  anomalous: boolean;
  reason: string | null;
}

export interface TreePosition {
  position: number;
  parent: number | null;
  service: string;
  operation: string;
  kind: string;
  calls_mean: number;
  self_p50_ns: number;
  self_p99_ns: number;
  inclusive_p50_ns: number;
  inclusive_p99_ns: number;
  replicas: number;
}

export interface CategoryTree {
  id: string;
  service: string;
  operation: string;
  requests: number;
  positions: TreePosition[];
}

/** A row a request, a column a position; times in nanoseconds. */
export interface CategoryMatrix {
  id: string;
  requests: { trace: string; start_ns: number; latency_ns: number }[];
  positions: { position: number; service: string; operation: string; flagged: boolean }[];
  original: number[][];
  low_rank: number[][];
  sparse: number[][];
  omitted_requests: number;
  omitted_positions: number;
  /** Whether the decomposition came to an end. */
  converged: boolean;
}

export interface Interval {
  since_ns: number;
  until_ns: number;
}

/** One look of the server at its last window. */
export interface Evaluation {
  at_ns: number;
  outcome: string;
  text: string;
  took_ns: number;
  window: Interval | null;
  baseline: Interval | null;
  sampled_one_in: number;
}

/** An operation that makes requests slow, as the server noticed. */
export interface Alert {
  id: string;
  state: "firing" | "pending" | "resolved";
  service: string;
  operation: string;
  summary: string;
  categories: { id: string; service: string; operation: string }[];
  replicas: string[];
  since_ns: number;
  resolved_ns: number | null;
  /** Why it is over. */
  ended: string | null;
  window: Interval;
  baseline: Interval;
}

export interface Alerts {
  enabled: boolean;
  every_ns: number;
  window_ns: number;
  last: Evaluation | null;
  last_evaluated: Evaluation | null;
  /** Whatever the window. */
  firing: number;
  receivers: { name: string; sent: number; failed: number }[];
  alerts: Alert[];
  omitted: number;
}

export type JobState = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface Job {
  id: string;
  question: string;
  state: JobState;
  created_ns: number;
  stage: string | null;
  done: number;
  total: number;
  /** The verdict in a word, once it is done. */
  verdict: string | null;
  /** Why it failed: a problem document. */
  problem: { title?: string; detail?: string } | null;
}
