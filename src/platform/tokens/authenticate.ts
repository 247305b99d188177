// From the headers of a request to its principal: the token says whose call it is, and a sprite that says which life of its machine
// is calling must be in the one that counts.
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Lives } from '../lives/lives.ts';
import { parseLifeHeaders } from '../lives/parse-life-headers.ts';
import type { CallRate } from './call-rate.ts';
import type { CallerStore } from './caller-store.ts';
import { checkAccess, checkReadOnly, type Principal } from './principal.ts';

export interface AuthenticateDeps {
  readonly callers: CallerStore;
  readonly lives: Lives;
  readonly clock: Clock;
  readonly rate: CallRate;
}

/** `Bearer` in any case, one space, and a token of visible ASCII (RFC 6750). */
const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i;

/**
 * For the edge: throws `unauthorized` or `forbidden`, one message for every cause of the first, and `too_many_requests`; the
 * gateway has limits of its own. For a sprite also what `parseLifeHeaders` and `Lives.admit` throw.
 */
export function createAuthenticate(
  deps: AuthenticateDeps,
): (request: IncomingMessage, row: Operation) => Promise<Principal> {
  return async (request, row) => {
    if (row.access === 'none') return { type: 'anonymous' };
    const principal = await toPrincipal(request.headers.authorization, deps);
    if (principal.type !== 'anonymous' && row.answer.kind !== 'raw') deps.rate.take(principal.token.id);
    checkAccess(principal, row.access);
    checkReadOnly(principal, row);
    if (principal.type !== 'sprite') return principal;
    const life = parseLifeHeaders(request.headers);
    if (life !== undefined) await deps.lives.admit(principal.sprite.id, principal.life, life);
    return principal;
  };
}

async function toPrincipal(header: string | undefined, deps: AuthenticateDeps): Promise<Principal> {
  if (header === undefined) return { type: 'anonymous' };
  const text = BEARER.exec(header)?.[1];
  const caller = text === undefined ? undefined : await deps.callers.find(text, deps.clock.wall_ms());
  if (caller === undefined) throw new RemoraError('unauthorized', 'the token is not valid');
  return caller;
}
