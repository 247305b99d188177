// What is asked of name servers that do not understand everything, and what becomes of it. The servers are real ones on this machine.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { type DnsQuery, readQuery } from '../../src/core/dns/read-query.ts';
import { createFrameReader, toFrame } from '../../src/core/dns/tcp-frames.ts';
import { isBlockedAddress } from '../../src/core/network-policy/blocked-addresses.ts';
import { createResolver } from '../../src/network/dns/resolver.ts';
import { atEnd } from '../support/at-end.ts';
import { alias, makeAnswer, makeOpt, makeQuery, toQuestion, v4, words } from '../support/dns-messages.ts';
import { openFreePort } from '../support/free-port.ts';

const FORMERR = 0x8181;
const NOTIMP = 0x8184;
const TRUNCATED = 0x8380;
const ADDRESS = '93.184.0.1';
/** Less than the time after which a server is asked again. */
const LATE_MS = 1_000;

type Answer = (query: DnsQuery, way: 'udp' | 'tcp') => Buffer | undefined;

const withAddress = ({ id, name }: DnsQuery) => makeAnswer({ id, name, answers: [v4(toQuestion, ADDRESS)] });

/** A name server over UDP and TCP, which notes what it is asked. */
async function startServer(answer: Answer) {
  const asked: string[] = [];
  const take = (message: Buffer, way: 'udp' | 'tcp') => {
    const reading = readQuery(message);
    if (reading.type !== 'query') throw new Error('it is asked what is no question');
    asked.push(`${way}${reading.query.edns === undefined ? '' : ' with OPT'}`);
    return answer(reading.query, way);
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on(
      'data',
      createFrameReader((message) => {
        const made = take(message, 'tcp');
        if (made !== undefined) socket.write(toFrame(made));
      }),
    );
  });
  const udp = createSocket('udp4');
  udp.on('message', (message, from) => {
    const made = take(message, 'udp');
    if (made !== undefined) udp.send(made, from.port, from.address);
  });
  const port = await openFreePort();
  tcp.listen(port, '127.0.0.1');
  await once(tcp, 'listening');
  atEnd(() => tcp.close());
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  atEnd(() => udp.close());
  return { asked, server: { address: '127.0.0.1', port } };
}

async function resolveOnce(answer: Answer, denied?: string) {
  const { asked, server } = await startServer(answer);
  const learnt: string[] = [];
  const refused: string[] = [];
  const resolver = createResolver({
    policy: () => ({ isUnrestricted: false, judgeName: () => ({ verdict: 'allow' }) }),
    isBlockedFor: () => isBlockedAddress,
    servers: () => [server],
    findDeniedAlias: (_, aliases) => aliases.find((name) => name === denied),
    learn: (name, aliases, opened) =>
      void learnt.push([name, ...aliases, ...opened.map(({ address }) => address)].join()),
    onRefused: (name) => void refused.push(name),
  });
  const asker = { transport: 'udp', port: 1 } as const;
  const message = await resolver(makeQuery({ opt: makeOpt() }), asker, AbortSignal.timeout(30_000));
  const text = Buffer.from(message ?? []);
  return { asked, learnt, refused, rcode: (text[3] ?? 255) & 15, text: text.toString('latin1') };
}

/** Again where the answer came so late that it may have been asked for twice. */
async function resolve(answer: Answer, denied?: string) {
  for (let times = 1; ; times += 1) {
    const begun_ms = performance.now();
    const found = await resolveOnce(answer, denied);
    if (performance.now() - begun_ms < LATE_MS || times === 5) return found;
  }
}

test('a server that understands an OPT record is asked once', async () => {
  expect(await resolve(withAddress)).toMatchObject({
    asked: ['udp with OPT'],
    learnt: [`a.example,${ADDRESS}`],
    rcode: 0,
  });
});

test.each<[string, (query: DnsQuery) => Buffer]>([
  ['with a header alone', ({ id }) => words(id, FORMERR, 0, 0, 0, 0)],
  ['with the question', ({ id, name }) => makeAnswer({ id, name, flags: FORMERR })],
  ['that this is not implemented', ({ id, name }) => makeAnswer({ id, name, flags: NOTIMP })],
])('a server that does not, and says so %s, is asked without it', async (_, refuse) => {
  const found = await resolve((query) => (query.edns === undefined ? withAddress(query) : refuse(query)));
  expect(found).toMatchObject({ asked: ['udp with OPT', 'udp'], learnt: [`a.example,${ADDRESS}`], rcode: 0 });
});

test('over TCP too, where the answer is too long', async () => {
  const found = await resolve((query, way) => {
    const { id, name, edns } = query;
    if (edns !== undefined) return words(id, FORMERR, 0, 0, 0, 0);
    return way === 'udp' ? makeAnswer({ id, name, flags: TRUNCATED }) : withAddress(query);
  });
  expect(found).toMatchObject({ asked: ['udp with OPT', 'udp', 'tcp'], rcode: 0, learnt: [`a.example,${ADDRESS}`] });
});

test('a server that says it of everything is asked twice, and its answer passed on', async () => {
  const found = await resolve(({ id, name }) => makeAnswer({ id, name, flags: FORMERR }));
  expect(found).toMatchObject({ asked: ['udp with OPT', 'udp'], rcode: 1, learnt: [] });
});

test('a server that drops what it does not understand is asked without it the second time', async () => {
  const found = await resolveOnce((query) => (query.edns === undefined ? withAddress(query) : undefined));
  expect(found).toMatchObject({ asked: ['udp with OPT', 'udp'], rcode: 0 });
});

test('an alias that is denied is refused by its name, and nothing is opened', async () => {
  const answer: Answer = ({ id, name, type }) =>
    makeAnswer({ id, name, type, answers: [alias(name, 'b.test'), v4('b.test', ADDRESS)] });
  const found = await resolve(answer, 'b.test');
  expect(found).toMatchObject({ rcode: 5, learnt: [], refused: ['b.test'] });
  expect(found.text).toContain('it leads to b.test');
  expect(await resolve(answer)).toMatchObject({ rcode: 0, learnt: [`a.example,b.test,${ADDRESS}`], refused: [] });
});
