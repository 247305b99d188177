// How fresh the local replica is: the stream of the node passed on, the primary, the position of each database, waiting for a
// transaction, and what the cache holds.

import { queryDuration } from '../duration.ts';
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { queryInteger } from '../query-values.ts';
import { hex16, nodeOperations, replicationEvent } from '../replication.ts';
import { dateTime } from '../time.ts';

/** How long a wait may take, and how long it takes when the request names no time. */
export const WAIT_MAX_MS = 300_000;
const WAIT_DEFAULT_MS = 30_000;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const COOKIE_MAX = 16_384;
const MAX_TX_NUMBER = 0xffff_ffff_ffff_ffffn;

/**
 * `live`: confirmed on the present connection and kept in the cache. `stale`: from an earlier connection, or not kept; see
 * `age_ms` and `reason`. The others say what the last transaction did: an earlier id, the same id with another checksum, or a
 * dropped database.
 */
export const positionState = z.enum(['live', 'stale', 'rewound', 'diverged', 'dropped']);

/** What the last transaction did to a database, however long ago. */
export const standing = positionState.exclude(['stale']);

/**
 * `self`: this node is the primary. `remote`: `hostname` is the primary. `unknown`: no primary is known, or the node cannot be
 * reached.
 */
export const primaryRole = z.enum(['self', 'remote', 'unknown']);

export const followerState = z.enum([
  'idle',
  'waiting',
  'held',
  'connecting',
  'opening',
  'following',
  'probing',
  'stopped',
]);

/** `timestamp` is the primary's clock, passed on as it came; `lag_ms` is the time of arrival minus that, at least 0. */
export const replicaPosition = z.object({
  db: z.string(),
  txID: hex16,
  postApplyChecksum: hex16,
  pageSize: z.int(),
  commit: z.int(),
  size_bytes: z.number(),
  timestamp: dateTime,
  lag_ms: z.int(),
  received_at: dateTime,
  age_ms: z.int(),
  state: positionState,
  reason: z.string().optional(),
  /**
   * Set when the position was read from the mounted directory after a reconnect; `timestamp` is then the time of reading.
   * Absent = from the stream.
   */
  source: z.literal('mount').optional(),
});

/**
 * What to hand to a client that has just written, for its next read: `__txid` as the node's own proxy sets it, `txnum` as
 * litefs-js does, and both as Set-Cookie lines. `source`: `mount` is the database's own position, `stream` the newest position
 * that the stream showed.
 */
export const replicationToken = z.object({
  db: z.string(),
  __txid: hex16,
  txnum: z.string().regex(/^\d{1,20}$/),
  set_cookie: z.array(z.string()),
  source: z.enum(['mount', 'stream']),
});

export const followFailure = z.object({ code: z.string(), message: z.string(), at: dateTime });

/** `off`: no node is configured. */
export const followerConnection = z.object({
  state: z.union([followerState, z.literal('off')]),
  since: dateTime,
  age_ms: z.int(),
  node_url: z.string().nullable(),
  node_id: z.string().nullable(),
  cluster_id: z.string().nullable(),
  connects: z.int(),
  failures_in_a_row: z.int(),
  last_failure: followFailure.nullable(),
});

/**
 * `file`, `rebuilt`: transactions are kept in a file. `memory`, `failed`: they are not, for the reason given, and no position
 * is `live`.
 */
export const cacheStatus = z.object({
  state: z.enum(['off', 'file', 'rebuilt', 'memory', 'failed']),
  reason: z.string().optional(),
});

/**
 * Lines of the stream since the start of the agent. `cut`: the connection ended within them. `refused`: they named a database
 * over the limit.
 */
export const streamCounts = z.object({
  lines: z.int(),
  transactions: z.int(),
  primary_changes: z.int(),
  gaps: z.int(),
  unknown: z.int(),
  invalid: z.int(),
  cut: z.int(),
  refused: z.int(),
});

export const replicationStatus = z.object({
  primary: primaryRole,
  hostname: z.string().optional(),
  primary_since: dateTime,
  connection: followerConnection,
  cache: cacheStatus,
  counts: streamCounts,
  last_invalid: z.object({ reason: z.string(), at: dateTime }).nullable(),
  readers: z.int(),
  waiters: z.int(),
  databases: z.array(replicaPosition),
});

/** `seq` counts transactions in the order of arrival and is what a cursor is made of; ids alone can repeat and go back. */
export const cachedTransaction = z.object({
  type: z.literal('tx'),
  seq: z.int(),
  txID: hex16,
  postApplyChecksum: hex16,
  pageSize: z.int(),
  commit: z.int(),
  size_bytes: z.number(),
  timestamp: dateTime,
  received_at: dateTime,
  state: standing,
});

/**
 * Transactions that were missed, both ends included. `before_first`: older than the first one seen. `disconnected`: lost while
 * the stream was down. `jump`: the node left them out. `not_saved`: the cache could not be written. `trimmed`: the cache no
 * longer keeps them (`seq` is null: this row is made for the answer).
 */
export const cachedGap = z.object({
  type: z.literal('gap'),
  seq: z.int().nullable(),
  from: hex16,
  to: hex16,
  missing: z.number(),
  cause: z.enum(['before_first', 'disconnected', 'jump', 'not_saved', 'trimmed']),
  at: dateTime.nullable(),
});

export const transactionPage = z.object({
  db: z.string(),
  transactions: z.array(z.discriminatedUnion('type', [cachedTransaction, cachedGap])),
  /** The value of `cursor` for the next page; null when nothing is kept yet. */
  next: z.string().nullable(),
});

/** A transaction id: up to 16 hex digits of either case, filled up with zeros on the left. */
const txIdText = z
  .string()
  .regex(/^[0-9a-fA-F]{1,16}$/, 'expected 1 to 16 hex digits')
  .transform((text) => text.toLowerCase().padStart(16, '0'))
  .pipe(hex16);

/** The same id as a decimal number, as litefs-js writes it. */
const txNumberText = z
  .string()
  .refine((text) => /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_TX_NUMBER, 'expected a decimal number of 64 bits')
  .transform((text) => BigInt(text).toString(16).padStart(16, '0'))
  .pipe(hex16);

/** Where to read on, counted by the order of arrival, which holds also where ids repeat or go back. */
const cursorText = z.string().regex(/^\d{1,15}$/, 'expected `next` of an earlier answer');

/** The `cursor` of the last line that was read. 0 asks for everything that is kept, `now` for new lines only. */
const sinceText = z.string().regex(/^(?:\d{1,15}|now)$/, 'expected a cursor, or now');

/** A line for readers with `since`: transactions that were missed. Without `db` it covers all databases. */
export const readerGap = z.object({
  type: z.literal('gap'),
  db: z.string().optional(),
  data: z
    .object({ from: hex16, to: hex16, cause: cachedGap.shape.cause })
    .or(z.object({ cause: z.literal('trimmed') })),
  cursor: z.string(),
});
export type ReaderGap = z.output<typeof readerGap>;

const databasePath = z.object({ db: z.string().min(1) });

export const replicationOperations = {
  nodeEvents: defineLocalOperation({
    ...nodeOperations.nodeEvents,
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    summary: "The database node's stream again: init first, then tx and primaryChange, for any number of readers",
    source: 'Suspend and Replication, Event stream',
    query: z.object({ since: sinceText.optional() }),
    answer: { ...nodeOperations.nodeEvents.answer, schema: z.union([replicationEvent, readerGap]), quiet: true },
    errors: ['not_configured'],
  }),
  replication: defineLocalOperation({
    method: 'GET',
    path: '/v1/replication',
    summary: 'The primary, the state and age of the connection to the node, and the position of each database',
    source: 'Remora',
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: replicationStatus },
    errors: [],
  }),
  replicaPosition: defineLocalOperation({
    method: 'GET',
    path: '/v1/replication/{db}',
    summary: 'The position of one database, its size, lag, age and state',
    source: 'Remora; Suspend and Replication, Event stream',
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    params: databasePath,
    answer: { kind: 'json', status: 200, schema: replicaPosition },
    errors: ['unknown_database', 'not_configured'],
  }),
  waitForTransaction: defineLocalOperation({
    method: 'GET',
    path: '/v1/replication/{db}/wait',
    summary:
      'The position, once it is at or past a transaction; 408 when the time is over. A database not seen yet is waited for',
    source: 'Remora',
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    params: databasePath,
    query: z
      .object({
        txid: txIdText.optional(),
        txnum: txNumberText.optional(),
        cookie: z.string().max(COOKIE_MAX).optional(),
        timeout: queryDuration(0, WAIT_MAX_MS).default(WAIT_DEFAULT_MS),
      })
      .refine(
        ({ cookie, txid, txnum }) => [cookie, txid, txnum].filter((value) => value !== undefined).length === 1,
        'give one of txid, txnum and cookie',
      ),
    answer: { kind: 'json', status: 200, schema: replicaPosition },
    errors: ['timeout', 'unknown_database', 'not_configured', 'too_many_requests', 'shutting_down'],
  }),
  replicationToken: defineLocalOperation({
    method: 'GET',
    path: '/v1/replication/{db}/token',
    summary: 'What to set as a cookie after a write, so that the next read can wait for it: __txid and txnum',
    source: 'LiteFS',
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    params: databasePath,
    answer: { kind: 'json', status: 200, schema: replicationToken },
    errors: ['unknown_database', 'not_configured'],
  }),
  cachedTransactions: defineLocalOperation({
    method: 'GET',
    path: '/v1/replication/{db}/transactions',
    summary: 'What the cache holds of one database, oldest first, with a gap row where transactions are missing',
    source: 'Remora',
    tag: 'replication',
    servedAt: ['socket', 'readonly', 'loopback'],
    params: databasePath,
    query: z
      .object({
        after: txIdText.optional(),
        cursor: cursorText.optional(),
        limit: queryInteger(1, PAGE_MAX).default(PAGE_DEFAULT),
      })
      .refine((query) => query.after === undefined || query.cursor === undefined, 'give after or cursor, not both'),
    answer: { kind: 'json', status: 200, schema: transactionPage },
    errors: ['unknown_database', 'not_configured', 'not_ready'],
  }),
} as const;

export type ReplicationToken = z.output<typeof replicationToken>;
export type ReplicaPosition = z.output<typeof replicaPosition>;
export type ReplicationStatus = z.output<typeof replicationStatus>;
export type FollowerState = z.output<typeof followerState>;
export type CachedRow = z.output<typeof transactionPage>['transactions'][number];
/** The causes of gaps that are kept in the cache; a `trimmed` gap is made for an answer and never kept. */
export type GapCause = Exclude<z.output<typeof cachedGap>['cause'], 'trimmed'>;
