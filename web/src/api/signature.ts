// Signatures and their differences as docs/manual/json/signature.md tells them: what the pages use of them.

export interface SignatureTransaction {
  transaction: string;
  count: number;
  share: number;
  service_time_s: number | null;
  standard_error_s: number | null;
  windows: number;
  demand_s: number | null;
  demand_standard_error_s: number | null;
}

export interface SignatureServer {
  server: string;
  tier: string;
  cores: number;
  cores_known: boolean;
  windows: number;
  utilization_mean: number | null;
  constant_percent: number | null;
  model_error: number | null;
  transactions: SignatureTransaction[];
}

export interface Signature {
  report: "signature";
  label: string;
  verdict: "usable" | "insufficient-data";
  headline: string;
  since_ns: number;
  until_ns: number;
  window_s: number;
  count_min: number;
  utilization_max: number;
  servers: SignatureServer[];
  cautions: string[];
  missing: string[];
}

export type Fate = "slower" | "faster" | "new" | "removed" | "not-judged" | "same";

export interface TransactionDifference {
  server: string;
  tier: string;
  transaction: string;
  fate: Fate;
  reason: string | null;
  before_s: number | null;
  after_s: number | null;
  difference_s: number | null;
  standard_error_s: number | null;
  detectable_s: number | null;
  windows_before: number;
  windows_after: number;
}

export interface SignatureDifference {
  report: "signature-diff";
  verdict: "slower" | "faster" | "same" | "insufficient-data";
  headline: string;
  old: { file: string; label: string; since: string; until: string };
  new: { file: string; label: string; since: string; until: string };
  counts: { slower: number; faster: number; new: number; removed: number; not_judged: number; same: number };
  transactions: TransactionDifference[];
  cautions: string[];
  missing: string[];
}
