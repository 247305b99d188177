// The resolver of Node, a client that others wrote, against a server that is nothing but the rules: what it asks is understood, and what
// it gets is what it takes for an answer.
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { types } from '../../../src/core/dns/dns-codes.ts';
import { readQuery } from '../../../src/core/dns/read-query.ts';
import { writeQuery } from '../../../src/core/dns/write-message.ts';
import { isBlockedAddress } from '../../../src/core/network-policy/blocked-addresses.ts';
import { compilePolicy } from '../../../src/core/network-policy/compile-policy.ts';
import { judgeQuery } from '../../../src/core/network-policy/judge-query.ts';
import { rewriteAnswer } from '../../../src/core/network-policy/rewrite-answer.ts';
import { alias, dnsName, makeAnswer, makeRecord, toQuestion, v4, words } from '../../support/dns-messages.ts';

const TXT = 16;
const CAA = 257;
const policy = await compilePolicy([{ action: 'allow', domain: '*.open.example' }]);
const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
/** The names in its data lead back to the question, as name servers write them. */
const one = (type: number, ...data: Buffer[]) => [makeRecord({ name: toQuestion, type, data: Buffer.concat(data) })];

const zone: Readonly<Record<string, readonly Buffer[]>> = {
  'a.open.example/1': [
    alias('a.open.example', 'cdn.test', 20),
    v4('cdn.test', '8.8.8.8', 30),
    v4('cdn.test', '10.0.0.1'),
  ],
  'b.open.example/1': [v4(toQuestion, '192.168.0.1')],
  'a.open.example/28': one(types.AAAA, Buffer.from('26064700000000000000000000000001', 'hex')),
  [`a.open.example/${types.MX}`]: one(types.MX, words(5), Buffer.from([4]), Buffer.from('mail'), toQuestion),
  [`a.open.example/${types.SRV}`]: one(types.SRV, words(1, 2, 443), toQuestion),
  [`a.open.example/${types.NS}`]: one(types.NS, Buffer.from([2]), Buffer.from('ns'), toQuestion),
  [`a.open.example/${types.PTR}`]: one(types.PTR, toQuestion),
  [`a.open.example/${types.SOA}`]: one(types.SOA, toQuestion, toQuestion, words(0, 1, 0, 2, 0, 3, 0, 4, 0, 5)),
  [`a.open.example/${types.NAPTR}`]: one(types.NAPTR, words(1, 2), text('S'), text('SIP'), text(''), toQuestion),
  [`a.open.example/${TXT}`]: one(TXT, text('one'), text('two')),
  [`a.open.example/${CAA}`]: one(CAA, Buffer.from([0, 5]), Buffer.from('issueca.test')),
  [`c.open.example/${types.CNAME}`]: one(types.CNAME, dnsName('a.open.example')),
};

const server = createSocket('udp4');
const resolver = new Resolver({ timeout: 20_000, tries: 1 });
const opened: string[] = [];

/** What the rules make of it; the answers from upstream are those of the zone. */
function answer(message: Buffer): Uint8Array | undefined {
  const verdict = judgeQuery(message, policy);
  if (verdict.type === 'ignored') return undefined;
  if (verdict.type !== 'allowed') return verdict.message;
  const { query } = verdict;
  const id = query.id ^ 0x5555;
  const asked = readQuery(writeQuery(query, id));
  if (asked.type !== 'query') return expect.unreachable('what goes upstream cannot be read');
  const { name, type } = asked.query;
  const upstream = makeAnswer({ id, name, type, answers: zone[`${name}/${type}`] ?? [] });
  const made = rewriteAnswer({ query, id, isBlocked: isBlockedAddress, limit_bytes: query.udp_bytes }, upstream);
  if (made.type !== 'answer') return expect.unreachable(`the answer is ${made.type}`);
  opened.push(...made.opened.map(({ address, open_s }) => `${address} ${open_s}`));
  return made.message;
}

beforeAll(async () => {
  server.on('message', (message, { port, address }) => {
    const reply = answer(message);
    if (reply !== undefined) server.send(reply, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  resolver.setServers([`127.0.0.1:${server.address().port}`]);
});

afterAll(() => {
  resolver.cancel();
  server.close();
});

test('addresses behind an alias, without the private one', async () => {
  expect(await resolver.resolve4('A.Open.example', { ttl: true })).toEqual([
    { address: '8.8.8.8', ttl: expect.any(Number) },
  ]);
  expect(await resolver.resolve6('a.open.example')).toEqual(['2606:4700::1']);
  expect(opened).toEqual(['8.8.8.8 30', '2606:4700::1 300']);
});

test('records with names in them, which upstream compressed', async () => {
  const name = 'a.open.example';
  expect(await resolver.resolveMx(name)).toMatchObject([{ priority: 5, exchange: `mail.${name}` }]);
  expect(await resolver.resolveSrv(name)).toMatchObject([{ priority: 1, weight: 2, port: 443, name }]);
  expect(await resolver.resolveNs(name)).toEqual([`ns.${name}`]);
  expect(await resolver.resolvePtr(name)).toEqual([name]);
  expect(await resolver.resolveSoa(name)).toMatchObject({ nsname: name, hostmaster: name, serial: 1, minttl: 5 });
  expect(await resolver.resolveNaptr(name)).toMatchObject([
    { order: 1, preference: 2, flags: 'S', service: 'SIP', replacement: name },
  ]);
  expect(await resolver.resolveCname('c.open.example')).toEqual([name]);
});

test('records without names', async () => {
  expect(await resolver.resolveTxt('a.open.example')).toEqual([['one', 'two']]);
  expect(await resolver.resolveCaa('a.open.example')).toMatchObject([{ critical: 0, issue: 'ca.test' }]);
});

test('nothing where every address is private or there is none, and a refusal where the name is not allowed', async () => {
  await expect(resolver.resolve4('b.open.example')).rejects.toMatchObject({ code: 'ENODATA' });
  await expect(resolver.resolveTxt('b.open.example')).rejects.toMatchObject({ code: 'ENODATA' });
  await expect(resolver.resolve4('open.example')).rejects.toMatchObject({ code: 'EREFUSED' });
  await expect(resolver.resolveTxt('secret.closed.example')).rejects.toMatchObject({ code: 'EREFUSED' });
});
