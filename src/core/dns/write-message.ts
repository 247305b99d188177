// Writes messages of the domain name system. Names of owners and of CNAMEs are compressed, other names are not. Pure.
import { DNSSEC_OK, flags, HEADER_BYTES, rcodes, types } from './dns-codes.ts';
import type { DnsRecord } from './read-answer.ts';
import type { DnsQuery } from './read-query.ts';

/** The length of a whole message over TCP at the most: it stands in two bytes. */
export const TCP_BYTES = 65_535;
/** What is offered to the other end over UDP: it passes every network in one piece. */
const OFFERED_UDP_BYTES = 1_232;
/** Type, class, lifetime and length of a record, between its name and its data. */
const RECORD_BYTES = 10;
const OPT_BYTES = 1 + RECORD_BYTES;
const EXTENDED_ERROR_OPTION = 15;
/** A pointer has fourteen bits. */
const POINTER_MAX = 0x3fff;

/** Why an answer is as it is (RFC 8914). Sent only to who understands it. */
export interface Note {
  readonly code: number;
  readonly text: string;
}

export interface Reply {
  readonly rcode: number;
  readonly answers?: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly isAuthentic?: boolean;
  readonly note?: Note;
  /** The longest that the message may be; `udp_bytes` of the query over UDP, and `TCP_BYTES` where nothing is given. */
  readonly limit_bytes?: number;
}

export interface WrittenReply {
  readonly message: Uint8Array;
  /** The records did not fit, and none is in it: the caller asks again over TCP. */
  readonly isTruncated: boolean;
}

/** The answer to `query`. */
export function writeReply(query: DnsQuery, reply: Reply): WrittenReply {
  const { answers = [], authorities = [], limit_bytes = TCP_BYTES } = reply;
  const opt = query.edns === undefined ? undefined : toOpt(query.edns.isDnssecOk, reply.rcode, reply.note);
  const records = [...answers, ...authorities];
  const whole = records.reduce((sum, { name, data }) => sum + toSize(name.bytes, data), query.question.length);
  const writer = new MessageWriter(Math.min(whole, limit_bytes - HEADER_BYTES - (opt?.length ?? 0)));
  const bits = query.flags & (flags.RECURSION_DESIRED | flags.CHECKING_DISABLED);
  const head = bits | flags.ANSWER | flags.RECURSION_AVAILABLE | (reply.isAuthentic === true ? flags.AUTHENTIC : 0);
  // An extended code has no meaning to who sent no OPT record.
  const rcode = reply.rcode > 15 && opt === undefined ? rcodes.SERVFAIL : reply.rcode & 15;
  writer.question(query);
  const fits = records.every((record) => writer.record(record));
  if (!fits) {
    const counts = [1, 0, 0, opt === undefined ? 0 : 1];
    const question = query.question;
    const message = join(toHeader(query.id, head | flags.TRUNCATED | rcode, counts), question, opt);
    return { message, isTruncated: true };
  }
  const counts = [1, answers.length, authorities.length, opt === undefined ? 0 : 1];
  const message = join(toHeader(query.id, head | rcode, counts), writer.body(), opt);
  return { message, isTruncated: false };
}

/** The answer to bytes whose question cannot be repeated: a header alone. `bits`: the flags to repeat. */
export function writeHeader(id: number, bits: number, rcode: number): Uint8Array {
  return toHeader(id, bits | flags.ANSWER | (rcode & 15), [0, 0, 0, 0]);
}

/**
 * What is asked upstream: the name in lower case, and nothing that the caller chose but name, type and flags. `plain`: without an OPT record,
 * for servers that know none.
 */
export function writeQuery(query: DnsQuery, id: number, form: 'extended' | 'plain' = 'extended'): Uint8Array {
  const name = Buffer.from(query.key, 'latin1');
  const isExtended = form === 'extended';
  const opt = isExtended ? toOpt(query.edns?.isDnssecOk === true, rcodes.NOERROR, undefined) : undefined;
  return join(toHeader(id, query.flags, [1, 0, 0, isExtended ? 1 : 0]), name, query.question.subarray(-4), opt);
}

/** The size of a record without compression. */
function toSize(name: Uint8Array, data: Uint8Array): number {
  return name.length + RECORD_BYTES + data.length;
}

function toHeader(id: number, bits: number, counts: readonly number[]): Uint8Array {
  return toWords(id, bits, ...counts);
}

function toOpt(isDnssecOk: boolean, rcode: number, note: Note | undefined): Uint8Array {
  const option = note === undefined ? Buffer.alloc(0) : Buffer.from(note.text);
  const options =
    note === undefined ? option : join(toWords(EXTENDED_ERROR_OPTION, 2 + option.length, note.code), option);
  const fixed = Buffer.alloc(OPT_BYTES);
  fixed.writeUInt16BE(types.OPT, 1);
  fixed.writeUInt16BE(OFFERED_UDP_BYTES, 3);
  fixed.writeUInt8(rcode >> 4, 5);
  fixed.writeUInt16BE(isDnssecOk ? DNSSEC_OK : 0, 7);
  fixed.writeUInt16BE(options.length, 9);
  return join(fixed, options);
}

function toWords(...words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 2);
  words.forEach((word, index) => {
    bytes.writeUInt16BE(word, index * 2);
  });
  return bytes;
}

function join(...parts: readonly (Uint8Array | undefined)[]): Uint8Array {
  return Buffer.concat(parts.filter((part) => part !== undefined));
}

/** The part of a message behind its header. */
class MessageWriter {
  readonly #bytes: Buffer;
  /** Where a name, or the end of one, has been written. */
  readonly #places = new Map<string, number>();
  #length = 0;

  constructor(length: number) {
    this.#bytes = Buffer.alloc(length);
  }

  /** Written as it was sent. */
  question({ question, key }: DnsQuery): void {
    this.#remember(key, 0);
    this.#write(question);
  }

  /** False when it does not fit. */
  record({ name, type, class: family, ttl_s, data, target }: DnsRecord): boolean {
    const head = Buffer.alloc(RECORD_BYTES);
    head.writeUInt16BE(type, 0);
    head.writeUInt16BE(family, 2);
    head.writeUInt32BE(ttl_s, 4);
    if (!this.#writeName(name.key, name.bytes)) return false;
    const at = this.#length;
    if (!this.#write(head)) return false;
    const fits = type === types.CNAME && target !== undefined ? this.#writeName(target, data) : this.#write(data);
    if (fits) this.#bytes.writeUInt16BE(this.#length - at - head.length, at + 8);
    return fits;
  }

  body(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The labels up to the first end that has been written before, and a pointer to it. */
  #writeName(key: string, bytes: Uint8Array): boolean {
    let at = 0;
    while (key.charCodeAt(at) > 0) {
      const place = this.#places.get(key.slice(at));
      if (place !== undefined) {
        const start = this.#length;
        if (!this.#write(bytes.subarray(0, at)) || !this.#write(toWords(0xc000 | place))) return false;
        this.#remember(key.slice(0, at), start, key);
        return true;
      }
      at += 1 + key.charCodeAt(at);
    }
    this.#remember(key, this.#length);
    return this.#write(bytes);
  }

  /** Every end of the name that begins in `labels` can be pointed to. */
  #remember(labels: string, start: number, key: string = labels): void {
    for (let at = 0; at < labels.length && labels.charCodeAt(at) > 0; at += 1 + labels.charCodeAt(at)) {
      const place = HEADER_BYTES + start + at;
      const end = key.slice(at);
      if (place <= POINTER_MAX && !this.#places.has(end)) this.#places.set(end, place);
    }
  }

  #write(bytes: Uint8Array): boolean {
    if (this.#length + bytes.length > this.#bytes.length) return false;
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return true;
  }
}
