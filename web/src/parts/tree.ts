// Trees as lists of rows, parents before children, as a page shows them.

/** A row of a tree. */
export interface TreeRow<T> {
  /** Place in the list. */
  at: number;
  /** Place of the parent; -1 for a root. Always smaller than `at`. */
  parent: number;
  /** Roots have 0. */
  level: number;
  children: number;
  /** Rows below, at any depth. */
  below: number;
  value: T;
}

/** Rows of values whose parents come before them; `parent` gives a place or -1. Any other parent counts as none. */
export function treeRows<T>(values: T[], parent: (value: T, at: number) => number): TreeRow<T>[] {
  const rows: TreeRow<T>[] = [];
  for (const [at, value] of values.entries()) {
    const given = parent(value, at);
    const known = given >= 0 && given < at ? given : -1;
    rows.push({ at, parent: known, level: known < 0 ? 0 : (rows[known]?.level ?? 0) + 1, children: 0, below: 0, value });
  }
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at];
    const above = row && rows[row.parent];
    if (!row || !above) continue;
    above.children += 1;
    above.below += row.below + 1;
  }
  return rows;
}

/** The rows that no folded row hides; rows must stand in depth-first order. */
export function unfolded<T>(rows: TreeRow<T>[], folded: (row: TreeRow<T>) => boolean): TreeRow<T>[] {
  const shown: TreeRow<T>[] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at];
    if (!row) break;
    shown.push(row);
    at += row.children > 0 && folded(row) ? row.below + 1 : 1;
  }
  return shown;
}

/** Which rows to draw of a long list that is scrolled: from `first` up to but without `last`. */
export function seen(count: number, height: number, top: number, viewHeight: number): { first: number; last: number } {
  const before = 8;
  const first = Math.max(0, Math.min(Math.floor(top / height) - before, count - 1));
  return { first, last: Math.min(count, Math.ceil((top + viewHeight) / height) + before) };
}
