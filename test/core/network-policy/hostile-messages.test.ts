// Messages of anybody: whatever their bytes, nothing throws, what is opened is what the program is told, and none costs much.
// REMORA_FUZZ_SEED draws others.
import { expect, onTestFailed, test } from 'vitest';
import { DNSSEC_OK, types } from '../../../src/core/dns/dns-codes.ts';
import { readAnswer } from '../../../src/core/dns/read-answer.ts';
import { type DnsQuery, readQuery } from '../../../src/core/dns/read-query.ts';
import { TCP_BYTES } from '../../../src/core/dns/write-message.ts';
import { toAddressText } from '../../../src/core/network-policy/address-ranges.ts';
import { isBlockedAddress } from '../../../src/core/network-policy/blocked-addresses.ts';
import { compilePolicy } from '../../../src/core/network-policy/compile-policy.ts';
import { judgeQuery } from '../../../src/core/network-policy/judge-query.ts';
import { rewriteAnswer } from '../../../src/core/network-policy/rewrite-answer.ts';
import { createDice, type Dice } from '../../support/dice.ts';
import {
  alias,
  dnsName,
  ID,
  makeAnswer,
  makeOpt,
  makeQuery,
  makeRecord,
  toQuestion,
  v4,
  words,
} from '../../support/dns-messages.ts';
import { threadTime_ms } from '../../support/thread-time.ts';

const ROUNDS = 3_000;
const LONGEST_MS = 20;

const policy = await compilePolicy([{ action: 'allow', domain: '*' }]);

function toQuery(dice: Dice): DnsQuery {
  const type = dice.pick([types.A, types.AAAA, types.A, types.MX, types.SOA, types.NAPTR]);
  const opt = dice.chance(50) ? { opt: makeOpt({ flags: dice.pick([0, DNSSEC_OK]) }) } : {};
  const reading = readQuery(makeQuery({ type, ...opt }));
  return reading.type === 'query' ? reading.query : expect.unreachable('the query of the test is none');
}

function toRecord(dice: Dice): Buffer {
  const name = dice.pick<string | Buffer>([
    'a.example',
    'b.test',
    'c.test',
    toQuestion,
    Buffer.from([0xc0, dice.below(200)]),
  ]);
  const target = dice.pick([dnsName('b.test'), dnsName('c.test'), toQuestion]);
  const ttl_s = dice.pick([0, 60, 0xffff_ffff]);
  switch (dice.below(6)) {
    case 0:
      return makeRecord({
        name,
        type: types.AAAA,
        data: Buffer.from(Array.from({ length: 16 }, () => dice.below(256))),
        ttl_s,
      });
    case 1:
      return makeRecord({ name, type: types.CNAME, data: target, ttl_s });
    case 2:
      return makeRecord({
        name,
        type: dice.pick([types.MX, types.SRV, types.SOA, types.NAPTR, types.RRSIG]),
        data: Buffer.concat([words(1), target]),
      });
    default:
      return v4(name, `${dice.pick([8, 10, 127, 1])}.${dice.below(256)}.0.1`, ttl_s);
  }
}

/** Bytes that are changed, cut, doubled and put in between. */
function damage(dice: Dice, message: Buffer): Buffer {
  const bytes = Buffer.from(message);
  for (let count = dice.below(4); count > 0 && bytes.length > 0; count -= 1) {
    bytes[dice.below(bytes.length)] = dice.pick([0, 1, 0xc0, 0xff, 12, dice.below(256)]);
  }
  switch (dice.below(6)) {
    case 0:
      return bytes.subarray(0, dice.below(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, bytes.subarray(dice.below(bytes.length + 1))]);
    default:
      return bytes;
  }
}

test('random answers open what they tell and nothing else', () => {
  const seed = process.env.REMORA_FUZZ_SEED ?? '5eed';
  onTestFailed(() => void process.stderr.write(`\nREMORA_FUZZ_SEED=${seed}\n`));
  const dice = createDice(seed);
  const seen = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const query = toQuery(dice);
    const records = () => Array.from({ length: dice.below(6) }, () => toRecord(dice));
    const whole = makeAnswer({ type: query.type, answers: records(), authorities: records().slice(3) });
    const upstream = dice.chance(70) ? damage(dice, whole) : whole;
    const limit_bytes = dice.pick([512, TCP_BYTES]);
    const place = `${seed}, round ${round}: ${upstream.toString('hex')}`;
    const found = rewriteAnswer({ query, id: ID, isBlocked: isBlockedAddress, limit_bytes }, upstream);
    seen.set(found.type, (seen.get(found.type) ?? 0) + 1);
    if (found.type !== 'answer' && found.type !== 'malformed') continue;
    expect(found.message.length, place).toBeLessThanOrEqual(limit_bytes);
    const answer = readAnswer(found.message) ?? expect.unreachable(place);
    const told = [...answer.answers, ...answer.authorities]
      .filter(({ type }) => type === types.A || type === types.AAAA)
      .map(({ data }) => data);
    expect(told.filter(isBlockedAddress), place).toEqual([]);
    const opened = found.type === 'answer' ? found.opened.map(({ address }) => address) : [];
    expect([...new Set(told.map(toAddressText))].sort(), place).toEqual([...opened].sort());
    if (opened.length > 0) seen.set('opened', (seen.get('opened') ?? 0) + 1);
  }
  for (const type of ['answer', 'malformed', 'foreign', 'opened']) {
    expect(seen.get(type) ?? 0, `${seed}: ${type}`).toBeGreaterThan(30);
  }
});

test('random queries are answered with messages that can be read, or not at all', () => {
  const seed = process.env.REMORA_FUZZ_SEED ?? '5eed';
  onTestFailed(() => void process.stderr.write(`\nREMORA_FUZZ_SEED=${seed}\n`));
  const dice = createDice(seed);
  for (let round = 0; round < ROUNDS; round += 1) {
    const type = dice.pick([types.A, types.HTTPS, 255]);
    const whole = makeQuery({
      type,
      ...(dice.chance(50) && { opt: makeOpt({ options: Buffer.alloc(dice.below(20)) }) }),
    });
    const message = damage(dice, whole);
    const verdict = judgeQuery(message, policy);
    if (verdict.type === 'ignored' || verdict.type === 'allowed') continue;
    expect(readAnswer(verdict.message)?.answers, `${seed}, round ${round}: ${message.toString('hex')}`).toEqual([]);
  }
});

/** 253 bytes of labels of one letter. */
const DEEP = 'a.'.repeat(126);
const fill = (record: (index: number) => Buffer, count = 500) =>
  Array.from({ length: count }, (_, index) => record(index));
/** Every pointer leads to the one before. */
const pointers = Buffer.concat([
  Buffer.from([0]),
  ...Array.from({ length: 8_000 }, (_, at) => words(0xc000 | (at === 0 ? 48 : 47 + 2 * at))),
]);

test.each<[string, Buffer, number?]>([
  ['addresses of a deep name', makeAnswer({ name: DEEP, answers: fill(() => v4(toQuestion, '8.8.8.8')) })],
  [
    'different addresses',
    makeAnswer({ name: DEEP, answers: fill((at) => v4(toQuestion, `8.8.${at >> 8}.${at & 255}`)) }),
  ],
  ['private addresses', makeAnswer({ name: DEEP, answers: fill(() => v4(toQuestion, '10.0.0.1')) })],
  ['aliases', makeAnswer({ name: DEEP, answers: fill((at) => alias(`n${at}.test`, `n${at + 1}.test`)) })],
  [
    'deep aliases',
    makeAnswer({
      name: DEEP,
      answers: fill((at) => alias(`x${at}.${DEEP.slice(8)}`, `x${at + 1}.${DEEP.slice(8)}`), 120),
    }),
  ],
  [
    'deep names in records',
    makeAnswer({
      ...{ name: DEEP, type: types.NAPTR },
      answers: fill(() =>
        makeRecord({ name: toQuestion, type: types.NAPTR, data: Buffer.concat([Buffer.alloc(7), toQuestion]) }),
      ),
    }),
    types.NAPTR,
  ],
  [
    'long chains of pointers',
    makeAnswer({
      name: 'a.example',
      answers: [
        makeRecord({ name: 'a.example', type: 16, data: pointers }),
        ...fill(() => makeRecord({ name: words(0xc000 | (47 + 2 * 120)), type: 1, data: Buffer.alloc(4) })),
      ],
    }),
  ],
  [
    'more records than there are',
    Buffer.concat([words(ID, 0x8180, 1, 65_535, 65_535, 65_535), makeQuery({ name: DEEP }).subarray(12)]),
  ],
  ['zeros', Buffer.concat([words(ID, 0x8180, 1, 65_535, 0, 0), Buffer.alloc(65_500)])],
])('a message full of %s costs little', (what, upstream, type = types.A) => {
  expect(upstream.length).toBeLessThanOrEqual(TCP_BYTES);
  const name = what === 'long chains of pointers' ? 'a.example' : DEEP;
  const reading = readQuery(makeQuery({ name, type, opt: makeOpt({ flags: DNSSEC_OK }) }));
  if (reading.type !== 'query') return expect.unreachable();
  const asked = { query: reading.query, id: ID, isBlocked: isBlockedAddress, limit_bytes: TCP_BYTES };
  let least_ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 12 && least_ms > LONGEST_MS / 4; run += 1) {
    least_ms = Math.min(
      least_ms,
      threadTime_ms(() => rewriteAnswer(asked, upstream)),
    );
  }
  expect(least_ms).toBeLessThan(LONGEST_MS);
});
