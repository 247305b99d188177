// How fresh the local replica is: the node's stream again, the primary, the position of each database, waiting for a
// transaction, and what the cache holds (design.md, sections 3 and 7).
import { z } from 'zod';
import { queryDuration } from '../duration.ts';
import { defineOperation } from '../operation.ts';
import { queryInteger } from '../query-values.ts';
import { hex16, nodeOperations, replicationEvent } from '../replication.ts';
import { dateTime } from '../time.ts';

/** How long a wait may take, and how long it takes when nothing is said. */
export const WAIT_MAX_MS = 300_000;
const WAIT_DEFAULT_MS = 30_000;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const COOKIE_MAX = 16_384;
const MAX_TX_NUMBER = 0xffff_ffff_ffff_ffffn;

/**
 * `live`: confirmed on the connection of now and kept in the cache. `stale`: from before, or not kept; see `age_ms` and `reason`. The
 * others say what the last transaction did: an earlier id, the same id with another checksum, or a dropped database.
 */
export const positionState = z.enum(['live', 'stale', 'rewound', 'diverged', 'dropped']);

/** What the last transaction made of a database, whenever that was. */
export const standing = positionState.exclude(['stale']);

/** `self`: this node is the primary. `remote`: `hostname` is. `unknown`: none is known, or the node cannot be reached. */
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

/** `timestamp` is the primary's clock and passed on as it came; `lag_ms` is arrival minus that, at least 0. */
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
  /** The position was read from the mounted directory after a reconnect; `timestamp` is the time of that. Absent = from the stream. */
  source: z.literal('mount').optional(),
});

/**
 * What to give to a client that has just written, for its next read: `__txid` as the node's own proxy sets it, `txnum` as litefs-js
 * does, and both as Set-Cookie lines. `source`: `mount` is the database's own position, `stream` the newest that the agent was told.
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

/** `file`, `rebuilt`: kept. `memory`, `failed`: not kept, with the reason, and no position is `live`. */
export const cacheReport = z.object({
  state: z.enum(['off', 'file', 'rebuilt', 'memory', 'failed']),
  reason: z.string().optional(),
});

/** Lines of the stream since the start of the agent. `cut`: the connection ended inside them. `refused`: databases over the limit. */
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

export const replicationReport = z.object({
  primary: primaryRole,
  hostname: z.string().optional(),
  primary_since: dateTime,
  connection: followerConnection,
  cache: cacheReport,
  counts: streamCounts,
  last_invalid: z.object({ reason: z.string(), at: dateTime }).nullable(),
  readers: z.int(),
  waiters: z.int(),
  databases: z.array(replicaPosition),
});

/** `seq` grows by the order of arrival and is what a cursor counts; ids alone can repeat and go back. */
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
 * Transactions that are not here, both ends included. `before_first`: older than the first one seen. `disconnected`: lost while
 * the stream was down. `jump`: the node left them out. `not_saved`: the cache could not be written. `trimmed`: the cache
 * has let them go (`seq` is null: this row is made for the answer).
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
  /** Give it as `cursor` to read on; null when there is nothing yet. */
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

/** Where to read on: by the order of arrival, which holds also where ids repeat or go back. */
const cursorText = z.string().regex(/^\d{1,15}$/, 'expected `next` of an earlier answer');

/** `cursor` of the last line that was read; 0 is everything that is kept, `now` only what comes. */
const sinceText = z.string().regex(/^(?:\d{1,15}|now)$/, 'expected a cursor, or now');

/** A line for readers with `since`: transactions that are not here. Without `db` it is whatever there was of any database. */
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
  nodeEvents: defineOperation({
    ...nodeOperations.nodeEvents,
    tag: 'replication',
    summary: "The database node's stream again: init first, then tx and primaryChange, for any number of readers",
    source: 'document 3, Event stream; design.md, section 3',
    query: z.object({ since: sinceText.optional() }),
    answer: { ...nodeOperations.nodeEvents.answer, schema: z.union([replicationEvent, readerGap]), quiet: true },
    errors: ['not_configured'],
  }),
  replication: defineOperation({
    method: 'GET',
    path: '/v1/replication',
    summary: 'The primary, the state and age of the connection to the node, and the position of each database',
    source: 'design.md, section 3',
    tag: 'replication',
    answer: { kind: 'json', status: 200, schema: replicationReport },
    errors: [],
  }),
  replicaPosition: defineOperation({
    method: 'GET',
    path: '/v1/replication/{db}',
    summary: 'The position of one database, its size, lag, age and state',
    source: 'design.md, section 3; document 3, Event stream, 4 to 6',
    tag: 'replication',
    params: databasePath,
    answer: { kind: 'json', status: 200, schema: replicaPosition },
    errors: ['unknown_database', 'not_configured'],
  }),
  waitForTransaction: defineOperation({
    method: 'GET',
    path: '/v1/replication/{db}/wait',
    summary:
      'The position, once it is at or past a transaction; 408 when the time is over. A database not seen yet is waited for',
    source: 'design.md, section 3',
    tag: 'replication',
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
  replicationToken: defineOperation({
    method: 'GET',
    path: '/v1/replication/{db}/token',
    summary: 'What to set as a cookie after a write, so that the next read can wait for it: __txid and txnum',
    source: 'wire-facts.md, section 1',
    tag: 'replication',
    params: databasePath,
    answer: { kind: 'json', status: 200, schema: replicationToken },
    errors: ['unknown_database', 'not_configured'],
  }),
  cachedTransactions: defineOperation({
    method: 'GET',
    path: '/v1/replication/{db}/transactions',
    summary: 'What the cache holds of one database, oldest first, with a gap row where transactions are missing',
    source: 'design.md, section 3',
    tag: 'replication',
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
export type ReplicationReport = z.output<typeof replicationReport>;
export type FollowerState = z.output<typeof followerState>;
export type CachedRow = z.output<typeof transactionPage>['transactions'][number];
/** `trimmed` is made for an answer and never kept. */
export type GapCause = Exclude<z.output<typeof cachedGap>['cause'], 'trimmed'>;
