// What becomes of a query that a program in a sprite sends: refused, answered here, or asked upstream. Pure.
// DECISIONS.md, "Queries under a network policy"
import { notes, rcodes, types } from '../dns/dns-codes.ts';
import { type DnsQuery, readQuery } from '../dns/read-query.ts';
import { writeRefusal } from '../dns/refuse-message.ts';
import { writeReply } from '../dns/write-message.ts';
import type { NameJudgement, NetworkPolicy } from './compile-policy.ts';

export type QueryVerdict =
  /** Answered with nothing at all: over TCP the connection ends. */
  | { readonly type: 'ignored' }
  /** `message` is the whole answer. */
  | { readonly type: 'malformed'; readonly message: Uint8Array; readonly rcode: number }
  | {
      readonly type: 'denied';
      readonly message: Uint8Array;
      readonly query: DnsQuery;
      readonly judgement: NameJudgement;
    }
  /** The name is allowed, and what is asked of it is not served. */
  | { readonly type: 'unserved'; readonly message: Uint8Array; readonly query: DnsQuery; readonly rcode: number }
  | { readonly type: 'allowed'; readonly query: DnsQuery; readonly judgement: NameJudgement };

const DENIED = { code: notes.BLOCKED, text: 'the network policy of this sprite does not allow this name' };
const HINTS = { code: notes.FILTERED, text: 'HTTPS and SVCB records are not served; ask for A and AAAA' };

/** Types that are no data but wishes, such as ANY and AXFR. */
const FIRST_META_TYPE = 128;
const LAST_META_TYPE = 255;

/** `message`: the bytes of one datagram, or of one message over TCP without its length. Never throws. */
export function judgeQuery(message: Uint8Array, policy: NetworkPolicy): QueryVerdict {
  const reading = readQuery(message);
  switch (reading.type) {
    case 'ignored':
      return reading;
    case 'refused':
      return { type: 'malformed', message: writeRefusal(reading), rcode: reading.rcode };
    case 'query':
      return judge(reading.query, policy);
    default:
      return reading satisfies never;
  }
}

function judge(query: DnsQuery, policy: NetworkPolicy): QueryVerdict {
  const judgement = policy.judgeName(query.name);
  if (judgement.verdict === 'deny') {
    const { message } = writeReply(query, { rcode: rcodes.REFUSED, note: DENIED });
    return { type: 'denied', message, query, judgement };
  }
  if (query.type === types.HTTPS || query.type === types.SVCB) {
    const rcode = rcodes.NOERROR;
    return { type: 'unserved', message: writeReply(query, { rcode, note: HINTS }).message, query, rcode };
  }
  if (query.type === 0 || query.type === types.OPT || isMeta(query.type)) {
    const rcode = rcodes.NOTIMP;
    return { type: 'unserved', message: writeReply(query, { rcode }).message, query, rcode };
  }
  return { type: 'allowed', query, judgement };
}

function isMeta(type: number): boolean {
  return type >= FIRST_META_TYPE && type <= LAST_META_TYPE;
}
