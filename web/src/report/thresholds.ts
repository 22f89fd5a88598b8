// Thresholds in the address: `cv-min=1.5 tail-mad=4`, as one would type them after the command, dashes in front or not.

/** A setting as the API takes it: a number where it reads as one. */
export function typed(text: string): string | number {
  return /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? Number(text) : text;
}

/** Name and value of each; words without a value are switches. Names are those of long flags. */
export function thresholds(text: string): Record<string, string | number | boolean> {
  const found: Record<string, string | number | boolean> = {};
  const words = text.split(/[\s,]+/).filter(Boolean);
  for (let at = 0; at < words.length; at += 1) {
    const [, dashes = "", name = "", value] = /^(-{0,2})([a-z][a-z0-9-]*)(?:=(.*))?$/.exec(words[at] ?? "") ?? [];
    if (!name) continue;
    const next = words[at + 1];
    const apart = value === undefined && dashes !== "" && next !== undefined && !next.startsWith("--");
    if (apart) at += 1;
    found[name] = value !== undefined ? typed(value) : apart ? typed(next) : true;
  }
  return found;
}
