// What one transaction of the stream does to the known position of its database. Ids may jump, repeat, go back or come with
// another checksum: each of these is a result, and none throws.
import type { Transaction } from '../../contract/replication.ts';

/** What the last transaction did to a database. */
export type Standing = 'live' | 'rewound' | 'diverged' | 'dropped';

/** Transactions that were not seen, both ends included, as 16 hex digits. */
export interface MissedRange {
  readonly from: string;
  readonly to: string;
}

export interface KnownPosition {
  readonly transaction: Transaction;
  readonly standing: Standing;
}

/**
 * `first`: no position was known, or the database was dropped and made again. `next`: the id after the known one. `gap`: a
 * later one. `repeat`: the same id and checksum. `diverged`: the same id, another checksum. `rewound`: an earlier id.
 * `dropped`: commit is 0. `missed` is set wherever ids were left out.
 */
export interface PositionStep {
  readonly type: 'first' | 'next' | 'gap' | 'repeat' | 'diverged' | 'rewound' | 'dropped';
  readonly standing: Standing;
  readonly missed?: MissedRange;
}

const FIRST_ID = '0000000000000001';

/** Ids and checksums are compared as text: 16 lower-case hex digits sort like the numbers they stand for. */
export function decideStep(known: KnownPosition | undefined, transaction: Transaction): PositionStep {
  if (known === undefined) return settle('first', transaction, missedBetween(FIRST_ID, transaction.txID));
  const before = known.transaction;
  if (transaction.txID === before.txID) {
    if (transaction.postApplyChecksum === before.postApplyChecksum) return { type: 'repeat', standing: known.standing };
    return settle('diverged', transaction, undefined);
  }
  if (transaction.txID < before.txID) {
    if (before.commit === 0) return settle('first', transaction, missedBetween(FIRST_ID, transaction.txID));
    return settle('rewound', transaction, undefined);
  }
  const missed = missedBetween(nextTxId(before.txID), transaction.txID);
  return settle(missed === undefined ? 'next' : 'gap', transaction, missed);
}

/** The id after this one, as 16 hex digits. */
export function nextTxId(txID: string): string {
  return toTxId(BigInt(`0x${txID}`) + 1n);
}

/** The ids from `from` up to, not including, `until`; undefined when there are none. */
export function missedBetween(from: string, until: string): MissedRange | undefined {
  return from < until ? { from, to: toTxId(BigInt(`0x${until}`) - 1n) } : undefined;
}

/** How many ids a range holds; exact up to 2⁵³. */
export function countMissed(range: MissedRange): number {
  return Number(BigInt(`0x${range.to}`) - BigInt(`0x${range.from}`) + 1n);
}

function settle(
  type: 'first' | 'next' | 'gap' | 'diverged' | 'rewound',
  transaction: Transaction,
  missed: MissedRange | undefined,
): PositionStep {
  const step = transaction.commit === 0 ? DROPPED : STEPS[type];
  return missed === undefined ? step : { ...step, missed };
}

const DROPPED: PositionStep = { type: 'dropped', standing: 'dropped' };

const STEPS = {
  first: { type: 'first', standing: 'live' },
  next: { type: 'next', standing: 'live' },
  gap: { type: 'gap', standing: 'live' },
  diverged: { type: 'diverged', standing: 'diverged' },
  rewound: { type: 'rewound', standing: 'rewound' },
} as const satisfies Record<string, PositionStep>;

function toTxId(value: bigint): string {
  return BigInt.asUintN(64, value).toString(16).padStart(16, '0');
}
