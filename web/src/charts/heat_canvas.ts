// Drawing of the heat map.

import { color } from "../app/theme.svelte.ts";
import type { HeatMap } from "../api/report.ts";
import { label } from "../format/names.ts";
import { fitted } from "./canvas.ts";
import { factorStep } from "./scale.ts";

/** Height of a row in CSS pixels; the style sheet of the row titles says the same. */
export const ROW = 24;

/** Columns narrower than this have no room for a title each. */
const TITLE_MIN = 13;
const TITLE_ROOM = 18;
const FONT = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const LETTER = 6.7;
const SLOPE = (50 * Math.PI) / 180;

/** Sizes in CSS pixels. */
export interface Layout {
  rows: number;
  columns: number;
  cell: number;
  /** Room above the cells for slanted titles. */
  titles: number;
  width: number;
  height: number;
}

export function layoutOf(map: HeatMap, rows: number, room: number): Layout {
  const columns = map.replicas.length;
  const longest = Math.max(4, ...map.replicas.map((name) => Array.from(label(name, TITLE_ROOM)).length));
  const titles = Math.ceil(longest * LETTER * Math.sin(SLOPE)) + 14;
  const cell = Math.min(Math.max(Math.floor((room - titles) / columns), 5), 44);
  return { rows, columns, cell, titles, width: cell * columns + titles, height: titles + rows * ROW };
}

export function drawHeat(canvas: HTMLCanvasElement, map: HeatMap, layout: Layout): void {
  const ctx = fitted(canvas, layout.width, layout.height);
  if (!ctx) return;
  const steps = Array.from({ length: 8 }, (_, step) => color(`h${step}`));
  const [flag, never] = [color("flag"), color("muted")];
  drawTitles(ctx, map, layout);
  const [wide, high] = [layout.cell - 1, ROW - 1];
  for (let row = 0; row < layout.rows; row += 1) {
    for (let column = 0; column < layout.columns; column += 1) {
      const [x, y] = [column * layout.cell, layout.titles + row * ROW];
      const cell = map.cells[row * layout.columns + column];
      ctx.fillStyle = cell ? (steps[factorStep(cell.factor)] ?? "") : never;
      if (cell) ctx.fillRect(x, y, wide, high);
      else ctx.fillRect(x + wide / 2 - 1, y + high / 2 - 1, 2, 2);
      if (!cell?.flagged) continue;
      ctx.strokeStyle = flag;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(x + 0.75, y + 0.75, wide - 1.5, high - 1.5);
    }
  }
}

function drawTitles(ctx: CanvasRenderingContext2D, map: HeatMap, layout: Layout): void {
  ctx.font = FONT;
  ctx.fillStyle = color("muted");
  let free = Number.NEGATIVE_INFINITY;
  for (let column = 0; column < layout.columns; column += 1) {
    const x = (column + 0.5) * layout.cell;
    const flagged = layout.cell >= TITLE_MIN || isFlagged(map, layout, column);
    if (!flagged || x < free) continue;
    free = x + TITLE_MIN;
    ctx.save();
    ctx.translate(x, layout.titles - 6);
    ctx.rotate(-SLOPE);
    ctx.fillText(label(map.replicas[column] ?? "", TITLE_ROOM), 0, 0);
    ctx.restore();
  }
}

function isFlagged(map: HeatMap, layout: Layout, column: number): boolean {
  return Array.from({ length: layout.rows }).some((_, row) => map.cells[row * layout.columns + column]?.flagged);
}
