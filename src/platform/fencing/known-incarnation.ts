// The current incarnation of a machine, with the nonces that were issued to it. Only their SHA-256 is kept.
import { hash } from 'node:crypto';
import { z } from 'zod';
import { type MachineIncarnation, machineIncarnation } from '../../contract/resume-reports.ts';

/**
 * `none`: no nonce has been issued for it. `pending`: each of these was the answer to a report; the first one that a call carries is
 * confirmed. `confirmed`: every call must carry this one.
 */
export type IncarnationNonces =
  | { readonly type: 'none' }
  | { readonly type: 'pending'; readonly hashes: readonly string[] }
  | { readonly type: 'confirmed'; readonly hash: string };

export interface KnownIncarnation extends MachineIncarnation {
  readonly nonces: IncarnationNonces;
}

/** The incarnation that a call claims. The nonce is absent where none was issued, and for a call that began before that. */
export interface ClaimedIncarnation extends MachineIncarnation {
  readonly nonce?: string | undefined;
}

/** How many nonces are kept while none is confirmed: an answer with a nonce may be lost, and its report comes again. */
const PENDING_MAX = 4;

const stored = machineIncarnation.extend({ nonces: z.string().nullable() });

export function toNonceHash(nonce: string): string {
  return hash('sha256', nonce, 'base64url');
}

export function addPending(nonces: IncarnationNonces, hash: string): IncarnationNonces {
  const before = nonces.type === 'pending' ? nonces.hashes : [];
  return { type: 'pending', hashes: [...before, hash].slice(-PENDING_MAX) };
}

/** The text of the database column. */
export function toStoredNonces(nonces: IncarnationNonces): string | null {
  switch (nonces.type) {
    case 'none':
      return null;
    case 'pending':
      return ['pending', ...nonces.hashes].join(' ');
    case 'confirmed':
      return `confirmed ${nonces.hash}`;
    default:
      return nonces satisfies never;
  }
}

/** Undefined for a machine that has not reported an incarnation. Nonces that cannot be read admit no call before the next report. */
export function parseKnownIncarnation(row: unknown): KnownIncarnation | undefined {
  const { data } = stored.safeParse(row);
  if (data === undefined) return undefined;
  const { generation, incarnation, nonces } = data;
  return { generation, incarnation, nonces: parseNonces(nonces) };
}

function parseNonces(text: string | null): IncarnationNonces {
  if (text === null) return { type: 'none' };
  const [word, ...hashes] = text.split(' ');
  const [first] = hashes;
  if (word === 'confirmed' && first !== undefined) return { type: 'confirmed', hash: first };
  return { type: 'pending', hashes };
}
