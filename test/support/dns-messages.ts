// Messages of the domain name system for tests, put together byte by byte.
import { CLASS_IN, types } from '../../src/core/dns/dns-codes.ts';

/** A name without compression. A label may have any bytes: give them as a list. */
export function dnsName(name: string | readonly string[]): Buffer {
  const labels = typeof name === 'string' ? name.split('.').filter((label) => label !== '') : name;
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

export const words = (...values: number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from([value >> 8, value & 255])));

export interface MadeQuery {
  readonly id?: number;
  readonly flags?: number;
  readonly name?: string | readonly string[] | Buffer;
  readonly type?: number;
  readonly class?: number;
  /** Questions, answers, authorities, additionals. */
  readonly counts?: readonly [number, number, number, number];
  readonly opt?: Buffer;
  readonly tail?: Buffer;
}

export const ID = 0x1234;

/** A query as a program sends it, for the addresses of a.example. */
export function makeQuery(query: MadeQuery = {}): Buffer {
  const { id = ID, flags = 0x0100, name = 'a.example', type = types.A, opt, tail } = query;
  const counts = query.counts ?? [1, 0, 0, opt === undefined ? 0 : 1];
  return Buffer.concat([
    words(id, flags, ...counts),
    Buffer.isBuffer(name) ? name : dnsName(name),
    words(type, query.class ?? CLASS_IN),
    ...(opt === undefined ? [] : [opt]),
    ...(tail === undefined ? [] : [tail]),
  ]);
}

export function makeOpt({ udp_bytes = 1_232, version = 0, flags = 0, options = Buffer.alloc(0) } = {}): Buffer {
  return Buffer.concat([
    Buffer.from([0]),
    words(types.OPT, udp_bytes),
    Buffer.from([0, version]),
    words(flags, options.length),
    options,
  ]);
}

/** `name` and names in `data` are as `dnsName` takes them, or bytes. */
export interface MadeRecord {
  readonly name: string | Buffer;
  readonly type: number;
  readonly data: Buffer;
  readonly ttl_s?: number;
  readonly class?: number;
}

export function makeRecord({ name, type, data, ttl_s = 300, class: family = CLASS_IN }: MadeRecord): Buffer {
  const owner = typeof name === 'string' ? dnsName(name) : name;
  return Buffer.concat([owner, words(type, family, ttl_s >>> 16, ttl_s & 0xffff, data.length), data]);
}

export interface MadeAnswer extends Omit<MadeQuery, 'opt' | 'counts'> {
  readonly answers?: readonly Buffer[];
  readonly authorities?: readonly Buffer[];
  readonly additionals?: readonly Buffer[];
}

export function makeAnswer(answer: MadeAnswer = {}): Buffer {
  const { answers = [], authorities = [], additionals = [], flags = 0x8180, tail } = answer;
  const counts: [number, number, number, number] = [1, answers.length, authorities.length, additionals.length];
  return Buffer.concat([
    makeQuery({ ...answer, flags, counts, tail: Buffer.alloc(0) }),
    ...answers,
    ...authorities,
    ...additionals,
    ...(tail === undefined ? [] : [tail]),
  ]);
}

export const address = (text: string): Buffer => Buffer.from(text.split('.').map(Number));
export const v4 = (name: string | Buffer, text: string, ttl_s = 300): Buffer =>
  makeRecord({ name, type: types.A, data: address(text), ttl_s });
export const alias = (name: string, target: string, ttl_s = 300): Buffer =>
  makeRecord({ name, type: types.CNAME, data: dnsName(target), ttl_s });
/** Points to the name of the question. */
export const toQuestion = Buffer.from([0xc0, 12]);
