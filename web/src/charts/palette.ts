// Colors for drawing on canvas, from the tokens of the style sheet.

import { color } from "../app/theme.svelte.ts";
import { mixed, type Rgb, rgbOf } from "./scale.ts";

/** Colors that can be distinguished. */
export const SERIES = 8;

export function seriesColor(at: number): string {
  return color(`s${at % SERIES}`);
}

/** The eight steps of the heat scale. */
export function heatSteps(): Rgb[] {
  return Array.from({ length: 8 }, (_, at) => rgbOf(color(`h${at}`)));
}

/** A color between the steps, for 0..1. */
export function heat(steps: Rgb[], value: number): Rgb {
  const at = Math.min(Math.max(value, 0), 1) * (steps.length - 1);
  const low = Math.min(Math.floor(at), steps.length - 2);
  return mixed(steps[low] as Rgb, steps[low + 1] as Rgb, at - low);
}
