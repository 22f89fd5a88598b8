// What is drawn of a call tree besides its nodes.

/** A position of a tree, of a report or of the API. */
export interface TreeLike {
  parent: number | null;
  service: string;
  operation: string;
  self_p50_ns: number;
  self_p99_ns: number;
  calls_mean: number | null;
  suspect?: number | null;
  slow_requests?: number;
  share?: number | null;
}

export interface TreeShape {
  depths: number[];
  /** Positions that are a suspect or lead to one. */
  ways: Set<number>;
  /** The scale of the bars, in nanoseconds; never 0. */
  longest: number;
}

/** A parent stands before its child; a tree that breaks this is drawn flat there. */
export function shapeOf(nodes: TreeLike[]): TreeShape {
  const parent = (position: number) => {
    const above = nodes[position]?.parent;
    return above != null && above < position ? above : null;
  };
  const depths: number[] = [];
  for (let position = 0; position < nodes.length; position += 1) {
    const above = parent(position);
    depths.push(above === null ? 0 : (depths[above] ?? 0) + 1);
  }
  const ways = new Set<number>();
  nodes.forEach((node, position) => {
    if (node.suspect == null) return;
    for (let at: number | null = position; at !== null && !ways.has(at); at = parent(at)) ways.add(at);
  });
  const longest = nodes.reduce((most, node) => Math.max(most, node.self_p99_ns, node.self_p50_ns), 1);
  return { depths, ways, longest };
}
