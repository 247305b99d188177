// TCP services of an app: bytes as they are, the PROXY protocol, machines that are started, and limits.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BoundedLines } from '../../../src/platform/proxy/bounded-lines.ts';
import { parseProxyHeader } from '../../../src/platform/proxy/parse-proxy-header.ts';
import { toProxyHeader } from '../../../src/platform/proxy/write-proxy-header.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openFreePort } from '../../support/free-port.ts';
import { isWithoutHaproxy, toHaproxyCommand } from '../../support/haproxy.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { startProgram, startTcp } from '../../support/proxied-machine.ts';
import { remoraPath } from '../../support/run-remora.ts';

const CALLER = '127.0.0.5';
/** An address of this computer at which nothing else listens. */
const HOST = '127.0.0.9';
const MB = 1024 * 1024;
const withoutHaproxy = isWithoutHaproxy();

const programs = ['greet', 'told', 'slow', 'go', 'flood', 'break', 'hold', 'count'] as const;
const handlers = ['proxy_proto'];
const v2 = { handlers, proxy_proto_options: { version: 'v2' } };

async function openPorts<const T extends string>(host: string, names: readonly T[]): Promise<Record<T, number>> {
  const ports: Partial<Record<T, number>> = {};
  for (const name of names) ports[name] = await openFreePort(host);
  return ports as Record<T, number>;
}

const opened = openOnce(async () => {
  const platform = await openTestPlatform({
    agentCommand: { command: process.execPath, args: [remoraPath, 'agent'] },
    trustMachines: true,
    proxy: { listen: { host: '127.0.0.1', port: 0 }, tcp: [{ app: 'shop', host: HOST }] },
  });
  const inside = await openPorts('127.0.0.1', [...programs, 'haproxy', 'empty']);
  const at = await openPorts(HOST, [...programs, 'v1', 'v2', 'haproxy1', 'haproxy2', 'empty', 'tls']);
  const services = [
    ...programs.map((name) => ({
      protocol: 'tcp',
      internal_port: inside[name],
      ports: [
        { port: at[name] },
        ...(name === 'count'
          ? [
              { port: at.v1, handlers },
              { port: at.v2, ...v2 },
              { port: at.tls, handlers: ['tls'] },
            ]
          : []),
      ],
      ...(name === 'hold' ? { concurrency: { type: 'connections', hard_limit: 1 } } : {}),
    })),
    {
      internal_port: inside.haproxy,
      ports: [
        { port: at.haproxy1, handlers },
        { port: at.haproxy2, ...v2 },
      ],
    },
    { internal_port: inside.empty, ports: [{ port: at.empty }] },
  ];
  const post = async (path: string, body: unknown = {}) => {
    const answer = await platform.call({ method: 'POST', path, body });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  await post('/v1/apps', { name: 'shop', organization: 'acme' });
  const { id } = await post('/v1/apps/shop/machines', { config: { services } });
  const path = `/v1/apps/shop/machines/${id}`;
  await eventually(async () => (await platform.call({ path })).json.state === 'running');
  const { haproxy: _haproxy, empty: _empty, ...ports } = inside;
  await eventually(() =>
    startTcp(platform, id, ports).then(
      () => true,
      () => false,
    ),
  );
  if (!withoutHaproxy) {
    const answer = 'http-request return status 200 content-type text/plain lf-string "from %[src] to %[dst_port]"';
    const bind = `bind 127.0.0.1:${inside.haproxy} accept-proxy`;
    const { command, args } = toHaproxyCommand(`listen one\n  mode http\n  ${bind}\n  ${answer}`);
    await startProgram(platform, id, 'haproxy', { cmd: command, args });
  }
  // The agent sees a new listener after a moment, and the ports are opened after a moment.
  await eventually(async () => (await exchange(at.count, 'a').catch(() => '')).length > 0);
  return { platform, path, post, inside, at };
});

function dial(port: number, host = HOST): Socket {
  const socket = connect({ host, port, localAddress: CALLER, allowHalfOpen: true });
  return socket.on('error', () => undefined);
}

/** One that is closed at the end of the test. */
function open(port: number): Socket {
  const socket = dial(port);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Leaves the way back open, which a loop over the socket would not. */
function readAll(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  return new Promise((resolve, reject) => {
    socket.once('end', () => resolve(Buffer.concat(parts)));
    socket.once('close', () => reject(new Error('it broke off')));
  });
}

/** The code of the error with which a connection fails; undefined for one that ends. */
function failure(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.once('end', () => resolve(undefined)).resume();
  });
}

/** What comes back for these bytes. */
async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = dial(port).setTimeout(50_000, () => socket.destroy());
  socket.end(bytes);
  return String(await readAll(socket).finally(() => socket.destroy()));
}

/** What the program at `count` says of these bytes. */
async function count(port: number, bytes: string | Buffer): Promise<{ bytes: number; head: Buffer }> {
  const said = JSON.parse(await exchange(port, bytes));
  return { bytes: said.bytes, head: Buffer.from(said.head, 'base64') };
}

/** Resolves with the first of two equal numbers that are more than 0. */
async function standsStill(look: () => number | Promise<number>): Promise<number> {
  let before = 0;
  return await eventually(async () => {
    const now = await look();
    if (now > 0 && now === before) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 150));
    return undefined;
  });
}

const told = async () =>
  JSON.parse(await exchange(opened().at.told, '')) as { readonly heard: string[]; readonly flooded: number };

describe('bytes', () => {
  test('go both ways, and each side ends its own', async () => {
    const { at } = opened();
    expect((await count(at.count, Buffer.alloc(5 * MB, 'b'))).bytes).toBe(5 * MB);
  });

  test('the program ends first, and hears the rest', async () => {
    const socket = open(opened().at.greet);
    expect(String(await readAll(socket))).toBe('greeting');
    socket.end('later');
    await eventually(async () => (await told()).heard.includes('later'));
  });

  test('wait while the program does not read, and all of them arrive', async () => {
    const { at } = opened();
    const size = 32 * MB;
    const socket = open(at.slow);
    const answer = readAll(socket);
    answer.catch(() => undefined);
    let sent = 0;
    const write = () => {
      while (sent < size) {
        sent += MB / 8;
        if (!socket.write(Buffer.alloc(MB / 8))) return void socket.once('drain', write);
      }
      socket.end();
    };
    write();
    expect(await standsStill(() => sent)).toBeLessThan(size);
    await exchange(at.go, '');
    expect(JSON.parse(String(await answer)).bytes).toBe(size);
  });

  test('wait while the caller does not read, and all of them arrive', async () => {
    const socket = open(opened().at.flood).pause();
    const sent = await standsStill(async () => (await told()).flooded);
    expect(sent).toBeLessThan(32 * MB);
    let bytes = 0;
    socket.on('data', (part: Buffer) => {
      bytes += part.length;
    });
    await once(socket.resume(), 'end');
    expect(bytes).toBe(32 * MB);
  });

  test('what breaks off in the machine breaks off for the caller', async () => {
    const socket = open(opened().at.break);
    const heard: string[] = [];
    socket.on('data', (part) => heard.push(String(part))).once('data', () => socket.write('more'));
    expect(await failure(socket)).toBe('ECONNRESET');
    expect(heard).toEqual(['part']);
  });
});

describe('the PROXY protocol', () => {
  test.each(['v1', 'v2'] as const)('%s says who has connected, before the first byte', async (version) => {
    const port = opened().at[version];
    const socket = open(port);
    await once(socket, 'connect');
    const { localPort } = socket;
    socket.end('hello');
    const said = JSON.parse(String(await readAll(socket)));
    const head = Buffer.from(said.head, 'base64');
    const header = parseProxyHeader(head);
    expect(header).toMatchObject({ type: 'whole', from: { address: CALLER, port: localPort } });
    expect(head[0]).toBe(version === 'v1' ? 0x50 : 0x0d);
    if (version === 'v1') expect(String(head)).toContain(` ${HOST} ${localPort} ${port}\r\n`);
    expect(String(head.subarray(header.type === 'whole' ? header.length_bytes : 0))).toBe('hello');
  });

  const addresses = [
    ['203.0.113.7', '10.0.0.1', '203.0.113.7'],
    ['2001:db8::2a', '::1', '2001:db8::2a'],
    ['fe80::1%eth0', 'fe80::2%eth0', 'fe80::1'],
    ['::', '1:2:3:4:5:6:7:8', '::'],
  ] as const;
  test.each(addresses)('what is written of %s is read as it is', (from, to, read) => {
    for (const version of ['v1', 'v2'] as const) {
      const bytes = toProxyHeader(version, { address: from, port: 65_535 }, { address: to, port: 443 });
      const expected = { type: 'whole', length_bytes: bytes.length, from: { address: read, port: 65_535 } };
      expect(parseProxyHeader(bytes)).toEqual(expected);
    }
  });

  test('addresses of two versions, and none', () => {
    const target = { address: '::1', port: 443 };
    const mixed = { address: '203.0.113.7', port: 1 };
    expect(String(toProxyHeader('v1', mixed, target))).toBe('PROXY TCP6 ::ffff:203.0.113.7 ::1 1 443\r\n');
    expect(parseProxyHeader(toProxyHeader('v2', mixed, target))).toMatchObject({ from: mixed });
    const nobody = { address: '', port: 0 };
    expect(String(toProxyHeader('v1', nobody, target))).toBe('PROXY UNKNOWN\r\n');
    expect(parseProxyHeader(toProxyHeader('v2', nobody, target))).toMatchObject({ from: 'unknown' });
  });

  test.skipIf(withoutHaproxy)('HAProxy in the machine reads both', async () => {
    const { at } = opened();
    for (const port of [at.haproxy1, at.haproxy2]) {
      const ask = () => exchange(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n').catch(() => '');
      expect(await eventually(async () => (await ask()) || undefined)).toMatch(
        new RegExp(`from ${CALLER} to ${port}$`),
      );
    }
  });
});

describe('connections', () => {
  test('one more than may be waits for the end of another', async () => {
    const { at } = opened();
    const first = open(at.hold);
    await once(first, 'data');
    const second = open(at.hold);
    await once(second, 'connect');
    // One that was not held back would be answered by now.
    await exchange(at.count, 'a');
    expect(second.bytesRead).toBe(0);
    first.end();
    expect(String((await once(second, 'data'))[0])).toBe('here');
  });

  test('those that nothing takes are reset, and have two lines in the log and no more', async () => {
    const { at, platform } = opened();
    const codes = await Promise.all(Array.from({ length: 20 }, () => failure(open(at.empty))));
    expect(codes).toEqual(codes.map(() => 'ECONNRESET'));
    const lines = platform.log.filter(({ port }) => port === at.empty);
    expect(lines.map(({ message, why }) => [message, typeof why])).toEqual([
      ['a service of an app is listened for', 'undefined'],
      ['a connection to a service of an app was refused', 'string'],
    ]);

    const counted: unknown[] = [];
    const log = { warn: (fields: object, message?: string) => counted.push([message, fields]) };
    const refusals = new BoundedLines({ log, first: 'one', all: 'all', every_ms: 20 });
    for (const each of [1, 2, 3]) refusals.note({ each });
    await eventually(() => counted.length === 2);
    refusals.note({ each: 4 });
    const expected = [
      ['one', { each: 1 }],
      ['all', { refused: 3 }],
      ['one', { each: 4 }],
    ];
    expect(counted).toEqual(expected);
  });

  test('a port whose handler would speak TLS is not opened', async () => {
    expect(await failure(open(opened().at.tls))).toBe('ECONNREFUSED');
  });
});

describe('machines', () => {
  test('one that is stopped is started by connections, once for all of them', async () => {
    const { platform, path, post, at } = opened();
    await post(`${path}/stop`);
    expect((await platform.call({ path: `${path}/wait?state=stopped` })).status).toBe(200);
    const starts = async () =>
      (await platform.call({ path: `${path}/events` })).json.filter(({ type }: { type: string }) => type === 'start');
    const before = (await starts()).length;
    const counts = await Promise.all(Array.from({ length: 10 }, (_, index) => count(at.count, 'a'.repeat(index + 1))));
    expect(counts.map(({ bytes }) => bytes)).toEqual(counts.map((_, index) => index + 1));
    expect((await starts()).length).toBe(before + 1);
  });

  test('what is open to one that dies breaks off', async () => {
    const { path, post, at } = opened();
    const socket = open(at.hold);
    await once(socket, 'data');
    const failed = failure(socket);
    await post(`${path}/signal`, { signal: 'SIGKILL' });
    expect(await failed).toBe('ECONNRESET');
  });

  test('the ports of an app close when no machine serves them any more', async () => {
    const { platform, path, at } = opened();
    expect((await platform.call({ method: 'DELETE', path: `${path}?force=true` })).status).toBe(200);
    await eventually(async () => {
      const socket = dial(at.count);
      return (await failure(socket).finally(() => socket.destroy())) === 'ECONNREFUSED';
    });
  });
});
