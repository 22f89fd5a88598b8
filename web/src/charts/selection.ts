// Selecting an interval of bins by keyboard: pure, so that it can be tested.

/** Where the cursor stands, and where a selection began; both are indices of bins. */
export interface Selection {
  at: number;
  from: number | null;
}

/** What a key does to it: a new selection, the end of a selection, or nothing. */
export type Pressed = { kind: "moved"; selection: Selection } | { kind: "selected"; first: number; last: number } | { kind: "ignored" };

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };

export function press(selection: Selection | null, key: string, shift: boolean, bins: number): Pressed {
  if (bins === 0) return { kind: "ignored" };
  const last = bins - 1;
  const now = selection ?? { at: last, from: null };
  if (key === "Enter" && now.from !== null) {
    return { kind: "selected", first: Math.min(now.at, now.from), last: Math.max(now.at, now.from) };
  }
  if (key === "Escape" && now.from !== null) return { kind: "moved", selection: { at: now.at, from: null } };
  const target = key === "Home" ? 0 : key === "End" ? last : STEPS[key] === undefined ? null : now.at + (STEPS[key] ?? 0);
  if (target === null) return { kind: "ignored" };
  const at = selection ? Math.min(last, Math.max(0, target)) : now.at;
  return { kind: "moved", selection: { at, from: shift ? (now.from ?? now.at) : null } };
}
