// Thresholds in the address: `cv-min=1.5 tail-mad=4`.

/** Name and value of each. */
export function settingsFromText(text: string): Record<string, string> {
  const pairs = text.split(/\s+/).flatMap((word) => {
    const [, name, value] = /^([a-z][a-z0-9-]*)=(.+)$/.exec(word) ?? [];
    return name && value ? [[name, value]] : [];
  });
  return Object.fromEntries(pairs);
}

/** The text of settings; those without a value are left out. */
export function settingsToText(settings: Record<string, string>): string {
  return Object.entries(settings).filter(([, value]) => value.trim() !== "").map(([name, value]) => `${name}=${value.trim()}`).join(" ");
}
