// The event stream of a replicated database node (Suspend and Replication, Event stream records; headers and files as in
// LiteFS).
import * as z from './lazy-zod.ts';
import { defineOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** A 64-bit number as 16 lower-case hex digits. Stays text: text order is numeric order, and a JS number loses bits. */
export const hex16 = z.string().regex(/^[0-9a-f]{16}$/, 'expected 16 lower-case hex digits');

/**
 * The cookie by which a client says what it has written: 16 hex digits, as the node's own proxy sets it; a decimal number, as
 * litefs-js does.
 */
export const TXID_COOKIE = '__txid';
export const TXNUM_COOKIE = 'txnum';
/** The same lifetime that the node's own proxy gives the cookie. */
export const TXID_COOKIE_AGE_S = 300;

/** Files of a mounted node: the host name of the primary, absent on a primary; `<txID>/<checksum>` for each database. */
export const PRIMARY_FILE = '.primary';
export const POSITION_SUFFIX = '-pos';

/** `isPrimary: false` without a hostname: no primary is known. A hostname does not mean that it is connected. */
export const primaryStatus = z.object({ isPrimary: z.boolean(), hostname: z.string().optional() });
export type PrimaryStatus = z.infer<typeof primaryStatus>;

/** One replication position. Database size in bytes = `commit` × `pageSize`; `commit` 0 = the database was dropped. */
export const transaction = z.object({
  txID: hex16,
  postApplyChecksum: hex16,
  pageSize: z.int().positive(),
  commit: z.int().nonnegative(),
  timestamp: dateTime,
});
export type Transaction = z.infer<typeof transaction>;

export const initEvent = z.object({ type: z.literal('init'), data: primaryStatus.optional() });
export type InitEvent = z.infer<typeof initEvent>;

export const txEvent = z.object({ type: z.literal('tx'), db: z.string(), data: transaction });
export type TxEvent = z.infer<typeof txEvent>;

export const primaryChangeEvent = z.object({ type: z.literal('primaryChange'), data: primaryStatus.optional() });
export type PrimaryChangeEvent = z.infer<typeof primaryChangeEvent>;

/** One line of the stream. Unknown fields are dropped; an unknown `type` is for the reader to count and to skip. */
export const replicationEvent = z.discriminatedUnion('type', [initEvent, txEvent, primaryChangeEvent]);
export type ReplicationEvent = z.infer<typeof replicationEvent>;

/** Any line of the stream, also of a type that is not known yet. */
export const replicationLine = z.looseObject({ type: z.string() });
export type ReplicationLine = z.infer<typeof replicationLine>;

/** `GET /info` of a node, the cheap liveness probe. */
export const nodeInfo = z.object({
  clusterID: z.string().optional(),
  isPrimary: z.boolean(),
  candidate: z.boolean().optional(),
  path: z.string().optional(),
  primary: z.object({ hostname: z.string().optional() }).nullable().optional(),
});
export type NodeInfo = z.infer<typeof nodeInfo>;

export const nodeOperations = {
  nodeEvents: defineOperation({
    method: 'GET',
    path: '/events',
    summary: 'Replication positions and primary changes as they happen; the first line is init',
    source: 'Suspend and Replication, Event stream',
    tag: 'Replication',
    access: 'none',
    answer: { kind: 'stream', status: 200, schema: replicationEvent, type: 'application/json' },
    errors: [],
  }),
  nodeInfo: defineOperation({
    method: 'GET',
    path: '/info',
    summary: 'What the node is and which primary it knows',
    source: 'LiteFS',
    tag: 'Replication',
    access: 'none',
    answer: { kind: 'json', status: 200, schema: nodeInfo },
    errors: [],
  }),
} as const;
