// Who is calling (nobody, an organization, one of its sprites, the machine of one, or the operator), and the checks of what each may do.
import type { Access, Operation } from '../../contract/operation.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { isServedAt } from '../../http/served-at.ts';
import type { KnownIncarnation } from '../fencing/known-incarnation.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { SpriteRow } from '../sprites/sprite-store.ts';
import type { TokenRow } from './token-store.ts';

export type Principal =
  | { readonly type: 'anonymous' }
  /** The caller at the platform's own socket, for a call that concerns no organization. */
  | { readonly type: 'operator' }
  | { readonly type: 'organization'; readonly organization: Organization; readonly token: TokenIdentity }
  | {
      readonly type: 'sprite';
      readonly organization: Organization;
      readonly sprite: SpriteRow;
      readonly token: TokenIdentity;
      /** The known incarnation of its machine when the call was admitted; undefined when none is known. */
      readonly incarnation: KnownIncarnation | undefined;
    }
  /** The agent of a machine, by the token that the platform made for it. It calls for the sprite of the machine too. */
  | {
      readonly type: 'machine';
      readonly organization: Organization;
      readonly sprite: SpriteRow;
      readonly machine_id: string;
      readonly token: TokenIdentity;
      readonly incarnation: KnownIncarnation | undefined;
    };

/** The token that a call came with. */
export type TokenIdentity = Pick<TokenRow, 'id' | 'access' | 'user_id' | 'machine_id' | 'expires_at'>;

/** Whether a call came with a token, or for an organization that the operator named. */
export function isCaller(principal: Principal): principal is Exclude<Principal, { type: 'anonymous' | 'operator' }> {
  return principal.type !== 'anonymous' && principal.type !== 'operator';
}

/** Throws `unauthorized` without a token, `forbidden` when the token is of the wrong kind. An operation without `access` is closed. */
export function checkAccess(principal: Principal, access: Access | undefined): void {
  switch (access) {
    case 'none':
      return;
    case 'every':
      if (principal.type !== 'anonymous' && principal.type !== 'operator') return;
      break;
    case 'any':
      if (principal.type === 'organization' || principal.type === 'sprite') return;
      break;
    case 'agent':
      if (principal.type === 'sprite' || principal.type === 'machine') return;
      break;
    case 'organization':
    case 'operator':
    case undefined:
      if (principal.type === (access ?? 'organization')) return;
      break;
    default:
      access satisfies never;
  }
  if (principal.type === 'anonymous') throw noToken();
  throw new RemoraError(
    'forbidden',
    `the token of ${principal.type === 'organization' ? 'an' : 'a'} ${principal.type} does not open this`,
  );
}

/** Throws `read_only` when a token that only reads calls an operation that changes something. */
export function checkReadOnly(
  principal: Principal,
  operation: Pick<Operation, 'method' | 'answer' | 'readOnly'>,
): void {
  if (!isCaller(principal) || principal.token.access === 'full') return;
  if ((operation.readOnly ?? operation.method === 'GET') && operation.answer.kind !== 'raw') return;
  throw new RemoraError('read_only', 'this token only reads; use one with full access');
}

/** Throws `unauthorized` without a token and `forbidden` with one, for what is not served at the address of the platform. */
export function checkServedOverTcp(principal: Principal, operation: Operation): void {
  if (isServedAt(operation, 'tcp')) return;
  if (principal.type === 'anonymous') throw noToken();
  throw new RemoraError('forbidden', "this is for the platform's own socket, platform.sock in its directory");
}

/** The organization behind a call. Throws `unauthorized` for nobody. */
export function organizationOf(principal: Principal): Organization {
  if (principal.type === 'anonymous') throw noToken();
  if (principal.type === 'operator') throw new RemoraError('invalid_request', 'name an organization');
  return principal.organization;
}

/** The token that a call came with. Throws `unauthorized` for nobody. */
export function tokenOf(principal: Principal): TokenIdentity {
  if (!isCaller(principal)) throw noToken();
  return principal.token;
}

function noToken(): RemoraError {
  return new RemoraError('unauthorized', 'send Authorization: Bearer and a token');
}

/** The sprite that calls itself or through the agent of its machine; undefined for a caller that is no sprite. */
export function spriteOf(principal: Principal): SpriteRow | undefined {
  return 'sprite' in principal ? principal.sprite : undefined;
}

/** Throws unless the sprite is the caller's own, with the same error whether or not it exists. An organization may use all of its own. */
export function checkOwnSprite(principal: Principal, isOwn: (sprite: SpriteRow) => boolean): void {
  const sprite = spriteOf(principal);
  if (sprite === undefined || isOwn(sprite)) return;
  const { type } = principal;
  throw new RemoraError('forbidden', `the token of a ${type} opens only what belongs to that ${type}`);
}
