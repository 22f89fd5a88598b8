// Settings of a question as fields of a form.

/** A setting, named like the command's long flag and the parameter of the address. */
export interface Field {
  name: string;
  label: string;
  placeholder?: string;
  hint?: string;
  /** Several, with commas between. */
  many?: boolean;
  required?: boolean;
  choices?: { value: string; label: string }[];
  /** Stands under "More settings". */
  rare?: boolean;
}

/** Files of a form: the part they go to. */
export interface FilePart {
  part: string;
  label: string;
  required?: boolean;
}

/** The page of a question, as the question declares it in `crates/app/params`. */
export interface QuestionForm {
  /** As in the API. */
  name: string;
  title: string;
  /** The key that goes to its page after `g`. */
  key?: string;
  introduction?: string;
  /** A command at the end of the introduction. */
  command?: string;
  button: string;
  fields: Field[];
  uploads: FilePart[];
}

/** The settings of fields with the values that a function returns; empty ones are left out. */
export function settingsOf(fields: Field[], value: (name: string) => string): Record<string, string | string[]> {
  const settings: Record<string, string | string[]> = {};
  for (const field of fields) {
    const text = value(field.name).trim();
    if (text === "") continue;
    settings[field.name] = field.many ? text.split(",").map((part) => part.trim()).filter(Boolean) : text;
  }
  return settings;
}

/** The required fields without a value. */
export function missing(fields: Field[], value: (name: string) => string): Field[] {
  return fields.filter((field) => field.required && value(field.name).trim() === "");
}
