// Who asks. The server keeps the token behind a cookie that no script can read.

import { get, send, apiPath } from "./client.ts";

/** What the server says of this browser. */
export interface Session {
  /** Whether somebody has to log in. */
  required: boolean;
  logged_in: boolean;
  name: string | null;
  read: boolean;
  write: boolean;
  /** Where tenants are kept apart: the header that names one. */
  tenant_header: string | null;
  tenant: string | null;
}

export const session = (): Promise<Session> => get<Session>("/session");

/** Shows a token once. */
export async function logIn(token: string, tenant: string): Promise<void> {
  const shown = tenant ? { token, tenant } : { token };
  await send(apiPath("/session"), { method: "POST", body: JSON.stringify(shown), headers: { "content-type": "application/json" } });
}

export async function logOut(): Promise<void> {
  await send(apiPath("/session"), { method: "DELETE" });
}
