// Where the services of a map stand: callers left of what they call. Pure, so that it can be tested.

import type { ServiceMap } from "../api/generated.ts";

/** Sizes in CSS pixels. */
export const NODE = { width: 168, height: 44, gapX: 64, gapY: 14 };

/** A service and its place. */
export interface PlacedService {
  name: string;
  /** Column and row, from 0. */
  column: number;
  row: number;
  x: number;
  y: number;
}

/** A map with its size in CSS pixels. */
export interface PlacedMap {
  services: PlacedService[];
  width: number;
  height: number;
}

/** Sweeps that order services by those that they are connected with. */
const SWEEPS = 4;

/** The map with callers left of callees, wherever they do not call each other in a circle. */
export function placed(map: Pick<ServiceMap, "services" | "links">): PlacedMap {
  const names = map.services.map((service) => service.name);
  const callees = grouped(map.links.map(({ caller, callee }) => [caller, callee]));
  const callers = grouped(map.links.map(({ caller, callee }) => [callee, caller]));
  const columns = columnsOf(names, callees, callers);
  const layers: string[][] = [];
  for (const name of names) (layers[columns.get(name) ?? 0] ??= []).push(name);
  const ordered = untangled(layers.map((layer) => layer ?? []), callees, callers);
  const most = Math.max(1, ...ordered.map((layer) => layer.length));
  const [stepX, stepY] = [NODE.width + NODE.gapX, NODE.height + NODE.gapY];
  const services = ordered.flatMap((layer, column) =>
    layer.map((name, row) => ({ name, column, row, x: column * stepX, y: (row + (most - layer.length) / 2) * stepY })),
  );
  return { services, width: Math.max(ordered.length, 1) * stepX - NODE.gapX, height: most * stepY - NODE.gapY };
}

function grouped(pairs: [string, string][]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [from, to] of pairs) {
    const known = groups.get(from);
    if (known) known.push(to);
    else groups.set(from, [to]);
  }
  return groups;
}

/** The column of every service: one more than that of its last caller, without the calls that close a circle. */
function columnsOf(names: string[], callees: Map<string, string[]>, callers: Map<string, string[]>): Map<string, number> {
  const order: string[] = [];
  const state = new Map<string, "open" | "done">();
  const position = new Map<string, number>();
  // Those that nobody calls first, so that circles are cut at their way back.
  const starts = [...names].sort((a, b) => Number(callers.has(a)) - Number(callers.has(b)));
  for (const start of starts) {
    const stack: { name: string; next: number }[] = state.has(start) ? [] : [{ name: start, next: 0 }];
    if (stack.length > 0) state.set(start, "open");
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const callee = (callees.get(top.name) ?? [])[top.next];
      top.next += 1;
      if (callee === undefined) {
        state.set(top.name, "done");
        order.push(top.name);
        stack.pop();
      } else if (!state.has(callee)) {
        state.set(callee, "open");
        stack.push({ name: callee, next: 0 });
      }
    }
  }
  order.reverse();
  for (const [at, name] of order.entries()) position.set(name, at);
  const columns = new Map<string, number>();
  for (const name of order) {
    const before = (callers.get(name) ?? []).filter((caller) => (position.get(caller) ?? Infinity) < (position.get(name) ?? 0));
    columns.set(name, Math.max(0, ...before.map((caller) => (columns.get(caller) ?? 0) + 1)));
  }
  return columns;
}

/** Orders the services of each column by the mean place of those that they are connected with. */
function untangled(layers: string[][], callees: Map<string, string[]>, callers: Map<string, string[]>): string[][] {
  const result = layers.map((layer) => [...layer]);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const place = new Map(result.flatMap((layer) => layer.map((name, row): [string, number] => [name, (row + 0.5) / layer.length])));
    const neighbors = sweep % 2 === 0 ? callers : callees;
    for (const layer of result) {
      const weight = new Map(layer.map((name) => [name, mean((neighbors.get(name) ?? []).flatMap((other) => place.get(other) ?? []), place.get(name) ?? 0)]));
      layer.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
    }
  }
  return result;
}

const mean = (values: number[], otherwise: number): number => (values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : otherwise);

const STEPS: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** Where an arrow key leads from a service: to the next in its column, or to the nearest in the next column. */
export function neighbor(services: PlacedService[], from: PlacedService | undefined, key: string): PlacedService | undefined {
  if (!from) return services[0];
  const [columns, rows] = STEPS[key] ?? [0, 0];
  if (rows !== 0) return services.find((one) => one.column === from.column && one.row === from.row + rows);
  const beside = services.filter((one) => columns !== 0 && one.column === from.column + columns);
  return beside.sort((a, b) => Math.abs(a.y - from.y) - Math.abs(b.y - from.y))[0];
}
