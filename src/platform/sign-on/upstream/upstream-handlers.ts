// Signing in at an upstream OpenID provider: the way there, and the way back with a verified email address, which must be that of a user.
// Nothing is stored meanwhile: the browser keeps what it was about in a cookie that is sealed.
import type { IncomingMessage } from 'node:http';
import { type AuthorizeQuery, authorizeQuery, type signOnOperations } from '../../../contract/sign-on.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import type { Handlers } from '../../../http/handler.ts';
import type { Principal } from '../../tokens/principal.ts';
import { createWrongTokens } from '../../tokens/wrong-tokens.ts';
import type { UserStore } from '../../users/user-store.ts';
import type { Cookies } from '../cookies.ts';
import type { FormTokens } from '../form-tokens.ts';
import { toMessagePage } from '../pages.ts';
import { drawSecret } from '../secret-hash.ts';
import { sendPage, sendRedirect } from '../send-page.ts';
import type { StartSession } from '../start-session.ts';
import type { OpenIdFlow, OpenIdIssuer } from './open-id-issuer.ts';

export interface UpstreamHandlerDeps {
  /** Undefined where people sign in with a password only. */
  readonly issuer: OpenIdIssuer | undefined;
  readonly users: Pick<UserStore, 'findByEmail'>;
  readonly cookies: Cookies;
  readonly formTokens: FormTokens;
  readonly startSession: StartSession;
  readonly platformUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

type Operations = Pick<typeof signOnOperations, 'beginSignIn' | 'landOnSignIn'>;

/** How long somebody may take at the issuer. */
const FLOW_MS = 10 * 60_000;
const FAILED = 'You were not signed in. Please go back to the provider and try again.';

export function createUpstreamHandlers(deps: UpstreamHandlerDeps): Handlers<Operations, Principal> {
  const { issuer, users, cookies, formTokens, clock, log } = deps;
  const trials = createWrongTokens(() => clock.mono_ms());

  /** Everything that one way there and back is bound to comes from a random text that only this browser has. */
  function toFlow(kept: Secret): OpenIdFlow {
    const of = (purpose: string) => formTokens.create(kept, [purpose]);
    const redirect_uri = `${deps.platformUrl()}/oauth/sign-in/callback`;
    return { redirect_uri, state: of('state'), nonce: of('nonce'), verifier: of('verifier') };
  }

  /** `random.time.query.seal` */
  function seal(kept: Secret, query: AuthorizeQuery): Secret {
    const text = Buffer.from(JSON.stringify(query)).toString('base64url');
    const begun = String(clock.wall_ms());
    return new Secret([kept.reveal(), begun, text, formTokens.create(kept, ['way', begun, text])].join('.'));
  }

  function unseal(request: IncomingMessage): { readonly kept: Secret; readonly query: AuthorizeQuery } | undefined {
    const [random = '', begun = '', text = '', sealed = ''] = cookies.read(request, 'way')?.reveal().split('.') ?? [];
    const kept = new Secret(random);
    if (!formTokens.check(sealed, kept, ['way', begun, text])) return undefined;
    const age_ms = clock.wall_ms() - Number(begun);
    if (age_ms < 0 || age_ms > FLOW_MS) return undefined;
    return { kept, query: authorizeQuery.parse(JSON.parse(Buffer.from(text, 'base64url').toString())) };
  }

  return {
    async beginSignIn({ query, request }, response) {
      if (issuer === undefined) {
        sendPage(response, { status: 404, html: toMessagePage('Sign in', 'There is no other way to sign in here.') });
        return;
      }
      const trial = trials.begin(request.socket.remoteAddress);
      const kept = drawSecret();
      try {
        const location = await issuer.toAuthorizeUrl(toFlow(kept));
        trial.forgive();
        sendRedirect(response, location, [cookies.write('way', seal(kept, query), FLOW_MS)]);
      } catch (error) {
        if (!(error instanceof RemoraError)) throw error;
        log.warn({ code: error.code, err: error.cause }, 'the issuer of sign-in cannot be used');
        const message = `${issuer.name} cannot be reached now. Please try again, or sign in with a password.`;
        sendPage(response, { status: 502, html: toMessagePage('Sign in', message) });
      }
    },
    async landOnSignIn({ query, request }, response) {
      const fail = (status: number, message: string) =>
        sendPage(response, {
          status,
          html: toMessagePage('Not signed in', message),
          cookies: [cookies.write('way', undefined, 0)],
        });
      const way = unseal(request);
      if (issuer === undefined || way === undefined) return fail(403, FAILED);
      const trial = trials.begin(request.socket.remoteAddress);
      let email: string | undefined;
      try {
        email = await issuer.readEmail(new URLSearchParams(toPairs(query)), toFlow(way.kept));
      } catch (error) {
        if (!(error instanceof RemoraError)) throw error;
        log.info({ code: error.code, err: error.cause }, 'the issuer signed nobody in');
        return fail(error.code === 'upstream_refused' ? 403 : 502, FAILED);
      }
      const user = email === undefined ? undefined : await users.findByEmail(email);
      if (user === undefined) {
        return fail(403, 'The issuer has no verified email address of yours that is known here. Ask your operator.');
      }
      trial.forgive();
      await deps.startSession(request, response, user, way.query, [cookies.write('way', undefined, 0)]);
    },
  };
}

function toPairs(query: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}
