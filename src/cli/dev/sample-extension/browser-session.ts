// Who a browser is at the sample: what the platform said at the sign-on, for an hour.
import { z } from 'zod';
import { userRole } from '../../../contract/sign-on.ts';
import type { SignedCookie } from '../../../provider/index.ts';

export const SESSION = 'sample_session';

const browserSession = z.object({ name: z.string(), role: userRole, organization_id: z.string() });
export type BrowserSession = z.infer<typeof browserSession>;

/** Undefined for a browser that has not signed on. */
export function readBrowserSession(cookie: SignedCookie, header: string | undefined): BrowserSession | undefined {
  return browserSession.safeParse(cookie.read(header, SESSION)).data;
}
