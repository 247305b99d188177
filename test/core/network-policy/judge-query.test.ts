// What becomes of queries: those of a policy, and bytes that are none.
import { expect, test } from 'vitest';
import { DNSSEC_OK, rcodes, types } from '../../../src/core/dns/dns-codes.ts';
import { readAnswer } from '../../../src/core/dns/read-answer.ts';
import { writeQuery } from '../../../src/core/dns/write-message.ts';
import { compilePolicy } from '../../../src/core/network-policy/compile-policy.ts';
import { judgeQuery } from '../../../src/core/network-policy/judge-query.ts';
import { dnsName, ID, makeOpt, makeQuery, v4 } from '../../support/dns-messages.ts';

const policy = await compilePolicy([
  { action: 'allow', domain: 'a.example' },
  { action: 'allow', domain: '*.open.example' },
]);
const judge = (message: Uint8Array) => judgeQuery(message, policy);

/** Asks for the verdict and reads the answer to it. */
function answerTo(message: Uint8Array) {
  const verdict = judge(message);
  if (verdict.type === 'ignored' || verdict.type === 'allowed') return { type: verdict.type };
  const answer = readAnswer(verdict.message) ?? expect.unreachable('the answer cannot be read');
  expect(answer.id).toBe(ID);
  expect(answer.flags & 0x8000, 'it is an answer').not.toBe(0);
  expect([...answer.answers, ...answer.authorities]).toEqual([]);
  return { type: verdict.type, rcode: answer.rcode, hasQuestion: answer.question !== undefined };
}

const LONG = 'x'.repeat(63);

test.each<[string, Parameters<typeof makeQuery>[0]]>([
  ['of an allowed name', {}],
  ['in other letters', { name: 'A.Example' }],
  ['below a wildcard', { name: 'x.y.open.example' }],
  ['for AAAA', { type: types.AAAA }],
  ['for TXT', { type: 16 }],
  ['for MX', { type: types.MX }],
  ['for an unknown type', { type: 4_711 }],
  ['with an OPT record', { opt: makeOpt() }],
  ['with options in it', { opt: makeOpt({ options: Buffer.from([0, 10, 0, 2, 1, 2]) }) }],
])('a query %s is asked upstream', (_, query) => {
  expect(judge(makeQuery(query))).toMatchObject({ type: 'allowed', judgement: { verdict: 'allow' } });
});

test.each<[string, Parameters<typeof makeQuery>[0]]>([
  ['of another name', { name: 'b.example' }],
  ['of the parent of a wildcard', { name: 'open.example' }],
  ['of the root', { name: '' }],
  ['for TXT', { name: 'b.example', type: 16 }],
  ['for NULL', { name: 'b.example', type: 10 }],
  ['for HTTPS', { name: 'b.example', type: types.HTTPS }],
  ['for ANY', { name: 'b.example', type: 255 }],
  ['for a transfer', { name: 'b.example', type: 252 }],
  ['of the type 0', { name: 'b.example', type: 0 }],
  ['of long labels', { name: [LONG, LONG, LONG, 'b', 'example'] }],
  ['of a name whose label has a dot', { name: ['x.open', 'example'] }],
  ['of a name whose label has a dot before the end', { name: ['a.example'] }],
  ['of a name with a byte that no name has', { name: ['x\0', 'open', 'example'] }],
  ['of a name with a backslash', { name: ['x\\', 'open', 'example'] }],
  ['of a name in another script', { name: ['\xfc', 'open', 'example'] }],
  ['of an address', { name: '127.0.0.1' }],
])('a query %s that is not allowed is refused', (_, query) => {
  expect(answerTo(makeQuery(query))).toEqual({ type: 'denied', rcode: rcodes.REFUSED, hasQuestion: true });
});

test.each<[string, Parameters<typeof makeQuery>[0], number]>([
  ['HTTPS', { type: types.HTTPS }, rcodes.NOERROR],
  ['SVCB', { type: types.SVCB }, rcodes.NOERROR],
  ['ANY', { type: 255 }, rcodes.NOTIMP],
  ['AXFR', { type: 252 }, rcodes.NOTIMP],
  ['IXFR', { type: 251 }, rcodes.NOTIMP],
  ['TKEY', { type: 249 }, rcodes.NOTIMP],
  ['OPT', { type: types.OPT }, rcodes.NOTIMP],
  ['the type 0', { type: 0 }, rcodes.NOTIMP],
])('%s of an allowed name is answered without asking', (_, query, rcode) => {
  expect(answerTo(makeQuery(query))).toEqual({ type: 'unserved', rcode, hasQuestion: true });
});

test.each<[string, Buffer, number, boolean?]>([
  ['another kind of query', makeQuery({ flags: 0x2100 }), rcodes.NOTIMP],
  ['an update', makeQuery({ flags: 0x2800 }), rcodes.NOTIMP],
  ['no question', makeQuery({ counts: [0, 0, 0, 0] }), rcodes.FORMERR],
  ['two questions', makeQuery({ counts: [2, 0, 0, 0], tail: makeQuery().subarray(12) }), rcodes.FORMERR],
  ['many questions that are not there', makeQuery({ counts: [65_535, 65_535, 65_535, 65_535] }), rcodes.FORMERR],
  ['an answer', makeQuery({ counts: [1, 1, 0, 0], tail: v4('a.example', '8.8.8.8') }), rcodes.FORMERR],
  ['an authority', makeQuery({ counts: [1, 0, 1, 0], tail: v4('a.example', '8.8.8.8') }), rcodes.FORMERR],
  ['an additional record', makeQuery({ counts: [1, 0, 0, 1], tail: v4('', '8.8.8.8') }), rcodes.FORMERR],
  ['two OPT records', makeQuery({ counts: [1, 0, 0, 2], tail: Buffer.concat([makeOpt(), makeOpt()]) }), rcodes.FORMERR],
  [
    'an OPT record that is cut off',
    makeQuery({ counts: [1, 0, 0, 1], tail: makeOpt().subarray(0, -1) }),
    rcodes.FORMERR,
  ],
  ['bytes behind it', makeQuery({ tail: Buffer.from('secret') }), rcodes.FORMERR],
  ['bytes behind the OPT record', makeQuery({ opt: makeOpt(), tail: Buffer.from([0]) }), rcodes.FORMERR],
  ['truncation', makeQuery({ flags: 0x0300 }), rcodes.FORMERR],
  ['a name that is cut off', makeQuery({ name: Buffer.from([9, 0x61]) }), rcodes.FORMERR],
  ['a name with a pointer', makeQuery({ name: Buffer.from([1, 0x61, 0xc0, 12]) }), rcodes.FORMERR],
  ['a name of 256 bytes', makeQuery({ name: [LONG, LONG, LONG, 'x'.repeat(62), 'y'] }), rcodes.FORMERR],
  ['no type', makeQuery().subarray(0, -4), rcodes.FORMERR],
  ['another version of OPT', makeQuery({ opt: makeOpt({ version: 1 }) }), rcodes.BADVERS, true],
  ['the class CHAOS', makeQuery({ name: 'version.bind', type: 16, class: 3 }), rcodes.REFUSED, true],
  ['the class ANY', makeQuery({ class: 255 }), rcodes.REFUSED, true],
])('a message with %s is refused', (_, message, rcode, hasQuestion = false) => {
  expect(answerTo(message)).toEqual({ type: 'malformed', rcode, hasQuestion });
});

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['half a header', makeQuery().subarray(0, 11)],
  ['an answer', makeQuery({ flags: 0x8180 })],
])('%s gets no answer', (_, message) => {
  expect(judge(message)).toEqual({ type: 'ignored' });
});

test('an answer repeats the question letter by letter, and says why only to who understands it', () => {
  const plain = judge(makeQuery({ name: 'B.eXample' }));
  const told = judge(makeQuery({ name: 'B.eXample', opt: makeOpt({ flags: DNSSEC_OK }) }));
  if (plain.type !== 'denied' || told.type !== 'denied') return expect.unreachable();
  expect(Buffer.from(plain.message.subarray(12))).toEqual(
    Buffer.concat([dnsName('B.eXample'), Buffer.from([0, 1, 0, 1])]),
  );
  expect(Buffer.from(plain.message).includes('network policy')).toBe(false);
  expect(Buffer.from(told.message).includes('does not allow this name')).toBe(true);
  expect(told.query).toMatchObject({ name: 'b.example', type: types.A, edns: { isDnssecOk: true } });
});

test.each([
  [undefined, 512],
  [0, 512],
  [1_232, 1_232],
  [65_535, 4_096],
])('an OPT record for %s bytes lets an answer have %s', (udp_bytes, expected) => {
  const verdict = judge(makeQuery(udp_bytes === undefined ? {} : { opt: makeOpt({ udp_bytes }) }));
  expect(verdict).toMatchObject({ query: { udp_bytes: expected } });
});

test('nothing goes upstream but name, type and flags, in a form of its own', () => {
  const options = Buffer.concat([Buffer.from([0, 10, 0, 6]), Buffer.from('secret')]);
  const asked = makeQuery({ name: 'A.eXaMple', flags: 0x0130, opt: makeOpt({ options, flags: 0xffff }) });
  const verdict = judge(asked);
  if (verdict.type !== 'allowed') return expect.unreachable();
  const upstream = Buffer.from(writeQuery(verdict.query, 0xbeef));
  expect(upstream).toEqual(makeQuery({ id: 0xbeef, flags: 0x0130, opt: makeOpt({ flags: DNSSEC_OK }) }));
});
