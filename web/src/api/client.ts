// Requests to the API. Errors are values of one kind, with words that say what to do.

/** What went wrong, as a problem document (RFC 9457) says it or as this device saw it. */
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
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, `${value}`])).toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

let refused: () => void = () => {};

/** What to do when the server wants to know who asks. */
export function onRefused(run: () => void): void {
  refused = run;
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
  if (response.status === 401 && path !== apiPath("/session")) refused();
  if (!response.ok) throw await problem(response);
  return response;
}

/** Reads an answer of the API. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(apiPath(path, query), { signal: signal ?? null });
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
    const told = JSON.parse(text) as { title?: unknown; detail?: unknown };
    const detail = typeof told.detail === "string" ? told.detail : "";
    return new ApiError(response.status, typeof told.title === "string" ? told.title : title, detail.slice(0, DETAIL_MAX));
  } catch {
    return new ApiError(response.status, title, text.startsWith("<") ? "" : text.slice(0, DETAIL_MAX));
  }
}

/** Any error in words. */
export function told(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "This page failed", error instanceof Error ? error.message : String(error));
}
