// Columns of a table and their order.

/** A column. What it shows is `text`, or drawn by the table's `cell`. */
export interface Column<T> {
  id: string;
  title: string;
  /** Right-aligned, and sorted from the largest down first. */
  number?: boolean;
  /** Never wrapped, except on a phone. */
  word?: boolean;
  /** On a phone: alone on its line, without its title. */
  lead?: boolean;
  /** Left out on a phone. */
  wide?: boolean;
  hint?: string;
  text?: (row: T) => string;
  /** What it is sorted by; without it the column cannot be sorted. Unknown values come last. */
  value?: (row: T) => number | string | null | undefined;
}

export interface Order {
  column: string;
  direction: "ascending" | "descending";
}

const collator = new Intl.Collator("en", { numeric: true });

/** Rows in an order; equal ones stay as they are, unknown values come last either way. */
export function ordered<T>(rows: T[], columns: Column<T>[], order: Order | undefined): T[] {
  const value = columns.find((column) => column.id === order?.column)?.value;
  if (!order || !value) return rows;
  const sign = order.direction === "ascending" ? 1 : -1;
  const keyed = rows.map((row) => ({ row, key: value(row) ?? null }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
    if (typeof a.key === "number" && typeof b.key === "number") return sign * (a.key - b.key);
    return sign * collator.compare(String(a.key), String(b.key));
  });
  return keyed.map((each) => each.row);
}
