// The connections to other servers: what goes over those of our own and what undici is loaded for, TLS, and calls as promises.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDial, type DialOptions } from '../../src/http/dial.ts';
import { type Outbound, openOutbound } from '../../src/http/outbound.ts';
import { eventually } from '../support/eventually.ts';
import { openFullListener } from '../support/full-listener.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hasNoOpenssl, makeTlsPair } from '../support/tls-pair.ts';

const root = new URL('../../', import.meta.url).pathname;
const LIMIT_MS = 60_000;

function open(more: Partial<DialOptions> = {}): Outbound {
  const outbound = openOutbound({
    dial: (reads) => createDial({ timeout_ms: LIMIT_MS, ...more, ...reads }),
    headers_ms: LIMIT_MS,
    idle_ms: LIMIT_MS,
  });
  onTestFinished(() => outbound.destroy(new Error('the test is over')));
  return outbound;
}

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = async (listener: RequestListener) => `http://${await listen(createServer(listener))}`;

/** Says what came: method, path, body. */
const echo: RequestListener = async (request, response) => {
  const body = await text(request).catch(() => '');
  response
    .writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'X-One': 'one' })
    .end(`${request.method} ${request.url} ${body}`);
};

const codeOf = (error: NodeJS.ErrnoException) => error.code ?? error.message;

describe('a call as a promise', () => {
  it('has status, headers by their names, and a body', async () => {
    const outbound = open();
    const origin = await serve(echo);
    const { statusCode, headers, body } = await outbound.request({
      origin,
      path: '/a?b',
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'hello',
    });
    expect([statusCode, headers['x-one'], headers['set-cookie']]).toEqual([200, 'one', ['a=1', 'b=2']]);
    expect(await text(body)).toBe('POST /a?b hello');
  });

  it('goes out with a streamed body as well, and with a method that has none', async () => {
    const outbound = open();
    const origin = await serve(echo);
    const body = Readable.from([Buffer.from('in '), Buffer.from('pieces')]);
    const put = await outbound.request({ origin, path: '/put', method: 'PUT', body });
    expect(await text(put.body)).toBe('PUT /put in pieces');
    const head = await outbound.request({ origin, path: '/', method: 'HEAD' });
    expect([head.statusCode, head.headers['x-one'], await text(head.body)]).toEqual([200, 'one', '']);
  });

  it('is given up before it goes out, while its answer is awaited, and while that is read', async () => {
    const outbound = open();
    let asked = 0;
    const origin = await serve((request, response) => {
      asked += 1;
      if (request.url === '/body') response.writeHead(200).write('the first part');
    });
    const reason = new Error('no longer wanted');
    const ask = (path: string, signal: AbortSignal) => outbound.request({ origin, path, method: 'GET', signal });
    await expect(ask('/', AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(asked).toBe(0);
    const waits = new AbortController();
    const waiting = ask('/', waits.signal);
    await eventually(() => asked === 1);
    waits.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const reads = new AbortController();
    const { body } = await ask('/body', reads.signal);
    const read = text(body);
    reads.abort(reason);
    await expect(read).rejects.toBe(reason);
  });

  it('is given up at once while its connection is being made', async () => {
    const outbound = open();
    const origin = await openFullListener();
    const stop = new AbortController();
    const waiting = outbound.request({ origin, path: '/', method: 'GET', signal: stop.signal });
    stop.abort(new Error('no longer wanted'));
    await expect(waiting).rejects.toThrow('no longer wanted');
  });

  it('lets its connection go when nobody reads the answer to its end, and keeps it for the next call otherwise', async () => {
    const outbound = open();
    const ports = new Set<number | undefined>();
    let closed = 0;
    const origin = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.socket.once('close', () => (closed += 1));
      if (request.url === '/endless') response.writeHead(200).write('line\n');
      else response.end('x'.repeat(request.url === '/long' ? 1_000_000 : 10));
    });
    const get = (path: string) => outbound.request({ origin, path, method: 'GET' });
    await (await get('/short')).body.dump();
    // A connection carries its next call in a later turn.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await (await get('/short')).body.dump();
    expect([ports.size, closed]).toEqual([1, 0]);
    for await (const line of (await get('/endless')).body) {
      expect(String(line)).toBe('line\n');
      break;
    }
    await eventually(() => closed > 0);
    const before = closed;
    await (await get('/long')).body.dump();
    await eventually(() => closed > before);
  });

  it('has the pace of its reader', async () => {
    const outbound = open();
    let sent_bytes = 0;
    const origin = await serve((_request, response) => {
      const piece = Buffer.alloc(64 * 1024);
      const write = () => {
        while (!response.destroyed && response.write(piece)) sent_bytes += piece.length;
      };
      response.on('drain', write);
      write();
    });
    const { body } = await outbound.request({ origin, path: '/', method: 'GET' });
    let last_bytes = -1;
    await eventually(async () => {
      const stood = last_bytes === sent_bytes;
      last_bytes = sent_bytes;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return stood;
    });
    expect(sent_bytes).toBeLessThan(20_000_000);
    let read_bytes = 0;
    for await (const chunk of body) {
      read_bytes += (chunk as Buffer).length;
      if (read_bytes > sent_bytes + 1_000_000) break;
    }
  });

  it('fails with what keeps the connection from being made, and with what breaks it', async () => {
    const outbound = open({ timeout_ms: 150 });
    const get = (origin: string) =>
      outbound
        .request({ origin, path: '/', method: 'GET' })
        .then(({ body }) => text(body))
        .catch(codeOf);
    const breaks = createTcpServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
    });
    await once(breaks.listen(0, '127.0.0.1'), 'listening');
    const { port } = breaks.address() as AddressInfo;
    expect(await get(`http://127.0.0.1:${port}`)).toBe('UND_ERR_SOCKET');
    await new Promise((resolve) => breaks.close(resolve));
    expect(await get(`http://127.0.0.1:${port}`)).toBe('ECONNREFUSED');
    expect(await get(await openFullListener())).toBe('UND_ERR_CONNECT_TIMEOUT');
    const nowhere = open({ socketPath: join(tempDir(), 'none.sock') });
    await expect(nowhere.request({ origin: 'http://x', path: '/', method: 'GET' })).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});

describe('connections that end', () => {
  it('fail their calls, those that wait for undici too, and take no others', async () => {
    const outbound = open();
    const origin = await serve(() => undefined);
    const over = new Error('all is over');
    const plain = outbound.request({ origin, path: '/', method: 'GET' });
    const streamed = outbound.request({
      origin,
      path: '/',
      method: 'PUT',
      body: Readable.from([Buffer.from('piece')]),
    });
    const told = Promise.allSettled([plain, streamed]);
    await outbound.destroy(over);
    const after = outbound.request({ origin, path: '/', method: 'GET' });
    for (const each of [...(await told), ...(await Promise.allSettled([after]))]) {
      expect(each).toMatchObject({ status: 'rejected', reason: over });
    }
  });

  it('bring their calls to an end first when they are closed', async () => {
    const outbound = open();
    const answers: (() => void)[] = [];
    const origin = await serve((_request, response) => void answers.push(() => response.end('late')));
    const plain = outbound.request({ origin, path: '/', method: 'GET' });
    // It waits for undici when the connections are closed.
    const head = outbound.request({ origin, path: '/', method: 'HEAD' });
    let isClosed = false;
    const closed = outbound.close().then(() => {
      isClosed = true;
    });
    await expect(outbound.request({ origin, path: '/', method: 'GET' })).rejects.toMatchObject({
      code: 'UND_ERR_CLOSED',
    });
    await eventually(() => answers.length === 2);
    expect(isClosed).toBe(false);
    for (const answer of answers) answer();
    expect(await text((await plain).body)).toBe('late');
    await (await head).body.dump();
    await closed;
  });
});

it('loads undici for what is not plain, and not before', async () => {
  const origin = await serve(echo);
  const program = `
    const { openOutbound } = await import('${root}src/http/outbound.ts');
    const { createDial } = await import('${root}src/http/dial.ts');
    const { cache } = (await import('node:module')).createRequire('${root}package.json');
    const count = () => Object.keys(cache).filter((path) => path.includes('/undici/')).length;
    const dial = (reads) => createDial({ timeout_ms: 60_000, ...reads });
    const outbound = openOutbound({ dial, headers_ms: 60_000, idle_ms: 60_000 });
    const ask = async (method) => (await outbound.request({ origin: '${origin}', path: '/', method })).body.dump();
    await ask('GET');
    await ask('POST');
    const before = count();
    await ask('HEAD');
    console.log(JSON.stringify([before, count() > 0]));
    await outbound.destroy(new Error('over'));
  `;
  const { stdout: found } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
  });
  expect(JSON.parse(found)).toEqual([0, true]);
});

it('fails the call for which undici could not be loaded, loads it for the next one, and ends all the same', async () => {
  const origin = await serve(echo);
  const program = `
    const { registerHooks } = await import('node:module');
    let isBroken = true;
    registerHooks({
      resolve(name, context, next) {
        if (isBroken && name.endsWith('outbound-undici.ts')) throw Object.assign(new Error('too many files'), { code: 'EMFILE' });
        return next(name, context);
      },
    });
    const { openOutbound } = await import('${root}src/http/outbound.ts');
    const { createDial } = await import('${root}src/http/dial.ts');
    const open = () => openOutbound({ dial: (reads) => createDial({ timeout_ms: 60_000, ...reads }), headers_ms: 60_000, idle_ms: 60_000 });
    const outbound = open();
    const ask = (each) => each.request({ origin: '${origin}', path: '/', method: 'HEAD' }).then(({ statusCode }) => statusCode, ({ code }) => code);
    const told = [await ask(outbound)];
    const other = open();
    const failed = ask(other);
    await other.destroy(new Error('over'));
    told.push(await failed, await other.close().then(() => 'closed'));
    isBroken = false;
    told.push(await ask(outbound));
    await outbound.destroy(new Error('over'));
    console.log(JSON.stringify(told));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: root });
  expect(JSON.parse(stdout)).toEqual(['EMFILE', 'EMFILE', 'closed', 200]);
});

describe.skipIf(hasNoOpenssl)('over TLS', () => {
  async function openSecure(hosts = ['DNS:localhost', 'IP:127.0.0.1'], listener: RequestListener = echo) {
    const dir = tempDir();
    makeTlsPair(dir, 'server', hosts);
    const [key, cert] = [readFileSync(join(dir, 'key.pem')), readFileSync(join(dir, 'cert.pem'), 'utf8')];
    const server = createTlsServer({ key, cert }, listener);
    const shakes: { readonly isReused: boolean; readonly name: string | false | null }[] = [];
    server.on('secureConnection', (socket: TLSSocket) => {
      shakes.push({
        isReused: socket.isSessionReused(),
        name: (socket as { servername?: string | false }).servername ?? null,
      });
    });
    const at = await listen(server);
    return { origin: `https://${at}`, named: `https://localhost:${at.split(':')[1]}`, ca: cert, shakes };
  }

  it('calls go out over connections that are kept, whose sessions are used again', async () => {
    const { named, ca, shakes } = await openSecure();
    const outbound = open({ ca });
    const post = async (more = {}) => {
      const { body } = await outbound.request({
        origin: named,
        path: '/p',
        method: 'POST',
        body: 'x'.repeat(100_000),
        ...more,
      });
      return (await text(body)).length;
    };
    expect(await post()).toBe(100_008);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await post()).toBe(100_008);
    expect(shakes).toEqual([{ isReused: false, name: 'localhost' }]);
    await post({ reset: true });
    expect(shakes).toEqual([
      { isReused: false, name: 'localhost' },
      { isReused: true, name: 'localhost' },
    ]);
  });

  it('an address is checked as a name is, and undici has the same connections', async () => {
    const { origin, ca, shakes } = await openSecure();
    const outbound = open({ ca });
    const get = await outbound.request({ origin, path: '/', method: 'GET' });
    expect(await text(get.body)).toBe('GET / ');
    const body = Readable.from([Buffer.from('in '), Buffer.from('pieces')]);
    const put = await outbound.request({ origin, path: '/put', method: 'PUT', body });
    expect(await text(put.body)).toBe('PUT /put in pieces');
    expect(shakes.length).toBe(2);
  });

  it('nothing is sent to a server that nobody vouches for, or that has another name', async () => {
    let asked = 0;
    const other = await openSecure(['DNS:elsewhere.test'], () => (asked += 1));
    const get = (outbound: Outbound) =>
      outbound.request({ origin: other.origin, path: '/', method: 'GET' }).catch(codeOf);
    expect(await get(open({ ca: other.ca }))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await get(open())).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(asked).toBe(0);
  });

  it('a long answer comes whole, and one that breaks off fails', async () => {
    const { origin, ca } = await openSecure(undefined, (request, response) => {
      if (request.url === '/long') response.end(Buffer.alloc(5_000_000, 'x'));
      else {
        response.writeHead(200).write('part');
        setTimeout(() => request.socket.destroy(), 20);
      }
    });
    const outbound = open({ ca });
    const get = async (path: string) => await text((await outbound.request({ origin, path, method: 'GET' })).body);
    expect((await get('/long')).length).toBe(5_000_000);
    expect(await get('/break').catch(codeOf)).toBe('UND_ERR_SOCKET');
  });

  it('a handshake that is not answered is late', async () => {
    let hello_bytes = 0;
    const silent = createTcpServer((socket) => socket.on('data', ({ length }) => (hello_bytes += length)));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void silent.close());
    const outbound = open({ timeout_ms: 150 });
    const origin = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const late = { code: 'UND_ERR_CONNECT_TIMEOUT' };
    await expect(outbound.request({ origin, path: '/', method: 'GET' })).rejects.toMatchObject(late);
    expect(hello_bytes).toBeGreaterThan(0);
  });
});
