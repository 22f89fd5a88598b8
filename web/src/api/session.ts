// The login. The server stores the token behind a cookie that no script can read.

import { get, send, apiPath } from "./client.ts";

/** The login of this browser. */
export interface Session {
  /** Whether a login is required. */
  required: boolean;
  logged_in: boolean;
  name: string | null;
  read: boolean;
  write: boolean;
  /** With several tenants: the header that names one. */
  tenant_header: string | null;
  tenant: string | null;
}

export const session = (): Promise<Session> => get<Session>("/session");

/** Sends a token once. */
export async function logIn(token: string, tenant: string): Promise<void> {
  const body = tenant ? { token, tenant } : { token };
  await send(apiPath("/session"), { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
}

export async function logOut(): Promise<void> {
  await send(apiPath("/session"), { method: "DELETE" });
}
