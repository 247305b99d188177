// What programs get of an answer from upstream, and which addresses it opens.
import { expect, test } from 'vitest';
import { DNSSEC_OK, types } from '../../../src/core/dns/dns-codes.ts';
import { type DnsRecord, readAnswer } from '../../../src/core/dns/read-answer.ts';
import { readQuery } from '../../../src/core/dns/read-query.ts';
import { toNameText } from '../../../src/core/dns/wire-name.ts';
import { TCP_BYTES } from '../../../src/core/dns/write-message.ts';
import { toAddressText } from '../../../src/core/network-policy/address-ranges.ts';
import { isBlockedAddress } from '../../../src/core/network-policy/blocked-addresses.ts';
import { rewriteAnswer } from '../../../src/core/network-policy/rewrite-answer.ts';
import {
  alias,
  dnsName,
  ID,
  type MadeQuery,
  makeAnswer,
  makeOpt,
  makeQuery,
  makeRecord,
  toQuestion,
  v4,
  words,
} from '../../support/dns-messages.ts';

const v6 = (name: string | Buffer, bytes: readonly number[], ttl_s = 300): Buffer =>
  makeRecord({ name, type: types.AAAA, data: Buffer.from(bytes), ttl_s });
const PUBLIC_V6 = [0x26, 6, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/** The record as a text: type, owner, and the address or the bytes. */
function show({ type, name, ttl_s, data }: DnsRecord): string {
  const text = type === types.A || type === types.AAAA ? toAddressText(data) : Buffer.from(data).toString('latin1');
  return `${type} ${toNameText(name.key)} ${text} ${ttl_s}`;
}

function rewrite(upstream: Buffer, asked: MadeQuery = {}, limit_bytes = TCP_BYTES) {
  const reading = readQuery(makeQuery(asked));
  if (reading.type !== 'query') return expect.unreachable('the query of the test is none');
  const { query } = reading;
  const made = rewriteAnswer({ query, id: ID, isBlocked: isBlockedAddress, limit_bytes }, upstream);
  if (made.type !== 'answer' && made.type !== 'malformed') return { type: made.type };
  const answer = readAnswer(made.message) ?? expect.unreachable('the answer cannot be read');
  expect(answer).toMatchObject({ id: ID, question: { key: query.key, type: query.type, class: 1 } });
  expect(made.message.length).toBeLessThanOrEqual(limit_bytes);
  const records = answer.answers.map(show);
  return { ...made, rcode: answer.rcode, records, authorities: answer.authorities.map(show), flags: answer.flags };
}

const flagsOf = (found: ReturnType<typeof rewrite>): number => ('flags' in found ? found.flags : 0);

test('addresses of the name are opened, each for its time, and the answer has them', () => {
  const upstream = makeAnswer({ answers: [v4(toQuestion, '8.8.8.8', 60), v4('A.EXAMPLE', '1.1.1.1', 0)] });
  expect(rewrite(upstream)).toMatchObject({
    type: 'answer',
    rcode: 0,
    opened: [
      { address: '8.8.8.8', family: 'ipv4', open_s: 60 },
      { address: '1.1.1.1', family: 'ipv4', open_s: 10 },
    ],
    blocked: [],
    chain: ['a.example'],
    records: ['1 a.example 8.8.8.8 60', '1 a.example 1.1.1.1 0'],
  });
});

test.each([
  [0, 10, 0],
  [3, 10, 3],
  [11, 11, 11],
  [86_401, 86_400, 86_400],
  [0x7fff_ffff, 86_400, 86_400],
  [0x8000_0000, 10, 0],
])('a lifetime of %d s opens for %d s and is sent on as %d s', (ttl_s, open_s, sent_s) => {
  expect(rewrite(makeAnswer({ answers: [v4(toQuestion, '8.8.8.8', ttl_s)] }))).toMatchObject({
    opened: [{ address: '8.8.8.8', open_s }],
    records: [`1 a.example 8.8.8.8 ${sent_s}`],
  });
});

test('an address that comes twice is opened once, for the longer time', () => {
  const answers = [v4(toQuestion, '8.8.8.8', 20), v4(toQuestion, '8.8.8.8', 90), v4(toQuestion, '8.8.8.8', 30)];
  expect(rewrite(makeAnswer({ answers }))).toMatchObject({
    opened: [{ address: '8.8.8.8', family: 'ipv4', open_s: 90 }],
  });
});

test('aliases are followed from the name that was asked, in whatever order they come', () => {
  const answers = [v4('c.test', '8.8.8.8'), alias('b.test', 'c.test'), alias('a.example', 'B.test')];
  expect(rewrite(makeAnswer({ answers }))).toMatchObject({
    opened: [{ address: '8.8.8.8' }],
    chain: ['a.example', 'b.test', 'c.test'],
    records: expect.arrayContaining(['1 c.test 8.8.8.8 300']),
  });
});

test.each<[string, Buffer[]]>([
  ['another name', [v4('b.example', '9.9.9.9')]],
  ['a name below', [v4('x.a.example', '9.9.9.9')]],
  ['a name in the middle of the chain', [v4('a.example', '9.9.9.9')]],
  ['the target of another alias', [alias('x.test', 'y.test'), v4('y.test', '9.9.9.9')]],
  ['a second alias of the name', [alias('a.example', 'y.test'), v4('y.test', '9.9.9.9')]],
  ['another type', [v6('b.test', PUBLIC_V6)]],
  ['another class', [makeRecord({ name: 'b.test', type: types.A, class: 3, data: Buffer.from([9, 9, 9, 9]) })]],
  ['hints', [makeRecord({ name: 'b.test', type: types.HTTPS, data: Buffer.from([0, 1, 0, 0, 4, 0, 4, 9, 9, 9, 9]) })]],
])('what an answer has beside it of %s neither opens nor gets through', (_, more) => {
  const answers = [alias('a.example', 'b.test'), v4('b.test', '8.8.8.8'), ...more];
  expect(rewrite(makeAnswer({ answers }))).toMatchObject({
    opened: [{ address: '8.8.8.8' }],
    records: [expect.stringMatching(/^5 a\.example/), '1 b.test 8.8.8.8 300'],
  });
});

test('records of the other sections open nothing and do not get through, but what says that there is nothing', () => {
  const soa = Buffer.concat([dnsName('ns.example'), dnsName('mail.example'), Buffer.alloc(20, 1)]);
  const upstream = makeAnswer({
    answers: [v4(toQuestion, '8.8.8.8')],
    authorities: [
      v4('b.example', '9.9.9.9'),
      makeRecord({ name: 'example', type: types.NS, data: dnsName('ns.example') }),
      makeRecord({ name: 'example', type: types.SOA, data: soa }),
    ],
    additionals: [v4('ns.example', '9.9.9.9'), makeOpt()],
  });
  expect(rewrite(upstream)).toMatchObject({
    opened: [{ address: '8.8.8.8' }],
    records: ['1 a.example 8.8.8.8 300'],
    authorities: [expect.stringMatching(/^6 example/)],
  });
});

test('addresses outside the public internet are left out, and said', () => {
  const answers = [v4(toQuestion, '10.0.0.1'), v4(toQuestion, '8.8.8.8'), v4(toQuestion, '169.254.169.254')];
  const found = rewrite(makeAnswer({ answers }), { opt: makeOpt() });
  expect(found).toMatchObject({
    opened: [{ address: '8.8.8.8' }],
    blocked: ['10.0.0.1', '169.254.169.254'],
    records: ['1 a.example 8.8.8.8 300'],
  });
  if (found.type === 'answer') expect(Buffer.from(found.message).includes('public internet')).toBe(true);
});

test.each<[string, Buffer[], MadeQuery]>([
  ['a private one', [v4(toQuestion, '192.168.0.1')], {}],
  ['a private one behind an alias', [alias('a.example', 'b.test'), v4('b.test', '127.0.0.1')], {}],
  ['a mapped one', [v6(toQuestion, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 8, 8, 8, 8])], { type: types.AAAA }],
  [
    'a translated one',
    [v6(toQuestion, [0, 0x64, 255, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1])],
    { type: types.AAAA },
  ],
])('an answer of nothing but %s is empty', (_, answers, query) => {
  expect(rewrite(makeAnswer({ ...query, answers }), query)).toMatchObject({
    type: 'answer',
    rcode: 0,
    opened: [],
    blocked: [expect.any(String)],
    records: [],
  });
});

test('addresses of IPv6 are opened, also those behind NAT64', () => {
  const answers = [v6(toQuestion, PUBLIC_V6), v6(toQuestion, [0, 0x64, 255, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8])];
  const query = { type: types.AAAA };
  expect(rewrite(makeAnswer({ ...query, answers }), query)).toMatchObject({
    opened: [
      { address: '2606:4700::1', family: 'ipv6' },
      { address: '64:ff9b::808:808', family: 'ipv6' },
    ],
  });
});

test('what was not asked for addresses opens none', () => {
  const query = { type: types.MX };
  const answers = [makeRecord({ name: toQuestion, type: types.MX, data: Buffer.concat([words(10), toQuestion]) })];
  expect(rewrite(makeAnswer({ ...query, answers: [...answers, v4(toQuestion, '8.8.8.8')] }), query)).toMatchObject({
    opened: [],
    records: [expect.stringContaining(dnsName('a.example').toString('latin1'))],
  });
});

test('signatures come to who asks for them, and go when the addresses are not all there', () => {
  const signature = makeRecord({ name: toQuestion, type: types.RRSIG, data: Buffer.alloc(40) });
  const signed = (...answers: Buffer[]) => makeAnswer({ flags: 0x81a0, answers: [...answers, signature] });
  const one = v4(toQuestion, '8.8.8.8');
  const opt = makeOpt({ flags: DNSSEC_OK });
  const withSignature = rewrite(signed(one), { opt });
  expect(withSignature).toMatchObject({ records: [expect.stringMatching(/^1 /), expect.stringMatching(/^46 /)] });
  expect(flagsOf(withSignature) & 0x20).toBe(0x20);
  const without = rewrite(signed(one));
  expect(without).toMatchObject({ records: [expect.stringMatching(/^1 /)] });
  expect(flagsOf(without) & 0x20).toBe(0);
  const filtered = rewrite(signed(one, v4(toQuestion, '10.0.0.1')), { opt });
  expect(filtered).toMatchObject({ records: [expect.stringMatching(/^1 /)] });
  expect(flagsOf(filtered) & 0x20).toBe(0);
});

test.each([
  ['that there is no such name', 0x8183, 3],
  ['that it failed', 0x8182, 2],
  ['that it refuses', 0x8185, 5],
])('the server says %s', (_, flags, rcode) => {
  expect(rewrite(makeAnswer({ flags }))).toMatchObject({ type: 'answer', rcode, opened: [], records: [] });
});

test.each<[string, Buffer]>([
  ['of another id', makeAnswer({ id: ID + 1 })],
  ['of another name', makeAnswer({ name: 'b.example' })],
  ['of another type', makeAnswer({ type: types.AAAA })],
  ['of another class', makeAnswer({ class: 3 })],
  ['of another kind', makeAnswer({ flags: 0x9180 })],
  ['that is a query', makeAnswer({ flags: 0x0100 })],
  ['without a question', Buffer.concat([words(ID, 0x8180, 0, 0, 0, 0)])],
  ['of no length', Buffer.alloc(0)],
  ['that is cut off in its header', makeAnswer().subarray(0, 11)],
])('a message %s is not taken for the answer', (_, upstream) => {
  expect(rewrite(upstream)).toEqual({ type: 'foreign' });
});

test('a server that understood nothing is believed without a question', () => {
  expect(rewrite(words(ID, 0x8181, 0, 0, 0, 0))).toMatchObject({ type: 'answer', rcode: 1, opened: [] });
});

test('a truncated answer is to be asked for again, wherever it was cut', () => {
  const upstream = makeAnswer({ flags: 0x8380, answers: [v4(toQuestion, '8.8.8.8')] });
  for (const length of [12, 20, 27, 30, upstream.length]) {
    expect(rewrite(upstream.subarray(0, length))).toEqual({ type: 'truncated' });
  }
});

const good = v4(toQuestion, '8.8.8.8');

test.each<[string, Buffer]>([
  ['cut off', makeAnswer({ answers: [good] }).subarray(0, -1)],
  ['short of a record', makeAnswer({ answers: [good, Buffer.alloc(0)] })],
  [
    'with an address of three bytes',
    makeAnswer({ answers: [makeRecord({ name: toQuestion, type: 1, data: Buffer.alloc(3) })] }),
  ],
  [
    'with an address of five bytes',
    makeAnswer({ answers: [good, makeRecord({ name: toQuestion, type: 1, data: Buffer.alloc(5) })] }),
  ],
  [
    'with an address of no bytes',
    makeAnswer({ answers: [makeRecord({ name: toQuestion, type: 1, data: Buffer.alloc(0) }), good] }),
  ],
  [
    'with an alias to no name',
    makeAnswer({ answers: [makeRecord({ name: toQuestion, type: 5, data: Buffer.from([5, 97]) })] }),
  ],
  [
    'with bytes behind an alias',
    makeAnswer({ answers: [makeRecord({ name: toQuestion, type: 5, data: Buffer.alloc(2) })] }),
  ],
  ['with aliases in a circle', makeAnswer({ answers: [alias('a.example', 'b.test'), alias('b.test', 'a.example')] })],
  ['with an alias of itself', makeAnswer({ answers: [alias('a.example', 'a.example')] })],
  [
    'with aliases without end',
    makeAnswer({
      answers: [
        alias('a.example', 'n0.test'),
        ...Array.from({ length: 20 }, (_, at) => alias(`n${at}.test`, `n${at + 1}.test`)),
      ],
    }),
  ],
  ['with more records than are read', makeAnswer({ answers: Array.from({ length: 513 }, () => good) })],
])('an answer %s fails and opens nothing', (_, upstream) => {
  const found = rewrite(upstream);
  expect(found).toMatchObject({ type: 'malformed', rcode: 2, records: [] });
  expect(found).not.toHaveProperty('opened');
});

test('what does not fit opens nothing, and is asked for again over TCP', () => {
  const answers = Array.from({ length: 60 }, (_, at) => v4(toQuestion, `8.8.8.${at}`));
  const upstream = makeAnswer({ answers });
  const small = rewrite(upstream, {}, 512);
  expect(small).toMatchObject({ type: 'answer', opened: [], records: [] });
  expect(flagsOf(small) & 0x0200).toBe(0x0200);
  expect(rewrite(upstream, {}, 1_232)).toMatchObject({ opened: { length: 60 }, records: { length: 60 } });
});

test('an answer is no longer than it came, however its names are written', () => {
  const answers = [
    alias('a.example', 'x.b.test'),
    alias('x.b.test', 'y.b.test'),
    v4('y.b.test', '8.8.8.8'),
    v4('y.b.test', '1.1.1.1'),
  ];
  const found = rewrite(makeAnswer({ answers }));
  if (found.type !== 'answer') return expect.unreachable();
  // Two aliases whose ends are pointers, and two addresses of a name that is one.
  expect(found.message.length).toBe(12 + 15 + (12 + 10) + (12 + 4) + 2 * 16);
});
