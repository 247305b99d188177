// A query of the domain name system, read from bytes of anybody. Pure.
import { CLASS_IN, DNSSEC_OK, flags, HEADER_BYTES, rcodes, types } from './dns-codes.ts';
import { readName, toNameText } from './wire-name.ts';

export interface DnsQuery {
  readonly id: number;
  /** The name as `toNameText` writes it. */
  readonly name: string;
  /** The same name as `WireName` has it. */
  readonly key: string;
  readonly type: number;
  /** Name, type and class as they were sent: an answer repeats them, letter by letter. */
  readonly question: Uint8Array;
  /** RECURSION_DESIRED, AUTHENTIC and CHECKING_DISABLED, as they were sent. */
  readonly flags: number;
  /** Undefined when there is no OPT record. */
  readonly edns: { readonly isDnssecOk: boolean } | undefined;
  /** So long may an answer over UDP be. */
  readonly udp_bytes: number;
}

export type QueryReading =
  | { readonly type: 'query'; readonly query: DnsQuery }
  /** No query that is served. `query` is undefined when the question cannot be repeated: the answer is a header alone. */
  | {
      readonly type: 'refused';
      readonly rcode: number;
      readonly id: number;
      readonly flags: number;
      readonly query: DnsQuery | undefined;
    }
  /** What must not be answered: an answer would be answered again, or nothing says to what it belongs. */
  | { readonly type: 'ignored' };

const KEPT_FLAGS = flags.RECURSION_DESIRED | flags.AUTHENTIC | flags.CHECKING_DISABLED;
const LEAST_UDP_BYTES = 512;
const MOST_UDP_BYTES = 4_096;
/** Type, class, lifetime and length of a record, after its name. */
const RECORD_BYTES = 10;

/**
 * Only queries of one question of the class IN, with at most an OPT record beside it: what else a message holds is never looked at, and
 * could carry anything to whom it is forwarded.
 */
export function readQuery(message: Uint8Array): QueryReading {
  if (message.length < HEADER_BYTES) return { type: 'ignored' };
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const [id, bits] = [view.getUint16(0), view.getUint16(2)];
  if ((bits & flags.ANSWER) !== 0) return { type: 'ignored' };
  const refuse = (rcode: number, query?: DnsQuery): QueryReading => ({
    type: 'refused',
    rcode,
    id,
    flags: bits & (KEPT_FLAGS | flags.OPCODE),
    query,
  });
  if ((bits & flags.OPCODE) !== 0) return refuse(rcodes.NOTIMP);
  const counts = [4, 6, 8].map((at) => view.getUint16(at)).join();
  const additional = view.getUint16(10);
  if (counts !== '1,0,0' || additional > 1 || (bits & flags.TRUNCATED) !== 0) return refuse(rcodes.FORMERR);
  const name = readName(message, HEADER_BYTES);
  const end = (name?.end ?? message.length) + 4;
  if (name === undefined || end > message.length || name.end !== HEADER_BYTES + name.bytes.length) {
    return refuse(rcodes.FORMERR);
  }
  const opt = additional === 0 ? undefined : readOpt(view, end);
  if ((opt?.end ?? end) !== message.length || (additional === 1 && opt === undefined)) return refuse(rcodes.FORMERR);
  const query: DnsQuery = {
    id,
    name: toNameText(name.key),
    key: name.key,
    type: view.getUint16(end - 4),
    question: message.slice(HEADER_BYTES, end),
    flags: bits & KEPT_FLAGS,
    edns: opt && { isDnssecOk: opt.isDnssecOk },
    udp_bytes: Math.min(Math.max(opt?.udp_bytes ?? 0, LEAST_UDP_BYTES), MOST_UDP_BYTES),
  };
  if (opt !== undefined && opt.version !== 0) return refuse(rcodes.BADVERS, query);
  if (view.getUint16(end - 2) !== CLASS_IN) return refuse(rcodes.REFUSED, query);
  return { type: 'query', query };
}

function readOpt(view: DataView, at: number) {
  const fixed = at + 1;
  if (fixed + RECORD_BYTES > view.byteLength || view.getUint8(at) !== 0) return undefined;
  if (view.getUint16(fixed) !== types.OPT) return undefined;
  return {
    udp_bytes: view.getUint16(fixed + 2),
    version: view.getUint8(fixed + 5),
    isDnssecOk: (view.getUint16(fixed + 6) & DNSSEC_OK) !== 0,
    end: fixed + RECORD_BYTES + view.getUint16(fixed + 8),
  };
}
