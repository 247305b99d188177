// A minute of odd targets and headers through agent and platform to a provider. Whatever reaches the provider is what the policy
// allowed, by a reading of the path that shares no code with ours, byte for byte as it was sent, and without a stranger's header.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { randomHex } from '../../src/core/urandom.ts';
import { openGatewayAgent } from '../support/gateway-agent.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

const LENGTH_MS = Number(process.env.REMORA_FUZZ_MS ?? 60_000);
const SEED = process.env.REMORA_FUZZ_SEED ?? randomHex(4);
const AT_ONCE = 8;
const ANSWER_MS = 300;
const KEY = 'canary-fuzz-key-1234';
const access_policy = {
  allow_all: true,
  allowed_endpoints: ['/v1/chat/*', '/v1/models'],
  blocked_endpoints: ['/v1/chat/admin*', '/v1/chat/x/secret'],
};

/** xorshift32: the same seed gives the same minute. */
function createDice(seed: string) {
  let state = Number.parseInt(seed, 16) | 1;
  const below = (count: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
  const pick = <T>(items: readonly [T, ...T[]]): T => items[below(items.length)] ?? items[0];
  return { below, pick, chance: (percent: number) => below(100) < percent };
}
type Dice = ReturnType<typeof createDice>;

const words = [
  'chat',
  'models',
  'admin',
  'x',
  'secret',
  'v1',
  '..',
  '.',
  '',
  'ADMIN',
  'completions',
  'ⓐdmin',
  'é',
] as const;
const glue = [
  '/',
  '/',
  '/',
  '/',
  '//',
  '%2f',
  '%2F',
  '\\',
  '%5c',
  ';',
  ';a=b/',
  '/;',
  '%252f',
  '/./',
  '/../',
  '%00',
  '#',
  '?',
] as const;
const starts = [
  '/v1/chat/',
  '/v1/chat/',
  '/v1/chat/admin',
  '/v1/models',
  '/v1/',
  '/V1/chat/',
  '/',
  '',
  '//v1/chat/',
] as const;
const ends = [
  '',
  '',
  '?a=1',
  '?a=/../admin',
  '#x',
  '/',
  '//',
  '%',
  '%2',
  '%zz',
  '%2e',
  '%c0%af',
  ';',
  '*',
  '%3f',
  '%23',
  ' ',
] as const;

function escapeSome(text: string, dice: Dice): string {
  return [...text]
    .map((character) => {
      if (!dice.chance(12)) return character;
      const hex = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
      return dice.chance(30) ? hex.replaceAll('%', '%25') : hex;
    })
    .join('');
}

function toPath(dice: Dice): string {
  let path = dice.pick(starts) as string;
  for (let count = dice.below(4); count > 0; count -= 1)
    path += dice.pick(words) + (dice.chance(60) ? dice.pick(glue) : '');
  return (dice.chance(60) ? escapeSome(path, dice) : path) + (dice.chance(50) ? dice.pick(ends) : '');
}

const headerNames = [
  'Authorization', 'X-Api-Key', 'x_api_key', 'Cookie', 'X-Forwarded-For', 'X_Forwarded_Host', 'X-HTTP-Method-Override', 'Remora-Sprite',
  'X-Original-URL', 'Connection', 'Connection', 'Transfer_Encoding', 'Content_Length', 'TE', 'Upgrade', 'Expect', 'Host', 'Content-Length',
  'Transfer-Encoding', 'Accept', 'X-Ok', 'Via', 'Proxy-Authorization', 'Fly-Src', 'remora-error',
] as const; // biome-ignore format: a list of names
const headerValues = [
  'forged',
  'close',
  'keep-alive, authorization, x-ok',
  'chunked',
  '0',
  '5',
  '-1',
  '5, 5',
  'gzip, chunked',
  '100-continue',
  'websocket',
  'a\tb',
  '',
] as const;

function toRequest(path: string, dice: Dice): string {
  const method = dice.pick(['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'TRACE', 'get', 'OPTIONS', 'PATCH']);
  const lines = dice.chance(95) ? ['Host: remora'] : [];
  for (let count = dice.below(5); count > 0; count -= 1) {
    lines.push(`${dice.pick(headerNames)}${dice.chance(3) ? ' ' : ''}: ${dice.pick(headerValues)}`);
  }
  const body = dice.chance(30) ? 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n' : '';
  return `${method} /v1/gateway/openai/conn_1${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Every form that a server could make of a path: each layer of decoding, with each of the usual repairs in turn. */
function toForms(path: string): Set<string> {
  const forms = new Set([path]);
  const changes: readonly ((text: string) => string)[] = [
    (text) => {
      try {
        return decodeURIComponent(text);
      } catch {
        return text;
      }
    },
    (text) => text.replaceAll('\\', '/'),
    (text) => text.replaceAll(/;[^/]*/g, ''),
    (text) => text.replaceAll(/\/+/g, '/'),
    (text) => text.replace(/[?#].*$/s, ''),
    (text) => new URL(`http://a${text.startsWith('/') ? text : `/${text}`}`).pathname,
  ];
  for (let round = 0; round < 4; round += 1) {
    for (const form of [...forms]) for (const change of changes) forms.add(change(form));
  }
  return forms;
}

function findBreach(target: string): string | undefined {
  for (const form of toForms(target.split('?')[0] ?? '')) {
    if (!form.startsWith('/v1/chat/') && form !== '/v1/models') return `not allowed as ${form}`;
    const lower = form.toLowerCase();
    if (lower.startsWith('/v1/chat/admin') || lower === '/v1/chat/x/secret') return `blocked as ${form}`;
  }
  return undefined;
}

const stranger =
  /^(?:authorization|x-api-key|cookie|x-forwarded.*|x-http-method.*|remora-.*|x-original-url|transfer-encoding|te|via|proxy-.*|fly-.*)$/;

function findStrangers(rawHeaders: readonly string[]): string[] {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const values = rawHeaders.filter((_, index) => index % 2 === 1);
  return names.flatMap((name, index) => {
    const key = name.toLowerCase().replaceAll('_', '-');
    if (name === 'authorization' && values[index] === `Bearer ${KEY}`) return [];
    if (name.toLowerCase() === 'transfer-encoding' && values[index] === 'chunked') return [];
    return stranger.test(key) || (values[index] === 'forged' && key !== 'accept' && key !== 'x-ok') ? [name] : [];
  });
}

async function openProvider() {
  const calls: { readonly target: string; readonly rawHeaders: readonly string[] }[] = [];
  const broken: string[] = [];
  const server = createServer((request, response) => {
    calls.push({ target: request.url ?? '', rawHeaders: request.rawHeaders });
    request.resume().once('end', () => response.end('ok'));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'HPE_INVALID_EOF_STATE') broken.push(String(error));
    socket.destroy();
  });
  server.on('upgrade', (request, socket) => {
    calls.push({ target: request.url ?? '', rawHeaders: request.rawHeaders });
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { calls, broken, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it(`only what the policy allows reaches the provider (REMORA_FUZZ_SEED=${SEED})`, async () => {
  const provider = await openProvider();
  const platform = await openTestPlatform({
    catalogue: [
      {
        provider: 'openai',
        display_name: 'openai',
        description: 'of the test',
        address: { type: 'fixed', url: provider.url },
        injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
        allow_http: true,
        sample_path: '/',
      },
    ],
  });
  const { admin } = platform;
  const organization = 'acme';
  await admin.createSprite({ organization, name: 'dev-1' });
  await admin.createConnector({
    organization,
    provider: 'openai',
    api_key: new Secret(KEY),
    id: 'conn_1',
    access_policy,
  });
  const token = await admin.createToken({ organization, sprite: 'dev-1' });
  const agent = await openGatewayAgent(platform.url, { token });
  await agent.gateway.onResume();
  const dice = createDice(SEED);
  const sent = new Set<string>();
  const statuses = new Map<string, number>();

  async function one(): Promise<void> {
    const path = toPath(dice);
    // A space at the end only separates.
    sent.add((path.startsWith('/') ? path : `/${path}`).trimEnd());
    const caller = openRaw(agent.path, toRequest(path, dice));
    const answered = caller.until(/^(?:HTTP\/1\.1 1\d\d .*?\r\n\r\n)*HTTP\/1\.1 [2-5]\d\d .*\r\n\r\n/s);
    // A body that was announced and never sent is waited for, and rightly so.
    const text = await Promise.race([answered.catch(() => ''), sleep(ANSWER_MS)]).then(() => caller.text);
    caller.socket.destroy();
    const status = /^(?:HTTP\/1\.1 1\d\d .*?\r\n\r\n)*HTTP\/1\.1 (\d{3})/s.exec(text)?.[1] ?? 'none';
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  const end_ms = performance.now() + LENGTH_MS;
  let checked = 0;
  while (performance.now() < end_ms) {
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    for (const call of provider.calls.slice(checked)) {
      expect({ target: call.target, breach: findBreach(call.target) }).toEqual({
        target: call.target,
        breach: undefined,
      });
      expect({ target: call.target, sent: sent.has(call.target) }).toEqual({ target: call.target, sent: true });
      expect({ target: call.target, strangers: findStrangers(call.rawHeaders) }).toEqual({
        target: call.target,
        strangers: [],
      });
      expect(call.rawHeaders).toContain(`Bearer ${KEY}`);
    }
    checked = provider.calls.length;
  }
  console.log(
    `${sent.size} targets, ${checked} reached the provider, answers ${JSON.stringify(Object.fromEntries(statuses))}`,
  );
  expect(provider.broken).toEqual([]);
  expect(statuses.get('500')).toBeUndefined();
  // A minute in which nothing passes, or nothing is refused, proves nothing.
  for (const status of ['200', '400', '403']) expect(statuses.get(status) ?? 0).toBeGreaterThan(LENGTH_MS / 2_000);
});
