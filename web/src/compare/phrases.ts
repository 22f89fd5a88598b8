// Words and tones of a comparison.

import type { Change, Comparison, ShapeChange } from "../api/comparison.ts";

export type Tone = "bad" | "good" | "unsure" | "";

export const VERDICTS: Record<Comparison["verdict"], { words: string; tone: Tone }> = {
  slower: { words: "Slower", tone: "bad" },
  faster: { words: "Faster", tone: "good" },
  changed: { words: "Changed", tone: "unsure" },
  unchanged: { words: "No difference", tone: "good" },
  "insufficient-data": { words: "Too little data", tone: "unsure" },
};

export const CHANGES: Record<Change, { words: string; tone: Tone }> = {
  slower: { words: "slower", tone: "bad" },
  faster: { words: "faster", tone: "good" },
  "more-calls": { words: "more calls", tone: "bad" },
  "fewer-calls": { words: "fewer calls", tone: "good" },
  new: { words: "new", tone: "unsure" },
  vanished: { words: "vanished", tone: "unsure" },
  none: { words: "no change", tone: "" },
};

export const FATES: Record<ShapeChange["fate"], string> = { new: "new", vanished: "vanished", grown: "more frequent", shrunk: "less frequent" };
