// What a program in a sprite gets of an answer from upstream, and which addresses it may reach by it. Pure.
// DECISIONS.md, "Answers under a network policy"
import { CLASS_IN, flags, notes, rcodes, types } from '../dns/dns-codes.ts';
import { type DnsAnswer, type DnsRecord, readAnswer, readHead } from '../dns/read-answer.ts';
import type { DnsQuery } from '../dns/read-query.ts';
import { toNameText } from '../dns/wire-name.ts';
import { writeReply } from '../dns/write-message.ts';
import { type AddressBytes, toAddressText } from './address-ranges.ts';

export interface OpenedAddress {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** How long it is open, in seconds. */
  readonly open_s: number;
}

export type AnswerRewrite =
  | {
      readonly type: 'answer';
      readonly message: Uint8Array;
      readonly rcode: number;
      /** Each once. To be opened before the message is sent. Empty also when the records did not fit into the message. */
      readonly opened: readonly OpenedAddress[];
      /** Addresses that were left out. */
      readonly blocked: readonly string[];
      /** The name that was asked, and those that it is an alias of, in their order. */
      readonly chain: readonly string[];
    }
  /** There is more than fits into a datagram: to be asked again over TCP. */
  | { readonly type: 'truncated' }
  /** Not the answer to this query: to be dropped, the right one may still come. */
  | { readonly type: 'foreign' }
  /** `message` says SERVFAIL. */
  | { readonly type: 'malformed'; readonly message: Uint8Array };

export interface AskedUpstream {
  readonly query: DnsQuery;
  /** The id of the message that was sent upstream. */
  readonly id: number;
  readonly isBlocked: (address: AddressBytes) => boolean;
  /** The longest that the message for the caller may be: `query.udp_bytes`, or `TCP_BYTES` over TCP. */
  readonly limit_bytes: number;
}

/** An address with no lifetime is still open for as long as a program needs to connect to it. */
const OPEN_LEAST_S = 10;
/** No answer is kept for longer, and none says that it may be. */
const OPEN_MOST_S = 86_400;
const CHAIN_MAX = 16;
const AUTHORITIES_MAX = 32;

const FILTERED = { code: notes.FILTERED, text: 'addresses that are not of the public internet were left out' };

/** `message`: what came from upstream. Never throws. */
export function rewriteAnswer(asked: AskedUpstream, message: Uint8Array): AnswerRewrite {
  const { query, limit_bytes } = asked;
  const head = readHead(message);
  if (head === undefined || head.id !== asked.id || (head.flags & flags.ANSWER) === 0) return { type: 'foreign' };
  // The records of a truncated message may end anywhere.
  if ((head.flags & flags.TRUNCATED) !== 0) return { type: 'truncated' };
  const answer = readAnswer(message);
  if (answer === undefined) return toMalformed(query);
  if (!isAnswerTo(query, answer)) return { type: 'foreign' };
  const chain = toChain(query, answer.answers);
  if (chain === undefined) return toMalformed(query);
  const kept = answer.answers.filter((record) => isAskedFor(record, query, chain));
  const isAddress = query.type === types.A || query.type === types.AAAA;
  const blocked = isAddress ? kept.filter(({ type, data }) => type === query.type && asked.isBlocked(data)) : [];
  const isFiltered = blocked.length > 0;
  const rest = isFiltered ? withoutBlocked(kept, blocked, query.type) : kept;
  const written = writeReply(query, {
    rcode: answer.rcode,
    answers: rest.map(withBoundedLife),
    authorities: answer.authorities.filter((record) => isProof(record, query)).slice(0, AUTHORITIES_MAX),
    isAuthentic: isAuthentic(query, answer) && !isFiltered,
    ...(isFiltered && { note: FILTERED }),
    limit_bytes,
  });
  const isOpened = isAddress && !written.isTruncated;
  return {
    type: 'answer',
    message: written.message,
    rcode: answer.rcode,
    opened: isOpened ? toOpened(rest.filter(({ type }) => type === query.type)) : [],
    blocked: blocked.map(({ data }) => toAddressText(data)),
    chain: chain.map(toNameText),
  };
}

function toMalformed(query: DnsQuery): AnswerRewrite {
  return { type: 'malformed', message: writeReply(query, { rcode: rcodes.SERVFAIL }).message };
}

/** A server that understood nothing may leave out the question. */
function isAnswerTo(query: DnsQuery, { flags: bits, question, rcode }: DnsAnswer): boolean {
  if ((bits & flags.OPCODE) !== 0) return false;
  if (question === undefined) return rcode !== rcodes.NOERROR;
  return question.key === query.key && question.type === query.type && question.class === CLASS_IN;
}

/** Keys of names. Undefined when the aliases lead in a circle or on and on. */
function toChain({ key, type }: DnsQuery, records: readonly DnsRecord[]): readonly string[] | undefined {
  const targets = new Map<string, string>();
  for (const { name, type: own, class: family, target } of records) {
    const isAlias = own === types.CNAME && family === CLASS_IN && target !== undefined;
    if (isAlias && !targets.has(name.key)) targets.set(name.key, target);
  }
  const chain = [key];
  if (type === types.CNAME) return chain;
  for (let next = targets.get(key); next !== undefined; next = targets.get(next)) {
    if (chain.length > CHAIN_MAX || chain.includes(next)) return undefined;
    chain.push(next);
  }
  return chain;
}

/** The aliases of the chain, and at its end what was asked for: nothing of any other name gets in. */
function isAskedFor(
  { name, type, class: family, target }: DnsRecord,
  query: DnsQuery,
  chain: readonly string[],
): boolean {
  if (family !== CLASS_IN) return false;
  const at = chain.indexOf(name.key);
  if (type === query.type) return at === chain.length - 1;
  if (type === types.CNAME) return at !== -1 && chain[at + 1] === target;
  if (type === types.DNAME) return chain.some((key) => key !== name.key && key.endsWith(name.key));
  return type === types.RRSIG && at !== -1 && query.edns?.isDnssecOk === true;
}

/** There is no answer without any address left; with some, its signatures hold no more. */
function withoutBlocked(kept: readonly DnsRecord[], blocked: readonly DnsRecord[], type: number): readonly DnsRecord[] {
  const gone = new Set(blocked);
  const rest = kept.filter((record) => !gone.has(record) && record.type !== types.RRSIG);
  return rest.some((record) => record.type === type) ? rest : [];
}

/** What says that there is nothing, and what proves it to who checks signatures. */
function isProof({ type, class: family }: DnsRecord, { edns }: DnsQuery): boolean {
  if (family !== CLASS_IN) return false;
  if (type === types.SOA) return true;
  return edns?.isDnssecOk === true && (type === types.RRSIG || type === types.NSEC || type === types.NSEC3);
}

function isAuthentic({ flags: asked, edns }: DnsQuery, answer: DnsAnswer): boolean {
  const isWanted = (asked & flags.AUTHENTIC) !== 0 || edns?.isDnssecOk === true;
  return isWanted && (answer.flags & flags.AUTHENTIC) !== 0;
}

function withBoundedLife(record: DnsRecord): DnsRecord {
  return record.ttl_s > OPEN_MOST_S ? { ...record, ttl_s: OPEN_MOST_S } : record;
}

function toOpened(records: readonly DnsRecord[]): OpenedAddress[] {
  const opened = new Map<string, OpenedAddress>();
  for (const { data, ttl_s } of records) {
    const address = toAddressText(data);
    const open_s = Math.max(Math.min(ttl_s, OPEN_MOST_S), OPEN_LEAST_S, opened.get(address)?.open_s ?? 0);
    opened.set(address, { address, family: data.length === 4 ? 'ipv4' : 'ipv6', open_s });
  }
  return [...opened.values()];
}
