// Where a secret belongs and what it may be used for, as the text that its seal is bound to. Pure, and the only place that writes it.
import { hash } from 'node:crypto';

export interface SecretPlace {
  readonly kind: 'connector' | 'authorization' | 'extension_provider' | 'extension' | 'app_secret';
  readonly organization_id: string;
  readonly id: string;
  /** What decides where the secret goes: with another value of any of these it does not open. */
  readonly bound: readonly (string | null)[];
}

/** The digests of a place that is used again: a policy may be long. */
const digestsOf = new WeakMap<SecretPlace, readonly (string | null)[]>();

/** The text that a data key is bound to: the whole place. A bound value of any length takes 64 bytes of it. */
export function toBoundPlace(place: SecretPlace, key_id: string): string {
  const { kind, organization_id, id, bound } = place;
  let digests = digestsOf.get(place);
  if (digests === undefined) {
    digests = bound.map((value) => (value === null ? null : hash('sha256', value, 'hex')));
    digestsOf.set(place, digests);
  }
  return JSON.stringify([kind, organization_id, id, key_id, digests]);
}

/** The text that a data key of the first version is bound to: its row, and no value of the row. */
export function toRowPlace({ organization_id, id }: SecretPlace, key_id: string): string {
  return `${JSON.stringify([organization_id, id, key_id])}/data_key`;
}

/** The text that the secret itself is bound to, closed with its data key. */
export function toSecretPlace({ organization_id, id }: SecretPlace): string {
  return `${JSON.stringify([organization_id, id, null])}/secret`;
}
