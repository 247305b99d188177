// A WebSocket through the streaming proxy, at the level of bytes: both ends are driven by hand.
import { createHash } from 'node:crypto';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineOperation } from '../../src/contract/operation.ts';
import { createAnswerGuard } from '../../src/core/gateway/answer-guard.ts';
import { GatewayHeaders } from '../../src/core/gateway/gateway-headers.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { Secret } from '../../src/core/secret.ts';
import type { ExchangeOutcome } from '../../src/http/exchange-outcome.ts';
import { streamExchange } from '../../src/http/streaming-proxy.ts';
import { toTunnel } from '../../src/http/to-tunnel.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { openRawUpstream, type RawUpstreamConnection } from '../support/raw-upstream.ts';
import { serveEdge } from '../support/serve-edge.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const handshake = [
  'GET /x HTTP/1.1',
  'Host: a',
  'Connection: Upgrade, X-Gone',
  'Upgrade: websocket',
  'X-Gone: 1',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${KEY}`,
  'Sec-WebSocket-Protocol: one, two',
  '\r\n',
].join('\r\n');
const switching = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\nSec-WebSocket-Protocol: two\r\nSet-Cookie: a=b\r\n\r\n`;
/** `hi` as a text frame: from a server, and masked with zeros from a client. */
const DOWN = Buffer.from('\x81\x02hi', 'latin1');
const UP = Buffer.from('\x81\x82\0\0\0\0hi', 'latin1');

const operations = {
  tunnel: defineOperation({
    method: '*',
    path: '/{path...}',
    summary: '',
    source: '',
    tag: 'test',
    answer: { kind: 'raw', upgrades: true },
    errors: [],
  }),
};

const guard = createAnswerGuard(new Secret('hunter2'));
const headers = new GatewayHeaders({ from: 'provider', injected: [], guard });

async function openProxy(idle_ms = 60_000) {
  const upstream = await openRawUpstream();
  const dispatcher = new Agent();
  const cut = new AbortController();
  const end = Promise.withResolvers<ExchangeOutcome>();
  const served = await serveEdge(operations, {
    async tunnel({ request, upgrade }, response) {
      const tunnel = toTunnel(request, upgrade, idle_ms);
      const outcome = await streamExchange(request, response, {
        dispatcher: () => dispatcher,
        origin: upstream.origin,
        path: request.url ?? '',
        headers,
        from: 'provider',
        signal: cut.signal,
        ...(tunnel === undefined ? {} : { tunnel }),
      });
      end.resolve(outcome);
    },
  });
  onTestFinished(() => dispatcher.destroy());
  return { ...served, upstream, cut, ended: end.promise };
}

async function openTunnel(idle_ms?: number) {
  const proxy = await openProxy(idle_ms);
  const caller = openRaw(proxy.path, handshake);
  const provider = await proxy.upstream.connection(0);
  await provider.until(/\r\n\r\n$/);
  provider.socket.write(switching);
  await caller.until(/^HTTP\/1.1 101 .*\r\n\r\n$/s);
  return { ...proxy, caller, provider };
}

/** What came after the head. */
const bodyOf = ({ text }: RawConnection | RawUpstreamConnection) => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('the handshake', () => {
  it('reaches the upstream with hygiene, and its answer the caller', async () => {
    const { upstream, path } = await openProxy();
    const caller = openRaw(path, handshake);
    const provider = await upstream.connection(0);
    const sent = await provider.until(/\r\n\r\n$/);
    expect(sent).toBe(
      `GET /x HTTP/1.1\r\nhost: 127.0.0.1:${upstream.port}\r\nconnection: upgrade\r\nupgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Protocol: one, two\r\n\r\n`,
    );
    expect(caller.text).toBe('');
    provider.socket.write(switching);
    expect(await caller.until(/\r\n\r\n$/)).toBe(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\nSec-WebSocket-Protocol: two\r\n\r\n`,
    );
  });

  it('that is refused gives the caller the refusal as it was said', async () => {
    const { upstream, path, ended } = await openProxy();
    const caller = openRaw(path, handshake);
    const provider = await upstream.connection(0);
    await provider.until(/\r\n\r\n$/);
    provider.socket.write('HTTP/1.1 418 I am a teapot\r\nX-Why: tea\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n');
    expect(await caller.until(/no/)).toMatch(/^HTTP\/1.1 418 I am a teapot\r\nX-Why: tea\r\n/);
    provider.socket.write('3\r\npe!\r\n0\r\n\r\n');
    expect(await caller.ended).toMatch(/2\r\nno\r\n3\r\npe!\r\n0\r\n\r\n$/);
    expect(await ended).toMatchObject({ ended: 'complete', status: 418, response_bytes: 5 });
  });

  it.each([
    ['a 101 for another key', switching.replace(ACCEPT, 'AAAAAAAAAAAAAAAAAAAAAAAAAAA='), 'upstream_failed'],
    ['a 101 to another protocol', switching.replace('Upgrade: websocket', 'Upgrade: h2c'), 'upstream_failed'],
    ['something that is not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', 'upstream_failed'],
  ])('answered with %s is a 502', async (_name, answer, code) => {
    const { upstream, path } = await openProxy();
    const caller = openRaw(path, handshake);
    const provider = await upstream.connection(0);
    await provider.until(/\r\n\r\n$/);
    provider.socket.write(answer);
    const text = await caller.ended;
    expect(text).toMatch(/^HTTP\/1.1 502 /);
    expect(text).toContain(`remora-error: ${code}\r\n`);
    await provider.closed;
  });

  it.each([
    ['without a key', handshake.replace(/Sec-WebSocket-Key.*\r\n/, '')],
    ['of another version', handshake.replace('Version: 13', 'Version: 8')],
  ])('%s is a 400, and the upstream hears nothing', async (_name, text) => {
    const { upstream, path } = await openProxy();
    expect(await openRaw(path, text).ended).toMatch(/^HTTP\/1.1 400 .*invalid_request/s);
    expect(upstream.connections).toHaveLength(0);
  });

  it.each([
    ['of another protocol', handshake.replace('Upgrade: websocket', 'Upgrade: h2c')],
    ['in a POST', handshake.replace('GET', 'POST')],
    ['with a body', handshake.replace('Host: a', 'Host: a\r\nContent-Length: 2').concat('ab')],
  ])('%s is a plain call', async (_name, text) => {
    const { upstream, path } = await openProxy();
    const caller = openRaw(path, text);
    const provider = await upstream.connection(0);
    expect(await provider.until(/\r\n\r\n(ab)?$/)).not.toMatch(/upgrade/i);
    provider.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    expect(await caller.until(/ok$/)).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it('behind a request that is still being answered is a plain call', async () => {
    const { upstream, path } = await openProxy();
    const caller = openRaw(path, `GET /first HTTP/1.1\r\nHost: a\r\n\r\n${handshake}`);
    const [first, second] = [await upstream.connection(0), await upstream.connection(1)];
    expect(await second.until(/\r\n\r\n$/)).not.toMatch(/upgrade/i);
    second.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
    first.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
    expect(await caller.until(/two$/)).toMatch(/one.*two$/s);
  });

  it('of a caller that goes away before the answer ends the upstream call', async () => {
    const { upstream, path, ended } = await openProxy();
    const caller = openRaw(path, handshake);
    const provider = await upstream.connection(0);
    await provider.until(/\r\n\r\n$/);
    caller.socket.end();
    await provider.closed;
    expect(await ended).toMatchObject({ ended: 'caller_gone', status: undefined });
  });
});

describe('bytes', () => {
  it('that the caller sends ahead follow the handshake', async () => {
    const { upstream, path } = await openProxy();
    const caller = openRaw(path, Buffer.concat([Buffer.from(handshake), UP]));
    const provider = await upstream.connection(0);
    await provider.until(/\r\n\r\n$/);
    caller.socket.write(UP);
    provider.socket.write(Buffer.concat([Buffer.from(switching), DOWN]));
    await caller.until(/hi$/);
    await provider.until(/hi.*hi$/s);
    expect(bodyOf(caller)).toBe(DOWN.toString('latin1'));
    expect(bodyOf(provider)).toBe(Buffer.concat([UP, UP]).toString('latin1'));
  });

  it('wait in the sender when the other one does not read', async () => {
    const { caller, provider } = await openTunnel();
    const chunk = Buffer.alloc(256 * 1024);
    const fill = (socket: RawConnection['socket']) => {
      let sent_bytes = 0;
      for (; sent_bytes < 64 * 1024 * 1024 && socket.writableLength < 8 * 1024 * 1024; sent_bytes += chunk.length) {
        socket.write(chunk);
      }
    };
    const settle = async (socket: RawConnection['socket']) => {
      let before = -1;
      while (before !== socket.writableLength) {
        before = socket.writableLength;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return before;
    };
    caller.socket.pause();
    provider.socket.write(Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]));
    fill(provider.socket);
    expect(await settle(provider.socket)).toBeGreaterThan(1024 * 1024);
    provider.socket.pause();
    caller.socket.write(Buffer.from([0x82, 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
    fill(caller.socket);
    expect(await settle(caller.socket)).toBeGreaterThan(1024 * 1024);
  });
});

describe('an end', () => {
  it('with close frames is complete', async () => {
    const { caller, provider, ended } = await openTunnel();
    caller.socket.write(Buffer.from('\x88\x82\0\0\0\0\x03\xe8', 'latin1'));
    await provider.until(/\xe8$/);
    provider.socket.end(Buffer.from('\x88\x02\x03\xe8', 'latin1'));
    await caller.until(/\xe8$/);
    caller.socket.end();
    expect(await ended).toEqual({ ended: 'complete', status: 101, request_bytes: 8, response_bytes: 4 });
  });

  it.each(['end', 'destroy'] as const)('of the caller (%s) is one of the upstream', async (how) => {
    const { caller, provider, ended } = await openTunnel();
    caller.socket[how]();
    await provider.closed;
    expect(await ended).toMatchObject({ ended: 'caller_gone', status: 101 });
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)('of the upstream (%s) is one of the caller', async (how) => {
    const { caller, provider, ended } = await openTunnel();
    provider.socket.write(DOWN);
    await caller.until(/hi$/);
    provider.socket[how]();
    await caller.ended;
    expect(await ended).toMatchObject({ ended: 'upstream_broke', status: 101, response_bytes: 4 });
  });
});

describe('an end of our own', () => {
  const blocked = new RemoraError('endpoint_blocked', 'no more');
  const goodbye = '\x88\x1b\x03\xf0endpoint_blocked: no more';

  it('is a close frame for both, and nothing passes after it', async () => {
    const { caller, provider, cut, ended } = await openTunnel();
    caller.socket.write(UP);
    await provider.until(/hi$/);
    cut.abort(blocked);
    caller.socket.write(UP);
    provider.socket.write(DOWN);
    expect((await caller.until(/no more$/)).endsWith(`\r\n\r\n${goodbye}`)).toBe(true);
    await provider.closed;
    expect(bodyOf(provider).startsWith(`${UP.toString('latin1')}\x88\x82`)).toBe(true);
    expect(bodyOf(provider)).toHaveLength(UP.length + 8);
    caller.socket.end();
    expect(await ended).toMatchObject({ ended: 'cut', status: 101, reason: blocked, request_bytes: 8 });
    expect(bodyOf(caller)).toBe(goodbye);
  });

  it('waits for the end of a frame that is under way', async () => {
    const { caller, provider, cut } = await openTunnel();
    provider.socket.write(Buffer.from('\x81\x05he', 'latin1'));
    await caller.until(/he$/);
    cut.abort(blocked);
    provider.socket.write(Buffer.from('llo\x81\x05never', 'latin1'));
    await caller.until(/no more$/);
    expect(bodyOf(caller)).toBe(`\x81\x05hello${goodbye}`);
  });

  it('breaks off a frame that does not end', async () => {
    const { caller, provider, cut, ended } = await openTunnel();
    provider.socket.write(Buffer.from('\x81\x05he', 'latin1'));
    await caller.until(/he$/);
    const started_ms = performance.now();
    cut.abort(blocked);
    await Promise.all([caller.ended, provider.closed]);
    expect(performance.now() - started_ms).toBeLessThan(20_000);
    expect(bodyOf(caller)).toBe('\x81\x05he');
    expect(await ended).toMatchObject({ ended: 'cut' });
  });

  it('comes when nothing was sent for too long, and not before', async () => {
    const { caller, provider, ended } = await openTunnel(1_200);
    const started_ms = performance.now();
    const beat = setInterval(() => provider.socket.write(DOWN), 100);
    setTimeout(() => clearInterval(beat), 1_600);
    expect(await caller.until(/timeout: .*$/)).toContain('\x03\xe9timeout: nothing was sent for 1200 ms');
    expect(performance.now() - started_ms).toBeGreaterThan(2_400);
    caller.socket.end();
    expect(await ended).toMatchObject({ ended: 'cut', reason: { code: 'timeout' } });
  });

  it('comes when the server stops, which waits for it', async () => {
    const { caller, edge, ended } = await openTunnel();
    const drained = edge.drain(5_000);
    expect(await caller.until(/shutting_down: /)).toContain('\x03\xe9shutting_down: ');
    caller.socket.end();
    await drained;
    expect(await ended).toMatchObject({ ended: 'cut', reason: { code: 'shutting_down' } });
  });
});
