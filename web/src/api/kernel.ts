// The kernel reports as docs/manual/json/README.md tells them: what the pages use of them.

import type { Loss } from "./types.ts";

export interface KernelTrace {
  path: string;
  format: string;
  host: string | null;
  kernel: string | null;
  clock: string;
  cpus: number;
  events: number;
  bytes: number;
  since_ns: number;
  until_ns: number;
}

export interface KernelInput {
  traces: KernelTrace[];
  losses: Record<string, Loss>;
}

export interface Lane {
  thread: string;
  tid: number | null;
  host: string;
}

export interface PathSegment {
  lane: number;
  state: string;
  from_ns: number;
  to_ns: number;
  resource: string;
  inferred: boolean;
}

/** A path piece by piece; instants are nanoseconds from its beginning. */
export interface Timeline {
  title: string;
  execution: number | null;
  elapsed_ns: number;
  lanes: Lane[];
  pieces: PathSegment[];
  jumps: { from: number; to: number; at_ns: number; network: boolean }[];
  folded: number;
}

export interface Execution {
  number: number;
  label: string;
  thread: string;
  tid: number | null;
  elapsed_ns: number;
  dominant: string;
  dominant_ns: number;
  unresolved: number;
}

export interface KernelPath {
  report: "kernel-path";
  headline: string;
  question: string;
  input: KernelInput;
  executions: Execution[];
  executions_left_out: number;
  total_ns: number;
  causes: { cause: string; total_ns: number; share: number; pieces: number }[];
  workers: { thread: string; tid: number | null; own: boolean; total_ns: number; share: number }[];
  waits: { words: string; cause: string; thread: string; count: number; total_ns: number; share: number; longest_ns: number }[];
  longest: { words: string; cause: string; execution: number; thread: string; offset_ns: number; elapsed_ns: number }[];
  timelines: Timeline[];
  cautions: string[];
  missing: string[];
}

export interface ExecutionSet {
  source: string;
  executions: number;
  left_out: number;
  elapsed_p50_ns: number;
  elapsed_p95_ns: number;
  unresolved_share: number;
}

export interface KernelDiagnosis {
  report: "kernel-diagnosis";
  verdict: "slower" | "slower-overall" | "nothing-found" | "insufficient-data";
  headline: string;
  question: string;
  input: KernelInput;
  normal: ExecutionSet;
  sample: ExecutionSet;
  alphabet: { name: string; state: string; own: boolean }[];
  coarse: { letter: number | null; measure: string; normal_mean: number; sample_mean: number; p_value: number | null; fired: boolean }[];
  anomalous: { number: number; label: string; thread: string; elapsed_ns: number; expected_ns: number; excess_ns: number; words: string }[];
  waits: { words: string; thread: string; executions: number; excess_ns: number; share: number }[];
  steps: { words: string; kind: string; step: number; steps: number; after: string; executions: number; of_executions: number; excess_ns: number; share: number }[];
  alignments: Alignment[];
  timelines: Timeline[];
  cautions: string[];
  missing: string[];
  ruled_out: string[];
  method: string;
}

/** Sequences under each other; a `null` cell is a gap. */
export interface Alignment {
  cluster: number;
  columns: { step: number | null; letter: number | null; share: number; mean_ns: number }[];
  rows: { kind: "normal" | "anomalous"; execution: number; label: string; elapsed_ns: number; cells: ({ letter: number; ns: number; finding: string | null } | null)[] }[];
}

export interface KernelStats {
  report: "kernel-stats";
  headline: string;
  input: KernelInput;
  events: { name: string; count: number }[];
  cpus: { host: string; cpu: number; events: number; switches: number; busy_ns: number; idle_ns: number }[];
  threads: { thread: string; tid: number | null; running_ns: number; waiting_ns: number; switches: number; wakeups: number }[];
  threads_left_out: number;
  wakings: { waker: string; woken: string; count: number }[];
  delimiters: { name: string; count: number }[];
  cautions: string[];
}

export type KernelReport = KernelPath | KernelDiagnosis | KernelStats;
