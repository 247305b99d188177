// The head of an answer of HTTP/1 (RFC 9112), line by line, and its trailers. It takes nothing that the parser of Node refuses, and
// obsolete forms, of which the two might think differently, not at all.
import { AnswerFault } from './answer-fault.ts';
import { rememberNames } from './remember-names.ts';

/** How many bytes the names and values of one head may have, as for the parser of Node. */
const HEADERS_CAP_BYTES = 16 * 1024;

/** A control character, or half an end of line. */
const ILLEGAL = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const LENGTH = /^\d{1,15}$/;
const VERSIONS: ReadonlySet<string> = new Set(['1.1', '1.0', '0.9', '2.0']);

const SP = 0x20;
const TAB = 0x09;
const ZERO = 0x30;

type Meaning = 'connection' | 'content-length' | 'keep-alive' | 'transfer-encoding' | undefined;

const meanings: ReadonlySet<string> = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding']);

/** The name as a text of its own, and what it means for the framing. */
const ofName = rememberNames((name) => {
  const folded = name.toLowerCase();
  return { name, isToken: TOKEN.test(name), meaning: (meanings.has(folded) ? folded : undefined) as Meaning };
});

/** How the body ends. */
export type BodyEnd = 'none' | 'length' | 'chunks' | 'close';

export class AnswerHead {
  status = 0;
  phrase = '';
  /** Flat, as they were sent, without the white space before values. */
  readonly headers: string[] = [];
  #size_bytes = 0;
  #isOld = false;
  #length_bytes: number | undefined;
  #codings: string | undefined;
  #connection = '';
  #keepAlive = '';

  /** The length of a body that ends by its length. */
  get length_bytes(): number {
    return this.#length_bytes ?? 0;
  }

  get bodyEnd(): BodyEnd {
    const { status } = this;
    if (status < 200 || status === 204 || status === 304) return 'none';
    if (this.#codings !== undefined) return this.#isChunked ? 'chunks' : 'close';
    if (this.#length_bytes === undefined) return 'close';
    return this.#length_bytes === 0 ? 'none' : 'length';
  }

  /** Whether the connection stays open after the answer. One that says it has a body where there is none may send it. */
  get keepsAlive(): boolean {
    const connection = this.#connection;
    if (connection !== '' && hasOption(connection, 'close')) return false;
    if (this.#isOld && !hasOption(connection, 'keep-alive')) return false;
    const hasNoBody = this.status === 204 || this.status === 304;
    if (hasNoBody && (this.length_bytes > 0 || this.#codings !== undefined)) return false;
    return this.bodyEnd !== 'close';
  }

  /** How long the sender says that it keeps the connection. */
  get kept_ms(): number | undefined {
    return this.#keepAlive === '' ? undefined : toKept_ms(this.#keepAlive);
  }

  /** Takes the line of `text` from `from` up to `end`, without its end of line. */
  take(text: string, from: number, end: number): AnswerFault | undefined {
    return this.status === 0 ? this.#takeStatus(text, from, end) : this.takeHeader(text, from, end);
  }

  /** Takes one header, or one trailer. */
  takeHeader(text: string, from: number, end: number): AnswerFault | undefined {
    const colon = text.indexOf(':', from);
    if (colon < 0 || colon >= end) return new AnswerFault('HPE_INVALID_HEADER_TOKEN', 'a header has no name');
    const { name, isToken, meaning } = ofName(text.slice(from, colon));
    if (!isToken) return new AnswerFault('HPE_INVALID_HEADER_TOKEN', 'the name of a header is none');
    let start = colon + 1;
    for (let code = text.charCodeAt(start); code === SP || code === TAB; code = text.charCodeAt(start)) start += 1;
    const value = start < end ? text.slice(start, end) : '';
    this.#size_bytes += name.length + value.length;
    if (this.#size_bytes >= HEADERS_CAP_BYTES) return tooLarge();
    this.headers.push(name, value);
    return meaning === undefined ? undefined : this.#takeMeaning(meaning, value);
  }

  /** What is wrong with the framing once all headers are there. */
  check(): AnswerFault | undefined {
    if (this.#codings === undefined || this.#length_bytes === undefined) return undefined;
    return new AnswerFault('HPE_INVALID_TRANSFER_ENCODING', 'an answer has a length and chunks');
  }

  #takeStatus(text: string, from: number, end: number): AnswerFault | undefined {
    if (!text.startsWith('HTTP/', from)) return new AnswerFault('HPE_INVALID_CONSTANT', 'this is not HTTP');
    const version = text.slice(from + 5, from + 8);
    if (!VERSIONS.has(version)) return new AnswerFault('HPE_INVALID_VERSION', 'this version of HTTP is not known');
    this.#isOld = version !== '1.1';
    const at = from + 9;
    const status = digit(text, at) * 100 + digit(text, at + 1) * 10 + digit(text, at + 2);
    const isWhole = text.charCodeAt(at - 1) === SP && (end === at + 3 || text.charCodeAt(at + 3) === SP);
    if (!(status >= 100) || !isWhole || end < at + 3)
      return new AnswerFault('HPE_INVALID_STATUS', 'the status is none');
    const phrase = text.slice(at + 4, end);
    if (/[\r\n]/.test(phrase)) return new AnswerFault('HPE_INVALID_STATUS', 'the line of the status does not end');
    this.status = status;
    this.phrase = phrase;
    return undefined;
  }

  #takeMeaning(meaning: Exclude<Meaning, undefined>, value: string): AnswerFault | undefined {
    switch (meaning) {
      case 'connection':
        this.#connection = this.#connection === '' ? value : `${this.#connection},${value}`;
        return undefined;
      case 'keep-alive':
        this.#keepAlive = this.#keepAlive === '' ? value : `${this.#keepAlive},${value}`;
        return undefined;
      case 'transfer-encoding':
        this.#codings = this.#codings === undefined ? value : `${this.#codings},${value}`;
        return undefined;
      case 'content-length':
        if (this.#length_bytes !== undefined) return new AnswerFault('HPE_UNEXPECTED_CONTENT_LENGTH', 'two lengths');
        if (!LENGTH.test(value)) return new AnswerFault('HPE_INVALID_CONTENT_LENGTH', 'the length is no number');
        this.#length_bytes = Number(value);
        return undefined;
      default:
        return meaning satisfies never;
    }
  }

  get #isChunked(): boolean {
    const codings = this.#codings ?? '';
    return (
      codings === 'chunked' ||
      codings
        .slice(codings.lastIndexOf(',') + 1)
        .trim()
        .toLowerCase() === 'chunked'
    );
  }
}

/** Whether headers have characters that none may have. */
export function hasIllegal(headers: string): boolean {
  return ILLEGAL.test(headers);
}

export function tooLarge(): AnswerFault {
  return new AnswerFault('UND_ERR_HEADERS_OVERFLOW', `a head has more than ${HEADERS_CAP_BYTES} bytes`);
}

/** NaN for what is none. */
function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

function hasOption(connection: string, option: string): boolean {
  if (connection === 'keep-alive' || connection === 'close') return connection === option;
  return connection
    .toLowerCase()
    .split(',')
    .some((item) => item.trim() === option);
}

/** What was read last: a sender says the same with each answer. */
let last: { readonly text: string; readonly kept_ms: number | undefined } = { text: '', kept_ms: undefined };
/** A longer text is not kept. */
const LAST_MAX = 64;

function toKept_ms(text: string): number | undefined {
  if (text === last.text) return last.kept_ms;
  const found = /timeout=(\d{1,9})/.exec(text)?.[1];
  const kept_ms = found === undefined ? undefined : Number(found) * 1_000;
  // A part of a text would keep all of it in memory.
  if (text.length <= LAST_MAX) last = { text: Array.from(text).join(''), kept_ms };
  return kept_ms;
}
