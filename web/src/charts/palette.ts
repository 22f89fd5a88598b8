// Colours for drawing on canvas, from the tokens of the style sheet.

import { colour } from "../app/theme.svelte.ts";
import { mixed, type Rgb, rgbOf } from "./scale.ts";

/** Colours of series that are told apart. */
export const SERIES = 8;

export function seriesColour(at: number): string {
  return colour(`s${at % SERIES}`);
}

/** The eight steps of the heat scale. */
export function heatSteps(): Rgb[] {
  return Array.from({ length: 8 }, (_, at) => rgbOf(colour(`h${at}`)));
}

/** A colour between the steps, for 0..1. */
export function heat(steps: Rgb[], value: number): Rgb {
  const at = Math.min(Math.max(value, 0), 1) * (steps.length - 1);
  const low = Math.min(Math.floor(at), steps.length - 2);
  return mixed(steps[low] as Rgb, steps[low + 1] as Rgb, at - low);
}
