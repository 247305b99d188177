// Codes with which a browser comes back from sign-on to the URL of a sprite: good once, for a minute, for that URL and that browser.
import { createHash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';
import { CODE_MS } from './authorize-handlers.ts';
import { toSecretHash } from './secret-hash.ts';
import type { SignOnStore } from './sign-on-store.ts';
import { URL_CLIENT_ID } from './url-client.ts';
import { readSessionHash } from './url-code.ts';

export interface UrlCodes {
  /** Undefined for a code that is not good; it is used up by that. */
  exchange(
    code: Secret,
    given: { readonly redirect_uri: string; readonly verifier: string },
  ): Promise<SignedOn | undefined>;
}

export interface SignedOn {
  readonly user_id: string;
  /** The hash of the session at sign-on. */
  readonly session_hash: string;
}

export function createUrlCodes(signOns: SignOnStore, clock: Pick<Clock, 'wall_ms'>): UrlCodes {
  return {
    async exchange(code, { redirect_uri, verifier }) {
      const found = await signOns.findByCode(toSecretHash(code));
      if (found?.client_id !== URL_CLIENT_ID || found.exchanged_at !== null) return undefined;
      const isFirst = await signOns.markExchanged(found.id, clock.wall_ms());
      await signOns.end(found.id);
      const age_ms = clock.wall_ms() - found.created_at;
      const challenge = createHash('sha256').update(verifier, 'ascii').digest('base64url');
      const isGood = found.redirect_uri === redirect_uri && found.code_challenge === challenge;
      if (!isFirst || !isGood || age_ms < 0 || age_ms >= CODE_MS) return undefined;
      return { user_id: found.user_id, session_hash: readSessionHash(code) };
    },
  };
}
