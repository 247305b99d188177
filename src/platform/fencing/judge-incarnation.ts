// Judges the incarnation that a call claims against the incarnation that is known. Pure.
import { type ClaimedIncarnation, type KnownIncarnation, toNonceHash } from './known-incarnation.ts';

/**
 * `same`: the current incarnation. `unconfirmed`: generation and incarnation are the current ones, and no nonce shows yet which of the
 * machines that share them is calling. `confirms`: the call carries one of the pending nonces, and its machine is the one that is served
 * from now on. `newer`: becomes the current incarnation. `conflict`: two machines were resumed from the same snapshot, and the other one
 * called first. `rewound`: the machine has been resumed again since this copy of it was made.
 */
export type IncarnationVerdict = 'same' | 'unconfirmed' | 'confirms' | 'newer' | 'conflict' | 'rewound';

export function judgeIncarnation(known: KnownIncarnation | undefined, claimed: ClaimedIncarnation): IncarnationVerdict {
  if (known === undefined || claimed.generation > known.generation) return 'newer';
  if (claimed.generation < known.generation) return 'rewound';
  if (claimed.incarnation !== known.incarnation) return 'conflict';
  const hash = claimed.nonce === undefined ? undefined : toNonceHash(claimed.nonce);
  const { nonces } = known;
  switch (nonces.type) {
    case 'none':
      return 'unconfirmed';
    case 'pending':
      // Another nonce is of the boot before this one, which the platform has forgotten and the disk has not: the machine has it until an
      // answer to its report arrives. It shows as little as none.
      return hash !== undefined && nonces.hashes.includes(hash) ? 'confirms' : 'unconfirmed';
    case 'confirmed':
      return hash === nonces.hash ? 'same' : 'conflict';
    default:
      return nonces satisfies never;
  }
}
