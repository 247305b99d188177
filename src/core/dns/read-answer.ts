// An answer of a name server, read from bytes of anybody: its question and its records, with the names in them uncompressed. Pure.
import { HEADER_BYTES, types } from './dns-codes.ts';
import { readName, type WireName } from './wire-name.ts';

export interface DnsRecord {
  readonly name: WireName;
  readonly type: number;
  readonly class: number;
  /** How long it may be kept, in seconds. What is above 2^31 counts as none (RFC 2181). */
  readonly ttl_s: number;
  /** Names in it are not compressed, so that it can stand in any message. */
  readonly data: Uint8Array;
  /** The name that a CNAME or DNAME leads to, as `WireName` has it. */
  readonly target: string | undefined;
}

export interface DnsAnswer {
  readonly id: number;
  readonly flags: number;
  /** The code of the header and of the OPT record together. */
  readonly rcode: number;
  /** Undefined when there is no question in it. */
  readonly question: { readonly key: string; readonly type: number; readonly class: number } | undefined;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
}

/** So many records of all sections are read. A message with more is refused. */
const RECORDS_MAX = 512;
const RECORD_BYTES = 10;

/** What the data of a type are made of: so many bytes, a text with its length before it, or a name, which may be compressed. */
type Layout = readonly (number | 'name' | 'text')[];
const layouts: ReadonlyMap<number, Layout> = new Map<number, Layout>([
  ...[types.NS, types.CNAME, types.PTR, types.DNAME].map((type): [number, Layout] => [type, ['name']]),
  ...[types.MX, types.AFSDB, types.RT, types.KX].map((type): [number, Layout] => [type, [2, 'name']]),
  ...[types.MINFO, types.RP].map((type): [number, Layout] => [type, ['name', 'name']]),
  [types.SOA, ['name', 'name', 20]],
  [types.PX, [2, 'name', 'name']],
  [types.SRV, [6, 'name']],
  [types.NAPTR, [4, 'text', 'text', 'text', 'name']],
]);
/** An address of another length is none, and programs would read on behind it. */
const sizes: ReadonlyMap<number, number> = new Map([
  [types.A, 4],
  [types.AAAA, 16],
]);

/** The begin of a message, which holds also where the rest is cut off. Undefined for fewer bytes than that. */
export function readHead(message: Uint8Array): { readonly id: number; readonly flags: number } | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  return { id: view.getUint16(0), flags: view.getUint16(2) };
}

/** Undefined for bytes that are no whole message. Records of the additional section are not kept: nobody asked for them. */
export function readAnswer(message: Uint8Array): DnsAnswer | undefined {
  const head = readHead(message);
  if (head === undefined) return undefined;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const [questions = 0, answers = 0, authorities = 0, additionals = 0] = [4, 6, 8, 10].map((at) => view.getUint16(at));
  if (questions > 1 || answers + authorities + additionals > RECORDS_MAX) return undefined;
  const question = questions === 0 ? undefined : readName(message, HEADER_BYTES);
  let at = questions === 0 ? HEADER_BYTES : (question?.end ?? message.length) + 4;
  if (at > message.length) return undefined;
  const asked = question && { key: question.key, type: view.getUint16(at - 4), class: view.getUint16(at - 2) };
  const records: DnsRecord[] = [];
  let extended = 0;
  for (let index = 0; index < answers + authorities + additionals; index += 1) {
    const read = readRecord(view, message, at);
    if (read === undefined) return undefined;
    at = read.end;
    if (index < answers + authorities) records.push(read.record);
    else if (read.record.type === types.OPT) extended = read.extended;
  }
  return {
    ...head,
    rcode: (extended << 4) | (head.flags & 15),
    question: asked,
    answers: records.slice(0, answers),
    authorities: records.slice(answers),
  };
}

function readRecord(view: DataView, message: Uint8Array, from: number) {
  const name = readName(message, from);
  if (name === undefined || name.end + RECORD_BYTES > message.length) return undefined;
  const [type, ttl] = [view.getUint16(name.end), view.getUint32(name.end + 4)];
  const start = name.end + RECORD_BYTES;
  const end = start + view.getUint16(name.end + 8);
  const size = sizes.get(type);
  if (end > message.length || (size !== undefined && end - start !== size)) return undefined;
  const data = readData(message, type, start, end);
  if (data === undefined) return undefined;
  const record: DnsRecord = {
    name,
    type,
    class: view.getUint16(name.end + 2),
    ttl_s: ttl > 0x7fff_ffff ? 0 : ttl,
    ...data,
  };
  return { record, end, extended: view.getUint8(name.end + 4) };
}

/** Undefined when the data are not exactly what the type is made of. */
function readData(
  message: Uint8Array,
  type: number,
  start: number,
  end: number,
): { data: Uint8Array; target: string | undefined } | undefined {
  const layout = layouts.get(type);
  if (layout === undefined) return { data: message.subarray(start, end), target: undefined };
  const pieces: Uint8Array[] = [];
  let at = start;
  let target: string | undefined;
  for (const part of layout) {
    if (part === 'name') {
      const name = readName(message, at);
      if (name === undefined) return undefined;
      pieces.push(name.bytes);
      target = name.key;
      at = name.end;
      continue;
    }
    const next = at + (part === 'text' ? 1 + (message[at] ?? 0) : part);
    pieces.push(message.subarray(at, next));
    at = next;
  }
  if (at !== end) return undefined;
  return {
    data: Buffer.concat(pieces),
    target: type === types.CNAME || type === types.DNAME ? target : undefined,
  };
}
