// How much of the excess latency each service explains, by the suspects of a diagnosis.

import type { Document } from "../api/generated.ts";

/** A suspect in the table of a report. */
export interface ExplainedBy {
  /** Its place in the table, from 1. */
  rank: number;
  service: string;
  operation: string;
  /** Of the excess latency, 0 to 1; `null` where there is none to measure. */
  share: number | null;
}

/** The suspects of a report. */
export function explainedBy(document: Document | undefined): ExplainedBy[] {
  const blocks = document?.sections.find((section) => section.id === "suspects")?.blocks ?? [];
  const table = blocks.map((block) => block.content).find((content) => content.type === "table");
  const column = (title: string) => table?.columns.findIndex((one) => one.title === title) ?? -1;
  const [name, share] = [column("operation"), column("explains")];
  return (table?.rows ?? []).map((row, at) => {
    const text = (style: string) => row.cells[name]?.text.find((span) => span.style === style)?.text ?? "";
    return { rank: at + 1, service: text("service"), operation: text("operation"), share: row.cells[share]?.value ?? null };
  });
}

/** The share of each service that has a suspect, at most 1; 0 for suspects without a share. */
export function shareByService(suspects: ExplainedBy[]): Map<string, number> {
  const shares = new Map<string, number>();
  for (const { service, share } of suspects) shares.set(service, Math.min((shares.get(service) ?? 0) + (share ?? 0), 1));
  return shares;
}

/** The step of the heat scale of a share, 0 to 7: only nothing at all is 0. */
export const heatOf = (share: number | undefined): number => (share === undefined ? 0 : Math.min(Math.max(Math.ceil(share * 7), 1), 7));
