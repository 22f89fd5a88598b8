// Drawing of heat maps on canvas: tens of thousands of cells are too many for elements.

import type { HeatMap, Prose } from "../api/generated.ts";
import { color, shapeColor } from "../app/theme.svelte.ts";
import { fitted } from "../charts/canvas.ts";
import { label } from "../format/names.ts";
import { plainText } from "./links.ts";

/** Height of a row in CSS pixels; the style sheet of the row titles says the same. */
export const ROW = 24;

/** Narrower columns do not get a title each, and narrower cells no letter. */
const TITLE_MIN = 13;
const TITLE_LENGTH = 18;
const FONT = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const LETTER = 6.7;
const SLOPE = (50 * Math.PI) / 180;

/** Sizes in CSS pixels. */
export interface Layout {
  rows: number;
  columns: number;
  cell: number;
  /** Height of the slanted titles above the cells. */
  titles: number;
  width: number;
  height: number;
}

export const title = (prose: Prose): string => label(plainText(prose), TITLE_LENGTH);

export function layoutOf(map: HeatMap, rows: number, width: number): Layout {
  const columns = map.columns.length;
  const longest = Math.max(0, ...map.columns.map((column) => Array.from(title(column)).length));
  const titles = longest === 0 ? 4 : Math.ceil(longest * LETTER * Math.sin(SLOPE)) + 14;
  const cell = Math.min(Math.max(Math.floor((width - titles) / columns), 5), 44);
  return { rows, columns, cell, titles, width: cell * columns + titles, height: titles + rows * ROW };
}

export function drawHeatMap(canvas: HTMLCanvasElement, map: HeatMap, layout: Layout): void {
  const ctx = fitted(canvas, layout.width, layout.height);
  if (!ctx) return;
  const colors = new Map([...new Set(map.cells.map((cell) => cell?.color ?? ""))].map((name) => [name, name ? shapeColor(name) : color("muted")]));
  const [flag, ink] = [color("flag"), color("on-state")];
  drawTitles(ctx, map, layout);
  const [wide, high] = [layout.cell - 1, ROW - 1];
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (let row = 0; row < layout.rows; row += 1) {
    for (let column = 0; column < layout.columns; column += 1) {
      const [x, y] = [column * layout.cell, layout.titles + row * ROW];
      const cell = map.cells[row * layout.columns + column];
      ctx.fillStyle = colors.get(cell?.color ?? "") ?? "";
      ctx.globalAlpha = cell?.pale ? 0.6 : 1;
      if (cell) ctx.fillRect(x, y, wide, high);
      else if (map.empty_label) ctx.fillRect(x + wide / 2 - 1, y + high / 2 - 1, 2, 2);
      ctx.globalAlpha = 1;
      if (cell?.symbol && wide >= 9) {
        ctx.fillStyle = ink;
        ctx.fillText(cell.symbol, x + wide / 2, y + high / 2 + 1);
      }
      if (!cell?.framed) continue;
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
    const wanted = layout.cell >= TITLE_MIN || hasFrame(map, layout, column);
    if (!wanted || x < free) continue;
    free = x + TITLE_MIN;
    ctx.save();
    ctx.translate(x, layout.titles - 6);
    ctx.rotate(-SLOPE);
    ctx.fillText(title(map.columns[column] ?? []), 0, 0);
    ctx.restore();
  }
}

function hasFrame(map: HeatMap, layout: Layout, column: number): boolean {
  return Array.from({ length: layout.rows }).some((_, row) => map.cells[row * layout.columns + column]?.framed);
}
