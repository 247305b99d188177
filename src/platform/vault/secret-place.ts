// Where a secret belongs and what it may be used for, as the text that its seal is bound to. Pure, and the only place that writes it.
import { createHash } from 'node:crypto';

export interface SecretPlace {
  readonly kind: 'connector' | 'authorization' | 'extension_provider' | 'extension' | 'app_secret';
  readonly organization_id: string;
  readonly id: string;
  /** What decides where the secret goes: with another value of any of these it does not open. */
  readonly bound: readonly (string | null)[];
}

/** The text that a data key is bound to: the whole place. A bound value of any length takes 64 bytes of it. */
export function toBoundPlace({ kind, organization_id, id, bound }: SecretPlace, key_id: string): string {
  const digests = bound.map((value) => (value === null ? null : createHash('sha256').update(value).digest('hex')));
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
