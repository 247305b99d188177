// From the headers of a request to its principal: the token says whose call it is, and a sprite that says which life of its machine
// is calling must be in the one that counts.
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Lives } from '../lives/lives.ts';
import { parseLifeHeaders } from '../lives/parse-life-headers.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { CallRate } from './call-rate.ts';
import { checkAccess, checkReadOnly, type Principal } from './principal.ts';
import type { TokenStore } from './token-store.ts';

export interface AuthenticateDeps {
  readonly tokens: TokenStore;
  readonly organizations: OrganizationStore;
  readonly sprites: SpriteStore;
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
export function createAuthenticate(deps: AuthenticateDeps): (request: IncomingMessage, row: Operation) => Principal {
  return (request, row) => {
    if (row.access === 'none') return { type: 'anonymous' };
    const principal = toPrincipal(request.headers.authorization, deps);
    if (principal.type !== 'anonymous' && row.answer.kind !== 'raw') deps.rate.take(principal.token.id);
    checkAccess(principal, row.access);
    checkReadOnly(principal, row);
    if (principal.type === 'sprite') admit(principal, request);
    return principal;
  };

  function admit({ sprite }: Extract<Principal, { type: 'sprite' }>, { headers }: IncomingMessage): void {
    const life = parseLifeHeaders(headers);
    if (life !== undefined) deps.lives.admit(sprite.id, life);
  }
}

function toPrincipal(header: string | undefined, deps: AuthenticateDeps): Principal {
  if (header === undefined) return { type: 'anonymous' };
  const text = BEARER.exec(header)?.[1];
  const owner = text === undefined ? undefined : deps.tokens.find(text, deps.clock.wall_ms());
  const organization = owner === undefined ? undefined : deps.organizations.find(owner.organization_id);
  if (owner === undefined || organization === undefined) throw invalid();
  const { id, access, user_id } = owner;
  const token = { id, access, user_id };
  if (owner.sprite_id === null) return { type: 'organization', organization, token };
  const sprite = deps.sprites.find(owner.sprite_id);
  if (sprite === undefined) throw invalid();
  return { type: 'sprite', organization, sprite, token };
}

function invalid(): RemoraError {
  return new RemoraError('unauthorized', 'the token is not valid');
}
