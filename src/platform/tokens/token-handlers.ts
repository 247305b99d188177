// The operations of tokens: an organization lists, makes and revokes its own. A new token never allows more than the token that makes it.
import type { CreateTokenRequest, TokenRecord, tokenOperations } from '../../contract/tokens.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import { isCaller, organizationOf, type Principal, type TokenIdentity } from './principal.ts';
import { type ListedToken, parseTokenPosition, type TokenStore, toTokenPosition } from './token-store.ts';

export interface TokenHandlerDeps {
  readonly tokens: TokenStore;
  readonly sprites: Pick<SpriteStore, 'findByName'>;
  readonly clock: Clock;
}

export function createTokenHandlers(deps: TokenHandlerDeps): Handlers<typeof tokenOperations, Principal> {
  const { tokens, sprites, clock } = deps;

  async function findSprite(organization_id: string, name: string | undefined): Promise<string | null> {
    if (name === undefined) return null;
    const found = await sprites.findByName(organization_id, name);
    if (found === undefined) throw new RemoraError('not_found', `there is no sprite ${name}`);
    return found.id;
  }

  return {
    async listTokens({ principal, query }) {
      const { max_results, continuation_token } = query;
      const after = continuation_token === undefined ? undefined : parseTokenPosition(continuation_token);
      if (continuation_token !== undefined && after === undefined) {
        throw refuseField('query.continuation_token', 'it is not from this list; send it as it was given');
      }
      const rows = await tokens.page({ organization_id: organizationOf(principal).id, after, limit: max_results + 1 });
      const page = rows.slice(0, max_results);
      const last = page.at(-1);
      return {
        tokens: page.map(toTokenRecord),
        ...(rows.length > page.length && last !== undefined ? { next_continuation_token: toTokenPosition(last) } : {}),
      };
    },
    async createToken({ principal, body }) {
      const organization_id = organizationOf(principal).id;
      const maker = isCaller(principal) ? principal.token : undefined;
      const sprite_id = await findSprite(organization_id, body.sprite);
      const now_ms = clock.wall_ms();
      const { name = null, access } = body;
      const bounds = { user_id: toUser(body, maker), expires_at: toExpiry(body, maker, now_ms) };
      const made = await tokens.create({ organization_id, sprite_id, name, access, ...bounds }, now_ms);
      const shown = { id: made.id, name, access, ...bounds, machine_id: null, created_at: now_ms };
      return { ...toTokenRecord({ ...shown, sprite: body.sprite ?? null }), token: made.text.reveal() };
    },
    async deleteToken({ principal, params }) {
      if (await tokens.revoke(organizationOf(principal).id, params.id)) return;
      throw new RemoraError('not_found', 'there is no such token');
    },
  };
}

/** A token that names a person may make tokens of that person only; else throws `forbidden`. */
function toUser({ user_id }: CreateTokenRequest, maker: TokenIdentity | undefined): string | null {
  const own = maker?.user_id ?? null;
  if (own === null || user_id === undefined || user_id === own) return user_id ?? own;
  throw new RemoraError('forbidden', `this token is of ${own}, and makes tokens of that person only`);
}

/** A token that expires may make none that expires later; else throws `forbidden`. Throws `invalid_request` for a time in the past. */
function toExpiry({ expires_at }: CreateTokenRequest, maker: TokenIdentity | undefined, now_ms: number): number | null {
  const own = maker?.expires_at ?? null;
  if (expires_at === undefined) return own;
  const wanted = Date.parse(expires_at);
  if (wanted <= now_ms) throw refuseField('body.expires_at', 'expected a time to come');
  if (own === null || wanted <= own) return wanted;
  throw new RemoraError('forbidden', `this token ends at ${toDateTime(own)}, and makes none that live longer`);
}

function toTokenRecord(row: Omit<ListedToken, 'organization_id' | 'sprite_id'>): TokenRecord {
  const { id, name, sprite, machine_id, access, user_id, created_at, expires_at } = row;
  const ends = expires_at === null ? null : toDateTime(expires_at);
  return {
    id,
    name,
    sprite,
    machine: machine_id,
    access,
    user_id,
    created_at: toDateTime(created_at),
    expires_at: ends,
  };
}
