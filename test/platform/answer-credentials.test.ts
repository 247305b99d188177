// A credential that the provider repeats in the head of its answer does not reach the caller.
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';

const KEY = '4711:AAbb-cc_dd';
const OWN = '/v1/gateway/sample/conn_1';

const inPath = { injection: { in: 'path', prefix: 'bot' } } as const;
const inQuery = { injection: { in: 'query', name: 'apiKey' } } as const;
const inHeader = { injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' } } as const;

/** Calls through a platform; `toAnswer` gives the bytes that the provider at `origin` answers with. */
async function call(entry: Partial<NewCatalogueEntry>, toAnswer: (origin: string) => string, request = 'GET') {
  const upstream = await openRawUpstream();
  const { entry: toEntry } = await startEchoProvider();
  const address = { type: 'fixed', url: upstream.origin } as const;
  const platform = await openTestPlatform({ catalogue: [toEntry('sample', { address, ...entry })] });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const connector = { organization: 'acme', provider: 'sample', id: 'conn_1', access_policy: { allow_all: true } };
  await platform.admin.createConnector({ ...connector, api_key: new Secret(KEY) });
  const port = Number(new URL(platform.url).port);
  const authorization = `Authorization: Bearer ${token.reveal()}`;
  const caller = openRaw(port, `${request} ${OWN}/v1/files?page=1 HTTP/1.1\r\nHost: x\r\n${authorization}\r\n\r\n`);
  const connection = await upstream.connection(0);
  const seen = await connection.until(/\r\n\r\n/);
  connection.socket.write(toAnswer(upstream.origin));
  const answer = await caller.until(/\r\n\r\n.*end\r\n(?:.*\r\n)?\r\n$/s);
  return { seen, answer, platform };
}

const body = 'Transfer-Encoding: chunked\r\n\r\n3\r\nend\r\n0\r\n\r\n';

test.each([
  [
    'an address with the key in its path',
    inPath,
    (origin: string) => `${origin}/bot${KEY}/v1/x?a=%2F#b`,
    `${OWN}/v1/x?a=%2F#b`,
  ],
  ['an encoded one', inPath, (origin: string) => `${origin}/bot${KEY.replace(':', '%3A')}/v1/x`, `${OWN}/v1/x`],
  ['a path with the key', inPath, () => `/bot${KEY}/v1/x`, `${OWN}/v1/x`],
  [
    'an address with the key in its query',
    inQuery,
    (origin: string) => `${origin}/v1/x?a=1&apiKey=4711%3AAAbb-cc_dd&b`,
    `${OWN}/v1/x?a=1&b`,
  ],
  ['a path with the key in its query', inQuery, () => `/v1/x?apiKey=${KEY}`, `${OWN}/v1/x`],
] as const)('%s becomes the address at the gateway', async (_name, entry, toUrl, own) => {
  const { seen, answer } = await call(entry, (origin) => {
    const url = toUrl(origin);
    const headers = [`Location: ${url}`, `Content-Location: ${url}`, `Link: <${url}>; rel="next", </other>; rel="x"`];
    return `HTTP/1.1 301 Moved\r\n${headers.join('\r\n')}\r\n${body}`;
  });
  expect(decodeURIComponent(seen)).toContain(KEY);
  expect(answer).toContain(`\r\nLocation: ${own}\r\nContent-Location: ${own}\r\n`);
  expect(answer).toContain(`\r\nLink: <${own}>; rel="next", </other>; rel="x"\r\n`);
  expect(decodeURIComponent(answer.replaceAll('%2F', ''))).not.toContain(KEY);
});

test.each([
  ['another address', inPath, `Location: https://login.example/?next=%2Fbot${encodeURIComponent(KEY)}%2Fv1`],
  [
    'one that is encoded twice',
    inPath,
    `Location: https://login.example/?next=${encodeURIComponent(encodeURIComponent(KEY))}`,
  ],
  ['one for every letter', inPath, `X-Seen: ${[...KEY].map((unit) => `%${unit.charCodeAt(0).toString(16)}`).join('')}`],
  ['a header that repeats a header', inHeader, `X-Seen: Bearer ${KEY}`],
  ['a name', inHeader, `X-4711-${KEY.slice(5)}: 4711:${KEY.slice(5)}`],
] as const)('what holds the key and is %s is left out', async (_name, entry, header) => {
  const { answer } = await call(entry, () => `HTTP/1.1 302 Found\r\nX-Kept: 1\r\n${header}\r\n${body}`);
  expect(answer).toContain('X-Kept: 1');
  expect(answer).not.toContain(header.split(':')[0]);
});

test('the key is left out of early hints, trailers and the status line, and of the log', async () => {
  const { answer, platform } = await call(inPath, () =>
    [
      `HTTP/1.1 103 Early Hints\r\nLink: </bot${KEY}/v1/x>; rel=preload\r\nX-Hint: ${KEY}\r\n\r\n`,
      `HTTP/1.1 200 ${KEY}\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nend\r\n0\r\n`,
      `X-Sum: ${KEY}\r\nX-More: 1\r\n\r\n`,
    ].join(''),
  );
  expect(answer).toContain(`HTTP/1.1 103 Early Hints\r\nLink: <${OWN}/v1/x>; rel=preload\r\n\r\n`);
  expect(answer).toContain('HTTP/1.1 200 OK\r\n');
  expect(answer).toContain('X-More: 1');
  expect(answer).not.toContain(KEY);
  expect(JSON.stringify(platform.log)).not.toContain(KEY);
});

test('addresses without the key pass as they are', async () => {
  const { answer } = await call(inQuery, (origin) => {
    return `HTTP/1.1 302 Found\r\nLocation: ${origin}/v1/x?a=1\r\nLink: </v1/y>; rel="next"\r\n${body}`;
  });
  expect(answer).toMatch(/Location: http:\/\/127\.0\.0\.1:\d+\/v1\/x\?a=1\r\nLink: <\/v1\/y>; rel="next"\r\n/);
});
