// The requests with which the gateway is attacked, against the proxy: what reaches the server in the machine was sent by somebody, once, as
// it was sent; what was refused reached nobody.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type FuzzedRequest, SMUGGLED, toBytes, toFuzzedRequest } from '../../soak/gateway-fuzz/requests.ts';
import { openOnce } from '../../support/at-end.ts';
import { createDice } from '../../support/dice.ts';
import { gatewayCases } from '../../support/gateway-corpus.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';

const SEED = process.env.REMORA_FUZZ_SEED ?? '5eed0001';
const COUNT = Number(process.env.REMORA_FUZZ_COUNT ?? 256);
const AT_ONCE = 32;
/** A body that was announced and never sent is waited for, and rightly so; the time begins with the answer to a plain request that was sent after it. */
const ANSWER_MS = 700;
const ANSWER = /^(?:HTTP\/1\.1 1\d\d .*?\r\n\r\n)*HTTP\/1\.1 ([1-5]\d\d) /s;
const PLAIN = `GET / HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\nConnection: close\r\n\r\n`;

const opened = openOnce(openProxiedMachine);

interface Arrival {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

interface Arrivals {
  /** The process of the server: one that was started again has forgotten the rest. */
  readonly pid: number;
  readonly arrivals: readonly Arrival[];
  readonly broken: readonly string[];
}

async function readArrivals(): Promise<Arrivals> {
  return JSON.parse((await opened().ask({ path: '/arrivals' })).text);
}

const idOf = ({ rawHeaders }: Arrival) => rawHeaders[rawHeaders.indexOf('X-Fuzz-Id') + 1] ?? '';
const fold = (name: string) => name.toLowerCase().replaceAll(/[_.]/g, '-');

/** Headers that the proxy writes, and those that end at it. */
const written = /^x-forwarded-(?:for|proto|host|port)$|^x-request-id$|^expect$/;
const dropped =
  /^(?:remora-.*|fly-replay.*|proxy-.*|x-forwarded-.*|forwarded|x-real-ip|x-request-id|keep-alive|http2-settings|expect)$/;

function findBreach(sent: FuzzedRequest | undefined, { method, url, rawHeaders }: Arrival): string | undefined {
  if (sent === undefined) return 'nobody sent it';
  if (url.includes(SMUGGLED) && !sent.target.includes(SMUGGLED)) return 'it was smuggled';
  if (url !== sent.target) return `it was sent as ${sent.target}`;
  if (method !== sent.method && method !== 'WEBSOCKET') return `the method was ${sent.method}`;
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  for (const name of names) {
    if (
      dropped.test(fold(name)) &&
      !(written.test(name) && names.filter((other) => fold(other) === name).length === 1)
    ) {
      return `the header ${name} arrived`;
    }
  }
  const framing = names.filter((name) => /^(?:content-length|transfer-encoding)$/.test(fold(name)));
  if (framing.length > 1 || framing.some((name) => fold(name) !== name.toLowerCase())) return `framing ${framing}`;
  return names.filter((name) => fold(name) === 'host').length === 1 ? undefined : 'it had not one Host';
}

test(`nothing arrives that nobody sent, and nothing twice (REMORA_FUZZ_SEED=${SEED})`, async () => {
  const { proxyPort } = opened();
  const { pid } = await readArrivals();
  const dice = createDice(SEED);
  const sent = new Map<string, FuzzedRequest>();
  const statuses = new Map<string, string>();

  async function one(id: string, isAnswering: Promise<unknown>): Promise<void> {
    const made = toFuzzedRequest(id, [], dice);
    const headers = made.headers.map(
      ([name, value]) => [name, name === 'Host' && value === 'localhost' ? SPRITE_HOST : value] as const,
    );
    const fuzzed = { ...made, headers };
    sent.set(id, fuzzed);
    const caller = openRaw(proxyPort, toBytes(fuzzed));
    await Promise.race([caller.until(ANSWER).catch(() => undefined), isAnswering.then(() => sleep(ANSWER_MS))]);
    caller.socket.destroy();
    statuses.set(id, ANSWER.exec(caller.text)?.[1] ?? 'none');
  }

  for (let count = 0; count < COUNT; count += AT_ONCE) {
    const plain = Promise.withResolvers<unknown>();
    const batch = Array.from({ length: AT_ONCE }, (_, index) => one(String(count + index), plain.promise));
    plain.resolve(openRaw(proxyPort, PLAIN).ended);
    await Promise.all(batch);
  }
  await sleep(ANSWER_MS);
  const { arrivals, broken, ...after } = await readArrivals();
  expect(after.pid).toBe(pid);
  const fuzzed = arrivals.filter(({ rawHeaders }) => rawHeaders.includes('X-Fuzz-Id'));
  const seen = new Set<string>();
  for (const arrival of fuzzed) {
    const id = idOf(arrival);
    const breach = findBreach(sent.get(id), arrival) ?? (seen.has(id) ? 'it arrived twice' : undefined);
    const status = statuses.get(id) ?? '';
    expect({ breach, refused: status.startsWith('4') ? status : undefined, arrival, sent: sent.get(id) }).toMatchObject(
      {
        breach: undefined,
        refused: undefined,
      },
    );
    seen.add(id);
  }
  expect(broken).toEqual([]);
  const all = [...statuses.values()];
  expect(all.filter((status) => status === '500')).toEqual([]);
  // A round in which nothing passes, or nothing is refused, proves nothing.
  expect(fuzzed.length).toBeGreaterThan(COUNT / 8);
  expect(all.filter((status) => status.startsWith('4')).length).toBeGreaterThan(COUNT / 40);
});

test('every path of the corpus arrives byte for byte, or not at all', async () => {
  const { proxyPort } = opened();
  const targets = [...new Set(gatewayCases.map(({ target }) => target))];
  for (let index = 0; index < targets.length; index += AT_ONCE) {
    const part = targets.slice(index, index + AT_ONCE).map(async (target, at) => {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\nX-Corpus: ${index + at}\r\nConnection: close\r\n\r\n`;
      const text = await openRaw(proxyPort, bytes).ended;
      return { target, status: ANSWER.exec(text)?.[1] ?? 'none', number: String(index + at) };
    });
    for (const { target, status, number } of await Promise.all(part)) {
      const { arrivals } = await readArrivals();
      const own = arrivals.filter(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('X-Corpus') + 1] === number);
      const came = own.filter(({ rawHeaders }) => rawHeaders.includes('X-Corpus')).map(({ url }) => url);
      expect({ target, status, came }).toEqual({ target, status, came: status === '200' ? [target] : [] });
      expect(['200', '400', '414']).toContain(status);
    }
  }
});
