// What a browser carries through one sign-on at the platform, so that nobody else can end it: state, proof key and the resource.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readCookies, type SignedCookie } from './signed-cookie.ts';

const PREFIX = 'remora_sso_';
/** More at once than a person begins; more would make the header too long for servers. */
const FLOWS_MAX = 8;

const flow = z.object({
  state: z.string(),
  verifier: z.string(),
  resource_id: z.string(),
  organization_id: z.string(),
});
export type Flow = z.infer<typeof flow>;

export interface FlowCookies {
  /** Values of `Set-Cookie`. Each flow has a cookie of its own, so that two pages can be opened at once. */
  begin(header: string | undefined, flow: Flow): string[];
  /** The flow that this browser began with `state`; undefined for any other. */
  find(header: string | undefined, state: string): Flow | undefined;
  end(state: string): string[];
}

export function createFlowCookies(cookie: SignedCookie): FlowCookies {
  return {
    begin(header, begun) {
      const older = [...readCookies(header).keys()].filter((name) => name.startsWith(PREFIX));
      const ended = older.length < FLOWS_MAX ? [] : older.map((name) => cookie.end(name));
      return [...ended, cookie.set(toName(begun.state), begun)];
    },
    find(header, state) {
      const { data } = flow.safeParse(cookie.read(header, toName(state)));
      return data?.state === state ? data : undefined;
    },
    end: (state) => [cookie.end(toName(state))],
  };
}

/** Text of the caller gets into no name of a cookie. */
function toName(state: string): string {
  return PREFIX + createHash('sha256').update(state).digest('hex').slice(0, 16);
}
