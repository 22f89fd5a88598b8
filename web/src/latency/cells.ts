// Cells of a map of latencies, and the part of it that is selected: pure, so that it can be tested.

import type { LatencyMap } from "../api/generated.ts";

/** A cell: column of time, row of latency. */
export interface Cell {
  column: number;
  row: number;
}

/** What a selection is, as the API has it. Without an end it is open there. */
export interface SelectedPart {
  /** Nanoseconds since the Unix epoch, exactly. */
  selected_since: string;
  selected_until: string;
  min_ns: string;
  max_ns: string;
}

/** Names of the parameters of a selection in the address. */
export const PARAMETERS = ["selected_since", "selected_until", "min_ns", "max_ns"] as const;

const whole = (ns: number): string => `${BigInt(Math.round(ns))}`;

/** The part between two cells, both included. */
export function partOf(map: LatencyMap, a: Cell, b: Cell): SelectedPart {
  const [first, last] = [Math.min(a.column, b.column), Math.max(a.column, b.column)];
  const [low, high] = [Math.min(a.row, b.row), Math.max(a.row, b.row)];
  return {
    selected_since: whole(map.since_ns + first * map.column_ns),
    selected_until: whole(map.since_ns + (last + 1) * map.column_ns - 1),
    min_ns: low === 0 ? "" : whole(map.edges_ns[low] ?? 0),
    max_ns: high >= map.counts.length - 1 ? "" : whole((map.edges_ns[high + 1] ?? 1) - 1),
  };
}

/** A rectangle in shares of the map, from the left and from the bottom. */
export interface Rectangle {
  left: number;
  right: number;
  bottom: number;
  top: number;
}

/** Where a part lies on the map; `null` when it does not touch it. */
export function rectangleOf(map: LatencyMap, part: SelectedPart): Rectangle | null {
  if (part.selected_since === "" || map.counts.length === 0) return null;
  const share = (ns: number) => Math.min(Math.max((ns - map.since_ns) / (map.column_ns * map.columns), 0), 1);
  const row = (ns: string, open: number) => (ns === "" ? open : rowShare(map.edges_ns, Number(ns)));
  const found = {
    left: share(Number(part.selected_since)),
    right: share(Number(part.selected_until)),
    bottom: row(part.min_ns, 0),
    top: row(part.max_ns, 1),
  };
  return found.right > found.left && found.top > found.bottom ? found : null;
}

/** How far up a latency is. */
function rowShare(edges: number[], ns: number): number {
  const above = edges.findIndex((edge) => edge > ns);
  const rows = edges.length - 1;
  if (above === 0) return 0;
  if (above < 0) return 1;
  const [low, high] = [edges[above - 1] ?? 0, edges[above] ?? 1];
  return (above - 1 + (ns - low) / (high - low)) / rows;
}

/** The cells that the keyboard has: where it is, and where its selection began. */
export interface CellSelection {
  at: Cell;
  from: Cell | null;
}

export type CellPress = { kind: "moved"; selection: CellSelection } | { kind: "selected"; a: Cell; b: Cell } | { kind: "cleared" } | { kind: "ignored" };

const MOVES: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [0, 5], PageDown: [0, -5] };

/** What a key does. */
export function pressCell(selection: CellSelection | null, key: string, shift: boolean, columns: number, rows: number): CellPress {
  if (columns === 0 || rows === 0) return { kind: "ignored" };
  if (key === "Escape") return { kind: "cleared" };
  if (key === "Enter") return selection ? { kind: "selected", a: selection.from ?? selection.at, b: selection.at } : { kind: "ignored" };
  const move = key === "Home" ? [-columns, 0] : key === "End" ? [columns, 0] : MOVES[key];
  if (!move) return { kind: "ignored" };
  if (!selection) return { kind: "moved", selection: { at: { column: columns - 1, row: rows - 1 }, from: null } };
  const within = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
  const at = { column: within(selection.at.column + (move[0] ?? 0), columns), row: within(selection.at.row + (move[1] ?? 0), rows) };
  return { kind: "moved", selection: { at, from: shift ? (selection.from ?? selection.at) : null } };
}
