// Signing out: the page, and its form.
import type { signOnOperations } from '../../contract/sign-on.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import { type ReadBrowser, toSignOutPurpose } from './browser.ts';
import type { Cookies } from './cookies.ts';
import { STALE, toMessagePage, toSignOutPage } from './pages.ts';
import { sendPage, sendRedirect } from './send-page.ts';
import type { SessionStore } from './session-store.ts';

export interface SignOutHandlerDeps {
  readonly readBrowser: ReadBrowser;
  readonly sessions: Pick<SessionStore, 'end'>;
  readonly cookies: Cookies;
}

type Operations = Pick<typeof signOnOperations, 'showSignOut' | 'signOut'>;

export function createSignOutHandlers({
  readBrowser,
  sessions,
  cookies,
}: SignOutHandlerDeps): Handlers<Operations, Principal> {
  return {
    async showSignOut({ request }, response) {
      const browser = await readBrowser(request);
      const html = toSignOutPage(browser.user, browser.toFormToken(toSignOutPurpose(browser)));
      sendPage(response, { status: 200, html, cookies: browser.cookies });
    },
    async signOut({ request, body }, response) {
      const browser = await readBrowser(request);
      if (!browser.madeForm(body.form_token, toSignOutPurpose(browser))) {
        sendPage(response, { status: 403, html: toMessagePage('Not signed out', STALE) });
        return;
      }
      if (browser.session !== undefined) await sessions.end(browser.session);
      sendRedirect(response, '/oauth/sign-out', [cookies.write('session', undefined, 0)]);
    },
  };
}
