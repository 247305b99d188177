// What an operator sees and sets of the proxy: lines of its log, counts, and whose word on a caller is believed.
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { readProxyFlags } from '../../../src/cli/platform/proxy-flags.ts';
import { TrustedPeers } from '../../../src/platform/proxy/trusted-peers.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { askProxy, openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';

const loopback = { address: '127.0.0.0', prefix: 8 };
const opened = openOnce(() =>
  openProxiedMachine({
    proxy: { listen: { host: '127.0.0.1', port: 0 }, trust: [loopback], logShare: 1 },
  }),
);

const said = {
  'x-forwarded-for': '203.0.113.7, 127.0.0.9',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'shop.example',
  'x-forwarded-port': '443',
  'x-request-id': 'of-the-balancer',
};

test('a balancer that is trusted says who calls', async () => {
  const { json } = await opened().ask({ path: '/describe', headers: said });
  const seen = Object.fromEntries(
    json.rawHeaders.flatMap((name: string, index: number) =>
      index % 2 === 0 ? [[name, json.rawHeaders[index + 1]]] : [],
    ),
  );
  expect(seen).toMatchObject({ ...said, 'x-forwarded-for': '203.0.113.7, 127.0.0.9, 127.0.0.1' });
});

test('what it says is not taken when it cannot be true', async () => {
  const forged = {
    'x-forwarded-proto': 'gopher',
    'x-forwarded-port': 'a',
    'x-forwarded-host': 'a b',
    'x-forwarded-for': 'me',
  };
  const { json } = await opened().ask({ path: '/describe', headers: { ...forged, 'x-request-id': '<script>' } });
  expect(json.rawHeaders).not.toEqual(expect.arrayContaining(['gopher']));
  for (const value of [...Object.values(forged), '<script>']) expect(json.rawHeaders).not.toContain(value);
  expect(json.rawHeaders).toContain('127.0.0.1');
});

test('a line of the log has no query, no header and no token', async () => {
  const { ask, platform } = opened();
  const headers = { ...said, cookie: 'secret=1', 'x-secret': 'secret' };
  await ask({ path: '/describe?secret=1', headers, token: platform.token });
  await ask({ host: 'nobody.acme.localhost', path: '/gone?secret=1' });
  const lines = await eventually(() => {
    const found = platform.log.filter(({ message }) => message === 'request');
    return found.at(-1)?.path === '/gone' && found.slice(-2);
  });
  expect(lines).toEqual([
    {
      app: 'acme',
      organization: 'acme',
      sprite: 'dev-1',
      method: 'GET',
      path: '/describe',
      status: 200,
      address: '203.0.113.7',
      ms: expect.any(Number),
      message: 'request',
    },
    {
      app: 'none',
      method: 'GET',
      path: '/gone',
      status: 401,
      address: '127.0.0.1',
      ms: expect.any(Number),
      message: 'request',
    },
  ]);
  expect(JSON.stringify(platform.log)).not.toMatch(/secret=1|x-secret/);
});

test('an app that wants TLS has requests without it sent there, where something speaks it', async () => {
  async function openShops(origin: object) {
    const proxy = { listen: { host: '127.0.0.1', port: 0 }, trust: [loopback], ...origin };
    const platform = await openTestPlatform({ proxy });
    const port = Number(platform.log.find(({ message }) => message === 'proxy')?.port);
    for (const [name, force_https] of [
      ['secure', true],
      ['plain', false],
    ] as const) {
      await platform.call({ method: 'POST', path: '/v1/apps', body: { name, organization: 'acme' } });
      const config = { http_service: { internal_port: 8080, auto_start_machines: false, force_https } };
      const body = { config, skip_launch: true };
      const made = await platform.call({ method: 'POST', path: `/v1/apps/${name}/machines`, body });
      expect(made.status).toBe(200);
    }
    return async (app: string, protocol: string, method = 'GET') => {
      const headers = { 'x-forwarded-proto': protocol };
      const answer = await askProxy(port, { host: `${app}.apps.localhost`, path: '//a?b=c', method, headers });
      return [answer.status, answer.headers.location];
    };
  }
  const ask = await openShops({ origin: { protocol: 'https:', port: 443 } });
  const location = 'https://secure.apps.localhost//a?b=c';
  expect(await ask('secure', 'http')).toEqual([301, location]);
  expect(await ask('secure', 'http', 'HEAD')).toEqual([301, location]);
  expect(await ask('secure', 'http', 'POST')).toEqual([308, location]);
  // Nothing runs there, which is what a request reads that was let through.
  const through = [503, undefined];
  expect([await ask('secure', 'https'), await ask('plain', 'http')]).toEqual([through, through]);
  const askPlain = await openShops({});
  expect(await askPlain('secure', 'http')).toEqual(through);
});

test('requests are counted by app and kind of answer', async () => {
  const { ask, platform } = opened();
  const read = async (answer: string) => {
    const { text } = await platform.call({ path: '/metrics', token: undefined });
    return Number(
      new RegExp(`remora_proxy_requests_total\\{app="acme",answer="${answer}"\\} (\\d+)`).exec(text)?.[1] ?? 0,
    );
  };
  const before = [await read('2xx'), await read('5xx')];
  await ask({});
  await ask({ host: `1--${SPRITE_HOST}` });
  await eventually(async () => (await read('5xx')) === (before[1] ?? 0) + 1);
  expect(await read('2xx')).toBe((before[0] ?? 0) + 1);
});

test('a platform that stops lets requests finish, and tells WebSockets', async () => {
  const { platform, ask, proxyPort } = await openProxiedMachine();
  const socket = new WebSocket(`ws://127.0.0.1:${proxyPort}/`, { headers: { host: SPRITE_HOST } });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const slow = ask({ path: '/slow?ms=500' });
  await eventually(async () => (await ask({ path: '/arrivals' })).text.includes('/slow'));
  const stopped = platform[Symbol.asyncDispose]();
  expect(await closed).toBe(1001);
  expect((await slow).text).toBe('late');
  await stopped;
  await expect(ask({})).rejects.toThrow(/ECONNREFUSED/);
});

test.each([
  ['10.1.2.3', true],
  ['11.1.2.3', false],
  ['fd00::1', true],
  ['fe80::1', false],
  ['', false],
])('%s is trusted: %s', (address, expected) => {
  const peers = new TrustedPeers([
    { address: '10.0.0.0', prefix: 8 },
    { address: 'fd00::', prefix: 8 },
  ]);
  expect([peers.has(address), new TrustedPeers([]).has(address)]).toEqual([expected, false]);
});

const read = (flags: Record<string, string>) =>
  readProxyFlags({
    text: (name) => flags[name],
    texts: (name) => [flags[name] ?? ''],
    has: (name) => flags[name] !== undefined,
  });
const at = { 'proxy-listen': '127.0.0.1:4184' };
const listen = { host: '127.0.0.1', port: 4184 };
test.each([
  [{}, {}],
  [at, { proxy: { listen } }],
  [{ ...at, 'proxy-domain': 'sprites.example' }, { proxy: { listen, domain: 'sprites.example' } }],
  [
    { ...at, 'proxy-domain': 'https://sprites.example' },
    { proxy: { listen, domain: 'sprites.example', origin: { protocol: 'https:', port: 443 } } },
  ],
  [
    { ...at, 'proxy-trust': '10.0.0.0/8, ::1', 'proxy-log': '0.5' },
    {
      proxy: {
        listen,
        trust: [
          { address: '10.0.0.0', prefix: 8 },
          { address: '::1', prefix: 128 },
        ],
        logShare: 0.5,
      },
    },
  ],
  [
    { ...at, 'proxy-trust': '::1', 'proxy-protocol': '' },
    { proxy: { listen, trust: [{ address: '::1', prefix: 128 }], proxyProtocol: true } },
  ],
  [{ ...at, 'proxy-tcp': 'shop=::1' }, { proxy: { listen, tcp: [{ app: 'shop', host: '::1' }] } }],
])('%j', (flags, expected) => expect(read(flags)).toEqual(expected));

test.each([
  { 'proxy-domain': 'a.example' },
  { ...at, 'proxy-domain': 'sprites.example:80' },
  { ...at, 'proxy-domain': 'https://sprites.example/x' },
  { ...at, 'proxy-domain': '127.0.0.1' },
  { ...at, 'proxy-domain': 'Sprites.example' },
  { ...at, 'proxy-domain': '-a.example' },
  { ...at, 'proxy-trust': '10.0.0.0/33' },
  { ...at, 'proxy-trust': 'all' },
  { ...at, 'proxy-tls-cert': 'cert.pem' },
  { ...at, 'proxy-protocol': '' },
  { ...at, 'proxy-tcp': 'shop' },
  { ...at, 'proxy-tcp': 'shop=example.com' },
  { 'proxy-protocol': '' },
  { ...at, 'proxy-log': '2' },
  { ...at, 'proxy-log': 'x' },
  { 'proxy-listen': '4184' },
])('%j is refused', (flags) =>
  expect(() => read(flags as unknown as Record<string, string>)).toThrow(/platform: --proxy-/),
);
