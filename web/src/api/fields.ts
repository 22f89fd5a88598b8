// Settings of a question as fields of a form, kept in the address.

/** A setting that can be given. Its name is that of the command's long flag, and of the address's parameter. */
export interface Field {
  name: string;
  label: string;
  placeholder?: string;
  hint?: string;
  /** Several, with commas between. */
  many?: boolean;
  needed?: boolean;
  choices?: { value: string; words: string }[];
  /** Stands under "More settings". */
  rare?: boolean;
}

/** Settings of a question, by name. */
export type RawSettings = Record<string, string | string[]>;

/** The settings that `value` gives to fields; empty ones are left out. */
export function settingsOf(fields: Field[], value: (name: string) => string): RawSettings {
  const given: RawSettings = {};
  for (const field of fields) {
    const text = value(field.name).trim();
    if (text === "") continue;
    given[field.name] = field.many ? text.split(",").map((part) => part.trim()).filter(Boolean) : text;
  }
  return given;
}

/** The fields that must be given and are not. */
export function lacking(fields: Field[], value: (name: string) => string): Field[] {
  return fields.filter((field) => field.needed && value(field.name).trim() === "");
}

/** What samples are made windows with: of changes, signatures and capacity. */
export const SAMPLE_FIELDS: Field[] = [
  { name: "window", label: "Window length", placeholder: "60s", hint: "60s, 5m, 500ms" },
  { name: "tier", label: "Tiers", placeholder: "all", many: true, hint: "commas between several" },
  { name: "server", label: "Servers", placeholder: "all", many: true, hint: "replicas, pods or hosts" },
  { name: "front", label: "Front tier", hint: "the tier that clients call", rare: true },
  { name: "cores", label: "Cores", many: true, hint: "4, app=4, db-1=1.5", rare: true },
  {
    name: "utilization",
    label: "Utilization values are",
    rare: true,
    choices: [
      { value: "", words: "recognized" },
      { value: "fraction", words: "0 to 1" },
      { value: "percent", words: "0 to 100" },
      { value: "cores", words: "cores in use" },
    ],
  },
  { name: "deployment", label: "Deployments", many: true, hint: "2026-01-12T09:10:00Z=v1.4", rare: true },
];
