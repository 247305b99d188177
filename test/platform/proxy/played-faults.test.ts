// What machines and the programs in them do wrong, byte by byte: it costs the request that it happens to, the caller learns of it, and the next
// request is served.
import type { ServerHttp2Stream } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openPlayedPlatform } from '../../support/played/played-platform.ts';
import { openRaw } from '../../support/raw-http.ts';

const opened = openOnce(() => openPlayedPlatform());

const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const toHead = (host: string, more = '', method = 'GET') => `${method} / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
/** What an agent does when the connection to a port is reset. */
const CONNECT_ERROR = 10;

describe('a machine that takes long to start', () => {
  test('keeps requests waiting and answers each once; a browser gets a page that comes again', async () => {
    const gate = Promise.withResolvers<void>();
    const sprite = await opened().create('long', { rising: () => gate.promise });
    const waiting = ['/a', '/b', '/c'].map((path) => sprite.ask({ path, method: 'POST', body: path }));
    const shown = await sprite.ask({ headers: page });
    expect([shown.status, shown.headers.refresh, shown.headers['retry-after']]).toEqual([503, '2', '2']);
    expect(shown.text).toContain('Starting');
    expect(sprite.heads).toEqual([]);
    gate.resolve();
    expect((await Promise.all(waiting)).map(({ status, text }) => `${status} ${text}`)).toEqual([
      '200 ok',
      '200 ok',
      '200 ok',
    ]);
    expect(sprite.heads.map((head) => head.split(' ', 2).join(' ')).sort()).toEqual(['POST /a', 'POST /b', 'POST /c']);
    expect(sprite.starts()).toBe(1);
    expect((await sprite.ask({ headers: page })).text).toBe('ok');
  });

  test('goes on starting when its caller leaves, whose request it never gets', async () => {
    const gate = Promise.withResolvers<void>();
    const sprite = await opened().create('left', { rising: () => gate.promise });
    const caller = openRaw(sprite.port, toHead(sprite.host));
    await eventually(() => sprite.starts() === 1);
    // One that only ends its side still waits for the answer.
    caller.socket.resetAndDestroy();
    await caller.ended;
    gate.resolve();
    await eventually(async () => (await sprite.state()) === 'running');
    expect([(await sprite.ask({ path: '/next' })).status, sprite.starts()]).toEqual([200, 1]);
    expect(sprite.heads.map((head) => head.split(' ', 2)[1])).toEqual(['/next']);
  });
});

test('a machine that dies while it is being started is 503, which says nothing of its log; the next request starts it again', async () => {
  let mayComeUp = false;
  const sprite = await opened().create('dying', { comesUp: () => mayComeUp });
  const asking = sprite.ask({ method: 'POST', body: 'a' });
  await eventually(() => sprite.starts() === 1);
  await sprite.crash();
  const { status, json, text, headers } = await asking;
  expect([status, json.error, headers['retry-after']]).toEqual([503, 'not_reachable', '5']);
  expect(text).not.toContain('last line');
  mayComeUp = true;
  expect([(await sprite.ask()).status, sprite.starts(), sprite.heads.length]).toEqual([200, 2, 1]);
});

describe('an answer that does not come to its end', () => {
  const framings = {
    'with a length': ['Content-Length: 100\r\n', 'part'],
    'in chunks': ['Transfer-Encoding: chunked\r\n', '4\r\npart\r\n'],
    'that ends with its connection': ['Connection: close\r\n', 'part'],
  } as const;
  const breaks: Readonly<Record<string, (stream: ServerHttp2Stream, crash: () => Promise<void>) => unknown>> = {
    'is reset': (stream) => stream.close(CONNECT_ERROR),
    'loses its machine': (_stream, crash) => crash(),
  };
  const requests = { 'a GET': '', 'a body in chunks': 'Transfer-Encoding: chunked\r\n' } as const;
  const cases = Object.keys(framings).flatMap((framing) =>
    Object.keys(breaks).flatMap((how) => Object.keys(requests).map((what) => [framing, how, what] as const)),
  );

  test.each(cases)('%s %s breaks off for the caller of %s', async (framing, how, what) => {
    const [header, part] = framings[framing as keyof typeof framings];
    let breakNow: () => unknown = () => undefined;
    const name = `b-${cases.findIndex((each) => each.join() === [framing, how, what].join())}`;
    const sprite = await opened().create(name, {
      program(stream) {
        if (sprite.heads.length > 1)
          return void stream.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nagain');
        stream.write(`HTTP/1.1 200 OK\r\n${header}\r\n${part}`);
        breakNow = () => breaks[how]?.(stream, sprite.crash);
      },
    });
    const more = requests[what as keyof typeof requests];
    const bytes = more === '' ? toHead(sprite.host) : `${toHead(sprite.host, more, 'POST')}1\r\na\r\n0\r\n\r\n`;
    const caller = openRaw(sprite.port, bytes);
    await caller.until(/part/);
    await breakNow();
    const text = await caller.ended;
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
    expect((await sprite.ask({ path: '/next' })).text).toBe('again');
  });

  test.each(Object.entries(requests))(
    'one that ends with its connection, and ends well, is whole: %s',
    async (what, more) => {
      const sprite = await opened().create(more === '' ? 'whole-get' : 'whole-post', {
        program: (stream) => void stream.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it'),
      });
      const body = what === 'a GET' ? {} : { method: 'POST', body: 'a', headers: { 'transfer-encoding': 'chunked' } };
      expect((await sprite.ask(body)).text).toBe('all of it');
    },
  );

  test('nothing but a head breaks off, and nothing at all is 502', async () => {
    const { create } = opened();
    let breakNow = () => {};
    const head = await create('head', {
      program: (stream) => {
        stream.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
        breakNow = () => stream.close(CONNECT_ERROR);
      },
    });
    const caller = openRaw(head.port, toHead(head.host));
    await caller.until(/\r\n\r\n$/);
    breakNow();
    expect(await caller.ended).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
    const mute = await create('mute', { program: (stream) => stream.close(CONNECT_ERROR) });
    const answer = await mute.ask({ method: 'POST', body: 'a' });
    expect([answer.status, answer.json.error, mute.heads.length]).toEqual([502, 'upstream_failed', 1]);
  });
});

test('a head without end from a machine is 502, and costs the platform no more than a head may have', async () => {
  const before = process.memoryUsage.rss();
  let sent = 0;
  const sprite = await opened().create('bomb', {
    program(stream) {
      const line = Buffer.from(`X-Bomb: ${'b'.repeat(8_000)}\r\n`);
      stream.write('HTTP/1.1 200 OK\r\n');
      const pour = () => {
        while (!stream.destroyed && sent < 64_000_000) {
          sent += line.length;
          if (!stream.write(line)) return void stream.once('drain', pour);
        }
      };
      pour();
    },
  });
  const answer = await sprite.ask();
  expect([answer.status, answer.json.error]).toEqual([502, 'upstream_failed']);
  expect(sent).toBeLessThan(16_000_000);
  expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(100);
});
