// The answer of `laggard compare` as docs/manual/json/compare.md tells it: what the pages use of it.

import type { ReportWindow } from "./report.ts";
import type { Loss } from "./types.ts";

/** One of the two sets. */
export interface ComparedSet {
  label: string;
  window: ReportWindow | null;
  input: { spans: number; traces: number; requests: number; losses: Record<string, Loss> };
}

/** A difference with its 95 % interval. */
export interface Part {
  change_ns: number;
  low_ns: number;
  high_ns: number;
  p_value: number | null;
}

/** The change of a mean latency; the four parts sum to `total`. */
export interface LatencyChange {
  before_ns: number;
  after_ns: number;
  total: Part;
  same_requests: Part;
  mix: Part;
  new_shapes: Part;
  vanished_shapes: Part;
}

export interface Entry {
  service: string;
  operation: string;
  requests_before: number;
  requests_after: number;
  latency: LatencyChange | null;
}

export type Change = "slower" | "faster" | "more-calls" | "fewer-calls" | "new" | "vanished" | "none";

export interface OperationFigures {
  requests: number;
  calls: number;
  self_per_call_ns: number;
  self_per_request_ns: number;
  calls_per_request: number;
}

export interface Tested {
  median_before: number;
  median_after: number;
  shift: number;
  low: number | null;
  high: number | null;
  ratio: number | null;
  p_value: number | null;
  effect: number;
  compared_within: string;
  significant: boolean;
}

export interface OperationChange {
  service: string;
  operation: string;
  kind: string;
  change: Change;
  before: OperationFigures | null;
  after: OperationFigures | null;
  change_per_request_ns: number;
  time: Tested | null;
  calls: Tested | null;
}

export interface ShapeDifference {
  path: string[];
  calls_before: number;
  calls_after: number;
}

export interface ShapeChange {
  id: string;
  service: string;
  operation: string;
  fate: "new" | "vanished" | "grown" | "shrunk";
  requests_before: number;
  requests_after: number;
  latency_before_ns: number | null;
  latency_after_ns: number | null;
  p_value: number | null;
  significant: boolean;
  nearest: string | null;
  similarity: number | null;
  differences: ShapeDifference[];
  trace_ids: string[];
}

export interface PathFigures {
  requests: number;
  calls: number;
  self_ns: number;
  tree_ns: number;
  self_p50_ns: number;
}

/** A node of the differential call tree; nodes stand in depth-first pre-order. */
export interface PathChange {
  parent: number | null;
  service: string;
  operation: string;
  kind: string;
  before: PathFigures;
  after: PathFigures;
  share: number | null;
  p_value: number | null;
  change: Change;
}

export interface Comparison {
  verdict: "slower" | "faster" | "changed" | "unchanged" | "insufficient-data";
  headline: string;
  before: ComparedSet;
  after: ComparedSet;
  latency: LatencyChange | null;
  entries: Entry[];
  operations: OperationChange[];
  shapes: ShapeChange[];
  shapes_seen: number;
  paths: PathChange[];
  ruled_out: string[];
  cautions: string[];
  settings: { name: string; value: string }[];
}
