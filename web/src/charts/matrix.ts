// The request x invocation matrix and its parts as pictures: pure, so that it can be tested.

import type { RequestMatrix } from "../api/generated.ts";
import { logShare, type Rgb } from "./scale.ts";

/** How rows can be ordered. */
export const ORDERS = [
  { id: "time", name: "Start" },
  { id: "latency", name: "Latency" },
  { id: "excess", name: "Excess" },
] as const;

export type OrderId = (typeof ORDERS)[number]["id"];

/** Values this much smaller than the largest have the lightest color. */
const SPREAD = 10_000;

/** The ends of the scale that all three parts share, in nanoseconds. */
export interface Ends {
  low: number;
  high: number;
}

export function endsOf(matrix: RequestMatrix): Ends {
  let high = 1;
  for (const part of [matrix.original, matrix.low_rank, matrix.sparse]) {
    for (const row of part) for (const value of row) if (value > high) high = value;
  }
  return { low: Math.max(1, high / SPREAD), high };
}

/** Sum of what a request spent beyond the usual. */
export function excessOf(row: number[] | undefined): number {
  return (row ?? []).reduce((sum, value) => sum + Math.max(value, 0), 0);
}

/** Indices of the rows in an order; equal ones by their index. */
export function rowOrder(matrix: RequestMatrix, order: OrderId): number[] {
  const key = {
    time: (row: number) => matrix.requests[row]?.start_ns ?? 0,
    latency: (row: number) => -(matrix.requests[row]?.latency_ns ?? 0),
    excess: (row: number) => -excessOf(matrix.sparse[row]),
  }[order];
  const keyed = matrix.requests.map((_, row) => ({ row, key: key(row) }));
  keyed.sort((a, b) => a.key - b.key || a.row - b.row);
  return keyed.map((each) => each.row);
}

/** The colors of a picture: what is above nothing, and what is below. */
export interface Inks {
  /** For 0..1. */
  more: (share: number) => Rgb;
  less: (share: number) => Rgb;
}

/** Four bytes a cell, rows in that order. */
export function pixels(values: number[][], order: number[], columns: number, ends: Ends, inks: Inks): Uint8ClampedArray<ArrayBuffer> {
  const bytes = new Uint8ClampedArray(order.length * columns * 4);
  const shades = shadesOf(inks);
  let at = 0;
  for (const row of order) {
    const cells = values[row] ?? [];
    for (let column = 0; column < columns; column += 1) {
      const value = cells[column] ?? 0;
      const share = logShare(Math.abs(value), ends.low, ends.high);
      const ink = (value < 0 ? shades.less : shades.more)[Math.round(share * 255)] as Rgb;
      bytes[at] = ink.red;
      bytes[at + 1] = ink.green;
      bytes[at + 2] = ink.blue;
      bytes[at + 3] = 255;
      at += 4;
    }
  }
  return bytes;
}

function shadesOf(inks: Inks): { more: Rgb[]; less: Rgb[] } {
  const all = (ink: (share: number) => Rgb) => Array.from({ length: 256 }, (_, at) => ink(at / 255));
  return { more: all(inks.more), less: all(inks.less) };
}

/** What a position adds to slow requests. */
export interface PositionExcess {
  column: number;
  position: number;
  service: string;
  operation: string;
  /** Over all requests of the matrix, in nanoseconds. */
  excess_ns: number;
  /** Of the excess of all positions. */
  share: number;
  /** Requests with any excess here. */
  requests: number;
  /** Whether the diagnosis flags it. */
  flagged: boolean;
}

/** Every position with an excess, the largest first. */
export function positionExcesses(matrix: RequestMatrix): PositionExcess[] {
  const found = matrix.positions.map((position, column) => ({ ...position, column, excess_ns: 0, share: 0, requests: 0 }));
  for (const row of matrix.sparse) {
    for (const one of found) {
      const value = row[one.column] ?? 0;
      if (value <= 0) continue;
      one.excess_ns += value;
      one.requests += 1;
    }
  }
  const whole = found.reduce((sum, one) => sum + one.excess_ns, 0);
  for (const one of found) one.share = whole > 0 ? one.excess_ns / whole : 0;
  return found.filter((one) => one.excess_ns > 0).sort((a, b) => b.excess_ns - a.excess_ns || a.column - b.column);
}
