// Paths to pages.

/** The parts a path gives to a pattern's names; `null` when it does not fit. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const expected = pattern.split("/").filter(Boolean);
  const actual = path.split("/").filter(Boolean);
  if (expected.length !== actual.length) return null;
  const parts: Record<string, string> = {};
  for (const [at, part] of expected.entries()) {
    const text = decode(actual[at] ?? "");
    if (text === null) return null;
    if (part.startsWith(":")) parts[part.slice(1)] = text;
    else if (part !== text) return null;
  }
  return parts;
}

/** `null` for a broken escape, which anybody can put into an address. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
