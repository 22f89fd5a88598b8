// Requests to the API. All errors are of one type, with a sentence that says what to do.

import type { ProblemDocument } from "./generated.ts";

/** An error of the API (a problem document, RFC 9457) or of the connection. */
export class ApiError extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;

  constructor(status: number, title: string, detail: string) {
    super(detail ? `${title}: ${detail}` : title);
    this.name = "ApiError";
    this.status = status;
    this.title = title;
    this.detail = detail;
  }
}

/** Values of a query; empty ones are left out. */
export type Query = Record<string, string | number | boolean | null | undefined>;

/** `/api/v1` and a path with its query. */
export function apiPath(path: string, query: Query = {}): string {
  const present = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(present.map(([name, value]) => [name, `${value}`])).toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

let unauthorized: () => void = () => {};

/** What to do when the server requires a login. */
export function onUnauthorized(run: () => void): void {
  unauthorized = run;
}

let sampled: (oneIn: number) => void = () => {};

/** What to do when the server answers from a sample: it read one in so many requests of the window. */
export function onSampled(run: (oneIn: number) => void): void {
  sampled = run;
}

/** Sends a request and throws `ApiError` unless the answer is a success. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server cannot be reached", "Is `laggard serve` running, and the network up?");
  }
  if (response.status === 401 && path !== apiPath("/session")) unauthorized();
  if (!response.ok) throw await problem(response);
  return response;
}

/** Reads an answer of the API. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(apiPath(path, query), { signal: signal ?? null });
  const oneIn = Number(response.headers.get("laggard-sampled-one-in") ?? 1);
  if (oneIn > 1 && !signal?.aborted) sampled(oneIn);
  return (await response.json()) as T;
}

/** Sends JSON, or a form with files. */
export async function post(path: string, body: unknown, query: Query = {}, signal?: AbortSignal): Promise<Response> {
  const form = body instanceof FormData;
  const headers: HeadersInit = form ? {} : { "content-type": "application/json" };
  return send(apiPath(path, query), { method: "POST", body: form ? body : JSON.stringify(body), headers, signal: signal ?? null });
}

/** Longest detail that is shown. */
const DETAIL_MAX = 2000;

async function problem(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const title = response.statusText || `Status ${response.status}`;
  try {
    const problem = JSON.parse(text) as Partial<ProblemDocument>;
    return new ApiError(response.status, problem.title ?? title, (problem.detail ?? "").slice(0, DETAIL_MAX));
  } catch {
    return new ApiError(response.status, title, text.startsWith("<") ? "" : text.slice(0, DETAIL_MAX));
  }
}

/** Any error as one of this type. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "This page failed", error instanceof Error ? error.message : String(error));
}
