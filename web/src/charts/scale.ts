// Scales: numbers to places and colors.

export interface Rgb {
  red: number;
  green: number;
  blue: number;
}

/** `#rrggbb` or `#rgb`; black for anything else. */
export function rgbOf(text: string): Rgb {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(text);
  const long = short ? `#${short.slice(1).map((digit) => digit + digit).join("")}` : text;
  const parts = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(long);
  const [red = 0, green = 0, blue = 0] = parts ? parts.slice(1).map((part) => Number.parseInt(part, 16)) : [];
  return { red, green, blue };
}

/** Between two colors: 0 is the first, 1 the second. */
export function mixed(a: Rgb, b: Rgb, part: number): Rgb {
  const between = (from: number, to: number) => Math.round(from + (to - from) * part);
  return { red: between(a.red, b.red), green: between(a.green, b.green), blue: between(a.blue, b.blue) };
}

/** WCAG's contrast ratio of two colors, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance({ red, green, blue }: Rgb): number {
  const linear = [red, green, blue].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** Where `value` lies on a logarithmic scale from `low` to `high`, as 0..1; 0 for nothing at all. */
export function logShare(value: number, low: number, high: number): number {
  if (!(value > 0) || !(high > low) || low <= 0) return 0;
  return Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low)));
}
