// Who is calling, and which rows of the contract that opens: nobody, an organization, or one of its sprites.
import type { Access, Operation } from '../../contract/operation.ts';
import type { MachineLife } from '../../contract/resume-reports.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { SpriteRow } from '../sprites/sprite-store.ts';
import type { TokenRow } from './token-store.ts';

export type Principal =
  | { readonly type: 'anonymous' }
  | { readonly type: 'organization'; readonly organization: Organization; readonly token: TokenIdentity }
  | {
      readonly type: 'sprite';
      readonly organization: Organization;
      readonly sprite: SpriteRow;
      readonly token: TokenIdentity;
      /** The life of its machine that counts, when the call was let in; undefined when none is known. */
      readonly life: MachineLife | undefined;
    };

/** The token that a call came with. */
export type TokenIdentity = Pick<TokenRow, 'id' | 'access' | 'user_id'>;

/** Throws `unauthorized` without a token, `forbidden` when the token is of the wrong kind. A row without `access` is closed. */
export function checkAccess(principal: Principal, access: Access | undefined): void {
  switch (access) {
    case 'none':
      return;
    case 'any':
      if (principal.type !== 'anonymous') return;
      break;
    case 'sprite':
    case 'organization':
    case undefined:
      if (principal.type === (access ?? 'organization')) return;
      break;
    default:
      access satisfies never;
  }
  if (principal.type === 'anonymous') throw new RemoraError('unauthorized', 'send Authorization: Bearer and a token');
  throw new RemoraError(
    'forbidden',
    `the token of ${principal.type === 'sprite' ? 'a sprite' : 'an organization'} does not open this`,
  );
}

/** A token that only reads opens rows that change nothing. Throws `forbidden`. */
export function checkReadOnly(principal: Principal, row: Pick<Operation, 'method' | 'answer' | 'readOnly'>): void {
  if (principal.type === 'anonymous' || principal.token.access === 'full') return;
  if ((row.method === 'GET' || row.readOnly === true) && row.answer.kind !== 'raw') return;
  throw new RemoraError('forbidden', 'this token only reads');
}

/** The organization behind a call. Throws `unauthorized` for nobody. */
export function organizationOf(principal: Principal): Organization {
  if (principal.type === 'anonymous') throw new RemoraError('unauthorized', 'send Authorization: Bearer and a token');
  return principal.organization;
}

/** A sprite opens what is its own; whether the other thing exists is not told. An organization opens all of its own. */
export function checkOwnSprite(principal: Principal, isOwn: (sprite: SpriteRow) => boolean): void {
  if (principal.type === 'sprite' && !isOwn(principal.sprite)) {
    throw new RemoraError('forbidden', 'the token of a sprite opens only what belongs to that sprite');
  }
}
