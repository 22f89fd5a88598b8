// One trace and the answers of a search, as docs/manual/api.md tells them.

import type { Loss } from "./types.ts";

export interface TraceRequest {
  start_ns: number;
  latency_ns: number;
  complete: boolean;
  /** Not there when it is not complete. */
  category?: string | null;
}

/** A span; spans stand in depth-first order. */
export interface TraceSpan {
  span: string;
  parent: string | null;
  service: string;
  operation: string;
  kind: string;
  replica: string;
  status: string;
  /** On the clock of its host. */
  start_ns: number;
  inclusive_ns: number;
  self_ns: number;
  /** Its part on the request's critical path. */
  path_ns: number;
  depth: number;
}

export interface Trace {
  trace: string;
  requests: TraceRequest[];
  spans: TraceSpan[];
  /** Spans that had no room. */
  omitted?: number;
  losses: Record<string, Loss>;
}

export interface TraceMatch {
  trace: string;
  service: string;
  operation: string;
  start_ns: number;
  latency_ns: number;
  spans: number;
  status: string;
  category?: string | null;
}

export interface SearchResult {
  traces: TraceMatch[];
  scanned: number;
  omitted: number;
}
